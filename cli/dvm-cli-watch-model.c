/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows are read from the bulk answers of the bus, and kept small: ten thousand jobs are ten thousand of them.
 */

#include "config.h"

#include "dvm-cli-watch-model.h"

#include <glib/gi18n-lib.h>
#include <pwd.h>
#include <string.h>

#include "dvm-cli-cells.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"

/* Rates are those of so many µs at least. */
#define MIN_RATE_TIME (G_USEC_PER_SEC / 2)

enum
{
  JOB_ID,
  JOB_NAMESPACE,
  JOB_STATE,
  JOB_USER,
  JOB_PROCS,
  JOB_LIVE,
  JOB_TIME,
  JOB_OUTPUT,
  JOB_COMMAND,
};

enum
{
  NODE_RANK,
  NODE_NAME,
  NODE_STATE,
  NODE_USED,
  NODE_SLOTS,
  NODE_LOAD,
  NODE_MEMORY,
  NODE_TOTAL,
  NODE_ALLOTTED,
  NODE_REASON,
};

enum
{
  CAMPAIGN_ID,
  CAMPAIGN_KIND,
  CAMPAIGN_STATE,
  CAMPAIGN_DONE,
  CAMPAIGN_TOTAL,
  CAMPAIGN_TIME,
  CAMPAIGN_HELD,
  CAMPAIGN_HOSTS,
};

static const DvmCliWatchColumn job_columns[] = {
  { "id", N_ ("ID"), DVM_CLI_WATCH_NUMBER, 0 },         { "namespace", N_ ("NAMESPACE"), DVM_CLI_WATCH_TEXT, 5 },
  { "state", N_ ("STATE"), DVM_CLI_WATCH_STATE, 0 },    { "user", N_ ("USER"), DVM_CLI_WATCH_TEXT, 4 },
  { "procs", N_ ("PROCS"), DVM_CLI_WATCH_NUMBER, 6 },   { "live", N_ ("LIVE"), DVM_CLI_WATCH_NUMBER, 2 },
  { "time", N_ ("TIME"), DVM_CLI_WATCH_SPAN, 3 },       { "output-rate", N_ ("OUT/S"), DVM_CLI_WATCH_RATE, 1 },
  { "command", N_ ("COMMAND"), DVM_CLI_WATCH_TEXT, 7 }, { NULL, NULL, 0, 0 },
};

static const DvmCliWatchColumn node_columns[] = {
  { "rank", N_ ("RANK"), DVM_CLI_WATCH_NUMBER, 5 },
  { "name", N_ ("NAME"), DVM_CLI_WATCH_TEXT, 0 },
  { "state", N_ ("STATE"), DVM_CLI_WATCH_STATE, 0 },
  { "used", N_ ("USED"), DVM_CLI_WATCH_NUMBER, 7 },
  { "slots", N_ ("SLOTS"), DVM_CLI_WATCH_NUMBER, 6 },
  { "load", N_ ("LOAD"), DVM_CLI_WATCH_LOAD, 4 },
  { "memory", N_ ("MEM"), DVM_CLI_WATCH_BYTES, 3 },
  { "memory-total", N_ ("OF"), DVM_CLI_WATCH_BYTES, 2 },
  { "memory-allotted", N_ ("ALLOTTED"), DVM_CLI_WATCH_BYTES, 1 },
  { "reason", N_ ("REASON"), DVM_CLI_WATCH_TEXT, 8 },
  { NULL, NULL, 0, 0 },
};

static const DvmCliWatchColumn campaign_columns[] = {
  { "id", N_ ("ID"), DVM_CLI_WATCH_NUMBER, 0 },
  { "kind", N_ ("KIND"), DVM_CLI_WATCH_TEXT, 0 },
  { "state", N_ ("STATE"), DVM_CLI_WATCH_STATE, 3 },
  { "done", N_ ("DONE"), DVM_CLI_WATCH_NUMBER, 5 },
  { "total", N_ ("OF"), DVM_CLI_WATCH_NUMBER, 4 },
  { "time", N_ ("TIME"), DVM_CLI_WATCH_SPAN, 2 },
  { "held-jobs", N_ ("HELD"), DVM_CLI_WATCH_NUMBER, 1 },
  { "hosts", N_ ("HOSTS"), DVM_CLI_WATCH_TEXT, 6 },
  { NULL, NULL, 0, 0 },
};

static const char *const job_properties[] = {
  "Id",       "Namespace",   "State",     "Ended",       "HeldAt",        "Paused",
  "WaitsFor", "AwaitedJobs", "NumProcs",  "NumLaunched", "NumTerminated", "SubmitterUid",
  "Command",  "CreatedAt",   "StartedAt", "EndedAt",     "OutputBytes",   "Restarts",
  NULL
};
static const char *const node_properties[] = { "Rank",       "Name",   "State",      "StateName",      "Slots",
                                               "SlotsInUse", "Reason", "ParentRank", "MemoryAllotted", NULL };
