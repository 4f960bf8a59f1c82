/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sessions of the DVM: how they come, are found, and end.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-session-private.h"

#include "dvm-records-private.h"
#include "dvmd-core-private.h"
#include "dvmd-job-sessions.h"
#include "dvmd-vm-machine.h"

static guint
get_number (gpointer session)
{
  return dvmd_session_get_id (session);
}

void
dvmd_session_registry_init (DvmdSessionRegistry *self)
{
  self->all = dvmd_registry_new (get_number);
  self->chosen_ids = dvmd_id_set_new ();
}

void
dvmd_session_registry_clear (DvmdSessionRegistry *self)
{
  g_clear_pointer (&self->ended, g_ptr_array_unref);
  g_clear_pointer (&self->all, dvmd_registry_free);
  g_clear_pointer (&self->chosen_ids, dvmd_id_set_free);
}

/* ---- they come ---- */

char *
dvmd_core_mint_alloc_id (DvmdCore *self)
{
  g_autofree char *alloc_id = NULL;

  /* The same id may have been given from outside. */
  do
    {
      g_free (alloc_id);
      alloc_id = g_strdup_printf ("%s.alloc.%u", self->settings.nspace, ++self->sessions.last_alloc);
    }
  while (dvmd_core_find_session (self, alloc_id) != NULL);
  return g_steal_pointer (&alloc_id);
}

/* The next number that no session has had: requests choose some themselves. */
static guint
mint_id (DvmdCore *self)
{
  do
    self->sessions.last_id++;
  while (dvmd_id_set_contains (self->sessions.chosen_ids, self->sessions.last_id));
  return self->sessions.last_id;
}

static guint
choose_id (DvmdCore *self, guint wanted)
{
  if (wanted == 0)
    return mint_id (self);
  dvmd_id_set_add (self->sessions.chosen_ids, wanted);
  return wanted;
}

gboolean
dvmd_core_check_session_number (DvmdCore *self, guint id, GError **error)
{
  if (id == G_MAXUINT32)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%u is no number of a session", id);
  else if (dvmd_core_get_session (self, id) != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "Session %u is there already", id);
  else if (id <= self->sessions.last_id || dvmd_id_set_contains (self->sessions.chosen_ids, id))
    g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS,
                 "There was a session %u, and no number is given twice: choose another one, or none", id);
  else
    return TRUE;
  return FALSE;
}

DvmdSession *
dvmd_core_add_session (DvmdCore *self, guint id, const char *alloc_id, const char *req_id, gboolean shared)
{
  gboolean first = dvmd_registry_count_live (self->sessions.all) == 0;
  DvmdSession *session = dvmd_session_new (self, first ? 0 : choose_id (self, id));

  session->shared = shared;
  _dvm_session_set_allocation (session->record, alloc_id, req_id);
  dvmd_session_publish_sharing (session);
  dvmd_registry_add (self->sessions.all, session);
  return session;
}

/* ---- they end ---- */

/* (transfer floating): job, state, exit code and reason of each that can still be asked about */
static GVariant *
sum_up_jobs (DvmdSession *self)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(uiis)"));
  for (DvmdJob *job = NULL; (job = dvmd_core_next_job (self->core, job, TRUE)) != NULL;)
    if (dvmd_job_get_session (job) == dvmd_session_get_id (self))
      g_variant_builder_add (&builder, "(uiis)", dvmd_job_get_id (job), (gint32)dvmd_job_get_state (job),
                             dvm_job_get_exit_code (dvmd_job_get_record (job)),
                             dvm_job_get_reason (dvmd_job_get_record (job)));
  return g_variant_builder_end (&builder);
}

