/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A connection that has not proved itself yet is kept cheap, and has a deadline: the listener's side of the hello.
 */

#include "config.h"

#include <glib-unix.h>

#include "dvmd-hello-io.h"
#include "dvmd-munge-key.h"
#include "dvmd-unauthenticated.h"
#include "dvmd-transport-error.h"

/* A refused peer may still send so much, so that it can read the reason. */
#define DISCARD_LIMIT (64 * 1024)

typedef enum
{
  STATE_HELLO, /* greeting goes out, its answer comes */
  STATE_MUNGE, /* munged is asked */
  STATE_TLS,
  STATE_READY,   /* the last word goes out */
  STATE_REFUSED, /* reads the refusal */
  STATE_OVER,
} State;

struct _DvmdUnauthenticated
{
  const DvmdGate *gate;
  const DvmdUnauthenticatedFuncs *funcs;
  gpointer user_data;
  gboolean local;
  char *peer;

  DvmdHelloIo io;
  State state;
  gboolean has_accepted; /* the answer is in io, and all is proved that a hello proves */
  gboolean token_is_spent;
  gboolean silent;
  gsize discarded;
  GError *refusal;
  GBytes *greeting;
  DvmdHello *hello;          /* (nullable): of one whom munge is asked about */
  GBytes *received;          /* (nullable): the same, encoded */
  DvmdMungeReading *reading; /* (nullable) */
  guint64 launch;
  guint32 rank;
  char *name;
  DvmdPeerKind kind;

  guint timer;
};

static gboolean on_socket (int fd, GIOCondition condition, gpointer user_data);
static void on_deadline (gpointer user_data);

static void
set_deadline (DvmdUnauthenticated *self)
{
  dvmd_clock_remove_timer (self->gate->clock, self->timer);
  self->timer = dvmd_clock_add_timer (self->gate->clock, self->gate->deadline, on_deadline, self);
}

static void
clear_deadline (DvmdUnauthenticated *self)
{
  if (self->timer != 0)
    dvmd_clock_remove_timer (self->gate->clock, self->timer);
  self->timer = 0;
}

void
dvmd_unauthenticated_free (DvmdUnauthenticated *self)
{
  clear_deadline (self);
  g_clear_pointer (&self->reading, dvmd_munge_reading_cancel);
  g_clear_pointer (&self->hello, dvmd_hello_free);
  g_clear_pointer (&self->received, g_bytes_unref);
  dvmd_hello_io_clear (&self->io);
  g_clear_pointer (&self->greeting, g_bytes_unref);
  g_clear_error (&self->refusal);
  g_free (self->name);
  g_free (self->peer);
  g_free (self);
}

const char *
dvmd_unauthenticated_get_peer (DvmdUnauthenticated *self)
{
  return self->peer;
}

gboolean
dvmd_unauthenticated_is_silent (DvmdUnauthenticated *self)
{
  return self->silent || self->state == STATE_MUNGE || self->state == STATE_REFUSED;
}

gboolean
dvmd_unauthenticated_is_proven (DvmdUnauthenticated *self)
{
  return self->has_accepted;
}

static void
fail_peer (DvmdUnauthenticated *self, const GError *error)
{
  if (self->state == STATE_OVER)
    return;
  self->state = STATE_OVER;
  /* The gate may be freed by the call. */
  clear_deadline (self);
  self->funcs->failed (self->user_data, self, error);
  dvmd_unauthenticated_free (self);
}

static void on_munge_late (DvmdUnauthenticated *self);

static void
on_deadline (gpointer user_data)
{
  DvmdUnauthenticated *self = user_data;
  g_autoptr (GError) error = NULL;

  self->timer = 0;
  if (self->state == STATE_MUNGE)
    {
      on_munge_late (self);
      return;
    }
  if (self->refusal != NULL)
    {
      fail_peer (self, self->refusal);
      return;
    }
  g_set_error (&error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_TIMEOUT, "%s within %.3g seconds",
               self->silent ? "it said nothing" : "it did not get through its hello",
               (double)self->gate->deadline / G_USEC_PER_SEC);
  fail_peer (self, error);
}

