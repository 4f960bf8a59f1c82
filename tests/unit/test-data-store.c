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
  g_autoptr (GVariant) owned = g_variant_ref_sink (found);
  Answer *answer = g_new0 (Answer, 1);

  answer->node = node;
  answer->status = status;
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

/* Who sees what job@1.0 has published for a range. */
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
  /* What it may not see it does not get by waiting. */
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

/* Nobody is answered who has gone. */
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

/* Nobody fills the controller's memory. */
static void
test_limits (Fixture *self, gconstpointer data)
{
  g_autoptr (GBytes)
      large = g_bytes_new_take (g_malloc0 (DVMD_DATA_REQUEST_LIMIT - 100), DVMD_DATA_REQUEST_LIMIT - 100);
  int status = DVMD_PMIX_SUCCESS;
  guint n = 0;

  while (status == DVMD_PMIX_SUCCESS)
    {
      g_autofree char *key = g_strdup_printf ("key-%u", n++);
      GVariantBuilder items;
      g_autoptr (GVariant) request = NULL;
      guint64 token = ++self->last_token;

      g_variant_builder_init (&items, G_VARIANT_TYPE ("a(say)"));
      g_variant_builder_add (&items, "(s@ay)", key, g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, large, TRUE));
      request = g_variant_ref_sink (g_variant_new_parsed ("{'items': <%*>}", g_variant_builder_end (&items)));
      dvmd_data_store_handle (self->store, token, DVMD_PMIX_DATA_PUBLISH, &one, request);
      status = ((Answer *)g_hash_table_lookup (self->answers, &token))->status;
    }
  g_assert_cmpint (status, ==, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  g_assert_cmpuint (dvmd_data_store_count_items (self->store), ==, 16);
  /* Nor does one answer get larger than a request. */
  g_assert_cmpint (look_up (self, &two, "{'keys': <['key-0']>}"), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (look_up (self, &two, "{'keys': <['key-0', 'key-1']>}"), ==, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  dvmd_data_store_job_ended (self->store, "job@1");
  g_assert_cmpint (publish (self, &one, "{'items': <[('port', b'a')]>}"), ==, DVMD_PMIX_SUCCESS);
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
#undef ADD
  return g_test_run ();
}
