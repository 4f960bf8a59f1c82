/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A controller with seven agents in one process, and their fences over a tree of radix 2. The links of the tree are
 * queues; the clients of the PMIx servers are played by the test.
 */

#include "config.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "dvmd-agent-services.h"
#include "dvmd-controller-fences.h"
#include "dvmd-embed.h"
#include "pmix-fake.h"
#include "dvmd-remove-tree.h"
#include "dvmd-tree.h"
#include "engine-fixture.h"
#include "wait-until.h"

#define N_AGENTS 7

typedef struct _Fixture Fixture;

typedef struct
{
  Fixture *fixture;
  guint32 rank;
  DvmdTree *tree;
  guint n_gathers; /* packets that came */
  gboolean dead;
} Daemon;

typedef enum
{
  LINK_UP,
  LINK_DOWN,
  LINK_FAILED, /* to come */
  PACKET,
} What;

typedef struct
{
  What what;
  guint32 from;
  guint32 to;
  DvmdPacket *packet;
} Event;

struct _Fixture
{
  char *dir;
  PmixFake *fakes[N_AGENTS];
  DvmdPmix *pmix[N_AGENTS];
  DvmdEmbedding embedding;
  GObject *agents[N_AGENTS]; /* unowned */
  DvmdController *controller;
  DvmdClock *clock;
  Daemon daemons[N_AGENTS + 1];
  GQueue events; /* Event */
  guint idle;
  gboolean ready;
  gboolean ended;
};

static void
on_ready (DvmdController *controller, gpointer user_data)
{
  ((Fixture *)user_data)->ready = TRUE;
}

static void
on_ended (DvmdController *controller, guint state, const char *reason, gpointer user_data)
{
  ((Fixture *)user_data)->ended = TRUE;
}

/* ---- the tree ---- */

static void
event_free (gpointer data)
{
  Event *event = data;

  g_clear_pointer (&event->packet, dvmd_packet_unref);
  g_free (event);
}

static gboolean
on_idle (gpointer user_data)
{
  Fixture *self = user_data;
  Event *event = g_queue_pop_head (&self->events);
  Daemon *daemon;

  if (event == NULL)
    {
      self->idle = 0;
      return G_SOURCE_REMOVE;
    }
  daemon = &self->daemons[event->to];
  if (daemon->dead || (self->daemons[event->from].dead && event->what != LINK_FAILED))
    g_debug ("Daemon %u is dead, or %u", event->to, event->from);
  else if (event->what == LINK_FAILED)
    dvmd_tree_connect_failed (daemon->tree, event->from);
  else if (event->what == LINK_DOWN)
    dvmd_tree_link_down (daemon->tree, event->from);
  else if (event->what == LINK_UP)
    dvmd_tree_link_up (daemon->tree, event->from);
  else
    {
      daemon->n_gathers += event->packet->type == DVMD_PACKET_GATHER;
      dvmd_tree_receive (daemon->tree, event->from, event->packet);
    }
  event_free (event);
  return G_SOURCE_CONTINUE;
}

static void
add_event (Fixture *self, What what, guint32 from, guint32 to, DvmdPacket *packet)
{
  Event *event = g_new0 (Event, 1);

  *event = (Event){ what, from, to, packet != NULL ? dvmd_packet_ref (packet) : NULL };
  g_queue_push_tail (&self->events, event);
  if (self->idle == 0)
    self->idle = g_idle_add (on_idle, self);
}

static void
tree_send (gpointer world, guint32 neighbour, DvmdPacket *packet)
{
  Daemon *self = world;

  add_event (self->fixture, PACKET, self->rank, neighbour, packet);
}

static void
tree_connect (gpointer world, guint32 rank)
{
  Daemon *self = world;

  What what = self->fixture->daemons[rank].dead ? LINK_FAILED : LINK_UP;

  add_event (self->fixture, what, rank, self->rank, NULL);
  if (what == LINK_UP)
    add_event (self->fixture, what, self->rank, rank, NULL);
}

