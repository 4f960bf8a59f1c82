/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvm-test-server.h"

#include <gio/gunixfdlist.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <string.h>
#include <unistd.h>

#include "dvm-dbus-interfaces.h"
#include "dvm-records-private.h"

#define N_JOBS 4

struct _DvmTestServer
{
  GThread *thread;
  GMainContext *context;
  GMainLoop *loop;
  GDBusServer *server;
  GPtrArray *connections;
  GPtrArray *waiting; /* invocations that are never answered */
  DvmJob *jobs[N_JOBS + 1];

  GMutex lock;
  char *last_call;
  gboolean stuck;
};

static void
emit (GDBusConnection *connection, const char *path, const char *interface, const char *name, GVariant *parameters)
{
  g_autoptr (GError) error = NULL;

  g_dbus_connection_emit_signal (connection, NULL, path, interface, name, parameters, &error);
  g_assert_no_error (error);
}

/* As the daemon does: the new values first, then every step on the way there. */
static void
emit_steps (DvmTestServer *self, GDBusConnection *connection, const char *path)
{
  static const guint steps[] = { 0, 1, 2, 3, 14, 31, 34, 35 };

  _dvm_job_set_num_procs (self->jobs[1], 2);
  _dvm_job_set_state (self->jobs[1], DVM_JOB_STATE_NOTIFIED, "done");
  _dvm_job_set_ended (self->jobs[1], 1);
  emit (connection, path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
        g_variant_new_parsed ("('org.dvm.Job', {'State': <uint32 35>, 'StateName': <'NOTIFIED'>, 'Ended': <true>,"
                              " 'NumProcs': <uint32 2>, 'Reason': <'done'>}, @as [])"));
  for (gsize i = 1; i < G_N_ELEMENTS (steps); i++)
    emit (connection, path, "org.dvm.Job", "StateChanged",
          g_variant_new ("(uus)", steps[i - 1], steps[i], steps[i] == 35 ? "done" : ""));
  emit (connection, path, "org.dvm.Job", "ProcStateChanged",
        g_variant_new_parsed ("([(uint32 1, uint32 1, uint32 4)],)"));
}

static void
submit (DvmTestServer *self, GDBusMethodInvocation *invocation, GVariant *parameters)
{
  GDBusConnection *connection = g_dbus_method_invocation_get_connection (invocation);
  g_autoptr (GVariant) apps = g_variant_get_child_value (parameters, 0);
  g_autoptr (GVariant) app = g_variant_get_child_value (apps, 0);
  g_autofree const char **argv = NULL;

  g_assert_true (g_variant_lookup (app, "argv", "^a&s", &argv));
  if (strcmp (argv[0], "refused") == 0)
    g_dbus_method_invocation_return_dbus_error (invocation, "org.dvm.Error.BadParam", "np: must be at least 1, not 0");
  else if (strcmp (argv[0], "garbage") == 0)
    g_dbus_method_invocation_return_value (invocation, g_variant_new ("(o)", "/org/dvm/sessions/1"));
  else if (strcmp (argv[0], "leave") == 0)
    {
      g_dbus_connection_close_sync (connection, NULL, NULL);
      g_object_unref (invocation);
    }
  else
    g_dbus_method_invocation_return_value (invocation, g_variant_new ("(o)", "/org/dvm/jobs/1"));
  if (strcmp (argv[0], "steps") == 0)
    emit_steps (self, connection, "/org/dvm/jobs/1");
}

static void
list_jobs (DvmTestServer *self, GDBusMethodInvocation *invocation, GVariant *parameters)
{
  g_autoptr (GVariant) filter = g_variant_get_child_value (parameters, 0);
  const char *ids = "";
  gboolean stuck;

  g_mutex_lock (&self->lock);
  stuck = self->stuck;
  g_mutex_unlock (&self->lock);
  g_variant_lookup (filter, "ids", "&s", &ids);
  if (stuck)
    g_dbus_method_invocation_return_value (invocation, g_variant_new_parsed ("(@aa{sv} [], '9')"));
  else if (ids[0] == '\0')
    g_dbus_method_invocation_return_value (
        invocation, g_variant_new_parsed ("([{'Id': <[uint32 0, 1]>, 'Namespace': <['a@0', '']>}], '2-3')"));
  else if (strcmp (ids, "2-3") == 0)
    g_dbus_method_invocation_return_value (invocation, g_variant_new_parsed ("([{'Id': <[uint32 2]>}], '3')"));
  else
    g_dbus_method_invocation_return_value (invocation, g_variant_new_parsed ("([{'Id': <[uint32 3]>}], '')"));
}

