/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The session directory of a job is filled with the files that it brings along, and removed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-stage"

#include "dvmd-stage.h"

#include "dvmd-remove-tree.h"
#include "dvmd-stage-writer.h"

typedef enum
{
  STEP_RESET,
  STEP_FILE,
  STEP_DATA,
  STEP_END,
  STEP_REMOVE,
} StepKind;

typedef struct
{
  StepKind kind;
  guint64 pass;
  DvmdStageWriter *writer; /* unowned: nobody else uses it while this runs */
  const char *directory;   /* unowned, likewise */
  char *target;
  guint mode;
  guint64 size;
  GBytes *bytes;
} Step;

struct _DvmdStage
{
  grefcount ref_count; /* of the owner, and of the step that runs */
  char *directory;
  DvmdStageWriter *writer;
  GQueue steps;
  gboolean busy;
  guint64 pass;
  gboolean over;               /* this pass */
  const DvmdStageFuncs *funcs; /* NULL: nobody listens any more */
  gpointer user_data;
  DvmdStageRemoved removed;
  gpointer removed_data;
};

static void run_next (DvmdStage *self);

static void
step_free (gpointer data)
{
  Step *self = data;

  g_free (self->target);
  g_clear_pointer (&self->bytes, g_bytes_unref);
  g_free (self);
}

static void
stage_unref (DvmdStage *self)
{
  if (!g_ref_count_dec (&self->ref_count))
    return;
  g_queue_clear_full (&self->steps, step_free);
  dvmd_stage_writer_free (self->writer);
  g_free (self->directory);
  g_free (self);
}

DvmdStage *
dvmd_stage_new (const char *directory, const DvmdStageFuncs *funcs, gpointer user_data)
{
  DvmdStage *self = g_new0 (DvmdStage, 1);

  g_ref_count_init (&self->ref_count);
  self->directory = g_strdup (directory);
  self->writer = dvmd_stage_writer_new (directory);
  g_queue_init (&self->steps);
  self->over = TRUE;
  self->funcs = funcs;
  self->user_data = user_data;
  return self;
}

void
dvmd_stage_free (DvmdStage *self)
{
  g_queue_clear_full (&self->steps, step_free);
  self->funcs = NULL;
  self->removed = NULL;
  stage_unref (self);
}

gboolean
dvmd_stage_create (DvmdStage *self, GError **error)
{
  return self->busy || dvmd_stage_writer_create (self->writer, error);
}

guint64
dvmd_stage_get_pass (DvmdStage *self)
{
  return self->pass;
}

/* ---- on the thread ---- */

static void
work (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Step *step = data;
  GError *error = NULL;
  gconstpointer bytes;
  gboolean good = TRUE;
  gsize length;

  switch (step->kind)
    {
    case STEP_RESET:
      dvmd_stage_writer_abandon (step->writer);
      break;
    case STEP_FILE:
      good = dvmd_stage_writer_begin (step->writer, step->target, step->mode, step->size, &error);
      break;
    case STEP_DATA:
      bytes = g_bytes_get_data (step->bytes, &length);
      good = dvmd_stage_writer_write (step->writer, bytes, length, &error);
      break;
    case STEP_END:
      good = dvmd_stage_writer_finish (step->writer, &error);
      break;
    case STEP_REMOVE:
    default:
      dvmd_stage_writer_abandon (step->writer);
      good = dvmd_remove_tree (step->directory, &error);
      break;
    }
  if (good)
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

/* ---- on the main context ---- */

static void
end_pass (DvmdStage *self, const GError *error)
{
  self->over = TRUE;
  g_queue_clear_full (&self->steps, step_free);
  if (self->funcs != NULL)
    self->funcs->done (self->pass, error, self->user_data);
}

static void
answer_step (DvmdStage *self, const Step *step, const GError *error)
{
  if (step->kind == STEP_REMOVE)
    {
      if (error != NULL)
        g_message ("Left behind: %s", error->message);
      if (self->removed != NULL)
        self->removed (self->removed_data);
    }
  else if (step->pass == self->pass && !self->over)
    {
      if (error != NULL || step->kind == STEP_END)
        end_pass (self, error);
      else if (step->kind == STEP_FILE && self->funcs != NULL && self->funcs->begun != NULL)
        self->funcs->begun (self->pass, self->user_data);
      else if (step->kind == STEP_DATA && self->funcs != NULL)
        self->funcs->taken (self->pass, g_bytes_get_size (step->bytes), self->user_data);
    }
}

static void
on_worked (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdStage *self = user_data;
  g_autoptr (GError) error = NULL;

  self->busy = FALSE;
  g_task_propagate_boolean (G_TASK (result), &error);
  answer_step (self, g_task_get_task_data (G_TASK (result)), error);
  run_next (self);
  stage_unref (self);
}

static void
run_next (DvmdStage *self)
{
  g_autoptr (GTask) task = NULL;
  Step *step;

  if (self->busy || g_queue_is_empty (&self->steps))
    return;
  step = g_queue_pop_head (&self->steps);
  step->writer = self->writer;
  step->directory = self->directory;
  self->busy = TRUE;
  g_ref_count_inc (&self->ref_count);
  task = g_task_new (NULL, NULL, on_worked, self);
  g_task_set_source_tag (task, run_next);
  g_task_set_task_data (task, step, step_free);
  g_task_run_in_thread (task, work);
}

static Step *
add_step (DvmdStage *self, StepKind kind)
{
  Step *step = g_new0 (Step, 1);

  step->kind = kind;
  step->pass = self->pass;
  g_queue_push_tail (&self->steps, step);
  return step;
}

void
dvmd_stage_begin_pass (DvmdStage *self, guint64 pass)
{
  if (self->removed != NULL)
    return;
  g_queue_clear_full (&self->steps, step_free);
  self->pass = pass;
  self->over = FALSE;
  add_step (self, STEP_RESET);
  run_next (self);
}

void
dvmd_stage_add_file (DvmdStage *self, const char *target, guint mode, guint64 size)
{
  Step *step;

  if (self->over)
    return;
  step = add_step (self, STEP_FILE);
  step->target = g_strdup (target);
  step->mode = mode;
  step->size = size;
  run_next (self);
}

void
dvmd_stage_add_data (DvmdStage *self, GBytes *bytes)
{
  if (self->over)
    return;
  add_step (self, STEP_DATA)->bytes = g_bytes_ref (bytes);
  run_next (self);
}

void
dvmd_stage_end_pass (DvmdStage *self)
{
  if (self->over)
    return;
  add_step (self, STEP_END);
  run_next (self);
}

void
dvmd_stage_remove (DvmdStage *self, DvmdStageRemoved func, gpointer user_data)
{
  self->over = TRUE;
  self->removed = func;
  self->removed_data = user_data;
  g_queue_clear_full (&self->steps, step_free);
  add_step (self, STEP_REMOVE);
  run_next (self);
}
