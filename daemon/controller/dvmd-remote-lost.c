/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that are processes: some are lost, leave by themselves, or do not come at all.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote.h"

#include "dvmd-pmix-dirs.h"
#include "dvmd-remove-tree.h"
#include "dvmd-runtime-dir.h"

/* Losses that come so close together (µs) are one repair. */
#define LOST_DELAY (10 * G_TIME_SPAN_MILLISECOND)
/* How much longer (µs) than the grace of its processes an agent may take that leaves by itself */
#define LEAVE_LIMIT (5 * G_TIME_SPAN_SECOND)

void
dvmd_remote_clear_directories (DvmdRemote *self, GPtrArray *entries)
{
  dvmd_pmix_dirs_sweep (NULL);
  for (guint i = 0; i < entries->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (entries, i);
      g_autofree char *name = dvmd_runtime_dir_build_agent_name (
          dvmd_controller_get_parts (self->controller)->instance_id, entry->rank);
      g_autofree char *path = g_build_filename (dvmd_controller_get_parts (self->controller)->runtime_dir, name, NULL);
      g_autoptr (GError) error = NULL;

      if (!dvmd_remove_tree (path, &error))
        g_message ("%s: %s", entry->name, error->message);
    }
}

static void
on_lost_ended (DvmdRemote *self, GPtrArray *entries)
{
  dvmd_remote_clear_directories (self, entries);
  for (guint i = 0; i < entries->len; i++)
    dvmd_core_lost_agent_gone (dvmd_controller_get_core (self->controller),
                               ((DvmdAgentEntry *)g_ptr_array_index (entries, i))->rank);
}

static void
forget_agent (DvmdRemote *self, DvmdAgentEntry *entry)
{
  g_autoptr (GPtrArray) one = g_ptr_array_new ();

  dvmd_controller_remove_link (self->controller, entry->rank);
  g_ptr_array_add (one, entry);
  /* An agent that cannot be reached may still run, and is not to go on by itself. */
  dvmd_remote_terminate (self, one, on_lost_ended);
}

gboolean
dvmd_remote_still_leaves (DvmdRemote *self, DvmdAgentEntry *entry)
{
  return entry != NULL && entry->step == AGENT_LOST && entry->leaves_until > 0;
}

static void on_lost (gpointer user_data);

static void
tell_lost_by (DvmdRemote *self, gint64 due)
{
  DvmdClock *clock = dvmd_controller_get_parts (self->controller)->clock;

  if (self->lost.timer != 0 && self->lost.due <= due)
    return;
  dvmd_clock_remove_timer (clock, self->lost.timer);
  self->lost.due = due;
  self->lost.timer = dvmd_clock_add_timer (clock, MAX (0, due - dvmd_clock_monotonic (clock)), on_lost, self);
}

static void
set_lost_timer (DvmdRemote *self)
{
  gint64 soon = dvmd_clock_monotonic (dvmd_controller_get_parts (self->controller)->clock) + LOST_DELAY;
  GHashTableIter iter;
  gpointer rank;

  g_hash_table_iter_init (&iter, self->lost.untold);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    {
      DvmdAgentEntry *entry = dvmd_remote_find (self, GPOINTER_TO_UINT (rank));

      tell_lost_by (self, dvmd_remote_still_leaves (self, entry) ? entry->leaves_until : soon);
    }
}

/* rank -> reason */
static void
tell (DvmdRemote *self, GHashTable *lost)
{
  g_autofree guint32 *ranks = g_new (guint32, g_hash_table_size (lost) + 1);
  GHashTableIter iter;
  gpointer rank;
  gpointer reason;
  guint n = 0;

  if (g_hash_table_size (lost) == 0)
    return;
  self->repairs++;
  g_hash_table_iter_init (&iter, lost);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    ranks[n++] = GPOINTER_TO_UINT (rank);
  dvmd_router_remove (self->router, ranks, n);
  g_hash_table_iter_init (&iter, lost);
  while (g_hash_table_iter_next (&iter, &rank, &reason))
    {
      forget_agent (self, dvmd_remote_find (self, GPOINTER_TO_UINT (rank)));
      dvmd_core_place_node (dvmd_controller_get_core (self->controller), GPOINTER_TO_UINT (rank), 0, 0);
      dvmd_core_agent_ended (dvmd_controller_get_core (self->controller), GPOINTER_TO_UINT (rank), DVMD_AGENT_LOST,
                             DVMD_CAUSE_LOST, reason);
    }
}

void
dvmd_remote_tell_lost (DvmdRemote *self)
{
  g_autoptr (GHashTable) lost = self->lost.untold;

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->lost.timer);
  self->lost.timer = 0;
  self->lost.untold = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  tell (self, lost);
}

