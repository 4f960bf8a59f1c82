/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each event of each state table is posted in each state, and what becomes of it is what state-tables.txt says. After a
 * change of a table: test-state-tables --print > tests/unit/state-tables.txt, and a look at what has changed.
 */

#include "config.h"

#include "dvmd-agent-life.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-job-machine.h"
#include "dvmd-local-daemon.h"
#include "dvmd-local.h"
#include "dvmd-vm-machine.h"

/* Errors carry this here, which is no state of any table. */
#define CARRIED 9999

typedef struct
{
  const DvmdStateTable *table;
  /* The states that errors carry into it, which have no handler. */
  const guint *errors; /* (nullable), 0 ends them */
} Machine;

static const guint job_errors[] = {
  DVM_JOB_STATE_KILLED_BY_CMD,    DVM_JOB_STATE_ABORTED,           DVM_JOB_STATE_FAILED_TO_START,
  DVM_JOB_STATE_ABORTED_BY_SIG,   DVM_JOB_STATE_ABORTED_WO_SYNC,   DVM_JOB_STATE_COMM_FAILED,
  DVM_JOB_STATE_CALLED_ABORT,     DVM_JOB_STATE_NEVER_LAUNCHED,    DVM_JOB_STATE_NON_ZERO_TERM,
  DVM_JOB_STATE_FAILED_TO_LAUNCH, DVM_JOB_STATE_FORCED_EXIT,       DVM_JOB_STATE_ALLOC_FAILED,
  DVM_JOB_STATE_MAP_FAILED,       DVM_JOB_STATE_FILES_POSN_FAILED, 0,
};

static const guint vm_errors[] = { DVM_JOB_STATE_FAILED_TO_LAUNCH, DVM_JOB_STATE_ALLOC_FAILED, 0 };

static const guint proc_errors[] = {
  DVM_PROC_STATE_KILLED_BY_CMD, DVM_PROC_STATE_CALLED_ABORT, DVM_PROC_STATE_ABORTED_BY_SIG,
  DVM_PROC_STATE_TERM_NON_ZERO, DVM_PROC_STATE_TERM_WO_SYNC, 0,
};

static const Machine machines[] = {
  { &dvmd_vm_table, vm_errors },      { &dvmd_job_table, job_errors },         { &dvmd_campaign_table, NULL },
  { &dvmd_agent_table, NULL },        { &dvmd_local_proc_table, proc_errors }, { &dvmd_local_job_table, NULL },
  { &dvmd_local_daemon_table, NULL },
};

/* ---- an object of which there is the state alone ---- */

typedef struct
{
  guint state;
  gboolean is_written; /* the state, also the same one */
  gboolean is_refused;
  gboolean has_acted;
} Probe;

static guint
probe_get_state (gpointer object)
{
  return ((Probe *)object)->state;
}

static void
probe_set_state (gpointer object, guint old_state, guint new_state, const DvmdEvent *event)
{
  Probe *self = object;

  self->state = new_state;
  self->is_written = TRUE;
}

static void
probe_refused (gpointer object, guint state, const DvmdEvent *event)
{
  ((Probe *)object)->is_refused = TRUE;
}

static void
probe_act (gpointer object, const DvmdEvent *event)
{
  ((Probe *)object)->has_acted = TRUE;
}

static const char *
probe_describe (gpointer object)
{
  return "probe";
}

static gpointer
probe_ref (gpointer object)
{
  return object;
}

static void
probe_unref (gpointer object)
{
}

/* The rows of a table, for a probe. rows: as many as it has */
static DvmdStateTable
make_probe_table (const DvmdStateTable *table, DvmdTransition *rows)
{
  DvmdStateTable copy = *table;

  for (gsize i = 0; i < table->n_transitions; i++)
    {
      rows[i] = table->transitions[i];
      if (rows[i].act != NULL)
        rows[i].act = probe_act;
    }
  copy.transitions = rows;
  copy.n_states = 0;
  copy.get_state = probe_get_state;
  copy.set_state = probe_set_state;
  copy.refused = probe_refused;
  copy.describe = probe_describe;
  copy.traces = TRUE;
  copy.ref = probe_ref;
  copy.unref = probe_unref;
  return copy;
}

/* ---- events ---- */

static const char *
name_of (const Machine *machine, guint state)
{
  return state == CARRIED ? "the state that it carries" : machine->table->state_name (state);
}

/* The lookup says the same as what happens. */
static void
compare_with_lookup (const Machine *machine, guint state, guint event, const Probe *probe)
{
  guint to;

  g_assert_true (dvmd_state_table_lookup (machine->table, state, event, CARRIED, &to) == !probe->is_refused);
  if (!probe->is_refused)
    g_assert_cmpuint (to, ==, probe->state);
}

