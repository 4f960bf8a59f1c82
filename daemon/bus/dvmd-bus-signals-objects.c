/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Changes of objects of which there are few are told: the manager, sessions and campaigns.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-behind.h"
#include "dvmd-bus-signals-private.h"

static void
mark (DvmdBusSignals *self, DvmdBusWatched *watched)
{
  if (!watched->queued)
    g_ptr_array_add (self->changed, watched);
  watched->queued = TRUE;
  dvmd_bus_signals_schedule (self);
}

void
dvmd_bus_signals_mark (DvmdBusSignals *self, const char *path)
{
  DvmdBusWatched *watched = g_hash_table_lookup (self->watched, path);

  if (watched != NULL)
    mark (self, watched);
}

static DvmdBusWatched *
find_watched (DvmdBusSignals *self, const char *folder, guint id)
{
  g_autofree char *path = g_strdup_printf ("%s/%u", folder, id);

  return g_hash_table_lookup (self->watched, path);
}

/* (nullable): nobody gets signals of it. subtree: NULL for the manager; owner: (nullable), as of a job */
static DvmdBusWatched *
watch_object (DvmdBusSignals *self, const DvmdBusSubtree *subtree, guint id, gpointer object, DvmdBusPeer *owner)
{
  DvmdBusWatched *watched;

  if (!dvmd_bus_signals_has_audience (self, owner, DVMD_BUS_TO_EVERYBODY))
    return NULL;
  watched = dvmd_bus_watched_new (subtree != NULL ? &subtree->klass : &dvmd_bus_manager,
                                  subtree != NULL ? subtree->path : NULL, id, object);
  watched->owner = owner;
  dvmd_bus_watched_reset (watched, self->server);
  g_hash_table_replace (self->watched, watched->path, watched);
  return watched;
}

static void
add_object (DvmdBusSignals *self, const DvmdBusSubtree *subtree, guint id, gpointer object, DvmdBusPeer *owner)
{
  DvmdBusWatched *watched = watch_object (self, subtree, id, object, owner);

  if (watched == NULL)
    return;
  watched->added = TRUE;
  mark (self, watched);
}

static DvmdBusWatched *
find_campaign (DvmdBusSignals *self, DvmdCampaign *campaign)
{
  return find_watched (self, DVMD_BUS_CAMPAIGNS_PATH, dvmd_campaign_get_id (campaign));
}

static void
on_campaign_added (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  const DvmdRequester *requester = dvmd_campaign_get_requester (campaign);
  DvmdBusPeer *owner = NULL;

  if (requester != NULL && requester->name != NULL)
    owner = g_hash_table_lookup (self->server->private_peers, requester->name);
  add_object (self, &dvmd_bus_campaigns, dvmd_campaign_get_id (campaign), campaign, owner);
}

static void
on_campaign_changed (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusWatched *watched = find_campaign (self, campaign);

  if (watched != NULL)
    mark (self, watched);
}

static void
on_campaign_state_changed (DvmdCore *core, DvmdCampaign *campaign, guint old_state, guint new_state, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusWatched *watched = find_campaign (self, campaign);

  if (watched == NULL)
    return;
  dvmd_bus_watched_add_state (watched, dvm_campaign_state_to_string (old_state),
                              dvm_campaign_state_to_string (new_state),
                              dvm_campaign_get_reason (dvmd_campaign_get_record (campaign)));
  mark (self, watched);
}

/* After the values. Somebody waits for just this: without the pause. */
static void
tell_soon (DvmdBusSignals *self, gpointer object)
{
  g_ptr_array_add (self->told, g_object_ref (object));
  if (self->batch == NULL)
    g_clear_handle_id (&self->flush_source, g_source_remove);
  self->pause_ends = 0;
  dvmd_bus_signals_schedule (self);
}

void
dvmd_bus_signals_tell_end (DvmdBusSignals *self, DvmdCampaign *campaign)
{
  tell_soon (self, campaign);
}

void
dvmd_bus_signals_tell_warning (DvmdBusSignals *self, DvmdSession *session)
{
  tell_soon (self, session);
}

static void
on_campaign_ended (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusWatched *watched = find_campaign (self, campaign);

  dvmd_bus_signals_tell_end (self, campaign);
  if (watched == NULL)
    return;
  watched->ended = TRUE;
  mark (self, watched);
}

static void
on_session_state_changed (DvmSession *record, guint old_state, guint new_state, const char *reason, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusWatched *watched = find_watched (self, DVMD_BUS_SESSIONS_PATH, dvm_session_get_id (record));

  if (watched == NULL)
    return;
  dvmd_bus_watched_add_state (watched, dvm_session_state_to_string (old_state), dvm_session_state_to_string (new_state),
                              reason);
  mark (self, watched);
}

