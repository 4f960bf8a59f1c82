/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The words of run and submit become the description of a job.
 */

#include "config.h"

#include "dvm-cli-spec.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <unistd.h>

#include "dvm-cli-caller.h"
#include "dvm-cli-environment.h"
#include "dvm-cli-exports.h"
#include "dvm-cli-file.h"
#include "dvm-cli-old.h"
#include "dvm-cli-output.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-xterm.h"

const DvmCliOption dvm_cli_file_options[] = {
  { "file", 'f', NULL, DVM_CLI_ARG_STRING, N_ ("JOB.json"), NULL,
    N_ ("take the job from a file (-: standard input), not from the words") },
  { "app", 0, "-app", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("take the programs from a file: in each line one, behind its options") },
  { NULL },
};

const DvmCliOption dvm_cli_app_options[] = {
  { "np", 'n', "-c -np --n --ntasks", DVM_CLI_ARG_COUNT, N_ ("N"), NULL,
    N_ ("number of processes (default: all free slots)"), NULL, TRUE },
  { "x", 'x', "--set-env", DVM_CLI_ARG_STRING, N_ ("NAME[=VALUE]"), NULL,
    N_ ("set an environment variable, or check that NAME or PREFIX* is set") },
  { "unset-env", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL,
    N_ ("take an environment variable away, or all that are PREFIX*") },
  { "prepend-env", 0, NULL, DVM_CLI_ARG_PAIR, N_ ("NAME[c] VALUE"), NULL,
    N_ ("put VALUE before what the variable has, with c between (default: a colon)") },
  { "append-env", 0, NULL, DVM_CLI_ARG_PAIR, N_ ("NAME[c] VALUE"), NULL, N_ ("the same behind what it has") },
  { "mca", 0, "-mca --omca -omca", DVM_CLI_ARG_PAIR, N_ ("NAME VALUE"), NULL,
    N_ ("set a parameter of Open MPI, which is -x OMPI_MCA_NAME=VALUE") },
  { "pmixmca", 0, "-pmixmca", DVM_CLI_ARG_PAIR, N_ ("NAME VALUE"), NULL,
    N_ ("set a parameter of PMIx, which is -x PMIX_MCA_NAME=VALUE") },
  { "path", 0, "-path", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("directories that come first in PATH, where the program is looked for") },
  { "prefix", 0, "-prefix", DVM_CLI_ARG_STRING, N_ ("DIR"), NULL,
    N_ ("DIR/bin comes first in PATH, and DIR/lib in LD_LIBRARY_PATH") },
  { "noprefix", 0, "-noprefix", DVM_CLI_ARG_NONE, NULL, NULL, N_ ("without --prefix, which is the default") },
  { "app-pmix-prefix", 0, NULL, DVM_CLI_ARG_STRING, N_ ("DIR"), NULL,
    N_ ("a libpmix of the program's own: DIR/lib comes first in LD_LIBRARY_PATH, and PMIX_PREFIX is DIR") },
  { "no-app-prefix", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("without --app-pmix-prefix, which is the default") },
  { "wdir", 0, "-wd -wdir --wd --chdir", DVM_CLI_ARG_STRING, N_ ("DIR"), NULL,
    N_ ("working directory (default: this one)") },
  { "host", 'H', "-host", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, N_ ("nodes to use: node1,node2:SLOTS,...") },
  { "hostfile", 0, "-hostfile -machinefile --machinefile --default-hostfile", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("nodes to use: those that a file names, with their slots") },
  { "preload-files", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("copy files to the session directory on each node first") },
  { "preload-binary", 's', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("copy the program there too, and run it there") },
  { "set-cwd-to-session-dir", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("run in the session directory") },
  { "pset", 0, "-pset", DVM_CLI_ARG_STRING, N_ ("NAME"), NULL,
    N_ ("put the processes into a PMIx process set of that name") },
  { "map-by", 0, "--mapby -map-by -mapby", DVM_CLI_ARG_STRING, N_ ("POLICY"), NULL,
    N_ ("how processes are placed: slot, node, core, ppr:N:node, ..."), NULL, TRUE },
  { "colocate", 0, NULL, DVM_CLI_ARG_STRING, N_ ("JOB[:RANKS]"), NULL,
    N_ ("place processes beside those of a job that runs; they take no slots"), NULL, TRUE },
  { "nperproc", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535",
    N_ ("with --colocate: so many for each of its processes (default: 1)"), NULL, TRUE },
  { "rank-by", 0, "--rankby -rank-by -rankby", DVM_CLI_ARG_STRING, N_ ("POLICY"), NULL,
    N_ ("how ranks are given to places: slot, node, fill, span"), NULL, TRUE },
  { "bind-to", 0, "--bindto -bind-to -bindto", DVM_CLI_ARG_STRING, N_ ("OBJECT"), NULL,
    N_ ("what processes are bound to: core, none, ..."), NULL, TRUE },
  { NULL },
};

