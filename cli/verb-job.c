/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli job: one job looked at: as a whole, by its processes and their stacks, by its way through the states; or let
 * go on from where it waits for a debugger, held before it runs, and released.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-array.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-display.h"
#include "dvm-cli-exit.h"
#include "dvm-cli-map.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-report.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-signals.h"
#include "dvm-cli-suggest.h"
#include "dvm-cli-timing.h"

static const DvmCliOption options[] = {
  { "ranks", 'r', NULL, DVM_CLI_ARG_STRING, N_ ("RANKS"), NULL,
    N_ ("procs, map, stacks: these ranks alone, such as 0-3,7") },
  { "timeout", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("SECONDS"), NULL,
    N_ ("stacks: how long reading them may take (default: 30)") },
  { "display", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("map: what to show, in the words that 'dvm-cli run' has") },
  { "json-lines", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("as --json, but one object a line") },
  { NULL },
};

static const DvmCliColumn show_columns[] = {
  { NULL, N_ ("Job"), DVM_CLI_KIND_TEXT },           { NULL, N_ ("Id"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Name"), DVM_CLI_KIND_TEXT },          { NULL, N_ ("Label"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("State"), DVM_CLI_KIND_STATE },        { NULL, N_ ("Priority"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Array"), DVM_CLI_KIND_TEXT },         { NULL, N_ ("Reason"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Command"), DVM_CLI_KIND_TEXT },       { NULL, N_ ("Processes"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Session"), DVM_CLI_KIND_TEXT },       { NULL, N_ ("Parent"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Children"), DVM_CLI_KIND_TEXT },      { NULL, N_ ("Nodes"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Placed anew"), DVM_CLI_KIND_NUMBER }, { NULL, N_ ("Restarts"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Exit"), DVM_CLI_KIND_TEXT },          { NULL, N_ ("Failed rank"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Submitter"), DVM_CLI_KIND_TEXT },     { NULL, N_ ("Created"), DVM_CLI_KIND_TIME },
  { NULL, N_ ("Started"), DVM_CLI_KIND_TIME },       { NULL, N_ ("Ended"), DVM_CLI_KIND_TIME },
  { NULL, N_ ("Elapsed"), DVM_CLI_KIND_TEXT },       { NULL, NULL, 0 },
};

