/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes that come back: when the agent of a node that was lost is started again, and as what.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-heal.h"

#include "dvm-records-private.h"
#include "dvmd-agent-life.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-machine.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-departure.h"
#include "dvmd-log.h"
#include "dvmd-session-inner.h"
#include "dvmd-size.h"
#include "dvmd-vm.h"

/* Before the second attempt; each later one waits twice as long. */
#define FIRST_PAUSE G_TIME_SPAN_SECOND

struct _DvmdHeal
{
  DvmdCore *core;        /* unowned */
  DvmdNode *node;        /* unowned: its row now */
  DvmdCampaign *attempt; /* (nullable) */
  guint timer;
  guint n_attempts; /* since it was up for long */
  gint64 up_since;  /* µs, monotonic; 0: it did not come back yet, or has been lost since */
  gint64 down_since;
  guint n_returns; /* since it was up for long: attempts because an agent had come by itself */
  gboolean wanted; /* by somebody, whatever the settings say */
  gboolean drained;
  char *drain_reason;
};

static DvmdHeal *
get_heal (DvmdCore *core, DvmdNode *node)
{
  if (node->heal == NULL)
    {
      node->heal = g_new0 (DvmdHeal, 1);
      node->heal->core = core;
      node->heal->node = node;
    }
  return node->heal;
}

static void
stop_timer (DvmdHeal *self)
{
  dvmd_clock_remove_timer (dvmd_core_get_clock (self->core), self->timer);
  self->timer = 0;
}

void
dvmd_heal_forget (DvmdNode *node)
{
  DvmdHeal *self = g_steal_pointer (&node->heal);

  if (self == NULL)
    return;
  stop_timer (self);
  if (self->attempt != NULL)
    {
      dvmd_campaign_stop_timer (self->attempt);
      dvmd_campaign_set_heal (self->attempt, NULL);
    }
  g_clear_object (&self->attempt);
  g_free (self->drain_reason);
  g_free (self);
}

/* ---- an attempt ---- */

/* A campaign that fails takes it back into its session, or out of it, under the new rank. */
static void
follow_node (DvmdCampaign *campaign, const DvmdNode *old, DvmdNode *node)
{
  DvmdSession *session = dvmd_campaign_get_session (campaign);

  if (dvmd_campaign_note_again (campaign, old->rank, node->rank)
      && !dvmd_node_is_in (node, dvmd_session_get_id (session)))
    dvmd_session_move_slots (session, old, node);
}

/* The node keeps all that was given for it: slots, address, origin, sessions. */
static DvmdNode *
bring_again (DvmdHeal *self)
{
  DvmdCore *core = self->core;
  DvmdNode *old = self->node;
  g_autofree char *why = g_strdup_printf ("Its agent is started again (attempt %u)", ++self->n_attempts);
  DvmdNode *node = dvmd_core_bring_node (core, dvm_node_get_name (old->record), old->slots_given ? old->slots : 0,
                                         old->slots_max, why);

  dvmd_node_pool_set_slots (dvmd_core_get_nodes (core), node, old->slots, old->slots_max);
  node->brought = old->brought;
  node->address = g_strdup (old->address);
  _dvm_node_set_origin (node->record, dvm_node_get_launcher (old->record), dvm_node_get_allocator (old->record));
  for (guint i = 0; old->sessions != NULL && i < old->sessions->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (core, g_array_index (old->sessions, guint, i));

      if (session == NULL)
        continue;
      dvmd_session_join (session, node);
      dvmd_session_move_slots (session, old, node);
    }
  for (DvmdCampaign *one = dvmd_core_next_campaign (core, NULL, FALSE); one != NULL;
       one = dvmd_core_next_campaign (core, one, FALSE))
    follow_node (one, old, node);
  node->heal = g_steal_pointer (&old->heal);
  node->healing = old->healing;
  self->node = node;
  dvmd_core_depart (core, old);
  dvmd_core_tell_node (core, node->rank, TRUE);
  return node;
}

