/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A wire is one connection between two neighbours of the tree, over which packets go.
 */

#include "config.h"

#include <poll.h>
#include <string.h>

#include "dvmd-transport-error.h"
#include "dvmd-turn-source.h"
#include "dvmd-wire.h"

#define DEFAULT_BULK_LIMIT    ((gsize)1024 * 1024)
#define DEFAULT_CONTROL_LIMIT ((gsize)256 * 1024 * 1024)
#define DEFAULT_HEARTBEAT     (20 * G_TIME_SPAN_SECOND)
#define CLOSE_LIMIT           (5 * G_TIME_SPAN_SECOND)

/* One link handles so much before others get their turn. */
#define PACKETS_PER_TURN 64
#define BYTES_PER_TURN   ((gsize)1024 * 1024)

/* Read beyond the body that is wanted: all of short packets, and little that has to be copied of long ones. */
#define READ_AHEAD ((gsize)4 * 1024)
/* Parts of frames in one write. */
#define PARTS_AT_ONCE 64
/* TLS makes one record of so many bytes. */
#define RECORD_SIZE ((gsize)16 * 1024)

typedef enum
{
  STATE_NEW,
  STATE_OPEN,
  STATE_CLOSING,   /* what was sent still goes */
  STATE_LINGERING, /* all has gone; the other end has to see it */
  STATE_CLOSED,
} State;

struct _DvmdWire
{
  GObject parent_instance;

  DvmdSocket *stream; /* until CLOSED */
  char *peer;
  guint32 rank;
  DvmdWireOptions options;
  gboolean encrypted;
  State state;
  GError *failure; /* found in a call, told from the main loop */

  GSource *source;
  gpointer fd_tag;
  guint tick;     /* timer */
  guint deadline; /* timer, of closing */
  gint64 last_received;
  gint64 tick_due;
  gint64 last_sent;

  DvmdOutbox *outbox;
  gboolean bulk_refused;
  guint8 *record; /* (nullable): in TLS; what was offered once must be offered again */
  gsize record_start;
  gsize record_end;
  gboolean blocked;
  gboolean waits_for_room; /* the source does */

  guint8 *in;
  gsize in_start;
  gsize in_end;
  DvmdPacket *packet; /* whose body is not whole */
  const GVariantType *body_type;
  guint8 *body;
  gsize body_size;
  gsize body_got;
  gboolean drained; /* all that there was has been read: poll() tells when there is more; never in TLS */
  gboolean received_bye;

  DvmdWireStatistics statistics;
};

G_DEFINE_FINAL_TYPE (DvmdWire, dvmd_wire, G_TYPE_OBJECT)
G_DEFINE_BOXED_TYPE (DvmdPacket, dvmd_packet, dvmd_packet_ref, dvmd_packet_unref)

