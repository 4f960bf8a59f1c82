/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tools and processes write to the standard input of jobs, by PMIx_IOF_push(), of several at once if they like. Each
 * job has one writer at a time; a piece is answered when all jobs that it is for have room for it, so that who writes
 * faster than they read waits.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <glib-unix.h>

#include "dvmd-controller-input.h"
#include "dvmd-services.h"

#include "dvm-job-spec-private.h"
#include "dvmd-controller-streams.h"
#include "dvmd-rights.h"

/* Tools that hand on their own standard input wait for no answer: libpmix reads on while the job has no room. */
#define MAX_QUEUED (256 * 1024 * 1024)
#define PIECE_COST 256

typedef struct
{
  DvmdController *controller;
  GHashTable *writers; /* id of the job -> Writer */
} Inputs;

/* A call brings a piece for each of the jobs that it is for. */
typedef struct
{
  DvmdController *controller;
  guint64 call;
  GBytes *bytes;
  gboolean is_last;
  guint n_pieces; /* that have not been taken */
  guint n_taken;
} Push;

typedef struct
{
  Push *push;
  DvmdIdSet *to; /* (nullable): all that read */
  gboolean is_for_some;
  gboolean is_aimed;
  gsize written;
} Piece;

typedef struct
{
  Inputs *all;
  guint job;
  char *nspace; /* of the one who writes */
  guint32 rank;
  guint agent; /* of its node */
  int fd;      /* -1: it has ended */
  GQueue pieces;
  gsize queued;    /* bytes of them */
  DvmdIdSet *past; /* ranks for which the input has ended, or ends with a piece */
  GSource *source; /* (nullable): the pipe is full */
} Writer;

static void
piece_free (gpointer data)
{
  Piece *piece = data;

  g_clear_pointer (&piece->to, dvmd_id_set_free);
  g_free (piece);
}

/* Jobs that have ended are passed over, unless all have. */
static void
count_piece (Push *self, int status)
{
  self->n_taken += status == DVMD_PMIX_SUCCESS ? 1 : 0;
  if (--self->n_pieces > 0)
    return;
  if (self->n_taken > 0)
    dvmd_controller_answer (self->controller, self->call, DVMD_PMIX_SUCCESS, g_variant_new ("()"));
  else
    dvmd_controller_answer (self->controller, self->call, DVMD_PMIX_ERR_IOF_COMPLETE, NULL);
  g_bytes_unref (self->bytes);
  g_free (self);
}

static void
answer_first (Writer *self, int status)
{
  Piece *piece = g_queue_pop_head (&self->pieces);

  self->queued -= g_bytes_get_size (piece->push->bytes) + PIECE_COST;
  count_piece (piece->push, status);
  piece_free (piece);
}

static void
stop_waiting (Writer *self)
{
  if (self->source == NULL)
    return;
  g_source_destroy (self->source);
  g_clear_pointer (&self->source, g_source_unref);
}

/* Nothing of it is read any more. */
static void
close_writer (Writer *self, int status)
{
  stop_waiting (self);
  if (self->fd >= 0)
    close (g_steal_fd (&self->fd));
  while (!g_queue_is_empty (&self->pieces))
    answer_first (self, status);
}

static void
writer_free (gpointer data)
{
  Writer *self = data;

  close_writer (self, DVMD_PMIX_ERR_IOF_COMPLETE);
  dvmd_id_set_free (self->past);
  g_free (self->nspace);
  g_free (self);
}

static void serve (Writer *self);

static gboolean
on_room (int fd, GIOCondition condition, gpointer user_data)
{
  Writer *self = user_data;

  stop_waiting (self);
  serve (self);
  return G_SOURCE_REMOVE;
}

static void
wait_for_room (Writer *self)
{
  self->source = g_unix_fd_source_new (self->fd, G_IO_OUT);
  g_source_set_callback (self->source, G_SOURCE_FUNC (on_room), self, NULL);
  g_source_attach (self->source, dvmd_controller_get_parts (self->all->controller)->context);
}

