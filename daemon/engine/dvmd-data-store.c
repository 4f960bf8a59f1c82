/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-data-store.h"

#define FOUND_TYPE "a(susay)"

typedef struct
{
  char *nspace;
  guint32 rank;
  guint node;
  guint32 uid;
  guint32 gid;
  GArray *sessions; /* guint32 */
} Party;

/* Something published. */
typedef struct
{
  char *key;
  GVariant *value; /* ay */
  Party owner;
  guint32 range;
  guint32 persistence;
  GVariant *uids;      /* (nullable): au, those who may read */
  GVariant *gids;      /* (nullable) */
  GVariant *accessors; /* (nullable): a(su) */
} Item;

/* A lookup that waits for keys. */
typedef struct
{
  DvmdDataStore *store; /* unowned */
  guint64 token;
  Party who;
  char **keys;
  guint32 range;
  guint n_wanted;
  guint timer;
} Lookup;

struct _DvmdDataStore
{
  DvmdClock *clock;
  DvmdDataAnswer answer;
  gpointer world;
  GHashTable *items; /* key -> GPtrArray of Item, in the order of their publication */
  GQueue waiting;    /* Lookup, in the order in which they came */
  guint n_items;
  gsize n_bytes;
};

static void
party_init (Party *self, const DvmdDataParty *who)
{
  self->nspace = g_strdup (who->nspace);
  self->rank = who->rank;
  self->node = who->node;
  self->uid = who->uid;
  self->gid = who->gid;
  self->sessions = g_array_new (FALSE, FALSE, sizeof (guint32));
  if (who->n_sessions > 0)
    g_array_append_vals (self->sessions, who->sessions, who->n_sessions);
}

static void
party_clear (Party *self)
{
  g_free (self->nspace);
  g_array_unref (self->sessions);
}

static gboolean
is_proc (const Party *self, const char *nspace, guint32 rank)
{
  return self->rank == rank && g_str_equal (self->nspace, nspace);
}

static gsize
item_size (const Item *self)
{
  return strlen (self->key) + g_variant_get_size (self->value);
}

static void
item_free (gpointer data)
{
  Item *self = data;

  party_clear (&self->owner);
  g_clear_pointer (&self->uids, g_variant_unref);
  g_clear_pointer (&self->gids, g_variant_unref);
  g_clear_pointer (&self->accessors, g_variant_unref);
  g_variant_unref (self->value);
  g_free (self->key);
  g_free (self);
}

static void
lookup_free (gpointer data)
{
  Lookup *self = data;

  dvmd_clock_remove_timer (self->store->clock, self->timer);
  party_clear (&self->who);
  g_strfreev (self->keys);
  g_free (self);
}

static void
items_unref (gpointer items)
{
  g_ptr_array_unref (items);
}

DvmdDataStore *
dvmd_data_store_new (DvmdClock *clock, DvmdDataAnswer answer, gpointer world)
{
  DvmdDataStore *self = g_new0 (DvmdDataStore, 1);

  self->clock = dvmd_clock_ref (clock);
  self->answer = answer;
  self->world = world;
  self->items = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, items_unref);
  g_queue_init (&self->waiting);
  return self;
}

void
dvmd_data_store_free (DvmdDataStore *self)
{
  g_queue_clear_full (&self->waiting, lookup_free);
  g_hash_table_unref (self->items);
  dvmd_clock_unref (self->clock);
  g_free (self);
}

static void
answer_status (DvmdDataStore *self, guint node, guint64 token, int status)
{
  self->answer (self->world, node, token, status, g_variant_new_array (G_VARIANT_TYPE ("(susay)"), NULL, 0));
}

/* ---- who may see what ---- */

static gboolean
share_session (const Party *a, const Party *b)
{
  for (guint i = 0; i < a->sessions->len; i++)
    for (guint k = 0; k < b->sessions->len; k++)
      if (g_array_index (a->sessions, guint32, i) == g_array_index (b->sessions, guint32, k))
        return TRUE;
  return FALSE;
}

/* Whether the range, seen from one of the two, holds the other. */
static gboolean
is_in_range (guint32 range, const Party *a, const Party *b)
{
  switch (range)
    {
    case DVMD_PMIX_RANGE_PROC_LOCAL:
      return is_proc (a, b->nspace, b->rank);
    case DVMD_PMIX_RANGE_LOCAL:
      return a->node == b->node;
    case DVMD_PMIX_RANGE_NAMESPACE:
      return g_str_equal (a->nspace, b->nspace);
    case DVMD_PMIX_RANGE_SESSION:
      return share_session (a, b);
    default:
      return TRUE;
    }
}

