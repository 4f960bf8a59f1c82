/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The link to one PMIx server process, its calls, its pings and its end.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-remote.h"

#include <sys/socket.h>

#include <errno.h>

#include <glib/gstdio.h>

#include "dvm.h"
#include "dvmd-wire.h"

/* The library of a server with work is asked this often whether it is still there, and may take so long to say so. */
#define PING_PAUSE (2 * G_TIME_SPAN_SECOND)
#define PING_LIMIT (10 * G_TIME_SPAN_SECOND)
/* One that is told to go, or whose link has ended, is killed then. */
#define STOP_GRACE (2 * G_TIME_SPAN_SECOND)

typedef struct
{
  DvmdPmixAnswer answer;
  gpointer user_data;
} Pending;

struct _DvmdPmixRemote
{
  const DvmdPmixStarter *starter;
  gpointer starter_data;
  DvmdClock *clock;
  const DvmdPmixRemoteFuncs *funcs;
  gpointer user_data;
  DvmdWire *wire;
  int pid;             /* 0: it has ended */
  char *how;           /* (nullable): then, while there may be something to read from it */
  gboolean closed;     /* there is not */
  GHashTable *pending; /* call -> Pending */
  guint64 last_call;
  gboolean started;
  gboolean watched;
  gboolean stopping;
  gboolean ended;     /* and everybody knows */
  const char *reason; /* (nullable): of the end, while it is told */
  gint64 asked_at;    /* monotonic: when the ping was sent that is not answered; 0: none is */
  guint ping_timer;
  guint end_timer;
};

static void
drop_timer (DvmdPmixRemote *self, guint *timer)
{
  dvmd_clock_remove_timer (self->clock, *timer);
  *timer = 0;
}

/* Calls may be made while they are answered: those have no answer either. */
static void
fail_pending (DvmdPmixRemote *self)
{
  while (g_hash_table_size (self->pending) > 0)
    {
      GHashTableIter iter;
      gpointer value;
      g_autofree Pending *pending = NULL;

      g_hash_table_iter_init (&iter, self->pending);
      g_hash_table_iter_next (&iter, NULL, &value);
      g_hash_table_iter_steal (&iter);
      pending = value;
      pending->answer (NULL, pending->user_data);
    }
}

/* The last call of user_data's: it may free self. */
static void
end (DvmdPmixRemote *self, const char *reason)
{
  if (self->ended)
    return;
  self->ended = TRUE;
  drop_timer (self, &self->ping_timer);
  drop_timer (self, &self->end_timer);
  if (self->pid > 0)
    self->starter->kill (self->starter_data, self->pid);
  self->reason = self->stopping ? NULL : reason;
  fail_pending (self);
  self->funcs->ended (self, self->reason, self->user_data);
}

static void
end_as_known (DvmdPmixRemote *self)
{
  g_autofree char *reason = g_steal_pointer (&self->how);

  if (reason == NULL)
    reason = g_strdup_printf ("The PMIx server of the node (process %d) has closed its link", self->pid);
  end (self, reason);
}

static void
on_end_time (gpointer user_data)
{
  DvmdPmixRemote *self = user_data;

  self->end_timer = 0;
  end_as_known (self);
}

static void
await_end (DvmdPmixRemote *self)
{
  if (!self->ended && self->end_timer == 0)
    self->end_timer = dvmd_clock_add_timer (self->clock, STOP_GRACE, on_end_time, self);
}

/* The process may have said who its clients are, which is read before its end counts. */
static void
on_process_ended (const char *how, gpointer user_data)
{
  DvmdPmixRemote *self = user_data;

  self->how = g_strdup_printf ("The PMIx server of the node (process %d) %s", self->pid, how);
  self->pid = 0;
  if (self->closed)
    end_as_known (self);
  else
    await_end (self);
}

/* How the process ended is known in a moment, unless it has not. */
static void
on_closed (DvmdWire *wire, const GError *error, gpointer user_data)
{
  DvmdPmixRemote *self = user_data;

  self->closed = TRUE;
  if (self->how != NULL)
    end_as_known (self);
  else
    await_end (self);
}

/* ---- is it still there ---- */

static void on_ping_time (gpointer user_data);

static void
plan_ping (DvmdPmixRemote *self)
{
  if (self->ping_timer == 0 && !self->ended && (self->watched || self->asked_at != 0))
    self->ping_timer = dvmd_clock_add_timer (self->clock, PING_PAUSE, on_ping_time, self);
}

static void
on_pinged (GVariant *body, gpointer user_data)
{
  ((DvmdPmixRemote *)user_data)->asked_at = 0;
}

static void
ping (DvmdPmixRemote *self)
{
  self->asked_at = dvmd_clock_monotonic (self->clock);
  dvmd_pmix_remote_say (self, DVMD_PMIX_MSG_PING,
                        g_variant_new ("(t)", dvmd_pmix_remote_expect (self, on_pinged, self)));
}

static void
on_ping_time (gpointer user_data)
{
  DvmdPmixRemote *self = user_data;
  gint64 now = dvmd_clock_monotonic (self->clock);

  self->ping_timer = 0;
  if (self->how != NULL)
    return;
  if (self->asked_at != 0 && now - self->asked_at >= PING_LIMIT)
    {
      g_autofree char *reason = g_strdup_printf ("The PMIx server of the node (process %d) has not answered for %d s",
                                                 self->pid, (int)((now - self->asked_at) / G_USEC_PER_SEC));

      end (self, reason);
      return;
    }
  if (self->asked_at == 0 && self->watched)
    ping (self);
  plan_ping (self);
}

void
dvmd_pmix_remote_set_watched (DvmdPmixRemote *self, gboolean watched)
{
  self->watched = watched;
  plan_ping (self);
}

