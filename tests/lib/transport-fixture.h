/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-connector.h"
#include "dvmd-listener.h"
#include "wait-until.h"

G_BEGIN_DECLS

/* A controller's listener and those who come to it, in one process. */

#define TEST_KIND_TEXT  20 /* (s) */
#define TEST_KIND_BYTES 21 /* (ay) */
#define TEST_KIND_EMPTY 22 /* () */

/* MESSAGE of these kinds, and ACK. */
const GVariantType *test_body_type (DvmdPacketType type, guint16 kind);
DvmdPacket *test_packet_text (const char *text);
DvmdPacket *test_packet_bytes (gsize size);

typedef struct
{
  DvmdClock *clock;
  DvmdAuthority *authority;
  DvmdIdentity *identity;
  DvmdTokens *tokens;
  DvmdListenerOptions options;
  DvmdListener *listener;
  /* The last wire that came through the listener. */
  DvmdWire *wire;
  guint rank;
  char *name;
  guint kind;
  guint n_joined;
} TestHost;

/* With a certificate, and the key that all members have in tests. */
DvmdIdentity *test_identity_new (DvmdAuthority *authority, guint32 rank);

void test_host_init (TestHost *host);
/* After changes of host->options; where: "tcp", or a path. */
void test_host_listen (TestHost *host, const char *where);
void test_host_clear (TestHost *host);

/* Comes to the host and waits for the end of it. */
DvmdWire *test_connect (TestHost *host, DvmdIdentity *identity, const DvmdToken *token, GError **error);
/* Tokens for these ranks, ten minutes good. */
void test_host_add_tokens (TestHost *host, guint32 first, guint32 last, DvmdToken *secret);
/* With a token, as a daemon of that rank that is sent for; it gets in. */
DvmdWire *test_host_join (TestHost *host, DvmdIdentity *identity, guint32 rank);
/* With all that can be said. */
DvmdWire *test_connect_full (const char *const *addresses, const DvmdConnectOptions *options, GError **error);
void test_connect_options (TestHost *host, DvmdIdentity *identity, const DvmdToken *token, DvmdConnectOptions *options);

/* Collects what a wire gives, from its start on. */
typedef struct
{
  DvmdWire *wire;
  GPtrArray *packets;
  guint n_drained;
  gboolean is_closed;
  GError *error;
} TestEar;

void test_ear_init (TestEar *ear, DvmdWire *wire);
void test_ear_clear (TestEar *ear);

/* Two wires over a socketpair. */
void test_wire_pair (const DvmdWireOptions *options, DvmdWire **one, DvmdWire **other);

G_END_DECLS
