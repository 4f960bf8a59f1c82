/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

G_BEGIN_DECLS

/* A process is a row, not an object: the processes of one job as a compact array, indexed by rank. */

#define DVMD_NO_NODE G_MAXUINT

typedef struct
{
  guint32 app;
  guint32 node; /* rank of the agent that runs it, DVMD_NO_NODE before the map */
  guint32 local_rank;
  guint32 node_rank;
  gint32 pid;
  gint32 exit_code;
  gint16 exit_signal;
  guint8 state; /* DvmProcState */
  guint8 flags; /* DvmdProcFlags */
} DvmdProcRow;

typedef enum
{
  DVMD_PROC_LAUNCHED = 1 << 0,
  DVMD_PROC_REGISTERED = 1 << 1, /* has called PMIx_Init */
  DVMD_PROC_FINALIZED = 1 << 2,  /* has called PMIx_Finalize */
  DVMD_PROC_OUTPUT_CLOSED = 1 << 3,
  DVMD_PROC_EXITED = 1 << 4,
  DVMD_PROC_ENDED = 1 << 5,
  DVMD_PROC_KILLED = 1 << 6,  /* by a command of the DVM */
  DVMD_PROC_ABORTED = 1 << 7, /* called PMIx_Abort */
} DvmdProcFlags;

typedef struct
{
  guint n_rows;
  DvmdProcRow *rows;
} DvmdProcTable;

DvmdProcTable *dvmd_proc_table_new (guint n_rows);
void dvmd_proc_table_free (DvmdProcTable *self);

/* rank must be below n_rows */
static inline DvmdProcRow *
dvmd_proc_table_row (DvmdProcTable *self, guint rank)
{
  return &self->rows[rank];
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdProcTable, dvmd_proc_table_free)

G_END_DECLS