enum
{
  SIGNAL_PACKET,
  SIGNAL_DRAINED,
  SIGNAL_CLOSED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

/* ---- the end ---- */

static void
release_wire (DvmdWire *self)
{
  dvmd_clock_remove_timer (self->options.clock, self->tick);
  dvmd_clock_remove_timer (self->options.clock, self->deadline);
  self->tick = self->deadline = 0;
  g_clear_pointer (&self->source, dvmd_turn_source_free);
  g_clear_pointer (&self->stream, dvmd_socket_free);
  g_clear_pointer (&self->outbox, dvmd_outbox_free);
  g_clear_pointer (&self->packet, dvmd_packet_unref);
  g_clear_pointer (&self->body, g_free);
  g_clear_pointer (&self->in, g_free);
  g_clear_pointer (&self->record, g_free);
  self->state = STATE_CLOSED;
}

/* error: (transfer full) (nullable) */
static void
finish_wire (DvmdWire *self, GError *error)
{
  g_autoptr (GError) reason = error;
  gboolean was_closing = self->state == STATE_CLOSING || self->state == STATE_LINGERING;

  if (self->state == STATE_CLOSED)
    return;
  g_object_ref (self);
  release_wire (self);
  if (reason != NULL)
    g_prefix_error (&reason, "Link to rank %u at %s: ", self->rank, self->peer);
  g_signal_emit (self, signals[SIGNAL_CLOSED], 0, reason);
  /* Closing keeps itself alive. */
  if (was_closing)
    g_object_unref (self);
  g_object_unref (self);
}

/* ---- what is sent ---- */

static void
kick (DvmdWire *self)
{
  if (self->source != NULL)
    dvmd_turn_source_request (self->source);
}

static void
enqueue (DvmdWire *self, DvmdWirePriority priority, const guint8 *header, GVariant *body)
{
  dvmd_outbox_add (self->outbox, priority, header, body);
  kick (self);
}

/* A frame of the link's own. */
static void
enqueue_own (DvmdWire *self, guint8 type, DvmdWirePriority priority)
{
  g_autoptr (DvmdPacket) packet = dvmd_packet_new ((DvmdPacketType)type, 0, 0, 0, NULL);
  guint8 header[DVMD_FRAME_HEADER_SIZE];
  gsize size;

  dvmd_frame_write_header (packet, 0, header, &size, NULL);
  enqueue (self, priority, header, NULL);
}

static void
take_sent (DvmdWire *self, gsize n_bytes)
{
  self->statistics.frames_sent += dvmd_outbox_take (self->outbox, n_bytes);
}

/* Several frames into one record. */
static void
fill_record (DvmdWire *self)
{
  struct iovec part;

  self->record_start = self->record_end = 0;
  while (self->record_end < RECORD_SIZE && dvmd_outbox_peek (self->outbox, &part, 1) > 0)
    {
      gsize n = MIN (part.iov_len, RECORD_SIZE - self->record_end);

      memcpy (self->record + self->record_end, part.iov_base, n);
      self->record_end += n;
      take_sent (self, n);
    }
}

static gboolean
has_output (DvmdWire *self)
{
  return self->record_start < self->record_end || !dvmd_outbox_is_empty (self->outbox);
}

static gssize
write_record (DvmdWire *self, GError **error)
{
  gssize n;

  if (self->record_start == self->record_end)
    fill_record (self);
  n = dvmd_socket_write (self->stream, self->record + self->record_start, self->record_end - self->record_start, error);
  self->record_start += MAX (n, 0);
  return n;
}

static gssize
write_parts (DvmdWire *self, GError **error)
{
  struct iovec parts[PARTS_AT_ONCE];
  guint n_parts = dvmd_outbox_peek (self->outbox, parts, PARTS_AT_ONCE);
  gssize n = dvmd_socket_write_vector (self->stream, parts, n_parts, error);

  if (n > 0)
    take_sent (self, (gsize)n);
  return n;
}

static gboolean
write_some (DvmdWire *self, GError **error)
{
  gsize budget = BYTES_PER_TURN;

  self->blocked = FALSE;
  while (budget > 0)
    {
      gssize n;

      if (!has_output (self))
        return TRUE;
      n = self->encrypted ? write_record (self, error) : write_parts (self, error);
      self->blocked = n == DVMD_STREAM_AGAIN;
      if (n < 0)
        return self->blocked;
      self->statistics.bytes_sent += n;
      self->last_sent = dvmd_clock_monotonic (self->options.clock);
      budget -= MIN (budget, (gsize)n);
    }
  kick (self);
  return TRUE;
}

static void
begin_lingering (DvmdWire *self)
{
  self->state = STATE_LINGERING;
  dvmd_socket_end (self->stream);
}

static gboolean
do_output (DvmdWire *self)
{
  g_autoptr (GError) error = NULL;

  if (has_output (self) && !write_some (self, &error))
    {
      /* The messages that the other end sent before it went are still read; the failure is reported after them. */
      if (self->state == STATE_OPEN && error->code == DVMD_TRANSPORT_ERROR_LOST && self->failure == NULL)
        self->failure = g_steal_pointer (&error);
      else
        finish_wire (self, g_steal_pointer (&error));
      kick (self);
      return self->state != STATE_CLOSED;
    }
  if (self->state == STATE_CLOSING && !has_output (self))
    begin_lingering (self);
  if (self->bulk_refused && self->state == STATE_OPEN
      && dvmd_outbox_get_size (self->outbox, DVMD_WIRE_BULK) <= self->options.bulk_limit / 2)
    {
      self->bulk_refused = FALSE;
      g_signal_emit (self, signals[SIGNAL_DRAINED], 0);
    }
  return self->state != STATE_CLOSED;
}

/* ---- what is received ---- */

static void
note_read (DvmdWire *self, gsize n)
{
  self->statistics.bytes_received += n;
  self->last_received = dvmd_clock_monotonic (self->options.clock);
}

/* Into the body that is not whole, and what comes after it into the buffer. */
static gssize
read_some (DvmdWire *self, GError **error)
{
  gsize wanted = self->body != NULL ? self->body_size - self->body_got : 0;
  struct iovec parts[2];
  guint n_parts = 0;
  gsize room;
  gsize of_body;
  gssize n;

  if (self->in_start > 0)
    memmove (self->in, self->in + self->in_start, self->in_end - self->in_start);
  self->in_end -= self->in_start;
  self->in_start = 0;
  room = READ_AHEAD - self->in_end;
  if (wanted > 0)
    parts[n_parts++] = (struct iovec){ self->body + self->body_got, wanted };
  parts[n_parts++] = (struct iovec){ self->in + self->in_end, room };
  n = dvmd_socket_read_vector (self->stream, parts, n_parts, error);
  self->drained = !self->encrypted && (n == DVMD_STREAM_AGAIN || (n > 0 && (gsize)n < wanted + room));
  if (n <= 0)
    return n;
  of_body = MIN ((gsize)n, wanted);
  self->body_got += of_body;
  self->in_end += (gsize)n - of_body;
  note_read (self, (gsize)n);
  return n;
}

static gboolean
begin_packet (DvmdWire *self, GError **error)
{
  self->packet = dvmd_frame_read_header (self->in + self->in_start, self->options.max_body, self->options.body_type,
                                         &self->body_size, &self->body_type, error);
  if (self->packet == NULL)
    return FALSE;
  self->in_start += DVMD_FRAME_HEADER_SIZE;
  self->body = self->body_size > 0 ? g_malloc (self->body_size) : NULL;
  self->body_got = 0;
  return TRUE;
}

/* The next whole packet. NULL without error: more bytes are wanted. */
static DvmdPacket *
parse_packet (DvmdWire *self, GError **error)
{
  gsize n;

  if (self->packet == NULL && (self->in_end - self->in_start < DVMD_FRAME_HEADER_SIZE || !begin_packet (self, error)))
    return NULL;
  n = MIN (self->body_size - self->body_got, self->in_end - self->in_start);
  if (n > 0)
    memcpy (self->body + self->body_got, self->in + self->in_start, n);
  self->in_start += n;
  self->body_got += n;
  if (self->body_got < self->body_size
      || !dvmd_frame_take_body (self->packet, self->body_type, g_steal_pointer (&self->body), self->body_size, error))
    return NULL;
  return g_steal_pointer (&self->packet);
}

static void
deliver_packet (DvmdWire *self, DvmdPacket *packet)
{
  guint type = packet->type;

  if (type == DVMD_FRAME_BYE)
    self->received_bye = TRUE;
  else if (type != DVMD_FRAME_BEAT && self->state == STATE_OPEN)
    {
      self->statistics.frames_received++;
      g_signal_emit (self, signals[SIGNAL_PACKET], 0, packet);
    }
}

static GError *
ended_error (DvmdWire *self)
{
  if (self->received_bye)
    return g_error_new (DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_CLOSED, "the other end has closed it");
  return g_error_new (DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_LOST, "the other end is gone without a word");
}

/* Discards what comes, to see the end. */
static void
linger (DvmdWire *self)
{
  for (guint i = 0; i < PACKETS_PER_TURN; i++)
    {
      gssize n = dvmd_socket_read (self->stream, self->in, READ_AHEAD, NULL);

      if (n == DVMD_STREAM_AGAIN)
        return;
      if (n <= 0)
        {
          finish_wire (self, self->state == STATE_CLOSING ? ended_error (self) : NULL);
          return;
        }
      note_read (self, (gsize)n);
    }
  kick (self);
}

static void
do_input (DvmdWire *self)
{
  gsize budget = BYTES_PER_TURN;
  guint n_packets = 0;

  while (self->state == STATE_OPEN)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdPacket) packet = NULL;
      gssize n;