static const DvmCliColumn proc_columns[] = {
  { "rank", N_ ("RANK"), DVM_CLI_KIND_NUMBER },
  { "app", N_ ("APP"), DVM_CLI_KIND_NUMBER, 1 },
  { "node", N_ ("NODE"), DVM_CLI_KIND_TEXT },
  { "local-rank", N_ ("LOCAL"), DVM_CLI_KIND_NUMBER, 2 },
  { "node-rank", NULL, DVM_CLI_KIND_NUMBER },
  { "pid", N_ ("PID"), DVM_CLI_KIND_NUMBER, 4 },
  { "state", N_ ("STATE"), DVM_CLI_KIND_STATE },
  { NULL, N_ ("EXIT"), DVM_CLI_KIND_TEXT },
  { "exit-code", NULL, DVM_CLI_KIND_NUMBER },
  { "exit-signal", NULL, DVM_CLI_KIND_NUMBER },
  { "cpuset", N_ ("CPUS"), DVM_CLI_KIND_TEXT, 3 },
  { "devices", N_ ("DEVICES"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static const DvmCliColumn stack_columns[] = {
  { "rank", NULL, DVM_CLI_KIND_NUMBER },
  { "node", NULL, DVM_CLI_KIND_TEXT },
  { "stack", NULL, DVM_CLI_KIND_TEXT },
  { "problem", NULL, DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static const DvmCliColumn trace_columns[] = {
  { "time", N_ ("TIME"), DVM_CLI_KIND_TIME, 1 },
  { NULL, N_ ("MS"), DVM_CLI_KIND_OFFSET },
  { "what", N_ ("WHAT"), DVM_CLI_KIND_TEXT },
  { "old", N_ ("FROM"), DVM_CLI_KIND_TEXT, 2 },
  { "new", N_ ("TO"), DVM_CLI_KIND_STATE },
  { "old-number", NULL, DVM_CLI_KIND_NUMBER },
  { "new-number", NULL, DVM_CLI_KIND_NUMBER },
  { "note", N_ ("NOTE"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static char *
describe_processes (DvmJob *job)
{
  return g_strdup_printf (_ ("%u (%u started, %u registered, %u ended)"), dvm_job_get_num_procs (job),
                          dvm_job_get_num_launched (job), dvm_job_get_num_registered (job),
                          dvm_job_get_num_terminated (job));
}

static char *
describe_submitter (DvmJob *job)
{
  return g_strdup_printf (_ ("%s (uid %u, pid %u)"), dvm_job_get_submitter (job), dvm_job_get_submitter_uid (job),
                          dvm_job_get_submitter_pid (job));
}

static char *
describe_failed_rank (DvmJob *job)
{
  return dvm_job_get_failed_rank (job) >= 0 ? g_strdup_printf ("%d", dvm_job_get_failed_rank (job)) : g_strdup ("");
}

static char *
describe_array (DvmJob *job)
{
  if (dvm_job_get_array_id (job) == 0)
    return g_strdup ("");
  return g_strdup_printf (_ ("%u[%u], one of %u jobs"), dvm_job_get_array_id (job), dvm_job_get_array_index (job),
                          dvm_job_get_array_count (job));
}

static gboolean
show_job (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (show_columns);
  const char *const *nodes = dvm_job_get_nodes (job);
  const char *const session[] = { dvm_job_get_session (job), NULL };
  const char *const parent[] = { dvm_job_get_parent (job), NULL };
  g_autofree char *list = NULL;
  GVariant *values[] = {
    dvm_cli_text (dvm_job_get_nspace (job)),
    g_variant_new_uint32 (dvm_job_get_id (job)),
    dvm_cli_text (dvm_job_get_name (job)),
    dvm_cli_text (dvm_job_get_label (job)),
    dvm_cli_take_text (dvm_cli_describe_state (job)),
    g_variant_new_int32 (dvm_job_get_priority (job)),
    dvm_cli_take_text (describe_array (job)),
    dvm_cli_take_text (dvm_job_dup_translated_reason (job)),
    dvm_cli_take_text (dvm_cli_describe_command (job)),
    dvm_cli_take_text (describe_processes (job)),
    dvm_cli_take_text (dvm_cli_join_ids (session)),
    dvm_cli_take_text (dvm_cli_join_ids (parent)),
    dvm_cli_take_text (dvm_cli_join_ids (dvm_job_get_children (job))),
    dvm_cli_take_text (nodes != NULL ? g_strjoinv (",", (char **)nodes) : g_strdup ("")),
    g_variant_new_uint32 (dvm_job_get_remapped (job)),
    g_variant_new_uint32 (dvm_job_get_restarts (job)),
    dvm_cli_take_text (dvm_cli_describe_exit (job)),
    dvm_cli_take_text (describe_failed_rank (job)),
    dvm_cli_take_text (describe_submitter (job)),
    g_variant_new_uint64 ((guint64)dvm_job_get_created_at (job)),
    g_variant_new_uint64 ((guint64)dvm_job_get_started_at (job)),
    g_variant_new_uint64 ((guint64)dvm_job_get_ended_at (job)),
    dvm_cli_take_text (dvm_cli_describe_elapsed (job)),
  };

  dvm_cli_table_add (table, values);
  if (cli->json)
    return dvm_cli_print_job_json (job, error);
  list = dvm_cli_table_to_list (table, dvm_cli_may_use_colour (cli));
  return dvm_cli_print (list, error);
}

static char *
describe_proc_exit (const DvmProc *proc)
{
  if (dvm_proc_get_exit_signal (proc) > 0)
    return dvm_cli_signal_name (dvm_proc_get_exit_signal (proc));
  /* The exit code of a process whose node was lost is unknown. */
  if (dvm_proc_state_is_live (dvm_proc_get_state (proc)) || dvm_proc_get_state (proc) == DVM_PROC_STATE_COMM_FAILED)
    return g_strdup ("");
  return g_strdup_printf ("%d", dvm_proc_get_exit_code (proc));
}

static void
add_proc (DvmCliTable *table, const DvmProc *proc)
{
  GVariant *values[] = {
    g_variant_new_uint32 (dvm_proc_get_rank (proc)),
    g_variant_new_uint32 (dvm_proc_get_app (proc)),
    dvm_cli_text (dvm_proc_get_node (proc)),
    g_variant_new_uint32 (dvm_proc_get_local_rank (proc)),
    g_variant_new_uint32 (dvm_proc_get_node_rank (proc)),
    g_variant_new_int32 (dvm_proc_get_pid (proc)),
    dvm_cli_text (dvm_proc_state_to_string (dvm_proc_get_state (proc))),
    dvm_cli_take_text (describe_proc_exit (proc)),
    g_variant_new_int32 (dvm_proc_get_exit_code (proc)),
    g_variant_new_int32 (dvm_proc_get_exit_signal (proc)),
    dvm_cli_text (dvm_proc_get_cpuset (proc)),
    dvm_cli_text (dvm_proc_get_devices (proc)),
  };

  dvm_cli_table_add (table, values);
}

static gboolean
have_devices (GPtrArray *list)
{
  for (guint i = 0; i < list->len; i++)
    if (dvm_proc_get_devices (list->pdata[i])[0] != '\0')
      return TRUE;
  return FALSE;
}

static gboolean
procs (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error)
{
  g_autofree DvmCliColumn *shown = g_memdup2 (proc_columns, sizeof proc_columns);
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (shown);
  g_autoptr (GPtrArray) list = dvm_client_list_procs (client, job, dvm_cli_args_get (cli->args, "ranks"), NULL, error);

  /* Few jobs have devices: for people there is no empty column. */
  if (list != NULL && !have_devices (list))
    shown[G_N_ELEMENTS (proc_columns) - 2].title = NULL;
  for (guint i = 0; list != NULL && i < list->len; i++)
    add_proc (table, g_ptr_array_index (list, i));
  return list != NULL && dvm_cli_print_table (cli, table, error);
}

/* The tables of 'dvm-cli run --display'. */
static gboolean
show_tables (DvmCli *cli, DvmClient *client, DvmJob *job, const DvmCliDisplay *display, GError **error)
{
  DvmCliReport *report = dvm_cli_report_new (cli, client, job, display);
  gboolean shown;

  while (!dvm_cli_report_is_done (report))
    g_main_context_iteration (NULL, TRUE);
  shown = dvm_cli_report_is_shown (report);
  if (dvm_cli_report_is_early (report))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, _ ("job %s has no nodes yet"), dvm_job_get_nspace (job));
  dvm_cli_report_free (report);
  return shown;
}

static gboolean
map (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error)
{
  g_auto (DvmCliDisplay) display = { 0 };
  g_autoptr (GVariant) rows = NULL;

  if (!dvm_cli_display_parse (cli, &display, error))
    return FALSE;
  if (display.what != 0)
    return show_tables (cli, client, job, &display, error);
  rows = dvm_client_map_job (client, job, dvm_cli_args_get (cli->args, "ranks"), NULL, error);
  return rows != NULL && dvm_cli_show_map (cli, client, rows, NULL, error);
}

/* Entries about processes carry the numbers of process states. */
static const char *
state_name (const char *what, guint32 state)
{
  return g_str_has_prefix (what, "job") ? dvm_job_state_to_string ((DvmJobState)state)
                                        : dvm_proc_state_to_string ((DvmProcState)state);
}

static void
add_trace_entry (DvmCliTable *table, GVariant *entry, guint64 *start)
{
  guint64 time;
  const char *what;
  guint32 old_state;
  guint32 new_state;
  const char *note;

  g_variant_get (entry, "(t&suu&s)", &time, &what, &old_state, &new_state, &note);
  if (*start == 0)
    *start = time;
  {
    GVariant *values[] = {
      g_variant_new_uint64 (time),
      g_variant_new_int64 ((gint64)(time - *start)),
      dvm_cli_text (what),
      dvm_cli_text (state_name (what, old_state)),
      dvm_cli_text (state_name (what, new_state)),
      g_variant_new_uint32 (old_state),
      g_variant_new_uint32 (new_state),
      dvm_cli_text (note),
    };

    dvm_cli_table_add (table, values);
  }
}

static gboolean
trace (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (trace_columns);
  g_autoptr (GVariant) entries = dvm_client_get_trace (client, job, NULL, error);
  guint64 start = 0;

  if (entries == NULL)
    return FALSE;
  for (gsize i = 0; i < g_variant_n_children (entries); i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (entries, i);

      add_trace_entry (table, entry, &start);
    }
  return dvm_cli_print_table (cli, table, error);
}

/* Names of functions are those of programs: they are escaped for a screen, line by line. */
static void
add_stack (GString *text, GVariant *row)
{
  g_auto (GStrv) lines = NULL;
  const char *node;
  const char *stack;
  const char *problem;
  guint32 rank;

  g_variant_get (row, "(u&s&s&s)", &rank, &node, &stack, &problem);
  g_string_append_printf (text, _ ("rank %u on %s:"), rank, node);
  if (problem[0] != '\0')
    {
      g_autofree char *shown = dvm_cli_escape (problem);

      g_string_append_printf (text, stack[0] != '\0' ? _ (" stack not complete: %s") : _ (" no stack: %s"), shown);
    }
  g_string_append_c (text, '\n');
  lines = g_strsplit (stack, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autofree char *line = dvm_cli_escape (lines[i]);

      if (line[0] != '\0')
        g_string_append_printf (text, "  %s\n", line);
    }
}

static gboolean
print_stacks_json (DvmCli *cli, GVariant *rows, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (stack_columns);

  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);

      dvm_cli_table_add_tuple (table, row);
    }
  return dvm_cli_print_table (cli, table, error);
}

static gboolean
stacks (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error)
{
  g_autoptr (GVariant) rows = dvm_client_collect_stacks (client, job, dvm_cli_args_get (cli->args, "ranks"),
                                                         dvm_cli_args_get_uint (cli->args, "timeout", 0), NULL, error);
  g_autoptr (GString) text = g_string_new (NULL);

  if (rows == NULL)
    return FALSE;
  if (cli->json)
    return print_stacks_json (cli, rows, error);
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);

      add_stack (text, row);
    }
  return dvm_cli_print (text->str, error);
}

static gboolean
continue_job (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error)
{
  return dvm_client_continue_job (client, job, NULL, error);
}

static gboolean
hold (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error)
{
  return dvm_client_hold_job (client, job, NULL, error);
}

static gboolean
release (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error)
{
  return dvm_client_release_job (client, job, NULL, error);
}

/* (nullable) (element-type DvmJob): the jobs of a word; of an array those that wait for their nodes alone */
static GPtrArray *
find_changed_jobs (DvmClient *client, const char *word, GError **error)
{
  const char *const words[] = { word, NULL };
  g_auto (DvmCliArray) array = { 0 };
  g_autoptr (GPtrArray) jobs = dvm_cli_find_jobs (client, words, error);

  if (jobs == NULL || !dvm_cli_array_read (word, &array))
    return g_steal_pointer (&jobs);
  for (guint i = jobs->len; i > 0; i--)
    if (dvm_job_get_ended (jobs->pdata[i - 1]) || dvm_job_get_num_procs (jobs->pdata[i - 1]) > 0)
      g_ptr_array_remove_index (jobs, i - 1);
  if (jobs->len > 0)
    return g_steal_pointer (&jobs);
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("no job of %s waits for its nodes any more"), word);
  return NULL;
}

/* One that cannot be changed does not keep the others from it. */
static int
change_jobs (DvmCli *cli, DvmClient *client, const char *const *words, guint n_words,
             gboolean (*change) (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error))
{
  int status = DVM_CLI_EXIT_OK;

  for (guint i = 0; i < n_words; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GPtrArray) jobs = find_changed_jobs (client, words[i], &error);

      for (guint k = 0; jobs != NULL && k < jobs->len && error == NULL; k++)
        change (cli, client, jobs->pdata[k], &error);
      if (error == NULL)
        continue;
      dvm_cli_complain ("%s", error->message);
      status = DVM_CLI_EXIT_FAILED;
    }
  return status;
}

static const char *
get_last_word (DvmCli *cli)
{
  return dvm_cli_args_get_words (cli->args)[dvm_cli_args_get_n_words (cli->args) - 1];
}

static gboolean
read_priority (DvmCli *cli, gint64 *number, GError **error)
{
  const char *word = get_last_word (cli);

  if (g_ascii_string_to_signed (word, 10, -1000, 1000, number, NULL))
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("a priority is a number from -1000 to 1000, not '%s': dvm-cli job priority JOB... N"), word);
  return FALSE;
}