/* Says why, and waits a moment for the other end to read it: to close at once would reset the connection. */
static void
refuse_peer (DvmdUnauthenticated *self, GError *reason)
{
  g_autoptr (DvmdHello) refusal = dvmd_hello_new_refusal (reason);
  g_autoptr (GBytes) encoded = NULL;

  g_clear_pointer (&self->reading, dvmd_munge_reading_cancel);
  self->refusal = reason;
  self->has_accepted = FALSE;
  self->state = STATE_REFUSED;
  encoded = dvmd_hello_io_send (&self->io, refusal);
  dvmd_hello_io_flush (&self->io, NULL);
  dvmd_socket_end (self->io.stream);
}

static void
discard (DvmdUnauthenticated *self)
{
  guint8 data[4096];
  gssize n;

  do
    {
      n = dvmd_socket_read (self->io.stream, data, sizeof data, NULL);
      self->discarded += MAX (n, 0);
    }
  while (n > 0 && self->discarded < DISCARD_LIMIT);
  if (n != DVMD_STREAM_AGAIN)
    fail_peer (self, self->refusal);
  else
    dvmd_hello_io_watch (&self->io, G_IO_IN, on_socket, self);
}

/* ---- the hello ---- */

static gboolean
refuse_proof (GError **error, const char *reason)
{
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "%s", reason);
  return FALSE;
}

static gboolean
certify (DvmdUnauthenticated *self, GBytes *public_key, DvmdHello *answer, GError **error)
{
  g_autoptr (GBytes) certificate = dvmd_authority_sign (self->gate->authority, public_key, self->rank, error);

  if (certificate == NULL)
    return FALSE;
  dvmd_hello_set_bytes (answer, DVMD_HELLO_CERTIFICATE, certificate);
  dvmd_hello_set_bytes (answer, DVMD_HELLO_AUTHORITY, dvmd_authority_get_certificate (self->gate->authority));
  return TRUE;
}

static DvmdHello *
accept_join (DvmdUnauthenticated *self, DvmdToken *token, const DvmdHello *hello, GBytes *received, GError **error)
{
  gboolean with_key = hello->type != DVMD_HELLO_JOIN_LOCAL;
  g_autoptr (DvmdHello) answer = dvmd_hello_new (with_key ? DVMD_HELLO_ACCEPT_JOIN : DVMD_HELLO_ACCEPT_LOCAL);
  GBytes *public_key = dvmd_hello_get_bytes (hello, DVMD_HELLO_PUBLIC_KEY);

  if (!dvmd_tokens_take (self->gate->tokens, self->launch, &self->rank, self->name, public_key, error)
      || (with_key && !certify (self, public_key, answer, error)))
    return NULL;
  if (with_key)
    dvmd_hello_set_text (answer, DVMD_HELLO_ARGUMENTS,
                         dvmd_tokens_get_arguments (self->gate->tokens, self->launch, self->rank));
  dvmd_hello_set_number (answer, DVMD_HELLO_RANK, 4, self->rank);
  dvmd_hello_prove (answer, token->key, self->greeting, received);
  return g_steal_pointer (&answer);
}

/* Agents that nobody starts prove all in the same way who they are. */
static gboolean
check_means (DvmdUnauthenticated *self, const DvmdHello *hello, GError **error)
{
  gboolean by_munge = dvmd_tokens_get_munge (self->gate->tokens) != NULL;

  if (hello->type == DVMD_HELLO_JOIN_MUNGE && !by_munge)
    return refuse_proof (error, "No agent joins this DVM by munge: bootstrap-auth has to be the same on all nodes");
  if (hello->type != DVMD_HELLO_JOIN_MUNGE && by_munge && self->launch == DVMD_LAUNCH_STANDING)
    return refuse_proof (error,
                         "Agents that start by themselves join this DVM by munge alone: bootstrap-auth has to be "
                         "the same on all nodes");
  return TRUE;
}

