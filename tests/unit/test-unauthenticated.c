/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who comes to a listener and is no daemon of ours, or does not behave as one: connections by hand, and many at once.
 */

#include "config.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-hello-io.h"
#include "dvmd-transport-error.h"
#include "transport-fixture.h"

static void
set_up (TestHost *host, gconstpointer data)
{
  test_host_init (host);
}

static void
tear_down (TestHost *host, gconstpointer data)
{
  test_host_clear (host);
}

/* ---- connections by hand ---- */

static int
dial (TestHost *host)
{
  g_autoptr (GSocketAddress) address = NULL;
  g_autofree char *name = NULL;
  struct sockaddr_storage native;
  guint16 port;
  int fd;

  g_assert_true (dvmd_address_parse (dvmd_listener_get_addresses (host->listener)[0], &address, &name, &port, NULL));
  g_assert_true (g_socket_address_to_native (address, &native, sizeof native, NULL));
  fd = socket (native.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (connect (fd, (struct sockaddr *)&native, (socklen_t)g_socket_address_get_native_size (address)), ==,
                   0);
  return fd;
}

static DvmdHello *
hear (DvmdHelloIo *io, GBytes **bytes, GError **error)
{
  g_autoptr (GError) failure = NULL;
  DvmdHello *hello = NULL;

  wait_until ((hello = dvmd_hello_io_receive (io, bytes, &failure)) != NULL || failure != NULL);
  if (failure != NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  return hello;
}

static void
call (TestHost *host, DvmdHelloIo *io, GBytes **greeting)
{
  g_autoptr (DvmdHello) hello = NULL;

  dvmd_hello_io_init (io, dvmd_socket_new (dial (host), "test"));
  hello = hear (io, greeting, NULL);
  g_assert_cmpint (hello->type, ==, DVMD_HELLO_GREETING);
}

static DvmdHello *
make_join (DvmdIdentity *identity, const DvmdToken *token, GBytes *greeting, const char *version)
{
  DvmdHello *hello = dvmd_hello_new (DVMD_HELLO_JOIN);

  dvmd_hello_set_text (hello, DVMD_HELLO_VERSION, version);
  dvmd_hello_set_nonce (hello);
  dvmd_hello_set_number (hello, DVMD_HELLO_RANK, 4, token->rank);
  dvmd_hello_set_number (hello, DVMD_HELLO_TOKEN, 8, token->launch);
  dvmd_hello_set_text (hello, DVMD_HELLO_NAME, "node");
  dvmd_hello_set_bytes (hello, DVMD_HELLO_PUBLIC_KEY, dvmd_identity_get_public_key (identity));
  dvmd_hello_prove (hello, token->key, greeting, NULL);
  return hello;
}

/* Says what somebody might have recorded, or made; the answer must be a refusal. */
static void
check_answer (TestHost *host, DvmdHelloIo *io, const DvmdHello *hello, guint code)
{
  g_autoptr (GBytes) said = dvmd_hello_io_send (io, hello);
  g_autoptr (DvmdHello) answer = NULL;

  g_assert_true (dvmd_hello_io_flush (io, NULL));
  answer = hear (io, NULL, NULL);
  g_assert_cmpint (answer->type, ==, DVMD_HELLO_REFUSE);
  g_assert_cmpuint (dvmd_hello_get_number (answer, DVMD_HELLO_CODE), ==, code);
  dvmd_hello_io_clear (io);
}

static void
test_replay (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  g_autoptr (GBytes) greeting = NULL;
  g_autoptr (GBytes) other_greeting = NULL;
  g_autoptr (DvmdHello) recorded = NULL;
  g_autoptr (DvmdHello) other_version = NULL;
  DvmdHelloIo io;
  DvmdToken secret;
  DvmdToken token;

  test_host_listen (host, "tcp");
  test_host_add_tokens (host, 1, 1, &secret);
  dvmd_token_derive (&secret, 1, &token);
  call (host, &io, &greeting);
  recorded = make_join (identity, &token, greeting, DVM_VERSION_STRING);
  dvmd_hello_io_clear (&io);
  call (host, &io, &other_greeting);
  check_answer (host, &io, recorded, DVMD_TRANSPORT_ERROR_AUTHENTICATION);
  g_clear_pointer (&greeting, g_bytes_unref);
  call (host, &io, &greeting);
  other_version = make_join (identity, &token, greeting, "9.8.7");
  check_answer (host, &io, other_version, DVMD_TRANSPORT_ERROR_VERSION);
  g_assert_cmpuint (host->n_joined, ==, 0);
}

/* A member that says it is another, with a certificate that says who it is. */
static void
say_link (TestHost *host, DvmdHelloIo *io, guint32 rank)
{
  g_autoptr (GBytes) greeting = NULL;
  g_autoptr (DvmdHello) hello = dvmd_hello_new (DVMD_HELLO_LINK);
  g_autoptr (DvmdHello) answer = NULL;
  g_autoptr (GBytes) said = NULL;

  call (host, io, &greeting);
  dvmd_hello_set_text (hello, DVMD_HELLO_VERSION, DVM_VERSION_STRING);
  dvmd_hello_set_text (hello, DVMD_HELLO_INSTANCE, "test-dvm");
  dvmd_hello_set_nonce (hello);
  dvmd_hello_set_number (hello, DVMD_HELLO_RANK, 4, rank);
  dvmd_hello_set_text (hello, DVMD_HELLO_NAME, "node");
  dvmd_hello_prove (hello, dvmd_identity_get_link_key (host->identity), greeting, NULL);
  said = dvmd_hello_io_send (io, hello);
  g_assert_true (dvmd_hello_io_flush (io, NULL));
  answer = hear (io, NULL, NULL);
  g_assert_cmpint (answer->type, ==, DVMD_HELLO_ACCEPT_LINK);
}

static void
test_claim_of_rank (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) five = test_identity_new (host->authority, 5);
  g_autoptr (DvmdHello) answer = NULL;
  DvmdHelloIo io;
  guint32 rank;
  int status;

  test_host_listen (host, "tcp");
  say_link (host, &io, 6);
  g_assert_true (dvmd_socket_start_tls (io.stream, five, FALSE, NULL));
  wait_until ((status = dvmd_socket_handshake (io.stream, &rank, NULL)) != DVMD_STREAM_AGAIN);
  g_assert_cmpint (status, ==, 1);
  answer = hear (&io, NULL, NULL);
  g_assert_cmpint (answer->type, ==, DVMD_HELLO_REFUSE);
  dvmd_hello_io_clear (&io);
  wait_until (dvmd_listener_get_n_refused (host->listener) == 1);
  g_assert_cmpuint (host->n_joined, ==, 0);
}

static void
test_no_certificate (TestHost *host, gconstpointer data)
{
  gnutls_certificate_credentials_t credentials;
  gnutls_session_t session;
  DvmdHelloIo io;
  char byte;
  int status;

  test_host_listen (host, "tcp");
  say_link (host, &io, 6);
  gnutls_certificate_allocate_credentials (&credentials);
  gnutls_init (&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
  gnutls_set_default_priority (session);
  gnutls_credentials_set (session, GNUTLS_CRD_CERTIFICATE, credentials);
  gnutls_transport_set_int (session, dvmd_socket_get_fd (io.stream));
  wait_until ((status = gnutls_handshake (session)) != GNUTLS_E_AGAIN && status != GNUTLS_E_INTERRUPTED);
  wait_until ((status = (int)gnutls_record_recv (session, &byte, 1)) != GNUTLS_E_AGAIN);
  g_assert_cmpint (status, <, 0);
  wait_until (dvmd_listener_get_n_refused (host->listener) == 1);
  g_assert_cmpuint (host->n_joined, ==, 0);
  gnutls_deinit (session);
  gnutls_certificate_free_credentials (credentials);
  dvmd_hello_io_clear (&io);
}

static void
wait_for_end (int fd)
{
  char data[4096];
  gssize n;

  wait_until ((n = recv (fd, data, sizeof data, MSG_DONTWAIT)) == 0 || (n < 0 && errno != EAGAIN));
  close (fd);
}

static void
test_garbage (TestHost *host, gconstpointer data)
{
  const char *const texts[] = { "GET / HTTP/1.1\r\n\r\n", "\026\003\001\002\000\001\000", "dvmhello garbage garbage",
                                "x" };

  test_host_listen (host, "tcp");
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      int fd = dial (host);

      g_assert_cmpint (send (fd, texts[i], strlen (texts[i]), MSG_NOSIGNAL), >, 0);
      shutdown (fd, SHUT_WR);
      wait_for_end (fd);
      wait_until (dvmd_listener_get_n_refused (host->listener) == i + 1);
    }
  g_assert_cmpuint (dvmd_listener_get_n_unauthenticated (host->listener), ==, 0);
}

static void
test_openssl (TestHost *host, gconstpointer data)
{
  g_autofree char *program = g_find_program_in_path ("openssl");
  g_autoptr (GSubprocess) process = NULL;
  const char *address;

  if (program == NULL)
    {
      g_test_skip ("there is no openssl");
      return;
    }
  test_host_listen (host, "tcp");
  address = dvmd_listener_get_addresses (host->listener)[0] + strlen ("tcp:");
  process = g_subprocess_new (G_SUBPROCESS_FLAGS_STDOUT_SILENCE | G_SUBPROCESS_FLAGS_STDERR_SILENCE, NULL, program,
                              "s_client", "-connect", address, NULL);
  g_assert_nonnull (process);
  wait_until (dvmd_listener_get_n_refused (host->listener) == 1);
  g_assert_true (g_subprocess_wait (process, NULL, NULL));
  g_assert_cmpint (g_subprocess_get_exit_status (process), !=, 0);
  g_assert_cmpuint (host->n_joined, ==, 0);
}

static void
test_silent (TestHost *host, gconstpointer data)
{
  int fd;

  host->options.deadline = 50 * G_TIME_SPAN_MILLISECOND;
  test_host_listen (host, "tcp");
  fd = dial (host);
  wait_for_end (fd);
  g_assert_cmpuint (dvmd_listener_get_n_refused (host->listener), ==, 1);
  g_assert_cmpuint (dvmd_listener_get_n_unauthenticated (host->listener), ==, 0);
}

/* ---- many ---- */

/* Others than sockets come and go with GLib's own threads. */
static guint
count_sockets (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  const char *name;
  guint n = 0;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/proc/self/fd", name, NULL);
      g_autofree char *target = g_file_read_link (path, NULL);

      if (target != NULL && g_str_has_prefix (target, "socket:"))
        n++;
    }
  return n;
}

