/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-data-store.h"

typedef struct
{
  DvmdClock *clock;
  DvmdDataStore *store;
  GHashTable *answers; /* token -> Answer */
  guint64 last_token;
  guint n_dropped; /* of those who have gone */
} Fixture;

typedef struct
{
  guint node;
  int status;
  char *found;
} Answer;

static const guint32 default_session[] = { 0 };
static const guint32 other_session[] = { 7, 8 };

/* Two of one job on two nodes, one of another job, one in a session of its own. */
static const DvmdDataParty one = { "job@1", 0, 1, 1000, 1000, default_session, 1 };
static const DvmdDataParty one_b = { "job@1", 1, 2, 1000, 1000, default_session, 1 };
static const DvmdDataParty two = { "job@2", 0, 1, 1000, 1000, default_session, 1 };
static const DvmdDataParty three = { "job@5", 0, 2, 1000, 1000, default_session, 1 };
static const DvmdDataParty apart = { "job@3", 0, 2, 1000, 1000, other_session, 2 };
static const DvmdDataParty stranger = { "job@4", 0, 2, 1001, 1001, default_session, 1 };

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  g_free (answer->found);
  g_free (answer);
}

static void
on_answer (gpointer world, guint node, guint64 token, int status, GVariant *found)
{
  Fixture *self = world;
  g_autoptr (GVariant) owned = found != NULL ? g_variant_ref_sink (found) : NULL;
  Answer *answer;

  if (found == NULL)
    {
      self->n_dropped++;
      return;
    }
  answer = g_new0 (Answer, 1);
  answer->node = node;
  answer->status = status;
  if (g_variant_get_size (owned) < 4096)
    answer->found = g_variant_print (owned, FALSE);
  g_assert_true (g_hash_table_insert (self->answers, g_memdup2 (&token, sizeof token), answer));
}

static void
set_up (Fixture *self, gconstpointer data)
{
  self->clock = dvmd_clock_new_manual (0);
  self->answers = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, answer_free);
  self->store = dvmd_data_store_new (self->clock, on_answer, self);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  dvmd_data_store_free (self->store);
  g_hash_table_unref (self->answers);
  dvmd_clock_unref (self->clock);
}

static const Answer *
begin (Fixture *self, DvmdPmixDataOp op, const DvmdDataParty *who, const char *request)
{
  g_autoptr (GVariant) words = g_variant_ref_sink (g_variant_new_parsed (request));
  guint64 token = ++self->last_token;

  dvmd_data_store_handle (self->store, token, op, who, words);
  return g_hash_table_lookup (self->answers, &token);
}

static int
ask (Fixture *self, DvmdPmixDataOp op, const DvmdDataParty *who, const char *request)
{
  const Answer *answer = begin (self, op, who, request);

  g_assert_nonnull (answer);
  g_assert_cmpuint (answer->node, ==, who->node);
  return answer->status;
}

static int
publish (Fixture *self, const DvmdDataParty *who, const char *request)
{
  return ask (self, DVMD_PMIX_DATA_PUBLISH, who, request);
}

static int
look_up (Fixture *self, const DvmdDataParty *who, const char *request)
{
  return ask (self, DVMD_PMIX_DATA_LOOKUP, who, request);
}

#define KEY "{'keys': <['port']>}"

