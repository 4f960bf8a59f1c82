/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes to which a job may go are found from its hosts and the state of the nodes.
 */

#include "config.h"

#include "dvmd-candidates.h"

#include "dvm-job-spec-private.h"
#include "dvmd-colocation.h"
#include "dvmd-job-parts.h"
#include "dvmd-job-sessions.h"

/* The nodes that the hosts of one application choose, by rank. */
typedef struct
{
  DvmdNodePool *pool;
  DvmdJob *job;
  guint n_ranks;
  guint32 *slots;   /* 0: not that one; G_MAXUINT32: as many as it has */
  guint32 *counted; /* what the hosts say that are it, under all its names; 0: nothing that counts */
  guint32 *most;
  guint n_missing;
  gboolean every; /* it names none */
  GArray *named;  /* guint: the ranks that applications name, in the order in which they do */
} Choice;

static void
choice_clear (Choice *self)
{
  g_clear_pointer (&self->slots, g_free);
  g_clear_pointer (&self->counted, g_free);
  g_clear_pointer (&self->most, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Choice, choice_clear)

/* The nodes that a job names may have left since it came. */
typedef struct
{
  guint64 departures; /* members that had left when it came */
  guint taken_by;
} Past;

static Past *
past_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_PAST, sizeof (Past), NULL);
}

void
dvmd_candidates_begin (DvmdNodePool *pool, DvmdJob *job)
{
  past_of (job)->departures = dvmd_node_pool_count_departures (pool);
}

guint
dvmd_candidates_get_taker (DvmdJob *job)
{
  return past_of (job)->taken_by;
}

/* ---- hosts ---- */

static guint
sum (guint a, guint b)
{
  return a > G_MAXUINT - b ? G_MAXUINT : a + b;
}

/* Slots of a node that a list has under several of its names add up, as those of one name do. */
static void
choose (Choice *self, DvmdNode *node, const DvmHost *host)
{
  guint32 *slots = &self->slots[node->rank];
  guint32 *counted = &self->counted[node->rank];
  guint32 *most = &self->most[node->rank];
  gboolean again = *slots > 0;
  guint n = MAX (host->slots, host->n_mentions);
  gboolean numbered = host->slots > 0 || (again && *slots != G_MAXUINT32);
  gboolean all = host->all_slots || n == 0 || (again && *counted == 0);

  *counted = all ? 0 : MIN (sum (*counted, n), G_MAXUINT32 - 1);
  *slots = all || (*counted == 1 && !numbered) ? G_MAXUINT32 : *counted;
  if (host->slots_max > 0)
    *most = again && *most != G_MAXUINT32 ? sum (*most, host->slots_max) : host->slots_max;
  else if (!again)
    *most = G_MAXUINT32;
  g_array_append_val (self->named, node->rank);
}

static gboolean
choose_named (Choice *self, const DvmHost *host, GError **error)
{
  DvmdNode *node = dvmd_node_pool_find (self->pool, host->name);
  gboolean there = node != NULL && node->rank > 0;
  Past *past = past_of (self->job);

  /* A host that has left since the job came drops out: no job fails only because the size changes (E10). */
  if (!there && dvmd_node_pool_has_left (self->pool, host->name, past->departures, &past->taken_by))
    return TRUE;
  /* A list that names it and leaves it out is right without it. */
  if (!there && host->excluded && host->was_named)
    return TRUE;
  if (!there)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%s: “%s” is not a node of this DVM", host->place,
                   host->name);
      return FALSE;
    }
  if (host->excluded)
    return TRUE;
  if (!dvmd_job_may_use (self->job, node))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                   "%s: “%s” is not a node of the sessions that the job is in%s", host->place, host->name,
                   dvmd_node_is_reserved (node) ? ": it is reserved" : "");
      return FALSE;
    }
  choose (self, node, host);
  return TRUE;
}

/* Numbers of hosts count the nodes that the job may use. */
static gboolean
is_numbered (DvmdJob *job, DvmdNode *node)
{
  return node->rank > 0 && dvmd_job_may_use (job, node);
}

static const char *
describe_pool (DvmdJob *job)
{
  return dvmd_job_uses_session (job, 0) ? "the DVM" : "what the job may use";
}

