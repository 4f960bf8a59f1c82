/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The mappers that have the word are asked one after another, and the answer is checked.
 */

#include "config.h"

#include "dvmd-map-driver.h"

#include <string.h>

#include "dvm-hosts-private.h"
#include "dvm-job-spec-private.h"
#include "dvmd-map-binding.h"
#include "dvmd-map-check.h"
#include "dvmd-map-offer.h"
#include "dvmd-map-words.h"

/* The masks of the interface are the numbers of the library. */
G_STATIC_ASSERT (DVMD_RANK_BY_SPAN == 1 << DVM_RANK_BY_SPAN);
G_STATIC_ASSERT (DVMD_BIND_TO_PACKAGE == 1 << DVM_BIND_TO_PACKAGE);

/* A plugin's error keeps its message, but not its code. */
static void
take_error (DvmdMapper *mapper, GError *local, GError **error)
{
  if (local == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%s has failed and does not say why",
                 G_OBJECT_TYPE_NAME (mapper));
  else
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, local->message);
  g_clear_error (&local);
}

/* ---- asking ---- */

/* One question: words and request are those that the mapper sees. */
typedef struct
{
  GPtrArray *mappers;
  const DvmdMapWishes *wishes;
  const DvmdMapTopologies *topologies; /* (nullable) */
  gboolean others;                     /* other jobs have cpus of some node */
  DvmPlacement *placement;
  DvmdMapPolicy policy;
  DvmdMapOffer offer; /* of devices */
  char *word;         /* of the policy, in full */
  DvmdMapRequest request;
  DvmdMapNode *own_nodes; /* (nullable): those of the request, if some are left out */
  guint32 *own_limits;    /* likewise */
  char *passed_over;      /* (nullable): which nodes processes cannot be bound on, and why */
  char *unbound;          /* (nullable): why the binding was left out that the job would have */
} Question;

