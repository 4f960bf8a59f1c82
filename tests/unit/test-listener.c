/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Joining and linking over real sockets: the right ways, and daemons that must stay outside.
 */

#include "config.h"

#include <string.h>

#include <glib/gstdio.h>

#include <dvm.h>

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

static void
check_talk (DvmdWire *one, DvmdWire *other)
{
  g_autoptr (DvmdPacket) packet = test_packet_text ("hello there");
  TestEar one_ear;
  TestEar other_ear;

  test_ear_init (&one_ear, one);
  test_ear_init (&other_ear, other);
  for (guint i = 0; i < 100; i++)
    {
      g_assert_true (dvmd_wire_send (one, packet, DVMD_WIRE_CONTROL, NULL));
      g_assert_true (dvmd_wire_send (other, packet, DVMD_WIRE_BULK, NULL));
    }
  wait_until (one_ear.packets->len == 100 && other_ear.packets->len == 100);
  dvmd_wire_close (one);
  wait_until (one_ear.is_closed && other_ear.is_closed);
  g_assert_no_error (one_ear.error);
  g_assert_error (other_ear.error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_CLOSED);
  test_ear_clear (&one_ear);
  test_ear_clear (&other_ear);
}

static void
check_join_and_link (TestHost *host, DvmdIdentity *identity, gboolean encrypted)
{
  g_autoptr (DvmdWire) wire = test_host_join (host, identity, 7);
  g_autoptr (DvmdWire) link = NULL;
  GError *error = NULL;

  wait_until (host->n_joined == 1);
  g_assert_cmpuint (host->rank, ==, 7);
  g_assert_cmpstr (host->name, ==, "node-a");
  g_assert_cmpuint (host->kind, ==, DVMD_PEER_JOINER);
  g_assert_cmpuint (dvmd_wire_get_rank (wire), ==, 0);
  g_assert_true (dvmd_wire_is_encrypted (wire) == encrypted);
  g_assert_true (dvmd_wire_is_encrypted (host->wire) == encrypted);
  g_assert_true (dvmd_identity_is_member (identity));
  g_assert_cmpuint (dvmd_identity_get_rank (identity), ==, 7);
  check_talk (wire, host->wire);

  link = test_connect (host, identity, NULL, &error);
  g_assert_no_error (error);
  wait_until (host->n_joined == 2);
  g_assert_cmpuint (host->rank, ==, 7);
  g_assert_cmpuint (host->kind, ==, DVMD_PEER_MEMBER);
  check_talk (link, host->wire);
}

static void
test_tcp (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);

  test_host_listen (host, "tcp");
  check_join_and_link (host, identity, TRUE);
}