static const char *const campaign_properties[] = { "Id",        "Kind",    "State",    "Targets", "Pending",
                                                   "StartedAt", "EndedAt", "HeldJobs", "Hosts",   NULL };

typedef struct
{
  GHashTable *rows; /* id -> DvmCliWatchRow */
  GPtrArray *shown; /* DvmCliWatchRow of rows */
  gboolean stale;   /* what is shown */
  guint sort;
  gboolean descending;
  char *filter;
} Panel;

struct _DvmCliWatchModel
{
  Panel panels[DVM_CLI_WATCH_N_PANELS];
  GHashTable *users; /* uid -> name */
  GString *joined;   /* where texts of a list are put together */
  GVariant *info;    /* (nullable) */
  guint64 revision;  /* the last one that a row has */
  gboolean all;
  guint64 n_ended;        /* jobs */
  DvmCliWatchRate ends;   /* of jobs */
  DvmCliWatchRate output; /* bytes of all jobs */
};

/* ---- panels and their columns ---- */

const DvmCliWatchColumn *
dvm_cli_watch_columns (DvmCliWatchPanel panel)
{
  static const DvmCliWatchColumn *const columns[] = { job_columns, node_columns, campaign_columns };

  return columns[panel];
}

static guint
count_columns (DvmCliWatchPanel panel)
{
  const DvmCliWatchColumn *columns = dvm_cli_watch_columns (panel);
  guint n = 0;

  while (columns[n].key != NULL)
    n++;
  return n;
}

gint
dvm_cli_watch_find_column (DvmCliWatchPanel panel, const char *key)
{
  const DvmCliWatchColumn *columns = dvm_cli_watch_columns (panel);

  for (gint i = 0; columns[i].key != NULL; i++)
    if (strcmp (columns[i].key, key) == 0)
      return i;
  return -1;
}

static const char *const panel_names[] = { "jobs", "nodes", "campaigns" };

const char *
dvm_cli_watch_panel_name (DvmCliWatchPanel panel)
{
  return panel_names[panel];
}

gboolean
dvm_cli_watch_panel_parse (const char *name, DvmCliWatchPanel *panel)
{
  for (guint i = 0; i < DVM_CLI_WATCH_N_PANELS; i++)
    if (strcmp (panel_names[i], name) == 0)
      {
        *panel = i;
        return TRUE;
      }
  return FALSE;
}

const char *const *
dvm_cli_watch_properties (DvmCliWatchPanel panel)
{
  static const char *const *const properties[] = { job_properties, node_properties, campaign_properties };

  return properties[panel];
}

/* ---- the model ---- */

static void
row_free (gpointer data)
{
  DvmCliWatchRow *row = data;

  for (guint i = 0; i < DVM_CLI_WATCH_MAX_COLUMNS; i++)
    g_free (row->texts[i]);
  g_free (row);
}

DvmCliWatchModel *
dvm_cli_watch_model_new (void)
{
  DvmCliWatchModel *self = g_new0 (DvmCliWatchModel, 1);

  self->ends.speed = self->output.speed = -1;
  self->users = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->joined = g_string_new (NULL);
  for (guint i = 0; i < DVM_CLI_WATCH_N_PANELS; i++)
    {
      self->panels[i].rows = g_hash_table_new_full (NULL, NULL, NULL, row_free);
      self->panels[i].shown = g_ptr_array_new ();
      self->panels[i].filter = g_strdup ("");
    }
  return self;
}

void
dvm_cli_watch_model_free (DvmCliWatchModel *self)
{
  for (guint i = 0; i < DVM_CLI_WATCH_N_PANELS; i++)
    {
      g_ptr_array_unref (self->panels[i].shown);
      g_hash_table_unref (self->panels[i].rows);
      g_free (self->panels[i].filter);
    }
  g_hash_table_unref (self->users);
  g_string_free (self->joined, TRUE);
  g_clear_pointer (&self->info, g_variant_unref);
  g_free (self);
}

void
dvm_cli_watch_model_set_all (DvmCliWatchModel *self, gboolean all)
{
  self->all = all;
}

gboolean
dvm_cli_watch_model_get_all (DvmCliWatchModel *self)
{
  return self->all;
}

static void
forget_shown (Panel *panel)
{
  panel->stale = TRUE;
  g_ptr_array_set_size (panel->shown, 0);
}

void
dvm_cli_watch_model_clear (DvmCliWatchModel *self)
{
  for (guint i = 0; i < DVM_CLI_WATCH_N_PANELS; i++)
    {
      forget_shown (&self->panels[i]);
      g_hash_table_remove_all (self->panels[i].rows);
    }
  g_clear_pointer (&self->info, g_variant_unref);
  self->ends = self->output = (DvmCliWatchRate){ .speed = -1 };
}

