/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Data that processes and tools publish is kept for those who look it up, or wait for it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-data-store.h"

#include "dvmd-log.h"

#define FOUND_TYPE "a(susay)"

/* Each thing that is kept takes about this beyond its own bytes, and so does each key of a lookup. */
#define OVERHEAD     256
#define KEY_OVERHEAD 32

typedef struct
{
  char *nspace;
  guint32 rank;
  guint node;
  guint32 uid;
  guint32 gid;
  GArray *sessions; /* guint32 */
} Party;

/* The terms say who has published something, and for whom: one for all items of a request. Counted by references. */
typedef struct
{
  DvmdDataStore *store; /* unowned */
  Party owner;
  guint32 range;
  guint32 persistence;
  GVariant *uids;      /* (nullable): au, those who may read */
  GVariant *gids;      /* (nullable) */
  GVariant *accessors; /* (nullable): a(su) */
  gsize size;
} Terms;

/* Something published. */
typedef struct
{
  char *key;
  GVariant *value; /* ay */
  Terms *terms;
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
  gsize size; /* counted in the store's n_bytes; 0: it does not wait */
} Lookup;

/* An account says how much is kept of one owner, or of all owners in a session. */
typedef struct
{
  gsize n_bytes;
  gboolean told; /* that there is no room */
} Account;

struct _DvmdDataStore
{
  DvmdClock *clock;
  DvmdDataAnswer answer;
  gpointer user_data;
  GHashTable *items;    /* key -> GPtrArray of Item, in the order of their publication */
  GHashTable *by_owner; /* "NSPACE.RANK" -> set of Item, unowned */
  GHashTable *accounts; /* namespace, or "session N" -> Account */
  GQueue waiting;       /* Lookup, in the order in which they came */
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

/* (nullable) (transfer full): of its own memory, not of that of the whole request */
static GVariant *
detach (GVariant *value)
{
  gsize size = value != NULL ? g_variant_get_size (value) : 0;
  gpointer data;

  if (value == NULL)
    return NULL;
  data = g_memdup2 (g_variant_get_data (value), size);
  return g_variant_ref_sink (g_variant_new_from_data (g_variant_get_type (value), data, size, FALSE, g_free, data));
}

static GVariant *
take_list (GVariant *request, const char *key, const char *type, gsize *size)
{
  g_autoptr (GVariant) list = g_variant_lookup_value (request, key, G_VARIANT_TYPE (type));

  *size += list != NULL ? g_variant_get_size (list) : 0;
  return detach (list);
}

/* Of the default session are all whom no session keeps apart: it has no account. */
static char *
make_session_key (const Party *who)
{
  guint32 session = who->sessions->len > 0 ? g_array_index (who->sessions, guint32, 0) : 0;

  return session != 0 ? g_strdup_printf ("session %u", session) : NULL;
}

static void
charge_account (DvmdDataStore *self, const char *key, gssize size)
{
  Account *account = g_hash_table_lookup (self->accounts, key);

  if (account == NULL)
    g_hash_table_insert (self->accounts, g_strdup (key), account = g_new0 (Account, 1));
  account->n_bytes += size;
  if (account->n_bytes == 0)
    g_hash_table_remove (self->accounts, key);
}

static void
charge (DvmdDataStore *self, const Party *who, gssize size)
{
  g_autofree char *session = make_session_key (who);

  if (size == 0)
    return;
  self->n_bytes += size;
  charge_account (self, who->nspace, size);
  if (session != NULL)
    charge_account (self, session, size);
}

static gboolean
has_quota (DvmdDataStore *self, const Party *who, const char *key, gsize size)
{
  Account *account = key != NULL ? g_hash_table_lookup (self->accounts, key) : NULL;

  if ((account != NULL ? account->n_bytes : 0) + size <= DVMD_DATA_QUOTA)
    return TRUE;
  if (account != NULL && !account->told)
    dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, who->nspace, who->rank,
                   "what it publishes is refused: of %s there are %" G_GSIZE_FORMAT
                   " bytes already, and no more than %d are kept",
                   key, account->n_bytes, DVMD_DATA_QUOTA);
  if (account != NULL)
    account->told = TRUE;
  return FALSE;
}

/* Of all, of its owner, and of the session of that. */
static gboolean
has_room (DvmdDataStore *self, const Party *who, gsize size)
{
  g_autofree char *session = make_session_key (who);

  return self->n_bytes + size <= DVMD_DATA_STORE_LIMIT && has_quota (self, who, who->nspace, size)
         && has_quota (self, who, session, size);
}

