/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The loader, the host, the driver of the mappers, and the plugins of the program, the scripted ones among them.
 */

#include "config.h"

#include <signal.h>
#include <string.h>

#include <glib/gstdio.h>
#include <gmodule.h>

#include "dvmd-map-driver.h"
#include "dvmd-plugins.h"
#include "dvmd-proc-scan.h"

/* Those before are used with a script alone, and those of Slurm by whole daemons. */
#define SCRIPTED "allocator-test allocator-other launcher-test mapper-test allocator-slurm launcher-slurm"

static DvmdPlugins *
load (const char *disabled, const char *settings, const char *script)
{
  g_autofree char *others = g_strjoin (" ", script == NULL ? SCRIPTED : "", disabled, NULL);
  g_autofree char *quoted = script != NULL ? g_shell_quote (script) : NULL;
  g_autofree char *scripts = quoted != NULL ? g_strdup_printf ("allocator-test.script=%s allocator-other.script=%s "
                                                               "launcher-test.script=%s mapper-test.script=%s",
                                                               quoted, quoted, quoted, quoted)
                                            : NULL;
  const DvmdPluginsSettings given = { .disabled = others, .settings = script != NULL ? scripts : settings };
  g_autoptr (GError) error = NULL;
  DvmdPlugins *plugins = dvmd_plugins_new (&given, &error);

  g_assert_no_error (error);
  return plugins;
}

/* ---- mapping ---- */

static DvmdMap *
map (DvmdPlugins *plugins, const char *by, const guint *np, guint n_apps, const guint *limits, guint n_nodes,
     gboolean oversubscribe, GError **error)
{
  g_autofree DvmdMapNode *nodes = g_new0 (DvmdMapNode, n_nodes);
  DvmdMapRequest request = { .app_np = np, .n_apps = n_apps, .n_nodes = n_nodes };
  const DvmdMapWishes wishes = { .map_by = by };

  for (guint i = 0; i < n_nodes; i++)
    nodes[i] = (DvmdMapNode){ .name = "x", .rank = 10 + i, .limit = limits[i], .most = G_MAXUINT };
  request.nodes = nodes;
  request.oversubscribe = oversubscribe;
  return dvmd_map_driver_map (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER), &wishes, &request, NULL, error);
}

/* The rows without their objects: node, nodes, node stride, application, first rank, count, stride, step. */
static char *
show (DvmdMap *self)
{
  GString *text = g_string_new ("[");

  for (guint i = 0; i < self->rows->len; i++)
    {
      const DvmdMapRow *row = &g_array_index (self->rows, DvmdMapRow, i);

      g_string_append_printf (text, "%s(%u, %u, %d, %u, %u, %u, %u, %d)", i > 0 ? ", " : "", row->node, row->n_nodes,
                              row->node_stride, row->app, row->first_rank, row->count, row->stride, row->step);
    }
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

static void
check_map (const char *by, const guint *np, guint n_apps, const guint *limits, guint n_nodes, gboolean oversubscribe,
           const char *expected)
{
  g_autoptr (DvmdPlugins) plugins = load (NULL, NULL, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) result = map (plugins, by, np, n_apps, limits, n_nodes, oversubscribe, &error);
  g_autofree char *text = NULL;

  g_assert_no_error (error);
  text = show (result);
  g_assert_cmpstr (text, ==, expected);
}

static void
check_no_map (const char *by, const guint *np, const guint *limits, guint n_nodes, const char *mention)
{
  g_autoptr (DvmdPlugins) plugins = load (NULL, NULL, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) result = map (plugins, by, np, 1, limits, n_nodes, FALSE, &error);

  g_assert_null (result);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED);
  if (strstr (error->message, mention) == NULL)
    g_error ("\"%s\" does not speak of \"%s\"", error->message, mention);
}

static void
test_round_robin (void)
{
  const guint five[] = { 5 };
  const guint two_apps[] = { 2, 3 };
  const guint limits[] = { 2, 0, 4 };
  const guint even[] = { 2, 2 };
  const guint nothing[] = { 0, 0, 0 };

  check_map ("slot", five, 1, limits, 3, FALSE, "[(10, 1, 0, 0, 0, 2, 1, 0), (12, 1, 0, 0, 2, 3, 1, 0)]");
  check_map ("slot", two_apps, 2, limits, 3, FALSE, "[(10, 1, 0, 0, 0, 2, 1, 0), (12, 1, 0, 1, 2, 3, 1, 0)]");
  check_map ("node", five, 1, limits, 3, FALSE, "[(10, 2, 2, 0, 0, 2, 2, 1), (12, 1, 0, 0, 4, 1, 1, 0)]");
  check_map ("node", two_apps, 2, limits, 3, FALSE,
             "[(10, 2, 2, 0, 0, 1, 1, 1), (10, 2, 2, 1, 2, 1, 1, 1), (12, 1, 0, 1, 4, 1, 1, 0)]");
  check_map ("slot", five, 1, even, 2, TRUE, "[(10, 1, 0, 0, 0, 3, 1, 0), (11, 1, 0, 0, 3, 2, 1, 0)]");
  check_map ("slot", five, 1, nothing, 3, TRUE, "[(10, 2, 1, 0, 0, 2, 1, 2), (12, 1, 0, 0, 4, 1, 1, 0)]");
}

