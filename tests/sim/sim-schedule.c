/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "sim-schedule.h"

#include "sim-event-checks.h"

/* All must be at rest so long (µs) after the last action. */
#define REST_LIMIT (5 * G_TIME_SPAN_MINUTE)

/* ---- drawn ---- */

static guint
draw (GRand *rand, guint n)
{
  return g_rand_int_range (rand, 0, n);
}

static gint64
draw_time (GRand *rand, gint64 max_delay)
{
  switch (draw (rand, 8))
    {
    case 0:
    case 1:
      return 0;
    case 2:
    case 3:
      return draw (rand, max_delay);
    case 4:
    case 5:
      return draw (rand, 10 * max_delay);
    case 6:
      return draw (rand, 50 * max_delay);
    default:
      return draw (rand, 10) == 0 ? draw (rand, 3 * G_TIME_SPAN_SECOND) : draw (rand, 50000);
    }
}

static SimAction
draw_action (GRand *rand, gint64 max_delay)
{
  static const struct
  {
    SimDo what;
    guint weight;
  } weights[] = {
    { SIM_DO_GROW, 22 },      { SIM_DO_SHRINK, 22 }, { SIM_DO_RELEASE, 3 },   { SIM_DO_CANCEL, 3 },
    { SIM_DO_SUBMIT, 30 },    { SIM_DO_KILL, 8 },    { SIM_DO_END_JOB, 4 },   { SIM_DO_CUT, 3 },
    { SIM_DO_STICK, 2 },      { SIM_DO_REPEAT, 3 },  { SIM_DO_FATE, 6 },      { SIM_DO_ALLOCATORS, 3 },
    { SIM_DO_LOSE_ORDER, 1 }, { SIM_DO_DRAIN, 3 },   { SIM_DO_SHUT_DOWN, 1 }, { SIM_DO_WAIT, 2 },
    { SIM_DO_TOOL_GONE, 2 },
  };
  SimAction action = { .luck = g_rand_int (rand), .a = g_rand_int (rand), .b = g_rand_int (rand) };
  guint at = draw (rand, 118);

  action.c = g_rand_int (rand);
  for (guint i = 0; i < G_N_ELEMENTS (weights); at -= weights[i++].weight)
    if (at < weights[i].weight)
      {
        action.what = weights[i].what;
        break;
      }
  action.time = draw_time (rand, max_delay);
  if (draw (rand, 3) == 0)
    action.step = draw (rand, SIM_N_STEPS);
  return action;
}

