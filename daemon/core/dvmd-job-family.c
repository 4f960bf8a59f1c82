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
#include "dvmd-core-parts.h"
#include "dvmd-job-parts.h"
#include "dvmd-requester.h"

/* µs that children of a job that has ended well have to do so too: they are in the same MPI_Finalize. */
#define LAST_MOMENT (2 * G_USEC_PER_SEC)

typedef struct
{
  guint parent;      /* 0: none */
  guint offset;      /* processes of those above it, before its own */
  char *launcher;    /* (nullable): who asked for the first of the family, if that is not itself */
  GArray *children;  /* (nullable): guint, as long as they are known */
  guint timer;       /* until it ends, as its parent has */
  gboolean separate; /* its description forgets that at its end */
} Family;

static void
family_clear (gpointer part)
{
  Family *self = part;

  g_free (self->launcher);
  g_clear_pointer (&self->children, g_array_unref);
}

static Family *
family_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_FAMILY, sizeof (Family), family_clear);
}

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
dvmd_job_family_join (DvmdJob *job, DvmdJob *parent)
{
  Family *self = family_of (job);
  Family *of_parent = family_of (parent);
  DvmJob *record = dvmd_job_get_record (job);
  DvmJob *record_of_parent = dvmd_job_get_record (parent);
  guint id = dvmd_job_get_id (job);

  self->parent = dvmd_job_get_id (parent);
  self->separate = dvm_job_spec_get_child_separate (dvmd_job_get_spec (job));
  self->offset = of_parent->offset + dvm_job_get_num_procs (record_of_parent);
  g_free (self->launcher);
  self->launcher = g_strdup (dvmd_job_get_launcher (parent));
  _dvm_job_set_parent (record, dvm_job_get_object_path (record_of_parent));
  if (of_parent->children == NULL)
    of_parent->children = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_val (of_parent->children, id);
  _dvm_job_add_child (record_of_parent, dvm_job_get_object_path (record));
}

/* (nullable): there is none, or it is not known any more */
static DvmdJob *
find_parent (DvmdJob *job)
{
  guint parent = family_of (job)->parent;

  return parent != 0 ? dvmd_core_get_job (dvmd_job_get_core (job), parent) : NULL;
}

void
dvmd_job_family_forget (DvmdJob *job)
{
  DvmdJob *parent = find_parent (job);
  GArray *children = parent != NULL ? family_of (parent)->children : NULL;

  for (guint i = 0; children != NULL && i < children->len; i++)
    if (g_array_index (children, guint, i) == dvmd_job_get_id (job))
      {
        g_array_remove_index (children, i);
        _dvm_job_remove_child (dvmd_job_get_record (parent), dvm_job_get_object_path (dvmd_job_get_record (job)));
        return;
      }
}

/* ---- what ends with whom ---- */

