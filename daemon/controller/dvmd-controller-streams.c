/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The standard streams of jobs: from agents to whoever wants the output, and from the owner of stdin to the agents.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>

#include "dvm-job-spec-private.h"
#include "dvmd-services.h"
#include "dvmd-controller-streams.h"
#include "dvmd-input.h"
#include "dvmd-log.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *jobs;           /* job id -> DvmdJobStreams */
  gsize keep_of_one;          /* bytes of a job's output that nobody reads */
  guint64 keep_of_all;
  GQueue kept;        /* DvmdJobStreams of ended jobs whose output is kept, oldest first */
  guint64 kept_bytes; /* of them together, as it was when they ended */
  gsize credit;
  guint64 bytes; /* that have come */
} Streams;

struct _DvmdJobStreams
{
  Streams *all; /* unowned */
  DvmdJob *job; /* NULL until it is accepted */
  DvmdOutput *output;
  DvmdInput *input;     /* NULL until the job is launched */
  int stdin_fd;         /* waits for the launch */
  gboolean stdin_owned; /* somebody has it */
  guint stdin_target;
  DvmdIdSet *stdin_ranks; /* (nullable): of DVMD_INPUT_SOME */
  GHashTable *uncredited; /* rank of agent -> bytes, as gpointer */
  gboolean started;
  gboolean ended;
  gboolean finished;
  gboolean forgotten;     /* the job has left the history; this goes when nobody reads any more */
  gsize kept;             /* bytes that are counted in kept_bytes of all */
  DvmdJobStreams *leader; /* (nullable): of the job that has spawned it, where its output goes */
  GPtrArray *followers;   /* DvmdJobStreams, unowned: of those that it has spawned */
  GHashTable *unlaunched; /* (nullable): set of agents whose ranks read the input, and that have not launched them */
};

static Streams *
get_all (DvmdController *self)
{
  return dvmd_services_get (self, &dvmd_streams_service);
}

DvmdJobStreams *
dvmd_controller_get_streams (DvmdController *self, guint job)
{
  return g_hash_table_lookup (get_all (self)->jobs, GUINT_TO_POINTER (job));
}

static void
credited (DvmdOutput *output, guint rank, gsize n_bytes, gpointer user_data)
{
  DvmdJobStreams *self = user_data;
  DvmdProcTable *procs = self->job != NULL ? dvmd_job_get_procs (self->job) : NULL;
  gpointer agent;
  gsize sum;

  if (procs == NULL || rank >= procs->n_rows)
    return;
  agent = GUINT_TO_POINTER (dvmd_proc_table_row (procs, rank)->node);
  sum = GPOINTER_TO_SIZE (g_hash_table_lookup (self->uncredited, agent)) + n_bytes;
  /* Credit goes back when some of it has come together, not for every line. */
  if (sum >= self->all->credit / 4)
    {
      dvmd_controller_send (self->all->controller, GPOINTER_TO_UINT (agent), DVMD_MSG_OUTPUT_CREDIT,
                            g_variant_new ("(ut)", dvmd_job_get_id (self->job), (guint64)sum));
      sum = 0;
    }
  g_hash_table_insert (self->uncredited, agent, GSIZE_TO_POINTER (sum));
}

/* The output of this job need not be kept any more. */
static void
forget_kept (DvmdJobStreams *self)
{
  if (self->kept == 0)
    return;
  g_queue_remove (&self->all->kept, self);
  self->all->kept_bytes -= self->kept;
  self->kept = 0;
}

/* A thousand jobs of the history must not keep a gigabyte: the oldest output goes. */
static void
trim_kept (Streams *all)
{
  while (all->kept_bytes > all->keep_of_all)
    {
      DvmdJobStreams *oldest = g_queue_peek_head (&all->kept);

      dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, dvm_job_get_nspace (dvmd_job_get_record (oldest->job)),
                    "its output is no longer kept");
      dvmd_output_drop_retained (oldest->output);
      forget_kept (oldest);
    }
}

