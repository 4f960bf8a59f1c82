/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

#include "dvmd-map.h"
#include "dvmd-proc-table.h"

G_BEGIN_DECLS

typedef struct _DvmdCore DvmdCore;

/* The requester, as its connection proves it: ":1.42", "private:7", "pmix:NSPACE.RANK". */
typedef struct
{
  char *name;
  guint uid;
  guint pid;
} DvmdRequester;

DvmdRequester *dvmd_requester_new (const char *name, guint uid, guint pid);
DvmdRequester *dvmd_requester_copy (const DvmdRequester *self);
void dvmd_requester_free (DvmdRequester *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdRequester, dvmd_requester_free)

#define DVMD_TYPE_JOB (dvmd_job_get_type ())
G_DECLARE_FINAL_TYPE (DvmdJob, dvmd_job, DVMD, JOB, GObject)

/* One transition of a job or of one of its processes. */
typedef struct
{
  gint64 time;  /* µs since the epoch */
  guint32 rank; /* DVMD_TRACE_JOB: the job itself */
  guint32 old_state;
  guint32 new_state;
  char *note; /* (nullable) */
} DvmdTraceEntry;

#define DVMD_TRACE_JOB G_MAXUINT32

/* (transfer full): what the transition is of: "job" or "rank 3" */
char *dvmd_trace_entry_describe (const DvmdTraceEntry *self);
/* The name of a state of the entry: states of jobs and of processes have names of their own. */
const char *dvmd_trace_entry_state_name (const DvmdTraceEntry *self, guint state);

DvmdJob *dvmd_job_new (DvmdCore *core, guint id, const char *nspace, DvmJobSpec *spec, const DvmdRequester *requester);
guint dvmd_job_get_id (DvmdJob *self);
DvmdCore *dvmd_job_get_core (DvmdJob *self);
/* The job's launch message has been sent. */
gboolean dvmd_job_is_launched (DvmdJob *self);
/* The job's ranks are to wait for a debugger. */
gboolean dvmd_job_stops (DvmdJob *self);
/* The job goes on without processes that fail. */
gboolean dvmd_job_is_recoverable (DvmdJob *self);
/* Of each of its processes. */
guint dvmd_job_get_max_restarts (DvmdJob *self);
/* The names of the nodes that are in its map now. */
void dvmd_job_publish_nodes (DvmdJob *self);
/* At its time limit the stacks of its processes are collected, and its state is told, before it is ended. */
gboolean dvmd_job_wants_stacks (DvmdJob *self);
gboolean dvmd_job_wants_state_told (DvmdJob *self);
/* Its processes are told of each that fails; a job that is not recoverable ends first. */
gboolean dvmd_job_notifies_errors (DvmdJob *self);
/* Its processes have written so much; its record has the sum, which is notified when it is told. */
void dvmd_job_count_output (DvmdJob *self, gsize n_bytes);
void dvmd_job_tell_output (DvmdJob *self);
DvmJob *dvmd_job_get_record (DvmdJob *self);
DvmJobSpec *dvmd_job_get_spec (DvmdJob *self);
const DvmdRequester *dvmd_job_get_requester (DvmdJob *self);
DvmJobState dvmd_job_get_state (DvmdJob *self);
gboolean dvmd_job_get_ended (DvmdJob *self);
/* Its processes are placed, and not launched (donotlaunch). */
gboolean dvmd_job_is_mapped_only (DvmdJob *self);
/* How jobs end that it has spawned does not count for it, nor for those above it. */
gboolean dvmd_job_reports_children_apart (DvmdJob *self);
/* The job that has spawned it, 0: none */
guint dvmd_job_get_parent_id (DvmdJob *self);
/* The number of processes of the job's ancestors: its own begin there when all of the family are counted (L15). */
guint dvmd_job_get_offset (DvmdJob *self);
/* The requester of the family's first job; "" is nobody */
const char *dvmd_job_get_launcher (DvmdJob *self);
/* (nullable): before MAP_COMPLETE */
DvmdMap *dvmd_job_get_map (DvmdJob *self);
/* (nullable): before MAP_COMPLETE */
DvmdProcTable *dvmd_job_get_procs (DvmdJob *self);
/*
 * It has ended with its node, or because that is to leave, or waits for another one; of the node's departure the others
 * of the job are told.
 */
gboolean dvmd_job_is_rank_lost (DvmdJob *self, guint rank);
/* (element-type guint) (nullable): processes per application, known when the job is admitted */
GArray *dvmd_job_get_app_np (DvmdJob *self);
/* (element-type DvmdTraceEntry) */
GArray *dvmd_job_get_trace (DvmdJob *self);
/* TRUE when there were more transitions of processes than are kept. */
gboolean dvmd_job_get_trace_truncated (DvmdJob *self);
/* An ended job keeps no more of its description than is still asked of it. */
void dvmd_job_release_spec (DvmdJob *self);
/* About as many bytes as the job takes */
gsize dvmd_job_get_size (DvmdJob *self);

G_END_DECLS
