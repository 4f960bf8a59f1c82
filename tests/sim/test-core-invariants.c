/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The core under random histories: jobs of all kinds on a few nodes, some of which do not come, die, are cut off or
 * drained, with messages that come late or never. After each step the invariants must hold; in the end every job has
 * ended once, in a state that something which happened to it accounts for. A history that fails names its seed
 * (sim-seeds.h).
 */

#include "config.h"

#include "dvmd-core-parts.h"
#include "dvmd-job-answers.h"
#include "dvmd-job-moves.h"
#include "dvmd-job-private.h"
#include "dvmd-job-registry.h"
#include "dvmd-vm.h"
#include "sim-agent.h"
#include "sim-seeds.h"
#include "sim-watch.h"

/* So long what ran on a node that was lost may run there still. */
#define MOVE_PAUSE G_TIME_SPAN_SECOND

static guint
chance (SimHistory *world, guint n)
{
  return g_rand_int_range (world->rand, 0, n);
}

static SimAgent *
get_agent (SimHistory *world, guint rank)
{
  return rank < world->agents->len ? g_ptr_array_index (world->agents, rank) : NULL;
}

/* ---- effects ---- */

static void
say (SimHistory *world, guint rank, SimKind kind, DvmdJob *job, gboolean flag)
{
  SimAgent *agent = get_agent (world, rank);
  SimMessage *message;

  if (agent == NULL || !agent->alive || agent->lost)
    return;
  message = sim_message_new (kind, rank, job);
  message->flag = flag;
  if (kind == SIM_LAUNCH)
    message->ranks = dvmd_map_expand_node (job->map, rank);
  g_queue_push_tail (&agent->inbox, message);
}

static void
say_to_job (SimHistory *world, DvmdJob *job, SimKind kind, gboolean flag)
{
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (job->map);

  for (guint i = 0; i < nodes->len; i++)
    say (world, g_array_index (nodes, guint, i), kind, job, flag);
}

static void
launch_agents (gpointer data, DvmdNode *const *nodes, guint n_nodes)
{
  SimHistory *world = data;

  for (guint i = 0; i < n_nodes; i++)
    {
      SimAgent *agent = sim_agent_new (nodes[i]->rank, world->rand);
      SimMessage *message = sim_message_new (SIM_REPORT, agent->rank, NULL);

      message->flag = world->allow_missing && chance (world, 8) == 0;
      g_queue_push_tail (&agent->outbox, message);
      g_ptr_array_add (world->agents, agent);
    }
}

static void
wire_agents (gpointer data, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  SimHistory *world = data;

  for (guint i = 0; i < n_nodes; i++)
    check (world, !sim_history_is_down (world, nodes[i]->rank));
  world->wiring = TRUE;
}

static void
dvm_ready (gpointer data)
{
}

static DvmdMap *
map_job (gpointer data, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  SimHistory *world = data;
  GArray *np = dvmd_job_get_app_np (job);
  DvmdMap *map;
  guint n_nodes = places->n_nodes;
  g_autofree guint *left = g_memdup2 (places->limits, n_nodes * sizeof *left);
  guint rank = 0;
  guint full = 0;
  guint at;

  check_job (world, job, n_nodes > 0);
  at = chance (world, n_nodes);
  map = dvmd_map_new ();
  for (guint app = 0; app < np->len; app++)
    for (guint n = g_array_index (np, guint, app); n > 0; at = (at + 1) % n_nodes)
      {
        guint most = places->oversubscribe && full >= n_nodes ? n : left[at];
        guint take = most > 0 ? 1 + chance (world, MIN (most, n)) : 0;

        check_job (world, job, dvm_node_get_state (places->nodes[at]->record) == DVM_NODE_STATE_UP);
        /* A job that was let through finds room. */
        check_job (world, job, places->oversubscribe || full < n_nodes);
        full = take > 0 ? 0 : full + 1;
        left[at] -= MIN (take, left[at]);
        if (take > 0)
          dvmd_map_add_run (
              map, &(DvmdMapRow){
                       .node = places->nodes[at]->rank, .app = app, .first_rank = rank, .count = take, .stride = 1 });
        rank += take;
        n -= take;
      }
  return map;
}

static void
stage_files (gpointer data, DvmdJob *job)
{
  say_to_job (data, job, SIM_STAGE, FALSE);
}