static void
question_clear (Question *self)
{
  g_clear_pointer (&self->placement, _dvm_placement_free);
  dvmd_map_offer_clear (&self->offer);
  g_clear_pointer (&self->word, g_free);
  g_clear_pointer (&self->own_nodes, g_free);
  g_clear_pointer (&self->own_limits, g_free);
  g_clear_pointer (&self->passed_over, g_free);
  g_clear_pointer (&self->unbound, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Question, question_clear)

/* Slots that nobody has given may be passed on single nodes, although they do for the job: cpus may be too few for it
 * all the same, as where they are given. */
static gboolean
exceeds_slots (const DvmdMapRequest *request)
{
  guint64 slots = 0;

  for (guint i = 0; i < request->n_nodes; i++)
    slots += request->nodes[i].limit;
  return request->oversubscribe && dvmd_map_check_sum_of_np (request) > slots;
}

/* A job that may have more processes than slots has no binding by default, nor one on nodes that share cpus; this one
 * has not asked for that. */
static void
explain_unbound (Question *self)
{
  const DvmPlacement *placement = self->placement;
  DvmdMapWishes apart = *self->wishes;

  apart.binds = apart.binds || apart.shares_cpus;
  if (self->policy.bind_to == DVMD_BIND_TO_NONE && !apart.oversubscribe && placement->oversubscribe != TRUE
      && dvmd_map_defaults_settle (placement, &apart, FALSE, dvmd_map_check_sum_of_np (&self->request)).bind_to
             > DVMD_BIND_TO_NONE)
    self->unbound = g_strdup (apart.shares_cpus ? "its nodes are parts of one machine" : "more processes than slots");
}

/* The policy of the words is put into the request. */
static gboolean
question_init (Question *self, GPtrArray *mappers, const DvmdMapWishes *wishes, const DvmdMapRequest *request,
               GError **error)
{
  const DvmdMapPolicy *policy = &self->policy;
  gboolean oversubscribe;

  *self = (Question){ .mappers = mappers, .wishes = wishes, .request = *request };
  self->placement = _dvm_placement_parse (wishes->map_by, wishes->rank_by, wishes->bind_to, "", error);
  if (self->placement == NULL)
    return FALSE;
  oversubscribe = wishes->oversubscribe || exceeds_slots (request) || self->placement->oversubscribe == TRUE;
  self->policy = dvmd_map_defaults_settle (self->placement, wishes, oversubscribe, dvmd_map_check_sum_of_np (request));
  explain_unbound (self);
  self->request.rank_by = policy->rank_by;
  self->request.bind_to = policy->bind_to;
  self->request.bind_flags = policy->bind_flags;
  self->request.bind_limit = policy->bind_limit;
  self->request.bind_is_default = policy->bind_is_default;
  self->request.pe = policy->pe;
  self->request.cpus = policy->cpus;
  self->request.file = wishes->file;
  self->request.file_name = wishes->file_name;
  self->request.np_is_counted = wishes->np_is_counted;
  self->word = dvmd_map_words_find (mappers, policy->word, policy->word_is_default ? NULL : error);
  /* The mappers of this DVM may not place by objects. */
  if (self->word == NULL && policy->word_is_default)
    {
      self->word = dvmd_map_words_find (mappers, "slot", error);
      if (policy->bind_is_optional)
        self->request.bind_to = DVMD_BIND_TO_NONE;
    }
  return self->word != NULL;
}

static gboolean
check_wishes (DvmdMapper *mapper, DvmdMapRequest *request, gboolean rank_given, GError **error)
{
  const DvmdPluginInfo *info = dvmd_plugin_get_info (mapper);
  const char *what = NULL;

  if (((request->bind_to | request->bind_flags) & ~(info->bindings | DVMD_BIND_TO_NONE)) != 0)
    what = "bind-to";
  /* The job has not asked for it. */
  if (what != NULL && request->bind_is_default && request->bind_flags == 0)
    {
      request->bind_to = DVMD_BIND_TO_NONE;
      what = NULL;
    }
  if ((request->rank_by & ~(info->rankings | DVMD_RANK_BY_SLOT)) != 0 && rank_given)
    what = "rank-by";
  else if ((request->rank_by & ~(info->rankings | DVMD_RANK_BY_SLOT)) != 0)
    request->rank_by = 0;
  if (what == NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s: the mapper “%s” cannot do that for “%s”", what,
               info->name, request->word);
  return FALSE;
}

/* The request as this mapper is to see it: words own what it borrows. */
static gboolean
prepare (Question *self, DvmdMapper *mapper, DvmdMapRequest *request, DvmdMapWords *words, GError **error)
{
  if (!dvmd_map_words_fill (words, mapper, self->word, self->placement, error))
    return FALSE;
  request->word = words->word;
  request->value = words->value;
  request->arguments = (const char *const *)words->arguments;
  request->qualifiers = (const char *const *)words->qualifiers;
  return check_wishes (mapper, request, self->placement->rank_given, error);
}

/* (nullable): the first of them that has it */
static DvmdMapper *
find_mapper (GPtrArray *mappers, const char *word)
{
  for (guint i = 0; i < mappers->len; i++)
    if (dvmd_map_words_declared (mappers->pdata[i], word) != NULL)
      return mappers->pdata[i];
  return NULL;
}

/* ---- nodes ---- */

/* Nodes that the job is not to use are not offered. */
static gboolean
leave_out_local (Question *self, GError **error)
{
  const DvmdMapRequest *given = &self->request;
  guint32 *limits = NULL;
  guint n = 0;

  if (!self->placement->nolocal)
    return TRUE;
  self->own_nodes = g_new (DvmdMapNode, given->n_nodes);
  if (given->app_limits != NULL)
    self->own_limits = limits = g_new (guint32, (gsize)given->n_apps * given->n_nodes);
  for (guint node = 0; node < given->n_nodes; node++)
    if (!given->nodes[node].is_local)
      self->own_nodes[n++] = given->nodes[node];
  for (guint app = 0; limits != NULL && app < given->n_apps; app++)
    for (guint node = 0; node < given->n_nodes; node++)
      if (!given->nodes[node].is_local)
        *limits++ = given->app_limits[(gsize)app * given->n_nodes + node];
  self->request.nodes = self->own_nodes;
  self->request.app_limits = self->own_limits;
  self->request.n_nodes = n;
  if (n > 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "map-by: “nolocal” leaves no node: the job may use this machine alone");
  return FALSE;
}

/* The nodes have the devices that the job asks for; where none is, nothing is placed. */
static void
offer_devices (Question *self)
{
  dvmd_map_offer_init (&self->offer, self->placement);
  if (self->offer.wish == NULL || self->topologies == NULL || self->topologies->get_topology == NULL)
    return;
  if (self->own_nodes == NULL)
    self->own_nodes = g_memdup2 (self->request.nodes, self->request.n_nodes * sizeof (DvmdMapNode));
  self->request.nodes = self->own_nodes;
  dvmd_map_offer_devices (&self->offer, self->own_nodes, self->request.n_nodes, self->topologies);
}

/* (transfer full) (nullable): why no process can be bound there; NULL: some can */
static char *
why_not_bound (const DvmdMapRequest *request, const DvmdMapNode *node)
{
  DvmdObjectKind kind = dvmd_map_check_kind_of (request->bind_to);

  if (node->topology == NULL || dvmd_map_topology_get_n_objects (node->topology, DVMD_OBJECT_NODE) == 0)
    return g_strdup_printf ("the hardware of node %s is not known", node->name);
  if (dvmd_map_topology_get_n_objects (node->topology, kind) == 0)
    return g_strdup_printf ("node %s has no %s", node->name, dvmd_map_defaults_name_binding (request->bind_to));
  return NULL;
}

/* The nodes on which no process can be bound. (transfer full): a flag for each. reason (out): of the first one */
static gboolean *
find_unfit (const DvmdMapRequest *request, guint *n_unfit, char **reason)
{
  gboolean *unfit = g_new0 (gboolean, request->n_nodes);
  const DvmdMapTopology *last = NULL;

  *n_unfit = 0;
  for (guint i = 0; i < request->n_nodes; i++)
    {
      const DvmdMapNode *node = &request->nodes[i];

      if (node->topology != NULL && node->topology == last)
        unfit[i] = unfit[i - 1];
      else
        {
          g_autofree char *why = why_not_bound (request, node);

          unfit[i] = why != NULL;
          if (why != NULL && *reason == NULL)
            *reason = g_steal_pointer (&why);
        }
      last = node->topology;
      *n_unfit += unfit[i];
    }
  return unfit;
}

/* They keep their places, which files may count: but they take nothing. */
static void
pass_over (Question *self, const gboolean *unfit)
{
  if (self->own_nodes == NULL)
    self->own_nodes = g_memdup2 (self->request.nodes, self->request.n_nodes * sizeof (DvmdMapNode));
  self->request.nodes = self->own_nodes;
  for (guint i = 0; i < self->request.n_nodes; i++)
    if (unfit[i])
      self->own_nodes[i].limit = self->own_nodes[i].most = 0;
}

/* How many processes a node may get when nobody has said what to bind them to. */
static guint64
expected_on_node (const Question *self, const DvmdMapNode *node)
{
  const DvmdMapRequest *request = &self->request;
  guint64 np = dvmd_map_check_sum_of_np (request);

  if (strcmp (self->word, "slot") == 0)
    return node->limit;
  if (strcmp (self->word, "node") == 0)
    return MIN (node->limit, MAX (np / request->n_nodes, 1));
  return 0;
}

/* Nodes that are offered with more slots than cpus are meant to be shared by more processes than cpus. */
static gboolean
is_overloaded (const Question *self)
{
  const DvmdMapRequest *request = &self->request;

  for (guint i = 0; i < request->n_nodes; i++)
    {
      guint64 expected = expected_on_node (self, &request->nodes[i]);
      g_autoptr (DvmdMapRoom) room = NULL;
      guint32 n;
      const DvmdMapObject *objects;

      if (expected == 0)
        continue;
      room = dvmd_map_node_get_room (&request->nodes[i], request->cpus);
      objects = room != NULL ? dvmd_map_room_get_objects (room, DVMD_OBJECT_NODE, &n) : NULL;
      if (objects != NULL && expected > objects[0].n_free)
        return TRUE;
    }
  return FALSE;
}

/* The job does not say by core: without a binding it is by slot then. */
static gboolean
is_left_to_us (const Question *self)
{
  return self->policy.word_is_default && self->placement->pe == 0 && self->placement->rank_by < DVM_RANK_BY_FILL;
}

/* The job says how many processes a node has: by its slots, by their number for each object, or one by one. */
static gboolean
says_how_many (const Question *self)
{
  static const char *const counting[] = { "slot", "node", "ppr", "seq", "rankfile", NULL };

  return self->placement->pe == 0 && g_strv_contains (counting, self->word);
}

static void
leave_binding_out (Question *self, const char *why)
{
  self->request.bind_to = DVMD_BIND_TO_NONE;
  g_free (self->unbound);
  self->unbound = g_strdup (why);
  if (!is_left_to_us (self))
    return;
  g_free (self->word);
  self->word = g_strdup ("slot");
  self->request.rank_by = self->placement->rank_given ? self->policy.rank_by : DVMD_RANK_BY_SLOT;
}

/* The job says what is to be in a node, to be bound to or to be put on: other nodes are not for it. */
static gboolean
asks_for_object (const Question *self)
{
  return !self->policy.bind_is_optional || self->policy.by_device
         || (self->policy.map_object != 0 && !self->policy.word_is_default);
}

/*
 * Nodes without what the job asks for are passed over, and it is an error if none is left. A binding that nobody has
 * asked for is left out where it is not possible.
 */
static gboolean
settle_binding (Question *self, GError **error)
{
  const DvmdMapPolicy *policy = &self->policy;
  g_autofree gboolean *unfit = NULL;
  g_autofree char *reason = NULL;
  guint n_unfit = 0;

  if (self->request.bind_to > DVMD_BIND_TO_NONE)
    unfit = find_unfit (&self->request, &n_unfit, &reason);
  if (n_unfit > 0 && n_unfit == self->request.n_nodes && !policy->bind_is_optional)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "bind-to: %s%s", reason,
                   n_unfit > 1 ? ", nor can processes be bound so on another node of the job" : "");
      return FALSE;
    }
  if (n_unfit > 0 && n_unfit < self->request.n_nodes && asks_for_object (self))
    {
      pass_over (self, unfit);
      self->passed_over = n_unfit > 1 ? g_strdup_printf ("%u nodes were passed over: %s", n_unfit, reason)
                                      : g_strdup_printf ("one node was passed over: %s", reason);
    }
  else if (n_unfit > 0)
    leave_binding_out (self, reason);
  if (self->request.bind_to > DVMD_BIND_TO_NONE && policy->bind_is_default && self->placement->pe == 0
      && is_overloaded (self))
    leave_binding_out (self, "more slots than free cpus");
  return TRUE;
}

