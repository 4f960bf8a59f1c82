/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codec and the proofs of what two daemons say before there is a link.
 */

#include "config.h"

#include <string.h>

#include "dvmd-hello.h"
#include "dvmd-secret.h"
#include "dvmd-transport-error.h"

#define MAGIC      "dvmhello"
#define FIELD_HEAD 4

#define BIT(field) (1u << (field))

typedef struct
{
  guint16 min;
  guint16 max;
  gboolean is_text;
} FieldInfo;

static const FieldInfo field_infos[DVMD_HELLO_N_FIELDS] = {
  [DVMD_HELLO_VERSION] = { 1, 64, TRUE },
  [DVMD_HELLO_INSTANCE] = { 1, 64, TRUE },
  [DVMD_HELLO_SECURITY] = { 1, 1, FALSE },
  [DVMD_HELLO_NONCE] = { DVMD_HELLO_NONCE_SIZE, DVMD_HELLO_NONCE_SIZE, FALSE },
  [DVMD_HELLO_RANK] = { 4, 4, FALSE },
  [DVMD_HELLO_TOKEN] = { 8, 8, FALSE },
  [DVMD_HELLO_NAME] = { 1, DVMD_HELLO_MAX_NAME, TRUE },
  [DVMD_HELLO_PUBLIC_KEY] = { 32, 512, FALSE },
  [DVMD_HELLO_CERTIFICATE] = { 64, 2048, FALSE },
  [DVMD_HELLO_AUTHORITY] = { 64, 2048, FALSE },
  [DVMD_HELLO_ARGUMENTS] = { 0, DVMD_HELLO_MAX_ARGUMENTS, TRUE },
  [DVMD_HELLO_LINK_KEY] = { 32, 32, FALSE },
  [DVMD_HELLO_CODE] = { 4, 4, FALSE },
  [DVMD_HELLO_SENTENCE] = { 1, 1024, TRUE },
  [DVMD_HELLO_CREDENTIAL] = { 16, DVMD_HELLO_MAX_CREDENTIAL, TRUE },
  [DVMD_HELLO_PROOF] = { DVMD_HELLO_PROOF_SIZE, DVMD_HELLO_PROOF_SIZE, FALSE },
};

/* The fields of each type. */
static const guint32 type_fields[] = {
  [DVMD_HELLO_GREETING] = BIT (DVMD_HELLO_VERSION) | BIT (DVMD_HELLO_INSTANCE) | BIT (DVMD_HELLO_SECURITY)
                          | BIT (DVMD_HELLO_NONCE) | BIT (DVMD_HELLO_RANK),
  [DVMD_HELLO_JOIN] = BIT (DVMD_HELLO_VERSION) | BIT (DVMD_HELLO_NONCE) | BIT (DVMD_HELLO_RANK) | BIT (DVMD_HELLO_TOKEN)
                      | BIT (DVMD_HELLO_NAME) | BIT (DVMD_HELLO_PUBLIC_KEY) | BIT (DVMD_HELLO_PROOF),
  [DVMD_HELLO_LINK] = BIT (DVMD_HELLO_VERSION) | BIT (DVMD_HELLO_INSTANCE) | BIT (DVMD_HELLO_NONCE)
                      | BIT (DVMD_HELLO_RANK) | BIT (DVMD_HELLO_NAME) | BIT (DVMD_HELLO_PROOF),
  [DVMD_HELLO_ACCEPT_JOIN] = BIT (DVMD_HELLO_RANK) | BIT (DVMD_HELLO_CERTIFICATE) | BIT (DVMD_HELLO_AUTHORITY)
                             | BIT (DVMD_HELLO_ARGUMENTS) | BIT (DVMD_HELLO_PROOF),
  [DVMD_HELLO_ACCEPT_LINK] = BIT (DVMD_HELLO_PROOF),
  [DVMD_HELLO_REFUSE] = BIT (DVMD_HELLO_VERSION) | BIT (DVMD_HELLO_CODE) | BIT (DVMD_HELLO_SENTENCE),
  [DVMD_HELLO_READY] = BIT (DVMD_HELLO_LINK_KEY),
  [DVMD_HELLO_JOIN_LOCAL] = BIT (DVMD_HELLO_VERSION) | BIT (DVMD_HELLO_NONCE) | BIT (DVMD_HELLO_RANK)
                            | BIT (DVMD_HELLO_TOKEN) | BIT (DVMD_HELLO_NAME) | BIT (DVMD_HELLO_PUBLIC_KEY)
                            | BIT (DVMD_HELLO_PROOF),
  [DVMD_HELLO_ACCEPT_LOCAL] = BIT (DVMD_HELLO_RANK) | BIT (DVMD_HELLO_PROOF),
  [DVMD_HELLO_JOIN_MUNGE] = BIT (DVMD_HELLO_VERSION) | BIT (DVMD_HELLO_NONCE) | BIT (DVMD_HELLO_NAME)
                            | BIT (DVMD_HELLO_PUBLIC_KEY) | BIT (DVMD_HELLO_CREDENTIAL) | BIT (DVMD_HELLO_PROOF),
};