static void
test_ppr (void)
{
  const guint five[] = { 5 };
  const guint six[] = { 6 };
  const guint two_apps[] = { 4, 2 };
  const guint limits[] = { 2, 0, 4, 2 };
  const guint large[] = { 2, 0, 4, 5 };
  const guint three_each[] = { 3, 3, 3 };

  check_map ("ppr:2:node", six, 1, limits, 4, FALSE, "[(10, 2, 2, 0, 0, 2, 1, 2), (13, 1, 0, 0, 4, 2, 1, 0)]");
  /* A node that has no room for all of them is left out, for the last processes of a job, too. */
  check_map ("ppr:4:node", five, 1, large, 4, FALSE, "[(12, 1, 0, 0, 0, 4, 1, 0), (13, 1, 0, 0, 4, 1, 1, 0)]");
  check_no_map ("ppr:4:node", five, limits, 4, "1 of 5 processes has no place");
  /* The second program goes where the first one has left room for all of its share. */
  check_map ("ppr:2:node", two_apps, 2, three_each, 3, FALSE, "[(10, 2, 1, 0, 0, 2, 1, 2), (12, 1, 0, 1, 4, 2, 1, 0)]");
  check_map ("ppr:1:node", two_apps, 2, limits, 4, TRUE, "[(10, 4, 1, 0, 0, 1, 1, 1), (10, 2, 1, 1, 4, 1, 1, 1)]");
}

static void
check_refused (const char *disabled, const char *script, const char *by, const guint *np, const char *mention)
{
  const guint limits[] = { 2, 2 };
  g_autoptr (DvmdPlugins) plugins = load (disabled, NULL, script);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) result = map (plugins, by, np, 1, limits, 2, FALSE, &error);

  g_assert_null (result);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED);
  if (strstr (error->message, mention) == NULL)
    g_error ("\"%s\" does not speak of \"%s\"", error->message, mention);
}

static void
test_map_errors (void)
{
  const guint three[] = { 3 };
  const guint five[] = { 5 };

  check_refused (NULL, NULL, "slot", five, "do not fit into the 4 slots");
  check_refused (NULL, NULL, "moon", three,
                 "unknown word “moon”; the mappers of this DVM have “ppr:N:OBJECT”, “slot”, “node”");
  check_refused ("mapper-round-robin", NULL, "slot", three,
                 "unknown word “slot”; the mappers of this DVM have “ppr:N:OBJECT”");
  check_refused ("mapper-round-robin mapper-ppr", NULL, "slot", three, "this DVM has no mappers");
  check_refused (NULL, NULL, "ppr:1:node", three, "1 of 3 processes has no place");
  check_refused (NULL, NULL, "ppr:3:node", five, "5 of 5 processes have no place");
  check_refused (NULL, NULL, "ppr:3:core", five, "none of the job's 2 nodes has a core");
  check_refused (NULL, NULL, "ppr:-1:node", five, "“ppr:-1”: it takes a number");
  check_refused (NULL, "mapper fail not today", "slot", three, "not today");
  check_refused (NULL, "mapper done", "slot", three, "more processes on a node than that may take");
  check_refused (NULL, "mapper wrong", "slot", three, "a rank has no place");
  check_refused (NULL, "mapper dance", "slot", three, "\"dance\" is no action");
  check_refused (NULL, "mapper delay 5; mapper done", "slot", three, "cannot wait");
}

static void
test_decline (void)
{
  const guint two[] = { 2 };
  const guint limits[] = { 2, 2 };
  g_autoptr (DvmdPlugins) plugins = load (NULL, NULL, "mapper decline; launcher done; mapper done");
  const char *const expected[] = { "[(10, 2, 1, 0, 0, 1, 1, 1)]", "[(10, 1, 0, 0, 0, 2, 1, 0)]",
                                   "[(10, 2, 1, 0, 0, 1, 1, 1)]" };

  for (gsize i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdMap) result = map (plugins, "node", two, 1, limits, 2, FALSE, &error);
      g_autofree char *text = NULL;

      g_assert_no_error (error);
      text = show (result);
      g_assert_cmpstr (text, ==, expected[i]);
    }
}

static gboolean
try_check (DvmdPlugins *plugins, const char *by, gboolean *counts, GError **error)
{
  static const char *const argv[] = { "a", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmAppSpec) other = dvm_app_spec_new (argv);

  dvm_job_spec_add_app (spec, other);
  dvm_job_spec_set_map_by (spec, by);
  return dvmd_map_driver_check (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER), spec, counts, error);
}

static void
test_words (void)
{
  static const struct
  {
    const char *by;
    int code;
    const char *mention;
  } wrong[] = {
    { "colocate", DVM_ERROR_BAD_PARAM, "“colocate” is without its job" },
    { "ppr", DVM_ERROR_BAD_PARAM, "it is written ppr:N:OBJECT" },
    { "ppr:2", DVM_ERROR_BAD_PARAM, "it is written ppr:N:OBJECT" },
    { "ppr:0:node", DVM_ERROR_BAD_PARAM, "“ppr:0”" },
    { "ppr:65537:node", DVM_ERROR_BAD_PARAM, "“ppr:65537”" },
    { "ppr:2:nodes", DVM_ERROR_BAD_PARAM, "“node”" },
    { "ppr:2:node=3", DVM_ERROR_BAD_PARAM, "“node=3”" },
    { "slot:ORDERED", DVM_ERROR_BAD_PARAM, "“ordered” makes no sense with “slot”" },
    { "slot:bright", DVM_ERROR_BAD_PARAM, "unknown word “bright”" },
    { "slot:PE=0", DVM_ERROR_BAD_PARAM, "pe=0" },
    { "s", DVM_ERROR_BAD_PARAM, "“s” is the beginning of more than one word" },
    { "slots", DVM_ERROR_BAD_PARAM, "did you mean “slot”?; the mappers" },
    { "slot=1", DVM_ERROR_BAD_PARAM, "“slot” takes no value: “=1”" },
  };
  g_autoptr (DvmdPlugins) plugins = load (NULL, NULL, NULL);
  gboolean counts;

  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (try_check (plugins, wrong[i].by, &counts, &error));
      g_assert_error (error, DVM_ERROR, wrong[i].code);
      if (strstr (error->message, wrong[i].mention) == NULL)
        g_error ("\"%s\" does not speak of \"%s\"", error->message, wrong[i].mention);
    }
  g_assert_true (try_check (plugins, NULL, &counts, NULL));
  g_assert_true (try_check (plugins, "NO", &counts, NULL));
  g_assert_false (counts);
  /* One of the two programs has all that is left. */
  g_assert_true (try_check (plugins, "slot:PE=2", &counts, NULL));
  g_assert_false (counts);
  g_assert_true (try_check (plugins, "PPR:12:NO", &counts, NULL));
  g_assert_true (counts);
}

