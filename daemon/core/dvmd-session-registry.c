/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sessions of the DVM by their numbers and ids.
 */

#include "config.h"

#include "dvmd-core-private.h"
#include "dvmd-session-private.h"

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
dvmd_core_next_session (DvmdCore *self, DvmdSession *after)
{
  return dvmd_registry_next (self->sessions.all, after, FALSE);
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