static gboolean
list_has (GVariant *ids, guint32 id)
{
  gsize n;
  const guint32 *numbers = g_variant_get_fixed_array (ids, &n, sizeof (guint32));

  for (gsize i = 0; i < n; i++)
    if (numbers[i] == id)
      return TRUE;
  return FALSE;
}

static gboolean
names_accessor (GVariant *accessors, const Party *who)
{
  GVariantIter iter;
  const char *nspace;
  guint32 rank;

  g_variant_iter_init (&iter, accessors);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    if ((rank == DVMD_PMIX_RANK_WILDCARD || rank == who->rank) && g_str_equal (nspace, who->nspace))
      return TRUE;
  return FALSE;
}

/* Without lists, those of the owner's user. */
static gboolean
is_permitted (const Item *self, const Party *who)
{
  if (self->uids == NULL && self->gids == NULL)
    return who->uid == self->owner.uid;
  return (self->uids == NULL || list_has (self->uids, who->uid))
         && (self->gids == NULL || list_has (self->gids, who->gid));
}

static gboolean
is_visible (const Item *self, const Party *who, guint32 range)
{
  if (!is_in_range (range, who, &self->owner))
    return FALSE;
  if (is_proc (&self->owner, who->nspace, who->rank))
    return TRUE;
  if (self->range == DVMD_PMIX_RANGE_CUSTOM ? !names_accessor (self->accessors, who)
                                            : !is_in_range (self->range, &self->owner, who))
    return FALSE;
  return is_permitted (self, who);
}

static Item *
find_item (DvmdDataStore *self, const char *key, const Party *who, guint32 range)
{
  GPtrArray *items = g_hash_table_lookup (self->items, key);

  for (guint i = 0; items != NULL && i < items->len; i++)
    if (is_visible (g_ptr_array_index (items, i), who, range))
      return g_ptr_array_index (items, i);
  return NULL;
}

/* ---- items come and go ---- */

static void
add_item (DvmdDataStore *self, Item *item)
{
  GPtrArray *items = g_hash_table_lookup (self->items, item->key);

  if (items == NULL)
    {
      items = g_ptr_array_new_with_free_func (item_free);
      g_hash_table_insert (self->items, g_strdup (item->key), items);
    }
  g_ptr_array_add (items, item);
  self->n_items++;
  self->n_bytes += item_size (item);
}

static void
remove_item (DvmdDataStore *self, Item *item)
{
  GPtrArray *items = g_hash_table_lookup (self->items, item->key);
  g_autofree char *key = g_strdup (item->key);

  self->n_items--;
  self->n_bytes -= item_size (item);
  g_ptr_array_remove (items, item);
  if (items->len == 0)
    g_hash_table_remove (self->items, key);
}

/* (transfer container): those of which is_so */
static GPtrArray *
collect_items (DvmdDataStore *self, gboolean (*is_so) (const Item *item, gconstpointer data), gconstpointer data)
{
  GPtrArray *found = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer items;

  g_hash_table_iter_init (&iter, self->items);
  while (g_hash_table_iter_next (&iter, NULL, &items))
    for (guint i = 0; i < ((GPtrArray *)items)->len; i++)
      if (is_so (g_ptr_array_index ((GPtrArray *)items, i), data))
        g_ptr_array_add (found, g_ptr_array_index ((GPtrArray *)items, i));
  return found;
}

static guint
remove_items (DvmdDataStore *self, gboolean (*is_so) (const Item *item, gconstpointer data), gconstpointer data)
{
  g_autoptr (GPtrArray) found = NULL;

  if (self->n_items == 0)
    return 0;
  found = collect_items (self, is_so, data);
  for (guint i = 0; i < found->len; i++)
    remove_item (self, g_ptr_array_index (found, i));
  return found->len;
}

/* ---- looking up ---- */

static guint
count_visible (DvmdDataStore *self, const Lookup *lookup)
{
  guint n = 0;

  for (char **key = lookup->keys; *key != NULL; key++)
    n += find_item (self, *key, &lookup->who, lookup->range) != NULL;
  return n;
}