/* ---- the answer ---- */

/* The map shows how the job was placed: by the words of the job, and by the defaults where it has none. */
static void
note_words (const Question *self, const DvmdMapRequest *request, DvmdMap *map, DvmdBindingPolicy *policy)
{
  static const char *const rankings[] = { "slot", "node", "fill", "span" };
  const char *said = self->wishes->map_by != NULL ? self->wishes->map_by : "";
  g_autofree char *map_by = g_strconcat (self->policy.word_is_default ? self->word : "", said, NULL);
  int ranking = MAX (g_bit_nth_lsf (request->rank_by, -1), 0);

  policy->map_by = dvmd_map_add_cpuset (map, map_by) + 1;
  policy->rank_by = dvmd_map_add_cpuset (map, rankings[ranking]) + 1;
}

static void
set_binding (const Question *self, DvmdMap *map, const DvmdMapRequest *request)
{
  const char *devices = self->offer.wish;
  DvmdBindingPolicy policy = { .bind_to = dvmd_map_check_kind_of (request->bind_to), .pe = request->pe };

  if (policy.bind_to != DVMD_KIND_NODE)
    {
      if (request->cpus == DVMD_CPUS_HWTHREAD)
        policy.flags |= DVMD_BINDING_HWTHREADS;
      if ((request->bind_flags & DVMD_BIND_OVERLOAD) != 0)
        policy.flags |= DVMD_BINDING_OVERLOAD;
      if (self->placement->pe > 0)
        policy.flags |= DVMD_BINDING_PE;
      policy.limit = request->bind_limit;
    }
  if (devices != NULL)
    policy.devices = dvmd_map_add_cpuset (map, devices) + 1;
  note_words (self, request, map, &policy);
  dvmd_map_set_policy (map, 0, &policy);
  if (policy.bind_to == DVMD_KIND_NODE)
    return;
  for (guint i = 0; i < request->n_nodes; i++)
    if (request->nodes[i].in_use != NULL && dvmd_map_count_on_node (map, request->nodes[i].rank) > 0)
      {
        g_autofree char *cpus = dvmd_cpuset_to_list (request->nodes[i].in_use);

        dvmd_map_exclude (map, request->nodes[i].rank, cpus);
      }
}

