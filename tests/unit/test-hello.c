/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <string.h>

#include "dvmd-hello.h"
#include "dvmd-transport-error.h"

static const guint8 key_a[32] = "key a";
static const guint8 key_b[32] = "key b";

static DvmdHello *
make_greeting (void)
{
  DvmdHello *hello = dvmd_hello_new (DVMD_HELLO_GREETING);

  dvmd_hello_set_text (hello, DVMD_HELLO_VERSION, "0.1.0");
  dvmd_hello_set_text (hello, DVMD_HELLO_INSTANCE, "one");
  dvmd_hello_set_number (hello, DVMD_HELLO_SECURITY, 1, 1);
  dvmd_hello_set_number (hello, DVMD_HELLO_RANK, 4, 0);
  dvmd_hello_set_nonce (hello);
  return hello;
}

static DvmdHello *
make_join (const guint8 *key, GBytes *greeting)
{
  DvmdHello *hello = dvmd_hello_new (DVMD_HELLO_JOIN);
  guint8 public_key[91] = { 0x30 };

  dvmd_hello_set_text (hello, DVMD_HELLO_VERSION, "0.1.0");
  dvmd_hello_set_nonce (hello);
  dvmd_hello_set_number (hello, DVMD_HELLO_RANK, 4, 7);
  dvmd_hello_set_number (hello, DVMD_HELLO_TOKEN, 8, G_GUINT64_CONSTANT (0x1122334455667788));
  dvmd_hello_set_text (hello, DVMD_HELLO_NAME, "node-a");
  dvmd_hello_set (hello, DVMD_HELLO_PUBLIC_KEY, public_key, sizeof public_key);
  dvmd_hello_prove (hello, key, greeting, NULL);
  return hello;
}

static DvmdHello *
decode (GBytes *bytes, GError **error)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (bytes, &size);

  return dvmd_hello_decode (data, size, error);
}

static void
test_round_trip (void)
{
  g_autoptr (DvmdHello) greeting = make_greeting ();
  g_autoptr (GBytes) greeting_bytes = dvmd_hello_encode (greeting);
  g_autoptr (DvmdHello) join = make_join (key_a, greeting_bytes);
  g_autoptr (GBytes) bytes = dvmd_hello_encode (join);
  g_autoptr (DvmdHello) back = NULL;
  g_autofree char *name = NULL;
  GError *error = NULL;
  gsize size;
  const guint8 *data = g_bytes_get_data (bytes, &size);

  for (gsize i = 0; i < DVMD_HELLO_HEADER_SIZE; i++)
    g_assert_cmpuint (dvmd_hello_peek_size (data, i, NULL), ==, 0);
  g_assert_cmpuint (dvmd_hello_peek_size (data, DVMD_HELLO_HEADER_SIZE, NULL), ==, size);
  back = decode (bytes, &error);
  g_assert_no_error (error);
  name = dvmd_hello_dup_text (back, DVMD_HELLO_NAME);
  g_assert_cmpstr (name, ==, "node-a");
  g_assert_cmpuint (dvmd_hello_get_number (back, DVMD_HELLO_RANK), ==, 7);
  g_assert_cmphex (dvmd_hello_get_number (back, DVMD_HELLO_TOKEN), ==, G_GUINT64_CONSTANT (0x1122334455667788));
  g_assert_true (dvmd_hello_check (back, key_a, greeting_bytes, NULL));
}

static void
test_proofs (void)
{
  g_autoptr (DvmdHello) greeting = make_greeting ();
  g_autoptr (DvmdHello) other_greeting = make_greeting ();
  g_autoptr (GBytes) greeting_bytes = dvmd_hello_encode (greeting);
  g_autoptr (GBytes) other_bytes = dvmd_hello_encode (other_greeting);
  g_autoptr (DvmdHello) join = make_join (key_a, greeting_bytes);
  g_autoptr (GBytes) join_bytes = dvmd_hello_encode (join);

  g_assert_false (dvmd_hello_check (join, key_b, greeting_bytes, NULL));
  /* Replayed to another nonce, and where it does not belong. */
  g_assert_false (dvmd_hello_check (join, key_a, other_bytes, NULL));
  g_assert_false (dvmd_hello_check (join, key_a, greeting_bytes, greeting_bytes));
  dvmd_hello_set_number (join, DVMD_HELLO_RANK, 4, 8);
  g_assert_false (dvmd_hello_check (join, key_a, greeting_bytes, NULL));
  dvmd_hello_set_number (join, DVMD_HELLO_RANK, 4, 7);
  g_assert_true (dvmd_hello_check (join, key_a, greeting_bytes, NULL));
  dvmd_hello_set_text (join, DVMD_HELLO_NAME, "node-b");
  g_assert_false (dvmd_hello_check (join, key_a, greeting_bytes, NULL));
}

