/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The DVM's own job as the rest of the core sees it: its events, and how far it has come.
 */

#include "config.h"

#include "dvmd-campaign-private.h"
#include "dvmd-core-private.h"
#include "dvmd-size.h"
#include "dvmd-vm-machine.h"

void
dvmd_core_post_vm (DvmdCore *self, guint event, DvmJobState given, const char *reason)
{
  dvmd_state_machine_post (self->queue, &dvmd_vm_table, self->vm.job, event, given, reason);
}

void
dvmd_vm_clear (DvmdVm *self)
{
  g_clear_object (&self->job);
  g_clear_pointer (&self->end_reason, g_free);
}

void
dvmd_core_start (DvmdCore *self)
{
  dvmd_core_post_vm (self, DVMD_VM_CREATED, 0, NULL);
}

void
dvmd_core_shutdown (DvmdCore *self, gboolean force, const char *reason)
{
  dvmd_core_post_vm (self, force ? DVMD_VM_FORCE : DVMD_VM_SHUTDOWN, 0, reason);
}

void
dvmd_core_look_again (DvmdCore *self)
{
  if (!self->vm.nodes_changed)
    dvmd_core_post_vm (self, DVMD_VM_NODES_CHANGED, 0, NULL);
  self->vm.nodes_changed = TRUE;
}

gboolean
dvmd_vm_check_open (DvmdCore *self, GError **error)
{
  if (!self->vm.shutting_down)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is ending and takes no more jobs%s%s",
               self->vm.end_reason != NULL ? ": " : "", self->vm.end_reason != NULL ? self->vm.end_reason : "");
  return FALSE;
}

DvmdJob *
dvmd_core_get_vm_job (DvmdCore *self)
{
  return self->vm.job;
}

gboolean
dvmd_core_get_ready (DvmdCore *self)
{
  return self->vm.ready;
}

gboolean
dvmd_core_get_shutting_down (DvmdCore *self)
{
  return self->vm.shutting_down;
}

gboolean
dvmd_core_get_forced (DvmdCore *self)
{
  return self->vm.forced;
}

void
dvmd_core_check_all_gone (DvmdCore *self)
{
  if (self->membership.n_agents == 0 && self->vm.shutting_down && dvmd_core_get_num_live (self) == 0)
    dvmd_core_post_vm (self, DVMD_VM_AGENTS_GONE, 0, NULL);
}
