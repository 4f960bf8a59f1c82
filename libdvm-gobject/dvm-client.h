/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include "dvm-campaign.h"
#include "dvm-enums.h"
#include "dvm-job-spec.h"
#include "dvm-job-streams.h"
#include "dvm-job.h"
#include "dvm-node.h"
#include "dvm-proc.h"
#include "dvm-session.h"

G_BEGIN_DECLS

#define DVM_TYPE_CLIENT (dvm_client_get_type ())
G_DECLARE_FINAL_TYPE (DvmClient, dvm_client, DVM, CLIENT, GObject)

/* name: NULL for the default DVM. Where it looks: private socket, session bus, system bus; nothing is ever started. */
DvmClient *dvm_client_new (const char *name);
DvmClient *dvm_client_new_for_address (const char *address);
DvmClient *dvm_client_new_for_fd (int fd);
/* Where the DVM of that name has its socket and its files. */
char *dvm_client_build_runtime_dir (const char *name);
/* NULL: in no job of a scheduler. envp: NULL for the environment of the process. */
char *dvm_client_build_job_name (const char *const *envp);

void dvm_client_connect_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                               gpointer user_data);
gboolean dvm_client_connect_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_connect (DvmClient *self, GCancellable *cancellable, GError **error);
/* The same for languages where every object has a method "connect" already. */
gboolean dvm_client_connect_sync (DvmClient *self, GCancellable *cancellable, GError **error);
gboolean dvm_client_get_connected (DvmClient *self);
const char *dvm_client_get_instance_id (DvmClient *self);
const char *dvm_client_get_address (DvmClient *self);
/* For what has no function here. The owner is NULL on a private socket. */
GDBusConnection *dvm_client_get_dbus_connection (DvmClient *self);
const char *dvm_client_get_dbus_name_owner (DvmClient *self);
/* Comes back by itself when the connection is lost; "instance-changed" if it is another run of the DVM. */
void dvm_client_set_reconnect (DvmClient *self, gboolean reconnect);
gboolean dvm_client_get_reconnect (DvmClient *self);

/* The objects of the DVM, kept up to date by the main loop. */
GListModel *dvm_client_get_jobs (DvmClient *self);
GListModel *dvm_client_get_nodes (DvmClient *self);
GListModel *dvm_client_get_sessions (DvmClient *self);
GListModel *dvm_client_get_campaigns (DvmClient *self);
/* Whether they are filled. */
gboolean dvm_client_get_loaded (DvmClient *self);

/* Jobs that are submitted from now on are cancelled when the client's connection ends. */
gboolean dvm_client_get_jobs_end_with_client (DvmClient *self);
void dvm_client_set_jobs_end_with_client (DvmClient *self, gboolean end);