/* Checks that a peer may join in this way. */
static gboolean
check_way (DvmdUnauthenticated *self, const DvmdHello *hello, GError **error)
{
  if (self->gate->tokens == NULL)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_REFUSED,
                 "Rank %u lets nobody join: that is the controller's business",
                 dvmd_identity_get_rank (self->gate->identity));
  else if (hello->type != DVMD_HELLO_JOIN_LOCAL && self->gate->authority == NULL)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_REFUSED,
                 "This DVM has no certificates: all of it is on one machine");
  else if (hello->type == DVMD_HELLO_JOIN_LOCAL && !self->local)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_REFUSED,
                 "Whoever comes over a network needs a key for a certificate");
  else
    return check_means (self, hello, error);
  return FALSE;
}

static DvmdHello *
authenticate_joiner (DvmdUnauthenticated *self, const DvmdHello *hello, GBytes *received, GError **error)
{
  g_auto (DvmdToken) token = { 0 };

  self->kind = DVMD_PEER_JOINER;
  self->launch = dvmd_hello_get_number (hello, DVMD_HELLO_TOKEN);
  self->rank = (guint32)dvmd_hello_get_number (hello, DVMD_HELLO_RANK);
  if (!check_way (self, hello, error))
    return NULL;
  /* A peer without the token is not told whether the launch or the proof is wrong. */
  if (!dvmd_tokens_find (self->gate->tokens, self->launch, self->rank, &token)
      || !dvmd_hello_check (hello, token.key, self->greeting, NULL))
    {
      refuse_proof (error, "The token is none of this DVM's, or not that of the rank");
      return NULL;
    }
  return accept_join (self, &token, hello, received, error);
}

static DvmdHello *
authenticate_member (DvmdUnauthenticated *self, const DvmdHello *hello, GBytes *received, GError **error)
{
  g_autoptr (DvmdHello) answer = dvmd_hello_new (DVMD_HELLO_ACCEPT_LINK);
  const guint8 *key = dvmd_identity_get_link_key (self->gate->identity);

  self->kind = DVMD_PEER_MEMBER;
  self->rank = (guint32)dvmd_hello_get_number (hello, DVMD_HELLO_RANK);
  if (!dvmd_hello_check (hello, key, self->greeting, NULL))
    {
      refuse_proof (error, "It is no member of this DVM");
      return NULL;
    }
  if (self->gate->knows != NULL && !self->gate->knows (self->rank, self->gate->knows_data))
    {
      g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_REFUSED,
                   "Rank %u is no member of this DVM any more", self->rank);
      return NULL;
    }
  dvmd_hello_prove (answer, key, self->greeting, received);
  return g_steal_pointer (&answer);
}

/* ---- a joiner whom munge knows ---- */

static void advance (DvmdUnauthenticated *self);

static void
resume (DvmdUnauthenticated *self, GError *reason)
{
  if (reason != NULL)
    refuse_peer (self, reason);
  advance (self);
}

/* The credential says no more than which key the peer has to prove. */
static void
on_munge_read (const DvmdToken *secret, const GError *reason, gpointer user_data)
{
  DvmdUnauthenticated *self = user_data;
  g_autoptr (DvmdHello) answer = NULL;
  g_autoptr (GBytes) encoded = NULL;
  g_auto (DvmdToken) token = { 0 };
  GError *error = NULL;

  self->reading = NULL;
  self->state = STATE_HELLO;
  if (secret == NULL)
    {
      resume (self, g_error_copy (reason));
      return;
    }
  dvmd_token_derive (secret, DVMD_RANK_ANY, &token);
  if (!dvmd_hello_check (self->hello, token.key, self->greeting, NULL))
    refuse_proof (&error, "It does not have the key that is in its credential of munge");
  else
    answer = accept_join (self, &token, self->hello, self->received, &error);
  self->has_accepted = answer != NULL;
  if (answer != NULL)
    encoded = dvmd_hello_io_send (&self->io, answer);
  resume (self, error);
}

static void
on_munge_late (DvmdUnauthenticated *self)
{
  set_deadline (self);
  resume (self, g_error_new (DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_REFUSED,
                             "munge of the controller's machine has not answered within %.3g seconds",
                             (double)self->gate->deadline / G_USEC_PER_SEC));
}