static DvmCliWatchRow *
find_row (DvmCliWatchModel *self, DvmCliWatchPanel panel, guint id)
{
  return g_hash_table_lookup (self->panels[panel].rows, GUINT_TO_POINTER (id));
}

static void
remove_row (DvmCliWatchModel *self, DvmCliWatchPanel panel, guint id)
{
  forget_shown (&self->panels[panel]);
  g_hash_table_remove (self->panels[panel].rows, GUINT_TO_POINTER (id));
}

static gboolean
is_unseen (gpointer key, gpointer value, gpointer user_data)
{
  return !((DvmCliWatchRow *)value)->seen;
}

void
dvm_cli_watch_model_begin (DvmCliWatchModel *self, DvmCliWatchPanel panel, const GArray *ids)
{
  GHashTableIter iter;
  gpointer row;

  g_hash_table_iter_init (&iter, self->panels[panel].rows);
  while (ids == NULL && g_hash_table_iter_next (&iter, NULL, &row))
    ((DvmCliWatchRow *)row)->seen = FALSE;
  for (guint i = 0; ids != NULL && i < ids->len; i++)
    if ((row = find_row (self, panel, g_array_index (ids, guint, i))) != NULL)
      ((DvmCliWatchRow *)row)->seen = FALSE;
}

void
dvm_cli_watch_model_end (DvmCliWatchModel *self, DvmCliWatchPanel panel, const GArray *ids)
{
  forget_shown (&self->panels[panel]);
  if (ids == NULL)
    g_hash_table_foreach_remove (self->panels[panel].rows, is_unseen, NULL);
  for (guint i = 0; ids != NULL && i < ids->len; i++)
    {
      const DvmCliWatchRow *row = find_row (self, panel, g_array_index (ids, guint, i));

      if (row != NULL && !row->seen)
        remove_row (self, panel, row->id);
    }
}

/* ---- rows from the bus ---- */

static guint
get_uint (GVariant *dict, const char *key)
{
  guint value = 0;

  g_variant_lookup (dict, key, "u", &value);
  return value;
}

static gint64
get_time (GVariant *dict, const char *key)
{
  guint64 value = 0;

  g_variant_lookup (dict, key, "t", &value);
  return (gint64)value;
}

static gboolean
get_boolean (GVariant *dict, const char *key)
{
  gboolean value = FALSE;

  g_variant_lookup (dict, key, "b", &value);
  return value;
}

/* Two answers of one moment say nothing about a second. */
static void
measure_rate (DvmCliWatchRate *self, guint64 sum, gint64 now)
{
  gboolean follows = self->at > 0 && sum >= self->before && now >= self->at;

  if (follows && now - self->at < MIN_RATE_TIME)
    return;
  self->speed = follows ? (double)(sum - self->before) * G_USEC_PER_SEC / (double)(now - self->at) : -1;
  self->before = sum;
  self->at = now;
}

static void
set_text (DvmCliWatchRow *row, guint column, const char *value)
{
  g_autofree char *text = dvm_cli_escape (value);

  if (g_strcmp0 (row->texts[column], text) == 0)
    return;
  g_free (row->texts[column]);
  row->texts[column] = g_steal_pointer (&text);
  row->revision = 0;
}

/* before: of the row, with its numbers as they were; a text that has changed has said so itself */
static void
note_change (DvmCliWatchModel *self, DvmCliWatchRow *row, const DvmCliWatchRow *before)
{
  if (row->revision == 0 || row->ended_at != before->ended_at || row->created_at != before->created_at
      || row->output_bytes != before->output_bytes || row->restarts != before->restarts || row->parent != before->parent
      || memcmp (row->numbers, before->numbers, sizeof row->numbers) != 0)
    row->revision = ++self->revision;
}

/* (transfer none): until the next call */
static const char *
join_texts (DvmCliWatchModel *self, const DvmCliCells *cells, const char *key, const char *separator)
{
  g_string_truncate (self->joined, 0);
  dvm_cli_cells_append_joined (cells, key, separator, self->joined);
  return self->joined->str;
}

static const char *
find_user (DvmCliWatchModel *self, guint uid)
{
  const char *known = g_hash_table_lookup (self->users, GUINT_TO_POINTER (uid));
  const struct passwd *entry;
  char *name;

  if (known != NULL)
    return known;
  entry = getpwuid (uid);
  name = entry != NULL ? g_strdup (entry->pw_name) : g_strdup_printf ("%u", uid);
  g_hash_table_insert (self->users, GUINT_TO_POINTER (uid), name);
  return name;
}