SimSchedule *
sim_schedule_draw (guint seed)
{
  static const guint radixes[] = { 2, 2, 2, 3, 32 };
  static const gint64 paces[] = { 500, 5000, 50000 };
  static const gint64 delays[] = { 200, 2000 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  SimSchedule *self = g_new0 (SimSchedule, 1);
  guint n;

  self->setting.seed = seed;
  self->setting.n_nodes = 1 + draw (rand, 7);
  self->setting.radix = radixes[draw (rand, G_N_ELEMENTS (radixes))];
  self->setting.elastic = draw (rand, 40) > 0;
  self->setting.heal = seed % 4 == 3;
  self->setting.max_delay = delays[draw (rand, G_N_ELEMENTS (delays))];
  self->setting.pace = paces[draw (rand, G_N_ELEMENTS (paces))];
  self->actions = g_array_new (FALSE, FALSE, sizeof (SimAction));
  n = 4 + draw (rand, 20);
  for (guint i = 0; i < n; i++)
    {
      SimAction action = draw_action (rand, self->setting.max_delay);

      g_array_append_val (self->actions, action);
    }
  return self;
}

void
sim_schedule_free (SimSchedule *self)
{
  g_array_unref (self->actions);
  g_free (self);
}

/* ---- changes of size ---- */

static gboolean
is_taken (GPtrArray *hosts, const char *name)
{
  for (guint i = 0; i < hosts->len; i++)
    if (g_str_equal (g_ptr_array_index (hosts, i), name))
      return TRUE;
  return FALSE;
}

/* Mostly hosts that are not in the DVM, sometimes any; each is named once. */
static GPtrArray *
choose_new_hosts (SimWorld *world, const SimAction *action)
{
  GPtrArray *hosts = g_ptr_array_new_with_free_func (g_free);
  guint n = 1 + action->a % 4;

  if (action->a % 7 > 2)
    n = 1 + n % 2;
  for (guint i = 0; i < 2 * SIM_N_HOSTS && hosts->len < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("h%u", 1 + (action->b + i) % SIM_N_HOSTS);

      if (is_taken (hosts, name))
        continue;
      if (dvmd_node_pool_find (dvmd_core_get_nodes (world->core), name) == NULL || (action->c >> i & 7) == 0)
        g_ptr_array_add (hosts, g_steal_pointer (&name));
    }
  return hosts;
}

/* Mostly hosts that are in the DVM; the caller adds the NULL of a strv. */
static GPtrArray *
choose_old_hosts (SimWorld *world, const SimAction *action)
{
  GPtrArray *hosts = g_ptr_array_new_with_free_func (g_free);
  guint n = 1 + action->a % 4;
  guint n_ranks = world->daemons->len - 1;

  if (n_ranks == 0)
    g_ptr_array_add (hosts, g_strdup ("h1"));
  for (guint i = 0; i < n_ranks && hosts->len < n; i++)
    {
      SimDaemon *daemon = sim_world_get (world, 1 + (action->b + i * (1 + action->c % 3)) % n_ranks);

      if (is_taken (hosts, daemon->host))
        continue;
      if (dvmd_node_pool_find (dvmd_core_get_nodes (world->core), daemon->host) != NULL || action->c % 16 == 0)
        g_ptr_array_add (hosts, g_strdup (daemon->host));
    }
  if (action->c % 31 == 0)
    g_ptr_array_add (hosts, g_strdup ("head"));
  if (action->c % 37 == 0)
    g_ptr_array_add (hosts, g_strdup ("elsewhere"));
  return hosts;
}

static const char *
choose_requester (const SimAction *action)
{
  static const char *const names[] = { ":1.7", "private:3", "pmix:tool.7.0", NULL };

  return names[action->luck % G_N_ELEMENTS (names)];
}

/* (nullable): the allocation of one of the campaigns so far */
static const char *
choose_allocation (SimWorld *world, guint which)
{
  SimCampaign *campaign;

  if (world->campaigns->len == 0)
    return NULL;
  campaign = g_ptr_array_index (world->campaigns, which % world->campaigns->len);
  return dvm_campaign_get_alloc_id (dvmd_campaign_get_record (campaign->campaign));
}

static void
note_answer (SimWorld *world, const SimAction *action, gboolean ok, DvmdSizeAnswer *answer, guint n_before,
             const char *req_id)
{
  SimCampaign *campaign;
  gboolean by_scheduler = world->by_scheduler;

  world->in_phase_one = FALSE;
  world->by_scheduler = FALSE;
  if (!ok)
    {
      sim_hold (world, SIM_E48, world->campaigns->len == n_before);
      return;
    }
  sim_hold (world, SIM_E37, answer->alloc_id != NULL && answer->alloc_id[0] != '\0');
  if (answer->campaign == 0)
    {
      sim_hold (world, SIM_E49, world->campaigns->len == n_before);
      return;
    }
  /* The scheduler's release of an allocation makes a release of it that waits for jobs begin, and is that one. */
  if (by_scheduler && answer->campaign <= n_before)
    {
      sim_hold (world, SIM_E37, world->campaigns->len == n_before);
      return;
    }
  sim_hold (world, SIM_E37, world->campaigns->len == n_before + 1 && answer->campaign == n_before + 1);
  campaign = sim_world_get_campaign (world, answer->campaign);
  campaign->accepted = TRUE;
  campaign->has_requester = choose_requester (action) != NULL;
  campaign->req_id = g_strdup (req_id);
  if (dvmd_core_get_campaigns_running (world->core) > 1)
    {
      sim_hold (world, SIM_E10, TRUE);
      world->tally->counts[SIM_COUNT_OVERLAPS]++;
    }
}

static void
check_refusal (SimWorld *world, const GError *error)
{
  /* The request may be wrong in other ways too, and be refused for these. */
  if (world->setting.elastic || world->shutdown || g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_FOUND)
      || g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED)
      || g_error_matches (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS))
    return;
  sim_hold (world, SIM_D16, g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_ELASTIC));
}

/* A grow is bringing the host, by all that is known. */
static gboolean
is_being_added (SimWorld *world, const char *name)
{
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);
      DvmCampaign *record = dvmd_campaign_get_record (campaign->campaign);

      if (dvmd_campaign_get_ended (campaign->campaign) || campaign->failed_seq > 0 || campaign->cancelled)
        continue;
      if (dvm_campaign_get_kind (record) == DVM_CAMPAIGN_KIND_GROW
          && g_strv_contains (dvm_campaign_get_hosts (record), name))
        return TRUE;
    }
  return FALSE;
}

