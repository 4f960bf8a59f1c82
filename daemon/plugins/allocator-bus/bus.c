/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A scheduler that is a service of a message bus: it is asked by calls of org.dvm.Scheduler, and asks by its signal.
 */

#include "config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "dvmd-plugin.h"

#define OBJECT    "/org/dvm/Scheduler"
#define INTERFACE "org.dvm.Scheduler"

/* Seconds between two tries to find a bus that has gone. */
#define RETRY_TIME 1

#define DVMD_TYPE_BUS_ALLOCATOR (dvmd_bus_allocator_get_type ())
G_DECLARE_FINAL_TYPE (DvmdBusAllocator, dvmd_bus_allocator, DVMD, BUS_ALLOCATOR, DvmdAllocator)

struct _DvmdBusAllocator
{
  DvmdAllocator parent_instance;

  char *name;                  /* (nullable): NULL: there is no scheduler, and all is declined */
  gboolean is_named_wrong;     /* all is refused then */
  GDBusConnection *connection; /* (nullable) */
  GPtrArray *waiting;          /* Call, until there is a connection */
  gboolean connecting;
  guint subscription;
  guint watch;
  char *owner; /* (nullable): the unique name of the scheduler */
  guint retry;
};

G_DEFINE_FINAL_TYPE (DvmdBusAllocator, dvmd_bus_allocator, DVMD_TYPE_ALLOCATOR)

/* ---- calls ---- */

static const char *
get_bus (DvmdBusAllocator *self)
{
  const char *bus = dvmd_plugin_host_get_setting (dvmd_plugin_get_host (self), "bus");

  return bus != NULL ? bus : "session";
}

/* Returns: (transfer full): for a sentence */
static char *
describe_bus (DvmdBusAllocator *self)
{
  const char *bus = get_bus (self);

  if (g_str_equal (bus, "session") || g_str_equal (bus, "system"))
    return g_strdup_printf ("the %s bus", bus);
  return g_strdup_printf ("the bus at %s", bus);
}

typedef struct _Call Call;

/* takes: the answer of the scheduler, for the task of the call, which it ends unless it has been cancelled. */
typedef void (*Take) (Call *call, GVariant *answer);

struct _Call
{
  DvmdBusAllocator *allocator;
  GTask *task; /* (nullable): NULL: nobody waits for an answer */
  const char *method;
  GVariant *arguments;
  const char *type; /* (nullable) */
  Take take;        /* (nullable) */
  GStrv hosts;      /* (nullable): those that come if it is granted as it was asked for */
};

static void
call_free (Call *self)
{
  g_clear_object (&self->task);
  g_object_unref (self->allocator);
  g_variant_unref (self->arguments);
  g_strfreev (self->hosts);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Call, call_free)

/* Returns: (transfer full): for a requester; errors of the DVM go on as they are */
static GError *
explain (DvmdBusAllocator *self, const GError *error)
{
  g_autoptr (GError) told = g_error_copy (error);
  g_autofree char *bus = describe_bus (self);

  g_dbus_error_strip_remote_error (told);
  if (self->connection == NULL)
    return g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                        "The scheduler %s decides of nodes, and %s cannot be reached: %s", self->name, bus,
                        told->message);
  if (error->domain == DVM_ERROR)
    return g_steal_pointer (&told);
  if (g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_SERVICE_UNKNOWN)
      || g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_NAME_HAS_NO_OWNER))
    return g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "The scheduler %s, which decides of nodes, is not on %s",
                        self->name, bus);
  return g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "The scheduler %s: %s", self->name, told->message);
}

static void
log_untold (Call *call, const char *reason)
{
  g_autofree char *arguments = g_variant_print (call->arguments, FALSE);

  dvmd_plugin_host_log (dvmd_plugin_get_host (call->allocator), G_LOG_LEVEL_MESSAGE,
                        "The scheduler %s has not taken %s%s: %s", call->allocator->name, call->method, arguments,
                        reason);
}

static void
fail (Call *call, const GError *error)
{
  g_autoptr (GError) told = explain (call->allocator, error);

  if (call->task != NULL)
    g_task_return_error (call->task, g_steal_pointer (&told));
  else
    log_untold (call, told->message);
}

static void
on_answered (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Call) call = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) answer = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);

  if (answer == NULL)
    fail (call, error);
  else if (call->take != NULL)
    call->take (call, answer);
}