static void
follow_session (DvmdBusSignals *self, DvmdSession *session)
{
  g_signal_connect (dvmd_session_get_record (session), "state-changed", G_CALLBACK (on_session_state_changed), self);
}

static void
on_session_added (DvmdCore *core, DvmdSession *session, gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  follow_session (self, session);
  add_object (self, &dvmd_bus_sessions, dvmd_session_get_id (session), session, NULL);
}

void
dvmd_bus_signals_own_session (DvmdBusSignals *self, DvmdSession *session, DvmdBusPeer *owner)
{
  guint id = dvmd_session_get_id (session);
  DvmdBusWatched *watched = find_watched (self, DVMD_BUS_SESSIONS_PATH, id);

  if (watched == NULL)
    add_object (self, &dvmd_bus_sessions, id, session, owner);
  else if (watched->owner == NULL)
    watched->owner = owner;
}

static void
on_session_changed (DvmdCore *core, DvmdSession *session, gpointer user_data)
{
  dvmd_bus_signals_mark (user_data, dvm_session_get_object_path (dvmd_session_get_record (session)));
}

static void
on_session_warned (DvmdCore *core, DvmdSession *session, guint seconds_left, gpointer user_data)
{
  dvmd_bus_events_warned (((DvmdBusSignals *)user_data)->server, session, seconds_left);
}

static void
on_session_removed (DvmdCore *core, DvmdSession *session, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmSession *record = dvmd_session_get_record (session);
  DvmdBusWatched *watched = g_hash_table_lookup (self->watched, dvm_session_get_object_path (record));

  g_signal_handlers_disconnect_by_data (record, self);
  dvmd_bus_events_session_gone (self->server, session);
  if (watched == NULL)
    return;
  watched->ended = TRUE;
  mark (self, watched);
}

/* ---- sending ---- */

/* Those who are behind are told later. */
static void
miss_object (DvmdBusSignals *self, const DvmdBusWatched *watched, gboolean added, gboolean changed)
{
  GPtrArray *peers = self->server->peers;

  for (guint i = 0; i < peers->len; i++)
    {
      DvmdBusPeer *peer = peers->pdata[i];

      if (peer->behind != NULL && dvmd_bus_signals_is_for (peer, watched->owner, DVMD_BUS_TO_EVERYBODY))
        dvmd_bus_behind_miss_object (peer->behind, watched, added, changed);
    }
}

/* TRUE: counters are left for later */
static gboolean
send_values (DvmdBusSignals *self, DvmdBusWatched *watched, gboolean with_counters)
{
  gboolean left = FALSE;
  GVariant *changed = NULL;

  if (watched->added)
    {
      dvmd_bus_watched_reset (watched, self->server);
      dvmd_bus_signals_broadcast (
          self, DVMD_BUS_TO_EVERYBODY, watched->owner, "/org/dvm", "org.freedesktop.DBus.ObjectManager",
          "InterfacesAdded",
          g_variant_new ("(o@a{sa{sv}})", watched->path,
                         dvmd_bus_get_interfaces (self->server, watched->klass, watched->object)));
    }
  else
    changed = dvmd_bus_watched_take (watched, self->server, with_counters || watched->ended, &left);
  miss_object (self, watched, watched->added, changed != NULL);
  watched->added = FALSE;
  if (changed != NULL)
    dvmd_bus_signals_send_properties (self, watched->owner, watched->path, watched->klass->interface->name, changed);
  return left;
}

static void
send_states (DvmdBusSignals *self, DvmdBusWatched *watched)
{
  for (guint i = 0; i < watched->states->len; i++)
    {
      const DvmdBusWordChange *change = &g_array_index (watched->states, DvmdBusWordChange, i);

      dvmd_bus_signals_broadcast (self, DVMD_BUS_TO_EVERYBODY, watched->owner, watched->path,
                                  watched->klass->interface->name, "StateChanged",
                                  g_variant_new ("(sss)", change->old_state, change->new_state, change->reason));
    }
  g_array_set_size (watched->states, 0);
}

static void
send_removed (DvmdBusSignals *self, DvmdBusWatched *watched)
{
  const char *const interfaces[] = { watched->klass->interface->name, NULL };

  dvmd_bus_signals_broadcast (self, DVMD_BUS_TO_EVERYBODY, watched->owner, "/org/dvm",
                              "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved",
                              g_variant_new ("(o^as)", watched->path, interfaces));
  g_hash_table_remove (self->watched, watched->path);
}

