/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The connector tries one address here: its side of the hello.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-connector"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gio/gunixsocketaddress.h>
#include <glib-unix.h>

#include "dvmd-attempt.h"
#include "dvmd-hello-io.h"
#include "dvmd-transport-error.h"

#define TUNE_TIMEOUT 20000 /* ms, until the wire sets its own */

typedef enum
{
  STATE_BROKEN, /* could not even begin */
  STATE_CONNECTING,
  STATE_GREETING, /* the other end's is awaited */
  STATE_ANSWER,   /* ours has been said */
  STATE_TLS,
  STATE_READY, /* the last word is awaited */
  STATE_OVER,
} State;

struct _DvmdAttempt
{
  const DvmdConnectOptions *options;
  const DvmdToken *token;
  const DvmdAttemptFuncs *funcs;
  gpointer user_data;
  char *peer;

  DvmdHelloIo io;
  State state;
  int failure; /* errno */
  gboolean local;
  gboolean with_tls;
  guint32 peer_rank;
  char *peer_instance;
  char *arguments; /* (nullable) */
  GBytes *greeting;
  GBytes *said;
  GSource *broken; /* (nullable): tells, from the loop, that it could not begin */
};

static gboolean on_socket (int fd, GIOCondition condition, gpointer user_data);

void
dvmd_attempt_free (DvmdAttempt *self)
{
  if (self->broken != NULL)
    g_source_destroy (self->broken);
  g_clear_pointer (&self->broken, g_source_unref);
  if (self->io.in != NULL)
    dvmd_hello_io_clear (&self->io);
  g_clear_pointer (&self->greeting, g_bytes_unref);
  g_clear_pointer (&self->said, g_bytes_unref);
  g_free (self->peer_instance);
  g_free (self->arguments);
  g_free (self->peer);
  g_free (self);
}

gboolean
dvmd_attempt_is_connected (DvmdAttempt *self)
{
  return self->state > STATE_CONNECTING;
}

const char *
dvmd_attempt_get_peer (DvmdAttempt *self)
{
  return self->peer;
}

char *
dvmd_attempt_steal_arguments (DvmdAttempt *self)
{
  return g_steal_pointer (&self->arguments);
}

static const char *
own_version (DvmdAttempt *self)
{
  return self->options->version != NULL ? self->options->version : DVM_VERSION_STRING;
}

static const guint8 *
proof_key (DvmdAttempt *self)
{
  return self->token != NULL ? self->token->key : dvmd_identity_get_link_key (self->options->identity);
}

static gboolean
fail_attempt (GError **error, int code, const char *reason)
{
  g_set_error (error, DVMD_TRANSPORT_ERROR, code, "%s", reason);
  return FALSE;
}

/* ---- steps: TRUE: go on; FALSE: wait, or it has failed ---- */

static gboolean
step_connecting (DvmdAttempt *self, GError **error)
{
  int status = self->failure;
  socklen_t size = sizeof status;

  if (self->state == STATE_CONNECTING
      && getsockopt (dvmd_socket_get_fd (self->io.stream), SOL_SOCKET, SO_ERROR, &status, &size) < 0)
    status = errno;
  if (status != 0)
    return fail_attempt (error, status == ETIMEDOUT ? DVMD_TRANSPORT_ERROR_TIMEOUT : DVMD_TRANSPORT_ERROR_UNREACHABLE,
                         g_strerror (status));
  self->state = STATE_GREETING;
  return TRUE;
}

static gboolean
is_right_instance (DvmdAttempt *self)
{
  const char *wanted = self->token != NULL ? self->options->instance
                                           : dvmd_identity_get_instance (self->options->identity);

  return wanted == NULL || g_strcmp0 (wanted, self->peer_instance) == 0;
}

