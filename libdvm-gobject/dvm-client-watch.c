/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Following jobs. One subscription serves all jobs that are watched. The signals come to the main context that was the
 * caller's default when the first job was watched.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-client-private.h"

/*
 * The daemon sends the new values of one turn first and then each step of the state on its way there. The record takes
 * its state from the steps, so that none is missed, and holds back the end until the state has come there.
 */
typedef struct
{
  DvmJob *job;
  gboolean following; /* a step has been seen: the next ones join on */
  gboolean ahead;     /* the values were read: steps up to them may still come, and are passed over */
  gboolean settled;   /* the end is known from elsewhere */
  GVariant *held;     /* (nullable): Ended and EndedAt */
  guint target;       /* the state that belongs to held */
} Watch;

struct _DvmClientWatches
{
  GDBusConnection *connection;
  GHashTable *by_path; /* object path -> Watch */
  guint state_id;
  guint properties_id;
  gboolean asked; /* the DVM has been asked for signals */
};

static void
watch_clear (gpointer data)
{
  Watch *watch = data;

  g_object_unref (watch->job);
  g_clear_pointer (&watch->held, g_variant_unref);
}

static void
watch_unref (gpointer data)
{
  g_rc_box_release_full (data, watch_clear);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Watch, watch_unref)

/* (nullable) (transfer full): a handler of the record's signals may let the client and its watches go */
static Watch *
find_watch (DvmClientWatches *watches, const char *path)
{
  Watch *watch = g_hash_table_lookup (watches->by_path, path);

  return watch != NULL && !watch->settled ? g_rc_box_acquire (watch) : NULL;
}

void
_dvm_client_watches_free (DvmClientWatches *watches)
{
  g_dbus_connection_signal_unsubscribe (watches->connection, watches->state_id);
  g_dbus_connection_signal_unsubscribe (watches->connection, watches->properties_id);
  g_object_unref (watches->connection);
  g_hash_table_unref (watches->by_path);
  g_free (watches);
}

static void
update (Watch *watch, GVariant *properties)
{
  g_autoptr (GError) error = NULL;

  if (!_dvm_record_update (G_OBJECT (watch->job), properties, &error))
    g_message ("%s: %s", dvm_job_get_object_path (watch->job), error->message);
}

void
_dvm_client_watches_settle (DvmClientWatches *watches, DvmJob *job)
{
  g_autoptr (Watch) watch = watches != NULL ? find_watch (watches, dvm_job_get_object_path (job)) : NULL;
  g_autoptr (GVariant) held = NULL;

  if (watch == NULL || watch->job != job)
    return;
  watch->settled = TRUE;
  held = g_steal_pointer (&watch->held);
  if (held != NULL)
    update (watch, held);
}

static void
release_held (Watch *watch)
{
  g_autoptr (GVariant) held = NULL;

  if (watch->held == NULL || dvm_job_get_state (watch->job) != watch->target)
    return;
  held = g_steal_pointer (&watch->held);
  update (watch, held);
}

static gboolean
is_final (DvmJobState state)
{
  return state == DVM_JOB_STATE_NOTIFIED || dvm_job_state_is_error (state);
}

static void
set_state (Watch *watch, GVariant *parameters)
{
  DvmJobState state = dvm_job_get_state (watch->job);
  guint old_state, new_state;
  const char *reason;

  g_variant_get (parameters, "(uu&s)", &old_state, &new_state, &reason);
  watch->following = TRUE;
  if (watch->ahead && old_state != state && new_state != state && !is_final (new_state))
    return;
  watch->ahead = FALSE;
  _dvm_job_set_state (watch->job, new_state, reason);
  release_held (watch);
}

static void
set_proc_states (Watch *watch, GVariant *parameters)
{
  g_autoptr (GVariantIter) iter = NULL;
  guint rank, old_state, new_state;

  g_variant_get (parameters, "(a(uuu))", &iter);
  while (g_variant_iter_next (iter, "(uuu)", &rank, &old_state, &new_state))
    _dvm_job_proc_state_changed (watch->job, rank, old_state, new_state);
}

