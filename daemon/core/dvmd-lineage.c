/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Namespaces remember which namespace has spawned them as long as a descendant lives.
 */

#include "config.h"

#include "dvmd-lineage.h"

struct _DvmdLineage
{
  guint n_refs;
  char *nspace;
  GArray *sessions; /* (element-type guint) (nullable) */
  DvmdLineage *parent;
};

DvmdLineage *
dvmd_lineage_new (const char *nspace, GArray *sessions, DvmdLineage *parent)
{
  DvmdLineage *self = g_new0 (DvmdLineage, 1);

  self->n_refs = 1;
  self->nspace = g_strdup (nspace);
  self->sessions = sessions != NULL ? g_array_ref (sessions) : NULL;
  self->parent = parent != NULL ? dvmd_lineage_ref (parent) : NULL;
  return self;
}

DvmdLineage *
dvmd_lineage_ref (DvmdLineage *self)
{
  self->n_refs++;
  return self;
}

/* A long line of jobs that each spawned the next one is not to end on the stack. */
void
dvmd_lineage_unref (DvmdLineage *self)
{
  while (self != NULL && --self->n_refs == 0)
    {
      DvmdLineage *parent = self->parent;

      g_free (self->nspace);
      g_clear_pointer (&self->sessions, g_array_unref);
      g_free (self);
      self = parent;
    }
}

gboolean
dvmd_lineage_descends_from (DvmdLineage *self, const char *nspace)
{
  for (DvmdLineage *above = self->parent; above != NULL; above = above->parent)
    if (g_strcmp0 (above->nspace, nspace) == 0)
      return TRUE;
  return FALSE;
}

gboolean
dvmd_lineage_has_session (DvmdLineage *self, guint session)
{
  for (; self != NULL; self = self->parent)
    for (guint i = 0; self->sessions != NULL && i < self->sessions->len; i++)
      if (g_array_index (self->sessions, guint, i) == session)
        return TRUE;
  return FALSE;
}