const DvmCliOption dvm_cli_add_options[] = {
  { "add-host", 0, "-add-host", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("add nodes to the DVM first, such as n9:2,n10:2; it must be elastic") },
  { "add-hostfile", 0, "-add-hostfile", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("add the nodes that a file names to the DVM first") },
  { "child-separate", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("go on when the job ends that has spawned this one") },
  { "priority", 0, NULL, DVM_CLI_ARG_STRING, N_ ("N"), NULL,
    N_ ("go before jobs that wait with a lower one: -1000 to 1000 (default: 0)") },
  { "after", 0, NULL, DVM_CLI_ARG_STRING, N_ ("JOB,..."), NULL, N_ ("wait until these jobs have started, or ended") },
  { "after-ok", 0, NULL, DVM_CLI_ARG_STRING, N_ ("JOB,..."), NULL, N_ ("wait until these jobs have ended well") },
  { "after-any", 0, NULL, DVM_CLI_ARG_STRING, N_ ("JOB,..."), NULL, N_ ("wait until these jobs have ended") },
  { "singleton", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("wait until earlier jobs of the same name have ended") },
  { "hold", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("wait until dvm-cli job release") },
  { "wait-for-slots", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("wait also for slots that an elastic DVM does not have yet") },
  { NULL },
};

const DvmCliOption dvm_cli_job_options[] = {
  { "timeout", 0, "-timeout", DVM_CLI_ARG_TIME, N_ ("TIME"), "1",
    N_ ("end the job after that time: seconds, or such as 90s, 2h or 1:30:00") },
  { "spawn-timeout", 0, "-spawn-timeout", DVM_CLI_ARG_TIME, N_ ("TIME"), "1",
    N_ ("end the job if not all processes have been started within that time of its placement") },
  { "fwd-environment", 0, NULL, DVM_CLI_ARG_OPTIONAL, N_ ("yes|no"), NULL,
    N_ ("whether the processes get the environment of this command (default: yes), or that of the DVM") },
  { "gmca", 0, "-gmca", DVM_CLI_ARG_PAIR, N_ ("NAME VALUE"), NULL, N_ ("--mca for all programs of the job") },
  { "gpmixmca", 0, "-gpmixmca", DVM_CLI_ARG_PAIR, N_ ("NAME VALUE"), NULL,
    N_ ("--pmixmca for all programs of the job") },
  { "prtemca", 0, "-prtemca --gprtemca -gprtemca", DVM_CLI_ARG_PAIR, N_ ("NAME VALUE"), NULL,
    N_ ("a parameter of mpirun's runtime: one that is an option here is that option, others are told to do nothing") },
  { "tune", 0, "-tune --am -am", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("take parameters from files: lines such as -x NAME=VALUE, --mca NAME VALUE or NAME = VALUE") },
  { "job-name", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL, N_ ("a name for the job") },
  { "label", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LABEL"), NULL, N_ ("a label, which many jobs may share") },
  { "output", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("what to do with output: tag, timestamp, dir=DIR, ...") },
  { "stdin", 0, NULL, DVM_CLI_ARG_STRING, N_ ("RANK"), NULL, N_ ("who gets standard input: a rank, all or none") },
  { "xterm", 0, "-xterm", DVM_CLI_ARG_STRING, N_ ("RANKS"), NULL,
    N_ ("run these ranks (0,2-4, or all) in a terminal of their own each; ! behind them keeps it open") },
  { "stdout-path", 0, NULL, DVM_CLI_ARG_STRING, N_ ("PATH"), NULL, N_ ("write standard output to a file") },
  { "stderr-path", 0, NULL, DVM_CLI_ARG_STRING, N_ ("PATH"), NULL, N_ ("write standard error to a file") },
  { "pty", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("give the processes a pseudo terminal") },
  { "when-full", 0, NULL, DVM_CLI_ARG_CHOICE, N_ ("WHAT"), "wait|refuse|oversubscribe",
    N_ ("without free slots: wait, refuse or oversubscribe") },
  { "target", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("use the nodes of these allocations alone: ALLOC-ID,... or default") },
  { "session", 0, NULL, DVM_CLI_ARG_STRING, N_ ("SESSION"), NULL, N_ ("use the nodes of that session alone") },
  { "personality", 0, NULL, DVM_CLI_ARG_CHOICE, N_ ("KIND"), "pmix|plain|ompi",
    N_ ("pmix (default, as ompi), or plain: faster, for programs without PMIx") },
  { "runtime-options", 0, "--rtos", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, N_ ("directives to the runtime") },
  { "recoverable", 0, "--enable-recovery -enable-recovery", DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("go on when a process fails") },
  { "max-restarts", 0, "-max-restarts", DVM_CLI_ARG_COUNT, N_ ("N"), NULL,
    N_ ("start each process that fails again, so often at most") },
  { "with-ft", 0, "-with-ft", DVM_CLI_ARG_CHOICE, N_ ("WHAT"), "ulfm|mpi|yes|true|1|no|false|0",
    N_ ("fault tolerance of Open MPI: go on when a process fails, and tell the others") },
  { NULL },
};

/* "./logs/%r" stays a pattern; only the beginning is made absolute, for the DVM has another directory. */
static char *
absolute (const char *path)
{
  return path != NULL ? g_canonicalize_filename (path, NULL) : NULL;
}

static char *
current_directory (GError **error)
{
  char *directory = getcwd (NULL, 0);
  char *copy = g_strdup (directory);

  if (directory == NULL)
    g_set_error (error, G_IO_ERROR, g_io_error_from_errno (errno),
                 _ ("the current directory cannot be named (%s); give one with --wdir"), g_strerror (errno));
  free (directory);
  return copy;
}

static gboolean
apply_directory (DvmAppSpec *app, DvmCliArgs *args, DvmCliEnvironment *environment, GError **error)
{
  const char *wanted = dvm_cli_args_get (args, "wdir");
  g_autofree char *directory = wanted != NULL ? absolute (wanted) : current_directory (error);

  if (directory == NULL)
    return FALSE;
  dvm_app_spec_set_cwd (app, directory);
  if (wanted != NULL)
    dvm_cli_environment_set (environment, "PWD", directory);
  return TRUE;
}

/* A program that runs in the session directory cannot have another working directory. */
static gboolean
check_session_cwd (DvmCliArgs *args, GError **error)
{
  const char *given = dvm_cli_args_has (args, "preload-binary") ? "preload-binary" : "set-cwd-to-session-dir";

  if (!dvm_cli_args_has (args, given) || !dvm_cli_args_has (args, "wdir"))
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("options --wdir and --%s cannot go together: the program runs in the session directory then"), given);
  return FALSE;
}