static void
test_publish (Fixture *self, gconstpointer data)
{
  const Answer *answer;

  g_assert_cmpint (look_up (self, &two, KEY), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpint (publish (self, &one, "{'items': <[('port', b'a'), ('name', b'b')]>}"), ==, DVMD_PMIX_SUCCESS);
  answer = begin (self, DVMD_PMIX_DATA_LOOKUP, &two, "{'keys': <['name', 'nothing', 'port']>}");
  g_assert_cmpint (answer->status, ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpstr (answer->found, ==, "[('job@1', 0, 'name', b'b'), ('job@1', 0, 'port', b'a')]");
  /* The key is taken; nothing of a request that is refused stays. */
  g_assert_cmpint (publish (self, &two, "{'items': <[('more', b'c'), ('port', b'c')]>}"), ==,
                   DVMD_PMIX_ERR_DUPLICATE_KEY);
  g_assert_cmpint (publish (self, &two, "{'items': <[('more', b'c'), ('more', b'd')]>}"), ==,
                   DVMD_PMIX_ERR_DUPLICATE_KEY);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 2);
}

static void
test_unpublish (Fixture *self, gconstpointer data)
{
  publish (self, &one, "{'items': <[('port', b'a'), ('name', b'b')]>}");
  publish (self, &one, "{'items': <[('near', b'c')]>, 'range': <uint32 2>}");
  /* Only what is one's own. */
  g_assert_cmpint (ask (self, DVMD_PMIX_DATA_UNPUBLISH, &one_b, KEY), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpint (ask (self, DVMD_PMIX_DATA_UNPUBLISH, &one, KEY), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (ask (self, DVMD_PMIX_DATA_UNPUBLISH, &one, KEY), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpint (look_up (self, &two, KEY), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpint (ask (self, DVMD_PMIX_DATA_UNPUBLISH, &one, "{'range': <uint32 2>}"), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 1);
  g_assert_cmpint (ask (self, DVMD_PMIX_DATA_UNPUBLISH, &one, "@a{sv} {}"), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 0);
}

/* Each row tells who sees what job@1.0 has published for a range. */
static void
test_ranges (Fixture *self, gconstpointer data)
{
  static const struct
  {
    DvmdPmixRange range;
    const char *seen_by; /* of oneself, one_b, two, apart, stranger */
  } rows[] = {
    { DVMD_PMIX_RANGE_UNDEF, "yyyy-" },   { DVMD_PMIX_RANGE_GLOBAL, "yyyy-" },
    { DVMD_PMIX_RANGE_SESSION, "yyy--" }, { DVMD_PMIX_RANGE_NAMESPACE, "yy---" },
    { DVMD_PMIX_RANGE_LOCAL, "y-y--" },   { DVMD_PMIX_RANGE_PROC_LOCAL, "y----" },
  };
  const DvmdDataParty *const readers[] = { &one, &one_b, &two, &apart, &stranger };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *request = g_strdup_printf ("{'items': <[('port', b'a')]>, 'range': <uint32 %u>}", rows[i].range);
      char seen[6] = "";

      g_assert_cmpint (publish (self, &one, request), ==, DVMD_PMIX_SUCCESS);
      for (gsize k = 0; k < G_N_ELEMENTS (readers); k++)
        seen[k] = look_up (self, readers[k], KEY) == DVMD_PMIX_SUCCESS ? 'y' : '-';
      g_assert_cmpstr (seen, ==, rows[i].seen_by);
      ask (self, DVMD_PMIX_DATA_UNPUBLISH, &one, KEY);
    }
}

/* The same key may be there for each job, or each node. */
static void
test_same_key_in_two_ranges (Fixture *self, gconstpointer data)
{
  const char *mine = "{'items': <[('port', b'mine')]>, 'range': <uint32 3>}";
  const Answer *answer;

  g_assert_cmpint (publish (self, &one, mine), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (publish (self, &one_b, mine), ==, DVMD_PMIX_ERR_DUPLICATE_KEY);
  g_assert_cmpint (publish (self, &two, mine), ==, DVMD_PMIX_SUCCESS);
  answer = begin (self, DVMD_PMIX_DATA_LOOKUP, &two, KEY);
  g_assert_cmpstr (answer->found, ==, "[('job@2', 0, 'port', b'mine')]");
  /* A range of the reader says whose it wants. */
  g_assert_cmpint (publish (self, &apart, "{'items': <[('port', b'all')]>}"), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &one_b, "{'keys': <['port']>, 'range': <uint32 2>}"), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &one_b, "{'keys': <['port']>, 'range': <uint32 7>}"), ==, DVMD_PMIX_ERR_NOT_FOUND);
}

static void
test_access (Fixture *self, gconstpointer data)
{
  g_assert_cmpint (publish (self, &one, "{'items': <[('port', b'a')]>, 'uids': <[uint32 1001]>}"), ==,
                   DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &stranger, KEY), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &two, KEY), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpint (look_up (self, &one, KEY), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (publish (self, &one, "{'items': <[('both', b'a')]>, 'uids': <[uint32 1001]>, 'gids': <[uint32 5]>}"),
                   ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &stranger, "{'keys': <['both']>}"), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpint (publish (self, &one,
                            "{'items': <[('some', b'a')]>, 'range': <uint32 6>,"
                            " 'accessors': <[('job@2', uint32 0), ('job@3', 4294967294)]>}"),
                   ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &two, "{'keys': <['some']>}"), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &apart, "{'keys': <['some']>}"), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &one_b, "{'keys': <['some']>}"), ==, DVMD_PMIX_ERR_NOT_FOUND);
}

