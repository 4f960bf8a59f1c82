/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli nodes: the table of nodes, and the tree of their daemons.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-tree.h"

static const DvmCliOption options[] = {
  { "ids", 'i', NULL, DVM_CLI_ARG_STRING, N_ ("RANKS"), NULL, N_ ("these ranks alone, such as 0-3,7") },
  { "state", 's', NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, N_ ("nodes in these states alone, such as UP,DOWN") },
  { "free", 'f', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("nodes with free slots alone") },
  { "tree", 't', NULL, DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("as the tree of their daemons (default, unless columns are given)") },
  { "flat", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("by rank") },
  { "columns", 'c', NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, N_ ("these columns, in this order; or all") },
  { NULL },
};

static GVariant *
text (const char *value)
{
  return g_variant_new_take_string (g_utf8_make_valid (value != NULL ? value : "", -1));
}

/* Objects by their numbers, names as they are; no name of a node has a slash. */
static GVariant *
join (const char *const *values)
{
  return dvm_cli_take_text (dvm_cli_join_ids (values));
}

/* Of those types that the properties of nodes have. */
static GVariant *
get_property (DvmNode *node, const char *name)
{
  g_auto (GValue) value = G_VALUE_INIT;

  g_object_get_property (G_OBJECT (node), name, &value);
  if (G_VALUE_HOLDS_UINT (&value))
    return g_variant_new_uint32 (g_value_get_uint (&value));
  if (G_VALUE_HOLDS_INT (&value))
    return g_variant_new_int32 (g_value_get_int (&value));
  if (G_VALUE_HOLDS_INT64 (&value) && strcmp (name, "memory-allotted") == 0)
    return dvm_cli_take_text (dvm_cli_describe_memory (g_value_get_int64 (&value)));
  if (G_VALUE_HOLDS_INT64 (&value))
    return g_variant_new_uint64 ((guint64)g_value_get_int64 (&value));
  if (G_VALUE_HOLDS_BOXED (&value))
    return join (g_value_get_boxed (&value));
  return text (g_value_get_string (&value));
}

static guint
count_free (DvmNode *node)
{
  guint slots = dvm_node_get_slots (node);
  guint used = dvm_node_get_slots_in_use (node);

  return slots > used ? slots - used : 0;
}

static const struct
{
  const char *name;
  DvmCliColumn column; /* for people; JSON has the whole records */
  gboolean is_default;
  const char *property; /* (nullable): NULL for what is counted from others */
} all_columns[] = {
  { "rank", { NULL, N_ ("RANK"), DVM_CLI_KIND_NUMBER }, TRUE, "rank" },
  { "name", { NULL, N_ ("NAME"), DVM_CLI_KIND_TEXT }, TRUE, "name" },
  { "aliases", { NULL, N_ ("ALIASES"), DVM_CLI_KIND_TEXT, 1 }, FALSE, "aliases" },
  { "state", { NULL, N_ ("STATE"), DVM_CLI_KIND_STATE }, TRUE, "state-name" },
  { "slots", { NULL, N_ ("SLOTS"), DVM_CLI_KIND_NUMBER, 5 }, TRUE, "slots" },
  { "used", { NULL, N_ ("USED"), DVM_CLI_KIND_NUMBER, 6 }, TRUE, "slots-in-use" },
  { "free", { NULL, N_ ("FREE"), DVM_CLI_KIND_NUMBER }, FALSE, NULL },
  { "max", { NULL, N_ ("MAX"), DVM_CLI_KIND_NUMBER, 4 }, FALSE, "slots-max" },
  { "pid", { NULL, N_ ("PID"), DVM_CLI_KIND_NUMBER, 3 }, TRUE, "pid" },
  { "parent", { NULL, N_ ("PARENT"), DVM_CLI_KIND_NUMBER, 2 }, FALSE, "parent-rank" },
  { "depth", { NULL, N_ ("DEPTH"), DVM_CLI_KIND_NUMBER, 2 }, FALSE, "depth" },
  { "sessions", { NULL, N_ ("SESSIONS"), DVM_CLI_KIND_TEXT, 1 }, TRUE, "sessions" },
  { "jobs", { NULL, N_ ("JOBS"), DVM_CLI_KIND_TEXT, 2 }, FALSE, "jobs" },
  { "devices", { NULL, N_ ("DEVICES"), DVM_CLI_KIND_TEXT, 2 }, FALSE, "devices" },
  { "address", { NULL, N_ ("ADDRESS"), DVM_CLI_KIND_TEXT, 1 }, FALSE, "address" },
  { "topology", { NULL, N_ ("TOPOLOGY"), DVM_CLI_KIND_TEXT, 1 }, FALSE, "topology" },
  { "memory-allotted", { NULL, N_ ("ALLOTTED"), DVM_CLI_KIND_TEXT, 2 }, FALSE, "memory-allotted" },
  { "last-seen", { NULL, N_ ("LAST SEEN"), DVM_CLI_KIND_TIME, 1 }, FALSE, "last-seen" },
  { "launcher", { NULL, N_ ("LAUNCHER"), DVM_CLI_KIND_TEXT, 1 }, FALSE, "launcher" },
  { "allocator", { NULL, N_ ("ALLOCATOR"), DVM_CLI_KIND_TEXT, 1 }, FALSE, "allocator" },
  { "reason", { NULL, N_ ("REASON"), DVM_CLI_KIND_TEXT }, TRUE, "reason" },
};

