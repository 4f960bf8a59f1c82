/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The output of a job goes to its files, descriptors and readers, or is kept.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-output"

#include "dvmd-output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-retained.h"
#include "dvmd-output-files.h"
#include "dvmd-sink.h"
#include "dvmd-log.h"

/* A line that is longer is passed on in pieces. */
#define LINE_MAX_BYTES 65536

/* Ranks whose files are made before the launch: a shared file system takes its time for each. */
#define RANKS_OPENED 1024

#define STREAM_BIT(stream) (1u << (stream))

/* Somebody who gets one stream or both. */
typedef struct
{
  DvmdOutput *output;
  DvmdSink *sink;
  guint streams;
  char *path;    /* (nullable): of a file of ours */
  int file;      /* that file, the sink's; -1 */
  gboolean made; /* it was not there */
} Target;

/* The line that a stream of a rank is in the middle of; not for plain formats. */
typedef struct
{
  guint rank;
  DvmdStream stream;
  GString *partial;  /* not passed on yet */
  gboolean mid_line; /* the beginning of the line has been passed on, with its tag */
} Line;

struct _DvmdReceipt
{
  gint ref_count;
  DvmdOutput *output;
  guint rank;
  gsize n_bytes;
  DvmdReceipt *mirrored; /* (nullable): of the output that this one mirrors, which gives the credit */
};

struct _DvmdOutput
{
  gint ref_count; /* receipts and calls under way */
  gboolean begun;
  gboolean freed;
  GMainContext *context;
  DvmdClock *clock;
  char *nspace;
  guint job;
  guint n_ranks;
  DvmdOutputFormat *format;
  const DvmdOutputFuncs *funcs;
  gpointer user_data;

  DvmdOutput *leader; /* (nullable) */
  DvmdOutputTap tap;  /* (nullable) */
  gpointer tap_data;
  GPtrArray *mirrors;     /* (nullable): DvmdOutput */
  GPtrArray *targets;     /* Target */
  DvmdOutputFiles *files; /* (nullable): dir=, file= */
  GHashTable *lines;      /* rank and stream -> Line */
  DvmdRetained *retained; /* (nullable) */
  gsize keep;
  gboolean ended;
  gboolean delivered;
};

static void
output_unref (DvmdOutput *self)
{
  if (--self->ref_count == 0)
    g_free (self);
}

static DvmdReceipt *
receipt_new (DvmdOutput *output, guint rank, gsize n_bytes)
{
  DvmdReceipt *receipt = g_new0 (DvmdReceipt, 1);

  receipt->ref_count = 1;
  receipt->output = output;
  receipt->rank = rank;
  receipt->n_bytes = n_bytes;
  output->ref_count++;
  return receipt;
}

DvmdReceipt *
dvmd_receipt_ref (DvmdReceipt *receipt)
{
  receipt->ref_count++;
  return receipt;
}

void
dvmd_receipt_unref (gpointer data)
{
  DvmdReceipt *receipt = data;
  DvmdOutput *output = receipt->output;

  if (--receipt->ref_count > 0)
    return;
  if (receipt->mirrored != NULL)
    dvmd_receipt_unref (receipt->mirrored);
  else if (!output->freed)
    output->funcs->credited (output, receipt->rank, receipt->n_bytes, output->user_data);
  g_free (receipt);
  output_unref (output);
}

static void
target_free (gpointer data)
{
  Target *target = data;

  dvmd_sink_free (target->sink);
  g_free (target->path);
  g_free (target);
}

static gint64
line_key (guint rank, DvmdStream stream)
{
  return ((gint64)rank << 2) | stream;
}

static void
line_free (gpointer data)
{
  Line *line = data;

  g_string_free (line->partial, TRUE);
  g_free (line);
}

/* The readers of the job's standard error get the message on it. Returns whether there is one. */
static gboolean
tell_readers (DvmdOutput *self, const char *message)
{
  g_autofree char *line = g_strdup_printf ("dvmd: job %s: %s\n", self->nspace, message);
  g_autoptr (GBytes) bytes = g_bytes_new (line, strlen (line));
  gboolean notified = FALSE;

  for (guint i = 0; i < self->targets->len; i++)
    {
      Target *target = g_ptr_array_index (self->targets, i);

      if (!(target->streams & STREAM_BIT (DVMD_STREAM_STDERR)) || dvmd_sink_is_closed (target->sink))
        continue;
      dvmd_sink_write (target->sink, bytes, NULL, NULL);
      notified = TRUE;
    }
  return notified;
}