static void
on_job_signal (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
               const char *name, GVariant *parameters, gpointer user_data)
{
  DvmClientWatches *watches = user_data;
  g_autoptr (Watch) watch = find_watch (watches, path);

  if (watch == NULL)
    return;
  if (strcmp (name, "StateChanged") == 0 && g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(uus)")))
    set_state (watch, parameters);
  else if (strcmp (name, "ProcStateChanged") == 0 && g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(a(uuu))")))
    set_proc_states (watch, parameters);
}

/* The end must not be seen before the state that goes with it. */
static void
set_properties (Watch *watch, GVariant *changed)
{
  g_auto (GVariantDict) now = G_VARIANT_DICT_INIT (changed);
  g_auto (GVariantDict) later = G_VARIANT_DICT_INIT (NULL);
  static const char *const held_back[] = { "Ended", "EndedAt" };
  g_autoptr (GVariant) properties = NULL;
  guint state = dvm_job_get_state (watch->job);

  g_variant_dict_lookup (&now, "State", "u", &state);
  g_variant_dict_remove (&now, "State");
  g_variant_dict_remove (&now, "StateName");
  g_variant_dict_remove (&now, "Failed");
  g_variant_dict_remove (&now, "Reason");
  for (gsize i = 0; state != dvm_job_get_state (watch->job) && i < G_N_ELEMENTS (held_back); i++)
    {
      g_autoptr (GVariant) value = g_variant_dict_lookup_value (&now, held_back[i], NULL);

      if (value == NULL)
        continue;
      g_variant_dict_insert_value (&later, held_back[i], value);
      g_variant_dict_remove (&now, held_back[i]);
      watch->target = state;
    }
  properties = g_variant_ref_sink (g_variant_dict_end (&later));
  if (g_variant_n_children (properties) > 0)
    {
      g_clear_pointer (&watch->held, g_variant_unref);
      watch->held = g_steal_pointer (&properties);
    }
  g_clear_pointer (&properties, g_variant_unref);
  properties = g_variant_ref_sink (g_variant_dict_end (&now));
  update (watch, properties);
}

static void
on_properties_changed (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                       const char *name, GVariant *parameters, gpointer user_data)
{
  DvmClientWatches *watches = user_data;
  g_autoptr (Watch) watch = find_watch (watches, path);
  g_autoptr (GVariant) changed = NULL;

  if (watch == NULL || !g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(sa{sv}as)")))
    return;
  g_variant_get (parameters, "(&s@a{sv}@as)", NULL, &changed, NULL);
  set_properties (watch, changed);
}

static DvmClientWatches *
watches_new (DvmClient *self)
{
  /* The rule that goes to a bus is one for the whole subtree, which these calls cannot say. */
  const GDBusSignalFlags flags = G_DBUS_SIGNAL_FLAGS_NO_MATCH_RULE;
  DvmClientWatches *watches = g_new0 (DvmClientWatches, 1);

  watches->connection = g_object_ref (self->connection);
  watches->by_path = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, watch_unref);
  watches->state_id = g_dbus_connection_signal_subscribe (self->connection, self->owner, DVM_JOB_INTERFACE, NULL, NULL,
                                                          NULL, flags, on_job_signal, watches, NULL);
  watches->properties_id = g_dbus_connection_signal_subscribe (self->connection, self->owner, DVM_PROPERTIES,
                                                               "PropertiesChanged", NULL, DVM_JOB_INTERFACE, flags,
                                                               on_properties_changed, watches, NULL);
  return watches;
}

static void
add_watch (DvmClient *self, DvmJob *job)
{
  const char *path = dvm_job_get_object_path (job);
  Watch *watch;

  watch = g_hash_table_lookup (self->watches->by_path, path);
  if (watch != NULL && watch->job == job)
    return;
  watch = g_rc_box_new0 (Watch);
  watch->job = g_object_ref (job);
  g_hash_table_insert (self->watches->by_path, g_strdup (path), watch);
}

/* The properties were read when nothing had been heard of the job yet. */
static gboolean
start_from (Watch *watch, GVariant *properties, GError **error)
{
  g_clear_pointer (&watch->held, g_variant_unref);
  watch->ahead = TRUE;
  return _dvm_record_update (G_OBJECT (watch->job), properties, error);
}

static void
on_properties (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  DvmClient *self = g_task_get_source_object (task);
  const char *path = dvm_job_get_object_path (g_task_get_task_data (task));
  g_autoptr (GVariant) dict = NULL;
  g_autoptr (Watch) watch = NULL;
  GError *error = NULL;

  if (reply == NULL)
    return;
  g_variant_get (reply, "(@a{sv})", &dict);
  watch = self->watches != NULL ? find_watch (self->watches, path) : NULL;
  if (watch != NULL && watch->following)
    set_properties (watch, dict);
  else if (watch != NULL && !start_from (watch, dict, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  g_task_return_boolean (task, TRUE);
}

/* Takes task over. */
static void
read_properties (DvmClient *self, GTask *task)
{
  DvmCall call = { NULL, DVM_PROPERTIES, "GetAll", NULL, "(a{sv})", -1, NULL };

  call.path = dvm_job_get_object_path (g_task_get_task_data (task));
  call.parameters = g_variant_new ("(s)", DVM_JOB_INTERFACE);
  _dvm_client_call (self, &call, task, on_properties);
}

static void
on_subscribed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  DvmClient *self = g_task_get_source_object (task);

  if (reply == NULL)
    {
      if (self->watches != NULL)
        self->watches->asked = FALSE;
    }
  else
    g_task_return_boolean (task, TRUE);
}

/* Takes task over: asks the bus to pass on, and the DVM to send, the signals of jobs. */
static void
subscribe (DvmClient *self, GTask *task)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "Subscribe", NULL, "()", -1, NULL };

  if (self->owner != NULL)
    {
      g_autofree char *rule = g_strdup_printf ("type='signal',sender='%s',path_namespace='" DVM_JOBS_PATH "'",
                                               self->owner);

      g_dbus_connection_call (self->connection, DVM_BUS_NAME, DVM_BUS_PATH, DVM_BUS_NAME, "AddMatch",
                              g_variant_new ("(s)", rule), NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL, NULL);
    }
  self->watches->asked = TRUE;
  _dvm_client_call (self, &call, task, on_subscribed);
}

static GTask *
new_watch_task (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                gpointer user_data)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, dvm_client_watch_job_async);
  g_task_set_task_data (task, g_object_ref (job), g_object_unref);
  return task;
}

