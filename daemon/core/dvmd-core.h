/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-campaign.h"
#include "dvmd-clock.h"
#include "dvm-reason-private.h"
#include "dvmd-effects.h"
#include "dvmd-state-machine.h"

G_BEGIN_DECLS

/*
 * The model of the DVM: the job machine, nodes and slots, sessions, history. Pure: no I/O, no clock of its own, no
 * main loop. Signals:
 *   job-added (DvmdJob), job-ended (DvmdJob): left the live jobs, job-forgotten (DvmdJob): left the history,
 *   job-state-changed (DvmdJob, old, new), node-state-changed (guint rank, guint state),
 *   node-changed (guint rank): other properties of it than its state and its jobs,
 *   changed: counters or the DVM's own state changed (at most once per drained event)
 */

#define DVMD_TYPE_CORE (dvmd_core_get_type ())
G_DECLARE_FINAL_TYPE (DvmdCore, dvmd_core, DVMD, CORE, GObject)

typedef struct
{
  const char *nspace; /* of the DVM itself; a job's is NSPACE@N */
  const char *host;   /* the controller's own */
  guint history_limit;
  guint64 history_bytes;  /* 0: without this limit */
  gboolean one_shot;      /* ends at ALL_JOBS_COMPLETE */
  gboolean allow_missing; /* comes up without the nodes that do not come, if there is one that does */
  gboolean elastic;       /* its size may change: dvmd-core-elastic.h */
  gboolean heal;          /* agents that were lost are started again: dvmd-heal.h */
  guint heal_limit;       /* so many times in a row */
  gint64 heal_pause;      /* µs, the longest between two attempts; so long a node stays up that is well */
  gint64 move_pause;      /* µs until what ran on a node that was lost has ended there, whatever it was lost by */
  guint park_limit;       /* s that a job is parked before later campaigns wait for it */
  guint grow_timeout;     /* s that the agents of a grow have to report */
  gboolean queue;         /* backfill, and jobs wait for nodes to come: dvmd-admission.h */
  guint queue_max_running;
  guint uid; /* whose DVM it is */
} DvmdCoreSettings;

typedef struct
{
  guint64 jobs_submitted;
  guint64 jobs_ended;
  guint64 procs_launched;
  guint64 campaigns_completed;
  guint64 campaigns_failed;
  guint64 jobs_remapped;
} DvmdCoreStatistics;

typedef struct
{
  const char *host;
  const char *const *aliases;
  const char *address;
  int pid;
  guint hwthreads; /* slots, if nobody gives it others: one for each hardware thread, or what the settings say */
  const char *topology;
  guint64 memory; /* bytes, that it was told are given of the node; 0: none */
} DvmdAgentReport;

DvmdCore *dvmd_core_new (const DvmdCoreSettings *settings, DvmdClock *clock, DvmdEventQueue *queue,
                         const DvmdEffects *effects, gpointer user_data);

/* Before start, or while the effect "allocate" is under way. slots 0: not given. */
DvmdNode *dvmd_core_add_node (DvmdCore *self, const char *name, guint slots, guint slots_max);
void dvmd_core_start (DvmdCore *self);

/*
 * How many ended jobs can still be asked about, and how many bytes they may take: the last one always may. Of those
 * that are too many now a few leave with each call of dvmd_core_trim_history() (TRUE: there are more) and with each job
 * that ends.
 */
/* Jobs that wait are judged anew. */
void dvmd_core_set_queue (DvmdCore *self, gboolean queue, guint max_running);
void dvmd_core_set_history_limit (DvmdCore *self, guint limit);
void dvmd_core_set_history_bytes (DvmdCore *self, guint64 limit);
guint dvmd_core_get_history_limit (DvmdCore *self);
gboolean dvmd_core_trim_history (DvmdCore *self);

