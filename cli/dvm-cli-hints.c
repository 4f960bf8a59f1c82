/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names that mpirun, prun or a batch system have for something lead to its name here.
 */

#include "config.h"

#include "dvm-cli-hints.h"

#include <glib/gi18n-lib.h>
#include <string.h>

typedef struct
{
  const char *names; /* without dashes, separated by spaces */
  const char *here;  /* what to write instead */
} Other;

static const Other others[] = {
  { "l prepend-rank", "--output tag" },
  { "outfile-pattern", "--stdout-path PATH" },
  { "errfile-pattern", "--stderr-path PATH" },
  { "genv env export", "-x NAME=VALUE" },
  { "use-hwthreads-as-cpus", "--map-by :HWTCPUS" },
  { "cpu-bind cpu_bind", "--bind-to OBJECT" },
  { "hosts H", "--host LIST" },
  { "nprocs", "-n N" },
  { "dvm-uri dvm hnp uri-file", "--name NAME, --socket PATH" },
  { "daemonize", "dvm-cli start" },
  { "display-map display-devel-map report-bindings", "dvm-cli job procs JOB" },
};

typedef struct
{
  const char *names;
  const char *sentence; /* marked for translation */
} Remark;

static const Remark remarks[] = {
  { "prtemca gprtemca",
    N_ ("the runtime of mpirun does not run here; the settings of the DVM stand in dvm.conf, and --set gives one") },
  { "xterm", N_ ("a terminal for a rank: 'dvm-cli run ... xterm -e PROGRAM' opens one for each process") },
  { "report-uri", N_ ("'dvm-cli status --json' has the socket of the DVM, which --socket takes") },
  { "genvall genvnone envall", N_ ("the whole environment goes with the job; -x NAME=VALUE changes it") },
  { "default-hostfile", N_ ("a DVM gets its nodes when it starts: 'dvm-cli start --hostfile FILE'") },
};

static gboolean
has_name (const char *names, const char *name)
{
  g_auto (GStrv) list = g_strsplit (names, " ", -1);

  return g_strv_contains ((const char *const *)list, name);
}

char *
dvm_cli_hint_option (const char *spelling)
{
  const char *name = spelling + strspn (spelling, "-");

  for (gsize i = 0; i < G_N_ELEMENTS (others); i++)
    if (has_name (others[i].names, name))
      return g_strdup_printf (_ ("unknown option '%s'; here it is '%s'"), spelling, others[i].here);
  for (gsize i = 0; i < G_N_ELEMENTS (remarks); i++)
    if (has_name (remarks[i].names, name))
      return g_strdup_printf (_ ("unknown option '%s': %s"), spelling, _ (remarks[i].sentence));
  return NULL;
}

const char *
dvm_cli_hint_verb (const char *name)
{
  static const Other verbs[] = {
    { "prun mpirun mpiexec srun exec", "run" },
    { "prte dvm up", "start" },
    { "pterm shutdown down", "stop" },
    { "sbatch qsub bsub", "submit" },
    { "ps pps squeue qstat bjobs list", "jobs" },
    { "show procs trace timing", "job" },
    { "scancel qdel bkill cancel signal", "kill" },
    { "sinfo hosts pbsnodes", "nodes" },
    { "log journal messages", "logs" },
    { "output", "attach" },
    { "watch monitor follow", "events" },
    { "settings", "config" },
    { "palloc salloc extend add", "grow" },
    { "release remove reclaim", "shrink" },
    { "allocations allocs reservations", "sessions" },
    { "reserve reservation alloc allocation scontrol", "session" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (verbs); i++)
    if (has_name (verbs[i].names, name))
      return verbs[i].here;
  return NULL;
}

const char *
dvm_cli_hint_session (const char *name)
{
  static const Other actions[] = {
    { "new make reserve alloc allocate instantiate", "create" },
    { "add grow prolong renew", "extend" },
    { "delete remove rm free return shrink dealloc", "release" },
    { "reacquire reclaim regain", "reaquire" },
    { "abort", "cancel" },
    { "suspend stop hold freeze", "pause" },
    { "continue cont unpause thaw", "resume" },
    { "end kill destroy quit", "terminate" },
    { "detach untie", "separate" },
    { "info status describe", "show" },
    { "ls", "list" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (actions); i++)
    if (has_name (actions[i].names, name))
      return actions[i].here;
  return NULL;
}