static gboolean
check_connected (DvmClient *self, GTask *task)
{
  if (self->connection != NULL)
    return TRUE;
  g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_READY, _ ("The client is not connected to a DVM"));
  g_object_unref (task);
  return FALSE;
}

/**
 * dvm_client_subscribe_async:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks the DVM for the signals of its jobs, as dvm_client_subscribe() does.
 *
 * Since: 0.1
 */
void
dvm_client_subscribe_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                            gpointer user_data)
{
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));

  task = _dvm_client_new_task (self, dvm_client_subscribe_async, cancellable, callback, user_data);
  if (!check_connected (self, task))
    return;
  if (self->watches == NULL)
    self->watches = watches_new (self);
  subscribe (self, task);
}

/**
 * dvm_client_subscribe_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_subscribe_async().
 *
 * Returns: %TRUE if signals come from now on
 * Since: 0.1
 */
gboolean
dvm_client_subscribe_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/* In the caller's context, where the signals are to come; only the answer is awaited in another. */
static gboolean
subscribe_sync (DvmClient *self, GCancellable *cancellable, GError **error)
{
  DvmSync sync;
  gboolean ok;

  if (self->connection == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, _ ("The client is not connected to a DVM"));
      return FALSE;
    }
  if (self->watches == NULL)
    self->watches = watches_new (self);
  if (self->watches->asked)
    return TRUE;
  /* Its signals come to the caller's main context. */
  sync = _dvm_sync_begin ();
  dvm_client_subscribe_async (self, cancellable, _dvm_sync_done, &sync);
  ok = dvm_client_subscribe_finish (self, _dvm_sync_wait (&sync), error);
  _dvm_sync_end (&sync);
  return ok;
}

/**
 * dvm_client_subscribe:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Asks the DVM for the signals of its jobs. dvm_client_watch_job() does so by itself; whoever does it before a job is
 * submitted, and watches the job at once, sees it from its first state on. The signals come to the main context that
 * is the thread's default.
 *
 * Returns: %TRUE if signals come from now on
 * Since: 0.1
 */
gboolean
dvm_client_subscribe (DvmClient *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);

  return subscribe_sync (self, cancellable, error);
}

static void
on_asked (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmClient *self = DVM_CLIENT (source);
  GTask *task = user_data;
  GError *error = NULL;

  if (dvm_client_subscribe_finish (self, result, &error))
    read_properties (self, task);
  else
    {
      g_task_return_error (task, error);
      g_object_unref (task);
    }
}

/**
 * dvm_client_watch_job_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Makes @job follow what happens to the job, as dvm_client_watch_job() does.
 *
 * Since: 0.1
 */
void
dvm_client_watch_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                            gpointer user_data)
{
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  task = new_watch_task (self, job, cancellable, callback, user_data);
  if (!check_connected (self, task))
    return;
  if (self->watches == NULL)
    self->watches = watches_new (self);
  add_watch (self, job);
  if (self->watches->asked)
    read_properties (self, task);
  else
    dvm_client_subscribe_async (self, cancellable, on_asked, task);
}

/**
 * dvm_client_watch_job_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_watch_job_async().
 *
 * Returns: %TRUE if the job is followed and its record is up to date
 * Since: 0.1
 */
gboolean
dvm_client_watch_job_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_watch_job:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Makes @job follow what happens to the job, until the client goes: its properties change, and it emits
 * #DvmJob::state-changed and #DvmJob::proc-state-changed. That happens in the main context that was the thread's
 * default when the first job was watched, so a main loop must run there; the present values come that way too.
 *
 * Returns: %TRUE if the job is followed
 * Since: 0.1
 */
gboolean
dvm_client_watch_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  if (!subscribe_sync (self, cancellable, error))
    return FALSE;
  add_watch (self, job);
  /* In the caller's context, among the signals: read elsewhere it could be overtaken by what is older. */
  read_properties (self, new_watch_task (self, job, NULL, NULL, NULL));
  return TRUE;
}