/* The proof covers the credential, too, which has a length that it may have. */
static void
test_credential (void)
{
  g_autoptr (DvmdHello) greeting = make_greeting ();
  g_autoptr (GBytes) greeting_bytes = dvmd_hello_encode (greeting);
  g_autoptr (DvmdHello) join = dvmd_hello_new (DVMD_HELLO_JOIN_MUNGE);
  g_autofree char *longest = g_strnfill (DVMD_HELLO_MAX_CREDENTIAL, 'c');
  guint8 public_key[91] = { 0x30 };
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (DvmdHello) back = NULL;
  g_autofree char *credential = NULL;
  GError *error = NULL;

  dvmd_hello_set_text (join, DVMD_HELLO_VERSION, "0.1.0");
  dvmd_hello_set_nonce (join);
  dvmd_hello_set_text (join, DVMD_HELLO_NAME, "node-a");
  dvmd_hello_set (join, DVMD_HELLO_PUBLIC_KEY, public_key, sizeof public_key);
  dvmd_hello_set_text (join, DVMD_HELLO_CREDENTIAL, longest);
  dvmd_hello_prove (join, key_a, greeting_bytes, NULL);
  bytes = dvmd_hello_encode (join);
  g_assert_cmpuint (g_bytes_get_size (bytes), <, DVMD_HELLO_MAX_SIZE);
  back = decode (bytes, &error);
  g_assert_no_error (error);
  g_assert_cmpint (back->type, ==, DVMD_HELLO_JOIN_MUNGE);
  credential = dvmd_hello_dup_text (back, DVMD_HELLO_CREDENTIAL);
  g_assert_cmpstr (credential, ==, longest);
  g_assert_true (dvmd_hello_check (back, key_a, greeting_bytes, NULL));
  g_assert_false (dvmd_hello_check (back, key_b, greeting_bytes, NULL));
  longest[0] = 'd';
  dvmd_hello_set_text (back, DVMD_HELLO_CREDENTIAL, longest);
  g_assert_false (dvmd_hello_check (back, key_a, greeting_bytes, NULL));
}

static void
check_refused (GBytes *bytes, guint offset, guint8 value, int code, const char *sentence)
{
  gsize size = g_bytes_get_size (bytes);
  g_autofree guint8 *data = g_memdup2 (g_bytes_get_data (bytes, NULL), size);
  g_autoptr (GError) error = NULL;

  data[offset] = value;
  g_assert_null (dvmd_hello_decode (data, size, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, code);
  g_assert_nonnull (strstr (error->message, sentence));
}

static void
test_refused (void)
{
  g_autoptr (DvmdHello) greeting = make_greeting ();
  g_autoptr (GBytes) bytes = dvmd_hello_encode (greeting);

  check_refused (bytes, 0, 'D', DVMD_TRANSPORT_ERROR_PROTOCOL, "is no hello of dvm");
  check_refused (bytes, 8, 5, DVMD_TRANSPORT_ERROR_VERSION,
                 "is dvm 0.1.0 with protocol 5, and this is dvm " DVM_VERSION_STRING " with protocol 4");
  check_refused (bytes, 10, G_BYTE_ORDER == G_LITTLE_ENDIAN ? 2 : 1, DVMD_TRANSPORT_ERROR_VERSION, "-endian machine");
  check_refused (bytes, 10, 9, DVMD_TRANSPORT_ERROR_PROTOCOL, "names no byte order");
  check_refused (bytes, 11, 77, DVMD_TRANSPORT_ERROR_PROTOCOL, "no hello of this type");
  check_refused (bytes, 11, DVMD_HELLO_READY, DVMD_TRANSPORT_ERROR_PROTOCOL, "does not belong there");
  check_refused (bytes, 15, 0xff, DVMD_TRANSPORT_ERROR_PROTOCOL, "longer than any hello");
  check_refused (bytes, 12, 1, DVMD_TRANSPORT_ERROR_PROTOCOL, "another length than it says");
  check_refused (bytes, 18, 0, DVMD_TRANSPORT_ERROR_PROTOCOL, "a wrong length");
  check_refused (bytes, 20, 0xff, DVMD_TRANSPORT_ERROR_PROTOCOL, "no UTF-8");
  /* The tag of the second field, back to the first's. */
  check_refused (bytes, 25, 1, DVMD_TRANSPORT_ERROR_PROTOCOL, "does not belong there");
}

static void
test_missing_field (void)
{
  g_autoptr (DvmdHello) greeting = make_greeting ();
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&greeting->fields[DVMD_HELLO_NONCE], g_bytes_unref);
  bytes = dvmd_hello_encode (greeting);
  g_assert_null (decode (bytes, &error));
  g_assert_nonnull (strstr (error->message, "is missing"));
}