/* Relative names are those of this directory, whatever directory the program runs in. */
static gboolean
apply_preloads (DvmAppSpec *app, DvmCliArgs *args, GError **error)
{
  g_autofree const char **lists = dvm_cli_args_get_all (args, "preload-files");
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *directory = NULL;

  if (!check_session_cwd (args, error))
    return FALSE;
  dvm_app_spec_set_preload_binary (app, dvm_cli_args_has (args, "preload-binary"));
  dvm_app_spec_set_session_cwd (app, dvm_cli_args_has (args, "set-cwd-to-session-dir"));
  for (gsize i = 0; lists[i] != NULL; i++)
    {
      g_autofree char **names = g_strsplit (lists[i], ",", -1);

      for (gsize k = 0; names[k] != NULL; k++)
        g_ptr_array_add (files, names[k]);
    }
  if (files->len == 0)
    return TRUE;
  g_ptr_array_add (files, NULL);
  dvm_app_spec_set_preload_files (app, (const char *const *)files->pdata);
  if (dvm_cli_args_has (args, "wdir"))
    {
      directory = current_directory (error);
      if (directory == NULL)
        return FALSE;
      dvm_app_spec_set_preload_dir (app, directory);
    }
  return TRUE;
}

/* The daemon reads the file: its directory is another one. */
static gboolean
apply_hosts (DvmAppSpec *app, DvmCliArgs *args, GError **error)
{
  g_autofree const char **lists = dvm_cli_args_get_all (args, "host");
  g_autofree const char **files = dvm_cli_args_get_all (args, "hostfile");
  g_autofree char *path = NULL;

  if (files[0] != NULL && files[1] != NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --hostfile can be given once"));
      return FALSE;
    }
  if (lists[0] != NULL)
    dvm_app_spec_set_hosts (app, lists);
  if (files[0] != NULL)
    path = g_canonicalize_filename (files[0], NULL);
  dvm_app_spec_set_hostfile (app, path);
  return TRUE;
}

/* The daemon reads the file of seq:FILE=PATH and rankfile:FILE=PATH, and has another directory. */
static char *
absolute_policy (const char *policy)
{
  g_auto (GStrv) parts = g_strsplit (policy, ":", -1);
  gsize length = parts[0] != NULL ? strlen (parts[0]) : 0;

  if (length < 1
      || ((length < 2 || g_ascii_strncasecmp (parts[0], "seq", length) != 0)
          && g_ascii_strncasecmp (parts[0], "rankfile", length) != 0))
    return g_strdup (policy);
  for (gsize i = 1; parts[i] != NULL; i++)
    {
      gsize name = strcspn (parts[i], "=");
      g_autofree char *part = NULL;
      g_autofree char *path = NULL;

      if (name == 0 || g_ascii_strncasecmp (parts[i], "file", name) != 0 || parts[i][name] != '='
          || parts[i][name + 1] == '\0')
        continue;
      part = parts[i];
      path = g_canonicalize_filename (part + name + 1, NULL);
      parts[i] = g_strdup_printf ("FILE=%s", path);
    }
  return g_strjoinv (":", parts);
}

/* Spellings of before are part of it. text (out) (nullable): what it comes to, where base is what there is already */
static gboolean
compose_policy (DvmCliArgs *args, const char *option, const char *base, char **text, GError **error)
{
  g_autofree char *composed = NULL;

  *text = NULL;
  if (!dvm_cli_old_compose (args, option, base, &composed, error))
    return FALSE;
  if (composed != NULL)
    *text = absolute_policy (composed);
  return TRUE;
}

/* Before the first program they are those of the job. */
static gboolean
apply_placement (DvmAppSpec *app, DvmCliArgs *args, GError **error)
{
  g_autofree char *map_by = NULL;
  g_autofree char *bind_to = NULL;

  if (!compose_policy (args, "map-by", NULL, &map_by, error)
      || !compose_policy (args, "bind-to", NULL, &bind_to, error))
    return FALSE;
  dvm_app_spec_set_map_by (app, map_by);
  dvm_app_spec_set_bind_to (app, bind_to);
  dvm_app_spec_set_rank_by (app, dvm_cli_args_get (args, "rank-by"));
  return TRUE;
}