static gboolean
set_priority (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error)
{
  gint64 number;

  return read_priority (cli, &number, error) && dvm_client_set_job_priority (client, job, (int)number, NULL, error);
}

/* A number below 0 is no option: it goes behind all of them. */
static char **
rewrite_number (const char *const *argv, DvmCliOptionLists lists)
{
  GPtrArray *words = g_ptr_array_new ();
  const char *number = NULL;
  gboolean sets = FALSE;

  for (gsize i = 0; argv[i] != NULL; i++)
    {
      gboolean is_number = argv[i][0] == '-' && g_ascii_isdigit (argv[i][1]);

      sets = sets || strcmp (argv[i], "priority") == 0;
      if (sets && is_number && number == NULL && !g_strv_contains (argv, "--"))
        number = argv[i];
      else
        g_ptr_array_add (words, g_strdup (argv[i]));
    }
  if (number != NULL)
    {
      g_ptr_array_add (words, g_strdup ("--"));
      g_ptr_array_add (words, g_strdup (number));
    }
  g_ptr_array_add (words, NULL);
  return (char **)g_ptr_array_free (words, FALSE);
}

typedef gboolean (*View) (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error);

static gboolean
timing (DvmCli *cli, DvmClient *client, DvmJob *job, GError **error)
{
  const char *const *words = dvm_cli_args_get_words (cli->args);
  g_autoptr (GPtrArray) jobs = dvm_cli_find_jobs (client, words + 1, error);

  return jobs != NULL && dvm_cli_print_timing (cli, client, jobs, error);
}

