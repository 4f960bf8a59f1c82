/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents are asked what processes and nodes use: a controller with two agents in one process, each with a PMIx server
 * whose clients the test plays. One of the agents may not hear.
 */

#include "config.h"

#include "dvmd-controller-private.h"
#include "engine-fixture.h"
#include "wait-until.h"

typedef struct
{
  EngineFixture engine;
  DvmdJob *job; /* one rank on each node */
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  DvmdControllerSettings settings = { 0 };

  engine_fixture_start (&self->engine, &settings);
  self->job = engine_fixture_run_job (&self->engine);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  engine_fixture_end (&self->engine, TRUE);
  engine_fixture_clear (&self->engine);
}

static const char *
nspace (Fixture *self)
{
  return dvm_job_get_nspace (dvmd_job_get_record (self->job));
}

/* A client of the first node asks: [(word, qualifiers)], in the text form of GVariant. */
static guint64
ask (Fixture *self, const char *questions)
{
  return pmix_fake_call (self->engine.fakes[0], DVMD_CALL_QUERY, nspace (self), 0,
                         g_variant_new ("(@a(sa{sv}))", g_variant_new_parsed (questions)));
}

/* (transfer full): [(status, value)] */
static GVariant *
get_rows (Fixture *self, guint64 token)
{
  GVariant *answer = NULL;
  int status = 0;

  wait_until (pmix_fake_get_allocation (self->engine.fakes[0], token, &status, &answer));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  return g_variant_get_child_value (answer, 0);
}

static void
check_row (GVariant *rows, gsize i, int status, const char *type, gsize n)
{
  g_autoptr (GVariant) value = NULL;
  int found;

  g_variant_get_child (rows, i, "(iv)", &found, &value);
  g_assert_cmpint (found, ==, status);
  g_assert_cmpstr (g_variant_get_type_string (value), ==, type);
  if (n > 0)
    g_assert_cmpuint (g_variant_n_children (value), ==, n);
}

static int
get_only_status (Fixture *self, guint64 token)
{
  g_autoptr (GVariant) rows = get_rows (self, token);
  int status;

  g_assert_cmpuint (g_variant_n_children (rows), ==, 1);
  g_variant_get_child (rows, 0, "(iv)", &status, NULL);
  return status;
}

/* The agents from this one on do not hear of what is asked now. */
static guint64
ask_the_deaf (Fixture *self, guint first, const char *questions)
{
  GHashTable *links = self->engine.controller->links;
  gpointer kept[3] = { NULL };
  guint64 token;

  for (guint rank = first; rank <= 2; rank++)
    g_hash_table_steal_extended (links, GUINT_TO_POINTER (rank), NULL, &kept[rank]);
  token = ask (self, questions);
  wait_until (engine_count (self->engine.controller, "calls-open") == 1);
  for (guint rank = first; rank <= 2; rank++)
    g_hash_table_insert (links, GUINT_TO_POINTER (rank), kept[rank]);
  return token;
}

/* The controller's own answers and those of agents are one, in the order of the questions. */
static void
test_together (Fixture *self, gconstpointer data)
{
  g_autofree char *questions = g_strdup_printf (
      "[('slots', @a{sv} {}), ('node-usage', {}), ('proc-usage', {'nspace': <'%s'>}), ('no-such', {}),"
      " ('proc-usage', {'nspace': <'%s'>, 'rank': <uint32 1>}), ('namespaces', {})]",
      nspace (self), nspace (self));
  g_autoptr (GVariant) rows = get_rows (self, ask (self, questions));

  g_assert_cmpuint (g_variant_n_children (rows), ==, 6);
  check_row (rows, 0, DVMD_PMIX_SUCCESS, "u", 0);
  check_row (rows, 1, DVMD_PMIX_SUCCESS, "aa{sv}", 2);
  check_row (rows, 2, DVMD_PMIX_SUCCESS, "aa{sv}", 2);
  check_row (rows, 3, DVMD_PMIX_ERR_NOT_SUPPORTED, "()", 0);
  check_row (rows, 4, DVMD_PMIX_SUCCESS, "a{sv}", 0);
  check_row (rows, 5, DVMD_PMIX_SUCCESS, "s", 0);
}