static void
manager_call (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
              const char *method, GVariant *parameters, GDBusMethodInvocation *invocation, gpointer user_data)
{
  DvmTestServer *self = user_data;
  const char *text;

  g_mutex_lock (&self->lock);
  g_free (self->last_call);
  text = g_variant_print (parameters, FALSE);
  self->last_call = g_strconcat (method, " ", text, NULL);
  g_free ((char *)text);
  g_mutex_unlock (&self->lock);

  if (strcmp (method, "SubmitApps") == 0)
    submit (self, invocation, parameters);
  else if (strcmp (method, "ListJobs") == 0)
    list_jobs (self, invocation, parameters);
  else if (strcmp (method, "ListNodes") == 0)
    g_dbus_method_invocation_return_value (
        invocation,
        g_variant_new_parsed ("([{'Rank': <[uint32 1]>, 'Name': <['node1']>, 'State': <[uint32 3]>}], '')"));
  else if (strcmp (method, "Query") == 0)
    g_dbus_method_invocation_return_value (invocation, g_variant_new_parsed ("({'version': <'9'>},)"));
  else if (strcmp (method, "CancelJobs") == 0)
    g_dbus_method_invocation_return_value (invocation, g_variant_new ("(u)", 3));
  else if (strcmp (method, "Reload") == 0)
    g_dbus_method_invocation_return_value (invocation, NULL);
  else if (strcmp (method, "ListPlugins") == 0)
    g_dbus_method_invocation_return_value (
        invocation, g_variant_new_parsed ("([{'kind': <'mapper'>, 'name': <'m'>, 'active': <true>}],)"));
  else if (strcmp (method, "FindJob") == 0)
    {
      g_variant_get (parameters, "(&s)", &text);
      if (strcmp (text, "none") == 0)
        g_dbus_method_invocation_return_dbus_error (invocation, "org.dvm.Error.NotFound", "There is no job “none”");
      else
        g_dbus_method_invocation_return_value (invocation, g_variant_new ("(o)", "/org/dvm/jobs/2"));
    }
  else if (strcmp (method, "Shutdown") == 0)
    {
      /* It leaves without an answer. */
      g_dbus_connection_close_sync (connection, NULL, NULL);
      g_object_unref (invocation);
    }
  else
    g_dbus_method_invocation_return_value (invocation, NULL);
}

static void
attach (GDBusMethodInvocation *invocation, GVariant *parameters)
{
  g_autoptr (GVariant) asked = g_variant_get_child_value (parameters, 0);
  g_autoptr (GUnixFDList) list = g_unix_fd_list_new ();
  static const char *const keys[] = { "stdin", "stdout", "stderr", "pty" };
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sh}"));
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      gboolean wanted = FALSE;
      int fds[2];

      if (!g_variant_lookup (asked, keys[i], "b", &wanted) || !wanted)
        continue;
      g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
      g_assert_cmpint (write (fds[1], keys[i], strlen (keys[i])), ==, (int)strlen (keys[i]));
      g_variant_builder_add (&builder, "{sh}", keys[i], g_unix_fd_list_append (list, fds[0], NULL));
      close (fds[0]);
      close (fds[1]);
    }
  g_dbus_method_invocation_return_value_with_unix_fd_list (invocation, g_variant_new ("(a{sh})", &builder), list);
}

static void
wait_for_job (DvmTestServer *self, GDBusMethodInvocation *invocation, const char *path, GVariant *parameters)
{
  g_autoptr (GVariant) options = g_variant_get_child_value (parameters, 0);
  guint timeout;

  if (g_variant_lookup (options, "timeout", "u", &timeout))
    g_dbus_method_invocation_return_dbus_error (invocation, "org.dvm.Error.Timeout", "The job has not ended yet");
  else if (strcmp (path, "/org/dvm/jobs/4") == 0)
    g_ptr_array_add (self->waiting, invocation);
  else
    g_dbus_method_invocation_return_value (
        invocation, g_variant_new_parsed ("({'state': <uint32 62>, 'state-name': <'NON_ZERO_TERM'>, 'exit-code': <3>,"
                                          " 'exit-signal': <0>, 'failed-rank': <1>, 'reason': <'rank 1 failed'>},)"));
}

