/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A world for the pure core that only writes down what it was asked for.
 */

#pragma once

#include "dvmd-core-elastic.h"

#include <stdlib.h>
#include <string.h>

#define START G_GINT64_CONSTANT (1700000000000000)

typedef struct
{
  DvmdClock *clock;
  DvmdEventQueue *queue;
  DvmdCore *core;
  GString *log; /* effects in their order */
  gboolean ready;
  gboolean ended;
  guint n_ended; /* times that the DVM ended */
  DvmJobState end_state;
  char *end_reason;
  guint n_agents;
  gboolean logs_sessions;
} World;

/* ---- effects ---- */

static inline void
world_launch_agents (gpointer data, DvmdNode *const *nodes, guint n_nodes)
{
  World *world = data;

  world->n_agents = n_nodes;
  g_string_append_printf (world->log, "agents %u\n", n_nodes);
}

static inline void
world_ready (gpointer data)
{
  ((World *)data)->ready = TRUE;
}

static inline DvmdMap *
world_map (gpointer data, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  g_autoptr (DvmdMap) map = dvmd_map_new ();
  GArray *np = dvmd_job_get_app_np (job);
  guint rank = 0;

  for (guint app = 0; app < np->len; app++)
    {
      guint left = g_array_index (np, guint, app);

      for (guint i = 0; i < places->n_nodes && left > 0; i++)
        {
          guint count = places->oversubscribe && i == places->n_nodes - 1 ? left : MIN (left, places->limits[i]);

          if (count > 0)
            dvmd_map_add_run (
                map, &(DvmdMapRow){
                         .node = places->nodes[i]->rank, .app = app, .first_rank = rank, .count = count, .stride = 1 });
          rank += count;
          left -= count;
        }
      if (left > 0)
        {
          g_set_error_literal (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "no room");
          return NULL;
        }
    }
  return g_steal_pointer (&map);
}

static inline void
world_stage_files (gpointer data, DvmdJob *job)
{
  g_string_append_printf (((World *)data)->log, "stage %u\n", dvmd_job_get_id (job));
}

static inline void
world_show_job (gpointer data, DvmdJob *job)
{
  g_string_append_printf (((World *)data)->log, "show %u\n", dvmd_job_get_id (job));
}

static inline void
world_send_launch (gpointer data, DvmdJob *job)
{
  g_string_append_printf (((World *)data)->log, "launch %u\n", dvmd_job_get_id (job));
}

static inline void
world_move_ranks (gpointer data, DvmdJob *job, GArray *moves)
{
  for (guint i = 0; i < moves->len; i++)
    {
      const DvmdMove *move = &g_array_index (moves, DvmdMove, i);

      g_string_append_printf (((World *)data)->log, "move %u: rank %u from %u to %u, time %u\n", dvmd_job_get_id (job),
                              move->rank, move->old_node, move->node, move->n_restarts);
    }
}

static inline void
world_kill (gpointer data, DvmdJob *job)
{
  g_string_append_printf (((World *)data)->log, "kill %u\n", dvmd_job_get_id (job));
}

static inline void
world_signal (gpointer data, DvmdJob *job, int signal)
{
  const char *name = signal == DVMD_SIGNAL_STOP ? "stop" : signal == DVMD_SIGNAL_CONTINUE ? "continue" : "signal";

  g_string_append_printf (((World *)data)->log, "%s %u\n", name, dvmd_job_get_id (job));
}

static inline void
world_node_lost (gpointer data, DvmdJob *job, DvmdNode *node)
{
  g_string_append_printf (((World *)data)->log, "without %u of %s\n", dvmd_job_get_id (job),
                          dvm_node_get_name (node->record));
}

static inline void
world_tell_started (gpointer data, DvmdJob *job)
{
  g_string_append_printf (((World *)data)->log, "started %u\n", dvmd_job_get_id (job));
}

static inline void
world_tell_ended (gpointer data, DvmdJob *job)
{
  g_string_append_printf (((World *)data)->log, "ended %u\n", dvmd_job_get_id (job));
}

