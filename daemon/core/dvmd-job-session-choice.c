/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which sessions a job is in: chosen and checked once, when it is submitted (S4, R32-R38).
 */

#include "config.h"

#include "dvm-job-spec-private.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-sessions.h"
#include "dvmd-job-sessions.h"
#include "dvmd-requester.h"
#include "dvmd-rights.h"
#include "dvmd-session-end.h"
#include "dvmd-session-inner.h"
#include "dvmd-session-owners.h"

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

/* Nodes that the job of the caller has reserved, and that the new job names: no key of MPI says what they are of. */
static void
add_named_nodes (DvmdCore *self, GArray *sessions, DvmdNode *node, const DvmdRequester *requester)
{
  for (guint i = 0; node->sessions != NULL && i < node->sessions->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (self, g_array_index (node->sessions, guint, i));

      if (session != NULL && !dvmd_session_is_ending (session)
          && dvmd_core_has_right (self, requester, DVMD_RIGHT_SPAWN, session, NULL))
        add_once (sessions, dvmd_session_get_id (session));
    }
}

static void
add_named (DvmdCore *self, GArray *sessions, DvmJobSpec *spec, const DvmdRequester *requester)
{
  if (dvmd_core_find_requesting_job (self, requester) == NULL)
    return;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      DvmHosts *hosts = _dvm_app_spec_get_choice (dvm_job_spec_get_app (spec, i));

      for (guint k = 0; hosts != NULL && k < _dvm_hosts_get_n (hosts); k++)
        {
          const DvmHost *host = _dvm_hosts_get (hosts, k);
          DvmdNode *node = NULL;

          if (host->kind == DVM_HOST_NAMED && !host->excluded)
            node = dvmd_node_pool_find (dvmd_core_get_nodes (self), host->name);
          if (node != NULL && dvmd_node_is_reserved (node))
            add_named_nodes (self, sessions, node, requester);
        }
    }
}

GArray *
dvmd_job_sessions_choose (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  g_autoptr (GArray) sessions = g_array_new (FALSE, FALSE, sizeof (guint));
  const char *const *targets = dvm_job_spec_get_target (spec);
  DvmdSession *session = NULL;
  gboolean named;

  if (targets != NULL && targets[0] != NULL)
    {
      if (!add_targets (self, sessions, targets, requester, error))
        return NULL;
      return g_steal_pointer (&sessions);
    }
  if (!find_named (self, spec, requester, &session, error))
    return NULL;
  named = session != NULL;
  if (!named)
    session = find_inherited (self, requester);
  if (!add_session (self, sessions, session, requester, error))
    return NULL;
  if (!named)
    add_named (self, sessions, spec, requester);
  return g_steal_pointer (&sessions);
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