static Terms *
terms_new (DvmdDataStore *store, const DvmdDataParty *who, GVariant *request)
{
  Terms *self = g_rc_box_new0 (Terms);

  self->store = store;
  self->persistence = DVMD_PMIX_PERSIST_APP;
  self->size = OVERHEAD;
  party_init (&self->owner, who);
  g_variant_lookup (request, "range", "u", &self->range);
  g_variant_lookup (request, "persistence", "u", &self->persistence);
  self->uids = take_list (request, "uids", "au", &self->size);
  self->gids = take_list (request, "gids", "au", &self->size);
  self->accessors = take_list (request, "accessors", "a(su)", &self->size);
  charge (store, &self->owner, (gssize)self->size);
  return self;
}

static void
terms_clear (gpointer data)
{
  Terms *self = data;

  charge (self->store, &self->owner, -(gssize)self->size);
  party_clear (&self->owner);
  g_clear_pointer (&self->uids, g_variant_unref);
  g_clear_pointer (&self->gids, g_variant_unref);
  g_clear_pointer (&self->accessors, g_variant_unref);
}

static void
terms_unref (Terms *self)
{
  g_rc_box_release_full (self, terms_clear);
}

static gsize
item_size (const Item *self)
{
  return OVERHEAD + strlen (self->key) + g_variant_get_size (self->value);
}

static void
item_free (gpointer data)
{
  Item *self = data;

  terms_unref (self->terms);
  g_variant_unref (self->value);
  g_free (self->key);
  g_free (self);
}

static void
lookup_free (gpointer data)
{
  Lookup *self = data;

  dvmd_clock_remove_timer (self->store->clock, self->timer);
  charge (self->store, &self->who, -(gssize)self->size);
  party_clear (&self->who);
  g_strfreev (self->keys);
  g_free (self);
}

static void
items_unref (gpointer items)
{
  g_ptr_array_unref (items);
}

static void
set_unref (gpointer set)
{
  g_hash_table_unref (set);
}

DvmdDataStore *
dvmd_data_store_new (DvmdClock *clock, DvmdDataAnswer answer, gpointer user_data)
{
  DvmdDataStore *self = g_new0 (DvmdDataStore, 1);

  self->clock = dvmd_clock_ref (clock);
  self->answer = answer;
  self->user_data = user_data;
  self->items = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, items_unref);
  self->by_owner = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, set_unref);
  self->accounts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_queue_init (&self->waiting);
  return self;
}

void
dvmd_data_store_free (DvmdDataStore *self)
{
  g_queue_clear_full (&self->waiting, lookup_free);
  g_hash_table_unref (self->by_owner);
  g_hash_table_unref (self->items);
  g_hash_table_unref (self->accounts);
  dvmd_clock_unref (self->clock);
  g_free (self);
}

static void
answer_status (DvmdDataStore *self, guint node, guint64 token, int status)
{
  self->answer (self->user_data, node, token, status, g_variant_new_array (G_VARIANT_TYPE ("(susay)"), NULL, 0));
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
is_permitted (const Terms *self, const Party *who)
{
  if (self->uids == NULL && self->gids == NULL)
    return who->uid == self->owner.uid;
  return (self->uids == NULL || list_has (self->uids, who->uid))
         && (self->gids == NULL || list_has (self->gids, who->gid));
}

static gboolean
is_visible (const Terms *self, const Party *who, guint32 range)
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
    if (is_visible (((Item *)g_ptr_array_index (items, i))->terms, who, range))
      return g_ptr_array_index (items, i);
  return NULL;
}

/* ---- items come and go ---- */

static char *
make_owner_key (const char *nspace, guint32 rank)
{
  return g_strdup_printf ("%s.%u", nspace, rank);
}

static void
note_owner (DvmdDataStore *self, Item *item)
{
  g_autofree char *key = make_owner_key (item->terms->owner.nspace, item->terms->owner.rank);
  GHashTable *own = g_hash_table_lookup (self->by_owner, key);

  if (own == NULL)
    {
      own = g_hash_table_new (NULL, NULL);
      g_hash_table_insert (self->by_owner, g_steal_pointer (&key), own);
    }
  g_hash_table_add (own, item);
}

static void
forget_owner (DvmdDataStore *self, Item *item)
{
  g_autofree char *key = make_owner_key (item->terms->owner.nspace, item->terms->owner.rank);
  GHashTable *own = g_hash_table_lookup (self->by_owner, key);

  g_hash_table_remove (own, item);
  if (g_hash_table_size (own) == 0)
    g_hash_table_remove (self->by_owner, key);
}

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
  note_owner (self, item);
  self->n_items++;
  charge (self, &item->terms->owner, (gssize)item_size (item));
}