static void
send_launch (gpointer data, DvmdJob *job)
{
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (job->map);

  for (guint i = 0; i < nodes->len; i++)
    check_job ((SimHistory *)data, job, !sim_history_is_down (data, g_array_index (nodes, guint, i)));
  say_to_job (data, job, SIM_LAUNCH, job->stops);
}

static void
claim_node (SimWatch *watch, guint node)
{
  if (watch->bound == NULL)
    watch->bound = g_hash_table_new (NULL, NULL);
  g_hash_table_add (watch->bound, GUINT_TO_POINTER (node));
}

/* No rank runs twice at once, its number only rises, and none comes to a node that has something of the job. */
static void
check_move (SimHistory *world, DvmdJob *job, const DvmdMove *move)
{
  SimWatch *watch = sim_watch_get (world, job);
  SimAgent *agent = get_agent (world, move->node);
  gint64 now = dvmd_clock_monotonic (world->clock);

  if (watch->times == NULL)
    watch->times = g_hash_table_new (NULL, NULL);
  check_job (world, job, sim_history_is_down (world, move->old_node) && !sim_history_is_down (world, move->node));
  check_job (world, job, now - world->lost_at[move->old_node] >= MOVE_PAUSE && world->over[move->old_node]);
  check_job (world, job, !agent->alive || sim_agent_find_job (agent, dvmd_job_get_id (job)) == NULL);
  check_job (world, job, move->n_restarts <= job->max_restarts);
  check_job (world, job,
             move->n_restarts > GPOINTER_TO_UINT (g_hash_table_lookup (watch->times, GUINT_TO_POINTER (move->rank))));
  g_hash_table_insert (watch->times, GUINT_TO_POINTER (move->rank), GUINT_TO_POINTER (move->n_restarts));
  check_job (world, job, dvmd_map_is_whole (job->map));
  check_job (world, job, dvmd_proc_table_row (job->procs, move->rank)->node == move->node);
}

static void
move_ranks (gpointer data, DvmdJob *job, GArray *moves)
{
  SimHistory *world = data;

  for (guint i = 0; i < moves->len; i++)
    {
      guint node = g_array_index (moves, DvmdMove, i).node;
      gboolean again = FALSE;

      check_move (world, job, &g_array_index (moves, DvmdMove, i));
      for (guint k = 0; k < i; k++)
        again = again || g_array_index (moves, DvmdMove, k).node == node;
      if (again)
        continue;
      claim_node (sim_watch_get (world, job), node);
      say (world, node, SIM_LAUNCH, job, FALSE);
    }
}

static void
kill_job (gpointer data, DvmdJob *job)
{
  say_to_job (data, job, SIM_KILL, dvmd_core_get_forced (job->core));
}

static void
node_lost (gpointer data, DvmdJob *job, DvmdNode *node)
{
  check_job ((SimHistory *)data, job,
             (job->recoverable || dvmd_job_moves_is_waiting (job))
                 && dvm_job_get_num_terminated (job->record) < job->procs->n_rows);
  check_job ((SimHistory *)data, job, dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN);
}

static void
tell (gpointer data, DvmdJob *job)
{
}

static void
see_off (gpointer data, DvmdSendOff *order)
{
  SimHistory *world = data;

  world->stopping = TRUE;
  check (world, dvmd_core_get_num_live (world->core) == 0);
  for (guint rank = 1; rank < world->agents->len; rank++)
    say (world, rank, SIM_STOP, NULL, order->force);
}

static void
dvm_ended (gpointer data, DvmJobState state, const char *reason)
{
  SimHistory *world = data;

  world->n_ended++;
  world->end_state = state;
}

/* Cpus are claimed with the slots of a job, on every node of its map. */
static void
claim_cpus (gpointer data, DvmdJob *job, DvmdMap *map)
{
  SimHistory *world = data;
  SimWatch *watch = sim_watch_get (world, job);
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (map);

  check_job (world, job, watch->bound == NULL);
  watch->bound = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < nodes->len; i++)
    g_hash_table_add (watch->bound, GUINT_TO_POINTER (g_array_index (nodes, guint, i)));
}