/* ---- a mapper whose answer the test makes ---- */

typedef struct
{
  DvmdMapper parent_instance;
} Puppet;

typedef DvmdMapperClass PuppetClass;

/* The script says what the puppet has been asked, and what it answers. */
static struct
{
  DvmdPlacementRun answer;
  char *asked;
} puppet_script;

GType puppet_get_type (void);
G_DEFINE_TYPE (Puppet, puppet, DVMD_TYPE_MAPPER)

static DvmdPluginVerdict
puppet_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_autofree char *arguments = g_strjoinv (" ", (char **)request->arguments);
  g_autofree char *qualifiers = g_strjoinv (" ", (char **)request->qualifiers);

  g_free (puppet_script.asked);
  puppet_script.asked = g_strdup_printf ("%s|%s|%s|%s", request->word, request->value != NULL ? request->value : "-",
                                         arguments, qualifiers);
  dvmd_placement_add_run (placement, &puppet_script.answer);
  return DVMD_PLUGIN_DONE;
}

static void
puppet_class_init (PuppetClass *klass)
{
  klass->map = puppet_map;
}

static void
puppet_init (Puppet *self)
{
}

static const char *const puppet_words[] = { "pull:HOW:WHERE", "pile[=HOW]", "pin=CPUS", NULL };
static const char *const puppet_qualifiers[] = { "soft", "pe=N", "shared[=BOOL]", NULL };
static const DvmdPluginInfo puppet_info = {
  .name = "puppet",
  .words = puppet_words,
  .qualifiers = puppet_qualifiers,
  .rankings = DVMD_RANK_BY_SLOT | DVMD_RANK_BY_FILL,
  .bindings = DVMD_BIND_TO_CORE | DVMD_BIND_OVERLOAD,
};

/* Two packages of two cores; cpu 3 may not be used. */
static void
load_puppet_hardware (DvmdMapTopology *into, gpointer user_data)
{
  static const char *const cores[] = { "0", "2", "1", "3" };
  static const char *const devices[] = { "0", "0,2", "", "1" };

  if (user_data == NULL)
    return;
  dvmd_map_topology_add (into, DVMD_OBJECT_NODE, "0-2");
  dvmd_map_topology_add (into, DVMD_OBJECT_PACKAGE, "0,2");
  dvmd_map_topology_add (into, DVMD_OBJECT_PACKAGE, "1,3");
  for (gsize i = 0; i < G_N_ELEMENTS (cores); i++)
    dvmd_map_topology_add (into, DVMD_OBJECT_CORE, cores[i]);
  /* Others have the third one. */
  for (gsize i = 0; i < G_N_ELEMENTS (devices); i++)
    dvmd_map_topology_add (into, DVMD_OBJECT_DEVICE, devices[i]);
}

/* mention (nullable): NULL: it is right */
static void
check_puppet (DvmdMapWishes wishes, DvmdMapNode node, const char *mention)
{
  static const guint two = 2;
  g_autoptr (GPtrArray) mappers = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) result = NULL;

  DvmdMapRequest request = { 0 };

  g_ptr_array_add (mappers, g_object_new (puppet_get_type (), "info", &puppet_info, NULL));
  node.name = "x";
  node.rank = 10;
  node.limit = 2;
  request.app_np = &two;
  request.n_apps = 1;
  request.nodes = &node;
  request.n_nodes = 1;
  result = dvmd_map_driver_map (mappers, &wishes, &request, NULL, &error);
  if (mention == NULL)
    {
      g_assert_no_error (error);
      return;
    }
  g_assert_null (result);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED);
  if (strstr (error->message, mention) == NULL)
    g_error ("\"%s\" does not speak of \"%s\"", error->message, mention);
}