/* What is read for the first time and the last one goes. Status and what was found: a lookup finds all or some. */
static GVariant *
take_visible (DvmdDataStore *self, const Lookup *lookup, int *status)
{
  GVariantBuilder found;
  gsize n_bytes = 0;
  guint n = 0;

  g_variant_builder_init (&found, G_VARIANT_TYPE (FOUND_TYPE));
  for (char **key = lookup->keys; *key != NULL; key++)
    {
      Item *item = find_item (self, *key, &lookup->who, lookup->range);

      if (item == NULL)
        continue;
      n_bytes += g_variant_get_size (item->value);
      if (n_bytes > DVMD_DATA_REQUEST_LIMIT)
        {
          g_variant_builder_clear (&found);
          *status = DVMD_PMIX_ERR_OUT_OF_RESOURCE;
          return g_variant_new_array (G_VARIANT_TYPE ("(susay)"), NULL, 0);
        }
      g_variant_builder_add (&found, "(sus@ay)", item->owner.nspace, item->owner.rank, item->key, item->value);
      n++;
      if (item->persistence == DVMD_PMIX_PERSIST_FIRST_READ)
        remove_item (self, item);
    }
  *status = n > 0 ? DVMD_PMIX_SUCCESS : DVMD_PMIX_ERR_NOT_FOUND;
  return g_variant_builder_end (&found);
}

static void
answer_lookup (DvmdDataStore *self, const Lookup *lookup)
{
  int status;
  GVariant *found = take_visible (self, lookup, &status);

  self->answer (self->world, lookup->who.node, lookup->token, status, found);
}

static void
on_timeout (gpointer user_data)
{
  Lookup *lookup = user_data;
  DvmdDataStore *self = lookup->store;

  lookup->timer = 0;
  g_queue_remove (&self->waiting, lookup);
  answer_status (self, lookup->who.node, lookup->token, DVMD_PMIX_ERR_TIMEOUT);
  lookup_free (lookup);
}

static gboolean
wants (const Lookup *lookup, GVariant *items)
{
  GVariantIter iter;
  const char *key;

  g_variant_iter_init (&iter, items);
  while (g_variant_iter_next (&iter, "(&say)", &key, NULL))
    if (g_strv_contains ((const char *const *)lookup->keys, key))
      return TRUE;
  return FALSE;
}

/* Those that wait for what has been published; the first comes first. */
static void
serve_waiting (DvmdDataStore *self, GVariant *items)
{
  GList *next;

  for (GList *link = self->waiting.head; link != NULL; link = next)
    {
      Lookup *lookup = link->data;

      next = link->next;
      if (!wants (lookup, items) || count_visible (self, lookup) < lookup->n_wanted)
        continue;
      g_queue_delete_link (&self->waiting, link);
      answer_lookup (self, lookup);
      lookup_free (lookup);
    }
}

static char **
get_keys (GVariant *request)
{
  g_autofree const char **keys = NULL;

  return g_variant_lookup (request, "keys", "^a&s", &keys) ? g_strdupv ((char **)keys) : g_new0 (char *, 1);
}

static void
look_up (DvmdDataStore *self, guint64 token, const DvmdDataParty *who, GVariant *request)
{
  Lookup *lookup = g_new0 (Lookup, 1);
  guint32 timeout = 0;
  gint32 wait = 0;
  guint n_keys;

  lookup->store = self;
  lookup->token = token;
  party_init (&lookup->who, who);
  lookup->keys = get_keys (request);
  n_keys = g_strv_length (lookup->keys);
  g_variant_lookup (request, "range", "u", &lookup->range);
  g_variant_lookup (request, "timeout", "u", &timeout);
  if (n_keys == 0)
    answer_status (self, who->node, token, DVMD_PMIX_ERR_BAD_PARAM);
  else if (!g_variant_lookup (request, "wait", "i", &wait))
    answer_lookup (self, lookup);
  else
    {
      lookup->n_wanted = wait <= 0 ? n_keys : MIN ((guint)wait, n_keys);
      if (count_visible (self, lookup) >= lookup->n_wanted)
        answer_lookup (self, lookup);
      else if (self->waiting.length >= DVMD_DATA_WAITING_LIMIT)
        answer_status (self, who->node, token, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
      else
        {
          if (timeout > 0)
            lookup->timer = dvmd_clock_add_timer (self->clock, (gint64)timeout * G_USEC_PER_SEC, on_timeout, lookup);
          g_queue_push_tail (&self->waiting, g_steal_pointer (&lookup));
        }
    }
  g_clear_pointer (&lookup, lookup_free);
}

/* ---- publishing ---- */

static gboolean
is_range (guint32 range)
{
  return range == DVMD_PMIX_RANGE_UNDEF || (range >= DVMD_PMIX_RANGE_LOCAL && range <= DVMD_PMIX_RANGE_PROC_LOCAL);
}

static gboolean
is_taken (DvmdDataStore *self, const char *key, const Party *who, guint32 range)
{
  GPtrArray *items = g_hash_table_lookup (self->items, key);

  for (guint i = 0; items != NULL && i < items->len; i++)
    {
      const Item *item = g_ptr_array_index (items, i);

      /* Of custom ranges only those of the owner are compared: others cannot know of each other. */
      if (item->range == range
          && (range == DVMD_PMIX_RANGE_CUSTOM ? is_proc (&item->owner, who->nspace, who->rank)
                                              : is_in_range (range, &item->owner, who)))
        return TRUE;
    }
  return FALSE;
}

/* Before anything changes: what speaks against these items, or success. */
static int
check_items (DvmdDataStore *self, const Party *who, GVariant *items, guint32 range)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GVariantIter iter;
  const char *key;

  if (g_variant_n_children (items) == 0)
    return DVMD_PMIX_ERR_BAD_PARAM;
  if (g_variant_get_size (items) > DVMD_DATA_REQUEST_LIMIT
      || self->n_bytes + g_variant_get_size (items) > DVMD_DATA_STORE_LIMIT)
    return DVMD_PMIX_ERR_OUT_OF_RESOURCE;
  g_variant_iter_init (&iter, items);
  while (g_variant_iter_next (&iter, "(&say)", &key, NULL))
    {
      if (key[0] == '\0')
        return DVMD_PMIX_ERR_BAD_PARAM;
      if (!g_hash_table_add (seen, (gpointer)key) || is_taken (self, key, who, range))
        return DVMD_PMIX_ERR_DUPLICATE_KEY;
    }
  return DVMD_PMIX_SUCCESS;
}