static inline void
world_dvm_ended (gpointer data, DvmJobState state, const char *reason)
{
  World *world = data;

  world->ended = TRUE;
  world->n_ended++;
  world->end_state = state;
  g_free (world->end_reason);
  world->end_reason = g_strdup (reason);
}

static inline char *
world_list (DvmdNode *const *nodes, guint n_nodes)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n_nodes; i++)
    g_string_append_printf (text, " %u", nodes[i]->rank);
  return g_string_free (text, FALSE);
}

static inline guint
world_number (DvmdCampaign *campaign)
{
  return campaign != NULL ? dvmd_campaign_get_id (campaign) : 0;
}

static inline void
world_wire (gpointer data, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  g_autofree char *list = world_list (nodes, n_nodes);

  g_string_append_printf (((World *)data)->log, "wire %u:%s\n", world_number (campaign), list);
}

static inline void
world_see_off (gpointer data, DvmdSendOff *order)
{
  g_autofree char *list = order->nodes != NULL ? world_list (order->nodes, order->n_nodes) : NULL;

  if (list != NULL)
    g_string_append_printf (((World *)data)->log, "remove %u:%s\n", world_number (order->campaign), list);
  else
    g_string_append_printf (((World *)data)->log, "stop%s\n", order->force ? " forced" : "");
  order->repairs = 1;
  order->links_changed = order->n_nodes;
}

static inline void
world_warn (gpointer data, DvmdJob *job, DvmdNode *node, gint64 when)
{
  g_string_append_printf (((World *)data)->log, "warn %u of %u\n", dvmd_job_get_id (job), node->rank);
}

static inline void
world_offer (gpointer data, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n_nodes)
{
  World *world = data;

  g_string_append_printf (world->log, "offer %u:", world_number (campaign));
  for (guint i = 0; i < n_nodes; i++)
    g_string_append_printf (world->log, " %s%s%s", nodes[i].name, nodes[i].allocator != NULL ? " of " : "",
                            nodes[i].allocator != NULL ? nodes[i].allocator : "");
  g_string_append_c (world->log, '\n');
}

static inline void
world_campaign_ended (gpointer data, DvmdCampaign *campaign)
{
  g_string_append_printf (((World *)data)->log, "end %u: %s %s\n", world_number (campaign),
                          dvm_campaign_state_to_string (dvmd_campaign_get_state (campaign)),
                          dvm_campaign_get_cause (dvmd_campaign_get_record (campaign)));
}

static inline void
world_session_ended (gpointer data, DvmdSession *session, GVariant *jobs)
{
  g_autoptr (GVariant) kept = g_variant_ref_sink (jobs);
  g_autofree char *text = g_variant_print (kept, FALSE);

  if (((World *)data)->logs_sessions)
    g_string_append_printf (((World *)data)->log, "session %u: %s\n", dvmd_session_get_id (session), text);
}

static const DvmdEffects world_effects = {
  .session_ended = world_session_ended,
  .launch_agents = world_launch_agents,
  .dvm_ready = world_ready,
  .placement.map = world_map,
  .stage_files = world_stage_files,
  .show_job = world_show_job,
  .send_launch = world_send_launch,
  .move_ranks = world_move_ranks,
  .kill = world_kill,
  .signal_job = world_signal,
  .node_lost = world_node_lost,
  .tell_started = world_tell_started,
  .tell_ended = world_tell_ended,
  .see_off = world_see_off,
  .dvm_ended = world_dvm_ended,
  .wire_agents = world_wire,
  .warn_job = world_warn,
  .offer_nodes = world_offer,
  .campaign_ended = world_campaign_ended,
};

/* ---- the world ---- */

static inline void
run (World *world)
{
  dvmd_event_queue_drain (world->queue, 0);
}

static inline void
world_init_with (World *world, guint n_nodes, guint slots, const DvmdCoreSettings *settings)
{
  *world = (World){ 0 };
  world->log = g_string_new (NULL);
  world->clock = dvmd_clock_new_manual (START);
  world->queue = dvmd_event_queue_new (NULL, NULL);
  world->core = dvmd_core_new (settings, world->clock, world->queue, &world_effects, world);
  for (guint i = 0; i < n_nodes; i++)
    {
      g_autofree char *name = g_strdup_printf ("node%u", i + 1);

      dvmd_core_add_node (world->core, name, slots, 0);
    }
  dvmd_core_start (world->core);
  run (world);
}

