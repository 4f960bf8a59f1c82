/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The library and a DVM that changes its size: calls, signals and lists, with agents that come and go.
 */

#include "config.h"

#include "client-fixture.h"

#include <signal.h>
#include <string.h>

static DvmCampaign *
grow (Fixture *fixture, const char *request, char **alloc_id)
{
  g_autoptr (GError) error = NULL;
  DvmCampaign *campaign = NULL;

  g_assert_true (dvm_client_grow (fixture->client, g_variant_new_parsed (request), NULL, alloc_id, &campaign, &error));
  g_assert_no_error (error);
  return campaign;
}

static void
check_state (DvmCampaign *campaign, DvmCampaignState state)
{
  g_assert_cmpstr (dvm_campaign_state_to_string (dvm_campaign_get_state (campaign)), ==,
                   dvm_campaign_state_to_string (state));
}

/* The lists follow what happens. */
static guint
count (GListModel *list)
{
  return g_list_model_get_n_items (list);
}

static gboolean
has_node (GListModel *nodes, const char *name, DvmNodeState state)
{
  for (guint i = 0; i < count (nodes); i++)
    {
      g_autoptr (DvmNode) node = g_list_model_get_item (nodes, i);

      if (dvm_node_get_rank (node) > 0 && strcmp (dvm_node_get_name (node), name) == 0)
        return dvm_node_get_state (node) == state;
    }
  return FALSE;
}

/* ---- tests ---- */