static const char *
name_of_node (const DvmdMapRequest *request, guint rank)
{
  guint i = 0;

  while (i < request->n_nodes && request->nodes[i].rank != rank)
    i++;
  return i < request->n_nodes ? request->nodes[i].name : "";
}

/* The processes of a map get their cpus later, on each node: that they can is seen to here. */
static gboolean
check_binding (const Question *self, DvmdMap *map, GError **error)
{
  g_autoptr (DvmdMapBinder) binder = dvmd_map_binder_new (map);
  g_autoptr (GArray) nodes = NULL;

  if (!dvmd_map_binds (map) || self->topologies == NULL || self->topologies->get_topology == NULL)
    return TRUE;
  nodes = dvmd_map_get_nodes (map);
  for (guint i = 0; i < nodes->len; i++)
    {
      guint rank = g_array_index (nodes, guint, i);
      DvmdTopology *topology = self->topologies->get_topology (rank, self->topologies->user_data);
      g_autoptr (GPtrArray) cpus = NULL;

      if (topology == NULL)
        g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "bind-to: the hardware of node %s is not known",
                     name_of_node (&self->request, rank));
      else
        cpus = dvmd_map_binder_bind (binder, rank, topology, error);
      if (cpus != NULL)
        continue;
      if (topology != NULL)
        g_prefix_error (error, "node %s: ", name_of_node (&self->request, rank));
      return FALSE;
    }
  return TRUE;
}

/* (transfer full) (nullable): the map, if it is right */
static DvmdMap *
take_answer (const Question *self, DvmdMapper *mapper, const DvmdMapRequest *asked, DvmdPlacement *placement,
             GError **error)
{
  g_autoptr (DvmdMap) map = dvmd_map_check_answer (mapper, asked, placement, error);

  if (map == NULL)
    return NULL;
  set_binding (self, map, asked);
  if (!dvmd_map_binds (map))
    map->unbound = g_strdup (self->unbound);
  return check_binding (self, map, error) ? g_steal_pointer (&map) : NULL;
}

/* The mappers that have the word are asked, until one does not decline. */
static DvmdMap *
ask_mappers (Question *self, GError **error)
{
  GError *local = NULL;

  for (guint i = 0; local == NULL && i < self->mappers->len; i++)
    {
      DvmdMapper *mapper = g_ptr_array_index (self->mappers, i);
      g_autoptr (DvmdPlacement) placement = dvmd_placement_new ();
      g_auto (DvmdMapWords) words = { 0 };
      DvmdMapRequest asked = self->request;
      DvmdPluginVerdict verdict = DVMD_PLUGIN_FAILED;

      if (dvmd_map_words_declared (mapper, self->word) == NULL)
        continue;
      if (prepare (self, mapper, &asked, &words, &local))
        verdict = dvmd_mapper_map (mapper, &asked, placement, &local);
      if (verdict == DVMD_PLUGIN_DONE && local == NULL)
        return take_answer (self, mapper, &asked, placement, error);
      if (verdict != DVMD_PLUGIN_DECLINED || local != NULL)
        {
          take_error (mapper, local, error);
          return NULL;
        }
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "No mapper takes “map-by” %s: “dvm-cli plugins” shows which there are",
               self->wishes->map_by != NULL ? self->wishes->map_by : self->word);
  return NULL;
}