      if (n_packets == PACKETS_PER_TURN || budget == 0)
        {
          kick (self);
          return;
        }
      packet = parse_packet (self, &error);
      if (packet != NULL)
        {
          deliver_packet (self, packet);
          n_packets++;
          if (self->received_bye && self->state == STATE_OPEN)
            finish_wire (self, ended_error (self));
          continue;
        }
      if (error == NULL && self->drained)
        return;
      n = error == NULL ? read_some (self, &error) : DVMD_STREAM_FAILED;
      if (n == DVMD_STREAM_AGAIN)
        return;
      if (n <= 0)
        {
          finish_wire (self, error != NULL ? g_steal_pointer (&error) : ended_error (self));
          return;
        }
      budget -= MIN (budget, (gsize)n);
    }
  if (self->state == STATE_CLOSING || self->state == STATE_LINGERING)
    linger (self);
}

/* ---- the source ---- */

static void
update_condition (DvmdWire *self)
{
  /* Each change wakes the loop once more. */
  if (self->blocked == self->waits_for_room)
    return;
  self->waits_for_room = self->blocked;
  g_source_modify_unix_fd (self->source, self->fd_tag, G_IO_IN | (self->blocked ? G_IO_OUT : 0));
}

static gboolean
on_source (gpointer user_data)
{
  g_autoptr (DvmdWire) self = g_object_ref (user_data);
  GIOCondition condition = g_source_query_unix_fd (self->source, self->fd_tag);

  if (!self->blocked || (condition & (G_IO_OUT | G_IO_ERR | G_IO_HUP)) != 0)
    if (!do_output (self))
      return G_SOURCE_REMOVE;
  if ((condition & ~G_IO_OUT) != 0 || self->failure != NULL)
    self->drained = FALSE;
  do_input (self);
  if (self->state != STATE_CLOSED && self->failure != NULL)
    finish_wire (self, g_steal_pointer (&self->failure));
  if (self->state == STATE_CLOSED)
    return G_SOURCE_REMOVE;
  update_condition (self);
  return G_SOURCE_CONTINUE;
}

