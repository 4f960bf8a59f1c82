/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes that do not come when the DVM starts, in the pure core.
 */

#include "config.h"

#include "core-world.h"

static void
start (World *world, guint n_nodes, gboolean allow_missing)
{
  DvmdCoreSettings settings = {
    .nspace = "dvm-test",
    .host = "head",
    .history_limit = 3,
    .allow_missing = allow_missing,
    .uid = 1000,
  };

  world_init_with (world, n_nodes, 2, &settings);
}

static void
fail (World *world, guint rank, const char *reason)
{
  dvmd_core_agent_ended (world->core, rank, DVMD_AGENT_FAILED, DVMD_CAUSE_LAUNCH, reason);
  run (world);
}

static DvmdNode *
node (World *world, guint rank)
{
  return dvmd_node_pool_get (dvmd_core_get_nodes (world->core), rank);
}

static gboolean
is_wiring (World *world)
{
  return strstr (world->log->str, "wire 0:") != NULL;
}

static void
on_changed (DvmdCore *core, guint *reported)
{
  *reported = dvmd_core_get_nodes_reported (core);
}

/* A start that waits for others shows each node as soon as it has come. */
static void
test_told_at_once (void)
{
  g_auto (World) world = { 0 };
  guint reported = 0;

  start (&world, 3, FALSE);
  g_signal_connect (world.core, "changed", G_CALLBACK (on_changed), &reported);
  report (&world, 1);
  g_assert_cmpuint (reported, ==, 1);
  report (&world, 2);
  g_assert_cmpuint (reported, ==, 2);
  g_signal_handlers_disconnect_by_func (world.core, on_changed, &reported);
}

/* It ends when every node has come or failed, and the reason names each of those that failed. */
static void
test_refused (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *kept;

  start (&world, 5, FALSE);
  kept = submit (&world, 2);
  fail (&world, 2, "node2: unreachable: no route to host");
  report (&world, 1);
  fail (&world, 4, "timeout: its agent has not started within 30 s");
  fail (&world, 3, "unreachable: no route to host");
  /* A node that has failed already is not waited for. */
  fail (&world, 3, "something else");
  g_assert_cmpstr (strstr (world.log->str, "stop"), ==, NULL);
  report (&world, 5);
  run (&world);
  assert_state (kept, DVM_JOB_STATE_NEVER_LAUNCHED);
  g_assert_true (g_str_has_suffix (world.log->str, "stop forced\n"));
  g_assert_cmpuint (dvmd_core_get_nodes_expected (world.core), ==, 5);
  g_assert_cmpuint (dvmd_core_get_nodes_reported (world.core), ==, 2);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  dvmd_core_agent_ended (world.core, 5, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_cmpuint (world.n_ended, ==, 1);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_FAILED_TO_LAUNCH);
  g_assert_cmpstr (world.end_reason, ==,
                   "3 of the 5 nodes of the DVM did not come: node2, node3: unreachable: no route to host; node4: "
                   "timeout: its agent has not started within 30 s");
}

static void
test_only_node (void)
{
  g_auto (World) world = { 0 };

  start (&world, 1, TRUE);
  fail (&world, 1, "no topology");
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_FAILED_TO_LAUNCH);
  g_assert_cmpstr (world.end_reason, ==, "The node of the DVM did not come: node1: no topology");
}

/* Where it is allowed the DVM comes up with those that are there. */
static void
test_allowed (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  start (&world, 3, TRUE);
  job = submit (&world, 4);
  report (&world, 1);
  fail (&world, 2, "refused");
  g_assert_false (is_wiring (&world));
  report (&world, 3);
  run (&world);
  assert_log (&world, "agents 3\nwire 0: 1 3\n");
  wired (&world, NULL);
  g_assert_true (world.ready);
  g_assert_cmpint (dvm_node_get_state (node (&world, 1)->record), ==, DVM_NODE_STATE_UP);
  g_assert_cmpint (dvm_node_get_state (node (&world, 2)->record), ==, DVM_NODE_STATE_DOWN);
  g_assert_cmpstr (dvm_node_get_reason (node (&world, 2)->record), ==, "refused");
  g_assert_cmpuint (dvmd_node_pool_count_up (dvmd_core_get_nodes (world.core)), ==, 2);
  g_assert_cmpuint (dvmd_node_pool_count_slots (dvmd_core_get_nodes (world.core)), ==, 4);
  g_assert_cmpuint (dvmd_core_get_nodes_expected (world.core), ==, 3);
  g_assert_cmpuint (dvmd_core_get_nodes_reported (world.core), ==, 2);
  /* Too late. */
  report (&world, 2);
  run (&world);
  g_assert_cmpint (dvm_node_get_state (node (&world, 2)->record), ==, DVM_NODE_STATE_DOWN);
  g_assert_cmpuint (dvmd_core_get_nodes_reported (world.core), ==, 2);
  run_to_end (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
  dvmd_core_shutdown (world.core, FALSE, "enough");
  run (&world);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  dvmd_core_agent_ended (world.core, 3, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_DAEMONS_TERMINATED);
}

/* A list of thousands hides the cause. */
static void
test_many (void)
{
  g_auto (World) world = { 0 };

  start (&world, 30, TRUE);
  for (guint rank = 1; rank <= 30; rank++)
    fail (&world, rank, "refused");
  g_assert_cmpstr (world.end_reason, ==, "30 of the 30 nodes of the DVM did not come: node[1-30]: refused");
}

static void
test_nobody (void)
{
  g_auto (World) world = { 0 };

  start (&world, 2, TRUE);
  fail (&world, 2, "refused");
  fail (&world, 1, "refused");
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_FAILED_TO_LAUNCH);
  g_assert_cmpstr (world.end_reason, ==, "2 of the 2 nodes of the DVM did not come: node1, node2: refused");
}