static void
begin (DvmdHeal *self)
{
  g_autoptr (DvmdCampaign) attempt = dvmd_campaign_new (self->core, 0, DVM_CAMPAIGN_KIND_GROW);
  DvmdNode *node = bring_again (self);

  self->wanted = FALSE;
  node->grow = attempt;
  dvmd_campaign_add_target (attempt, dvm_node_get_name (node->record), node->rank);
  dvmd_campaign_publish_targets (attempt);
  dvmd_campaign_set_heal (attempt, self);
  g_set_object (&self->attempt, attempt);
  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, &(DvmdLogSubject){ .node = dvm_node_get_name (node->record) },
                  "its agent is started again, as rank %u (attempt %u)", node->rank, self->n_attempts);
  dvmd_campaign_post (attempt, DVMD_CAMPAIGN_BEGUN, NULL);
  dvmd_core_changed (self->core);
}

/* A campaign that takes the node, or brings it, decides what becomes of it. */
static gboolean
is_claimed (DvmdHeal *self)
{
  return (self->node->shrinks != NULL && self->node->shrinks->len > 0)
         || dvmd_campaign_registry_find_coming (dvmd_core_get_campaign_registry (self->core),
                                                dvm_node_get_name (self->node->record))
                != NULL;
}

static void on_due (gpointer user_data);

static void
wait (DvmdHeal *self, gint64 pause)
{
  stop_timer (self);
  self->timer = dvmd_clock_add_timer (dvmd_core_get_clock (self->core), pause, on_due, self);
}

/* A DVM without any node tries on, also beyond the limit. */
static void
on_due (gpointer user_data)
{
  DvmdHeal *self = user_data;

  self->timer = 0;
  if (is_claimed (self))
    wait (self, FIRST_PAUSE);
  else if (!self->node->healing && dvmd_node_pool_count_up (dvmd_core_get_nodes (self->core)) > 0)
    wait (self, dvmd_core_get_settings (self->core)->heal_pause);
  else
    begin (self);
}

/* ---- what becomes of a node ---- */

static gint64
get_longer_pause (DvmdHeal *self, guint n)
{
  gint64 longest = dvmd_core_get_settings (self->core)->heal_pause;

  return n < 16 ? MIN (FIRST_PAUSE << n, longest) : longest;
}

static gint64
get_pause (DvmdHeal *self)
{
  return self->wanted ? 0 : get_longer_pause (self, self->n_attempts);
}

/* A drained node will come back drained; one that was up for long has its attempts counted anew. */
static void
note_loss (DvmdHeal *self)
{
  DvmdNode *node = self->node;

  if (self->up_since > 0
      && dvmd_clock_monotonic (dvmd_core_get_clock (self->core)) - self->up_since
             >= dvmd_core_get_settings (self->core)->heal_pause)
    self->n_attempts = self->n_returns = 0;
  self->up_since = 0;
  self->down_since = dvmd_clock_monotonic (dvmd_core_get_clock (self->core));
  if (!dvmd_node_is_member (node))
    return;
  self->drained = dvmd_node_is_drained (node);
  g_free (self->drain_reason);
  self->drain_reason = self->drained ? g_strdup (dvm_node_get_reason (node->record)) : NULL;
}

char *
dvmd_heal_plan (DvmdCore *core, DvmdNode *node, const char *reason)
{
  gboolean wanted = node->heal != NULL && node->heal->wanted;
  DvmdHeal *self;
  gint64 pause;

  node->healing = FALSE;
  if (!dvmd_core_was_ready (core) || dvmd_core_get_shutting_down (core)
      || ((!dvmd_core_get_settings (core)->heal || node->withdrawn) && !wanted))
    return g_strdup (reason);
  self = get_heal (core, node);
  note_loss (self);
  pause = get_pause (self);
  node->healing = wanted || self->n_attempts < dvmd_core_get_settings (core)->heal_limit;
  wait (self, node->healing ? pause : dvmd_core_get_settings (core)->heal_pause);
  if (node->healing)
    return g_strdup_printf ("%s; its agent is started again in %g s (attempt %u of %u)", reason,
                            (double)pause / G_USEC_PER_SEC, self->n_attempts + 1,
                            MAX (dvmd_core_get_settings (core)->heal_limit, self->n_attempts + 1));
  dvmd_core_look_again (core);
  return g_strdup_printf ("%s; given up after %u attempts to start its agent again", reason, self->n_attempts);
}