/* Nothing is given back that the job has not got. */
static void
give_cpus_back (gpointer data, DvmdJob *job, DvmdNode *node)
{
  SimHistory *world = data;
  SimWatch *watch = sim_watch_get (world, job);

  check_job (world, job, watch->bound != NULL);
  if (node != NULL)
    check_job (world, job, g_hash_table_remove (watch->bound, GUINT_TO_POINTER (node->rank)));
  else
    g_clear_pointer (&watch->bound, g_hash_table_unref);
}

static const DvmdEffects effects = {
  .launch_agents = launch_agents,
  .wire_agents = wire_agents,
  .dvm_ready = dvm_ready,
  .placement = { .map = map_job, .claimed = claim_cpus, .given_back = give_cpus_back },
  .stage_files = stage_files,
  .send_launch = send_launch,
  .move_ranks = move_ranks,
  .kill = kill_job,
  .node_lost = node_lost,
  .tell_started = tell,
  .tell_ended = tell,
  .see_off = see_off,
  .dvm_ended = dvm_ended,
};

/* ---- what jobs may end in ---- */

static void
on_state_changed (DvmdCore *core, DvmdJob *job, guint old_state, guint new_state, gpointer user_data)
{
  SimHistory *world = user_data;

  /* A final state is never left. */
  check_job (world, job, !dvm_job_state_is_error (old_state) && old_state != DVM_JOB_STATE_NOTIFIED);
  check_job (world, job, sim_watch_get (world, job)->n_ended == 0);
  if (new_state == DVM_JOB_STATE_COMM_FAILED)
    sim_watch_check_no_room (world, job);
}

static void
on_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  sim_watch_get (user_data, job)->n_ended++;
}

/* ---- messages to the controller ---- */

static void
take_report (SimHistory *world, const SimMessage *message)
{
  DvmdAgentReport report = { .host = "h", .address = "", .pid = 7, .hwthreads = 2, .topology = "t" };

  if (message->flag)
    dvmd_core_agent_ended (world->core, message->agent, DVMD_AGENT_FAILED, DVMD_CAUSE_LAUNCH, "unreachable");
  else
    dvmd_core_agent_reported (world->core, message->agent, &report);
}

/* As the controller sees to it: an agent that was lost says nothing of ranks that are elsewhere now. */
static gboolean
is_of_agent (const SimMessage *message, guint32 rank)
{
  return message->job->procs != NULL && dvmd_proc_table_row (message->job->procs, rank)->node == message->agent;
}

static void
take_launched (SimHistory *world, const SimMessage *message)
{
  for (guint i = 0; i < message->starts->len; i++)
    {
      const SimStart *start = &g_array_index (message->starts, SimStart, i);

      if (!is_of_agent (message, start->rank))
        continue;
      if (start->pid == 0)
        sim_watch_may_end (world, message->job, DVM_JOB_STATE_FAILED_TO_START);
      dvmd_core_proc_launched (world->core, message->job, start->rank, start->pid, start->pid > 0 ? 0 : 127,
                               start->pid > 0 ? NULL : "it is not there");
    }
  dvmd_core_local_launch_complete (world->core, message->job, message->agent);
}

static void
take_state (SimHistory *world, const SimMessage *message)
{
  if (!is_of_agent (message, message->rank))
    return;
  if (dvm_proc_state_is_error (message->state))
    sim_watch_may_end (world, message->job, sim_watch_state_for (message->state));
  /* Ranks that have registered may wait for one that ended without registering. */
  if (message->state == DVM_PROC_STATE_REGISTERED)
    sim_watch_may_end (world, message->job, DVM_JOB_STATE_ABORTED_WO_SYNC);
  dvmd_core_proc_state (world->core, message->job, message->rank, message->state, message->exit_code,
                        message->exit_signal);
}