static void
test_unix (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  g_autofree char *directory = g_dir_make_tmp ("test-listener-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "socket", NULL);

  test_host_listen (host, path);
  check_join_and_link (host, identity, FALSE);
  g_assert_finalize_object (g_steal_pointer (&host->listener));
  g_assert_cmpint (g_rmdir (directory), ==, 0);
}

/* All on one machine: nobody has a certificate, until others are to come. */
static void
test_local (TestHost *host, gconstpointer data)
{
  g_autofree char *directory = g_dir_make_tmp ("test-listener-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "socket", NULL);
  g_autoptr (DvmdIdentity) root = dvmd_identity_new_local ();
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new_local ();
  g_autoptr (DvmdIdentity) other = dvmd_identity_new (NULL);
  g_autoptr (DvmdWire) wire = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_false (dvmd_identity_has_key (identity));
  dvmd_identity_set_name (root, "test-dvm", 0);
  dvmd_identity_set_link_key (root, dvmd_identity_get_link_key (host->identity));
  host->options.identity = root;
  host->options.authority = NULL;
  test_host_listen (host, path);
  check_join_and_link (host, identity, FALSE);
  g_assert_cmpstr (dvmd_identity_get_instance (identity), ==, "test-dvm");
  dvmd_authority_certify (host->authority, root, 0, &error);
  g_assert_no_error (error);
  dvmd_listener_set_authority (host->listener, host->authority);
  wire = test_host_join (host, other, 8);
  wait_until (host->n_joined == 3);
  g_clear_object (&wire);
  g_assert_finalize_object (g_steal_pointer (&host->listener));
  g_assert_cmpint (g_rmdir (directory), ==, 0);
}

static void
test_without_tls (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);

  host->options.without_tls = TRUE;
  g_test_expect_message ("dvmd-listener", G_LOG_LEVEL_MESSAGE, "security=none: links are not encrypted*");
  test_host_listen (host, "tcp");
  g_test_assert_expected_messages ();
  check_join_and_link (host, identity, FALSE);
}

/* One secret for all: some know their rank, some do not. */
static void
test_secret (TestHost *host, gconstpointer data)
{
  DvmdToken secret;

  test_host_listen (host, "tcp");
  test_host_add_tokens (host, 1, 3, &secret);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
      g_autoptr (DvmdWire) wire = NULL;
      DvmdConnectOptions options;
      GError *error = NULL;

      test_connect_options (host, identity, &secret, &options);
      options.rank = i == 0 ? 2 : DVMD_RANK_ANY;
      wire = test_connect_full (dvmd_listener_get_addresses (host->listener), &options, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (dvmd_identity_get_rank (identity), ==, i == 0 ? 2 : i == 1 ? 1 : 3);
    }
  wait_until (host->n_joined == 3);
}

/* ---- who is refused ---- */

static void
check_refused (TestHost *host, DvmdIdentity *identity, const DvmdToken *token, int code, const char *sentence)
{
  guint n_joined = host->n_joined;
  guint64 n_refused = dvmd_listener_get_n_refused (host->listener);
  g_autoptr (GError) error = NULL;
  DvmdWire *wire = test_connect (host, identity, token, &error);

  g_assert_null (wire);
  g_assert_error (error, DVMD_TRANSPORT_ERROR, code);
  g_assert_nonnull (strstr (error->message, sentence));
  wait_until (dvmd_listener_get_n_refused (host->listener) > n_refused);
  g_assert_cmpuint (host->n_joined, ==, n_joined);
}

static void
test_tokens (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) one = dvmd_identity_new (NULL);
  g_autoptr (DvmdIdentity) other = dvmd_identity_new (NULL);
  DvmdToken secret;
  DvmdToken token;
  DvmdToken wrong;
  DvmdWire *wire;
  int code = DVMD_TRANSPORT_ERROR_AUTHENTICATION;

  test_host_listen (host, "tcp");
  test_host_add_tokens (host, 1, 2, &secret);
  dvmd_token_derive (&secret, 1, &token);
  wrong = token;
  wrong.key[3] ^= 1;
  check_refused (host, other, &wrong, code, "none of this DVM's, or not that of the rank");
  wrong = token;
  wrong.launch++;
  check_refused (host, other, &wrong, code, "none of this DVM's, or not that of the rank");
  /* The claim of another's rank. */
  wrong = token;
  wrong.rank = 2;
  check_refused (host, other, &wrong, code, "none of this DVM's, or not that of the rank");
  wire = test_connect (host, one, &token, NULL);
  g_assert_nonnull (wire);
  /* The token, once more. */
  check_refused (host, other, &token, code, "The token was used before");
  g_object_unref (wire);
  dvmd_token_derive (&secret, 2, &token);
  dvmd_tokens_remove (host->tokens, secret.launch);
  check_refused (host, other, &token, code, "none of this DVM's");
}

static void
test_rogue_member (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdAuthority) rogue = dvmd_authority_new ("test-dvm", NULL);
  g_autoptr (DvmdIdentity) identity = test_identity_new (rogue, 5);
  const guint8 other_key[DVMD_LINK_KEY_SIZE] = { 0 };

  dvmd_identity_set_link_key (identity, other_key);
  test_host_listen (host, "tcp");
  check_refused (host, identity, NULL, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "no member of this DVM");
  /* Somebody has told it the key of all members: there is still its certificate. */
  dvmd_identity_set_link_key (identity, dvmd_identity_get_link_key (host->identity));
  check_refused (host, identity, NULL, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "not made by the authority of this DVM");
}