static void
job_call (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *method,
          GVariant *parameters, GDBusMethodInvocation *invocation, gpointer user_data)
{
  DvmTestServer *self = user_data;
  const char *ranks;

  if (strcmp (method, "Wait") == 0)
    wait_for_job (self, invocation, path, parameters);
  else if (strcmp (method, "Attach") == 0)
    attach (invocation, parameters);
  else if (strcmp (path, strcmp (method, "ListDevices") == 0 ? "/org/dvm/jobs/3" : "/org/dvm/jobs/4") == 0
           && g_str_has_prefix (method, "List"))
    g_dbus_method_invocation_return_dbus_error (invocation, "org.dvm.Error.NotFound", "The job is forgotten");
  else if (strcmp (method, "ListProcs") == 0)
    {
      g_variant_get (parameters, "(&s@a{sv})", &ranks, NULL);
      g_dbus_method_invocation_return_value (
          invocation, strcmp (ranks, "1") == 0
                          ? g_variant_new_parsed ("([(uint32 1, uint32 0, 'n', uint32 1, uint32 1, 43, uint32 4, 0, 0,"
                                                  " '')], '')")
                          : g_variant_new_parsed ("([(uint32 0, uint32 0, 'n', uint32 0, uint32 0, 42, uint32 4, 0, 0,"
                                                  " '')], '1')"));
    }
  else if (strcmp (method, "ListDevices") == 0)
    {
      g_variant_get (parameters, "(&s@a{sv})", &ranks, NULL);
      g_dbus_method_invocation_return_value (
          invocation,
          g_variant_new_parsed (strcmp (ranks, "1") == 0 ? "([(uint32 1, 'nvml0'), (uint32 9, 'nvml9')], '')"
                                                         : "(@a(us) [], '1')"));
    }
  else if (strcmp (method, "CollectStacks") == 0)
    {
      g_autofree char *asked = g_variant_print (parameters, FALSE);

      g_dbus_method_invocation_return_value (invocation, g_variant_new_parsed ("([(uint32 0, 'n', %s, '')],)", asked));
    }
  else if (strcmp (method, "GetTrace") == 0)
    g_dbus_method_invocation_return_value (
        invocation, g_variant_new_parsed ("([(uint64 17, 'job', uint32 0, uint32 1, 'note')],)"));
  else
    g_dbus_method_invocation_return_value (invocation, NULL);
}

static GVariant *
get_manager_property (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                      const char *name, GError **error, gpointer user_data)
{
  if (strcmp (name, "InstanceId") == 0)
    return g_variant_new_string ("test-instance");
  if (strcmp (name, "Ready") == 0)
    return g_variant_new_boolean (TRUE);
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s is not here", name);
  return NULL;
}

