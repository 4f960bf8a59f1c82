/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The handshake of two daemons before there is a link: its codec and its proofs, without any I/O.
 *
 *   listener   GREETING: who I am, a nonce
 *   joiner     JOIN: who I am, my public key, the token's id; proof with the token
 *     or, of this machine, JOIN_LOCAL: the same, and a number that I have drawn in the place of the key
 *     or, proved by munge, JOIN_MUNGE: who I am, my public key, a credential with a key in the place of the token's
 *     or a member LINK: my rank; proof with the key of all members
 *   listener   ACCEPT_JOIN: rank, certificate, authority, arguments; proof with the token
 *     or       ACCEPT_LOCAL: rank; proof with the token
 *     or       ACCEPT_LINK: proof with the key of all members
 *     or       REFUSE: why
 *   (TLS, unless it is a unix socket or security=none)
 *   listener   READY: the other end's certificate is right; the key of all members
 *
 * Each proof is an HMAC-SHA256 over all that was said before, so that a changed or replayed hello fails. A message is a
 * header of 16 bytes (magic, protocol u16, byte order u8, type u8, length u32) and fields (tag u16, length u16, bytes)
 * in the order of their tags; all numbers little-endian.
 */

#define DVMD_HELLO_PROTOCOL    4
#define DVMD_HELLO_HEADER_SIZE 16
/* Of a message with its header. */
#define DVMD_HELLO_MAX_SIZE       8192
#define DVMD_HELLO_NONCE_SIZE     32
#define DVMD_HELLO_MAX_NAME       255
#define DVMD_HELLO_MAX_ARGUMENTS  3000
#define DVMD_HELLO_MAX_CREDENTIAL 2048
#define DVMD_HELLO_PROOF_SIZE     32

typedef enum
{
  DVMD_HELLO_GREETING = 1,
  DVMD_HELLO_JOIN,
  DVMD_HELLO_LINK,
  DVMD_HELLO_ACCEPT_JOIN,
  DVMD_HELLO_ACCEPT_LINK,
  DVMD_HELLO_REFUSE,
  DVMD_HELLO_READY,
  DVMD_HELLO_JOIN_LOCAL,
  DVMD_HELLO_ACCEPT_LOCAL,
  DVMD_HELLO_JOIN_MUNGE,
} DvmdHelloType;

typedef enum
{
  DVMD_HELLO_VERSION = 1, /* the first, so that another protocol's can be read */
  DVMD_HELLO_INSTANCE,
  DVMD_HELLO_SECURITY, /* u8: 1 with TLS, 0 without */
  DVMD_HELLO_NONCE,
  DVMD_HELLO_RANK,       /* u32 */
  DVMD_HELLO_TOKEN,      /* u64: the launch */
  DVMD_HELLO_NAME,       /* of the node */
  DVMD_HELLO_PUBLIC_KEY, /* DER, or a number */
  DVMD_HELLO_CERTIFICATE,
  DVMD_HELLO_AUTHORITY,
  DVMD_HELLO_ARGUMENTS, /* of an agent that nobody has started, a line each */
  DVMD_HELLO_LINK_KEY,
  DVMD_HELLO_CODE, /* u32: DvmdTransportError */
  DVMD_HELLO_SENTENCE,
  DVMD_HELLO_CREDENTIAL, /* of munge, dvmd-munge-key.h */
  DVMD_HELLO_PROOF,      /* the last, so that it covers the others */
} DvmdHelloField;

#define DVMD_HELLO_N_FIELDS (DVMD_HELLO_PROOF + 1)

typedef struct
{
  DvmdHelloType type;
  GBytes *fields[DVMD_HELLO_N_FIELDS]; /* (nullable) each */
} DvmdHello;

DvmdHello *dvmd_hello_new (DvmdHelloType type);
void dvmd_hello_free (DvmdHello *self);
/* Overwrites a copy that nobody needs any more. */
void dvmd_hello_wipe (GBytes *bytes);

void dvmd_hello_set (DvmdHello *self, DvmdHelloField field, gconstpointer data, gsize size);
void dvmd_hello_set_bytes (DvmdHello *self, DvmdHelloField field, GBytes *bytes);
void dvmd_hello_set_text (DvmdHello *self, DvmdHelloField field, const char *text);
/* size bytes, little-endian */
void dvmd_hello_set_number (DvmdHello *self, DvmdHelloField field, guint size, guint64 value);
/* Random bytes that nobody has used before. */
void dvmd_hello_set_nonce (DvmdHello *self);
gconstpointer dvmd_hello_get (const DvmdHello *self, DvmdHelloField field);
GBytes *dvmd_hello_get_bytes (const DvmdHello *self, DvmdHelloField field);
char *dvmd_hello_dup_text (const DvmdHello *self, DvmdHelloField field);
guint64 dvmd_hello_get_number (const DvmdHello *self, DvmdHelloField field);

/* A text that is longer than its field may be is a programming error. */
GBytes *dvmd_hello_encode (const DvmdHello *self);
/* The size with the header; refuses what is no hello, another byte order, another protocol (if there is enough to read
 * both versions from) and a length over the limit. 0 without error: more bytes are wanted. */
gsize dvmd_hello_peek_size (const guint8 *data, gsize size, GError **error);
/* One whole message: every field that its type has is there and of a right size, and nothing else. */
DvmdHello *dvmd_hello_decode (const guint8 *data, gsize size, GError **error);

/* Sets, or checks, the proof: with key (32 bytes), over before (greeting, and what the other said; both encoded, the
 * second nullable) and this message. */
void dvmd_hello_prove (DvmdHello *self, const guint8 *key, GBytes *greeting, GBytes *before);
gboolean dvmd_hello_check (const DvmdHello *self, const guint8 *key, GBytes *greeting, GBytes *before);

DvmdHello *dvmd_hello_new_refusal (const GError *reason);
/* Sets the error to the reason of a refusal, fit for a log. */
void dvmd_hello_set_error_from_refusal (const DvmdHello *self, const char *peer, GError **error);
/* FALSE: the other end is another build; the error names both versions. */
gboolean dvmd_hello_check_version (const DvmdHello *self, const char *version, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdHello, dvmd_hello_free)

G_END_DECLS