static gboolean
knows (guint32 rank, gpointer user_data)
{
  return rank != GPOINTER_TO_UINT (user_data);
}

static void
test_expelled (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) five = test_identity_new (host->authority, 5);
  g_autoptr (DvmdIdentity) six = test_identity_new (host->authority, 6);
  g_autoptr (DvmdWire) wire = NULL;

  host->options.knows = knows;
  host->options.knows_data = GUINT_TO_POINTER (5);
  test_host_listen (host, "tcp");
  check_refused (host, five, NULL, DVMD_TRANSPORT_ERROR_REFUSED, "Rank 5 is no member of this DVM any more");
  wire = test_connect (host, six, NULL, NULL);
  g_assert_nonnull (wire);
}

/* An agent lets members come, and nobody join. */
static void
test_not_the_controller (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) agent = test_identity_new (host->authority, 5);
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  DvmdToken secret;
  DvmdToken token;

  test_host_add_tokens (host, 1, 1, &secret);
  dvmd_token_derive (&secret, 1, &token);
  host->options.authority = NULL;
  host->options.tokens = NULL;
  test_host_listen (host, "tcp");
  check_refused (host, identity, &token, DVMD_TRANSPORT_ERROR_REFUSED, "Rank 0 lets nobody join");
}

/* Of one machine alone, and where there are others. */
static void
test_without_key (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) with_key = dvmd_identity_new (NULL);
  g_autoptr (DvmdIdentity) without = dvmd_identity_new_local ();
  g_autoptr (GError) error = NULL;
  DvmdToken secret;
  DvmdToken token;

  test_host_add_tokens (host, 1, 1, &secret);
  dvmd_token_derive (&secret, 1, &token);
  test_host_listen (host, "tcp");
  g_assert_null (test_connect (host, without, &token, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION);
  g_assert_nonnull (strstr (error->message, "it wants a certificate, and this daemon has none"));
  g_clear_object (&host->listener);
  host->options.authority = NULL;
  host->options.without_tls = TRUE;
  g_test_expect_message ("dvmd-listener", G_LOG_LEVEL_MESSAGE, "security=none: links are not encrypted*");
  test_host_listen (host, "tcp");
  g_test_assert_expected_messages ();
  check_refused (host, without, &token, DVMD_TRANSPORT_ERROR_REFUSED, "needs a key for a certificate");
  check_refused (host, with_key, &token, DVMD_TRANSPORT_ERROR_REFUSED, "This DVM has no certificates");
}

static void
test_wrong_daemon (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  g_autoptr (GError) rank_error = NULL;
  g_autoptr (GError) error = NULL;
  DvmdToken secret;
  DvmdConnectOptions options;

  test_host_listen (host, "tcp");
  test_host_add_tokens (host, 1, 1, &secret);
  test_connect_options (host, identity, &secret, &options);
  options.rank = 1;
  options.peer_rank = 3;
  g_assert_null (test_connect_full (dvmd_listener_get_addresses (host->listener), &options, &rank_error));
  g_assert_error (rank_error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION);
  g_assert_nonnull (strstr (rank_error->message, "rank 0 answers instead of rank 3"));
  options.peer_rank = 0;
  options.instance = "another";
  g_assert_null (test_connect_full (dvmd_listener_get_addresses (host->listener), &options, &error));
  g_assert_nonnull (strstr (error->message, "another DVM answers"));
}