/* ---- what has happened outside ---- */
/* The nodes of the DVM have been added, or cannot be had. */
void dvmd_core_allocated (DvmdCore *self);
void dvmd_core_allocation_failed (DvmdCore *self, const char *reason);
void dvmd_core_agent_reported (DvmdCore *self, guint rank, const DvmdAgentReport *report);
/* It has reported before: cpus and memory of the node are others. Jobs that have their slots keep what they have. */
void dvmd_core_agent_changed (DvmdCore *self, guint rank, const DvmdAgentReport *report);
/* Where it is in the tree: the rank above it and the number of links to the controller; depth 0: nowhere. */
void dvmd_core_place_node (DvmdCore *self, guint rank, guint parent_rank, guint depth);
/* The node is not the DVM's any more: once its agent is lost it is not started again. */
void dvmd_core_withdraw_node (DvmdCore *self, guint rank);
/* Its agent ends by itself what runs there, and is lost then: nothing is placed there any more. */
void dvmd_core_agent_leaves (DvmdCore *self, guint rank);
/* Which plugins have started its agent and have found it; NULL: as it was. */
void dvmd_core_set_node_origin (DvmdCore *self, guint rank, const char *launcher, const char *allocator);
/* How deep the tree is, and how often it has been mended since the start. */
void dvmd_core_set_tree (DvmdCore *self, guint depth, guint64 repairs);
/* How the life of an agent ends. */
typedef enum
{
  DVMD_AGENT_FAILED,   /* it will not report */
  DVMD_AGENT_LOST,     /* it is not there any more */
  DVMD_AGENT_GONE,     /* it has ended, as all do with the DVM */
  DVMD_AGENT_DEPARTED, /* it was ordered to leave, and has genuinely gone (D1) */
  DVMD_AGENT_N_ENDS
} DvmdAgentEnd;
/*
 * cause and reason say what happened to one that failed or was lost. Its node is DOWN for good, its processes are over
 * (COMM_FAILED), and no answer of it is waited for. Jobs with processes there fail with a reason that names the node,
 * or go on if they may lose ranks and have others; jobs that were placed there and not launched fail too, those that
 * were not placed yet look for other nodes. Without any node the DVM stays up: jobs that come end MAP_FAILED.
 * Before the DVM is ready a report that comes late is refused. When each has reported or failed the DVM becomes ready
 * without those, if that is allowed; else it fails, with a reason that names each of them.
 */
void dvmd_core_agent_ended (DvmdCore *self, guint rank, DvmdAgentEnd how, DvmdCause cause, const char *reason);
/* Follows for each that was lost: its launcher has ended what it had started there, as far as that can be reached. */
void dvmd_core_lost_agent_gone (DvmdCore *self, guint rank);
/* The agents have their places, the membership is told, and everybody has it. campaign: as the effect has named it */
void dvmd_core_agents_wired (DvmdCore *self, DvmdCampaign *campaign);
/*
 * All files of the job are on that agent, or (reason) they cannot be brought there; agent 0: they cannot be read. What
 * an agent says that has gone is not the job's failure (L14).
 */
void dvmd_core_files_staged (DvmdCore *self, DvmdJob *job, guint agent, const char *reason);
/* The map of the job has been shown, or (reason) cannot be: then it is not launched. */
void dvmd_core_job_shown (DvmdCore *self, DvmdJob *job, const char *reason);
/* pid > 0: started; else it could not be started: exit_code 126 or 127 and why */
void dvmd_core_proc_launched (DvmdCore *self, DvmdJob *job, guint rank, int pid, int exit_code, const char *reason);
/* The same of a process that has failed, of which DVM_PROC_STATE_RESTART was told. */
void dvmd_core_proc_relaunched (DvmdCore *self, DvmdJob *job, guint rank, int pid, int exit_code, const char *reason);
void dvmd_core_local_launch_complete (DvmdCore *self, DvmdJob *job, guint agent);
void dvmd_core_proc_state (DvmdCore *self, DvmdJob *job, guint rank, DvmProcState state, int exit_code,
                           int exit_signal);
void dvmd_core_abort_called (DvmdCore *self, DvmdJob *job, guint rank, int status, const char *message);
/* The job goes on without that rank, which ends because PMIx_Abort has named it. */
void dvmd_core_note_aborted (DvmdJob *job, guint rank, int status);
/* Nothing of the job is left on that agent. */
void dvmd_core_job_gone (DvmdCore *self, DvmdJob *job, guint agent);

