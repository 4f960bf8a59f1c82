/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which sessions a job is in: chosen and checked once, when it is submitted (S4, R32-R38).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-session-private.h"

#include "dvm-job-spec-private.h"
#include "dvm-records-private.h"
#include "dvmd-core-private.h"
#include "dvmd-lineage.h"

static void
add_once (GArray *sessions, guint id)
{
  for (guint i = 0; i < sessions->len; i++)
    if (g_array_index (sessions, guint, i) == id)
      return;
  g_array_append_val (sessions, id);
}

static gboolean
add_session (DvmdCore *self, GArray *sessions, DvmdSession *session, const DvmdRequester *requester, GError **error)
{
  if (!dvmd_core_may (self, requester, DVMD_RIGHT_SPAWN, session, NULL, error))
    return FALSE;
  add_once (sessions, dvmd_session_get_id (session));
  return TRUE;
}

/* One that fails makes all of them fail (R38). */
static gboolean
add_targets (DvmdCore *self, GArray *sessions, const char *const *targets, const DvmdRequester *requester,
             GError **error)
{
  for (gsize i = 0; targets[i] != NULL; i++)
    {
      DvmdSession *session = NULL;

      if (targets[i][0] == '\0')
        session = dvmd_core_get_session (self, 0);
      else if (!dvmd_core_select_session (self, 0, targets[i], NULL, &session, error))
        {
          g_prefix_error (error, "target: ");
          return FALSE;
        }
      if (!add_session (self, sessions, session, requester, error))
        return FALSE;
    }
  return TRUE;
}

/* (nullable): named by its number, by that of its allocation or of its request, in this order */
static gboolean
find_named (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, DvmdSession **session, GError **error)
{
  const char *alloc_id = dvm_job_spec_get_alloc_id (spec);
  const char *req_id = dvm_job_spec_get_alloc_req_id (spec);
  guint id = dvm_job_spec_get_session (spec);

  *session = NULL;
  if (id == 0 || (id == DVM_SESSION_NONE && alloc_id != NULL && alloc_id[0] == '\0'))
    *session = dvmd_core_get_session (self, 0);
  else if (id != DVM_SESSION_NONE)
    return dvmd_core_select_session (self, id, NULL, NULL, session, error);
  else if (alloc_id != NULL)
    return dvmd_core_select_session (self, 0, alloc_id, NULL, session, error);
  else if (req_id != NULL)
    return dvmd_core_select_session_for (self, requester, 0, NULL, req_id, session, error);
  return TRUE;
}

/* Where the one that spawns it is, as long as that is there; else where everybody is. */
static DvmdSession *
find_inherited (DvmdCore *self, const DvmdRequester *requester)
{
  DvmdJob *parent = dvmd_core_find_requesting_job (self, requester);
  DvmdSession *session = parent != NULL ? dvmd_core_get_session (self, dvmd_job_get_session (parent)) : NULL;

  return session != NULL && !dvmd_session_is_ending (session) ? session : dvmd_core_get_session (self, 0);
}

GArray *
dvmd_job_sessions_choose (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  g_autoptr (GArray) sessions = g_array_new (FALSE, FALSE, sizeof (guint));
  const char *const *targets = dvm_job_spec_get_target (spec);
  DvmdSession *session = NULL;

  if (targets != NULL && targets[0] != NULL)
    {
      if (!add_targets (self, sessions, targets, requester, error))
        return NULL;
      return g_steal_pointer (&sessions);
    }
  if (!find_named (self, spec, requester, &session, error))
    return NULL;
  if (session == NULL)
    session = find_inherited (self, requester);
  if (!add_session (self, sessions, session, requester, error))
    return NULL;
  return g_steal_pointer (&sessions);
}

/* ---- a job's ---- */

/* What a tool submits descends from the tool. */
static DvmdLineage *
make_lineage (DvmdCore *self, const char *nspace, GArray *sessions, const DvmdRequester *requester)
{
  DvmdJob *parent = dvmd_core_find_requesting_job (self, requester);
  g_autofree char *tool = dvmd_requester_dup_nspace (requester);
  g_autoptr (DvmdLineage) above = NULL;

  if (parent != NULL && parent->lineage != NULL)
    return dvmd_lineage_new (nspace, sessions, parent->lineage);
  above = dvmd_lineage_new (tool, NULL, NULL);
  return dvmd_lineage_new (nspace, sessions, above);
}

void
dvmd_job_sessions_set (DvmdJob *job, GArray *sessions)
{
  DvmdCore *self = job->core;
  const char *nspace = dvm_job_get_nspace (job->record);
  g_autofree char *path = g_strdup_printf ("/org/dvm/sessions/%u", g_array_index (sessions, guint, 0));

  job->sessions = g_array_ref (sessions);
  job->lineage = make_lineage (self, nspace, sessions, job->requester);
  _dvm_job_set_session (job->record, path);
}

void
dvmd_job_sessions_enter (DvmdJob *job)
{
  const char *nspace = dvm_job_get_nspace (job->record);

  for (guint i = 0; i < job->sessions->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (job->core, g_array_index (job->sessions, guint, i));

      if (i == 0)
        dvmd_session_add_job (session, job);
      dvmd_session_add_owner (session, nspace);
    }
}

void
dvmd_job_sessions_leave (DvmdJob *job)
{
  DvmdSession *primary = dvmd_core_get_session (job->core, dvmd_job_get_session (job));

  for (guint i = 0; i < job->sessions->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (job->core, g_array_index (job->sessions, guint, i));

      if (session != NULL)
        dvmd_session_remove_owner (session, dvm_job_get_nspace (job->record));
    }
  if (primary != NULL)
    dvmd_session_job_ended (primary, job);
}

GArray *
dvmd_job_get_sessions (DvmdJob *self)
{
  return self->sessions;
}

guint
dvmd_job_get_session (DvmdJob *self)
{
  return self->sessions != NULL ? g_array_index (self->sessions, guint, 0) : 0;
}

gboolean
dvmd_job_uses_session (DvmdJob *self, guint id)
{
  if (self->sessions == NULL)
    return id == 0;
  for (guint i = 0; i < self->sessions->len; i++)
    if (g_array_index (self->sessions, guint, i) == id)
      return TRUE;
  return FALSE;
}

gboolean
dvmd_job_may_use (DvmdJob *self, DvmdNode *node)
{
  if (!dvmd_node_is_reserved (node) && dvmd_job_uses_session (self, 0))
    return TRUE;
  for (guint i = 0; node->sessions != NULL && self->sessions != NULL && i < node->sessions->len; i++)
    if (dvmd_job_uses_session (self, g_array_index (node->sessions, guint, i)))
      return TRUE;
  return FALSE;
}