DvmdHello *
dvmd_hello_new (DvmdHelloType type)
{
  DvmdHello *self = g_new0 (DvmdHello, 1);

  self->type = type;
  return self;
}

void
dvmd_hello_wipe (GBytes *bytes)
{
  gsize size;
  gpointer data = (gpointer)g_bytes_get_data (bytes, &size);

  explicit_bzero (data, size);
}

void
dvmd_hello_free (DvmdHello *self)
{
  if (self->fields[DVMD_HELLO_LINK_KEY] != NULL)
    dvmd_hello_wipe (self->fields[DVMD_HELLO_LINK_KEY]);
  for (guint i = 0; i < DVMD_HELLO_N_FIELDS; i++)
    g_clear_pointer (&self->fields[i], g_bytes_unref);
  g_free (self);
}

/* ---- fields ---- */

void
dvmd_hello_set_bytes (DvmdHello *self, DvmdHelloField field, GBytes *bytes)
{
  const FieldInfo *info = &field_infos[field];
  gsize size = g_bytes_get_size (bytes);

  g_return_if_fail (size >= info->min && size <= info->max);

  g_bytes_ref (bytes);
  g_clear_pointer (&self->fields[field], g_bytes_unref);
  self->fields[field] = bytes;
}

void
dvmd_hello_set (DvmdHello *self, DvmdHelloField field, gconstpointer data, gsize size)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);

  dvmd_hello_set_bytes (self, field, bytes);
}

void
dvmd_hello_set_text (DvmdHello *self, DvmdHelloField field, const char *text)
{
  dvmd_hello_set (self, field, text, strlen (text));
}

static void
put (guint8 *data, guint size, guint64 value)
{
  for (guint i = 0; i < size; i++)
    data[i] = (guint8)(value >> (8 * i));
}

static guint64
get (const guint8 *data, gsize size)
{
  guint64 value = 0;

  for (gsize i = 0; i < size; i++)
    value |= (guint64)data[i] << (8 * i);
  return value;
}

void
dvmd_hello_set_number (DvmdHello *self, DvmdHelloField field, guint size, guint64 value)
{
  guint8 data[8];

  put (data, size, value);
  dvmd_hello_set (self, field, data, size);
}

void
dvmd_hello_set_nonce (DvmdHello *self)
{
  guint8 nonce[DVMD_HELLO_NONCE_SIZE];

  dvmd_secret_draw (nonce, sizeof nonce);
  dvmd_hello_set (self, DVMD_HELLO_NONCE, nonce, sizeof nonce);
}

GBytes *
dvmd_hello_get_bytes (const DvmdHello *self, DvmdHelloField field)
{
  return self->fields[field];
}

gconstpointer
dvmd_hello_get (const DvmdHello *self, DvmdHelloField field)
{
  return g_bytes_get_data (self->fields[field], NULL);
}

char *
dvmd_hello_dup_text (const DvmdHello *self, DvmdHelloField field)
{
  gsize size;
  const char *text = g_bytes_get_data (self->fields[field], &size);

  return g_strndup (text, size);
}

guint64
dvmd_hello_get_number (const DvmdHello *self, DvmdHelloField field)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (self->fields[field], &size);

  return get (data, size);
}

/* ---- codec ---- */

static GByteArray *
encode (const DvmdHello *self, guint n_fields)
{
  GByteArray *message = g_byte_array_new ();
  guint8 head[DVMD_HELLO_HEADER_SIZE] = MAGIC;

  put (head + 8, 2, DVMD_HELLO_PROTOCOL);
  head[10] = G_BYTE_ORDER == G_LITTLE_ENDIAN ? 1 : 2;
  head[11] = (guint8)self->type;
  g_byte_array_append (message, head, sizeof head);
  for (guint i = 0; i < n_fields; i++)
    if (self->fields[i] != NULL)
      {
        guint8 field_head[FIELD_HEAD];
        gsize size;
        const guint8 *data = g_bytes_get_data (self->fields[i], &size);

        put (field_head, 2, i);
        put (field_head + 2, 2, size);
        g_byte_array_append (message, field_head, sizeof field_head);
        g_byte_array_append (message, data, (guint)size);
      }
  put (message->data + 12, 4, message->len - DVMD_HELLO_HEADER_SIZE);
  return message;
}