/* A job that has ended writes no more. */
static void
fill_output (DvmCliWatchRow *row, const DvmCliCells *cells, gint64 now)
{
  row->output_bytes = dvm_cli_cells_get_time (cells, "OutputBytes");
  row->restarts = dvm_cli_cells_get_uint (cells, "Restarts");
  measure_rate (&row->output, (guint64)row->output_bytes, now);
  row->numbers[JOB_OUTPUT] = row->ended_at == 0 && row->output.speed >= 0 ? (gint64)(row->output.speed + 0.5) : -1;
}

static void
fill_job (DvmCliWatchModel *self, DvmCliWatchRow *row, const DvmCliCells *cells, gint64 now)
{
  g_autofree const char **campaigns = dvm_cli_cells_get_list (cells, "WaitsFor");
  g_autofree const char **jobs = dvm_cli_cells_get_list (cells, "AwaitedJobs");
  g_autofree char *state = NULL;
  guint terminated = dvm_cli_cells_get_uint (cells, "NumTerminated");
  DvmCliJobFacts facts = {
    .state = dvm_cli_cells_get_uint (cells, "State"),
    .held_at = dvm_cli_cells_get_text (cells, "HeldAt"),
    .num_launched = dvm_cli_cells_get_uint (cells, "NumLaunched"),
    .paused = dvm_cli_cells_get_boolean (cells, "Paused"),
    .campaigns = campaigns,
    .jobs = jobs,
  };

  row->numbers[JOB_ID] = row->id;
  set_text (row, JOB_NAMESPACE, dvm_cli_cells_get_text (cells, "Namespace"));
  state = dvm_cli_describe_facts (&facts);
  set_text (row, JOB_STATE, state);
  row->numbers[JOB_STATE] = facts.state;
  set_text (row, JOB_USER, find_user (self, dvm_cli_cells_get_uint (cells, "SubmitterUid")));
  row->numbers[JOB_PROCS] = dvm_cli_cells_get_uint (cells, "NumProcs");
  row->numbers[JOB_LIVE] = facts.num_launched > terminated ? facts.num_launched - terminated : 0;
  row->numbers[JOB_TIME] = dvm_cli_cells_get_time (cells, "StartedAt");
  set_text (row, JOB_COMMAND, join_texts (self, cells, "Command", " "));
  row->created_at = dvm_cli_cells_get_time (cells, "CreatedAt");
  row->ended_at = dvm_cli_cells_get_boolean (cells, "Ended") ? dvm_cli_cells_get_time (cells, "EndedAt") : 0;
  fill_output (row, cells, now);
}

static void
fill_node (DvmCliWatchModel *self, DvmCliWatchRow *row, const DvmCliCells *cells, gint64 now)
{
  gint64 allotted = dvm_cli_cells_get_time (cells, "MemoryAllotted");

  row->numbers[NODE_RANK] = row->id;
  set_text (row, NODE_NAME, dvm_cli_cells_get_text (cells, "Name"));
  set_text (row, NODE_STATE, dvm_cli_cells_get_text (cells, "StateName"));
  row->numbers[NODE_USED] = dvm_cli_cells_get_uint (cells, "SlotsInUse");
  row->numbers[NODE_SLOTS] = dvm_cli_cells_get_uint (cells, "Slots");
  /* The scheduler has said nothing where it is 0. */
  row->numbers[NODE_ALLOTTED] = allotted > 0 ? allotted : -1;
  set_text (row, NODE_REASON, dvm_cli_cells_get_text (cells, "Reason"));
  row->parent = dvm_cli_cells_get_uint (cells, "ParentRank");
}

static void
fill_campaign (DvmCliWatchModel *self, DvmCliWatchRow *row, const DvmCliCells *cells, gint64 now)
{
  guint total = dvm_cli_cells_count_items (cells, "Targets");
  guint pending = dvm_cli_cells_get_uint (cells, "Pending");
  const char *kind = dvm_cli_cells_get_text (cells, "Kind");
  const char *state = dvm_cli_cells_get_text (cells, "State");

  /* A growth brings all of its nodes or none; those that leave again are no longer pending, either. */
  if (g_strcmp0 (kind, "grow") == 0 && g_strcmp0 (state, "completed") != 0)
    pending = total;
  row->numbers[CAMPAIGN_ID] = row->id;
  set_text (row, CAMPAIGN_KIND, kind);
  set_text (row, CAMPAIGN_STATE, state);
  row->numbers[CAMPAIGN_DONE] = total > pending ? total - pending : 0;
  row->numbers[CAMPAIGN_TOTAL] = total;
  row->numbers[CAMPAIGN_TIME] = dvm_cli_cells_get_time (cells, "StartedAt");
  row->numbers[CAMPAIGN_HELD] = dvm_cli_cells_count_items (cells, "HeldJobs");
  set_text (row, CAMPAIGN_HOSTS, join_texts (self, cells, "Hosts", ","));
  row->ended_at = dvm_cli_cells_get_time (cells, "EndedAt");
}

