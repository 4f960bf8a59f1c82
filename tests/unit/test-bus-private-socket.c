/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Connections to the private socket: very many, silent ones, those of other users; and no descriptors left.
 */

#include "config.h"

#include "bus-fixture.h"
#include "fake-controller.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 500

typedef struct
{
  BusFixture bus;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  bus_fixture_set_up (&f->bus, fake_controller_new (4, 10), NULL);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  bus_fixture_tear_down (&f->bus);
}

static guint
count_fds (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
check_works (Fixture *f)
{
  BusClient *good = bus_client_new_private (&f->bus);

  bus_client_sync (good);
  bus_client_free (good);
}

static int
new_socket (void)
{
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_assert_cmpint (fd, >=, 0);
  return fd;
}

static int
connect_fd (int fd, const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };

  g_strlcpy (address.sun_path, path, sizeof address.sun_path);
  return connect (fd, (const struct sockaddr *)&address, sizeof address);
}

/* The other end has closed it; what it said before is read away. */
static gboolean
is_closed (int fd)
{
  char buffer[256];
  gssize n = recv (fd, buffer, sizeof buffer, MSG_DONTWAIT);

  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* ---- many ---- */

typedef struct
{
  GPtrArray *connections;
  guint n_answers;
  guint n_failed;
} Crowd;

static void
on_answer (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Crowd *crowd = user_data;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, NULL);

  crowd->n_answers++;
  crowd->n_failed += reply == NULL;
}

static void
on_connected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Crowd *crowd = user_data;
  g_autoptr (GError) error = NULL;
  GDBusConnection *connection = g_dbus_connection_new_for_address_finish (result, &error);

  g_assert_no_error (error);
  g_ptr_array_add (crowd->connections, connection);
  g_dbus_connection_call (connection, NULL, MANAGER_PATH, PROPERTIES, "GetAll", g_variant_new ("(s)", MANAGER), NULL,
                          G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_answer, crowd);
}

/* Five hundred at once; when they have gone nothing of them is left. */
static void
test_many (Fixture *f, gconstpointer data)
{
  Crowd crowd = { g_ptr_array_new_with_free_func (g_object_unref) };
  struct rlimit limit;
  guint n_fds;

  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  if (limit.rlim_max < 4 * MANY)
    {
      g_test_skip ("the limit of descriptors is too low here");
      return;
    }
  limit.rlim_cur = limit.rlim_max;
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  check_works (f);
  n_fds = count_fds ();
  for (guint i = 0; i < MANY; i++)
    g_dbus_connection_new_for_address (dvmd_bus_server_get_address (f->bus.server),
                                       G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, NULL, on_connected, &crowd);
  wait_until (crowd.n_answers == MANY);
  g_assert_cmpuint (crowd.n_failed, ==, 0);
  g_assert_cmpuint (dvmd_bus_server_get_n_connections (f->bus.server), ==, MANY);
  for (guint i = 0; i < MANY; i++)
    g_dbus_connection_close (crowd.connections->pdata[i], NULL, NULL, NULL);
  wait_until (dvmd_bus_server_get_n_connections (f->bus.server) == 0);
  g_ptr_array_unref (crowd.connections);
  wait_until (count_fds () <= n_fds);
  check_works (f);
}

/* ---- those who say nothing, or too little ---- */

static void
test_silence (Fixture *f, gconstpointer data)
{
  DvmdBusListener *listener = dvmd_bus_server_get_listener (f->bus.server);
  static const char half[] = "\0AUTH EXT";
  BusClient *idle = bus_client_new_private (&f->bus);
  int fds[40];

  bus_client_sync (idle);
  dvmd_bus_listener_set_timeout (listener, 300);
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    {
      fds[i] = new_socket ();
      g_assert_cmpint (connect_fd (fds[i], f->bus.socket), ==, 0);
      if (i % 2 == 0)
        g_assert_cmpint (write (fds[i], half, sizeof half - 1), ==, sizeof half - 1);
    }
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    {
      wait_until (is_closed (fds[i]));
      close (fds[i]);
    }
  g_assert_cmpuint (dvmd_bus_listener_get_n_guests (listener), ==, 0);
  /* A client that is in may be silent for as long as it likes. */
  bus_client_sync (idle);
  bus_client_free (idle);
  dvmd_bus_listener_set_timeout (listener, 60000);
  check_works (f);
}

