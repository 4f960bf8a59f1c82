/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The change log is written: with what happens to jobs, nodes, sessions, campaigns and the DVM itself.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-records-private.h"
#include "dvmd-bus-call.h"
#include "dvmd-bus-events.h"
#include "dvmd-bus-log.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-signals-private.h"
#include "dvmd-bus-signals.h"
#include "dvmd-bus-wait.h"

#include <string.h>

/* The next signals tell of this change of the object; a batch that is being sent may have it already. */
static DvmdBusChange *
get_change (DvmdBusSignals *self, DvmdBusKind kind, guint id)
{
  DvmdBusChange *change = self->batch != NULL ? dvmd_bus_log_find (self->batch, kind, id) : NULL;

  dvmd_bus_signals_schedule (self);
  return change != NULL ? change : dvmd_bus_log_get (self->log, kind, id);
}

/* (nullable): nobody gets signals of it */
static DvmdBusChange *
get_watched (DvmdBusSignals *self, DvmdBusKind kind, guint id)
{
  return dvmd_bus_signals_find (self, kind, id) != NULL ? get_change (self, kind, id) : NULL;
}

/* ---- what is watched ---- */

static guint64
get_fields (DvmdBusSignals *self, GObject *record, GParamSpec *pspec)
{
  GDBusPropertyInfo **properties = dvmd_bus_jobs.klass.interface->properties;
  guint64 *fields = g_hash_table_lookup (self->masks, pspec);
  const DvmRecordField *record_fields;
  guint64 changed;
  guint n;

  if (fields != NULL)
    return *fields;
  fields = g_new0 (guint64, 1);
  record_fields = _dvm_record_get_fields (DVM_TYPE_JOB, &n);
  changed = _dvm_record_get_changed_fields (record, g_param_spec_get_name (pspec));
  for (guint i = 0; properties[i] != NULL; i++)
    for (guint k = 0; k < n; k++)
      if ((changed & DVMD_BUS_FIELD (k)) != 0 && strcmp (record_fields[k].bus_name, properties[i]->name) == 0)
        *fields |= DVMD_BUS_FIELD (i);
  g_hash_table_insert (self->masks, pspec, fields);
  return *fields;
}

static void
on_notify (GObject *record, GParamSpec *pspec, gpointer user_data)
{
  DvmdBusWatch *watch = user_data;
  guint64 fields = get_fields (watch->signals, record, pspec);
  DvmdBusChange *change;

  if (fields == 0)
    return;
  change = get_change (watch->signals, DVMD_BUS_JOB, watch->key.id);
  /* An object that is not told of yet will be told of with all its values. */
  if (!change->added)
    change->fields |= fields;
}

static void
on_proc_state_changed (DvmJob *record, guint rank, guint old_state, guint new_state, gpointer user_data)
{
  DvmdBusWatch *watch = user_data;

  if (dvmd_bus_signals_has_audience (watch->signals, watch->owner, DVMD_BUS_TO_FOLLOWERS))
    dvmd_bus_change_add_proc (get_change (watch->signals, DVMD_BUS_JOB, watch->key.id), rank, old_state, new_state);
}

/* owner: (nullable): the private connection that is to hear of it though it has not subscribed. FALSE: nobody hears */
static gboolean
watch_object (DvmdBusSignals *self, DvmdBusKind kind, guint id, gpointer object, DvmdBusPeer *owner)
{
  DvmdBusWatch *watch;

  if (!dvmd_bus_signals_has_audience (self, owner, DVMD_BUS_TO_EVERYBODY))
    return FALSE;
  watch = dvmd_bus_watch_new (self, kind, id, object);
  watch->owner = owner;
  g_hash_table_replace (self->watches, &watch->key, watch);
  if (kind == DVMD_BUS_JOB)
    {
      DvmJob *record = dvmd_job_get_record (object);

      watch->notify_handler = g_signal_connect (record, "notify", G_CALLBACK (on_notify), watch);
      watch->proc_handler = g_signal_connect (record, "proc-state-changed", G_CALLBACK (on_proc_state_changed), watch);
    }
  else
    dvmd_bus_watch_reset (watch, self->server);
  return TRUE;
}

static gboolean
add_object (DvmdBusSignals *self, DvmdBusKind kind, guint id, gpointer object, DvmdBusPeer *owner)
{
  if (!watch_object (self, kind, id, object, owner))
    return FALSE;
  get_change (self, kind, id)->added = TRUE;
  return TRUE;
}

static gboolean
end_object (DvmdBusSignals *self, DvmdBusKind kind, guint id)
{
  DvmdBusChange *change = get_watched (self, kind, id);

  if (change != NULL)
    change->ended = TRUE;
  return change != NULL;
}

/* An object that is watched already may have pending changes: it is not watched anew. */
static void
watch_if_new (DvmdBusSignals *self, DvmdBusKind kind, guint id, gpointer object)
{
  if (dvmd_bus_signals_find (self, kind, id) == NULL)
    watch_object (self, kind, id, object, NULL);
}