/* The words that are written come as the mapper has declared them. */
static void
test_own_words (void)
{
  static const char *const right[][2] = {
    { "PULL:Hard:There", "pull|-|Hard There|" },
    { "pul:1:peal=3", "pull|-|1 peal=3|" },
    { "pull:a:b:SO:Pe=4:shared", "pull|-|a b|soft shared pe=4" },
    { "pile", "pile|-||" },
    { "pile=HIGH:sh=No", "pile|HIGH||shared=No" },
    { "pin=0,2-3", "pin|0,2-3||" },
  };
  static const char *const wrong[][2] = {
    { "pull:a", "“pull” is not whole: it is written “pull:HOW:WHERE”" },
    { "pull=2:a:b", "“pull” takes no value" },
    { "pin", "“pin” is without its value: it is written “pin=CPUS”" },
    { "pile=", "“pile” is without its value" },
    { "pi", "more than one word" },
    { "pile:soft:soft", "“soft” is given twice" },
    { "pile:shared:shared=1", "“shared” is given twice" },
    { "pile:pe", "“pe” is without its number" },
    { "pile:soft=1", "“soft” takes no value" },
    { "pile:span", "“span” is not supported yet" },
    { "pile:s", "more than one word" },
  };

  g_autoptr (DvmdMapTopology) topology = dvmd_map_topology_new (load_puppet_hardware, GINT_TO_POINTER (1), NULL);

  puppet_script.answer = (DvmdPlacementRun){ .count = 2, .stride = 1 };
  for (gsize i = 0; i < G_N_ELEMENTS (right); i++)
    {
      check_puppet ((DvmdMapWishes){ .map_by = right[i][0] }, (DvmdMapNode){ .topology = topology }, NULL);
      g_assert_cmpstr (puppet_script.asked, ==, right[i][1]);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    check_puppet ((DvmdMapWishes){ .map_by = wrong[i][0] }, (DvmdMapNode){ 0 }, wrong[i][1]);
  g_clear_pointer (&puppet_script.asked, g_free);
}

/* A mapper is not asked for what it has not declared. */
static void
test_wishes (void)
{
  static const struct
  {
    const char *rank_by;
    const char *bind_to;
    const char *mention;
  } tries[] = {
    { "fill", "none", NULL },
    { NULL, "core:overload", NULL },
    { "span", NULL, "rank-by: the mapper “puppet” cannot" },
    { NULL, "package", "bind-to: the mapper “puppet” cannot" },
    { NULL, "core:limit=2", "bind-to" },
  };
  g_autoptr (DvmdMapTopology) topology = dvmd_map_topology_new (load_puppet_hardware, GINT_TO_POINTER (1), NULL);
  const DvmdMapNode node = { .topology = topology };

  puppet_script.answer = (DvmdPlacementRun){ .count = 2, .stride = 1 };
  for (gsize i = 0; i < G_N_ELEMENTS (tries); i++)
    check_puppet ((DvmdMapWishes){ .map_by = "pile", .rank_by = tries[i].rank_by, .bind_to = tries[i].bind_to }, node,
                  tries[i].mention);
  g_clear_pointer (&puppet_script.asked, g_free);
}

static void
check_hardware (const char *cpus, DvmdPlacementRun run, const char *bind_to, DvmdMapNode node, const char *mention)
{
  g_autoptr (DvmdCpuset) set = cpus != NULL ? dvmd_cpuset_new_from_list (cpus) : NULL;

  run.count = 2;
  run.stride = 1;
  run.cpus = set;
  puppet_script.answer = run;
  check_puppet ((DvmdMapWishes){ .map_by = "pile", .bind_to = bind_to }, node, mention);
}

static void
test_hardware (void)
{
  const DvmdPlacementRun core = { .kind = DVMD_OBJECT_CORE, .object = 2, .object_stride = 1 };
  const DvmdPlacementRun beyond = { .kind = DVMD_OBJECT_CORE, .object = 2, .object_stride = 2 };
  const DvmdPlacementRun package = { .kind = DVMD_OBJECT_PACKAGE, .object = 1 };
  const DvmdPlacementRun wrong_kind = { .kind = DVMD_N_OBJECT_KINDS };
  const DvmdPlacementRun numa = { .kind = DVMD_OBJECT_NUMA };
  const DvmdPlacementRun devices = { .kind = DVMD_OBJECT_DEVICE, .object_stride = 1 };
  const DvmdPlacementRun shared = { .kind = DVMD_OBJECT_DEVICE, .object = 1, .object_stride = 1, .per_object = 2 };
  const DvmdPlacementRun around = { .kind = DVMD_OBJECT_DEVICE, .object = 1, .object_stride = 2 };
  const DvmdPlacementRun others = { .kind = DVMD_OBJECT_DEVICE, .object = 1, .object_stride = 1 };
  const DvmdPlacementRun others_alone = { .kind = DVMD_OBJECT_DEVICE, .object = 2 };
  const DvmdPlacementRun nameless = { .object = 1 };
  const DvmdPlacementRun nowhere = { 0 };
  g_autoptr (DvmdCpuset) first = dvmd_cpuset_new_from_list ("0");
  g_autoptr (DvmdMapTopology) topology = dvmd_map_topology_new (load_puppet_hardware, GINT_TO_POINTER (1), NULL);
  g_autoptr (DvmdMapTopology) unknown = dvmd_map_topology_new (load_puppet_hardware, NULL, NULL);
  const DvmdMapNode node = { .topology = topology };
  const DvmdMapNode narrow = { .topology = topology, .allowed = first };
  const DvmdMapNode dark = { .topology = unknown };
  const DvmdMapNode bare = { 0 };
  const char *none = "none";
  const char *bound = "core";

  check_hardware (NULL, core, none, node, NULL);
  check_hardware (NULL, package, bound, node, NULL);
  check_hardware ("0,2", package, bound, node, NULL);
  check_hardware ("", nowhere, bound, node, NULL);
  check_hardware ("0-1", nowhere, bound, node, NULL);
  check_hardware ("0", core, bound, narrow, NULL);
  check_hardware (NULL, nowhere, none, bare, NULL);
  check_hardware (NULL, beyond, none, node, "an object that the node does not have");
  check_hardware (NULL, numa, none, node, "an object that the node does not have");
  check_hardware (NULL, devices, none, node, NULL);
  check_hardware (NULL, shared, none, node, NULL);
  check_hardware (NULL, around, none, node, NULL);
  check_hardware (NULL, others, none, node, "a device that others have");
  check_hardware (NULL, others_alone, none, node, "a device that others have");
  check_hardware (NULL, wrong_kind, none, node, "a kind of object that there is not");
  check_hardware (NULL, nameless, none, node, "an object without a kind");
  check_hardware (NULL, core, none, dark, "of which that is not known");
  check_hardware (NULL, core, none, bare, "of which that is not known");
  check_hardware ("0", nowhere, bound, bare, "the hardware of node x is not known");
  check_hardware ("0", core, none, node, "not to be bound");
  check_hardware ("3", core, bound, node, "a cpu that is not allowed");
  check_hardware ("64", nowhere, bound, node, "a cpu that is not allowed");
  check_hardware ("0-1", nowhere, bound, narrow, "a cpu that is not allowed");
  g_clear_pointer (&puppet_script.asked, g_free);
}

static void
check_cpus (const char *list, guint n_words, guint64 first)
{
  g_autoptr (DvmdCpuset) set = dvmd_cpuset_new_from_list (list);

  g_assert_cmpuint (set->n_words, ==, n_words);
  g_assert_cmpuint (n_words > 0 ? set->words[0] : 0, ==, first);
}

static void
test_cpusets (void)
{
  static const char *const wrong[] = { ",",  "1,", "1-", "-1", "3-1", "x", "1 2", "65536", "1-99999999999999999999",
                                       "1;2" };

  check_cpus ("", 0, 0);
  check_cpus ("0-3,8", 1, 0x10f);
  check_cpus ("0-63", 1, G_MAXUINT64);
  check_cpus ("64", 2, 0);
  check_cpus ("65535", 1024, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    g_assert_null (dvmd_cpuset_new_from_list (wrong[i]));
}

/* ---- launcher and allocator, by script ---- */

typedef struct
{
  DvmdPluginVerdict verdict;
  DvmdAllocation *allocation;
  GError *error;
  guint n_failed;
  gboolean done;
} Answer;

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->allocation, dvmd_allocation_unref);
  g_clear_error (&answer->error);
  memset (answer, 0, sizeof *answer);
}

