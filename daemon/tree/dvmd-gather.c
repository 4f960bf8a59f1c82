/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Contributions of members travel up the tree and are merged on the way.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-tree"

#include "dvmd-gather.h"

typedef struct
{
  char *key;
  guint64 serial;
  GArray *participants; /* guint32 */
  GVariant *own;        /* (nullable) */
  GHashTable *parts;    /* rank of child -> DvmdPacket, of the epoch in which it was sent */
  gboolean sent;        /* to this uplink, in this epoch */
  gboolean done;        /* the controller has the result */
} Entry;

/* A key, or all keys with a prefix, was closed by the broadcast of this number, which may not be complete. */
typedef struct
{
  guint64 number;
  char *key;
  gboolean is_prefix;
} Closed;

struct _DvmdGather
{
  guint32 rank;
  const DvmdGatherFuncs *funcs;
  gpointer user_data;
  DvmdRoutes *routes; /* (nullable) */
  guint32 uplink;
  GHashTable *entries; /* key -> Entry */
  guint64 last_serial;
  GQueue closed; /* Closed, by number */
};

static void
entry_free (gpointer data)
{
  Entry *self = data;

  g_array_unref (self->participants);
  g_clear_pointer (&self->own, g_variant_unref);
  g_hash_table_unref (self->parts);
  g_free (self->key);
  g_free (self);
}

static void
closed_free (gpointer data)
{
  Closed *self = data;

  g_free (self->key);
  g_free (self);
}

DvmdGather *
dvmd_gather_new (guint32 rank, const DvmdGatherFuncs *funcs, gpointer user_data)
{
  DvmdGather *self = g_new0 (DvmdGather, 1);

  self->rank = rank;
  self->funcs = funcs;
  self->user_data = user_data;
  self->uplink = DVMD_NO_RANK;
  self->entries = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, entry_free);
  g_queue_init (&self->closed);
  return self;
}

void
dvmd_gather_free (DvmdGather *self)
{
  g_hash_table_unref (self->entries);
  g_queue_clear_full (&self->closed, closed_free);
  g_clear_pointer (&self->routes, dvmd_routes_unref);
  g_free (self);
}

static Entry *
find_entry (DvmdGather *self, const char *key, const guint32 *participants, guint n_participants)
{
  Entry *entry = g_hash_table_lookup (self->entries, key);

  if (entry != NULL)
    return entry;
  entry = g_new0 (Entry, 1);
  entry->key = g_strdup (key);
  entry->serial = ++self->last_serial;
  entry->participants = g_array_sized_new (FALSE, FALSE, sizeof (guint32), n_participants);
  g_array_append_vals (entry->participants, participants, n_participants);
  entry->parts = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_packet_unref);
  g_hash_table_insert (self->entries, entry->key, entry);
  return entry;
}

/* The children with participants below them; NULL: this daemon is to contribute and has not. */
static GHashTable *
find_expected (DvmdGather *self, Entry *entry)
{
  g_autoptr (GHashTable) expected = g_hash_table_new (NULL, NULL);
  guint32 parent = dvmd_routes_get_parent (self->routes, self->rank);

  for (guint i = 0; i < entry->participants->len; i++)
    {
      guint32 participant = g_array_index (entry->participants, guint32, i);
      guint32 hop;

      if (participant == self->rank && entry->own == NULL)
        return NULL;
      hop = dvmd_routes_next_hop (self->routes, self->rank, participant);
      if (hop != DVMD_NO_RANK && hop != parent)
        g_hash_table_add (expected, GUINT_TO_POINTER (hop));
    }
  return g_steal_pointer (&expected);
}

/* NULL: not all is there in this epoch. */
static GPtrArray *
collect (DvmdGather *self, Entry *entry)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func ((GDestroyNotify)g_variant_unref);
  g_autoptr (GHashTable) expected = find_expected (self, entry);
  GHashTableIter iter;
  gpointer rank;

  if (expected == NULL)
    return NULL;
  if (entry->own != NULL)
    g_ptr_array_add (parts, g_variant_ref (entry->own));
  g_hash_table_iter_init (&iter, expected);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    {
      DvmdPacket *packet = g_hash_table_lookup (entry->parts, rank);
      GVariant *part;

      if (packet == NULL || packet->epoch != dvmd_routes_get_epoch (self->routes))
        return NULL;
      g_variant_get (packet->body, "(sauv)", NULL, NULL, &part);
      g_ptr_array_add (parts, part);
    }
  return parts->len > 0 ? g_steal_pointer (&parts) : NULL;
}

static void
send_up (DvmdGather *self, Entry *entry, GVariant *merged)
{
  g_autoptr (DvmdPacket) packet = NULL;
  GVariant *participants = g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, entry->participants->data,
                                                      entry->participants->len, sizeof (guint32));

  packet = dvmd_packet_new (DVMD_PACKET_GATHER, self->rank, self->uplink, 0,
                            g_variant_new ("(s@auv)", entry->key, participants, merged));
  packet->epoch = dvmd_routes_get_epoch (self->routes);
  entry->sent = TRUE;
  self->funcs->send (self->user_data, self->uplink, packet);
}

static void
check_entry (DvmdGather *self, Entry *entry)
{
  g_autoptr (GPtrArray) parts = NULL;
  g_autoptr (GVariant) merged = NULL;

  if (self->routes == NULL || entry->sent || entry->done || !dvmd_routes_contains (self->routes, self->rank))
    return;
  if (self->rank != 0 && self->uplink != dvmd_routes_get_parent (self->routes, self->rank))
    return;
  parts = collect (self, entry);
  if (parts == NULL)
    return;
  merged = g_variant_take_ref (self->funcs->merge (self->user_data, entry->key, parts));
  if (self->rank != 0)
    send_up (self, entry, merged);
  else
    {
      g_autofree char *key = g_strdup (entry->key);

      entry->done = TRUE;
      g_hash_table_remove_all (entry->parts);
      self->funcs->gathered (self->user_data, key, merged);
    }
}

