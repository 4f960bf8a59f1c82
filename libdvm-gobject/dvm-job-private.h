/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-record-codec-private.h"

G_BEGIN_DECLS

struct _DvmJob
{
  DvmRecord record;

  guint id;
  char *nspace;
  char *name;
  char *label;
  gboolean ended;
  gboolean failed; /* follows from the state */
  char *held_at;
  gboolean paused;
  char **waits_for;
  int priority;
  char **awaited_jobs;
  guint array_id;
  guint array_index;
  guint array_count;
  guint num_procs;
  guint num_launched;
  guint num_registered;
  guint num_terminated;
  int exit_code;
  int exit_signal;
  int failed_rank;
  char *session;
  char *parent;
  char **children;
  char **command;
  char **nodes;
  char *submitter;
  guint submitter_uid;
  guint submitter_pid;
  gint64 created_at;
  gint64 started_at;
  gint64 ended_at;
  guint remapped;
  guint restarts;
  gint64 output_bytes;
  char *output_error;
  char *reason_code;
  char **reason_arguments;
  DvmJob *first_failure; /* (nullable): no field of the record */
};

G_END_DECLS
