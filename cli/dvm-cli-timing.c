/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The duration of each phase of a job is computed from its trace.
 */

#include "config.h"

#include "dvm-cli-timing.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"

typedef struct
{
  const char *name;
  const char *title; /* marked for translation */
  gboolean of_proc;  /* the first process in this state, else the job */
  guint state;
} Phase;

static const Phase phases[] = {
  { "submitted", N_ ("submitted"), FALSE, DVM_JOB_STATE_INIT },
  { "mapped", N_ ("mapped"), FALSE, DVM_JOB_STATE_MAP_COMPLETE },
  { "first-process", N_ ("first process started"), TRUE, DVM_PROC_STATE_RUNNING },
  { "all-running", N_ ("all processes started"), FALSE, DVM_JOB_STATE_RUNNING },
  { "registered", N_ ("all processes registered"), FALSE, DVM_JOB_STATE_REGISTERED },
  { "ended", N_ ("all processes ended"), FALSE, DVM_JOB_STATE_TERMINATED },
  { "notified", N_ ("end told"), FALSE, DVM_JOB_STATE_NOTIFIED },
};

#define N_PHASES G_N_ELEMENTS (phases)

/* When each phase was reached, in µs since the epoch; 0: not yet, or never */
typedef struct
{
  guint64 reached[N_PHASES];
} Times;

/* The times of one phase of one or many jobs, in µs; -1: nothing */
typedef struct
{
  gint64 at;   /* since the beginning */
  gint64 took; /* since the phase before that was reached */
  gint64 least;
  gint64 most;
  guint n_jobs;
} Summary;

static void
note_entry (Times *times, guint64 time, const char *what, guint state)
{
  gboolean of_proc = g_str_has_prefix (what, "rank");

  for (gsize i = 0; i < N_PHASES; i++)
    if (times->reached[i] == 0 && phases[i].of_proc == of_proc && phases[i].state == state)
      times->reached[i] = time;
}

static gboolean
read_times (DvmClient *client, DvmJob *job, Times *times, GError **error)
{
  g_autoptr (GVariant) entries = dvm_client_get_trace (client, job, NULL, error);
  g_autoptr (GVariantIter) iter = NULL;
  guint64 time;
  const char *what;
  guint32 state;

  memset (times, 0, sizeof *times);
  if (entries == NULL)
    return FALSE;
  iter = g_variant_iter_new (entries);
  while (g_variant_iter_next (iter, "(t&suu&s)", &time, &what, NULL, &state, NULL))
    note_entry (times, time, what, state);
  return TRUE;
}

/* -1 if the job has not been there. took: since the last phase before it, else since the beginning */
static gint64
get_span (const Times *times, gsize phase, gboolean took)
{
  guint64 since = times->reached[0];

  if (times->reached[phase] == 0 || since == 0)
    return -1;
  for (gsize i = phase; took && i > 0; i--)
    if (times->reached[i - 1] != 0 && times->reached[i - 1] <= times->reached[phase])
      {
        since = times->reached[i - 1];
        break;
      }
  return (gint64)(times->reached[phase] - since);
}

static int
compare_spans (gconstpointer a, gconstpointer b)
{
  gint64 left = *(const gint64 *)a;
  gint64 right = *(const gint64 *)b;

  return left < right ? -1 : left > right;
}

/* (transfer full): sorted, of the jobs that have been there */
static GArray *
collect_spans (GArray *all, gsize phase, gboolean took)
{
  GArray *spans = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (guint i = 0; i < all->len; i++)
    {
      gint64 span = get_span (&g_array_index (all, Times, i), phase, took);

      if (span >= 0)
        g_array_append_val (spans, span);
    }
  g_array_sort (spans, compare_spans);
  return spans;
}

static gint64
get_median (GArray *spans)
{
  guint middle = spans->len / 2;

  if (spans->len == 0)
    return -1;
  if (spans->len % 2 == 1)
    return g_array_index (spans, gint64, middle);
  return (g_array_index (spans, gint64, middle - 1) + g_array_index (spans, gint64, middle)) / 2;
}

static Summary
summarize (GArray *all, gsize phase)
{
  g_autoptr (GArray) at = collect_spans (all, phase, FALSE);
  g_autoptr (GArray) took = collect_spans (all, phase, TRUE);
  Summary summary = { get_median (at), get_median (took), -1, -1, at->len };

  if (took->len > 0)
    {
      summary.least = g_array_index (took, gint64, 0);
      summary.most = g_array_index (took, gint64, took->len - 1);
    }
  return summary;
}

