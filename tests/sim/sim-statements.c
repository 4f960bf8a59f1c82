/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The statements, and what holds whenever the core is at rest between two events. What is looked at when something
 * happens is in sim-event-checks.c.
 */

#include "config.h"

#include "sim-statements.h"

#include "sim-event-checks.h"

typedef void (*Check) (SimWorld *world);

typedef struct
{
  const char *number;
  const char *text;
  Check check; /* (nullable): after every step; others are looked at when something happens */
} Statement;

static gboolean
is_parked (DvmdJob *job)
{
  return dvmd_job_get_state (job) == DVM_JOB_STATE_WAITING_FOR_DAEMONS;
}

static gboolean
is_held_by (DvmdJob *job, const char *gate)
{
  return g_str_equal (dvm_job_get_held_at (dvmd_job_get_record (job)), gate);
}

static guint
find_campaign_of (const char *path)
{
  return (guint)g_ascii_strtoull (strrchr (path, '/') + 1, NULL, 10);
}

static gboolean
has_ticket (SimWorld *world, gboolean shrinks_alone)
{
  return sim_find_ticket (world, shrinks_alone, G_MAXUINT64) != NULL;
}

/* ---- after every step ---- */

static void
check_inert (SimWorld *world)
{
  if (world->setting.elastic)
    return;
  sim_hold (world, SIM_E2, dvmd_core_get_launch_fence (world->core) == 0);
  sim_hold (world, SIM_E2, world->campaigns->len == 0);
  for (GList *l = dvmd_core_get_live_jobs (world->core); l != NULL; l = l->next)
    sim_hold (world, SIM_E2, !is_parked (l->data));
}

/* Counts targets of which the core was not told yet that they have left, are lost, or were never started. */
static guint
count_pending (SimWorld *world, DvmCampaign *record)
{
  gsize n_targets;
  const guint32 *targets = dvm_campaign_get_targets (record, &n_targets);
  guint n = 0;

  for (gsize i = 0; i < n_targets; i++)
    {
      SimDaemon *daemon = sim_world_get (world, targets[i]);

      /* A target that was never launched is known to the core alone. */
      if (daemon == NULL || !daemon->launched)
        n += dvmd_node_pool_get (dvmd_core_get_nodes (world->core), targets[i]) != NULL;
      else
        n += dvmd_departures_contains (world->departures, targets[i]) || (!daemon->departed && !daemon->declared);
    }
  return n;
}

static void
check_fence (SimWorld *world)
{
  guint sum = 0;

  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);
      DvmCampaign *record = dvmd_campaign_get_record (campaign->campaign);

      if (!dvmd_campaign_has_ticket (campaign->campaign))
        continue;
      sum += dvm_campaign_get_pending (record);
      if (dvm_campaign_get_kind (record) == DVM_CAMPAIGN_KIND_SHRINK && !campaign->order_failed)
        sim_hold (world, SIM_E56, dvm_campaign_get_pending (record) == count_pending (world, record));
    }
  if (world->campaigns->len > 0)
    sim_hold (world, SIM_D17_FENCE, dvmd_core_get_launch_fence (world->core) == sum);
}

static void
check_tickets (SimWorld *world)
{
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);

      if (campaign->cancelled && dvmd_campaign_get_kind (campaign->campaign) == DVM_CAMPAIGN_KIND_GROW)
        sim_hold (world, SIM_D14_CANCELS,
                  dvmd_campaign_get_ended (campaign->campaign)
                      || dvmd_campaign_get_state (campaign->campaign) == DVM_CAMPAIGN_STATE_ROLLING_BACK);
      if (dvmd_campaign_get_ended (campaign->campaign))
        sim_hold (world, SIM_E36, !dvmd_campaign_has_ticket (campaign->campaign));
      else if (dvmd_campaign_get_kind (campaign->campaign) == DVM_CAMPAIGN_KIND_SHRINK && campaign->began > 0
               && !dvmd_campaign_has_ticket (campaign->campaign) && !campaign->order_failed && !world->shutdown)
        sim_check_gone (world, campaign->campaign, SIM_E30);
    }
}