static void
remove_session (DvmdSession *self, const char *reason)
{
  DvmdCore *core = self->core;
  g_autoptr (DvmdSession) kept = NULL;

  dvmd_session_set_parent (self, 0);
  dvmd_session_forget_owner (self);
  dvmd_session_set_state (self, DVM_SESSION_STATE_ENDED, reason);
  kept = dvmd_registry_remove (core->sessions.all, dvmd_session_get_id (self));
  dvmd_core_tell_session (self, DVMD_NEWS_FORGOTTEN);
  if (core->effects->session_ended == NULL)
    return;
  if (core->sessions.ended == NULL)
    core->sessions.ended = g_ptr_array_new_with_free_func (g_object_unref);
  dvmd_core_post_vm (core, DVMD_VM_SESSIONS_CHANGED, 0, NULL);
  g_ptr_array_add (core->sessions.ended, g_object_ref (self));
}

void
dvmd_core_tell_ended_sessions (DvmdCore *self)
{
  g_autoptr (GPtrArray) sessions = g_steal_pointer (&self->sessions.ended);

  for (guint i = 0; sessions != NULL && i < sessions->len; i++)
    {
      DvmdSession *session = g_ptr_array_index (sessions, i);

      self->effects->session_ended (self->user_data, session, sum_up_jobs (session));
    }
}

void
dvmd_session_begin_end (DvmdSession *self, const char *reason, gboolean drains)
{
  self->releasing = TRUE;
  if (dvm_session_get_state (self->record) != DVM_SESSION_STATE_TERMINATING)
    dvmd_session_set_state (self, DVM_SESSION_STATE_TERMINATING, reason);
  dvmd_session_drop_jobs (self, reason, drains);
  dvmd_session_let_go (self);
}

void
dvmd_session_go_on (DvmdSession *self)
{
  self->releasing = FALSE;
  dvmd_session_set_state (self, DVM_SESSION_STATE_ACTIVE, NULL);
  /* The owner has ended meanwhile, and what the inheritance says of that has not been done. */
  if (self->owner_ended && !self->disposed)
    dvmd_core_post_vm (self->core, DVMD_VM_SESSIONS_CHANGED, 0, NULL);
}

void
dvmd_session_end (DvmdSession *self, const char *reason)
{
  g_autoptr (GPtrArray) nodes = dvmd_session_list_nodes (self);

  if (self->over)
    return;
  self->over = TRUE;
  dvmd_session_stop_timers (self);
  for (guint i = 0; i < nodes->len; i++)
    dvmd_session_part (self, g_ptr_array_index (nodes, i));
  dvmd_session_begin_end (self, reason, FALSE);
  dvmd_session_end_children (self, 0);
  if (self->jobs->len == 0)
    remove_session (self, reason);
}

gboolean
dvmd_session_is_over (DvmdSession *self)
{
  return self->over;
}

void
dvmd_session_job_ended (DvmdSession *self, DvmdJob *job)
{
  g_autofree char *reason = NULL;

  dvmd_session_remove_job (self, job);
  if (!self->over)
    dvmd_session_check_end (self);
  else if (self->jobs->len == 0)
    {
      reason = g_strdup (dvm_session_get_reason (self->record));
      remove_session (self, reason);
    }
}

/* ---- they are found ---- */

DvmdSession *
dvmd_core_get_session (DvmdCore *self, guint id)
{
  return dvmd_registry_get (self->sessions.all, id);
}

DvmdSession *
dvmd_core_find_session (DvmdCore *self, const char *alloc_id)
{
  for (GList *l = dvmd_registry_list (self->sessions.all, FALSE); l != NULL; l = l->next)
    if (g_strcmp0 (dvmd_session_get_alloc_id (l->data), alloc_id) == 0)
      return l->data;
  return NULL;
}

DvmdSession *
dvmd_core_find_session_by_request (DvmdCore *self, const char *req_id)
{
  for (GList *l = g_list_last (dvmd_registry_list (self->sessions.all, FALSE));
       l != NULL && req_id != NULL && req_id[0] != '\0'; l = l->prev)
    if (!dvmd_session_is_ending (l->data)
        && g_strcmp0 (dvm_session_get_request_id (((DvmdSession *)l->data)->record), req_id) == 0)
      return l->data;
  return NULL;
}

