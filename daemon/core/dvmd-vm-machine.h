/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/* Events of the DVM's own job (L4-L7, L12, L13). */
typedef enum
{
  DVMD_VM_CREATED,
  DVMD_VM_SET_UP,
  DVMD_VM_TO_ALLOCATE,
  DVMD_VM_ALLOCATED,
  DVMD_VM_TO_LAUNCH,
  DVMD_VM_LAUNCHED,
  DVMD_VM_REPORTED, /* the last expected agent has */
  DVMD_VM_TO_DISTRIBUTE,
  DVMD_VM_DISTRIBUTED,
  DVMD_VM_ALL_JOBS_DONE, /* one-shot */
  DVMD_VM_SHUTDOWN,
  DVMD_VM_FORCE,
  DVMD_VM_AGENTS_GONE,
  DVMD_VM_FAILED,
  DVMD_VM_NODES_CHANGED, /* their states */
  DVMD_VM_FENCE_CHANGED, /* tickets of the launch fence */
  DVMD_VM_GATE_OPENED,   /* the map gate */
  DVMD_VM_RELEASED_DOWN, /* nodes that were down */
  DVMD_VM_SESSIONS_CHANGED,
  DVMD_VM_N_EVENTS
} DvmdVmEvent;

/* No job is live any more. */
void dvmd_vm_jobs_ended (DvmdCore *core);

extern const DvmdStateTable dvmd_vm_table;

G_END_DECLS