/* fds: (nullable) with stdin-fd, stdout-fd, stderr-fd in this order, -1 for none */
void dvm_client_submit_async (DvmClient *self, DvmJobSpec *spec, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data);
DvmJob *dvm_client_submit_finish (DvmClient *self, GAsyncResult *result, GError **error);
DvmJob *dvm_client_submit (DvmClient *self, DvmJobSpec *spec, GCancellable *cancellable, GError **error);
/* As submit, the job's streams being these descriptors (-1: none); they stay the caller's. */
void dvm_client_submit_with_fds_async (DvmClient *self, DvmJobSpec *spec, int stdin_fd, int stdout_fd, int stderr_fd,
                                       GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
DvmJob *dvm_client_submit_with_fds_finish (DvmClient *self, GAsyncResult *result, GError **error);
DvmJob *dvm_client_submit_with_fds (DvmClient *self, DvmJobSpec *spec, int stdin_fd, int stdout_fd, int stderr_fd,
                                    GCancellable *cancellable, GError **error);

/* (element-type DvmJobSpec) specs: all are accepted or none is; (element-type DvmJob) */
void dvm_client_submit_many_async (DvmClient *self, GPtrArray *specs, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
GPtrArray *dvm_client_submit_many_finish (DvmClient *self, GAsyncResult *result, GError **error);
GPtrArray *dvm_client_submit_many (DvmClient *self, GPtrArray *specs, GCancellable *cancellable, GError **error);

/* a(uuussss): rank, application, local rank, node, cpuset, object, note; ranks: (nullable) id set, NULL for all */
void dvm_client_map_async (DvmClient *self, DvmJobSpec *spec, const char *ranks, GCancellable *cancellable,
                           GAsyncReadyCallback callback, gpointer user_data);
GVariant *dvm_client_map_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_map (DvmClient *self, DvmJobSpec *spec, const char *ranks, GCancellable *cancellable,
                          GError **error);
/* options (nullable): a{sv} with ranks, topology, nodes, slots */
void dvm_client_map_with_options_async (DvmClient *self, DvmJobSpec *spec, GVariant *options, GCancellable *cancellable,
                                        GAsyncReadyCallback callback, gpointer user_data);
GVariant *dvm_client_map_with_options_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_map_with_options (DvmClient *self, DvmJobSpec *spec, GVariant *options, GCancellable *cancellable,
                                       GError **error);
void dvm_client_map_job_async (DvmClient *self, DvmJob *job, const char *ranks, GCancellable *cancellable,
                               GAsyncReadyCallback callback, gpointer user_data);
GVariant *dvm_client_map_job_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_map_job (DvmClient *self, DvmJob *job, const char *ranks, GCancellable *cancellable,
                              GError **error);

/* Waits until the job has ended and its output is delivered; the record is then up to date. timeout_ms 0: no limit. */
void dvm_client_wait_async (DvmClient *self, DvmJob *job, guint timeout_ms, GCancellable *cancellable,
                            GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_wait_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_wait (DvmClient *self, DvmJob *job, guint timeout_ms, GCancellable *cancellable, GError **error);

/* ranks: (nullable) id set such as "0-3,7"; NULL for all */
void dvm_client_send_signal_async (DvmClient *self, DvmJob *job, int signum, const char *ranks,
                                   GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_send_signal_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_send_signal (DvmClient *self, DvmJob *job, int signum, const char *ranks, GCancellable *cancellable,
                                 GError **error);

void dvm_client_continue_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_continue_job_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_continue_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error);

void dvm_client_hold_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                                gpointer user_data);
gboolean dvm_client_hold_job_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_hold_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error);

void dvm_client_set_job_priority_async (DvmClient *self, DvmJob *job, int priority, GCancellable *cancellable,
                                        GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_set_job_priority_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_set_job_priority (DvmClient *self, DvmJob *job, int priority, GCancellable *cancellable,
                                      GError **error);

void dvm_client_release_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_release_job_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_release_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error);

void dvm_client_resize_job_async (DvmClient *self, DvmJob *job, guint rows, guint columns, GCancellable *cancellable,
                                  GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_resize_job_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_resize_job (DvmClient *self, DvmJob *job, guint rows, guint columns, GCancellable *cancellable,
                                GError **error);

void dvm_client_cancel_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                                  gpointer user_data);
gboolean dvm_client_cancel_job_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_cancel_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error);

/* reference: namespace, number or object path */
void dvm_client_find_job_async (DvmClient *self, const char *reference, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data);
DvmJob *dvm_client_find_job_finish (DvmClient *self, GAsyncResult *result, GError **error);
DvmJob *dvm_client_find_job (DvmClient *self, const char *reference, GCancellable *cancellable, GError **error);

/* Reads all properties of the job again. */
void dvm_client_refresh_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_refresh_job_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_refresh_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error);

/* (element-type DvmJob), (element-type DvmNode), (element-type DvmProc); paging is done inside */
void dvm_client_list_jobs_async (DvmClient *self, gboolean all, GCancellable *cancellable, GAsyncReadyCallback callback,
                                 gpointer user_data);
