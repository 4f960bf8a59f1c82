/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An elastic DVM under random schedules (sim-schedule.h): what must hold of it (sim-statements.h) is looked at after
 * every step. They run in processes of their own; a schedule that fails is run again without some of its actions, for
 * as long as it still fails with the same statement, and what is left is shown; not with DVM_SIM_SHRINK=no. Seeds as in
 * sim-seeds.h.
 */

#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim-schedule.h"
#include "sim-seeds.h"

/* No schedule takes so long (s). */
#define SCHEDULE_LIMIT 60
#define MAX_WORKERS    4

/* These seeds have failed once. */
static const guint found_seeds[] = { 88,    156,   393,   497,   2821,  4626,  4736,  11845, 17527,
                                     30555, 36496, 37620, 44683, 56828, 68054, 75894, 89210 };

/* ---- processes ---- */

/* The tallies are shared with the processes that fill them in. */
static SimTally *
tallies_new (guint n)
{
  SimTally *tallies = mmap (NULL, n * sizeof *tallies, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  g_assert_true (tallies != MAP_FAILED);
  return tallies;
}

static void
run_seed (guint seed, SimTally *tally)
{
  g_autoptr (SimSchedule) schedule = sim_schedule_draw (seed);

  tally->seed = seed;
  alarm (SCHEDULE_LIMIT);
  sim_schedule_run (schedule, tally);
  alarm (0);
}

/* A worker runs every seed from first to last by step. */
static pid_t
start_worker (SimTally *tally, guint first, guint last, guint step)
{
  pid_t pid = fork ();

  g_assert_cmpint (pid, >=, 0);
  if (pid > 0)
    return pid;
  for (guint seed = first; seed <= last; seed += step)
    run_seed (seed, tally);
  exit (0);
}

static gboolean
wait_for (pid_t pid)
{
  int status;

  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  return WIFEXITED (status) && WEXITSTATUS (status) == 0;
}

/* ---- a schedule that fails ---- */

static gboolean
still_fails (SimSchedule *schedule, SimStatement with)
{
  SimTally *tally = tallies_new (1);
  pid_t pid = fork ();
  gboolean fails;

  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      int null = open ("/dev/null", O_WRONLY | O_CLOEXEC);

      dup2 (null, STDERR_FILENO);
      alarm (SCHEDULE_LIMIT);
      sim_schedule_run (schedule, tally);
      _exit (0);
    }
  fails = !wait_for (pid) && tally->failed == with;
  munmap (tally, sizeof *tally);
  return fails;
}

static void
leave_out (SimSchedule *schedule, guint first, guint n, gboolean left_out, GArray *changed)
{
  for (guint i = 0; i < changed->len; i++)
    g_array_index (schedule->actions, SimAction, g_array_index (changed, guint, i)).left_out = left_out;
  for (guint i = first; left_out && changed->len == 0 && i < MIN (first + n, schedule->actions->len); i++)
    {
      SimAction *action = &g_array_index (schedule->actions, SimAction, i);

      if (action->left_out)
        continue;
      action->left_out = TRUE;
      g_array_append_val (changed, i);
    }
}

/* Leaves out as many actions as can be, first many at once. */
static void
shrink (SimSchedule *schedule, SimStatement with)
{
  for (guint n = schedule->actions->len; n > 0; n /= 2)
    for (guint first = 0; first < schedule->actions->len; first += n)
      {
        g_autoptr (GArray) changed = g_array_new (FALSE, FALSE, sizeof (guint));

        leave_out (schedule, first, n, TRUE, changed);
        if (changed->len > 0 && !still_fails (schedule, with))
          leave_out (schedule, first, n, FALSE, changed);
      }
}

static void
explain (guint seed, const SimTally *tally)
{
  g_autoptr (SimSchedule) schedule = sim_schedule_draw (seed);

  g_array_set_size (schedule->actions, tally->n_actions);
  if (still_fails (schedule, tally->failed))
    shrink (schedule, tally->failed);
  g_printerr ("DVM_SIM_SEED=%u fails: %s: %s\n", seed, sim_statement_get_number (tally->failed),
              sim_statement_get_text (tally->failed));
  g_printerr ("with what is left of its schedule (DVM_SIM_TRACE=1 shows more):\n");
  sim_schedule_print (schedule);
}

