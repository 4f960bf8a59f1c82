/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The record of a session is brought up to date before it is read.
 */

#include "config.h"

#include "dvmd-session-publish.h"

#include "dvm-records-private.h"
#include "dvmd-core-sessions.h"
#include "dvmd-session-inner.h"
#include "dvmd-session-private.h"

#include <string.h>

void
dvmd_session_publish_nodes (DvmdSession *self)
{
  g_autoptr (GPtrArray) nodes = dvmd_session_list_nodes (self);

  for (guint i = 0; i < nodes->len; i++)
    nodes->pdata[i] = (gpointer)dvm_node_get_name (((DvmdNode *)nodes->pdata[i])->record);
  g_ptr_array_add (nodes, NULL);
  self->untold = FALSE;
  _dvm_session_set_nodes (self->record, (const char *const *)nodes->pdata);
}

void
dvmd_session_publish_jobs (DvmdSession *self)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();
  g_autoptr (GArray) ids = dvmd_session_list_jobs (self);

  for (guint i = 0; i < ids->len; i++)
    {
      DvmdJob *job = dvmd_core_get_job (self->core, g_array_index (ids, guint, i));

      if (job != NULL)
        g_ptr_array_add (paths, (gpointer)dvm_job_get_object_path (dvmd_job_get_record (job)));
    }
  g_ptr_array_add (paths, NULL);
  _dvm_session_set_jobs (self->record, (const char *const *)paths->pdata);
}

/* Namespaces of jobs in the order of their numbers */
static int
compare_nspaces (gconstpointer a, gconstpointer b)
{
  const char *left = *(const char *const *)a;
  const char *right = *(const char *const *)b;
  gsize n_left = strlen (left);
  gsize n_right = strlen (right);

  if (n_left != n_right)
    return n_left < n_right ? -1 : 1;
  return strcmp (left, right);
}

void
dvmd_session_publish_owners (DvmdSession *self)
{
  g_autoptr (GPtrArray) owners = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer nspace;

  g_hash_table_iter_init (&iter, self->owners);
  while (g_hash_table_iter_next (&iter, &nspace, NULL))
    if (g_strcmp0 (nspace, self->owner) != 0)
      g_ptr_array_add (owners, nspace);
  g_ptr_array_sort (owners, compare_nspaces);
  if (self->owner != NULL)
    g_ptr_array_insert (owners, 0, self->owner);
  g_ptr_array_add (owners, NULL);
  _dvm_session_set_owners (self->record, self->owner, (const char *const *)owners->pdata);
}

void
dvmd_session_publish_sharing (DvmdSession *self)
{
  _dvm_session_set_sharing (self->record, dvmd_inheritance_to_string (self->inheritance), self->shared,
                            self->family.separate);
}

void
dvmd_session_publish (DvmdSession *self)
{
  dvmd_session_publish_nodes (self);
  dvmd_session_publish_jobs (self);
  dvmd_session_publish_owners (self);
}
