/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The life of an agent: its table, and what follows from each of its events.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-agent-life.h"

#include "dvmd-campaign-inner.h"
#include "dvmd-core-nodes.h"
#include "dvmd-departure.h"
#include "dvmd-grow.h"
#include "dvmd-log.h"
#include "dvmd-vm.h"

static void
log_loss (DvmdAgent *self, const char *reason)
{
  DvmdNode *node = self->node;

  dvmd_log_about (G_LOG_DOMAIN,
                  dvmd_core_get_shutting_down (self->core) || node->stage == DVMD_STAGE_ORDERED ? G_LOG_LEVEL_INFO
                                                                                                : G_LOG_LEVEL_MESSAGE,
                  &(DvmdLogSubject){ .node = dvm_node_get_name (node->record) }, "its agent, rank %u, %s: %s",
                  node->rank, node->grow != NULL ? "did not come" : "was lost", reason);
}

/* ---- what follows ---- */

static void
act_shown (gpointer object, const DvmdEvent *event)
{
  DvmdAgent *self = object;

  dvmd_node_pool_set_state (dvmd_core_get_nodes (self->core), self->node, event->given, event->reason);
}

static void
act_reported (gpointer object, const DvmdEvent *event)
{
  DvmdAgent *self = object;

  if (self->node->grow != NULL)
    dvmd_grow_reported (self->node->grow, self->node);
  else if (!dvmd_core_was_ready (self->core))
    dvmd_start_reported (self->core);
}

static void
act_failed (gpointer object, const DvmdEvent *event)
{
  DvmdAgent *self = object;
  g_autofree char *named = g_strdup_printf ("%s: %s", dvm_node_get_name (self->node->record), event->reason);

  log_loss (self, event->reason);
  dvmd_campaign_fail (self->node->grow, event->given, named);
}

static void
act_missed (gpointer object, const DvmdEvent *event)
{
  DvmdAgent *self = object;

  if (event->given != DVMD_AGENT_FAILED)
    log_loss (self, event->reason);
  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE,
                  &(DvmdLogSubject){ .node = dvm_node_get_name (self->node->record) }, "it did not come: %s",
                  event->reason);
}

static void
act_lost (gpointer object, const DvmdEvent *event)
{
  log_loss (object, event->reason);
}

static void
act_ended (gpointer object, const DvmdEvent *event)
{
  if (event->given != DVMD_AGENT_GONE)
    log_loss (object, event->reason);
}

static void
act_departed (gpointer object, const DvmdEvent *event)
{
  DvmdAgent *self = object;

  dvmd_core_depart (self->core, self->node);
  dvmd_core_check_all_gone (self->core);
}

static void
step_down (gpointer object, const DvmdEvent *event)
{
  DvmdAgent *self = object;

  dvmd_core_drop_agent (self->core, self->node, event->reason);
  if (event->event == DVMD_LIFE_MISSED)
    dvmd_start_missed (self->core, self->was == DVMD_STAGE_REPORTED);
}

/* ---- the table ---- */

static const DvmdState agent_states[] = {
  { DVMD_STAGE_FOUND, NULL },     { DVMD_STAGE_COMING, NULL }, { DVMD_STAGE_REPORTED, NULL },
  { DVMD_STAGE_UNSTARTED, NULL }, { DVMD_STAGE_MEMBER, NULL }, { DVMD_STAGE_ORDERED, NULL },
  { DVMD_STAGE_DOWN, step_down },
};

