/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents read the stacks of a job's processes; their answers are put together here. Each rank that was asked for gets a
 * row: its stack, or a sentence that says why there is none.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-stacks.h"

#include "dvmd-controller-jobs.h"
#include "dvmd-job-stacks.h"
#include "dvmd-services.h"

/* Agents keep the time; this much later they are not waited for any more (µs). */
#define GRACE (10 * G_TIME_SPAN_SECOND)
/* All stacks of an answer together, in bytes. */
#define MAX_BYTES (16 * 1024 * 1024)

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *asks;           /* token -> Ask */
  guint64 last_token;
} Stacks;

typedef struct
{
  guint32 rank;
  guint node;
  char *text;    /* (nullable): it is waited for */
  char *problem; /* likewise */
} Row;

typedef struct
{
  guint64 token;
  Stacks *stacks;
  GTask *task;
  guint job;
  GArray *rows; /* Row, ascending by rank */
  guint n_open;
  gsize size;
  guint seconds;
  guint timer;
} Ask;

static void
row_clear (gpointer data)
{
  g_free (((Row *)data)->text);
  g_free (((Row *)data)->problem);
}

static void
ask_free (gpointer data)
{
  Ask *self = data;

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->stacks->controller)->clock, self->timer);
  g_array_unref (self->rows);
  g_object_unref (self->task);
  g_free (self);
}

/* A row that has been closed stays as it is. */
static void
close_row (Ask *self, Row *row, const char *text, const char *problem)
{
  if (row->text != NULL)
    return;
  if (self->size + strlen (text) + strlen (problem) > MAX_BYTES)
    {
      text = "";
      problem = "the stacks of other ranks fill the answer: ask for fewer ranks";
    }
  self->size += strlen (text) + strlen (problem);
  row->text = g_strdup (text);
  row->problem = g_strdup (problem);
  self->n_open--;
}

static const char *
get_node_name (Stacks *self, guint node)
{
  const char *name = dvmd_node_pool_get_name (dvmd_core_get_nodes (dvmd_controller_get_core (self->controller)), node);

  return name != NULL ? name : "";
}

/* The ask is freed, unless it waits for more. */
static void
check_complete (Ask *self)
{
  GVariantBuilder rows;

  if (self->n_open > 0)
    return;
  g_hash_table_steal (self->stacks->asks, &self->token);
  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(usss)"));
  for (guint i = 0; i < self->rows->len; i++)
    {
      const Row *row = &g_array_index (self->rows, Row, i);

      g_variant_builder_add (&rows, "(usss)", row->rank, get_node_name (self->stacks, row->node), row->text,
                             row->problem);
    }
  g_task_return_pointer (self->task, g_variant_ref_sink (g_variant_builder_end (&rows)),
                         (GDestroyNotify)g_variant_unref);
  ask_free (self);
}

/* Rows that wait for this node, or with DVMD_NO_NODE for any, are not waited for any more. */
static void
close_rows_of (Ask *self, guint node, const char *problem)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      Row *row = &g_array_index (self->rows, Row, i);

      if (node == DVMD_NO_NODE || row->node == node)
        close_row (self, row, "", problem);
    }
}

static void
on_timer (gpointer user_data)
{
  Ask *self = user_data;
  g_autofree char *problem = g_strdup_printf ("the agent of its node has not answered within %u s", self->seconds);

  self->timer = 0;
  close_rows_of (self, DVMD_NO_NODE, problem);
  check_complete (self);
}

/* Rows that need no agent are closed at once. */
static void
add_rows (Ask *self, DvmdJob *job, DvmdIdSet *ranks)
{
  DvmdProcTable *procs = dvmd_job_get_procs (job);

  for (guint rank = 0; dvmd_id_set_next (ranks, rank, &rank) && rank < procs->n_rows; rank++)
    {
      const DvmdProcRow *proc = dvmd_proc_table_row (procs, rank);
      Row row = { .rank = rank, .node = proc->node };
      Row *added;

      g_array_append_val (self->rows, row);
      added = &g_array_index (self->rows, Row, self->rows->len - 1);
      self->n_open++;
      if (proc->flags & DVMD_PROC_EXITED || !dvm_proc_state_is_live (proc->state))
        close_row (self, added, "", "it has ended");
      else if (dvmd_controller_is_lost (self->stacks->controller, proc->node))
        close_row (self, added, "", "its node was lost");
    }
}