static gboolean
choose_index (Choice *self, const DvmHost *host, GError **error)
{
  gboolean has_left = dvmd_node_pool_count_departures (self->pool) > past_of (self->job)->departures;
  guint n = 0;

  /* A job may name a million numbers: one that is beyond all ranks needs no search. */
  if (has_left && host->number >= self->n_ranks)
    return TRUE;
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (self->pool, node)) != NULL;)
    if (is_numbered (self->job, node) && n++ == host->number)
      {
        choose (self, node, host);
        return TRUE;
      }
  if (has_left)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%s: “+n%u” is not a node of %s, which has %u; the first is +n0",
               host->place, host->number, describe_pool (self->job), n);
  return FALSE;
}

static gboolean
is_empty (Choice *self, DvmdNode *node)
{
  guint n_others = g_hash_table_size (node->jobs.ids);

  if (g_hash_table_contains (node->jobs.ids, GUINT_TO_POINTER (dvmd_job_get_id (self->job))))
    n_others--;
  return n_others == 0 && dvm_node_get_state (node->record) == DVM_NODE_STATE_UP && !dvmd_node_is_drained (node)
         && !node->barred;
}

static guint
count_up (Choice *self)
{
  guint n = 0;

  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (self->pool, node)) != NULL;)
    n += is_numbered (self->job, node)
         && (dvm_node_get_state (node->record) == DVM_NODE_STATE_UP || dvmd_node_is_drained (node) || node->healing);
  return n;
}

static gboolean
choose_empty (Choice *self, const DvmHost *host, GError **error)
{
  guint wanted = host->number > 0 ? host->number : G_MAXUINT;
  guint n = 0;

  if (host->number > count_up (self))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%s: “+e:%u”: %s has %u node%s", host->place, host->number,
                   describe_pool (self->job), count_up (self), count_up (self) == 1 ? "" : "s");
      return FALSE;
    }
  for (DvmdNode *node = NULL; n < wanted && (node = dvmd_node_pool_next (self->pool, node)) != NULL;)
    if (is_numbered (self->job, node) && self->slots[node->rank] == 0 && is_empty (self, node))
      {
        choose (self, node, host);
        n++;
      }
  self->n_missing += host->number > 0 ? host->number - n : n == 0;
  return TRUE;
}

static gboolean
choose_host (Choice *self, const DvmHost *host, GError **error)
{
  switch (host->kind)
    {
    case DVM_HOST_NAMED:
      return choose_named (self, host, error);
    case DVM_HOST_INDEX:
      return choose_index (self, host, error);
    case DVM_HOST_EMPTY:
    default:
      return choose_empty (self, host, error);
    }
}

static void
choose_every (Choice *self)
{
  self->every = TRUE;
  memset (self->slots, 0xff, self->n_ranks * sizeof (guint32));
  memset (self->most, 0xff, self->n_ranks * sizeof (guint32));
}

static void
leave_out (Choice *self, DvmHosts *hosts)
{
  for (guint i = 0; i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);
      DvmdNode *node = host->excluded ? dvmd_node_pool_find (self->pool, host->name) : NULL;

      if (node != NULL)
        self->slots[node->rank] = 0;
    }
}

/* A list that leaves out each node that it has is a mistake, unless nodes have left since the job came. */
static gboolean
check_left (Choice *self, DvmHosts *hosts, GError **error)
{
  gboolean some = FALSE;

  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (self->pool, node)) != NULL;)
    {
      if (is_numbered (self->job, node) && self->slots[node->rank] > 0)
        return TRUE;
      some = some || is_numbered (self->job, node);
    }
  if (!some || self->n_missing > 0 || dvmd_node_pool_count_departures (self->pool) > past_of (self->job)->departures)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "%s: no node is left: the list leaves out all that the job may use", _dvm_hosts_get (hosts, 0)->place);
  return FALSE;
}

/* Hosts that are all excluded leave all other nodes. */
static gboolean
read_choice (Choice *self, DvmHosts *hosts, GError **error)
{
  gboolean some = FALSE;

  for (guint i = 0; i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);

      if (!choose_host (self, host, error))
        return FALSE;
      some = some || !host->excluded || host->was_named;
    }
  if (!some)
    choose_every (self);
  leave_out (self, hosts);
  return check_left (self, hosts, error);
}

/* ---- candidates ---- */