static const DvmCliColumn one_columns[] = {
  { NULL, N_ ("PHASE"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("MS"), DVM_CLI_KIND_OFFSET },
  { NULL, N_ ("SINCE START"), DVM_CLI_KIND_OFFSET },
  { NULL, NULL, 0 },
};

static const DvmCliColumn many_columns[] = {
  { NULL, N_ ("PHASE"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("MEDIAN MS"), DVM_CLI_KIND_OFFSET },
  { NULL, N_ ("LEAST"), DVM_CLI_KIND_OFFSET },
  { NULL, N_ ("MOST"), DVM_CLI_KIND_OFFSET },
  { NULL, N_ ("SINCE START"), DVM_CLI_KIND_OFFSET },
  { NULL, N_ ("JOBS"), DVM_CLI_KIND_NUMBER, 1 },
  { NULL, NULL, 0 },
};

static void
add_row (DvmCliTable *table, const Phase *phase, const Summary *summary, gboolean many)
{
  GVariant *const one[] = { g_variant_new_string (_ (phase->title)), g_variant_new_int64 (summary->took),
                            g_variant_new_int64 (summary->at) };
  GVariant *const several[] = { g_variant_new_string (_ (phase->title)), g_variant_new_int64 (summary->took),
                                g_variant_new_int64 (summary->least),    g_variant_new_int64 (summary->most),
                                g_variant_new_int64 (summary->at),       g_variant_new_uint32 (summary->n_jobs) };

  dvm_cli_table_add (table, many ? several : one);
  /* The table takes floating values; those of the other form are nobody's. */
  for (gsize i = 0; i < (many ? G_N_ELEMENTS (one) : G_N_ELEMENTS (several)); i++)
    g_variant_unref (g_variant_ref_sink (many ? one[i] : several[i]));
}

static void
append_number (GString *json, const char *key, gint64 number)
{
  g_string_append_printf (json, ",\"%s\":", key);
  if (number < 0)
    g_string_append (json, "null");
  else
    g_string_append_printf (json, "%" G_GINT64_FORMAT, number);
}

static char *
to_json (GPtrArray *jobs, GArray *all)
{
  GString *json = g_string_new ("{\"jobs\":[");

  for (guint i = 0; i < jobs->len; i++)
    {
      g_string_append (json, i > 0 ? "," : "");
      dvm_cli_json_append_string (json, dvm_job_get_nspace (g_ptr_array_index (jobs, i)));
    }
  g_string_append (json, "],\n \"phases\":[");
  for (gsize i = 0; i < N_PHASES; i++)
    {
      Summary summary = summarize (all, i);

      g_string_append_printf (json, "%s{\"phase\":\"%s\"", i > 0 ? ",\n  " : "", phases[i].name);
      append_number (json, "took-us", summary.took);
      append_number (json, "least-us", summary.least);
      append_number (json, "most-us", summary.most);
      append_number (json, "at-us", summary.at);
      append_number (json, "jobs", summary.n_jobs);
      g_string_append_c (json, '}');
    }
  g_string_append (json, "]}\n");
  return g_string_free (json, FALSE);
}

static gboolean
print_table (DvmCli *cli, GArray *all, GError **error)
{
  gboolean many = all->len > 1;
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (many ? many_columns : one_columns);

  for (gsize i = 0; i < N_PHASES; i++)
    {
      Summary summary = summarize (all, i);

      if (summary.n_jobs > 0)
        add_row (table, &phases[i], &summary, many);
    }
  return dvm_cli_print_table (cli, table, error);
}

gboolean
dvm_cli_print_timing (DvmCli *cli, DvmClient *client, GPtrArray *jobs, GError **error)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (Times));
  g_autofree char *json = NULL;

  for (guint i = 0; i < jobs->len; i++)
    {
      Times times;

      if (!read_times (client, g_ptr_array_index (jobs, i), &times, error))
        return FALSE;
      g_array_append_val (all, times);
    }
  if (!cli->json)
    return print_table (cli, all, error);
  json = to_json (jobs, all);
  return dvm_cli_print (json, error);
}