static void
check_parked (SimWorld *world)
{
  for (GList *l = dvmd_core_get_live_jobs (world->core); l != NULL; l = l->next)
    {
      DvmdJob *job = l->data;
      const char *const *waits = dvm_job_get_waits_for (dvmd_job_get_record (job));
      gboolean at_gate = is_held_by (job, "map") || is_held_by (job, "launch");
      guint n = waits != NULL ? g_strv_length ((char **)waits) : 0;

      /* A job may also wait for nodes that it asks for itself. */
      sim_hold (world, SIM_E59,
                is_parked (job) == at_gate || dvmd_job_get_state (job) == DVM_JOB_STATE_DAEMONS_LAUNCHED);
      sim_hold (world, SIM_E59, at_gate == (n > 0));
      for (guint i = 0; i < n; i++)
        {
          SimCampaign *campaign = sim_world_get_campaign (world, find_campaign_of (waits[i]));

          sim_hold (world, SIM_E34, campaign != NULL && !dvmd_campaign_get_ended (campaign->campaign));
        }
      if (is_held_by (job, "map"))
        sim_hold (world, SIM_E36, has_ticket (world, FALSE));
      if (is_held_by (job, "launch"))
        {
          sim_hold (world, SIM_E26, has_ticket (world, TRUE));
          sim_hold (world, SIM_E23, dvmd_job_get_map (job) != NULL);
        }
    }
}

static gboolean
is_up (DvmdNode *node)
{
  return node != NULL && (dvm_node_get_state (node->record) == DVM_NODE_STATE_UP || dvmd_node_is_drained (node));
}

static void
check_members (SimWorld *world)
{
  if (!dvmd_core_was_ready (world->core) || world->shutdown)
    return;
  for (guint rank = 1; rank < world->daemons->len; rank++)
    {
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (world->core), rank);

      sim_hold (world, SIM_D12_MEMBERS, is_up (node) == sim_is_member (world, rank));
      if (sim_world_get (world, rank)->departed)
        sim_hold (world, SIM_E32, node == NULL || (sim_world_get (world, rank)->restart && !is_up (node)));
    }
}

static void
check_sessions (SimWorld *world)
{
  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (world->core, session)) != NULL;)
    {
      g_autoptr (GArray) jobs = dvmd_session_get_id (session) != 0 ? dvmd_session_list_jobs (session) : NULL;

      for (guint i = 0; jobs != NULL && i < jobs->len; i++)
        {
          DvmdJob *job = dvmd_core_get_job (world->core, g_array_index (jobs, guint, i));

          sim_hold (world, SIM_S5, job != NULL && !dvmd_job_get_ended (job));
          sim_hold (world, SIM_S5,
                    g_array_index (dvmd_job_get_sessions (job), guint, 0) == dvmd_session_get_id (session));
        }
    }
}

/* The slots that jobs claim are those that nodes have given, and no job claims slots that are not there. */
static void
check_slots (SimWorld *world)
{
  g_autofree guint *claimed = g_new0 (guint, dvmd_node_pool_get_max_rank (dvmd_core_get_nodes (world->core)) + 1);
  guint n_slots = 0;

  for (GList *l = dvmd_core_get_live_jobs (world->core); l != NULL; l = l->next)
    {
      GArray *claims = dvmd_admission_get_claims (l->data);

      for (guint i = 0; claims != NULL && i < claims->len; i++)
        claimed[g_array_index (claims, DvmdClaim, i).node] += g_array_index (claims, DvmdClaim, i).slots;
    }
  for (guint rank = 1; rank <= dvmd_node_pool_get_max_rank (dvmd_core_get_nodes (world->core)); rank++)
    {
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (world->core), rank);

      sim_hold (world, SIM_D2_SLOTS, claimed[rank] == (node != NULL ? node->slots_in_use : 0));
      if (is_up (node) && !sim_is_leaving (world, rank))
        n_slots += node->slots;
    }
  if (world->campaigns->len > 0 && !world->shutdown)
    sim_hold (world, SIM_D12_SLOTS, dvmd_node_pool_count_slots (dvmd_core_get_nodes (world->core)) == n_slots);
}

static void
check_doomed (SimWorld *world)
{
  for (guint i = 0; i < world->watches->len; i++)
    {
      SimWatch *watch = g_ptr_array_index (world->watches, i);

      if (watch->doomed)
        sim_hold (world, SIM_E12, dvm_job_state_is_error (dvmd_job_get_state (watch->job)));
    }
}

/* ---- the table ---- */