/* A number behind a host is what a node of which nobody has given the slots has for the job. */
static guint
count_slots (const DvmdNode *node, guint chosen)
{
  if (chosen == G_MAXUINT32)
    return node->slots;
  return node->slots_given ? MIN (chosen, node->slots) : chosen;
}

/* The slots and processes of one node that the choices of all applications allow together. */
static void
count_node (DvmdNode *node, const Choice *choices, guint n_apps, DvmdCandidate *candidate)
{
  guint limit = 0;
  guint most = 0;

  for (guint i = 0; i < n_apps; i++)
    {
      limit = sum (limit, count_slots (node, choices[i].slots[node->rank]));
      candidate->given = candidate->given
                         || (choices[i].slots[node->rank] > 0 && choices[i].slots[node->rank] != G_MAXUINT32);
      if (choices[i].slots[node->rank] > 0)
        most = sum (most, choices[i].most[node->rank]);
    }
  candidate->most_ever = MIN (most, node->slots_max > 0 ? node->slots_max : G_MAXUINT);
  if (!candidate->given || node->slots_given)
    limit = MIN (limit, node->slots);
  candidate->limit = MIN (limit, candidate->most_ever);
}

static gboolean
is_chosen (DvmdNode *node, const Choice *choices, guint n_apps)
{
  for (guint i = 0; i < n_apps; i++)
    if (choices[i].slots[node->rank] > 0)
      return TRUE;
  return FALSE;
}

static void
add_app_limits (DvmdCandidates *into, DvmdNode *node, const Choice *choices)
{
  for (guint i = 0; i < into->n_apps; i++)
    g_array_append_val (into->app_limits, choices[i].slots[node->rank]);
}

static void
add_candidate (DvmdCandidates *into, const DvmdCandidate *candidate)
{
  DvmdNode *node = candidate->node;
  DvmdCandidate added = *candidate;
  guint slots = MAX (node->slots, candidate->limit);
  guint unused = slots > node->slots_in_use ? slots - node->slots_in_use : 0;
  guint room = G_MAXUINT;

  if (node->slots_max > 0)
    room = node->slots_max > node->slots_in_use ? node->slots_max - node->slots_in_use : 0;
  added.free = MIN (unused, added.limit);
  added.most = MIN (added.most_ever, room);
  g_array_append_val (into->nodes, added);
  into->total += added.limit;
  into->n_free += added.free;
  into->most += MIN (added.most, DVMD_MAX_OVERSUBSCRIBED);
  into->most_ever += MAX (MIN (added.most_ever, DVMD_MAX_OVERSUBSCRIBED), added.limit);
}

static void
add_node (DvmdCandidates *into, DvmdNode *node, const Choice *choices)
{
  DvmdCandidate candidate = { .node = node, .limit = node->slots };

  candidate.most_ever = node->slots_max > 0 ? node->slots_max : G_MAXUINT;
  if (choices != NULL)
    count_node (node, choices, into->n_apps, &candidate);
  if (dvmd_node_is_drained (node) || node->healing)
    {
      into->n_drained++;
      into->drained += candidate.limit;
    }
  else if (dvm_node_get_state (node->record) == DVM_NODE_STATE_UP)
    {
      add_candidate (into, &candidate);
      if (into->app_limits != NULL)
        add_app_limits (into, node, choices);
    }
  else
    return;
  /* A number behind the host is given too, where it is a limit. */
  into->given = into->given || node->slots_given || candidate.given || candidate.limit < node->slots;
}

/* Ranks of a job that runs look for a node that has nothing of it; one that is to come back will be another agent. */
static gboolean
has_job (DvmdNode *node, DvmdJob *job)
{
  DvmdMap *map = dvmd_job_get_map (job);

  return map != NULL && !node->healing && dvmd_map_count_on_node (map, node->rank) > 0;
}

static void
add_nodes (DvmdCandidates *into, DvmdNodePool *pool, DvmdJob *job, const Choice *choices)
{
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (pool, node)) != NULL;)
    if (node->rank > 0 && !node->barred && dvmd_job_may_use (job, node) && !has_job (node, job)
        && (choices == NULL || is_chosen (node, choices, into->n_apps)))
      add_node (into, node, choices);
}

