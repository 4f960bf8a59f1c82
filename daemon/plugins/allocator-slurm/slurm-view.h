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

/* Of squeue: what slurm_wishes_parse() reads; the second one may have a '|' in it. */
#define SLURM_WISHES_FORMAT "%b|%f"

/* Needs of a job that no variable names. gres: (out) (transfer full) (nullable): as --gres takes it;
 * constraint: (out) (transfer full) (nullable): as --constraint does. FALSE: this is no answer of squeue */
gboolean slurm_wishes_parse (const char *text, char **gres, char **constraint, GError **error);

void slurm_view_free (SlurmView *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SlurmView, slurm_view_free)

/* (transfer full) (nullable): NULL: this is no answer of squeue. A heterogeneous job has a line for each component. */
SlurmView *slurm_view_parse (const char *text, GError **error);

G_END_DECLS
