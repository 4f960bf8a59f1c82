/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A DVM of machines that are only described, on which jobs are mapped.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-plan.h"

#include <string.h>
#include <unistd.h>

#include "dvmd-map-driver.h"
#include "dvmd-map-objects.h"

#define FIRST_NODE     "head"
#define MOST_SLOTS     G_MAXUINT16
#define MOST_XML       (16 * 1024 * 1024)
#define MOST_HWTHREADS 4096
#define MOST_CHILDREN  512
#define MOST_KINDS     64

struct _DvmdPlan
{
  GPtrArray *mappers; /* DvmdMapper */
  DvmdClock *clock;
  DvmdEventQueue *queue;
  DvmdCore *core;
  GPtrArray *topologies; /* DvmdTopology */
  GPtrArray *of_nodes;   /* DvmdTopology, by rank; borrowed */
  GHashTable *maps;      /* signature -> DvmdMapTopology */
};

static void
load_objects (DvmdMapTopology *into, gpointer topology)
{
  dvmd_map_objects_add (into, topology);
}

static DvmdMapTopology *
new_map_topology (DvmdTopology *topology)
{
  return dvmd_map_topology_new (load_objects, dvmd_topology_ref (topology), (GDestroyNotify)dvmd_topology_unref);
}

/* ---- effects ---- */

static DvmdMapTopology *
find_for_mappers (const char *signature, gpointer user_data)
{
  return g_hash_table_lookup (((DvmdPlan *)user_data)->maps, signature);
}

static DvmdTopology *
get_topology (guint rank, gpointer user_data)
{
  return dvmd_plan_find_topology (user_data, rank);
}

static DvmdMapTopologies
list_topologies (DvmdPlan *self)
{
  return (DvmdMapTopologies){
    .find = find_for_mappers, .get_topology = get_topology, .local = FIRST_NODE, .binds = TRUE, .user_data = self
  };
}

/* The agents report later, all at once. */
static void
ignore_agents (gpointer user_data, DvmdNode *const *nodes, guint n_nodes)
{
}

static void
ignore_wiring (gpointer user_data, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
}

static void
ignore_ready (gpointer user_data)
{
}

static gboolean
check_placement (gpointer user_data, DvmJobSpec *spec, gboolean *counts, GError **error)
{
  return dvmd_map_driver_check (((DvmdPlan *)user_data)->mappers, spec, counts, error);
}

static gboolean
count_procs (gpointer user_data, DvmdJob *job, const DvmdPlaces *places, guint32 *np)
{
  const DvmdMapTopologies topologies = list_topologies (user_data);

  return dvmd_map_driver_count (((DvmdPlan *)user_data)->mappers, job, places, &topologies, np);
}

static DvmdMap *
map_job (gpointer user_data, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  const DvmdMapTopologies topologies = list_topologies (user_data);

  return dvmd_map_driver_map_job (((DvmdPlan *)user_data)->mappers, job, places, &topologies, error);
}

static const DvmdEffects effects = {
  .launch_agents = ignore_agents,
  .wire_agents = ignore_wiring,
  .dvm_ready = ignore_ready,
  .placement.check = check_placement,
  .placement.count = count_procs,
  .placement.map = map_job,
};

/* ---- the machines ---- */

static gboolean
is_xml (const char *text)
{
  return text[strspn (text, " \t\r\n")] == '<';
}

static guint64
count_in_xml (const char *text)
{
  guint64 n = 0;

  while ((text = strstr (text, "type=\"PU\"")) != NULL)
    {
      n++;
      text++;
    }
  return n;
}

/* children (out): the most of one object. Attributes in parentheses do not count. */
static guint64
count_in_levels (const char *text, guint64 *children)
{
  guint64 n = 1;
  guint depth = 0;

  *children = 1;
  for (const char *c = text; *c != '\0' && n <= MOST_HWTHREADS;)
    if (depth == 0 && g_ascii_isdigit (*c) && (c == text || strchr (": ", c[-1]) != NULL))
      {
        guint64 number = g_ascii_strtoull (c, (char **)&c, 10);

        number = CLAMP (number, 1, MOST_HWTHREADS + 1);
        *children = MAX (*children, number);
        n *= number;
      }
    else
      {
        depth += *c == '(';
        depth -= *c == ')' && depth > 0;
        c++;
      }
  return n;
}