static void
tree_disconnect (gpointer world, guint32 rank)
{
  Daemon *self = world;

  add_event (self->fixture, LINK_DOWN, self->rank, rank, NULL);
}

static void
tree_deliver (gpointer world, guint32 source, guint16 kind, GVariant *body)
{
  g_assert_not_reached ();
}

static DvmdAgent *
get_agent (Fixture *self, guint32 rank)
{
  return DVMD_AGENT (self->agents[rank - 1]);
}

static void
tree_deliver_broadcast (gpointer world, guint64 number, guint16 kind, GVariant *body)
{
  Daemon *self = world;
  g_autoptr (DvmdMessage) message = NULL;

  g_assert_cmpuint (kind, ==, DVMD_MSG_FENCE_RESULT);
  g_assert_true (g_variant_is_of_type (body, dvmd_message_kind_type (kind)));
  if (self->rank == 0)
    return;
  message = dvmd_message_new (kind, 0, self->rank, body);
  g_assert_true (dvmd_agent_services_handle (get_agent (self->fixture, self->rank), message));
}

static void
tree_completed (gpointer world, guint64 number)
{
}

static void
tree_routes_changed (gpointer world, DvmdRoutes *old_routes, DvmdRoutes *routes)
{
}

static void
tree_lost (gpointer world, guint32 rank, guint32 reporter)
{
}

static void
tree_gone (gpointer world)
{
  g_assert_not_reached ();
}

/* A daemon whose parent goes looks for another one, and finds it. */
static void
tree_cut_off (gpointer world, gint64 since)
{
}

static void
tree_way_found (gpointer world)
{
}

static GVariant *
tree_merge (gpointer world, const char *key, GPtrArray *parts)
{
  return dvmd_fence_merge (parts);
}

static void
tree_gathered (gpointer world, const char *key, GVariant *result)
{
  Daemon *self = world;

  dvmd_controller_gathered (self->fixture->controller, key, result);
}

static const DvmdTreeFuncs tree_funcs = {
  .send = tree_send,
  .connect = tree_connect,
  .disconnect = tree_disconnect,
  .deliver = tree_deliver,
  .deliver_broadcast = tree_deliver_broadcast,
  .completed = tree_completed,
  .routes_changed = tree_routes_changed,
  .lost = tree_lost,
  .cut_off = tree_cut_off,
  .way_found = tree_way_found,
  .leave = tree_gone,
  .expelled = tree_gone,
  .merge = tree_merge,
  .gathered = tree_gathered,
};

static void
fence_contribute (gpointer world, const char *key, const guint32 *agents, guint n_agents, GVariant *part)
{
  dvmd_tree_contribute (((Daemon *)world)->tree, key, agents, n_agents, part);
}

static void
fence_close (gpointer world, const char *key)
{
  dvmd_tree_close_gather (((Daemon *)world)->tree, key);
}

static void
fence_close_all (gpointer world, const char *prefix)
{
  dvmd_tree_close_gathers (((Daemon *)world)->tree, prefix);
}

static void
fence_broadcast (gpointer world, DvmdMessageKind kind, GVariant *body)
{
  dvmd_tree_broadcast (((Daemon *)world)->tree, (guint16)kind, body);
}

static gboolean
fence_suits (gpointer world, guint n_agents)
{
  return n_agents > 2;
}

static const DvmdFenceTree fence_tree = {
  .contribute = fence_contribute,
  .close = fence_close,
  .close_all = fence_close_all,
  .broadcast = fence_broadcast,
  .suits = fence_suits,
};

