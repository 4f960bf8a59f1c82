/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The processes of one job are rows of a compact array, indexed by rank.
 */

#include "config.h"

#include "dvmd-proc-table.h"

DvmdProcTable *
dvmd_proc_table_new (guint n_rows)
{
  DvmdProcTable *self = g_new0 (DvmdProcTable, 1);

  self->n_rows = n_rows;
  self->rows = g_new0 (DvmdProcRow, n_rows);
  for (guint rank = 0; rank < n_rows; rank++)
    {
      self->rows[rank].node = DVMD_NO_NODE;
      self->rows[rank].state = DVM_PROC_STATE_INIT;
    }
  return self;
}

void
dvmd_proc_table_free (DvmdProcTable *self)
{
  g_free (self->rows);
  g_free (self);
}