static View
find_view (const char *name, GError **error)
{
  static const char *const names[] = { "show",     "procs", "map",     "trace",    "timing", "stacks",
                                       "continue", "hold",  "release", "priority", NULL };
  static const View views[] = {
    show_job, procs, map, trace, timing, stacks, continue_job, hold, release, set_priority
  };
  const char *near = dvm_cli_suggest (name, names);

  for (gsize i = 0; names[i] != NULL; i++)
    if (strcmp (names[i], name) == 0)
      return views[i];
  if (near != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("unknown view '%s' of a job; did you mean '%s'?"), name, near);
  else
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("unknown view '%s' of a job: there are show, procs, map, trace, timing, stacks, continue, hold, "
                    "release and priority"),
                 name);
  return NULL;
}

/* "dvm-cli job 3" can only mean that it is to be shown. */
static gboolean
looks_like_job (const char *word)
{
  return g_ascii_isdigit (word[0]) || word[0] == '/' || strchr (word, '@') != NULL;
}

static const char *
get_view_options (const char *name)
{
  View view = looks_like_job (name) ? show_job : find_view (name, NULL);

  if (view == map)
    return "ranks json-lines picture svg display";
  if (view == procs)
    return "ranks json-lines";
  if (view == stacks)
    return "ranks timeout json-lines";
  return view != NULL ? "json-lines" : NULL;
}

