/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tokens, derived from the secret of a launch, decide which agents may join.
 */

#include "config.h"

#include <string.h>

#include "dvmd-munge-key.h"
#include "dvmd-secret.h"
#include "dvmd-tokens.h"
#include "dvmd-transport-error.h"

#define TEXT_PREFIX "dvm1"

typedef struct
{
  GBytes *public_key; /* NULL: nobody has come */
  gboolean joined;
  char *name;      /* (nullable): of a node that is expected */
  char *arguments; /* (nullable) */
} Seat;

typedef struct
{
  DvmdToken secret;
  gint64 end;
  GArray *ranks;     /* in the order in which they are given away */
  GHashTable *seats; /* rank -> Seat */
  guint n_left;      /* seats whose owners have not joined */
} Launch;

struct _DvmdTokens
{
  DvmdClock *clock;
  GHashTable *launches; /* id -> Launch */
  DvmdTokensKnock knock;
  gpointer user_data;
  DvmdMungeKeys *munge; /* (nullable) */
};

/* ---- one token ---- */

char *
dvmd_token_to_text (const DvmdToken *token)
{
  GString *text = g_string_new (NULL);

  g_string_printf (text, TEXT_PREFIX ":%" G_GUINT64_FORMAT ":", token->launch);
  if (token->is_secret)
    g_string_append (text, "all:");
  else if (token->rank == DVMD_RANK_ANY)
    g_string_append (text, "any:");
  else
    g_string_append_printf (text, "%u:", token->rank);
  for (gsize i = 0; i < sizeof token->key; i++)
    g_string_append_printf (text, "%02x", token->key[i]);
  return g_string_free (text, FALSE);
}

static gboolean
parse_key (const char *text, guint8 *key)
{
  if (strlen (text) != 2 * DVMD_TOKEN_KEY_SIZE)
    return FALSE;
  for (gsize i = 0; i < DVMD_TOKEN_KEY_SIZE; i++)
    {
      int high = g_ascii_xdigit_value (text[2 * i]);
      int low = g_ascii_xdigit_value (text[2 * i + 1]);

      if (high < 0 || low < 0)
        return FALSE;
      key[i] = (guint8)(high * 16 + low);
    }
  return TRUE;
}

static gboolean
parse_rank (const char *text, DvmdToken *token)
{
  guint64 rank = DVMD_RANK_ANY;

  token->is_secret = strcmp (text, "all") == 0;
  if (!token->is_secret && strcmp (text, "any") != 0
      && !g_ascii_string_to_unsigned (text, 10, 0, DVMD_RANK_ANY - 1, &rank, NULL))
    return FALSE;
  token->rank = (guint32)rank;
  return TRUE;
}

gboolean
dvmd_token_parse (const char *text, DvmdToken *token, GError **error)
{
  g_auto (GStrv) words = g_strsplit (text, ":", 5);
  gboolean right;

  memset (token, 0, sizeof *token);
  right = g_strv_length (words) == 4 && strcmp (words[0], TEXT_PREFIX) == 0
          && g_ascii_string_to_unsigned (words[1], 10, 0, G_MAXUINT64, &token->launch, NULL)
          && parse_rank (words[2], token) && parse_key (words[3], token->key);
  if (g_strv_length (words) == 4)
    explicit_bzero (words[3], strlen (words[3]));
  if (!right)
    /* Without the text: it may be a token with a slip. */
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                 "What came on standard input is no token: it has the form " TEXT_PREFIX ":LAUNCH:RANK:KEY");
  return right;
}

void
dvmd_token_derive (const DvmdToken *secret, guint32 rank, DvmdToken *token)
{
  guint8 message[16] = "rank";
  guint8 key[DVMD_TOKEN_KEY_SIZE];

  g_return_if_fail (secret->is_secret);

  for (guint i = 0; i < 8; i++)
    message[4 + i] = (guint8)(secret->launch >> (8 * i));
  for (guint i = 0; i < 4; i++)
    message[12 + i] = (guint8)(rank >> (8 * i));
  dvmd_secret_hmac (secret->key, sizeof secret->key, message, sizeof message, key);
  token->launch = secret->launch;
  token->is_secret = FALSE;
  token->rank = rank;
  memcpy (token->key, key, sizeof key);
  explicit_bzero (key, sizeof key);
}

void
dvmd_token_clear (DvmdToken *token)
{
  explicit_bzero (token->key, sizeof token->key);
}

void
dvmd_token_set_standing (DvmdToken *token, const guint8 key[DVMD_TOKEN_KEY_SIZE])
{
  token->launch = DVMD_LAUNCH_STANDING;
  token->is_secret = TRUE;
  token->rank = DVMD_RANK_ANY;
  memcpy (token->key, key, sizeof token->key);
}