static void
on_allocated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Answer *answer = user_data;

  answer->verdict = dvmd_allocator_allocate_finish (DVMD_ALLOCATOR (source), result, &answer->allocation,
                                                    &answer->error);
  answer->done = TRUE;
}

static void
allocate (DvmdPlugins *plugins, Answer *answer, GCancellable *cancellable)
{
  DvmdAllocator *allocator = g_ptr_array_index (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_ALLOCATOR), 0);
  const char *const hosts[] = { "a", "b", NULL };
  const DvmdAllocationRequest request = { .host = "here", .hosts = hosts, .slots = 3 };

  answer_clear (answer);
  dvmd_allocator_allocate_async (allocator, &request, cancellable, on_allocated, answer);
  if (cancellable != NULL)
    g_cancellable_cancel (cancellable);
  while (!answer->done)
    g_main_context_iteration (NULL, TRUE);
}

static void
allocate_as (DvmdPlugins *plugins, const DvmdAllocationRequest *request, Answer *answer)
{
  DvmdAllocator *allocator = g_ptr_array_index (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_ALLOCATOR), 0);

  answer_clear (answer);
  dvmd_allocator_allocate_async (allocator, request, NULL, on_allocated, answer);
  while (!answer->done)
    g_main_context_iteration (NULL, TRUE);
}

static void
assert_node (const DvmdPluginNode *node, const char *name, guint slots, guint slots_max)
{
  g_assert_cmpstr (node->name, ==, name);
  g_assert_cmpuint (node->slots, ==, slots);
  g_assert_cmpuint (node->slots_max, ==, slots_max);
}

/* Named nodes have the slots that are known of them, the others what is asked for; logical ones are numbered. */
static void
test_hosts_allocator (void)
{
  const char *const names[] = { "a", "b", NULL };
  const DvmdPluginNode known[] = { { .name = "a", .slots = 4, .slots_max = 8 }, { .name = "b" } };
  DvmdAllocationRequest request = {
    .host = "here", .hosts = names, .slots = 2, .nodes = known, .n_nodes = G_N_ELEMENTS (known)
  };
  g_autoptr (DvmdPlugins) plugins = load (NULL, NULL, NULL);
  Answer answer = { 0 };
  const DvmdPluginNode *nodes;
  guint n_nodes;

  allocate_as (plugins, &request, &answer);
  nodes = dvmd_allocation_get_nodes (answer.allocation, &n_nodes);
  g_assert_cmpuint (n_nodes, ==, 2);
  assert_node (&nodes[0], "a", 4, 8);
  assert_node (&nodes[1], "b", 2, 0);
  g_assert_false (dvmd_allocation_get_logical (answer.allocation));

  request = (DvmdAllocationRequest){ .host = "here", .n_logical = 3, .slots = 5 };
  allocate_as (plugins, &request, &answer);
  nodes = dvmd_allocation_get_nodes (answer.allocation, &n_nodes);
  g_assert_cmpuint (n_nodes, ==, 3);
  assert_node (&nodes[0], "node1", 5, 0);
  assert_node (&nodes[2], "node3", 5, 0);
  g_assert_true (dvmd_allocation_get_logical (answer.allocation));

  request = (DvmdAllocationRequest){ .host = "here", .count = 3 };
  allocate_as (plugins, &request, &answer);
  g_assert_true (answer.verdict == DVMD_PLUGIN_DECLINED);
  answer_clear (&answer);
}