static void
test_persistence (Fixture *self, gconstpointer data)
{
  for (guint i = 0; i <= DVMD_PMIX_PERSIST_SESSION; i++)
    {
      g_autofree char *request = g_strdup_printf ("{'items': <[('key-%u', b'a')]>, 'persistence': <uint32 %u>}", i, i);

      g_assert_cmpint (publish (self, &apart, request), ==, DVMD_PMIX_SUCCESS);
    }
  publish (self, &one, "{'items': <[('port', b'a')]>}");
  dvmd_data_store_proc_ended (self->store, "job@3", 1);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 6);
  dvmd_data_store_proc_ended (self->store, "job@3", 0);
  g_assert_cmpint (look_up (self, &one, "{'keys': <['key-2']>}"), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 5);
  dvmd_data_store_job_ended (self->store, "job@3");
  g_assert_cmpint (look_up (self, &one, "{'keys': <['key-1', 'key-3']>}"), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 3);
  /* Only the first of its sessions is its own. */
  dvmd_data_store_session_ended (self->store, 8);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 3);
  dvmd_data_store_session_ended (self->store, 7);
  g_assert_cmpint (look_up (self, &one, "{'keys': <['key-4']>}"), ==, DVMD_PMIX_ERR_NOT_FOUND);
  g_assert_cmpint (look_up (self, &one, "{'keys': <['key-0']>}"), ==, DVMD_PMIX_SUCCESS);
}

static void
test_first_read (Fixture *self, gconstpointer data)
{
  publish (self, &one, "{'items': <[('port', b'a')]>, 'persistence': <uint32 1>}");
  g_assert_cmpint (look_up (self, &two, KEY), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &two, KEY), ==, DVMD_PMIX_ERR_NOT_FOUND);
  /* Of two who wait, one gets it. */
  g_assert_null (begin (self, DVMD_PMIX_DATA_LOOKUP, &two, "{'keys': <['port']>, 'wait': <0>}"));
  g_assert_null (begin (self, DVMD_PMIX_DATA_LOOKUP, &apart, "{'keys': <['port']>, 'wait': <0>}"));
  publish (self, &one, "{'items': <[('port', b'a')]>, 'persistence': <uint32 1>}");
  g_assert_cmpuint (dvmd_data_store_count_waiting (self->store), ==, 1);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 0);
}