static DvmCliWatchRow *
row_new (DvmCliWatchPanel panel, guint id)
{
  DvmCliWatchRow *row = g_new0 (DvmCliWatchRow, 1);

  row->id = id;
  /* Its agent has not been asked. */
  if (panel == DVM_CLI_WATCH_NODES)
    row->numbers[NODE_LOAD] = row->numbers[NODE_MEMORY] = row->numbers[NODE_TOTAL] = -1;
  return row;
}

static void
put_cells (DvmCliWatchModel *self, DvmCliWatchPanel panel, const DvmCliCells *cells, gint64 now)
{
  static void (*const fill[]) (DvmCliWatchModel *, DvmCliWatchRow *, const DvmCliCells *,
                               gint64) = { fill_job, fill_node, fill_campaign };
  guint id = dvm_cli_cells_get_uint (cells, panel == DVM_CLI_WATCH_NODES ? "Rank" : "Id");
  gboolean has_ended = panel == DVM_CLI_WATCH_JOBS
                           ? dvm_cli_cells_get_boolean (cells, "Ended")
                           : panel == DVM_CLI_WATCH_CAMPAIGNS && dvm_cli_cells_get_time (cells, "EndedAt") != 0;
  DvmCliWatchRow *row, before;

  /* The controller has no slots, and is told of by the header. */
  if ((has_ended && !self->all) || (panel == DVM_CLI_WATCH_NODES && id == 0))
    {
      remove_row (self, panel, id);
      return;
    }
  row = find_row (self, panel, id);
  if (row == NULL)
    {
      row = row_new (panel, id);
      g_hash_table_insert (self->panels[panel].rows, GUINT_TO_POINTER (id), row);
    }
  before = *row;
  fill[panel](self, row, cells, now);
  note_change (self, row, &before);
  row->seen = TRUE;
  self->panels[panel].stale = TRUE;
}

void
dvm_cli_watch_model_put (DvmCliWatchModel *self, DvmCliWatchPanel panel, GVariant *row, gint64 now)
{
  DvmCliCells cells;

  dvm_cli_cells_init (&cells, row);
  put_cells (self, panel, &cells, now);
}

void
dvm_cli_watch_model_put_columns (DvmCliWatchModel *self, DvmCliWatchPanel panel, GVariant *columns, gint64 now)
{
  DvmCliCells cells;
  gsize n = dvm_cli_cells_init_columns (&cells, columns);

  for (cells.row = 0; cells.row < n; cells.row++)
    put_cells (self, panel, &cells, now);
  dvm_cli_cells_clear (&cells);
}

void
dvm_cli_watch_model_set_load (DvmCliWatchModel *self, guint rank, double load, guint64 total, guint64 unused)
{
  DvmCliWatchRow *row = find_row (self, DVM_CLI_WATCH_NODES, rank);
  DvmCliWatchRow before;

  if (row == NULL)
    return;
  self->panels[DVM_CLI_WATCH_NODES].stale = TRUE;
  before = *row;
  row->numbers[NODE_LOAD] = load >= 0 && load < 1e9 ? (gint64)(load * 100 + 0.5) : -1;
  row->numbers[NODE_TOTAL] = total > 0 ? (gint64)total : -1;
  row->numbers[NODE_MEMORY] = total > 0 ? MAX ((gint64)(total - unused), 0) : -1;
  note_change (self, row, &before);
}

void
dvm_cli_watch_model_set_usage (DvmCliWatchModel *self, guint rank, GVariant *usage)
{
  double load = -1;
  guint64 total = 0;
  guint64 unused = 0;

  if (usage != NULL)
    {
      g_variant_lookup (usage, "load-1", "d", &load);
      total = get_time (usage, "mem-total");
      unused = get_time (usage, "mem-free") + get_time (usage, "buffers") + get_time (usage, "cached");
    }
  dvm_cli_watch_model_set_load (self, rank, load, total, unused);
}

/* ---- the DVM ---- */

void
dvm_cli_watch_model_set_info (DvmCliWatchModel *self, GVariant *info, gint64 now)
{
  g_autoptr (GVariant) statistics = g_variant_lookup_value (info, "Statistics", G_VARIANT_TYPE_VARDICT);

  self->n_ended = statistics != NULL ? (guint64)get_time (statistics, "jobs-ended") : 0;
  measure_rate (&self->ends, self->n_ended, now);
  measure_rate (&self->output, statistics != NULL ? (guint64)get_time (statistics, "output-bytes") : 0, now);
  g_clear_pointer (&self->info, g_variant_unref);
  self->info = g_variant_ref (info);
}

GVariant *
dvm_cli_watch_model_get_info (DvmCliWatchModel *self)
{
  return self->info;
}

guint
dvm_cli_watch_model_get_history_limit (DvmCliWatchModel *self)
{
  return self->info != NULL ? get_uint (self->info, "HistoryLimit") : 0;
}

