/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-host.h"
#include "dvmd-pmix-job.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/*
 * The PMIx server of a node as its agent sees it: on the main context only, in GLib's types only. The real one is
 * dvmd_pmix_server_new() (one per process, one life per process); tests of many agents in one process bring a fake.
 *
 * The life of a job:
 *   register_job_async      the map is known to the library, the session directories are there, local ranks may connect
 *   dup_environment         for each local rank: put into its environment before it is started
 *   take_back_async         its process has gone, and the next one may come
 *   deregister_client       its process has gone, however it ended
 *   deregister_job_async    after the last one: everything of the job is freed and removed from the disk
 */

typedef struct
{
  char *runtime_dir;      /* directory of this node alone (0700): sessions/ and pmix/ below it are the server's */
  char *pmix_dir;         /* (nullable): of a server that shares runtime_dir with others: its own place there */
  char *shm_dir;          /* (nullable): likewise, where the shared memory of their jobs is */
  char *tool_prefix;      /* (nullable): how the names begin that a server process gives to tools */
  char *nspace;           /* of the DVM itself */
  guint32 rank;           /* of the agent */
  char *node_name;        /* as in the jobs' nodes */
  DvmdTopology *topology; /* (nullable): the library then looks for itself, which takes 10 ms */
  gboolean tools;         /* tools may connect: a file says where */
  char *gds;              /* (nullable): libpmix's stores of job data, "ds21,hash"; NULL is "hash", the fastest */
} DvmdPmixSettings;

void dvmd_pmix_settings_clear (DvmdPmixSettings *self);
/*
 * (transfer full): the file that says where tools connect. That of a server that shares a directory with others has a
 * name by which no tool looks for it.
 */
char *dvmd_pmix_settings_build_tools_path (const DvmdPmixSettings *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdPmixSettings, dvmd_pmix_settings_clear)

/* The operation has happened, or will never. */
typedef void (*DvmdPmixDone) (gpointer user_data);

#define DVMD_TYPE_PMIX (dvmd_pmix_get_type ())
G_DECLARE_INTERFACE (DvmdPmix, dvmd_pmix, DVMD, PMIX, GObject)

struct _DvmdPmixInterface
{
  GTypeInterface parent;

  gboolean (*start) (DvmdPmix *self, const DvmdPmixSettings *settings, DvmdPmixHost *host, GError **error);
  gboolean (*stop) (DvmdPmix *self, DvmdPmixDone func, gpointer user_data);
  void (*register_job_async) (DvmdPmix *self, DvmdPmixJob *job, GAsyncReadyCallback callback, gpointer user_data);
  gboolean (*register_job_finish) (DvmdPmix *self, GAsyncResult *result, GError **error);
  char **(*dup_environment) (DvmdPmix *self, const char *nspace, guint32 rank, GError **error);
  char **(*dup_default_environment) (DvmdPmix *self, const char *nspace, guint n_pus, GError **error);
  void (*deregister_client) (DvmdPmix *self, const char *nspace, guint32 rank);
  void (*take_back_async) (DvmdPmix *self, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                           gpointer user_data);
  gboolean (*take_back_finish) (DvmdPmix *self, GAsyncResult *result, GError **error);
  void (*deregister_job_async) (DvmdPmix *self, const char *nspace, GAsyncReadyCallback callback, gpointer user_data);
  gboolean (*deregister_job_finish) (DvmdPmix *self, GAsyncResult *result, GError **error);
  void (*abandon_job) (DvmdPmix *self, const char *nspace);
  gboolean (*catch_up) (DvmdPmix *self, const char *nspace, DvmdPmixDone func, gpointer user_data);
  void (*ping_async) (DvmdPmix *self, GAsyncReadyCallback callback, gpointer user_data);
  void (*complete_fence) (DvmdPmix *self, guint64 token, int status, GBytes *data);
  void (*complete_direct_modex) (DvmdPmix *self, guint64 token, int status, GBytes *data);
  void (*fetch_modex_async) (DvmdPmix *self, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                             gpointer user_data);
  GBytes *(*fetch_modex_finish) (DvmdPmix *self, GAsyncResult *result, GError **error);
  void (*complete_call) (DvmdPmix *self, guint64 token, int status, GVariant *answer);
  void (*deliver_output) (DvmdPmix *self, guint server, const DvmdPmixProc *source, guint stream, GBytes *bytes);
  void (*complete_connect) (DvmdPmix *self, guint64 token, int status);
  void (*notify_event) (DvmdPmix *self, int status, const DvmdPmixProc *source, const DvmdPmixProc *targets,
                        guint n_targets, GVariant *details);
};

/*
 * Starts the library (a few ms, blocking). Its calls of host come on the thread-default main context of this call.
 * host is not owned: stop() before it goes.
 */
gboolean dvmd_pmix_start (DvmdPmix *self, const DvmdPmixSettings *settings, DvmdPmixHost *host, GError **error);
/*
 * The host is not called any more, and files are removed; the library's thread ends with its process. Open operations
 * end with DVM_ERROR_SHUTTING_DOWN. TRUE: that is all, always so where func is NULL. FALSE: func is called when clients
 * have got what they were to be told before, unless this is called once more with NULL.
 */
gboolean dvmd_pmix_stop (DvmdPmix *self, DvmdPmixDone func, gpointer user_data);

