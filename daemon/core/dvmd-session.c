/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A session: its nodes and its jobs.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-session-private.h"

#include "dvm-hosts-private.h"
#include "dvm-records-private.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-sessions.h"
#include "dvmd-job-sessions.h"
#include "dvmd-session-inner.h"
#include "dvmd-vm.h"

#include <string.h>

G_DEFINE_FINAL_TYPE (DvmdSession, dvmd_session, G_TYPE_OBJECT)

static void
dvmd_session_finalize (GObject *object)
{
  DvmdSession *self = DVMD_SESSION (object);

  g_clear_object (&self->record);
  g_clear_pointer (&self->requester, dvmd_requester_free);
  g_clear_pointer (&self->owner, g_free);
  g_clear_pointer (&self->owners, g_hash_table_unref);
  g_clear_pointer (&self->family.children, g_array_unref);
  g_clear_pointer (&self->jobs, g_array_unref);
  g_clear_pointer (&self->lent, g_hash_table_unref);
  g_clear_pointer (&self->slots, g_hash_table_unref);
  g_clear_pointer (&self->cause, g_free);
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
  self->owners = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->family.children = g_array_new (FALSE, FALSE, sizeof (guint));
  self->jobs = g_array_new (FALSE, FALSE, sizeof (guint));
  self->slots = g_hash_table_new (NULL, NULL);
}

DvmdSession *
dvmd_session_new (DvmdCore *core, guint id, gboolean shared)
{
  DvmdSession *self = g_object_new (DVMD_TYPE_SESSION, NULL);

  self->core = core;
  self->shared = shared;
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

DvmdCore *
dvmd_session_get_core (DvmdSession *self)
{
  return self->core;
}

const char *
dvmd_session_get_owner (DvmdSession *self)
{
  return self->owner;
}

guint
dvmd_session_get_owner_uid (DvmdSession *self)
{
  return self->owner_uid;
}

void
dvmd_session_set_requester (DvmdSession *self, const DvmdRequester *requester)
{
  g_clear_pointer (&self->requester, dvmd_requester_free);
  self->requester = dvmd_requester_copy (requester);
}

void
dvmd_session_set_instantiated (DvmdSession *self)
{
  self->instantiated = TRUE;
}

const DvmdRequester *
dvmd_session_get_requester (DvmdSession *self)
{
  return self->requester;
}

gboolean
dvmd_session_is_reserved (DvmdSession *self)
{
  return !self->shared;
}

gboolean
dvmd_session_is_ending (DvmdSession *self)
{
  DvmSessionState state = dvm_session_get_state (self->record);

  return state == DVM_SESSION_STATE_TERMINATING || state == DVM_SESSION_STATE_ENDED;
}

void
dvmd_session_set_state (DvmdSession *self, DvmSessionState state, const char *reason)
{
  DvmSessionState old_state = dvm_session_get_state (self->record);

  _dvm_session_set_state (self->record, state, reason);
  dvmd_core_tell_session_state (self->core, self, old_state, state, reason);
  dvmd_core_tell_session (self->core, self, DVMD_NEWS_CHANGED);
}

void
dvmd_session_changed (DvmdSession *self)
{
  if (self->untold)
    return;
  self->untold = TRUE;
  dvmd_core_tell_session (self->core, self, DVMD_NEWS_CHANGED);
}

/* ---- nodes ---- */

/* The default session has those that nobody has reserved. */
static gboolean
is_in (DvmdSession *self, DvmdNode *node)
{
  if (node->rank == 0)
    return FALSE;
  if (dvmd_session_get_id (self) == 0)
    return !dvmd_node_is_reserved (node) && dvm_node_get_state (node->record) != DVM_NODE_STATE_NOT_INCLUDED;
  return dvmd_node_is_in (node, dvmd_session_get_id (self));
}

GPtrArray *
dvmd_session_list_nodes (DvmdSession *self)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (dvmd_core_get_nodes (self->core), node)) != NULL;)
    if (is_in (self, node))
      g_ptr_array_add (nodes, node);
  return nodes;
}

/* It was everybody's and is not any more, or the reverse: the default session has changed too. */
static void
node_changed (DvmdSession *self, DvmdNode *node, gboolean was_reserved)
{
  dvmd_core_node_changed (self->core, node->rank);
  dvmd_session_changed (self);
  dvmd_core_look_again (self->core);
  if (was_reserved != dvmd_node_is_reserved (node))
    dvmd_session_changed (dvmd_core_get_session (self->core, 0));
}

