/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The words of --display are answered: the DVM is asked for what they need, and tables are printed.
 */

#include "config.h"

#include "dvm-cli-report.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-await.h"
#include "dvm-cli-facts.h"
#include "dvm-cli-map.h"
#include "dvm-cli-output.h"
#include "dvm-cli-picture.h"
#include "dvm-cli-records.h"
#include "dvm-cli-screen.h"

#define OF_MAP      (DVM_CLI_DISPLAY_MAP | DVM_CLI_DISPLAY_MAP_DEVEL | DVM_CLI_DISPLAY_BINDINGS)
#define OF_HARDWARE (DVM_CLI_DISPLAY_TOPO | DVM_CLI_DISPLAY_CPUS)

/* Each call that is under way holds a reference. */
struct _DvmCliReport
{
  DvmCli *cli;
  DvmJob *job;
  const DvmCliDisplay *display;
  DvmCliFacts facts;
  GCancellable *cancellable;
  guint n_calls;
  gboolean early; /* the job was not mapped yet */
  gboolean lost;  /* it could not be written */
  gboolean shown; /* all of it was */
};

static void
clear_report (gpointer data)
{
  DvmCliReport *self = data;

  dvm_cli_facts_clear (&self->facts);
  g_clear_object (&self->cancellable);
  g_clear_object (&self->job);
}

void
dvm_cli_report_free (DvmCliReport *self)
{
  g_cancellable_cancel (self->cancellable);
  g_rc_box_release_full (self, clear_report);
}

gboolean
dvm_cli_report_is_done (DvmCliReport *self)
{
  return self->n_calls == 0;
}

gboolean
dvm_cli_report_is_early (DvmCliReport *self)
{
  return self->early;
}

gboolean
dvm_cli_report_is_lost (DvmCliReport *self)
{
  return self->lost;
}

gboolean
dvm_cli_report_is_shown (DvmCliReport *self)
{
  return self->shown;
}

/* ---- tables ---- */

static gboolean
print_topo (DvmCliReport *self, GError **error)
{
  g_auto (GStrv) names = dvm_cli_facts_list_nodes (&self->facts, self->display->topo, error);
  g_autoptr (GPtrArray) pictures = NULL;
  g_autofree char *text = NULL;

  if (names == NULL)
    return FALSE;
  pictures = dvm_cli_pictures_new_for_nodes (self->facts.machines, (const char *const *)names, self->display->physical);
  text = dvm_cli_draw_pictures (self->cli, pictures);
  return dvm_cli_show (self->cli, text, error);
}