static void
test_allocator (void)
{
  g_autoptr (DvmdPlugins) plugins = load (
      NULL, NULL, "allocator done; allocator delay 1; allocator fail no room; allocator wrong; allocator done");
  g_autoptr (DvmdPlugins) real = load (NULL, NULL, NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Answer answer = { 0 };
  const DvmdPluginNode *nodes;
  guint n_nodes;

  allocate (plugins, &answer, NULL);
  g_assert_cmpint (answer.verdict, ==, DVMD_PLUGIN_DONE);
  nodes = dvmd_allocation_get_nodes (answer.allocation, &n_nodes);
  g_assert_cmpuint (n_nodes, ==, 2);
  g_assert_cmpstr (nodes[1].name, ==, "b");
  g_assert_cmpuint (nodes[1].slots, ==, 3);
  g_assert_cmpstr (dvmd_allocation_get_id (answer.allocation), ==, "test");
  allocate (plugins, &answer, NULL);
  g_assert_cmpint (answer.verdict, ==, DVMD_PLUGIN_FAILED);
  g_assert_cmpstr (answer.error->message, ==, "no room");
  allocate (plugins, &answer, NULL);
  dvmd_allocation_get_nodes (answer.allocation, &n_nodes);
  g_assert_cmpuint (n_nodes, ==, 0);
  allocate (plugins, &answer, cancellable);
  g_assert_error (answer.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  allocate (plugins, &answer, NULL);
  g_assert_cmpint (answer.verdict, ==, DVMD_PLUGIN_DECLINED);
  allocate (real, &answer, NULL);
  dvmd_allocation_get_nodes (answer.allocation, &n_nodes);
  g_assert_cmpuint (n_nodes, ==, 2);
  answer_clear (&answer);
}

static void
on_launched (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Answer *answer = user_data;

  answer->verdict = dvmd_launcher_launch_finish (DVMD_LAUNCHER (source), result, &answer->error);
  answer->done = TRUE;
}

static void
on_terminated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Answer *answer = user_data;

  answer->verdict = dvmd_launcher_terminate_finish (DVMD_LAUNCHER (source), result, &answer->error);
  answer->done = TRUE;
}

static void
on_node_failed (DvmdLauncher *launcher, guint rank, const GError *error, gpointer user_data)
{
  g_assert_nonnull (strstr (error->message, "unreachable"));
  ((Answer *)user_data)->n_failed += rank;
}

static void
test_launcher (void)
{
  g_autoptr (DvmdPlugins)
      plugins = load (NULL, NULL, "launcher delay 1; launcher done; launcher wrong; launcher fail x");
  DvmdLauncher *launcher = g_ptr_array_index (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_LAUNCHER), 0);
  const DvmdPluginNode nodes[] = { { .name = "a", .rank = 1 }, { .name = "b", .rank = 2 } };
  const DvmdLaunchRequest request = { .nodes = nodes, .n_nodes = 2 };
  const DvmdPluginVerdict expected[] = { DVMD_PLUGIN_DONE, DVMD_PLUGIN_DONE, DVMD_PLUGIN_FAILED, DVMD_PLUGIN_DECLINED };
  Answer answer = { 0 };

  g_signal_connect (launcher, "node-failed", G_CALLBACK (on_node_failed), &answer);
  for (gsize i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      answer_clear (&answer);
      dvmd_launcher_launch_async (launcher, &request, NULL, on_launched, &answer);
      while (!answer.done)
        g_main_context_iteration (NULL, TRUE);
      g_assert_cmpint (answer.verdict, ==, expected[i]);
      g_assert_cmpuint (answer.n_failed, ==, i == 1 ? 3 : 0);
    }
  answer_clear (&answer);
  dvmd_launcher_terminate_async (launcher, nodes, 2, NULL, on_terminated, &answer);
  while (!answer.done)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpint (answer.verdict, ==, DVMD_PLUGIN_DECLINED);
  g_signal_handlers_disconnect_by_data (launcher, &answer);
}

/* ---- the host ---- */

typedef struct
{
  DvmdPluginOutcome outcome;
  GError *error;
  gboolean done;
} Spawned;

static void
on_spawned (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Spawned *spawned = user_data;

  dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &spawned->outcome, &spawned->error);
  spawned->done = TRUE;
}

static void
spawn (DvmdPluginHost *host, Spawned *spawned, const char *script, GBytes *input, GCancellable *cancellable)
{
  const char *const argv[] = { "sh", "-c", script, NULL };
  const DvmdPluginCommand command = { .argv = argv, .input = input };

  memset (spawned, 0, sizeof *spawned);
  dvmd_plugin_host_spawn_async (host, &command, cancellable, on_spawned, spawned);
  if (cancellable != NULL)
    g_cancellable_cancel (cancellable);
  while (!spawned->done)
    g_main_context_iteration (NULL, TRUE);
}

static void
test_host (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdSpawner) spawner = dvmd_spawner_new (&error);
  g_autoptr (DvmdReaper) reaper = dvmd_reaper_new (NULL, FALSE, &error);
  g_autoptr (DvmdPlugins) plugins = load (NULL, "mapper-ppr.word='two words' nobody.x=1", NULL);
  gpointer mapper = g_ptr_array_index (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER), 0);
  DvmdPluginHost *host = dvmd_plugin_get_host (mapper);
  g_autoptr (GBytes) secret = g_bytes_new_static ("secret", 6);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Spawned spawned;

  g_assert_cmpstr (dvmd_plugin_host_get_setting (host, "word"), ==, "two words");
  g_assert_null (dvmd_plugin_host_get_setting (host, "x"));
  dvmd_plugin_host_log (host, G_LOG_LEVEL_WARNING, "no plugin ends the process: %d", 7);
  spawn (host, &spawned, "exit 3", NULL, NULL);
  g_assert_error (spawned.error, DVM_ERROR, DVM_ERROR_NOT_READY);
  g_clear_error (&spawned.error);
  dvmd_plugins_set_processes (plugins, spawner, reaper);
  spawn (host, &spawned, "cat; echo oh >&2; exit 3", secret, NULL);
  g_assert_no_error (spawned.error);
  g_assert_cmpint (spawned.outcome.exit_code, ==, 3);
  g_assert_cmpmem (g_bytes_get_data (spawned.outcome.output, NULL), g_bytes_get_size (spawned.outcome.output), "secret",
                   6);
  g_assert_cmpuint (g_bytes_get_size (spawned.outcome.messages), ==, 3);
  dvmd_plugin_outcome_clear (&spawned.outcome);
  /* More than a pipe holds, and more than is kept. */
  spawn (host, &spawned, "head -c 3000000 /dev/zero; kill -TERM $$", NULL, NULL);
  g_assert_cmpint (spawned.outcome.exit_signal, ==, SIGTERM);
  g_assert_cmpuint (g_bytes_get_size (spawned.outcome.output), ==, 1024 * 1024);
  dvmd_plugin_outcome_clear (&spawned.outcome);
  spawn (host, &spawned, "sleep 1000", NULL, cancellable);
  g_assert_error (spawned.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&spawned.error);
  g_assert_cmpuint (dvmd_reaper_get_n_watched (reaper), ==, 0);
  dvmd_plugins_set_processes (plugins, NULL, NULL);
}