static void
test_half_open (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  g_autoptr (GArray) fds = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (DvmdWire) wire = NULL;
  struct rlimit limit;
  guint n_before;
  guint n;
  gint64 begin;

  getrlimit (RLIMIT_NOFILE, &limit);
  n = (guint)MIN (1000, limit.rlim_cur > 400 ? (limit.rlim_cur - 200) : 100);
  test_host_listen (host, "tcp");
  n_before = count_sockets ();
  for (guint i = 0; i < n; i++)
    {
      int fd = dial (host);

      g_array_append_val (fds, fd);
      if (i % 16 == 0)
        g_main_context_iteration (NULL, FALSE);
    }
  begin = g_get_monotonic_time ();
  wire = test_host_join (host, identity, 7);
  g_test_message ("joined beside %u half-open connections in %.1f ms", n,
                  (double)(g_get_monotonic_time () - begin) / 1000);
  g_assert_cmpuint (dvmd_listener_get_n_unauthenticated (host->listener), <=, 64);
  for (guint i = 0; i < n; i++)
    close (g_array_index (fds, int, i));
  wait_until (dvmd_listener_get_n_unauthenticated (host->listener) == 0);
  g_clear_object (&wire);
  g_clear_object (&host->wire);
  g_assert_cmpuint (count_sockets (), ==, n_before);
}