/* Tells the other end too, so that both logs have it. */
static gboolean
check_version (DvmdAttempt *self, const DvmdHello *greeting, GError **error)
{
  g_autoptr (GError) failure = NULL;
  g_autoptr (DvmdHello) refusal = NULL;
  g_autoptr (GBytes) encoded = NULL;

  if (dvmd_hello_check_version (greeting, own_version (self), &failure))
    return TRUE;
  refusal = dvmd_hello_new_refusal (failure);
  encoded = dvmd_hello_io_send (&self->io, refusal);
  dvmd_hello_io_flush (&self->io, NULL);
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

static gboolean
check_greeting (DvmdAttempt *self, const DvmdHello *greeting, GError **error)
{
  if (greeting->type != DVMD_HELLO_GREETING)
    return fail_attempt (error, DVMD_TRANSPORT_ERROR_PROTOCOL, "its first word is no greeting");
  if (!check_version (self, greeting, error))
    return FALSE;
  self->peer_rank = (guint32)dvmd_hello_get_number (greeting, DVMD_HELLO_RANK);
  self->with_tls = dvmd_hello_get_number (greeting, DVMD_HELLO_SECURITY) != 0;
  self->peer_instance = dvmd_hello_dup_text (greeting, DVMD_HELLO_INSTANCE);
  if (!is_right_instance (self))
    return fail_attempt (error, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "a daemon of another DVM answers");
  if (self->with_tls && !dvmd_identity_has_key (self->options->identity))
    return fail_attempt (error, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                         "it wants a certificate, and this daemon has none: it knows links of its own machine alone");
  if (self->peer_rank == self->options->peer_rank)
    return TRUE;
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "rank %u answers instead of rank %u",
               self->peer_rank, self->options->peer_rank);
  return FALSE;
}

/* How it is begun, or answered. */
static DvmdHelloType
choose_type (DvmdAttempt *self, DvmdHelloType link, DvmdHelloType join, DvmdHelloType local)
{
  if (self->token == NULL)
    return link;
  return dvmd_identity_has_key (self->options->identity) ? join : local;
}

static void
say_who (DvmdAttempt *self)
{
  const char *credential = self->options->credential;
  g_autoptr (DvmdHello) hello = dvmd_hello_new (choose_type (
      self, DVMD_HELLO_LINK, credential != NULL ? DVMD_HELLO_JOIN_MUNGE : DVMD_HELLO_JOIN, DVMD_HELLO_JOIN_LOCAL));
  DvmdIdentity *identity = self->options->identity;

  dvmd_hello_set_text (hello, DVMD_HELLO_VERSION, own_version (self));
  dvmd_hello_set_nonce (hello);
  dvmd_hello_set_text (hello, DVMD_HELLO_NAME, self->options->name);
  if (hello->type == DVMD_HELLO_JOIN_MUNGE)
    {
      dvmd_hello_set_bytes (hello, DVMD_HELLO_PUBLIC_KEY, dvmd_identity_get_public_key (identity));
      dvmd_hello_set_text (hello, DVMD_HELLO_CREDENTIAL, credential);
    }
  else if (self->token != NULL)
    {
      dvmd_hello_set_number (hello, DVMD_HELLO_RANK, 4, self->token->rank);
      dvmd_hello_set_number (hello, DVMD_HELLO_TOKEN, 8, self->token->launch);
      dvmd_hello_set_bytes (hello, DVMD_HELLO_PUBLIC_KEY, dvmd_identity_get_public_key (identity));
    }
  else
    {
      dvmd_hello_set_text (hello, DVMD_HELLO_INSTANCE, dvmd_identity_get_instance (identity));
      dvmd_hello_set_number (hello, DVMD_HELLO_RANK, 4, dvmd_identity_get_rank (identity));
    }
  dvmd_hello_prove (hello, proof_key (self), self->greeting, NULL);
  self->said = dvmd_hello_io_send (&self->io, hello);
  self->state = STATE_ANSWER;
}