static const Statement statements[SIM_N_STATEMENTS] = {
  [SIM_CRASH] = { "-", "The program neither warns nor ends", NULL },
  [SIM_ONCE] = { "D12", "What is said on the tree arrives once, whatever leaves on the way", NULL },
  [SIM_E2] = { "E2 E62", "With elastic mode off there is no fence, no parking and no campaign", check_inert },
  [SIM_E5] = { "E5", "A grow is complete when all of its agents are wired, and not before", NULL },
  [SIM_E9] = { "E9 E10", "A job is not failed by a change of size alone: its end has a cause", NULL },
  [SIM_E10] = { "E7 D5", "A change of size is accepted while others go on", NULL },
  [SIM_E12] = { "E12 E21", "A job that waits for a grow that fails is aborted", check_doomed },
  [SIM_E13] = { "E13 E29", "Jobs are placed on agents that are wired and do not leave", NULL },
  [SIM_E14] = { "E14 E28", "Launch messages are sent to agents that are members and do not leave", NULL },
  [SIM_E15] = { "E15 E24", "A job at the map boundary is parked while a campaign goes on", NULL },
  [SIM_E16] = { "E11 E16 E24 E34", "A job leaves the map gate when no campaign goes on", NULL },
  [SIM_E20] = { "E19 E20", "Nothing is left of a grow that has failed", NULL },
  [SIM_E21] = { "E21 E23 D4", "NEVER_LAUNCHED is for those alone that waited for a grow that failed; they are told why",
                NULL },
  [SIM_E22] = { "E22", "A roll-back removes the targets of its own campaign alone", NULL },
  [SIM_E23] = { "E17", "A job that has passed the map boundary is not stalled by a grow", NULL },
  [SIM_E25] = { "E25 D15", "Nothing is launched while a shrink goes on", NULL },
  [SIM_E26] = { "E26 E35", "A shrink alone holds jobs at the launch boundary", NULL },
  [SIM_E27] = { "E27", "A job without a rank on what has left is launched on its map", NULL },
  [SIM_E28] = { "E28 D2", "A job with a rank on what has left is mapped again", NULL },
  [SIM_E29] = { "E17", "A job is admitted once by each gate", NULL },
  [SIM_E30] = { "E30 E31 D1", "An agent has departed when it is gone", check_tickets },
  [SIM_E32] = { "E32", "A node that has departed is no member any more, whatever else is told of it", NULL },
  [SIM_E34] = { "E34 E61", "Jobs wait for campaigns that have not ended", check_parked },
  [SIM_E36] = { "E36", "No job waits when no campaign goes on, and no campaign that has ended holds a ticket", NULL },
  [SIM_E37] = { "E37 E39", "Phase one answers with an allocation id, and asks the world for nothing", NULL },
  [SIM_E38] = { "E38 D17", "The event comes after phase one", NULL },
  [SIM_E40] = { "E40 D17", "Allocators are offered the nodes when they are gone, before the event", NULL },
  [SIM_E42] = { "E42 E6", "After success the DVM has the size that was asked for", NULL },
  [SIM_E43] = { "E43", "The record of success has the ids", NULL },
  [SIM_E44] = { "E44", "Nothing is done for a campaign that has ended", NULL },
  [SIM_E45] = { "E45 D7", "The record of a failure has the ids and the true cause", NULL },
  [SIM_E47] = { "E47", "Exactly one terminal event", NULL },
  [SIM_E48] = { "E48", "A request that is refused makes no campaign", NULL },
  [SIM_E49] = { "E49", "A request that changes nothing makes no campaign", NULL },
  [SIM_E50] = { "E46 E50", "The event is for the one who asked", NULL },
  [SIM_E56] = { "E54 E55 E56", "Each departure counts once", check_fence },
  [SIM_E57] = { "E57", "With the DVM every campaign and every job ends", NULL },
  [SIM_E58] = { "E58", "A job that was aborted at the gate has left nothing behind", NULL },
  [SIM_E59] = { "E59 E60", "A parked job is WAITING_FOR_DAEMONS, and says at which gate and for whom", NULL },
  [SIM_E62] = { "E62", "A job is parked by a campaign alone", NULL },
  [SIM_E64] = { "E64 E65", "Those who are ordered to leave leave, and nobody else", NULL },
  [SIM_E66] = { "E66", "What is said again of an agent that is gone changes nothing", NULL },
  [SIM_E67] = { "E67 D9", "A host that has left is grown again under a new rank", NULL },
  [SIM_E68] = { "E68 E53", "No agent's end is the end of the DVM", NULL },
  [SIM_E69] = { "E69", "Broadcasts are complete once each and in order", NULL },
  [SIM_E70] = { "E70", "Agents are launched for a campaign, or at the start", NULL },
  [SIM_D1_EXIT] = { "D1", "Whoever leaves goes when nothing runs there, and nobody is below it", NULL },
  [SIM_D1_EXPELLED] = { "D1", "An agent is told that it is no member when it is none", NULL },
  [SIM_D2_STAGED] = { "D2 L14", "Files are on every node of the map that is launched", NULL },
  [SIM_D2_SLOTS] = { "D2 L15", "Slots are claimed and given back exactly", check_slots },
  [SIM_D3] = { "D3", "The targets of a roll-back are gone when its event comes", NULL },
  [SIM_D4_LIMIT] = { "D4", "A campaign that comes after a job has waited too long begins after that job", NULL },
  [SIM_D4_ORDER] = { "D4", "Remapped jobs go first, then the order of submission", NULL },
  [SIM_D4_REMAPPED] = { "D4", "A job to be remapped is never aborted by a grow", NULL },
  [SIM_D7] = { "D7", "A shrink fails only if its order cannot be sent, or with the DVM", NULL },
  [SIM_D8] = { "D8", "Whoever reports too late is no member, and ends", NULL },
  [SIM_D10] = { "D10", "The controller is no target", NULL },
  [SIM_D12_REPAIR] = { "D12", "A campaign is one repair of the tree at most", NULL },
  [SIM_D12_SLOTS] = { "D12", "The slots of those who leave count for nobody", NULL },
  [SIM_D12_MEMBERS] = { "D12 E20", "Members are those that were wired, and have not departed or been lost",
                        check_members },
  [SIM_D14_ORDERED] = { "D14", "A rank is ordered once", NULL },
  [SIM_D14_OFFERED] = { "D14", "A node is offered once", NULL },
  [SIM_D14_EXISTS] = { "D14", "A host that a grow is adding is refused to another one", NULL },
  [SIM_D14_LEAVING] = { "D14", "A host that leaves is grown after its departure", NULL },
  [SIM_D14_DOWN] = { "D14", "A host that is down is grown under a new rank, and its old row goes", NULL },
  [SIM_D14_IN] = { "E49 D14", "A host that is in is no change; one that is not is", NULL },
  [SIM_D14_CANCELS] = { "D14", "A release of a host that is being added cancels that grow", NULL },
  [SIM_D15_DRAIN] = { "D15", "Nothing new is placed on nodes that are drained to leave", NULL },
  [SIM_D15_KILLED] = { "D15", "A job that a shrink kills says which", NULL },
  [SIM_D15_WARN] = { "D15", "Those that are going to be killed are warned", NULL },
  [SIM_D16] = { "D16", "Without elastic mode a change of size is NotElastic", NULL },
  [SIM_D17_TICKET] = { "D17", "The ticket is back before the allocators are asked", NULL },
  [SIM_D17_FENCE] = { "D17", "The fence is the sum of what campaigns wait for", NULL },
  [SIM_D18] = { "D18", "A job one of whose sessions has ended is not launched any more", NULL },
  [SIM_R35] = { "R35 R36", "A job's pool is the union of its sessions, and nobody else sees what is reserved", NULL },
  [SIM_S5] = { "S5", "A session has live jobs of its own alone, and goes after its last one", check_sessions },
  [SIM_HEAL_LOST] = { "heal", "The agent of a node that was lost is started again, and no other", NULL },
  [SIM_HEAL_TRIES] = { "heal", "It is tried so many times in a row, and beyond that only without any node", NULL },
  [SIM_HEAL_FREE] = { "heal", "A node that comes back holds up no job", NULL },
  [SIM_HEAL_BACK] = { "heal", "A node that was lost is back in the end, or was given up or released", NULL },
  [SIM_REST] = { "C7", "In the end everything comes to rest", NULL },
};

