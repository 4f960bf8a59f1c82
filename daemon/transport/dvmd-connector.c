/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A daemon connects to another one, which listens at one of several addresses.
 */

#include "config.h"

#include <string.h>

#include "dvmd-address.h"
#include "dvmd-attempt.h"
#include "dvmd-connector.h"
#include "dvmd-transport-error.h"

#define DEFAULT_TIMEOUT (20 * G_TIME_SPAN_SECOND)
/* When the next address is tried beside one that is slow, and all again after one was cut off. */
#define NEXT_DELAY  (250 * G_TIME_SPAN_MILLISECOND)
#define AGAIN_DELAY (100 * G_TIME_SPAN_MILLISECOND)

typedef struct
{
  DvmdConnectOptions options; /* with copies */
  DvmdToken token;
  gboolean has_token;
  GPtrArray *names;    /* char *, that are to be looked up */
  GArray *ports;       /* guint16, of names */
  GPtrArray *targets;  /* GSocketAddress */
  guint next;          /* of targets */
  GPtrArray *attempts; /* DvmdAttempt */
  gboolean greeted;
  gboolean was_cut_off; /* somebody was there, and ended without a word: it is worth to come again */
  GError *error;        /* the most telling so far */
  char *arguments;      /* (nullable) */
  guint deadline;
  guint timer;
  GSource *cancelled;
} Connecting;

static void try_next (GTask *task);
static void look_up_next (GTask *task);

static void
connecting_free (gpointer data)
{
  Connecting *self = data;

  g_ptr_array_set_free_func (self->attempts, (GDestroyNotify)dvmd_attempt_free);
  g_ptr_array_unref (self->attempts);
  g_ptr_array_unref (self->names);
  g_array_unref (self->ports);
  g_ptr_array_unref (self->targets);
  dvmd_token_clear (&self->token);
  g_clear_error (&self->error);
  g_free (self->arguments);
  dvmd_identity_unref (self->options.identity);
  dvmd_clock_unref (self->options.wire.clock);
  g_free ((char *)self->options.instance);
  g_free ((char *)self->options.name);
  g_free ((char *)self->options.version);
  g_free ((char *)self->options.credential);
  g_free (self);
}

/* The task is over: everything stops, and its reference is given back. */
static void
stop_attempts (GTask *task)
{
  Connecting *self = g_task_get_task_data (task);

  dvmd_clock_remove_timer (self->options.wire.clock, self->deadline);
  dvmd_clock_remove_timer (self->options.wire.clock, self->timer);
  self->deadline = self->timer = 0;
  if (self->cancelled != NULL)
    g_source_destroy (self->cancelled);
  g_clear_pointer (&self->cancelled, g_source_unref);
  for (guint i = 0; i < self->attempts->len; i++)
    dvmd_attempt_free (g_ptr_array_index (self->attempts, i));
  g_ptr_array_set_size (self->attempts, 0);
}

static void
end_with_error (GTask *task, GError *error)
{
  stop_attempts (task);
  g_task_return_error (task, error);
  g_object_unref (task);
}

/* How much an error tells of why. */
static int
weight (const GError *error)
{
  if (error == NULL)
    return -1;
  if (error->domain != DVMD_TRANSPORT_ERROR)
    return 1;
  switch (error->code)
    {
    case DVMD_TRANSPORT_ERROR_AUTHENTICATION:
    case DVMD_TRANSPORT_ERROR_VERSION:
    case DVMD_TRANSPORT_ERROR_REFUSED:
    case DVMD_TRANSPORT_ERROR_NOT_WANTED:
      return 3;
    case DVMD_TRANSPORT_ERROR_UNREACHABLE:
      return 0;
    default:
      return 2;
    }
}

static void
note_error (Connecting *self, const GError *error)
{
  if (weight (error) <= weight (self->error))
    return;
  g_clear_error (&self->error);
  self->error = g_error_copy (error);
}

static GError *
total_error (Connecting *self)
{
  GError *error = self->error != NULL
                      ? g_error_copy (self->error)
                      : g_error_new (DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_UNREACHABLE, "it has no address");

  g_prefix_error (&error, "No link to rank %u: ", self->options.peer_rank);
  return error;
}