static gboolean
has_choice (DvmdJob *job)
{
  for (guint i = 0; i < dvm_job_spec_get_n_apps (dvmd_job_get_spec (job)); i++)
    if (_dvm_app_spec_get_choice (dvm_job_spec_get_app (dvmd_job_get_spec (job), i)) != NULL)
      return TRUE;
  return FALSE;
}

/* From a row for each node to a row for each application. */
static void
turn_app_limits (DvmdCandidates *self)
{
  g_autoptr (GArray) turned = g_array_sized_new (FALSE, FALSE, sizeof (guint32), self->app_limits->len);

  for (guint app = 0; app < self->n_apps; app++)
    for (guint i = 0; i < self->nodes->len; i++)
      g_array_append_val (turned, g_array_index (self->app_limits, guint32, i * self->n_apps + app));
  g_array_unref (self->app_limits);
  self->app_limits = g_steal_pointer (&turned);
}

/* A job that names its nodes has them in that order. */
static void
order_nodes (DvmdCandidates *self, GArray *named, guint n_ranks)
{
  g_autofree guint *order = g_new0 (guint, n_ranks);

  for (guint i = named->len; i > 0; i--)
    order[g_array_index (named, guint, i - 1)] = i;
  for (guint i = 0; i < self->nodes->len; i++)
    DVMD_CANDIDATE (self, i)->order = order[DVMD_CANDIDATE (self, i)->node->rank];
}

static gboolean
find_chosen (DvmdCandidates *into, DvmdNodePool *pool, DvmdJob *job, GError **error)
{
  guint n_ranks = dvmd_node_pool_get_max_rank (pool) + 1;
  g_autoptr (GArray) choices = g_array_new (FALSE, TRUE, sizeof (Choice));
  g_autoptr (GArray) named = g_array_new (FALSE, FALSE, sizeof (guint));
  gboolean every = FALSE;

  g_array_set_clear_func (choices, (GDestroyNotify)choice_clear);
  for (guint i = 0; i < into->n_apps; i++)
    {
      DvmHosts *hosts = _dvm_app_spec_get_choice (dvm_job_spec_get_app (dvmd_job_get_spec (job), i));
      Choice *choice;

      g_array_set_size (choices, i + 1);
      choice = &g_array_index (choices, Choice, i);
      *choice = (Choice){ .pool = pool, .job = job, .n_ranks = n_ranks, .named = named };
      choice->slots = g_new0 (guint32, n_ranks);
      choice->counted = g_new0 (guint32, n_ranks);
      choice->most = g_new0 (guint32, n_ranks);
      if (hosts == NULL)
        choose_every (choice);
      else if (!read_choice (choice, hosts, error))
        return FALSE;
      into->n_missing += choice->n_missing;
      every = every || choice->every;
    }
  if (into->n_apps > 1)
    into->app_limits = g_array_new (FALSE, FALSE, sizeof (guint32));
  add_nodes (into, pool, job, (const Choice *)choices->data);
  if (!every)
    order_nodes (into, named, n_ranks);
  if (into->app_limits != NULL)
    turn_app_limits (into);
  return TRUE;
}

/* Slots do not count for a job that takes none. */
static gboolean
find_beside (DvmdCandidates *into, DvmdNodePool *pool, DvmdJob *job, GError **error)
{
  g_autoptr (GHashTable) chosen = g_hash_table_new (NULL, NULL);
  DvmdCandidate candidate = { .limit = DVMD_MAX_OVERSUBSCRIBED };

  candidate.free = candidate.most = candidate.most_ever = candidate.limit;
  into->beside = dvmd_colocation_find (job, error);
  if (into->beside == NULL)
    return FALSE;
  for (guint i = 0; i < into->beside->len; i++)
    g_hash_table_add (chosen, GUINT_TO_POINTER (g_array_index (into->beside, DvmdMapShare, i).node));
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (pool, node)) != NULL;)
    if (g_hash_table_contains (chosen, GUINT_TO_POINTER (node->rank)))
      {
        candidate.node = node;
        into->most_ever += candidate.most_ever;
        g_array_append_val (into->nodes, candidate);
      }
  return TRUE;
}