static void
remove_item (DvmdDataStore *self, Item *item)
{
  GPtrArray *items = g_hash_table_lookup (self->items, item->key);
  g_autofree char *key = g_strdup (item->key);

  self->n_items--;
  charge (self, &item->terms->owner, -(gssize)item_size (item));
  forget_owner (self, item);
  g_ptr_array_remove (items, item);
  if (items->len == 0)
    g_hash_table_remove (self->items, key);
}

typedef gboolean (*IsSo) (const Item *item, gconstpointer data);

static guint
remove_found (DvmdDataStore *self, GPtrArray *found)
{
  for (guint i = 0; i < found->len; i++)
    remove_item (self, g_ptr_array_index (found, i));
  return found->len;
}

/* Those of which is_so, of all. */
static guint
remove_items (DvmdDataStore *self, IsSo is_so, gconstpointer data)
{
  g_autoptr (GPtrArray) found = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer items;

  g_hash_table_iter_init (&iter, self->items);
  while (g_hash_table_iter_next (&iter, NULL, &items))
    for (guint i = 0; i < ((GPtrArray *)items)->len; i++)
      if (is_so (g_ptr_array_index ((GPtrArray *)items, i), data))
        g_ptr_array_add (found, g_ptr_array_index ((GPtrArray *)items, i));
  return remove_found (self, found);
}