static gboolean
find_column (const char *name, guint *found, GError **error)
{
  const char *names[G_N_ELEMENTS (all_columns) + 1] = { NULL };
  g_autofree char *known = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (all_columns); i++)
    {
      names[i] = all_columns[i].name;
      if (strcmp (names[i], name) == 0)
        {
          *found = i;
          return TRUE;
        }
    }
  known = g_strjoinv (", ", (char **)names);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' is no column of nodes: there are %s, or all"), name, known);
  return FALSE;
}

/* (transfer full) (element-type guint) */
static GArray *
choose_columns (DvmCli *cli, GError **error)
{
  const char *list = dvm_cli_args_get (cli->args, "columns");
  gboolean all = g_strcmp0 (list, "all") == 0;
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (guint));
  g_auto (GStrv) names = list != NULL && !all ? g_strsplit (list, ",", -1) : NULL;

  for (guint i = 0; names == NULL && i < G_N_ELEMENTS (all_columns); i++)
    if (all || all_columns[i].is_default)
      g_array_append_val (chosen, i);
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      guint found;

      if (!find_column (names[i], &found, error))
        return NULL;
      g_array_append_val (chosen, found);
    }
  return g_steal_pointer (&chosen);
}

/* One range of "0-3,7" */
static gboolean
read_range (const char *range, guint64 *first, guint64 *last)
{
  g_auto (GStrv) ends = g_strsplit (range, "-", 2);

  if (ends[0] == NULL || !g_ascii_string_to_unsigned (ends[0], 10, 0, G_MAXUINT32, first, NULL))
    return FALSE;
  *last = *first;
  return ends[1] == NULL || g_ascii_string_to_unsigned (ends[1], 10, *first, G_MAXUINT32, last, NULL);
}

static gboolean
check_filters (DvmCli *cli, GError **error)
{
  g_auto (GStrv)
      ranges = g_strsplit (dvm_cli_args_has (cli->args, "ids") ? dvm_cli_args_get (cli->args, "ids") : "0", ",", -1);
  g_auto (GStrv) states = g_strsplit (
      dvm_cli_args_has (cli->args, "state") ? dvm_cli_args_get (cli->args, "state") : "UP", ",", -1);
  guint64 first, last;
  DvmNodeState state;

  for (gsize i = 0; ranges[i] != NULL; i++)
    if (!read_range (ranges[i], &first, &last))
      {
        g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --ids takes ranks such as 0-3,7, not '%s'"), ranges[i]);
        return FALSE;
      }
  for (gsize i = 0; states[i] != NULL; i++)
    if (!dvm_node_state_from_string (states[i], &state))
      {
        g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' is no state of a node, as UP and DOWN are"), states[i]);
        return FALSE;
      }
  return TRUE;
}

/* states: as check_filters() takes them; NULL: any */
static gboolean
is_in_state (DvmNode *node, const char *const *states)
{
  DvmNodeState state;

  for (gsize i = 0; states != NULL && states[i] != NULL; i++)
    if (dvm_node_state_from_string (states[i], &state) && state == dvm_node_get_state (node))
      return TRUE;
  return states == NULL;
}

static gboolean
is_wanted (DvmCli *cli, DvmNode *node)
{
  const char *ids = dvm_cli_args_get (cli->args, "ids");
  const char *wanted = dvm_cli_args_get (cli->args, "state");
  g_auto (GStrv) ranges = g_strsplit (ids != NULL ? ids : "", ",", -1);
  g_auto (GStrv) states = wanted != NULL ? g_strsplit (wanted, ",", -1) : NULL;
  gboolean found = ids == NULL;

  for (gsize i = 0; ranges[i] != NULL && !found; i++)
    {
      guint64 first, last;

      found = read_range (ranges[i], &first, &last) && dvm_node_get_rank (node) >= first
              && dvm_node_get_rank (node) <= last;
    }
  return found && is_in_state (node, (const char *const *)states)
         && (!dvm_cli_args_has (cli->args, "free") || count_free (node) > 0);
}

static gboolean
print_json (GPtrArray *nodes, GError **error)
{
  g_autoptr (GString) json = g_string_new ("[");

  for (guint i = 0; i < nodes->len; i++)
    {
      g_autofree char *record = dvm_node_to_json (g_ptr_array_index (nodes, i));

      g_string_append_printf (json, "%s%s", i > 0 ? ",\n " : "", g_strchomp (record));
    }
  g_string_append (json, "]\n");
  return dvm_cli_print (json->str, error);
}