void
dvmd_heal_came (DvmdHeal *self)
{
  DvmdNode *node = self->node;

  node->healing = FALSE;
  self->up_since = dvmd_clock_monotonic (dvmd_core_get_clock (self->core));
  dvmd_core_agent_step (self->core, node, DVMD_LIFE_WIRED,
                        self->drained ? DVM_NODE_STATE_DO_NOT_USE : DVM_NODE_STATE_UP, self->drain_reason);
  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, &(DvmdLogSubject){ .node = dvm_node_get_name (node->record) },
                  "the node is back, as rank %u", node->rank);
}

void
dvmd_heal_ended (DvmdCampaign *attempt)
{
  DvmdHeal *self = dvmd_campaign_get_heal (attempt);

  if (self != NULL && self->attempt == attempt)
    g_clear_object (&self->attempt);
}

void
dvmd_heal_stop_all (DvmdCore *core)
{
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (dvmd_core_get_nodes (core), node)) != NULL;)
    {
      if (node->heal == NULL)
        continue;
      stop_timer (node->heal);
      node->healing = FALSE;
      if (node->heal->attempt != NULL)
        dvmd_campaign_give_up (node->heal->attempt, DVMD_CAUSE_SHUTTING_DOWN, "The DVM is ending");
    }
}

/* ---- what people ask ---- */

static gboolean
check_restart (DvmdCore *self, DvmdNode *node, GError **error)
{
  const char *name = dvm_node_get_name (node->record);

  if (!dvmd_size_check (self, error))
    return FALSE;
  if (node->rank == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "Rank 0 is the controller: it is the DVM, and is not started again while that runs");
  else if (dvmd_node_is_leaving (node)
           || dvmd_campaign_registry_find_coming (dvmd_core_get_campaign_registry (self), name) != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY,
                 "A change of the DVM's size takes or brings %s: its agent is started by that, or not any more", name);
  else if (!dvmd_node_is_member (node) && !dvmd_node_is_down (node))
    g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "The agent of %s is being started already", name);
  else
    return TRUE;
  return FALSE;
}

gboolean
dvmd_core_restart_node (DvmdCore *self, DvmdNode *node, GError **error)
{
  DvmdHeal *heal;

  if (!check_restart (self, node, error))
    return FALSE;
  heal = get_heal (self, node);
  heal->wanted = TRUE;
  heal->n_attempts = 0;
  heal->up_since = 0;
  if (!dvmd_node_is_down (node))
    return TRUE;
  stop_timer (heal);
  node->healing = TRUE;
  begin (heal);
  return TRUE;
}

/* An agent that comes and cannot stay is not taken back again and again at once. */
static gboolean
has_rested (DvmdHeal *self)
{
  gint64 now = dvmd_clock_monotonic (dvmd_core_get_clock (self->core));

  return self->n_returns == 0 || now - self->down_since >= get_longer_pause (self, self->n_returns);
}

gboolean
dvmd_core_take_back_node (DvmdCore *self, DvmdNode *node)
{
  DvmdHeal *heal;

  if (!dvmd_size_check (self, NULL) || !dvmd_core_get_settings (self)->heal || !dvmd_node_is_down (node))
    return FALSE;
  heal = get_heal (self, node);
  if (heal->attempt != NULL || is_claimed (heal) || !has_rested (heal))
    return FALSE;
  heal->n_returns++;
  stop_timer (heal);
  node->healing = TRUE;
  begin (heal);
  return TRUE;
}