/* Without that of the caller the processes have the environment of the DVM, and what options say. */
static gboolean
apply_environment (DvmAppSpec *app, DvmCliArgs *job, DvmCliArgs *args, DvmCliEnvironment *environment, GError **error)
{
  g_autofree const char **removed = dvm_cli_args_get_all (args, "unset-env");
  g_auto (GStrv) chosen = NULL;
  gboolean forwards;

  if (!dvm_cli_args_get_flag (job, "fwd-environment", TRUE, &forwards, error))
    return FALSE;
  dvm_app_spec_set_clear_env (app, forwards);
  if (forwards)
    {
      dvm_app_spec_set_env (app, dvm_cli_environment_get (environment));
      return TRUE;
    }
  for (gsize i = 0; removed[i] != NULL; i++)
    if (strchr (removed[i], '*') != NULL)
      {
        g_set_error (
            error, DVM_CLI_USAGE_ERROR, 0,
            _ ("option --unset-env %s: with --fwd-environment=no it takes whole names, for what the DVM has is "
               "not known here"),
            removed[i]);
        return FALSE;
      }
  chosen = dvm_cli_environment_dup_chosen (environment);
  dvm_app_spec_set_env (app, (const char *const *)chosen);
  dvm_app_spec_set_unset_env (app, removed);
  return TRUE;
}

/* words: a program and its arguments; job: options of all programs */
static DvmAppSpec *
make_app (DvmCliArgs *job, DvmCliArgs *args, const char *const *words, GError **error)
{
  g_autoptr (DvmAppSpec) app = dvm_app_spec_new (words);
  g_autoptr (DvmCliEnvironment) environment = dvm_cli_environment_new ();

  dvm_app_spec_set_np (app, dvm_cli_args_get_uint (args, "np", 0));
  dvm_app_spec_set_pset (app, dvm_cli_args_get (args, "pset"));
  if (!dvm_cli_exports_apply (job, args, environment, error) || !apply_directory (app, args, environment, error)
      || !apply_preloads (app, args, error))
    return NULL;
  if (!apply_environment (app, job, args, environment, error))
    return NULL;
  if (dvm_cli_args_has (job, "xterm") && !dvm_cli_xterm_wrap (app, dvm_cli_args_get (job, "xterm"), environment, error))
    return NULL;
  return apply_hosts (app, args, error) ? g_steal_pointer (&app) : NULL;
}

/* The words up to the next ':'; (transfer container) */
static const char **
take_app_words (const char *const **words)
{
  GPtrArray *taken = g_ptr_array_new ();

  while (**words != NULL && strcmp (**words, ":") != 0)
    g_ptr_array_add (taken, (gpointer) * (*words)++);
  g_ptr_array_add (taken, NULL);
  return (const char **)g_ptr_array_free (taken, FALSE);
}

/* Options of a program alone, and the program */
static gboolean
parse_app (DvmCliArgs *args, const char *const *words, GError **error)
{
  const DvmCliOption *const lists[] = { dvm_cli_app_options, dvm_cli_old_app_options, NULL };

  return dvm_cli_args_parse (args, lists, words, DVM_CLI_PARSE_STOP_AT_WORD, error);
}

/* Each program has cpus of its own, while --map-by of the first one is that of the job. */
static gboolean
part_cpus (DvmCli *cli, DvmCliArgs *args, DvmCliOptionLists lists, GError **error)
{
  return !dvm_cli_args_has (cli->args, "cpus-per-task") || dvm_cli_args_has (args, "cpus-per-task")
         || dvm_cli_args_has (args, "map-by") || dvm_cli_args_add (args, lists, "map-by", ":PE=1", error);
}

/* Under the name of another launcher its options have its meaning behind ':', too. */
static gboolean
parse_foreign (DvmCli *cli, DvmCliArgs *args, const char *const *words, GError **error)
{
  const DvmCliDialect *dialect = cli->verb->foreign;
  const DvmCliOption *const all[] = { dialect->options, dvm_cli_app_options, dvm_cli_old_app_options, NULL };
  g_auto (GStrv) notices = NULL;

  if (!dvm_cli_args_parse (args, all, words, DVM_CLI_PARSE_STOP_AT_WORD, error)
      || !dvm_cli_foreign_apply (dialect, TRUE, args, all + 1, &notices, error)
      || !part_cpus (cli, args, all + 1, error))
    return FALSE;
  for (gsize i = 0; notices[i] != NULL; i++)
    dvm_cli_note (cli, "%s", notices[i]);
  return TRUE;
}

/* Behind ':' stand options of the next program alone; those of the job belong before the first. */
static gboolean
parse_next (DvmCli *cli, DvmCliArgs *args, const char *const *words, GError **error)
{
  const DvmCliCaller *caller = dvm_cli_caller_find (g_get_prgname ());
  gboolean is_foreign = caller != NULL && caller->is_foreign && cli->verb->foreign != NULL;
  g_autoptr (GError) local_error = NULL;

  if (is_foreign ? parse_foreign (cli, args, words, &local_error) : parse_app (args, words, &local_error))
    {
      if (dvm_cli_args_get_n_words (args) > 0)
        return TRUE;
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a program is missing behind ':'"));
      return FALSE;
    }
  g_set_error (
      error, DVM_CLI_USAGE_ERROR, 0,
      _ ("%s (behind ':' only options of a program may stand, such as -n and -x; those of the job come before its "
         "first program)"),
      local_error->message);
  return FALSE;
}

