/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sessions of the DVM by their numbers and ids.
 */

#include "config.h"

#include "dvmd-session-registry.h"

#include "dvmd-core-elastic.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-id-set.h"
#include "dvmd-registry.h"

struct _DvmdSessionRegistry
{
  DvmdRegistry *all; /* of DvmdSession */
  guint last_id;
  DvmdIdSet *chosen_ids; /* numbers that were chosen by those who asked */
  guint last_alloc;
  GPtrArray *ended; /* (element-type DvmdSession) (nullable): nobody has been told yet */
};

static guint
get_number (gpointer session)
{
  return dvmd_session_get_id (session);
}

DvmdSessionRegistry *
dvmd_session_registry_new (void)
{
  DvmdSessionRegistry *self = g_new0 (DvmdSessionRegistry, 1);

  self->all = dvmd_registry_new (get_number);
  self->chosen_ids = dvmd_id_set_new ();
  return self;
}

void
dvmd_session_registry_free (DvmdSessionRegistry *self)
{
  g_clear_pointer (&self->ended, g_ptr_array_unref);
  g_clear_pointer (&self->all, dvmd_registry_free);
  g_clear_pointer (&self->chosen_ids, dvmd_id_set_free);
  g_free (self);
}

static DvmdSessionRegistry *
registry_of (DvmdCore *core)
{
  return dvmd_core_get_session_registry (core);
}

/* The next number that no session has had: requests choose some themselves. */
static guint
mint_id (DvmdSessionRegistry *self)
{
  do
    self->last_id++;
  while (dvmd_id_set_contains (self->chosen_ids, self->last_id));
  return self->last_id;
}

guint
dvmd_session_registry_choose_id (DvmdSessionRegistry *self, guint wanted)
{
  if (dvmd_registry_count_live (self->all) == 0)
    return 0;
  if (wanted == 0)
    return mint_id (self);
  dvmd_id_set_add (self->chosen_ids, wanted);
  return wanted;
}

void
dvmd_session_registry_add (DvmdSessionRegistry *self, DvmdSession *session)
{
  dvmd_registry_add (self->all, session);
}

DvmdSession *
dvmd_session_registry_remove (DvmdSessionRegistry *self, guint id)
{
  return dvmd_registry_remove (self->all, id);
}

void
dvmd_session_registry_note_end (DvmdSessionRegistry *self, DvmdSession *session)
{
  if (self->ended == NULL)
    self->ended = g_ptr_array_new_with_free_func (g_object_unref);
  g_ptr_array_add (self->ended, g_object_ref (session));
}

GPtrArray *
dvmd_session_registry_take_ended (DvmdSessionRegistry *self)
{
  return g_steal_pointer (&self->ended);
}

GList *
dvmd_core_get_live_sessions (DvmdCore *self)
{
  return dvmd_registry_list (registry_of (self)->all, FALSE);
}

char *
dvmd_core_mint_alloc_id (DvmdCore *self)
{
  g_autofree char *alloc_id = NULL;

  /* The same id may have been given from outside. */
  do
    {
      g_free (alloc_id);
      alloc_id = g_strdup_printf ("%s.alloc.%u", dvmd_core_get_settings (self)->nspace,
                                  ++registry_of (self)->last_alloc);
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
  else if (id <= registry_of (self)->last_id || dvmd_id_set_contains (registry_of (self)->chosen_ids, id))
    g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS,
                 "There was a session %u, and no number is given twice: choose another one, or none", id);
  else
    return TRUE;
  return FALSE;
}

DvmdSession *
dvmd_core_get_session (DvmdCore *self, guint id)
{
  return dvmd_registry_get (registry_of (self)->all, id);
}

DvmdSession *
dvmd_core_find_session (DvmdCore *self, const char *alloc_id)
{
  for (GList *l = dvmd_registry_list (registry_of (self)->all, FALSE); l != NULL; l = l->next)
    if (g_strcmp0 (dvmd_session_get_alloc_id (l->data), alloc_id) == 0)
      return l->data;
  return NULL;
}

DvmdSession *
dvmd_core_next_session (DvmdCore *self, DvmdSession *after)
{
  return dvmd_registry_next (registry_of (self)->all, after, FALSE);
}

DvmdSession *
dvmd_core_find_session_by_request (DvmdCore *self, const char *req_id)
{
  for (GList *l = g_list_last (dvmd_registry_list (registry_of (self)->all, FALSE));
       l != NULL && req_id != NULL && req_id[0] != '\0'; l = l->prev)
    if (!dvmd_session_is_ending (l->data)
        && g_strcmp0 (dvm_session_get_request_id (dvmd_session_get_record (l->data)), req_id) == 0)
      return l->data;
  return NULL;
}
