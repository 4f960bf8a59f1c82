/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The rights of a requester follow from what its connection proves.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-rights"

#include "dvmd-rights.h"

#include "dvmd-colocation.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-job-sessions.h"
#include "dvmd-requester.h"
#include "dvmd-session-inner.h"

#include <string.h>

struct _DvmdStrangerLog
{
  gint64 said_at; /* µs, monotonic: when the last one was; 0: never */
  guint n_unsaid; /* since then */
};

DvmdStrangerLog *
dvmd_stranger_log_new (void)
{
  return g_new0 (DvmdStrangerLog, 1);
}

void
dvmd_stranger_log_free (DvmdStrangerLog *self)
{
  g_free (self);
}

static const char *const rights[] = {
  [DVMD_RIGHT_EXTEND] = "extend",
  [DVMD_RIGHT_RELEASE] = "release",
  [DVMD_RIGHT_SPAWN] = "spawn into",
  [DVMD_RIGHT_CONTROL] = "control",
  [DVMD_RIGHT_OWNER_FOR_OTHERS] = "make somebody else the owner of",
  [DVMD_RIGHT_JOB] = "control",
  [DVMD_RIGHT_NODE] = "drain and resume",
  [DVMD_RIGHT_DVM] = "control",
};

/* ---- what it may ---- */

/* A DVM belongs to one user. */
static gboolean
is_stranger (DvmdCore *self, const DvmdRequester *who)
{
  return who->uid != dvmd_core_get_settings (self)->uid && who->uid != 0;
}

typedef struct
{
  DvmdCore *core;
  const DvmdRequester *who;
  char *nspace;
  gboolean is_application;
} Caller;

static gboolean
may_session (const Caller *caller, DvmdRight right, DvmdSession *session)
{
  guint id = dvmd_session_get_id (session);

  /* Everybody's nodes. */
  if (id == 0)
    return right == DVMD_RIGHT_SPAWN || !caller->is_application;
  if (dvmd_session_owns (session, caller->nspace))
    return TRUE;
  return !caller->is_application && (caller->who->uid == dvmd_session_get_owner_uid (session) || caller->who->uid == 0);
}

/* Debuggers let the processes go on beside which they are; they were placed there by somebody who may control these. */
static gboolean
is_beside (const Caller *caller, DvmdJob *job)
{
  DvmdJob *own = dvmd_core_find_job (caller->core, caller->nspace);

  return own != NULL && dvmd_colocation_is_beside (own, job);
}

/* Its own, those that descend from it, those beside which it is, and those in sessions that it owns. */
static gboolean
may_job_as_application (const Caller *caller, DvmdJob *job)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));
  DvmdLineage *lineage = dvmd_job_get_lineage (job);
  GArray *sessions = dvmd_job_get_sessions (job);

  if (strcmp (nspace, caller->nspace) == 0 || (lineage != NULL && dvmd_lineage_descends_from (lineage, caller->nspace))
      || is_beside (caller, job))
    return TRUE;
  for (guint i = 0; sessions != NULL && i < sessions->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (caller->core, g_array_index (sessions, guint, i));

      if (session != NULL && dvmd_session_get_id (session) != 0
          && g_strcmp0 (dvmd_session_get_owner (session), caller->nspace) == 0)
        return TRUE;
    }
  return FALSE;
}

/* Tools are the user's whose DVM it is, or root's: others are strangers. */
static gboolean
may (const Caller *caller, DvmdRight right, DvmdSession *session, DvmdJob *job)
{
  switch (right)
    {
    case DVMD_RIGHT_EXTEND:
    case DVMD_RIGHT_SPAWN:
    case DVMD_RIGHT_CONTROL:
    case DVMD_RIGHT_RELEASE:
      return session != NULL ? may_session (caller, right, session) : !caller->is_application;
    case DVMD_RIGHT_JOB:
      return !caller->is_application || (job != NULL && may_job_as_application (caller, job));
    case DVMD_RIGHT_OWNER_FOR_OTHERS:
    case DVMD_RIGHT_NODE:
    case DVMD_RIGHT_DVM:
    default:
      return !caller->is_application;
    }
}

