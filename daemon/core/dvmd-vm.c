/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The DVM's own job as the rest of the core sees it: its events, and how far it has come.
 */

#include "config.h"

#include "dvmd-vm-private.h"

#include "dvmd-core-parts.h"
#include "dvmd-membership.h"
#include "dvmd-vm-machine.h"

void
dvmd_core_post_vm (DvmdCore *self, guint event, DvmJobState given, const char *reason)
{
  dvmd_state_machine_post (dvmd_core_get_queue (self), &dvmd_vm_table, dvmd_core_get_vm (self)->job, event, given,
                           reason);
}

DvmdVm *
dvmd_vm_new (DvmdCore *core, const char *nspace)
{
  DvmdVm *self = g_new0 (DvmdVm, 1);

  self->job = dvmd_job_new (core, 0, nspace, NULL, NULL);
  return self;
}

void
dvmd_vm_free (DvmdVm *self)
{
  g_clear_object (&self->job);
  g_clear_pointer (&self->end_reason, g_free);
  g_free (self);
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
  if (!dvmd_core_get_vm (self)->nodes_changed)
    dvmd_core_post_vm (self, DVMD_VM_NODES_CHANGED, 0, NULL);
  dvmd_core_get_vm (self)->nodes_changed = TRUE;
}

gboolean
dvmd_vm_check_open (DvmdCore *self, GError **error)
{
  if (!dvmd_core_get_vm (self)->shutting_down)
    return TRUE;
  if (dvmd_core_get_vm (self)->end_reason != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "%s: the DVM is ending and takes no more jobs",
                 dvmd_core_get_vm (self)->end_reason);
  else
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is ending and takes no more jobs");
  return FALSE;
}

DvmdJob *
dvmd_core_get_vm_job (DvmdCore *self)
{
  return dvmd_core_get_vm (self)->job;
}

gboolean
dvmd_core_get_ready (DvmdCore *self)
{
  return dvmd_core_get_vm (self)->ready;
}

gboolean
dvmd_core_was_ready (DvmdCore *self)
{
  return dvmd_core_get_vm (self)->was_ready;
}

gboolean
dvmd_core_get_shutting_down (DvmdCore *self)
{
  return dvmd_core_get_vm (self)->shutting_down;
}

gboolean
dvmd_core_get_forced (DvmdCore *self)
{
  return dvmd_core_get_vm (self)->forced;
}

void
dvmd_core_check_all_gone (DvmdCore *self)
{
  if (dvmd_membership_count_agents (dvmd_core_get_membership (self)) == 0 && dvmd_core_get_vm (self)->shutting_down
      && dvmd_core_get_num_live (self) == 0)
    dvmd_core_post_vm (self, DVMD_VM_AGENTS_GONE, 0, NULL);
}
