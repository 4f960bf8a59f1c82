/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions come, and are chosen by number, allocation or request.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-core-sessions.h"

#include "dvm-records-private.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-parts.h"
#include "dvmd-requester.h"
#include "dvmd-session-inner.h"
#include "dvmd-session-publish.h"
#include "dvmd-session-registry.h"

/* ---- they come ---- */

DvmdSession *
dvmd_core_add_session (DvmdCore *self, guint id, const char *alloc_id, const char *req_id, gboolean shared)
{
  DvmdSessionRegistry *sessions = dvmd_core_get_session_registry (self);
  DvmdSession *session = dvmd_session_new (self, dvmd_session_registry_choose_id (sessions, id), shared);

  _dvm_session_set_allocation (dvmd_session_get_record (session), alloc_id, req_id);
  dvmd_session_publish_sharing (session);
  dvmd_session_registry_add (sessions, session);
  return session;
}

/* ---- they are found ---- */

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

  for (GList *l = dvmd_core_get_live_sessions (self); l != NULL && req_id[0] != '\0'; l = l->next)
    if (is_there (l->data) && g_strcmp0 (dvm_session_get_request_id (dvmd_session_get_record (l->data)), req_id) == 0
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