static void
count_kept (DvmdJobStreams *self)
{
  self->kept = dvmd_output_get_retained (self->output);
  if (self->kept == 0)
    return;
  g_queue_push_tail (&self->all->kept, self);
  self->all->kept_bytes += self->kept;
  trim_kept (self->all);
}

static void
finish (DvmdJobStreams *self)
{
  if (self->finished)
    return;
  self->finished = TRUE;
  count_kept (self);
  dvmd_controller_finish_job (self->all->controller, self->job);
}

static void
drop (DvmdJobStreams *self)
{
  g_hash_table_remove (self->all->jobs, GUINT_TO_POINTER (dvmd_job_get_id (self->job)));
}

static void
delivered (DvmdOutput *output, gpointer user_data)
{
  DvmdJobStreams *self = user_data;

  finish (self);
  if (self->forgotten)
    drop (self);
}

static void
describe (DvmdOutput *output, guint rank, const char **host, gint64 *pid, gpointer user_data)
{
  DvmdJobStreams *self = user_data;
  DvmdProcTable *procs = self->job != NULL ? dvmd_job_get_procs (self->job) : NULL;
  DvmdProcRow *row;
  DvmdNode *node;

  if (procs == NULL || rank >= procs->n_rows)
    return;
  row = dvmd_proc_table_row (procs, rank);
  node = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_controller_get_core (self->all->controller)), row->node);
  *host = node != NULL ? dvm_node_get_name (node->record) : NULL;
  *pid = row->pid;
}

static void
lost (DvmdOutput *output, const char *message, gpointer user_data)
{
  DvmdJobStreams *self = user_data;

  if (self->job != NULL)
    dvmd_core_output_lost (dvmd_controller_get_core (self->all->controller), self->job, message);
}

static const DvmdOutputFuncs output_funcs = {
  .credited = credited,
  .delivered = delivered,
  .read_up = delivered,
  .describe = describe,
  .failed = lost,
};

/* ---- jobs that others have spawned ---- */

static void
stop_following (DvmdJobStreams *self)
{
  DvmdJobStreams *leader = g_steal_pointer (&self->leader);

  if (leader == NULL)
    return;
  g_ptr_array_remove_fast (leader->followers, self);
  dvmd_output_follow (self->output, NULL, FALSE);
}

void
dvmd_job_streams_follow (DvmdJobStreams *self, DvmdJobStreams *leader)
{
  gboolean alike = dvm_job_spec_get_output (dvmd_job_get_spec (self->job)) == NULL;

  if (leader->ended)
    return;
  self->leader = leader;
  g_ptr_array_add (leader->followers, self);
  dvmd_output_follow (self->output, leader->output, alike);
}

/* all: also those that end with this job. */
static void
release_followers (DvmdJobStreams *self, gboolean all)
{
  for (guint i = self->followers->len; i > 0; i--)
    {
      DvmdJobStreams *follower = g_ptr_array_index (self->followers, i - 1);

      if (all || dvm_job_spec_get_child_separate (dvmd_job_get_spec (follower->job)))
        stop_following (follower);
    }
}

static void
end_output (DvmdJobStreams *self)
{
  gboolean done = dvmd_output_end (self->output);
  DvmdJobStreams *leader = self->leader;

  stop_following (self);
  if (done)
    delivered (self->output, self);
  if (leader != NULL && leader->ended && leader->followers->len == 0)
    end_output (leader);
}

void
dvmd_job_streams_separate (DvmdJobStreams *self)
{
  DvmdJobStreams *leader = self->leader;

  /* While that runs it goes on following; those that go on are let go at its end. */
  if (leader == NULL || !leader->ended)
    return;
  stop_following (self);
  if (leader->followers->len == 0)
    end_output (leader);
}

void
dvmd_job_streams_free (DvmdJobStreams *self)
{
  forget_kept (self);
  stop_following (self);
  release_followers (self, TRUE);
  g_clear_pointer (&self->followers, g_ptr_array_unref);
  if (self->job == NULL)
    dvmd_output_refuse (self->output);
  g_clear_pointer (&self->input, dvmd_input_free);
  g_clear_pointer (&self->stdin_ranks, dvmd_id_set_free);
  g_clear_pointer (&self->output, dvmd_output_free);
  g_clear_pointer (&self->uncredited, g_hash_table_unref);
  g_clear_pointer (&self->unlaunched, g_hash_table_unref);
  if (self->stdin_fd >= 0)
    close (self->stdin_fd);
  g_clear_object (&self->job);
  g_free (self);
}