static gboolean
add_tune (DvmCliArgs *args, const char *path, GError **error)
{
  const DvmCliOption *const lists[] = { dvm_cli_app_options, NULL };
  guint n_words = dvm_cli_args_get_n_words (args);
  char **words = dvm_cli_exports_read_tune (path, error);

  if (words == NULL)
    return FALSE;
  if (!dvm_cli_args_parse (args, lists, dvm_cli_args_keep (args, words), DVM_CLI_PARSE_DEFAULT, error))
    {
      g_prefix_error (error, "%s: ", path);
      return FALSE;
    }
  if (dvm_cli_args_get_n_words (args) == n_words)
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("%s: '%s' is no option"), path,
               dvm_cli_args_get_words (args)[n_words]);
  return FALSE;
}

/* Files of parameters are for all programs. */
static gboolean
add_tunes (DvmCliArgs *job, DvmCliArgs *args, GError **error)
{
  g_autofree const char **lists = dvm_cli_args_get_all (job, "tune");

  for (gsize i = 0; lists[i] != NULL; i++)
    {
      g_auto (GStrv) paths = g_strsplit (lists[i], ",", -1);

      for (gsize k = 0; paths[k] != NULL; k++)
        if (!add_tune (args, paths[k], error))
          return FALSE;
    }
  return TRUE;
}

/* words: a program and its arguments. What places the first one on a command line is the job's. */
static gboolean
add_app (DvmJobSpec *spec, DvmCli *cli, DvmCliArgs *args, const char *const *words, GError **error)
{
  g_autoptr (DvmAppSpec) app = NULL;

  if (!add_tunes (cli->args, args, error))
    return FALSE;
  app = make_app (cli->args, args, words, error);
  if (app == NULL || (args != cli->args && !apply_placement (app, args, error)))
    return FALSE;
  if (args != cli->args)
    dvm_cli_old_tell (cli, args);
  dvm_job_spec_add_app (spec, app);
  return TRUE;
}

static gboolean
add_apps (DvmJobSpec *spec, DvmCli *cli, GError **error)
{
  const char *const *words = dvm_cli_args_get_words (cli->args);
  g_autoptr (DvmCliArgs) next = NULL;
  DvmCliArgs *args = cli->args;

  for (;;)
    {
      g_autofree const char **app_words = take_app_words (&words);
      g_autoptr (DvmCliArgs) behind = NULL;

      if (app_words[0] == NULL)
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a program is missing before ':'"));
          return FALSE;
        }
      if (!add_app (spec, cli, args, app_words, error))
        return FALSE;
      if (*words == NULL)
        return TRUE;
      behind = dvm_cli_args_new ();
      if (!parse_next (cli, behind, words + 1, error))
        return FALSE;
      words = dvm_cli_args_get_words (behind);
      /* words pointed into the former ones until now. */
      g_clear_pointer (&next, dvm_cli_args_free);
      args = next = g_steal_pointer (&behind);
    }
}

/* ---- a file with programs ---- */

/* A line without words adds none. */
static gboolean
add_app_of_line (DvmJobSpec *spec, DvmCli *cli, const char *line, GError **error)
{
  g_autoptr (DvmCliArgs) args = dvm_cli_args_new ();
  g_autoptr (GError) local_error = NULL;
  char **typed = NULL;

  if (!g_shell_parse_argv (line, NULL, &typed, &local_error))
    {
      if (g_error_matches (local_error, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING))
        return TRUE;
      g_set_error_literal (error, DVM_CLI_USAGE_ERROR, 0, local_error->message);
      return FALSE;
    }
  if (!parse_app (args, dvm_cli_args_keep (args, typed), error))
    return FALSE;
  if (dvm_cli_args_get_n_words (args) == 0)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a program is missing"));
      return FALSE;
    }
  return add_app (spec, cli, args, dvm_cli_args_get_words (args), error);
}

/* A backslash at its end joins a line with the next one, as in a shell; one in a comment, or behind another, does not.
 */
static gboolean
goes_on (const char *line)
{
  g_autoptr (GError) error = NULL;

  return g_str_has_suffix (line, "\\") && !g_shell_parse_argv (line, NULL, NULL, &error)
         && g_error_matches (error, G_SHELL_ERROR, G_SHELL_ERROR_BAD_QUOTING);
}

/* lines: at the first of one line, and then at the last; (transfer full) */
static char *
join_lines (char ***lines)
{
  g_autoptr (GString) line = g_string_new (**lines);

  while (goes_on (line->str) && (*lines)[1] != NULL)
    {
      g_string_truncate (line, line->len - 1);
      g_string_append (line, *++*lines);
    }
  return g_string_free (g_steal_pointer (&line), FALSE);
}

static gboolean
add_apps_of_file (DvmJobSpec *spec, DvmCli *cli, const char *path, GError **error)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  gsize length;

  if (!dvm_cli_read_file (path, &text, &length, error))
    return FALSE;
  lines = g_strsplit (text, "\n", -1);
  for (char **next = lines; *next != NULL; next++)
    {
      guint number = (guint)(next - lines) + 1;
      g_autofree char *line = join_lines (&next);

      if (!add_app_of_line (spec, cli, line, error))
        {
          g_prefix_error (error, "%s:%u: ", path, number);
          return FALSE;
        }
    }
  if (dvm_job_spec_get_n_apps (spec) > 0)
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("%s: there is no program in this file"), path);
  return FALSE;
}

