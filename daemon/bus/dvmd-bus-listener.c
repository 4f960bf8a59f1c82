/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Not by GDBusServer: that one takes everybody, waits for ever for half a word, and spins when there are no more
 * descriptors.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-listener.h"

#include <fcntl.h>
#include <gio/gunixconnection.h>
#include <gio/gunixsocketaddress.h>
#include <sys/resource.h>
#include <unistd.h>

#define BACKLOG    1024
#define TIMEOUT_MS 10000
/* Threads that authenticate at the same time; more than these wait for their turn. */
#define MAX_THREADS 16
/* Those that wait for it. */
#define MAX_GUESTS 4096
/* So many are taken in one turn of the main loop. */
#define PER_TURN 32

struct _DvmdBusListener
{
  GSocket *socket;
  GSource *source;
  char *path; /* once it is there */
  char *guid;
  GDBusAuthObserver *observer;
  DvmdBusListenerFunc func;
  gpointer user_data;
  GPtrArray *guests; /* Guest */
  GQueue ready;      /* of those, who have said something and wait for a thread; borrowed */
  guint n_threads;
  guint n_connections;
  guint limit;
  guint timeout;
  int reserve;        /* a descriptor to give up when there is no other */
  gboolean told_full; /* said once, until there is room again */
};

/* Somebody who has connected and is not known yet. */
typedef struct
{
  DvmdBusListener *listener; /* NULL: nobody waits for the result any more; main context alone */
  GSocket *socket;
  GSource *source; /* until it says something */
  guint timer;
  gboolean in_thread;
  char *guid;
  GDBusAuthObserver *observer;
  GDBusConnection *connection; /* the thread's result */
} Guest;

static void
guest_free (Guest *guest)
{
  g_clear_handle_id (&guest->timer, g_source_remove);
  if (guest->source != NULL)
    g_source_destroy (guest->source);
  g_clear_pointer (&guest->source, g_source_unref);
  g_clear_object (&guest->connection);
  g_clear_object (&guest->socket);
  g_clear_object (&guest->observer);
  g_free (guest->guid);
  g_free (guest);
}

static void run_ready (DvmdBusListener *self);

/* The guest's thread keeps it, if there is one, and finds nobody who waits. */
static void
send_away (Guest *guest)
{
  DvmdBusListener *self = g_steal_pointer (&guest->listener);

  g_ptr_array_remove_fast (self->guests, guest);
  g_queue_remove (&self->ready, guest);
  g_socket_shutdown (guest->socket, TRUE, TRUE, NULL);
  if (!guest->in_thread)
    {
      guest_free (guest);
      return;
    }
  g_clear_handle_id (&guest->timer, g_source_remove);
  self->n_threads--;
}

static gboolean
on_too_long (gpointer user_data)
{
  Guest *guest = user_data;
  DvmdBusListener *self = guest->listener;

  guest->timer = 0;
  g_message ("Somebody has connected to the private socket and not said who it is within %u s: sent away",
             self->timeout / 1000);
  send_away (guest);
  run_ready (self);
  return G_SOURCE_REMOVE;
}

/* ---- authentication ---- */

static void
close_connection (GDBusConnection *connection)
{
  g_dbus_connection_start_message_processing (connection);
  g_dbus_connection_close (connection, NULL, NULL, NULL);
}

static gboolean
on_authenticated (gpointer user_data)
{
  Guest *guest = user_data;
  DvmdBusListener *self = guest->listener;

  if (self != NULL)
    {
      g_ptr_array_remove_fast (self->guests, guest);
      self->n_threads--;
      if (guest->connection != NULL && self->func (guest->connection, self->user_data))
        {
          self->n_connections++;
          g_dbus_connection_start_message_processing (guest->connection);
          g_clear_object (&guest->connection);
        }
      run_ready (self);
    }
  if (guest->connection != NULL)
    close_connection (guest->connection);
  guest_free (guest);
  return G_SOURCE_REMOVE;
}

static gpointer
authenticate (gpointer data)
{
  Guest *guest = data;
  g_autoptr (GSocketConnection) stream = g_socket_connection_factory_create_connection (guest->socket);

  guest->connection = g_dbus_connection_new_sync (G_IO_STREAM (stream), guest->guid,
                                                  G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_SERVER
                                                      | G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING,
                                                  guest->observer, NULL, NULL);
  g_idle_add_full (G_PRIORITY_DEFAULT, on_authenticated, guest, NULL);
  return NULL;
}

static void
run_ready (DvmdBusListener *self)
{
  while (self->n_threads < MAX_THREADS && !g_queue_is_empty (&self->ready))
    {
      Guest *guest = g_queue_pop_head (&self->ready);
      g_autoptr (GError) error = NULL;
      GThread *thread;

      g_socket_set_blocking (guest->socket, TRUE);
      guest->in_thread = TRUE;
      thread = g_thread_try_new ("dvm-auth", authenticate, guest, &error);
      if (thread != NULL)
        {
          self->n_threads++;
          g_thread_unref (thread);
          continue;
        }
      g_message ("Somebody cannot be let in: %s", error->message);
      guest->in_thread = FALSE;
      send_away (guest);
    }
}

/* A thread is not spent on one who has nothing to say. */
static gboolean
on_first_word (GSocket *socket, GIOCondition condition, gpointer user_data)
{
  Guest *guest = user_data;

  g_clear_pointer (&guest->source, g_source_unref);
  g_queue_push_tail (&guest->listener->ready, guest);
  run_ready (guest->listener);
  return G_SOURCE_REMOVE;
}