/* The host is a member that no campaign takes away. */
static gboolean
is_in (SimWorld *world, const char *name)
{
  DvmdNode *node = dvmd_node_pool_find (dvmd_core_get_nodes (world->core), name);

  if (node == NULL || !sim_is_member (world, node->rank))
    return FALSE;
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      DvmdCampaign *campaign = ((SimCampaign *)g_ptr_array_index (world->campaigns, i))->campaign;

      if (!dvmd_campaign_get_ended (campaign) && sim_has_target (campaign, node->rank))
        return FALSE;
    }
  return TRUE;
}

static void
grow (SimWorld *world, const SimAction *action)
{
  g_autoptr (GPtrArray) names = choose_new_hosts (world, action);
  g_autoptr (DvmdRequester)
      requester = choose_requester (action) != NULL ? dvmd_requester_new (choose_requester (action), 1000, 7) : NULL;
  g_autoptr (GArray) hosts = g_array_new (FALSE, TRUE, sizeof (DvmdGrowHost));
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowRequest request = { .requester = requester, .n_hosts = names->len, .inheritance_given = TRUE };
  guint n_before = world->campaigns->len;
  gboolean taken = FALSE;
  gboolean all_in = TRUE;
  gboolean ok;

  for (guint i = 0; i < names->len; i++)
    {
      DvmdGrowHost host = { .name = g_ptr_array_index (names, i), .slots = (action->luck >> i) % 4 };

      taken |= is_being_added (world, host.name);
      all_in &= is_in (world, host.name);
      g_array_append_val (hosts, host);
    }
  request.hosts = (const DvmdGrowHost *)hosts->data;
  request.scheduler = world->by_scheduler = requester == NULL && action->luck % 3 == 0;
  request.req_id = action->luck % 5 == 0 ? "mine" : NULL;
  request.alloc_id = action->luck % 11 == 0 ? choose_allocation (world, action->luck / 11) : NULL;
  request.share = action->luck / 64 % 3 != 0;
  request.inheritance = action->luck / 256 % 4;
  request.limit.time = action->luck / 1024 % 16 == 0 ? 1 : 0;
  world->in_phase_one = TRUE;
  ok = dvmd_core_grow (world->core, &request, &answer, &error);
  sim_world_trace (world, "grow %s and %u more: %s", names->len > 0 ? (char *)names->pdata[0] : "nothing",
                   names->len > 0 ? names->len - 1 : 0, ok ? answer.alloc_id : error->message);
  note_answer (world, action, ok, &answer, n_before, request.req_id);
  if (!ok)
    check_refusal (world, error);
  if (ok && dvmd_event_queue_is_empty (world->queue))
    sim_hold (world, SIM_D14_IN, (answer.campaign == 0) == all_in);
  if (taken && world->setting.elastic && !world->shutdown && dvmd_event_queue_is_empty (world->queue))
    sim_hold (world, SIM_D14_EXISTS, !ok);
  if (ok && answer.campaign != 0)
    sim_world_get_campaign (world, answer.campaign)->is_shared = request.alloc_id == NULL && request.share;
}

/* The release of the hosts cancels the grows that bring them. */
static void
note_cancelled (SimWorld *world, const char *const *hosts)
{
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);
      DvmCampaign *record = dvmd_campaign_get_record (campaign->campaign);

      if (dvm_campaign_get_kind (record) != DVM_CAMPAIGN_KIND_GROW || dvmd_campaign_get_ended (campaign->campaign))
        continue;
      for (guint k = 0; hosts[k] != NULL; k++)
        campaign->cancelled |= g_strv_contains (dvm_campaign_get_hosts (record), hosts[k]);
    }
}

