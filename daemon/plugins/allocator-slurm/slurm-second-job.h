/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * A job of Slurm that waits for nodes which another job is to get (salloc --dependency=expand). It goes with the DVM,
 * also if that is killed, until it has given up its nodes.
 */
typedef struct _SlurmSecondJob SlurmSecondJob;

typedef struct
{
  /* It has its nodes. */
  void (*granted) (const char *id, gpointer user_data);
  /* The last call; reason: (nullable): why it has no nodes any more, in Slurm's words; NULL: it was told to go */
  void (*ended) (const GError *reason, gpointer user_data);
} SlurmSecondJobFuncs;

/* (nullable): NULL with an error. job: that which is to get the nodes, and has held (names); slots: of each node, 0 if
 * nobody said. It is there until ended() has been called. */
SlurmSecondJob *slurm_second_job_start (DvmdPluginHost *host, const char *job, GPtrArray *held, guint count,
                                        guint slots, const SlurmSecondJobFuncs *funcs, gpointer user_data,
                                        GError **error);
/* It is no longer wanted, or, with its nodes given up, no longer there. */
void slurm_second_job_end (SlurmSecondJob *self, gboolean given_up);

G_END_DECLS