static void
make_trees (Fixture *self)
{
  guint32 ranks[N_AGENTS];

  self->clock = dvmd_clock_new_real (NULL);
  for (guint32 rank = 0; rank <= N_AGENTS; rank++)
    {
      Daemon *daemon = &self->daemons[rank];

      *daemon = (Daemon){ .fixture = self, .rank = rank };
      daemon->tree = dvmd_tree_new (rank, 2, self->clock, &tree_funcs, daemon);
      if (rank == 0)
        {
          dvmd_controller_set_fence_tree (self->controller, &fence_tree, daemon);
          continue;
        }
      dvmd_agent_set_fence_tree (get_agent (self, rank), &fence_tree, daemon);
      dvmd_tree_link_up (self->daemons[0].tree, rank);
      dvmd_tree_link_up (daemon->tree, 0);
      ranks[rank - 1] = rank;
    }
  dvmd_tree_change (self->daemons[0].tree, ranks, N_AGENTS, NULL, 0, DVMD_LEFT_LOST);
  for (guint32 rank = 1; rank <= N_AGENTS; rank++)
    wait_until (dvmd_tree_is_settled (self->daemons[rank].tree));
}

static GObject *
embed (const DvmdEmbeddedAgent *description, gpointer data, GError **error)
{
  Fixture *self = data;
  GObject *agent = dvmd_embed_agent (description, &self->embedding, error);

  self->agents[description->rank - 1] = agent;
  return agent;
}

static void
set_up (Fixture *self, gconstpointer data)
{
  const char *nodes[] = { "one", "two", "three", "four", "five", "six", "seven", NULL };
  DvmdControllerSettings settings = { 0 };

  self->dir = g_dir_make_tmp ("dvm-fences-XXXXXX", NULL);
  for (guint i = 0; i < N_AGENTS; i++)
    {
      self->fakes[i] = pmix_fake_new ();
      self->pmix[i] = DVMD_PMIX (self->fakes[i]);
    }
  settings.runtime_dir = self->dir;
  settings.shape.slots = 2;
  settings.history_limit = 10;
  settings.kill_grace = G_USEC_PER_SEC / 5;
  settings.shape.nodes = nodes;
  self->embedding = (DvmdEmbedding){ .pmix = self->pmix, .n_pmix = N_AGENTS };
  settings.embed = embed;
  settings.embed_data = self;
  self->controller = dvmd_controller_new (&settings, NULL);
  g_signal_connect (self->controller, "ready", G_CALLBACK (on_ready), self);
  g_signal_connect (self->controller, "ended", G_CALLBACK (on_ended), self);
  dvmd_controller_start (self->controller);
  wait_until (self->ready);
  make_trees (self);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  dvmd_controller_shutdown (self->controller, FALSE, "the test is over");
  wait_until (self->ended);
  wait_until (self->events.length == 0);
  g_object_unref (self->controller);
  for (guint i = 0; i <= N_AGENTS; i++)
    dvmd_tree_free (self->daemons[i].tree);
  for (guint i = 0; i < N_AGENTS; i++)
    g_object_unref (self->fakes[i]);
  if (self->idle != 0)
    g_source_remove (self->idle);
  g_queue_clear_full (&self->events, event_free);
  dvmd_clock_unref (self->clock);
  g_assert_true (dvmd_remove_tree (self->dir, NULL));
  g_free (self->dir);
}

/* ---- jobs and fences ---- */

static const char *
nspace_of (DvmdJob *job)
{
  return dvm_job_get_nspace (dvmd_job_get_record (job));
}

static DvmdJob *
submit_spec (Fixture *self, guint np, const char *script, gboolean recoverable)
{
  const char *argv[] = { "/bin/sh", "-c", script, NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autoptr (GError) error = NULL;
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), np);
  dvm_job_spec_set_map_by (spec, "node");
  dvm_job_spec_set_personality (spec, "pmix");
  dvm_job_spec_set_recoverable (spec, recoverable);
  job = dvmd_controller_submit (self->controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  wait_until (dvmd_job_get_state (job) >= DVM_JOB_STATE_RUNNING);
  /* One of them is enough, and has finalized so that nobody looks after its connection. */
  dvmd_pmix_host_connected (pmix_fake_get_host (self->fakes[0]), nspace_of (job), 0);
  dvmd_pmix_host_finalized (pmix_fake_get_host (self->fakes[0]), nspace_of (job), 0);
  wait_until (dvm_job_get_num_registered (dvmd_job_get_record (job)) == 1);
  return job;
}

