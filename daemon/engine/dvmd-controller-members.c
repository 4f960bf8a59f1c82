/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that are processes: they come, become members of the tree, are lost, and leave at the end.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-agent-program.h"
#include "dvmd-controller-wired.h"
#include "dvmd-pmix-dirs.h"
#include "dvmd-remove-tree.h"

/* Losses that come so close together (µs) are one repair. */
#define LOST_DELAY (10 * G_TIME_SPAN_MILLISECOND)
/* What agents get beyond the grace of their processes before they are ended (µs). */
#define STOP_LIMIT (5 * G_TIME_SPAN_SECOND)
/* What they get, with their processes, when the end is forced. */
#define FORCED_LIMIT (3 * G_TIME_SPAN_SECOND)

DvmdAgentEntry *
dvmd_wired_find (DvmdWired *self, guint32 rank)
{
  return g_hash_table_lookup (self->agents, GUINT_TO_POINTER (rank));
}

static guint
count (DvmdWired *self, DvmdAgentStep first, DvmdAgentStep last)
{
  GHashTableIter iter;
  gpointer entry;
  guint n = 0;

  g_hash_table_iter_init (&iter, self->agents);
  while (g_hash_table_iter_next (&iter, NULL, &entry))
    if (((DvmdAgentEntry *)entry)->step >= first && ((DvmdAgentEntry *)entry)->step <= last)
      n++;
  return n;
}

static GPtrArray *
list (DvmdWired *self, DvmdAgentStep first, DvmdAgentStep last)
{
  GPtrArray *entries = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer entry;

  g_hash_table_iter_init (&iter, self->agents);
  while (g_hash_table_iter_next (&iter, NULL, &entry))
    if (((DvmdAgentEntry *)entry)->step >= first && ((DvmdAgentEntry *)entry)->step <= last)
      g_ptr_array_add (entries, entry);
  return entries;
}

/* ---- they come ---- */

void
dvmd_wired_joined (DvmdWired *self, guint32 rank, const char *name)
{
  DvmdAgentEntry *entry = dvmd_wired_find (self, rank);

  if (entry != NULL && entry->step == AGENT_LEAVING)
    {
      dvmd_wired_tell_latecomer (self, entry);
      return;
    }
  if (entry == NULL || entry->step != AGENT_LAUNCHED)
    {
      g_message ("An agent joins as rank %u, which is not expected: it is turned away", rank);
      dvmd_router_drop (self->router, rank);
      return;
    }
  entry->step = AGENT_JOINED;
  dvmd_controller_add_link (self->controller, rank, g_object_ref (dvmd_router_get_link (self->router, rank)));
}

gboolean
dvmd_wired_reported (DvmdWired *self, guint32 rank, const char *addresses)
{
  DvmdAgentEntry *entry = dvmd_wired_find (self, rank);

  if (entry == NULL || entry->step != AGENT_JOINED)
    return FALSE;
  entry->step = AGENT_REPORTED;
  dvmd_router_set_addresses (self->router, rank, addresses);
  dvmd_wired_close_launch (self, entry);
  return TRUE;
}

void
dvmd_wired_distribute (DvmdWired *self, guint64 epoch, GVariant *membership)
{
  g_autoptr (GPtrArray) joiners = list (self, AGENT_REPORTED, AGENT_REPORTED);
  g_autofree guint32 *ranks = g_new (guint32, joiners->len + 1);

  for (guint i = 0; i < joiners->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (joiners, i);

      ranks[i] = entry->rank;
      entry->step = AGENT_MEMBER;
    }
  if (joiners->len > 0)
    dvmd_router_add (self->router, ranks, joiners->len);
  self->membership = dvmd_router_broadcast (self->router, DVMD_MSG_MEMBERSHIP, membership);
  /* A tree without agents has told everybody already. */
  if (count (self, AGENT_MEMBER, AGENT_MEMBER) == 0)
    dvmd_wired_completed (self, self->membership);
}

void
dvmd_wired_completed (DvmdWired *self, guint64 number)
{
  if (self->membership == 0 || number < self->membership)
    return;
  self->membership = 0;
  dvmd_core_membership_distributed (self->controller->core, self->controller->epoch);
}

/* ---- all of them ---- */

/* Jobs on fewer agents than this are spoken of to those alone. */
#define BROADCAST_MIN 8

gboolean
dvmd_wired_is_for_all (DvmdWired *self, DvmdMap *map)
{
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (map);

  return nodes->len >= BROADCAST_MIN && nodes->len * 2 >= count (self, AGENT_MEMBER, AGENT_MEMBER);
}

void
dvmd_wired_broadcast (DvmdWired *self, DvmdMessageKind kind, GVariant *body)
{
  dvmd_router_broadcast (self->router, kind, body);
}