/* An answer is waited for also when the request has been withdrawn: what the scheduler gives then is given back. */
static void
send_call (DvmdBusAllocator *self, Call *call)
{
  const GVariantType *type = call->type != NULL ? G_VARIANT_TYPE (call->type) : NULL;

  g_dbus_connection_call (self->connection, self->name, OBJECT, INTERFACE, call->method, call->arguments, type,
                          G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_answered, call);
}

/* ---- the bus ---- */

static void start_connecting (DvmdBusAllocator *self);

/* An address that has GLib start a bus, and wait for it. */
static gboolean
is_launched (const char *address)
{
  return g_str_has_prefix (address, "autolaunch:") || strstr (address, ";autolaunch:") != NULL;
}

/* Returns: (transfer full) (nullable): GLib would start one where there is none. */
static char *
find_session_bus (void)
{
  const char *address = g_getenv ("DBUS_SESSION_BUS_ADDRESS");
  g_autofree char *path = g_build_filename (g_get_user_runtime_dir (), "bus", NULL);
  g_autofree char *escaped = g_dbus_address_escape_value (path);
  GStatBuf status;

  if (address != NULL && address[0] != '\0' && !is_launched (address))
    return g_strdup (address);
  if (g_stat (path, &status) != 0 || !S_ISSOCK (status.st_mode))
    return NULL;
  return g_strconcat ("unix:path=", escaped, NULL);
}

/* Returns: (transfer full) (nullable): NULL: there is none. One is never started. */
static char *
find_address (DvmdBusAllocator *self)
{
  const char *bus = get_bus (self);

  if (g_str_equal (bus, "session"))
    return find_session_bus ();
  if (g_str_equal (bus, "system"))
    return g_dbus_address_get_for_bus_sync (G_BUS_TYPE_SYSTEM, NULL, NULL);
  return is_launched (bus) ? NULL : g_strdup (bus);
}

static void
on_appeared (GDBusConnection *connection, const char *name, const char *owner, gpointer user_data)
{
  DvmdBusAllocator *self = user_data;

  g_free (self->owner);
  self->owner = g_strdup (owner);
}

static void
on_vanished (GDBusConnection *connection, const char *name, gpointer user_data)
{
  DvmdBusAllocator *self = user_data;

  g_clear_pointer (&self->owner, g_free);
}

/* Anybody on a bus may send a signal to one connection: old GDBus does not compare its sender with the owner of a name.
 */
static void
on_push (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *signal,
         GVariant *arguments, gpointer user_data)
{
  DvmdBusAllocator *self = user_data;
  g_autoptr (GVariant) request = NULL;
  const char *directive;

  if (g_strcmp0 (sender, self->owner) != 0)
    {
      dvmd_plugin_host_log (dvmd_plugin_get_host (self), G_LOG_LEVEL_DEBUG, "%s sends Push, and is not %s", sender,
                            self->name);
      return;
    }
  if (!g_variant_is_of_type (arguments, G_VARIANT_TYPE ("(sa{sv})")))
    {
      dvmd_plugin_host_log (dvmd_plugin_get_host (self), G_LOG_LEVEL_MESSAGE,
                            "%s has sent Push with %s; it is to be (sa{sv})", self->name,
                            g_variant_get_type_string (arguments));
      return;
    }
  g_variant_get (arguments, "(&s@a{sv})", &directive, &request);
  dvmd_allocator_push (DVMD_ALLOCATOR (self), directive, request);
}

static gboolean
on_retry (gpointer user_data)
{
  DvmdBusAllocator *self = user_data;

  self->retry = 0;
  start_connecting (self);
  return G_SOURCE_REMOVE;
}

/* The scheduler may ask for something itself, and is listened to again as soon as there is a bus. */
static void
try_again (DvmdBusAllocator *self)
{
  if (self->retry == 0)
    self->retry = g_timeout_add_seconds (RETRY_TIME, on_retry, self);
}

static void
leave_bus (DvmdBusAllocator *self)
{
  if (self->connection == NULL)
    return;
  g_signal_handlers_disconnect_by_data (self->connection, self);
  g_clear_handle_id (&self->watch, g_bus_unwatch_name);
  g_clear_pointer (&self->owner, g_free);
  g_dbus_connection_signal_unsubscribe (self->connection, self->subscription);
  g_dbus_connection_close (self->connection, NULL, NULL, NULL);
  g_clear_object (&self->connection);
}