/* ---- heartbeat ---- */

static gboolean
has_unread (DvmdWire *self)
{
  struct pollfd poll_fd = { dvmd_socket_get_fd (self->stream), POLLIN, 0 };

  return poll (&poll_fd, 1, 0) > 0;
}

static void on_tick (gpointer user_data);

static void
add_tick (DvmdWire *self, gint64 now)
{
  gint64 pause = self->options.heartbeat_timeout / 4;

  self->tick_due = now + pause;
  self->tick = dvmd_clock_add_timer (self->options.clock, pause, on_tick, self);
}

static void
on_tick (gpointer user_data)
{
  DvmdWire *self = user_data;
  gint64 now = dvmd_clock_monotonic (self->options.clock);
  gint64 pause = self->options.heartbeat_timeout / 4;

  self->tick = 0;
  /*
   * If it was this process that stood still, what has come in the meantime counts; the other end may have stood still
   * with it, and has until the next time.
   */
  if (now - self->last_received >= self->options.heartbeat_timeout && now - self->tick_due < pause
      && !has_unread (self))
    {
      finish_wire (self, g_error_new (DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_TIMEOUT,
                                      "nothing was heard for %.3g seconds",
                                      (double)(now - self->last_received) / G_USEC_PER_SEC));
      return;
    }
  if (now - self->last_sent >= pause && !has_output (self) && self->state == STATE_OPEN)
    enqueue_own (self, DVMD_FRAME_BEAT, DVMD_WIRE_CONTROL);
  add_tick (self, now);
}