static void
tell_failed (DvmdOutput *self, const char *message)
{
  if (tell_readers (self, message))
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, self->nspace, "%s", message);
  else
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, self->nspace, "%s", message);
  if (self->funcs->failed != NULL)
    self->funcs->failed (self, message, self->user_data);
}

static void
set_format (DvmdOutput *self, DvmdOutputFormat *format)
{
  g_clear_pointer (&self->format, dvmd_output_format_free);
  g_clear_pointer (&self->files, dvmd_output_files_free);
  g_clear_pointer (&self->lines, g_hash_table_unref);
  self->format = format;
  if (format->dir != NULL || format->file != NULL)
    self->files = dvmd_output_files_new ();
  if (!dvmd_output_format_is_plain (format))
    self->lines = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, line_free);
}

DvmdOutput *
dvmd_output_new (GMainContext *context, DvmdClock *clock, const char *nspace, guint job, guint n_ranks,
                 DvmdOutputFormat *format, const DvmdOutputFuncs *funcs, gpointer user_data)
{
  DvmdOutput *self = g_new0 (DvmdOutput, 1);

  self->ref_count = 1;
  self->context = g_main_context_ref (context != NULL ? context : g_main_context_default ());
  self->clock = dvmd_clock_ref (clock);
  self->nspace = g_strdup (nspace);
  self->job = job;
  self->n_ranks = n_ranks;
  self->keep = DVMD_OUTPUT_KEEP;
  set_format (self, format != NULL ? format : dvmd_output_format_new ());
  self->funcs = funcs;
  self->user_data = user_data;
  self->targets = g_ptr_array_new_with_free_func (target_free);
  return self;
}

void
dvmd_output_follow (DvmdOutput *self, DvmdOutput *leader, gboolean alike)
{
  self->leader = leader;
  if (leader != NULL && alike)
    set_format (self, dvmd_output_format_copy_for (leader->format, self->job));
}

void
dvmd_output_set_keep (DvmdOutput *self, gsize max)
{
  self->keep = max;
}

void
dvmd_output_free (DvmdOutput *self)
{
  self->freed = TRUE;
  g_clear_pointer (&self->mirrors, g_ptr_array_unref);
  g_clear_pointer (&self->targets, g_ptr_array_unref);
  g_clear_pointer (&self->files, dvmd_output_files_free);
  g_clear_pointer (&self->lines, g_hash_table_unref);
  g_clear_pointer (&self->retained, dvmd_retained_free);
  g_clear_pointer (&self->format, dvmd_output_format_free);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  g_clear_pointer (&self->context, g_main_context_unref);
  g_clear_pointer (&self->nspace, g_free);
  output_unref (self);
}

static void
tell_unwritten (DvmdOutput *self, Target *target, const char *message)
{
  g_autofree char *text = g_strdup_printf ("output cannot be written to %s: %s",
                                           target->path != NULL ? target->path : "its reader", message);

  tell_failed (self, text);
}

/* A file that was removed has what was written as long as it is open. */
static void
tell_removed (DvmdOutput *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      Target *target = g_ptr_array_index (self->targets, i);
      struct stat about;

      if (target->file < 0 || fstat (target->file, &about) != 0 || !S_ISREG (about.st_mode) || about.st_nlink > 0)
        continue;
      target->file = -1;
      tell_unwritten (self, target, "the file has been removed");
    }
}

/* Nothing waits any more: readers get their end-of-file. */
static gboolean
close_when_empty (DvmdOutput *self)
{
  if (!self->ended)
    return FALSE;
  tell_removed (self);
  for (guint i = self->targets->len; i > 0; i--)
    {
      Target *target = g_ptr_array_index (self->targets, i - 1);

      if (dvmd_sink_is_empty (target->sink))
        g_ptr_array_remove_index_fast (self->targets, i - 1);
    }
  return self->targets->len == 0;
}

static void
check_delivered (DvmdOutput *self)
{
  if (!close_when_empty (self))
    return;
  if (!self->delivered)
    {
      self->delivered = TRUE;
      self->funcs->delivered (self, self->user_data);
    }
  else if (self->funcs->read_up != NULL)
    self->funcs->read_up (self, self->user_data);
}

