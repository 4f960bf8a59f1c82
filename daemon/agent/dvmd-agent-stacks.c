/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The stacks of a job's processes are read, some at a time, for the controller.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include <signal.h>

#include "dvmd-agent-job.h"
#include "dvmd-id-set.h"
#include "dvmd-stack.h"

/* Each takes a cpu from the job, and memory for the symbols of its program. */
#define MAX_RUNNING 4
/* All stacks of one answer, in bytes. */
#define MAX_BYTES (4 * 1024 * 1024)

typedef struct
{
  DvmdAgent *agent;       /* unowned */
  GPtrArray *collections; /* Collection, in the order in which they were asked for */
  guint n_running;
} Stacks;

/* Collection: what one message has asked for. */
typedef struct
{
  Stacks *stacks;
  guint64 token;
  guint32 job;
  GArray *ranks; /* guint32 */
  guint n_begun; /* of these */
  guint n_done;
  GPtrArray *running; /* Reading */
  GVariantBuilder rows;
  gsize size;
  guint timer;
  gint64 limit;
  gboolean late;
} Collection;

typedef struct
{
  Collection *collection; /* unowned */
  DvmdStack *stack;
  guint32 rank;
  int pid;
} Reading;

static void
reading_free (gpointer data)
{
  Reading *self = data;

  g_clear_pointer (&self->stack, dvmd_stack_free);
  g_free (self);
}

static void
collection_free (gpointer data)
{
  Collection *self = data;

  dvmd_clock_remove_timer (dvmd_agent_get_parts (self->stacks->agent)->clock, self->timer);
  g_variant_builder_clear (&self->rows);
  g_ptr_array_unref (self->running);
  g_array_unref (self->ranks);
  g_free (self);
}

/* (nullable): it does not run, or not any more */
static DvmdLocalProc *
find_running (Collection *self, guint32 rank)
{
  DvmdAgentJob *job = dvmd_agent_find_job (self->stacks->agent, self->job);
  DvmdLocalProc *proc = job != NULL ? dvmd_local_job_find_proc (job->local, rank) : NULL;

  return proc != NULL && proc->pid > 0 && proc->reaped_at == 0 && !(proc->flags & DVMD_PROC_EXITED) ? proc : NULL;
}

static void
add_row (Collection *self, guint32 rank, const char *text, const char *problem)
{
  g_variant_builder_add (&self->rows, "(uss)", rank, text, problem);
  self->size += strlen (text);
  self->n_done++;
}

static void
add_late (Collection *self, guint32 rank)
{
  g_autofree char *problem = g_strdup_printf ("its turn has not come within %" G_GINT64_FORMAT " s",
                                              self->limit / G_TIME_SPAN_SECOND);

  add_row (self, rank, "", problem);
}

static void start_more (Stacks *self);

static void
on_read (DvmdStack *stack, const char *text, const char *problem, gpointer user_data)
{
  Reading *reading = user_data;
  Collection *self = reading->collection;
  Stacks *stacks = self->stacks;
  DvmdLocalProc *proc = find_running (self, reading->rank);

  /* A process that has ended meanwhile may not have been the one that was looked at: its number is free for others. */
  if (proc == NULL || proc->pid != reading->pid)
    add_row (self, reading->rank, "", "it ended while its stack was read");
  else
    {
      /* A user may have stopped it meanwhile. */
      if (dvmd_stack_may_have_stopped (stack) && !proc->restart.stopped)
        kill (proc->pid, SIGCONT);
      add_row (self, reading->rank, text, problem != NULL ? problem : "");
    }
  reading->stack = NULL; /* it frees itself */
  g_ptr_array_remove_fast (self->running, reading);
  stacks->n_running--;
  start_more (stacks);
}

static void
start_reading (Collection *self, guint32 rank, int pid)
{
  const DvmdAgentParts *parts = dvmd_agent_get_parts (self->stacks->agent);
  Reading *reading = g_new0 (Reading, 1);
  g_autoptr (GError) error = NULL;

  reading->collection = self;
  reading->rank = rank;
  reading->pid = pid;
  reading->stack = dvmd_stack_read (parts->context, parts->spawner, parts->reaper, pid, on_read, reading, &error);
  if (reading->stack == NULL)
    {
      add_row (self, rank, "", error->message);
      g_free (reading);
      return;
    }
  g_ptr_array_add (self->running, reading);
  self->stacks->n_running++;
}

