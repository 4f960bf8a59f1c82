/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* Of squeue: what slurm_view_parse() reads. */
#define SLURM_VIEW_FORMAT "%T|%L|%N"

/* A job, as squeue shows it. */
typedef struct
{
  char *state;      /* "RUNNING" */
  gboolean is_over; /* its nodes are not its own any more, or will not be in a moment */
  gint64 left;      /* s; -1: there is no limit */
  char **nodes;
} SlurmView;

void slurm_view_free (SlurmView *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SlurmView, slurm_view_free)

/* (transfer full) (nullable): NULL: this is no answer of squeue. A heterogeneous job has a line for each component. */
SlurmView *slurm_view_parse (const char *text, GError **error);

G_END_DECLS