GPtrArray *dvm_client_list_jobs_finish (DvmClient *self, GAsyncResult *result, GError **error);
GPtrArray *dvm_client_list_jobs (DvmClient *self, gboolean all, GCancellable *cancellable, GError **error);
void dvm_client_list_nodes_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                                  gpointer user_data);
GPtrArray *dvm_client_list_nodes_finish (DvmClient *self, GAsyncResult *result, GError **error);
GPtrArray *dvm_client_list_nodes (DvmClient *self, GCancellable *cancellable, GError **error);
void dvm_client_list_procs_async (DvmClient *self, DvmJob *job, const char *ranks, GCancellable *cancellable,
                                  GAsyncReadyCallback callback, gpointer user_data);
GPtrArray *dvm_client_list_procs_finish (DvmClient *self, GAsyncResult *result, GError **error);
GPtrArray *dvm_client_list_procs (DvmClient *self, DvmJob *job, const char *ranks, GCancellable *cancellable,
                                  GError **error);

/* aa{sv}: kind, name, description, active, path of each plugin that the DVM has loaded */
void dvm_client_list_plugins_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                                    gpointer user_data);
GVariant *dvm_client_list_plugins_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_list_plugins (DvmClient *self, GCancellable *cancellable, GError **error);

/* reference: name, rank or object path */
void dvm_client_find_node_async (DvmClient *self, const char *reference, GCancellable *cancellable,
                                 GAsyncReadyCallback callback, gpointer user_data);
