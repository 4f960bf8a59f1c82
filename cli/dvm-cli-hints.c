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
  { "hnp uri-file", "--name NAME, --socket PATH" },
  { "daemonize", "dvm-cli start" },
};

typedef struct
{
  const char *names;
  const char *sentence; /* marked for translation */
} Remark;

static const Remark remarks[] = {
  { "display-map display-devel-map report-bindings",
    N_ ("for run and map; of a job that was submitted 'dvm-cli job map JOB' and 'dvm-cli job procs JOB' tell it") },
  { "memory-alloc-kinds",
    N_ ("nothing hands kinds of memory to a program here: it asks for them itself, by mpi_memory_alloc_kinds") },
  { "gpu-support", N_ ("the MPI of the program decides; '--mca accelerator null' turns it off in Open MPI 5") },
  { "pmix-prefix",
    N_ ("the DVM has the libpmix that it was built with; --app-pmix-prefix DIR is for one of the program") },
  { "launch-agent",
    N_ ("the settings launcher-command and launcher-prefix say how agents are started; --set gives one") },
  { "debug-daemons debug-daemons-file",
    N_ ("'dvm-cli logs' shows what a DVM says, and more of one that was started with G_MESSAGES_DEBUG=all") },
  { "debug tv", N_ ("a debugger starts the job by itself; run --output-proctable tells it the processes") },
  { "terminate", N_ ("'dvm-cli stop' ends a DVM, 'dvm-cli kill JOB' a job") },
  { "report-events", N_ ("'dvm-cli events' shows what happens in a DVM") },
  { "xml-file", N_ ("--output xml,file=NAME makes a file for each rank") },
  { "index-argv-by-rank", N_ ("each rank finds its number in PMIX_RANK, and may change its own name by it") },
  { "system-server", N_ ("'dvm-cli --bus system start' starts a DVM for all users of the machine") },
  { "genvall genvnone envall", N_ ("the whole environment goes with the job; -x NAME=VALUE changes it") },
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
dvm_cli_hint_clash (const char *name)
{
  return strcmp (name, "np") == 0 ? _ ("the -c of srun is --cpus-per-task here, and dvm-srun takes -c as srun does")
                                  : NULL;
}

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
  { "watch follow", "events" },
  { "sacct bhist qacct accounting", "history" },
  { "htop smap sview ui", "top" },
  { "dashboard http browser metrics prometheus exporter", "web" },
  { "window gui desktop gtk", "monitor" },
  { "settings", "config" },
  { "palloc salloc extend add", "grow" },
  { "release remove reclaim", "shrink" },
  { "allocations allocs reservations", "sessions" },
  { "reserve reservation alloc allocation scontrol", "session" },
};

const char *
dvm_cli_hint_verb (const char *name)
{
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

/* "l prepend-rank" is "-l, --prepend-rank" */
static char *
spell_names (const char *names)
{
  g_auto (GStrv) list = g_strsplit (names, " ", -1);
  GString *text = g_string_new (NULL);

  for (gsize i = 0; list[i] != NULL; i++)
    g_string_append_printf (text, "%s%s%s", i > 0 ? ", " : "", list[i][1] == '\0' ? "-" : "--", list[i]);
  return g_string_free (text, FALSE);
}

void
dvm_cli_hint_list (DvmCliHintKind kind, DvmCliHintFunc row, gpointer user_data)
{
  for (gsize i = 0; kind == DVM_CLI_HINT_VERBS && i < G_N_ELEMENTS (verbs); i++)
    {
      g_auto (GStrv) list = g_strsplit (verbs[i].names, " ", -1);
      g_autofree char *names = g_strjoinv (", ", list);
      g_autofree char *here = g_strconcat ("dvm-cli ", verbs[i].here, NULL);

      row (names, here, user_data);
    }
  for (gsize i = 0; kind == DVM_CLI_HINT_OPTIONS && i < G_N_ELEMENTS (others); i++)
    {
      g_autofree char *names = spell_names (others[i].names);

      row (names, others[i].here, user_data);
    }
  for (gsize i = 0; kind == DVM_CLI_HINT_REMARKS && i < G_N_ELEMENTS (remarks); i++)
    {
      g_autofree char *names = spell_names (remarks[i].names);

      row (names, _ (remarks[i].sentence), user_data);
    }
}
