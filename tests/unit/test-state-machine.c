/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-state-machine.h"

enum
{
  OFF,
  WARMING,
  ON,
  BROKEN,
  SMOKING,
};

enum
{
  PRESS,
  WARM,
  FAIL,
  TICK,
  N_EVENTS,
};

typedef struct
{
  gatomicrefcount ref_count;
  guint state;
  GString *log;
  DvmdEventQueue *queue;
  guint depth; /* of handlers on the stack */
  guint ticks;
} Lamp;

static const DvmdStateTable *lamp_table (void);

static const char *
state_name (guint state)
{
  static const char *const names[] = { "OFF", "WARMING", "ON", "BROKEN", "SMOKING" };

  return names[state];
}

static gboolean
is_live (guint state)
{
  return state == WARMING || state == ON;
}

static guint
get_state (gpointer object)
{
  return ((Lamp *)object)->state;
}

static void
set_state (gpointer object, guint old_state, guint new_state, const DvmdEvent *event)
{
  Lamp *lamp = object;

  g_assert_cmpuint (lamp->state, ==, old_state);
  lamp->state = new_state;
  g_string_append_printf (lamp->log, "%s>%s%s%s ", state_name (old_state), state_name (new_state),
                          event->reason != NULL ? ":" : "", event->reason != NULL ? event->reason : "");
}

static void
refused (gpointer object, guint state, const DvmdEvent *event)
{
  g_string_append_printf (((Lamp *)object)->log, "refused:%u@%s ", event->event, state_name (state));
}

static const char *
describe (gpointer object)
{
  return "lamp";
}

static gpointer
lamp_ref (gpointer object)
{
  g_atomic_ref_count_inc (&((Lamp *)object)->ref_count);
  return object;
}

static void
lamp_unref (gpointer object)
{
  Lamp *lamp = object;

  if (g_atomic_ref_count_dec (&lamp->ref_count))
    {
      g_string_free (lamp->log, TRUE);
      g_free (lamp);
    }
}

/* Posts from a handler: what it posts must wait until it has returned. */
static void
enter_warming (gpointer object, const DvmdEvent *event)
{
  Lamp *lamp = object;

  g_assert_cmpuint (lamp->depth++, ==, 0);
  dvmd_state_machine_post (lamp->queue, lamp_table (), lamp, WARM, 0, NULL);
  g_assert_cmpuint (lamp->state, ==, WARMING);
  g_assert_false (dvmd_event_queue_drain (lamp->queue, 0));
  g_assert_cmpuint (lamp->state, ==, WARMING);
  lamp->depth--;
}

static void
enter_on (gpointer object, const DvmdEvent *event)
{
  g_assert_cmpuint (((Lamp *)object)->depth, ==, 0);
}

static void
on_tick (gpointer object, const DvmdEvent *event)
{
  ((Lamp *)object)->ticks++;
}

static const DvmdStateTable *
lamp_table (void)
{
  static const DvmdState states[] = { { OFF, NULL }, { WARMING, enter_warming }, { ON, enter_on }, { BROKEN, NULL } };
  static const DvmdTransition transitions[] = {
    { OFF, PRESS, WARMING, NULL }, { WARMING, WARM, ON, NULL },
    { ON, PRESS, OFF, NULL },      { DVMD_STATE_ANY_LIVE, FAIL, DVMD_STATE_GIVEN, NULL },
    { OFF, FAIL, BROKEN, NULL },   { DVMD_STATE_ANY, TICK, DVMD_STATE_SAME, on_tick },
  };
  static const char *const events[] = { "PRESS", "WARM", "FAIL", "TICK" };
  static const DvmdStateTable table = {
    .name = "lamp",
    .states = states,
    .n_states = G_N_ELEMENTS (states),
    .transitions = transitions,
    .n_transitions = G_N_ELEMENTS (transitions),
    .event_names = events,
    .n_events = N_EVENTS,
    .state_name = state_name,
    .is_live = is_live,
    .get_state = get_state,
    .set_state = set_state,
    .refused = refused,
    .describe = describe,
    .ref = lamp_ref,
    .unref = lamp_unref,
  };

  return &table;
}

static Lamp *
lamp_new (DvmdEventQueue *queue)
{
  Lamp *lamp = g_new0 (Lamp, 1);

  g_atomic_ref_count_init (&lamp->ref_count);
  lamp->log = g_string_new (NULL);
  lamp->queue = queue;
  return lamp;
}

static void
post (Lamp *lamp, guint event, guint given, const char *reason)
{
  dvmd_state_machine_post (lamp->queue, lamp_table (), lamp, event, given, reason);
}

static void
test_order (void)
{
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new (NULL, NULL);
  Lamp *lamp = lamp_new (queue);

  post (lamp, PRESS, 0, NULL);
  post (lamp, TICK, 0, NULL);
  g_assert_cmpuint (lamp->state, ==, OFF);
  g_assert_false (dvmd_event_queue_is_empty (queue));
  g_assert_true (dvmd_event_queue_drain (queue, 1));
  g_assert_cmpuint (lamp->state, ==, WARMING);
  g_assert_false (dvmd_event_queue_drain (queue, 0));
  g_assert_cmpuint (lamp->ticks, ==, 1);
  g_assert_cmpstr (lamp->log->str, ==, "OFF>WARMING WARMING>ON ");
  lamp_unref (lamp);
}