static DvmdJob *
submit (Fixture *self, guint np, const char *script)
{
  return submit_spec (self, np, script, FALSE);
}

static guint64
fence (Fixture *self, DvmdJob *job, guint agent, const char *text)
{
  DvmdPmixProc everybody = { .nspace = nspace_of (job), .rank = DVMD_PMIX_RANK_WILDCARD };
  g_autoptr (GBytes) data = g_bytes_new (text, strlen (text));

  return pmix_fake_fence (self->fakes[agent], &everybody, 1, data);
}

static int
get_status (Fixture *self, guint agent, guint64 token, GBytes **data)
{
  int status;

  wait_until (pmix_fake_get_answer (self->fakes[agent], token, NULL, NULL));
  pmix_fake_get_answer (self->fakes[agent], token, &status, data);
  return status;
}

static void
settle (Fixture *self)
{
  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
}

static gboolean
is_nothing_open (Fixture *self)
{
  guint64 n = engine_count (self->controller, "collectives-open");

  for (guint32 rank = 0; rank <= N_AGENTS; rank++)
    if (dvmd_routes_contains (dvmd_tree_get_routes (self->daemons[0].tree), rank))
      n += dvmd_tree_get_n_gathers (self->daemons[rank].tree);
  return n == 0;
}

static void
run_fence (Fixture *self, DvmdJob *job, guint n_agents, guint round)
{
  guint64 tokens[N_AGENTS];

  for (guint i = 0; i < n_agents; i++)
    {
      g_autofree char *text = g_strdup_printf ("[%u.%u]", round, i);

      settle (self);
      if (i > 0)
        g_assert_false (pmix_fake_get_answer (self->fakes[0], tokens[0], NULL, NULL));
      tokens[i] = fence (self, job, i, text);
    }
  for (guint i = 0; i < n_agents; i++)
    {
      g_autofree char *all = NULL;
      GBytes *data;

      g_assert_cmpint (get_status (self, i, tokens[i], &data), ==, DVMD_PMIX_SUCCESS);
      g_assert_cmpuint (g_bytes_get_size (data), ==, 5 * n_agents);
      all = g_strndup (g_bytes_get_data (data, NULL), g_bytes_get_size (data));
      for (guint j = 0; j < n_agents; j++)
        {
          g_autofree char *text = g_strdup_printf ("[%u.%u]", round, j);

          g_assert_nonnull (strstr (all, text));
        }
    }
}

static void
cancel (Fixture *self, DvmdJob *job)
{
  dvmd_controller_cancel_job (self->controller, job, "enough", NULL);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  wait_until (is_nothing_open (self));
  g_assert_cmpuint (engine_count (self->controller, "tree-fence-jobs"), ==, 0);
}

/* Everybody gets everything, and the controller hears of two children. */
static void
test_all (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, N_AGENTS, "exec sleep 1000");

  for (guint round = 0; round < 5; round++)
    {
      run_fence (self, job, N_AGENTS, round);
      wait_until (is_nothing_open (self));
      g_assert_cmpuint (self->daemons[0].n_gathers, ==, 2 * (round + 1));
    }
  cancel (self, job);
}

/* Agents without processes of the job pass on what others contribute; two nodes do not need the tree. */
static void
test_some (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, 5, "exec sleep 1000");
  DvmdJob *small = submit (self, 2, "exec sleep 1000");

  run_fence (self, job, 5, 0);
  wait_until (is_nothing_open (self));
  g_assert_cmpuint (engine_count (self->controller, "tree-fence-jobs"), ==, 1);
  cancel (self, job);
  dvmd_controller_cancel_job (self->controller, small, "enough", NULL);
  wait_until (dvmd_controller_job_is_finished (self->controller, small));
}

