/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One engine runs all state tables: events are queued, transitions looked up, handlers called (L2).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-state"

#include "dvmd-state-machine.h"

#include "dvmd-turn-source.h"

/* Events handled in one turn of the main loop before other sources get their turn. */
#define EVENTS_PER_TURN 256

typedef struct
{
  const DvmdStateTable *table;
  gpointer object;
  DvmdEvent event;
} QueuedEvent;

struct _DvmdEventQueue
{
  GQueue events;
  gboolean draining;
  DvmdEventQueueWakeup wakeup;
  gpointer user_data;
  GSource *source; /* queues that drain themselves */
};

DvmdEventQueue *
dvmd_event_queue_new (DvmdEventQueueWakeup wakeup, gpointer user_data)
{
  DvmdEventQueue *self = g_new0 (DvmdEventQueue, 1);

  g_queue_init (&self->events);
  self->wakeup = wakeup;
  self->user_data = user_data;
  return self;
}

static gboolean
on_source (gpointer user_data)
{
  DvmdEventQueue *self = user_data;

  if (dvmd_event_queue_drain (self, EVENTS_PER_TURN))
    dvmd_turn_source_request (self->source);
  return G_SOURCE_CONTINUE;
}

static void
wake_source (gpointer user_data)
{
  DvmdEventQueue *self = user_data;

  dvmd_turn_source_request (self->source);
}

DvmdEventQueue *
dvmd_event_queue_new_for_context (GMainContext *context)
{
  DvmdEventQueue *self = dvmd_event_queue_new (wake_source, NULL);

  self->user_data = self;
  self->source = dvmd_turn_source_new (context, "dvmd event queue", on_source, self);
  return self;
}

static void
queued_event_free (gpointer data)
{
  QueuedEvent *item = data;

  item->table->unref (item->object);
  g_free ((char *)item->event.reason);
  g_free (item);
}

void
dvmd_event_queue_free (DvmdEventQueue *self)
{
  if (self->source != NULL)
    dvmd_turn_source_free (self->source);
  g_queue_clear_full (&self->events, queued_event_free);
  g_free (self);
}

gboolean
dvmd_event_queue_is_empty (DvmdEventQueue *self)
{
  return g_queue_is_empty (&self->events);
}

static gboolean
is_in_group (const DvmdStateTable *table, guint group, guint state)
{
  switch (group)
    {
    case DVMD_STATE_ANY:
      return TRUE;
    case DVMD_STATE_ANY_LIVE:
      return table->is_live (state);
    case DVMD_STATE_ANY_ENDED:
      return !table->is_live (state);
    default:
      return FALSE;
    }
}

static const DvmdTransition *
find_transition (const DvmdStateTable *table, guint state, guint event)
{
  const DvmdTransition *wildcard = NULL;

  for (gsize i = 0; i < table->n_transitions; i++)
    {
      const DvmdTransition *row = &table->transitions[i];

      if (row->event != event)
        continue;
      if (row->from == state)
        return row;
      if (wildcard == NULL && is_in_group (table, row->from, state))
        wildcard = row;
    }
  return wildcard;
}

static DvmdStateHandler
find_enter (const DvmdStateTable *table, guint state)
{
  for (gsize i = 0; i < table->n_states; i++)
    if (table->states[i].state == state)
      return table->states[i].enter;
  return NULL;
}

static void
refuse_event (const QueuedEvent *item, guint state)
{
  const DvmdStateTable *table = item->table;
  const char *event_name = table->event_names[item->event.event];
  const char *state_name = table->state_name (state);
  const char *id = table->describe (item->object);

  if (table->refused == NULL)
    {
      g_warning ("%s %s: event %s is not in the table for state %s", table->name, id, event_name, state_name);
      return;
    }
  g_info ("%s %s: %s: refused in %s", table->name, id, event_name, state_name);
  table->refused (item->object, state, &item->event);
}