static void
end_with_parent (DvmdJob *job)
{
  DvmdJob *parent = find_parent (job);
  g_autoptr (DvmReason) reason = NULL;

  if (parent != NULL)
    reason = _dvm_reason_new (DVM_REASON_PARENT_ENDED, dvm_job_get_nspace (dvmd_job_get_record (parent)));
  else
    reason = _dvm_reason_new (DVM_REASON_UNKNOWN_PARENT_ENDED);
  dvmd_core_fail_job_for (dvmd_job_get_core (job), job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

static void
on_last_moment (gpointer user_data)
{
  family_of (user_data)->timer = 0;
  end_with_parent (user_data);
}

void
dvmd_job_family_stop_timer (DvmdJob *job)
{
  Family *self = family_of (job);

  dvmd_clock_remove_timer (dvmd_core_get_clock (dvmd_job_get_core (job)), self->timer);
  self->timer = 0;
}

void
dvmd_job_family_separate (DvmdJob *job)
{
  dvmd_job_family_stop_timer (job);
  family_of (job)->separate = TRUE;
  dvm_job_spec_set_child_separate (dvmd_job_get_spec (job), TRUE);
}

void
dvmd_job_family_ended (DvmdJob *job)
{
  DvmdCore *core = dvmd_job_get_core (job);
  GArray *children = family_of (job)->children;

  dvmd_job_family_stop_timer (job);
  for (guint i = 0; children != NULL && i < children->len; i++)
    {
      DvmdJob *child = dvmd_core_get_job (core, g_array_index (children, guint, i));

      if (child == NULL || dvmd_job_get_ended (child) || dvm_job_spec_get_child_separate (dvmd_job_get_spec (child))
          || family_of (child)->timer != 0)
        continue;
      if (dvm_job_state_is_error (dvmd_job_get_state (job)) || !dvmd_job_is_launched (child))
        end_with_parent (child);
      else
        family_of (child)->timer = dvmd_clock_add_timer (dvmd_core_get_clock (core), LAST_MOMENT, on_last_moment,
                                                         child);
    }
}

/* ---- who fails ---- */

/*
 * The one who has spawned a job that never ran has been told so, and a job that somebody has ended is no surprise
 * either: neither is a failure of the family.
 */
static gboolean
is_failure_of_family (DvmdJob *job)
{
  DvmJob *record = dvmd_job_get_record (job);

  if (dvm_job_get_started_at (record) == 0 || dvmd_job_get_state (job) == DVM_JOB_STATE_FAILED_TO_START)
    return FALSE;
  return dvmd_job_get_state (job) != DVM_JOB_STATE_KILLED_BY_CMD
         || strcmp (dvm_job_get_reason_code (record), "time-limit") == 0;
}

void
dvmd_job_family_failed (DvmdJob *job)
{
  DvmJob *record = dvmd_job_get_record (job);
  DvmdJob *child = job;
  DvmdJob *parent;

  if (!is_failure_of_family (job))
    return;
  while (!family_of (child)->separate && (parent = find_parent (child)) != NULL
         && !dvmd_job_reports_children_apart (parent))
    {
      DvmJob *above = dvmd_job_get_record (parent);

      if (!dvm_job_get_failed (above) && dvm_job_get_first_failure (above) == NULL)
        _dvm_job_set_first_failure (above, record);
      child = parent;
    }
}

GArray *
dvmd_job_family_get_siblings (DvmdJob *job)
{
  DvmdJob *parent = find_parent (job);

  return parent != NULL ? family_of (parent)->children : NULL;
}

/* ---- placement ---- */

/* G_MAXUINT: the parent has not been placed, or is not known any more */
static guint
find_bookmark (DvmdJob *job)
{
  DvmdJob *parent = find_parent (job);
  DvmdProcTable *procs = parent != NULL ? dvmd_job_get_procs (parent) : NULL;

  return procs != NULL && procs->n_rows > 0 ? dvmd_proc_table_row (procs, procs->n_rows - 1)->node : G_MAXUINT;
}

static void
rotate (gpointer items, gsize size, guint n, guint first)
{
  g_autofree char *copy = g_memdup2 (items, size * n);

  memcpy (items, copy + size * first, size * (n - first));
  memcpy ((char *)items + size * (n - first), copy, size * first);
}

void
dvmd_job_family_order (DvmdJob *job, DvmdPlaces *places)
{
  guint bookmark = find_bookmark (job);
  guint n_apps;
  guint first = 0;

  if (places->beside != NULL)
    return;
  while (first < places->n_nodes && places->nodes[first]->rank != bookmark)
    first++;
  if (first == 0 || first == places->n_nodes)
    return;
  n_apps = places->app_limits != NULL ? dvm_job_spec_get_n_apps (dvmd_job_get_spec (job)) : 0;
  rotate (places->nodes, sizeof (DvmdNode *), places->n_nodes, first);
  rotate (places->limits, sizeof (guint32), places->n_nodes, first);
  rotate (places->most, sizeof (guint32), places->n_nodes, first);
  for (guint i = 0; i < n_apps; i++)
    rotate (places->app_limits + i * places->n_nodes, sizeof (guint32), places->n_nodes, first);
}

/* ---- what is known of it ---- */

guint
dvmd_job_get_parent_id (DvmdJob *job)
{
  return family_of (job)->parent;
}

guint
dvmd_job_get_offset (DvmdJob *job)
{
  return family_of (job)->offset;
}

const char *
dvmd_job_get_launcher (DvmdJob *job)
{
  const DvmdRequester *requester = dvmd_job_get_requester (job);
  const char *launcher = family_of (job)->launcher;

  if (launcher != NULL)
    return launcher;
  return requester != NULL ? requester->name : "";
}