static void
shrink_by (SimWorld *world, const SimAction *action, const char *const *hosts, const char *alloc_id)
{
  g_autoptr (DvmdRequester)
      requester = choose_requester (action) != NULL ? dvmd_requester_new (choose_requester (action), 1000, 7) : NULL;
  DvmdShrinkRequest request = { .requester = requester, .hosts = hosts, .alloc_id = alloc_id };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  guint n_before = world->campaigns->len;
  gboolean ok;

  request.scheduler = world->by_scheduler = requester == NULL && action->luck % 3 == 0;
  request.req_id = action->luck % 5 == 0 ? "mine" : NULL;
  request.drain_timeout = action->luck % 6 == 0 ? 1 : 0;
  world->in_phase_one = TRUE;
  ok = dvmd_core_shrink (world->core, &request, &answer, &error);
  sim_world_trace (world, "shrink %s%s: %s", hosts != NULL ? hosts[0] : "", alloc_id != NULL ? alloc_id : "",
                   ok ? answer.alloc_id : error->message);
  note_answer (world, action, ok, &answer, n_before, request.req_id);
  if (!ok)
    check_refusal (world, error);
  if (hosts != NULL && g_strv_contains (hosts, "head") && world->setting.elastic)
    sim_hold (world, SIM_D10, !ok);
  if (ok && hosts != NULL)
    note_cancelled (world, hosts);
  /* The release of an allocation cancels each of its grows. */
  for (guint i = 0; ok && hosts == NULL && i < n_before; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);

      campaign->cancelled |= g_strcmp0 (dvm_campaign_get_alloc_id (dvmd_campaign_get_record (campaign->campaign)),
                                        alloc_id)
                             == 0;
    }
}

static void
shrink (SimWorld *world, const SimAction *action)
{
  g_autoptr (GPtrArray) hosts = choose_old_hosts (world, action);

  g_ptr_array_add (hosts, NULL);
  shrink_by (world, action, (const char *const *)hosts->pdata, NULL);
}

static void
release (SimWorld *world, const SimAction *action)
{
  g_autofree char *alloc_id = g_strdup (choose_allocation (world, action->a));

  if (alloc_id != NULL && alloc_id[0] != '\0')
    shrink_by (world, action, NULL, alloc_id);
}

static void
cancel (SimWorld *world, const SimAction *action)
{
  SimCampaign *campaign;
  gboolean was;

  if (world->campaigns->len == 0)
    return;
  campaign = g_ptr_array_index (world->campaigns,
                                world->campaigns->len - 1 - action->a % MIN (world->campaigns->len, 3));
  was = campaign->cancelled;
  campaign->cancelled = TRUE;
  if (!dvmd_core_cancel_campaign (world->core, campaign->campaign, NULL))
    campaign->cancelled = was;
}

/* ---- jobs ---- */

/* The job names allocations that there may still be, and perhaps the default session. */
static void
set_targets (SimWorld *world, DvmJobSpec *spec, const SimAction *action)
{
  const char *one = choose_allocation (world, action->luck / 32);
  const char *other = choose_allocation (world, action->luck / 512);
  const char *targets[4] = { one != NULL ? one : "" };
  guint n = 1;

  if (action->luck / 4096 % 3 == 0 && one != NULL && g_strcmp0 (one, other) != 0)
    targets[n++] = other;
  if (action->luck / 16384 % 3 == 0 && one != NULL)
    targets[n] = "";
  dvm_job_spec_set_target (spec, targets);
}

static void
set_options (SimWorld *world, DvmJobSpec *spec, const SimAction *action)
{
  static const char *const policies[] = { "wait", "wait", "refuse", "oversubscribe" };
  const char *files[] = { "/tmp/data.txt", NULL };
  g_autofree char *one = g_strdup_printf ("h%u", 1 + action->c % SIM_N_HOSTS);
  g_autofree char *other = g_strdup_printf ("h%u", 1 + action->c / 16 % SIM_N_HOSTS);
  const char *hosts[] = { one, other, NULL };

  if (action->b % 3 == 0)
    dvm_job_spec_set_recoverable (spec, TRUE);
  if (action->b % 2 == 0)
    dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  dvm_job_spec_set_when_full (spec, policies[action->b / 16 % 4]);
  if (action->b / 64 % 10 == 0)
    dvm_job_spec_set_timeout (spec, 1);
  if (action->b / 640 % 12 == 0)
    dvm_job_spec_set_runtime_options (spec, "donotlaunch");
  if (action->b / 8000 % 8 == 0)
    dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), hosts);
  else if (action->b / 8000 % 8 == 1 && world->setting.elastic)
    dvm_job_spec_set_add_hosts (spec, hosts);
  if (action->luck / 8 % 4 == 0)
    set_targets (world, spec, action);
}