static void
test_wait (Fixture *self, gconstpointer data)
{
  guint64 all, some;
  const Answer *answer;

  g_assert_null (begin (self, DVMD_PMIX_DATA_LOOKUP, &two, "{'keys': <['a', 'b', 'c']>, 'wait': <0>}"));
  all = self->last_token;
  g_assert_null (begin (self, DVMD_PMIX_DATA_LOOKUP, &two, "{'keys': <['a', 'b', 'c']>, 'wait': <2>}"));
  some = self->last_token;
  publish (self, &one, "{'items': <[('a', b'1')]>}");
  publish (self, &one, "{'items': <[('z', b'1')]>}");
  g_assert_cmpuint (dvmd_data_store_count_waiting (self->store), ==, 2);
  publish (self, &one_b, "{'items': <[('c', b'3')]>}");
  answer = g_hash_table_lookup (self->answers, &some);
  g_assert_cmpstr (answer->found, ==, "[('job@1', 0, 'a', b'1'), ('job@1', 1, 'c', b'3')]");
  g_assert_null (g_hash_table_lookup (self->answers, &all));
  /* A lookup does not get by waiting what it may not see. */
  publish (self, &one_b, "{'items': <[('b', b'2')]>, 'range': <uint32 3>}");
  g_assert_null (g_hash_table_lookup (self->answers, &all));
  publish (self, &apart, "{'items': <[('b', b'2')]>}");
  answer = g_hash_table_lookup (self->answers, &all);
  g_assert_cmpint (answer->status, ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpuint (dvmd_data_store_count_waiting (self->store), ==, 0);
}

static void
test_timeout (Fixture *self, gconstpointer data)
{
  const Answer *answer;

  g_assert_null (begin (self, DVMD_PMIX_DATA_LOOKUP, &two, "{'keys': <['port']>, 'wait': <0>, 'timeout': <uint32 5>}"));
  dvmd_clock_advance (self->clock, 5 * G_USEC_PER_SEC - 1);
  g_assert_cmpuint (dvmd_data_store_count_waiting (self->store), ==, 1);
  dvmd_clock_advance (self->clock, 1);
  answer = g_hash_table_lookup (self->answers, &self->last_token);
  g_assert_cmpint (answer->status, ==, DVMD_PMIX_ERR_TIMEOUT);
  g_assert_cmpuint (dvmd_data_store_count_waiting (self->store), ==, 0);
  publish (self, &one, "{'items': <[('port', b'a')]>}");
}

/* A party that has gone is not answered. */
static void
test_waiting_and_gone (Fixture *self, gconstpointer data)
{
  const char *request = "{'keys': <['port']>, 'wait': <0>, 'timeout': <uint32 5>}";

  begin (self, DVMD_PMIX_DATA_LOOKUP, &one, request);
  begin (self, DVMD_PMIX_DATA_LOOKUP, &one_b, request);
  begin (self, DVMD_PMIX_DATA_LOOKUP, &two, request);
  begin (self, DVMD_PMIX_DATA_LOOKUP, &apart, request);
  dvmd_data_store_proc_ended (self->store, "job@1", 0);
  g_assert_cmpuint (dvmd_data_store_count_waiting (self->store), ==, 3);
  dvmd_data_store_node_lost (self->store, 1);
  g_assert_cmpuint (dvmd_data_store_count_waiting (self->store), ==, 2);
  dvmd_data_store_job_ended (self->store, "job@3");
  g_assert_cmpuint (dvmd_data_store_count_waiting (self->store), ==, 1);
  g_assert_cmpuint (self->n_dropped, ==, 3);
  dvmd_clock_advance (self->clock, 10 * G_USEC_PER_SEC);
  g_assert_cmpuint (g_hash_table_size (self->answers), ==, 1);
}

static void
test_bad_requests (Fixture *self, gconstpointer data)
{
  static const char *const requests[] = {
    "@a{sv} {}",
    "{'items': <@a(say) []>}",
    "{'items': <[('', b'a')]>}",
    "{'items': <'port'>}",
    "{'items': <[('port', b'a')]>, 'range': <uint32 1>}",
    "{'items': <[('port', b'a')]>, 'range': <uint32 8>}",
    "{'items': <[('port', b'a')]>, 'range': <uint32 6>}",
    "{'items': <[('port', b'a')]>, 'persistence': <uint32 5>}",
    "{'items': <[('port', b'a')]>, 'persistence': <uint32 255>}",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (requests); i++)
    g_assert_cmpint (publish (self, &one, requests[i]), ==, DVMD_PMIX_ERR_BAD_PARAM);
  g_assert_cmpint (look_up (self, &one, "@a{sv} {}"), ==, DVMD_PMIX_ERR_BAD_PARAM);
  g_assert_cmpint (look_up (self, &one, "{'keys': <@as []>, 'wait': <0>}"), ==, DVMD_PMIX_ERR_BAD_PARAM);
  g_assert_cmpint (ask (self, 17, &one, "@a{sv} {}"), ==, DVMD_PMIX_ERR_NOT_SUPPORTED);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 0);
}