static void
on_emptied (DvmdSink *sink, gpointer user_data)
{
  Target *target = user_data;
  DvmdOutput *self = target->output;

  /* While dvmd_output_end() flushes, it looks for itself. */
  if (self->ended)
    check_delivered (self);
}

static void give_readers (DvmdOutput *self, DvmdStream stream, GBytes *bytes, DvmdReceipt *receipt, gboolean taken);

/* Bytes that a reader left unread are retained for the next one, unless other readers have got them as well. */
static void
give_rest (DvmdOutput *self, guint streams, GBytes *rest)
{
  DvmdStream stream = streams & STREAM_BIT (DVMD_STREAM_STDOUT) ? DVMD_STREAM_STDOUT : DVMD_STREAM_STDERR;
  DvmdReceipt *receipt;

  if (dvmd_output_get_n_readers (self, stream) > 0)
    return;
  receipt = receipt_new (self, 0, 0);
  give_readers (self, stream, rest, receipt, FALSE);
  dvmd_receipt_unref (receipt);
}

static void
on_closed (DvmdSink *sink, const char *message, gpointer user_data)
{
  Target *target = user_data;
  DvmdOutput *self = target->output;
  guint streams = target->streams;
  g_autoptr (GBytes) rest = NULL;

  self->ref_count++;
  if (message != NULL)
    {
      rest = dvmd_sink_get_rest (sink);
      tell_unwritten (self, target, message);
    }
  else
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->nspace, "a reader of its output has left");
  if (!self->freed)
    g_ptr_array_remove_fast (self->targets, target);
  if (!self->freed && rest != NULL)
    give_rest (self, streams, rest);
  if (!self->freed && self->ended)
    check_delivered (self);
  output_unref (self);
}

static const DvmdSinkFuncs sink_funcs = { .emptied = on_emptied, .closed = on_closed };

static Target *
add_target (DvmdOutput *self, guint streams, int fd, gboolean own, const char *path, GError **error)
{
  Target *target = g_new0 (Target, 1);

  target->output = self;
  target->streams = streams;
  target->path = g_strdup (path);
  target->file = path != NULL ? fd : -1;
  target->sink = dvmd_sink_new (self->context, fd, own, &sink_funcs, target, error);
  if (target->sink == NULL)
    {
      g_free (target->path);
      g_free (target);
      return NULL;
    }
  g_ptr_array_add (self->targets, target);
  return target;
}

gboolean
dvmd_output_add_fd (DvmdOutput *self, DvmdStream stream, int fd, GError **error)
{
  return add_target (self, STREAM_BIT (stream), fd, FALSE, NULL, error) != NULL;
}

/* Not emptied yet: the job may be refused. */
static int
open_path (const char *path, gboolean *made)
{
  const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  int fd = open (path, flags);

  *made = FALSE;
  if (fd >= 0 || errno != ENOENT)
    return fd;
  fd = open (path, flags | O_CREAT | O_EXCL, 0644);
  *made = fd >= 0;
  /* A link to a file that is not there. */
  return fd < 0 && errno == EEXIST ? open (path, flags | O_CREAT, 0644) : fd;
}

gboolean
dvmd_output_add_path (DvmdOutput *self, DvmdStream stream, const char *path, GError **error)
{
  Target *target;
  gboolean made;
  int fd;

  for (guint i = 0; i < self->targets->len; i++)
    {
      target = g_ptr_array_index (self->targets, i);
      if (g_strcmp0 (target->path, path) == 0)
        {
          target->streams |= STREAM_BIT (stream);
          return TRUE;
        }
    }
  fd = open_path (path, &made);
  if (fd < 0)
    {
      g_autofree char *shown = g_utf8_make_valid (path, -1);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "the file '%s' for %s cannot be opened: %s", shown,
                   dvmd_stream_name (stream), g_strerror (errno));
      return FALSE;
    }
  target = add_target (self, STREAM_BIT (stream), fd, TRUE, path, error);
  if (target != NULL)
    target->made = made;
  else if (made)
    unlink (path);
  return target != NULL;
}

static gboolean
empty_file (int fd)
{
  struct stat about;

  return fstat (fd, &about) == 0 && (!S_ISREG (about.st_mode) || ftruncate (fd, 0) == 0);
}

void
dvmd_output_begin (DvmdOutput *self)
{
  if (self->begun)
    return;
  self->begun = TRUE;
  for (guint i = 0; i < self->targets->len; i++)
    {
      Target *target = g_ptr_array_index (self->targets, i);

      if (target->file >= 0 && !empty_file (target->file))
        dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, self->nspace, "the file '%s' cannot be emptied: %s",
                      target->path, g_strerror (errno));
    }
}

