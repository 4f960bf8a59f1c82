/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A metric is a row of a table. One for each job or node would be a time series of its own in the data base of the site
 * for ever: there are counts by state.
 */

#include "config.h"

#include "dvm-cli-web-metrics.h"

#include "dvm-cli-records.h"

typedef enum
{
  GAUGE,
  COUNTER,
  UNTYPED,
} Type;

static const char *const type_names[] = { "gauge", "counter", "untyped" };

typedef struct
{
  const char *key; /* in the properties of the Manager, or among its statistics */
  const char *name;
  Type type;
  const char *help;
} Metric;

/* clang-format off */
static const Metric properties[] = {
  { "Ready", "dvm_ready", GAUGE, "Whether the DVM takes jobs." },
  { "NodesExpected", "dvm_nodes_expected", GAUGE, "Nodes that the DVM is to have." },
  { "NodesReported", "dvm_nodes_reported", GAUGE, "Nodes whose agents have reported." },
  { "SlotCount", "dvm_slots", GAUGE, "Slots of all nodes that are up." },
  { "SlotsInUse", "dvm_slots_in_use", GAUGE, "Slots that processes have." },
  { "JobsRunning", "dvm_jobs_running", GAUGE, "Jobs that run, those of all users." },
  { "JobsHeld", "dvm_jobs_waiting", GAUGE, "Jobs that wait for nodes, slots, other jobs or their release, those of all users." },
  { "CampaignsRunning", "dvm_campaigns_running", GAUGE, "Campaigns in progress." },
  { "MembershipEpoch", "dvm_membership_changes_total", COUNTER, "Changes of the set of nodes." },
  { "TreeDepth", "dvm_tree_depth", GAUGE, "Links from the controller to the agent that is farthest away." },
  { "TreeRepairs", "dvm_tree_repairs_total", COUNTER, "How often the tree of the agents was mended because some were lost." },
};

static const Metric statistics[] = {
  { "jobs-submitted", "dvm_jobs_submitted_total", COUNTER, "Jobs that were submitted." },
  { "jobs-ended", "dvm_jobs_ended_total", COUNTER, "Jobs that have ended." },
  { "jobs-remapped", "dvm_jobs_remapped_total", COUNTER, "Jobs that were mapped again because nodes changed." },
  { "procs-launched", "dvm_procs_launched_total", COUNTER, "Processes that were launched." },
  { "campaigns-completed", "dvm_campaigns_completed_total", COUNTER, "Campaigns that have completed." },
  { "campaigns-failed", "dvm_campaigns_failed_total", COUNTER, "Campaigns that have failed." },
  { "messages-sent", "dvm_messages_sent_total", COUNTER, "Messages that the controller has sent to agents." },
  { "messages-received", "dvm_messages_received_total", COUNTER, "Messages that the controller has received from agents." },
  { "launch-messages", "dvm_launch_messages_total", COUNTER, "Messages that launch processes." },
  { "launch-bytes", "dvm_launch_bytes_total", COUNTER, "Bytes of messages that launch processes." },
  { "environment-bytes", "dvm_environment_bytes_total", COUNTER, "Bytes of environments in messages that launch processes." },
  { "output-bytes", "dvm_output_bytes_total", COUNTER, "Bytes of output of jobs that the controller has handed on." },
  { "broadcasts", "dvm_broadcasts_total", COUNTER, "Messages to all agents." },
  { "broadcast-bytes", "dvm_broadcast_bytes_total", COUNTER, "Bytes of messages to all agents." },
  { "links-opened", "dvm_links_opened_total", COUNTER, "Links from agents that were opened." },
  { "links-lost", "dvm_links_lost_total", COUNTER, "Links that were lost." },
  { "joins-refused", "dvm_joins_refused_total", COUNTER, "Agents that wanted to join and were refused." },
  { "log-lines-lost", "dvm_log_lines_lost_total", COUNTER, "Lines of the log that could not be written." },
  { "archive-dropped", "dvm_archive_dropped_total", COUNTER, "Jobs and campaigns that ended and are in no archive, since it could not be written." },
  { "archive-waiting", "dvm_archive_waiting", GAUGE, "Jobs and campaigns that ended and wait for an archive that cannot be written." },
  { "listen-port", "dvm_listen_port", GAUGE, "Port where the controller listens for agents of other machines." },
  { "collectives-open", "dvm_collectives_open", GAUGE, "Collective operations of PMIx in progress." },
  { "modex-waiting", "dvm_modex_waiting", GAUGE, "Questions for data of a process that wait for it." },
  { "calls-open", "dvm_calls_open", GAUGE, "Requests of PMIx clients in progress." },
  { "data-published", "dvm_data_published", GAUGE, "Data that PMIx clients have published." },
  { "data-waiting", "dvm_data_waiting", GAUGE, "Lookups that wait for data to be published." },
  { "requesters-waiting", "dvm_requesters_waiting", GAUGE, "Requests for another size of the DVM that are not settled." },
  { "tools", "dvm_tools", GAUGE, "PMIx tools that are connected." },
  { "spawns-open", "dvm_spawns_open", GAUGE, "Spawns of jobs in progress." },
  { "spawns-starting", "dvm_spawns_starting", GAUGE, "Jobs whose processes spawn others." },
  { "output-pulls", "dvm_output_pulls", GAUGE, "Jobs whose output PMIx tools read." },
  { "tree-fence-jobs", "dvm_tree_fence_jobs", GAUGE, "Jobs whose fences go through the tree of the agents." },
  { "group-members", "dvm_group_members", GAUGE, "Processes in PMIx groups." },
  { "jobs-known-elsewhere", "dvm_jobs_known_elsewhere", GAUGE, "Jobs that nodes know beside those that they run." },
  { "jobs-ended-in-part", "dvm_jobs_ended_in_part", GAUGE, "Jobs that have ended on some of their nodes." },
  { "jobs-bound", "dvm_jobs_bound", GAUGE, "Jobs whose processes are bound to cpus of their own." },
  { "nodes-with-devices-used", "dvm_nodes_with_devices_used", GAUGE, "Nodes with devices that jobs have for themselves." },
  { "size-changes", "dvm_size_changes", GAUGE, "Changes of the size that wait for the one before." },
  { "allocator-questions", "dvm_allocator_questions", GAUGE, "Questions to the scheduler that are not answered." },
};
/* clang-format on */