/* FALSE: the pipe is full, or nobody reads from it. */
static gboolean
write_piece (Writer *self, Piece *piece)
{
  gsize size;
  const char *data = g_bytes_get_data (piece->push->bytes, &size);

  while (piece->written < size)
    {
      gssize n = write (self->fd, data + piece->written, size - piece->written);

      if (n > 0)
        piece->written += (gsize)n;
      else if (errno == EAGAIN)
        {
          wait_for_room (self);
          return FALSE;
        }
      else if (errno != EINTR)
        {
          close_writer (self, DVMD_PMIX_ERR_IOF_COMPLETE);
          return FALSE;
        }
    }
  return TRUE;
}

/* The job is told whom it is for before it comes. */
static void
aim_piece (Writer *self, Piece *piece)
{
  DvmdJobStreams *streams = dvmd_controller_get_streams (self->all->controller, self->job);
  DvmdInput *input = streams != NULL ? dvmd_job_streams_get_input (streams) : NULL;

  piece->is_aimed = TRUE;
  if (input != NULL)
    dvmd_input_aim (input, g_bytes_get_size (piece->push->bytes), g_steal_pointer (&piece->to), piece->push->is_last);
}

/* With any other status than this one libpmix tells a tool that its input has failed: by a call that never returns
 * in 6.1. */
static void
serve (Writer *self)
{
  Piece *piece;

  while (self->source == NULL && (piece = g_queue_peek_head (&self->pieces)) != NULL)
    {
      gboolean had_end = self->fd < 0;
      gboolean is_end = had_end || g_bytes_get_size (piece->push->bytes) == 0;

      if (!had_end && !piece->is_aimed)
        aim_piece (self, piece);
      if (!had_end && !write_piece (self, piece))
        return;
      if (!had_end && piece->push->is_last && !piece->is_for_some)
        close (g_steal_fd (&self->fd));
      answer_first (self, is_end ? DVMD_PMIX_ERR_IOF_COMPLETE : DVMD_PMIX_SUCCESS);
    }
}

/* ---- who may write, and to whom ---- */

/* One job of a call. */
typedef struct
{
  char *nspace;
  DvmdJob *job; /* (nullable): there is none */
  gboolean all; /* that read */
  DvmdIdSet *ranks;
  Writer *writer;
} Target;

static void
target_free (gpointer data)
{
  Target *target = data;

  g_free (target->nspace);
  g_clear_object (&target->job);
  g_clear_pointer (&target->ranks, dvmd_id_set_free);
  g_free (target);
}

/* (element-type Target): each job once, in the order in which they are named */
static GPtrArray *
read_targets (Inputs *self, GVariant *procs)
{
  GPtrArray *targets = g_ptr_array_new_with_free_func (target_free);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GVariantIter iter;
  const char *nspace;
  guint32 rank;

  g_variant_iter_init (&iter, procs);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    {
      Target *target = g_hash_table_lookup (seen, nspace);

      if (target == NULL)
        {
          DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self->controller), nspace);

          target = g_new0 (Target, 1);
          target->nspace = g_strdup (nspace);
          target->job = job != NULL ? g_object_ref (job) : NULL;
          target->ranks = dvmd_id_set_new ();
          g_hash_table_insert (seen, target->nspace, target);
          g_ptr_array_add (targets, target);
        }
      if (rank == DVMD_PMIX_RANK_WILDCARD)
        target->all = TRUE;
      else
        dvmd_id_set_add (target->ranks, rank);
    }
  return targets;
}

/* (nullable): the processes of the job that read; n_ranks: how many it has, G_MAXUINT if that is not known yet */
static DvmdIdSet *
find_readers (DvmdJob *job, const char *text, DvmStdinKind kind, guint *n_ranks)
{
  DvmdProcTable *procs = dvmd_job_get_procs (job);
  DvmdIdSet *readers;

  *n_ranks = procs != NULL ? procs->n_rows : G_MAXUINT;
  if (kind != DVM_STDIN_ALL)
    return dvmd_id_set_parse (text, "stdin", NULL);
  readers = dvmd_id_set_new ();
  if (procs != NULL && procs->n_rows > 0)
    dvmd_id_set_add_range (readers, 0, procs->n_rows - 1);
  return readers;
}

