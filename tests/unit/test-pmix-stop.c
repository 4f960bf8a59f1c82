/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The end of a PMIx server: what clients and tools were to be told before reaches them.
 */

#include "config.h"

#include <string.h>
#include <unistd.h>

#include "dvmd-pmix-relay.h"
#include "dvmd-pmix-thread.h"

/* Bytes, more than sockets hold. */
#define LARGE (64 * 1024 * 1024)

typedef struct
{
  GSocketListener *listener; /* in the library's place */
  DvmdPmixRelay *relay;
  GSocketConnection *library;
  GSocketConnection *tool;
  gboolean finished;
} Fixture;

static void
on_connected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Fixture *fixture = user_data;
  g_autoptr (GError) error = NULL;

  fixture->tool = g_socket_client_connect_finish (G_SOCKET_CLIENT (source), result, &error);
  g_assert_no_error (error);
}

static void
on_accepted (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Fixture *fixture = user_data;
  g_autoptr (GError) error = NULL;

  fixture->library = g_socket_listener_accept_finish (G_SOCKET_LISTENER (source), result, NULL, &error);
  g_assert_no_error (error);
}

static void
on_finished (gpointer user_data)
{
  ((Fixture *)user_data)->finished = TRUE;
}

static void
set_up (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new_from_string ("127.0.0.1", 0);
  g_autoptr (GSocketAddress) effective = NULL;
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GError) error = NULL;

  fixture->listener = g_socket_listener_new ();
  g_socket_listener_add_address (fixture->listener, address, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, NULL,
                                 &effective, &error);
  g_assert_no_error (error);
  fixture->relay = dvmd_pmix_relay_new (g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (effective)), &error);
  g_assert_no_error (error);
  g_socket_listener_accept_async (fixture->listener, NULL, on_accepted, fixture);
  g_socket_client_connect_to_host_async (client, "127.0.0.1", (guint16)dvmd_pmix_relay_get_port (fixture->relay), NULL,
                                         on_connected, fixture);
  while (fixture->tool == NULL || fixture->library == NULL)
    g_main_context_iteration (NULL, TRUE);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  g_object_unref (fixture->library);
  g_object_unref (fixture->tool);
  g_clear_pointer (&fixture->relay, dvmd_pmix_relay_free);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_object_unref (fixture->listener);
}

static void
write_all (GSocketConnection *connection, const char *text)
{
  g_autoptr (GError) error = NULL;

  g_output_stream_write_all (g_io_stream_get_output_stream (G_IO_STREAM (connection)), text, strlen (text), NULL, NULL,
                             &error);
  g_assert_no_error (error);
}

/* Nothing is dispatched between the library's last word and the end of the server; the tool is read when that is over.
 */
