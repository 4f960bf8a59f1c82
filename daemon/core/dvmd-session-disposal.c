/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions whose owners have ended: they go, or stay, as their inheritance says.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-session-disposal.h"

#include "dvmd-core-elastic.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-grow.h"
#include "dvmd-job-sessions.h"
#include "dvmd-requester.h"
#include "dvmd-session-end.h"
#include "dvmd-session-inner.h"
#include "dvmd-session-owners.h"
#include "dvmd-session-private.h"
#include "dvmd-session-publish.h"
#include "dvmd-vm-machine.h"
#include "dvmd-vm.h"

/* Descendants of the owner by spawn; of an owner that is a tool also those of the session's jobs (RP4). */
static gboolean
has_children (DvmdSession *self)
{
  guint id = dvmd_session_get_id (self);
  gboolean is_job = dvmd_core_is_job_nspace (self->core, self->owner);

  for (DvmdJob *job = NULL; (job = dvmd_core_next_job (self->core, job, FALSE)) != NULL;)
    if (dvmd_lineage_descends_from (dvmd_job_get_lineage (job), self->owner)
        || (!is_job && dvmd_lineage_has_session (dvmd_job_get_lineage (job), id)))
      return TRUE;
  return FALSE;
}

static void
unreserve (DvmdSession *self)
{
  if (!dvmd_session_is_reserved (self))
    return;
  dvmd_session_unreserve (self);
  dvmd_grow_unreserve (self);
  dvmd_session_publish_sharing (self);
}

static void
dispose_of (DvmdSession *self)
{
  gboolean waits = self->inheritance == DVMD_INHERIT_CHILD || self->inheritance == DVMD_INHERIT_CHILD_DEFAULT;
  gboolean stays = self->inheritance == DVMD_INHERIT_DEFAULT || self->inheritance == DVMD_INHERIT_CHILD_DEFAULT;
  g_autofree char *cause = NULL;

  if (!self->owner_ended || self->family.detached || self->disposed || dvmd_session_is_ending (self)
      || (waits && has_children (self)))
    return;
  cause = g_strdup_printf ("Its owner, %s, has ended", self->owner);
  self->disposed = TRUE;
  dvmd_session_owners_count_ended (dvmd_core_get_owners (self->core), -1);
  g_info ("The owner of session %u, %s, has ended: inheritance %s", dvmd_session_get_id (self), self->owner,
          dvmd_inheritance_to_string (self->inheritance));
  if (stays)
    unreserve (self);
  else
    dvmd_session_release (self, 0, cause);
}

/* (element-type DvmdSession): releases change the list */
static GPtrArray *
list_sessions (DvmdCore *core)
{
  GPtrArray *sessions = g_ptr_array_new_with_free_func (g_object_unref);

  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (core, session)) != NULL;)
    if (dvmd_session_get_id (session) != 0)
      g_ptr_array_add (sessions, g_object_ref (session));
  return sessions;
}

void
dvmd_core_namespace_ended (DvmdCore *self, const char *nspace)
{
  DvmdSessionOwners *owners = dvmd_core_get_owners (self);
  gboolean owns = dvmd_session_owners_contain (owners, nspace);
  g_autoptr (GPtrArray) sessions = NULL;

  if (!owns && dvmd_session_owners_count_ended (owners, 0) == 0)
    return;
  sessions = list_sessions (self);
  for (guint i = 0; i < sessions->len; i++)
    {
      DvmdSession *session = g_ptr_array_index (sessions, i);

      /* It may have gone with one before it. */
      if (dvm_session_get_state (session->record) == DVM_SESSION_STATE_ENDED)
        continue;
      if (owns && !session->owner_ended && g_strcmp0 (session->owner, nspace) == 0)
        {
          session->owner_ended = TRUE;
          dvmd_session_owners_count_ended (owners, 1);
        }
      dispose_of (session);
    }
}

void
dvmd_core_dispose_sessions (DvmdCore *self)
{
  g_autoptr (GPtrArray) sessions = list_sessions (self);

  for (guint i = 0; i < sessions->len; i++)
    dispose_of (g_ptr_array_index (sessions, i));
}

void
dvmd_core_separate_session (DvmdCore *self, DvmdSession *session, gboolean separate)
{
  dvmd_session_tie (session, separate, separate);
  dvmd_session_publish_sharing (session);
  dvmd_session_changed (session);
  if (session->owner_ended)
    dvmd_core_post_vm (self, DVMD_VM_SESSIONS_CHANGED, 0, NULL);
}

void
dvmd_session_init_inheritance (DvmdSession *self, DvmdInheritance inheritance)
{
  self->inheritance = inheritance;
  dvmd_session_publish_sharing (self);
}

void
dvmd_session_set_inheritance (DvmdSession *self, DvmdInheritance inheritance)
{
  dvmd_session_init_inheritance (self, inheritance);
  dvmd_session_changed (self);
  /* It does not end again. */
  if (self->owner_ended)
    dvmd_core_post_vm (self->core, DVMD_VM_SESSIONS_CHANGED, 0, NULL);
}
