/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that processes of other jobs have spawned end with their parents, unless they are separate (S27).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-job"

#include "dvmd-job-family.h"

#include <string.h>

#include "dvm-records-private.h"
#include "dvmd-log.h"
#include "dvmd-rights.h"

/* µs that children of a job that has ended well have to do so too: they are in the same MPI_Finalize. */
#define LAST_MOMENT (2 * G_USEC_PER_SEC)

gboolean
dvmd_job_family_check (DvmdCore *core, const DvmdRequester *requester, DvmJobSpec *spec, GError **error)
{
  DvmdJob *parent = dvmd_core_find_requesting_job (core, requester);
  g_autofree char *nspace = NULL;

  if (dvm_job_spec_get_child_separate (spec) || !dvmd_core_is_application (core, requester)
      || (parent != NULL && !dvmd_job_get_ended (parent)))
    return TRUE;
  nspace = dvmd_requester_dup_nspace (requester);
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %s has ended: what it spawns would end with it", nspace);
  return FALSE;
}

void
dvmd_job_family_join (DvmdJob *self, DvmdJob *parent)
{
  guint id = dvmd_job_get_id (self);

  self->parent = dvmd_job_get_id (parent);
  self->offset = parent->offset + dvm_job_get_num_procs (parent->record);
  g_free (self->launcher);
  self->launcher = g_strdup (dvmd_job_get_launcher (parent));
  _dvm_job_set_parent (self->record, dvm_job_get_object_path (parent->record));
  if (parent->children == NULL)
    parent->children = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_val (parent->children, id);
  _dvm_job_add_child (parent->record, dvm_job_get_object_path (self->record));
}

void
dvmd_job_family_forget (DvmdJob *self)
{
  DvmdJob *parent = self->parent != 0 ? dvmd_core_get_job (self->core, self->parent) : NULL;

  for (guint i = 0; parent != NULL && i < parent->children->len; i++)
    if (g_array_index (parent->children, guint, i) == dvmd_job_get_id (self))
      {
        g_array_remove_index (parent->children, i);
        _dvm_job_remove_child (parent->record, dvm_job_get_object_path (self->record));
        return;
      }
}

/* ---- what ends with whom ---- */

static void
end_with_parent (DvmdJob *self)
{
  DvmdJob *parent = dvmd_core_get_job (self->core, self->parent);
  g_autoptr (DvmReason) reason = NULL;

  if (parent != NULL)
    reason = _dvm_reason_new (DVM_REASON_PARENT_ENDED, dvm_job_get_nspace (parent->record));
  else
    reason = _dvm_reason_new (DVM_REASON_UNKNOWN_PARENT_ENDED);
  dvmd_core_fail_job_for (self->core, self, DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

static void
on_last_moment (gpointer user_data)
{
  DvmdJob *self = user_data;

  self->family_timer = 0;
  end_with_parent (self);
}

void
dvmd_job_family_separate (DvmdJob *self)
{
  dvmd_clock_remove_timer (self->core->clock, self->family_timer);
  self->family_timer = 0;
  self->child_separate = TRUE;
  dvm_job_spec_set_child_separate (self->spec, TRUE);
}

void
dvmd_job_family_ended (DvmdJob *self)
{
  DvmdCore *core = self->core;

  dvmd_clock_remove_timer (core->clock, self->family_timer);
  self->family_timer = 0;
  for (guint i = 0; self->children != NULL && i < self->children->len; i++)
    {
      DvmdJob *child = dvmd_core_get_job (core, g_array_index (self->children, guint, i));

      if (child == NULL || dvmd_job_get_ended (child) || child->child_separate || child->family_timer != 0)
        continue;
      if (dvm_job_state_is_error (dvmd_job_get_state (self)) || !child->launch_sent)
        end_with_parent (child);
      else
        child->family_timer = dvmd_clock_add_timer (core->clock, LAST_MOMENT, on_last_moment, child);
    }
}

/* ---- placement ---- */

/* G_MAXUINT: the parent has not been placed, or is not known any more */
static guint
find_bookmark (DvmdJob *self)
{
  DvmdJob *parent = self->parent != 0 ? dvmd_core_get_job (self->core, self->parent) : NULL;

  return parent != NULL && parent->procs != NULL && parent->procs->n_rows > 0
             ? dvmd_proc_table_row (parent->procs, parent->procs->n_rows - 1)->node
             : G_MAXUINT;
}

static void
rotate (gpointer items, gsize size, guint n, guint first)
{
  g_autofree char *copy = g_memdup2 (items, size * n);

  memcpy (items, copy + size * first, size * (n - first));
  memcpy ((char *)items + size * (n - first), copy, size * first);
}

void
dvmd_job_family_order (DvmdJob *self, DvmdPlaces *places)
{
  guint bookmark = find_bookmark (self);
  guint n_apps;
  guint first = 0;

  while (first < places->n_nodes && places->nodes[first]->rank != bookmark)
    first++;
  if (first == 0 || first == places->n_nodes)
    return;
  n_apps = places->app_limits != NULL ? dvm_job_spec_get_n_apps (self->spec) : 0;
  rotate (places->nodes, sizeof (DvmdNode *), places->n_nodes, first);
  rotate (places->limits, sizeof (guint32), places->n_nodes, first);
  rotate (places->most, sizeof (guint32), places->n_nodes, first);
  for (guint i = 0; i < n_apps; i++)
    rotate (places->app_limits + i * places->n_nodes, sizeof (guint32), places->n_nodes, first);
}

/* ---- what is known of it ---- */

guint
dvmd_job_get_parent_id (DvmdJob *self)
{
  return self->parent;
}

guint
dvmd_job_get_offset (DvmdJob *self)
{
  return self->offset;
}

const char *
dvmd_job_get_launcher (DvmdJob *self)
{
  if (self->launcher != NULL)
    return self->launcher;
  return self->requester != NULL ? self->requester->name : "";
}