static void
begin_next (Collection *self)
{
  guint32 rank = g_array_index (self->ranks, guint32, self->n_begun++);
  DvmdLocalProc *proc = find_running (self, rank);

  if (proc == NULL)
    add_row (self, rank, "", "it does not run");
  else if (self->late)
    add_late (self, rank);
  else if (self->size >= MAX_BYTES)
    add_row (self, rank, "", "the stacks of other ranks of its node fill the answer: ask for fewer ranks");
  else
    start_reading (self, rank, proc->pid);
}

static void
start_more (Stacks *self)
{
  for (guint i = 0; i < self->collections->len;)
    {
      Collection *collection = g_ptr_array_index (self->collections, i);

      while (collection->n_begun < collection->ranks->len && (collection->late || self->n_running < MAX_RUNNING))
        begin_next (collection);
      if (collection->n_done == collection->ranks->len)
        {
          dvmd_agent_send (self->agent, DVMD_MSG_STACKS,
                           g_variant_new ("(ta(uss))", collection->token, &collection->rows));
          g_ptr_array_remove_index (self->collections, i);
        }
      else
        i++;
    }
}

static void
on_late (gpointer user_data)
{
  Collection *self = user_data;
  g_autofree char *reason = g_strdup_printf ("it was not read within %" G_GINT64_FORMAT " s",
                                             self->limit / G_TIME_SPAN_SECOND);

  self->timer = 0;
  self->late = TRUE;
  for (guint i = 0; i < self->running->len; i++)
    dvmd_stack_stop (((Reading *)g_ptr_array_index (self->running, i))->stack, reason);
  start_more (self->stacks);
}

static GArray *
list_ranks (DvmdAgentJob *job, DvmdIdSet *wanted)
{
  GArray *ranks = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < job->local->procs->len; i++)
    {
      const DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      if (dvmd_id_set_contains (wanted, proc->rank))
        g_array_append_val (ranks, proc->rank);
    }
  return ranks;
}

/* Ranks that are not here any more have told of their end. */
static void
handle_stacks_ask (gpointer service, guint source, GVariant *body)
{
  Stacks *self = service;
  g_autoptr (DvmdIdSet) wanted = NULL;
  Collection *collection;
  DvmdAgentJob *job;
  const char *ranks;
  guint64 token;
  guint32 id;
  gint64 limit;

  g_variant_get (body, "(tu&sx)", &token, &id, &ranks, &limit);
  wanted = dvmd_id_set_parse (ranks, "ranks", NULL);
  job = dvmd_agent_find_job (self->agent, id);
  if (job == NULL || wanted == NULL)
    return;
  collection = g_new0 (Collection, 1);
  collection->stacks = self;
  collection->token = token;
  collection->job = id;
  collection->ranks = list_ranks (job, wanted);
  collection->running = g_ptr_array_new_with_free_func (reading_free);
  collection->limit = limit;
  g_variant_builder_init (&collection->rows, G_VARIANT_TYPE ("a(uss)"));
  collection->timer = dvmd_clock_add_timer (dvmd_agent_get_parts (self->agent)->clock, MAX (limit, 0), on_late,
                                            collection);
  g_ptr_array_add (self->collections, collection);
  start_more (self);
}

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  Stacks *self = g_new0 (Stacks, 1);

  self->agent = agent;
  self->collections = g_ptr_array_new_with_free_func (collection_free);
  return self;
}

static void
stacks_free (gpointer service)
{
  Stacks *self = service;

  g_ptr_array_unref (self->collections);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_STACKS_ASK, handle_stacks_ask },
  { 0 },
};

const DvmdAgentService dvmd_agent_stacks_service = {
  .name = "stacks",
  .create = create,
  .free = stacks_free,
  .handlers = handlers,
};