static void
take (SimHistory *world, const SimMessage *message)
{
  switch (message->kind)
    {
    case SIM_REPORT:
      take_report (world, message);
      break;
    case SIM_STAGED:
      if (message->flag)
        sim_watch_may_end (world, message->job, DVM_JOB_STATE_FILES_POSN_FAILED);
      dvmd_core_files_staged (world->core, message->job, message->agent, message->flag ? "no room" : NULL);
      break;
    case SIM_LAUNCHED:
      take_launched (world, message);
      break;
    case SIM_STATE:
      take_state (world, message);
      break;
    case SIM_ABORT:
      if (!is_of_agent (message, message->rank))
        break;
      sim_watch_may_end (world, message->job, DVM_JOB_STATE_CALLED_ABORT);
      dvmd_core_abort_called (world->core, message->job, message->rank, 7, "no more");
      break;
    case SIM_JOB_GONE:
      dvmd_core_job_gone (world->core, message->job, message->agent);
      break;
    case SIM_GONE:
    default:
      dvmd_core_agent_ended (world->core, message->agent, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
      break;
    }
}

static void
deliver (SimHistory *world, SimAgent *agent)
{
  g_autoptr (SimMessage) message = g_queue_pop_head (&agent->outbox);

  if (message != NULL)
    take (world, message);
}

/* ---- things that happen ---- */

static SimAgent *
pick_agent (SimHistory *world)
{
  return world->agents->len > 1 ? get_agent (world, 1 + chance (world, world->agents->len - 1)) : NULL;
}

static void
set_options (SimHistory *world, DvmJobSpec *spec)
{
  static const char *const policies[] = { "wait", "refuse", "oversubscribe" };
  const char *files[] = { "/tmp/data.txt", NULL };

  if (chance (world, 3) == 0)
    dvm_job_spec_set_recoverable (spec, TRUE);
  if (chance (world, 4) == 0)
    dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  if (chance (world, 3) == 0)
    dvm_job_spec_set_when_full (spec, policies[chance (world, 3)]);
  if (chance (world, 8) == 0)
    dvm_job_spec_set_timeout (spec, 1 + chance (world, 5));
  if (chance (world, 10) == 0)
    dvm_job_spec_set_runtime_options (spec, "donotlaunch");
  else if (chance (world, 8) == 0)
    dvm_job_spec_set_runtime_options (spec, "stop-on-exec");
}

/* Jobs whose ranks may go to any node, and that wait for one. */
static gboolean
set_restarts (SimHistory *world, DvmJobSpec *spec)
{
  if (chance (world, 3) > 0 || dvm_job_spec_get_runtime_options (spec) != NULL)
    return FALSE;
  dvm_job_spec_set_personality (spec, "plain");
  dvm_job_spec_set_max_restarts (spec, 1 + chance (world, 3));
  return dvm_job_spec_get_when_full (spec) == NULL && !dvm_job_spec_get_recoverable (spec)
         && dvm_app_spec_get_preload_files (dvm_job_spec_get_app (spec, 0)) == NULL
         && dvm_app_spec_get_hosts (dvm_job_spec_get_app (spec, 0)) == NULL;
}

static void
choose_hosts (SimHistory *world, DvmJobSpec *spec)
{
  guint n = dvmd_node_pool_get_max_rank (dvmd_core_get_nodes (world->core)) + (chance (world, 10) == 0);
  g_autofree char *one = g_strdup_printf ("node%u", 1 + chance (world, n));
  g_autofree char *other = g_strdup_printf ("node%u", 1 + chance (world, n));
  const char *hosts[] = { one, other, NULL };

  if (chance (world, 4) == 0)
    dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), hosts);
}

static void
submit (SimHistory *world)
{
  const char *argv[] = { "/bin/prog", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (GError) error = NULL;
  gboolean movable;
  SimWatch *watch;
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), chance (world, chance (world, 6) == 0 ? 20 : 7));
  set_options (world, spec);
  choose_hosts (world, spec);
  movable = set_restarts (world, spec);
  job = dvmd_core_submit (world->core, spec, NULL, &error);
  if (job == NULL)
    {
      check (world, dvmd_core_get_shutting_down (world->core));
      return;
    }
  watch = g_new0 (SimWatch, 1);
  watch->job = g_object_ref (job);
  watch->movable = movable;
  check (world, dvmd_job_get_id (job) == world->watches->len + 1);
  g_ptr_array_add (world->watches, watch);
  sim_watch_may_end (world, job, DVM_JOB_STATE_MAP_FAILED);
  if (dvm_job_spec_get_timeout (spec) > 0)
    sim_watch_may_end (world, job, DVM_JOB_STATE_KILLED_BY_CMD);
  if (world->shutdown)
    {
      sim_watch_may_end (world, job, DVM_JOB_STATE_KILLED_BY_CMD);
      sim_watch_may_end (world, job, DVM_JOB_STATE_FORCED_EXIT);
    }
  if (!dvmd_core_was_ready (world->core))
    sim_watch_may_end (world, job, DVM_JOB_STATE_NEVER_LAUNCHED);
}