/* Processes of a group, also such that have ended and were not waited for. */
static guint
count_group (pid_t group)
{
  g_autoptr (GArray) all = dvmd_proc_list_all ();
  guint n = 0;

  for (guint i = 0; i < all->len; i++)
    n += g_array_index (all, DvmdProcInfo, i).group == group;
  return n;
}

/* A command that runs when the DVM ends has ended with it, and so has what it has started: nobody finds it for a
 * moment. */
static void
test_host_ends (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdSpawner) spawner = dvmd_spawner_new (&error);
  g_autoptr (DvmdPlugins) plugins = load (NULL, NULL, NULL);
  gpointer mapper = g_ptr_array_index (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER), 0);
  const char *const argv[] = { "sh", "-c", "sleep 1000 & sleep 1000", NULL };
  const DvmdPluginCommand command = { .argv = argv };
  DvmdReaper *reaper;
  Spawned spawned = { 0 };
  g_autoptr (GArray) children = NULL;
  pid_t group;

  dvmd_reaper_block_sigchld ();
  reaper = dvmd_reaper_new (NULL, TRUE, &error);
  g_assert_no_error (error);
  dvmd_plugins_set_processes (plugins, spawner, reaper);
  dvmd_plugin_host_spawn_async (dvmd_plugin_get_host (mapper), &command, NULL, on_spawned, &spawned);
  children = dvmd_proc_list_children ();
  g_assert_cmpuint (children->len, ==, 1);
  group = g_array_index (children, pid_t, 0);
  while (count_group (group) < 3)
    g_usleep (1000);
  dvmd_plugins_set_processes (plugins, NULL, NULL);
  g_assert_cmpuint (count_group (group), ==, 0);
  g_assert_cmpuint (dvmd_reaper_get_n_watched (reaper), ==, 0);
  while (!spawned.done)
    g_main_context_iteration (NULL, TRUE);
  g_assert_error (spawned.error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN);
  g_clear_error (&spawned.error);
  dvmd_reaper_free (reaper);
}

/* ---- the loader ---- */

static void
load_wrong (DvmdPlugins *plugins, const char *name, const char *mention)
{
  g_autofree char *file = g_strdup_printf ("plugin-%s." G_MODULE_SUFFIX, name);
  const char *path = g_test_get_filename (G_TEST_BUILT, file, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (dvmd_plugins_load_file (plugins, path, &error));
  g_assert_true (error->domain == DVM_ERROR);
  if (strstr (error->message, mention) == NULL || strstr (error->message, path) == NULL)
    g_error ("\"%s\" does not speak of \"%s\" and %s", error->message, mention, path);
}

static void
test_refusals (void)
{
  g_autoptr (DvmdPlugins) plugins = load (NULL, NULL, NULL);
  guint before = dvmd_plugins_list (plugins)->len;

  load_wrong (plugins, "missing-symbol", "function_that_nobody_has");
  load_wrong (plugins, "no-info", "does not export dvmd_plugin_info");
  load_wrong (plugins, "wrong-abi", "version 3 of the plugin interface, and this is version 2");
  load_wrong (plugins, "wrong-kind", "there is no kind 77");
  load_wrong (plugins, "wrong-name", "small letters");
  load_wrong (plugins, "wrong-size", "are right");
  load_wrong (plugins, "no-words", "declares the words");
  load_wrong (plugins, "wrong-variables", "a mapper has no variables");
  load_wrong (plugins, "wrong-words", "must be written");
  load_wrong (plugins, "does-not-exist", "no regular file");
  g_assert_cmpuint (dvmd_plugins_list (plugins)->len, ==, before);
}

static void
test_wrong_type (void)
{
  g_autoptr (DvmdPlugins) plugins = load (NULL, NULL, NULL);

  load_wrong (plugins, "wrong-type", "no class that derives from DvmdLauncher");
}

static void
test_good (void)
{
  g_autofree char *good = g_test_build_filename (G_TEST_BUILT, "plugin-good." G_MODULE_SUFFIX, NULL);

  /* Two DVMs in one process share the code, and have each a plugin of their own. */
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (DvmdPlugins) plugins = load (i == 0 ? NULL : "mapper-mistake", NULL, NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (GVariant) rows = NULL;
      g_autofree char *text = NULL;

      g_assert_true (dvmd_plugins_load_file (plugins, good, &error));
      g_assert_no_error (error);
      load_wrong (plugins, "good", "the mapper \"mistake\" is taken from");
      g_assert_cmpuint (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER)->len, ==, i == 0 ? 3 : 2);
      rows = g_variant_ref_sink (dvmd_plugins_to_variant (plugins));
      text = g_variant_print (rows, FALSE);
      g_assert_nonnull (strstr (text, i == 0 ? "'active': <true>, 'path': <'/" : "'active': <false>, 'path': <'/"));
      g_assert_nonnull (strstr (text, "{'kind': <'mapper'>, 'name': <'round-robin'>, 'description': <'"));
      g_assert_nonnull (strstr (text, "'words': <['slot', 'node']>"));
    }
}

