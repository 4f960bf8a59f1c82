/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <string.h>

#include "dvmd-authority.h"
#include "dvmd-tokens.h"
#include "dvmd-transport-error.h"
#include "transport-fixture.h"

static DvmdAuthority *
make_authority (const char *instance)
{
  GError *error = NULL;
  DvmdAuthority *authority = dvmd_authority_new (instance, &error);

  g_assert_no_error (error);
  return authority;
}

static DvmdIdentity *
make_identity (void)
{
  GError *error = NULL;
  DvmdIdentity *identity = dvmd_identity_new (&error);

  g_assert_no_error (error);
  return identity;
}

static GBytes *
sign (DvmdAuthority *authority, DvmdIdentity *identity, guint32 rank)
{
  GError *error = NULL;
  GBytes *certificate = dvmd_authority_sign (authority, dvmd_identity_get_public_key (identity), rank, &error);

  g_assert_no_error (error);
  return certificate;
}

static void
test_certificate (void)
{
  g_autoptr (DvmdAuthority) authority = make_authority ("one");
  g_autoptr (DvmdIdentity) root = test_identity_new (authority, 0);
  g_autoptr (DvmdIdentity) agent = make_identity ();
  g_autoptr (GBytes) certificate = sign (authority, agent, 7);
  GError *error = NULL;
  guint32 rank = 0;
  gsize size;
  gconstpointer data = g_bytes_get_data (certificate, &size);

  g_assert_true (dvmd_identity_is_member (root));
  g_assert_false (dvmd_identity_is_member (agent));
  g_assert_cmpstr (dvmd_identity_get_instance (root), ==, "one");
  dvmd_identity_set_certificate (agent, certificate, dvmd_authority_get_certificate (authority), &error);
  g_assert_no_error (error);
  g_assert_cmpuint (dvmd_identity_get_rank (agent), ==, 7);
  g_assert_true (dvmd_identity_verify (root, data, size, &rank, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (rank, ==, 7);
}

static void
check_not_verified (DvmdIdentity *identity, gconstpointer data, gsize size)
{
  g_autoptr (GError) error = NULL;
  guint32 rank;

  g_assert_false (dvmd_identity_verify (identity, data, size, &rank, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION);
}

static void
test_other_dvm (void)
{
  g_autoptr (DvmdAuthority) authority = make_authority ("same");
  g_autoptr (DvmdAuthority) rogue = make_authority ("same");
  g_autoptr (DvmdIdentity) root = test_identity_new (authority, 0);
  g_autoptr (DvmdIdentity) agent = make_identity ();
  g_autoptr (GBytes) certificate = sign (rogue, agent, 7);
  g_autoptr (GError) error = NULL;
  gsize size;
  gconstpointer data = g_bytes_get_data (certificate, &size);

  check_not_verified (root, data, size);
  g_assert_false (
      dvmd_identity_set_certificate (agent, certificate, dvmd_authority_get_certificate (authority), &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION);
  /* The authority's own certificate names no rank. */
  data = g_bytes_get_data (dvmd_authority_get_certificate (authority), &size);
  check_not_verified (root, data, size);
}

static void
test_other_key (void)
{
  g_autoptr (DvmdAuthority) authority = make_authority (NULL);
  g_autoptr (DvmdIdentity) agent = make_identity ();
  g_autoptr (DvmdIdentity) other = make_identity ();
  g_autoptr (GBytes) certificate = sign (authority, other, 3);
  g_autoptr (GError) error = NULL;

  g_assert_false (
      dvmd_identity_set_certificate (agent, certificate, dvmd_authority_get_certificate (authority), &error));
  g_assert_nonnull (strstr (error->message, "for another key"));
}

/* A bit of a certificate that is not what it was: refused, or the bit was in its unused part of nothing. */
static void
test_flipped (void)
{
  g_autoptr (DvmdAuthority) authority = make_authority (NULL);
  g_autoptr (DvmdIdentity) root = test_identity_new (authority, 0);
  g_autoptr (DvmdIdentity) agent = make_identity ();
  g_autoptr (GBytes) certificate = sign (authority, agent, 5);
  gsize size;
  const guint8 *data = g_bytes_get_data (certificate, &size);

  for (gsize i = 0; i < size; i += 3)
    {
      g_autofree guint8 *copy = g_memdup2 (data, size);

      copy[i] ^= (guint8)(1 << (i % 8));
      check_not_verified (root, copy, size);
      check_not_verified (root, data, i);
    }
}

static void
test_bad_input (void)
{
  g_autoptr (DvmdAuthority) authority = make_authority (NULL);
  g_autoptr (GBytes) garbage = g_bytes_new_static ("this is no key, however long it may go on like this", 50);
  g_autoptr (GError) error = NULL;
  const char *const names[] = { "", "with blank", "a/b",
                                "0123456789012345678901234567890123456789012345678901234567890123x" };

  g_assert_null (dvmd_authority_sign (authority, garbage, 1, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GError) failure = NULL;

      g_assert_null (dvmd_authority_new (names[i], &failure));
      g_assert_nonnull (strstr (failure->message, "is no name of a DVM's instance"));
    }
}

/* ---- tokens ---- */

static void
test_token_text (void)
{
  g_autoptr (DvmdClock) clock = dvmd_clock_new_manual (0);
  g_autoptr (DvmdTokens) tokens = dvmd_tokens_new (clock);
  const guint32 ranks[] = { 1, 2 };
  const char *const wrong[] = {
    "", "dvm1", "dvm1:1:2", "dvm1:1:2:abc", "dvm2:1:2:00", "dvm1:1:x:00", "dvm1:1:2:00:00"
  };
  g_auto (DvmdToken) secret = { 0 };
  g_auto (DvmdToken) back = { 0 };
  g_auto (DvmdToken) one = { 0 };
  g_auto (DvmdToken) same = { 0 };
  g_autofree char *text = NULL;
  g_autofree char *one_text = NULL;

  dvmd_tokens_add (tokens, ranks, 2, G_TIME_SPAN_MINUTE, &secret);
  text = dvmd_token_to_text (&secret);
  g_assert_true (dvmd_token_parse (text, &back, NULL));
  g_assert_true (back.is_secret);
  dvmd_token_derive (&back, 2, &one);
  g_assert_true (dvmd_tokens_find (tokens, secret.launch, 2, &same));
  g_assert_cmpmem (one.key, sizeof one.key, same.key, sizeof same.key);
  one_text = dvmd_token_to_text (&one);
  g_assert_true (dvmd_token_parse (one_text, &back, NULL));
  g_assert_false (back.is_secret);
  g_assert_cmpuint (back.rank, ==, 2);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (dvmd_token_parse (wrong[i], &back, &error));
      g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION);
    }
}

static gboolean
take (DvmdTokens *tokens, guint64 launch, guint32 *rank, const char *key, const char *sentence)
{
  g_autoptr (GBytes) public_key = g_bytes_new (key, strlen (key));
  g_autoptr (GError) error = NULL;
  gboolean taken = dvmd_tokens_take (tokens, launch, rank, "node", public_key, &error);

  g_assert_true (taken == (sentence == NULL));
  if (!taken)
    g_assert_nonnull (strstr (error->message, sentence));
  return taken;
}

static void
test_token_once (void)
{
  g_autoptr (DvmdClock) clock = dvmd_clock_new_manual (0);
  g_autoptr (DvmdTokens) tokens = dvmd_tokens_new (clock);
  const guint32 ranks[] = { 4, 5 };
  g_auto (DvmdToken) secret = { 0 };
  guint32 rank = 4;

  dvmd_tokens_add (tokens, ranks, 2, G_TIME_SPAN_MINUTE, &secret);
  take (tokens, secret.launch, &rank, "a", NULL);
  /* Its connection broke. */
  take (tokens, secret.launch, &rank, "a", NULL);
  take (tokens, secret.launch, &rank, "b", "was used before");
  g_assert_true (dvmd_tokens_joined (tokens, secret.launch, 4));
  g_assert_false (dvmd_tokens_joined (tokens, secret.launch, 4));
  take (tokens, secret.launch, &rank, "a", "was used before");
  rank = 9;
  take (tokens, secret.launch, &rank, "a", "not of this launch");
  rank = DVMD_RANK_ANY;
  take (tokens, secret.launch, &rank, "c", NULL);
  g_assert_cmpuint (rank, ==, 5);
  rank = DVMD_RANK_ANY;
  take (tokens, secret.launch, &rank, "c", NULL);
  g_assert_cmpuint (rank, ==, 5);
  rank = DVMD_RANK_ANY;
  take (tokens, secret.launch, &rank, "d", "All ranks of the launch are taken");
  dvmd_clock_advance (clock, G_TIME_SPAN_MINUTE);
  rank = 5;
  take (tokens, secret.launch, &rank, "c", "came too late");
  dvmd_tokens_remove (tokens, secret.launch);
  take (tokens, secret.launch, &rank, "c", "belongs to no launch");
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/authority/certificate", test_certificate);
  g_test_add_func ("/authority/other-dvm", test_other_dvm);
  g_test_add_func ("/authority/other-key", test_other_key);
  g_test_add_func ("/authority/flipped", test_flipped);
  g_test_add_func ("/authority/bad-input", test_bad_input);
  g_test_add_func ("/tokens/text", test_token_text);
  g_test_add_func ("/tokens/once", test_token_once);
  return g_test_run ();
}