static void
test_refusal (void)
{
  g_autofree char *endless = g_strnfill (5000, 'x');
  g_autofree char *almost = g_strnfill (1023, 'x');
  g_autofree char *cut = g_strconcat (almost, "\303\244", NULL);
  const char *const sentences[] = { "", endless, cut, "two\nlines \033[31mred" };

  for (guint i = 0; i < G_N_ELEMENTS (sentences); i++)
    {
      g_autoptr (GError)
          reason = g_error_new_literal (DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_VERSION, sentences[i]);
      g_autoptr (DvmdHello) refusal = dvmd_hello_new_refusal (reason);
      g_autoptr (GBytes) bytes = dvmd_hello_encode (refusal);
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdHello) back = decode (bytes, &error);

      g_assert_no_error (error);
      dvmd_hello_set_error_from_refusal (back, "10.0.0.1:5", &error);
      g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_VERSION);
      g_assert_true (g_str_has_prefix (error->message, "10.0.0.1:5 refuses: "));
      g_assert_null (strpbrk (error->message, "\n\033"));
    }
}

static void
test_version (void)
{
  g_autoptr (DvmdHello) greeting = make_greeting ();
  g_autoptr (GError) error = NULL;

  g_assert_true (dvmd_hello_check_version (greeting, "0.1.0", NULL));
  g_assert_false (dvmd_hello_check_version (greeting, "0.2.0", &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_VERSION);
  g_assert_nonnull (strstr (error->message, "0.1.0"));
  g_assert_nonnull (strstr (error->message, "0.2.0"));
}

static void
test_fuzz (void)
{
  guint32 seed = g_test_rand_int ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (DvmdHello) greeting = make_greeting ();
  g_autoptr (GBytes) greeting_bytes = dvmd_hello_encode (greeting);
  g_autoptr (DvmdHello) join = make_join (key_a, greeting_bytes);
  g_autoptr (GBytes) join_bytes = dvmd_hello_encode (join);

  g_test_message ("seed %u", seed);
  for (guint i = 0; i < 20000; i++)
    {
      gsize size;
      const guint8 *data = g_bytes_get_data (i % 2 == 0 ? greeting_bytes : join_bytes, &size);
      g_autofree guint8 *copy = g_memdup2 (data, size);
      guint n_flips = (guint)g_rand_int_range (rand, 1, 4);
      g_autoptr (DvmdHello) back = NULL;

      for (guint j = 0; j < n_flips; j++)
        copy[g_rand_int_range (rand, 0, (gint32)size)] ^= (guint8)(1 << g_rand_int_range (rand, 0, 8));
      if (memcmp (copy, data, size) == 0)
        continue;
      back = dvmd_hello_decode (copy, g_rand_boolean (rand) ? size : (gsize)g_rand_int_range (rand, 0, (gint32)size),
                                NULL);
      /* A hello that can still be read proves nothing any more. */
      if (back != NULL && back->type == DVMD_HELLO_JOIN)
        g_assert_false (dvmd_hello_check (back, key_a, greeting_bytes, NULL));
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/hello/round-trip", test_round_trip);
  g_test_add_func ("/hello/proofs", test_proofs);
  g_test_add_func ("/hello/credential", test_credential);
  g_test_add_func ("/hello/refused", test_refused);
  g_test_add_func ("/hello/missing-field", test_missing_field);
  g_test_add_func ("/hello/refusal", test_refusal);
  g_test_add_func ("/hello/version", test_version);
  g_test_add_func ("/hello/fuzz", test_fuzz);
  return g_test_run ();
}