static gboolean
step_greeting (DvmdAttempt *self, GError **error)
{
  g_autoptr (DvmdHello) greeting = dvmd_hello_io_receive (&self->io, &self->greeting, error);

  if (greeting == NULL || !check_greeting (self, greeting, error))
    return FALSE;
  self->funcs->greeted (self->user_data, self);
  say_who (self);
  return TRUE;
}

static gboolean
take_name (DvmdAttempt *self, const DvmdHello *answer, GError **error)
{
  DvmdIdentity *identity = self->options->identity;
  guint32 rank = (guint32)dvmd_hello_get_number (answer, DVMD_HELLO_RANK);
  gboolean is_known = dvmd_identity_get_instance (identity) != NULL;

  /* From an attempt that was cut off later it is known. */
  if (!is_known && answer->type == DVMD_HELLO_ACCEPT_LOCAL)
    dvmd_identity_set_name (identity, self->peer_instance, rank);
  else if (!is_known
           && !dvmd_identity_set_certificate (identity, dvmd_hello_get_bytes (answer, DVMD_HELLO_CERTIFICATE),
                                              dvmd_hello_get_bytes (answer, DVMD_HELLO_AUTHORITY), error))
    return FALSE;
  if (dvmd_identity_get_rank (identity) != rank || (self->token->rank != DVMD_RANK_ANY && self->token->rank != rank))
    return fail_attempt (error, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "it gives the name of another rank");
  g_clear_pointer (&self->arguments, g_free);
  if (answer->type == DVMD_HELLO_ACCEPT_JOIN)
    self->arguments = dvmd_hello_dup_text (answer, DVMD_HELLO_ARGUMENTS);
  return TRUE;
}

static gboolean
take_answer (DvmdAttempt *self, const DvmdHello *answer, GError **error)
{
  if (answer->type == DVMD_HELLO_REFUSE)
    {
      dvmd_hello_set_error_from_refusal (answer, "it", error);
      return FALSE;
    }
  if (answer->type != choose_type (self, DVMD_HELLO_ACCEPT_LINK, DVMD_HELLO_ACCEPT_JOIN, DVMD_HELLO_ACCEPT_LOCAL))
    return fail_attempt (error, DVMD_TRANSPORT_ERROR_PROTOCOL, "its answer is none to what was asked");
  if (!dvmd_hello_check (answer, proof_key (self), self->greeting, self->said))
    return fail_attempt (error, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "it does not prove that it is of this DVM");
  return self->token == NULL || take_name (self, answer, error);
}

static gboolean
step_answer (DvmdAttempt *self, GError **error)
{
  g_autoptr (DvmdHello) answer = NULL;

  if (!dvmd_hello_io_flush (&self->io, error))
    return FALSE;
  answer = dvmd_hello_io_receive (&self->io, NULL, error);
  if (answer == NULL || !take_answer (self, answer, error))
    return FALSE;
  self->state = self->with_tls ? STATE_TLS : STATE_READY;
  if (!self->with_tls && !self->local)
    g_message ("security=none: the link to rank %u at %s is not encrypted", self->peer_rank, self->peer);
  return !self->with_tls || dvmd_socket_start_tls (self->io.stream, self->options->identity, FALSE, error);
}

static gboolean
step_tls (DvmdAttempt *self, GError **error)
{
  guint32 rank;

  if (dvmd_socket_handshake (self->io.stream, &rank, error) != 1)
    return FALSE;
  if (rank != self->peer_rank)
    return fail_attempt (error, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "its certificate is that of another rank");
  self->state = STATE_READY;
  return TRUE;
}

static gboolean
step_ready (DvmdAttempt *self, GError **error)
{
  g_autoptr (DvmdHello) ready = dvmd_hello_io_receive (&self->io, NULL, error);

  if (ready == NULL)
    return FALSE;
  if (ready->type == DVMD_HELLO_REFUSE)
    {
      dvmd_hello_set_error_from_refusal (ready, "it", error);
      return FALSE;
    }
  if (ready->type != DVMD_HELLO_READY)
    return fail_attempt (error, DVMD_TRANSPORT_ERROR_PROTOCOL, "its last word is another than expected");
  dvmd_identity_set_link_key (self->options->identity, dvmd_hello_get (ready, DVMD_HELLO_LINK_KEY));
  self->state = STATE_OVER;
  return TRUE;
}