static void
add_guest (DvmdBusListener *self, GSocket *socket)
{
  Guest *guest = g_new0 (Guest, 1);

  guest->listener = self;
  guest->socket = g_object_ref (socket);
  guest->guid = g_strdup (self->guid);
  guest->observer = g_object_ref (self->observer);
  g_socket_set_blocking (socket, FALSE);
  guest->timer = g_timeout_add (self->timeout, on_too_long, guest);
  guest->source = g_socket_create_source (socket, G_IO_IN, NULL);
  g_source_set_callback (guest->source, G_SOURCE_FUNC (on_first_word), guest, NULL);
  g_source_attach (guest->source, g_main_context_get_thread_default ());
  g_ptr_array_add (self->guests, guest);
}

/* ---- who may come in ---- */

static guint
get_limit (DvmdBusListener *self)
{
  struct rlimit limit;

  if (self->limit > 0 || getrlimit (RLIMIT_NOFILE, &limit) != 0)
    return self->limit > 0 ? self->limit : 256;
  /* The other half is for the jobs: their pipes, their processes. */
  return MIN (limit.rlim_cur, 2 * MAX_GUESTS) / 2;
}

static void
tell_full (DvmdBusListener *self, const char *why)
{
  if (!self->told_full)
    g_message ("The private socket refuses connections: %s", why);
  self->told_full = TRUE;
}

static gboolean
is_welcome (DvmdBusListener *self, GSocket *socket)
{
  g_autoptr (GCredentials) credentials = g_socket_get_credentials (socket, NULL);
  uid_t uid = credentials != NULL ? g_credentials_get_unix_user (credentials, NULL) : (uid_t)-1;
  guint limit = get_limit (self);
  g_autofree char *why = NULL;

  if (uid != getuid () && uid != 0)
    {
      g_message ("uid %u is refused on the private socket: this DVM belongs to uid %u", (guint)uid, (guint)getuid ());
      return FALSE;
    }
  if (self->n_connections + self->guests->len < limit)
    {
      self->told_full = FALSE;
      return TRUE;
    }
  why = g_strdup_printf ("it has %u, and with the limit of descriptors (ulimit -n) there can be %u",
                         self->n_connections + self->guests->len, limit);
  tell_full (self, why);
  return FALSE;
}

/* A connection that waits would keep the main loop awake: it is accepted by the reserved descriptor, and closed. */
static void
refuse_one (DvmdBusListener *self)
{
  g_autoptr (GSocket) socket = NULL;

  tell_full (self, "no descriptors are left (ulimit -n)");
  if (self->reserve >= 0)
    close (self->reserve);
  socket = g_socket_accept (self->socket, NULL, NULL);
  g_clear_object (&socket);
  self->reserve = open ("/dev/null", O_RDONLY | O_CLOEXEC);
}

static gboolean
on_incoming (GSocket *listening, GIOCondition condition, gpointer user_data)
{
  DvmdBusListener *self = user_data;

  for (guint i = 0; i < PER_TURN; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GSocket) socket = g_socket_accept (listening, NULL, &error);

      if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TOO_MANY_OPEN_FILES))
        refuse_one (self);
      if (socket == NULL)
        break;
      if (is_welcome (self, socket))
        add_guest (self, socket);
    }
  return G_SOURCE_CONTINUE;
}

/* ---- life ---- */

static gboolean
listen_on (DvmdBusListener *self, const char *path, GError **error)
{
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (path);

  self->socket = g_socket_new (G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, error);
  if (self->socket == NULL)
    return FALSE;
  g_socket_set_blocking (self->socket, FALSE);
  g_socket_set_listen_backlog (self->socket, BACKLOG);
  if (!g_socket_bind (self->socket, address, FALSE, error))
    return FALSE;
  self->path = g_strdup (path);
  return g_socket_listen (self->socket, error);
}

DvmdBusListener *
dvmd_bus_listener_new (const char *path, const DvmdBusListenerSettings *settings, GError **error)
{
  DvmdBusListener *self = g_new0 (DvmdBusListener, 1);

  g_type_ensure (G_TYPE_UNIX_CONNECTION);
  self->guid = g_strdup (settings->guid);
  self->observer = g_object_ref (settings->observer);
  self->func = settings->func;
  self->user_data = settings->user_data;
  self->guests = g_ptr_array_new ();
  g_queue_init (&self->ready);
  self->timeout = TIMEOUT_MS;
  self->reserve = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  if (!listen_on (self, path, error))
    {
      dvmd_bus_listener_free (self);
      return NULL;
    }
  self->source = g_socket_create_source (self->socket, G_IO_IN, NULL);
  g_source_set_callback (self->source, G_SOURCE_FUNC (on_incoming), self, NULL);
  g_source_attach (self->source, g_main_context_get_thread_default ());
  return self;
}

void
dvmd_bus_listener_free (DvmdBusListener *self)
{
  if (self->source != NULL)
    g_source_destroy (self->source);
  g_clear_pointer (&self->source, g_source_unref);
  while (self->guests->len > 0)
    send_away (self->guests->pdata[self->guests->len - 1]);
  g_ptr_array_unref (self->guests);
  if (self->path != NULL)
    unlink (self->path);
  g_free (self->path);
  if (self->socket != NULL)
    g_socket_close (self->socket, NULL);
  g_clear_object (&self->socket);
  if (self->reserve >= 0)
    close (self->reserve);
  g_object_unref (self->observer);
  g_free (self->guid);
  g_free (self);
}

void
dvmd_bus_listener_set_limit (DvmdBusListener *self, guint limit)
{
  self->limit = limit;
}

void
dvmd_bus_listener_set_timeout (DvmdBusListener *self, guint timeout)
{
  self->timeout = timeout;
}

void
dvmd_bus_listener_connection_gone (DvmdBusListener *self)
{
  self->n_connections--;
}

guint
dvmd_bus_listener_get_n_guests (DvmdBusListener *self)
{
  return self->guests->len;
}
