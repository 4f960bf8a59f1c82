/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a job, for the core's own files.
 */

#pragma once

#include "dvmd-job-parts.h"

G_BEGIN_DECLS

typedef enum
{
  DVMD_LAUNCH_NOT_SENT,
  DVMD_LAUNCH_SENT,
  DVMD_LAUNCH_RUNNING, /* and counted as such */
  DVMD_LAUNCH_OVER,
} DvmdLaunch;

struct _DvmdJob
{
  GObject parent_instance;

  DvmdCore *core; /* unowned: the core owns its jobs */
  DvmJob *record;
  DvmJobSpec *spec; /* NULL for the DVM's own job */
  DvmdRequester *requester;
  DvmdMap *map;
  DvmdMap *old_map; /* (nullable): while it is placed anew, where files of it may still be */
  DvmdProcTable *procs;

  /* what the runtime options say */
  gboolean do_not_launch;
  gboolean recoverable;
  gboolean notify_errors;
  gboolean error_nonzero_status;
  guint32 max_restarts;    /* of each process that fails */
  gboolean stack_traces;   /* at the time limit */
  gboolean report_state;   /* likewise */
  gboolean stops;          /* its ranks are to wait for a debugger */
  guint spawn_timeout;     /* seconds in which all of them are to be started; 0: no limit */
  gboolean children_apart; /* failures of jobs that it has spawned are no failure of its family */

  DvmdLaunch launch;
  guint timer;       /* until its time is over */
  guint spawn_timer; /* until all of its processes must have been started */

  gpointer parts[DVMD_JOB_N_PARTS];
  void (*clear_part[DVMD_JOB_N_PARTS]) (gpointer part);
};

/* It has a map (transfer full). */
void dvmd_job_place (DvmdJob *self, DvmdMap *map);
/* And has it no more, for a while. */
void dvmd_job_unplace (DvmdJob *self);

G_END_DECLS