static gboolean
step (DvmdAttempt *self, GError **error)
{
  switch (self->state)
    {
    case STATE_BROKEN:
    case STATE_CONNECTING:
      return step_connecting (self, error);
    case STATE_GREETING:
      return step_greeting (self, error);
    case STATE_ANSWER:
      return step_answer (self, error);
    case STATE_TLS:
      return step_tls (self, error);
    case STATE_READY:
      return step_ready (self, error);
    case STATE_OVER:
      break;
    }
  g_return_val_if_reached (FALSE);
}

static void
give_up (DvmdAttempt *self, GError *error)
{
  dvmd_hello_io_unwatch (&self->io);
  g_prefix_error (&error, "%s: ", self->peer);
  self->funcs->failed (self->user_data, self, error);
  g_error_free (error);
  dvmd_attempt_free (self);
}

static gboolean
on_socket (int fd, GIOCondition condition, gpointer user_data)
{
  DvmdAttempt *self = user_data;
  GError *error = NULL;

  while (self->state != STATE_OVER && step (self, &error))
    ;
  if (error != NULL)
    give_up (self, error);
  else if (self->state == STATE_OVER)
    {
      self->funcs->joined (self->user_data, self, dvmd_hello_io_steal_stream (&self->io), self->peer_rank);
      dvmd_attempt_free (self);
    }
  else
    dvmd_hello_io_await (&self->io, self->state == STATE_TLS, on_socket, self);
  return G_SOURCE_CONTINUE;
}

/* ---- beginning ---- */

static void
begin_attempt (DvmdAttempt *self, GSocketAddress *address)
{
  struct sockaddr_storage native;
  gssize size = g_socket_address_get_native_size (address);
  int fd;

  self->state = STATE_BROKEN;
  if (!g_socket_address_to_native (address, &native, sizeof native, NULL))
    {
      self->failure = EAFNOSUPPORT;
      return;
    }
  fd = socket (native.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    {
      self->failure = errno;
      return;
    }
  dvmd_hello_io_init (&self->io, dvmd_socket_new (fd, self->peer));
  dvmd_socket_tune (self->io.stream, TUNE_TIMEOUT);
  if (connect (fd, (struct sockaddr *)&native, (socklen_t)size) == 0 || errno == EINPROGRESS)
    self->state = STATE_CONNECTING;
  else
    self->failure = errno;
}

static gboolean
on_broken (gpointer user_data)
{
  return on_socket (-1, 0, user_data);
}

static void
watch_begin (DvmdAttempt *self)
{
  if (self->state == STATE_CONNECTING)
    {
      dvmd_hello_io_watch (&self->io, G_IO_OUT, on_socket, self);
      return;
    }
  self->broken = g_idle_source_new ();
  g_source_set_callback (self->broken, on_broken, self, NULL);
  g_source_attach (self->broken, g_main_context_get_thread_default ());
}

DvmdAttempt *
dvmd_attempt_new (GSocketAddress *address, const DvmdConnectOptions *options, const DvmdToken *token,
                  const DvmdAttemptFuncs *funcs, gpointer user_data)
{
  DvmdAttempt *self = g_new0 (DvmdAttempt, 1);

  self->options = options;
  self->token = token;
  self->funcs = funcs;
  self->user_data = user_data;
  self->local = G_IS_UNIX_SOCKET_ADDRESS (address);
  self->peer = self->local ? g_strdup (g_unix_socket_address_get_path (G_UNIX_SOCKET_ADDRESS (address)))
                           : g_socket_connectable_to_string (G_SOCKET_CONNECTABLE (address));
  begin_attempt (self, address);
  watch_begin (self);
  return self;
}