/* Whether the job would have its place if no other one had cpus. */
static gboolean
others_are_in_the_way (const Question *self)
{
  g_autofree DvmdMapNode *nodes = g_memdup2 (self->request.nodes, self->request.n_nodes * sizeof (DvmdMapNode));
  g_autoptr (DvmdMap) map = NULL;
  Question alone = *self;

  for (guint i = 0; i < alone.request.n_nodes; i++)
    nodes[i].in_use = NULL;
  alone.request.nodes = nodes;
  if (self->others)
    map = ask_mappers (&alone, NULL);
  return map != NULL;
}

/* error: what was wrong with the binding */
static const char *
find_why (const Question *self, gboolean others, const GError *error)
{
  if (g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED))
    return error->message;
  if (others)
    return "other jobs have the cpus";
  return self->policy.by_device ? "more processes than cpus near their devices" : "more processes than cpus";
}

/* Without the binding, where nobody has asked for it; error is what was wrong with it. (transfer full) (nullable) */
static DvmdMap *
map_unbound (Question *self, gboolean others, GError **error)
{
  g_autoptr (GError) local = NULL;
  DvmdMap *map;

  leave_binding_out (self, find_why (self, others, *error));
  map = ask_mappers (self, &local);
  if (map == NULL && is_left_to_us (self))
    {
      g_clear_error (error);
      g_propagate_error (error, g_steal_pointer (&local));
    }
  return map;
}

/*
 * Cpus of their own are for the processes of a job while there are some. A job that has asked for no binding may use
 * all of its slots without, also where these are more than the cpus.
 */
static DvmdMap *
answer_question (Question *self, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (DvmdMap) map = ask_mappers (self, &local);

  if (map == NULL && self->policy.bind_is_optional && self->request.bind_to > DVMD_BIND_TO_NONE)
    {
      gboolean others = others_are_in_the_way (self);

      if (others || is_left_to_us (self) || says_how_many (self) || self->policy.by_device)
        map = map_unbound (self, others, &local);
    }
  if (map == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return g_steal_pointer (&map);
}

/* ---- questions ---- */

static gboolean
check_size (const DvmdMapRequest *request, GError **error)
{
  guint64 np = dvmd_map_check_sum_of_np (request);

  if (request->n_nodes > 0 && np <= DVMD_MAP_MAX_PROCS)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%" G_GUINT64_FORMAT " process%s cannot be placed on %u node%s",
               np, np == 1 ? "" : "es", request->n_nodes, request->n_nodes == 1 ? "" : "s");
  return FALSE;
}

static gboolean
have_cpus_in_use (const DvmdMapRequest *request)
{
  for (guint i = 0; i < request->n_nodes; i++)
    if (request->nodes[i].in_use != NULL)
      return TRUE;
  return FALSE;
}

/* A file without a line, or so many for each of an object that no node has, make a job without a process. */
static gboolean
check_number (const Question *self, GError **error)
{
  const char *file = self->wishes->file_name;
  gboolean has_file = self->wishes->file != NULL && file != NULL;
  char **arguments = self->placement->arguments;
  const char *counted = strcmp (self->word, "ppr") == 0 && arguments != NULL ? arguments[1] : "object that is counted";

  for (guint i = 0; i < self->request.n_apps; i++)
    if (self->request.app_np[i] == 0)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "map-by: “%s” gives the job no process: %s%s", self->word,
                     has_file ? file : "none of its nodes has a ", has_file ? " names none" : counted);
        return FALSE;
      }
  return TRUE;
}

static gboolean
prepare_nodes (Question *self, const DvmdMapTopologies *topologies, GError **error)
{
  self->topologies = topologies;
  if (!leave_out_local (self, error))
    return FALSE;
  offer_devices (self);
  return settle_binding (self, error);
}

/* others: other jobs have cpus of some node. */
static DvmdMap *
map_alike (GPtrArray *mappers, const DvmdMapWishes *wishes, const DvmdMapRequest *request,
           const DvmdMapTopologies *topologies, gboolean others, GError **error)
{
  g_auto (Question) self = { 0 };
  GError *local = NULL;
  DvmdMap *map = NULL;

  if (question_init (&self, mappers, wishes, request, &local) && prepare_nodes (&self, topologies, &local)
      && check_number (&self, &local))
    {
      self.others = others;
      map = answer_question (&self, &local);
    }
  if (map != NULL)
    return map;
  /* The only node has no devices for the job: the mapper, which sees none, would say that there are none. */
  if (self.offer.reason != NULL && local != NULL && self.request.n_nodes == 1)
    {
      g_free (local->message);
      local->message = g_strdup (self.offer.reason);
    }
  else if (self.offer.reason != NULL && local != NULL)
    g_prefix_error (&local, "%s; ", self.offer.reason);
  if (self.passed_over != NULL && local != NULL)
    {
      g_autofree char *message = g_steal_pointer (&local->message);

      local->message = g_strdup_printf ("%s; %s", message, self.passed_over);
    }
  take_error (NULL, local, error);
  return NULL;
}

