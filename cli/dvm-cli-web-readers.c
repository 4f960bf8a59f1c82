/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An event that a reader has not taken yet is the only one that is kept for it. What happens meanwhile is left out, and
 * the whole state makes up for that.
 */

#include "config.h"

#include "dvm-cli-web-readers.h"

/* A comment to those that have heard nothing: a host that has gone without a word is found by writing alone. */
#define BEAT_SECONDS 15
/* After so many beats without a byte that a reader takes, its place is for another one: a browser that sleeps asks
 * again when it wakes up. */
#define PATIENCE 4

typedef struct
{
  DvmCliWebReaders *readers;
  SoupServerMessage *message;
  gulong handlers[2];
  GSource *watch;  /* of the other end */
  guint n_open;    /* chunks that the network has not taken */
  guint n_beats;   /* since it has taken something of them */
  gboolean behind; /* something was left out */
  gboolean told;   /* since the last beat */
} Reader;

struct _DvmCliWebReaders
{
  DvmCliWebReadersFunc get_whole;
  gpointer user_data;
  GHashTable *all; /* message -> Reader */
  guint timer;
};

static void
reader_free (gpointer data)
{
  Reader *reader = data;

  g_source_destroy (reader->watch);
  g_source_unref (reader->watch);
  for (guint i = 0; i < G_N_ELEMENTS (reader->handlers); i++)
    g_signal_handler_disconnect (reader->message, reader->handlers[i]);
  g_object_unref (reader->message);
  g_free (reader);
}

static void
append_bytes (Reader *reader, GBytes *bytes)
{
  reader->n_open++;
  soup_message_body_append_bytes (soup_server_message_get_response_body (reader->message), bytes);
}

static void
append_text (Reader *reader, const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));

  append_bytes (reader, bytes);
}

/* json: of one line, which all readers share */
static void
send_event (Reader *reader, const char *head, GBytes *json)
{
  append_text (reader, head);
  append_bytes (reader, json);
  append_text (reader, "\n\n");
  reader->told = TRUE;
  soup_server_message_unpause (reader->message);
}

static void
send_whole (Reader *reader)
{
  g_autoptr (GBytes) whole = reader->readers->get_whole (reader->readers->user_data);

  reader->behind = FALSE;
  send_event (reader, "event: whole\ndata: ", whole);
}

static void
on_wrote_chunk (Reader *reader)
{
  if (reader->n_open > 0)
    reader->n_open--;
  if (reader->n_open == 0 && reader->behind)
    send_whole (reader);
}

static void
on_wrote_data (Reader *reader)
{
  reader->n_beats = 0;
}

void
dvm_cli_web_readers_tell (DvmCliWebReaders *self, GBytes *change)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->all);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Reader *reader = value;

      if (reader->n_open > 0)
        reader->behind = TRUE;
      else
        send_event (reader, "event: change\ndata: ", change);
    }
}

/* Writing to it fails from now on, and the server says that this request is over. */
static void
let_go (Reader *reader)
{
  g_socket_shutdown (soup_server_message_get_socket (reader->message), TRUE, TRUE, NULL);
}

static void
send_comment (Reader *reader)
{
  append_text (reader, ":\n\n");
  soup_server_message_unpause (reader->message);
}

static gboolean on_other_end (GSocket *socket, GIOCondition condition, gpointer user_data);

static void
watch_other_end (Reader *reader, GIOCondition condition)
{
  g_clear_pointer (&reader->watch, g_source_unref);
  reader->watch = g_socket_create_source (soup_server_message_get_socket (reader->message), condition, NULL);
  g_source_set_callback (reader->watch, G_SOURCE_FUNC (on_other_end), reader, NULL);
  g_source_attach (reader->watch, g_main_context_get_thread_default ());
}

/* One that has closed its connection gives its place back at once. A reader may also have closed its own direction
 * alone: a connection that is closed answers the comment with a hang-up, and that one takes it. */
static gboolean
on_other_end (GSocket *socket, GIOCondition condition, gpointer user_data)
{
  Reader *reader = user_data;

  if ((condition & (G_IO_HUP | G_IO_ERR)) != 0)
    let_go (reader);
  else
    watch_other_end (reader, G_IO_HUP | G_IO_ERR);
  send_comment (reader);
  return G_SOURCE_REMOVE;
}

static void
beat_reader (Reader *reader)
{
  if (reader->n_open > 0 && ++reader->n_beats > PATIENCE)
    let_go (reader);
  else if (!reader->told && reader->n_open == 0)
    send_comment (reader);
  reader->told = FALSE;
}

static gboolean
on_beat (gpointer user_data)
{
  DvmCliWebReaders *self = user_data;
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->all);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    beat_reader (value);
  return G_SOURCE_CONTINUE;
}

DvmCliWebReaders *
dvm_cli_web_readers_new (DvmCliWebReadersFunc get_whole, gpointer user_data)
{
  DvmCliWebReaders *self = g_new0 (DvmCliWebReaders, 1);

  self->get_whole = get_whole;
  self->user_data = user_data;
  self->all = g_hash_table_new_full (NULL, NULL, NULL, reader_free);
  self->timer = g_timeout_add_seconds (BEAT_SECONDS, on_beat, self);
  return self;
}

void
dvm_cli_web_readers_free (DvmCliWebReaders *self)
{
  g_source_remove (self->timer);
  g_hash_table_unref (self->all);
  g_free (self);
}

guint
dvm_cli_web_readers_count (DvmCliWebReaders *self)
{
  return g_hash_table_size (self->all);
}

void
dvm_cli_web_readers_add (DvmCliWebReaders *self, SoupServerMessage *message)
{
  Reader *reader = g_new0 (Reader, 1);

  reader->readers = self;
  reader->message = g_object_ref (message);
  reader->handlers[0] = g_signal_connect_swapped (message, "wrote-chunk", G_CALLBACK (on_wrote_chunk), reader);
  reader->handlers[1] = g_signal_connect_swapped (message, "wrote-body-data", G_CALLBACK (on_wrote_data), reader);
  g_hash_table_insert (self->all, message, reader);
  soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
  soup_message_headers_set_content_type (soup_server_message_get_response_headers (message), "text/event-stream", NULL);
  soup_message_headers_set_encoding (soup_server_message_get_response_headers (message), SOUP_ENCODING_CHUNKED);
  /* Chunks that were written are not kept. */
  soup_message_body_set_accumulate (soup_server_message_get_response_body (message), FALSE);
  watch_other_end (reader, G_IO_IN | G_IO_HUP | G_IO_ERR);
  send_whole (reader);
}

void
dvm_cli_web_readers_remove (DvmCliWebReaders *self, SoupServerMessage *message)
{
  g_hash_table_remove (self->all, message);
}