void
dvmd_output_refuse (DvmdOutput *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      Target *target = g_ptr_array_index (self->targets, i);

      if (target->made)
        unlink (target->path);
    }
}

void
dvmd_output_set_tap (DvmdOutput *self, DvmdOutputTap tap, gpointer user_data)
{
  self->tap = tap;
  self->tap_data = user_data;
}

/* ---- mirrors ---- */

/* Text of ours needs no credit; for the rest the mirrored output gives it. */
static void
credit_nobody (DvmdOutput *self, guint rank, gsize n_bytes, gpointer user_data)
{
}

static void
describe_mirrored (DvmdOutput *self, guint rank, const char **host, gint64 *pid, gpointer user_data)
{
  DvmdOutput *mirrored = user_data;

  if (mirrored->funcs->describe != NULL)
    mirrored->funcs->describe (mirrored, rank, host, pid, mirrored->user_data);
}

static const DvmdOutputFuncs mirror_funcs = { .credited = credit_nobody, .describe = describe_mirrored };

static void
free_mirror (gpointer data)
{
  dvmd_output_free (data);
}

DvmdOutput *
dvmd_output_add_mirror (DvmdOutput *self, DvmdOutputFormat *format, DvmdOutputTap tap, gpointer user_data)
{
  DvmdOutput *mirror = dvmd_output_new (self->context, self->clock, self->nspace, self->job, self->n_ranks, format,
                                        &mirror_funcs, self);

  dvmd_output_set_tap (mirror, tap, user_data);
  if (self->mirrors == NULL)
    self->mirrors = g_ptr_array_new_with_free_func (free_mirror);
  g_ptr_array_add (self->mirrors, mirror);
  return mirror;
}

void
dvmd_output_drop_mirror (DvmdOutput *self, DvmdOutput *mirror)
{
  g_ptr_array_remove (self->mirrors, mirror);
}

/* Output that goes into files alone is nobody else's. */
static guint
count_mirrors (DvmdOutput *self)
{
  if (self->ended || self->mirrors == NULL || (self->files != NULL && !self->format->copy))
    return 0;
  return self->mirrors->len;
}

static Target *
add_reader (DvmdOutput *self, DvmdStream stream, int *read_fd, GError **error)
{
  Target *target;
  int fds[2];

  if (pipe2 (fds, O_CLOEXEC) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "cannot make a pipe for %s: %s",
                   dvmd_stream_name (stream), g_strerror (errno));
      return NULL;
    }
  target = add_target (self, STREAM_BIT (stream), fds[1], TRUE, NULL, error);
  if (target == NULL)
    close (fds[0]);
  else
    *read_fd = fds[0];
  return target;
}

static void
give_retained (DvmdOutput *self, Target *target, DvmdStream stream)
{
  if (self->retained != NULL)
    {
      g_autoptr (GBytes) bytes = dvmd_retained_take (self->retained, stream);

      dvmd_sink_write (target->sink, bytes, NULL, NULL);
    }
}

gboolean
dvmd_output_attach (DvmdOutput *self, int *stdout_fd, int *stderr_fd, GError **error)
{
  Target *out = NULL;
  Target *err = NULL;

  if (stdout_fd != NULL && (out = add_reader (self, DVMD_STREAM_STDOUT, stdout_fd, error)) == NULL)
    return FALSE;
  if (stderr_fd != NULL && (err = add_reader (self, DVMD_STREAM_STDERR, stderr_fd, error)) == NULL)
    {
      if (out != NULL)
        {
          close (*stdout_fd);
          g_ptr_array_remove_fast (self->targets, out);
        }
      return FALSE;
    }
  if (out != NULL)
    give_retained (self, out, DVMD_STREAM_STDOUT);
  if (err != NULL)
    give_retained (self, err, DVMD_STREAM_STDERR);
  close_when_empty (self);
  return TRUE;
}

gboolean
dvmd_output_attach_fd (DvmdOutput *self, DvmdStream stream, int fd, GError **error)
{
  Target *target = add_target (self, STREAM_BIT (stream), fd, TRUE, NULL, error);

  if (target == NULL)
    return FALSE;
  give_retained (self, target, stream);
  close_when_empty (self);
  return TRUE;
}

