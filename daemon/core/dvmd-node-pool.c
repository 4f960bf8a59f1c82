/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the DVM are kept here, with their slots and states.
 */

#include "config.h"

#include "dvmd-node-pool.h"

#include "dvm-hosts-private.h"
#include "dvm-records-private.h"

#define DEFAULT_SESSION "/org/dvm/sessions/0"

struct _DvmdNodePool
{
  GPtrArray *nodes;    /* DvmdNode by rank, NULL where one has left */
  GPtrArray *names;    /* by rank, also of those that have left */
  GQueue present;      /* DvmdNode, ascending by rank */
  GHashTable *by_name; /* name or alias -> GQueue of DvmdNode, ascending by rank */
  GHashTable *left;    /* name or alias of a member that has left -> Left */
  guint64 n_departures;
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
  g_clear_pointer (&node->shrinks, g_ptr_array_unref);
  g_clear_pointer (&node->sessions, g_array_unref);
  g_hash_table_unref (node->jobs.ids);
  g_free (node);
}

static void
queue_free (gpointer queue)
{
  g_queue_free (queue);
}

DvmdNodePool *
dvmd_node_pool_new (void)
{
  DvmdNodePool *self = g_new0 (DvmdNodePool, 1);

  self->nodes = g_ptr_array_new_with_free_func (node_free);
  self->names = g_ptr_array_new_with_free_func (g_free);
  g_queue_init (&self->present);
  self->by_name = g_hash_table_new_full (_dvm_host_name_hash, _dvm_host_name_equal, g_free, queue_free);
  self->left = g_hash_table_new_full (_dvm_host_name_hash, _dvm_host_name_equal, g_free, g_free);
  self->jobs_changed = g_array_new (FALSE, FALSE, sizeof (guint));
  return self;
}

void
dvmd_node_pool_free (DvmdNodePool *self)
{
  g_array_unref (self->jobs_changed);
  g_hash_table_unref (self->by_name);
  g_hash_table_unref (self->left);
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

/* An agent that nobody has reserved is in the default session, and all are in the allocations that they were asked for
 * in. */
static void
publish_sessions (DvmdNode *node)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  if (node->rank > 0 && !dvmd_node_is_reserved (node)
      && dvm_node_get_state (node->record) != DVM_NODE_STATE_NOT_INCLUDED)
    g_ptr_array_add (paths, g_strdup (DEFAULT_SESSION));
  for (guint i = 0; node->sessions != NULL && i < node->sessions->len; i++)
    g_ptr_array_add (paths, g_strdup_printf ("/org/dvm/sessions/%u", g_array_index (node->sessions, guint, i)));
  g_ptr_array_add (paths, NULL);
  _dvm_node_set_sessions (node->record, (const char *const *)paths->pdata);
}

/* One that is up and that nobody has placed has a link to the controller itself. */
static void
follow_state (DvmdNode *node)
{
  DvmNodeState state = dvm_node_get_state (node->record);
  gboolean included = node->rank > 0 && state != DVM_NODE_STATE_NOT_INCLUDED;

  publish_sessions (node);
  if (!included || state == DVM_NODE_STATE_DOWN)
    _dvm_node_set_place (node->record, 0, 0);
  else if (state == DVM_NODE_STATE_UP && dvm_node_get_depth (node->record) == 0)
    _dvm_node_set_place (node->record, 0, 1);
}

static void
add_name (DvmdNodePool *self, DvmdNode *node, const char *name)
{
  GQueue *nodes = g_hash_table_lookup (self->by_name, name);
  GList *before;

  if (nodes == NULL)
    {
      nodes = g_queue_new ();
      g_hash_table_insert (self->by_name, g_strdup (name), nodes);
    }
  before = nodes->tail;
  while (before != NULL && ((DvmdNode *)before->data)->rank > node->rank)
    before = before->prev;
  if (before == NULL)
    g_queue_push_head (nodes, node);
  else if (before->data != node)
    g_queue_insert_after (nodes, before, node);
}