/* As many as were sent for may come at once: they are no strangers, though they have not said who they are. */
static void
test_crowd (TestHost *host, gconstpointer data)
{
  DvmdToken secret;
  int fds[38];

  host->options.max_unauthenticated = 4;
  test_host_listen (host, "tcp");
  test_host_add_tokens (host, 1, 32, &secret);
  for (guint i = 0; i < 36; i++)
    fds[i] = dial (host);
  wait_until (dvmd_listener_get_n_unauthenticated (host->listener) == 36);
  g_assert_cmpuint (dvmd_listener_get_n_refused (host->listener), ==, 0);
  for (guint i = 36; i < G_N_ELEMENTS (fds); i++)
    fds[i] = dial (host);
  wait_until (dvmd_listener_get_n_refused (host->listener) == 2);
  g_assert_cmpuint (dvmd_listener_get_n_unauthenticated (host->listener), ==, 36);
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    close (fds[i]);
}

typedef struct
{
  TestHost *host;
  int fds[200];
  guint n;
} Flood;

static gboolean
on_flood (gpointer user_data)
{
  Flood *flood = user_data;

  for (guint i = 0; i < 10; i++)
    {
      int *place = &flood->fds[flood->n++ % G_N_ELEMENTS (flood->fds)];

      if (*place >= 0)
        close (*place);
      *place = dial (flood->host);
    }
  return G_SOURCE_CONTINUE;
}