/* Only paths stand behind "=". One of a directory with a comma, which separates, is left to the directory of the job.
 */
static char *
absolute_output (const char *output)
{
  g_auto (GStrv) entries = g_strsplit (output, ",", -1);
  g_autofree char *directory = g_get_current_dir ();

  for (gsize i = 0; strchr (directory, ',') == NULL && entries[i] != NULL; i++)
    {
      g_autofree char *entry = entries[i];
      char *path = strchr (entry, '=');

      if (path == NULL || strchr ("/:", path[1]) != NULL)
        {
          entries[i] = g_steal_pointer (&entry);
          continue;
        }
      *path++ = '\0';
      entries[i] = g_strdup_printf ("%s=%s/%s", entry, directory, path);
    }
  return g_strjoinv (",", entries);
}

static void
apply_paths (DvmJobSpec *spec, DvmCliArgs *args)
{
  g_autofree char *stdout_path = absolute (dvm_cli_args_get (args, "stdout-path"));
  g_autofree char *stderr_path = absolute (dvm_cli_args_get (args, "stderr-path"));

  g_autofree char *typed = NULL;

  if (dvm_cli_old_compose (args, "output", NULL, &typed, NULL) && typed != NULL)
    {
      g_autofree char *output = absolute_output (typed);

      dvm_job_spec_set_output (spec, output);
    }
  if (stdout_path != NULL)
    dvm_job_spec_set_stdout_path (spec, stdout_path);
  if (stderr_path != NULL)
    dvm_job_spec_set_stderr_path (spec, stderr_path);
}

/* As large as the terminal that we are on. */
static void
ask_for_pty (DvmJobSpec *spec)
{
  guint rows;
  guint columns;

  dvm_job_spec_set_pty (spec, TRUE);
  if (!dvm_cli_get_terminal_size (&rows, &columns))
    return;
  dvm_job_spec_set_pty_rows (spec, rows);
  dvm_job_spec_set_pty_columns (spec, columns);
}

static gboolean
apply_policies (DvmJobSpec *spec, DvmCliArgs *args, GError **error)
{
  static const struct
  {
    const char *option;
    const char *(*get) (DvmJobSpec *spec);
    void (*set) (DvmJobSpec *spec, const char *value);
  } policies[] = {
    { "map-by", dvm_job_spec_get_map_by, dvm_job_spec_set_map_by },
    { "bind-to", dvm_job_spec_get_bind_to, dvm_job_spec_set_bind_to },
    { "runtime-options", dvm_job_spec_get_runtime_options, dvm_job_spec_set_runtime_options },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (policies); i++)
    {
      g_autofree char *text = NULL;

      if (!compose_policy (args, policies[i].option, policies[i].get (spec), &text, error))
        return FALSE;
      if (text != NULL)
        policies[i].set (spec, text);
    }
  return TRUE;
}

/* Programs of Open MPI are programs of PMIx. */
static const char *
read_personality (DvmCliArgs *args)
{
  const char *personality = dvm_cli_args_get (args, "personality");

  return strcmp (personality, "ompi") == 0 ? "pmix" : personality;
}

static gboolean
apply_options (DvmJobSpec *spec, DvmCliArgs *args, GError **error)
{
  static const struct
  {
    const char *option;
    void (*set) (DvmJobSpec *spec, const char *value);
  } texts[] = {
    { "job-name", dvm_job_spec_set_name },       { "label", dvm_job_spec_set_label },
    { "stdin", dvm_job_spec_set_stdin_target },  { "rank-by", dvm_job_spec_set_rank_by },
    { "when-full", dvm_job_spec_set_when_full },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    if (dvm_cli_args_has (args, texts[i].option))
      texts[i].set (spec, dvm_cli_args_get (args, texts[i].option));
  if (dvm_cli_args_has (args, "personality"))
    dvm_job_spec_set_personality (spec, read_personality (args));
  apply_paths (spec, args);
  if (dvm_cli_args_has (args, "timeout"))
    dvm_job_spec_set_timeout (spec, dvm_cli_args_get_seconds (args, "timeout", 0));
  if (dvm_cli_args_has (args, "spawn-timeout"))
    dvm_job_spec_set_spawn_timeout (spec, dvm_cli_args_get_seconds (args, "spawn-timeout", 0));
  if (dvm_cli_args_has (args, "max-restarts"))
    dvm_job_spec_set_max_restarts (spec, dvm_cli_args_get_uint (args, "max-restarts", 0));
  if (dvm_cli_args_has (args, "recoverable") || dvm_cli_exports_want_ft (args))
    dvm_job_spec_set_recoverable (spec, TRUE);
  if (dvm_cli_args_has (args, "child-separate"))
    dvm_job_spec_set_child_separate (spec, TRUE);
  if (dvm_cli_args_has (args, "pty"))
    ask_for_pty (spec);
  return apply_policies (spec, args, error);
}

const DvmCliOption dvm_cli_array_options[] = {
  { "array", 0, NULL, DVM_CLI_ARG_STRING, N_ ("INDEXES"), NULL,
    N_ ("one job for each index, such as 0-99, 1,3,7, 0-99:2 or 0-99%10 (10 at once)") },
  { NULL },
};

static void
apply_jobs (DvmJobSpec *spec, DvmCliArgs *args, const char *option,
            void (*set) (DvmJobSpec *spec, const char *const *jobs))
{
  g_autofree const char **lists = dvm_cli_args_get_all (args, option);
  g_autofree char *joined = g_strjoinv (",", (char **)lists);
  g_auto (GStrv) jobs = g_strsplit (joined, ",", -1);

  if (lists[0] != NULL)
    set (spec, (const char *const *)jobs);
}

static gboolean
apply_array (DvmJobSpec *spec, DvmCliArgs *args, GError **error)
{
  g_autofree const char **lists = dvm_cli_args_get_all (args, "array");

  if (lists[0] != NULL && lists[1] != NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("option --array can be given once; all indexes stand in one list"));
      return FALSE;
    }
  if (lists[0] != NULL)
    dvm_job_spec_set_array (spec, lists[0]);
  return TRUE;
}