guint
dvmd_output_get_n_readers (DvmdOutput *self, DvmdStream stream)
{
  guint n = 0;

  for (guint i = 0; i < self->targets->len; i++)
    if (((Target *)g_ptr_array_index (self->targets, i))->streams & STREAM_BIT (stream))
      n++;
  return n;
}

static void
describe_source (DvmdOutput *self, guint rank, DvmdStream stream, DvmdOutputSource *source)
{
  memset (source, 0, sizeof *source);
  source->nspace = self->nspace;
  source->job = self->job;
  source->rank = rank;
  source->n_ranks = self->n_ranks;
  source->stream = stream;
  source->time = dvmd_clock_now (self->clock);
  if (self->funcs->describe != NULL && (self->format->tag == DVMD_OUTPUT_TAG_DETAILED || self->format->pattern))
    self->funcs->describe (self, rank, &source->host, &source->pid, self->user_data);
}

/* Where the stream goes: with merged streams the tag still tells what it was. */
static DvmdStream
route (DvmdOutput *self, DvmdStream stream)
{
  return self->format->merge ? DVMD_STREAM_STDOUT : stream;
}

static char *
file_path (DvmdOutput *self, guint rank, DvmdStream stream)
{
  DvmdOutputSource source;

  describe_source (self, rank, route (self, stream), &source);
  return dvmd_output_format_get_path (self->format, &source);
}

gboolean
dvmd_output_open_files (DvmdOutput *self, guint n_ranks, gboolean merged, GError **error)
{
  gboolean one = merged || self->format->merge;

  for (guint rank = 0; self->files != NULL && rank < MIN (n_ranks, RANKS_OPENED); rank++)
    for (DvmdStream stream = DVMD_STREAM_STDOUT; stream <= (one ? DVMD_STREAM_STDOUT : DVMD_STREAM_STDERR); stream++)
      {
        g_autofree char *path = file_path (self, rank, stream);

        if (!dvmd_output_files_open (self->files, path, error))
          return FALSE;
      }
  return TRUE;
}

/* (transfer full) (nullable): what did not come to be there */
static GBytes *
write_to_file (DvmdOutput *self, guint rank, DvmdStream stream, GBytes *bytes)
{
  g_autofree char *path = file_path (self, rank, stream);
  g_autoptr (GError) error = NULL;
  gsize size = g_bytes_get_size (bytes);
  gsize done = dvmd_output_files_write (self->files, path, bytes, &error);

  if (error != NULL)
    tell_failed (self, error->message);
  return done < size ? g_bytes_new_from_bytes (bytes, done, size - done) : NULL;
}

static void
give (DvmdOutput *self, DvmdStream from, GBytes *bytes, DvmdReceipt *receipt)
{
  DvmdStream stream = route (self, from);
  const DvmdOutputPiece piece = { receipt->rank, stream, bytes, receipt->output == self };

  give_readers (self, stream, bytes, receipt, self->tap != NULL && self->tap (self, &piece, receipt, self->tap_data));
}

static void
retain (DvmdOutput *self, DvmdStream stream, GBytes *bytes)
{
  if (self->retained == NULL)
    self->retained = dvmd_retained_new (self->keep);
  dvmd_retained_add (self->retained, stream, bytes);
}

/* taken: it need not be retained. */
static void
give_readers (DvmdOutput *self, DvmdStream stream, GBytes *bytes, DvmdReceipt *receipt, gboolean taken)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      Target *target = g_ptr_array_index (self->targets, i);

      if (!(target->streams & STREAM_BIT (stream)))
        continue;
      dvmd_sink_write (target->sink, bytes, dvmd_receipt_ref (receipt), dvmd_receipt_unref);
      taken = TRUE;
    }
  if (self->leader != NULL && !self->leader->ended)
    {
      give (self->leader, stream, bytes, receipt);
      return;
    }
  if (!taken)
    retain (self, stream, bytes);
}

void
dvmd_output_keep (DvmdOutput *self, const DvmdOutputPiece *piece)
{
  gboolean has_leader = self->leader != NULL && !self->leader->ended;

  if (!has_leader && dvmd_output_get_n_readers (self, piece->stream) == 0)
    retain (self, piece->stream, piece->bytes);
}