static char *
try_state (const Machine *machine, guint state)
{
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new (NULL, NULL);
  g_autofree DvmdTransition *rows = g_new (DvmdTransition, machine->table->n_transitions);
  DvmdStateTable table = make_probe_table (machine->table, rows);
  GString *text = g_string_new (NULL);

  for (guint event = 0; event < table.n_events; event++)
    {
      Probe probe = { .state = state };
      const char *becomes;

      dvmd_state_machine_post (queue, &table, &probe, event, CARRIED, NULL);
      dvmd_event_queue_drain (queue, 0);
      compare_with_lookup (machine, state, event, &probe);
      if (probe.is_refused)
        continue;
      if (probe.is_written)
        becomes = name_of (machine, probe.state);
      else
        becomes = probe.has_acted ? "handled" : "ignored";
      g_string_append_printf (text, "  %s: %s\n", table.event_names[event], becomes);
    }
  return g_string_free (text, FALSE);
}

static GArray *
list_states (const Machine *machine)
{
  GArray *states = g_array_new (FALSE, FALSE, sizeof (guint));

  for (gsize i = 0; i < machine->table->n_states; i++)
    g_array_append_val (states, machine->table->states[i].state);
  for (const guint *error = machine->errors; error != NULL && *error != 0; error++)
    g_array_append_val (states, *error);
  return states;
}

/* States that follow each other and take all events alike share an entry. */
static void
describe_machine (const Machine *machine, GString *text)
{
  g_autoptr (GArray) states = list_states (machine);
  g_autofree char *last = NULL;

  for (guint i = 0; i < states->len; i++)
    {
      guint state = g_array_index (states, guint, i);
      g_autofree char *answers = try_state (machine, state);

      if (last != NULL && !g_str_equal (last, answers))
        g_string_append_printf (text, "\n%s", last);
      if (g_strcmp0 (last, answers) == 0)
        g_string_append_printf (text, ", %s", name_of (machine, state));
      else
        g_string_append_printf (text, "\n%s %s", machine->table->name, name_of (machine, state));
      g_free (last);
      last = g_steal_pointer (&answers);
    }
  g_string_append_printf (text, "\n%s", last);
}

static char *
describe_all (void)
{
  GString *text = g_string_new ("The answers of each state to the events that it knows. Others are refused, with a "
                                "warning (test-state-tables).\n");

  for (guint i = 0; i < G_N_ELEMENTS (machines); i++)
    describe_machine (&machines[i], text);
  return g_string_free (text, FALSE);
}

static void
test_events (void)
{
  g_autofree char *file = g_test_build_filename (G_TEST_DIST, "state-tables.txt", NULL);
  g_autofree char *found = describe_all ();
  g_autofree char *wanted = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) found_lines = g_strsplit (found, "\n", -1);
  g_auto (GStrv) wanted_lines = NULL;

  g_file_get_contents (file, &wanted, NULL, &error);
  g_assert_no_error (error);
  wanted_lines = g_strsplit (wanted, "\n", -1);
  /* The first difference says more than two long texts. */
  for (guint i = 0; found_lines[i] != NULL && wanted_lines[i] != NULL; i++)
    {
      if (!g_str_equal (found_lines[i], wanted_lines[i]))
        g_test_message ("%s:%u", file, i + 1);
      g_assert_cmpstr (found_lines[i], ==, wanted_lines[i]);
    }
  g_assert_cmpuint (g_strv_length (found_lines), ==, g_strv_length (wanted_lines));
}

/* No row ignores an event anywhere, and each event is wanted somewhere. */
static void
test_refused (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (machines); i++)
    {
      const DvmdStateTable *table = machines[i].table;
      g_autoptr (GArray) states = list_states (&machines[i]);

      for (gsize k = 0; k < table->n_transitions; k++)
        {
          const DvmdTransition *row = &table->transitions[k];

          g_assert_false (row->from == DVMD_STATE_ANY && row->to == DVMD_STATE_SAME && row->act == NULL);
        }
      for (guint event = 0; event < table->n_events; event++)
        {
          guint n = 0;

          for (guint k = 0; k < states->len; k++)
            n += dvmd_state_table_lookup (table, g_array_index (states, guint, k), event, CARRIED, NULL);
          g_assert_cmpuint (n, >, 0);
        }
    }
}

int
main (int argc, char **argv)
{
  if (argc == 2 && g_str_equal (argv[1], "--print"))
    {
      g_autofree char *text = describe_all ();

      g_print ("%s", text);
      return 0;
    }
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/state-tables/L2-events", test_events);
  g_test_add_func ("/state-tables/L2-refused", test_refused);
  return g_test_run ();
}