static void
submit (SimWorld *world, const SimAction *action)
{
  const char *argv[] = { "/bin/prog", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (GError) error = NULL;
  const char *const *own;
  SimWatch *watch;
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), action->a % (action->luck % 5 == 0 ? 16 : 6));
  set_options (world, spec, action);
  job = dvmd_core_submit (world->core, spec, NULL, &error);
  sim_world_trace (world, "submitted: %s",
                   job != NULL ? dvm_job_get_nspace (dvmd_job_get_record (job)) : error->message);
  if (job == NULL)
    return;
  watch = sim_world_get_watch (world, job);
  watch->has_hosts = action->b / 8000 % 8 == 0;
  own = dvm_job_spec_get_add_hosts (spec);
  watch->has_own = own != NULL && own[0] != NULL;
  watch->has_targets = dvm_job_spec_get_target (spec)[0] != NULL;
  sim_may_end (world, job, DVM_JOB_STATE_MAP_FAILED);
  watch->may_be_killed = dvm_job_spec_get_timeout (spec) > 0;
  if (watch->may_be_killed)
    sim_may_end (world, job, DVM_JOB_STATE_KILLED_BY_CMD);
  if (world->shutdown)
    {
      sim_may_end (world, job, DVM_JOB_STATE_KILLED_BY_CMD);
      sim_may_end (world, job, DVM_JOB_STATE_FORCED_EXIT);
    }
  if (!dvmd_core_was_ready (world->core))
    sim_may_end (world, job, DVM_JOB_STATE_NEVER_LAUNCHED);
}

/* A job is ended, whatever it is at, by its user or by the end of the PMIx server of a node that its ranks are on. */
static void
end_job (SimWorld *world, const SimAction *action)
{
  gboolean is_cancelled = action->b % 2 == 0;
  DvmJobState state = is_cancelled ? DVM_JOB_STATE_KILLED_BY_CMD : DVM_JOB_STATE_COMM_FAILED;
  SimWatch *watch;

  if (world->watches->len == 0)
    return;
  watch = g_ptr_array_index (world->watches, action->a % world->watches->len);
  sim_may_end (world, watch->job, state);
  watch->may_be_killed |= is_cancelled;
  dvmd_core_fail_job (world->core, watch->job, state, is_cancelled ? "enough" : "its PMIx server has ended");
}

/* ---- faults ---- */

/* A living agent; mostly one that has to do with a campaign that goes on. */
static guint
choose_agent (SimWorld *world, const SimAction *action)
{
  guint n = world->daemons->len - 1;

  for (guint i = 0; i < n; i++)
    {
      SimDaemon *daemon = sim_world_get (world, 1 + (action->a + i) % n);

      if (daemon->alive && (action->b % 3 == 0 || !daemon->wired || daemon->ordered))
        return daemon->rank;
    }
  return n > 0 ? 1 + action->a % n : 0;
}

static void
drain (SimWorld *world, const SimAction *action)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (world->core), choose_agent (world, action));

  if (node == NULL || node->rank == 0)
    return;
  if (dvmd_node_is_drained (node) || action->c % 2 == 0)
    dvmd_core_resume_node (world->core, node, NULL);
  else
    dvmd_core_drain_node (world->core, node, "new disk", NULL);
}

static void
shut_down (SimWorld *world, gboolean force)
{
  world->shutdown = TRUE;
  sim_all_may_end (world, DVM_JOB_STATE_FORCED_EXIT);
  sim_all_may_end (world, DVM_JOB_STATE_KILLED_BY_CMD);
  dvmd_core_shutdown (world->core, force, "enough");
}

static void
do_fault (SimWorld *world, const SimAction *action)
{
  guint rank = choose_agent (world, action);

  world->tally->counts[SIM_COUNT_FAULTS]++;
  switch (action->what)
    {
    case SIM_DO_KILL:
      sim_world_kill (world, rank);
      break;
    case SIM_DO_CUT:
      sim_world_cut (world, rank);
      break;
    case SIM_DO_STICK:
      sim_world_stick (world, rank);
      break;
    case SIM_DO_REPEAT:
      for (guint i = 1; i < world->daemons->len; i++)
        sim_world_repeat (world, i, action->a + i);
      break;
    case SIM_DO_FATE:
      for (guint i = 0; i <= action->a % 3; i++)
        {
          SimFate fate = (action->b >> i) % SIM_N_FATES;

          g_array_append_val (world->fates, fate);
        }
      break;
    case SIM_DO_ALLOCATORS:
      world->allocator = action->a % 3;
      break;
    case SIM_DO_LOSE_ORDER:
    default:
      world->order_fails = TRUE;
    }
}

/* ---- run ---- */