static guint
count_ranks (DvmJobSpec *spec)
{
  guint n = 0;

  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    n += dvm_app_spec_get_np (dvm_job_spec_get_app (spec, i));
  return MAX (n, 1);
}

/* Relative paths are those of the job: the directory that we are in is nobody's business. */
static char *
find_path (DvmJobSpec *spec, const char *path)
{
  const char *cwd = dvm_app_spec_get_cwd (dvm_job_spec_get_app (spec, 0));

  return path != NULL ? g_canonicalize_filename (path, cwd != NULL ? cwd : g_get_home_dir ()) : NULL;
}

static gboolean
add_outputs (DvmdJobStreams *self, DvmJobSpec *spec, int fds[3], GError **error)
{
  const char *paths[2] = { dvm_job_spec_get_stdout_path (spec), dvm_job_spec_get_stderr_path (spec) };

  for (guint i = 0; i < 2; i++)
    {
      DvmdStream stream = i == 0 ? DVMD_STREAM_STDOUT : DVMD_STREAM_STDERR;
      int fd = g_steal_fd (&fds[i + 1]);
      g_autofree char *expanded = _dvm_array_expand_path (_dvm_job_spec_get_place (spec), paths[i], FALSE);
      g_autofree char *path = find_path (spec, expanded);

      if (fd >= 0 && !dvmd_output_add_fd (self->output, stream, fd, error))
        return FALSE;
      if (path != NULL && !dvmd_output_add_path (self->output, stream, path, error))
        return FALSE;
    }
  return TRUE;
}

static DvmdOutputFormat *
make_format (DvmJobSpec *spec, GError **error)
{
  static const DvmdOutputTag tags[] = {
    [DVM_OUTPUT_TAG_NONE] = DVMD_OUTPUT_TAG_NONE,         [DVM_OUTPUT_TAG_SHORT] = DVMD_OUTPUT_TAG_SHORT,
    [DVM_OUTPUT_TAG_DETAILED] = DVMD_OUTPUT_TAG_DETAILED, [DVM_OUTPUT_TAG_FULLNAME] = DVMD_OUTPUT_TAG_FULLNAME,
    [DVM_OUTPUT_TAG_RANK] = DVMD_OUTPUT_TAG_RANK,
  };
  g_auto (DvmOutputOptions) options = { 0 };
  g_autofree char *file = NULL;
  DvmdOutputFormat *format;

  if (!_dvm_output_parse (dvm_job_spec_get_output (spec), "", &options, error))
    return NULL;
  format = dvmd_output_format_new ();
  format->tag = tags[options.tag];
  format->timestamp = options.timestamp;
  format->xml = options.xml;
  format->merge = options.merge;
  format->copy = options.copy;
  format->raw = options.raw;
  format->pattern = options.pattern;
  format->dir = find_path (spec, options.dir);
  if (options.pattern)
    file = _dvm_array_expand_path (_dvm_job_spec_get_place (spec), options.file, TRUE);
  format->file = find_path (spec, file != NULL ? file : options.file);
  return format;
}

DvmdJobStreams *
dvmd_job_streams_new (DvmdController *controller, DvmJobSpec *spec, const char *nspace, guint id, int fds[3],
                      GError **error)
{
  DvmdOutputFormat *format = make_format (spec, error);
  DvmdJobStreams *self;

  if (format == NULL)
    return NULL;
  self = g_new0 (DvmdJobStreams, 1);
  self->all = get_all (controller);
  self->followers = g_ptr_array_new ();
  self->uncredited = g_hash_table_new (NULL, NULL);
  self->stdin_target = DVMD_INPUT_NONE;
  self->stdin_fd = g_steal_fd (&fds[0]);
  self->stdin_owned = self->stdin_fd >= 0;
  self->output = dvmd_output_new (dvmd_controller_get_parts (controller)->context,
                                  dvmd_controller_get_parts (controller)->clock, nspace, id, count_ranks (spec), format,
                                  &output_funcs, self);
  dvmd_output_set_keep (self->output, self->all->keep_of_one);
  if (!add_outputs (self, spec, fds, error))
    {
      dvmd_job_streams_free (self);
      return NULL;
    }
  return self;
}