/* ---- what people ask ---- */
DvmdJob *dvmd_core_submit (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, GError **error);
/* In two steps: what is wrong with the job is known, and its number is given, before it exists. 0: error says why. */
guint dvmd_core_reserve (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, GError **error);
/* The job will not come: the next one may have the number, if it was the last that was given. */
void dvmd_core_unreserve (DvmdCore *self, guint id);
/* A job that was reserved will not come: others may wait for the array that it was to be in. */
void dvmd_core_lose_job (DvmdCore *self, DvmJobSpec *spec);
DvmdJob *dvmd_core_submit_reserved (DvmdCore *self, guint id, DvmJobSpec *spec, const DvmdRequester *requester,
                                    GError **error);
/*
 * Where the processes of such a job would go; nothing is claimed. awaited (out) (nullable): it would have to wait,
 * for "slots", "cpus" or "devices", and the map is that of its turn.
 */
DvmdMap *dvmd_core_map (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, const char **awaited,
                        GError **error);
/* Output of the job could not be written: kept with its reason, from now on. */
void dvmd_core_output_lost (DvmdCore *self, DvmdJob *job, const char *message);
/* FALSE: nothing was said that a reason could end with */
gboolean dvmd_core_has_abort_message (const char *message);
/* Ends the job in error state (KILLED_BY_CMD, ...); FALSE when it has ended already. */
gboolean dvmd_core_fail_job (DvmdCore *self, DvmdJob *job, DvmJobState state, const char *reason);
/* For one of the sentences that clients translate. */
/* Its program is linked with an MPI library, and a rank has ended that had not called PMIx_Init: if none ever does, the
 * job's reason says so. */
void dvmd_core_note_mpi_library (DvmdCore *self, DvmdJob *job, const char *library);
gboolean dvmd_core_fail_job_for (DvmdCore *self, DvmdJob *job, DvmJobState state, const DvmReason *reason);
/* All that was to be done at its time limit is done. Nothing happens if it has ended meanwhile. */
void dvmd_core_end_late_job (DvmdCore *self, DvmdJob *job);
/* A job whose ranks were to wait for a debugger need not any more. */
void dvmd_core_continue_job (DvmdCore *self, DvmdJob *job);
/* The node takes no new jobs until it is resumed; those that it has go on. */
gboolean dvmd_core_drain_node (DvmdCore *self, DvmdNode *node, const char *reason, GError **error);
gboolean dvmd_core_resume_node (DvmdCore *self, DvmdNode *node, GError **error);
void dvmd_core_shutdown (DvmdCore *self, gboolean force, const char *reason);

/* ---- lookups ---- */
DvmdJob *dvmd_core_get_job (DvmdCore *self, guint id);            /* live or in the history */
DvmdJob *dvmd_core_find_job (DvmdCore *self, const char *nspace); /* likewise */
DvmdJob *dvmd_core_get_vm_job (DvmdCore *self);                   /* the DVM's own */
/* Ascending by id, the first one after NULL; NULL after the last. ended: the history too */
DvmdJob *dvmd_core_next_job (DvmdCore *self, DvmdJob *after, gboolean ended);
/* (element-type DvmdJob), the same for whoever changes them meanwhile */
GPtrArray *dvmd_core_list_jobs (DvmdCore *self, gboolean ended);
DvmdNodePool *dvmd_core_get_nodes (DvmdCore *self);
gboolean dvmd_core_get_ready (DvmdCore *self);
gboolean dvmd_core_get_shutting_down (DvmdCore *self);
/* The end is a forced one: nobody gets time to clean up. */
gboolean dvmd_core_get_forced (DvmdCore *self);
guint64 dvmd_core_get_membership_epoch (DvmdCore *self);
guint dvmd_core_get_num_running (DvmdCore *self);
guint dvmd_core_get_num_held (DvmdCore *self);
guint dvmd_core_get_num_live (DvmdCore *self);
/* Without a tree every agent has a link to the controller itself. */
guint dvmd_core_get_tree_depth (DvmdCore *self);
guint64 dvmd_core_get_tree_repairs (DvmdCore *self);
guint dvmd_core_get_nodes_expected (DvmdCore *self);
guint dvmd_core_get_nodes_reported (DvmdCore *self);
const DvmdCoreStatistics *dvmd_core_get_statistics (DvmdCore *self);
/* 0: the last id that was given. */
guint dvmd_core_get_last_job_id (DvmdCore *self);
guint dvmd_core_get_last_campaign_id (DvmdCore *self);

G_END_DECLS
