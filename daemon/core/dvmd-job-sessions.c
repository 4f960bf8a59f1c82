/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sessions of a job: the nodes of these are what it may use.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-job-sessions.h"

#include "dvm-records-private.h"
#include "dvmd-core-sessions.h"
#include "dvmd-job-parts.h"
#include "dvmd-requester.h"

typedef struct
{
  GArray *ids; /* (nullable): the primary one first */
  DvmdLineage *lineage;
} Sessions;

static void
sessions_clear (gpointer part)
{
  Sessions *self = part;

  g_clear_pointer (&self->ids, g_array_unref);
  g_clear_pointer (&self->lineage, dvmd_lineage_unref);
}

static Sessions *
sessions_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_SESSIONS, sizeof (Sessions), sessions_clear);
}

/* ---- a job's ---- */

/* A job that a tool submits descends from the tool. */
static DvmdLineage *
make_lineage (DvmdCore *self, const char *nspace, GArray *sessions, const DvmdRequester *requester)
{
  DvmdJob *parent = dvmd_core_find_requesting_job (self, requester);
  g_autofree char *tool = dvmd_requester_dup_nspace (requester);
  g_autoptr (DvmdLineage) above = NULL;

  if (parent != NULL && dvmd_job_get_lineage (parent) != NULL)
    return dvmd_lineage_new (nspace, sessions, dvmd_job_get_lineage (parent));
  above = dvmd_lineage_new (tool, NULL, NULL);
  return dvmd_lineage_new (nspace, sessions, above);
}

void
dvmd_job_sessions_set (DvmdJob *job, GArray *ids)
{
  Sessions *self = sessions_of (job);
  DvmJob *record = dvmd_job_get_record (job);
  g_autofree char *path = g_strdup_printf ("/org/dvm/sessions/%u", g_array_index (ids, guint, 0));

  self->ids = g_array_ref (ids);
  self->lineage = make_lineage (dvmd_job_get_core (job), dvm_job_get_nspace (record), ids,
                                dvmd_job_get_requester (job));
  _dvm_job_set_session (record, path);
}

void
dvmd_job_sessions_see (DvmdJob *job, guint id)
{
  Sessions *self = sessions_of (job);
  GArray *old = self->ids;

  if (dvmd_job_uses_session (job, 0) || dvmd_job_uses_session (job, id))
    return;
  /* The job's lineage keeps the old array. */
  self->ids = g_array_copy (old);
  g_array_append_val (self->ids, id);
  g_array_unref (old);
}

GArray *
dvmd_job_get_sessions (DvmdJob *job)
{
  return sessions_of (job)->ids;
}

DvmdLineage *
dvmd_job_get_lineage (DvmdJob *job)
{
  return sessions_of (job)->lineage;
}

guint
dvmd_job_get_session (DvmdJob *job)
{
  GArray *ids = dvmd_job_get_sessions (job);

  return ids != NULL ? g_array_index (ids, guint, 0) : 0;
}

gboolean
dvmd_job_uses_session (DvmdJob *job, guint id)
{
  GArray *ids = dvmd_job_get_sessions (job);

  if (ids == NULL)
    return id == 0;
  for (guint i = 0; i < ids->len; i++)
    if (g_array_index (ids, guint, i) == id)
      return TRUE;
  return FALSE;
}

gboolean
dvmd_job_may_use (DvmdJob *job, DvmdNode *node)
{
  if (!dvmd_node_is_reserved (node) && dvmd_job_uses_session (job, 0))
    return TRUE;
  for (guint i = 0; node->sessions != NULL && dvmd_job_get_sessions (job) != NULL && i < node->sessions->len; i++)
    if (dvmd_job_uses_session (job, g_array_index (node->sessions, guint, i)))
      return TRUE;
  return FALSE;
}