static void
act (SimWorld *world, guint number)
{
  SimSchedule *self = world->schedule;
  const SimAction *action = &g_array_index (self->actions, SimAction, number);

  if (sim_step_to_string (action->step) != NULL)
    sim_world_trace (world, "--- action %u", number);
  g_rand_set_seed (world->rand, action->luck);
  world->dirty = TRUE;
  world->tally->counts[SIM_COUNT_ACTIONS]++;
  switch (action->what)
    {
    case SIM_DO_GROW:
      grow (world, action);
      break;
    case SIM_DO_SHRINK:
      shrink (world, action);
      break;
    case SIM_DO_RELEASE:
      release (world, action);
      break;
    case SIM_DO_CANCEL:
      cancel (world, action);
      break;
    case SIM_DO_SUBMIT:
      submit (world, action);
      break;
    case SIM_DO_END_JOB:
      end_job (world, action);
      break;
    case SIM_DO_DRAIN:
      drain (world, action);
      break;
    case SIM_DO_TOOL_GONE:
      dvmd_core_namespace_ended (world->core, "tool.7");
      break;
    case SIM_DO_SHUT_DOWN:
      shut_down (world, action->a % 3 == 0);
      break;
    case SIM_DO_WAIT:
      break;
    default:
      do_fault (world, action);
    }
}

/* An agent that is stuck would never come to rest. */
static void
kill_stuck (SimWorld *world)
{
  for (guint rank = 1; rank < world->daemons->len; rank++)
    if (sim_world_get (world, rank)->stuck && !sim_world_get (world, rank)->ordered)
      sim_world_kill (world, rank);
}

/* Runs until all that has begun has come to its end; nothing new begins. */
static void
settle (SimWorld *world)
{
  gint64 limit = dvmd_clock_monotonic (world->clock) + REST_LIMIT;
  gint64 time = G_TIME_SPAN_MILLISECOND;

  world->ending = TRUE;
  do
    {
      kill_stuck (world);
      sim_world_poke_all (world);
      sim_world_run (world, time);
      time = MIN (2 * time, G_TIME_SPAN_SECOND);
      sim_hold (world, SIM_REST, dvmd_clock_monotonic (world->clock) < limit);
    }
  while (!sim_world_is_quiet (world));
}

static void
come_to_rest (SimWorld *world)
{
  g_array_set_size (world->traps, 0);
  settle (world);
  sim_statements_check (world);
  sim_statements_check_rest (world);
}

void
sim_schedule_run (SimSchedule *self, SimTally *tally)
{
  g_autoptr (SimWorld) world = sim_world_new (&self->setting, tally);

  world->schedule = self;
  world->act = act;
  while (!dvmd_core_was_ready (world->core))
    sim_world_run (world, G_TIME_SPAN_MILLISECOND);
  for (guint i = 0; i < self->actions->len; i++)
    {
      SimAction *action = &g_array_index (self->actions, SimAction, i);

      if (action->left_out)
        continue;
      tally->n_actions = i + 1;
      if (action->step != SIM_STEP_NONE)
        sim_world_arm (world, action->step, i);
      else
        sim_world_post (world, 0, SIM_POST_DO, i, 0);
      sim_world_run (world, action->time);
    }
  come_to_rest (world);
  if (!world->shutdown)
    shut_down (world, FALSE);
  settle (world);
  sim_statements_check_end (world);
  tally->counts[SIM_COUNT_PACKETS] += sim_net_get_n_packets (world->net);
  tally->counts[SIM_COUNT_REMAPPED] += dvmd_core_get_statistics (world->core)->jobs_remapped;
  tally->counts[SIM_COUNT_SCHEDULES]++;
}

void
sim_schedule_print (SimSchedule *self)
{
  static const char *const names[SIM_N_DOS] = { "grow",      "shrink",     "release",    "cancel", "submit",
                                                "end-job",   "kill",       "cut",        "stick",  "repeat",
                                                "fate",      "allocators", "lose-order", "drain",  "tool-gone",
                                                "shut-down", "wait" };

  g_printerr ("%u nodes, radix %u, %selastic, delays up to %.1f ms, pace %.1f ms\n", self->setting.n_nodes,
              self->setting.radix, self->setting.elastic ? "" : "not ", (double)self->setting.max_delay / 1000,
              (double)self->setting.pace / 1000);
  for (guint i = 0; i < self->actions->len; i++)
    {
      const SimAction *action = &g_array_index (self->actions, SimAction, i);

      if (!action->left_out)
        g_printerr ("  %2u: %s at \"%s\" (%u, %u, %u), then %.3f ms\n", i, names[action->what],
                    sim_step_to_string (action->step), action->a, action->b, action->c, (double)action->time / 1000);
    }
}