/* ---- messages ---- */

static void
take_answer (DvmdPmixRemote *self, GVariant *body)
{
  g_autofree Pending *pending = NULL;
  gpointer key;
  gpointer value;
  guint64 number;

  g_variant_get_child (body, 0, "t", &number);
  if (!g_hash_table_steal_extended (self->pending, &number, &key, &value))
    return;
  g_free (key);
  pending = value;
  pending->answer (body, pending->user_data);
}

static void
take_started (DvmdPmixRemote *self, GVariant *body)
{
  const char *error;

  g_variant_get (body, "(&s)", &error);
  self->asked_at = 0;
  self->started = error[0] == '\0';
  self->funcs->started (self, self->started ? NULL : error, self->user_data);
  if (!self->started)
    end (self, error);
}

static void
on_packet (DvmdWire *wire, DvmdPacket *packet, gpointer user_data)
{
  DvmdPmixRemote *self = user_data;

  if (self->ended)
    return;
  switch (packet->kind)
    {
    case DVMD_PMIX_MSG_STARTED:
      take_started (self, packet->body);
      break;
    case DVMD_PMIX_MSG_REGISTERED:
    case DVMD_PMIX_MSG_DONE:
    case DVMD_PMIX_MSG_FETCHED:
    case DVMD_PMIX_MSG_ANSWERED:
      take_answer (self, packet->body);
      break;
    default:
      self->funcs->message (self, packet->kind, packet->body, self->user_data);
      break;
    }
}

void
dvmd_pmix_remote_say (DvmdPmixRemote *self, DvmdPmixMessageKind kind, GVariant *body)
{
  g_autoptr (DvmdPacket) packet = dvmd_packet_new (DVMD_PACKET_MESSAGE, 0, 0, kind, body);
  g_autoptr (GError) error = NULL;

  if (!self->ended && !dvmd_wire_send (self->wire, packet, DVMD_WIRE_CONTROL, &error))
    g_debug ("%s is not said to PMIx server %d: %s", dvmd_pmix_message_name (kind), self->pid, error->message);
}

guint64
dvmd_pmix_remote_expect (DvmdPmixRemote *self, DvmdPmixAnswer answer, gpointer user_data)
{
  Pending *pending = g_new0 (Pending, 1);

  pending->answer = answer;
  pending->user_data = user_data;
  self->last_call++;
  g_hash_table_insert (self->pending, g_memdup2 (&self->last_call, sizeof self->last_call), pending);
  return self->last_call;
}

void
dvmd_pmix_remote_stop (DvmdPmixRemote *self)
{
  if (self->stopping || self->ended)
    return;
  dvmd_pmix_remote_say (self, DVMD_PMIX_MSG_STOP, g_variant_new ("()"));
  self->stopping = TRUE;
  if (self->end_timer == 0)
    self->end_timer = dvmd_clock_add_timer (self->clock, STOP_GRACE, on_end_time, self);
}

/* ---- start and end ---- */

static int
start_process (DvmdPmixRemote *self, int *ours, GError **error)
{
  int fds[2];

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "No PMIx server can be started: %s",
                   g_strerror (errno));
      return -1;
    }
  *ours = fds[0];
  return self->starter->start (self->starter_data, fds[1], on_process_ended, self, error);
}

DvmdPmixRemote *
dvmd_pmix_remote_new (const DvmdPmixStarter *starter, gpointer starter_data, DvmdClock *clock,
                      const DvmdPmixSettings *settings, const DvmdPmixRemoteFuncs *funcs, gpointer user_data,
                      GError **error)
{
  DvmdPmixRemote *self = g_new0 (DvmdPmixRemote, 1);
  const DvmdWireOptions options = {
    .clock = clock,
    .body_type = dvmd_pmix_message_type,
    .heartbeat_timeout = DVMD_PMIX_HEARTBEAT,
  };
  g_autofree char *peer = NULL;
  int fd = -1;

  self->starter = starter;
  self->starter_data = starter_data;
  self->clock = dvmd_clock_ref (clock);
  self->funcs = funcs;
  self->user_data = user_data;
  self->pending = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->pid = start_process (self, &fd, error);
  if (self->pid < 0)
    {
      if (fd >= 0)
        g_close (fd, NULL);
      self->pid = 0;
      dvmd_pmix_remote_free (self);
      return NULL;
    }
  peer = g_strdup_printf ("PMIx server %d", self->pid);
  self->wire = dvmd_wire_new (dvmd_socket_new (fd, peer), 0, &options);
  g_signal_connect (self->wire, "packet", G_CALLBACK (on_packet), self);
  g_signal_connect (self->wire, "closed", G_CALLBACK (on_closed), self);
  dvmd_wire_start (self->wire);
  dvmd_pmix_remote_say (self, DVMD_PMIX_MSG_START, dvmd_pmix_settings_to_variant (settings));
  self->asked_at = dvmd_clock_monotonic (clock);
  plan_ping (self);
  return self;
}

void
dvmd_pmix_remote_free (DvmdPmixRemote *self)
{
  if (self->wire != NULL)
    g_signal_handlers_disconnect_by_data (self->wire, self);
  self->ended = TRUE;
  drop_timer (self, &self->ping_timer);
  drop_timer (self, &self->end_timer);
  if (self->pid > 0)
    self->starter->forget (self->starter_data, self->pid);
  fail_pending (self);
  g_clear_object (&self->wire);
  g_hash_table_unref (self->pending);
  g_free (self->how);
  dvmd_clock_unref (self->clock);
  g_free (self);
}

int
dvmd_pmix_remote_get_pid (DvmdPmixRemote *self)
{
  return self->pid;
}

const char *
dvmd_pmix_remote_get_reason (DvmdPmixRemote *self)
{
  return self->reason;
}