DvmNode *dvm_client_find_node_finish (DvmClient *self, GAsyncResult *result, GError **error);
DvmNode *dvm_client_find_node (DvmClient *self, const char *reference, GCancellable *cancellable, GError **error);
void dvm_client_drain_node_async (DvmClient *self, DvmNode *node, const char *reason, GCancellable *cancellable,
                                  GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_drain_node_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_drain_node (DvmClient *self, DvmNode *node, const char *reason, GCancellable *cancellable,
                                GError **error);
void dvm_client_resume_node_async (DvmClient *self, DvmNode *node, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_resume_node_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_resume_node (DvmClient *self, DvmNode *node, GCancellable *cancellable, GError **error);
void dvm_client_restart_node_async (DvmClient *self, DvmNode *node, gboolean force, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_restart_node_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_restart_node (DvmClient *self, DvmNode *node, gboolean force, GCancellable *cancellable,
                                  GError **error);
void dvm_client_get_topology_async (DvmClient *self, DvmNode *node, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
char *dvm_client_get_topology_finish (DvmClient *self, GAsyncResult *result, GError **error);
char *dvm_client_get_topology (DvmClient *self, DvmNode *node, GCancellable *cancellable, GError **error);

/* reference: allocation id, "" for the default session, or object path */
void dvm_client_find_session_async (DvmClient *self, const char *reference, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
DvmSession *dvm_client_find_session_finish (DvmClient *self, GAsyncResult *result, GError **error);
DvmSession *dvm_client_find_session (DvmClient *self, const char *reference, GCancellable *cancellable, GError **error);

/* (element-type DvmSession), (element-type DvmCampaign); all: those that have ended too */
void dvm_client_list_sessions_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                                     gpointer user_data);
GPtrArray *dvm_client_list_sessions_finish (DvmClient *self, GAsyncResult *result, GError **error);
GPtrArray *dvm_client_list_sessions (DvmClient *self, GCancellable *cancellable, GError **error);
void dvm_client_list_campaigns_async (DvmClient *self, gboolean all, GCancellable *cancellable,
                                      GAsyncReadyCallback callback, gpointer user_data);
GPtrArray *dvm_client_list_campaigns_finish (DvmClient *self, GAsyncResult *result, GError **error);
GPtrArray *dvm_client_list_campaigns (DvmClient *self, gboolean all, GCancellable *cancellable, GError **error);

/* request: a{sv} as of Grow and Shrink; campaign: NULL if nothing changes. "dvm-is-ready" and "dvm-mod-failed" tell of
 * the end. */
void dvm_client_grow_async (DvmClient *self, GVariant *request, GCancellable *cancellable, GAsyncReadyCallback callback,
                            gpointer user_data);
gboolean dvm_client_grow_finish (DvmClient *self, GAsyncResult *result, char **alloc_id, DvmCampaign **campaign,
                                 GError **error);
gboolean dvm_client_grow (DvmClient *self, GVariant *request, GCancellable *cancellable, char **alloc_id,
                          DvmCampaign **campaign, GError **error);
void dvm_client_shrink_async (DvmClient *self, GVariant *request, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_shrink_finish (DvmClient *self, GAsyncResult *result, char **alloc_id, DvmCampaign **campaign,
                                   GError **error);
gboolean dvm_client_shrink (DvmClient *self, GVariant *request, GCancellable *cancellable, char **alloc_id,
                            DvmCampaign **campaign, GError **error);
/* a{sv}: alloc-id, req-id, session, campaign */
void dvm_client_allocate_async (DvmClient *self, const char *directive, GVariant *request, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data);
GVariant *dvm_client_allocate_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_allocate (DvmClient *self, const char *directive, GVariant *request, GCancellable *cancellable,
                               GError **error);

/* id: of a session, 0 for "instantiate" to choose one, G_MAXUINT for all that the caller controls; directives: a{sv};
 * a{sv}: session, alloc-id, req-id, campaign, nspace */
void dvm_client_control_session_async (DvmClient *self, guint id, GVariant *directives, GCancellable *cancellable,
                                       GAsyncReadyCallback callback, gpointer user_data);
GVariant *dvm_client_control_session_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_control_session (DvmClient *self, guint id, GVariant *directives, GCancellable *cancellable,
                                      GError **error);
/* request: a{sv}; campaign: NULL if no node comes or goes */
void dvm_client_extend_session_async (DvmClient *self, DvmSession *session, GVariant *request,
                                      GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_extend_session_finish (DvmClient *self, GAsyncResult *result, DvmCampaign **campaign,
                                           GError **error);
gboolean dvm_client_extend_session (DvmClient *self, DvmSession *session, GVariant *request, GCancellable *cancellable,
                                    DvmCampaign **campaign, GError **error);
/* request: a{sv}; campaign: NULL if no node comes or goes */
void dvm_client_release_session_async (DvmClient *self, DvmSession *session, GVariant *request,
                                       GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_release_session_finish (DvmClient *self, GAsyncResult *result, DvmCampaign **campaign,
                                            GError **error);
gboolean dvm_client_release_session (DvmClient *self, DvmSession *session, GVariant *request, GCancellable *cancellable,
                                     DvmCampaign **campaign, GError **error);
void dvm_client_pause_session_async (DvmClient *self, DvmSession *session, GCancellable *cancellable,
                                     GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_pause_session_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_pause_session (DvmClient *self, DvmSession *session, GCancellable *cancellable, GError **error);
void dvm_client_resume_session_async (DvmClient *self, DvmSession *session, GCancellable *cancellable,
                                      GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_resume_session_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_resume_session (DvmClient *self, DvmSession *session, GCancellable *cancellable, GError **error);
/* nspace: (nullable): of one of its jobs, NULL for all */
void dvm_client_signal_session_async (DvmClient *self, DvmSession *session, int signum, const char *nspace,
                                      GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_signal_session_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_signal_session (DvmClient *self, DvmSession *session, int signum, const char *nspace,
                                    GCancellable *cancellable, GError **error);
void dvm_client_terminate_session_async (DvmClient *self, DvmSession *session, GCancellable *cancellable,
                                         GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_terminate_session_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_terminate_session (DvmClient *self, DvmSession *session, GCancellable *cancellable, GError **error);

/* reference: number or object path */
void dvm_client_find_campaign_async (DvmClient *self, const char *reference, GCancellable *cancellable,
                                     GAsyncReadyCallback callback, gpointer user_data);
DvmCampaign *dvm_client_find_campaign_finish (DvmClient *self, GAsyncResult *result, GError **error);
DvmCampaign *dvm_client_find_campaign (DvmClient *self, const char *reference, GCancellable *cancellable,
                                       GError **error);
/* Waits until the campaign has ended; the record is then up to date. timeout_ms 0: no limit. */
void dvm_client_wait_campaign_async (DvmClient *self, DvmCampaign *campaign, guint timeout_ms,
                                     GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_wait_campaign_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_wait_campaign (DvmClient *self, DvmCampaign *campaign, guint timeout_ms, GCancellable *cancellable,
                                   GError **error);
void dvm_client_cancel_campaign_async (DvmClient *self, DvmCampaign *campaign, GCancellable *cancellable,
                                       GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_cancel_campaign_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_cancel_campaign (DvmClient *self, DvmCampaign *campaign, GCancellable *cancellable, GError **error);

/* a(usss): rank, node, the stacks of its threads, why there are none or not all */
void dvm_client_collect_stacks_async (DvmClient *self, DvmJob *job, const char *ranks, guint timeout,
                                      GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
GVariant *dvm_client_collect_stacks_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_collect_stacks (DvmClient *self, DvmJob *job, const char *ranks, guint timeout,
                                     GCancellable *cancellable, GError **error);

/* a(tsuus): time (µs since the epoch), what, old, new, note */
void dvm_client_get_trace_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                                 gpointer user_data);
GVariant *dvm_client_get_trace_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_get_trace (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error);

/* One descriptor per stream asked for, in out arguments; -1 for those not asked for. The caller closes them. */
void dvm_client_attach_async (DvmClient *self, DvmJob *job, DvmStreams streams, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_attach_finish (DvmClient *self, GAsyncResult *result, int *stdin_fd, int *stdout_fd, int *stderr_fd,
                                   GError **error);
gboolean dvm_client_attach (DvmClient *self, DvmJob *job, DvmStreams streams, GCancellable *cancellable, int *stdin_fd,
                            int *stdout_fd, int *stderr_fd, GError **error);

/* The same as streams of GIO. */
void dvm_client_open_streams_async (DvmClient *self, DvmJob *job, DvmStreams streams, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
DvmJobStreams *dvm_client_open_streams_finish (DvmClient *self, GAsyncResult *result, GError **error);
DvmJobStreams *dvm_client_open_streams (DvmClient *self, DvmJob *job, DvmStreams streams, GCancellable *cancellable,
                                        GError **error);

/* The properties of org.dvm.Manager, a{sv} */
void dvm_client_get_info_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                                gpointer user_data);
GVariant *dvm_client_get_info_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_get_info (DvmClient *self, GCancellable *cancellable, GError **error);
void dvm_client_get_defaults_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                                    gpointer user_data);
GVariant *dvm_client_get_defaults_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_get_defaults (DvmClient *self, GCancellable *cancellable, GError **error);

/* Before a job is submitted: with it a watch sees the job from its first state on. */
void dvm_client_subscribe_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                                 gpointer user_data);
gboolean dvm_client_subscribe_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_subscribe (DvmClient *self, GCancellable *cancellable, GError **error);

/* Starts sending the job's state changes to job (its state-changed signal); unsubscribed when the client goes. */
void dvm_client_watch_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                                 gpointer user_data);
gboolean dvm_client_watch_job_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_watch_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error);

void dvm_client_query_async (DvmClient *self, const char *const *keys, GVariant *qualifiers, GCancellable *cancellable,
                             GAsyncReadyCallback callback, gpointer user_data);
GVariant *dvm_client_query_finish (DvmClient *self, GAsyncResult *result, GError **error);
GVariant *dvm_client_query (DvmClient *self, const char *const *keys, GVariant *qualifiers, GCancellable *cancellable,
                            GError **error);

void dvm_client_cancel_jobs_async (DvmClient *self, GVariant *filter, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
gssize dvm_client_cancel_jobs_finish (DvmClient *self, GAsyncResult *result, GError **error);
gssize dvm_client_cancel_jobs (DvmClient *self, GVariant *filter, GCancellable *cancellable, GError **error);

void dvm_client_reload_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                              gpointer user_data);
gboolean dvm_client_reload_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_reload (DvmClient *self, GCancellable *cancellable, GError **error);
void dvm_client_shutdown_async (DvmClient *self, gboolean force, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data);
gboolean dvm_client_shutdown_finish (DvmClient *self, GAsyncResult *result, GError **error);
gboolean dvm_client_shutdown (DvmClient *self, gboolean force, GCancellable *cancellable, GError **error);

G_END_DECLS