/* Ranks that are named are processes that read. ranks becomes NULL where they are all of them. */
static int
check_ranks (Target *self, DvmdJobStreams *streams, DvmdIdSet *readers, guint n_ranks)
{
  for (guint rank = 0; dvmd_id_set_next (self->ranks, rank, &rank); rank++)
    {
      if (rank >= n_ranks)
        return DVMD_PMIX_ERR_NOT_FOUND;
      if (!dvmd_id_set_contains (readers, rank))
        return n_ranks == G_MAXUINT ? DVMD_PMIX_ERR_RESOURCE_BUSY : DVMD_PMIX_ERR_NOT_SUPPORTED;
      if (rank == G_MAXUINT)
        break;
    }
  if (dvmd_id_set_count (self->ranks) == dvmd_id_set_count (readers))
    self->all = TRUE;
  else if (streams == NULL || dvmd_job_streams_get_input (streams) == NULL)
    return DVMD_PMIX_ERR_RESOURCE_BUSY;
  return DVMD_PMIX_SUCCESS;
}

/* The job says which of its processes read, none unless it says so: nothing is written to those that do not. */
static int
check_readers (Inputs *self, Target *target)
{
  const char *text = dvm_job_spec_get_stdin_target (dvmd_job_get_spec (target->job));
  g_autoptr (DvmdIdSet) readers = NULL;
  DvmStdinTarget reads;
  guint n_ranks;

  if (text == NULL || !_dvm_stdin_target_parse (text, "", &reads, NULL) || reads.kind == DVM_STDIN_NONE)
    return DVMD_PMIX_ERR_NOT_SUPPORTED;
  if (target->all)
    return reads.kind == DVM_STDIN_RANK ? DVMD_PMIX_ERR_NOT_SUPPORTED : DVMD_PMIX_SUCCESS;
  readers = find_readers (target->job, text, reads.kind, &n_ranks);
  if (readers == NULL)
    return DVMD_PMIX_ERR_NOT_SUPPORTED;
  return check_ranks (target, dvmd_controller_get_streams (self->controller, dvmd_job_get_id (target->job)), readers,
                      n_ranks);
}

static Writer *
begin (Inputs *self, const DvmdCall *call, DvmdJob *job, int *status)
{
  DvmdJobStreams *streams = dvmd_controller_get_streams (self->controller, dvmd_job_get_id (job));
  g_autoptr (GError) error = NULL;
  int fds[3] = { -1, -1, -1 };
  Writer *writer;

  if (streams == NULL || !dvmd_job_streams_attach (streams, DVM_STREAMS_STDIN, fds, &error))
    {
      /* All that read may have ended before the job has. */
      *status = error == NULL || g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_FOUND)
                    ? DVMD_PMIX_ERR_IOF_COMPLETE
                    : dvmd_pmix_status_from_error (error);
      if (*status != DVMD_PMIX_ERR_IOF_COMPLETE)
        g_message ("%s.%u wants to write to job %s: %s", call->nspace, call->rank,
                   dvm_job_get_nspace (dvmd_job_get_record (job)), error->message);
      return NULL;
    }
  fcntl (fds[0], F_SETFL, O_NONBLOCK);
  writer = g_new0 (Writer, 1);
  writer->all = self;
  writer->job = dvmd_job_get_id (job);
  writer->nspace = g_strdup (call->nspace);
  writer->rank = call->rank;
  writer->agent = call->agent;
  writer->fd = fds[0];
  writer->past = dvmd_id_set_new ();
  g_queue_init (&writer->pieces);
  g_hash_table_insert (self->writers, GUINT_TO_POINTER (writer->job), writer);
  return writer;
}

/* Somebody reads what is written now. */
static gboolean
is_read (Inputs *self, Target *target)
{
  DvmdJobStreams *streams = dvmd_controller_get_streams (self->controller, dvmd_job_get_id (target->job));
  DvmdInput *input = streams != NULL ? dvmd_job_streams_get_input (streams) : NULL;
  Writer *writer = target->writer;

  if (writer != NULL && writer->fd < 0)
    return !g_queue_is_empty (&writer->pieces);
  return input == NULL
         || dvmd_input_is_read (input, target->all ? NULL : target->ranks,
                                writer != NULL && !dvmd_id_set_is_empty (writer->past) ? writer->past : NULL);
}