static inline void
world_init (World *world, guint n_nodes, guint slots, gboolean one_shot)
{
  DvmdCoreSettings settings = {
    .nspace = "dvm-test", .host = "head", .history_limit = 3, .one_shot = one_shot, .uid = 1000
  };

  world_init_with (world, n_nodes, slots, &settings);
}

static inline void
report (World *world, guint rank)
{
  const char *aliases[] = { "alias", NULL };
  DvmdAgentReport said = { .host = "h", .aliases = aliases, .address = "", .pid = 7, .hwthreads = 2, .topology = "t" };

  dvmd_core_agent_reported (world->core, rank, &said);
}

static inline void
report_all (World *world)
{
  for (guint rank = 1; rank <= world->n_agents; rank++)
    report (world, rank);
  run (world);
}

static inline void
bring_up (World *world)
{
  report_all (world);
  dvmd_core_agents_wired (world->core, NULL);
  run (world);
  g_assert_true (world->ready);
}

static inline void
world_clear (World *world)
{
  dvmd_event_queue_free (world->queue);
  g_object_unref (world->core);
  dvmd_clock_unref (world->clock);
  g_string_free (world->log, TRUE);
  g_free (world->end_reason);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (World, world_clear)

static inline DvmJobSpec *
make_spec (guint np)
{
  const char *argv[] = { "/bin/prog", NULL };
  DvmJobSpec *spec = dvm_job_spec_new_for_argv (argv);

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), np);
  return spec;
}

static inline DvmdJob *
submit_spec (World *world, DvmJobSpec *spec)
{
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  g_autoptr (GError) error = NULL;
  DvmdJob *job = dvmd_core_submit (world->core, spec, requester, &error);

  g_assert_no_error (error);
  run (world);
  return job;
}

static inline DvmdJob *
submit (World *world, guint np)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);

  return submit_spec (world, spec);
}

static inline void
launch_all (World *world, DvmdJob *job)
{
  g_autoptr (GArray) agents = dvmd_map_get_nodes (dvmd_job_get_map (job));

  for (guint i = 0; i < agents->len; i++)
    {
      guint agent = g_array_index (agents, guint, i);
      DvmdProcTable *procs = dvmd_job_get_procs (job);

      for (guint rank = 0; rank < procs->n_rows; rank++)
        if (dvmd_proc_table_row (procs, rank)->node == agent)
          dvmd_core_proc_launched (world->core, job, rank, 100 + rank, 0, NULL);
      dvmd_core_local_launch_complete (world->core, job, agent);
    }
  run (world);
}

static inline void
end_proc (World *world, DvmdJob *job, guint rank, DvmProcState state, int code, int signum)
{
  dvmd_core_proc_state (world->core, job, rank, state, code, signum);
  run (world);
}

static inline void
all_gone (World *world, DvmdJob *job)
{
  g_autoptr (GArray) agents = dvmd_map_get_nodes (dvmd_job_get_map (job));

  for (guint i = 0; i < agents->len; i++)
    dvmd_core_job_gone (world->core, job, g_array_index (agents, guint, i));
  run (world);
}

static inline void
run_to_end (World *world, DvmdJob *job)
{
  guint n = dvmd_job_get_procs (job)->n_rows;

  launch_all (world, job);
  for (guint rank = 0; rank < n; rank++)
    end_proc (world, job, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (world, job);
}

static inline char *
states_of (DvmdJob *job)
{
  GArray *trace = dvmd_job_get_trace (job);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < trace->len; i++)
    {
      DvmdTraceEntry *entry = &g_array_index (trace, DvmdTraceEntry, i);

      if (entry->rank != DVMD_TRACE_JOB)
        continue;
      g_string_append_printf (text, "%s%s", text->len > 0 ? " " : "", dvm_job_state_to_string (entry->new_state));
    }
  return g_string_free (text, FALSE);
}

static inline void
assert_state (DvmdJob *job, DvmJobState state)
{
  g_assert_cmpstr (dvm_job_state_to_string (dvmd_job_get_state (job)), ==, dvm_job_state_to_string (state));
}