/* ---- all of them ---- */

static void
print_tally (const SimTally *tally)
{
  g_autoptr (GString) counts = g_string_new (NULL);

  for (guint i = 0; i < SIM_N_COUNTS; i++)
    g_string_append_printf (counts, "%s%" G_GUINT64_FORMAT " %s", i > 0 ? ", " : "", tally->counts[i],
                            sim_count_to_string (i));
  g_test_message ("%s", counts->str);
  for (guint i = SIM_CRASH + 1; i < SIM_N_STATEMENTS; i++)
    g_test_message ("%-14s %10" G_GUINT64_FORMAT "  %s", sim_statement_get_number (i), tally->held[i],
                    sim_statement_get_text (i));
}

static void
add_tally (SimTally *sum, const SimTally *tally)
{
  for (guint i = 0; i < SIM_N_STATEMENTS; i++)
    sum->held[i] += tally->held[i];
  for (guint i = 0; i < SIM_N_COUNTS; i++)
    sum->counts[i] += tally->counts[i];
}

/* The first worker that fails ends the others. 0: none has */
static guint
wait_for_workers (const pid_t *pids, guint n)
{
  guint failed = 0;

  for (guint left = n; left > 0; left--)
    {
      int status;
      pid_t pid = waitpid (-1, &status, 0);

      for (guint i = 0; i < n; i++)
        if (pids[i] == pid && failed == 0 && status != 0)
          failed = i + 1;
      for (guint i = 0; i < n && failed > 0; i++)
        if (pids[i] != pid)
          kill (pids[i], SIGKILL);
    }
  return failed;
}

static void
run_all (guint n)
{
  guint n_workers = MIN (MAX (g_get_num_processors (), 1), MAX_WORKERS);
  SimTally *tallies = tallies_new (n_workers + 1);
  pid_t pids[MAX_WORKERS];
  guint failed;

  for (guint i = 0; i < n_workers; i++)
    pids[i] = start_worker (&tallies[i + 1], i + 1, n, n_workers);
  failed = wait_for_workers (pids, n_workers);
  for (guint i = 0; i < n_workers; i++)
    add_tally (&tallies[0], &tallies[i + 1]);
  if (failed > 0 && g_strcmp0 (g_getenv ("DVM_SIM_SHRINK"), "no") != 0)
    explain (tallies[failed].seed, &tallies[failed]);
  print_tally (&tallies[0]);
  /* A statement that was never looked at proves nothing; links that stay cut for long are too few to be counted on. */
  for (guint i = SIM_CRASH + 1; failed == 0 && n >= 10000 && i < SIM_N_STATEMENTS; i++)
    if (tallies[0].held[i] == 0 && i != SIM_D1_EXPELLED)
      g_error ("%s was never looked at: %s", sim_statement_get_number (i), sim_statement_get_text (i));
  munmap (tallies, (n_workers + 1) * sizeof *tallies);
  g_assert_cmpuint (failed, ==, 0);
}

static void
test_schedules (void)
{
  g_autofree SimTally *tally = g_new0 (SimTally, 1);
  guint seed;

  if (!sim_seeds_get_one (&seed))
    {
      run_all (sim_seeds_get_n ());
      return;
    }
  run_seed (seed, tally);
  print_tally (tally);
}

static void
test_found (void)
{
  g_autofree SimTally *tally = g_new0 (SimTally, 1);

  for (guint i = 0; i < G_N_ELEMENTS (found_seeds); i++)
    run_seed (found_seeds[i], tally);
}

int
main (int argc, char **argv)
{
  sim_seeds_init (&argc, &argv);
  if (g_getenv ("DVM_SIM_SEED") == NULL)
    g_test_add_func ("/elastic/found", test_found);
  g_test_add_func ("/elastic/schedules", test_schedules);
  return g_test_run ();
}