static guint
count_added_slots (DvmdSession *self, const DvmdNode *node)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (self->slots, GUINT_TO_POINTER (node->rank)));
}

/* more: as many, else as few */
static void
change_slots (DvmdSession *self, DvmdNode *node, guint slots, gboolean more)
{
  if (slots == 0)
    return;
  slots = more ? slots : MIN (slots, node->slots_added);
  node->slots_added += more ? slots : -slots;
  dvmd_node_pool_set_slots (dvmd_core_get_nodes (self->core), node, node->slots + (more ? slots : -slots),
                            node->slots_max);
}

void
dvmd_session_add_slots (DvmdSession *self, DvmdNode *node, guint slots)
{
  change_slots (self, node, slots, TRUE);
  g_hash_table_insert (self->slots, GUINT_TO_POINTER (node->rank),
                       GUINT_TO_POINTER (count_added_slots (self, node) + slots));
  node_changed (self, node, dvmd_node_is_reserved (node));
}

void
dvmd_session_move_slots (DvmdSession *self, const DvmdNode *from, DvmdNode *to)
{
  guint slots = count_added_slots (self, from);

  dvmd_session_forget_slots (self, from);
  if (dvmd_node_is_in (to, dvmd_session_get_id (self)))
    to->slots_added += slots;
  if (slots > 0)
    g_hash_table_insert (self->slots, GUINT_TO_POINTER (to->rank), GUINT_TO_POINTER (slots));
}

void
dvmd_session_forget_slots (DvmdSession *self, const DvmdNode *node)
{
  g_hash_table_remove (self->slots, GUINT_TO_POINTER (node->rank));
}

/* Others may have added some since it has left. */
static void
take_back_slots (DvmdSession *self, DvmdNode *node)
{
  guint slots = count_added_slots (self, node);
  guint room = node->slots_max > node->slots ? node->slots_max - node->slots : 0;

  if (node->slots_max > 0 && slots > room)
    {
      slots = room;
      g_hash_table_insert (self->slots, GUINT_TO_POINTER (node->rank), GUINT_TO_POINTER (slots));
    }
  change_slots (self, node, slots, TRUE);
}

void
dvmd_session_join (DvmdSession *self, DvmdNode *node)
{
  gboolean was_reserved = dvmd_node_is_reserved (node);

  if (dvmd_node_is_in (node, dvmd_session_get_id (self)))
    return;
  dvmd_node_pool_join (node, dvmd_session_get_id (self), !self->shared);
  take_back_slots (self, node);
  dvmd_session_unlend (self, dvm_node_get_name (node->record));
  /* Jobs that were let through and not placed yet may have no right to it any more. */
  if (!was_reserved && !self->shared)
    dvmd_core_unplan_node (self->core, node);
  node_changed (self, node, was_reserved);
}

void
dvmd_session_part (DvmdSession *self, DvmdNode *node)
{
  gboolean was_reserved = dvmd_node_is_reserved (node);

  if (!dvmd_node_is_in (node, dvmd_session_get_id (self)))
    return;
  dvmd_node_pool_part (node, dvmd_session_get_id (self), !self->shared);
  change_slots (self, node, count_added_slots (self, node), FALSE);
  node_changed (self, node, was_reserved);
}

void
dvmd_session_unreserve (DvmdSession *self)
{
  g_autoptr (GPtrArray) nodes = NULL;

  if (self->shared)
    return;
  nodes = dvmd_session_list_nodes (self);
  self->shared = TRUE;
  for (guint i = 0; i < nodes->len; i++)
    {
      dvmd_node_pool_reserve (g_ptr_array_index (nodes, i), FALSE);
      node_changed (self, g_ptr_array_index (nodes, i), TRUE);
    }
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *
dvmd_session_list_lent (DvmdSession *self)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer name;

  if (self->lent == NULL)
    return names;
  g_hash_table_iter_init (&iter, self->lent);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  return names;
}

typedef struct
{
  guint slots;
  guint slots_max;
} Lent;

void
dvmd_session_lend (DvmdSession *self, const DvmdNode *node)
{
  Lent *lent = g_new (Lent, 1);

  lent->slots = node->slots_given ? node->slots - node->slots_added : 0;
  lent->slots_max = node->slots_max;
  if (self->lent == NULL)
    self->lent = g_hash_table_new_full (_dvm_host_name_hash, _dvm_host_name_equal, g_free, g_free);
  g_hash_table_insert (self->lent, g_strdup (dvm_node_get_name (node->record)), lent);
}

