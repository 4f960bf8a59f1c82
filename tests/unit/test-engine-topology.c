/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The controller knows the hardware of its nodes: one agent tells it for all nodes that are alike, and processes are
 * bound by that.
 */

#include "config.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "dvm-node-private.h"
#include "dvmd-admission.h"
#include "dvmd-controller-map.h"
#include "dvmd-controller-jobs.h"
#include "dvmd-controller-private.h"
#include "dvmd-device-claims.h"
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
               g_variant_new ("(tss)", (guint64)0, xml, "it is a test"));
}

static void
answer_with_local (Fixture *self)
{
  g_autoptr (DvmdTopology) topology = dvmd_topology_new_local (NULL);
  g_autofree char *xml = dvmd_topology_dup_xml (topology, NULL);

  answer (self, 1, xml);
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

/* ---- a mapper that puts all processes on the first hardware thread ---- */

typedef struct
{
  DvmdMapper parent_instance;
} Crowd;

typedef DvmdMapperClass CrowdClass;

GType crowd_get_type (void);
G_DEFINE_TYPE (Crowd, crowd, DVMD_TYPE_MAPPER)

static DvmdPluginVerdict
crowd_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  const DvmdPlacementRun run = { .count = request->app_np[0], .stride = 1, .kind = DVMD_OBJECT_HWTHREAD };

  dvmd_placement_add_run (placement, &run);
  return DVMD_PLUGIN_DONE;
}

static void
crowd_class_init (CrowdClass *klass)
{
  klass->map = crowd_map;
}

static void
crowd_init (Crowd *self)
{
}

static const char *const crowd_words[] = { "crowd", NULL };
static const DvmdPluginInfo crowd_info = {
  .name = "crowd",
  .words = crowd_words,
  .rankings = DVMD_RANK_BY_SLOT,
  .bindings = DVMD_BIND_TO_HWTHREAD | DVMD_BIND_OVERLOAD,
};

static DvmdJob *
submit (Fixture *self, guint np, const char *map_by, const char *bind_to)
{
  const char *argv[] = { "/bin/true", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autoptr (GError) error = NULL;
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), np);
  dvm_job_spec_set_map_by (spec, map_by);
  dvm_job_spec_set_bind_to (spec, bind_to);
  dvm_job_spec_set_personality (spec, "plain");
  job = dvmd_controller_submit (self->engine.controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  return job;
}

static DvmdJob *
submit_crowd (Fixture *self, const char *bind_to)
{
  DvmdJob *job = submit (self, 2, "crowd", bind_to);

  wait_until (dvmd_controller_job_is_finished (self->engine.controller, job));
  return job;
}

/* Cpus are found after the mapper has answered: when there are none, the job is not mapped, and says why. */
static void
test_not_bound (Fixture *self, gconstpointer data)
{
  DvmdController *controller = self->engine.controller;
  GPtrArray *mappers = dvmd_plugins_get_active (dvmd_controller_get_parts (controller)->plugins, DVMD_PLUGIN_MAPPER);
  DvmdJob *job;

  g_ptr_array_add (mappers, g_object_new (crowd_get_type (), "info", &crowd_info, NULL));
  answer_with_local (self);
  job = submit_crowd (self, "hwthread");
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_MAP_FAILED);
  g_assert_nonnull (
      strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "node one: bind-to: 1 of the node's 2 processes"));
  job = submit_crowd (self, "hwthread:overload-allowed");
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
}

/* ---- devices ---- */

typedef struct
{
  DvmdController *controller;
  DvmdJob *job;
  guint n_early; /* times that the job had its place and no map yet */
} Look;

static void
look_at_devices (DvmJob *record, DvmJobState old, DvmJobState state, const char *reason, Look *self)
{
  g_auto (GStrv) devices = dvmd_controller_list_devices (self->controller, 1);

  g_assert_cmpuint (g_strv_length (devices), >, 0);
  self->n_early += dvmd_admission_get_claims (self->job) != NULL && dvmd_job_get_map (self->job) == NULL;
}

/* A node's devices may be asked for at any time, also while a job has claimed some and has no processes. */
static void
test_devices_before_map (Fixture *self, gconstpointer data)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "offline", "machines", "gpus.xml", NULL);
  g_autofree char *xml = NULL;
  g_autoptr (GError) error = NULL;
  Look look = { .controller = self->engine.controller };

  g_file_get_contents (path, &xml, NULL, &error);
  g_assert_no_error (error);
  answer (self, 1, xml);
  look.job = submit (self, 1, "device=gpu", "none");
  g_signal_connect (dvmd_job_get_record (look.job), "state-changed", G_CALLBACK (look_at_devices), &look);
  wait_until (dvmd_controller_job_is_finished (self->engine.controller, look.job));
  g_signal_handlers_disconnect_by_data (dvmd_job_get_record (look.job), &look);
  g_assert_cmpuint (look.n_early, >, 0);
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
  add ("/engine-topology/not-bound", test_not_bound);
  add ("/engine-topology/devices-before-map", test_devices_before_map);
  return g_test_run ();
}
