/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of srun. Under its name they go before those of dvm-cli run, else they are known where run has none.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-foreign.h"

#define NO_GPUS                                                                                                        \
  N_ ("--gpus-per-task N gives so many to each process, which is --map-by device=gpu:NDEV=N; --map-by "                \
      "ppr:N:device=gpu "                                                                                              \
      "says how many processes each has")
#define NO_MEMORY                                                                                                      \
  N_ ("a DVM sets no limits of memory; the scheduler does for the whole DVM, or 'ulimit -v' for a program")
#define NO_BATCH N_ ("that is for the allocation: give it to sbatch or salloc, and the DVM takes the nodes that it got")

static const DvmCliOption options[] = {
  { "nodes", 'N', NULL, DVM_CLI_ARG_STRING, N_ ("K"), NULL, NULL, "--map-by ppr:%:node" },
  { "cpus-per-task", 'c', NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535", NULL, "--cpus-per-task %" },
  { "time", 't', NULL, DVM_CLI_ARG_STRING, N_ ("TIME"), NULL, NULL, "--timeout %" },
  { "job-name", 'J', NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL, NULL, "--job-name %" },
  { "nodelist", 'w', NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, NULL, "--host %" },
  { "nodefile", 'F', NULL, DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, NULL, "--hostfile %" },
  { "chdir", 'D', NULL, DVM_CLI_ARG_STRING, N_ ("DIR"), NULL, NULL, "--wdir %" },
  { "output", 'o', NULL, DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, NULL, "--stdout-path %" },
  { "error", 'e', NULL, DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, NULL, "--stderr-path %" },
  { "input", 'i', NULL, DVM_CLI_ARG_STRING, N_ ("RANK"), NULL, NULL, "--stdin %" },
  { "label", 'l', NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--output tag" },
  { "quiet", 'Q', NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--quiet" },
  { "export", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, NULL, "--x %" },
  { "cpu-bind", 0, "--cpu_bind", DVM_CLI_ARG_STRING, N_ ("OBJECT"), NULL, NULL, "--bind-to %" },
  { "distribution", 'm', NULL, DVM_CLI_ARG_STRING, N_ ("POLICY"), NULL, NULL, "--map-by %" },
  { "hint", 0, NULL, DVM_CLI_ARG_STRING, N_ ("WHAT"), NULL, NULL, "--use-hwthread-cpus" },
  { "mpi", 0, NULL, DVM_CLI_ARG_STRING, N_ ("KIND"), NULL, NULL, "--personality %" },
  { "kill-on-bad-exit", 'K', NULL, DVM_CLI_ARG_OPTIONAL, N_ ("N"), NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "wait", 'W', NULL, DVM_CLI_ARG_STRING, N_ ("N"), NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "dependency", 'd', NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, NULL, "--after-ok %" },
  { "immediate", 'I', NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--when-full refuse" },
  { "hold", 'H', NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--hold" },
  { "overcommit", 'O', NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--when-full oversubscribe" },
  { "overlap", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--when-full oversubscribe" },
  { "gpus-per-task", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535", NULL, "--map-by device=gpu:NDEV=%" },
  { "ntasks-per-socket", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535", NULL, "--npersocket %" },
  { "ntasks-per-core", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535", NULL, "--map-by ppr:%:core" },
  { "bcast", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--preload-binary" },
  { "exclusive", 0, NULL, DVM_CLI_ARG_OPTIONAL, N_ ("WHAT"), NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "exact", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "oversubscribe", 's', NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "unbuffered", 'u', NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "partition", 'p', NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "account", 'A', NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "qos", 'q', NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "comment", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "wckey", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "preserve-env", 'E', NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "disable-status", 'X', NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "exclude", 'x', NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("--host LIST names the nodes that the job may use") },
  { "relative", 'r', NULL, DVM_CLI_ARG_STRING, N_ ("N"), NULL,
    N_ ("--host LIST names the nodes that the job may use") },
  { "multi-prog", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("--app FILE has in each line a program behind its options, such as '-n 2 PROGRAM'; or write them with ':' "
        "between") },
  { "gres", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, NO_GPUS },
  { "gpus", 'G', NULL, DVM_CLI_ARG_STRING, N_ ("N"), NULL, NO_GPUS },
  { "gpus-per-node", 0, NULL, DVM_CLI_ARG_STRING, N_ ("N"), NULL, NO_GPUS },
  { "mem", 0, NULL, DVM_CLI_ARG_STRING, N_ ("SIZE"), NULL, NO_MEMORY },
  { "mem-per-cpu", 0, NULL, DVM_CLI_ARG_STRING, N_ ("SIZE"), NULL, NO_MEMORY },
  { "begin", 'b', NULL, DVM_CLI_ARG_STRING, N_ ("TIME"), NULL, NO_BATCH },
  { "constraint", 'C', NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, NO_BATCH },
  { "reservation", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL, NO_BATCH },
  { "licenses", 'L', NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, NO_BATCH },
  { "jobid", 0, NULL, DVM_CLI_ARG_STRING, N_ ("N"), NULL,
    N_ ("--session SESSION is for an allocation of a DVM, --name NAME for a DVM") },
  { NULL },
};

static const DvmCliForeignWord words[] = {
  { "cpu-bind", "none", "bind-to", "none" },
  { "cpu-bind", "no", "bind-to", "none" },
  { "cpu-bind", "threads", "bind-to", "hwthread" },
  { "cpu-bind", "cores", "bind-to", "core" },
  { "cpu-bind", "sockets", "bind-to", "package" },
  { "cpu-bind", "ldoms", "bind-to", "numa" },
  { "cpu-bind", "verbose", "display", "bindings" },
  { "cpu-bind", "quiet", NULL, NULL },
  { "distribution", "block", "map-by", "slot" },
  { "distribution", "cyclic", "map-by", "node" },
  { "hint", "multithread", "use-hwthread-cpus", NULL },
  { "hint", "nomultithread", "bind-to", "core" },
  { "mpi", "pmix", "personality", "pmix" },
  { "mpi", "pmix_v3", "personality", "pmix" },
  { "mpi", "pmix_v4", "personality", "pmix" },
  { "mpi", "pmix_v5", "personality", "pmix" },
  { "mpi", "pmi2", "personality", "pmix" },
  { "mpi", "none", "personality", "plain" },
  { "kill-on-bad-exit", "0", "recoverable", NULL },
  { "kill-on-bad-exit", "1", NULL, NULL },
  { "wait", "0", NULL, NULL },
  { "exclusive", "user", NULL, NULL },
};

/* Minutes, M:S, H:M:S, and behind days H, H:M and H:M:S. */
static gboolean
read_time (const char *value, guint64 *seconds)
{
  static const guint units[] = { 3600, 60, 1 };
  const char *dash = strchr (value, '-');
  g_autofree char *days = dash != NULL ? g_strndup (value, (gsize)(dash - value)) : NULL;
  g_auto (GStrv) parts = g_strsplit (dash != NULL ? dash + 1 : value, ":", -1);
  guint n = g_strv_length (parts);
  guint first = dash != NULL || n == 3 ? 0 : 1;
  guint64 number = 0;

  *seconds = 0;
  if (n == 0 || first + n > G_N_ELEMENTS (units)
      || (days != NULL && !g_ascii_string_to_unsigned (days, 10, 0, 20000, &number, NULL)))
    return FALSE;
  *seconds = number * 86400;
  for (guint i = 0; i < n; i++)
    {
      if (!g_ascii_string_to_unsigned (parts[i], 10, 0, 20000000, &number, NULL))
        return FALSE;
      *seconds += number * units[first + i];
    }
  return *seconds <= G_MAXINT32;
}

/* None at all is asked for by zero, too. */
static gboolean
convert_time (DvmCliForeign *self, const char *value, GError **error)
{
  g_autofree char *text = NULL;
  guint64 seconds;

  if (g_ascii_strcasecmp (value, "UNLIMITED") == 0 || g_ascii_strcasecmp (value, "INFINITE") == 0)
    return TRUE;
  if (!read_time (value, &seconds))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("option %s takes minutes, or such as 1:30 (minutes and seconds), 2:00:00 or 1-12 (days and "
                      "hours); not '%s'"),
                   self->shown, value);
      return FALSE;
    }
  text = g_strdup_printf ("%us", (guint)seconds);
  return seconds == 0 || dvm_cli_foreign_add (self, "timeout", text, error);
}

/* Variables without ALL go alone. */
static gboolean
convert_export (DvmCliForeign *self, const char *value, GError **error)
{
  g_auto (GStrv) items = g_strsplit (value, ",", -1);
  gboolean all = g_strv_contains ((const char *const *)items, "ALL");

  if (!all && !dvm_cli_foreign_add (self, "fwd-environment", "no", error))
    return FALSE;
  for (gsize i = 0; items[i] != NULL; i++)
    if (strcmp (items[i], "ALL") != 0 && strcmp (items[i], "NONE") != 0 && strcmp (items[i], "NIL") != 0
        && !dvm_cli_foreign_add (self, "x", items[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
convert_dependency (DvmCliForeign *self, const char *value, GError **error)
{
  static const char *const kinds[][2] = { { "afterok", "after-ok" },
                                          { "afterany", "after-any" },
                                          { "after", "after" } };
  g_auto (GStrv) items = g_strsplit (value, ",", -1);

  for (gsize i = 0; items[i] != NULL; i++)
    {
      g_auto (GStrv) ids = g_strsplit (items[i], ":", -1);
      g_autofree char *list = ids[0] != NULL ? g_strjoinv (",", ids + 1) : NULL;
      gsize k = 0;

      while (k < G_N_ELEMENTS (kinds) && g_strcmp0 (ids[0], kinds[k][0]) != 0)
        k++;
      if (g_strcmp0 (ids[0], "singleton") == 0)
        {
          if (!dvm_cli_foreign_add (self, "singleton", NULL, error))
            return FALSE;
        }
      else if (k == G_N_ELEMENTS (kinds) || list[0] == '\0')
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                       _ ("option %s takes singleton, and after, afterok and afterany with jobs, such as afterok:3:4"),
                       self->shown);
          return FALSE;
        }
      else if (!dvm_cli_foreign_add (self, kinds[k][1], list, error))
        return FALSE;
    }
  return TRUE;
}

/* Of the patterns those of an array alone are in the name of one file for all ranks. */
static gboolean
convert_file (DvmCliForeign *self, const char *name, const char *value, GError **error)
{
  for (const char *sign = strchr (value, '%'); sign != NULL; sign = strchr (sign + 1, '%'))
    if (sign[1] != 'a' && sign[1] != 'A')
      {
        g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                     _ ("option %s: --output file=NAME:pattern makes a file for each rank, with %%r for the rank and "
                        "%%h for the host"),
                     self->shown);
        return FALSE;
      }
  return dvm_cli_foreign_add (self, name, strcmp (value, "none") == 0 ? "/dev/null" : value, error);
}

static gboolean
convert_input (DvmCliForeign *self, const char *value, GError **error)
{
  guint64 rank;

  if (strcmp (value, "all") == 0 || strcmp (value, "none") == 0
      || g_ascii_string_to_unsigned (value, 10, 0, G_MAXINT32, &rank, NULL))
    return dvm_cli_foreign_add (self, "stdin", value, error);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("option %s: it takes all, none or a rank; '< %s' is input from a file"), self->shown, value);
  return FALSE;
}

static gboolean
convert_output (DvmCliForeign *self, const char *value, GError **error)
{
  self->has_output = TRUE;
  return convert_file (self, "stdout-path", value, error);
}

static gboolean
convert_error (DvmCliForeign *self, const char *value, GError **error)
{
  self->has_error = TRUE;
  return convert_file (self, "stderr-path", value, error);
}

/* How many processes there are is known when all options have been seen. */
static gboolean
keep_nodes (DvmCliForeign *self, const char *value, GError **error)
{
  self->nodes = value;
  self->nodes_shown = self->shown;
  self->is_deferred = TRUE;
  return TRUE;
}

static const struct
{
  const char *option;
  gboolean (*convert) (DvmCliForeign *self, const char *value, GError **error);
} converters[] = {
  { "nodes", keep_nodes },
  { "time", convert_time },
  { "export", convert_export },
  { "output", convert_output },
  { "error", convert_error },
  { "input", convert_input },
  { "dependency", convert_dependency },
};

static gboolean
convert (DvmCliForeign *self, const DvmCliOption *option, const char *value, gboolean *done, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (converters); i++)
    if (strcmp (converters[i].option, option->name) == 0)
      {
        *done = TRUE;
        return converters[i].convert (self, value, error);
      }
  return TRUE;
}

/* The processes fill the nodes that --nodes asks for: one on each, or as many on each as are needed. */
static gboolean
spread (DvmCliForeign *self, GError **error)
{
  guint n = dvm_cli_args_get_uint (self->args, "np", 0);
  guint per = dvm_cli_args_get_uint (self->args, "ntasks-per-node", 0);
  g_autofree char *number = NULL;
  g_autofree char *policy = NULL;
  guint64 nodes;

  if (!g_ascii_string_to_unsigned (self->nodes, 10, 1, 1000000, &nodes, NULL))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("the number of nodes is a whole number here, not '%s'"),
                   self->nodes);
      return FALSE;
    }
  if (per == 0)
    policy = g_strdup_printf ("ppr:%u:node", n == 0 ? 1 : (guint)((n + nodes - 1) / nodes));
  per = per == 0 ? (n == 0 ? 1 : (guint)((n + nodes - 1) / nodes)) : per;
  number = g_strdup_printf ("%u", n == 0 ? (guint)(nodes * per) : n);
  if (n > 0 && (n + (guint64)per - 1) / per != nodes)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("%u processes with %u on each node are not on %s nodes: --map-by says how they are placed"), n,
                   per, self->nodes);
      return FALSE;
    }
  return (policy == NULL || dvm_cli_foreign_add (self, "map-by", policy, error))
         && (n > 0 || dvm_cli_foreign_add (self, "np", number, error));
}

/* How many processes there are follows from one of these. */
static const char *const counts[] = { "np",     "nodes",   "ntasks-per-node", "npersocket", "ppr",      "file", "app",
                                      "map-by", "pernode", "npernode",        "colocate",   "rankfile", NULL };

static gboolean
has_count (DvmCliForeign *self)
{
  for (gsize i = 0; counts[i] != NULL; i++)
    if (dvm_cli_args_has (self->args, counts[i]))
      return TRUE;
  return FALSE;
}

/* As srun has it: what the job of Slurm was asked for, else a process on each of its nodes, else one. */
static gboolean
add_count (DvmCliForeign *self, GError **error)
{
  const char *tasks = g_getenv ("SLURM_NTASKS");
  const char *nodes = g_getenv ("SLURM_NNODES");

  if (tasks != NULL && tasks[0] != '\0')
    return dvm_cli_args_add (self->args, self->lists, "np", tasks, error);
  if (nodes == NULL || nodes[0] == '\0')
    return dvm_cli_args_add (self->args, self->lists, "np", "1", error);
  return dvm_cli_args_add (self->args, self->lists, "map-by", "ppr:1:node", error)
         && dvm_cli_args_add (self->args, self->lists, "np", nodes, error);
}

/* Errors go where the output goes, and there are as many processes, as srun has it. */
static gboolean
finish (DvmCliForeign *self, GError **error)
{
  if (self->nodes != NULL)
    {
      self->shown = self->nodes_shown;
      if (!spread (self, error))
        return FALSE;
    }
  if (self->has_output && !self->has_error && !dvm_cli_foreign_add (self, "merge-stderr-to-stdout", NULL, error))
    return FALSE;
  return !self->is_caller || has_count (self) || add_count (self, error);
}

const DvmCliDialect dvm_cli_srun = {
  .title = N_ ("Options of srun, which dvm-srun takes first, and run, submit and map last:"),
  .options = options,
  .words = words,
  .n_words = G_N_ELEMENTS (words),
  .convert = convert,
  .finish = finish,
};