/* ---- the format ---- */

static void
begin_metric (GString *text, const char *name, Type type, const char *help)
{
  g_string_append_printf (text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type_names[type]);
}

static void
append_label (GString *text, const char *label, const char *value)
{
  g_string_append_printf (text, "%s=\"", label);
  for (const char *c = value; *c != '\0'; c++)
    {
      if (*c == '\\' || *c == '"' || *c == '\n')
        g_string_append_c (text, '\\');
      g_string_append_c (text, *c == '\n' ? 'n' : *c);
    }
  g_string_append_c (text, '"');
}

static void
add_metric (GString *text, const char *name, Type type, const char *help, guint64 value)
{
  begin_metric (text, name, type, help);
  g_string_append_printf (text, "%s %" G_GUINT64_FORMAT "\n", name, value);
}

/* FALSE: it is no number */
static gboolean
get_number (GVariant *value, guint64 *number)
{
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64))
    *number = g_variant_get_uint64 (value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_UINT32))
    *number = g_variant_get_uint32 (value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN))
    *number = g_variant_get_boolean (value);
  else
    return FALSE;
  return TRUE;
}

/* ---- the DVM and its sums ---- */

static void
add_properties (GString *text, GVariant *info)
{
  guint64 number;

  begin_metric (text, "dvm_info", GAUGE, "The DVM that answers.");
  g_string_append (text, "dvm_info{");
  append_label (text, "version", dvm_cli_lookup_text (info, "Version"));
  g_string_append_c (text, ',');
  append_label (text, "namespace", dvm_cli_lookup_text (info, "Namespace"));
  g_string_append (text, "} 1\n");
  if (g_variant_lookup (info, "StartedAt", "t", &number))
    {
      begin_metric (text, "dvm_start_time_seconds", GAUGE, "When the DVM was started, in seconds since the epoch.");
      g_string_append_printf (text, "dvm_start_time_seconds %" G_GUINT64_FORMAT ".%03u\n", number / G_USEC_PER_SEC,
                              (guint)(number % G_USEC_PER_SEC / 1000));
    }
  for (gsize i = 0; i < G_N_ELEMENTS (properties); i++)
    {
      g_autoptr (GVariant) value = g_variant_lookup_value (info, properties[i].key, NULL);

      if (value != NULL && get_number (value, &number))
        add_metric (text, properties[i].name, properties[i].type, properties[i].help, number);
    }
}

/* One that is newer than this program: nobody knows here whether it is a sum. */
static void
add_unknown (GString *text, const char *key, guint64 number)
{
  g_autofree char *name = g_strconcat ("dvm_", key, NULL);

  for (char *c = name; *c != '\0'; c++)
    if (!g_ascii_isalnum (*c))
      *c = '_';
  add_metric (text, name, UNTYPED, "A statistic of the DVM that is newer than this program.", number);
}