void
dvmd_output_say (DvmdOutput *self, const char *message)
{
  g_autofree char *line = g_strdup_printf ("dvmd: job %s: %s\n", self->nspace, message);
  g_autoptr (GBytes) bytes = g_bytes_new (line, strlen (line));
  DvmdReceipt *receipt;

  if (self->ended)
    return;
  for (guint i = 0; i < count_mirrors (self); i++)
    dvmd_output_say (self->mirrors->pdata[i], message);
  receipt = receipt_new (self, 0, 0);
  give (self, DVMD_STREAM_STDERR, bytes, receipt);
  dvmd_receipt_unref (receipt);
}

static void
deliver_bytes (DvmdOutput *self, guint rank, DvmdStream stream, GBytes *bytes, DvmdReceipt *receipt)
{
  g_autoptr (GBytes) rest = NULL;

  if (g_bytes_get_size (bytes) == 0)
    return;
  if (self->files != NULL)
    {
      rest = write_to_file (self, rank, stream, bytes);
      if (self->freed || (rest == NULL && !self->format->copy))
        return;
    }
  give (self, stream, rest == NULL || self->format->copy ? bytes : rest, receipt);
}

/* With its tag, unless it goes on with a line that has one. */
static void
append_piece (DvmdOutput *self, Line *line, const DvmdOutputSource *source, const char *data, gsize size, GString *text)
{
  if (size == 0)
    return;
  if (self->format->xml)
    {
      dvmd_output_format_append_element (self->format, source, data, size, text);
      return;
    }
  if (!line->mid_line)
    dvmd_output_format_append_tag (self->format, source, text);
  g_string_append_len (text, data, (gssize)size);
  line->mid_line = data[size - 1] != '\n';
}

static void
append_partial (DvmdOutput *self, Line *line, const DvmdOutputSource *source, GString *text)
{
  append_piece (self, line, source, line->partial->str, line->partial->len, text);
  g_string_truncate (line->partial, 0);
}

static Line *
find_line (DvmdOutput *self, guint rank, DvmdStream stream)
{
  gint64 key = line_key (rank, stream);
  Line *line = g_hash_table_lookup (self->lines, &key);

  if (line == NULL)
    {
      line = g_new0 (Line, 1);
      line->rank = rank;
      line->stream = stream;
      line->partial = g_string_new (NULL);
      g_hash_table_insert (self->lines, g_memdup2 (&key, sizeof key), line);
    }
  return line;
}

/* Whole lines with their tags; what is left of the last one waits for its end. */
static GBytes *
mark_lines (DvmdOutput *self, guint rank, DvmdStream stream, GBytes *bytes)
{
  Line *line = find_line (self, rank, stream);
  GString *text = g_string_new (NULL);
  DvmdOutputSource source;
  gsize size;
  const char *data = g_bytes_get_data (bytes, &size);

  describe_source (self, rank, stream, &source);
  while (size > 0)
    {
      const char *newline = memchr (data, '\n', size);
      gsize n = newline != NULL ? (gsize)(newline - data) + 1 : size;

      if (newline == NULL && !self->format->raw && line->partial->len + n <= LINE_MAX_BYTES)
        g_string_append_len (line->partial, data, (gssize)n);
      else
        {
          append_partial (self, line, &source, text);
          append_piece (self, line, &source, data, n, text);
        }
      data += n;
      size -= n;
    }
  return g_string_free_to_bytes (text);
}

/* mirrored: (transfer full) (nullable) */
static void
push_piece (DvmdOutput *self, guint rank, DvmdStream stream, GBytes *bytes, DvmdReceipt *mirrored)
{
  DvmdReceipt *receipt = receipt_new (self, rank, g_bytes_get_size (bytes));
  g_autoptr (GBytes) text = NULL;

  receipt->mirrored = mirrored;
  for (guint i = 0; i < count_mirrors (self); i++)
    push_piece (self->mirrors->pdata[i], rank, stream, bytes, dvmd_receipt_ref (receipt));
  text = self->lines != NULL ? mark_lines (self, rank, stream, bytes) : g_bytes_ref (bytes);
  deliver_bytes (self, rank, stream, text, receipt);
  dvmd_receipt_unref (receipt);
}

void
dvmd_output_push (DvmdOutput *self, guint rank, DvmdStream stream, GBytes *bytes)
{
  g_return_if_fail (!self->ended);

  push_piece (self, rank, stream, bytes, NULL);
}

