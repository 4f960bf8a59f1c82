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

/*
 * @job: that which is to get the nodes
 * @held: the names of those that it has
 * @count: how many nodes are asked for
 * @slots: of each node; 0: nobody said
 * @wishes: what squeue says by SLURM_WISHES_FORMAT
 */
typedef struct
{
  const char *job;
  GPtrArray *held;
  guint count;
  guint slots;
  const char *wishes;
} SlurmSecondJobRequest;

/* (nullable): NULL with an error. It is there until ended() has been called. */
SlurmSecondJob *slurm_second_job_start (DvmdPluginHost *host, const SlurmSecondJobRequest *request,
                                        const SlurmSecondJobFuncs *funcs, gpointer user_data, GError **error);
/* It is no longer wanted, or, with its nodes given up, no longer there. */
void slurm_second_job_end (SlurmSecondJob *self, gboolean given_up);

G_END_DECLS