void
dvmd_bus_signals_watch_all (DvmdBusSignals *self)
{
  DvmdCore *core = self->server->core;
  g_autoptr (GArray) told = dvmd_node_pool_take_jobs_changed (dvmd_core_get_nodes (core));

  watch_if_new (self, DVMD_BUS_MANAGER, 0, NULL);
  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (core, session)) != NULL;)
    watch_if_new (self, DVMD_BUS_SESSION, dvmd_session_get_id (session), session);
  for (DvmdCampaign *campaign = NULL; (campaign = dvmd_core_next_campaign (core, campaign, FALSE)) != NULL;)
    watch_if_new (self, DVMD_BUS_CAMPAIGN, dvmd_campaign_get_id (campaign), campaign);
  for (DvmdJob *job = NULL; (job = dvmd_core_next_job (core, job, FALSE)) != NULL;)
    watch_if_new (self, DVMD_BUS_JOB, dvmd_job_get_id (job), job);
}

/* (nullable): an object is added while the call that asks for it is served */
static DvmdBusPeer *
find_owner (DvmdBusSignals *self, const DvmdRequester *requester)
{
  if (requester == NULL || requester->name == NULL)
    return NULL;
  return g_hash_table_lookup (self->server->private_peers, requester->name);
}

/* ---- jobs ---- */

static void
on_core_changed (DvmdCore *core, gpointer user_data)
{
  get_watched (user_data, DVMD_BUS_MANAGER, 0);
}

static void
mark_session_of (DvmdBusSignals *self, DvmdJob *job)
{
  const char *path = dvm_job_get_session (dvmd_job_get_record (job));
  guint id;

  if (path != NULL && g_str_has_prefix (path, DVMD_BUS_SESSIONS_PATH "/")
      && dvmd_bus_parse_node (path + strlen (DVMD_BUS_SESSIONS_PATH "/"), &id))
    get_watched (self, DVMD_BUS_SESSION, id);
}

static void
on_job_added (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusPeer *owner = find_owner (self, dvmd_job_get_requester (job));

  if (owner != NULL && owner->submits_quietly)
    owner = NULL;
  if (add_object (self, DVMD_BUS_JOB, dvmd_job_get_id (job), job, owner))
    mark_session_of (self, job);
}

static void
on_job_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  if (end_object (self, DVMD_BUS_JOB, dvmd_job_get_id (job)))
    mark_session_of (self, job);
}

static void
on_job_state_changed (DvmdCore *core, DvmdJob *job, guint old_state, guint new_state, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  guint id = dvmd_job_get_id (job);
  DvmdBusWatch *watch = dvmd_bus_signals_find (self, DVMD_BUS_JOB, id);
  const char *reason = dvm_job_get_reason (dvmd_job_get_record (job));

  on_core_changed (core, self);
  if (self->has_subscribers)
    {
      dvmd_bus_log_add_row (self->log, DVMD_BUS_LOG_JOBS, id, old_state, new_state, reason);
      dvmd_bus_signals_schedule (self);
    }
  if (watch != NULL && dvmd_bus_signals_has_audience (self, watch->owner, DVMD_BUS_TO_FOLLOWERS))
    dvmd_bus_change_add_state (get_change (self, DVMD_BUS_JOB, id), old_state, new_state, reason);
}

/* The DVM's own job is the manager's state and no object. */
static void
on_vm_state (GObject *record, GParamSpec *pspec, gpointer user_data)
{
  on_core_changed (NULL, user_data);
}

static void
on_job_finished (DvmdController *controller, DvmdJob *job, gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  /* The core may not have told us yet that it has ended, or long since. */
  on_job_ended (self->server->core, job, self);
  dvmd_bus_waiters_job_finished (self->server->waiters, job);
}

/* ---- nodes ---- */

static DvmdBusChange *
change_node (DvmdBusSignals *self, guint rank)
{
  DvmdBusChange *change = get_change (self, DVMD_BUS_NODE, rank);

  change->fields |= dvmd_bus_get_fields (DVMD_BUS_NODE, FALSE);
  return change;
}

static void
on_node_state_changed (DvmdCore *core, guint rank, guint state, gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  if (!self->has_public)
    return;
  change_node (self, rank)->has_state = TRUE;
  get_watched (self, DVMD_BUS_SESSION, 0);
  on_core_changed (core, self);
}

/* Both are told of by their state: there is no object that is added or removed. */
static void
on_node_added (DvmdCore *core, guint rank, gpointer user_data)
{
  on_node_state_changed (core, rank, DVM_NODE_STATE_ADDED, user_data);
}

static void
on_node_removed (DvmdCore *core, guint rank, gpointer user_data)
{
  on_node_state_changed (core, rank, DVM_NODE_STATE_NOT_INCLUDED, user_data);
}

static void
on_node_changed (DvmdCore *core, guint rank, gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  if (self->has_public)
    change_node (self, rank);
}

/* ---- campaigns and sessions ---- */