static void
cancel (SimHistory *world)
{
  SimWatch *watch;

  if (world->watches->len == 0)
    return;
  watch = g_ptr_array_index (world->watches, chance (world, world->watches->len));
  sim_watch_may_end (world, watch->job, DVM_JOB_STATE_KILLED_BY_CMD);
  dvmd_core_fail_job (world->core, watch->job, DVM_JOB_STATE_KILLED_BY_CMD, "enough");
}

static void
tell_over (SimHistory *world, guint rank)
{
  world->over[rank] = TRUE;
  dvmd_core_lost_agent_gone (world->core, rank);
}

static void
tell_lost (SimHistory *world, SimAgent *agent)
{
  agent->lost = TRUE;
  if (!sim_history_is_down (world, agent->rank))
    for (GList *l = dvmd_core_get_live_jobs (world->core); l != NULL; l = l->next)
      sim_watch_expect_loss (world, l->data, agent->rank);
  world->lost_at[agent->rank] = dvmd_clock_monotonic (world->clock);
  dvmd_core_agent_ended (world->core, agent->rank, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  if (chance (world, 2) == 0)
    tell_over (world, agent->rank);
}

/* An agent dies, and the controller learns of it some time; or only its link does, and its messages come late. */
static void
lose (SimHistory *world)
{
  SimAgent *agent = pick_agent (world);

  if (agent == NULL || agent->lost)
    return;
  if (agent->alive && chance (world, 3) > 0)
    sim_agent_die (agent);
  if (!agent->alive || chance (world, 2) == 0)
    tell_lost (world, agent);
}

static void
drain_or_resume (SimHistory *world)
{
  SimAgent *agent = pick_agent (world);
  DvmdNode *node = agent != NULL ? dvmd_node_pool_get (dvmd_core_get_nodes (world->core), agent->rank) : NULL;

  if (node == NULL)
    return;
  if (dvmd_node_is_drained (node) || chance (world, 2) == 0)
    dvmd_core_resume_node (world->core, node, NULL);
  else
    dvmd_core_drain_node (world->core, node, "new disk", NULL);
}

static void
shut_down (SimHistory *world)
{
  gboolean force = chance (world, 3) == 0;

  world->shutdown = TRUE;
  sim_watch_expect_end (world, force ? DVM_JOB_STATE_FORCED_EXIT : DVM_JOB_STATE_KILLED_BY_CMD);
  dvmd_core_shutdown (world->core, force, "enough");
}

static void
wired (SimHistory *world)
{
  if (world->wiring)
    dvmd_core_agents_wired (world->core, NULL);
}

static void
go_on (SimHistory *world)
{
  if (dvmd_core_get_live_jobs (world->core) != NULL)
    dvmd_core_continue_job (world->core, dvmd_core_get_live_jobs (world->core)->data);
}

static void
step (SimHistory *world)
{
  SimAgent *agent = pick_agent (world);
  guint what = chance (world, 500);

  if (what < 35)
    submit (world);
  else if (what < 37)
    cancel (world);
  else if (what < 40)
    lose (world);
  else if (what < 44)
    drain_or_resume (world);
  else if (what < 45 && chance (world, 6) == 0)
    shut_down (world);
  else if (what < 55)
    wired (world);
  else if (what < 58)
    dvmd_clock_advance (world->clock, chance (world, 2 * G_TIME_SPAN_SECOND));
  else if (what < 63)
    go_on (world);
  else if (what < 250 && agent != NULL)
    deliver (world, agent);
  else if (agent != NULL)
    sim_agent_act (agent, FALSE);
  dvmd_event_queue_drain (world->queue, chance (world, 2) == 0 ? 1 + chance (world, 3) : 0);
}

/* ---- the invariants ---- */

static void
check_waits (SimHistory *world, DvmdJob *job)
{
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (dvmd_core_get_nodes (world->core), node)) != NULL;)
    for (guint what = 0; what <= DVMD_ANSWER_GONE && sim_history_is_down (world, node->rank); what++)
      check_job (world, job, !dvmd_job_answers_await (job, what, node->rank));
}