static void
test_last_word (Fixture *fixture, gconstpointer data)
{
  char buffer[64];
  gssize n;
  g_autoptr (GError) error = NULL;

  write_all (fixture->library, "the last word");
  if (!dvmd_pmix_relay_finish (fixture->relay, on_finished, fixture))
    while (!fixture->finished)
      g_main_context_iteration (NULL, TRUE);
  g_clear_pointer (&fixture->relay, dvmd_pmix_relay_free);
  n = g_socket_receive_with_blocking (g_socket_connection_get_socket (fixture->tool), buffer, sizeof buffer, FALSE,
                                      NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (buffer, n, "the last word", strlen ("the last word"));
}

static gpointer
read_to_end (gpointer data)
{
  g_autofree char *buffer = g_malloc (LARGE);
  g_autoptr (GError) error = NULL;
  gsize n = 0;

  g_input_stream_read_all (g_io_stream_get_input_stream (data), buffer, LARGE, &n, NULL, &error);
  g_assert_no_error (error);
  return GSIZE_TO_POINTER (n);
}

/* All sockets between the library and a tool that does not read are full. */
static gsize
fill (Fixture *fixture)
{
  g_autofree char *much = g_malloc0 (LARGE);
  GSocket *socket = g_socket_connection_get_socket (fixture->library);
  gsize n_written = 0;
  guint n_idle = 0;

  g_socket_set_blocking (socket, FALSE);
  while (n_idle < 1000)
    {
      gssize n = g_socket_send (socket, much, LARGE - n_written, NULL, NULL);

      n_idle = n > 0 || g_main_context_iteration (NULL, FALSE) ? 0 : n_idle + 1;
      n_written += (gsize)MAX (n, 0);
    }
  g_assert_cmpuint (n_written, <, LARGE);
  return n_written;
}

/* The relay has not finished before a tool that reads late has what had come from the library. */
static void
test_late_reader (Fixture *fixture, gconstpointer data)
{
  gsize n_written = fill (fixture);
  gsize n_there = (gsize)g_socket_get_available_bytes (g_socket_connection_get_socket (fixture->tool));
  GThread *reader;
  gsize n_read;

  g_assert_false (dvmd_pmix_relay_finish (fixture->relay, on_finished, fixture));
  for (guint i = 0; i < 1000; i++)
    g_main_context_iteration (NULL, FALSE);
  g_assert_false (fixture->finished);
  reader = g_thread_new ("tool", read_to_end, fixture->tool);
  while (!fixture->finished)
    g_main_context_iteration (NULL, TRUE);
  g_clear_pointer (&fixture->relay, dvmd_pmix_relay_free);
  n_read = GPOINTER_TO_SIZE (g_thread_join (reader));
  g_assert_cmpuint (n_read, >, n_there);
  g_assert_cmpuint (n_read, <=, n_written);
}

/* A tool that has gone is not waited for. */
static void
test_gone (Fixture *fixture, gconstpointer data)
{
  g_io_stream_close (G_IO_STREAM (fixture->tool), NULL, NULL);
  g_io_stream_close (G_IO_STREAM (fixture->library), NULL, NULL);
  if (!dvmd_pmix_relay_finish (fixture->relay, on_finished, fixture))
    while (!fixture->finished)
      g_main_context_iteration (NULL, TRUE);
  g_clear_pointer (&fixture->relay, dvmd_pmix_relay_free);
}

static void
test_none (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdPmixRelay) relay = dvmd_pmix_relay_new (1, &error);

  g_assert_no_error (error);
  g_assert_true (dvmd_pmix_relay_finish (relay, on_finished, NULL));
}

typedef struct
{
  gint thread; /* 0: not known yet */
  gint may_sleep;
  GMutex mutex; /* held: the thread sleeps */
} Library;

static gpointer
run_library (gpointer data)
{
  Library *library = data;

  g_atomic_int_set (&library->thread, gettid ());
  while (!g_atomic_int_get (&library->may_sleep))
    ;
  g_mutex_lock (&library->mutex);
  g_mutex_unlock (&library->mutex);
  return NULL;
}

/* A thread that has something to do is seen as such, and one that waits, too. */
static void
test_asleep (void)
{
  Library library = { 0 };
  GThread *thread;

  g_mutex_init (&library.mutex);
  g_mutex_lock (&library.mutex);
  thread = g_thread_new ("library", run_library, &library);
  while (g_atomic_int_get (&library.thread) == 0)
    g_thread_yield ();
  for (guint i = 0; i < 1000; i++)
    g_assert_false (dvmd_pmix_thread_is_asleep (library.thread));
  g_atomic_int_set (&library.may_sleep, TRUE);
  while (!dvmd_pmix_thread_is_asleep (library.thread))
    g_thread_yield ();
  g_mutex_unlock (&library.mutex);
  g_thread_join (thread);
  g_mutex_clear (&library.mutex);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/pmix-stop/relay/last-word", Fixture, NULL, set_up, test_last_word, tear_down);
  g_test_add ("/pmix-stop/relay/late-reader", Fixture, NULL, set_up, test_late_reader, tear_down);
  g_test_add ("/pmix-stop/relay/gone", Fixture, NULL, set_up, test_gone, tear_down);
  g_test_add_func ("/pmix-stop/relay/none", test_none);
  g_test_add_func ("/pmix-stop/asleep", test_asleep);
  return g_test_run ();
}
