/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The standard streams of the local processes, to and from the controller.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-ranks.h"

#include <string.h>

/* The numbers before the bytes of (uuuay). */
typedef guint32 OutputHead[3];

/* As g_variant_new() would make it, which copies the bytes three times: numbers, then bytes to the end. */
static void
output (DvmdPipes *pipes, guint rank, DvmdStream stream, char *piece, gsize size, gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  const OutputHead head = { job->local->id, rank, (guint32)stream };

  memcpy (piece, head, sizeof head);
  dvmd_agent_send (
      job->agent, DVMD_MSG_OUTPUT,
      g_variant_new_from_data (G_VARIANT_TYPE ("(uuuay)"), piece, sizeof head + size, TRUE, g_free, piece));
}

static void
eof (DvmdPipes *pipes, guint rank, DvmdStream stream, gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  DvmdLocalProc *proc = dvmd_local_job_find_proc (job->local, rank);

  dvmd_agent_send (job->agent, DVMD_MSG_OUTPUT_EOF, g_variant_new ("(uuu)", job->local->id, rank, (guint32)stream));
  if (dvmd_pipes_is_done (pipes))
    dvmd_local_proc_output_closed (proc);
}

static void
stdin_written (DvmdPipes *pipes, guint rank, gsize n_bytes, gpointer user_data)
{
  DvmdAgentJob *job = user_data;

  dvmd_agent_send (job->agent, DVMD_MSG_INPUT_TAKEN, g_variant_new ("(uut)", job->local->id, rank, (guint64)n_bytes));
}

const DvmdPipesFuncs dvmd_agent_pipes_funcs = {
  .headroom = sizeof (OutputHead),
  .output = output,
  .eof = eof,
  .stdin_written = stdin_written,
};

static void
handle_output_credit (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  DvmdAgentJob *job;
  guint32 id;
  guint64 n_bytes;

  g_variant_get (body, "(ut)", &id, &n_bytes);
  job = dvmd_agent_find_job (self, id);
  if (job != NULL)
    dvmd_credit_add (job->credit, MIN (n_bytes, G_MAXINT64));
}

static DvmdPipes *
find_pipes (DvmdAgent *self, guint32 id, guint32 rank)
{
  DvmdAgentJob *job = dvmd_agent_find_job (self, id);
  DvmdLocalProc *proc = job != NULL ? dvmd_local_job_find_proc (job->local, rank) : NULL;

  return proc != NULL ? proc->streams : NULL;
}

static void
write_input (DvmdPipes *pipes, GBytes *bytes)
{
  if (bytes == NULL)
    dvmd_pipes_close_stdin (pipes);
  else if (!dvmd_pipes_write_stdin (pipes, bytes))
    g_message ("%" G_GSIZE_FORMAT " bytes of standard input came without credit and are lost",
               g_bytes_get_size (bytes));
}

/* bytes NULL: end-of-file */
static void
give_input (DvmdAgent *self, guint32 id, guint32 rank, GBytes *bytes)
{
  DvmdAgentJob *job = dvmd_agent_find_job (self, id);
  DvmdPipes *pipes;

  if (job == NULL)
    return;
  if (rank != DVMD_ALL_RANKS)
    {
      pipes = find_pipes (self, id, rank);
      if (pipes != NULL)
        write_input (pipes, bytes);
      return;
    }
  for (guint i = 0; i < job->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      if (proc->streams != NULL && (job->options.stdin_target != DVMD_SOME_RANKS || proc->reads))
        write_input (proc->streams, bytes);
    }
}

static void
handle_input (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  g_autoptr (GVariant) data = NULL;
  g_autoptr (GBytes) bytes = NULL;
  guint32 id;
  guint32 rank;

  g_variant_get (body, "(uu@ay)", &id, &rank, &data);
  bytes = g_variant_get_data_as_bytes (data);
  give_input (self, id, rank, bytes);
}

static void
handle_input_eof (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  guint32 id;
  guint32 rank;

  g_variant_get (body, "(uu)", &id, &rank);
  give_input (self, id, rank, NULL);
}

static void
handle_resize (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  DvmdAgentJob *job;
  guint32 id;
  guint32 rows;
  guint32 columns;

  g_variant_get (body, "(uuu)", &id, &rows, &columns);
  job = dvmd_agent_find_job (self, id);
  if (job == NULL)
    return;
  job->options.pty_rows = rows;
  job->options.pty_columns = columns;
  for (guint i = 0; i < job->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      if (proc->streams != NULL)
        dvmd_pipes_set_window_size (proc->streams, rows, columns);
    }
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_OUTPUT_CREDIT, handle_output_credit },
  { DVMD_MSG_INPUT, handle_input },
  { DVMD_MSG_INPUT_EOF, handle_input_eof },
  { DVMD_MSG_RESIZE, handle_resize },
  { 0 },
};

const DvmdAgentService dvmd_agent_io_service = {
  .name = "io",
  .handlers = handlers,
};