static void
check_procs (SimHistory *world, DvmdJob *job)
{
  guint n_ended = 0;
  guint n_launched = 0;

  for (guint i = 0; job->procs != NULL && i < job->procs->n_rows; i++)
    {
      DvmdProcRow *row = dvmd_proc_table_row (job->procs, i);
      gboolean has_ended = (row->flags & DVMD_PROC_ENDED) != 0;

      n_ended += has_ended;
      n_launched += (row->flags & DVMD_PROC_LAUNCHED) != 0;
      check_job (world, job, has_ended == !dvm_proc_state_is_live (row->state));
      check_job (world, job,
                 has_ended || !dvmd_job_is_launched (job) || !sim_history_is_down (world, row->node)
                     || row->state == DVM_PROC_STATE_RESTART);
      check_job (world, job, row->state != DVM_PROC_STATE_COMM_FAILED || sim_history_is_down (world, row->node));
    }
  check_job (world, job, dvm_job_get_num_terminated (job->record) == n_ended);
  check_job (world, job, dvm_job_get_num_launched (job->record) == n_launched);
}

/* claims (nullable) */
static void
check_bound (SimHistory *world, DvmdJob *job, GArray *claims)
{
  GHashTable *bound = sim_watch_get (world, job)->bound;

  check_job (world, job, (claims != NULL ? claims->len : 0) == (bound != NULL ? g_hash_table_size (bound) : 0));
  for (guint i = 0; claims != NULL && i < claims->len; i++)
    check_job (world, job, g_hash_table_contains (bound, GUINT_TO_POINTER (g_array_index (claims, DvmdClaim, i).node)));
}

static void
check_live_job (SimHistory *world, DvmdJob *job, guint *claimed)
{
  GArray *claims = dvmd_admission_get_claims (job);
  guint sum = 0;

  check_waits (world, job);
  check_procs (world, job);
  for (guint i = 0; claims != NULL && i < claims->len; i++)
    {
      const DvmdClaim *claim = &g_array_index (claims, DvmdClaim, i);

      claimed[claim->node] += claim->slots;
      sum += claim->slots;
    }
  check_bound (world, job, claims);
  if (job->map == NULL || claims == NULL)
    return;
  for (guint i = 0; i < job->procs->n_rows; i++)
    sum -= !sim_history_is_down (world, dvmd_proc_table_row (job->procs, i)->node);
  check_job (world, job, sum == 0);
}

static void
check_nodes (SimHistory *world, const guint *claimed)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (world->core);
  guint n_up = 0;
  guint n_slots = 0;
  guint in_use = 0;

  for (guint rank = 1; rank <= dvmd_node_pool_get_max_rank (pool); rank++)
    {
      DvmdNode *node = dvmd_node_pool_get (pool, rank);
      gboolean is_up = dvm_node_get_state (node->record) == DVM_NODE_STATE_UP || dvmd_node_is_drained (node);

      check (world, node->slots_in_use == claimed[rank]);
      check (world, claimed[rank] == 0 || is_up);
      n_up += is_up;
      n_slots += is_up ? node->slots : 0;
      in_use += claimed[rank];
    }
  check (world, dvmd_node_pool_count_up (pool) == n_up);
  check (world, dvmd_node_pool_count_slots (pool) == n_slots);
  check (world, dvmd_node_pool_count_slots_in_use (pool) == in_use);
}

static void
check_invariants (SimHistory *world)
{
  const DvmdCoreStatistics *statistics = dvmd_core_get_statistics (world->core);
  guint claimed[MAX_NODES + 1] = { 0 };
  guint n_running = 0;
  guint n_waiting = 0;

  for (GList *l = dvmd_core_get_live_jobs (world->core); l != NULL; l = l->next)
    {
      DvmdJob *job = l->data;

      check_live_job (world, job, claimed);
      n_running += job->launch == DVMD_LAUNCH_RUNNING;
      n_waiting += dvmd_admission_is_waiting (job);
      check_job (world, job, sim_watch_get (world, job)->n_ended == 0);
    }
  check_nodes (world, claimed);
  for (guint i = 0; i < world->watches->len; i++)
    {
      const SimWatch *watch = g_ptr_array_index (world->watches, i);

      check (world, watch->n_ended == 0 || watch->bound == NULL);
    }
  check (world, dvmd_core_get_num_running (world->core) == n_running);
  check (world, dvmd_admission_get_n_waiting (dvmd_core_get_admission (world->core)) == n_waiting);
  check (world, statistics->jobs_submitted == world->watches->len);
  check (world, statistics->jobs_ended + dvmd_core_get_num_live (world->core) == statistics->jobs_submitted);
  check (world, dvmd_core_get_nodes_reported (world->core) <= dvmd_core_get_nodes_expected (world->core));
}