static void
process (const QueuedEvent *item)
{
  const DvmdStateTable *table = item->table;
  gpointer object = item->object;
  guint state = table->get_state (object);
  const DvmdTransition *row = find_transition (table, state, item->event.event);
  const char *event_name = table->event_names[item->event.event];
  DvmdStateHandler enter;
  guint next;

  if (row == NULL)
    {
      refuse_event (item, state);
      return;
    }
  if (row->to == DVMD_STATE_SAME)
    {
      g_debug ("%s %s: %s: %s", table->name, table->describe (object), event_name, table->state_name (state));
      if (row->act != NULL)
        row->act (object, &item->event);
      return;
    }
  next = row->to == DVMD_STATE_GIVEN ? item->event.given : row->to;
  if (!table->traces)
    g_debug ("%s %s: %s: %s -> %s%s%s", table->name, table->describe (object), event_name, table->state_name (state),
             table->state_name (next), item->event.reason != NULL ? ": " : "",
             item->event.reason != NULL ? item->event.reason : "");
  table->set_state (object, state, next, &item->event);
  if (row->act != NULL)
    row->act (object, &item->event);
  enter = find_enter (table, next);
  if (enter != NULL)
    enter (object, &item->event);
}

gboolean
dvmd_event_queue_drain (DvmdEventQueue *self, guint max)
{
  guint n = 0;

  /* A handler that runs a nested loop must not be overtaken by the events behind its own. */
  if (self->draining)
    return FALSE;
  self->draining = TRUE;
  while (!g_queue_is_empty (&self->events) && (max == 0 || n < max))
    {
      QueuedEvent *item = g_queue_pop_head (&self->events);

      process (item);
      queued_event_free (item);
      n++;
    }
  self->draining = FALSE;
  return !g_queue_is_empty (&self->events);
}

void
dvmd_state_machine_post (DvmdEventQueue *queue, const DvmdStateTable *table, gpointer object, guint event, guint given,
                         const char *reason)
{
  QueuedEvent *item;
  gboolean was_empty = g_queue_is_empty (&queue->events);

  g_return_if_fail (event < table->n_events);

  item = g_new0 (QueuedEvent, 1);
  item->table = table;
  item->object = table->ref (object);
  item->event.event = event;
  item->event.given = given;
  item->event.reason = g_strdup (reason);
  g_queue_push_tail (&queue->events, item);
  if (was_empty && !queue->draining && queue->wakeup != NULL)
    queue->wakeup (queue->user_data);
}

void
dvmd_state_machine_step (const DvmdStateTable *table, gpointer object, guint event, guint given, const char *reason)
{
  process (&(QueuedEvent){ table, object, { event, given, reason } });
}

gboolean
dvmd_state_table_lookup (const DvmdStateTable *table, guint state, guint event, guint given, guint *to)
{
  const DvmdTransition *row = find_transition (table, state, event);

  if (row == NULL)
    return FALSE;
  if (to != NULL)
    {
      if (row->to == DVMD_STATE_SAME)
        *to = state;
      else
        *to = row->to == DVMD_STATE_GIVEN ? given : row->to;
    }
  return TRUE;
}

static const char *
dot_name (const DvmdStateTable *table, guint state)
{
  if (state == DVMD_STATE_ANY)
    return "any";
  if (state == DVMD_STATE_ANY_LIVE)
    return "any live state";
  if (state == DVMD_STATE_ANY_ENDED)
    return "any state that has ended";
  if (state == DVMD_STATE_GIVEN)
    return "error";
  return table->state_name (state);
}

static void
append_dot (GString *text, const DvmdStateTable *table)
{
  g_string_append_printf (text, "digraph \"%s\" {\n  node [shape=box];\n", table->name);
  for (gsize i = 0; i < table->n_transitions; i++)
    {
      const DvmdTransition *row = &table->transitions[i];

      if (row->to == DVMD_STATE_SAME)
        continue;
      g_string_append_printf (text, "  \"%s\" -> \"%s\" [label=\"%s\"];\n", dot_name (table, row->from),
                              dot_name (table, row->to), table->event_names[row->event]);
    }
  g_string_append (text, "}\n");
}

char *
dvmd_state_tables_to_dot (const DvmdStateTable *const *tables)
{
  GString *text = g_string_new (NULL);

  for (gsize i = 0; tables[i] != NULL; i++)
    append_dot (text, tables[i]);
  return g_string_free (text, FALSE);
}
