/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the controller knows of the hardware of its nodes: one agent tells it for all nodes that are alike.
 */

#include "config.h"

#include <signal.h>
#include <string.h>

#include "dvm-node-private.h"
#include "dvmd-controller-map.h"
#include "dvmd-controller-private.h"
#include "dvmd-services.h"
#include "engine-fixture.h"
#include "wait-until.h"

typedef struct
{
  EngineFixture engine;
  guint n_complaints;
} Fixture;

/* A topology that the controller has not been told of, of both nodes. */
#define SIGNATURE "alike"

static void
count_complaint (const char *domain, GLogLevelFlags level, const char *message, gpointer user_data)
{
  ((Fixture *)user_data)->n_complaints += strstr (message, SIGNATURE) != NULL;
}

static void
set_up (Fixture *self, gconstpointer data)
{
  DvmdControllerSettings settings = { 0 };
  DvmdNode *node = NULL;

  engine_fixture_start (&self->engine, &settings);
  while ((node = dvmd_node_pool_next (dvmd_core_get_nodes (dvmd_controller_get_core (self->engine.controller)), node))
         != NULL)
    _dvm_node_set_topology (node->record, SIGNATURE);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  engine_fixture_end (&self->engine, TRUE);
  engine_fixture_clear (&self->engine);
}

static gboolean
is_known (Fixture *self)
{
  return dvmd_controller_find_topology (self->engine.controller, 2) != NULL;
}

static void
answer (Fixture *self, guint rank, const char *xml)
{
  engine_tell (self->engine.controller, DVMD_MSG_TOPOLOGY, rank,
               g_variant_ref_sink (g_variant_new ("(tss)", (guint64)0, xml, "it is a test")));
}

/* The first agent is asked, and does not hear of it; the second one stands for the same. */
static void
ask_first (Fixture *self)
{
  DvmdController *controller = self->engine.controller;
  gpointer link;

  g_assert_true (g_hash_table_steal_extended (controller->links, GUINT_TO_POINTER (1), NULL, &link));
  dvmd_services_agent_reported (controller, 1);
  g_hash_table_insert (controller->links, GUINT_TO_POINTER (1), link);
  dvmd_services_agent_reported (controller, 2);
  g_assert_false (is_known (self));
}

static void
test_asked_agent_gone (Fixture *self, gconstpointer data)
{
  ask_first (self);
  dvmd_services_agent_gone (self->engine.controller, 1);
  wait_until (is_known (self));
}

static void
test_asked_agent_fails (Fixture *self, gconstpointer data)
{
  ask_first (self);
  answer (self, 1, "");
  wait_until (is_known (self));
}

/* When no agent is left that could be asked, the next one that comes is. */
static void
test_next_agent (Fixture *self, gconstpointer data)
{
  DvmdController *controller = self->engine.controller;
  DvmdNode *second = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_controller_get_core (controller)), 2);

  _dvm_node_set_topology (second->record, "");
  ask_first (self);
  dvmd_services_agent_gone (controller, 1);
  _dvm_node_set_topology (second->record, SIGNATURE);
  dvmd_services_agent_reported (controller, 2);
  wait_until (is_known (self));
}

/* An XML that is of no use is read once. */
static void
test_no_xml (Fixture *self, gconstpointer data)
{
  guint handler = g_log_set_handler ("dvmd-controller", G_LOG_LEVEL_MESSAGE, count_complaint, self);

  ask_first (self);
  answer (self, 1, "this is no XML");
  for (guint i = 0; i < 3; i++)
    g_assert_false (is_known (self));
  g_log_remove_handler ("dvmd-controller", handler);
  g_assert_cmpuint (self->n_complaints, ==, 1);
}

static void
add (const char *path, void (*test) (Fixture *, gconstpointer))
{
  g_test_add (path, Fixture, NULL, set_up, test, tear_down);
}

int
main (int argc, char **argv)
{
  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  add ("/engine-topology/asked-agent-gone", test_asked_agent_gone);
  add ("/engine-topology/asked-agent-fails", test_asked_agent_fails);
  add ("/engine-topology/next-agent", test_next_agent);
  add ("/engine-topology/no-xml", test_no_xml);
  return g_test_run ();
}