void
dvmd_job_streams_begin (DvmdJobStreams *self)
{
  dvmd_output_begin (self->output);
}

void
dvmd_job_streams_accept (DvmdJobStreams *self, DvmdJob *job)
{
  self->job = g_object_ref (job);
  dvmd_output_begin (self->output);
  g_hash_table_insert (self->all->jobs, GUINT_TO_POINTER (dvmd_job_get_id (job)), self);
}

/* ---- stdin ---- */

static GArray *
find_nodes_of_some (DvmdJobStreams *self)
{
  DvmdProcTable *procs = dvmd_job_get_procs (self->job);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  GArray *nodes = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint rank = 0; dvmd_id_set_next (self->stdin_ranks, rank, &rank); rank++)
    {
      guint node = dvmd_proc_table_row (procs, rank)->node;

      if (g_hash_table_add (seen, GUINT_TO_POINTER (node)))
        g_array_append_val (nodes, node);
    }
  return nodes;
}

/* The nodes of the ranks that read it: of all, some, one or none. */
static GArray *
find_readers (DvmdJobStreams *self, guint target)
{
  GArray *nodes;

  if (target == DVMD_INPUT_ALL)
    return dvmd_map_get_nodes (dvmd_job_get_map (self->job));
  if (target == DVMD_INPUT_SOME)
    return find_nodes_of_some (self);
  nodes = g_array_new (FALSE, FALSE, sizeof (guint));
  if (target != DVMD_INPUT_NONE)
    g_array_append_val (nodes, dvmd_proc_table_row (dvmd_job_get_procs (self->job), target)->node);
  return nodes;
}

static void
send_input (DvmdInput *input, guint rank, GBytes *bytes, gpointer user_data)
{
  DvmdJobStreams *self = user_data;
  guint32 id = dvmd_job_get_id (self->job);
  /* An agent knows which of its ranks read. */
  guint32 to = rank == DVMD_INPUT_ALL || rank == DVMD_INPUT_SOME ? DVMD_ALL_RANKS : rank;
  DvmdMessageKind kind = bytes != NULL ? DVMD_MSG_INPUT : DVMD_MSG_INPUT_EOF;
  g_autoptr (GVariant) body = NULL;
  g_autoptr (GArray) nodes = NULL;

  if (bytes != NULL)
    body = g_variant_new ("(uu@ay)", id, to, g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, bytes, TRUE));
  else
    body = g_variant_new ("(uu)", id, to);
  g_variant_ref_sink (body);
  nodes = find_readers (self, rank);
  for (guint i = 0; i < nodes->len; i++)
    dvmd_controller_send (self->all->controller, g_array_index (nodes, guint, i), kind, body);
}

static const DvmdInputFuncs input_funcs = { .send = send_input };

static void
await_launch (DvmdJobStreams *self)
{
  g_autoptr (GArray) nodes = find_readers (self, self->stdin_target);

  self->unlaunched = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < nodes->len; i++)
    g_hash_table_add (self->unlaunched, GUINT_TO_POINTER (g_array_index (nodes, guint, i)));
}

/*
 * A job that nobody gave a stdin has none, unless it says who is to have one: then it waits for somebody who attaches.
 * A terminal is always read from.
 */