/* The next one is begun before the last has ended. */
static void
test_two_at_once (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, N_AGENTS, "exec sleep 1000");
  guint64 first[N_AGENTS];
  guint64 second[N_AGENTS];
  GBytes *bytes;

  for (guint i = 0; i < N_AGENTS; i++)
    {
      first[i] = fence (self, job, i, "1");
      second[i] = fence (self, job, i, "two");
      settle (self);
    }
  for (guint i = 0; i < N_AGENTS; i++)
    {
      g_assert_cmpint (get_status (self, i, first[i], &bytes), ==, DVMD_PMIX_SUCCESS);
      g_assert_cmpuint (g_bytes_get_size (bytes), ==, N_AGENTS);
      g_assert_cmpint (get_status (self, i, second[i], &bytes), ==, DVMD_PMIX_SUCCESS);
      g_assert_cmpuint (g_bytes_get_size (bytes), ==, 3 * N_AGENTS);
    }
  cancel (self, job);
}

/* Not all ranks: by messages, also where the job's own go by the tree. */
static void
test_subset (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, N_AGENTS, "exec sleep 1000");
  const char *nspace = nspace_of (job);
  const DvmdPmixProc some[] = { { nspace, 1 }, { nspace, 4 } };
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  guint64 one = pmix_fake_fence (self->fakes[1], some, 2, bytes);
  guint64 other = pmix_fake_fence (self->fakes[4], some, 2, bytes);
  GBytes *answer;

  g_assert_cmpint (get_status (self, 1, one, &answer), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpuint (g_bytes_get_size (answer), ==, 2);
  g_assert_cmpint (get_status (self, 4, other, NULL), ==, DVMD_PMIX_SUCCESS);
  run_fence (self, job, N_AGENTS, 0);
  cancel (self, job);
}

/* A timeout ends it for all who wait; those who have not come yet go on with the next one. */
static void
test_timeout (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, N_AGENTS, "exec sleep 1000");
  guint64 tokens[N_AGENTS];

  pmix_fake_set_fence_timeout (self->fakes[2], 1);
  for (guint i = 0; i < 5; i++)
    tokens[i] = fence (self, job, i, "x");
  for (guint i = 0; i < 5; i++)
    g_assert_cmpint (get_status (self, i, tokens[i], NULL), ==, DVMD_PMIX_ERR_TIMEOUT);
  wait_until (is_nothing_open (self));
  pmix_fake_set_fence_timeout (self->fakes[2], 0);
  run_fence (self, job, N_AGENTS, 1);
  cancel (self, job);
}

