/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The end of agents that are processes: they are ended by those who have started them; when the DVM ends they stop, and
 * are released together.
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

/* ---- launchers end those whom they have started ---- */

typedef struct
{
  DvmdController *controller; /* reffed */
  DvmdRemote *remote;         /* unowned: not there any more when the controller has no agents */
  GPtrArray *entries;
  DvmdRemoteDone done; /* (nullable) */
  guint n_left;
} Termination;

static void
termination_unref (Termination *self)
{
  if (--self->n_left > 0)
    return;
  if (dvmd_controller_get_agents (self->controller) != NULL && self->done != NULL)
    self->done (self->remote, self->entries);
  g_ptr_array_unref (self->entries);
  if (dvmd_controller_get_agents (self->controller) != NULL && --self->remote->n_terminations == 0)
    dvmd_controller_check_end (self->controller);
  g_object_unref (self->controller);
  g_free (self);
}

static void
on_terminated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  dvmd_launcher_terminate_finish (DVMD_LAUNCHER (source), result, &error);
  if (error != NULL)
    g_message ("Agents have not been ended: %s", error->message);
  termination_unref (user_data);
}

/* (element-type DvmdAgentEntry): those that it has started */
static GPtrArray *
select_by_launcher (GPtrArray *entries, DvmdLauncher *launcher)
{
  GPtrArray *own = g_ptr_array_new ();

  for (guint i = 0; i < entries->len; i++)
    if (((DvmdAgentEntry *)g_ptr_array_index (entries, i))->launcher == launcher)
      g_ptr_array_add (own, g_ptr_array_index (entries, i));
  return own;
}

static void
terminate_by (Termination *termination, DvmdLauncher *launcher)
{
  g_autoptr (GPtrArray) own = select_by_launcher (termination->entries, launcher);
  g_autofree DvmdPluginNode *nodes = NULL;

  if (own->len == 0)
    return;
  nodes = dvmd_remote_describe_nodes (own);
  termination->n_left++;
  dvmd_launcher_terminate_async (launcher, nodes, own->len, NULL, on_terminated, termination);
}

static void
on_nothing_to_end (gpointer user_data)
{
  termination_unref (user_data);
}

void
dvmd_remote_terminate (DvmdRemote *self, GPtrArray *entries, DvmdRemoteDone done)
{
  Termination *termination = g_new0 (Termination, 1);
  GHashTableIter iter;
  gpointer launcher;

  termination->controller = g_object_ref (self->controller);
  termination->remote = self;
  termination->done = done;
  termination->n_left = 1;
  termination->entries = g_ptr_array_new_with_free_func (dvmd_agent_entry_unref);
  for (guint i = 0; i < entries->len; i++)
    g_ptr_array_add (termination->entries, g_rc_box_acquire (g_ptr_array_index (entries, i)));
  self->n_terminations++;
  dvmd_controller_enter (self->controller);
  g_hash_table_iter_init (&iter, self->launchers);
  while (g_hash_table_iter_next (&iter, &launcher, NULL))
    terminate_by (termination, launcher);
  dvmd_controller_leave (self->controller);
  dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock, 0, on_nothing_to_end, termination);
}

void
dvmd_remote_kill (DvmdRemote *self, GPtrArray *entries)
{
  GHashTableIter iter;
  gpointer launcher;

  dvmd_controller_enter (self->controller);
  g_hash_table_iter_init (&iter, self->launchers);
  while (g_hash_table_iter_next (&iter, &launcher, NULL))
    {
      g_autoptr (GPtrArray) own = select_by_launcher (entries, launcher);
      g_autofree DvmdPluginNode *nodes = dvmd_remote_describe_nodes (own);

      if (own->len > 0)
        dvmd_launcher_kill (launcher, nodes, own->len);
    }
  dvmd_controller_leave (self->controller);
}

/* ---- the DVM ends ---- */

static void
on_all_ended (DvmdRemote *self, GPtrArray *entries)
{
  g_autoptr (DvmdController) controller = g_object_ref (self->controller);

  for (guint i = 0; i < entries->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (entries, i);

      if (!dvmd_remote_has_departed (self, entry->rank) && entry->step < AGENT_LOST)
        dvmd_core_agent_ended (dvmd_controller_get_core (controller), entry->rank, DVMD_AGENT_GONE, DVMD_CAUSE_LOST,
                               NULL);
    }
}

/* Those without a place in the tree hear no broadcast, and not all of them end with their input. */
static void
send_away (DvmdRemote *self)
{
  g_autoptr (GPtrArray) placeless = dvmd_remote_list (self, AGENT_JOINED, AGENT_REPORTED);

  for (guint i = 0; i < placeless->len; i++)
    dvmd_controller_send (self->controller, ((DvmdAgentEntry *)g_ptr_array_index (placeless, i))->rank, DVMD_MSG_LEAVE,
                          g_variant_new ("()"));
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
  send_away (self);
  dvmd_remote_terminate (self, left, on_all_ended);
}

void
dvmd_remote_gone (DvmdAgents *agents, guint rank)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);

  if (entry == NULL)
    return;
  if (!self->stop->stopping || dvmd_remote_still_leaves (self, entry))
    {
      g_autofree char *reason = g_strdup_printf ("%s: its agent has left", entry->name);

      dvmd_remote_agent_failed (self, rank, DVMD_CAUSE_LOST, reason);
      return;
    }
  if (entry->step >= AGENT_LEAVING)
    return;
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
  g_message ("agents have not ended in time (%u), and are ended",
             dvmd_remote_count (self, AGENT_LAUNCHED, AGENT_MEMBER));
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

static void
stop_all (DvmdRemote *self, gint64 grace, gboolean forced)
{
  self->stop->stopping = TRUE;
  if (forced)
    dvmd_remote_force (&self->parent);
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

void
dvmd_remote_see_off (DvmdAgents *agents, DvmdSendOff *order, gint64 grace)
{
  if (order->nodes != NULL)
    dvmd_remote_order_away ((DvmdRemote *)agents, order);
  else
    stop_all ((DvmdRemote *)agents, grace, order->force);
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
