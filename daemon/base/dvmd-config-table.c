/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The one list of settings. The example of dvm.conf in data/ is checked against it by a test.
 */

#include "config.h"

#include <string.h>

#include "dvmd-config.h"

#define KIB      G_GUINT64_CONSTANT (1024)
#define MIB      (KIB * 1024)
#define GIB      (MIB * 1024)
#define HOURS(n) ((guint64)(n)*3600 * G_USEC_PER_SEC)

static const DvmdSetting settings[] = {
  { "allocator", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "which allocator has the nodes that the DVM is started with, as in slurm; empty: the first one that finds some" },
  { "allocator-timeout", DVMD_CONFIG_SECONDS, "30", NULL, G_USEC_PER_SEC, HOURS (1), DVMD_CONFIG_AT_START,
    "how long an allocator may take to find nodes, to decide of a request, or to take nodes back" },
  { "allow-missing", DVMD_CONFIG_BOOL, "false", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "whether the DVM comes up without nodes that do not come, as long as one does" },
  { "archive-days", DVMD_CONFIG_UINT, "30", NULL, 0, 100000, DVMD_CONFIG_AT_START,
    "for how many days ended jobs and campaigns stay in the archive; 0: without a limit" },
  { "archive-file", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "the file in which ended jobs and campaigns are kept, for dvm-cli history; none: nowhere; empty: in the state "
    "directory, where dvm-cli start starts the DVM" },
  { "archive-size", DVMD_CONFIG_SIZE, "64 MiB", NULL, MIB, 64 * GIB, DVMD_CONFIG_AT_START,
    "how large the archive gets before the oldest jobs and campaigns go from it" },
  { "bind-to", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_ONCE,
    "what processes are bound to when a job does not say it, as in core or none; empty: what is mapped by says it" },
  { "bootstrap-auth", DVMD_CONFIG_CHOICE, "secret", "secret munge", 0, 0, DVMD_CONFIG_AT_START,
    "what agents that start by themselves prove: that they know a secret, or by munge that they are of the DVM's "
    "user" },
  { "bootstrap-controller", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "where agents that start by themselves find the controller, which then listens there: HOST:PORT" },
  { "bootstrap-munge-socket", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "the socket of the munged that such agents and their controller ask, with its whole path; empty: that of the "
    "system" },
  { "bootstrap-pause", DVMD_CONFIG_SECONDS, "5", NULL, G_USEC_PER_SEC / 10, HOURS (1), DVMD_CONFIG_AT_START,
    "the longest pause of such an agent before it tries again to join" },
  { "bootstrap-secret", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "the file with the secret by which such agents may join, the same on all nodes, with its whole path" },
  { "controller-grace", DVMD_CONFIG_SECONDS, "5", NULL, G_USEC_PER_SEC / 10, HOURS (1), DVMD_CONFIG_AT_START,
    "how long agents have to end their processes and themselves when the controller has gone" },
  { "default-slots", DVMD_CONFIG_CHOICE, "hwthreads", "hwthreads cores numas packages", 0, 0, DVMD_CONFIG_AT_START,
    "what a node has a slot for, each of it, where nothing says how many it has" },
  { "disabled-plugins", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_ONCE,
    "plugins that are not used: KIND-NAME, as in mapper-round-robin, with blanks between them" },
  { "display", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_ONCE,
    "what dvm-cli run shows of a job when it is not told, as in map,bindings; empty: nothing" },
  { "elastic", DVMD_CONFIG_BOOL, "false", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "whether the DVM can grow and shrink while jobs run" },
  { "grow-timeout", DVMD_CONFIG_SECONDS, "60", NULL, G_USEC_PER_SEC, HOURS (24), DVMD_CONFIG_AT_START,
    "how long the nodes by which the DVM grows may take until they have reported" },
  { "heal", DVMD_CONFIG_BOOL, "true", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "whether the agent of a node that was lost is started again" },
  { "heal-limit", DVMD_CONFIG_UINT, "10", NULL, 0, 1000000, DVMD_CONFIG_AT_START,
    "how often in a row that is tried before the node is given up; a DVM without any node tries on" },
  { "heal-pause", DVMD_CONFIG_SECONDS, "60", NULL, G_USEC_PER_SEC / 10, HOURS (24), DVMD_CONFIG_AT_START,
    "the longest pause between two attempts, which begin with 1 s; who stays up so long is well again" },
  { "heartbeat-timeout", DVMD_CONFIG_SECONDS, "20", NULL, G_USEC_PER_SEC, HOURS (1), DVMD_CONFIG_AT_START,
    "how long nothing may be heard of a daemon before its link is given up" },
  { "history-bytes", DVMD_CONFIG_SIZE, "64 MiB", NULL, 0, 1024 * GIB, DVMD_CONFIG_AT_ONCE,
    "how much memory ended jobs may take that can still be asked about, the last one alone more; 0: any" },
  { "history-limit", DVMD_CONFIG_UINT, "1000", NULL, 0, 1000000, DVMD_CONFIG_AT_ONCE,
    "how many ended jobs can still be asked about" },
  { "hostfile", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "the file that names the nodes of the DVM, with its whole path; empty: there is none" },
  { "hosts", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "the nodes of the DVM, as in node3:4,node5; with a hostfile: of those that it names" },
  { "idle-exit", DVMD_CONFIG_SECONDS, "300", NULL, 0, HOURS (8760), DVMD_CONFIG_AT_ONCE,
    "how long a DVM that a message bus has started stays without a job; 0: until somebody ends it" },
  { "keep-output", DVMD_CONFIG_SIZE, "1 MiB", NULL, 0, GIB, DVMD_CONFIG_AT_ONCE,
    "how much of the last output of a job that nobody is attached to is kept" },
  { "keep-output-total", DVMD_CONFIG_SIZE, "64 MiB", NULL, 0, 1024 * GIB, DVMD_CONFIG_AT_ONCE,
    "how much output of ended jobs is kept in all; that of the oldest goes first" },
  { "kill-grace", DVMD_CONFIG_SECONDS, "5", NULL, 0, HOURS (1), DVMD_CONFIG_AT_ONCE,
    "time between SIGTERM and SIGKILL when a job is ended" },
  { "launcher", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "what starts the agents of the nodes; empty: local for logical nodes and this machine, slurm, flux, gridengine, "
    "lsf "
    "or pbs for those of the job of that scheduler that the DVM is in, else ssh" },
  { "launcher-command", DVMD_CONFIG_COMMAND, "ssh", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "the command of the launcher ssh, which is called like ssh, with its options" },
  { "launcher-prefix", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "where dvm is installed on the nodes that launchers go to; empty: where it is here" },
  { "launcher-timeout", DVMD_CONFIG_SECONDS, "30", NULL, G_USEC_PER_SEC, HOURS (1), DVMD_CONFIG_AT_START,
    "how long the launcher of an agent may take to start it" },
  { "listen-address", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "where daemons listen for each other: addresses, networks as in 10.1.0.0/16, or interfaces; empty: everywhere" },
  { "listen-family", DVMD_CONFIG_CHOICE, "any", "any ipv4 ipv6", 0, 0, DVMD_CONFIG_AT_START,
    "which addresses daemons listen at for each other" },
  { "log-files", DVMD_CONFIG_UINT, "3", NULL, 0, 1000, DVMD_CONFIG_AT_ONCE,
    "how many older logs of a DVM are kept beside the one that is written" },
  { "log-size", DVMD_CONFIG_SIZE, "4 MiB", NULL, 4 * KIB, GIB, DVMD_CONFIG_AT_ONCE,
    "how large the log of a DVM gets before another one is begun" },
  { "map-by", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_ONCE,
    "how processes are placed when a job does not say it, as in node or numa:PE=2; empty: by core, or by slot if they "
    "are plain" },
  { "max-nodes", DVMD_CONFIG_UINT, "0", NULL, 0, 1000000, DVMD_CONFIG_AT_START,
    "how many nodes of those that there are the DVM begins with at most, which are the first ones; 0: all" },
  { "nodes", DVMD_CONFIG_UINT, "0", NULL, 0, 100000, DVMD_CONFIG_AT_START,
    "how many logical nodes on this machine the DVM has: node1, node2 and so on; 0: none" },
  { "output", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_ONCE,
    "what is done with the output of a job that does not say it, as in tag,timestamp; empty: it comes as it is" },
  { "output-credit", DVMD_CONFIG_SIZE, "256 KiB", NULL, 4 * KIB, GIB, DVMD_CONFIG_AT_START,
    "how much output of one job may be under way before its processes have to wait" },
  { "park-limit", DVMD_CONFIG_SECONDS, "60", NULL, 0, HOURS (24), DVMD_CONFIG_AT_START,
    "how long changes of size may keep a job waiting before the next ones wait for it" },
  { "plugin-path", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "directories with plugins, with colons between them; empty: the one that belongs to the installation" },
  { "plugin-settings", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "settings of plugins: KIND-NAME.KEY=VALUE, with blanks between them; values are quoted as in a shell" },
  { "pmix", DVMD_CONFIG_CHOICE, "lazy", "lazy eager", 0, 0, DVMD_CONFIG_AT_START,
    "when the PMIx server of a node starts: with its first PMIx job, or before the DVM is ready" },
  { "pmix-dvm-events", DVMD_CONFIG_BOOL, "true", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "whether processes and tools that change the size of the DVM through PMIx get an event when it has been done" },
  { "pmix-gds", DVMD_CONFIG_STRING, "hash", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "how the PMIx server keeps its data: the value of PMIX_MCA_gds, or empty for the choice of the library" },
  { "pmix-security", DVMD_CONFIG_CHOICE, "native", "native munge", 0, 0, DVMD_CONFIG_AT_START,
    "what proves to a PMIx server who its clients are: what they say, or munge, which then runs on every node" },
  { "pmix-servers", DVMD_CONFIG_UINT, "0", NULL, 0, 64, DVMD_CONFIG_AT_START,
    "PMIx server processes that the jobs of a node share at most when they run at the same time; 0: as many as it has "
    "processors, 2 to 8" },
  { "pmix-tools", DVMD_CONFIG_CHOICE, "session", "none session system", 0, 0, DVMD_CONFIG_AT_START,
    "which tools find the PMIx servers of the DVM: none, those of its user, or those that look for the system's, too" },
  { "port-range", DVMD_CONFIG_PORTS, "0", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "ports that daemons listen at for each other, as in 5000-5100; 0: any that is free" },
  { "private", DVMD_CONFIG_BOOL, "false", NULL, 0, 0, DVMD_CONFIG_AT_START,
    "whether what users give with jobs, and what quotes it, is hidden from other users of a message bus" },
  { "queue", DVMD_CONFIG_BOOL, "false", NULL, 0, 0, DVMD_CONFIG_AT_ONCE,
    "whether jobs with a time limit go before larger ones that wait, if they end in time (backfill), and jobs that are "
    "too large wait for nodes to be added to an elastic DVM" },
  { "queue-max-running", DVMD_CONFIG_UINT, "0", NULL, 0, 1000000, DVMD_CONFIG_AT_ONCE,
    "how many jobs may run at the same time, without those that jobs have spawned; 0: any number" },
  { "radix", DVMD_CONFIG_UINT, "32", NULL, 2, 1024, DVMD_CONFIG_AT_START,
    "how many daemons hang on one in the tree of daemons" },
  { "rank-by", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_ONCE,
    "how ranks are given to places when a job does not say it: slot, node, fill or span; empty: as it is mapped" },
  { "security", DVMD_CONFIG_CHOICE, "tls", "tls none", 0, 0, DVMD_CONFIG_AT_START,
    "whether links between machines are encrypted; none is for debugging alone" },
  { "shrink-grace", DVMD_CONFIG_SECONDS, "10", NULL, G_USEC_PER_SEC / 10, HOURS (1), DVMD_CONFIG_AT_START,
    "how long a node that is to leave the DVM may take before its launcher ends it" },
  { "slots", DVMD_CONFIG_UINT, "0", NULL, 0, G_MAXINT, DVMD_CONFIG_AT_START,
    "how many processes each node is meant for that nothing else is said of; 0: as default-slots says" },
  { "ssh-concurrency", DVMD_CONFIG_UINT, "32", NULL, 1, 10000, DVMD_CONFIG_AT_START,
    "how many agents the launcher ssh starts at once" },
  { "start-timeout", DVMD_CONFIG_SECONDS, "60", NULL, G_USEC_PER_SEC, HOURS (24), DVMD_CONFIG_AT_START,
    "how long the nodes of a DVM that is started may take until they have reported" },
  { "trace-file", DVMD_CONFIG_STRING, "", NULL, 0, 0, DVMD_CONFIG_AT_ONCE,
    "file to which every change of state is added, one JSON object a line; empty: there is none" },
};