static GVariant *
get_job_property (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                  const char *name, GError **error, gpointer user_data)
{
  DvmTestServer *self = user_data;
  guint id = path[strlen (path) - 1] - '0';
  GVariant *value = _dvm_record_get_bus_property (G_OBJECT (self->jobs[id]), name);

  if (value == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s is not here", name);
  return value;
}

static const GDBusInterfaceVTable manager_vtable = { manager_call, get_manager_property };
static const GDBusInterfaceVTable job_vtable = { job_call, get_job_property };

static void
export_objects (DvmTestServer *self, GDBusConnection *connection)
{
  g_assert_cmpuint (g_dbus_connection_register_object (connection, "/org/dvm/Manager",
                                                       (GDBusInterfaceInfo *)&dvm_dbus_manager_interface,
                                                       &manager_vtable, self, NULL, NULL),
                    !=, 0);
  for (guint i = 1; i <= N_JOBS; i++)
    g_assert_cmpuint (g_dbus_connection_register_object (connection, dvm_job_get_object_path (self->jobs[i]),
                                                         (GDBusInterfaceInfo *)&dvm_dbus_job_interface, &job_vtable,
                                                         self, NULL, NULL),
                      !=, 0);
  g_dbus_connection_set_exit_on_close (connection, FALSE);
  g_ptr_array_add (self->connections, g_object_ref (connection));
}

static gboolean
on_new_connection (GDBusServer *server, GDBusConnection *connection, gpointer user_data)
{
  export_objects (user_data, connection);
  return TRUE;
}

typedef struct
{
  DvmTestServer *self;
  const char *path;
  const char *address;
  const char *name;
  int fd;
  GMutex lock;
  GCond cond;
  gboolean ready;
} Start;

static void
listen_on_path (DvmTestServer *self, const char *path)
{
  g_autofree char *address = g_strconcat ("unix:path=", path, NULL);
  g_autofree char *guid = g_dbus_generate_guid ();
  g_autoptr (GError) error = NULL;

  self->server = g_dbus_server_new_sync (address, G_DBUS_SERVER_FLAGS_NONE, guid, NULL, NULL, &error);
  g_assert_no_error (error);
  g_signal_connect (self->server, "new-connection", G_CALLBACK (on_new_connection), self);
  g_dbus_server_start (self->server);
}

static void
serve_bus (DvmTestServer *self, const char *address, const char *name)
{
  g_autoptr (GDBusConnection) connection = NULL;
  g_autoptr (GVariant) reply = NULL;
  g_autoptr (GError) error = NULL;

  connection = g_dbus_connection_new_for_address_sync (
      address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL,
      NULL, &error);
  g_assert_no_error (error);
  export_objects (self, connection);
  reply = g_dbus_connection_call_sync (connection, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                       "org.freedesktop.DBus", "RequestName", g_variant_new ("(su)", name, 4), NULL,
                                       G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
  g_assert_no_error (error);
}

static void
on_fd_connection (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GDBusConnection) connection = g_dbus_connection_new_finish (result, &error);

  g_assert_no_error (error);
  export_objects (user_data, connection);
  g_dbus_connection_start_message_processing (connection);
}

static void
serve_fd (DvmTestServer *self, int fd)
{
  g_autoptr (GSocket) socket = g_socket_new_from_fd (fd, NULL);
  g_autoptr (GSocketConnection) stream = g_socket_connection_factory_create_connection (socket);
  g_autofree char *guid = g_dbus_generate_guid ();

  g_dbus_connection_new (G_IO_STREAM (stream), guid,
                         G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_SERVER
                             | G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING,
                         NULL, NULL, on_fd_connection, self);
}

static gpointer
run (gpointer data)
{
  Start *start = data;
  DvmTestServer *self = start->self;

  g_main_context_push_thread_default (self->context);
  if (start->path != NULL)
    listen_on_path (self, start->path);
  else if (start->address != NULL)
    serve_bus (self, start->address, start->name);
  else
    serve_fd (self, start->fd);
  g_mutex_lock (&start->lock);
  start->ready = TRUE;
  g_cond_signal (&start->cond);
  g_mutex_unlock (&start->lock);

  g_main_loop_run (self->loop);
  if (self->server != NULL)
    {
      /* A connection that was made a moment ago may still wait in the context. */
      g_signal_handlers_disconnect_by_data (self->server, self);
      g_dbus_server_stop (self->server);
    }
  for (guint i = 0; i < self->connections->len; i++)
    g_dbus_connection_close_sync (g_ptr_array_index (self->connections, i), NULL, NULL);
  g_clear_object (&self->server);
  g_clear_pointer (&self->connections, g_ptr_array_unref);
  g_clear_pointer (&self->waiting, g_ptr_array_unref);
  while (g_main_context_iteration (self->context, FALSE))
    ;
  g_main_context_pop_thread_default (self->context);
  return NULL;
}

static DvmTestServer *
start_server (Start *start)
{
  DvmTestServer *self = g_new0 (DvmTestServer, 1);

  dvm_error_quark ();
  start->self = self;
  g_mutex_init (&start->lock);
  g_cond_init (&start->cond);
  g_mutex_init (&self->lock);
  self->context = g_main_context_new ();
  self->loop = g_main_loop_new (self->context, FALSE);
  self->connections = g_ptr_array_new_with_free_func (g_object_unref);
  self->waiting = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 1; i <= N_JOBS; i++)
    {
      g_autofree char *nspace = g_strdup_printf ("test@%u", i);

      self->jobs[i] = _dvm_job_new (i, nspace);
    }
  self->thread = g_thread_new ("test-server", run, start);
  g_mutex_lock (&start->lock);
  while (!start->ready)
    g_cond_wait (&start->cond, &start->lock);
  g_mutex_unlock (&start->lock);
  g_mutex_clear (&start->lock);
  g_cond_clear (&start->cond);
  return self;
}

DvmTestServer *
dvm_test_server_new (const char *path)
{
  Start start = { .path = path, .fd = -1 };

  return start_server (&start);
}

DvmTestServer *
dvm_test_server_new_for_bus (const char *address, const char *name)
{
  Start start = { .address = address, .name = name, .fd = -1 };

  return start_server (&start);
}

DvmTestServer *
dvm_test_server_new_for_fd (int fd)
{
  Start start = { .fd = fd };

  return start_server (&start);
}

static gboolean
quit (gpointer data)
{
  g_main_loop_quit (data);
  return G_SOURCE_REMOVE;
}

void
dvm_test_server_free (DvmTestServer *self)
{
  g_autoptr (GSource) source = g_idle_source_new ();

  g_source_set_callback (source, quit, self->loop, NULL);
  g_source_attach (source, self->context);
  g_thread_join (self->thread);
  for (guint i = 1; i <= N_JOBS; i++)
    g_object_unref (self->jobs[i]);
  g_main_loop_unref (self->loop);
  g_main_context_unref (self->context);
  g_mutex_clear (&self->lock);
  g_free (self->last_call);
  g_free (self);
}

char *
dvm_test_server_get_last_call (DvmTestServer *self)
{
  char *text;

  g_mutex_lock (&self->lock);
  text = g_strdup (self->last_call);
  g_mutex_unlock (&self->lock);
  return text;
}

void
dvm_test_server_set_stuck (DvmTestServer *self, gboolean stuck)
{
  g_mutex_lock (&self->lock);
  self->stuck = stuck;
  g_mutex_unlock (&self->lock);
}