static void
remove_name (DvmdNodePool *self, DvmdNode *node, const char *name)
{
  GQueue *nodes = g_hash_table_lookup (self->by_name, name);

  if (nodes == NULL)
    return;
  g_queue_remove (nodes, node);
  if (nodes->length == 0)
    g_hash_table_remove (self->by_name, name);
}

static void
remove_aliases (DvmdNodePool *self, DvmdNode *node)
{
  const char *const *aliases = dvm_node_get_aliases (node->record);

  for (gsize i = 0; aliases != NULL && aliases[i] != NULL; i++)
    if (!_dvm_host_name_equal (aliases[i], dvm_node_get_name (node->record)))
      remove_name (self, node, aliases[i]);
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
  node->jobs.ids = g_hash_table_new (NULL, NULL);
  node->link.data = node;
  _dvm_node_set_slots (node->record, slots, slots_max);
  follow_state (node);
  g_ptr_array_add (self->nodes, node);
  g_ptr_array_add (self->names, g_strdup (name));
  g_queue_push_tail_link (&self->present, &node->link);
  add_name (self, node, name);
  return node;
}

void
dvmd_node_pool_set_contact (DvmdNodePool *self, DvmdNode *node, const char *address, int pid,
                            const char *const *aliases)
{
  remove_aliases (self, node);
  _dvm_node_set_contact (node->record, address, pid, aliases);
  for (gsize i = 0; aliases != NULL && aliases[i] != NULL; i++)
    add_name (self, node, aliases[i]);
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

DvmdNode *
dvmd_node_pool_next (DvmdNodePool *self, DvmdNode *after)
{
  GList *link = after != NULL ? after->link.next : self->present.head;

  return link != NULL ? link->data : NULL;
}

DvmdNode *
dvmd_node_pool_find (DvmdNodePool *self, const char *name)
{
  GQueue *nodes = g_hash_table_lookup (self->by_name, name);
  GList *first = nodes != NULL ? nodes->head : NULL;

  if (first == NULL)
    return NULL;
  /* The controller comes last. */
  return ((DvmdNode *)first->data)->rank == 0 && first->next != NULL ? first->next->data : first->data;
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
  if (!dvmd_node_is_drained (node) && !node->barred)
    self->n_usable += sign;
  if (!node->leaving)
    self->n_slots += sign * (int)node->slots;
}

void
dvmd_node_pool_set_leaving (DvmdNodePool *self, DvmdNode *node, gboolean barred, gboolean leaving)
{
  if (leaving != node->leaving)
    self->n_slots_in_use += leaving ? -node->slots_in_use : node->slots_in_use;
  count (self, node, -1);
  node->barred = barred;
  node->leaving = leaving;
  count (self, node, 1);
}

typedef struct
{
  guint64 count;  /* of departures, then */
  guint campaign; /* that took it; 0: none */
} Left;

static void
note_left (DvmdNodePool *self, const char *name, guint campaign)
{
  Left *left = g_new (Left, 1);

  left->count = self->n_departures;
  left->campaign = campaign;
  g_hash_table_insert (self->left, g_strdup (name), left);
}

static void
note_departure (DvmdNodePool *self, DvmdNode *node)
{
  const char *const *aliases = dvm_node_get_aliases (node->record);

  if (!is_counted (node) && dvm_node_get_state (node->record) != DVM_NODE_STATE_DOWN)
    return;
  self->n_departures++;
  note_left (self, dvm_node_get_name (node->record), node->taken_by);
  for (gsize i = 0; aliases != NULL && aliases[i] != NULL; i++)
    note_left (self, aliases[i], node->taken_by);
}

guint64
dvmd_node_pool_count_departures (DvmdNodePool *self)
{
  return self->n_departures;
}

gboolean
dvmd_node_pool_has_left (DvmdNodePool *self, const char *name, guint64 since, guint *campaign)
{
  const Left *left = g_hash_table_lookup (self->left, name);

  if (left == NULL || left->count <= since)
    return FALSE;
  *campaign = left->campaign;
  return TRUE;
}

void
dvmd_node_pool_remove (DvmdNodePool *self, DvmdNode *node)
{
  guint rank = node->rank;

  g_return_if_fail (rank > 0 && node->slots_in_use == 0);

  note_departure (self, node);
  dvmd_node_pool_set_state (self, node, DVM_NODE_STATE_NOT_INCLUDED, NULL);
  remove_aliases (self, node);
  remove_name (self, node, dvm_node_get_name (node->record));
  g_queue_unlink (&self->present, &node->link);
  self->nodes->pdata[rank] = NULL;
  node_free (node);
}

gboolean
dvmd_node_is_in (DvmdNode *node, guint session)
{
  for (guint i = 0; node->sessions != NULL && i < node->sessions->len; i++)
    if (g_array_index (node->sessions, guint, i) == session)
      return TRUE;
  return FALSE;
}

gboolean
dvmd_node_is_reserved (DvmdNode *node)
{
  return node->n_reserving > 0;
}

void
dvmd_node_pool_join (DvmdNode *node, guint session, gboolean reserves)
{
  if (dvmd_node_is_in (node, session))
    return;
  if (node->sessions == NULL)
    node->sessions = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_val (node->sessions, session);
  node->n_reserving += reserves;
  publish_sessions (node);
}

void
dvmd_node_pool_part (DvmdNode *node, guint session, gboolean reserves)
{
  for (guint i = 0; node->sessions != NULL && i < node->sessions->len; i++)
    if (g_array_index (node->sessions, guint, i) == session)
      {
        g_array_remove_index (node->sessions, i);
        node->n_reserving -= reserves;
        publish_sessions (node);
        return;
      }
}

void
dvmd_node_pool_reserve (DvmdNode *node, gboolean reserves)
{
  node->n_reserving += reserves ? 1 : -1;
  publish_sessions (node);
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

  if (!node->jobs.changed)
    return;
  node->jobs.changed = FALSE;
  paths = g_ptr_array_new_with_free_func (g_free);
  ids = g_hash_table_get_keys (node->jobs.ids);
  for (GList *l = ids; l != NULL; l = l->next)
    g_ptr_array_add (paths, g_strdup_printf ("/org/dvm/jobs/%u", GPOINTER_TO_UINT (l->data)));
  g_ptr_array_add (paths, NULL);
  _dvm_node_set_jobs (node->record, (const char *const *)paths->pdata);
}

void
dvmd_node_pool_publish_devices (DvmdNode *node, const char *const *devices)
{
  _dvm_node_set_devices (node->record, devices);
}

static void
jobs_changed (DvmdNodePool *self, DvmdNode *node)
{
  node->jobs.changed = TRUE;
  if (!node->jobs.untold)
    g_array_append_val (self->jobs_changed, node->rank);
  node->jobs.untold = TRUE;
}

GArray *
dvmd_node_pool_take_jobs_changed (DvmdNodePool *self)
{
  g_autoptr (GArray) changed = g_steal_pointer (&self->jobs_changed);
  GArray *ranks = g_array_sized_new (FALSE, FALSE, sizeof (guint), changed->len);

  for (guint i = 0; i < changed->len; i++)
    {
      DvmdNode *node = dvmd_node_pool_get (self, g_array_index (changed, guint, i));

      if (node == NULL)
        continue;
      node->jobs.untold = FALSE;
      g_array_append_val (ranks, node->rank);
    }
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
  if (!node->leaving)
    self->n_slots_in_use += slots;
  _dvm_node_set_slots_in_use (node->record, node->slots_in_use);
  g_hash_table_add (node->jobs.ids, GUINT_TO_POINTER (job_id));
  jobs_changed (self, node);
}

void
dvmd_node_pool_give_back (DvmdNodePool *self, DvmdNode *node, guint job_id, guint slots)
{
  g_return_if_fail (node->slots_in_use >= slots);

  node->slots_in_use -= slots;
  if (!node->leaving)
    self->n_slots_in_use -= slots;
  _dvm_node_set_slots_in_use (node->record, node->slots_in_use);
  g_hash_table_remove (node->jobs.ids, GUINT_TO_POINTER (job_id));
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