gboolean
dvmd_job_streams_launch (DvmdJobStreams *self, guint *stdin_target, gsize *credit, GError **launch_error)
{
  DvmJobSpec *spec = dvmd_job_get_spec (self->job);
  const char *text = dvm_job_spec_get_stdin_target (spec);
  guint n_ranks = dvmd_job_get_procs (self->job)->n_rows;
  g_autoptr (GError) error = NULL;

  if (!dvmd_output_open_files (self->output, n_ranks, dvm_job_spec_get_pty (spec), launch_error))
    return FALSE;
  self->stdin_target = DVMD_INPUT_NONE;
  /* The map has checked it. */
  if (text != NULL || self->stdin_owned || dvm_job_spec_get_pty (spec))
    dvmd_input_parse_target (text, n_ranks, &self->stdin_target, &self->stdin_ranks, NULL);
  await_launch (self);
  self->input = dvmd_input_new (dvmd_controller_get_parts (self->all->controller)->context, self->stdin_target,
                                self->stdin_ranks, n_ranks, &input_funcs, self);
  if (self->stdin_fd >= 0 && !dvmd_input_set_fd (self->input, g_steal_fd (&self->stdin_fd), &error))
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, dvm_job_get_nspace (dvmd_job_get_record (self->job)), "%s",
                  error->message);
  *stdin_target = self->stdin_target;
  *credit = self->all->credit;
  return TRUE;
}

void
dvmd_job_streams_describe (DvmdJobStreams *self, guint *stdin_target, gsize *credit)
{
  *stdin_target = self->stdin_target;
  *credit = self->all->credit;
}

/* The launch takes its time, and may go another way: what comes before a process is there has nobody who reads it. */
static void
start_input (DvmdJobStreams *self)
{
  gboolean awaited = self->unlaunched != NULL && g_hash_table_size (self->unlaunched) > 0;

  if (self->input != NULL && self->started && !awaited)
    dvmd_input_start (self->input);
}

void
dvmd_job_streams_launched (DvmdJobStreams *self, guint agent)
{
  if (self->unlaunched != NULL && g_hash_table_remove (self->unlaunched, GUINT_TO_POINTER (agent)))
    start_input (self);
}

void
dvmd_job_streams_lose (DvmdJobStreams *self, guint agent, GArray *ranks)
{
  for (guint i = 0; i < ranks->len; i++)
    {
      guint rank = g_array_index (ranks, guint32, i);

      if (self->input != NULL)
        dvmd_input_rank_ended (self->input, rank);
      dvmd_output_push_eof (self->output, rank, DVMD_STREAM_STDOUT);
      dvmd_output_push_eof (self->output, rank, DVMD_STREAM_STDERR);
    }
  dvmd_job_streams_launched (self, agent);
}

void
dvmd_job_streams_end (DvmdJobStreams *self)
{
  self->ended = TRUE;
  dvmd_job_tell_output (self->job);
  /* Not kept for the history: the main loop would look at a thousand sources that have nothing to say. */
  g_clear_pointer (&self->input, dvmd_input_free);
  if (self->stdin_fd >= 0)
    close (g_steal_fd (&self->stdin_fd));
  /* The others end now, too. */
  release_followers (self, FALSE);
  if (self->followers->len == 0)
    end_output (self);
}

gboolean
dvmd_job_streams_is_finished (DvmdJobStreams *self)
{
  return self->finished;
}

void
dvmd_job_streams_tap (DvmdJobStreams *self, DvmdOutputTap tap, gpointer user_data)
{
  dvmd_output_set_tap (self->output, tap, user_data);
}

DvmdOutput *
dvmd_job_streams_mirror (DvmdJobStreams *self, DvmdOutputFormat *format, DvmdOutputTap tap, gpointer user_data)
{
  return dvmd_output_add_mirror (self->output, format, tap, user_data);
}

void
dvmd_job_streams_drop_mirror (DvmdJobStreams *self, DvmdOutput *mirror)
{
  dvmd_output_drop_mirror (self->output, mirror);
}

void
dvmd_job_streams_keep (DvmdJobStreams *self, const DvmdOutputPiece *piece)
{
  dvmd_output_keep (self->output, piece);
}

void
dvmd_job_streams_say (DvmdJobStreams *self, const char *message)
{
  dvmd_output_say (self->output, message);
}

void
dvmd_job_streams_insert (DvmdJobStreams *self, guint rank, DvmdStream stream, const char *text)
{
  dvmd_output_insert (self->output, rank, stream, text);
}