gboolean
dvmd_token_names_match (const char *node, const char *host, gboolean exactly)
{
  gsize length = strcspn (node, ".");
  gboolean one_is_short = node[length] == '\0' || strchr (host, '.') == NULL;

  if (g_ascii_strcasecmp (node, host) == 0)
    return TRUE;
  return !exactly && one_is_short && strcspn (host, ".") == length && g_ascii_strncasecmp (node, host, length) == 0;
}

/* ---- what the controller knows ---- */

static void
seat_free (gpointer data)
{
  Seat *seat = data;

  g_clear_pointer (&seat->public_key, g_bytes_unref);
  g_free (seat->name);
  g_free (seat->arguments);
  g_free (seat);
}

static void
launch_free (gpointer data)
{
  Launch *launch = data;

  dvmd_token_clear (&launch->secret);
  g_array_unref (launch->ranks);
  g_hash_table_unref (launch->seats);
  g_free (launch);
}

DvmdTokens *
dvmd_tokens_new (DvmdClock *clock)
{
  DvmdTokens *self = g_new0 (DvmdTokens, 1);

  self->clock = dvmd_clock_ref (clock);
  self->launches = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, launch_free);
  return self;
}

void
dvmd_tokens_free (DvmdTokens *self)
{
  dvmd_clock_unref (self->clock);
  g_clear_pointer (&self->munge, dvmd_munge_keys_unref);
  g_hash_table_unref (self->launches);
  g_free (self);
}

void
dvmd_tokens_add (DvmdTokens *self, const guint32 *ranks, guint n_ranks, gint64 lifetime, DvmdToken *secret)
{
  Launch *launch = g_new0 (Launch, 1);

  do
    dvmd_secret_draw (&launch->secret.launch, sizeof launch->secret.launch);
  while (launch->secret.launch == DVMD_LAUNCH_STANDING
         || g_hash_table_contains (self->launches, &launch->secret.launch));
  dvmd_secret_draw (launch->secret.key, sizeof launch->secret.key);
  launch->secret.is_secret = TRUE;
  launch->secret.rank = DVMD_RANK_ANY;
  launch->end = dvmd_clock_monotonic (self->clock) + lifetime;
  launch->ranks = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_array_append_vals (launch->ranks, ranks, n_ranks);
  launch->seats = g_hash_table_new_full (NULL, NULL, NULL, seat_free);
  for (guint i = 0; i < n_ranks; i++)
    g_hash_table_insert (launch->seats, GUINT_TO_POINTER (ranks[i]), g_new0 (Seat, 1));
  launch->n_left = g_hash_table_size (launch->seats);
  *secret = launch->secret;
  g_hash_table_insert (self->launches, &launch->secret.launch, launch);
}

void
dvmd_tokens_remove (DvmdTokens *self, guint64 launch)
{
  g_hash_table_remove (self->launches, &launch);
}

/* ---- the standing launch ---- */

static Launch *
find_standing (DvmdTokens *self)
{
  const guint64 id = DVMD_LAUNCH_STANDING;

  return g_hash_table_lookup (self->launches, &id);
}

void
dvmd_tokens_open (DvmdTokens *self, const DvmdToken *secret, DvmdTokensKnock knock, gpointer user_data)
{
  Launch *launch = g_new0 (Launch, 1);

  g_return_if_fail (!dvmd_tokens_is_open (self) && secret->launch == DVMD_LAUNCH_STANDING && secret->is_secret);

  launch->secret = *secret;
  launch->end = G_MAXINT64;
  launch->ranks = g_array_new (FALSE, FALSE, sizeof (guint32));
  launch->seats = g_hash_table_new_full (NULL, NULL, NULL, seat_free);
  self->knock = knock;
  self->user_data = user_data;
  g_hash_table_insert (self->launches, &launch->secret.launch, launch);
}

void
dvmd_tokens_set_munge (DvmdTokens *self, DvmdMungeKeys *keys)
{
  g_clear_pointer (&self->munge, dvmd_munge_keys_unref);
  self->munge = keys;
}

DvmdMungeKeys *
dvmd_tokens_get_munge (DvmdTokens *self)
{
  return self->munge;
}

gboolean
dvmd_tokens_is_open (DvmdTokens *self)
{
  return find_standing (self) != NULL;
}

void
dvmd_tokens_expect (DvmdTokens *self, guint32 rank, const char *name, const char *arguments)
{
  Launch *launch = find_standing (self);
  Seat *seat = g_new0 (Seat, 1);

  seat->name = g_strdup (name);
  seat->arguments = g_strdup (arguments);
  if (g_hash_table_insert (launch->seats, GUINT_TO_POINTER (rank), seat))
    launch->n_left++;
}

void
dvmd_tokens_forget (DvmdTokens *self, guint32 rank)
{
  Launch *launch = find_standing (self);
  Seat *seat = launch != NULL ? g_hash_table_lookup (launch->seats, GUINT_TO_POINTER (rank)) : NULL;

  if (seat == NULL)
    return;
  if (!seat->joined)
    launch->n_left--;
  g_hash_table_remove (launch->seats, GUINT_TO_POINTER (rank));
}