/* New ones all the time, more than there is room for. */
static void
test_flood (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  g_autoptr (DvmdWire) wire = NULL;
  Flood flood = { host, { 0 }, 0 };
  guint timer;
  gint64 begin;

  for (guint i = 0; i < G_N_ELEMENTS (flood.fds); i++)
    flood.fds[i] = -1;
  test_host_listen (host, "tcp");
  timer = g_timeout_add (1, on_flood, &flood);
  wait_until (dvmd_listener_get_n_refused (host->listener) > 100);
  begin = g_get_monotonic_time ();
  wire = test_host_join (host, identity, 7);
  g_test_message ("joined in a flood after %.1f ms, %u strangers", (double)(g_get_monotonic_time () - begin) / 1000,
                  flood.n);
  g_source_remove (timer);
  for (guint i = 0; i < G_N_ELEMENTS (flood.fds); i++)
    if (flood.fds[i] >= 0)
      close (flood.fds[i]);
}

/* The table of descriptors is full: strangers go, nobody hangs, and later all is as before. */
static void
test_no_descriptors (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  g_autoptr (DvmdWire) wire = NULL;
  struct rlimit limit;
  struct rlimit small;
  int fds[20];

  test_host_listen (host, "tcp");
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    fds[i] = dial (host);
  getrlimit (RLIMIT_NOFILE, &limit);
  small = limit;
  small.rlim_cur = (rlim_t)fds[G_N_ELEMENTS (fds) - 1] + 3;
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &small), ==, 0);
  wait_until (dvmd_listener_get_n_refused (host->listener) >= 5);
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    close (fds[i]);
  wire = test_host_join (host, identity, 7);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

#define ADD(path, func) g_test_add ("/unauthenticated/" path, TestHost, NULL, set_up, func, tear_down)
  ADD ("replay", test_replay);
  ADD ("claim-of-rank", test_claim_of_rank);
  ADD ("no-certificate", test_no_certificate);
  ADD ("garbage", test_garbage);
  ADD ("openssl", test_openssl);
  ADD ("silent", test_silent);
  ADD ("half-open", test_half_open);
  ADD ("crowd", test_crowd);
  ADD ("flood", test_flood);
  ADD ("no-descriptors", test_no_descriptors);
  return g_test_run ();
}