static void
on_closed (GDBusConnection *connection, gboolean by_remote, GError *error, gpointer user_data)
{
  DvmdBusAllocator *self = user_data;

  if (connection != self->connection)
    return;
  leave_bus (self);
  try_again (self);
}

static void
fail_waiting (DvmdBusAllocator *self, const GError *error)
{
  g_autoptr (GPtrArray) waiting = self->waiting;

  self->waiting = g_ptr_array_new_with_free_func ((GDestroyNotify)call_free);
  for (guint i = 0; i < waiting->len; i++)
    fail (waiting->pdata[i], error);
  try_again (self);
}

static void
on_connected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmdBusAllocator) self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) waiting = NULL;

  self->connecting = FALSE;
  self->connection = g_dbus_connection_new_for_address_finish (result, &error);
  if (self->connection == NULL)
    {
      fail_waiting (self, error);
      return;
    }
  g_clear_handle_id (&self->retry, g_source_remove);
  g_signal_connect (self->connection, "closed", G_CALLBACK (on_closed), self);
  /* In this order: the answer of who owns the name comes before any Push. */
  self->watch = g_bus_watch_name_on_connection (self->connection, self->name, G_BUS_NAME_WATCHER_FLAGS_NONE,
                                                on_appeared, on_vanished, self, NULL);
  self->subscription = g_dbus_connection_signal_subscribe (self->connection, NULL, INTERFACE, "Push", OBJECT, NULL,
                                                           G_DBUS_SIGNAL_FLAGS_NONE, on_push, self, NULL);
  waiting = g_steal_pointer (&self->waiting);
  self->waiting = g_ptr_array_new_with_free_func ((GDestroyNotify)call_free);
  g_ptr_array_set_free_func (waiting, NULL);
  for (guint i = 0; i < waiting->len; i++)
    send_call (self, waiting->pdata[i]);
}

static void
start_connecting (DvmdBusAllocator *self)
{
  g_autofree char *address = NULL;
  g_autoptr (GError) error = NULL;

  if (self->connecting || self->connection != NULL)
    return;
  address = find_address (self);
  if (address == NULL)
    {
      error = g_error_new_literal (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "There is no such bus here");
      fail_waiting (self, error);
      return;
    }
  self->connecting = TRUE;
  g_dbus_connection_new_for_address (
      address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL,
      NULL, on_connected, g_object_ref (self));
}

/* task: (nullable) (transfer full); arguments: floating; hosts: (nullable) (transfer full) */
static void
ask (DvmdBusAllocator *self, GTask *task, const char *method, GVariant *arguments, const char *type, Take take,
     GStrv hosts)
{
  Call *call = g_new0 (Call, 1);

  call->allocator = g_object_ref (self);
  call->task = task;
  call->method = method;
  call->arguments = g_variant_ref_sink (arguments);
  call->type = type;
  call->take = take;
  call->hosts = hosts;
  if (self->connection != NULL)
    {
      send_call (self, call);
      return;
    }
  g_ptr_array_add (self->waiting, call);
  start_connecting (self);
}

/* ---- requests ---- */

/* all: (nullable): those of a release */
static GVariant *
build_names (const char *alloc_id, const char *const *names, const char *const *all)
{
  GVariantDict options;

  g_variant_dict_init (&options, NULL);
  if (all != NULL)
    g_variant_dict_insert (&options, "all", "^as", all);
  return g_variant_new ("(s^as@a{sv})", alloc_id != NULL ? alloc_id : "", names, g_variant_dict_end (&options));
}

/* Whether it is not for the scheduler, and the task has its answer. */
static gboolean
answer_alone (DvmdBusAllocator *self, GTask *task)
{
  if (self->is_named_wrong)
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                             "The setting allocator-bus.name names no service of a bus: write it as in "
                             "org.example.Scheduler");
  else if (self->name == NULL)
    g_task_return_pointer (task, NULL, NULL);
  return self->name == NULL;
}

static gboolean
was_withdrawn (GTask *task)
{
  GCancellable *cancellable = g_task_get_cancellable (task);

  return cancellable != NULL && g_cancellable_is_cancelled (cancellable);
}

static void
take_nodes_back (Call *call, GVariant *answer)
{
  gboolean taken;

  g_variant_get (answer, "(b)", &taken);
  if (call->task != NULL)
    g_task_return_boolean (call->task, taken);
  else if (!taken)
    log_untold (call, "they are not its own");
}