static void
on_deadline (gpointer user_data)
{
  DvmdWire *self = user_data;

  self->deadline = 0;
  finish_wire (self, self->state == STATE_LINGERING
                         ? NULL
                         : g_error_new (DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_TIMEOUT,
                                        "the other end does not take what was sent before the link was closed"));
}

/* ---- calls ---- */

void
dvmd_wire_start (DvmdWire *self)
{
  g_return_if_fail (self->state == STATE_NEW);

  self->state = STATE_OPEN;
  self->last_received = self->last_sent = dvmd_clock_monotonic (self->options.clock);
  self->source = dvmd_turn_source_new (g_main_context_get_thread_default (), "dvmd wire", on_source, self);
  self->fd_tag = g_source_add_unix_fd (self->source, dvmd_socket_get_fd (self->stream), G_IO_IN);
  add_tick (self, self->last_received);
  /* TLS may have read packets already. */
  kick (self);
}

guint32
dvmd_wire_get_rank (DvmdWire *self)
{
  return self->rank;
}

gboolean
dvmd_wire_is_encrypted (DvmdWire *self)
{
  return self->encrypted;
}

static gboolean
is_right_body (DvmdWire *self, DvmdPacket *packet)
{
  const GVariantType *type = self->options.body_type (packet->type, packet->kind);

  if (type == NULL)
    return FALSE;
  return packet->body != NULL ? g_variant_is_of_type (packet->body, type)
                              : g_variant_type_equal (type, G_VARIANT_TYPE_UNIT);
}

static gboolean
has_room (DvmdWire *self, gsize size, DvmdWirePriority priority, GError **error)
{
  gsize queued = dvmd_outbox_get_size (self->outbox, priority);

  if (priority == DVMD_WIRE_CONTROL)
    {
      if (queued + size <= self->options.control_limit || queued == 0)
        return TRUE;
      if (self->failure == NULL)
        self->failure = g_error_new (DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_RESOURCE,
                                     "the other end lets %" G_GSIZE_FORMAT " bytes wait", queued);
      kick (self);
    }
  else if (queued + size <= self->options.bulk_limit || queued == 0)
    return TRUE;
  else
    self->bulk_refused = TRUE;
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_RESOURCE,
               "%" G_GSIZE_FORMAT " bytes wait for rank %u already", queued, self->rank);
  return FALSE;
}

gboolean
dvmd_wire_send (DvmdWire *self, DvmdPacket *packet, DvmdWirePriority priority, GError **error)
{
  guint8 header[DVMD_FRAME_HEADER_SIZE];
  gsize size;

  g_return_val_if_fail (DVMD_IS_WIRE (self) && is_right_body (self, packet), FALSE);

  if (self->state > STATE_OPEN || self->failure != NULL)
    {
      g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_CLOSED, "The link to rank %u has ended",
                   self->rank);
      return FALSE;
    }
  if (!dvmd_frame_write_header (packet, self->options.max_body, header, &size, error)
      || !has_room (self, DVMD_FRAME_HEADER_SIZE + size, priority, error))
    return FALSE;
  enqueue (self, priority, header, size > 0 ? packet->body : NULL);
  return TRUE;
}

gsize
dvmd_wire_get_queued (DvmdWire *self, DvmdWirePriority priority)
{
  return self->outbox != NULL ? dvmd_outbox_get_size (self->outbox, priority) : 0;
}