void
dvmd_gather_contribute (DvmdGather *self, const char *key, const guint32 *participants, guint n_participants,
                        GVariant *part)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (part);
  Entry *entry = find_entry (self, key, participants, n_participants);

  g_return_if_fail (entry->own == NULL);

  entry->own = g_steal_pointer (&sunk);
  check_entry (self, entry);
}

/* ---- what is closed ---- */

static void
add_closed (DvmdGather *self, const char *key, gboolean is_prefix, guint64 number)
{
  Closed *closed = g_new0 (Closed, 1);

  closed->number = number;
  closed->key = g_strdup (key);
  closed->is_prefix = is_prefix;
  g_queue_push_tail (&self->closed, closed);
}

void
dvmd_gather_close (DvmdGather *self, const char *key, guint64 number)
{
  add_closed (self, key, FALSE, number);
  g_hash_table_remove (self->entries, key);
}

static gboolean
begins_so (gpointer key, gpointer entry, gpointer prefix)
{
  return g_str_has_prefix (key, prefix);
}

void
dvmd_gather_close_all (DvmdGather *self, const char *prefix, guint64 number)
{
  add_closed (self, prefix, TRUE, number);
  g_hash_table_foreach_remove (self->entries, begins_so, (gpointer)prefix);
}

void
dvmd_gather_set_stable (DvmdGather *self, guint64 stable)
{
  while (!g_queue_is_empty (&self->closed) && ((Closed *)g_queue_peek_head (&self->closed))->number <= stable)
    closed_free (g_queue_pop_head (&self->closed));
}

static gboolean
is_closed (DvmdGather *self, const char *key)
{
  for (GList *l = self->closed.tail; l != NULL; l = l->prev)
    {
      Closed *closed = l->data;

      if (closed->is_prefix ? g_str_has_prefix (key, closed->key) : g_str_equal (key, closed->key))
        return TRUE;
    }
  return FALSE;
}

/* ---- what comes ---- */

void
dvmd_gather_receive (DvmdGather *self, guint32 neighbour, DvmdPacket *packet)
{
  g_autoptr (GVariant) array = NULL;
  const guint32 *participants;
  const char *key;
  Entry *entry;
  gsize n;

  if (self->routes != NULL && packet->epoch < dvmd_routes_get_epoch (self->routes))
    return;
  g_variant_get (packet->body, "(&s@auv)", &key, &array, NULL);
  if (is_closed (self, key))
    return;
  participants = g_variant_get_fixed_array (array, &n, sizeof (guint32));
  entry = find_entry (self, key, participants, n);
  if (entry->done)
    return;
  g_hash_table_insert (entry->parts, GUINT_TO_POINTER (neighbour), dvmd_packet_ref (packet));
  check_entry (self, entry);
}

/* An entry with neither our own part nor one of the new epoch is dropped: other daemons send their parts again. */
static gboolean
is_empty (gpointer key, gpointer value, gpointer user_data)
{
  Entry *entry = value;

  return entry->own == NULL && !entry->done && g_hash_table_size (entry->parts) == 0;
}

static gboolean
is_old (gpointer rank, gpointer packet, gpointer user_data)
{
  return ((DvmdPacket *)packet)->epoch < *(guint64 *)user_data;
}

static int
compare_entries (gconstpointer a, gconstpointer b)
{
  const Entry *one = a;
  const Entry *other = b;

  return (one->serial > other->serial) - (one->serial < other->serial);
}

/* Those that were begun one after another go up so. */
static void
check_all (DvmdGather *self)
{
  g_autoptr (GList) entries = g_list_sort (g_hash_table_get_values (self->entries), compare_entries);
  g_autoptr (GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);

  for (GList *l = entries; l != NULL; l = l->next)
    g_ptr_array_add (keys, g_strdup (((Entry *)l->data)->key));
  for (guint i = 0; i < keys->len; i++)
    {
      Entry *entry = g_hash_table_lookup (self->entries, g_ptr_array_index (keys, i));

      if (entry != NULL)
        check_entry (self, entry);
    }
}

void
dvmd_gather_set_routes (DvmdGather *self, DvmdRoutes *routes)
{
  guint64 epoch = dvmd_routes_get_epoch (routes);
  GHashTableIter iter;
  gpointer value;

  dvmd_routes_ref (routes);
  g_clear_pointer (&self->routes, dvmd_routes_unref);
  self->routes = routes;
  g_hash_table_iter_init (&iter, self->entries);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Entry *entry = value;

      entry->sent = FALSE;
      g_hash_table_foreach_remove (entry->parts, is_old, &epoch);
    }
  g_hash_table_foreach_remove (self->entries, is_empty, NULL);
  check_all (self);
}

void
dvmd_gather_set_uplink (DvmdGather *self, guint32 neighbour)
{
  GHashTableIter iter;
  gpointer entry;

  self->uplink = neighbour;
  g_hash_table_iter_init (&iter, self->entries);
  while (g_hash_table_iter_next (&iter, NULL, &entry))
    ((Entry *)entry)->sent = FALSE;
  if (neighbour != DVMD_NO_RANK)
    check_all (self);
}

guint
dvmd_gather_get_n_open (DvmdGather *self)
{
  return g_hash_table_size (self->entries);
}
