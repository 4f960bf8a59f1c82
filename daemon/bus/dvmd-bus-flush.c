/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The change log becomes signals: new values first, in one PropertiesChanged for each object, then the signals that
 * tell of them, then the objects that leave. Nothing is built that nobody gets.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvmd-bus-call.h"
#include "dvmd-bus-events.h"
#include "dvmd-bus-log.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-bus-signals-private.h"

/* The object that is being told of. */
typedef struct
{
  const DvmdBusFlush *how;
  DvmdBusChange *change;
  const DvmdBusClass *klass;
  DvmdBusWatch *watch; /* (nullable): a node, or one that is not live any more */
  DvmdBusPeer *owner;  /* (nullable) */
  gpointer object;     /* (nullable) */
  gboolean gone;       /* there are no values any more */
  char *path;
} Aim;

static void
aim_clear (Aim *aim)
{
  g_free (aim->path);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Aim, aim_clear)

/* FALSE: nothing is told of it */
static gboolean
aim_at (Aim *aim, const DvmdBusFlush *how, DvmdBusChange *change)
{
  g_autoptr (GError) error = NULL;

  aim->how = how;
  aim->change = change;
  aim->klass = dvmd_bus_get_class (change->key.kind);
  aim->watch = dvmd_bus_signals_find (how->signals, change->key.kind, change->key.id);
  aim->owner = aim->watch != NULL ? aim->watch->owner : NULL;
  if (aim->watch != NULL)
    aim->object = aim->watch->object;
  else if (how->lagging == NULL && change->key.kind != DVMD_BUS_NODE)
    return FALSE; /* its end has been told already, or nobody listens any more */
  else if (aim->klass->find != NULL)
    aim->object = aim->klass->find (how->signals->server->core, change->key.id, &error);
  aim->gone = error != NULL;
  aim->path = dvmd_bus_path (change->key.kind, change->key.id);
  return TRUE;
}

static void
emit (const DvmdBusFlush *how, DvmdBusAudience audience, DvmdBusPeer *owner, const char *path, const char *interface,
      const char *signal, GVariant *body)
{
  g_autoptr (GVariant) shared = g_variant_ref_sink (body);
  GPtrArray *peers = how->signals->server->peers;

  if (how->lagging != NULL)
    {
      /* Of objects it is only told what is for it. */
      if (audience != DVMD_BUS_TO_SUBSCRIBERS || dvmd_bus_peer_is_subscribed (how->lagging))
        dvmd_bus_peer_send_signal (how->lagging, path, interface, signal, shared);
      return;
    }
  for (guint i = 0; i < peers->len; i++)
    if (((DvmdBusPeer *)peers->pdata[i])->backlog == NULL && dvmd_bus_signals_is_for (peers->pdata[i], owner, audience))
      dvmd_bus_peer_send_signal (peers->pdata[i], path, interface, signal, shared);
}

static void
emit_of_object (const Aim *aim, DvmdBusAudience audience, const char *signal, GVariant *body)
{
  emit (aim->how, audience, aim->owner, aim->path, aim->klass->interface->name, signal, body);
}

static void
emit_of_manager (const Aim *aim, const char *signal, GVariant *body)
{
  emit (aim->how, DVMD_BUS_TO_EVERYBODY, aim->owner, "/org/dvm", "org.freedesktop.DBus.ObjectManager", signal, body);
}

/* Lagging peers are told later. */
static void
keep (const Aim *aim)
{
  GPtrArray *peers = aim->how->signals->server->peers;
  DvmdBusAudience follows = aim->change->key.kind == DVMD_BUS_JOB ? DVMD_BUS_TO_FOLLOWERS : DVMD_BUS_TO_EVERYBODY;

  for (guint i = 0; i < peers->len; i++)
    {
      DvmdBusPeer *peer = peers->pdata[i];

      if (peer->backlog != NULL && dvmd_bus_signals_is_for (peer, aim->owner, DVMD_BUS_TO_EVERYBODY))
        dvmd_bus_log_merge (peer->backlog, aim->change, dvmd_bus_signals_is_for (peer, aim->owner, follows));
    }
}

