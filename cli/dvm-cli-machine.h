/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hardware of nodes as the DVM describes it: objects, and the hardware threads that each of them has.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The kinds of objects, from the largest to the smallest. */
typedef enum
{
  DVM_CLI_PACKAGE,
  DVM_CLI_NUMA,
  DVM_CLI_L3CACHE,
  DVM_CLI_L2CACHE,
  DVM_CLI_L1CACHE,
  DVM_CLI_CORE,
  DVM_CLI_HWTHREAD,
  DVM_CLI_N_OBJECT_KINDS
} DvmCliObjectKind;

/* Hardware threads have logical numbers, in which each object is one interval. */
typedef struct
{
  guint first;
  guint n;
} DvmCliObject;

/* Nodes that are alike share one. */
typedef struct _DvmCliMachine DvmCliMachine;

/* topologies: a(sasa{sas}), as Query answers it; (transfer full) (element-type DvmCliMachine) */
GPtrArray *dvm_cli_machines_new (GVariant *topologies);
/* (transfer none) (nullable): of that node */
DvmCliMachine *dvm_cli_machines_find (GPtrArray *machines, const char *node);

/* "core": as options and maps call it */
const char *dvm_cli_object_kind_to_string (DvmCliObjectKind kind);

gboolean dvm_cli_machine_has_node (DvmCliMachine *self, const char *node);
guint dvm_cli_machine_count (DvmCliMachine *self, DvmCliObjectKind kind);
DvmCliObject dvm_cli_machine_get_object (DvmCliMachine *self, DvmCliObjectKind kind, guint index);
/* All of it */
DvmCliObject dvm_cli_machine_get_whole (DvmCliMachine *self);
/* (transfer full) (element-type guint): the hardware threads of "0-3,8", which are the operating system's numbers */
GArray *dvm_cli_machine_read_cpus (DvmCliMachine *self, const char *list);
/* (transfer full): the hardware threads of an object as "0-3,8", by logical numbers or by those of the system */
char *dvm_cli_machine_list_cpus (DvmCliMachine *self, DvmCliObject object, gboolean physical);
/* (transfer full): the objects of a kind inside another one, "0-3" */
char *dvm_cli_machine_list_objects (DvmCliMachine *self, DvmCliObjectKind kind, DvmCliObject inside);

/* (transfer full): "0-3,8" of numbers in any order, which are sorted (element-type guint) */
char *dvm_cli_list_numbers (GArray *numbers);

G_END_DECLS