/* The agents' tables say the same of processes as the controller's: they are the truth (L1). */
static void
check_truth (SimHistory *world, DvmdJob *job)
{
  for (guint i = 0; dvmd_job_is_launched (job) && i < job->procs->n_rows; i++)
    {
      DvmdProcRow *row = dvmd_proc_table_row (job->procs, i);
      SimAgent *agent = get_agent (world, row->node);
      DvmdLocalJob *local = agent->alive && !agent->lost ? sim_agent_find_job (agent, dvmd_job_get_id (job)) : NULL;
      DvmdLocalProc *proc = local != NULL ? dvmd_local_job_find_proc (local, i) : NULL;

      if (local == NULL || local->state == DVM_JOB_STATE_INIT)
        continue;
      check_job (world, job, proc != NULL);
      check_job (world, job, proc->state == row->state && proc->app == row->app);
      check_job (world, job, proc->pid == row->pid && proc->local_rank == row->local_rank);
      check_job (world, job, proc->exit_code == row->exit_code || dvm_proc_state_is_live (proc->state));
      check_job (world, job, proc->exit_signal == row->exit_signal || dvm_proc_state_is_live (proc->state));
    }
}

/* All messages that were sent are received, and nothing else happens. */
static void
fall_silent (SimHistory *world)
{
  gboolean said;

  do
    {
      said = FALSE;
      dvmd_event_queue_drain (world->queue, 0);
      for (guint rank = 1; rank < world->agents->len; rank++)
        {
          SimAgent *agent = get_agent (world, rank);

          if (agent->alive)
            dvmd_event_queue_drain (agent->queue, 0);
          for (; !g_queue_is_empty (&agent->outbox); said = TRUE)
            deliver (world, agent);
        }
    }
  while (said);
  check_invariants (world);
  for (GList *l = dvmd_core_get_live_jobs (world->core); l != NULL; l = l->next)
    check_truth (world, l->data);
}

/* ---- a history ---- */

static SimHistory *
world_new (guint seed)
{
  SimHistory *world = g_new0 (SimHistory, 1);
  DvmdCoreSettings settings = { .nspace = "dvm", .host = "head", .history_limit = 10000, .move_pause = MOVE_PAUSE };
  guint n_nodes;

  world->seed = seed;
  world->rand = g_rand_new_with_seed (seed);
  world->clock = dvmd_clock_new_manual (1700000000000000);
  world->queue = dvmd_event_queue_new (NULL, NULL);
  world->agents = g_ptr_array_new ();
  g_ptr_array_add (world->agents, NULL);
  world->watches = g_ptr_array_new_with_free_func (sim_watch_free);
  settings.allow_missing = world->allow_missing = chance (world, 3) == 0;
  world->core = dvmd_core_new (&settings, world->clock, world->queue, &effects, world);
  g_signal_connect (world->core, "job-ended", G_CALLBACK (on_ended), world);
  g_signal_connect (world->core, "job-state-changed", G_CALLBACK (on_state_changed), world);
  n_nodes = 1 + chance (world, MAX_NODES);
  for (guint i = 1; i <= n_nodes; i++)
    {
      g_autofree char *name = g_strdup_printf ("node%u", i);

      dvmd_core_add_node (world->core, name, chance (world, 6), 0);
    }
  dvmd_core_start (world->core);
  return world;
}

static void
world_free (SimHistory *world)
{
  for (guint i = 0; i < world->watches->len; i++)
    g_object_unref (((SimWatch *)g_ptr_array_index (world->watches, i))->job);
  g_ptr_array_unref (world->watches);
  for (guint rank = 1; rank < world->agents->len; rank++)
    sim_agent_free (get_agent (world, rank));
  g_ptr_array_unref (world->agents);
  dvmd_event_queue_free (world->queue);
  g_object_unref (world->core);
  dvmd_clock_unref (world->clock);
  g_rand_free (world->rand);
  g_free (world);
}