static void
on_campaign_added (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  add_object (user_data, DVMD_BUS_CAMPAIGN, dvmd_campaign_get_id (campaign), campaign,
              find_owner (user_data, dvmd_campaign_get_requester (campaign)));
}

static void
on_campaign_changed (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  get_watched (user_data, DVMD_BUS_CAMPAIGN, dvmd_campaign_get_id (campaign));
}

static void
on_campaign_state_changed (DvmdCore *core, DvmdCampaign *campaign, guint old_state, guint new_state, gpointer user_data)
{
  DvmdBusChange *change = get_watched (user_data, DVMD_BUS_CAMPAIGN, dvmd_campaign_get_id (campaign));

  if (change != NULL)
    dvmd_bus_change_add_state (change, old_state, new_state,
                               dvm_campaign_get_reason (dvmd_campaign_get_record (campaign)));
}

static void
on_campaign_ended (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  dvmd_bus_signals_tell (user_data, campaign);
  end_object (user_data, DVMD_BUS_CAMPAIGN, dvmd_campaign_get_id (campaign));
}

static void
on_session_state_changed (DvmSession *record, guint old_state, guint new_state, const char *reason, gpointer user_data)
{
  DvmdBusChange *change = get_watched (user_data, DVMD_BUS_SESSION, dvm_session_get_id (record));

  if (change != NULL)
    dvmd_bus_change_add_state (change, old_state, new_state, reason);
}

static void
follow_session (DvmdBusSignals *self, DvmdSession *session)
{
  g_signal_connect (dvmd_session_get_record (session), "state-changed", G_CALLBACK (on_session_state_changed), self);
}

static void
on_session_added (DvmdCore *core, DvmdSession *session, gpointer user_data)
{
  follow_session (user_data, session);
  add_object (user_data, DVMD_BUS_SESSION, dvmd_session_get_id (session), session, NULL);
}

void
dvmd_bus_signals_own_session (DvmdBusSignals *self, DvmdSession *session, DvmdBusPeer *owner)
{
  guint id = dvmd_session_get_id (session);
  DvmdBusWatch *watch = dvmd_bus_signals_find (self, DVMD_BUS_SESSION, id);

  if (watch == NULL)
    add_object (self, DVMD_BUS_SESSION, id, session, owner);
  else if (watch->owner == NULL)
    watch->owner = owner;
}

static void
on_session_changed (DvmdCore *core, DvmdSession *session, gpointer user_data)
{
  get_watched (user_data, DVMD_BUS_SESSION, dvmd_session_get_id (session));
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

  g_signal_handlers_disconnect_by_data (dvmd_session_get_record (session), self);
  dvmd_bus_events_session_gone (self->server, session);
  end_object (self, DVMD_BUS_SESSION, dvmd_session_get_id (session));
}

/* ---- the model ---- */

void
dvmd_bus_signals_connect (DvmdBusSignals *self)
{
  static const struct
  {
    const char *signal;
    GCallback handler;
  } handlers[] = {
    { "job-added", G_CALLBACK (on_job_added) },
    { "job-ended", G_CALLBACK (on_job_ended) },
    { "job-state-changed", G_CALLBACK (on_job_state_changed) },
    { "node-state-changed", G_CALLBACK (on_node_state_changed) },
    { "node-changed", G_CALLBACK (on_node_changed) },
    { "node-added", G_CALLBACK (on_node_added) },
    { "node-removed", G_CALLBACK (on_node_removed) },
    { "changed", G_CALLBACK (on_core_changed) },
    { "campaign-added", G_CALLBACK (on_campaign_added) },
    { "campaign-changed", G_CALLBACK (on_campaign_changed) },
    { "campaign-state-changed", G_CALLBACK (on_campaign_state_changed) },
    { "campaign-ended", G_CALLBACK (on_campaign_ended) },
    { "session-added", G_CALLBACK (on_session_added) },
    { "session-changed", G_CALLBACK (on_session_changed) },
    { "session-removed", G_CALLBACK (on_session_removed) },
    { "session-warned", G_CALLBACK (on_session_warned) },
  };
  DvmdCore *core = self->server->core;

  for (gsize i = 0; i < G_N_ELEMENTS (handlers); i++)
    g_signal_connect (core, handlers[i].signal, handlers[i].handler, self);
  g_signal_connect (dvmd_job_get_record (dvmd_core_get_vm_job (core)), "notify::state", G_CALLBACK (on_vm_state), self);
  g_signal_connect (self->server->controller, "job-finished", G_CALLBACK (on_job_finished), self);
  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (core, session)) != NULL;)
    follow_session (self, session);
}

void
dvmd_bus_signals_disconnect (DvmdBusSignals *self)
{
  DvmdCore *core = self->server->core;

  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (core, session)) != NULL;)
    g_signal_handlers_disconnect_by_data (dvmd_session_get_record (session), self);
  g_signal_handlers_disconnect_by_data (dvmd_job_get_record (dvmd_core_get_vm_job (core)), self);
  g_signal_handlers_disconnect_by_data (core, self);
  g_signal_handlers_disconnect_by_data (self->server->controller, self);
}
