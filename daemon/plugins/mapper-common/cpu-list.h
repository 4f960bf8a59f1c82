/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * Cpus by their logical numbers: "0,2,4-6", cores of a package "1:0-2", whole packages "P0,1" or "S0"; several of these
 * with semicolons between them.
 */
typedef struct
{
  gint64 package; /* -1: numbers of the whole node */
  gboolean whole; /* numbers are packages */
  guint32 first;
  guint32 last;
} DvmdCpuRange;

/* (transfer full) (element-type DvmdCpuRange) (nullable): NULL with DVM_ERROR_BAD_PARAM, of which place is the
 * beginning
 */
GArray *dvmd_cpu_list_parse (const char *text, const char *place, GError **error);

/* One set of cpus of a node. */
typedef struct
{
  DvmdCpuset *cpus;
  guint32 n_units; /* cores, or hardware threads; 0: some are of another kind */
  guint32 unit;    /* the last one of them */
} DvmdCpuChoice;

/* Finds those of them that may be used. FALSE: DVM_ERROR_MAP_FAILED, the node does not have one, or the job may not use
 * it. */
gboolean dvmd_cpu_list_choose (GArray *ranges, const DvmdMapNode *node, DvmdCpuKind cpus, const char *place,
                               DvmdCpuChoice *choice, GError **error);
void dvmd_cpu_choice_clear (DvmdCpuChoice *choice);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdCpuChoice, dvmd_cpu_choice_clear)

/* The kind of object that a cpu is on that machine. */
DvmdObjectKind dvmd_cpu_list_kind (DvmdMapTopology *topology, DvmdCpuKind cpus);
/* The cpus of each node that have a process already: words of bits per node. */
typedef struct
{
  GHashTable *nodes; /* index -> GArray of guint64 */
} DvmdCpuLedger;

void dvmd_cpu_ledger_init (DvmdCpuLedger *self);
void dvmd_cpu_ledger_clear (DvmdCpuLedger *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdCpuLedger, dvmd_cpu_ledger_clear)
/* FALSE: one of them is taken, or in use by another job. */
gboolean dvmd_cpu_ledger_take (DvmdCpuLedger *self, const DvmdMapNode *node, guint index, const DvmdCpuset *cpus);

G_END_DECLS
