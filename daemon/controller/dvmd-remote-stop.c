/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The end of agents that are processes, when the DVM ends: they stop, are released together, or are ended.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote.h"

/* How long agents may take beyond the grace of their processes before they are killed (µs). */
#define STOP_LIMIT (5 * G_TIME_SPAN_SECOND)
/* How long agents and their processes may take together when the end is forced (µs). */
#define FORCED_LIMIT (3 * G_TIME_SPAN_SECOND)

struct _DvmdRemoteStop
{
  guint timer;
  guint force_timer;
  gboolean stopping;
  gboolean releasing;
  gboolean forced;
};

static void
on_all_ended (DvmdRemote *self, GPtrArray *entries)
{
  g_autoptr (DvmdController) controller = g_object_ref (self->controller);

  for (guint i = 0; i < entries->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (entries, i);

      if (!dvmd_remote_has_departed (self, entry->rank) && entry->step < AGENT_LOST)
        dvmd_core_agent_gone (dvmd_controller_get_core (controller), entry->rank);
    }
}

/* Agents that have no more messages to pass on are let go. */
static void
release (DvmdRemote *self)
{
  g_autoptr (GPtrArray) left = dvmd_remote_list (self, AGENT_LAUNCHED, AGENT_LOST);

  if (self->stop->releasing)
    return;
  self->stop->releasing = TRUE;
  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->stop->timer);
  self->stop->timer = 0;
  dvmd_remote_tell_lost (self);
  dvmd_remote_close_launches (self);
  if (self->router != NULL)
    dvmd_router_broadcast (self->router, DVMD_MSG_EXIT, g_variant_new ("()"));
  dvmd_remote_terminate (self, left, on_all_ended);
}

void
dvmd_remote_gone (DvmdAgents *agents, guint rank)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);

  if (entry == NULL || entry->step >= AGENT_LEAVING)
    return;
  if (!self->stop->stopping)
    {
      g_autofree char *reason = g_strdup_printf ("%s: its agent has left", entry->name);

      dvmd_remote_agent_failed (self, rank, DVMD_CAUSE_LOST, reason);
      return;
    }
  entry->step = AGENT_GONE;
  dvmd_remote_check_release (self);
}

void
dvmd_remote_check_release (DvmdRemote *self)
{
  /* An agent without a place in the tree has nothing that the end would wait for. */
  if (self->stop->stopping && dvmd_remote_count (self, AGENT_MEMBER, AGENT_MEMBER) == 0)
    release (self);
}

static void
on_stop_limit (gpointer user_data)
{
  DvmdRemote *self = user_data;

  self->stop->timer = 0;
  g_message ("%u agents have not ended in time, and are ended", dvmd_remote_count (self, AGENT_LAUNCHED, AGENT_MEMBER));
  release (self);
}

/* Agents that have said that nothing runs there any more end by themselves when they are let go. */
static void
on_force_limit (gpointer user_data)
{
  DvmdRemote *self = user_data;
  g_autoptr (GPtrArray) late = dvmd_remote_list (self, AGENT_LAUNCHED, AGENT_LEAVING);
  g_autoptr (GPtrArray) lost = dvmd_remote_list (self, AGENT_LOST, AGENT_LOST);

  self->stop->force_timer = 0;
  dvmd_remote_kill (self, late);
  dvmd_remote_kill (self, lost);
  for (guint i = 0; i < late->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (late, i);
      g_autofree char *reason = g_strdup_printf ("%s: its agent has not ended at once, and was killed", entry->name);

      dvmd_remote_agent_failed (self, entry->rank, DVMD_CAUSE_LOST, reason);
    }
}

void
dvmd_remote_force (DvmdAgents *agents)
{
  DvmdRemote *self = (DvmdRemote *)agents;

  if (self->stop->forced)
    return;
  self->stop->forced = TRUE;
  self->stop->force_timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock, FORCED_LIMIT,
                                                  on_force_limit, self);
}

void
dvmd_remote_stop (DvmdAgents *agents, gint64 grace, gboolean forced)
{
  DvmdRemote *self = (DvmdRemote *)agents;

  self->stop->stopping = TRUE;
  if (forced)
    dvmd_remote_force (agents);
  /* An agent that is no member has no processes. */
  if (dvmd_remote_count (self, AGENT_MEMBER, AGENT_MEMBER) == 0)
    {
      release (self);
      return;
    }
  if (self->stop->releasing)
    return;
  dvmd_router_broadcast (self->router, DVMD_MSG_STOP, g_variant_new ("(x)", grace));
  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->stop->timer);
  self->stop->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock, grace + STOP_LIMIT,
                                            on_stop_limit, self);
}

gboolean
dvmd_remote_is_stopping (DvmdRemote *self)
{
  return self->stop->stopping;
}

DvmdRemoteStop *
dvmd_remote_stop_new (void)
{
  return g_new0 (DvmdRemoteStop, 1);
}

void
dvmd_remote_stop_free (DvmdRemoteStop *stop, DvmdClock *clock)
{
  dvmd_clock_remove_timer (clock, stop->timer);
  dvmd_clock_remove_timer (clock, stop->force_timer);
  g_free (stop);
}