static void
test_directory (void)
{
  g_autofree char *dir = g_dir_make_tmp ("dvm-plugins-XXXXXX", NULL);
  g_autofree char *broken = g_build_filename (dir, "broken.so", NULL);
  g_autofree char *other = g_build_filename (dir, "README", NULL);
  g_autofree char *path = g_strdup_printf ("/does/not/exist::%s", dir);
  const DvmdPluginsSettings settings = { .path = path, .disabled = SCRIPTED };
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdPlugins) plugins = NULL;

  g_assert_true (g_file_set_contents (broken, "\177ELF and nothing else", -1, NULL));
  g_assert_true (g_file_set_contents (other, "no plugin", -1, NULL));
  plugins = dvmd_plugins_new (&settings, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER)->len, ==, 2);
  g_assert_false (dvmd_plugins_load_file (plugins, broken, &error));
  g_assert_nonnull (strstr (error->message, "cannot be opened"));
  g_unlink (broken);
  g_unlink (other);
  g_rmdir (dir);
}

static void
test_settings (void)
{
  const char *const wrong[] = { "x", "x=1", ".y=1", "mapper-x.=1", "'open" };
  g_autoptr (DvmdPlugins) plugins = dvmd_plugins_new (&(DvmdPluginsSettings){ .settings = NULL }, NULL);
  g_autoptr (GError) unknown = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      const DvmdPluginsSettings settings = { .settings = wrong[i] };
      g_autoptr (GError) error = NULL;

      g_assert_null (dvmd_plugins_new (&settings, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
      g_assert_true (g_str_has_prefix (error->message, "plugin-settings: "));
    }
  g_assert_true (dvmd_plugins_check_settings (plugins, "", &unknown));
  g_assert_true (dvmd_plugins_check_settings (plugins, "launcher-ssh.prefix='b c' mapper-test.any=e", &unknown));
  g_assert_no_error (unknown);
  g_assert_false (dvmd_plugins_check_settings (plugins, "mapper-test.any=e mapper-nix.a='b c'", &unknown));
  g_assert_error (unknown, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_true (g_str_has_prefix (unknown->message, "plugin-settings: mapper-nix.a is for nobody"));
}

/* Each but those of the tests, which are like a site's: these take any. */
static void
test_unknown_settings (void)
{
  static const char *const without =
      "allocator-hosts launcher-bootstrap mapper-colocate mapper-object mapper-pe-list mapper-ppr mapper-rank-file "
      "mapper-round-robin mapper-seq";
  g_autoptr (DvmdPlugins) plugins = dvmd_plugins_new (&(DvmdPluginsSettings){ .settings = NULL }, NULL);
  g_auto (GStrv) bare = g_strsplit (without, " ", -1);
  GPtrArray *entries = dvmd_plugins_list (plugins);

  for (guint i = 0; i < entries->len; i++)
    {
      const DvmdPluginInfo *info = ((const DvmdPluginEntry *)g_ptr_array_index (entries, i))->info;
      g_autofree char *id = g_strdup_printf ("%s-%s", dvmd_plugin_kind_to_string (info->kind), info->name);
      g_autofree char *setting = g_strdup_printf ("%s.no-such=1", id);
      gboolean is_bare = g_strv_contains ((const char *const *)bare, id);
      g_autofree char *told = is_bare ? g_strdup_printf ("%s.no-such is for nobody: %s has no settings", id, id)
                                      : g_strdup_printf ("there is no setting %s.no-such; there are ", id);
      g_autoptr (GError) error = NULL;

      if (strstr (SCRIPTED, id) != NULL && strstr (id, "slurm") == NULL)
        continue;
      g_assert_false (dvmd_plugins_check_settings (plugins, setting, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
      g_assert_nonnull (strstr (error->message, told));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plugins/round-robin", test_round_robin);
  g_test_add_func ("/plugins/ppr", test_ppr);
  g_test_add_func ("/plugins/map-errors", test_map_errors);
  g_test_add_func ("/plugins/decline", test_decline);
  g_test_add_func ("/plugins/words", test_words);
  g_test_add_func ("/plugins/own-words", test_own_words);
  g_test_add_func ("/plugins/wishes", test_wishes);
  g_test_add_func ("/plugins/hardware", test_hardware);
  g_test_add_func ("/plugins/cpusets", test_cpusets);
  g_test_add_func ("/plugins/allocator", test_allocator);
  g_test_add_func ("/plugins/hosts-allocator", test_hosts_allocator);
  g_test_add_func ("/plugins/launcher", test_launcher);
  g_test_add_func ("/plugins/host", test_host);
  g_test_add_func ("/plugins/host-ends", test_host_ends);
  g_test_add_func ("/plugins/refusals", test_refusals);
  g_test_add_func ("/plugins/good", test_good);
  g_test_add_func ("/plugins/wrong-type", test_wrong_type);
  g_test_add_func ("/plugins/directory", test_directory);
  g_test_add_func ("/plugins/settings", test_settings);
  g_test_add_func ("/plugins/unknown-settings", test_unknown_settings);
  return g_test_run ();
}