GBytes *
dvmd_hello_encode (const DvmdHello *self)
{
  return g_byte_array_free_to_bytes (encode (self, DVMD_HELLO_N_FIELDS));
}

static gboolean
refuse_hello (GError **error, const char *sentence)
{
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL, "%s", sentence);
  return FALSE;
}

static gboolean
check_order (guint order, GError **error)
{
  if (order == (G_BYTE_ORDER == G_LITTLE_ENDIAN ? 1 : 2))
    return TRUE;
  if (order != 1 && order != 2)
    return refuse_hello (error, "What came is no hello of dvm: it names no byte order");
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_VERSION,
               "The other end is a %s-endian machine, and this a %s-endian one: they cannot be in one DVM",
               order == 1 ? "little" : "big", order == 1 ? "big" : "little");
  return FALSE;
}

/* The version is the first field of every protocol. */
static void
set_protocol_error (const guint8 *data, gsize size, guint protocol, GError **error)
{
  const guint8 *field = data + DVMD_HELLO_HEADER_SIZE;
  g_autofree char *version = NULL;
  g_autofree char *escaped = NULL;
  gsize length = 0;

  if (size >= DVMD_HELLO_HEADER_SIZE + FIELD_HEAD && get (field, 2) == DVMD_HELLO_VERSION)
    length = MIN (MIN (get (field + 2, 2), field_infos[DVMD_HELLO_VERSION].max),
                  size - DVMD_HELLO_HEADER_SIZE - FIELD_HEAD);
  version = length > 0 ? g_strndup ((const char *)field + FIELD_HEAD, length) : g_strdup ("unknown");
  escaped = dvmd_transport_escape (version);
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_VERSION,
               "The other end is dvm %s with protocol %u, and this is dvm " DVM_VERSION_STRING
               " with protocol %u: all daemons of a DVM must be of one build",
               escaped, protocol, DVMD_HELLO_PROTOCOL);
}

gsize
dvmd_hello_peek_size (const guint8 *data, gsize size, GError **error)
{
  gsize length;

  if (memcmp (data, MAGIC, MIN (size, strlen (MAGIC))) != 0)
    return refuse_hello (error, "What came is no hello of dvm");
  if (size < DVMD_HELLO_HEADER_SIZE)
    return 0;
  length = get (data + 12, 4);
  if (length > DVMD_HELLO_MAX_SIZE - DVMD_HELLO_HEADER_SIZE)
    return refuse_hello (error, "A hello says that it is longer than any hello is");
  if (!check_order (data[10], error))
    return 0;
  if (get (data + 8, 2) != DVMD_HELLO_PROTOCOL && size >= DVMD_HELLO_HEADER_SIZE + length)
    {
      set_protocol_error (data, size, get (data + 8, 2), error);
      return 0;
    }
  return DVMD_HELLO_HEADER_SIZE + length;
}

static gboolean
decode_field (DvmdHello *self, const guint8 *data, gsize size, gsize *offset, guint *last, GError **error)
{
  guint tag;
  gsize length;

  if (size - *offset < FIELD_HEAD)
    return refuse_hello (error, "A hello ends in the middle of a field");
  tag = get (data + *offset, 2);
  length = get (data + *offset + 2, 2);
  *offset += FIELD_HEAD;
  if (tag <= *last || tag >= DVMD_HELLO_N_FIELDS || (type_fields[self->type] & BIT (tag)) == 0)
    return refuse_hello (error, "A hello has a field that does not belong there");
  if (length > size - *offset || length < field_infos[tag].min || length > field_infos[tag].max)
    return refuse_hello (error, "A field of a hello has a wrong length");
  if (field_infos[tag].is_text && !g_utf8_validate_len ((const char *)data + *offset, length, NULL))
    return refuse_hello (error, "A text in a hello is no UTF-8");
  self->fields[tag] = g_bytes_new (data + *offset, length);
  *offset += length;
  *last = tag;
  return TRUE;
}

DvmdHello *
dvmd_hello_decode (const guint8 *data, gsize size, GError **error)
{
  g_autoptr (DvmdHello) self = NULL;
  gsize offset = DVMD_HELLO_HEADER_SIZE;
  guint last = 0;
  g_autoptr (GError) failure = NULL;

  if (dvmd_hello_peek_size (data, size, &failure) != size || failure != NULL || size < DVMD_HELLO_HEADER_SIZE)
    {
      if (failure != NULL)
        g_propagate_error (error, g_steal_pointer (&failure));
      else
        refuse_hello (error, "A hello has another length than it says");
      return NULL;
    }
  if (data[11] == 0 || data[11] >= G_N_ELEMENTS (type_fields))
    {
      refuse_hello (error, "There is no hello of this type");
      return NULL;
    }
  self = dvmd_hello_new ((DvmdHelloType)data[11]);
  while (offset < size)
    if (!decode_field (self, data, size, &offset, &last, error))
      return NULL;
  for (guint i = 1; i < DVMD_HELLO_N_FIELDS; i++)
    if ((type_fields[self->type] & BIT (i)) != 0 && self->fields[i] == NULL)
      {
        refuse_hello (error, "A field of a hello is missing");
        return NULL;
      }
  return g_steal_pointer (&self);
}