static void
on_deadline (gpointer user_data)
{
  GTask *task = user_data;
  Connecting *self = g_task_get_task_data (task);
  const char *peer = NULL;
  GError *error;

  self->deadline = 0;
  for (guint i = 0; i < self->attempts->len; i++)
    if (dvmd_attempt_is_connected (g_ptr_array_index (self->attempts, i)))
      peer = dvmd_attempt_get_peer (g_ptr_array_index (self->attempts, i));
  error = g_error_new (DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_TIMEOUT,
                       "No link to rank %u within %.3g seconds: %s%s%s%s", self->options.peer_rank,
                       (double)self->options.timeout / G_USEC_PER_SEC, peer != NULL ? peer : "nobody answers",
                       peer != NULL ? " is there and does not go on" : "", self->error != NULL ? "; " : "",
                       self->error != NULL ? self->error->message : "");
  end_with_error (task, error);
}

static gboolean
on_cancelled (GCancellable *cancellable, gpointer user_data)
{
  GTask *task = user_data;

  stop_attempts (task);
  g_task_return_error_if_cancelled (task);
  g_object_unref (task);
  return G_SOURCE_REMOVE;
}

/* ---- attempts ---- */

static void
on_timer (gpointer user_data)
{
  Connecting *self = g_task_get_task_data (user_data);

  self->timer = 0;
  try_next (user_data);
}

static void
set_timer (GTask *task, gint64 delay)
{
  Connecting *self = g_task_get_task_data (task);

  dvmd_clock_remove_timer (self->options.wire.clock, self->timer);
  self->timer = dvmd_clock_add_timer (self->options.wire.clock, delay, on_timer, task);
}

static void
on_greeted (gpointer user_data, DvmdAttempt *attempt)
{
  Connecting *self = g_task_get_task_data (user_data);

  self->greeted = TRUE;
  dvmd_clock_remove_timer (self->options.wire.clock, self->timer);
  self->timer = 0;
  for (guint i = self->attempts->len; i-- > 0;)
    if (g_ptr_array_index (self->attempts, i) != attempt)
      {
        dvmd_attempt_free (g_ptr_array_index (self->attempts, i));
        g_ptr_array_remove_index (self->attempts, i);
      }
}

static void
on_joined (gpointer user_data, DvmdAttempt *attempt, DvmdSocket *stream, guint32 peer_rank)
{
  GTask *task = user_data;
  Connecting *self = g_task_get_task_data (task);
  DvmdWire *wire = dvmd_wire_new (stream, peer_rank, &self->options.wire);

  self->arguments = dvmd_attempt_steal_arguments (attempt);
  g_ptr_array_remove (self->attempts, attempt);
  stop_attempts (task);
  g_task_return_pointer (task, wire, g_object_unref);
  g_object_unref (task);
}

static void
on_failed (gpointer user_data, DvmdAttempt *attempt, const GError *error)
{
  GTask *task = user_data;
  Connecting *self = g_task_get_task_data (task);

  g_ptr_array_remove (self->attempts, attempt);
  note_error (self, error);
  if (g_error_matches (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_LOST))
    self->was_cut_off = self->options.credential == NULL; /* munge takes one once */
  if (!self->greeted && self->next < self->targets->len)
    try_next (task);
  else if (self->attempts->len > 0)
    return;
  else if (self->was_cut_off && weight (self->error) < 3)
    {
      self->greeted = self->was_cut_off = FALSE;
      self->next = 0;
      set_timer (task, AGAIN_DELAY);
    }
  else
    end_with_error (task, total_error (self));
}

static const DvmdAttemptFuncs attempt_funcs = { on_greeted, on_joined, on_failed };

static void
try_next (GTask *task)
{
  Connecting *self = g_task_get_task_data (task);

  if (self->next >= self->targets->len)
    return;
  g_ptr_array_add (self->attempts, dvmd_attempt_new (g_ptr_array_index (self->targets, self->next), &self->options,
                                                     self->has_token ? &self->token : NULL, &attempt_funcs, task));
  self->next++;
  if (self->next < self->targets->len)
    set_timer (task, NEXT_DELAY);
}

/* ---- names ---- */

