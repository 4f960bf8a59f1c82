/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * A state machine is two tables and one writer (spec/CONFORMANCE.md L2).
 *
 *   states:       state -> name, handler that runs on entering it
 *   transitions:  (state, event) -> next state
 *
 * Other code posts events, never states. Events wait in one queue and are handled one after another, each alone: a
 * handler that posts an event is finished before that event is looked at. What the table does not have is refused and
 * logged. The queue knows no main loop: whoever owns it is told when it has work and drains it.
 */

typedef struct _DvmdEventQueue DvmdEventQueue;

/* Called when a queue that was empty gets work, unless it is being drained: dvmd_event_queue_drain() tells of more. */
typedef void (*DvmdEventQueueWakeup) (gpointer user_data);

DvmdEventQueue *dvmd_event_queue_new (DvmdEventQueueWakeup wakeup, gpointer user_data);
/* A queue that drains itself from an idle source of context. */
DvmdEventQueue *dvmd_event_queue_new_for_context (GMainContext *context);
void dvmd_event_queue_free (DvmdEventQueue *self);
/* Handles at most max events (0: until there is none); TRUE if some are left. */
gboolean dvmd_event_queue_drain (DvmdEventQueue *self, guint max);
gboolean dvmd_event_queue_is_empty (DvmdEventQueue *self);

/*
 * From: a group of states, those of them that have no row of their own for the event. An event that changes nothing
 * (DVMD_STATE_SAME without a handler) has a row for each state in which it may come late, or for all that have ended;
 * none for DVMD_STATE_ANY: that would be a table that refuses nothing.
 */
#define DVMD_STATE_ANY       G_MAXUINT       /* every state */
#define DVMD_STATE_ANY_LIVE  (G_MAXUINT - 1) /* every state that the table calls live */
#define DVMD_STATE_ANY_ENDED (G_MAXUINT - 2) /* every other one */
#define DVMD_STATE_GIVEN     (G_MAXUINT - 3) /* to: the state that the event carries (errors) */
#define DVMD_STATE_SAME      (G_MAXUINT - 4) /* to: no change, the transition's own handler runs */

typedef struct
{
  guint event;
  guint given;        /* state that the event carries, 0 for none */
  const char *reason; /* (nullable) */
} DvmdEvent;

/* Runs after the state has been written. */
typedef void (*DvmdStateHandler) (gpointer object, const DvmdEvent *event);

typedef struct
{
  guint state;
  DvmdStateHandler enter; /* (nullable): a marker */
} DvmdState;

typedef struct
{
  guint from;
  guint event;
  guint to;
  DvmdStateHandler act; /* (nullable): runs before the enter handler; the only handler of DVMD_STATE_SAME */
} DvmdTransition;

typedef struct
{
  const char *name; /* of the machine, for the log: "job" */
  const DvmdState *states;
  gsize n_states;
  const DvmdTransition *transitions;
  gsize n_transitions;
  const char *const *event_names; /* by number */
  guint n_events;
  const char *(*state_name) (guint state);
  gboolean (*is_live) (guint state);
  guint (*get_state) (gpointer object);
  /* The one writer. old and new differ or the same state is entered again. */
  void (*set_state) (gpointer object, guint old_state, guint new_state, const DvmdEvent *event);
  /* (nullable): an event that the table does not have in this state; NULL: it is a mistake, and a warning says so */
  void (*refused) (gpointer object, guint state, const DvmdEvent *event);
  const char *(*describe) (gpointer object); /* id for the log */
  gboolean traces;                           /* set_state logs the change itself */
  gpointer (*ref) (gpointer object);
  void (*unref) (gpointer object);
} DvmdStateTable;

void dvmd_state_machine_post (DvmdEventQueue *queue, const DvmdStateTable *table, gpointer object, guint event,
                              guint given, const char *reason);

/* The event is handled at once, for objects of which the caller needs the new state, or that handlers may free. */
void dvmd_state_machine_step (const DvmdStateTable *table, gpointer object, guint event, guint given,
                              const char *reason);

/* Looks up a transition without making it; FALSE: the table has no such row. For tests and documentation. */
gboolean dvmd_state_table_lookup (const DvmdStateTable *table, guint state, guint event, guint given, guint *to);
/* Text for Graphviz, a graph for each of the tables, which NULL ends; events that change no state are left out. */
char *dvmd_state_tables_to_dot (const DvmdStateTable *const *tables);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdEventQueue, dvmd_event_queue_free)

G_END_DECLS
