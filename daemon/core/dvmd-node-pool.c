/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-node-pool.h"

#include "dvm-records-private.h"

#define DEFAULT_SESSION "/org/dvm/sessions/0"

struct _DvmdNodePool
{
  GPtrArray *nodes; /* DvmdNode by rank, NULL where one has left */
  GPtrArray *names; /* by rank, also of those that have left */
  DvmdNodeChanged changed;
  gpointer changed_data;
  guint n_up;
  guint n_usable;
  guint n_slots;
  guint n_slots_in_use;
  GArray *jobs_changed; /* guint, ranks: their jobs are untold */
};

static void
node_free (gpointer data)
{
  DvmdNode *node = data;

  if (node == NULL)
    return;
  g_object_unref (node->record);
  g_free (node->address);
  g_hash_table_unref (node->jobs);
  g_free (node);
}

DvmdNodePool *
dvmd_node_pool_new (void)
{
  DvmdNodePool *self = g_new0 (DvmdNodePool, 1);

  self->nodes = g_ptr_array_new_with_free_func (node_free);
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->jobs_changed = g_array_new (FALSE, FALSE, sizeof (guint));
  return self;
}

void
dvmd_node_pool_free (DvmdNodePool *self)
{
  g_array_unref (self->jobs_changed);
  g_ptr_array_unref (self->nodes);
  g_ptr_array_unref (self->names);
  g_free (self);
}

void
dvmd_node_pool_set_changed_func (DvmdNodePool *self, DvmdNodeChanged func, gpointer user_data)
{
  self->changed = func;
  self->changed_data = user_data;
}

/*
 * There is one session so far, and every agent is in it. One that is up and that nobody has placed has a link to the
 * controller itself.
 */
static void
follow_state (DvmdNode *node)
{
  static const char *const sessions[] = { DEFAULT_SESSION, NULL };
  DvmNodeState state = dvm_node_get_state (node->record);
  gboolean included = node->rank > 0 && state != DVM_NODE_STATE_NOT_INCLUDED;

  _dvm_node_set_sessions (node->record, included ? sessions : NULL);
  if (!included || state == DVM_NODE_STATE_DOWN)
    _dvm_node_set_place (node->record, 0, 0);
  else if (state == DVM_NODE_STATE_UP && dvm_node_get_depth (node->record) == 0)
    _dvm_node_set_place (node->record, 0, 1);
}

DvmdNode *
dvmd_node_pool_add (DvmdNodePool *self, const char *name, guint slots, guint slots_max)
{
  DvmdNode *node = g_new0 (DvmdNode, 1);

  node->rank = self->nodes->len;
  node->record = _dvm_node_new (node->rank, name);
  node->slots = slots;
  node->slots_max = slots_max;
  node->slots_given = slots > 0;
  node->jobs = g_hash_table_new (NULL, NULL);
  _dvm_node_set_slots (node->record, slots, slots_max);
  follow_state (node);
  g_ptr_array_add (self->nodes, node);
  g_ptr_array_add (self->names, g_strdup (name));
  return node;
}

DvmdNode *
dvmd_node_pool_get (DvmdNodePool *self, guint rank)
{
  return rank < self->nodes->len ? g_ptr_array_index (self->nodes, rank) : NULL;
}

const char *
dvmd_node_pool_get_name (DvmdNodePool *self, guint rank)
{
  return rank < self->names->len ? g_ptr_array_index (self->names, rank) : NULL;
}

guint
dvmd_node_pool_get_max_rank (DvmdNodePool *self)
{
  return self->nodes->len - 1;
}

static gboolean
has_name (DvmdNode *node, const char *name)
{
  const char *const *aliases = dvm_node_get_aliases (node->record);

  return g_strcmp0 (dvm_node_get_name (node->record), name) == 0
         || (aliases != NULL && g_strv_contains (aliases, name));
}

DvmdNode *
dvmd_node_pool_find (DvmdNodePool *self, const char *name)
{
  for (guint rank = 1; rank < self->nodes->len; rank++)
    {
      DvmdNode *node = g_ptr_array_index (self->nodes, rank);

      if (node != NULL && has_name (node, name))
        return node;
    }
  if (self->nodes->len > 0 && has_name (g_ptr_array_index (self->nodes, 0), name))
    return g_ptr_array_index (self->nodes, 0);
  return NULL;
}