/* Levels of an object and a number each, "package:2 core:8(indexes=...)", with memory in brackets between them. */
static gboolean
looks_like_levels (const char *text)
{
  return g_regex_match_simple (
      "^\\s*(\\([^()]*\\)\\s*)?((([a-z][a-z0-9]*:)?[0-9]+(\\([^()]*\\))?|\\[[^\\]]*\\])(\\s+|$))+$", text,
      G_REGEX_CASELESS, 0);
}

/* hwloc takes minutes for what no machine is like, and its time grows with the square of the children of one object. */
static gboolean
check_text (const char *text, GError **error)
{
  guint64 children = 1;
  guint64 n = is_xml (text) ? count_in_xml (text) : count_in_levels (text, &children);

  if ((n > MOST_HWTHREADS || children > MOST_CHILDREN) && !is_xml (text) && !looks_like_levels (text))
    g_set_error_literal (
        error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
        "it is neither a description, such as “package:2 core:8 pu:2”, nor XML that lstopo has written");
  else if (n > MOST_HWTHREADS)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "a node has %d hardware threads at most", MOST_HWTHREADS);
  else if (children > MOST_CHILDREN)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "an object is made of %d others at most: describe packages and what is in them, such as “package:8 "
                 "core:64 pu:2”",
                 MOST_CHILDREN);
  else if (n == 0)
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                         "the XML describes no hardware thread (type PU) on which a process could run: write "
                         "it with “lstopo FILE.xml”, without filters");
  else
    return TRUE;
  return FALSE;
}

static DvmdTopology *
read_topology (const char *text, GError **error)
{
  g_autoptr (GError) local = NULL;
  DvmdTopology *topology = NULL;

  if (strlen (text) > MOST_XML)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "a description has %d bytes at most", MOST_XML);
  else if (!check_text (text, error))
    return NULL;
  else if (is_xml (text))
    topology = dvmd_topology_new_from_xml (text, strlen (text), &local);
  else
    topology = dvmd_topology_new_from_synthetic (text, &local);
  if (local != NULL)
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, local->message);
  return topology;
}

static gboolean
read_topologies (DvmdPlan *self, const char *const *texts, GError **error)
{
  if (texts == NULL || texts[0] == NULL)
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                           "topology: nodes that are only described need a description of their hardware, such as "
                           "“package:2 core:8 pu:2”");
      return FALSE;
    }
  if (g_strv_length ((char **)texts) > MOST_KINDS)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "topology: %d descriptions at most", MOST_KINDS);
      return FALSE;
    }
  for (gsize i = 0; texts[i] != NULL; i++)
    {
      DvmdTopology *topology = read_topology (texts[i], error);
      const char *signature;

      if (topology == NULL)
        {
          g_prefix_error (error, "topology[%zu]: ", i);
          return FALSE;
        }
      g_ptr_array_add (self->topologies, topology);
      signature = dvmd_topology_get_signature (topology);
      if (!g_hash_table_contains (self->maps, signature))
        g_hash_table_insert (self->maps, g_strdup (signature), new_map_topology (topology));
    }
  return TRUE;
}

/* ---- the nodes ---- */

/* (transfer full) (nullable): one number for each node */
static GArray *
read_slots (const char *text, guint n_nodes, GError **error)
{
  g_auto (GStrv) words = g_strsplit (text == NULL ? "0" : text[0] != '\0' ? text : "none", ",", -1);
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (guint));

  for (gsize i = 0; words[i] != NULL; i++)
    {
      guint64 number = 0;
      guint one;

      if (text != NULL
          && (slots->len >= n_nodes || !g_ascii_string_to_unsigned (words[i], 10, 1, MOST_SLOTS, &number, NULL)))
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       "slots: “%s” is no list of numbers from 1 to %u for %u node%s, such as 16 or 16,16,6", text,
                       MOST_SLOTS, n_nodes, n_nodes == 1 ? "" : "s");
          return NULL;
        }
      one = (guint)number;
      g_array_append_val (slots, one);
    }
  return g_steal_pointer (&slots);
}