static void
test_mixed_version (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  DvmdToken secret;
  DvmdToken token;

  host->options.version = "9.8.7";
  test_host_listen (host, "tcp");
  test_host_add_tokens (host, 1, 1, &secret);
  dvmd_token_derive (&secret, 1, &token);
  check_refused (host, identity, &token, DVMD_TRANSPORT_ERROR_VERSION,
                 "The other end is dvm 9.8.7, and this is dvm " DVM_VERSION_STRING);
}

/* ---- what is on the wire ---- */

typedef struct
{
  GSocketConnection *from;
  GSocketConnection *to;
  GByteArray *record;
  guint8 data[4096];
} Pump;

static void
on_relayed (GObject *object, GAsyncResult *result, gpointer user_data)
{
  Pump *pump = user_data;
  gssize n = g_input_stream_read_finish (G_INPUT_STREAM (object), result, NULL);

  if (n > 0)
    {
      g_byte_array_append (pump->record, pump->data, (guint)n);
      g_output_stream_write_all (g_io_stream_get_output_stream (G_IO_STREAM (pump->to)), pump->data, (gsize)n, NULL,
                                 NULL, NULL);
      g_input_stream_read_async (G_INPUT_STREAM (object), pump->data, sizeof pump->data, 0, NULL, on_relayed, pump);
      return;
    }
  g_socket_shutdown (g_socket_connection_get_socket (pump->to), FALSE, TRUE, NULL);
  g_object_unref (pump->from);
  g_object_unref (pump->to);
  g_free (pump);
}

static void
start_pump (GSocketConnection *from, GSocketConnection *to, GByteArray *record)
{
  Pump *pump = g_new0 (Pump, 1);

  pump->from = g_object_ref (from);
  pump->to = g_object_ref (to);
  pump->record = record;
  g_input_stream_read_async (g_io_stream_get_input_stream (G_IO_STREAM (from)), pump->data, sizeof pump->data, 0, NULL,
                             on_relayed, pump);
}

typedef struct
{
  TestHost *host;
  GByteArray *record;
} Relay;

static gboolean
on_incoming (GSocketService *service, GSocketConnection *connection, GObject *source, gpointer user_data)
{
  Relay *relay = user_data;
  g_autoptr (GSocketConnection) onward = NULL;
  g_autoptr (GSocketClient) client = g_socket_client_new ();

  onward = g_socket_client_connect_to_host (
      client, dvmd_listener_get_addresses (relay->host->listener)[0] + strlen ("tcp:"), 1, NULL, NULL);
  g_assert_nonnull (onward);
  start_pump (connection, onward, relay->record);
  start_pump (onward, connection, relay->record);
  return FALSE;
}

static gboolean
is_in (GByteArray *record, gconstpointer needle, gsize size)
{
  return memmem (record->data, record->len, needle, size) != NULL;
}

static void
check_record (TestHost *host, gboolean readable)
{
  g_autoptr (GByteArray) record = g_byte_array_new ();
  Relay relay = { host, record };
  g_autoptr (GSocketService) service = g_socket_service_new ();
  guint16 port = g_socket_listener_add_any_inet_port (G_SOCKET_LISTENER (service), NULL, NULL);
  g_autofree char *address = g_strdup_printf ("tcp:127.0.0.1:%u", port);
  const char *const addresses[] = { address, NULL };
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  g_autoptr (DvmdWire) wire = NULL;
  DvmdConnectOptions options;
  DvmdToken secret;
  GError *error = NULL;

  g_signal_connect (service, "incoming", G_CALLBACK (on_incoming), &relay);
  test_host_add_tokens (host, 1, 1, &secret);
  test_connect_options (host, identity, &secret, &options);
  options.rank = 1;
  wire = test_connect_full (addresses, &options, &error);
  g_assert_no_error (error);
  wait_until (host->wire != NULL);
  check_talk (wire, host->wire);
  g_socket_service_stop (service);
  g_socket_listener_close (G_SOCKET_LISTENER (service));
  g_assert_true (is_in (record, "dvmhello", 8));
  g_assert_true (is_in (record, "hello there", 11) == readable);
  g_assert_true (is_in (record, dvmd_identity_get_link_key (identity), DVMD_LINK_KEY_SIZE) == readable);
  g_assert_false (is_in (record, secret.key, sizeof secret.key));
  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
}