static gboolean
ask_munge (DvmdUnauthenticated *self, DvmdHello *hello, GBytes *received, GError **error)
{
  g_autofree char *credential = dvmd_hello_dup_text (hello, DVMD_HELLO_CREDENTIAL);

  self->kind = DVMD_PEER_JOINER;
  self->launch = DVMD_LAUNCH_STANDING;
  self->rank = DVMD_RANK_ANY;
  if (!check_way (self, hello, error))
    {
      dvmd_hello_free (hello);
      return FALSE;
    }
  self->hello = hello;
  self->received = g_bytes_ref (received);
  self->state = STATE_MUNGE;
  dvmd_hello_io_unwatch (&self->io);
  self->reading = dvmd_munge_keys_read (dvmd_tokens_get_munge (self->gate->tokens), credential, on_munge_read, self);
  return FALSE;
}

/* ---- whatever it says first ---- */

static gboolean
check_first_word (DvmdUnauthenticated *self, const DvmdHello *hello, GError **error)
{
  g_autofree char *name = NULL;

  if (hello->type == DVMD_HELLO_REFUSE)
    {
      dvmd_hello_set_error_from_refusal (hello, "The other end", error);
      return FALSE;
    }
  if (hello->type != DVMD_HELLO_JOIN && hello->type != DVMD_HELLO_JOIN_LOCAL && hello->type != DVMD_HELLO_LINK
      && hello->type != DVMD_HELLO_JOIN_MUNGE)
    {
      g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL,
                   "Its hello is none that one begins with");
      return FALSE;
    }
  if (!dvmd_hello_check_version (hello, self->gate->version, error))
    return FALSE;
  name = dvmd_hello_dup_text (hello, DVMD_HELLO_NAME);
  self->name = dvmd_transport_escape (name);
  return TRUE;
}

/* TRUE: it is answered. */
static gboolean
answer_hello (DvmdUnauthenticated *self, DvmdHello **hello, GBytes *received, GError **error)
{
  g_autoptr (DvmdHello) answer = NULL;
  g_autoptr (GBytes) encoded = NULL;

  if (!check_first_word (self, *hello, error))
    return FALSE;
  if ((*hello)->type == DVMD_HELLO_JOIN_MUNGE)
    return ask_munge (self, g_steal_pointer (hello), received, error);
  answer = (*hello)->type == DVMD_HELLO_LINK ? authenticate_member (self, *hello, received, error)
                                             : authenticate_joiner (self, *hello, received, error);
  if (answer == NULL)
    return FALSE;
  self->has_accepted = TRUE;
  encoded = dvmd_hello_io_send (&self->io, answer);
  return TRUE;
}

static void
say_ready (DvmdUnauthenticated *self)
{
  g_autoptr (DvmdHello) ready = dvmd_hello_new (DVMD_HELLO_READY);
  g_autoptr (GBytes) encoded = NULL;

  dvmd_hello_set (ready, DVMD_HELLO_LINK_KEY, dvmd_identity_get_link_key (self->gate->identity), DVMD_LINK_KEY_SIZE);
  encoded = dvmd_hello_io_send (&self->io, ready);
  dvmd_hello_wipe (encoded);
  self->state = STATE_READY;
}

/* TRUE: go on; FALSE: wait, or it has failed. */
static gboolean
step_hello (DvmdUnauthenticated *self, GError **error)
{
  g_autoptr (DvmdHello) hello = NULL;
  g_autoptr (GBytes) received = NULL;

  if (!dvmd_hello_io_flush (&self->io, error))
    return FALSE;
  if (!self->has_accepted)
    {
      hello = dvmd_hello_io_receive (&self->io, &received, error);
      self->silent = self->silent && hello == NULL && self->io.in->len == 0;
      return hello != NULL && answer_hello (self, &hello, received, error);
    }
  set_deadline (self);
  if (self->gate->without_tls || self->local)
    {
      say_ready (self);
      return TRUE;
    }
  self->state = STATE_TLS;
  return dvmd_socket_start_tls (self->io.stream, self->gate->identity, TRUE, error);
}