static void
add_nodes (DvmdPlan *self, guint n_nodes, GArray *slots)
{
  for (guint i = 0; i < n_nodes; i++)
    {
      g_autofree char *name = i == 0 ? g_strdup (FIRST_NODE) : g_strdup_printf ("n%03u", i);
      DvmdTopology *topology = self->topologies->pdata[MIN (i, self->topologies->len - 1)];
      DvmdNode *node = dvmd_core_add_node (self->core, name, g_array_index (slots, guint, MIN (i, slots->len - 1)), 0);

      if (self->of_nodes->len <= node->rank)
        g_ptr_array_set_size (self->of_nodes, (int)node->rank + 1);
      self->of_nodes->pdata[node->rank] = topology;
    }
}

static void
drain (DvmdPlan *self)
{
  while (!dvmd_event_queue_is_empty (self->queue))
    dvmd_event_queue_drain (self->queue, 0);
}

/* All agents report at once what their machines are. */
static void
bring_up (DvmdPlan *self)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (self->core);

  dvmd_core_start (self->core);
  drain (self);
  for (guint rank = 0; rank < self->of_nodes->len; rank++)
    {
      DvmdTopology *topology = self->of_nodes->pdata[rank];

      if (topology != NULL)
        dvmd_core_agent_reported (self->core, rank,
                                  &(DvmdAgentReport){ .host = dvmd_node_pool_get_name (pool, rank),
                                                      .hwthreads = dvmd_topology_get_n_pus (topology),
                                                      .topology = dvmd_topology_get_signature (topology) });
    }
  drain (self);
  dvmd_core_agents_wired (self->core, NULL);
  drain (self);
}

DvmdPlan *
dvmd_plan_new (const DvmdPlanShape *shape, GPtrArray *mappers, GError **error)
{
  const DvmdCoreSettings settings = { .nspace = "plan", .host = FIRST_NODE, .history_limit = 1, .uid = getuid () };
  g_autoptr (DvmdPlan) self = g_new0 (DvmdPlan, 1);
  g_autoptr (GArray) slots = NULL;
  guint n_nodes;

  self->mappers = g_ptr_array_ref (mappers);
  self->topologies = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_topology_unref);
  self->of_nodes = g_ptr_array_new ();
  self->maps = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)dvmd_map_topology_free);
  self->clock = dvmd_clock_new_manual (0);
  self->queue = dvmd_event_queue_new (NULL, NULL);
  if (shape->n_nodes > DVMD_PLAN_MAX_NODES)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "nodes: %u are more than the %d that can be described",
                   shape->n_nodes, DVMD_PLAN_MAX_NODES);
      return NULL;
    }
  if (!read_topologies (self, shape->topologies, error))
    return NULL;
  n_nodes = shape->n_nodes > 0 ? shape->n_nodes : self->topologies->len;
  slots = read_slots (shape->slots, n_nodes, error);
  if (slots == NULL)
    return NULL;
  self->core = dvmd_core_new (&settings, self->clock, self->queue, &effects, self);
  add_nodes (self, n_nodes, slots);
  bring_up (self);
  return g_steal_pointer (&self);
}

void
dvmd_plan_free (DvmdPlan *self)
{
  g_clear_pointer (&self->queue, dvmd_event_queue_free);
  g_clear_object (&self->core);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  g_clear_pointer (&self->maps, g_hash_table_unref);
  g_clear_pointer (&self->of_nodes, g_ptr_array_unref);
  g_clear_pointer (&self->topologies, g_ptr_array_unref);
  g_clear_pointer (&self->mappers, g_ptr_array_unref);
  g_free (self);
}

DvmdCore *
dvmd_plan_get_core (DvmdPlan *self)
{
  return self->core;
}

DvmdTopology *
dvmd_plan_find_topology (DvmdPlan *self, guint rank)
{
  return rank < self->of_nodes->len ? self->of_nodes->pdata[rank] : NULL;
}