/* The reasons for which the job is to wait before it runs. */
static gboolean
apply_waiting (DvmJobSpec *spec, DvmCliArgs *args, GError **error)
{
  const char *priority = dvm_cli_args_get (args, "priority");
  gint64 number = 0;

  if (priority != NULL && !g_ascii_string_to_signed (priority, 10, -1000, 1000, &number, NULL))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --priority takes a number from -1000 to 1000, not '%s'"),
                   priority);
      return FALSE;
    }
  if (priority != NULL)
    dvm_job_spec_set_priority (spec, (int)number);
  if (dvm_cli_args_has (args, "hold"))
    dvm_job_spec_set_hold (spec, TRUE);
  if (dvm_cli_args_has (args, "singleton"))
    dvm_job_spec_set_singleton (spec, TRUE);
  if (dvm_cli_args_has (args, "wait-for-slots"))
    dvm_job_spec_set_wait_for_slots (spec, TRUE);
  if (!apply_array (spec, args, error))
    return FALSE;
  apply_jobs (spec, args, "after", dvm_job_spec_set_after);
  apply_jobs (spec, args, "after-ok", dvm_job_spec_set_after_ok);
  apply_jobs (spec, args, "after-any", dvm_job_spec_set_after_any);
  return TRUE;
}

/* The daemon reads the file, as that of --hostfile. */
static gboolean
apply_additions (DvmJobSpec *spec, DvmCliArgs *args, GError **error)
{
  g_autofree char *hosts = NULL;
  g_autofree const char **files = dvm_cli_args_get_all (args, "add-hostfile");
  g_autofree char *path = NULL;

  if (files[0] != NULL && files[1] != NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --add-hostfile can be given once"));
      return FALSE;
    }
  if (!dvm_cli_old_compose (args, "add-host", NULL, &hosts, error))
    return FALSE;
  if (hosts != NULL)
    dvm_job_spec_set_add_hosts (spec, (const char *const[]){ hosts, NULL });
  if (files[0] == NULL)
    return TRUE;
  path = g_canonicalize_filename (files[0], NULL);
  dvm_job_spec_set_add_hostfile (spec, path);
  return TRUE;
}

/* A description that the library refuses is wrong usage. */
static gboolean
validate (DvmJobSpec *spec, DvmCli *cli, GError **error)
{
  g_autofree char *typed = dvm_cli_old_show (cli->args);
  g_autoptr (GError) local_error = NULL;

  if (dvm_job_spec_validate (spec, &local_error))
    {
      dvm_cli_old_tell (cli, cli->args);
      return TRUE;
    }
  if (typed != NULL && dvm_cli_old_concerns (cli->args, local_error->message))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("%s (of '%s')"), local_error->message, typed);
  else
    g_set_error_literal (error, DVM_CLI_USAGE_ERROR, 0, local_error->message);
  return FALSE;
}

/* The policies are the job's too; what is of one program alone is said in the file. option: "file" or "app" */
static gboolean
check_beside_file (DvmCliArgs *args, const char *option, GError **error)
{
  static const char *const of_job[] = { "map-by", "rank-by", "bind-to", "colocate", "nperproc", NULL };

  for (const DvmCliOption *other = dvm_cli_app_options; other->name != NULL; other++)
    if (dvm_cli_args_has (args, other->name) && !g_strv_contains (of_job, other->name))
      {
        g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                     _ ("--%s is of a program, and the programs are those of --%s %s: say it there"), other->name,
                     option, dvm_cli_args_get (args, option));
        return FALSE;
      }
  return TRUE;
}

DvmJobSpec *
dvm_cli_spec_new (DvmCli *cli, const char *stdin_target, GError **error)
{
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new ();
  const char *app = dvm_cli_args_get (cli->args, "app");

  if (app != NULL && !check_beside_file (cli->args, "app", error))
    return NULL;
  if (!(app != NULL ? add_apps_of_file (spec, cli, app, error) : add_apps (spec, cli, error)))
    return NULL;
  if (dvm_cli_args_has (cli->args, "xterm")
      && !dvm_cli_xterm_check (spec, dvm_cli_args_get (cli->args, "xterm"), error))
    return NULL;
  if (stdin_target != NULL)
    dvm_job_spec_set_stdin_target (spec, stdin_target);
  return apply_options (spec, cli->args, error) && apply_waiting (spec, cli->args, error)
                 && apply_additions (spec, cli->args, error) && dvm_cli_spec_set_sessions (spec, cli->args, error)
                 && validate (spec, cli, error)
             ? g_steal_pointer (&spec)
             : NULL;
}