/* They are those of its time limit. */
static void
return_kept (GTask *task, DvmdJob *job, const char *ranks)
{
  GError *error = NULL;
  g_autoptr (DvmdIdSet) set = dvmd_id_set_parse (ranks, "ranks", &error);
  GVariant *kept = dvmd_job_get_stacks (job);
  GVariantBuilder rows;

  if (set == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(usss)"));
  for (gsize i = 0; i < g_variant_n_children (kept); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (kept, i);
      guint32 rank;

      g_variant_get_child (row, 0, "u", &rank);
      if (dvmd_id_set_contains (set, rank))
        g_variant_builder_add_value (&rows, row);
    }
  g_task_return_pointer (task, g_variant_ref_sink (g_variant_builder_end (&rows)), (GDestroyNotify)g_variant_unref);
}

void
dvmd_controller_collect_stacks_async (DvmdController *self, DvmdJob *job, const char *ranks, guint seconds,
                                      GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  Stacks *stacks = dvmd_services_get (self, &dvmd_stacks_service);
  g_autoptr (DvmdIdSet) set = NULL;
  GError *error = NULL;
  Ask *ask;

  g_task_set_source_tag (task, dvmd_controller_collect_stacks_async);
  if (dvmd_job_get_ended (job) && dvmd_job_get_stacks (job) != NULL)
    {
      return_kept (task, job, ranks);
      return;
    }
  set = dvmd_controller_parse_ranks (self, job, ranks, &error);
  if (set == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  ask = g_new0 (Ask, 1);
  ask->token = ++stacks->last_token;
  ask->stacks = stacks;
  ask->task = g_steal_pointer (&task);
  ask->job = dvmd_job_get_id (job);
  ask->rows = g_array_new (FALSE, FALSE, sizeof (Row));
  g_array_set_clear_func (ask->rows, row_clear);
  ask->seconds = seconds;
  add_rows (ask, job, set);
  g_hash_table_insert (stacks->asks, &ask->token, ask);
  ask->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self)->clock,
                                     (gint64)seconds * G_TIME_SPAN_SECOND + GRACE, on_timer, ask);
  if (ask->n_open > 0)
    dvmd_controller_send_to_job (
        self, job, DVMD_MSG_STACKS_ASK,
        g_variant_new ("(tusx)", ask->token, ask->job, ranks, (gint64)seconds * G_TIME_SPAN_SECOND));
  check_complete (ask);
}

GVariant *
dvmd_controller_collect_stacks_finish (DvmdController *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static int
compare_rows (gconstpointer a, gconstpointer b)
{
  const Row *left = a;
  const Row *right = b;

  return left->rank < right->rank ? -1 : left->rank > right->rank;
}

/* (nullable): it was not asked for */
static Row *
find_row (Ask *self, guint32 rank)
{
  const Row wanted = { .rank = rank };
  guint index;

  return g_array_binary_search (self->rows, &wanted, compare_rows, &index) ? &g_array_index (self->rows, Row, index)
                                                                           : NULL;
}

static void
handle_stacks (gpointer service, guint source, GVariant *body)
{
  Stacks *self = service;
  g_autoptr (GVariantIter) iter = NULL;
  guint64 token;
  guint32 rank;
  const char *text;
  const char *problem;
  Ask *ask;

  g_variant_get (body, "(ta(uss))", &token, &iter);
  ask = g_hash_table_lookup (self->asks, &token);
  if (ask == NULL)
    return;
  while (g_variant_iter_next (iter, "(u&s&s)", &rank, &text, &problem))
    {
      Row *row = find_row (ask, rank);

      /* An agent speaks for its own ranks. */
      if (row != NULL && row->node == source)
        close_row (ask, row, text, problem);
    }
  check_complete (ask);
}

static void
agent_gone (gpointer service, guint rank)
{
  Stacks *self = service;
  g_autoptr (GList) asks = g_hash_table_get_values (self->asks);

  for (GList *l = asks; l != NULL; l = l->next)
    {
      close_rows_of (l->data, rank, "its node was lost");
      check_complete (l->data);
    }
}

static void
proc_ended (gpointer service, DvmdJob *job, guint32 rank)
{
  Stacks *self = service;
  g_autoptr (GList) asks = g_hash_table_get_values (self->asks);

  for (GList *l = asks; l != NULL; l = l->next)
    {
      Ask *ask = l->data;
      Row *row = ask->job == dvmd_job_get_id (job) ? find_row (ask, rank) : NULL;

      if (row == NULL)
        continue;
      close_row (ask, row, "", "it has ended");
      check_complete (ask);
    }
}

static void
dvm_ended (gpointer service)
{
  Stacks *self = service;
  g_autoptr (GList) asks = g_hash_table_get_values (self->asks);

  for (GList *l = asks; l != NULL; l = l->next)
    {
      close_rows_of (l->data, DVMD_NO_NODE, "the DVM has ended");
      check_complete (l->data);
    }
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Stacks *self = g_new0 (Stacks, 1);

  self->controller = controller;
  self->asks = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, ask_free);
  return self;
}

/* The tasks that wait hold the controller: there is none. */
static void
stacks_free (gpointer service)
{
  Stacks *self = service;

  g_hash_table_unref (self->asks);
  g_free (self);
}

static const DvmdHandler handlers[] = { { DVMD_MSG_STACKS, handle_stacks }, { 0 } };

const DvmdService dvmd_stacks_service = {
  .name = "stacks",
  .create = create,
  .free = stacks_free,
  .handlers = handlers,
  .proc_ended = proc_ended,
  .agent_gone = agent_gone,
  .dvm_ended = dvm_ended,
};