static void
test_no_plaintext (TestHost *host, gconstpointer data)
{
  test_host_listen (host, "tcp");
  check_record (host, FALSE);
}

/* That the test would see it. */
static void
test_plaintext (TestHost *host, gconstpointer data)
{
  host->options.without_tls = TRUE;
  test_host_listen (host, "tcp");
  check_record (host, TRUE);
}

/* ---- who comes and finds nobody ---- */

static void
check_connect_error (TestHost *host, const char *const *addresses, GQuark domain, int code, const char *sentence)
{
  /* Time is short where it is to pass alone. */
  gboolean passes = domain == DVMD_TRANSPORT_ERROR && code == DVMD_TRANSPORT_ERROR_TIMEOUT;
  g_autoptr (DvmdIdentity) identity = test_identity_new (host->authority, 9);
  g_autoptr (GError) error = NULL;
  DvmdConnectOptions options;

  test_connect_options (host, identity, NULL, &options);
  if (passes)
    options.timeout = 300 * G_TIME_SPAN_MILLISECOND;
  g_assert_null (test_connect_full (addresses, &options, &error));
  g_assert_error (error, domain, code);
  g_assert_nonnull (strstr (error->message, sentence));
}

static void
test_nobody (TestHost *host, gconstpointer data)
{
  const char *const refused[] = { "tcp:127.0.0.1:1", "tcp:[::1]:1", "unix:/nowhere/at/all", NULL };
  const char *const wrong[] = { "tcp:127.0.0.1", NULL };
  g_autoptr (GSocketListener) mute = g_socket_listener_new ();
  guint16 port = g_socket_listener_add_any_inet_port (mute, NULL, NULL);
  g_autofree char *address = g_strdup_printf ("tcp:127.0.0.1:%u", port);
  const char *const silent[] = { address, NULL };

  check_connect_error (host, refused, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_UNREACHABLE, "No link to rank 0: ");
  check_connect_error (host, wrong, DVM_ERROR, DVM_ERROR_BAD_PARAM, "is no address of a daemon");
  check_connect_error (host, silent, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_TIMEOUT, "is there and does not go on");
}

/* The first address is dead, or of somebody who never speaks: the other is used. */
static void
test_next_address (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = test_identity_new (host->authority, 9);
  g_autoptr (GSocketListener) mute = g_socket_listener_new ();
  g_autofree char *address = g_strdup_printf ("tcp:127.0.0.1:%u",
                                              g_socket_listener_add_any_inet_port (mute, NULL, NULL));
  const char *addresses[] = { "tcp:127.0.0.1:1", address, NULL, NULL };
  g_autoptr (DvmdWire) wire = NULL;
  DvmdConnectOptions options;
  GError *error = NULL;

  test_host_listen (host, "tcp");
  addresses[2] = dvmd_listener_get_addresses (host->listener)[0];
  test_connect_options (host, identity, NULL, &options);
  wire = test_connect_full (addresses, &options, &error);
  g_assert_no_error (error);
}

static void
on_connect_over (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_set_object ((GAsyncResult **)user_data, result);
}

