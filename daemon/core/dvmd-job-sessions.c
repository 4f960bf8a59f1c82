/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which sessions a job is in: chosen and checked once, when it is submitted (S4, R32-R38).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-job-sessions.h"

#include "dvm-job-spec-private.h"
#include "dvm-records-private.h"
#include "dvmd-core-private.h"
#include "dvmd-job-parts.h"
#include "dvmd-session-private.h"

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

/* A target that fails makes all of them fail (R38). */
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

/* session (out) (nullable): named by its number, or the id of its allocation or of its request, in this order */
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

/* The session of the job that spawns the new one, unless that session is ending; else the default one. */
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

void
dvmd_job_sessions_enter (DvmdJob *job)
{
  DvmdCore *core = dvmd_job_get_core (job);
  GArray *ids = dvmd_job_get_sessions (job);
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));

  for (guint i = 0; i < ids->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (core, g_array_index (ids, guint, i));

      if (i == 0)
        dvmd_session_add_job (session, job);
      dvmd_session_add_owner (session, nspace);
    }
}

void
dvmd_job_sessions_leave (DvmdJob *job)
{
  DvmdCore *core = dvmd_job_get_core (job);
  GArray *ids = dvmd_job_get_sessions (job);
  DvmdSession *primary = dvmd_core_get_session (core, dvmd_job_get_session (job));

  for (guint i = 0; i < ids->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (core, g_array_index (ids, guint, i));

      if (session != NULL)
        dvmd_session_remove_owner (session, dvm_job_get_nspace (dvmd_job_get_record (job)));
    }
  if (primary != NULL)
    dvmd_session_job_ended (primary, job);
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