/* ---- nobody fills the controller's memory ---- */

static GVariant *
make_bytes (gsize size)
{
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_malloc0 (size), size);

  return g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, bytes, TRUE);
}

/* terms (nullable): a{sv} of what goes with it, but for the items */
static int
publish_bytes (Fixture *self, const DvmdDataParty *who, const char *key, gsize size, GVariant *terms)
{
  g_autoptr (GVariant) request = NULL;
  GVariantBuilder items;
  GVariantDict dict;
  guint64 token = ++self->last_token;

  g_variant_builder_init (&items, G_VARIANT_TYPE ("a(say)"));
  g_variant_builder_add (&items, "(s@ay)", key, make_bytes (size));
  g_variant_dict_init (&dict, terms);
  g_variant_dict_insert_value (&dict, "items", g_variant_builder_end (&items));
  request = g_variant_ref_sink (g_variant_dict_end (&dict));
  dvmd_data_store_handle (self->store, token, DVMD_PMIX_DATA_PUBLISH, who, request);
  return ((Answer *)g_hash_table_lookup (self->answers, &token))->status;
}

/* Until there is no room for anybody: by one job, and by another one. Returns how many there was room for. */
static guint
fill (Fixture *self, gsize size, GVariant *terms)
{
  const DvmdDataParty *who = &one;
  guint n = 0;
  int status;

  do
    {
      g_autofree char *key = g_strdup_printf ("key-%u", n);

      status = publish_bytes (self, who, key, size, terms);
      n += status == DVMD_PMIX_SUCCESS;
      if (status == DVMD_PMIX_ERR_OUT_OF_RESOURCE && who == &one)
        {
          who = &three;
          status = DVMD_PMIX_SUCCESS;
        }
    }
  while (status == DVMD_PMIX_SUCCESS && n < 1000);
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, n);
  return n;
}

static void
test_limits (Fixture *self, gconstpointer data)
{
  g_assert_cmpuint (fill (self, DVMD_DATA_REQUEST_LIMIT - 1024, NULL), ==, 16);
  /* Nor does one answer get larger than a request. */
  g_assert_cmpint (look_up (self, &two, "{'keys': <['key-0']>}"), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &two, "{'keys': <['key-0', 'key-1']>}"), ==, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  dvmd_data_store_job_ended (self->store, "job@1");
  g_assert_cmpint (publish (self, &one, "{'items': <[('port', b'a')]>}"), ==, DVMD_PMIX_SUCCESS);
}

/* The list of those who may read an item is kept as well, and counted. */
static void
test_limits_of_terms (Fixture *self, gconstpointer data)
{
  g_autofree guint32 *ids = g_new0 (guint32, 1024 * 1024 + 1);
  g_autoptr (GVariant) small = NULL;
  g_autoptr (GVariant) large = NULL;
  GVariantDict dict;

  g_variant_dict_init (&dict, NULL);
  g_variant_dict_insert_value (&dict, "uids",
                               g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, ids, 1024 * 1024 / 2, 4));
  small = g_variant_ref_sink (g_variant_dict_end (&dict));
  g_variant_dict_init (&dict, NULL);
  g_variant_dict_insert_value (&dict, "uids", g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, ids, 1024 * 1024, 4));
  large = g_variant_ref_sink (g_variant_dict_end (&dict));
  g_assert_cmpint (publish_bytes (self, &one, "port", 1, large), ==, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  g_assert_cmpuint (fill (self, 1, small), ==, 30);
  dvmd_data_store_job_ended (self->store, "job@1");
  dvmd_data_store_job_ended (self->store, "job@5");
  g_assert_cmpuint (fill (self, 1, small), ==, 30);
}