static void
test_calls (Fixture *fixture, gconstpointer data)
{
  g_autofree char *alloc_id = NULL;
  g_autofree char *same_id = NULL;
  g_autofree char *expected = NULL;
  g_autoptr (DvmCampaign) campaign = grow (fixture, "{'hosts': <['n9']>, 'req-id': <'mine'>}", &alloc_id);
  g_autoptr (DvmCampaign) found = NULL;
  g_autoptr (DvmCampaign) shrink = NULL;
  g_autoptr (DvmSession) session = NULL;
  g_autoptr (GPtrArray) campaigns = NULL;
  g_autoptr (GPtrArray) sessions = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (dvm_campaign_get_kind (campaign), ==, DVM_CAMPAIGN_KIND_GROW);
  g_assert_cmpstr (dvm_campaign_get_alloc_id (campaign), ==, alloc_id);
  g_assert_cmpstr (dvm_campaign_get_request_id (campaign), ==, "mine");
  g_assert_cmpstr (dvm_campaign_get_hosts (campaign)[0], ==, "n9");
  g_assert_true (dvm_client_wait_campaign (fixture->client, campaign, 0, NULL, &error));
  g_assert_no_error (error);
  check_state (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  g_assert_cmpuint (dvm_campaign_get_pending (campaign), ==, 0);
  expected = g_strdup_printf ("ready %s mine {'campaign': <objectpath '%s'>, 'kind': <'grow'>, 'nodes': <['n9']>}",
                              alloc_id, dvm_campaign_get_object_path (campaign));
  g_assert_cmpstr (fixture_get_event (fixture, 0), ==, expected);
  session = dvm_client_find_session (fixture->client, alloc_id, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (dvm_session_get_nodes (session)[0], ==, "n9");
  found = dvm_client_find_campaign (fixture->client, "1", NULL, &error);
  g_assert_no_error (error);
  check_state (found, DVM_CAMPAIGN_STATE_COMPLETED);
  sessions = dvm_client_list_sessions (fixture->client, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (sessions->len, ==, 2);
  g_assert_true (dvm_client_shrink (fixture->client, g_variant_new_parsed ("{'alloc-id': <%s>}", alloc_id), NULL,
                                    &same_id, &shrink, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (same_id, ==, alloc_id);
  g_assert_true (g_str_has_prefix (fixture_get_event (fixture, 1), "ready"));
  campaigns = dvm_client_list_campaigns (fixture->client, TRUE, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (campaigns->len, ==, 2);
  g_assert_cmpuint (fixture->events->len, ==, 2);
}

static void
test_lists (Fixture *fixture, gconstpointer data)
{
  GListModel *nodes = dvm_client_get_nodes (fixture->client);
  GListModel *sessions = dvm_client_get_sessions (fixture->client);
  GListModel *campaigns = dvm_client_get_campaigns (fixture->client);
  g_autofree char *alloc_id = NULL;
  g_autoptr (DvmCampaign) campaign = NULL;
  g_autoptr (GError) error = NULL;

  wait_until (dvm_client_get_loaded (fixture->client));
  g_assert_cmpuint (count (nodes), ==, 2);
  g_assert_cmpuint (count (sessions), ==, 1);
  g_assert_cmpuint (count (campaigns), ==, 0);
  campaign = grow (fixture, "{'hosts': <['n9', 'n10']>}", &alloc_id);
  fixture_get_event (fixture, 0);
  wait_until (has_node (nodes, "n9", DVM_NODE_STATE_UP) && has_node (nodes, "n10", DVM_NODE_STATE_UP));
  wait_until (count (sessions) == 2 && count (campaigns) == 0);
  g_assert_cmpuint (count (nodes), ==, 4);
  g_assert_true (
      dvm_client_shrink (fixture->client, g_variant_new_parsed ("{'hosts': <['n9']>}"), NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  fixture_get_event (fixture, 1);
  wait_until (count (nodes) == 3);
  g_assert_true (has_node (nodes, "n10", DVM_NODE_STATE_UP));
  g_assert_true (dvm_client_shrink (fixture->client, g_variant_new_parsed ("{'alloc-id': <%s>}", alloc_id), NULL, NULL,
                                    NULL, &error));
  g_assert_no_error (error);
  wait_until (count (nodes) == 2 && count (sessions) == 1);
}

static void
on_answer (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Fixture *fixture = user_data;
  g_autofree char *alloc_id = NULL;
  g_autoptr (DvmCampaign) campaign = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_grow_finish (DVM_CLIENT (source), result, &alloc_id, &campaign, &error));
  g_assert_no_error (error);
  g_assert_nonnull (campaign);
  g_ptr_array_add (fixture->events, g_strdup ("answer"));
}

/* However quickly it goes, the answer of the call comes before the signal. */
static void
test_answer_first (Fixture *fixture, gconstpointer data)
{
  for (guint i = 0; i < 10; i++)
    {
      g_autofree char *request = g_strdup_printf ("{'hosts': <['m%u']>}", i);

      dvm_client_grow_async (fixture->client, g_variant_new_parsed (request), NULL, on_answer, fixture);
      g_assert_cmpstr (fixture_get_event (fixture, 2 * i), ==, "answer");
      g_assert_true (g_str_has_prefix (fixture_get_event (fixture, 2 * i + 1), "ready"));
    }
  g_assert_cmpuint (fixture->events->len, ==, 20);
}

static void
test_nothing_changes (Fixture *fixture, gconstpointer data)
{
  g_autofree char *alloc_id = NULL;
  g_autoptr (DvmCampaign) campaign = grow (fixture, "{'hosts': <['node1']>}", &alloc_id);

  g_assert_null (campaign);
  g_assert_cmpstr (alloc_id, !=, "");
}

/* The pid of its agent, which stands still: new nodes are wired when every member knows of them. */
static int
stop_agent (Fixture *fixture, const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmNode) node = dvm_client_find_node (fixture->client, name, NULL, &error);
  int pid;

  g_assert_no_error (error);
  pid = dvm_node_get_pid (node);
  g_assert_cmpint (pid, >, 1);
  g_assert_no_errno (kill (pid, SIGSTOP));
  return pid;
}

static void
test_cancel (Fixture *fixture, gconstpointer data)
{
  g_autofree char *alloc_id = NULL;
  g_autofree char *expected = NULL;
  g_autoptr (DvmCampaign) campaign = NULL;
  g_autoptr (GPtrArray) nodes = NULL;
  g_autoptr (GError) error = NULL;
  int stopped = stop_agent (fixture, "node1");

  campaign = grow (fixture, "{'hosts': <['n9']>}", &alloc_id);
  expected = g_strdup_printf ("failed %s  cancelled", alloc_id);
  g_assert_true (dvm_client_cancel_campaign (fixture->client, campaign, NULL, &error));
  g_assert_no_error (error);
  g_assert_no_errno (kill (stopped, SIGCONT));
  g_assert_true (dvm_client_wait_campaign (fixture->client, campaign, 0, NULL, &error));
  g_assert_no_error (error);
  check_state (campaign, DVM_CAMPAIGN_STATE_FAILED);
  g_assert_cmpstr (dvm_campaign_get_cause (campaign), ==, "cancelled");
  g_assert_cmpstr (fixture_get_event (fixture, 0), ==, expected);
  nodes = dvm_client_list_nodes (fixture->client, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (nodes->len, ==, 2);
}

static void
test_errors (Fixture *fixture, gconstpointer data)
{
  static const char *const wrong[] = { "", "x", "/org/dvm/jobs/1", "-1" };
  g_autoptr (DvmClient) nowhere = dvm_client_new_for_address (fixture->socket);
  g_autoptr (DvmCampaign) campaign = NULL;
  g_autoptr (GVariant) answer = NULL;
  g_autofree char *alloc_id = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_false (
      dvm_client_grow (nowhere, g_variant_new_parsed ("{'hosts': <['n9']>}"), NULL, &alloc_id, &campaign, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_READY);
  g_clear_error (&error);
  g_assert_false (dvm_client_grow (fixture->client, NULL, NULL, &alloc_id, &campaign, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_null (alloc_id);
  g_assert_null (campaign);
  g_clear_error (&error);
  g_assert_false (
      dvm_client_shrink (fixture->client, g_variant_new_parsed ("{'hosts': <['n77']>}"), NULL, NULL, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_clear_error (&error);
  answer = dvm_client_allocate (fixture->client, "sideways", NULL, NULL, &error);
  g_assert_null (answer);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_null (dvm_client_find_campaign (fixture->client, "7", NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_clear_error (&error);
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_assert_null (dvm_client_find_campaign (fixture->client, wrong[i], NULL, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
      g_clear_error (&error);
    }
}

/* The client goes while its grow is under way, and another one waits for that. */
static void
test_client_that_goes (Fixture *fixture, gconstpointer data)
{
  DvmClient *gone = dvm_client_new_for_address (fixture->socket);
  g_autoptr (DvmCampaign) campaign = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_connect (gone, NULL, &error));
  fixture_listen (fixture, gone);
  g_assert_true (dvm_client_grow (gone, g_variant_new_parsed ("{'hosts': <['n9']>}"), NULL, NULL, &campaign, &error));
  g_assert_no_error (error);
  g_object_unref (gone);
  g_assert_true (dvm_client_wait_campaign (fixture->client, campaign, 0, NULL, &error));
  g_assert_no_error (error);
  check_state (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpuint (fixture->events->len, ==, 0);
}

#define add(name, test) g_test_add ("/client-size/" name, Fixture, NULL, fixture_set_up, test, fixture_tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  add ("calls", test_calls);
  add ("lists", test_lists);
  add ("answer-first", test_answer_first);
  add ("nothing-changes", test_nothing_changes);
  add ("cancel", test_cancel);
  add ("errors", test_errors);
  add ("client-that-goes", test_client_that_goes);

  return g_test_run ();
}