static gboolean
is_quiet (SimHistory *world)
{
  for (guint rank = 1; rank < world->agents->len; rank++)
    {
      SimAgent *agent = get_agent (world, rank);

      if (!sim_agent_is_idle (agent) || !g_queue_is_empty (&agent->outbox) || (!agent->alive && !agent->lost))
        return FALSE;
    }
  return (dvmd_core_was_ready (world->core) || dvmd_core_get_shutting_down (world->core))
         && dvmd_event_queue_is_empty (world->queue);
}

/* Runs until all that has begun has come to its end; nothing new begins. */
static void
settle (SimHistory *world)
{
  for (guint i = 0; i < 20000; i++)
    {
      if (!dvmd_core_was_ready (world->core))
        sim_watch_expect_end (world, DVM_JOB_STATE_NEVER_LAUNCHED);
      dvmd_event_queue_drain (world->queue, 0);
      /* Ranks whose node was lost come to another one, or are given up. */
      dvmd_clock_advance (world->clock, MOVE_PAUSE);
      wired (world);
      for (guint rank = 1; rank < world->agents->len; rank++)
        {
          SimAgent *agent = get_agent (world, rank);

          if (!agent->alive && !agent->lost)
            tell_lost (world, agent);
          if (agent->lost && !world->over[rank])
            tell_over (world, rank);
          dvmd_core_resume_node (world->core, dvmd_node_pool_get (dvmd_core_get_nodes (world->core), rank), NULL);
          sim_agent_act (agent, TRUE);
          deliver (world, agent);
        }
      dvmd_event_queue_drain (world->queue, 0);
      if (is_quiet (world))
        return;
    }
  check (world, !"quiet in the end");
}

static void
check_job_end (SimHistory *world, const SimWatch *watch)
{
  DvmdJob *job = watch->job;
  DvmJobState state = dvmd_job_get_state (job);

  check_job (world, job, watch->n_ended == 1);
  check_job (world, job, dvmd_job_get_ended (job));
  if (state == DVM_JOB_STATE_NOTIFIED)
    {
      check_job (world, job, !watch->must_fail);
      return;
    }
  check_job (world, job, dvm_job_state_is_error (state));
  check_job (world, job, watch->may[state / 64] & (G_GUINT64_CONSTANT (1) << (state % 64)));
  check_job (world, job, dvm_job_get_reason (job->record)[0] != '\0');
  if (state == DVM_JOB_STATE_COMM_FAILED)
    check_job (world, job, strstr (dvm_job_get_reason (job->record), " was lost: connection closed") != NULL);
}

static void
check_end (SimHistory *world)
{
  fall_silent (world);
  for (GList *l = dvmd_core_get_live_jobs (world->core); l != NULL; l = l->next)
    check_job (world, (DvmdJob *)l->data, !"nobody lives on");
  check (world, dvmd_core_get_num_held (world->core) == 0);
  for (guint i = 0; i < world->watches->len; i++)
    check_job_end (world, g_ptr_array_index (world->watches, i));
  check (world, world->n_ended == (dvmd_core_get_shutting_down (world->core) ? 1 : 0));
}

static void
run_history (guint seed)
{
  SimHistory *world = world_new (seed);
  guint n_steps = 50 + chance (world, 1000);

  for (guint i = 0; i < n_steps; i++)
    {
      /* The start fails if an agent that must come did not, or was lost. */
      if (!dvmd_core_was_ready (world->core))
        sim_watch_expect_end (world, DVM_JOB_STATE_NEVER_LAUNCHED);
      step (world);
      check_invariants (world);
      if (chance (world, 50) == 0)
        fall_silent (world);
    }
  settle (world);
  check_end (world);
  if (!dvmd_core_get_shutting_down (world->core))
    {
      dvmd_core_shutdown (world->core, FALSE, "the history is over");
      settle (world);
      check_end (world);
      check (world, world->end_state == DVM_JOB_STATE_DAEMONS_TERMINATED);
    }
  world_free (world);
}

static void
test_histories (void)
{
  sim_seeds_run (run_history);
}

int
main (int argc, char **argv)
{
  sim_seeds_init (&argc, &argv);
  g_test_add_func ("/core-invariants/histories", test_histories);
  return g_test_run ();
}