DvmdSession *
dvmd_core_next_session (DvmdCore *self, DvmdSession *after)
{
  return dvmd_registry_next (self->sessions.all, after, FALSE);
}

static gboolean
is_there (DvmdSession *session)
{
  return session != NULL && !dvmd_session_is_ending (session);
}

/* (element-type DvmdSession): nspace (nullable): an owner of them */
static GPtrArray *
list_requested (DvmdCore *self, const char *req_id, const char *nspace)
{
  GPtrArray *found = g_ptr_array_new ();

  for (GList *l = dvmd_registry_list (self->sessions.all, FALSE); l != NULL && req_id[0] != '\0'; l = l->next)
    if (is_there (l->data) && g_strcmp0 (dvm_session_get_request_id (((DvmdSession *)l->data)->record), req_id) == 0
        && (nspace == NULL || dvmd_session_owns (l->data, nspace)))
      g_ptr_array_add (found, l->data);
  return found;
}

static gboolean
select_requested (DvmdCore *self, const DvmdRequester *who, const char *req_id, DvmdSession **session, GError **error)
{
  g_autofree char *nspace = dvmd_requester_dup_nspace (who);
  g_autoptr (GPtrArray) found = list_requested (self, req_id, nspace);

  if (found->len == 0)
    {
      g_ptr_array_unref (found);
      found = list_requested (self, req_id, NULL);
    }
  if (found->len == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "No allocation was requested as “%s”", req_id);
  else if (found->len > 1)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "%u allocations were requested as “%s”, %s is one of them: name an alloc-id", found->len, req_id,
                 dvmd_session_get_alloc_id (g_ptr_array_index (found, 0)));
  else
    {
      *session = g_ptr_array_index (found, 0);
      return TRUE;
    }
  return FALSE;
}

static gboolean
agrees (DvmdSession **session, DvmdSession *found, const char *what, GError **error)
{
  if (*session != NULL && *session != found)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” is another allocation than “%s”: name one of them",
                   what, dvmd_session_get_alloc_id (*session));
      return FALSE;
    }
  *session = found;
  return TRUE;
}

/* session (nullable): the one that is meant, which is ending; what (transfer full) */
static void
refuse_missing (DvmdSession *session, char *what, GError **error)
{
  g_autofree char *owned = what;

  if (session != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no %s any more: it is ending", owned);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no %s", owned);
}

gboolean
dvmd_core_select_session_for (DvmdCore *self, const DvmdRequester *who, guint id, const char *alloc_id,
                              const char *of_req_id, DvmdSession **session, GError **error)
{
  DvmdSession *by_id = id != 0 ? dvmd_core_get_session (self, id) : NULL;
  DvmdSession *by_alloc = alloc_id != NULL ? dvmd_core_find_session (self, alloc_id) : NULL;
  DvmdSession *by_request = NULL;

  *session = NULL;
  if (id != 0 && !is_there (by_id))
    refuse_missing (by_id, g_strdup_printf ("session %u", id), error);
  else if (alloc_id != NULL && !is_there (by_alloc))
    refuse_missing (by_alloc, g_strdup_printf ("allocation “%s”", alloc_id), error);
  else if (of_req_id == NULL || select_requested (self, who, of_req_id, &by_request, error))
    return (by_id == NULL || agrees (session, by_id, "", error))
           && (by_alloc == NULL || agrees (session, by_alloc, alloc_id, error))
           && (by_request == NULL || agrees (session, by_request, of_req_id, error));
  return FALSE;
}

gboolean
dvmd_core_select_session (DvmdCore *self, guint id, const char *alloc_id, const char *of_req_id, DvmdSession **session,
                          GError **error)
{
  return dvmd_core_select_session_for (self, NULL, id, alloc_id, of_req_id, session, error);
}