/* ---- attaching ---- */

DvmdInput *
dvmd_job_streams_get_input (DvmdJobStreams *self)
{
  return self->input;
}

gboolean
dvmd_job_streams_is_written_to (DvmdJobStreams *self)
{
  return self->stdin_owned || (self->input != NULL && dvmd_input_has_owner (self->input));
}

static int
attach_stdin (DvmdJobStreams *self, GError **error)
{
  int ends[2];

  if (self->ended)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "The job has ended: nobody reads its standard input");
      return -1;
    }
  if (self->input != NULL)
    return dvmd_input_attach (self->input, error);
  if (self->stdin_owned)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "The job's standard input has its owner already");
      return -1;
    }
  /* Not launched yet: what is written waits in the pipe. */
  if (!g_unix_open_pipe (ends, FD_CLOEXEC, error))
    return -1;
  self->stdin_fd = ends[0];
  self->stdin_owned = TRUE;
  return ends[1];
}

static gboolean
give_stdin (DvmdJobStreams *self, int fd, GError **error)
{
  if (self->input != NULL)
    return dvmd_input_set_fd (self->input, fd, error);
  self->stdin_fd = fd;
  self->stdin_owned = TRUE;
  return TRUE;
}

/* The terminal of a job that has ended has nobody who reads from it. */
static gboolean
give_terminal_input (DvmdJobStreams *self, int socket, GError **error)
{
  int input;

  if (self->ended)
    return TRUE;
  if (self->input == NULL && self->stdin_owned)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "The job's terminal has its owner already");
      return FALSE;
    }
  input = fcntl (socket, F_DUPFD_CLOEXEC, 3);
  if (input >= 0)
    return give_stdin (self, input, error);
  g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "There is no descriptor left for the terminal: %s",
               g_strerror (errno));
  return FALSE;
}

/* One socket for both directions; -1 on error. */
static int
attach_pty (DvmdJobStreams *self, GError **error)
{
  int ends[2];

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "Could not make a socket for the terminal: %s",
                   g_strerror (errno));
      return -1;
    }
  if (!give_terminal_input (self, ends[0], error))
    close (ends[0]);
  else if (dvmd_output_attach_fd (self->output, DVMD_STREAM_STDOUT, ends[0], error))
    return ends[1];
  close (ends[1]);
  return -1;
}

gboolean
dvmd_job_streams_attach (DvmdJobStreams *self, DvmStreams streams, int fds[3], GError **error)
{
  gboolean is_pty = dvm_job_spec_get_pty (dvmd_job_get_spec (self->job));
  gboolean want_out = (streams & DVM_STREAMS_STDOUT) != 0;
  gboolean want_err = (streams & DVM_STREAMS_STDERR) != 0;

  fds[0] = fds[1] = fds[2] = -1;
  if ((streams & DVM_STREAMS_PTY) && !is_pty)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“pty”: the job was not submitted with one");
      return FALSE;
    }
  if (streams & DVM_STREAMS_PTY)
    {
      fds[0] = attach_pty (self, error);
      return fds[0] >= 0;
    }
  if (streams & DVM_STREAMS_STDIN)
    {
      fds[0] = attach_stdin (self, error);
      if (fds[0] < 0)
        return FALSE;
    }
  if ((want_out || want_err)
      && !dvmd_output_attach (self->output, want_out ? &fds[1] : NULL, want_err ? &fds[2] : NULL, error))
    {
      if (fds[0] >= 0)
        close (g_steal_fd (&fds[0]));
      return FALSE;
    }
  return TRUE;
}

/* ---- messages ---- */

/* (nullable): of a rank that the job has */
static DvmdJobStreams *
find_streams (Streams *self, guint32 id, guint32 rank)
{
  DvmdJobStreams *streams = g_hash_table_lookup (self->jobs, GUINT_TO_POINTER (id));
  DvmdProcTable *procs = streams != NULL ? dvmd_job_get_procs (streams->job) : NULL;

  return procs != NULL && rank < procs->n_rows ? streams : NULL;
}