/* ---- proofs ---- */

static void
add_part (GByteArray *text, GBytes *part)
{
  guint8 length[4] = { 0 };
  gsize size = 0;
  const guint8 *data = part != NULL ? g_bytes_get_data (part, &size) : NULL;

  put (length, sizeof length, size);
  g_byte_array_append (text, length, sizeof length);
  if (size > 0)
    g_byte_array_append (text, data, (guint)size);
}

static void
compute (const DvmdHello *self, const guint8 *key, GBytes *greeting, GBytes *before, guint8 *proof)
{
  g_autoptr (GByteArray) text = g_byte_array_new ();
  g_autoptr (GBytes) own = g_byte_array_free_to_bytes (encode (self, DVMD_HELLO_PROOF));

  add_part (text, greeting);
  add_part (text, before);
  add_part (text, own);
  dvmd_secret_hmac (key, 32, text->data, text->len, proof);
}

void
dvmd_hello_prove (DvmdHello *self, const guint8 *key, GBytes *greeting, GBytes *before)
{
  guint8 proof[DVMD_HELLO_PROOF_SIZE];

  compute (self, key, greeting, before, proof);
  dvmd_hello_set (self, DVMD_HELLO_PROOF, proof, sizeof proof);
}

gboolean
dvmd_hello_check (const DvmdHello *self, const guint8 *key, GBytes *greeting, GBytes *before)
{
  guint8 proof[DVMD_HELLO_PROOF_SIZE];

  compute (self, key, greeting, before, proof);
  return dvmd_secret_equal (proof, dvmd_hello_get (self, DVMD_HELLO_PROOF), sizeof proof);
}

/* ---- refusals and versions ---- */

DvmdHello *
dvmd_hello_new_refusal (const GError *reason)
{
  DvmdHello *self = dvmd_hello_new (DVMD_HELLO_REFUSE);
  gboolean ours = reason->domain == DVMD_TRANSPORT_ERROR;
  g_autofree char *valid = g_utf8_make_valid (reason->message, -1);
  const char *end = valid + MIN (strlen (valid), field_infos[DVMD_HELLO_SENTENCE].max);

  if (*end != '\0' && !g_utf8_validate_len (valid, end - valid, &end) && end == valid)
    end = valid;
  dvmd_hello_set_text (self, DVMD_HELLO_VERSION, DVM_VERSION_STRING);
  dvmd_hello_set_number (self, DVMD_HELLO_CODE, 4, ours ? (guint)reason->code : DVMD_TRANSPORT_ERROR_REFUSED);
  if (end > valid)
    dvmd_hello_set (self, DVMD_HELLO_SENTENCE, valid, end - valid);
  else
    dvmd_hello_set_text (self, DVMD_HELLO_SENTENCE, "no reason given");
  return self;
}

void
dvmd_hello_set_error_from_refusal (const DvmdHello *self, const char *peer, GError **error)
{
  g_autofree char *sentence = dvmd_hello_dup_text (self, DVMD_HELLO_SENTENCE);
  g_autofree char *escaped = dvmd_transport_escape (sentence);
  guint64 code = dvmd_hello_get_number (self, DVMD_HELLO_CODE);

  /* Of all that a stranger may say these tell people where to look. */
  if (code != DVMD_TRANSPORT_ERROR_AUTHENTICATION && code != DVMD_TRANSPORT_ERROR_VERSION
      && code != DVMD_TRANSPORT_ERROR_NOT_WANTED)
    code = DVMD_TRANSPORT_ERROR_REFUSED;
  g_set_error (error, DVMD_TRANSPORT_ERROR, (int)code, "%s refuses: %s", peer, escaped);
}

gboolean
dvmd_hello_check_version (const DvmdHello *self, const char *version, GError **error)
{
  g_autofree char *other = dvmd_hello_dup_text (self, DVMD_HELLO_VERSION);
  g_autofree char *escaped = dvmd_transport_escape (other);

  if (strcmp (other, version) == 0)
    return TRUE;
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_VERSION,
               "The other end is dvm %s, and this is dvm %s: all daemons of a DVM must be of one build", escaped,
               version);
  return FALSE;
}