/* "512M", "1.5G": as narrow as top(1) has them */
static void
append_bytes (GString *text, gint64 bytes)
{
  static const char units[] = "BKMGTPE";
  double value = (double)bytes;
  guint unit = 0;

  while (value >= 1000 && units[unit + 1] != '\0')
    {
      value /= 1024;
      unit++;
    }
  g_string_append_printf (text, unit > 0 && value < 9.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

static const char *
get_state (DvmCliWatchModel *self)
{
  return get_boolean (self->info, "Ready") ? _ ("ready") : dvm_cli_lookup_text (self->info, "StateName");
}

char *
dvm_cli_watch_model_describe (DvmCliWatchModel *self, const char *name, gint64 now)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *uptime = NULL;
  g_autofree char *n_ended = g_strdup_printf ("%" G_GUINT64_FORMAT, self->n_ended);
  guint n_campaigns;

  if (self->info == NULL)
    return g_strdup_printf ("%s\n", name);
  uptime = dvm_cli_describe_span (get_time (self->info, "StartedAt"), now);
  n_campaigns = get_uint (self->info, "CampaignsRunning");
  g_string_append_printf (
      text, _ ("%s: %s, up %s; nodes %u/%u, slots %u/%u"), name, get_state (self), uptime,
      get_uint (self->info, "NodeCount"),
      MAX (g_hash_table_size (self->panels[DVM_CLI_WATCH_NODES].rows), get_uint (self->info, "NodeCount")),
      get_uint (self->info, "SlotsInUse"), get_uint (self->info, "SlotCount"));
  g_string_append_c (text, '\n');
  g_string_append_printf (text, _ ("jobs: %u running, %u waiting, %s ended"), get_uint (self->info, "JobsRunning"),
                          get_uint (self->info, "JobsHeld"), n_ended);
  if (self->ends.speed >= 0)
    g_string_append_printf (text, _ (", %.1f/s"), self->ends.speed);
  if (self->output.speed >= 0)
    {
      g_autoptr (GString) output = g_string_new (NULL);

      append_bytes (output, (gint64)self->output.speed);
      /* TRANSLATORS: how much the processes of all jobs write, as in "output 1.5M/s" */
      g_string_append_printf (text, _ ("; output %s/s"), output->str);
    }
  if (n_campaigns > 0)
    g_string_append_printf (text, g_dngettext (GETTEXT_PACKAGE, "; %u campaign", "; %u campaigns", n_campaigns),
                            n_campaigns);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* ---- the order ---- */

typedef struct
{
  guint column;
  gboolean is_text;
  gboolean descending;
} Order;

static gint
compare_rows (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const DvmCliWatchRow *one = *(const DvmCliWatchRow *const *)a;
  const DvmCliWatchRow *two = *(const DvmCliWatchRow *const *)b;
  const Order *order = user_data;
  gint64 left = one->numbers[order->column];
  gint64 right = two->numbers[order->column];
  gint result = (left > right) - (left < right);

  if (order->is_text)
    result = g_strcmp0 (one->texts[order->column], two->texts[order->column]);
  if (order->descending)
    result = -result;
  return result != 0 ? result : (one->id > two->id) - (one->id < two->id);
}

static gboolean
matches (DvmCliWatchPanel panel, const DvmCliWatchRow *row, const char *filter)
{
  char number[16];

  if (filter[0] == '\0')
    return TRUE;
  g_snprintf (number, sizeof number, "%u", row->id);
  if (strcmp (number, filter) == 0)
    return TRUE;
  for (guint i = 0; i < count_columns (panel); i++)
    if (row->texts[i] != NULL && strcasestr (row->texts[i], filter) != NULL)
      return TRUE;
  return FALSE;
}

static gboolean
is_text (DvmCliWatchKind kind)
{
  return kind == DVM_CLI_WATCH_TEXT || kind == DVM_CLI_WATCH_STATE;
}

static void
arrange (DvmCliWatchModel *self, DvmCliWatchPanel which)
{
  Panel *panel = &self->panels[which];
  Order order = { panel->sort, is_text (dvm_cli_watch_columns (which)[panel->sort].kind), panel->descending };
  GHashTableIter iter;
  gpointer row;

  if (!panel->stale)
    return;
  panel->stale = FALSE;
  g_ptr_array_set_size (panel->shown, 0);
  g_hash_table_iter_init (&iter, panel->rows);
  while (g_hash_table_iter_next (&iter, NULL, &row))
    if (matches (which, row, panel->filter))
      g_ptr_array_add (panel->shown, row);
  g_ptr_array_sort_with_data (panel->shown, compare_rows, &order);
}

gboolean
dvm_cli_watch_model_sort_by (DvmCliWatchModel *self, DvmCliWatchPanel panel, const char *key)
{
  gint column = dvm_cli_watch_find_column (panel, key);

  if (column < 0)
    return FALSE;
  dvm_cli_watch_model_set_sort (self, panel, (guint)column,
                                column > 0 && !is_text (dvm_cli_watch_columns (panel)[column].kind));
  return TRUE;
}

void
dvm_cli_watch_model_set_sort (DvmCliWatchModel *self, DvmCliWatchPanel panel, guint column, gboolean descending)
{
  self->panels[panel].sort = MIN (column, count_columns (panel) - 1);
  self->panels[panel].descending = descending;
  self->panels[panel].stale = TRUE;
}

guint
dvm_cli_watch_model_get_sort (DvmCliWatchModel *self, DvmCliWatchPanel panel, gboolean *descending)
{
  *descending = self->panels[panel].descending;
  return self->panels[panel].sort;
}

void
dvm_cli_watch_model_set_filter (DvmCliWatchModel *self, DvmCliWatchPanel panel, const char *text)
{
  g_free (self->panels[panel].filter);
  self->panels[panel].filter = g_strdup (text);
  self->panels[panel].stale = TRUE;
}

const char *
dvm_cli_watch_model_get_filter (DvmCliWatchModel *self, DvmCliWatchPanel panel)
{
  return self->panels[panel].filter;
}

guint
dvm_cli_watch_model_count (DvmCliWatchModel *self, DvmCliWatchPanel panel)
{
  return g_hash_table_size (self->panels[panel].rows);
}

guint
dvm_cli_watch_model_count_shown (DvmCliWatchModel *self, DvmCliWatchPanel panel)
{
  arrange (self, panel);
  return self->panels[panel].shown->len;
}

const DvmCliWatchRow *
dvm_cli_watch_model_get (DvmCliWatchModel *self, DvmCliWatchPanel panel, guint index)
{
  arrange (self, panel);
  return index < self->panels[panel].shown->len ? self->panels[panel].shown->pdata[index] : NULL;
}

const DvmCliWatchRow *
dvm_cli_watch_model_lookup (DvmCliWatchModel *self, DvmCliWatchPanel panel, guint id)
{
  return find_row (self, panel, id);
}

gint
dvm_cli_watch_model_find (DvmCliWatchModel *self, DvmCliWatchPanel panel, guint id)
{
  arrange (self, panel);
  for (guint i = 0; i < self->panels[panel].shown->len; i++)
    if (((const DvmCliWatchRow *)self->panels[panel].shown->pdata[i])->id == id)
      return (gint)i;
  return -1;
}

/* ---- cells ---- */

static void
append_hundredths (GString *text, gint64 number)
{
  dvm_cli_append_number (text, number / 100, 1);
  g_string_append_c (text, '.');
  dvm_cli_append_number (text, number % 100, 2);
}

void
dvm_cli_watch_append_cell (GString *text, DvmCliWatchPanel panel, guint column, const DvmCliWatchRow *row, gint64 now)
{
  DvmCliWatchKind kind = dvm_cli_watch_columns (panel)[column].kind;
  gint64 number = row->numbers[column];
  gsize length = text->len;

  if (is_text (kind))
    g_string_append (text, row->texts[column] != NULL ? row->texts[column] : "");
  else if (kind == DVM_CLI_WATCH_SPAN)
    dvm_cli_append_span (text, number, row->ended_at != 0 ? row->ended_at : now);
  else if (number >= 0 && kind == DVM_CLI_WATCH_LOAD)
    append_hundredths (text, number);
  else if (number >= 0 && (kind == DVM_CLI_WATCH_BYTES || kind == DVM_CLI_WATCH_RATE))
    append_bytes (text, number);
  else if (number >= 0)
    dvm_cli_append_number (text, number, 1);
  if (text->len == length)
    g_string_append_c (text, '-');
}

/* ---- JSON ---- */

/* µs as seconds */
static void
append_seconds (GString *json, gint64 value)
{
  dvm_cli_append_number (json, value / G_USEC_PER_SEC, 1);
  g_string_append_c (json, '.');
  dvm_cli_append_number (json, value % G_USEC_PER_SEC, 6);
}

static void
append_times (GString *json, const DvmCliWatchRow *row, gint64 started_at)
{
  static const char *const names[] = { "\"started-at\":", ",\"ended-at\":", ",\"created-at\":" };
  const gint64 times[] = { started_at, row->ended_at, row->created_at };

  /* A campaign has no third one. */
  for (guint i = 0; i < G_N_ELEMENTS (times) && (i < 2 || times[i] > 0); i++)
    {
      g_string_append (json, names[i]);
      if (times[i] > 0)
        append_seconds (json, times[i]);
      else
        g_string_append (json, "null");
    }
}

/* Its name, also as a text for people where times are wanted as they are */
static void
append_job_state (GString *json, const DvmCliWatchRow *row, gint64 now)
{
  dvm_cli_json_append_string (json, dvm_job_state_to_string ((DvmJobState)row->numbers[JOB_STATE]));
  if (now != 0)
    return;
  g_string_append (json, ",\"shown\":");
  dvm_cli_json_append_string (json, row->texts[JOB_STATE]);
}

static void
append_value (GString *json, DvmCliWatchPanel panel, guint column, const DvmCliWatchRow *row, gint64 now)
{
  const DvmCliWatchColumn *columns = dvm_cli_watch_columns (panel);
  gint64 number = row->numbers[column];

  g_string_append (json, column > 0 ? "," : "{");
  if (columns[column].kind == DVM_CLI_WATCH_SPAN && now == 0)
    {
      append_times (json, row, number);
      return;
    }
  g_string_append_c (json, '"');
  g_string_append (json, columns[column].key);
  g_string_append (json, "\":");
  if (panel == DVM_CLI_WATCH_JOBS && column == JOB_STATE)
    append_job_state (json, row, now);
  else if (is_text (columns[column].kind))
    dvm_cli_json_append_string (json, row->texts[column] != NULL ? row->texts[column] : "");
  else if (columns[column].kind == DVM_CLI_WATCH_SPAN ? number == 0 : number < 0)
    g_string_append (json, "null");
  else if (columns[column].kind == DVM_CLI_WATCH_SPAN)
    append_seconds (json, MAX ((row->ended_at != 0 ? row->ended_at : now) - number, 0));
  else if (columns[column].kind == DVM_CLI_WATCH_LOAD)
    append_hundredths (json, number);
  else
    dvm_cli_append_number (json, number, 1);
}

void
dvm_cli_watch_append_row (GString *json, DvmCliWatchPanel panel, const DvmCliWatchRow *row, gint64 now)
{
  for (guint i = 0; dvm_cli_watch_columns (panel)[i].key != NULL; i++)
    append_value (json, panel, i, row, now);
  if (panel == DVM_CLI_WATCH_JOBS)
    {
      g_string_append (json, ",\"output-bytes\":");
      dvm_cli_append_number (json, row->output_bytes, 1);
      g_string_append (json, ",\"restarts\":");
      dvm_cli_append_number (json, row->restarts, 1);
    }
  if (panel == DVM_CLI_WATCH_NODES && now == 0)
    g_string_append_printf (json, ",\"parent\":%u", row->parent);
  g_string_append_c (json, '}');
}

static void
append_rows (GString *json, DvmCliWatchModel *self, DvmCliWatchPanel panel, gint64 now)
{
  const DvmCliWatchRow *row;

  g_string_append_printf (json, ",\"%s\":[", panel_names[panel]);
  for (guint i = 0; (row = dvm_cli_watch_model_get (self, panel, i)) != NULL; i++)
    {
      g_string_append (json, i > 0 ? "," : "");
      dvm_cli_watch_append_row (json, panel, row, now);
    }
  g_string_append_c (json, ']');
}

void
dvm_cli_watch_model_append_dvm (DvmCliWatchModel *self, GString *json)
{
  static const char *const counts[][2] = {
    { "nodes-up", "NodeCount" },       { "slots", "SlotCount" },    { "slots-in-use", "SlotsInUse" },
    { "jobs-running", "JobsRunning" }, { "jobs-held", "JobsHeld" }, { "campaigns-running", "CampaignsRunning" }
  };

  g_string_append (json, "\"state\":");
  dvm_cli_json_append_string (json, self->info != NULL ? dvm_cli_lookup_text (self->info, "StateName") : "");
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    g_string_append_printf (json, ",\"%s\":%u", counts[i][0],
                            self->info != NULL ? get_uint (self->info, counts[i][1]) : 0);
  g_string_append_printf (json, ",\"jobs-ended\":%" G_GUINT64_FORMAT, self->n_ended);
  if (self->output.speed >= 0)
    g_string_append_printf (json, ",\"output-rate\":%" G_GINT64_FORMAT, (gint64)(self->output.speed + 0.5));
  else
    g_string_append (json, ",\"output-rate\":null");
}

char *
dvm_cli_watch_model_to_json (DvmCliWatchModel *self, const char *name, gint64 now)
{
  g_autofree char *time = dvm_cli_format_time (now);
  GString *json = g_string_new (NULL);

  g_string_append_printf (json, "{\"time\":\"%s\",\"name\":", time);
  dvm_cli_json_append_string (json, name);
  g_string_append_c (json, ',');
  dvm_cli_watch_model_append_dvm (self, json);
  for (DvmCliWatchPanel panel = 0; panel < DVM_CLI_WATCH_N_PANELS; panel++)
    append_rows (json, self, panel, now);
  g_string_append (json, "}\n");
  return g_string_free (json, FALSE);
}