static void
on_looked_up (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  Connecting *self = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;
  GList *addresses = g_resolver_lookup_by_name_finish (G_RESOLVER (object), result, &error);
  guint16 port = g_array_index (self->ports, guint16, 0);

  if (!g_task_get_completed (task) && self->deadline != 0)
    {
      for (GList *link = addresses; link != NULL; link = link->next)
        g_ptr_array_add (self->targets, g_inet_socket_address_new (link->data, port));
      if (error != NULL)
        {
          g_autoptr (GError)
              failure = g_error_new_literal (DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_UNREACHABLE, error->message);

          note_error (self, failure);
        }
      g_ptr_array_remove_index (self->names, 0);
      g_array_remove_index (self->ports, 0);
      look_up_next (task);
    }
  g_resolver_free_addresses (addresses);
}

static void
look_up_next (GTask *task)
{
  Connecting *self = g_task_get_task_data (task);
  g_autoptr (GResolver) resolver = NULL;

  if (self->names->len == 0)
    {
      if (self->targets->len > 0)
        try_next (task);
      else
        end_with_error (task, total_error (self));
      return;
    }
  resolver = g_resolver_get_default ();
  g_resolver_lookup_by_name_async (resolver, g_ptr_array_index (self->names, 0), g_task_get_cancellable (task),
                                   on_looked_up, g_object_ref (task));
}

/* ---- calls ---- */

static gboolean
take_addresses (Connecting *self, const char *const *addresses, GError **error)
{
  for (guint i = 0; addresses[i] != NULL; i++)
    {
      GSocketAddress *address;
      char *host;
      guint16 port;

      if (!dvmd_address_parse (addresses[i], &address, &host, &port, error))
        return FALSE;
      if (address != NULL)
        g_ptr_array_add (self->targets, address);
      else
        {
          g_ptr_array_add (self->names, g_strdup (host));
          g_array_append_val (self->ports, port);
        }
      g_free (host);
    }
  return TRUE;
}

static Connecting *
connecting_new (const DvmdConnectOptions *options)
{
  Connecting *self = g_new0 (Connecting, 1);

  self->options = *options;
  self->options.identity = dvmd_identity_ref (options->identity);
  self->options.wire.clock = dvmd_clock_ref (options->wire.clock);
  self->options.instance = g_strdup (options->instance);
  self->options.name = g_strdup (options->name);
  self->options.version = g_strdup (options->version);
  self->options.credential = g_strdup (options->credential);
  self->options.token = NULL;
  self->options.timeout = options->timeout > 0 ? options->timeout : DEFAULT_TIMEOUT;
  self->has_token = options->token != NULL;
  if (self->has_token && options->token->is_secret)
    dvmd_token_derive (options->token, options->rank, &self->token);
  else if (self->has_token)
    self->token = *options->token;
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->ports = g_array_new (FALSE, FALSE, sizeof (guint16));
  self->targets = g_ptr_array_new_with_free_func (g_object_unref);
  self->attempts = g_ptr_array_new ();
  return self;
}

void
dvmd_connect_async (const char *const *addresses, const DvmdConnectOptions *options, GCancellable *cancellable,
                    GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = g_task_new (NULL, cancellable, callback, user_data);
  Connecting *self = connecting_new (options);
  GError *error = NULL;

  g_task_set_source_tag (task, dvmd_connect_async);
  g_task_set_task_data (task, self, connecting_free);
  if (!take_addresses (self, addresses, &error))
    {
      end_with_error (task, error);
      return;
    }
  self->deadline = dvmd_clock_add_timer (self->options.wire.clock, self->options.timeout, on_deadline, task);
  if (cancellable != NULL)
    {
      self->cancelled = g_cancellable_source_new (cancellable);
      g_source_set_callback (self->cancelled, G_SOURCE_FUNC (on_cancelled), task, NULL);
      g_source_attach (self->cancelled, g_main_context_get_thread_default ());
    }
  look_up_next (task);
}

DvmdWire *
dvmd_connect_finish (GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_async_result_is_tagged (result, dvmd_connect_async), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

char *
dvmd_connect_dup_arguments (GAsyncResult *result)
{
  const char *arguments = ((Connecting *)g_task_get_task_data (G_TASK (result)))->arguments;

  return g_strdup (arguments != NULL ? arguments : "");
}
