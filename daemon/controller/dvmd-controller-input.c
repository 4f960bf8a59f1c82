/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tools and processes write to the standard input of jobs, by PMIx_IOF_push(). Each job has one writer at a time; a
 * piece is answered when the job has room for it, so that who writes faster than the job reads waits.
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

typedef struct
{
  guint64 call;
  GBytes *bytes;
  gsize written;
  gboolean is_last;
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
  GSource *source; /* (nullable): the pipe is full */
} Writer;

static void
piece_free (gpointer data)
{
  Piece *piece = data;

  g_bytes_unref (piece->bytes);
  g_free (piece);
}

static void
answer_first (Writer *self, int status)
{
  Piece *piece = g_queue_pop_head (&self->pieces);

  self->queued -= g_bytes_get_size (piece->bytes) + PIECE_COST;
  dvmd_controller_answer (self->all->controller, piece->call, status,
                          status == DVMD_PMIX_SUCCESS ? g_variant_new ("()") : NULL);
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
  const char *data = g_bytes_get_data (piece->bytes, &size);

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

/* With any other status than this one libpmix tells a tool that its input has failed: by a call that never returns
 * in 6.1. */
static void
serve (Writer *self)
{
  Piece *piece;

  while (self->source == NULL && (piece = g_queue_peek_head (&self->pieces)) != NULL)
    {
      gboolean had_end = self->fd < 0;
      gboolean is_end = had_end || g_bytes_get_size (piece->bytes) == 0;

      if (!had_end && !write_piece (self, piece))
        return;
      if (!had_end && piece->is_last)
        close (g_steal_fd (&self->fd));
      answer_first (self, is_end ? DVMD_PMIX_ERR_IOF_COMPLETE : DVMD_PMIX_SUCCESS);
    }
}

/* ---- who may write, and to whom ---- */

/* The job says which of its processes read, none unless it says so: nothing is written to those that do not. */
static gboolean
reads (DvmdJob *job, guint32 rank)
{
  const char *text = dvm_job_spec_get_stdin_target (dvmd_job_get_spec (job));
  DvmStdinTarget target;

  if (text == NULL || !_dvm_stdin_target_parse (text, "", &target, NULL))
    return FALSE;
  if (target.kind == DVM_STDIN_ALL || target.kind == DVM_STDIN_LIST)
    return rank == DVMD_PMIX_RANK_WILDCARD;
  return target.kind == DVM_STDIN_RANK && rank == target.rank;
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
  g_queue_init (&writer->pieces);
  g_hash_table_insert (self->writers, GUINT_TO_POINTER (writer->job), writer);
  return writer;
}

/* (nullable): status says why */
static Writer *
find_writer (Inputs *self, const DvmdCall *call, const char *nspace, guint32 rank, int *status)
{
  DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self->controller), nspace);
  g_autoptr (DvmdRequester) requester = dvmd_call_new_requester (call);
  Writer *writer;

  *status = DVMD_PMIX_SUCCESS;
  if (job == NULL)
    *status = DVMD_PMIX_ERR_NOT_FOUND;
  else if (!dvmd_core_may (dvmd_controller_get_core (self->controller), requester, DVMD_RIGHT_JOB, NULL, job, NULL))
    *status = DVMD_PMIX_ERR_NO_PERMISSIONS;
  else if (dvmd_job_get_state (job) >= DVM_JOB_STATE_TERMINATED)
    *status = DVMD_PMIX_ERR_IOF_COMPLETE;
  else if (!reads (job, rank))
    *status = DVMD_PMIX_ERR_NOT_SUPPORTED;
  if (*status != DVMD_PMIX_SUCCESS)
    return NULL;
  writer = g_hash_table_lookup (self->writers, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  if (writer == NULL)
    return begin (self, call, job, status);
  if (writer->fd < 0 && g_queue_is_empty (&writer->pieces))
    {
      *status = DVMD_PMIX_ERR_IOF_COMPLETE;
      return NULL;
    }
  if (g_str_equal (writer->nspace, call->nspace) && writer->rank == call->rank)
    return writer;
  *status = DVMD_PMIX_ERR_EXISTS;
  return NULL;
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
handle_input (gpointer service, DvmdCall *call, GVariant *request)
{
  g_autoptr (GVariant) data = NULL;
  const char *nspace;
  guint32 rank;
  gboolean is_last;
  Writer *writer;
  Piece *piece;
  int status;

  g_variant_get (request, "(&su@ayb)", &nspace, &rank, &data, &is_last);
  writer = find_writer (service, call, nspace, rank, &status);
  if (writer != NULL && writer->queued + g_variant_get_size (data) > MAX_QUEUED)
    status = DVMD_PMIX_ERR_OUT_OF_RESOURCE;
  if (status != DVMD_PMIX_SUCCESS)
    {
      dvmd_controller_answer (((Inputs *)service)->controller, call->id, status, NULL);
      return;
    }
  piece = g_new0 (Piece, 1);
  piece->call = call->id;
  piece->bytes = g_variant_get_data_as_bytes (data);
  piece->is_last = is_last;
  writer->queued += g_bytes_get_size (piece->bytes) + PIECE_COST;
  g_queue_push_tail (&writer->pieces, piece);
  serve (writer);
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