static void
test_cancelled (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdIdentity) identity = test_identity_new (host->authority, 9);
  g_autoptr (GSocketListener) mute = g_socket_listener_new ();
  g_autofree char *address = g_strdup_printf ("tcp:127.0.0.1:%u",
                                              g_socket_listener_add_any_inet_port (mute, NULL, NULL));
  const char *const addresses[] = { address, NULL };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  DvmdConnectOptions options;

  test_connect_options (host, identity, NULL, &options);
  dvmd_connect_async (addresses, &options, cancellable, on_connect_over, &result);
  for (guint i = 0; i < 20; i++)
    g_main_context_iteration (NULL, FALSE);
  g_cancellable_cancel (cancellable);
  wait_until (result != NULL);
  g_assert_null (dvmd_connect_finish (result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void
test_settings (TestHost *host, gconstpointer data)
{
  static const struct
  {
    const char *address;
    const char *family;
    const char *ports;
    gboolean right;
    const char *sentence; /* NULL: there are addresses */
  } cases[] = {
    { "", "any", "0", TRUE, NULL },
    { "127.0.0.1", "ipv4", "20000-30000", TRUE, NULL },
    { "lo", "ipv4", "0", TRUE, NULL },
    { "127.0.0.0/8 lo", "any", "0", TRUE, NULL },
    { "192.0.2.77", "any", "0", TRUE, "This machine has no address" },
    { "127.0.0.1", "ipv6", "0", TRUE, "This machine has no address" },
    { "", "ipx", "0", FALSE, "\"ipx\" is no value of listen-family" },
    { "", "any", "5100-5000", FALSE, "is no value of port-range" },
    { "", "any", "0-10", FALSE, "is no value of port-range" },
    { "", "any", "70000", FALSE, "is no value of port-range" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (DvmdTcpOptions) options = { 0 };
      g_autoptr (GPtrArray) addresses = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_true (dvmd_tcp_options_parse (cases[i].address, cases[i].family, cases[i].ports, &options, &error)
                     == cases[i].right);
      if (cases[i].right)
        addresses = dvmd_address_find_local (&options, &error);
      g_assert_true ((addresses != NULL) == (cases[i].sentence == NULL));
      if (cases[i].sentence != NULL)
        g_assert_nonnull (strstr (error->message, cases[i].sentence));
    }
}

/* One port: the second finds it taken; two: it takes the other. */
static void
test_port_range (TestHost *host, gconstpointer data)
{
  g_autoptr (DvmdListener) other = NULL;
  g_autoptr (GError) error = NULL;
  const char *first;
  guint port;
  DvmdTcpOptions tcp = { (char *)"127.0.0.1", DVMD_FAMILY_ANY, 0, 0 };

  test_host_listen (host, "tcp");
  first = dvmd_listener_get_addresses (host->listener)[0];
  port = (guint)g_ascii_strtoull (strrchr (first, ':') + 1, NULL, 10);
  tcp.first_port = tcp.last_port = (guint16)port;
  other = dvmd_listener_new (&host->options);
  g_assert_false (dvmd_listener_add_tcp (other, &tcp, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "No port of port-range="));
  g_assert_null (dvmd_listener_get_addresses (other)[0]);
  /* Others of this machine may have taken some of the next. */
  tcp.last_port = (guint16)MIN (port + 100, G_MAXUINT16);
  if (tcp.last_port == port)
    return;
  g_assert_true (dvmd_listener_add_tcp (other, &tcp, NULL));
  g_assert_cmpstr (dvmd_listener_get_addresses (other)[0], !=, first);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

#define ADD(path, func) g_test_add ("/listener/" path, TestHost, NULL, set_up, func, tear_down)
  ADD ("tcp", test_tcp);
  ADD ("unix", test_unix);
  ADD ("local", test_local);
  ADD ("without-tls", test_without_tls);
  ADD ("secret", test_secret);
  ADD ("tokens", test_tokens);
  ADD ("rogue-member", test_rogue_member);
  ADD ("expelled", test_expelled);
  ADD ("not-the-controller", test_not_the_controller);
  ADD ("without-key", test_without_key);
  ADD ("wrong-daemon", test_wrong_daemon);
  ADD ("mixed-version", test_mixed_version);
  ADD ("no-plaintext", test_no_plaintext);
  ADD ("plaintext", test_plaintext);
  ADD ("nobody", test_nobody);
  ADD ("next-address", test_next_address);
  ADD ("cancelled", test_cancelled);
  ADD ("settings", test_settings);
  ADD ("port-range", test_port_range);
  return g_test_run ();
}