static gboolean
step_tls (DvmdUnauthenticated *self, GError **error)
{
  guint32 rank;

  if (dvmd_socket_handshake (self->io.stream, &rank, error) != 1)
    return FALSE;
  if (rank != self->rank)
    {
      g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                   "It says that it is rank %u, and its certificate is that of rank %u", self->rank, rank);
      return FALSE;
    }
  say_ready (self);
  return TRUE;
}

static void
succeed (DvmdUnauthenticated *self)
{
  self->state = STATE_OVER;
  clear_deadline (self);
  self->funcs->joined (self->user_data, self, dvmd_hello_io_steal_stream (&self->io), self->rank, self->name,
                       self->kind);
  dvmd_unauthenticated_free (self);
}

static gboolean
step_ready (DvmdUnauthenticated *self, GError **error)
{
  if (self->kind == DVMD_PEER_JOINER && !self->token_is_spent
      && !dvmd_tokens_joined (self->gate->tokens, self->launch, self->rank))
    return refuse_proof (error, "The token was used before");
  self->token_is_spent = TRUE;
  return dvmd_hello_io_flush (&self->io, error);
}

static gboolean
step (DvmdUnauthenticated *self, GError **error)
{
  switch (self->state)
    {
    case STATE_HELLO:
      return step_hello (self, error);
    case STATE_TLS:
      return step_tls (self, error);
    case STATE_READY:
      return step_ready (self, error);
    case STATE_MUNGE:
    case STATE_REFUSED:
    case STATE_OVER:
      break;
    }
  g_return_val_if_reached (FALSE);
}

static void
advance (DvmdUnauthenticated *self)
{
  g_autoptr (GError) error = NULL;

  while (self->state != STATE_REFUSED && error == NULL)
    {
      gboolean last = self->state == STATE_READY;

      if (step (self, &error))
        {
          if (!last)
            continue;
          succeed (self);
          return;
        }
      if (error == NULL && self->state == STATE_MUNGE)
        return;
      if (error == NULL)
        {
          dvmd_hello_io_await (&self->io, self->state == STATE_TLS, on_socket, self);
          return;
        }
    }
  if (error != NULL && error->code == DVMD_TRANSPORT_ERROR_LOST)
    {
      fail_peer (self, error);
      return;
    }
  if (error != NULL)
    refuse_peer (self, g_steal_pointer (&error));
  discard (self);
}

static gboolean
on_socket (int fd, GIOCondition condition, gpointer user_data)
{
  advance (user_data);
  return G_SOURCE_CONTINUE;
}

DvmdUnauthenticated *
dvmd_unauthenticated_new (DvmdSocket *stream, gboolean local, const DvmdGate *gate,
                          const DvmdUnauthenticatedFuncs *funcs, gpointer user_data)
{
  DvmdUnauthenticated *self = g_new0 (DvmdUnauthenticated, 1);
  g_autoptr (DvmdHello) greeting = dvmd_hello_new (DVMD_HELLO_GREETING);

  self->gate = gate;
  self->funcs = funcs;
  self->user_data = user_data;
  self->local = local;
  self->silent = TRUE;
  self->peer = g_strdup (dvmd_socket_get_peer (stream));
  dvmd_hello_io_init (&self->io, stream);
  dvmd_hello_set_text (greeting, DVMD_HELLO_VERSION, gate->version);
  dvmd_hello_set_text (greeting, DVMD_HELLO_INSTANCE, dvmd_identity_get_instance (gate->identity));
  dvmd_hello_set_number (greeting, DVMD_HELLO_SECURITY, 1, gate->without_tls || local ? 0 : 1);
  dvmd_hello_set_number (greeting, DVMD_HELLO_RANK, 4, dvmd_identity_get_rank (gate->identity));
  dvmd_hello_set_nonce (greeting);
  self->greeting = dvmd_hello_io_send (&self->io, greeting);
  set_deadline (self);
  /* From the loop, as everything that may end it. */
  dvmd_hello_io_watch (&self->io, G_IO_OUT, on_socket, self);
  return self;
}