gboolean
dvmd_candidates_find (DvmdCandidates *into, DvmdNodePool *pool, DvmdJob *job, GError **error)
{
  into->nodes = g_array_new (FALSE, FALSE, sizeof (DvmdCandidate));
  into->n_apps = dvm_job_spec_get_n_apps (dvmd_job_get_spec (job));
  if (dvmd_colocation_get (job) != NULL)
    return find_beside (into, pool, job, error);
  if (has_choice (job))
    return find_chosen (into, pool, job, error);
  add_nodes (into, pool, job, NULL);
  return TRUE;
}

static gboolean
is_index (DvmdNodePool *pool, DvmdJob *job, guint index, guint rank)
{
  guint n = 0;

  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (pool, node)) != NULL;)
    if (is_numbered (job, node) && n++ == index)
      return node->rank == rank;
  return FALSE;
}

static gboolean
is_named (DvmdNodePool *pool, const DvmHost *host, const char *name, guint rank)
{
  DvmdNode *node;

  if (host->name != NULL && name != NULL && _dvm_host_name_equal (host->name, name))
    return TRUE;
  node = dvmd_node_pool_find (pool, host->name);
  return node != NULL && rank != 0 && node->rank == rank;
}

/* Hosts that are all excluded leave all other nodes. */
static gboolean
would_choose (DvmHosts *hosts, DvmdNodePool *pool, DvmdJob *job, const char *name, guint rank)
{
  gboolean some = FALSE;
  gboolean chosen = FALSE;

  for (guint i = 0; i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);

      if (host->excluded && is_named (pool, host, name, rank))
        return FALSE;
      some = some || !host->excluded || host->was_named;
      chosen = chosen || host->kind == DVM_HOST_EMPTY
               || (host->kind == DVM_HOST_INDEX && is_index (pool, job, host->number, rank))
               || (host->kind == DVM_HOST_NAMED && !host->excluded && is_named (pool, host, name, rank));
    }
  return chosen || !some;
}

gboolean
dvmd_candidates_would_have (DvmdNodePool *pool, DvmdJob *job, const char *name, guint rank)
{
  /* The processes beside which it is to be run already. */
  if (dvmd_colocation_get (job) != NULL)
    return FALSE;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (dvmd_job_get_spec (job)); i++)
    {
      DvmHosts *hosts = _dvm_app_spec_get_choice (dvm_job_spec_get_app (dvmd_job_get_spec (job), i));

      if (hosts == NULL || would_choose (hosts, pool, job, name, rank))
        return TRUE;
    }
  return FALSE;
}

void
dvmd_candidates_clear (DvmdCandidates *self)
{
  g_clear_pointer (&self->nodes, g_array_unref);
  g_clear_pointer (&self->app_limits, g_array_unref);
  g_clear_pointer (&self->beside, g_array_unref);
}

/* ---- one application ---- */

static guint
app_limit (DvmdCandidates *self, guint app, guint node)
{
  if (self->app_limits == NULL)
    return G_MAXUINT;
  return g_array_index (self->app_limits, guint32, app * self->nodes->len + node);
}

guint64
dvmd_candidates_count_free (DvmdCandidates *self, guint app)
{
  guint64 n_free = 0;

  for (guint i = 0; i < self->nodes->len; i++)
    n_free += MIN (DVMD_CANDIDATE (self, i)->free, app_limit (self, app, i));
  return n_free;
}

guint64 *
dvmd_candidates_count_others (DvmdCandidates *self, const guint32 *np, guint *one, guint *other)
{
  /* 1 + the application without a number for which each node is */
  g_autofree guint *owners = g_new0 (guint, self->nodes->len + 1);
  g_autofree guint *last = g_new0 (guint, self->n_apps + 1);
  g_autofree guint64 *others = g_new0 (guint64, self->n_apps + 1);

  *one = self->n_apps;
  for (guint app = 0; app < self->n_apps && *one == self->n_apps; app++)
    for (guint i = 0; np[app] == 0 && i < self->nodes->len; i++)
      if (app_limit (self, app, i) > 0 && owners[i] > 0)
        {
          *one = MIN (*one, owners[i] - 1);
          *other = app;
        }
      else if (app_limit (self, app, i) > 0)
        owners[i] = app + 1;
  if (*one < self->n_apps)
    return NULL;
  for (guint app = 0; app < self->n_apps; app++)
    for (guint i = 0; np[app] > 0 && i < self->nodes->len; i++)
      if (owners[i] > 0 && last[owners[i] - 1] != app + 1 && app_limit (self, app, i) > 0)
        {
          last[owners[i] - 1] = app + 1;
          others[owners[i] - 1] += np[app];
        }
  return g_steal_pointer (&others);
}