/* An agent speaks for itself, once, and while it is asked. */
static void
test_answer_of_another (Fixture *self, gconstpointer data)
{
  DvmdController *controller = self->engine.controller;
  guint64 token = ask_the_deaf (self, 2, "[('node-usage', {'node': <'two'>})]");
  g_autoptr (GVariant) usage = g_variant_ref_sink (g_variant_new_parsed ("(uint64 1, [{'node': <'two'>}])"));
  g_autoptr (GVariant) unknown = g_variant_ref_sink (g_variant_new_parsed ("(uint64 77, @aa{sv} [])"));

  engine_tell (controller, DVMD_MSG_USAGE, 1, usage);
  engine_tell (controller, DVMD_MSG_USAGE, 2, unknown);
  g_assert_cmpuint (engine_count (controller, "calls-open"), ==, 1);
  engine_tell (controller, DVMD_MSG_USAGE, 2, usage);
  g_assert_cmpuint (engine_count (controller, "calls-open"), ==, 0);
  engine_tell (controller, DVMD_MSG_USAGE, 2, usage);
  g_assert_cmpint (get_only_status (self, token), ==, DVMD_PMIX_SUCCESS);
}

/* Where one process or node was asked for there is one, or none. */
static void
test_nothing_measured (Fixture *self, gconstpointer data)
{
  guint64 token = ask_the_deaf (self, 2, "[('node-usage', {'node': <'two'>})]");
  g_autoptr (GVariant) usage = g_variant_ref_sink (g_variant_new_parsed ("(uint64 1, @aa{sv} [])"));

  engine_tell (self->engine.controller, DVMD_MSG_USAGE, 2, usage);
  g_assert_cmpint (get_only_status (self, token), ==, DVMD_PMIX_ERR_NOT_FOUND);
}

/* More than an answer may have: the others are not waited for. */
static void
test_too_much (Fixture *self, gconstpointer data)
{
  guint64 token = ask_the_deaf (self, 1, "[('node-usage', @a{sv} {})]");
  g_autofree char *text = g_strnfill (16 * 1024 * 1024, 'x');
  g_autoptr (GVariant) usage = g_variant_ref_sink (g_variant_new_parsed ("(uint64 1, [{'node': <%s>}])", text));

  engine_tell (self->engine.controller, DVMD_MSG_USAGE, 2, usage);
  g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
  g_assert_cmpint (get_only_status (self, token), ==, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
}

static void
test_lost_node (Fixture *self, gconstpointer data)
{
  guint64 token = ask_the_deaf (self, 2, "[('node-usage', @a{sv} {})]");

  dvmd_services_agent_gone (self->engine.controller, 2);
  g_assert_cmpint (get_only_status (self, token), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
}

/* The agent of who has asked is gone, and then the one that was asked. */
static void
test_asker_gone (Fixture *self, gconstpointer data)
{
  ask_the_deaf (self, 2, "[('node-usage', @a{sv} {})]");
  dvmd_services_agent_gone (self->engine.controller, 1);
  g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
  dvmd_services_agent_gone (self->engine.controller, 2);
}

/* The DVM ends before the answer. */
static void
test_end (Fixture *self, gconstpointer data)
{
  ask_the_deaf (self, 2, "[('node-usage', @a{sv} {})]");
}

/* ---- the kernel that does not answer ---- */

static GMutex gate;
static GCond moved;
static guint allowed = G_MAXUINT; /* measurements of nodes that may come to their end */
static guint n_begun;
static guint n_ended;

void __real_dvmd_usage_add_node (GVariantBuilder *fields, const char *proc);
void __wrap_dvmd_usage_add_node (GVariantBuilder *fields, const char *proc);

void
__wrap_dvmd_usage_add_node (GVariantBuilder *fields, const char *proc)
{
  g_mutex_lock (&gate);
  n_begun++;
  g_main_context_wakeup (NULL);
  while (n_ended >= allowed)
    g_cond_wait (&moved, &gate);
  n_ended++;
  g_mutex_unlock (&gate);
  __real_dvmd_usage_add_node (fields, proc);
}

static void
allow (guint n)
{
  g_mutex_lock (&gate);
  if (n == 0)
    n_begun = n_ended = 0;
  allowed = n;
  g_cond_broadcast (&moved);
  g_mutex_unlock (&gate);
}

static guint
count_begun (void)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gate);

  return n_begun;
}