static void
handle_output (gpointer service, guint source, GVariant *body)
{
  Streams *self = service;
  g_autoptr (GVariant) data = NULL;
  g_autoptr (GBytes) bytes = NULL;
  DvmdJobStreams *streams;
  guint32 id;
  guint32 rank;
  guint32 stream;

  g_variant_get (body, "(uuu@ay)", &id, &rank, &stream, &data);
  streams = find_streams (self, id, rank);
  if (streams == NULL || stream >= DVMD_N_STREAMS)
    return;
  bytes = g_variant_get_data_as_bytes (data);
  self->bytes += g_bytes_get_size (bytes);
  dvmd_job_count_output (streams->job, g_bytes_get_size (bytes));
  dvmd_output_push (streams->output, rank, stream, bytes);
}

static void
handle_output_eof (gpointer service, guint source, GVariant *body)
{
  DvmdJobStreams *streams;
  guint32 id;
  guint32 rank;
  guint32 stream;

  g_variant_get (body, "(uuu)", &id, &rank, &stream);
  streams = find_streams (service, id, rank);
  if (streams != NULL && stream < DVMD_N_STREAMS)
    dvmd_output_push_eof (streams->output, rank, stream);
}

static void
handle_input_taken (gpointer service, guint source, GVariant *body)
{
  DvmdJobStreams *streams;
  guint32 id;
  guint32 rank;
  guint64 n_bytes;

  g_variant_get (body, "(uut)", &id, &rank, &n_bytes);
  streams = find_streams (service, id, rank);
  if (streams != NULL && streams->input != NULL)
    dvmd_input_add_credit (streams->input, rank, n_bytes);
}

/* ---- the service ---- */

static void
job_started (gpointer service, DvmdJob *job)
{
  DvmdJobStreams *self = g_hash_table_lookup (((Streams *)service)->jobs, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (self == NULL)
    return;
  self->started = TRUE;
  start_input (self);
}

static void
job_forgotten (gpointer service, DvmdJob *job)
{
  DvmdJobStreams *self = g_hash_table_lookup (((Streams *)service)->jobs, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (self == NULL)
    return;
  self->forgotten = TRUE;
  if (self->followers->len == 0 && dvmd_output_get_n_readers (self->output, DVMD_STREAM_STDOUT) == 0
      && dvmd_output_get_n_readers (self->output, DVMD_STREAM_STDERR) == 0)
    drop (self);
}

static void
settings_changed (gpointer service, const DvmdControllerChanges *changes)
{
  Streams *self = service;

  self->keep_of_one = changes->keep_output;
  self->keep_of_all = changes->keep_output_total;
  trim_kept (self);
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  dvmd_services_add_number (statistics, "output-bytes", ((Streams *)service)->bytes);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Streams *self = g_new0 (Streams, 1);

  self->controller = controller;
  self->jobs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_job_streams_free);
  self->keep_of_one = settings->output.of_one;
  self->keep_of_all = settings->output.of_all;
  self->credit = settings->output.credit > 0 ? settings->output.credit : DVMD_STREAM_WINDOW;
  g_queue_init (&self->kept);
  return self;
}

static void
streams_free (gpointer service)
{
  Streams *self = service;

  g_hash_table_unref (self->jobs);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_OUTPUT, handle_output },
  { DVMD_MSG_OUTPUT_EOF, handle_output_eof },
  { DVMD_MSG_INPUT_TAKEN, handle_input_taken },
  { 0 },
};

/* Its agent may have ended its part of the job: others do not wait until it has room for more. */
static void
proc_ended (gpointer service, DvmdJob *job, guint32 rank)
{
  DvmdJobStreams *streams = g_hash_table_lookup (((Streams *)service)->jobs, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (streams != NULL && streams->input != NULL)
    dvmd_input_rank_ended (streams->input, rank);
}

const DvmdService dvmd_streams_service = {
  .name = "streams",
  .create = create,
  .free = streams_free,
  .handlers = handlers,
  .job_started = job_started,
  .job_forgotten = job_forgotten,
  .proc_ended = proc_ended,
  .settings_changed = settings_changed,
  .add_statistics = add_statistics,
};