static void
add_statistic (GString *text, const char *key, guint64 number)
{
  for (gsize i = 0; i < G_N_ELEMENTS (statistics); i++)
    if (g_str_equal (statistics[i].key, key))
      {
        add_metric (text, statistics[i].name, statistics[i].type, statistics[i].help, number);
        return;
      }
  add_unknown (text, key, number);
}

static void
add_statistics (GString *text, GVariant *info)
{
  g_autoptr (GVariant) values = g_variant_lookup_value (info, "Statistics", G_VARIANT_TYPE_VARDICT);
  GVariantIter iter;
  const char *key;
  GVariant *value;
  guint64 number;

  if (values == NULL)
    return;
  g_variant_iter_init (&iter, values);
  while (g_variant_iter_loop (&iter, "{&sv}", &key, &value))
    if (get_number (value, &number))
      add_statistic (text, key, number);
}

/* ---- counts by state ---- */

static const char *
find_state (DvmCliWatchPanel panel, const DvmCliWatchRow *row)
{
  gint column = dvm_cli_watch_find_column (panel, "state");

  if (panel == DVM_CLI_WATCH_JOBS)
    return dvm_job_state_to_string ((DvmJobState)row->numbers[column]);
  return row->texts[column] != NULL ? row->texts[column] : "";
}

static void
add_count (GHashTable *counts, const char *state, guint n)
{
  guint before = GPOINTER_TO_UINT (g_hash_table_lookup (counts, state));

  g_hash_table_insert (counts, g_strdup (state), GUINT_TO_POINTER (before + n));
}

/* (transfer full): state -> number of rows; those states that alerts ask for are there with 0, too */
static GHashTable *
count_states (DvmCliWatchModel *model, DvmCliWatchPanel panel)
{
  static const char *const always[DVM_CLI_WATCH_N_PANELS][4] = {
    { "RUNNING", "NOTIFIED", "NON_ZERO_TERM" },
    { "UP", "DOWN", "DO_NOT_USE" },
    { "RUNNING", "COMPLETED", "FAILED" },
  };
  GHashTable *counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const DvmCliWatchRow *row;

  for (guint i = 0; always[panel][i] != NULL; i++)
    add_count (counts, always[panel][i], 0);
  for (guint i = 0; (row = dvm_cli_watch_model_get (model, panel, i)) != NULL; i++)
    add_count (counts, find_state (panel, row), 1);
  return counts;
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return g_strcmp0 (*(const char *const *)a, *(const char *const *)b);
}

static void
add_states (GString *text, DvmCliWatchModel *model, DvmCliWatchPanel panel, const char *name, const char *help)
{
  g_autoptr (GHashTable) counts = count_states (model, panel);
  guint n;
  g_autofree gpointer *states = g_hash_table_get_keys_as_array (counts, &n);

  begin_metric (text, name, GAUGE, help);
  qsort (states, n, sizeof *states, compare_names);
  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (text, "%s{", name);
      append_label (text, "state", states[i]);
      g_string_append_printf (text, "} %u\n", GPOINTER_TO_UINT (g_hash_table_lookup (counts, states[i])));
    }
}

static void
add_processes (GString *text, DvmCliWatchModel *model)
{
  gint column = dvm_cli_watch_find_column (DVM_CLI_WATCH_JOBS, "live");
  const DvmCliWatchRow *row;
  guint64 n = 0;

  for (guint i = 0; (row = dvm_cli_watch_model_get (model, DVM_CLI_WATCH_JOBS, i)) != NULL; i++)
    if (row->ended_at == 0)
      n += (guint64)row->numbers[column];
  add_metric (text, "dvm_processes", GAUGE, "Processes of jobs that live.", n);
}

char *
dvm_cli_web_metrics_format (DvmCliWatchModel *model, const DvmCliWebFacts *facts)
{
  GVariant *info = dvm_cli_watch_model_get_info (model);
  gboolean up = facts->connected && facts->problem == NULL && info != NULL;
  GString *text = g_string_new (NULL);

  add_metric (text, "dvm_up", GAUGE, "Whether the DVM answers.", up);
  add_metric (text, "dvm_web_readers", GAUGE, "Pages that follow this server.", facts->n_readers);
  if (!up)
    return g_string_free (text, FALSE);
  add_properties (text, info);
  add_states (text, model, DVM_CLI_WATCH_NODES, "dvm_nodes", "Nodes by state.");
  add_states (text, model, DVM_CLI_WATCH_JOBS, "dvm_jobs",
              "Jobs that the DVM knows and this user may see, by state; ended ones as far as they are remembered.");
  add_states (text, model, DVM_CLI_WATCH_CAMPAIGNS, "dvm_campaigns",
              "Campaigns that the DVM knows, by state; ended ones as far as they are remembered.");
  add_processes (text, model);
  add_statistics (text, info);
  return g_string_free (text, FALSE);
}