const char *
sim_statement_get_number (SimStatement statement)
{
  return statements[statement].number;
}

const char *
sim_statement_get_text (SimStatement statement)
{
  return statements[statement].text;
}

const char *
sim_count_to_string (SimCount count)
{
  static const char *const names[SIM_N_COUNTS] = { "schedules",   "actions",     "faults",   "packets",
                                                   "jobs",        "jobs parked", "remapped", "grown",
                                                   "rolled back", "come back",   "shrunk",   "overlaps" };

  return names[count];
}

/* The statement's numbers and the variable are both lists with spaces in between. */
static gboolean
is_asked_for (SimStatement statement)
{
  const char *wanted = g_getenv ("DVM_SIM_STATEMENTS");
  g_auto (GStrv) numbers = g_strsplit (statements[statement].number, " ", -1);
  g_auto (GStrv) words = g_strsplit (wanted != NULL ? wanted : "", " ", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (g_strv_contains ((const char *const *)numbers, words[i]))
      return TRUE;
  return words[0] == NULL;
}

void
sim_statement_failed (SimWorld *world, SimStatement statement, const char *condition, const char *file, int line)
{
  const char *name = strrchr (file, '/');
  char *text = g_strdup_printf (
      "%s: %s: (%s) does not hold at %.3f ms (%s:%d)", statements[statement].number, statements[statement].text,
      condition, (double)dvmd_clock_monotonic (world->clock) / 1000, name != NULL ? name + 1 : file, line);

  if (!is_asked_for (statement))
    {
      g_free (text);
      return;
    }
  world->tally->failed = statement;
  g_strlcpy (world->tally->where, text, sizeof world->tally->where);
  g_printerr ("DVM_SIM_SEED=%u: %s\n", world->setting.seed, text);
  sim_world_explain (world);
  abort ();
}

/* The core's records may lack events that are still in its queue. */
void
sim_statements_check (SimWorld *world)
{
  sim_note_tickets (world);
  if (world->setting.unchecked || !dvmd_event_queue_is_empty (world->queue))
    return;
  for (guint i = 0; i < SIM_N_STATEMENTS; i++)
    if (statements[i].check != NULL)
      statements[i].check (world);
  if (!world->shutdown)
    sim_hold (world, SIM_E68, world->n_ended == 0);
  g_array_set_size (world->released, 0);
}

/* ---- the end ---- */

/* A node that is still down, and was not released, has used up its attempts to come back. */
static void
check_healed (SimWorld *world)
{
  for (DvmdNode *node = NULL;
       world->setting.heal && (node = dvmd_node_pool_next (dvmd_core_get_nodes (world->core), node)) != NULL;)
    if (node->rank > 0 && dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN
        && sim_world_get (world, node->rank)->launched)
      sim_hold (world, SIM_HEAL_BACK,
                sim_count_restarts (world, dvm_node_get_name (node->record), FALSE) >= SIM_HEAL_LIMIT
                    && dvmd_node_pool_count_up (dvmd_core_get_nodes (world->core)) > 0);
}

static void
check_daemons_at_rest (SimWorld *world)
{
  for (guint rank = 1; rank < world->daemons->len; rank++)
    {
      SimDaemon *daemon = sim_world_get (world, rank);

      sim_hold (world, SIM_D8, !daemon->alive || sim_is_member (world, rank));
      sim_hold (world, SIM_D12_MEMBERS, sim_is_member (world, rank) == sim_world_is_member (world, rank));
    }
}

void
sim_statements_check_rest (SimWorld *world)
{
  sim_hold (world, SIM_REST, dvmd_core_get_launch_fence (world->core) == 0);
  sim_hold (world, SIM_REST, dvmd_core_get_campaigns_running (world->core) == 0);
  for (GList *l = dvmd_core_get_live_jobs (world->core); l != NULL; l = l->next)
    sim_hold (world, SIM_REST, is_held_by (l->data, "slots"));
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);

      sim_hold (world, SIM_E47, campaign->n_ended == 1 && campaign->n_events == 1);
    }
  if (!world->shutdown)
    {
      check_healed (world);
      check_daemons_at_rest (world);
    }
}