static void
complete_app (DvmAppSpec *app, const char *directory, gboolean forwards)
{
  g_autoptr (DvmCliEnvironment) environment = NULL;
  const char *const *own = dvm_app_spec_get_env (app);

  if (dvm_app_spec_get_cwd (app) == NULL)
    dvm_app_spec_set_cwd (app, directory);
  if (dvm_app_spec_get_clear_env (app) || !forwards)
    return;
  environment = dvm_cli_environment_new ();
  for (gsize i = 0; own != NULL && own[i] != NULL; i++)
    dvm_cli_environment_assign (environment, own[i]);
  dvm_app_spec_set_clear_env (app, TRUE);
  dvm_app_spec_set_env (app, dvm_cli_environment_get (environment));
}

static const char *
name_file (const char *path)
{
  return strcmp (path, "-") != 0 ? path : _ ("standard input");
}

DvmJobSpec *
dvm_cli_spec_new_from_file (DvmCli *cli, const char *path, GError **error)
{
  g_autoptr (DvmJobSpec) spec = NULL;
  g_autofree char *text = NULL;
  g_autofree char *directory = NULL;
  g_autoptr (GError) local = NULL;
  gboolean forwards;
  gsize length;

  if (dvm_cli_args_has (cli->args, "xterm"))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("options --xterm and --file exclude each other"));
      return NULL;
    }
  if (!check_beside_file (cli->args, "file", error) || !dvm_cli_read_file (path, &text, &length, error))
    return NULL;
  spec = dvm_job_spec_new_from_json (text, (gssize)length, &local);
  if (spec == NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, "%s: %s", name_file (path), local->message);
      return NULL;
    }
  directory = current_directory (error);
  if (directory == NULL || !dvm_cli_args_get_flag (cli->args, "fwd-environment", TRUE, &forwards, error))
    return NULL;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    complete_app (dvm_job_spec_get_app (spec, i), directory, forwards);
  return apply_options (spec, cli->args, error) && apply_waiting (spec, cli->args, error)
                 && apply_additions (spec, cli->args, error) && dvm_cli_spec_set_sessions (spec, cli->args, error)
                 && validate (spec, cli, error)
             ? g_steal_pointer (&spec)
             : NULL;
}

void
dvm_cli_spec_name_place (DvmCli *cli, DvmJobSpec *spec, GError **error)
{
  static const struct
  {
    const char *key;
    const char *(*get) (DvmAppSpec *app);
  } policies[] = {
    { "map-by", dvm_app_spec_get_map_by },
    { "rank-by", dvm_app_spec_get_rank_by },
    { "bind-to", dvm_app_spec_get_bind_to },
  };
  const char *file = dvm_cli_args_get (cli->args, "file");
  g_autoptr (GError) told = NULL;
  const char *rest;
  guint app;

  if (file == NULL || (*error)->domain != DVM_ERROR)
    return;
  rest = dvm_cli_skip_app ((*error)->message, &app);
  for (gsize i = 0; i < G_N_ELEMENTS (policies); i++)
    {
      gsize length = strlen (policies[i].key);
      gboolean own;

      if (strncmp (rest, policies[i].key, length) != 0 || !g_str_has_prefix (rest + length, ": "))
        continue;
      /* A program has from the job what it does not say, and the job from the command line before the file. */
      own = app < dvm_job_spec_get_n_apps (spec) && policies[i].get (dvm_job_spec_get_app (spec, app)) != NULL;
      if (!own && (dvm_cli_args_has (cli->args, policies[i].key) || dvm_cli_args_has (cli->args, "colocate")))
        return;
      told = g_steal_pointer (error);
      if (own)
        g_set_error (error, DVM_CLI_USAGE_ERROR, 0, "%s: $.apps[%u].%s", name_file (file), app, rest);
      else
        g_set_error (error, DVM_CLI_USAGE_ERROR, 0, "%s: $.%s", name_file (file), rest);
      return;
    }
}

DvmJobSpec *
dvm_cli_spec_choose (DvmCli *cli, const char *stdin_target, GError **error)
{
  const char *file = dvm_cli_args_get (cli->args, "file");
  const char *app = dvm_cli_args_get (cli->args, "app");
  guint n_words = dvm_cli_args_get_n_words (cli->args);
  g_autofree char *command = dvm_cli_caller_command (cli->verb->name);
  guint n_ways = (file != NULL ? 1 : 0) + (app != NULL ? 1 : 0) + (n_words > 0 ? 1 : 0);

  /* prun 5 has it as a directive to the runtime. */
  if (!dvm_cli_args_move_words (cli->args, "runtime-options",
                                dvm_cli_option_find (cli->verb->options, "fwd-environment"), error))
    return NULL;
  if (n_ways == 1)
    return file != NULL ? dvm_cli_spec_new_from_file (cli, file, error) : dvm_cli_spec_new (cli, stdin_target, error);
  if (n_ways > 1)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a program, --file and --app exclude each other"));
  else
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a program is missing: %s [OPTION...] PROGRAM"), command);
  return NULL;
}
