/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Objects by their numbers, and the history of those that have ended.
 */

#include "config.h"

#include "dvmd-registry.h"

typedef struct
{
  gpointer object;
  gsize bytes;
  GList live_link;
  GList known_link;
} Entry;

struct _DvmdRegistry
{
  DvmdRegistryNumber number;
  GHashTable *entries; /* id -> Entry */
  GQueue live;         /* objects, ascending by id */
  GQueue known;        /* likewise, with those of the history */
  GQueue history;      /* objects, oldest first */
  guint limit;
  guint64 max_bytes; /* 0: without this limit */
  guint64 n_bytes;
};

static void
entry_free (gpointer data)
{
  Entry *entry = data;

  g_object_unref (entry->object);
  g_free (entry);
}

DvmdRegistry *
dvmd_registry_new (DvmdRegistryNumber number)
{
  DvmdRegistry *self = g_new0 (DvmdRegistry, 1);

  self->number = number;
  self->entries = g_hash_table_new_full (NULL, NULL, NULL, entry_free);
  return self;
}

void
dvmd_registry_free (DvmdRegistry *self)
{
  /* Objects may look at the others while they go: the links are the entries' own. */
  g_queue_init (&self->live);
  g_queue_init (&self->known);
  g_queue_clear (&self->history);
  g_hash_table_unref (self->entries);
  g_free (self);
}

static Entry *
get_entry (DvmdRegistry *self, guint id)
{
  return g_hash_table_lookup (self->entries, GUINT_TO_POINTER (id));
}

/* One whose number was reserved may come after younger ones. */
static void
insert (DvmdRegistry *self, GQueue *queue, GList *link, guint id)
{
  GList *before = queue->tail;

  while (before != NULL && self->number (before->data) > id)
    before = before->prev;
  if (before == queue->tail)
    g_queue_push_tail_link (queue, link);
  else
    g_queue_insert_before_link (queue, before != NULL ? before->next : queue->head, link);
}

void
dvmd_registry_add (DvmdRegistry *self, gpointer object)
{
  guint id = self->number (object);
  Entry *entry = g_new0 (Entry, 1);

  entry->object = entry->live_link.data = entry->known_link.data = object;
  g_hash_table_insert (self->entries, GUINT_TO_POINTER (id), entry);
  insert (self, &self->live, &entry->live_link, id);
  insert (self, &self->known, &entry->known_link, id);
}

void
dvmd_registry_end (DvmdRegistry *self, guint id)
{
  Entry *entry = get_entry (self, id);

  g_queue_unlink (&self->live, &entry->live_link);
  g_queue_push_tail (&self->history, entry->object);
}

gpointer
dvmd_registry_remove (DvmdRegistry *self, guint id)
{
  Entry *entry = get_entry (self, id);
  gpointer object = g_object_ref (entry->object);

  if (!g_queue_remove (&self->history, object))
    g_queue_unlink (&self->live, &entry->live_link);
  g_queue_unlink (&self->known, &entry->known_link);
  self->n_bytes -= entry->bytes;
  g_hash_table_remove (self->entries, GUINT_TO_POINTER (id));
  return object;
}

gpointer
dvmd_registry_get (DvmdRegistry *self, guint id)
{
  Entry *entry = get_entry (self, id);

  return entry != NULL ? entry->object : NULL;
}

GList *
dvmd_registry_list (DvmdRegistry *self, gboolean known)
{
  return known ? self->known.head : self->live.head;
}

gpointer
dvmd_registry_next (DvmdRegistry *self, gpointer after, gboolean known)
{
  Entry *entry = after != NULL ? get_entry (self, self->number (after)) : NULL;
  GList *link = NULL;

  if (after == NULL)
    link = dvmd_registry_list (self, known);
  else if (entry != NULL)
    link = known ? entry->known_link.next : entry->live_link.next;
  return link != NULL ? link->data : NULL;
}

guint
dvmd_registry_count_live (DvmdRegistry *self)
{
  return self->live.length;
}

/* ---- the history ---- */

void
dvmd_registry_set_limit (DvmdRegistry *self, guint limit)
{
  self->limit = limit;
}

guint
dvmd_registry_get_limit (DvmdRegistry *self)
{
  return self->limit;
}

void
dvmd_registry_set_max_bytes (DvmdRegistry *self, guint64 max_bytes)
{
  self->max_bytes = max_bytes;
}

void
dvmd_registry_set_size (DvmdRegistry *self, guint id, gsize bytes)
{
  Entry *entry = get_entry (self, id);

  self->n_bytes += bytes - entry->bytes;
  entry->bytes = bytes;
}

gboolean
dvmd_registry_is_full (DvmdRegistry *self)
{
  return self->history.length > self->limit
         || (self->history.length > 1 && self->max_bytes > 0 && self->n_bytes > self->max_bytes);
}

gpointer
dvmd_registry_forget (DvmdRegistry *self)
{
  return dvmd_registry_is_full (self) ? dvmd_registry_remove (self, self->number (self->history.head->data)) : NULL;
}