const DvmdSetting *
dvmd_config_get_settings (guint *n_settings)
{
  *n_settings = G_N_ELEMENTS (settings);
  return settings;
}

const DvmdSetting *
dvmd_config_find_setting (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (settings); i++)
    if (strcmp (settings[i].name, name) == 0)
      return &settings[i];
  return NULL;
}

static char *
describe_choices (const char *choices)
{
  g_auto (GStrv) words = g_strsplit (choices, " ", -1);
  GString *text = g_string_new (NULL);

  for (gsize i = 0; words[i] != NULL; i++)
    g_string_append_printf (text, "%s\"%s\"", i == 0 ? "" : words[i + 1] != NULL ? ", " : " or ", words[i]);
  return g_string_free (text, FALSE);
}

char *
dvmd_setting_describe_values (const DvmdSetting *setting)
{
  switch (setting->type)
    {
    case DVMD_CONFIG_BOOL:
      return g_strdup ("true or false");
    case DVMD_CONFIG_UINT:
      return g_strdup_printf ("a number from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, setting->min, setting->max);
    case DVMD_CONFIG_SIZE:
      return g_strdup_printf ("bytes from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT ", as in 65536, 64 KiB or 1 MiB",
                              setting->min, setting->max);
    case DVMD_CONFIG_SECONDS:
      return g_strdup_printf ("seconds from %g to %g, as in 5, 0.25, 250 ms or 2 min",
                              (gdouble)setting->min / G_USEC_PER_SEC, (gdouble)setting->max / G_USEC_PER_SEC);
    case DVMD_CONFIG_CHOICE:
      return describe_choices (setting->choices);
    case DVMD_CONFIG_PORTS:
      return g_strdup ("0 for any, a port, or two as in 5000-5100");
    case DVMD_CONFIG_COMMAND:
      return g_strdup ("a command with its options, quoted as in a shell");
    case DVMD_CONFIG_STRING:
      return g_strdup ("a text");
    }
  g_return_val_if_reached (NULL);
}