static void
test_limit (Fixture *f, gconstpointer data)
{
  DvmdBusListener *listener = dvmd_bus_server_get_listener (f->bus.server);
  BusClient *first = bus_client_new_private (&f->bus);
  BusClient *second = bus_client_new_private (&f->bus);
  int fd = new_socket ();

  /* Both are in, and not still at the door. */
  bus_client_sync (first);
  bus_client_sync (second);
  dvmd_bus_listener_set_limit (listener, 2);
  g_assert_cmpint (connect_fd (fd, f->bus.socket), ==, 0);
  wait_until (is_closed (fd));
  close (fd);
  bus_client_sync (first);
  bus_client_free (second);
  wait_until (dvmd_bus_server_get_n_connections (f->bus.server) == 1);
  check_works (f);
  bus_client_free (first);
}

/* They are refused, and the main loop has nothing to do afterwards. */
static void
test_no_descriptors (Fixture *f, gconstpointer data)
{
  BusClient *client = bus_client_new_private (&f->bus);
  g_autoptr (GArray) fillers = g_array_new (FALSE, FALSE, sizeof (int));
  struct rlimit before;
  struct rlimit limit;
  int filler;
  int fds[8];

  bus_client_sync (client);
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    fds[i] = new_socket ();
  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &before), ==, 0);
  limit = before;
  limit.rlim_cur = MIN (limit.rlim_cur, count_fds () + 64);
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  while ((filler = open ("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
    g_array_append_val (fillers, filler);
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    g_assert_cmpint (connect_fd (fds[i], f->bus.socket), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    wait_until (is_closed (fds[i]));
  for (guint i = 0; i < fillers->len; i++)
    close (g_array_index (fillers, int, i));
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &before), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    close (fds[i]);
  bus_client_sync (client);
  bus_client_free (client);
  check_works (f);
}

/* ---- strangers ---- */

static void
test_stranger (Fixture *f, gconstpointer data)
{
  pid_t child;
  int status;

  if (getuid () != 0)
    {
      g_test_skip ("only root can become somebody else");
      return;
    }
  /* As if somebody had opened the way. */
  g_assert_cmpint (g_chmod (f->bus.dir, 0755), ==, 0);
  g_assert_cmpint (g_chmod (f->bus.socket, 0777), ==, 0);
  child = fork ();
  if (child == 0)
    {
      char byte;
      int fd = socket (AF_UNIX, SOCK_STREAM, 0);

      if (setgid (65534) != 0 || setuid (65534) != 0 || connect_fd (fd, f->bus.socket) != 0)
        _exit (1);
      _exit (read (fd, &byte, 1) > 0 ? 2 : 0);
    }
  wait_until (waitpid (child, &status, WNOHANG) == child);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_assert_cmpuint (dvmd_bus_server_get_n_connections (f->bus.server), ==, 0);
  check_works (f);
}

int
main (int argc, char **argv)
{
  g_setenv ("LC_ALL", "C.UTF-8", TRUE);
  g_test_init (&argc, &argv, NULL);

  g_test_add ("/bus/private-socket/many", Fixture, NULL, set_up, test_many, tear_down);
  g_test_add ("/bus/private-socket/silence", Fixture, NULL, set_up, test_silence, tear_down);
  g_test_add ("/bus/private-socket/limit", Fixture, NULL, set_up, test_limit, tear_down);
  g_test_add ("/bus/private-socket/no-descriptors", Fixture, NULL, set_up, test_no_descriptors, tear_down);
  g_test_add ("/bus/private-socket/stranger", Fixture, NULL, set_up, test_stranger, tear_down);
  return g_test_run ();
}