static const DvmdTransition agent_transitions[] = {
  { DVMD_STAGE_FOUND, DVMD_LIFE_LAUNCHED, DVMD_STAGE_COMING, act_shown },
  { DVMD_STAGE_COMING, DVMD_LIFE_REPORTED, DVMD_STAGE_REPORTED, act_reported },
  { DVMD_STAGE_REPORTED, DVMD_LIFE_WIRED, DVMD_STAGE_MEMBER, act_shown },
  /* The controller is there before its DVM. */
  { DVMD_STAGE_FOUND, DVMD_LIFE_WIRED, DVMD_STAGE_MEMBER, act_shown },
  /* One that comes fails its grow, or is missed at the start. */
  { DVMD_STATE_ANY_LIVE, DVMD_LIFE_LOST, DVMD_STATE_SAME, act_failed },
  { DVMD_STATE_ANY_LIVE, DVMD_LIFE_GONE, DVMD_STATE_SAME, act_failed },
  { DVMD_STATE_ANY_LIVE, DVMD_LIFE_UNSTARTED, DVMD_STAGE_UNSTARTED, act_failed },
  { DVMD_STAGE_COMING, DVMD_LIFE_MISSED, DVMD_STAGE_DOWN, act_missed },
  { DVMD_STAGE_REPORTED, DVMD_LIFE_MISSED, DVMD_STAGE_DOWN, act_missed },
  { DVMD_STAGE_MEMBER, DVMD_LIFE_LOST, DVMD_STAGE_DOWN, act_lost },
  { DVMD_STAGE_MEMBER, DVMD_LIFE_GONE, DVMD_STAGE_DOWN, act_lost },
  { DVMD_STAGE_MEMBER, DVMD_LIFE_UNSTARTED, DVMD_STAGE_DOWN, act_lost },
  /* The end of the DVM brings none of them back. */
  { DVMD_STAGE_COMING, DVMD_LIFE_ENDED, DVMD_STAGE_DOWN, act_ended },
  { DVMD_STAGE_REPORTED, DVMD_LIFE_ENDED, DVMD_STAGE_DOWN, act_ended },
  { DVMD_STAGE_UNSTARTED, DVMD_LIFE_ENDED, DVMD_STAGE_DOWN, act_ended },
  { DVMD_STAGE_MEMBER, DVMD_LIFE_ENDED, DVMD_STAGE_DOWN, act_ended },
  /* An attempt may fail before its agent is started. */
  { DVMD_STAGE_COMING, DVMD_LIFE_KEPT, DVMD_STAGE_DOWN, NULL },
  { DVMD_STAGE_UNSTARTED, DVMD_LIFE_KEPT, DVMD_STAGE_DOWN, NULL },
  { DVMD_STAGE_ORDERED, DVMD_LIFE_KEPT, DVMD_STAGE_DOWN, NULL },
  /* Of one that is on its way out the departure is what counts, or that nothing of it is there. */
  { DVMD_STATE_ANY_LIVE, DVMD_LIFE_ORDERED, DVMD_STAGE_ORDERED, NULL },
  { DVMD_STAGE_ORDERED, DVMD_LIFE_ORDER_LOST, DVMD_STATE_GIVEN, NULL },
  { DVMD_STAGE_ORDERED, DVMD_LIFE_LOST, DVMD_STATE_SAME, act_lost },
  { DVMD_STAGE_ORDERED, DVMD_LIFE_GONE, DVMD_STATE_SAME, act_departed },
  { DVMD_STAGE_ORDERED, DVMD_LIFE_UNSTARTED, DVMD_STATE_SAME, act_departed },
  { DVMD_STAGE_ORDERED, DVMD_LIFE_DEPARTED, DVMD_STATE_SAME, act_departed },
  /* A shrink takes the node while an attempt brings it back, and that has come so far. */
  { DVMD_STAGE_ORDERED, DVMD_LIFE_WIRED, DVMD_STATE_SAME, act_shown },
  { DVMD_STAGE_UNSTARTED, DVMD_LIFE_ORDERED, DVMD_STATE_SAME, NULL },
  { DVMD_STAGE_DOWN, DVMD_LIFE_ORDERED, DVMD_STATE_SAME, NULL },
  /* Launchers, links and agents all tell of an end, and latecomers leave that nobody has told to. */
  { DVMD_STAGE_DOWN, DVMD_LIFE_LOST, DVMD_STATE_SAME, NULL },
  { DVMD_STAGE_DOWN, DVMD_LIFE_GONE, DVMD_STATE_SAME, NULL },
  { DVMD_STAGE_DOWN, DVMD_LIFE_UNSTARTED, DVMD_STATE_SAME, NULL },
  { DVMD_STAGE_DOWN, DVMD_LIFE_MISSED, DVMD_STATE_SAME, NULL },
  { DVMD_STAGE_DOWN, DVMD_LIFE_ENDED, DVMD_STATE_SAME, NULL },
  { DVMD_STAGE_DOWN, DVMD_LIFE_DEPARTED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_LIVE, DVMD_LIFE_DEPARTED, DVMD_STATE_SAME, NULL },
};