/* The change keeps only the fields that are told now: those that differ, and counters only when they are due. */
static void
take_fields (const Aim *aim)
{
  DvmdBusSignals *signals = aim->how->signals;
  DvmdBusChange *change = aim->change;

  if (aim->watch == NULL)
    return;
  change->fields = dvmd_bus_watch_take (aim->watch, signals->server, change->fields,
                                        aim->how->with_counters || change->added || change->ended);
  signals->counters_left |= aim->watch->left != 0;
}

static void
send_values (const Aim *aim)
{
  DvmdBusServer *server = aim->how->signals->server;
  DvmdBusChange *change = aim->change;
  GVariant *values;

  if (aim->how->lagging == NULL)
    {
      take_fields (aim);
      keep (aim);
    }
  if (aim->gone)
    return;
  if (change->added)
    emit_of_manager (
        aim, "InterfacesAdded",
        g_variant_new ("(o@a{sa{sv}})", aim->path, dvmd_bus_get_interfaces (server, aim->klass, aim->object)));
  else if (change->fields != 0)
    {
      if (aim->watch != NULL)
        values = dvmd_bus_watch_get_values (aim->watch, server, change->fields);
      else
        values = dvmd_bus_get_some (server, aim->klass, aim->object, change->fields);
      emit (aim->how, DVMD_BUS_TO_EVERYBODY, aim->owner, aim->path, DVMD_BUS_PROPERTIES_INTERFACE, "PropertiesChanged",
            g_variant_new ("(s@a{sv}@as)", aim->klass->interface->name, values, g_variant_new_strv (NULL, 0)));
    }
}

/* (transfer floating): of StateChanged */
static GVariant *
make_state (DvmdBusKind kind, const DvmdBusStateChange *state)
{
  const char *reason = state->reason != NULL ? state->reason : "";

  if (kind == DVMD_BUS_JOB)
    return g_variant_new ("(uus)", state->old_state, state->new_state, reason);
  if (kind == DVMD_BUS_SESSION)
    return g_variant_new ("(sss)", dvm_session_state_to_string (state->old_state),
                          dvm_session_state_to_string (state->new_state), reason);
  return g_variant_new ("(sss)", dvm_campaign_state_to_string (state->old_state),
                        dvm_campaign_state_to_string (state->new_state), reason);
}

/* An object that came and went, and cannot be found any more, is neither added nor removed. */
static gboolean
is_unknown (const Aim *aim)
{
  return aim->gone && aim->change->added;
}

static void
send_states (const Aim *aim)
{
  DvmdBusChange *change = aim->change;
  gboolean is_job = change->key.kind == DVMD_BUS_JOB;
  GVariant *body;

  /* The states of a job are told in any case: clients wait for its end, and do not ask for its values. */
  if (is_unknown (aim) && !is_job)
    return;
  if (aim->how->lagging != NULL)
    dvmd_bus_change_merge_procs (change);
  while ((body = dvmd_bus_change_take_procs (change)) != NULL)
    emit_of_object (aim, DVMD_BUS_TO_FOLLOWERS, "ProcStateChanged", body);
  for (guint i = 0; change->states != NULL && i < change->states->len; i++)
    emit_of_object (aim, is_job ? DVMD_BUS_TO_FOLLOWERS : DVMD_BUS_TO_EVERYBODY, "StateChanged",
                    make_state (change->key.kind, &g_array_index (change->states, DvmdBusStateChange, i)));
}

static void
send_removed (const Aim *aim)
{
  const char *const interfaces[] = { aim->klass->interface->name, NULL };

  if (!aim->change->ended || is_unknown (aim))
    return;
  emit_of_manager (aim, "InterfacesRemoved", g_variant_new ("(o^as)", aim->path, interfaces));
  if (aim->how->lagging == NULL)
    g_hash_table_remove (aim->how->signals->watches, &aim->change->key);
}

/* Jobs that have changed are in the rows of their turn already. */
static void
add_rows (const Aim *aim)
{
  DvmdBusChange *change = aim->change;

  if (change->has_state)
    dvmd_bus_log_add_row (
        aim->how->log, DVMD_BUS_LOG_NODES, change->key.id, 0,
        aim->gone ? DVM_NODE_STATE_NOT_INCLUDED : dvm_node_get_state (((DvmdNode *)aim->object)->record), NULL);
  if (change->key.kind == DVMD_BUS_JOB && aim->how->lagging != NULL && change->states != NULL)
    {
      const DvmdBusStateChange *state = &g_array_index (change->states, DvmdBusStateChange, 0);

      dvmd_bus_log_add_row (aim->how->log, DVMD_BUS_LOG_JOBS, state->id, state->old_state, state->new_state,
                            state->reason);
    }
}