/* How many of 4 MiB there is room for, for that one. */
static guint
fill_of (Fixture *self, const DvmdDataParty *who)
{
  guint n = 0;
  int status;

  do
    {
      g_autofree char *key = g_strdup_printf ("%s-%" G_GUINT64_FORMAT, who->nspace, self->last_token);

      status = publish_bytes (self, who, key, DVMD_DATA_REQUEST_LIMIT - 1024, NULL);
      n += status == DVMD_PMIX_SUCCESS;
    }
  while (status == DVMD_PMIX_SUCCESS && n < 100);
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  return n;
}

/* One job, and those of one session together, have half of the room; what goes gives it back. */
static void
test_quota (Fixture *self, gconstpointer data)
{
  static const guint32 session[] = { 7 };
  const DvmdDataParty a = { "job@6", 0, 1, 1000, 1000, session, 1 };
  const DvmdDataParty b = { "job@7", 0, 1, 1000, 1000, session, 1 };

  g_assert_cmpuint (fill_of (self, &one), ==, 8);
  g_assert_cmpint (publish_bytes (self, &a, "a", DVMD_DATA_REQUEST_LIMIT - 1024, NULL), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpuint (fill_of (self, &b), ==, 7);
  dvmd_data_store_job_ended (self->store, "job@1");
  /* The session has what it may, the others have not. */
  g_assert_cmpuint (fill_of (self, &b), ==, 0);
  g_assert_cmpint (publish_bytes (self, &a, "b", DVMD_DATA_REQUEST_LIMIT - 1024, NULL), ==,
                   DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  g_assert_cmpuint (fill_of (self, &two), ==, 8);
  dvmd_data_store_session_ended (self->store, 7);
  dvmd_data_store_job_ended (self->store, "job@6");
  dvmd_data_store_job_ended (self->store, "job@7");
  g_assert_cmpuint (fill_of (self, &three), ==, 8);
}

/* A small thing is not for nothing. */
static void
test_limits_of_numbers (Fixture *self, gconstpointer data)
{
  int status = DVMD_PMIX_SUCCESS;

  for (guint i = 0; status == DVMD_PMIX_SUCCESS; i++)
    {
      g_autoptr (GVariant) request = NULL;
      guint64 token = ++self->last_token;
      GVariantBuilder items;

      g_variant_builder_init (&items, G_VARIANT_TYPE ("a(say)"));
      for (guint k = 0; k < 20000; k++)
        {
          g_autofree char *key = g_strdup_printf ("%u", i * 20000 + k);

          g_variant_builder_add (&items, "(s@ay)", key, make_bytes (0));
        }
      request = g_variant_ref_sink (g_variant_new_parsed ("{'items': <%*>}", g_variant_builder_end (&items)));
      dvmd_data_store_handle (self->store, token, DVMD_PMIX_DATA_PUBLISH, &one, request);
      status = ((Answer *)g_hash_table_lookup (self->answers, &token))->status;
      g_assert_cmpuint (dvmd_data_store_count_items (self->store), <=, DVMD_DATA_STORE_LIMIT / 256);
    }
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  dvmd_data_store_job_ended (self->store, "job@1");
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 0);
  g_assert_cmpuint (fill (self, DVMD_DATA_REQUEST_LIMIT - 1024, NULL), ==, 16);
}

/* Those who wait are kept with what they wait for. */
static void
test_limits_of_waiting (Fixture *self, gconstpointer data)
{
  g_autofree char *key = g_strnfill (3 * 1024 * 1024, 'k');
  g_autofree char *request = g_strdup_printf ("{'keys': <['%s']>, 'wait': <0>}", key);
  const Answer *answer;
  guint n = 0;

  while ((answer = begin (self, DVMD_PMIX_DATA_LOOKUP, &two, request)) == NULL && n < 1000)
    n++;
  g_assert_nonnull (answer);
  g_assert_cmpint (answer->status, ==, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  g_assert_cmpuint (n, ==, 10);
  g_assert_cmpuint (dvmd_data_store_count_waiting (self->store), ==, n);
  dvmd_data_store_job_ended (self->store, "job@2");
  g_assert_cmpuint (fill (self, DVMD_DATA_REQUEST_LIMIT - 1024, NULL), ==, 16);
}

/* Items that go with the first lookup are not lost because they do not go into one answer. */
static void
test_first_read_of_too_much (Fixture *self, gconstpointer data)
{
  g_autoptr (GVariant)
      terms = g_variant_ref_sink (g_variant_new_parsed ("{'persistence': <uint32 %u>}", DVMD_PMIX_PERSIST_FIRST_READ));

  g_assert_cmpint (publish_bytes (self, &one, "a", 3 * 1024 * 1024, terms), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (publish_bytes (self, &one, "b", 3 * 1024 * 1024, terms), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &two, "{'keys': <['a', 'b']>}"), ==, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  g_assert_cmpint (look_up (self, &two, "{'keys': <['a']>}"), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &two, "{'keys': <['b']>}"), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 0);
}

static void
set_true (gpointer flag)
{
  *(gboolean *)flag = TRUE;
}

/* Of a request with much in it, of which little is kept, no more than that is. */
static void
test_request_is_let_go (Fixture *self, gconstpointer data)
{
  g_autoptr (GVariant) built = g_variant_ref_sink (
      g_variant_new_parsed ("{'items': <[('port', b'a')]>, 'uids': <[uint32 1000]>, 'gids': <[uint32 1000]>, "
                            "'accessors': <[('job@2', uint32 0)]>, 'range': <uint32 6>}"));
  gsize size = g_variant_get_size (built);
  g_autofree gpointer copy = g_memdup2 (g_variant_get_data (built), size);
  gboolean freed = FALSE;
  GVariant *request = g_variant_ref_sink (
      g_variant_new_from_data (G_VARIANT_TYPE_VARDICT, copy, size, TRUE, set_true, &freed));
  guint64 token = ++self->last_token;

  dvmd_data_store_handle (self->store, token, DVMD_PMIX_DATA_PUBLISH, &one, request);
  g_variant_unref (request);
  g_assert_true (freed);
  memset (copy, 0, size);
  g_assert_cmpint (look_up (self, &two, KEY), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &apart, KEY), ==, DVMD_PMIX_ERR_NOT_FOUND);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, func) g_test_add ("/data-store/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("publish", test_publish);
  ADD ("unpublish", test_unpublish);
  ADD ("ranges", test_ranges);
  ADD ("same-key-in-two-ranges", test_same_key_in_two_ranges);
  ADD ("access", test_access);
  ADD ("persistence", test_persistence);
  ADD ("first-read", test_first_read);
  ADD ("wait", test_wait);
  ADD ("timeout", test_timeout);
  ADD ("waiting-and-gone", test_waiting_and_gone);
  ADD ("bad-requests", test_bad_requests);
  ADD ("limits", test_limits);
  ADD ("limits-of-terms", test_limits_of_terms);
  ADD ("quota", test_quota);
  ADD ("limits-of-numbers", test_limits_of_numbers);
  ADD ("limits-of-waiting", test_limits_of_waiting);
  ADD ("first-read-of-too-much", test_first_read_of_too_much);
  ADD ("request-is-let-go", test_request_is_let_go);
#undef ADD
  return g_test_run ();
}