/* The ranks whose loss is due: agents that still leave are left out until their time is over. */
static GHashTable *
list_gone (DvmdRemote *self)
{
  gint64 now = dvmd_clock_monotonic (dvmd_controller_get_parts (self->controller)->clock);
  GHashTable *ranks = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer rank;

  g_hash_table_iter_init (&iter, self->lost.untold);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    {
      DvmdAgentEntry *entry = dvmd_remote_find (self, GPOINTER_TO_UINT (rank));

      if (dvmd_remote_still_leaves (self, entry) && entry->leaves_until > now)
        continue;
      if (entry != NULL)
        entry->leaves_until = 0;
      g_hash_table_add (ranks, rank);
    }
  return ranks;
}

void
dvmd_remote_tell_lost_of (DvmdRemote *self, GHashTable *ranks)
{
  g_autoptr (GHashTable) lost = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  GHashTableIter iter;
  gpointer rank;
  gpointer reason;

  g_hash_table_iter_init (&iter, self->lost.untold);
  while (g_hash_table_iter_next (&iter, &rank, &reason))
    if (g_hash_table_contains (ranks, rank))
      {
        g_hash_table_iter_steal (&iter);
        g_hash_table_insert (lost, rank, reason);
      }
  set_lost_timer (self);
  tell (self, lost);
  dvmd_remote_check_release (self);
}

static void
on_lost (gpointer user_data)
{
  DvmdRemote *self = user_data;
  g_autoptr (GHashTable) gone = NULL;

  self->lost.timer = 0;
  if (dvmd_remote_awaits_end (self))
    {
      set_lost_timer (self);
      return;
    }
  gone = list_gone (self);
  if (g_hash_table_size (gone) > 0 && dvmd_remote_ask_why (self))
    return;
  dvmd_remote_tell_lost_of (self, gone);
}

static void
lose_member (DvmdRemote *self, DvmdAgentEntry *entry, const char *reason)
{
  entry->step = AGENT_LOST;
  g_hash_table_insert (self->lost.untold, GUINT_TO_POINTER (entry->rank), g_strdup (reason));
  set_lost_timer (self);
}

/* An agent that was ordered to leave meanwhile is not told as lost. TRUE: it was to be. */
gboolean
dvmd_remote_is_untold (DvmdRemote *self, guint32 rank)
{
  return g_hash_table_remove (self->lost.untold, GUINT_TO_POINTER (rank));
}

void
dvmd_remote_agent_failed (DvmdRemote *self, guint32 rank, DvmdCause cause, const char *reason)
{
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);

  if (dvmd_remote_still_leaves (self, entry))
    {
      /* Its own words are the reason. */
      entry->leaves_until = 0;
      set_lost_timer (self);
    }
  if (entry == NULL || entry->step >= AGENT_LEAVING)
    return;
  if (entry->step == AGENT_MEMBER)
    {
      lose_member (self, entry, reason);
      return;
    }
  entry->step = AGENT_LOST;
  g_message ("%s", reason);
  forget_agent (self, entry);
  dvmd_remote_close_launch (self, entry);
  dvmd_core_agent_ended (dvmd_controller_get_core (self->controller), rank, DVMD_AGENT_FAILED, cause, reason);
}

void
dvmd_remote_link_lost (DvmdRemote *self, guint32 rank, guint32 reporter, const char *reason)
{
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);
  g_autofree char *named = NULL;

  if (entry == NULL || dvmd_remote_departs_by_link (self, rank, reporter))
    return;
  named = g_strdup_printf ("%s: %s", entry->name, reason);
  dvmd_remote_agent_failed (self, rank, DVMD_CAUSE_LOST, named);
}

void
dvmd_remote_leaving (DvmdAgents *agents, guint rank, const char *reason)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);
  g_autofree char *named = NULL;

  if (entry == NULL || dvmd_remote_is_stopping (self))
    return;
  if (entry->step == AGENT_MEMBER)
    {
      const DvmdControllerParts *parts = dvmd_controller_get_parts (self->controller);
      gint64 grace = MIN (dvmd_config_get_usec (self->config, "kill-grace"),
                          dvmd_config_get_usec (self->config, "controller-grace") / 2);

      entry->ends_work = TRUE;
      entry->leaves_until = dvmd_clock_monotonic (parts->clock) + grace + LEAVE_LIMIT;
      dvmd_core_agent_leaves (dvmd_controller_get_core (self->controller), rank);
    }
  named = g_strdup_printf ("%s: its agent leaves: %s", entry->name, reason);
  dvmd_remote_agent_failed (self, rank, entry->step < AGENT_REPORTED ? DVMD_CAUSE_LAUNCH : DVMD_CAUSE_LOST, named);
  dvmd_remote_note_leaving (self);
}

gboolean
dvmd_remote_ends_work (DvmdAgents *agents, guint rank)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);

  return entry != NULL && entry->step == AGENT_LOST && entry->ends_work;
}

void
dvmd_remote_restart (DvmdAgents *agents, guint rank, const char *reason)
{
  dvmd_remote_agent_failed ((DvmdRemote *)agents, rank, DVMD_CAUSE_CANCELLED, reason);
}
