/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-job-spec-private.h"
#include "dvm-record-codec-private.h"

G_BEGIN_DECLS

struct _DvmJobSpec
{
  GObject parent_instance;

  GPtrArray *apps;
  guint n_apps;
  char *name;
  char *label;
  char *personality;
  char *map_by;
  char *rank_by;
  char *bind_to;
  char *when_full;
  char *output;
  char *stdin_target;
  char *stdout_path;
  char *stderr_path;
  char *runtime_options;
  char **add_hosts;
  char *add_hostfile;
  char **target;
  guint session; /* DVM_SESSION_NONE */
  char *alloc_id;
  char *alloc_req_id;
  gboolean child_separate;
  guint timeout;
  guint spawn_timeout;
  char **exec_agent;
  gboolean recoverable;
  guint max_restarts;
  int priority;
  gboolean hold;
  char **after;
  char **after_ok;
  char **after_any;
  gboolean singleton;
  gboolean wait_for_slots;
  char *array;
  gboolean pty;
  guint pty_rows;
  guint pty_columns;
  GVariant *pmix_info;  /* (nullable): no field of the record */
  GVariant *env_edits;  /* (nullable): likewise */
  gboolean index_argv;  /* likewise */
  char *stop_ranks;     /* (nullable): likewise */
  char *display;        /* (nullable): likewise */
  DvmArrayPlace *place; /* (nullable): likewise; of one job of an array */
};

extern const DvmRecordCodec _dvm_job_spec_codec;

G_END_DECLS