static void
check_job_end (SimWorld *world, const SimWatch *watch)
{
  DvmdJob *job = watch->job;
  DvmJobState state = dvmd_job_get_state (job);

  sim_hold (world, SIM_E57, watch->n_ended == 1 && dvmd_job_get_ended (job));
  if (state == DVM_JOB_STATE_NOTIFIED)
    return;
  sim_hold (world, SIM_E9, dvm_job_state_is_error (state));
  if ((watch->may[state / 64] & (G_GUINT64_CONSTANT (1) << (state % 64))) == 0)
    g_printerr ("job %u: %s: %s\n", dvmd_job_get_id (job), dvm_job_state_to_string (state),
                dvm_job_get_reason (dvmd_job_get_record (job)));
  sim_hold (world, SIM_E9, watch->may[state / 64] & (G_GUINT64_CONSTANT (1) << (state % 64)));
  sim_hold (world, SIM_E9, dvm_job_get_reason (dvmd_job_get_record (job))[0] != '\0');
}

void
sim_statements_check_end (SimWorld *world)
{
  sim_hold (world, SIM_E57, dvmd_core_get_num_live (world->core) == 0 && world->n_ended == 1);
  sim_hold (world, SIM_E57, dvmd_core_get_launch_fence (world->core) == 0);
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);

      sim_hold (world, SIM_E57, campaign->n_ended == 1 && campaign->n_events == 1);
    }
  for (guint i = 0; i < world->watches->len; i++)
    check_job_end (world, g_ptr_array_index (world->watches, i));
}