static void
test_refused (void)
{
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new (NULL, NULL);
  Lamp *lamp = lamp_new (queue);

  post (lamp, WARM, 0, NULL);
  post (lamp, PRESS, 0, NULL);
  post (lamp, FAIL, SMOKING, "too hot");
  post (lamp, FAIL, SMOKING, NULL);
  dvmd_event_queue_drain (queue, 0);
  /* WARM was posted behind the first FAIL: it comes too late. */
  g_assert_cmpstr (lamp->log->str, ==,
                   "refused:1@OFF OFF>WARMING WARMING>SMOKING:too hot refused:2@SMOKING refused:1@SMOKING ");
  lamp_unref (lamp);
}

/* A group takes what is in it, and nothing else. */
static void
test_groups (void)
{
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new (NULL, NULL);
  const DvmdTransition transitions[] = {
    { OFF, PRESS, ON, NULL },
    { DVMD_STATE_ANY_LIVE, WARM, DVMD_STATE_SAME, on_tick },
    { DVMD_STATE_ANY_ENDED, FAIL, DVMD_STATE_SAME, on_tick },
    { SMOKING, FAIL, BROKEN, NULL },
  };
  DvmdStateTable table = *lamp_table ();
  Lamp *lamp = lamp_new (queue);

  table.transitions = transitions;
  table.n_transitions = G_N_ELEMENTS (transitions);
  for (guint state = OFF; state <= SMOKING; state++)
    for (guint event = WARM; event <= FAIL; event++)
      {
        lamp->state = state;
        dvmd_state_machine_post (queue, &table, lamp, event, 0, NULL);
        dvmd_event_queue_drain (queue, 0);
      }
  g_assert_cmpstr (lamp->log->str, ==,
                   "refused:1@OFF refused:2@WARMING refused:2@ON refused:1@BROKEN refused:1@SMOKING SMOKING>BROKEN ");
  g_assert_cmpuint (lamp->ticks, ==, 4);
  lamp_unref (lamp);
}

/* A table that does not want to hear of it takes it for a mistake of the program. */
static void
test_mistake (void)
{
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new (NULL, NULL);
  DvmdStateTable table = *lamp_table ();
  Lamp *lamp = lamp_new (queue);

  table.refused = NULL;
  dvmd_state_machine_post (queue, &table, lamp, WARM, 0, NULL);
  g_test_expect_message ("dvmd-state", G_LOG_LEVEL_WARNING, "lamp *: event WARM is not in the table for state OFF");
  dvmd_event_queue_drain (queue, 0);
  g_test_assert_expected_messages ();
  g_assert_cmpuint (lamp->state, ==, OFF);
  lamp_unref (lamp);
}

static void
test_lookup (void)
{
  const DvmdStateTable *table = lamp_table ();
  const DvmdStateTable *const tables[] = { table, NULL };
  g_autofree char *dot = dvmd_state_tables_to_dot (tables);
  guint to;

  g_assert_true (dvmd_state_table_lookup (table, ON, FAIL, SMOKING, &to));
  g_assert_cmpuint (to, ==, SMOKING);
  /* A row of the state itself goes before a wildcard. */
  g_assert_true (dvmd_state_table_lookup (table, OFF, FAIL, SMOKING, &to));
  g_assert_cmpuint (to, ==, BROKEN);
  g_assert_true (dvmd_state_table_lookup (table, SMOKING, TICK, 0, &to));
  g_assert_cmpuint (to, ==, SMOKING);
  g_assert_false (dvmd_state_table_lookup (table, SMOKING, PRESS, 0, NULL));
  g_assert_nonnull (strstr (dot, "\"OFF\" -> \"WARMING\" [label=\"PRESS\"];"));
  g_assert_nonnull (strstr (dot, "\"any live state\" -> \"error\" [label=\"FAIL\"];"));
}

static void
on_wakeup (gpointer user_data)
{
  (*(guint *)user_data)++;
}

static void
test_wakeup (void)
{
  guint wakeups = 0;
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new (on_wakeup, &wakeups);
  Lamp *lamp = lamp_new (queue);

  post (lamp, TICK, 0, NULL);
  post (lamp, TICK, 0, NULL);
  g_assert_cmpuint (wakeups, ==, 1);
  dvmd_event_queue_drain (queue, 0);
  post (lamp, TICK, 0, NULL);
  g_assert_cmpuint (wakeups, ==, 2);
  /* An event that is still queued is freed with the queue. */
  lamp_unref (lamp);
}

static void
test_context (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new_for_context (context);
  Lamp *lamp = lamp_new (queue);
  const guint n = 1000; /* more than one turn of the loop handles */

  for (guint i = 0; i < n; i++)
    post (lamp, TICK, 0, NULL);
  post (lamp, PRESS, 0, NULL);
  while (lamp->state != ON)
    g_main_context_iteration (context, TRUE);
  g_assert_cmpuint (lamp->ticks, ==, n);
  g_assert_false (g_main_context_iteration (context, FALSE));
  lamp_unref (lamp);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/state-machine/order", test_order);
  g_test_add_func ("/state-machine/refused", test_refused);
  g_test_add_func ("/state-machine/groups", test_groups);
  g_test_add_func ("/state-machine/mistake", test_mistake);
  g_test_add_func ("/state-machine/lookup", test_lookup);
  g_test_add_func ("/state-machine/wakeup", test_wakeup);
  g_test_add_func ("/state-machine/context", test_context);
  return g_test_run ();
}