/* Nothing is begun here: another target may be wrong. */
static int
check_target (Inputs *self, const DvmdCall *call, Target *target)
{
  g_autoptr (DvmdRequester) requester = dvmd_call_new_requester (call);
  DvmdJobStreams *streams;
  int status;

  if (target->job == NULL)
    return DVMD_PMIX_ERR_NOT_FOUND;
  if (!dvmd_core_may (dvmd_controller_get_core (self->controller), requester, DVMD_RIGHT_JOB, NULL, target->job, NULL))
    return DVMD_PMIX_ERR_NO_PERMISSIONS;
  if (dvmd_job_get_state (target->job) >= DVM_JOB_STATE_TERMINATED)
    return DVMD_PMIX_ERR_IOF_COMPLETE;
  status = check_readers (self, target);
  if (status != DVMD_PMIX_SUCCESS)
    return status;
  target->writer = g_hash_table_lookup (self->writers, GUINT_TO_POINTER (dvmd_job_get_id (target->job)));
  if (!is_read (self, target))
    return DVMD_PMIX_ERR_IOF_COMPLETE;
  if (target->writer != NULL)
    return g_str_equal (target->writer->nspace, call->nspace) && target->writer->rank == call->rank
               ? DVMD_PMIX_SUCCESS
               : DVMD_PMIX_ERR_EXISTS;
  streams = dvmd_controller_get_streams (self->controller, dvmd_job_get_id (target->job));
  return streams != NULL && dvmd_job_streams_is_written_to (streams) ? DVMD_PMIX_ERR_EXISTS : DVMD_PMIX_SUCCESS;
}

/* Aims whose input has ended go. Else all of them are written to, or none. */
static int
check_targets (Inputs *self, const DvmdCall *call, GPtrArray *targets)
{
  for (guint i = 0; i < targets->len;)
    {
      int status = check_target (self, call, g_ptr_array_index (targets, i));

      if (status == DVMD_PMIX_ERR_IOF_COMPLETE)
        g_ptr_array_remove_index (targets, i);
      else if (status == DVMD_PMIX_SUCCESS)
        i++;
      else
        return status;
    }
  return targets->len > 0 ? DVMD_PMIX_SUCCESS : DVMD_PMIX_ERR_IOF_COMPLETE;
}

/* Likewise, now that nothing is wrong with any of them. */
static int
begin_targets (Inputs *self, const DvmdCall *call, GPtrArray *targets, gsize size)
{
  for (guint i = 0; i < targets->len;)
    {
      Target *target = g_ptr_array_index (targets, i);
      int status = DVMD_PMIX_SUCCESS;

      if (target->writer == NULL)
        target->writer = begin (self, call, target->job, &status);
      else if (target->writer->queued + size > MAX_QUEUED)
        status = DVMD_PMIX_ERR_OUT_OF_RESOURCE;
      if (status == DVMD_PMIX_ERR_IOF_COMPLETE)
        g_ptr_array_remove_index (targets, i);
      else if (status == DVMD_PMIX_SUCCESS)
        i++;
      else
        return status;
    }
  return targets->len > 0 ? DVMD_PMIX_SUCCESS : DVMD_PMIX_ERR_IOF_COMPLETE;
}

void
dvmd_controller_open_input (DvmdController *self, const DvmdCall *call, DvmdJob *job)
{
  const char *target = dvm_job_spec_get_stdin_target (dvmd_job_get_spec (job));
  g_autoptr (DvmdRequester) requester = dvmd_call_new_requester (call);
  Inputs *inputs = dvmd_services_get (self, &dvmd_input_service);
  int status;

  if (target != NULL && !g_str_equal (target, "none") && !dvmd_job_get_ended (job)
      && !dvmd_core_is_application (dvmd_controller_get_core (self), requester))
    begin (inputs, call, job, &status);
  /* It has gone while the job waited. */
  if (!dvmd_controller_is_calling (self, call))
    g_hash_table_remove (inputs->writers, GUINT_TO_POINTER (dvmd_job_get_id (job)));
}