static gboolean
check_priority (DvmCli *cli, GError **error)
{
  gint64 number;

  if (dvm_cli_args_get_n_words (cli->args) > 2)
    return read_priority (cli, &number, error);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("the number is missing: dvm-cli job priority JOB... N"));
  return FALSE;
}

/* It has tables of its own, of all ranks. */
static gboolean
check_display (DvmCli *cli, GError **error)
{
  static const char *const others[] = { "ranks", "picture", "svg", "json-lines" };
  g_auto (DvmCliDisplay) display = { 0 };

  for (gsize i = 0; dvm_cli_display_is_given (cli) && i < G_N_ELEMENTS (others); i++)
    if (dvm_cli_args_has (cli->args, others[i]))
      {
        g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("--%s and --display exclude each other"), others[i]);
        return FALSE;
      }
  return dvm_cli_display_parse (cli, &display, error);
}

static int
job_verb (DvmCli *cli, GError **error)
{
  const char *const *words = dvm_cli_args_get_words (cli->args);
  guint n_words = dvm_cli_args_get_n_words (cli->args);
  const char *reference = words[1];
  View view;
  gboolean changes;
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (DvmJob) job = NULL;

  if (reference == NULL && looks_like_job (words[0]))
    {
      view = show_job;
      reference = words[0];
    }
  else
    view = find_view (words[0], error);
  if (view == NULL || !dvm_cli_verb_check_options (cli->verb, cli->args, words[0], error)
      || !dvm_cli_check_picture (cli, error) || !check_display (cli, error))
    return DVM_CLI_EXIT_USAGE;
  if (reference == NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a job is missing: dvm-cli job %s JOB"), words[0]);
      return DVM_CLI_EXIT_USAGE;
    }
  changes = view == hold || view == release || view == set_priority;
  if (view != timing && !changes && reference == words[1] && words[2] != NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("the argument '%s' is too much: dvm-cli job %s JOB"), words[2],
                   words[0]);
      return DVM_CLI_EXIT_USAGE;
    }
  if (view == set_priority && !check_priority (cli, error))
    return DVM_CLI_EXIT_USAGE;
  client = dvm_cli_connect (cli, error);
  if (client == NULL)
    return DVM_CLI_EXIT_FAILED;
  if (changes)
    return change_jobs (cli, client, words + 1, n_words - (view == set_priority ? 2 : 1), view);
  job = dvm_client_find_job (client, reference, NULL, error);
  return job != NULL && view (cli, client, job, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_job = {
  .name = "job",
  .synopsis = "show [OPTION...] JOB\nprocs [OPTION...] JOB\nmap [OPTION...] JOB\ntrace [OPTION...] JOB\ntiming "
              "[OPTION...] JOB...\nstacks [OPTION...] JOB\ncontinue [OPTION...] JOB\nhold [OPTION...] JOB...\nrelease "
              "[OPTION...] JOB...\npriority [OPTION...] JOB... N",
  .summary = N_ (
      "look at a job: as a whole, its processes, its way through the states, its times, its stacks; let it go on"),
  .options = { options, dvm_cli_picture_options },
  .min_words = 1,
  .max_words = G_MAXUINT,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = job_verb,
  .rewrite = rewrite_number,
  .get_action_options = get_view_options,
};
