/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * XML of what --display shows, for programs: an element for each word. Elements and attributes are called as prun calls
 * them, where it has them.
 */

#include "config.h"

#include <string.h>

#include "dvm-cli-facts.h"
#include "dvm-cli-records.h"

typedef struct
{
  const DvmCliFacts *facts;
  const DvmCliDisplay *display;
  GHashTable *rows; /* name of a node -> GArray of the indexes of its rows in the map */
  GString *text;
} Writer;

static void G_GNUC_PRINTF (3, 4) append (Writer *self, guint depth, const char *format, ...)
{
  va_list arguments;
  g_autofree char *line = NULL;

  va_start (arguments, format);
  line = g_markup_vprintf_escaped (format, arguments);
  va_end (arguments);
  for (guint i = 0; i < depth; i++)
    g_string_append (self->text, "    ");
  g_string_append_printf (self->text, "%s\n", line);
}

/* ---- nodes ---- */

static void
append_host (Writer *self, DvmNode *node, const char *end)
{
  append (self, 1, "<host name=\"%s\" slots=\"%u\" max_slots=\"%u\"%s>", dvm_node_get_name (node),
          dvm_node_get_slots (node), dvm_node_get_slots_max (node), end);
}

static void
append_allocation (Writer *self)
{
  append (self, 0, "<allocation>");
  for (guint i = 0; i < self->facts->nodes->len; i++)
    if (dvm_node_get_rank (self->facts->nodes->pdata[i]) > 0)
      append_host (self, self->facts->nodes->pdata[i], "/");
  append (self, 0, "</allocation>");
}

static void
append_package (Writer *self, DvmCliMachine *machine, guint number, DvmCliObject package)
{
  g_autofree char *cores = dvm_cli_machine_list_objects (machine, DVM_CLI_CORE, package);
  g_autofree char *cpus = dvm_cli_machine_list_cpus (machine, package, self->display->physical);

  append (self, 1, "<package id=\"%u\" cores=\"%s\" cpus=\"%s\"/>", number, cores, cpus);
}

static void
append_processors (Writer *self, const char *node)
{
  DvmCliMachine *machine = dvm_cli_machines_find (self->facts->machines, node);

  append (self, 0, "<processors node=\"%s\">", node);
  for (guint i = 0; machine != NULL && i < dvm_cli_machine_count (machine, DVM_CLI_PACKAGE); i++)
    append_package (self, machine, i, dvm_cli_machine_get_object (machine, DVM_CLI_PACKAGE, i));
  if (machine != NULL && dvm_cli_machine_count (machine, DVM_CLI_PACKAGE) == 0)
    append_package (self, machine, 0, dvm_cli_machine_get_whole (machine));
  append (self, 0, "</processors>");
}

static void
append_topology (Writer *self, const char *node)
{
  DvmCliMachine *machine = dvm_cli_machines_find (self->facts->machines, node);

  append (self, 0, "<topology node=\"%s\">", node);
  for (guint kind = 0; machine != NULL && kind < DVM_CLI_N_OBJECT_KINDS; kind++)
    for (guint i = 0; i < dvm_cli_machine_count (machine, kind); i++)
      {
        g_autofree char *cpus = dvm_cli_machine_list_cpus (machine, dvm_cli_machine_get_object (machine, kind, i),
                                                           self->display->physical);

        append (self, 1, "<%s id=\"%u\" cpus=\"%s\"/>", dvm_cli_object_kind_to_string (kind), i, cpus);
      }
  append (self, 0, "</topology>");
}

static gboolean
append_of_nodes (Writer *self, const char *named, void (*append_one) (Writer *self, const char *node), GError **error)
{
  g_auto (GStrv) names = dvm_cli_facts_list_nodes (self->facts, named, error);

  for (gsize i = 0; names != NULL && names[i] != NULL; i++)
    append_one (self, names[i]);
  return names != NULL;
}

/* ---- ranks ---- */

static guint
count_inside (GArray *hwthreads, DvmCliObject object)
{
  guint n = 0;

  for (guint i = 0; i < hwthreads->len; i++)
    {
      guint hwthread = g_array_index (hwthreads, guint, i);

      n += hwthread >= object.first && hwthread - object.first < object.n;
    }
  return n;
}

/* Whole cores, and hardware threads of those that the process has in part. */
static void
append_cores (Writer *self, guint depth, DvmCliMachine *machine, GArray *hwthreads, DvmCliObject package)
{
  gboolean cores = dvm_cli_machine_count (machine, DVM_CLI_CORE) > 0;

  for (guint i = 0; i < dvm_cli_machine_count (machine, cores ? DVM_CLI_CORE : DVM_CLI_HWTHREAD); i++)
    {
      DvmCliObject core = dvm_cli_machine_get_object (machine, cores ? DVM_CLI_CORE : DVM_CLI_HWTHREAD, i);
      guint n = count_inside (hwthreads, core);

      if (n == 0 || core.first < package.first || core.first - package.first >= package.n)
        continue;
      if (cores && n == core.n)
        append (self, depth, "<core>%u</core>", i);
      for (guint k = core.first; (!cores || n < core.n) && k < core.first + core.n; k++)
        if (count_inside (hwthreads, (DvmCliObject){ k, 1 }) > 0)
          append (self, depth, "<hwthread>%u</hwthread>", k);
    }
}