void
dvmd_output_insert (DvmdOutput *self, guint rank, DvmdStream stream, const char *text)
{
  g_autoptr (GBytes) bytes = NULL;
  GString *lines = g_string_new (NULL);
  DvmdOutputSource source;
  DvmdReceipt *receipt;

  for (guint i = 0; i < count_mirrors (self); i++)
    dvmd_output_insert (self->mirrors->pdata[i], rank, stream, text);
  describe_source (self, rank, stream, &source);
  while (*text != '\0')
    {
      gsize n = strcspn (text, "\n");
      g_autofree char *line = g_strdup_printf ("%.*s\n", (int)n, text);

      if (self->format->xml)
        dvmd_output_format_append_element (self->format, &source, line, n + 1, lines);
      else
        {
          if (self->lines != NULL)
            dvmd_output_format_append_tag (self->format, &source, lines);
          g_string_append (lines, line);
        }
      text += text[n] == '\n' ? n + 1 : n;
    }
  bytes = g_string_free_to_bytes (lines);
  if (self->ended)
    return;
  receipt = receipt_new (self, rank, 0);
  deliver_bytes (self, rank, stream, bytes, receipt);
  dvmd_receipt_unref (receipt);
}

static void
complete_line (DvmdOutput *self, Line *line)
{
  GString *text = g_string_new (NULL);
  g_autoptr (GBytes) bytes = NULL;
  DvmdOutputSource source;
  DvmdReceipt *receipt;

  describe_source (self, line->rank, line->stream, &source);
  append_partial (self, line, &source, text);
  if (line->mid_line)
    g_string_append_c (text, '\n');
  line->mid_line = FALSE;
  bytes = g_string_free_to_bytes (text);
  /* The receipt is for no bytes: those of the partial line were credited when they came. */
  receipt = receipt_new (self, line->rank, 0);
  deliver_bytes (self, line->rank, line->stream, bytes, receipt);
  dvmd_receipt_unref (receipt);
}

void
dvmd_output_push_eof (DvmdOutput *self, guint rank, DvmdStream stream)
{
  gint64 key = line_key (rank, stream);
  Line *line = self->lines != NULL ? g_hash_table_lookup (self->lines, &key) : NULL;

  self->ref_count++;
  for (guint i = 0; i < count_mirrors (self); i++)
    dvmd_output_push_eof (self->mirrors->pdata[i], rank, stream);
  if (line != NULL)
    {
      complete_line (self, line);
      if (!self->freed)
        g_hash_table_remove (self->lines, &key);
    }
  if (!self->freed && self->files != NULL)
    {
      g_autofree char *path = file_path (self, rank, stream);
      g_autoptr (GError) error = NULL;

      if (!dvmd_output_files_close (self->files, path, &error))
        tell_failed (self, error->message);
    }
  output_unref (self);
}

static void
complete_lines (DvmdOutput *self)
{
  g_autoptr (GList) lines = self->lines != NULL ? g_hash_table_get_values (self->lines) : NULL;

  for (GList *link = lines; link != NULL; link = link->next)
    complete_line (self, link->data);
  if (self->lines != NULL)
    g_hash_table_remove_all (self->lines);
}

static void
close_files (DvmdOutput *self)
{
  g_autoptr (GError) error = NULL;

  if (self->files != NULL && !dvmd_output_files_close_all (self->files, &error))
    tell_failed (self, error->message);
  g_clear_pointer (&self->files, dvmd_output_files_free);
}

gboolean
dvmd_output_end (DvmdOutput *self)
{
  if (self->ended)
    return self->delivered;
  for (guint i = 0; i < count_mirrors (self); i++)
    complete_lines (self->mirrors->pdata[i]);
  complete_lines (self);
  close_files (self);
  for (guint i = self->targets->len; i > 0; i--)
    {
      /* A target that closes is taken out, and the last one takes its place. */
      if (i <= self->targets->len)
        dvmd_sink_flush (((Target *)g_ptr_array_index (self->targets, i - 1))->sink);
    }
  self->ended = TRUE;
  self->delivered = close_when_empty (self);
  return self->delivered;
}

gboolean
dvmd_output_is_delivered (DvmdOutput *self)
{
  return self->delivered;
}

gsize
dvmd_output_get_retained (DvmdOutput *self)
{
  return self->retained != NULL ? dvmd_retained_get_size (self->retained) : 0;
}

void
dvmd_output_drop_retained (DvmdOutput *self)
{
  g_clear_pointer (&self->retained, dvmd_retained_free);
}
