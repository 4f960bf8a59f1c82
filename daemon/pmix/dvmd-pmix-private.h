/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-dirs.h"
#include "dvmd-call-kind.h"
#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-jobinfo.h"
#include "dvmd-pmix-queue.h"
#include "dvmd-pmix-relay.h"
#include "dvmd-pmix-server.h"

G_BEGIN_DECLS

typedef struct
{
  DvmdPmixJob *job;
  DvmdPmixInfo info; /* the library reads it until the registration has ended */
} DvmdPmixServerJob;

struct _DvmdPmixServer
{
  GObject parent_instance;
  DvmdPmixHost *host; /* not owned */
  DvmdPmixQueue *queue;
  DvmdPmixDirs *dirs;
  DvmdPmixPlaces *places;
  DvmdTopology *topology;
  char *node_name;
  guint port;           /* where the library listens */
  DvmdPmixRelay *relay; /* (nullable): where tools come to */
  GHashTable *jobs;     /* nspace -> DvmdPmixServerJob */
  GHashTable *unknown;  /* set of nspaces: of jobs that somebody has asked for in vain */
  GHashTable *tokens;   /* guint64 -> DvmdPmixRequest: collectives that the agent has not answered */
  GHashTable *calls;    /* guint64 -> DvmdPmixCall: that the agent has not answered */
  GHashTable *tasks;    /* GTasks that wait for the library */
  guint64 last_token;
  int library_thread; /* gettid(2) of the one that answered last */
  gboolean running;
  DvmdPmixDone stopped; /* (nullable): who waits for the end of the stop */
  gpointer stopped_data;
  GSource *idle_timer; /* (nullable) */
};

/* A question of the library's to which the agent owes an answer. */
typedef struct
{
  guint64 token;
  char *nspace; /* (nullable): of the rank whose data is asked for */
  pmix_modex_cbfunc_t callback;
  void *callback_data;
} DvmdPmixRequest;

/* A client waits for an answer of the agent's. */
typedef struct _DvmdPmixCall DvmdPmixCall;

struct _DvmdPmixCall
{
  guint64 token;
  /* Hands the answer to the library; (nullable) answer: of the type of the kind, if status is success. */
  void (*answer) (const DvmdPmixCall *self, int status, GVariant *answer);
  union
  {
    pmix_info_cbfunc_t info;
    pmix_spawn_cbfunc_t spawn;
    pmix_lookup_cbfunc_t look_up;
    pmix_op_cbfunc_t done;
  } callback;
  void *callback_data;
  char *nspace;         /* (nullable): of the client; the call fails when that job's clients have gone */
  gint64 end;           /* monotonic, µs: from then on the library has answered by itself; 0: it does not */
  gboolean gets_output; /* of a spawn: the library hands over what the job says */
};

/*
 * An operation of the library: one task, answered when count callbacks have come. It is made on the main context; the
 * callbacks come on PMIx's thread.
 */
typedef struct
{
  DvmdPmixItem item;
  DvmdPmixQueue *queue;
  GTask *task;
  gint count;
  gint status; /* of the first that failed */
  int thread;  /* of the last */
  GBytes *data;
  /* On the main context, when all have come. */
  void (*done) (DvmdPmixServer *server, GTask *task, int status, GBytes *data);
} DvmdPmixOperation;

typedef void (*DvmdPmixOperationDone) (DvmdPmixServer *server, GTask *task, int status, GBytes *data);

DvmdPmixOperation *dvmd_pmix_operation_new (DvmdPmixServer *server, GTask *task, gint count,
                                            DvmdPmixOperationDone done);
/* A pmix_op_cbfunc_t: one of the callbacks has come. From any thread. */
void dvmd_pmix_operation_step (pmix_status_t status, void *data);
/* Takes the status of a library call that calls dvmd_pmix_operation_step() later, unless it has failed at once. */
void dvmd_pmix_operation_called (DvmdPmixOperation *self, pmix_status_t status);

