/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * The cost of the start and the end of one /bin/true: the bare system's posix_spawn() (the floor) beside our layers,
 * all in one run and interleaved. Arguments: rounds, processes per round and way, MiB of memory to touch before.
 */

#include "config.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-container.h"
#include "dvmd-pipes.h"

static const char *const argv_true[] = { "/bin/true", NULL };
static const char *const envp[] = { "PATH=/usr/bin:/bin", "DVM_JOBID=bench@1", NULL };

typedef struct
{
  DvmdClock *clock;
  DvmdSpawner *spawner;
  DvmdReaper *reaper;
  DvmdContainers *groups;
  DvmdContainers *cgroups; /* (nullable) */
  gboolean ended;
  guint n_eof;
} Bench;

typedef void (*Way) (Bench *bench);

static void
run_posix_spawn (Bench *bench)
{
  posix_spawnattr_t attr;
  sigset_t none;
  pid_t pid;

  posix_spawnattr_init (&attr);
  posix_spawnattr_setflags (&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup (&attr, 0);
  sigemptyset (&none);
  posix_spawnattr_setsigmask (&attr, &none);
  if (posix_spawn (&pid, argv_true[0], NULL, &attr, (char *const *)argv_true, (char *const *)envp) == 0)
    waitpid (pid, NULL, 0);
  posix_spawnattr_destroy (&attr);
}

static void
run_spawner (Bench *bench)
{
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;
  pid_t pid;

  request.argv = argv_true;
  request.envp = envp;
  pid = dvmd_spawner_spawn (bench->spawner, &request, NULL, NULL, NULL);
  if (pid > 0)
    waitpid (pid, NULL, 0);
}

static void
on_ended (pid_t pid, int status, gpointer user_data)
{
  ((Bench *)user_data)->ended = TRUE;
}

static void
run_container (Bench *bench, DvmdContainers *set, DvmdSpawnRequest *request, DvmdPipes *pipes)
{
  DvmdContainer *container = dvmd_container_new (set, envp[1]);
  pid_t pid;

  bench->ended = FALSE;
  bench->n_eof = pipes != NULL ? 0 : 2;
  request->argv = argv_true;
  request->envp = envp;
  pid = dvmd_container_spawn (container, request, on_ended, bench, NULL, NULL);
  if (pipes != NULL)
    dvmd_pipes_start (pipes);
  while (!bench->ended || bench->n_eof < 2)
    g_main_context_iteration (NULL, TRUE);
  if (!dvmd_container_rank_ended (container, pid, 0, 0, NULL, NULL)
      || !dvmd_container_finish (container, 0, NULL, NULL))
    g_printerr ("something was left of /bin/true\n");
  dvmd_container_free (container);
}

static void
run_groups (Bench *bench)
{
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;

  run_container (bench, bench->groups, &request, NULL);
}

static void
run_cgroup (Bench *bench)
{
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;

  if (bench->cgroups != NULL)
    run_container (bench, bench->cgroups, &request, NULL);
}

static void
on_output (DvmdPipes *pipes, guint rank, DvmdStream stream, char *piece, gsize size, gpointer user_data)
{
  g_free (piece);
}

static void
on_eof (DvmdPipes *pipes, guint rank, DvmdStream stream, gpointer user_data)
{
  ((Bench *)user_data)->n_eof++;
}

static const DvmdPipesFuncs pipes_funcs = { .output = on_output, .eof = on_eof };

static void
run_with_pipes (Bench *bench)
{
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;
  DvmdCredit *credit = dvmd_credit_new (DVMD_STREAM_WINDOW);
  DvmdPipes *pipes = dvmd_pipes_new (NULL, 0, DVMD_PIPES_NONE, credit, &pipes_funcs, bench, NULL);

  request.stdout_fd = dvmd_pipes_get_child_fd (pipes, DVMD_STREAM_STDOUT);
  request.stderr_fd = dvmd_pipes_get_child_fd (pipes, DVMD_STREAM_STDERR);
  run_container (bench, bench->groups, &request, pipes);
  dvmd_pipes_free (pipes);
  dvmd_credit_unref (credit);
}

static const struct
{
  const char *name;
  Way way;
} ways[] = {
  { "posix_spawn (floor)", run_posix_spawn },
  { "spawner", run_spawner },
  { "container, reaper", run_groups },
  { "container in a cgroup", run_cgroup },
  { "container, reaper, pipes", run_with_pipes },
};

static int
compare (const void *a, const void *b)
{
  double left = *(const double *)a;
  double right = *(const double *)b;

  return left < right ? -1 : left > right;
}

static void
measure (Bench *bench, guint n_rounds, guint n_processes)
{
  g_autofree double *rates = g_new0 (double, n_rounds *G_N_ELEMENTS (ways));

  for (guint round = 0; round < n_rounds; round++)
    for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
      {
        gint64 start = g_get_monotonic_time ();

        for (guint n = 0; n < n_processes; n++)
          ways[i].way (bench);
        rates[i * n_rounds + round] = n_processes * (double)G_USEC_PER_SEC
                                      / (double)MAX (g_get_monotonic_time () - start, 1);
      }
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      double *all = rates + i * n_rounds;

      qsort (all, n_rounds, sizeof *all, compare);
      if (ways[i].way == run_cgroup && bench->cgroups == NULL)
        printf ("%-28s not usable here\n", ways[i].name);
      else
        printf ("%-28s %7.0f /s  (%.0f to %.0f)\n", ways[i].name, all[n_rounds / 2], all[0], all[n_rounds - 1]);
    }
}

int
main (int argc, char **argv)
{
  guint n_rounds = argc > 1 ? (guint)atoi (argv[1]) : 15;
  guint n_processes = argc > 2 ? (guint)atoi (argv[2]) : 300;
  gsize touched = argc > 3 ? (gsize)atoi (argv[3]) * 1024 * 1024 : 0;
  g_autofree char *memory = g_malloc (touched + 1);
  g_autoptr (GError) error = NULL;
  Bench bench = { 0 };

  memset (memory, 1, touched + 1);
  signal (SIGPIPE, SIG_IGN);
  dvmd_reaper_block_sigchld ();
  bench.clock = dvmd_clock_new_real (NULL);
  bench.spawner = dvmd_spawner_new (&error);
  bench.reaper = dvmd_reaper_new (NULL, TRUE, &error);
  bench.groups = dvmd_containers_new (NULL, bench.clock, bench.spawner, bench.reaper, DVMD_CONTAINERS_GROUPS, &error);
  bench.cgroups = dvmd_containers_new (NULL, bench.clock, bench.spawner, bench.reaper, DVMD_CONTAINERS_CGROUP, NULL);
  measure (&bench, n_rounds, n_processes);
  g_clear_pointer (&bench.cgroups, dvmd_containers_free);
  g_clear_pointer (&bench.groups, dvmd_containers_free);
  dvmd_reaper_free (bench.reaper);
  dvmd_spawner_free (bench.spawner);
  dvmd_clock_unref (bench.clock);
  return 0;
}