gboolean
dvmd_node_is_drained (DvmdNode *node)
{
  return dvm_node_get_state (node->record) == DVM_NODE_STATE_DO_NOT_USE;
}

static gboolean
is_counted (DvmdNode *node)
{
  return node->rank > 0 && (dvm_node_get_state (node->record) == DVM_NODE_STATE_UP || dvmd_node_is_drained (node));
}

static void
count (DvmdNodePool *self, DvmdNode *node, int sign)
{
  if (!is_counted (node))
    return;
  self->n_up += sign;
  if (!dvmd_node_is_drained (node))
    self->n_usable += sign;
  self->n_slots += sign * (int)node->slots;
}

void
dvmd_node_pool_set_state (DvmdNodePool *self, DvmdNode *node, DvmNodeState state, const char *reason)
{
  DvmNodeState old_state = dvm_node_get_state (node->record);

  count (self, node, -1);
  _dvm_node_set_state (node->record, state, reason);
  follow_state (node);
  count (self, node, 1);
  if (old_state != state && self->changed != NULL)
    self->changed (node, old_state, self->changed_data);
}

void
dvmd_node_pool_set_slots (DvmdNodePool *self, DvmdNode *node, guint slots, guint slots_max)
{
  count (self, node, -1);
  node->slots = slots;
  node->slots_max = slots_max;
  _dvm_node_set_slots (node->record, slots, slots_max);
  count (self, node, 1);
}

void
dvmd_node_pool_publish_jobs (DvmdNode *node)
{
  g_autoptr (GPtrArray) paths = NULL;
  g_autoptr (GList) ids = NULL;

  if (!node->jobs_changed)
    return;
  node->jobs_changed = FALSE;
  paths = g_ptr_array_new_with_free_func (g_free);
  ids = g_hash_table_get_keys (node->jobs);
  for (GList *l = ids; l != NULL; l = l->next)
    g_ptr_array_add (paths, g_strdup_printf ("/org/dvm/jobs/%u", GPOINTER_TO_UINT (l->data)));
  g_ptr_array_add (paths, NULL);
  _dvm_node_set_jobs (node->record, (const char *const *)paths->pdata);
}

static void
jobs_changed (DvmdNodePool *self, DvmdNode *node)
{
  node->jobs_changed = TRUE;
  if (!node->jobs_untold)
    g_array_append_val (self->jobs_changed, node->rank);
  node->jobs_untold = TRUE;
}

GArray *
dvmd_node_pool_take_jobs_changed (DvmdNodePool *self)
{
  GArray *ranks = g_steal_pointer (&self->jobs_changed);

  for (guint i = 0; i < ranks->len; i++)
    dvmd_node_pool_get (self, g_array_index (ranks, guint, i))->jobs_untold = FALSE;
  self->jobs_changed = g_array_new (FALSE, FALSE, sizeof (guint));
  return ranks;
}

gboolean
dvmd_node_pool_has_jobs_changed (DvmdNodePool *self)
{
  return self->jobs_changed->len > 0;
}

void
dvmd_node_pool_claim (DvmdNodePool *self, DvmdNode *node, guint job_id, guint slots)
{
  node->slots_in_use += slots;
  self->n_slots_in_use += slots;
  _dvm_node_set_slots_in_use (node->record, node->slots_in_use);
  g_hash_table_add (node->jobs, GUINT_TO_POINTER (job_id));
  jobs_changed (self, node);
}

void
dvmd_node_pool_give_back (DvmdNodePool *self, DvmdNode *node, guint job_id, guint slots)
{
  g_return_if_fail (node->slots_in_use >= slots);

  node->slots_in_use -= slots;
  self->n_slots_in_use -= slots;
  _dvm_node_set_slots_in_use (node->record, node->slots_in_use);
  g_hash_table_remove (node->jobs, GUINT_TO_POINTER (job_id));
  jobs_changed (self, node);
}

guint
dvmd_node_pool_count_up (DvmdNodePool *self)
{
  return self->n_up;
}

guint
dvmd_node_pool_count_usable (DvmdNodePool *self)
{
  return self->n_usable;
}

guint
dvmd_node_pool_count_slots (DvmdNodePool *self)
{
  return self->n_slots;
}

guint
dvmd_node_pool_count_slots_in_use (DvmdNodePool *self)
{
  return self->n_slots_in_use;
}