static Item *
item_new (const char *key, GVariant *value, const DvmdDataParty *who, GVariant *request)
{
  Item *self = g_new0 (Item, 1);

  self->key = g_strdup (key);
  self->value = g_variant_ref (value);
  self->persistence = DVMD_PMIX_PERSIST_APP;
  party_init (&self->owner, who);
  g_variant_lookup (request, "range", "u", &self->range);
  g_variant_lookup (request, "persistence", "u", &self->persistence);
  self->uids = g_variant_lookup_value (request, "uids", G_VARIANT_TYPE ("au"));
  self->gids = g_variant_lookup_value (request, "gids", G_VARIANT_TYPE ("au"));
  self->accessors = g_variant_lookup_value (request, "accessors", G_VARIANT_TYPE ("a(su)"));
  return self;
}

static int
check_terms (GVariant *request, guint32 range)
{
  guint32 persistence = DVMD_PMIX_PERSIST_APP;
  g_autoptr (GVariant) accessors = g_variant_lookup_value (request, "accessors", G_VARIANT_TYPE ("a(su)"));

  g_variant_lookup (request, "persistence", "u", &persistence);
  if (!is_range (range) || persistence > DVMD_PMIX_PERSIST_SESSION)
    return DVMD_PMIX_ERR_BAD_PARAM;
  return range == DVMD_PMIX_RANGE_CUSTOM && accessors == NULL ? DVMD_PMIX_ERR_BAD_PARAM : DVMD_PMIX_SUCCESS;
}

static void
publish (DvmdDataStore *self, guint64 token, const DvmdDataParty *who, GVariant *request)
{
  g_autoptr (GVariant) items = g_variant_lookup_value (request, "items", G_VARIANT_TYPE ("a(say)"));
  guint32 range = DVMD_PMIX_RANGE_UNDEF;
  GVariantIter iter;
  GVariant *value;
  const char *key;
  Party party;
  int status;

  g_variant_lookup (request, "range", "u", &range);
  status = items != NULL ? check_terms (request, range) : DVMD_PMIX_ERR_BAD_PARAM;
  if (status == DVMD_PMIX_SUCCESS)
    {
      party_init (&party, who);
      status = check_items (self, &party, items, range);
      party_clear (&party);
    }
  if (status == DVMD_PMIX_SUCCESS)
    {
      g_variant_iter_init (&iter, items);
      while (g_variant_iter_loop (&iter, "(&s@ay)", &key, &value))
        add_item (self, item_new (key, value, who, request));
    }
  answer_status (self, who->node, token, status);
  if (status == DVMD_PMIX_SUCCESS)
    serve_waiting (self, items);
}

/* ---- unpublishing ---- */

typedef struct
{
  const DvmdDataParty *who;
  char **keys; /* none: all */
  guint32 range;
  gboolean any_range;
} Removal;