/* One that has reported and is lost before the DVM is ready has not come. */
static void
test_lost_again (gconstpointer data)
{
  gboolean allowed = GPOINTER_TO_UINT (data);
  g_auto (World) world = { 0 };

  start (&world, 3, allowed);
  report (&world, 1);
  report (&world, 2);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  run (&world);
  g_assert_cmpuint (dvmd_core_get_nodes_reported (world.core), ==, 1);
  g_assert_false (is_wiring (&world));
  report (&world, 3);
  run (&world);
  if (!allowed)
    {
      g_assert_true (g_str_has_suffix (world.log->str, "stop forced\n"));
      return;
    }
  wired (&world, NULL);
  g_assert_true (world.ready);
  g_assert_cmpuint (dvmd_node_pool_count_up (dvmd_core_get_nodes (world.core)), ==, 2);
}

/* The same while the agents are told of each other. */
static void
test_lost_while_wiring (gconstpointer data)
{
  gboolean allowed = GPOINTER_TO_UINT (data);
  g_auto (World) world = { 0 };

  start (&world, 3, allowed);
  report_all (&world);
  assert_log (&world, "agents 3\nwire 0: 1 2 3\n");
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  run (&world);
  if (!allowed)
    {
      wired (&world, NULL);
      g_assert_false (world.ready);
      dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
      dvmd_core_agent_ended (world.core, 3, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
      run (&world);
      g_assert_cmpstr (world.end_reason, ==, "1 of the 3 nodes of the DVM did not come: node2: connection closed");
      return;
    }
  assert_log (&world, "");
  g_assert_false (world.ready);
  wired (&world, NULL);
  g_assert_true (world.ready);
  g_assert_cmpuint (dvmd_node_pool_count_up (dvmd_core_get_nodes (world.core)), ==, 2);
}

/* And in the moment between the last answer and the turn that is ready by it. */
static void
test_lost_at_last (gconstpointer data)
{
  gboolean allowed = GPOINTER_TO_UINT (data);
  g_auto (World) world = { 0 };

  start (&world, 2, allowed);
  report_all (&world);
  dvmd_core_agents_wired (world.core, NULL);
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  run (&world);
  g_assert_true (world.ready == allowed);
  g_assert_true (dvmd_core_get_ready (world.core) == allowed);
  g_assert_cmpuint (dvmd_node_pool_count_up (dvmd_core_get_nodes (world.core)), ==, allowed ? 1 : 0);
}

/* An end of the DVM that comes in between waits for those that may still come. */
static void
test_shutdown (void)
{
  g_auto (World) world = { 0 };

  start (&world, 3, FALSE);
  report (&world, 1);
  fail (&world, 2, "refused");
  dvmd_core_shutdown (world.core, FALSE, "enough");
  run (&world);
  g_assert_true (g_str_has_suffix (world.log->str, "stop\n"));
  fail (&world, 3, "it was told to end");
  g_assert_false (world.ended);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_cmpuint (world.n_ended, ==, 1);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_DAEMONS_TERMINATED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/core-start/told-at-once", test_told_at_once);
  g_test_add_func ("/core-start/refused", test_refused);
  g_test_add_func ("/core-start/only-node", test_only_node);
  g_test_add_func ("/core-start/allowed", test_allowed);
  g_test_add_func ("/core-start/nobody", test_nobody);
  g_test_add_func ("/core-start/many", test_many);
  g_test_add_data_func ("/core-start/lost-again", GUINT_TO_POINTER (FALSE), test_lost_again);
  g_test_add_data_func ("/core-start/lost-again/allowed", GUINT_TO_POINTER (TRUE), test_lost_again);
  g_test_add_data_func ("/core-start/lost-while-wiring", GUINT_TO_POINTER (FALSE), test_lost_while_wiring);
  g_test_add_data_func ("/core-start/lost-while-wiring/allowed", GUINT_TO_POINTER (TRUE), test_lost_while_wiring);
  g_test_add_data_func ("/core-start/lost-at-last", GUINT_TO_POINTER (FALSE), test_lost_at_last);
  g_test_add_data_func ("/core-start/lost-at-last/allowed", GUINT_TO_POINTER (TRUE), test_lost_at_last);
  g_test_add_func ("/core-start/shutdown", test_shutdown);
  return g_test_run ();
}