DvmdMap *
dvmd_map_driver_map (GPtrArray *mappers, const DvmdMapWishes *wishes, const DvmdMapRequest *request,
                     const DvmdMapTopologies *topologies, GError **error)
{
  if (!check_size (request, error))
    return NULL;
  return map_alike (mappers, wishes, request, topologies, have_cpus_in_use (request), error);
}

static DvmdMap *
map_part (DvmdMapParts *parts, GPtrArray *mappers, gboolean others, GError **error)
{
  DvmdMap *map = map_alike (mappers, &parts->wishes, &parts->request, parts->apps->topologies, others, error);

  if (map == NULL && !dvmd_map_parts_is_only (parts))
    g_prefix_error (error, "apps[%u]: ", parts->first_app);
  return map;
}

static DvmdMap *
map_parts (GPtrArray *mappers, const DvmdMapApps *apps, const DvmdMapRequest *request, gboolean apart, GError **error)
{
  gboolean others = have_cpus_in_use (request);
  g_auto (DvmdMapParts) parts = { 0 };

  dvmd_map_parts_init (&parts, apps, request, apart);
  while (dvmd_map_parts_next (&parts))
    {
      g_autoptr (DvmdMap) map = NULL;

      if (dvmd_map_parts_is_only (&parts))
        return dvmd_map_driver_map (mappers, &parts.wishes, request, apps->topologies, error);
      if (parts.first_app == 0 && !check_size (request, error))
        return NULL;
      map = map_part (&parts, mappers, others, error);
      if (map == NULL || !dvmd_map_parts_take (&parts, map, error))
        return NULL;
    }
  return g_steal_pointer (&parts.map);
}

/* Applications have cores of their own as long as there are enough of them. */
DvmdMap *
dvmd_map_driver_map_apps (GPtrArray *mappers, const DvmdMapApps *apps, const DvmdMapRequest *request, GError **error)
{
  DvmdMap *map = map_parts (mappers, apps, request, FALSE, error);
  DvmdMap *apart = NULL;

  if (map != NULL && dvmd_map_parts_share_cores (map, request->n_apps))
    apart = map_parts (mappers, apps, request, TRUE, NULL);
  /* Programs that share cores are better off than programs without a binding. */
  if (apart == NULL || (apart->unbound != NULL && map->unbound == NULL))
    {
      g_clear_pointer (&apart, dvmd_map_free);
      return map;
    }
  dvmd_map_free (map);
  return apart;
}

/* ---- of a job ---- */

static void
fill_node (DvmdMapNode *offered, const DvmdPlaces *places, guint i)
{
  const DvmdNode *node = places->nodes[i];

  *offered = (DvmdMapNode){
    .name = dvm_node_get_name (node->record),
    .rank = node->rank,
    .slots = node->slots,
    .slots_max = node->slots_max,
    .slots_in_use = node->slots_in_use,
    .limit = places->limits[i],
    .most = places->most[i],
    .signature = dvm_node_get_topology (node->record),
    .aliases = dvm_node_get_aliases (node->record),
  };
}

/* Like nodes follow each other more often than not. */
static void
fill_topologies (DvmdMapNode *nodes, guint n_nodes, const DvmdMapTopologies *topologies)
{
  for (guint i = 0; i < n_nodes; i++)
    if (i > 0 && g_strcmp0 (nodes[i].signature, nodes[i - 1].signature) == 0)
      nodes[i].topology = nodes[i - 1].topology;
    else if (nodes[i].signature != NULL)
      nodes[i].topology = topologies->find (nodes[i].signature, topologies->user_data);
}

/* (transfer full) (nullable): beside which processes the job is to be */
static DvmdMapBeside *
describe_beside (const DvmdPlaces *places, DvmdMapRequest *request)
{
  g_autoptr (GHashTable) indexes = NULL;
  DvmdMapBeside *beside;

  if (places->beside == NULL)
    return NULL;
  indexes = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < places->n_nodes; i++)
    g_hash_table_insert (indexes, GUINT_TO_POINTER (places->nodes[i]->rank), GUINT_TO_POINTER (i));
  beside = g_new (DvmdMapBeside, places->beside->len);
  for (guint i = 0; i < places->beside->len; i++)
    {
      const DvmdMapShare *share = &g_array_index (places->beside, DvmdMapShare, i);

      beside[i].node = GPOINTER_TO_UINT (g_hash_table_lookup (indexes, GUINT_TO_POINTER (share->node)));
      beside[i].count = share->count;
    }
  request->beside = beside;
  request->n_beside = places->beside->len;
  return beside;
}

