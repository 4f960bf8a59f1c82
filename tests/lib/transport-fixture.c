/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <string.h>
#include <sys/socket.h>

#include "transport-fixture.h"

const GVariantType *
test_body_type (DvmdPacketType type, guint16 kind)
{
  if (type == DVMD_PACKET_ACK)
    return G_VARIANT_TYPE_UNIT;
  if (type != DVMD_PACKET_MESSAGE)
    return NULL;
  switch (kind)
    {
    case TEST_KIND_TEXT:
      return G_VARIANT_TYPE ("(s)");
    case TEST_KIND_BYTES:
      return G_VARIANT_TYPE ("(ay)");
    case TEST_KIND_EMPTY:
      return G_VARIANT_TYPE_UNIT;
    default:
      return NULL;
    }
}

DvmdPacket *
test_packet_text (const char *text)
{
  return dvmd_packet_new (DVMD_PACKET_MESSAGE, 1, 0, TEST_KIND_TEXT, g_variant_new ("(s)", text));
}

DvmdPacket *
test_packet_bytes (gsize size)
{
  g_autofree guint8 *data = g_malloc (size);
  GVariant *bytes;

  for (gsize i = 0; i < size; i++)
    data[i] = (guint8)(i * 31);
  bytes = g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, data, size, 1);
  return dvmd_packet_new (DVMD_PACKET_MESSAGE, 1, 0, TEST_KIND_BYTES, g_variant_new_tuple (&bytes, 1));
}

/* ---- a listener ---- */

static void
on_joined (DvmdListener *listener, DvmdWire *wire, guint rank, const char *name, guint kind, gpointer user_data)
{
  TestHost *host = user_data;

  g_set_object (&host->wire, wire);
  host->rank = rank;
  g_free (host->name);
  host->name = g_strdup (name);
  host->kind = kind;
  host->n_joined++;
}

DvmdIdentity *
test_identity_new (DvmdAuthority *authority, guint32 rank)
{
  DvmdIdentity *identity = dvmd_identity_new_local ();
  guint8 link_key[DVMD_LINK_KEY_SIZE];
  GError *error = NULL;

  memset (link_key, 7, sizeof link_key);
  dvmd_authority_certify (authority, identity, rank, &error);
  g_assert_no_error (error);
  dvmd_identity_set_link_key (identity, link_key);
  return identity;
}

void
test_host_init (TestHost *host)
{
  GError *error = NULL;

  *host = (TestHost){ 0 };
  host->clock = dvmd_clock_new_real (NULL);
  host->authority = dvmd_authority_new ("test-dvm", &error);
  g_assert_no_error (error);
  host->identity = test_identity_new (host->authority, 0);
  host->tokens = dvmd_tokens_new (host->clock);
  host->options.identity = host->identity;
  host->options.authority = host->authority;
  host->options.tokens = host->tokens;
  host->options.deadline = 30 * G_TIME_SPAN_SECOND;
  host->options.wire.clock = host->clock;
  host->options.wire.body_type = test_body_type;
}

void
test_host_listen (TestHost *host, const char *where)
{
  DvmdTcpOptions tcp = { (char *)"127.0.0.1", DVMD_FAMILY_ANY, 0, 0 };
  GError *error = NULL;

  host->listener = dvmd_listener_new (&host->options);
  g_signal_connect (host->listener, "joined", G_CALLBACK (on_joined), host);
  if (g_strcmp0 (where, "tcp") == 0)
    dvmd_listener_add_tcp (host->listener, &tcp, &error);
  else
    dvmd_listener_add_unix (host->listener, where, &error);
  g_assert_no_error (error);
}

void
test_host_clear (TestHost *host)
{
  g_clear_object (&host->wire);
  if (host->listener != NULL)
    g_assert_finalize_object (g_steal_pointer (&host->listener));
  g_clear_pointer (&host->name, g_free);
  g_clear_pointer (&host->tokens, dvmd_tokens_free);
  g_clear_pointer (&host->identity, dvmd_identity_unref);
  g_clear_pointer (&host->authority, dvmd_authority_unref);
  g_clear_pointer (&host->clock, dvmd_clock_unref);
}