/* hosts: (nullable): NAME or NAME:SLOTS, or several of them with commas */
static void
give_back_unasked (DvmdBusAllocator *self, const char *alloc_id, const char *const *hosts)
{
  g_autofree char *list = hosts != NULL ? g_strjoinv (",", (char **)hosts) : g_strdup ("");
  g_auto (GStrv) names = g_strsplit (list, ",", -1);

  for (guint i = 0; names[i] != NULL; i++)
    names[i][strcspn (names[i], ":")] = '\0';
  if (names[0] != NULL)
    ask (self, NULL, "GiveBack", build_names (alloc_id, (const char *const *)names, NULL), "(b)", take_nodes_back,
         NULL);
}

static void
take_allocation (Call *call, GVariant *answer)
{
  GTask *task = call->task;
  g_autoptr (DvmdAllocation) allocation = NULL;
  g_autoptr (GVariantIter) nodes = NULL;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *alloc_id;
  const char *name;
  guint32 slots;
  guint32 slots_max;

  g_variant_get (answer, "(&sa(suu))", &alloc_id, &nodes);
  allocation = dvmd_allocation_new (alloc_id[0] != '\0' ? alloc_id : NULL);
  while (g_variant_iter_next (nodes, "(&suu)", &name, &slots, &slots_max))
    {
      dvmd_allocation_add_node (allocation, name, slots, slots_max);
      g_ptr_array_add (names, (char *)name);
    }
  g_ptr_array_add (names, NULL);
  if (was_withdrawn (task))
    give_back_unasked (call->allocator, alloc_id, (const char *const *)names->pdata);
  if (names->len == 1)
    g_task_return_pointer (task, NULL, NULL);
  else
    g_task_return_pointer (task, g_steal_pointer (&allocation), (GDestroyNotify)dvmd_allocation_unref);
}

static void
dvmd_bus_allocator_allocate_async (DvmdAllocator *allocator, const DvmdAllocationRequest *request,
                                   GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdBusAllocator *self = (DvmdBusAllocator *)allocator;
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  GVariantDict dict;

  /* Logical nodes are parts of this machine, of which no scheduler knows; it is listened to all the same. */
  if (request->n_logical > 0)
    {
      if (self->name != NULL)
        start_connecting (self);
      g_task_return_pointer (task, NULL, NULL);
      return;
    }
  if (answer_alone (self, task))
    return;
  g_variant_dict_init (&dict, NULL);
  g_variant_dict_insert (&dict, "host", "s", request->host);
  g_variant_dict_insert (&dict, "count", "u", request->count);
  g_variant_dict_insert (&dict, "slots", "u", request->slots);
  g_variant_dict_insert (&dict, "time", "t", request->time_limit);
  if (request->hosts != NULL)
    g_variant_dict_insert (&dict, "hosts", "^as", request->hosts);
  if (request->alloc_id != NULL)
    g_variant_dict_insert (&dict, "alloc-id", "s", request->alloc_id);
  ask (self, g_steal_pointer (&task), "Allocate", g_variant_new ("(@a{sv})", g_variant_dict_end (&dict)), "(sa(suu))",
       take_allocation, NULL);
}

static void
dvmd_bus_allocator_offer_release_async (DvmdAllocator *allocator, const DvmdReleaseOffer *offer,
                                        GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdBusAllocator *self = (DvmdBusAllocator *)allocator;
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  if (self->name == NULL)
    g_task_return_boolean (task, FALSE);
  else
    ask (self, g_steal_pointer (&task), "GiveBack", build_names (offer->alloc_id, offer->names, offer->all), "(b)",
         take_nodes_back, NULL);
}

/* Nodes that the DVM could not use */
static void
dvmd_bus_allocator_give_back_async (DvmdAllocator *allocator, const char *alloc_id, const char *const *names,
                                    GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  const DvmdReleaseOffer offer = { .alloc_id = alloc_id, .names = names };

  dvmd_bus_allocator_offer_release_async (allocator, &offer, cancellable, callback, user_data);
}

static void
take_decision (Call *call, GVariant *answer)
{
  GTask *task = call->task;
  g_autoptr (GVariant) granted = NULL;
  g_autofree const char **hosts = NULL;
  const char *alloc_id = "";
  gboolean decided;

  g_variant_get (answer, "(b@a{sv})", &decided, &granted);
  g_variant_lookup (granted, "hosts", "^a&s", &hosts);
  g_variant_lookup (granted, "alloc-id", "&s", &alloc_id);
  if (decided && was_withdrawn (task))
    give_back_unasked (call->allocator, alloc_id,
                       hosts != NULL && hosts[0] != NULL ? hosts : (const char *const *)call->hosts);
  if (decided)
    g_task_return_pointer (task, g_steal_pointer (&granted), (GDestroyNotify)g_variant_unref);
  else
    g_task_return_pointer (task, NULL, NULL);
}