static gboolean
is_to_be_removed (const Item *item, gconstpointer data)
{
  const Removal *removal = data;

  return is_proc (&item->owner, removal->who->nspace, removal->who->rank)
         && (removal->keys[0] == NULL || g_strv_contains ((const char *const *)removal->keys, item->key))
         && (removal->any_range || item->range == removal->range);
}

static void
unpublish (DvmdDataStore *self, guint64 token, const DvmdDataParty *who, GVariant *request)
{
  g_auto (GStrv) keys = get_keys (request);
  Removal removal = { .who = who, .keys = keys };
  guint n;

  removal.any_range = !g_variant_lookup (request, "range", "u", &removal.range)
                      || removal.range == DVMD_PMIX_RANGE_UNDEF;
  n = remove_items (self, is_to_be_removed, &removal);
  answer_status (self, who->node, token, n > 0 || keys[0] == NULL ? DVMD_PMIX_SUCCESS : DVMD_PMIX_ERR_NOT_FOUND);
}

void
dvmd_data_store_handle (DvmdDataStore *self, guint64 token, DvmdPmixDataOp op, const DvmdDataParty *who,
                        GVariant *request)
{
  switch (op)
    {
    case DVMD_PMIX_DATA_PUBLISH:
      publish (self, token, who, request);
      break;
    case DVMD_PMIX_DATA_LOOKUP:
      look_up (self, token, who, request);
      break;
    case DVMD_PMIX_DATA_UNPUBLISH:
      unpublish (self, token, who, request);
      break;
    default:
      answer_status (self, who->node, token, DVMD_PMIX_ERR_NOT_SUPPORTED);
      break;
    }
}

/* ---- whoever it was has gone ---- */

typedef struct
{
  const char *nspace; /* (nullable): any */
  guint32 rank;       /* or DVMD_PMIX_RANK_WILDCARD */
  guint node;
} Gone;

static void
drop_waiting (DvmdDataStore *self, const Gone *gone)
{
  GList *next;

  for (GList *link = self->waiting.head; link != NULL; link = next)
    {
      Lookup *lookup = link->data;

      next = link->next;
      if (gone->nspace == NULL ? lookup->who.node != gone->node
                               : !g_str_equal (lookup->who.nspace, gone->nspace)
                                     || (gone->rank != DVMD_PMIX_RANK_WILDCARD && lookup->who.rank != gone->rank))
        continue;
      g_queue_delete_link (&self->waiting, link);
      lookup_free (lookup);
    }
}

static gboolean
ends_with_proc (const Item *item, gconstpointer data)
{
  const Gone *gone = data;

  return item->persistence == DVMD_PMIX_PERSIST_PROC && is_proc (&item->owner, gone->nspace, gone->rank);
}

void
dvmd_data_store_proc_ended (DvmdDataStore *self, const char *nspace, guint32 rank)
{
  Gone gone = { .nspace = nspace, .rank = rank };

  drop_waiting (self, &gone);
  remove_items (self, ends_with_proc, &gone);
}

/* What nobody has read for the first time goes as well: nobody would ever know that it is there. */
static gboolean
ends_with_job (const Item *item, gconstpointer nspace)
{
  return item->persistence != DVMD_PMIX_PERSIST_INDEF && item->persistence != DVMD_PMIX_PERSIST_SESSION
         && g_str_equal (item->owner.nspace, nspace);
}

void
dvmd_data_store_job_ended (DvmdDataStore *self, const char *nspace)
{
  Gone gone = { .nspace = nspace, .rank = DVMD_PMIX_RANK_WILDCARD };

  drop_waiting (self, &gone);
  remove_items (self, ends_with_job, nspace);
}

static gboolean
ends_with_session (const Item *item, gconstpointer session)
{
  return item->persistence == DVMD_PMIX_PERSIST_SESSION && item->owner.sessions->len > 0
         && g_array_index (item->owner.sessions, guint32, 0) == *(const guint32 *)session;
}

void
dvmd_data_store_session_ended (DvmdDataStore *self, guint32 session)
{
  remove_items (self, ends_with_session, &session);
}

void
dvmd_data_store_node_lost (DvmdDataStore *self, guint node)
{
  drop_waiting (self, &(Gone){ .node = node });
}

guint
dvmd_data_store_count_items (DvmdDataStore *self)
{
  return self->n_items;
}

guint
dvmd_data_store_count_waiting (DvmdDataStore *self)
{
  return self->waiting.length;
}