static const char *const life_event_names[DVMD_LIFE_N_EVENTS] = {
  [DVMD_LIFE_LAUNCHED] = "launched",
  [DVMD_LIFE_REPORTED] = "reported",
  [DVMD_LIFE_WIRED] = "wired",
  [DVMD_LIFE_ORDERED] = "ordered",
  [DVMD_LIFE_ORDER_LOST] = "order-lost",
  [DVMD_LIFE_UNSTARTED] = "unstarted",
  [DVMD_LIFE_LOST] = "lost",
  [DVMD_LIFE_GONE] = "gone",
  [DVMD_LIFE_MISSED] = "missed",
  [DVMD_LIFE_ENDED] = "ended",
  [DVMD_LIFE_DEPARTED] = "departed",
  [DVMD_LIFE_KEPT] = "kept",
};

static const char *
get_stage_name (guint stage)
{
  static const char *const names[] = {
    [DVMD_STAGE_FOUND] = "FOUND",         [DVMD_STAGE_COMING] = "COMING", [DVMD_STAGE_REPORTED] = "REPORTED",
    [DVMD_STAGE_UNSTARTED] = "UNSTARTED", [DVMD_STAGE_MEMBER] = "MEMBER", [DVMD_STAGE_ORDERED] = "ORDERED",
    [DVMD_STAGE_DOWN] = "DOWN",
  };

  return names[stage];
}

static gboolean
is_live (guint stage)
{
  return stage != DVMD_STAGE_FOUND && stage != DVMD_STAGE_DOWN;
}

static guint
get_stage (gpointer object)
{
  return ((DvmdAgent *)object)->node->stage;
}

static void
set_stage (gpointer object, guint old_stage, guint new_stage, const DvmdEvent *event)
{
  DvmdAgent *self = object;

  self->was = old_stage;
  self->node->stage = new_stage;
}

static const char *
describe (gpointer object)
{
  return dvm_node_get_name (((DvmdAgent *)object)->node->record);
}

const DvmdStateTable dvmd_agent_table = {
  .name = "agent",
  .states = agent_states,
  .n_states = G_N_ELEMENTS (agent_states),
  .transitions = agent_transitions,
  .n_transitions = G_N_ELEMENTS (agent_transitions),
  .event_names = life_event_names,
  .n_events = DVMD_LIFE_N_EVENTS,
  .state_name = get_stage_name,
  .is_live = is_live,
  .get_state = get_stage,
  .set_state = set_stage,
  .describe = describe,
};

/* ---- what is heard of them ---- */

static DvmdLifeEvent
find_event (DvmdCore *self, DvmdNode *node, DvmdAgentEnd how, DvmdCause cause)
{
  if (how == DVMD_AGENT_DEPARTED)
    return DVMD_LIFE_DEPARTED;
  if (node->stage != DVMD_STAGE_ORDERED && dvmd_core_get_shutting_down (self))
    return DVMD_LIFE_ENDED;
  if (node->grow == NULL && !dvmd_core_was_ready (self))
    return DVMD_LIFE_MISSED;
  if (cause == DVMD_CAUSE_LAUNCH)
    return DVMD_LIFE_UNSTARTED;
  return how == DVMD_AGENT_GONE ? DVMD_LIFE_GONE : DVMD_LIFE_LOST;
}

void
dvmd_core_agent_ended (DvmdCore *self, guint rank, DvmdAgentEnd how, DvmdCause cause, const char *reason)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self), rank);
  DvmdLifeEvent event;

  if (node == NULL || rank == 0)
    {
      g_debug ("That agent %u has ended (%u) is not news", rank, how);
      return;
    }
  event = find_event (self, node, how, cause);
  if (how == DVMD_AGENT_GONE)
    reason = dvmd_core_get_shutting_down (self) ? "The agent has ended" : "its agent has ended";
  else if (reason == NULL || reason[0] == '\0')
    reason = "nothing is known of why";
  else
    reason = dvmd_core_strip_name (node, reason);
  dvmd_core_agent_step (self, node, event, event == DVMD_LIFE_MISSED || event == DVMD_LIFE_ENDED ? how : cause, reason);
}