static void
end_for (Writer *self, DvmdIdSet *ranks)
{
  for (guint rank = 0; dvmd_id_set_next (ranks, rank, &rank); rank++)
    dvmd_id_set_add (self->past, rank);
}

static void
add_piece (Target *target, Push *push)
{
  Piece *piece = g_new0 (Piece, 1);

  piece->push = push;
  piece->is_for_some = !target->all;
  if (piece->is_for_some && push->is_last)
    end_for (target->writer, target->ranks);
  if (piece->is_for_some)
    piece->to = g_steal_pointer (&target->ranks);
  target->writer->queued += g_bytes_get_size (push->bytes) + PIECE_COST;
  g_queue_push_tail (&target->writer->pieces, piece);
  push->n_pieces++;
}

static void
handle_input (gpointer service, DvmdCall *call, GVariant *request)
{
  Inputs *self = service;
  g_autoptr (GVariant) procs = NULL;
  g_autoptr (GVariant) data = NULL;
  g_autoptr (GPtrArray) targets = NULL;
  gboolean is_last;
  Push *push;
  int status;

  g_variant_get (request, "(@a(su)@ayb)", &procs, &data, &is_last);
  targets = read_targets (self, procs);
  status = check_targets (self, call, targets);
  if (status == DVMD_PMIX_SUCCESS)
    status = begin_targets (self, call, targets, g_variant_get_size (data));
  if (status != DVMD_PMIX_SUCCESS)
    {
      dvmd_controller_answer (self->controller, call->id, status, NULL);
      return;
    }
  push = g_new0 (Push, 1);
  push->controller = self->controller;
  push->call = call->id;
  push->bytes = g_variant_get_data_as_bytes (data);
  push->is_last = is_last;
  for (guint i = 0; i < targets->len; i++)
    add_piece (g_ptr_array_index (targets, i), push);
  for (guint i = 0; i < targets->len; i++)
    serve (((Target *)g_ptr_array_index (targets, i))->writer);
}

/* ---- the service ---- */

static gboolean
is_of (gpointer key, gpointer value, gpointer nspace)
{
  return g_str_equal (((const Writer *)value)->nspace, nspace);
}

/* Jobs that a tool has written to find the end of their input when the tool has gone. */
static void
requester_gone (gpointer service, const char *nspace)
{
  g_hash_table_foreach_remove (((Inputs *)service)->writers, is_of, (gpointer)nspace);
}

/* The job's processes write to no other job any more, and nobody writes to the job. */
static void
job_ended (gpointer service, DvmdJob *job)
{
  requester_gone (service, dvm_job_get_nspace (dvmd_job_get_record (job)));
  g_hash_table_remove (((Inputs *)service)->writers, GUINT_TO_POINTER (dvmd_job_get_id (job)));
}

static gboolean
is_of_agent (gpointer key, gpointer value, gpointer agent)
{
  return ((const Writer *)value)->agent == GPOINTER_TO_UINT (agent);
}

static void
agent_gone (gpointer service, guint rank)
{
  g_hash_table_foreach_remove (((Inputs *)service)->writers, is_of_agent, GUINT_TO_POINTER (rank));
}

static void
proc_ended (gpointer service, DvmdJob *job, guint32 rank)
{
  Inputs *self = service;
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->writers);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (is_of (NULL, value, (gpointer)nspace) && ((Writer *)value)->rank == rank)
      g_hash_table_iter_remove (&iter);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Inputs *self = g_new0 (Inputs, 1);

  self->controller = controller;
  self->writers = g_hash_table_new_full (NULL, NULL, NULL, writer_free);
  return self;
}

static void
inputs_free (gpointer service)
{
  Inputs *self = service;

  g_hash_table_unref (self->writers);
  g_free (self);
}

static const DvmdCallHandler calls[] = { { DVMD_CALL_INPUT, handle_input }, { 0 } };

const DvmdService dvmd_input_service = {
  .name = "input",
  .create = create,
  .free = inputs_free,
  .calls = calls,
  .job_ended = job_ended,
  .proc_ended = proc_ended,
  .agent_gone = agent_gone,
  .requester_gone = requester_gone,
};