/* ---- those who come ---- */

static void
on_connected (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_set_object ((GAsyncResult **)user_data, result);
}

DvmdWire *
test_connect_full (const char *const *addresses, const DvmdConnectOptions *options, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  dvmd_connect_async (addresses, options, NULL, on_connected, &result);
  wait_until (result != NULL);
  return dvmd_connect_finish (result, error);
}

void
test_connect_options (TestHost *host, DvmdIdentity *identity, const DvmdToken *token, DvmdConnectOptions *options)
{
  *options = (DvmdConnectOptions){ 0 };
  options->identity = identity;
  options->token = token;
  options->rank = DVMD_RANK_ANY;
  options->name = "node-a";
  options->timeout = 40 * G_TIME_SPAN_SECOND;
  options->wire.clock = host->clock;
  options->wire.body_type = test_body_type;
}

DvmdWire *
test_connect (TestHost *host, DvmdIdentity *identity, const DvmdToken *token, GError **error)
{
  DvmdConnectOptions options;

  test_connect_options (host, identity, token, &options);
  return test_connect_full (dvmd_listener_get_addresses (host->listener), &options, error);
}

void
test_host_add_tokens (TestHost *host, guint32 first, guint32 last, DvmdToken *secret)
{
  g_autoptr (GArray) ranks = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint32 rank = first; rank <= last; rank++)
    g_array_append_val (ranks, rank);
  dvmd_tokens_add (host->tokens, (guint32 *)(gpointer)ranks->data, ranks->len, 10 * G_TIME_SPAN_MINUTE, secret);
}

DvmdWire *
test_host_join (TestHost *host, DvmdIdentity *identity, guint32 rank)
{
  DvmdToken secret;
  DvmdToken token;
  GError *error = NULL;
  DvmdWire *wire;

  test_host_add_tokens (host, rank, rank, &secret);
  dvmd_token_derive (&secret, rank, &token);
  wire = test_connect (host, identity, &token, &error);
  g_assert_no_error (error);
  return wire;
}

/* ---- wires ---- */

static void
on_packet (DvmdWire *wire, DvmdPacket *packet, gpointer user_data)
{
  TestEar *ear = user_data;

  g_ptr_array_add (ear->packets, dvmd_packet_ref (packet));
}

static void
on_drained (DvmdWire *wire, gpointer user_data)
{
  ((TestEar *)user_data)->n_drained++;
}

static void
on_closed (DvmdWire *wire, const GError *error, gpointer user_data)
{
  TestEar *ear = user_data;

  g_assert_false (ear->is_closed);
  ear->is_closed = TRUE;
  ear->error = error != NULL ? g_error_copy (error) : NULL;
}

void
test_ear_init (TestEar *ear, DvmdWire *wire)
{
  *ear = (TestEar){ 0 };
  ear->wire = g_object_ref (wire);
  ear->packets = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_packet_unref);
  g_signal_connect (wire, "packet", G_CALLBACK (on_packet), ear);
  g_signal_connect (wire, "drained", G_CALLBACK (on_drained), ear);
  g_signal_connect (wire, "closed", G_CALLBACK (on_closed), ear);
  dvmd_wire_start (wire);
}

void
test_ear_clear (TestEar *ear)
{
  g_signal_handlers_disconnect_by_data (ear->wire, ear);
  g_clear_object (&ear->wire);
  g_clear_pointer (&ear->packets, g_ptr_array_unref);
  g_clear_error (&ear->error);
}

void
test_wire_pair (const DvmdWireOptions *options, DvmdWire **one, DvmdWire **other)
{
  int fds[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  *one = dvmd_wire_new (dvmd_socket_new (fds[0], "one"), 1, options);
  *other = dvmd_wire_new (dvmd_socket_new (fds[1], "other"), 2, options);
}