GPtrArray *
dvmd_bus_signals_send_objects (DvmdBusSignals *self, gboolean with_counters, gboolean *left)
{
  GPtrArray *changed = g_steal_pointer (&self->changed);

  self->changed = g_ptr_array_new ();
  for (guint i = 0; i < changed->len; i++)
    {
      DvmdBusWatched *watched = changed->pdata[i];

      watched->queued = FALSE;
      if (!send_values (self, watched, with_counters))
        continue;
      *left = TRUE;
      watched->queued = TRUE;
      g_ptr_array_add (self->changed, watched);
    }
  for (guint i = 0; i < changed->len; i++)
    send_states (self, changed->pdata[i]);
  return changed;
}

void
dvmd_bus_signals_send_removals (DvmdBusSignals *self, GPtrArray *changed)
{
  for (guint i = 0; i < changed->len; i++)
    if (((DvmdBusWatched *)changed->pdata[i])->ended)
      send_removed (self, changed->pdata[i]);
}

GVariant *
dvmd_bus_signals_get_sent (DvmdBusSignals *self, const char *path)
{
  DvmdBusWatched *watched = g_hash_table_lookup (self->watched, path);

  return watched != NULL ? dvmd_bus_watched_get_sent (watched) : NULL;
}

/* ---- who listens ---- */

void
dvmd_bus_signals_watch_objects (DvmdBusSignals *self)
{
  DvmdCore *core = self->server->core;

  /* What somebody hears of already may have news waiting: it is not watched anew. */
  if (!g_hash_table_contains (self->watched, DVMD_BUS_MANAGER_PATH))
    watch_object (self, NULL, 0, NULL, NULL);
  for (DvmdSession *session = dvmd_core_next_session (core, NULL); session != NULL;
       session = dvmd_core_next_session (core, session))
    if (find_watched (self, DVMD_BUS_SESSIONS_PATH, dvmd_session_get_id (session)) == NULL)
      watch_object (self, &dvmd_bus_sessions, dvmd_session_get_id (session), session, NULL);
  for (DvmdCampaign *campaign = dvmd_core_next_campaign (core, NULL, FALSE); campaign != NULL;
       campaign = dvmd_core_next_campaign (core, campaign, FALSE))
    if (find_campaign (self, campaign) == NULL)
      watch_object (self, &dvmd_bus_campaigns, dvmd_campaign_get_id (campaign), campaign, NULL);
}

static gboolean
forget_unheard (gpointer key, gpointer value, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusWatched *watched = value;

  if (dvmd_bus_signals_has_audience (self, watched->owner, DVMD_BUS_TO_EVERYBODY))
    return FALSE;
  g_ptr_array_remove (self->changed, watched);
  return TRUE;
}

void
dvmd_bus_signals_forget_objects (DvmdBusSignals *self)
{
  g_hash_table_foreach_remove (self->watched, forget_unheard, self);
}

void
dvmd_bus_signals_disown_objects (DvmdBusSignals *self, DvmdBusPeer *owner)
{
  GHashTableIter iter;
  DvmdBusWatched *watched;

  g_hash_table_iter_init (&iter, self->watched);
  while (g_hash_table_iter_next (&iter, NULL, (gpointer *)&watched))
    if (watched->owner == owner)
      watched->owner = NULL;
}

void
dvmd_bus_signals_connect_objects (DvmdBusSignals *self)
{
  DvmdCore *core = self->server->core;

  g_signal_connect (core, "campaign-added", G_CALLBACK (on_campaign_added), self);
  g_signal_connect (core, "campaign-changed", G_CALLBACK (on_campaign_changed), self);
  g_signal_connect (core, "campaign-state-changed", G_CALLBACK (on_campaign_state_changed), self);
  g_signal_connect (core, "campaign-ended", G_CALLBACK (on_campaign_ended), self);
  g_signal_connect (core, "session-added", G_CALLBACK (on_session_added), self);
  g_signal_connect (core, "session-changed", G_CALLBACK (on_session_changed), self);
  g_signal_connect (core, "session-removed", G_CALLBACK (on_session_removed), self);
  g_signal_connect (core, "session-warned", G_CALLBACK (on_session_warned), self);
  for (DvmdSession *session = dvmd_core_next_session (core, NULL); session != NULL;
       session = dvmd_core_next_session (core, session))
    follow_session (self, session);
}

void
dvmd_bus_signals_disconnect_objects (DvmdBusSignals *self)
{
  for (DvmdSession *session = dvmd_core_next_session (self->server->core, NULL); session != NULL;
       session = dvmd_core_next_session (self->server->core, session))
    g_signal_handlers_disconnect_by_data (dvmd_session_get_record (session), self);
}