static void
append_binding (Writer *self, guint depth, DvmCliMachine *machine, const char *cpus)
{
  g_autoptr (GArray) hwthreads = machine != NULL ? dvm_cli_machine_read_cpus (machine, cpus) : NULL;

  append (self, depth, "<binding cpus=\"%s\">", cpus);
  for (guint i = 0; machine != NULL && i < dvm_cli_machine_count (machine, DVM_CLI_PACKAGE); i++)
    {
      DvmCliObject package = dvm_cli_machine_get_object (machine, DVM_CLI_PACKAGE, i);

      if (count_inside (hwthreads, package) == 0)
        continue;
      append (self, depth + 1, "<package id=\"%u\">", i);
      append_cores (self, depth + 2, machine, hwthreads, package);
      append (self, depth + 1, "</package>");
    }
  append (self, depth, "</binding>");
}

static void
append_rank (Writer *self, guint depth, guint row, gboolean devel)
{
  const DvmProc *proc = devel && row < self->facts->procs->len ? g_ptr_array_index (self->facts->procs, row) : NULL;
  g_autofree char *more = NULL;
  const char *node;
  const char *cpus;
  const char *object;
  guint rank;
  guint app;
  guint local;

  g_variant_get_child (self->facts->map, row, "(uuu&s&s&s&s)", &rank, &app, &local, &node, &cpus, &object, NULL);
  append (self, depth, "<rank id=\"%u\" appid=\"%u\" local_rank=\"%u\" object=\"%s\">", rank, app, local, object);
  if (proc != NULL)
    append (self, depth + 1, "<process node_rank=\"%u\" pid=\"%d\" state=\"%s\"/>", dvm_proc_get_node_rank (proc),
            dvm_proc_get_pid (proc), dvm_proc_state_to_string (dvm_proc_get_state (proc)));
  append_binding (self, depth + 1, dvm_cli_machines_find (self->facts->machines, node), cpus);
  append (self, depth, "</rank>");
}

static void
sort_facts (Writer *self)
{
  for (gsize i = 0; i < g_variant_n_children (self->facts->map); i++)
    {
      guint index = (guint)i;
      const char *name;
      GArray *rows;

      g_variant_get_child (self->facts->map, i, "(uuu&s&s&s&s)", NULL, NULL, NULL, &name, NULL, NULL, NULL);
      rows = g_hash_table_lookup (self->rows, name);
      if (rows == NULL)
        {
          rows = g_array_new (FALSE, FALSE, sizeof (guint));
          g_hash_table_insert (self->rows, (gpointer)name, rows);
        }
      g_array_append_val (rows, index);
    }
}

static void
append_policy (Writer *self, gsize index)
{
  g_autoptr (GVariant) policy = g_variant_get_child_value (self->facts->policies, index);

  append (self, 1, "<policy apps=\"%s\" map_by=\"%s\" rank_by=\"%s\" bind_to=\"%s\"/>",
          dvm_cli_lookup_text (policy, "apps"), dvm_cli_lookup_text (policy, "map-by"),
          dvm_cli_lookup_text (policy, "rank-by"), dvm_cli_lookup_text (policy, "bind-to"));
}

/* element: "map", or "bindings", whose ranks stand on the same hosts */
static void
append_map (Writer *self, const char *element, gboolean devel)
{
  append (self, 0, "<%s>", element);
  for (gsize i = 0; devel && i < g_variant_n_children (self->facts->policies); i++)
    append_policy (self, i);
  for (guint i = 0; i < self->facts->nodes->len; i++)
    {
      DvmNode *node = self->facts->nodes->pdata[i];
      GArray *rows = g_hash_table_lookup (self->rows, dvm_node_get_name (node));

      if (dvm_node_get_rank (node) == 0 || rows == NULL)
        continue;
      append_host (self, node, "");
      for (guint k = 0; k < rows->len; k++)
        append_rank (self, 2, g_array_index (rows, guint, k), devel);
      append (self, 1, "</host>");
    }
  append (self, 0, "</%s>", element);
}

static gboolean
append_all (Writer *self, GError **error)
{
  guint what = self->display->what;

  if ((what & DVM_CLI_DISPLAY_ALLOCATION) != 0)
    append_allocation (self);
  if ((what & DVM_CLI_DISPLAY_TOPO) != 0 && !append_of_nodes (self, self->display->topo, append_topology, error))
    return FALSE;
  if ((what & DVM_CLI_DISPLAY_CPUS) != 0 && !append_of_nodes (self, self->display->cpus, append_processors, error))
    return FALSE;
  if ((what & (DVM_CLI_DISPLAY_MAP | DVM_CLI_DISPLAY_MAP_DEVEL)) != 0)
    append_map (self, "map", (what & DVM_CLI_DISPLAY_MAP_DEVEL) != 0);
  if ((what & DVM_CLI_DISPLAY_BINDINGS) != 0)
    append_map (self, "bindings", FALSE);
  return TRUE;
}

char *
dvm_cli_facts_to_xml (const DvmCliFacts *facts, const DvmCliDisplay *display, GError **error)
{
  g_autoptr (GHashTable) rows = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
  g_autoptr (GString) text = g_string_new (NULL);
  Writer self = { .facts = facts, .display = display, .rows = rows, .text = text };

  if (facts->map != NULL)
    sort_facts (&self);
  return append_all (&self, error) ? g_strdup (text->str) : NULL;
}