/* (transfer full): "session 3 (dvm.alloc.3)", "job dvm@4", ... */
static char *
describe (DvmdRight right, DvmdSession *session, DvmdJob *job)
{
  if (right == DVMD_RIGHT_JOB)
    return job != NULL ? g_strdup_printf ("job %s", dvm_job_get_nspace (dvmd_job_get_record (job)))
                       : g_strdup ("all jobs");
  if (right == DVMD_RIGHT_NODE)
    return g_strdup ("nodes");
  if (right == DVMD_RIGHT_DVM)
    return g_strdup ("the DVM");
  if (right == DVMD_RIGHT_OWNER_FOR_OTHERS)
    return g_strdup ("an allocation");
  if (session == NULL)
    return g_strdup ("nodes of the default session");
  if (dvmd_session_get_id (session) == 0)
    return g_strdup ("the default session");
  return g_strdup_printf ("session %u (%s)", dvmd_session_get_id (session), dvmd_session_get_alloc_id (session));
}

static const char *
describe_entitled (DvmdRight right, DvmdSession *session, DvmdJob *job)
{
  if (right == DVMD_RIGHT_JOB && job != NULL)
    return "itself, those that spawned it, those beside it, the owner of its session, and tools of its user may";
  if (session != NULL && dvmd_session_get_id (session) != 0)
    return "its owners, tools of their user, and the scheduler may";
  return "tools and the scheduler may";
}

gboolean
dvmd_core_has_right (DvmdCore *self, const DvmdRequester *who, DvmdRight right, DvmdSession *session, DvmdJob *job)
{
  g_autofree char *nspace = dvmd_requester_dup_nspace (who);
  const Caller caller = { self, who, nspace, dvmd_core_is_application (self, who) };

  return who == NULL || dvmd_requester_is_scheduler (who)
         || (!is_stranger (self, who) && may (&caller, right, session, job));
}

/* One line a second of those who may nothing: they may ask as often as they like, and fill no disk. */
static void
log_refusal (DvmdCore *self, const DvmdRequester *who, const char *nspace, DvmdRight right, const char *what)
{
  DvmdStrangerLog *log = dvmd_core_get_strangers (self);
  gint64 now = dvmd_clock_monotonic (dvmd_core_get_clock (self));
  g_autofree char *others = NULL;

  if (is_stranger (self, who) && log->said_at != 0 && now - log->said_at < G_TIME_SPAN_SECOND)
    {
      log->n_unsaid++;
      return;
    }
  if (is_stranger (self, who) && log->n_unsaid > 0)
    others = g_strdup_printf (" (and %u such calls before were refused)", log->n_unsaid);
  if (is_stranger (self, who))
    *log = (DvmdStrangerLog){ .said_at = now };
  g_message ("%s (uid %u) may not %s %s%s", who->name != NULL ? who->name : nspace, who->uid, rights[right], what,
             others != NULL ? others : "");
}

gboolean
dvmd_core_may (DvmdCore *self, const DvmdRequester *who, DvmdRight right, DvmdSession *session, DvmdJob *job,
               GError **error)
{
  g_autofree char *nspace = dvmd_requester_dup_nspace (who);
  g_autofree char *what = NULL;

  if (dvmd_core_has_right (self, who, right, session, job))
    {
      g_debug ("%s (uid %u) may %s %s", who != NULL ? nspace : "the DVM",
               who != NULL ? who->uid : dvmd_core_get_settings (self)->uid, rights[right],
               session != NULL ? dvmd_session_get_alloc_id (session) : "");
      return TRUE;
    }
  what = describe (right, session, job);
  log_refusal (self, who, nspace, right, what);
  if (is_stranger (self, who))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                 "needs the user that this DVM belongs to (uid %u) or root, not uid %u",
                 dvmd_core_get_settings (self)->uid, who->uid);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS, "%s may not %s %s: %s", nspace, rights[right], what,
                 describe_entitled (right, session, job));
  return FALSE;
}