/* nodes (transfer full): what it borrows */
static DvmdMapRequest
describe (DvmdJob *job, const DvmdPlaces *places, const DvmdMapTopologies *topologies, DvmdMapNode **nodes)
{
  GArray *app_np = dvmd_job_get_app_np (job);
  DvmdMapRequest request = {
    .app_np = (const guint32 *)app_np->data,
    .n_apps = app_np->len,
    .n_nodes = places->n_nodes,
    .oversubscribe = places->oversubscribe,
    .app_limits = places->app_limits,
  };

  *nodes = g_new (DvmdMapNode, places->n_nodes);
  for (guint i = 0; i < places->n_nodes; i++)
    fill_node (*nodes + i, places, i);
  if (topologies != NULL)
    fill_topologies (*nodes, places->n_nodes, topologies);
  for (guint i = 0; topologies != NULL && topologies->local != NULL && i < places->n_nodes; i++)
    (*nodes)[i].is_local = _dvm_host_name_equal ((*nodes)[i].name, topologies->local);
  for (guint i = 0; topologies != NULL && topologies->get_in_use != NULL && !places->alone && i < places->n_nodes; i++)
    (*nodes)[i].in_use = topologies->get_in_use (places->nodes[i]->rank, topologies->user_data);
  for (guint i = 0;
       topologies != NULL && topologies->get_devices_in_use != NULL && !places->alone && i < places->n_nodes; i++)
    (*nodes)[i].devices_in_use = topologies->get_devices_in_use (places->nodes[i]->rank, topologies->user_data);
  request.nodes = *nodes;
  return request;
}

/*
 * (transfer full): those of each application. Whether the number of its processes was given is known from the
 * description alone.
 */
static DvmdMapWishes *
list_wishes (DvmJobSpec *spec, const DvmdMapTopologies *topologies)
{
  gboolean binds = topologies != NULL && topologies->binds && !_dvm_job_spec_is_plain (spec);
  gboolean shares_cpus = topologies != NULL && !topologies->binds && !_dvm_job_spec_is_plain (spec);
  guint n_apps = dvm_job_spec_get_n_apps (spec);
  DvmdMapWishes *wishes = g_new (DvmdMapWishes, n_apps);
  gboolean oversubscribe = _dvm_job_spec_get_when_full_policy (spec) == DVM_WHEN_FULL_OVERSUBSCRIBE;

  for (guint i = 0; i < n_apps; i++)
    {
      const DvmPlacementWords words = _dvm_job_spec_get_placement (spec, i);

      wishes[i] = (DvmdMapWishes){
        .map_by = words.map_by,
        .rank_by = words.rank_by,
        .bind_to = words.bind_to,
        .file = words.file,
        .file_name = words.file_name,
        .binds = binds,
        .shares_cpus = shares_cpus,
        .oversubscribe = oversubscribe,
        .np_is_counted = dvm_app_spec_get_np (dvm_job_spec_get_app (spec, i)) == 0,
      };
    }
  return wishes;
}

/* Whether a mapper takes the words of a part. counts (out): it gives a number to each application of np that has none
 */
static gboolean
check_alike (GPtrArray *mappers, const DvmdMapParts *part, guint32 *np, gboolean *counts, GError **error)
{
  const DvmdMapRequest nothing = { 0 };
  g_auto (Question) self = { 0 };
  g_auto (DvmdMapWords) words = { 0 };
  DvmdMapper *mapper;

  if (!question_init (&self, mappers, &part->wishes, &nothing, error))
    return FALSE;
  mapper = find_mapper (mappers, self.word);
  if (!prepare (&self, mapper, &self.request, &words, error) || !dvmd_mapper_check (mapper, &self.request, error))
    return FALSE;
  self.request.app_np = np;
  self.request.n_apps = part->request.n_apps;
  *counts = dvmd_mapper_count (mapper, &self.request, np);
  return TRUE;
}

/* An application has the slots of the nodes that are not left out, as far as others leave them. */
static gboolean
count_slots (const DvmdMapRequest *request, guint32 *np)
{
  const guint32 *limits = request->app_limits;
  g_autofree guint64 *others = dvmd_map_request_count_others (request, np);

  for (guint app = 0; others != NULL && app < request->n_apps; app++)
    {
      guint64 slots = 0;

      if (np[app] > 0)
        continue;
      for (guint node = 0; node < request->n_nodes; node++)
        slots += MIN (request->nodes[node].limit,
                      limits != NULL ? limits[(gsize)app * request->n_nodes + node] : G_MAXUINT32);
      np[app] = (guint32)MIN (slots > others[app] ? slots - others[app] : 1, G_MAXINT);
    }
  return others != NULL;
}