/* Only now: nobody begins to lag in the midst of an object. */
static void
check_peers (const DvmdBusFlush *how)
{
  GPtrArray *peers = how->signals->server->peers;

  for (guint i = 0; how->lagging == NULL && i < peers->len; i++)
    if (((DvmdBusPeer *)peers->pdata[i])->full)
      dvmd_bus_lagging_begin (peers->pdata[i]);
}

void
dvmd_bus_flush_object (const DvmdBusFlush *how, DvmdBusChange *change)
{
  g_auto (Aim) aim = { NULL };

  if (!aim_at (&aim, how, change))
    return;
  add_rows (&aim);
  send_values (&aim);
  send_states (&aim);
  send_removed (&aim);
  check_peers (how);
}

static void
send_rows (const DvmdBusFlush *how, DvmdBusLogPart part)
{
  GVariant *body;

  while ((body = dvmd_bus_log_take_rows (how->log, part)) != NULL)
    emit (how, DVMD_BUS_TO_SUBSCRIBERS, NULL, DVMD_BUS_MANAGER_PATH, dvm_dbus_manager_interface.name,
          part == DVMD_BUS_LOG_JOBS ? "JobsChanged" : "NodesChanged", body);
}

static void
send_events (const DvmdBusFlush *how)
{
  DvmdBusServer *server = how->signals->server;

  for (;;)
    {
      g_autoptr (DvmdBusEvent) event = dvmd_bus_log_pop_event (how->log);

      if (event == NULL)
        break;
      if (event->about == NULL)
        dvmd_bus_peer_send_directed (how->lagging, event->destination, event->signal, event->body);
      else if (DVMD_IS_SESSION (event->about))
        dvmd_bus_events_tell_warning (server, event->about);
      else
        dvmd_bus_events_tell_end (server, event->about);
    }
}

static void
each (const DvmdBusFlush *how, GPtrArray *changes, void (*step) (const Aim *aim))
{
  for (guint i = 0; i < changes->len; i++)
    {
      g_auto (Aim) aim = { NULL };

      if (aim_at (&aim, how, changes->pdata[i]))
        step (&aim);
    }
}

/* New values of all of them go before what tells of any. */
static void
send_others (const DvmdBusFlush *how, gint64 *took)
{
  gint64 begin = g_get_monotonic_time ();
  g_autoptr (GPtrArray) changes = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_bus_change_free);

  while (dvmd_bus_log_count (how->log, DVMD_BUS_LOG_OTHERS) > 0)
    g_ptr_array_add (changes, dvmd_bus_log_pop (how->log, DVMD_BUS_LOG_OTHERS));
  each (how, changes, send_values);
  each (how, changes, send_states);
  *took = g_get_monotonic_time () - begin;
  send_rows (how, DVMD_BUS_LOG_JOBS);
  send_rows (how, DVMD_BUS_LOG_NODES);
  send_events (how);
  each (how, changes, send_removed);
  check_peers (how);
}

static gboolean
is_over (const DvmdBusFlush *how)
{
  return (how->lagging != NULL && dvmd_bus_peer_is_full (how->lagging)) || g_get_monotonic_time () >= how->until;
}

gboolean
dvmd_bus_flush (const DvmdBusFlush *how, gint64 *others_took)
{
  for (DvmdBusLogPart part = DVMD_BUS_LOG_JOBS; part < DVMD_BUS_LOG_OTHERS; part++)
    while (dvmd_bus_log_count (how->log, part) > 0)
      {
        g_autoptr (DvmdBusChange) change = NULL;

        if (is_over (how))
          {
            /* They would grow for as long as the peer lags. */
            if (how->lagging != NULL)
              send_rows (how, DVMD_BUS_LOG_JOBS);
            return FALSE;
          }
        change = dvmd_bus_log_pop (how->log, part);
        dvmd_bus_flush_object (how, change);
      }
  send_others (how, others_took);
  return TRUE;
}