/* One agent is no tree. */
static gboolean
is_tree (DvmCli *cli, GPtrArray *nodes)
{
  guint n = 0;

  for (guint i = 0; i < nodes->len; i++)
    n += dvm_node_get_depth (nodes->pdata[i]) > 0;
  return dvm_cli_args_has (cli->args, "tree")
         || (n > 1 && !dvm_cli_args_has (cli->args, "flat") && !dvm_cli_args_has (cli->args, "columns"));
}

/* (transfer full) (element-type guint char*): what campaigns are doing with nodes, by rank; NULL on error */
static GHashTable *
find_moves (DvmClient *client, GError **error)
{
  g_autoptr (GPtrArray) campaigns = dvm_client_list_campaigns (client, FALSE, NULL, error);
  g_autoptr (GHashTable) moves = g_hash_table_new_full (NULL, NULL, NULL, g_free);

  for (guint i = 0; campaigns != NULL && i < campaigns->len; i++)
    {
      DvmCampaign *campaign = g_ptr_array_index (campaigns, i);
      gboolean comes = dvm_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_GROW
                       && dvm_campaign_get_state (campaign) != DVM_CAMPAIGN_STATE_ROLLING_BACK;
      gsize n;
      const guint32 *ranks = dvm_campaign_get_targets (campaign, &n);

      for (gsize j = 0; j < n; j++)
        g_hash_table_insert (moves, GUINT_TO_POINTER (ranks[j]),
                             g_strdup_printf (comes ? _ ("comes with campaign %u") : _ ("leaves with campaign %u"),
                                              dvm_campaign_get_id (campaign)));
    }
  return campaigns != NULL ? g_steal_pointer (&moves) : NULL;
}

static GVariant *
get_value (guint column, DvmNode *node, const char *branch, const char *move)
{
  const char *property = all_columns[column].property;
  g_autofree char *name = NULL;

  if (property == NULL)
    return g_variant_new_uint32 (count_free (node));
  if (move != NULL && strcmp (property, "reason") == 0)
    return text (move);
  if (strcmp (property, "devices") == 0)
    return dvm_cli_take_text (dvm_cli_describe_devices (dvm_node_get_devices (node)));
  if (branch == NULL || strcmp (property, "name") != 0)
    return get_property (node, property);
  name = g_strconcat (branch, dvm_node_get_name (node), NULL);
  return text (name);
}

static gboolean
print_nodes (DvmCli *cli, GPtrArray *nodes, GHashTable *moves, GArray *chosen, GError **error)
{
  g_autoptr (GPtrArray) branches = is_tree (cli, nodes) ? dvm_cli_tree_sort (nodes, !g_get_charset (NULL)) : NULL;
  g_autofree DvmCliColumn *columns = g_new0 (DvmCliColumn, chosen->len + 1);
  g_autofree GVariant **values = g_new0 (GVariant *, chosen->len);
  g_autoptr (DvmCliTable) table = NULL;

  for (guint i = 0; i < chosen->len; i++)
    columns[i] = all_columns[g_array_index (chosen, guint, i)].column;
  table = dvm_cli_table_new (columns);
  for (guint row = 0; row < nodes->len; row++)
    {
      DvmNode *node = g_ptr_array_index (nodes, row);
      const char *branch = branches != NULL ? g_ptr_array_index (branches, row) : NULL;
      const char *move = g_hash_table_lookup (moves, GUINT_TO_POINTER (dvm_node_get_rank (node)));

      for (guint i = 0; i < chosen->len; i++)
        values[i] = get_value (g_array_index (chosen, guint, i), node, branch, move);
      dvm_cli_table_add (table, values);
    }
  return dvm_cli_print_table (cli, table, error);
}

static int
list_nodes (DvmCli *cli, GError **error)
{
  g_autoptr (GArray) chosen = choose_columns (cli, error);
  g_autoptr (GPtrArray) wanted = g_ptr_array_new ();
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (GPtrArray) nodes = NULL;
  g_autoptr (GHashTable) moves = NULL;
  gboolean ok;

  if (chosen == NULL || !check_filters (cli, error))
    return DVM_CLI_EXIT_USAGE;
  if (dvm_cli_args_has (cli->args, "tree") && dvm_cli_args_has (cli->args, "flat"))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("options --tree and --flat cannot go together"));
      return DVM_CLI_EXIT_USAGE;
    }
  client = dvm_cli_connect (cli, error);
  nodes = client != NULL ? dvm_client_list_nodes (client, NULL, error) : NULL;
  moves = nodes != NULL && !cli->json ? find_moves (client, error) : NULL;
  if (nodes == NULL || (moves == NULL && !cli->json))
    return DVM_CLI_EXIT_FAILED;
  for (guint i = 0; i < nodes->len; i++)
    if (is_wanted (cli, g_ptr_array_index (nodes, i)))
      g_ptr_array_add (wanted, g_ptr_array_index (nodes, i));
  ok = cli->json ? print_json (wanted, error) : print_nodes (cli, wanted, moves, chosen, error);
  return ok ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_nodes = {
  .name = "nodes",
  .synopsis = "[OPTION...]",
  .summary = N_ ("list the nodes of the DVM; rank 0 is its controller"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = list_nodes,
};