gboolean
dvmd_map_driver_check (GPtrArray *mappers, DvmJobSpec *spec, gboolean *counts, GError **error)
{
  g_autofree DvmdMapWishes *wishes = list_wishes (spec, NULL);
  g_autofree guint32 *np = g_new0 (guint32, dvm_job_spec_get_n_apps (spec));
  const DvmdMapApps apps = { .wishes = wishes };
  const DvmdMapRequest request = { .app_np = np, .n_apps = dvm_job_spec_get_n_apps (spec) };
  g_auto (DvmdMapParts) parts = { 0 };
  gboolean part_counts = FALSE;
  guint n_open = 0;

  for (guint i = 0; i < request.n_apps; i++)
    np[i] = dvm_app_spec_get_np (dvm_job_spec_get_app (spec, i));
  dvmd_map_parts_init (&parts, &apps, &request, FALSE);
  while (dvmd_map_parts_next (&parts))
    {
      if (!check_alike (mappers, &parts, np + parts.first_app, &part_counts, error))
        {
          if (!dvmd_map_parts_is_only (&parts))
            g_prefix_error (error, "apps[%u]: ", parts.first_app);
          return FALSE;
        }
      for (guint i = 0; !part_counts && i < parts.request.n_apps; i++)
        n_open += wishes[parts.first_app + i].np_is_counted;
    }
  *counts = n_open <= 1;
  return TRUE;
}

gboolean
dvmd_map_driver_count_procs (GPtrArray *mappers, const DvmdMapWishes *wishes, const DvmdMapRequest *request,
                             const DvmdMapTopologies *topologies, guint32 *np)
{
  g_auto (Question) self = { 0 };
  g_auto (DvmdMapWords) words = { 0 };
  DvmdMapper *mapper;

  if (!question_init (&self, mappers, wishes, request, NULL) || !prepare_nodes (&self, topologies, NULL))
    return FALSE;
  mapper = find_mapper (mappers, self.word);
  if (!prepare (&self, mapper, &self.request, &words, NULL))
    return FALSE;
  /* There are as many as slots, or devices: a binding that nobody has asked for is left out where cpus are too few. */
  if ((self.policy.by_device || is_left_to_us (&self)) && self.policy.bind_is_default && self.placement->pe == 0)
    self.request.bind_to = DVMD_BIND_TO_NONE;
  return dvmd_mapper_count (mapper, &self.request, np) || (self.own_nodes != NULL && count_slots (&self.request, np));
}

/* Parts that have all their numbers take their place first, whether it is before the others or behind them. */
static void
take_counted (DvmdMapParts *parts, GPtrArray *mappers, gboolean others)
{
  while (dvmd_map_parts_next (parts))
    {
      g_autoptr (DvmdMap) map = NULL;

      if (!parts->wishes.np_is_counted)
        map = map_part (parts, mappers, others, NULL);
      if (map != NULL)
        dvmd_map_parts_take (parts, map, NULL);
    }
  dvmd_map_parts_rewind (parts);
}

gboolean
dvmd_map_driver_count_apps (GPtrArray *mappers, const DvmdMapApps *apps, const DvmdMapRequest *request, guint32 *np)
{
  g_auto (DvmdMapParts) parts = { 0 };
  gboolean all = TRUE;

  dvmd_map_parts_init (&parts, apps, request, FALSE);
  /* Mappers place nothing where there are no nodes: all of them may be drained. */
  if (request->n_nodes > 0)
    take_counted (&parts, mappers, have_cpus_in_use (request));
  while (dvmd_map_parts_next (&parts))
    if (parts.wishes.np_is_counted
        && !dvmd_map_driver_count_procs (mappers, &parts.wishes, &parts.request, apps->topologies,
                                         np + parts.first_app))
      all = FALSE;
  return all;
}

gboolean
dvmd_map_driver_count (GPtrArray *mappers, DvmdJob *job, const DvmdPlaces *places, const DvmdMapTopologies *topologies,
                       guint32 *np)
{
  g_autofree DvmdMapWishes *wishes = list_wishes (dvmd_job_get_spec (job), topologies);
  const DvmdMapApps apps = { wishes, topologies };
  g_autofree DvmdMapNode *nodes = NULL;
  DvmdMapRequest request = describe (job, places, topologies, &nodes);
  g_autofree DvmdMapBeside *beside = describe_beside (places, &request);

  /* A job that has no number waits for all devices rather than being as large as those that are free just now. */
  for (guint i = 0; i < places->n_nodes; i++)
    nodes[i].devices_in_use = NULL;
  return dvmd_map_driver_count_apps (mappers, &apps, &request, np);
}

DvmdMap *
dvmd_map_driver_map_job (GPtrArray *mappers, DvmdJob *job, const DvmdPlaces *places,
                         const DvmdMapTopologies *topologies, GError **error)
{
  g_autofree DvmdMapWishes *wishes = list_wishes (dvmd_job_get_spec (job), topologies);
  const DvmdMapApps apps = { wishes, topologies };
  g_autofree DvmdMapNode *nodes = NULL;
  DvmdMapRequest request = describe (job, places, topologies, &nodes);
  g_autofree DvmdMapBeside *beside = describe_beside (places, &request);

  return dvmd_map_driver_map_apps (mappers, &apps, &request, error);
}