gboolean
dvmd_wire_is_writable (DvmdWire *self)
{
  return self->state <= STATE_OPEN && dvmd_outbox_get_size (self->outbox, DVMD_WIRE_BULK) < self->options.bulk_limit;
}

void
dvmd_wire_close (DvmdWire *self)
{
  if (self->state == STATE_NEW)
    dvmd_wire_start (self);
  if (self->state != STATE_OPEN)
    return;
  self->state = STATE_CLOSING;
  /* Until finish(). */
  g_object_ref (self);
  enqueue_own (self, DVMD_FRAME_BYE, DVMD_WIRE_BULK);
  self->deadline = dvmd_clock_add_timer (self->options.clock, CLOSE_LIMIT, on_deadline, self);
}

void
dvmd_wire_get_statistics (DvmdWire *self, DvmdWireStatistics *statistics)
{
  *statistics = self->statistics;
}

DvmdWire *
dvmd_wire_new (DvmdSocket *stream, guint32 rank, const DvmdWireOptions *options)
{
  DvmdWire *self = g_object_new (DVMD_TYPE_WIRE, NULL);

  self->stream = stream;
  self->peer = g_strdup (dvmd_socket_get_peer (stream));
  self->encrypted = dvmd_socket_is_encrypted (stream);
  self->record = self->encrypted ? g_malloc (RECORD_SIZE) : NULL;
  self->rank = rank;
  self->options = *options;
  self->options.clock = dvmd_clock_ref (options->clock);
  self->options.max_body = options->max_body > 0 ? options->max_body : DVMD_FRAME_DEFAULT_LIMIT;
  self->options.bulk_limit = options->bulk_limit > 0 ? options->bulk_limit : DEFAULT_BULK_LIMIT;
  self->options.control_limit = options->control_limit > 0 ? options->control_limit : DEFAULT_CONTROL_LIMIT;
  self->options.heartbeat_timeout = options->heartbeat_timeout > 0 ? options->heartbeat_timeout : DEFAULT_HEARTBEAT;
  dvmd_socket_tune (stream, (guint)(self->options.heartbeat_timeout / 1000));
  return self;
}

void
dvmd_wire_set_heartbeat_timeout (DvmdWire *self, gint64 timeout)
{
  g_return_if_fail (self->state == STATE_NEW && timeout > 0);

  self->options.heartbeat_timeout = timeout;
  dvmd_socket_tune (self->stream, (guint)(timeout / 1000));
}

static void
dvmd_wire_dispose (GObject *object)
{
  DvmdWire *self = DVMD_WIRE (object);

  if (self->options.clock != NULL)
    release_wire (self);
  g_clear_pointer (&self->options.clock, dvmd_clock_unref);
  g_clear_error (&self->failure);
  G_OBJECT_CLASS (dvmd_wire_parent_class)->dispose (object);
}

static void
dvmd_wire_finalize (GObject *object)
{
  g_free (DVMD_WIRE (object)->peer);
  G_OBJECT_CLASS (dvmd_wire_parent_class)->finalize (object);
}

static void
dvmd_wire_class_init (DvmdWireClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = dvmd_wire_dispose;
  object_class->finalize = dvmd_wire_finalize;

  signals[SIGNAL_PACKET] = g_signal_new ("packet", DVMD_TYPE_WIRE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE,
                                         1, DVMD_TYPE_PACKET);
  signals[SIGNAL_DRAINED] = g_signal_new ("drained", DVMD_TYPE_WIRE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                          G_TYPE_NONE, 0);
  signals[SIGNAL_CLOSED] = g_signal_new ("closed", DVMD_TYPE_WIRE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE,
                                         1, G_TYPE_ERROR);
}

static void
dvmd_wire_init (DvmdWire *self)
{
  self->outbox = dvmd_outbox_new ();
  self->in = g_malloc (READ_AHEAD);
}