static const DvmCliColumn cpu_columns[] = {
  { "node", N_ ("NODE"), DVM_CLI_KIND_TEXT },
  { "package", N_ ("PACKAGE"), DVM_CLI_KIND_TEXT },
  { "cores", N_ ("CORES"), DVM_CLI_KIND_TEXT },
  { "hwthreads", N_ ("HARDWARE THREADS"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static const DvmCliColumn physical_columns[] = {
  { "node", N_ ("NODE"), DVM_CLI_KIND_TEXT },
  { "package", N_ ("PACKAGE"), DVM_CLI_KIND_TEXT },
  { "cores", N_ ("CORES"), DVM_CLI_KIND_TEXT },
  { "cpus", N_ ("CPUS OF THE SYSTEM"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static void
add_package (DvmCliReport *self, DvmCliTable *table, const char *node, char *number, DvmCliObject package)
{
  DvmCliMachine *machine = dvm_cli_machines_find (self->facts.machines, node);
  GVariant *values[] = {
    dvm_cli_text (node),
    dvm_cli_take_text (number),
    dvm_cli_take_text (dvm_cli_machine_list_objects (machine, DVM_CLI_CORE, package)),
    dvm_cli_take_text (dvm_cli_machine_list_cpus (machine, package, self->display->physical)),
  };

  dvm_cli_table_add (table, values);
}

static void
add_packages (DvmCliReport *self, DvmCliTable *table, const char *node)
{
  DvmCliMachine *machine = dvm_cli_machines_find (self->facts.machines, node);

  for (guint i = 0; machine != NULL && i < dvm_cli_machine_count (machine, DVM_CLI_PACKAGE); i++)
    add_package (self, table, node, g_strdup_printf ("%u", i),
                 dvm_cli_machine_get_object (machine, DVM_CLI_PACKAGE, i));
  /* Some virtual machines show no packages. */
  if (machine != NULL && dvm_cli_machine_count (machine, DVM_CLI_PACKAGE) == 0)
    add_package (self, table, node, g_strdup (""), dvm_cli_machine_get_whole (machine));
}

static gboolean
print_cpus (DvmCliReport *self, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (self->display->physical ? physical_columns : cpu_columns);
  g_auto (GStrv) names = dvm_cli_facts_list_nodes (&self->facts, self->display->cpus, error);

  if (names == NULL)
    return FALSE;
  for (gsize i = 0; names[i] != NULL; i++)
    add_packages (self, table, names[i]);
  return dvm_cli_print_table (self->cli, table, error);
}

/* ---- the map in detail ---- */

static const DvmCliColumn policy_columns[] = {
  { NULL, N_ ("Map by"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Rank by"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Bind to"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

/* Of programs that are placed in different ways. */
static const DvmCliColumn app_columns[] = {
  { NULL, N_ ("APPS"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("MAP BY"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("RANK BY"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("BIND TO"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static void
add_policy (DvmCliTable *table, GVariant *policy, gboolean with_apps)
{
  static const char *const keys[] = { "apps", "map-by", "rank-by", "bind-to" };
  GVariant *values[G_N_ELEMENTS (keys)];

  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    values[i] = g_variant_ref_sink (dvm_cli_text (dvm_cli_lookup_text (policy, keys[i])));
  dvm_cli_table_add (table, values + (with_apps ? 0 : 1));
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    g_variant_unref (values[i]);
}

static gboolean
print_policies (DvmCliReport *self, GError **error)
{
  gsize n = g_variant_n_children (self->facts.policies);
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (n > 1 ? app_columns : policy_columns);
  g_autofree char *text = NULL;

  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) policy = g_variant_get_child_value (self->facts.policies, i);

      add_policy (table, policy, n > 1);
    }
  if (n > 1)
    return dvm_cli_print_table (self->cli, table, error);
  text = dvm_cli_table_to_list (table, dvm_cli_may_use_colour (self->cli));
  return dvm_cli_print (text, error);
}

static const DvmCliColumn node_columns[] = {
  { "node", N_ ("NODE"), DVM_CLI_KIND_TEXT },
  { "rank", N_ ("RANK"), DVM_CLI_KIND_NUMBER },
  { "state", N_ ("STATE"), DVM_CLI_KIND_STATE },
  { "slots", N_ ("SLOTS"), DVM_CLI_KIND_NUMBER },
  { "max", N_ ("MAX"), DVM_CLI_KIND_NUMBER },
  { "used", N_ ("USED"), DVM_CLI_KIND_NUMBER },
  { "alias", N_ ("ALIASES"), DVM_CLI_KIND_TEXT },
  { "topology", N_ ("TOPOLOGY"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static void
add_node (DvmCliTable *table, DvmNode *node)
{
  const char *const *aliases = dvm_node_get_aliases (node);
  GVariant *values[] = {
    dvm_cli_text (dvm_node_get_name (node)),
    g_variant_new_uint32 (dvm_node_get_rank (node)),
    dvm_cli_text (dvm_node_get_state_name (node)),
    g_variant_new_uint32 (dvm_node_get_slots (node)),
    g_variant_new_uint32 (dvm_node_get_slots_max (node)),
    g_variant_new_uint32 (dvm_node_get_slots_in_use (node)),
    dvm_cli_take_text (aliases != NULL ? g_strjoinv (",", (char **)aliases) : g_strdup ("")),
    dvm_cli_text (dvm_node_get_topology (node)),
  };

  dvm_cli_table_add (table, values);
}

static gboolean
print_nodes (DvmCliReport *self, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (node_columns);
  g_auto (GStrv) names = dvm_cli_list_map_nodes (self->facts.map, G_MAXUINT);
  g_autoptr (GHashTable) wanted = g_hash_table_new (g_str_hash, g_str_equal);

  for (gsize i = 0; names[i] != NULL; i++)
    g_hash_table_add (wanted, names[i]);
  for (guint i = 0; i < self->facts.nodes->len; i++)
    {
      DvmNode *node = self->facts.nodes->pdata[i];

      if (dvm_node_get_rank (node) > 0 && g_hash_table_contains (wanted, dvm_node_get_name (node)))
        add_node (table, node);
    }
  return dvm_cli_print_table (self->cli, table, error);
}

static const DvmCliColumn rank_columns[] = {
  { "rank", N_ ("RANK"), DVM_CLI_KIND_NUMBER },   { "app", N_ ("APP"), DVM_CLI_KIND_NUMBER },
  { "local", N_ ("LOCAL"), DVM_CLI_KIND_NUMBER }, { "on-node", N_ ("ON NODE"), DVM_CLI_KIND_NUMBER },
  { "node", N_ ("NODE"), DVM_CLI_KIND_TEXT },     { "pid", N_ ("PID"), DVM_CLI_KIND_NUMBER },
  { "state", N_ ("STATE"), DVM_CLI_KIND_STATE },  { "cpus", N_ ("CPUS"), DVM_CLI_KIND_TEXT },
  { "object", N_ ("OBJECT"), DVM_CLI_KIND_TEXT }, { NULL, NULL, 0 },
};

static gboolean
print_ranks (DvmCliReport *self, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (rank_columns);

  for (guint i = 0; i < self->facts.procs->len && i < g_variant_n_children (self->facts.map); i++)
    {
      const DvmProc *proc = self->facts.procs->pdata[i];
      const char *object;

      g_variant_get_child (self->facts.map, i, "(uuu&s&s&s&s)", NULL, NULL, NULL, NULL, NULL, &object, NULL);
      {
        GVariant *values[] = {
          g_variant_new_uint32 (dvm_proc_get_rank (proc)),
          g_variant_new_uint32 (dvm_proc_get_app (proc)),
          g_variant_new_uint32 (dvm_proc_get_local_rank (proc)),
          g_variant_new_uint32 (dvm_proc_get_node_rank (proc)),
          dvm_cli_text (dvm_proc_get_node (proc)),
          g_variant_new_int32 (dvm_proc_get_pid (proc)),
          dvm_cli_text (dvm_proc_state_to_string (dvm_proc_get_state (proc))),
          dvm_cli_text (dvm_proc_get_cpuset (proc)),
          dvm_cli_text (object),
        };

        dvm_cli_table_add (table, values);
      }
    }
  return dvm_cli_print_table (self->cli, table, error);
}

static gboolean
print_in_detail (DvmCliReport *self, GError **error)
{
  return print_policies (self, error) && print_nodes (self, error) && print_ranks (self, error);
}

static gboolean
print_map (DvmCliReport *self, GError **error)
{
  return dvm_cli_print_map (self->cli, self->facts.map, error);
}

static gboolean
print_bindings (DvmCliReport *self, GError **error)
{
  return dvm_cli_print_bindings (self->cli, self->facts.map, error);
}

static gboolean
print_allocation (DvmCliReport *self, GError **error)
{
  return dvm_cli_print_allocation (self->cli, self->facts.nodes, error);
}

/* ---- asking ---- */

static gboolean
print_tables (DvmCliReport *self, GError **error)
{
  static const struct
  {
    DvmCliDisplayWhat what;
    gboolean (*print) (DvmCliReport *self, GError **error);
  } parts[] = {
    { DVM_CLI_DISPLAY_ALLOCATION, print_allocation },
    { DVM_CLI_DISPLAY_TOPO, print_topo },
    { DVM_CLI_DISPLAY_CPUS, print_cpus },
    { DVM_CLI_DISPLAY_MAP, print_map },
    { DVM_CLI_DISPLAY_MAP_DEVEL, print_in_detail },
    { DVM_CLI_DISPLAY_BINDINGS, print_bindings },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    if ((self->display->what & parts[i].what) != 0 && !parts[i].print (self, error))
      return FALSE;
  return TRUE;
}

static gboolean
print_xml (DvmCliReport *self, GError **error)
{
  g_autofree char *xml = dvm_cli_facts_to_xml (&self->facts, self->display, error);

  return xml != NULL && dvm_cli_print (xml, error);
}

static void
print_report (DvmCliReport *self)
{
  g_autoptr (GError) error = NULL;

  self->lost = self->display->parseable ? !print_xml (self, &error) : !print_tables (self, &error);
  self->shown = !self->lost;
  if (self->lost)
    dvm_cli_complain ("%s", error->message);
}

/* Takes the reference of the call; error (nullable): (transfer none) */
static void
end_call (DvmCliReport *self, const GError *error)
{
  gboolean over = g_cancellable_is_cancelled (self->cancellable);

  if (error != NULL && !over)
    {
      dvm_cli_complain (_ ("what --display is to show cannot be shown: %s"), error->message);
      g_cancellable_cancel (self->cancellable);
      over = TRUE;
    }
  if (self->n_calls == 1 && !over)
    print_report (self);
  self->n_calls--;
  g_rc_box_release_full (self, clear_report);
}

/* One call more is under way. */
static DvmCliReport *
begin_call (DvmCliReport *self)
{
  self->n_calls++;
  return g_rc_box_acquire (self);
}

static void
on_map (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmCliReport *self = user_data;
  g_autoptr (GError) error = NULL;

  self->facts.map = dvm_client_map_job_finish (DVM_CLIENT (source), result, &error);
  self->early = self->early || g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_READY);
  if (self->early)
    g_cancellable_cancel (self->cancellable);
  end_call (self, error);
}

static void
on_nodes (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmCliReport *self = user_data;
  g_autoptr (GError) error = NULL;

  self->facts.nodes = dvm_client_list_nodes_finish (DVM_CLIENT (source), result, &error);
  end_call (self, error);
}

static void
on_procs (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmCliReport *self = user_data;
  g_autoptr (GError) error = NULL;

  self->facts.procs = dvm_client_list_procs_finish (DVM_CLIENT (source), result, &error);
  end_call (self, error);
}

static void
on_machines (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmCliReport *self = user_data;
  g_autoptr (GError) error = NULL;

  self->facts.machines = dvm_cli_ask_machines_finish (DVM_CLIENT (source), result, &error);
  end_call (self, error);
}

static void
on_policies (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmCliReport *self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) answer = dvm_client_query_finish (DVM_CLIENT (source), result, &error);

  if (answer != NULL)
    self->facts.policies = g_variant_lookup_value (answer, "policies", G_VARIANT_TYPE ("aa{sv}"));
  self->early = self->early || g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_READY);
  if (self->early)
    g_cancellable_cancel (self->cancellable);
  end_call (self, error);
}

/* Only now the namespace is known: what has been submitted is known by its path. */
static void
on_refreshed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  static const char *const keys[] = { "policies", NULL };
  DvmCliReport *self = user_data;
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (NULL);
  GError *error = NULL;

  if (!dvm_client_refresh_job_finish (DVM_CLIENT (source), result, &error))
    {
      end_call (self, error);
      g_error_free (error);
      return;
    }
  g_variant_dict_insert (&dict, "nspace", "s", dvm_job_get_nspace (self->job));
  dvm_client_query_async (DVM_CLIENT (source), keys, g_variant_dict_end (&dict), self->cancellable, on_policies, self);
}

/* ---- nodes that are named ---- */

/* nodes (nullable): names, parted by ';' */
static gboolean
check_names (GPtrArray *nodes, const char *names, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (names != NULL ? names : "", ";", -1);

  for (gsize i = 0; parts[i] != NULL; i++)
    {
      gboolean found = FALSE;

      for (guint k = 0; !found && k < nodes->len; k++)
        {
          const char *const *aliases = dvm_node_get_aliases (nodes->pdata[k]);

          found = dvm_node_get_rank (nodes->pdata[k]) > 0
                  && (strcmp (dvm_node_get_name (nodes->pdata[k]), parts[i]) == 0
                      || (aliases != NULL && g_strv_contains (aliases, parts[i])));
        }
      if (found)
        continue;
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --display: '%s' is no node of the DVM"), parts[i]);
      return FALSE;
    }
  return TRUE;
}

/* The map of a job that is right in any case is answered when the DVM is ready, with a refusal or without. */
static void
await_nodes (DvmClient *client, GCancellable *cancellable)
{
  const char *argv[] = { "true", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GVariant) map = NULL;

  dvm_client_map_async (client, spec, NULL, cancellable, dvm_cli_ready, &result);
  map = dvm_client_map_finish (client, dvm_cli_await (&result), NULL);
}

gboolean
dvm_cli_report_check_nodes (DvmClient *client, const DvmCliDisplay *display, DvmJobSpec *spec, gboolean is_private,
                            GCancellable *cancellable, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GPtrArray) nodes = NULL;

  if (display->topo == NULL && display->cpus == NULL)
    return TRUE;
  /* The names of nodes that come for the job are not known before. */
  if (dvm_job_spec_get_add_hosts (spec)[0] != NULL || dvm_job_spec_get_add_hostfile (spec) != NULL)
    return TRUE;
  if (is_private)
    await_nodes (client, cancellable);
  dvm_client_list_nodes_async (client, cancellable, dvm_cli_ready, &result);
  nodes = dvm_client_list_nodes_finish (client, dvm_cli_await (&result), error);
  return nodes != NULL && check_names (nodes, display->topo, error) && check_names (nodes, display->cpus, error);
}

DvmCliReport *
dvm_cli_report_new (DvmCli *cli, DvmClient *client, DvmJob *job, const DvmCliDisplay *display)
{
  DvmCliReport *self = g_rc_box_new0 (DvmCliReport);
  guint what = display->what;

  self->cli = cli;
  self->job = g_object_ref (job);
  self->display = display;
  self->cancellable = g_cancellable_new ();
  if ((what & (DVM_CLI_DISPLAY_ALLOCATION | DVM_CLI_DISPLAY_MAP_DEVEL | OF_HARDWARE)) != 0 || display->parseable)
    dvm_client_list_nodes_async (client, self->cancellable, on_nodes, begin_call (self));
  /* Without a map the job has no nodes yet. */
  dvm_client_map_job_async (client, job, NULL, self->cancellable, on_map, begin_call (self));
  if ((what & DVM_CLI_DISPLAY_MAP_DEVEL) != 0)
    {
      dvm_client_list_procs_async (client, job, NULL, self->cancellable, on_procs, begin_call (self));
      dvm_client_refresh_job_async (client, job, self->cancellable, on_refreshed, begin_call (self));
    }
  if ((what & OF_HARDWARE) != 0 || display->parseable)
    dvm_cli_ask_machines_async (client, self->cancellable, on_machines, begin_call (self));
  return self;
}