/*
 * A job without ranks here (my_node G_MAXUINT32) is registered for those who talk to it.
 * DVM_ERROR_EXISTS if the namespace is registered already. On failure nothing of the job stays behind.
 */
void dvmd_pmix_register_job_async (DvmdPmix *self, DvmdPmixJob *job, GAsyncReadyCallback callback, gpointer user_data);
gboolean dvmd_pmix_register_job_finish (DvmdPmix *self, GAsyncResult *result, GError **error);

/*
 * "NAME=value" strings for a local rank of a registered job, all of which replace what the user's environment has under
 * those names (PMIX_*, the session directory). See also dvmd_pmix_dup_default_environment().
 */
char **dvmd_pmix_dup_environment (DvmdPmix *self, const char *nspace, guint32 rank, GError **error);
/*
 * "NAME=value" strings that help the MPI libraries, to be set only where the user's environment does not have the name.
 * The same for all local ranks of the job. n_pus: hardware threads that they share.
 */
char **dvmd_pmix_dup_default_environment (DvmdPmix *self, const char *nspace, guint n_pus, GError **error);

/*
 * The rank's process has gone: needed for every rank, also for those that finalized. A rank that had not finalized
 * leaves the others waiting in collectives that libpmix cannot end: the agent ends the job (README.md).
 */
void dvmd_pmix_deregister_client (DvmdPmix *self, const char *nspace, guint32 rank);
/*
 * The rank's process has gone, and another one is started in its place, which may come as a client. Its end must have
 * been told, as lost() or finalized(), if it was one: fences of the job that are open here fail. On failure it must not
 * be started.
 */
void dvmd_pmix_take_back_async (DvmdPmix *self, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                                gpointer user_data);
gboolean dvmd_pmix_take_back_finish (DvmdPmix *self, GAsyncResult *result, GError **error);
/*
 * Frees everything of the job, clients included, and removes its directories and shared memory. Of a job that is being
 * registered as well: that is answered, with an error or without, and must not be waited for.
 */
void dvmd_pmix_deregister_job_async (DvmdPmix *self, const char *nspace, GAsyncReadyCallback callback,
                                     gpointer user_data);
gboolean dvmd_pmix_deregister_job_finish (DvmdPmix *self, GAsyncResult *result, GError **error);

/*
 * Instead of deregistering a job of which a rank was killed while it may have been connecting: its directories and
 * shared memory are removed, and what the library has of it stays, which is some kB. libpmix 4.2.2 frees what it knows
 * of such a rank twice (the error path of its connection handler), and hangs when the namespace goes.
 */
void dvmd_pmix_abandon_job (DvmdPmix *self, const char *nspace);

/*
 * Calls the host for all that clients of the job have told until now. What a process told before it ended is then
 * known: to be called when its end is, before that is judged. TRUE: that has happened. FALSE: func is called when it
 * has, or when the server has gone; not after stop().
 */
gboolean dvmd_pmix_catch_up (DvmdPmix *self, const char *nspace, DvmdPmixDone func, gpointer user_data);
/* Answered (a GTask with TRUE) by the library's own thread: one that does not answer serves nobody any more. */
void dvmd_pmix_ping_async (DvmdPmix *self, GAsyncReadyCallback callback, gpointer user_data);

/* data (nullable): the contributions of all nodes, in any order. */
void dvmd_pmix_complete_fence (DvmdPmix *self, guint64 token, int status, GBytes *data);
void dvmd_pmix_complete_direct_modex (DvmdPmix *self, guint64 token, int status, GBytes *data);
/* Fetches the data that a local rank has put, for another node; waits until the rank has committed. */
void dvmd_pmix_fetch_modex_async (DvmdPmix *self, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                                  gpointer user_data);
GBytes *dvmd_pmix_fetch_modex_finish (DvmdPmix *self, GAsyncResult *result, GError **error);

/*
 * answer (nullable, floating is sunk): of the type that the kind of the call has; only a call that succeeds has one.
 * The job of a spawn runs then.
 */
void dvmd_pmix_complete_call (DvmdPmix *self, guint64 token, int status, GVariant *answer);
/*
 * To those clients of one of the node's servers (DVMD_CALL_SERVER() of their calls) who have spawned that job or pull
 * its output, and want this stream (DVMD_PMIX_STDOUT, ...); after they have been answered. The host is told when it has
 * been handed over.
 */
void dvmd_pmix_deliver_output (DvmdPmix *self, guint server, const DvmdPmixProc *source, guint stream, GBytes *bytes);

/* The jobs of all participants have been registered before. */
void dvmd_pmix_complete_connect (DvmdPmix *self, guint64 token, int status);

/*
 * Tells those of the targets that are local clients and tools of an event, clients that have yet to connect when they
 * have. source (nullable): the process it comes from, which is not told; the server itself if NULL. details (nullable,
 * floating is sunk): a{sv} of PMIx keys with values of type s, b, i, u, x, t, (i) (a status), (su) (a process), a(su),
 * or ay (packed by the library).
 */
void dvmd_pmix_notify_event (DvmdPmix *self, int status, const DvmdPmixProc *source, const DvmdPmixProc *targets,
                             guint n_targets, GVariant *details);

G_END_DECLS