/* An agent measures one after another. */
static void
test_one_at_a_time (Fixture *self, gconstpointer data)
{
  guint64 tokens[5];

  allow (0);
  for (guint i = 0; i < G_N_ELEMENTS (tokens); i++)
    tokens[i] = ask (self, "[('node-usage', {'node': <'two'>})]");
  for (guint i = 0; i < G_N_ELEMENTS (tokens); i++)
    {
      wait_until (count_begun () > i);
      g_assert_cmpuint (count_begun (), ==, i + 1);
      allow (i + 1);
      g_assert_cmpint (get_only_status (self, tokens[i]), ==, DVMD_PMIX_SUCCESS);
    }
  allow (G_MAXUINT);
}

/* Requests that have waited for their time are not measured any more; later ones are, when the kernel has answered. */
static void
test_late (Fixture *self, gconstpointer data)
{
  guint64 tokens[3];
  guint64 last;

  allow (0);
  for (guint i = 0; i < G_N_ELEMENTS (tokens); i++)
    tokens[i] = ask (self, "[('node-usage', {'node': <'two'>})]");
  for (guint i = 0; i < G_N_ELEMENTS (tokens); i++)
    g_assert_cmpint (get_only_status (self, tokens[i]), ==, DVMD_PMIX_ERR_TIMEOUT);
  last = ask (self, "[('node-usage', {'node': <'two'>})]");
  wait_until (engine_count (self->engine.controller, "calls-open") == 1);
  allow (G_MAXUINT);
  g_assert_cmpint (get_only_status (self, last), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpuint (count_begun (), ==, 2);
}

/* A query has so many questions at most. */
static void
test_many_questions (Fixture *self, gconstpointer data)
{
  for (guint n = DVMD_PMIX_MOST_QUESTIONS; n <= DVMD_PMIX_MOST_QUESTIONS + 1; n++)
    {
      g_autoptr (GString) questions = g_string_new ("[('slots', @a{sv} {})");
      GVariant *answer = NULL;
      int status = 0;
      guint64 token;

      for (guint i = 1; i < n; i++)
        g_string_append (questions, ", ('slots', {})");
      g_string_append_c (questions, ']');
      token = ask (self, questions->str);
      wait_until (pmix_fake_get_allocation (self->engine.fakes[0], token, &status, &answer));
      g_assert_cmpint (status, ==, n > DVMD_PMIX_MOST_QUESTIONS ? DVMD_PMIX_ERR_OUT_OF_RESOURCE : DVMD_PMIX_SUCCESS);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, func) g_test_add ("/engine-usage/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("together", test_together);
  ADD ("answer-of-another", test_answer_of_another);
  ADD ("nothing-measured", test_nothing_measured);
  ADD ("too-much", test_too_much);
  ADD ("lost-node", test_lost_node);
  ADD ("asker-gone", test_asker_gone);
  ADD ("end", test_end);
  ADD ("one-at-a-time", test_one_at_a_time);
  ADD ("late", test_late);
  ADD ("many-questions", test_many_questions);
#undef ADD
  return g_test_run ();
}