guint
dvmd_session_get_lent_slots (DvmdSession *self, const char *name, guint *slots_max)
{
  const Lent *lent = self->lent != NULL ? g_hash_table_lookup (self->lent, name) : NULL;

  *slots_max = lent != NULL ? lent->slots_max : 0;
  return lent != NULL ? lent->slots : 0;
}

gboolean
dvmd_session_has_lent (DvmdSession *self, const char *name)
{
  return self->lent != NULL && g_hash_table_contains (self->lent, name);
}

void
dvmd_session_unlend (DvmdSession *self, const char *name)
{
  if (self->lent != NULL)
    g_hash_table_remove (self->lent, name);
}

/* ---- jobs ---- */

GArray *
dvmd_session_list_jobs (DvmdSession *self)
{
  GArray *ids;

  if (dvmd_session_get_id (self) != 0)
    return g_array_copy (self->jobs);
  ids = g_array_new (FALSE, FALSE, sizeof (guint));
  for (DvmdJob *job = NULL; (job = dvmd_core_next_job (self->core, job, FALSE)) != NULL;)
    if (dvmd_job_get_session (job) == 0)
      {
        guint id = dvmd_job_get_id (job);

        g_array_append_val (ids, id);
      }
  return ids;
}

/* Ascending: one whose number was reserved may come after younger ones. */
void
dvmd_session_add_job (DvmdSession *self, DvmdJob *job)
{
  guint id = dvmd_job_get_id (job);
  guint i = self->jobs->len;

  if (dvmd_session_get_id (self) == 0)
    return;
  while (i > 0 && g_array_index (self->jobs, guint, i - 1) > id)
    i--;
  g_array_insert_val (self->jobs, i, id);
  dvmd_session_changed (self);
}

void
dvmd_session_remove_job (DvmdSession *self, DvmdJob *job)
{
  for (guint i = 0; i < self->jobs->len; i++)
    if (g_array_index (self->jobs, guint, i) == dvmd_job_get_id (job))
      {
        g_array_remove_index (self->jobs, i);
        dvmd_session_changed (self);
        return;
      }
}

void
dvmd_session_drop_jobs (DvmdSession *self, const char *reason, gboolean drains)
{
  guint id = dvmd_session_get_id (self);
  g_autoptr (DvmReason) why = _dvm_reason_new (DVM_REASON_SESSION_ENDED, id, dvmd_session_get_alloc_id (self), reason);

  for (DvmdJob *job = NULL; (job = dvmd_core_next_job (self->core, job, FALSE)) != NULL;)
    if (!dvmd_job_is_launched (job) && !(drains && dvmd_job_get_map (job) != NULL) && dvmd_job_uses_session (job, id))
      dvmd_core_fail_job_for (self->core, job, DVM_JOB_STATE_NEVER_LAUNCHED, why);
}

DvmdJob *
dvmd_session_find_job (DvmdSession *session, const char *nspace)
{
  DvmdJob *job = dvmd_core_find_job (session->core, nspace);

  if (job == NULL || dvmd_job_get_ended (job) || dvmd_job_get_session (job) != dvmd_session_get_id (session))
    return NULL;
  return job;
}

GPtrArray *
dvmd_session_collect_jobs (DvmdSession *session, const char *nspace)
{
  GPtrArray *jobs = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GArray) ids = nspace == NULL ? dvmd_session_list_jobs (session) : NULL;
  DvmdJob *only = nspace != NULL ? dvmd_session_find_job (session, nspace) : NULL;

  if (only != NULL)
    g_ptr_array_add (jobs, g_object_ref (only));
  for (guint i = 0; ids != NULL && i < ids->len; i++)
    {
      DvmdJob *job = dvmd_core_get_job (session->core, g_array_index (ids, guint, i));

      if (job != NULL)
        g_ptr_array_add (jobs, g_object_ref (job));
    }
  return jobs;
}

guint
dvmd_session_get_holds (DvmdSession *self)
{
  return self->holds;
}

void
dvmd_session_set_holds (DvmdSession *self, guint holds)
{
  self->holds = holds;
}

/* ---- its release ---- */

gboolean
dvmd_session_is_releasing (DvmdSession *self)
{
  return self->releasing;
}

gboolean
dvmd_session_is_over (DvmdSession *self)
{
  return self->over;
}

const char *
dvmd_session_get_cause (DvmdSession *self)
{
  return self->cause;
}

void
dvmd_session_set_cause (DvmdSession *self, const char *cause)
{
  g_free (self->cause);
  self->cause = g_strdup (cause);
}