void
dvmd_wired_tell_places (DvmdWired *self, DvmdRoutes *routes)
{
  DvmdCore *core = self->controller->core;

  for (guint place = 1; place < dvmd_routes_get_n_members (routes); place++)
    {
      guint32 rank = dvmd_routes_get_rank (routes, place);

      dvmd_core_place_node (core, rank, dvmd_routes_get_parent (routes, rank), dvmd_routes_get_depth (routes, rank));
    }
  dvmd_core_set_tree (core, dvmd_routes_get_max_depth (routes), self->repairs);
}

/* ---- they are lost ---- */

static void check_release (DvmdWired *self);

void
dvmd_wired_clear_directories (DvmdWired *self, GPtrArray *entries)
{
  dvmd_pmix_dirs_sweep (NULL);
  for (guint i = 0; i < entries->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (entries, i);
      g_autofree char *name = dvmd_agent_program_build_name (self->controller->instance_id, entry->rank);
      g_autofree char *path = g_build_filename (self->controller->runtime_dir, name, NULL);
      g_autoptr (GError) error = NULL;

      if (!dvmd_remove_tree (path, &error))
        g_message ("%s: %s", entry->name, error->message);
    }
}

static void
forget_agent (DvmdWired *self, DvmdAgentEntry *entry)
{
  g_autoptr (GPtrArray) one = g_ptr_array_new ();

  dvmd_controller_remove_link (self->controller, entry->rank);
  g_ptr_array_add (one, entry);
  /* Whoever cannot be reached may still be alive, and is not to go on by itself. */
  dvmd_wired_terminate (self, one, dvmd_wired_clear_directories);
}

/* What has been collected. */
static void
tell_lost (DvmdWired *self)
{
  g_autoptr (GHashTable) lost = self->lost;
  g_autofree guint32 *ranks = g_new (guint32, g_hash_table_size (lost));
  GHashTableIter iter;
  gpointer rank;
  gpointer reason;
  guint n = 0;

  dvmd_clock_remove_timer (self->controller->clock, self->lost_timer);
  self->lost_timer = 0;
  if (g_hash_table_size (lost) == 0)
    {
      g_steal_pointer (&lost);
      return;
    }
  self->repairs++;
  self->lost = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_hash_table_iter_init (&iter, lost);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    ranks[n++] = GPOINTER_TO_UINT (rank);
  dvmd_router_remove (self->router, ranks, n);
  g_hash_table_iter_init (&iter, lost);
  while (g_hash_table_iter_next (&iter, &rank, &reason))
    {
      forget_agent (self, dvmd_wired_find (self, GPOINTER_TO_UINT (rank)));
      dvmd_core_place_node (self->controller->core, GPOINTER_TO_UINT (rank), 0, 0);
      dvmd_core_agent_lost (self->controller->core, GPOINTER_TO_UINT (rank), DVMD_CAUSE_LOST, reason);
    }
}

static void
on_lost (gpointer user_data)
{
  DvmdWired *self = user_data;

  self->lost_timer = 0;
  tell_lost (self);
  check_release (self);
}

static void
lose_member (DvmdWired *self, DvmdAgentEntry *entry, const char *reason)
{
  entry->step = AGENT_LOST;
  g_hash_table_insert (self->lost, GUINT_TO_POINTER (entry->rank), g_strdup (reason));
  if (self->lost_timer == 0)
    self->lost_timer = dvmd_clock_add_timer (self->controller->clock, LOST_DELAY, on_lost, self);
}

/* Whoever was ordered to leave meanwhile is no loss any more. TRUE: it was to be told as one. */
gboolean
dvmd_wired_is_untold (DvmdWired *self, guint32 rank)
{
  return g_hash_table_remove (self->lost, GUINT_TO_POINTER (rank));
}

void
dvmd_wired_agent_failed (DvmdWired *self, guint32 rank, DvmdCause cause, const char *reason)
{
  DvmdAgentEntry *entry = dvmd_wired_find (self, rank);

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
  dvmd_wired_close_launch (self, entry);
  dvmd_core_agent_failed (self->controller->core, rank, cause, reason);
}

void
dvmd_wired_link_lost (DvmdWired *self, guint32 rank, guint32 reporter, const char *reason)
{
  DvmdAgentEntry *entry = dvmd_wired_find (self, rank);
  g_autofree char *named = NULL;

  if (entry == NULL || dvmd_departures_link_lost (self->departures, rank, reporter))
    return;
  named = g_strdup_printf ("%s: %s", entry->name, reason);
  dvmd_wired_agent_failed (self, rank, DVMD_CAUSE_LOST, named);
}

/* ---- they leave ---- */