/* One that has failed before some come to it is the one that they come to: they wait for nobody. */
static void
test_failed_before (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit_spec (self, N_AGENTS, "exec sleep 1000", TRUE);
  DvmdPmixHost *host = pmix_fake_get_host (self->fakes[2]);
  guint64 tokens[N_AGENTS];

  dvmd_pmix_host_connected (host, nspace_of (job), 2);
  wait_until (dvm_job_get_num_registered (dvmd_job_get_record (job)) == 2);
  dvmd_pmix_host_lost (host, nspace_of (job), 2);
  for (guint round = 0; round < 2; round++)
    {
      tokens[2] = fence (self, job, 2, "x");
      g_assert_cmpint (get_status (self, 2, tokens[2], NULL), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
    }
  settle (self);
  for (guint round = 0; round < 3; round++)
    {
      for (guint i = 0; i < N_AGENTS; i++)
        if (i != 2 || round == 2)
          tokens[i] = fence (self, job, i, "x");
      for (guint i = 0; i < N_AGENTS; i++)
        g_assert_cmpint (get_status (self, i, tokens[i], NULL), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
    }
  wait_until (is_nothing_open (self));
  cancel (self, job);
}

/* The job fails while some wait: they get an error, and so does who comes later. */
static void
test_failure (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, N_AGENTS, "exec sleep 1000");
  guint64 tokens[N_AGENTS];

  for (guint i = 0; i < 4; i++)
    tokens[i] = fence (self, job, i, "x");
  settle (self);
  g_assert_false (is_nothing_open (self));
  dvmd_controller_signal_job (self->controller, job, SIGKILL, "6", NULL);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpint (get_status (self, i, tokens[i], NULL), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  wait_until (is_nothing_open (self));
  g_assert_cmpuint (engine_count (self->controller, "tree-fence-jobs"), ==, 0);
}

/* The other half contributes at the moment at which the job is ended. */
static void
test_late (Fixture *self, gconstpointer data)
{
  for (guint round = 0; round < 8; round++)
    {
      DvmdJob *job = submit (self, N_AGENTS, "exec sleep 1000");
      guint64 tokens[N_AGENTS];

      for (guint i = 0; i < round; i++)
        tokens[i] = fence (self, job, i % N_AGENTS, "x");
      dvmd_controller_cancel_job (self->controller, job, "enough", NULL);
      for (guint i = round; i < N_AGENTS; i++)
        tokens[i] = fence (self, job, i, "x");
      for (guint i = 0; i < N_AGENTS; i++)
        get_status (self, i, tokens[i], NULL);
      wait_until (dvmd_controller_job_is_finished (self->controller, job));
      wait_until (is_nothing_open (self));
    }
}

/* Ranks that end well without the others having come leave nothing behind either. */
static void
test_end (Fixture *self, gconstpointer data)
{
  g_autofree char *script = g_strdup_printf ("while ! test -e %s/go; do sleep 0.05; done", self->dir);
  g_autofree char *go = g_build_filename (self->dir, "go", NULL);
  DvmdJob *job = submit (self, N_AGENTS, script);
  guint64 token = fence (self, job, 3, "x");

  settle (self);
  g_assert_false (is_nothing_open (self));
  for (guint i = 1; i < N_AGENTS; i++)
    {
      dvmd_pmix_host_connected (pmix_fake_get_host (self->fakes[i]), nspace_of (job), i);
      dvmd_pmix_host_finalized (pmix_fake_get_host (self->fakes[i]), nspace_of (job), i);
    }
  g_assert_true (g_file_set_contents (go, "", 0, NULL));
  wait_until (dvmd_controller_job_is_finished (self->controller, job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
  g_assert_cmpint (get_status (self, 3, token, NULL), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  wait_until (is_nothing_open (self));
}

/* A participant is lost that has others below it: all who wait get an error when the rest has come. */
static void
test_lost (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, N_AGENTS, "exec sleep 1000");
  const guint32 lost = 1;
  guint64 tokens[N_AGENTS];

  for (guint i = 1; i < N_AGENTS; i++)
    tokens[i] = fence (self, job, i, "x");
  settle (self);
  g_assert_false (is_nothing_open (self));
  self->daemons[lost].dead = TRUE;
  dvmd_tree_change (self->daemons[0].tree, NULL, 0, &lost, 1, DVMD_LEFT_LOST);
  for (guint32 rank = 2; rank <= N_AGENTS; rank++)
    dvmd_tree_link_down (self->daemons[rank].tree, lost);
  for (guint i = 1; i < N_AGENTS; i++)
    g_assert_cmpint (get_status (self, i, tokens[i], NULL), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  wait_until (is_nothing_open (self));
  cancel (self, job);
}

/* The controller hears of it: nobody waits for those who have not come yet, then and later. */
static void
test_node_lost (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit_spec (self, 5, "exec sleep 1000", TRUE);
  const DvmdPmixProc others[] = { { nspace_of (job), 0 }, { nspace_of (job), 1 } };
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  guint64 tokens[N_AGENTS];

  run_fence (self, job, 5, 0);
  for (guint i = 0; i < 3; i++)
    tokens[i] = fence (self, job, i, "x");
  settle (self);
  dvmd_core_agent_ended (dvmd_controller_get_core (self->controller), 6, DVMD_AGENT_LOST, DVMD_CAUSE_LOST,
                         "has no part in it");
  settle (self);
  g_assert_false (pmix_fake_get_answer (self->fakes[0], tokens[0], NULL, NULL));
  dvmd_core_agent_ended (dvmd_controller_get_core (self->controller), 5, DVMD_AGENT_LOST, DVMD_CAUSE_LOST,
                         "as in the test");
  for (guint i = 0; i < 3; i++)
    g_assert_cmpint (get_status (self, i, tokens[i], NULL), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  wait_until (is_nothing_open (self));
  tokens[3] = fence (self, job, 3, "x");
  g_assert_cmpint (get_status (self, 3, tokens[3], NULL), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  for (guint i = 0; i < 2; i++)
    tokens[i] = pmix_fake_fence (self->fakes[i], others, 2, bytes);
  for (guint i = 0; i < 2; i++)
    g_assert_cmpint (get_status (self, i, tokens[i], NULL), ==, DVMD_PMIX_SUCCESS);
  cancel (self, job);
}

/* ---- parts ---- */

static GVariant *
merge (GVariant *one, GVariant *other)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func ((GDestroyNotify)g_variant_unref);

  g_ptr_array_add (parts, g_variant_ref_sink (one));
  g_ptr_array_add (parts, g_variant_ref_sink (other));
  return g_variant_ref_sink (dvmd_fence_merge (parts));
}

static void
check_whole (GVariant *whole, int status, gsize size)
{
  g_autoptr (GVariant) owned = whole;
  g_autoptr (GVariant) data = NULL;

  g_assert_cmpint (dvmd_fence_read (whole, &data), ==, status);
  g_assert_cmpuint (g_variant_get_size (data), ==, size);
}

static void
test_parts (void)
{
  g_autoptr (GBytes) two = g_bytes_new_static ("ab", 2);
  g_autoptr (GBytes) much = g_bytes_new_take (g_malloc0 (DVMD_FENCE_LIMIT), DVMD_FENCE_LIMIT);
  g_autoptr (GBytes) more = g_bytes_new_take (g_malloc0 (DVMD_FENCE_LIMIT + 1), DVMD_FENCE_LIMIT + 1);

  check_whole (merge (dvmd_fence_part_new (2, two), dvmd_fence_part_new (2, two)), DVMD_PMIX_SUCCESS, 4);
  check_whole (merge (dvmd_fence_part_new (3, two), dvmd_fence_part_new (3, two)), DVMD_PMIX_ERR_LOST_CONNECTION, 0);
  check_whole (merge (dvmd_fence_part_new (2, two), dvmd_fence_part_new (2, much)), DVMD_PMIX_ERROR, 0);
  check_whole (merge (dvmd_fence_part_new (2, more), dvmd_fence_part_new (2, two)), DVMD_PMIX_ERROR, 0);
  check_whole (merge (g_variant_new ("(us)", 1, "no part"), dvmd_fence_part_new (2, two)), DVMD_PMIX_ERROR, 0);
  check_whole (g_variant_ref_sink (g_variant_new ("s", "no part")), DVMD_PMIX_ERROR, 0);
}

static void
test_keys (void)
{
  static const char *const wrong[] = { "", "1", "1/", "/1", "1/2/3", "a/1", "1/b", "-1/1", "1/0", "4294967296/1" };
  g_autofree char *key = dvmd_fence_make_key (7, 123456789012);
  g_autofree char *prefix = dvmd_fence_make_prefix (7);
  guint64 sequence;
  guint32 job;

  g_assert_true (g_str_has_prefix (key, prefix));
  g_assert_true (dvmd_fence_parse_key (key, &job, &sequence));
  g_assert_cmpuint (job, ==, 7);
  g_assert_cmpuint (sequence, ==, 123456789012);
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    g_assert_false (dvmd_fence_parse_key (wrong[i], &job, &sequence));
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
  g_test_add_func ("/fences/parts", test_parts);
  g_test_add_func ("/fences/keys", test_keys);
  add ("/fences/all", test_all);
  add ("/fences/some", test_some);
  add ("/fences/two-at-once", test_two_at_once);
  add ("/fences/subset", test_subset);
  add ("/fences/timeout", test_timeout);
  add ("/fences/failed-before", test_failed_before);
  add ("/fences/failure", test_failure);
  add ("/fences/late", test_late);
  add ("/fences/end", test_end);
  add ("/fences/lost", test_lost);
  add ("/fences/node-lost", test_node_lost);
  return g_test_run ();
}