/* ---- places ---- */

static void
add_place (DvmdPlaces *places, const DvmdCandidate *candidate, DvmdPlacesKind kind)
{
  gboolean all = kind == DVMD_PLACES_ALL || kind == DVMD_PLACES_OVERSUBSCRIBE_ALL;
  guint i = places->n_nodes++;

  places->nodes[i] = candidate->node;
  places->limits[i] = all ? candidate->limit : candidate->free;
  places->most[i] = all ? candidate->most_ever : candidate->most;
}

static int
compare_order (gconstpointer a, gconstpointer b, gpointer user_data)
{
  guint left = *(const guint *)a;
  guint right = *(const guint *)b;
  guint of_left = DVMD_CANDIDATE ((DvmdCandidates *)user_data, left)->order;
  guint of_right = DVMD_CANDIDATE ((DvmdCandidates *)user_data, right)->order;

  if (of_left != of_right)
    return of_left < of_right ? -1 : 1;
  return left < right ? -1 : left > right;
}

/* (transfer full): the indexes of the candidates in the order in which the job has them */
static GArray *
list_in_order (DvmdCandidates *self)
{
  GArray *indexes = g_array_sized_new (FALSE, FALSE, sizeof (guint), self->nodes->len);

  for (guint i = 0; i < self->nodes->len; i++)
    g_array_append_val (indexes, i);
  g_array_sort_with_data (indexes, compare_order, self);
  return indexes;
}

DvmdPlaces *
dvmd_candidates_make_places (DvmdCandidates *self, DvmdPlacesKind kind)
{
  DvmdPlaces *places = g_new0 (DvmdPlaces, 1);
  g_autoptr (GArray) indexes = list_in_order (self);

  places->nodes = g_new (DvmdNode *, self->nodes->len);
  places->limits = g_new (guint32, self->nodes->len);
  places->most = g_new (guint32, self->nodes->len);
  places->oversubscribe = kind == DVMD_PLACES_OVERSUBSCRIBE || kind == DVMD_PLACES_OVERSUBSCRIBE_ALL;
  places->alone = self->alone || kind == DVMD_PLACES_ALL || kind == DVMD_PLACES_OVERSUBSCRIBE_ALL;
  places->beside = self->beside != NULL ? g_array_ref (self->beside) : NULL;
  for (guint i = 0; i < indexes->len; i++)
    add_place (places, DVMD_CANDIDATE (self, g_array_index (indexes, guint, i)), kind);
  if (self->app_limits == NULL)
    return places;
  places->app_limits = g_new (guint32, self->app_limits->len);
  for (guint i = 0; i < self->app_limits->len; i++)
    places->app_limits[i] = g_array_index (self->app_limits, guint32,
                                           i - i % indexes->len + g_array_index (indexes, guint, i % indexes->len));
  return places;
}

void
dvmd_places_free (DvmdPlaces *self)
{
  g_free (self->nodes);
  g_free (self->limits);
  g_free (self->most);
  g_free (self->app_limits);
  g_clear_pointer (&self->beside, g_array_unref);
  g_free (self);
}

gboolean
dvmd_candidates_overlap (DvmdCandidates *self, DvmdCandidates *other)
{
  /* The nodes of both are in the order of their ranks. */
  guint i = 0;
  guint k = 0;

  while (i < self->nodes->len && k < other->nodes->len)
    {
      guint mine = DVMD_CANDIDATE (self, i)->node->rank;
      guint theirs = DVMD_CANDIDATE (other, k)->node->rank;

      if (mine == theirs)
        return TRUE;
      if (mine < theirs)
        i++;
      else
        k++;
    }
  return FALSE;
}

void
dvmd_candidates_free_all (DvmdCandidates *self)
{
  for (guint i = 0; i < self->nodes->len; i++)
    {
      DvmdCandidate *candidate = DVMD_CANDIDATE (self, i);

      candidate->free = candidate->limit;
      candidate->most = candidate->most_ever;
    }
  self->n_free = self->total;
  self->most = self->most_ever;
  self->n_missing = 0;
  self->alone = TRUE;
}