static void
on_all_ended (DvmdWired *self, GPtrArray *entries)
{
  g_autoptr (DvmdController) controller = g_object_ref (self->controller);

  for (guint i = 0; i < entries->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (entries, i);

      if (!dvmd_departures_ended (self->departures, entry->rank) && entry->step < AGENT_LOST)
        dvmd_core_agent_gone (controller->core, entry->rank);
    }
}

/* Nobody has anything to pass on any more. */
static void
release (DvmdWired *self)
{
  g_autoptr (GPtrArray) left = list (self, AGENT_LAUNCHED, AGENT_LOST);

  if (self->releasing)
    return;
  self->releasing = TRUE;
  dvmd_clock_remove_timer (self->controller->clock, self->stop_timer);
  self->stop_timer = 0;
  tell_lost (self);
  dvmd_wired_close_launches (self);
  if (self->router != NULL)
    dvmd_router_broadcast (self->router, DVMD_MSG_EXIT, g_variant_new ("()"));
  dvmd_wired_terminate (self, left, on_all_ended);
}

void
dvmd_wired_leaving (DvmdWired *self, guint32 rank, const char *reason)
{
  DvmdAgentEntry *entry = dvmd_wired_find (self, rank);
  g_autofree char *named = NULL;

  if (entry == NULL || self->stopping)
    return;
  entry->ends_work = entry->step == AGENT_MEMBER;
  named = g_strdup_printf ("%s: its agent leaves: %s", entry->name, reason);
  dvmd_wired_agent_failed (self, rank, entry->step < AGENT_REPORTED ? DVMD_CAUSE_LAUNCH : DVMD_CAUSE_LOST, named);
}

gboolean
dvmd_wired_ends_work (DvmdWired *self, guint32 rank)
{
  DvmdAgentEntry *entry = dvmd_wired_find (self, rank);

  return entry != NULL && entry->step == AGENT_LOST && entry->ends_work;
}

void
dvmd_wired_gone (DvmdWired *self, guint32 rank)
{
  DvmdAgentEntry *entry = dvmd_wired_find (self, rank);

  if (entry == NULL || entry->step >= AGENT_LEAVING)
    return;
  if (!self->stopping)
    {
      g_autofree char *reason = g_strdup_printf ("%s: its agent has left", entry->name);

      dvmd_wired_agent_failed (self, rank, DVMD_CAUSE_LOST, reason);
      return;
    }
  entry->step = AGENT_GONE;
  check_release (self);
}

/* The last one has ended its work, or was lost on the way. */
static void
check_release (DvmdWired *self)
{
  /* Whoever has no place, or has lost it, has nothing that would be waited for. */
  if (self->stopping && count (self, AGENT_MEMBER, AGENT_MEMBER) == 0)
    release (self);
}

static void
on_stop_limit (gpointer user_data)
{
  DvmdWired *self = user_data;

  self->stop_timer = 0;
  g_message ("%u agents have not ended in time, and are ended", count (self, AGENT_LAUNCHED, AGENT_MEMBER));
  release (self);
}

/* Those that have said that nothing runs there any more end by themselves, when they are let go. */
static void
on_force_limit (gpointer user_data)
{
  DvmdWired *self = user_data;
  g_autoptr (GPtrArray) late = list (self, AGENT_LAUNCHED, AGENT_LEAVING);
  g_autoptr (GPtrArray) lost = list (self, AGENT_LOST, AGENT_LOST);

  self->force_timer = 0;
  dvmd_wired_kill (self, late);
  dvmd_wired_kill (self, lost);
  for (guint i = 0; i < late->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (late, i);
      g_autofree char *reason = g_strdup_printf ("%s: its agent has not ended at once, and was killed", entry->name);

      dvmd_wired_agent_failed (self, entry->rank, DVMD_CAUSE_LOST, reason);
    }
}

void
dvmd_wired_force (DvmdWired *self)
{
  if (self->forced)
    return;
  self->forced = TRUE;
  self->force_timer = dvmd_clock_add_timer (self->controller->clock, FORCED_LIMIT, on_force_limit, self);
}

void
dvmd_wired_stop (DvmdWired *self, gint64 grace, gboolean forced)
{
  self->stopping = TRUE;
  if (forced)
    dvmd_wired_force (self);
  /* Who is no member has no processes. */
  if (count (self, AGENT_MEMBER, AGENT_MEMBER) == 0)
    {
      release (self);
      return;
    }
  if (self->releasing)
    return;
  dvmd_router_broadcast (self->router, DVMD_MSG_STOP, g_variant_new ("(x)", grace));
  dvmd_clock_remove_timer (self->controller->clock, self->stop_timer);
  self->stop_timer = dvmd_clock_add_timer (self->controller->clock, grace + STOP_LIMIT, on_stop_limit, self);
}