const char *
dvmd_tokens_get_arguments (DvmdTokens *self, guint64 launch_id, guint32 rank)
{
  Launch *launch = g_hash_table_lookup (self->launches, &launch_id);
  Seat *seat = launch != NULL ? g_hash_table_lookup (launch->seats, GUINT_TO_POINTER (rank)) : NULL;

  return seat != NULL && seat->arguments != NULL ? seat->arguments : "";
}

/* The node of exactly this name, or the only one that the name fits. (nullable) */
static Seat *
find_expected (Launch *launch, const char *name, guint32 *rank)
{
  Seat *found = NULL;
  GHashTableIter iter;
  gpointer key;
  gpointer value;
  guint n = 0;

  for (guint exactly = 2; exactly-- > 0 && n == 0;)
    {
      g_hash_table_iter_init (&iter, launch->seats);
      while (g_hash_table_iter_next (&iter, &key, &value))
        if (!((Seat *)value)->joined && dvmd_token_names_match (((Seat *)value)->name, name, exactly > 0))
          {
            found = value;
            *rank = GPOINTER_TO_UINT (key);
            n++;
          }
    }
  return n == 1 ? found : NULL;
}

/* An agent that was cut off comes with another key. */
static gboolean
take_expected (DvmdTokens *self, Launch *launch, guint32 *rank, const char *name, GBytes *public_key, GError **error)
{
  Seat *seat = find_expected (launch, name, rank);

  if (seat == NULL)
    {
      self->knock (name, self->user_data, error);
      return FALSE;
    }
  g_clear_pointer (&seat->public_key, g_bytes_unref);
  seat->public_key = g_bytes_ref (public_key);
  return TRUE;
}

/* ---- joining ---- */

gboolean
dvmd_tokens_find (DvmdTokens *self, guint64 launch_id, guint32 rank, DvmdToken *token)
{
  Launch *launch = g_hash_table_lookup (self->launches, &launch_id);

  if (launch == NULL)
    return FALSE;
  dvmd_token_derive (&launch->secret, rank, token);
  return TRUE;
}

/* The seat that this key has already, or the first free one. */
static guint32
choose_rank (Launch *launch, GBytes *public_key)
{
  guint32 rank = DVMD_RANK_ANY;

  for (guint i = launch->ranks->len; i-- > 0;)
    {
      guint32 candidate = g_array_index (launch->ranks, guint32, i);
      Seat *seat = g_hash_table_lookup (launch->seats, GUINT_TO_POINTER (candidate));

      if (seat->public_key == NULL)
        rank = candidate;
      else if (g_bytes_equal (seat->public_key, public_key))
        return candidate;
    }
  return rank;
}

static gboolean
refuse_token (GError **error, const char *reason)
{
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "%s", reason);
  return FALSE;
}

gboolean
dvmd_tokens_take (DvmdTokens *self, guint64 launch_id, guint32 *rank, const char *name, GBytes *public_key,
                  GError **error)
{
  Launch *launch = g_hash_table_lookup (self->launches, &launch_id);
  guint32 chosen = *rank;
  Seat *seat;

  if (launch == NULL)
    return refuse_token (error, "The token belongs to no launch of this DVM");
  if (launch_id == DVMD_LAUNCH_STANDING)
    return take_expected (self, launch, rank, name, public_key, error);
  if (dvmd_clock_monotonic (self->clock) >= launch->end)
    return refuse_token (error, "The token came too late: the launch has had its time");
  if (chosen == DVMD_RANK_ANY)
    chosen = choose_rank (launch, public_key);
  if (chosen == DVMD_RANK_ANY)
    return refuse_token (error, "All ranks of the launch are taken");
  seat = g_hash_table_lookup (launch->seats, GUINT_TO_POINTER (chosen));
  if (seat == NULL)
    return refuse_token (error, "The rank is not of this launch");
  if (seat->joined || (seat->public_key != NULL && !g_bytes_equal (seat->public_key, public_key)))
    return refuse_token (error, "The token was used before");
  if (seat->public_key == NULL)
    seat->public_key = g_bytes_ref (public_key);
  *rank = chosen;
  return TRUE;
}

gboolean
dvmd_tokens_joined (DvmdTokens *self, guint64 launch_id, guint32 rank)
{
  Launch *launch = g_hash_table_lookup (self->launches, &launch_id);
  Seat *seat = launch != NULL ? g_hash_table_lookup (launch->seats, GUINT_TO_POINTER (rank)) : NULL;

  if (seat == NULL || seat->joined)
    return FALSE;
  seat->joined = TRUE;
  launch->n_left--;
  return TRUE;
}

guint
dvmd_tokens_count_expected (DvmdTokens *self)
{
  GHashTableIter iter;
  gpointer launch;
  guint n = 0;

  g_hash_table_iter_init (&iter, self->launches);
  while (g_hash_table_iter_next (&iter, NULL, &launch))
    n += ((Launch *)launch)->n_left;
  return n;
}