/* NULL, with the error set to the task, unless the server runs. */
GTask *dvmd_pmix_server_new_task (DvmdPmixServer *self, gpointer tag, GAsyncReadyCallback callback, gpointer user_data);
GError *dvmd_pmix_error_new (int status, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* dvmd-pmix-upcalls.c: the module that the library calls; queue is where the calls go, NULL after the library's end. */
pmix_server_module_t *dvmd_pmix_upcalls_set_queue (DvmdPmixQueue *queue, const char *nspace);
void dvmd_pmix_upcalls_watch_clients (void);
/* Whether that is the namespace of the DVM itself. */
gboolean dvmd_pmix_upcalls_is_own (const char *nspace);
/* From PMIx's thread: to be run on the main context. */
void dvmd_pmix_upcalls_post (DvmdPmixItem *item);

/* dvmd-pmix-upcalls-data.c */
pmix_status_t dvmd_pmix_upcall_publish (const pmix_proc_t *proc, const pmix_info_t info[], size_t n_info,
                                        pmix_op_cbfunc_t callback, void *callback_data);
pmix_status_t dvmd_pmix_upcall_lookup (const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t n_info,
                                       pmix_lookup_cbfunc_t callback, void *callback_data);
pmix_status_t dvmd_pmix_upcall_unpublish (const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t n_info,
                                          pmix_op_cbfunc_t callback, void *callback_data);
pmix_status_t dvmd_pmix_upcall_connect (const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[],
                                        size_t n_info, pmix_op_cbfunc_t callback, void *callback_data);
pmix_status_t dvmd_pmix_upcall_disconnect (const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[],
                                           size_t n_info, pmix_op_cbfunc_t callback, void *callback_data);
/* (transfer full) (nullable): a{sv} as in dvmd_data_store_handle(); keys (nullable): of all but publishing */
GVariant *dvmd_pmix_read_data (DvmdPmixDataOp op, char **keys, const pmix_info_t *info, gsize n, GError **error);

/* dvmd-pmix-log.c */
void dvmd_pmix_upcall_log (const pmix_proc_t *proc, const pmix_info_t data[], size_t n_data,
                           const pmix_info_t directives[], size_t n_directives, pmix_op_cbfunc_t callback,
                           void *callback_data);

/* dvmd-pmix-calls.c */
GHashTable *dvmd_pmix_calls_new (void);
/* Copies call, and its namespace; the token of the copy. */
guint64 dvmd_pmix_server_add_call (DvmdPmixServer *self, const DvmdPmixCall *call);
/*
 * The agent is asked. request (nullable, floating is sunk): of the type of the kind; NULL: the client is answered that
 * error, and the log tells it.
 */
void dvmd_pmix_server_call (DvmdPmixServer *self, const DvmdPmixCall *call, DvmdCallKind kind, const pmix_proc_t *proc,
                            GVariant *request, const GError *error);
/* TRUE: proc may be somebody who is not ours, and has been refused. */
gboolean dvmd_pmix_server_refuse_stranger (DvmdPmixServer *self, const pmix_proc_t *proc, const DvmdPmixCall *call);
void dvmd_pmix_server_complete_call (DvmdPmix *pmix, guint64 token, int status, GVariant *answer);
void dvmd_pmix_server_complete_connect (DvmdPmix *pmix, guint64 token, int status);
/* nspace (nullable): the calls of that job, whose clients have gone; NULL: all, because the agent answers no more. */
void dvmd_pmix_server_fail_calls (DvmdPmixServer *self, const char *nspace);

/* dvmd-pmix-alloc.c */
/* info: until it is answered */
void dvmd_pmix_server_allocate (DvmdPmixServer *self, const pmix_proc_t *proc, pmix_alloc_directive_t directive,
                                const pmix_info_t *info, gsize n_info, pmix_info_cbfunc_t callback,
                                void *callback_data);
/* (transfer full) (nullable): a{sv}, with the directive's word in *word */
GVariant *dvmd_pmix_read_allocation (pmix_alloc_directive_t directive, const pmix_info_t *info, gsize n,
                                     const char **word, GError **error);

/* dvmd-pmix-control.c */
typedef struct
{
  const char *operation; /* as in DVMD_CALL_JOB_CONTROL */
  int signum;
} DvmdPmixControl;

gboolean dvmd_pmix_read_control (const pmix_info_t *info, gsize n, DvmdPmixControl *control, GError **error);
void dvmd_pmix_server_control (DvmdPmixServer *self, const pmix_proc_t *proc, const DvmdPmixProc *targets,
                               guint n_targets, const pmix_info_t *info, gsize n_info, pmix_info_cbfunc_t callback,
                               void *callback_data);

/* dvmd-pmix-spawn.c */
/* info, apps: until it is answered */
void dvmd_pmix_server_spawn (DvmdPmixServer *self, const pmix_proc_t *proc, const pmix_info_t *info, gsize n_info,
                             const pmix_app_t *apps, gsize n_apps, pmix_spawn_cbfunc_t callback, void *callback_data);
/* (transfer full) (nullable): (aa{sv}a{sv}), the arguments of SubmitApps */
GVariant *dvmd_pmix_read_spawn (const pmix_info_t *info, gsize n_info, const pmix_app_t *apps, gsize n_apps,
                                DvmdPmixAttributes *attributes, GError **error);
void dvmd_pmix_server_deliver_output (DvmdPmix *pmix, const DvmdPmixProc *source, guint stream, GBytes *bytes);

/* dvmd-pmix-tools.c */
/* (nullable): it wants to be given a name. From any thread. */
const char *dvmd_pmix_read_claim (const pmix_info_t *info, gsize n_info, guint32 *rank);
/* (transfer full): where the library is to write what its address is */
char *dvmd_pmix_server_build_report_path (DvmdPmixServer *self);
/* The library has been started: where it listens. */
void dvmd_pmix_server_find_port (DvmdPmixServer *self, const DvmdPmixSettings *settings);
/* The library has been started: from now on tools find a way in. */
gboolean dvmd_pmix_server_let_tools_in (DvmdPmixServer *self, GError **error);
/*
 * Whether somebody is connected who is not ours: then the request of this client may be his. It is refused first, and
 * then he is shown the door: the library cannot bear to answer one that has gone.
 */
gboolean dvmd_pmix_server_is_among_strangers (DvmdPmixServer *self, const pmix_proc_t *client);
void dvmd_pmix_server_expel_strangers (DvmdPmixServer *self);
void dvmd_pmix_server_connect_tool (DvmdPmixServer *self, const pmix_info_t *info, gsize n_info,
                                    pmix_tool_connection_cbfunc_t callback, void *callback_data);

/* dvmd-pmix-forget.c */
void dvmd_pmix_server_deregister_job_async (DvmdPmix *pmix, const char *nspace, GAsyncReadyCallback callback,
                                            gpointer user_data);
/* Before it is answered that there is nothing of that job, unless it has ranks here. */
void dvmd_pmix_server_note_unknown (DvmdPmixServer *self, const char *nspace);

/* dvmd-pmix-modex.c */
/* nspace (nullable): of the rank whose data is asked for */
guint64 dvmd_pmix_server_add_request (DvmdPmixServer *self, const char *nspace, pmix_modex_cbfunc_t callback,
                                      void *callback_data);
void dvmd_pmix_request_free (gpointer request);
/* Whether one with this is open. */
gboolean dvmd_pmix_server_has_request (DvmdPmixServer *self, const void *callback_data);
/* Answers self's request at once. */
void dvmd_pmix_server_answer (DvmdPmixServer *self, guint64 token, int status, GBytes *data);
/* Questions for data of ranks of that job are answered with a failure. */
void dvmd_pmix_server_fail_requests (DvmdPmixServer *self, const char *nspace);
void dvmd_pmix_server_fetch_modex_async (DvmdPmix *pmix, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                                         gpointer user_data);
GBytes *dvmd_pmix_server_fetch_modex_finish (DvmdPmix *pmix, GAsyncResult *result, GError **error);
void dvmd_pmix_server_complete (DvmdPmix *pmix, guint64 token, int status, GBytes *data);
void dvmd_pmix_server_notify_event (DvmdPmix *pmix, int status, const DvmdPmixProc *source, const DvmdPmixProc *targets,
                                    guint n_targets, GVariant *details);

G_END_DECLS