/* ---- campaigns ---- */

static inline void
world_init_elastic (World *world, guint n_nodes, guint slots)
{
  DvmdCoreSettings settings = { .nspace = "dvm-test",
                                .host = "head",
                                .history_limit = 3,
                                .elastic = TRUE,
                                .park_limit = 60,
                                .grow_timeout = 60,
                                .uid = 1000 };

  world_init_with (world, n_nodes, slots, &settings);
  bring_up (world);
  g_string_truncate (world->log, 0);
}

/* hosts: "node4 node5:2"; request: what else there is of it, (nullable) */
static inline guint
try_grow (World *world, const char *hosts, const DvmdGrowRequest *request, DvmdSizeAnswer *answer, GError **error)
{
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  DvmdGrowRequest asked = { .requester = requester };
  g_auto (GStrv) words = g_strsplit (hosts, " ", -1);
  DvmdGrowHost list[16] = { 0 };
  guint n = 0;

  if (request != NULL)
    asked = *request;
  for (; hosts[0] != '\0' && words[n] != NULL; n++)
    {
      char *colon = strchr (words[n], ':');

      if (colon != NULL)
        *colon = '\0';
      list[n].name = words[n];
      list[n].slots = colon != NULL ? atoi (colon + 1) : 0;
    }
  asked.hosts = list;
  asked.n_hosts = n;
  asked.share = TRUE;
  return dvmd_core_grow (world->core, &asked, answer, error) ? answer->campaign : 0;
}

static inline DvmdCampaign *
grow (World *world, const char *hosts)
{
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  guint id = try_grow (world, hosts, NULL, &answer, &error);

  g_assert_no_error (error);
  run (world);
  return dvmd_core_get_campaign (world->core, id);
}

static inline guint
try_shrink (World *world, const char *hosts, const DvmdShrinkRequest *request, DvmdSizeAnswer *answer, GError **error)
{
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  DvmdShrinkRequest asked = { .requester = requester };
  g_auto (GStrv) words = hosts != NULL ? g_strsplit (hosts, " ", -1) : NULL;

  if (request != NULL)
    asked = *request;
  asked.hosts = (const char *const *)words;
  return dvmd_core_shrink (world->core, &asked, answer, error) ? answer->campaign : 0;
}

static inline DvmdCampaign *
shrink (World *world, const char *hosts)
{
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  guint id = try_shrink (world, hosts, NULL, &answer, &error);

  g_assert_no_error (error);
  run (world);
  return dvmd_core_get_campaign (world->core, id);
}

static inline void
depart (World *world, guint rank)
{
  dvmd_core_agent_ended (world->core, rank, DVMD_AGENT_DEPARTED, DVMD_CAUSE_NONE, NULL);
  run (world);
}

static inline void
report_in (World *world, guint rank)
{
  report (world, rank);
  run (world);
}

static inline void
wired (World *world, DvmdCampaign *campaign)
{
  dvmd_core_agents_wired (world->core, campaign);
  run (world);
}

static inline void
offered (World *world, DvmdCampaign *campaign)
{
  dvmd_core_offered (world->core, campaign);
  run (world);
}

static inline void
assert_campaign (DvmdCampaign *campaign, DvmCampaignState state)
{
  g_assert_cmpstr (dvm_campaign_state_to_string (dvmd_campaign_get_state (campaign)), ==,
                   dvm_campaign_state_to_string (state));
}

static inline void
assert_log (World *world, const char *text)
{
  g_assert_cmpstr (world->log->str, ==, text);
  g_string_truncate (world->log, 0);
}

static inline void
assert_held (DvmdJob *job, const char *where)
{
  g_assert_cmpstr (dvm_job_get_held_at (dvmd_job_get_record (job)), ==, where);
}

#define UP_TO_SEND                                                                                                     \
  "INIT INIT_COMPLETE ALLOCATE ALLOCATION_COMPLETE LAUNCH_DAEMONS DAEMONS_REPORTED VM_READY MAP MAP_COMPLETE "         \
  "SYSTEM_PREP LAUNCH_APPS SEND_LAUNCH_MSG"