static void
dvmd_bus_allocator_decide_async (DvmdAllocator *allocator, const DvmdDecisionRequest *request,
                                 GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdBusAllocator *self = (DvmdBusAllocator *)allocator;
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  GStrv hosts = NULL;
  GVariantDict dict;

  if (answer_alone (self, task))
    return;
  if (g_str_equal (request->directive, "new") || g_str_equal (request->directive, "extend"))
    g_variant_lookup (request->request, "hosts", "^as", &hosts);
  g_variant_dict_init (&dict, NULL);
  g_variant_dict_insert (&dict, "name", "s", request->requester);
  g_variant_dict_insert (&dict, "nspace", "s", request->nspace);
  g_variant_dict_insert (&dict, "uid", "u", request->uid);
  g_variant_dict_insert (&dict, "pid", "i", request->pid);
  ask (self, g_steal_pointer (&task), "Decide",
       g_variant_new ("(su@a{sv}@a{sv})", request->directive, request->session, request->request,
                      g_variant_dict_end (&dict)),
       "(ba{sv})", take_decision, hosts);
}

static void
dvmd_bus_allocator_session_ended (DvmdAllocator *allocator, guint32 session, const char *alloc_id, GVariant *jobs)
{
  DvmdBusAllocator *self = (DvmdBusAllocator *)allocator;

  if (self->name != NULL)
    ask (self, NULL, "SessionEnded",
         g_variant_new ("(us@a(uiis)a{sv})", session, alloc_id != NULL ? alloc_id : "", jobs, NULL), NULL, NULL, NULL);
}

/* ---- the object ---- */

static void
dvmd_bus_allocator_constructed (GObject *object)
{
  DvmdBusAllocator *self = (DvmdBusAllocator *)object;
  const char *name = dvmd_plugin_host_get_setting (dvmd_plugin_get_host (self), "name");

  G_OBJECT_CLASS (dvmd_bus_allocator_parent_class)->constructed (object);
  self->is_named_wrong = name != NULL && (!g_dbus_is_name (name) || g_dbus_is_unique_name (name));
  /* The bus comes with the first question: a connection has threads, and dvmd changes its environment before. */
  if (name != NULL && !self->is_named_wrong)
    self->name = g_strdup (name);
}

static void
dvmd_bus_allocator_dispose (GObject *object)
{
  DvmdBusAllocator *self = (DvmdBusAllocator *)object;

  leave_bus (self);
  g_clear_handle_id (&self->retry, g_source_remove);
  g_clear_pointer (&self->waiting, g_ptr_array_unref);
  g_clear_pointer (&self->name, g_free);
  G_OBJECT_CLASS (dvmd_bus_allocator_parent_class)->dispose (object);
}

static void
dvmd_bus_allocator_class_init (DvmdBusAllocatorClass *klass)
{
  DvmdAllocatorClass *allocator_class = DVMD_ALLOCATOR_CLASS (klass);

  G_OBJECT_CLASS (klass)->constructed = dvmd_bus_allocator_constructed;
  G_OBJECT_CLASS (klass)->dispose = dvmd_bus_allocator_dispose;
  allocator_class->allocate_async = dvmd_bus_allocator_allocate_async;
  allocator_class->give_back_async = dvmd_bus_allocator_give_back_async;
  allocator_class->offer_release_async = dvmd_bus_allocator_offer_release_async;
  allocator_class->decide_async = dvmd_bus_allocator_decide_async;
  allocator_class->session_ended = dvmd_bus_allocator_session_ended;
}

static void
dvmd_bus_allocator_init (DvmdBusAllocator *self)
{
  self->waiting = g_ptr_array_new_with_free_func ((GDestroyNotify)call_free);
}

static const DvmdPluginSetting settings[] = {
  { .key = "name" },
  { .key = "bus" },
  { .key = NULL },
};

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "bus",
  .description = "asks a scheduler that is a service of a message bus",
  .get_type = dvmd_bus_allocator_get_type,
  .settings = settings,
};