/* Of what this process has published: processes end by the thousand. */
static guint
remove_own_items (DvmdDataStore *self, const char *nspace, guint32 rank, IsSo is_so, gconstpointer data)
{
  g_autofree char *key = make_owner_key (nspace, rank);
  g_autoptr (GPtrArray) found = g_ptr_array_new ();
  GHashTable *own = g_hash_table_lookup (self->by_owner, key);
  GHashTableIter iter;
  gpointer item;

  if (own == NULL)
    return 0;
  g_hash_table_iter_init (&iter, own);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    if (is_so (item, data))
      g_ptr_array_add (found, item);
  return remove_found (self, found);
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

static gsize
measure_visible (DvmdDataStore *self, const Lookup *lookup)
{
  gsize n_bytes = 0;

  for (char **key = lookup->keys; *key != NULL; key++)
    {
      const Item *item = find_item (self, *key, &lookup->who, lookup->range);

      n_bytes += item != NULL ? g_variant_get_size (item->value) : 0;
    }
  return n_bytes;
}

/* Items that may be read once go with this answer, if they can be told. A lookup finds all or some. */
static GVariant *
take_visible (DvmdDataStore *self, const Lookup *lookup, int *status)
{
  GVariantBuilder found;
  guint n = 0;

  if (measure_visible (self, lookup) > DVMD_DATA_REQUEST_LIMIT)
    {
      *status = DVMD_PMIX_ERR_OUT_OF_RESOURCE;
      return g_variant_new_array (G_VARIANT_TYPE ("(susay)"), NULL, 0);
    }
  g_variant_builder_init (&found, G_VARIANT_TYPE (FOUND_TYPE));
  for (char **key = lookup->keys; *key != NULL; key++)
    {
      Item *item = find_item (self, *key, &lookup->who, lookup->range);

      if (item == NULL)
        continue;
      g_variant_builder_add (&found, "(sus@ay)", item->terms->owner.nspace, item->terms->owner.rank, item->key,
                             item->value);
      n++;
      if (item->terms->persistence == DVMD_PMIX_PERSIST_FIRST_READ)
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

  self->answer (self->user_data, lookup->who.node, lookup->token, status, found);
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

/* Takes it. */
static void
wait_for_keys (DvmdDataStore *self, Lookup *lookup, gsize request_size, guint timeout)
{
  gsize size = OVERHEAD + request_size + (gsize)g_strv_length (lookup->keys) * KEY_OVERHEAD;

  if (self->waiting.length >= DVMD_DATA_WAITING_LIMIT || !has_room (self, &lookup->who, size))
    {
      answer_status (self, lookup->who.node, lookup->token, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
      lookup_free (lookup);
      return;
    }
  lookup->size = size;
  charge (self, &lookup->who, (gssize)size);
  if (timeout > 0)
    lookup->timer = dvmd_clock_add_timer (self->clock, (gint64)timeout * G_USEC_PER_SEC, on_timeout, lookup);
  g_queue_push_tail (&self->waiting, lookup);
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
      else
        wait_for_keys (self, g_steal_pointer (&lookup), g_variant_get_size (request), timeout);
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
      const Terms *terms = ((const Item *)g_ptr_array_index (items, i))->terms;

      /* Of custom ranges only those of the owner are compared: others cannot know of each other. */
      if (terms->range == range
          && (range == DVMD_PMIX_RANGE_CUSTOM ? is_proc (&terms->owner, who->nspace, who->rank)
                                              : is_in_range (range, &terms->owner, who)))
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

/* The terms, which a request says once for all items, are counted, too. */
static gsize
measure (GVariant *request, GVariant *items)
{
  return g_variant_get_size (request) + (g_variant_n_children (items) + 1) * OVERHEAD;
}

static Item *
item_new (const char *key, GVariant *value, Terms *terms)
{
  Item *self = g_new0 (Item, 1);

  self->key = g_strdup (key);
  self->value = detach (value);
  self->terms = g_rc_box_acquire (terms);
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
add_items (DvmdDataStore *self, const DvmdDataParty *who, GVariant *request, GVariant *items)
{
  Terms *terms = terms_new (self, who, request);
  GVariantIter iter;
  GVariant *value;
  const char *key;

  g_variant_iter_init (&iter, items);
  while (g_variant_iter_loop (&iter, "(&s@ay)", &key, &value))
    add_item (self, item_new (key, value, terms));
  terms_unref (terms);
}

static void
publish (DvmdDataStore *self, guint64 token, const DvmdDataParty *who, GVariant *request)
{
  g_autoptr (GVariant) items = g_variant_lookup_value (request, "items", G_VARIANT_TYPE ("a(say)"));
  guint32 range = DVMD_PMIX_RANGE_UNDEF;
  Party party;
  int status;

  g_variant_lookup (request, "range", "u", &range);
  status = items != NULL ? check_terms (request, range) : DVMD_PMIX_ERR_BAD_PARAM;
  if (status == DVMD_PMIX_SUCCESS)
    {
      party_init (&party, who);
      status = check_items (self, &party, items, range);
      if (status == DVMD_PMIX_SUCCESS && !has_room (self, &party, measure (request, items)))
        status = DVMD_PMIX_ERR_OUT_OF_RESOURCE;
      party_clear (&party);
    }
  if (status == DVMD_PMIX_SUCCESS)
    add_items (self, who, request, items);
  answer_status (self, who->node, token, status);
  if (status == DVMD_PMIX_SUCCESS)
    serve_waiting (self, items);
}

/* ---- unpublishing ---- */

typedef struct
{
  char **keys; /* none: all */
  guint32 range;
  gboolean any_range;
} Removal;

static gboolean
is_to_be_removed (const Item *item, gconstpointer data)
{
  const Removal *removal = data;

  return (removal->keys[0] == NULL || g_strv_contains ((const char *const *)removal->keys, item->key))
         && (removal->any_range || item->terms->range == removal->range);
}

static void
unpublish (DvmdDataStore *self, guint64 token, const DvmdDataParty *who, GVariant *request)
{
  g_auto (GStrv) keys = get_keys (request);
  Removal removal = { .keys = keys };
  guint n;

  removal.any_range = !g_variant_lookup (request, "range", "u", &removal.range)
                      || removal.range == DVMD_PMIX_RANGE_UNDEF;
  n = remove_own_items (self, who->nspace, who->rank, is_to_be_removed, &removal);
  answer_status (self, who->node, token, n > 0 || keys[0] == NULL ? DVMD_PMIX_SUCCESS : DVMD_PMIX_ERR_NOT_FOUND);
}

void
dvmd_data_store_handle (DvmdDataStore *self, guint64 token, DvmdPmixDataOp op, const DvmdDataParty *who,
                        GVariant *request)
{
  if (g_variant_get_size (request) > DVMD_DATA_REQUEST_LIMIT)
    {
      answer_status (self, who->node, token, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
      return;
    }
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
      self->answer (self->user_data, lookup->who.node, lookup->token, DVMD_PMIX_ERR_LOST_CONNECTION, NULL);
      lookup_free (lookup);
    }
}

static gboolean
ends_with_proc (const Item *item, gconstpointer data)
{
  return item->terms->persistence == DVMD_PMIX_PERSIST_PROC;
}

void
dvmd_data_store_proc_ended (DvmdDataStore *self, const char *nspace, guint32 rank)
{
  Gone gone = { .nspace = nspace, .rank = rank };

  drop_waiting (self, &gone);
  remove_own_items (self, nspace, rank, ends_with_proc, NULL);
}

/* Items that may be read once and were not read go as well: nobody would ever know that they are there. */
static gboolean
ends_with_job (const Item *item, gconstpointer nspace)
{
  return item->terms->persistence != DVMD_PMIX_PERSIST_INDEF && item->terms->persistence != DVMD_PMIX_PERSIST_SESSION
         && g_str_equal (item->terms->owner.nspace, nspace);
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
  const Terms *terms = item->terms;

  return terms->persistence == DVMD_PMIX_PERSIST_SESSION && terms->owner.sessions->len > 0
         && g_array_index (terms->owner.sessions, guint32, 0) == *(const guint32 *)session;
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
