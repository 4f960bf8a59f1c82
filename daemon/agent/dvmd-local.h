/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-proc-table.h"
#include "dvmd-state-machine.h"

G_BEGIN_DECLS

/*
 * The agent's own small tables (L1): the truth about the processes of a job on this node. Pure; what is to be done is
 * asked for through DvmdLocalFuncs.
 *
 *   process: INIT, RUNNING, REGISTERED, READY_FOR_DEBUG after either while it waits for a debugger, then IOF_COMPLETE
 * and WAITPID_FIRED in either order make its final state, TERMINATED or an error (L11); one that comes back is in
 * RESTART instead until it is started again
 *   job: INIT, LOCAL_LAUNCH_COMPLETE (all tried), TERMINATED (all ended), NOTIFIED (nothing is left here);
 * READY_FOR_DEBUG when all wait for a debugger, RUNNING when none does any more; FORCED_EXIT when it was killed without
 * grace
 */

typedef struct _DvmdLocalJob DvmdLocalJob;

/* The agent's, of a process that is started again. */
typedef struct
{
  guint timer;       /* 0: none */
  gint64 pause;      /* µs */
  gint64 started_at; /* monotonic, µs */
  gboolean stopped;  /* the last signal of these was SIGSTOP and not SIGCONT */
  gboolean has_rest; /* what it has left behind is being ended */
  gboolean pmi;      /* one of its processes has spoken PMI */
} DvmdLocalRestart;

typedef struct
{
  DvmdLocalJob *job;
  guint32 rank;
  guint32 app;
  guint32 local_rank;
  int pid;
  int exit_code;
  int exit_signal;
  guint8 state;     /* DvmProcState */
  guint8 flags;     /* DvmdProcFlags */
  char *reason;     /* (nullable): why it could not be started */
  gpointer streams; /* the agent's */
  gboolean lost;    /* the PMIx server has seen its connection break */
  gint64 reaped_at; /* when it was, and waits for that, with status as of waitpid; 0: not yet */
  gboolean asked;   /* the PMIx server may know of it what was not here yet when it ended */
  int status;
  guint timer;
  gboolean continued;  /* it has waited for a debugger, or need not any more */
  gboolean reads;      /* it is in the list of those that get the standard input of the job */
  gboolean spared;     /* it is none of those that are to wait */
  gboolean comes_back; /* it has failed, and is to be started again */
  gboolean stays_away; /* it is not, whatever happens */
  guint32 n_before;    /* so often the rank was started on nodes that were lost, and on them again */
  guint32 n_restarts;  /* so often it was, here */
  DvmdLocalRestart restart;
} DvmdLocalProc;

typedef struct
{
  /* A process has a new state. */
  void (*proc_changed) (DvmdLocalJob *job, DvmdLocalProc *proc, gpointer user_data);
  /* Every local process was tried. */
  void (*launch_complete) (DvmdLocalJob *job, gpointer user_data);
  /* Every local process has exited (its output may still be open): end what they left behind. */
  void (*all_exited) (DvmdLocalJob *job, gpointer user_data);
  /* Every local process has its final state: clean up, then dvmd_local_job_cleaned(). */
  void (*all_ended) (DvmdLocalJob *job, gpointer user_data);
  /* Nothing of the job is left here; the job is freed after this. */
  void (*gone) (DvmdLocalJob *job, gpointer user_data);
  /* (nullable): it has called PMIx_Init, and its output was closed before that was known; its state stays. */
  void (*registered_late) (DvmdLocalJob *job, DvmdLocalProc *proc, gpointer user_data);
  /* (nullable): a process that comes back has exited, and its output is closed: start it again. */
  void (*restart) (DvmdLocalJob *job, DvmdLocalProc *proc, gpointer user_data);
} DvmdLocalFuncs;

struct _DvmdLocalJob
{
  grefcount ref_count;
  guint32 id;
  char *nspace;
  guint8 state; /* DvmJobState */
  DvmdEventQueue *queue;
  const DvmdLocalFuncs *funcs;
  gpointer user_data;
  GPtrArray *procs;  /* DvmdLocalProc, ascending by rank */
  GHashTable *index; /* rank -> DvmdLocalProc */
  guint n_tried;
  guint n_exited;
  guint n_ended;
  guint n_waiting; /* for a debugger, now */
};

DvmdLocalJob *dvmd_local_job_new (guint32 id, const char *nspace, DvmdEventQueue *queue, const DvmdLocalFuncs *funcs,
                                  gpointer user_data);
DvmdLocalJob *dvmd_local_job_ref (DvmdLocalJob *self);
void dvmd_local_job_unref (DvmdLocalJob *self);
DvmdLocalProc *dvmd_local_job_add_proc (DvmdLocalJob *self, guint32 rank, guint32 app, guint32 local_rank);
/* NULL: not one of ours. */
DvmdLocalProc *dvmd_local_job_find_proc (DvmdLocalJob *self, guint32 rank);

/* ---- what happened ---- */
void dvmd_local_proc_started (DvmdLocalProc *self, int pid);
void dvmd_local_proc_not_started (DvmdLocalProc *self, int exit_code, const char *reason);
void dvmd_local_proc_registered (DvmdLocalProc *self);
void dvmd_local_proc_finalized (DvmdLocalProc *self);
/* It waits for a debugger, stopped or in a call of its library; later it goes on. */
void dvmd_local_proc_ready_for_debug (DvmdLocalProc *self);
void dvmd_local_proc_continued (DvmdLocalProc *self);
void dvmd_local_proc_called_abort (DvmdLocalProc *self, int status);
void dvmd_local_proc_output_closed (DvmdLocalProc *self);
/* Before dvmd_local_proc_exited(): it has failed, and that is not its end. */
void dvmd_local_proc_comes_back (DvmdLocalProc *self);
/* Nothing happens unless it comes back: then it has ended as it did, after all. */
void dvmd_local_proc_gave_up (DvmdLocalProc *self);
/* exit_signal 0: it ended by itself, with exit_code */
void dvmd_local_proc_exited (DvmdLocalProc *self, int exit_code, int exit_signal);
/* A command ends the job: what its processes do from now on is its doing. */
void dvmd_local_job_killed (DvmdLocalJob *self, gboolean forced);
void dvmd_local_job_cleaned (DvmdLocalJob *self);

/* The tables, for tests and documents. */
extern const DvmdStateTable dvmd_local_proc_table;
extern const DvmdStateTable dvmd_local_job_table;

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdLocalJob, dvmd_local_job_unref)

G_END_DECLS
