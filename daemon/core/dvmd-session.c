/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-session-private.h"

#include "dvm-records-private.h"
#include "dvmd-core-private.h"

G_DEFINE_FINAL_TYPE (DvmdSession, dvmd_session, G_TYPE_OBJECT)

static void
dvmd_session_finalize (GObject *object)
{
  DvmdSession *self = DVMD_SESSION (object);

  g_clear_object (&self->record);
  G_OBJECT_CLASS (dvmd_session_parent_class)->finalize (object);
}

static void
dvmd_session_class_init (DvmdSessionClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_session_finalize;
}

static void
dvmd_session_init (DvmdSession *self)
{
  self->link.data = self;
}

DvmdSession *
dvmd_session_new (DvmdCore *core, guint id)
{
  DvmdSession *self = g_object_new (DVMD_TYPE_SESSION, NULL);

  self->core = core;
  self->record = _dvm_session_new (id);
  _dvm_session_set_state (self->record, DVM_SESSION_STATE_ACTIVE, NULL);
  return self;
}

guint
dvmd_session_get_id (DvmdSession *self)
{
  return dvm_session_get_id (self->record);
}

const char *
dvmd_session_get_alloc_id (DvmdSession *self)
{
  return dvm_session_get_alloc_id (self->record);
}

DvmSession *
dvmd_session_get_record (DvmdSession *self)
{
  return self->record;
}

gboolean
dvmd_session_is_ending (DvmdSession *self)
{
  return dvm_session_get_state (self->record) != DVM_SESSION_STATE_ACTIVE;
}

static gboolean
is_in (DvmdSession *self, DvmdNode *node)
{
  if (node->rank == 0)
    return FALSE;
  if (dvmd_session_get_id (self) == 0)
    return dvm_node_get_state (node->record) != DVM_NODE_STATE_NOT_INCLUDED;
  return dvmd_node_is_in (node, dvmd_session_get_id (self));
}

GPtrArray *
dvmd_session_list_nodes (DvmdSession *self)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (self->core->nodes, node)) != NULL;)
    if (is_in (self, node))
      g_ptr_array_add (nodes, node);
  return nodes;
}

/* There is no other session that jobs can be in, so far. */
void
dvmd_session_publish_jobs (DvmdSession *self)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();

  if (dvmd_session_get_id (self) == 0)
    for (DvmdJob *job = NULL; (job = dvmd_core_next_job (self->core, job, FALSE)) != NULL;)
      g_ptr_array_add (paths, (gpointer)dvm_job_get_object_path (dvmd_job_get_record (job)));
  g_ptr_array_add (paths, NULL);
  _dvm_session_set_jobs (self->record, (const char *const *)paths->pdata);
}

void
dvmd_session_publish_nodes (DvmdSession *self)
{
  g_autoptr (GPtrArray) nodes = dvmd_session_list_nodes (self);

  for (guint i = 0; i < nodes->len; i++)
    nodes->pdata[i] = (gpointer)dvm_node_get_name (((DvmdNode *)nodes->pdata[i])->record);
  g_ptr_array_add (nodes, NULL);
  self->untold = FALSE;
  _dvm_session_set_nodes (self->record, (const char *const *)nodes->pdata);
}

void
dvmd_session_publish (DvmdSession *self)
{
  dvmd_session_publish_nodes (self);
  dvmd_session_publish_jobs (self);
}

void
dvmd_session_changed (DvmdSession *self)
{
  if (self->untold)
    return;
  self->untold = TRUE;
  dvmd_core_tell_session (self, DVMD_SESSION_CHANGED);
}

/* ---- in the core ---- */

char *
dvmd_core_mint_alloc_id (DvmdCore *self)
{
  return g_strdup_printf ("%s.alloc.%u", self->nspace, ++self->last_alloc);
}

/* A tool on a bus has one namespace over all of its connections (DBUS.md). */
static char *
get_owner (const DvmdRequester *requester)
{
  const char *end;

  if (requester == NULL)
    return g_strdup ("");
  if (!g_str_has_prefix (requester->name, "pmix:"))
    return g_strdup_printf ("bus.%u", requester->uid);
  end = strrchr (requester->name, '.');
  return end != NULL ? g_strndup (requester->name + 5, end - requester->name - 5) : g_strdup (requester->name + 5);
}

DvmdSession *
dvmd_core_add_session (DvmdCore *self, const char *alloc_id, const char *req_id, const DvmdRequester *requester,
                       gboolean shared)
{
  gboolean first = self->session_list.length == 0;
  DvmdSession *session = dvmd_session_new (self, first ? 0 : ++self->last_session_id);
  g_autofree char *owner = get_owner (requester);
  const char *owners[] = { owner, NULL };

  _dvm_session_set_allocation (session->record, alloc_id, req_id);
  _dvm_session_set_sharing (session->record, "default", shared, FALSE);
  if (owner[0] != '\0')
    _dvm_session_set_owners (session->record, owner, owners);
  g_hash_table_insert (self->sessions, GUINT_TO_POINTER (dvmd_session_get_id (session)), session);
  g_queue_push_tail_link (&self->session_list, &session->link);
  if (!first)
    dvmd_core_tell_session (session, DVMD_SESSION_ADDED);
  return session;
}

void
dvmd_core_remove_session (DvmdSession *session, const char *reason)
{
  DvmdCore *self = session->core;
  guint id = dvmd_session_get_id (session);
  g_autoptr (GPtrArray) nodes = dvmd_session_list_nodes (session);
  g_autoptr (DvmdSession) kept = g_object_ref (session);

  for (guint i = 0; i < nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (nodes, i);

      dvmd_node_pool_part (node, id);
      dvmd_core_node_changed (self, node->rank);
    }
  _dvm_session_set_state (session->record, DVM_SESSION_STATE_ENDED, reason);
  g_queue_unlink (&self->session_list, &session->link);
  g_hash_table_remove (self->sessions, GUINT_TO_POINTER (id));
  dvmd_core_tell_session (kept, DVMD_SESSION_REMOVED);
}

DvmdSession *
dvmd_core_get_session (DvmdCore *self, guint id)
{
  return g_hash_table_lookup (self->sessions, GUINT_TO_POINTER (id));
}

DvmdSession *
dvmd_core_find_session (DvmdCore *self, const char *alloc_id)
{
  for (GList *l = self->session_list.head; l != NULL; l = l->next)
    if (g_strcmp0 (dvmd_session_get_alloc_id (l->data), alloc_id) == 0)
      return l->data;
  return NULL;
}

DvmdSession *
dvmd_core_next_session (DvmdCore *self, DvmdSession *after)
{
  GList *link = after != NULL ? after->link.next : self->session_list.head;

  return link != NULL ? link->data : NULL;
}
