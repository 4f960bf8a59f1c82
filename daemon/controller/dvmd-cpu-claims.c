/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The cpus that the processes of jobs count for, node by node, from the claim of the slots to their return.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-cpu-claims.h"

#include "dvmd-controller-map.h"
#include "dvmd-binding.h"
#include "dvmd-map-binding.h"
#include "dvmd-services.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *nodes;          /* rank of an agent -> Usage */
  GHashTable *jobs;           /* DvmdJob, unowned -> GArray of Share */
} Claims;

/* How many jobs count for each cpu. */
typedef struct
{
  GArray *counts;   /* guint, by the number of the cpu */
  DvmdCpuset *used; /* (nullable): those that have any; made when it is asked for */
  gboolean changed;
} Usage;

/* The cpus of a job on one node. */
typedef struct
{
  guint node;
  GArray *cpus; /* guint, their numbers; nodes that are alike share it */
} Share;

static void
usage_free (gpointer data)
{
  Usage *self = data;

  g_array_unref (self->counts);
  g_clear_pointer (&self->used, dvmd_cpuset_free);
  g_free (self);
}

static void
share_clear (gpointer data)
{
  g_array_unref (((Share *)data)->cpus);
}

static Claims *
get_claims (DvmdController *controller)
{
  return dvmd_services_get (controller, &dvmd_cpu_claims_service);
}

static Usage *
get_usage (Claims *self, guint node)
{
  Usage *usage = g_hash_table_lookup (self->nodes, GUINT_TO_POINTER (node));

  if (usage != NULL)
    return usage;
  usage = g_new0 (Usage, 1);
  usage->counts = g_array_new (FALSE, TRUE, sizeof (guint));
  g_hash_table_insert (self->nodes, GUINT_TO_POINTER (node), usage);
  return usage;
}

/* (transfer full): the numbers of the cpus of a list */
static GArray *
read_numbers (const char *list)
{
  gsize size;
  g_autofree cpu_set_t *set = dvmd_binding_dup_cpu_set (list, &size);
  GArray *cpus = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint cpu = 0; cpu < size * 8; cpu++)
    if (CPU_ISSET_S (cpu, size, set))
      g_array_append_val (cpus, cpu);
  return cpus;
}

static void
use_share (Claims *self, const Share *share, gboolean more)
{
  Usage *usage = get_usage (self, share->node);

  for (guint i = 0; i < share->cpus->len; i++)
    {
      guint cpu = g_array_index (share->cpus, guint, i);

      if (cpu >= usage->counts->len)
        g_array_set_size (usage->counts, cpu + 1);
      if (more)
        g_array_index (usage->counts, guint, cpu)++;
      else
        g_array_index (usage->counts, guint, cpu)--;
    }
  usage->changed = TRUE;
}

/* (transfer full) (nullable): the cpus that have any */
static DvmdCpuset *
collect_used (const Usage *usage)
{
  guint n_words = (usage->counts->len + 63) / 64;
  g_autofree guint64 *words = g_new0 (guint64, n_words + 1);
  const DvmdCpuset set = { n_words, words };
  gboolean any = FALSE;

  for (guint cpu = 0; cpu < usage->counts->len; cpu++)
    if (g_array_index (usage->counts, guint, cpu) > 0)
      {
        words[cpu / 64] |= G_GUINT64_CONSTANT (1) << cpu % 64;
        any = TRUE;
      }
  return any ? dvmd_cpuset_copy (&set) : NULL;
}

/* (transfer full): the shares of the job: that its processes can be bound was seen to when it was mapped */
static GArray *
make_shares (Claims *self, DvmdMap *map)
{
  GArray *shares = g_array_new (FALSE, FALSE, sizeof (Share));
  g_autoptr (DvmdMapBinder) binder = dvmd_map_binder_new (map);
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (map);
  /* Nodes that are alike have one list of cpus, which is read once. */
  g_autoptr (GHashTable)
      numbers = g_hash_table_new_full (NULL, NULL, (GDestroyNotify)g_ptr_array_unref, (GDestroyNotify)g_array_unref);

  g_array_set_clear_func (shares, share_clear);
  for (guint i = 0; i < nodes->len; i++)
    {
      Share share = { .node = g_array_index (nodes, guint, i) };
      DvmdTopology *topology = dvmd_controller_find_topology (self->controller, share.node);
      GPtrArray *lists = topology != NULL ? dvmd_map_binder_bind (binder, share.node, topology, NULL) : NULL;

      g_return_val_if_fail (lists != NULL, shares);

      if (!g_hash_table_contains (numbers, lists))
        g_hash_table_insert (numbers, g_ptr_array_ref (lists),
                             read_numbers (dvmd_map_binder_get_claimed (binder, lists)));
      share.cpus = g_array_ref (g_hash_table_lookup (numbers, lists));
      g_array_append_val (shares, share);
      g_ptr_array_unref (lists);
    }
  return shares;
}

void
dvmd_controller_claim_cpus (gpointer user_data, DvmdJob *job, DvmdMap *map)
{
  Claims *self = get_claims (user_data);
  GArray *shares;

  if (!dvmd_map_binds (map))
    return;
  shares = make_shares (self, map);
  for (guint i = 0; i < shares->len; i++)
    use_share (self, &g_array_index (shares, Share, i), TRUE);
  g_hash_table_insert (self->jobs, job, shares);
}

void
dvmd_controller_give_cpus_back (gpointer user_data, DvmdJob *job, DvmdNode *node)
{
  Claims *self = get_claims (user_data);
  GArray *shares = self != NULL ? g_hash_table_lookup (self->jobs, job) : NULL;

  for (guint i = shares != NULL ? shares->len : 0; i > 0; i--)
    {
      const Share *share = &g_array_index (shares, Share, i - 1);

      if (node != NULL && share->node != node->rank)
        continue;
      use_share (self, share, FALSE);
      g_array_remove_index_fast (shares, i - 1);
    }
  if (shares != NULL && shares->len == 0)
    g_hash_table_remove (self->jobs, job);
}

const DvmdCpuset *
dvmd_controller_get_cpus_in_use (DvmdController *self, guint node)
{
  Claims *claims = get_claims (self);
  Usage *usage = g_hash_table_lookup (claims->nodes, GUINT_TO_POINTER (node));

  if (usage != NULL && usage->changed)
    {
      g_clear_pointer (&usage->used, dvmd_cpuset_free);
      usage->used = collect_used (usage);
      usage->changed = FALSE;
    }
  return usage != NULL ? usage->used : NULL;
}

/* ---- the service ---- */

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Claims *self = g_new0 (Claims, 1);

  self->controller = controller;
  self->nodes = g_hash_table_new_full (NULL, NULL, NULL, usage_free);
  self->jobs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
  return self;
}

static void
claims_free (gpointer service)
{
  Claims *self = service;

  g_hash_table_unref (self->jobs);
  g_hash_table_unref (self->nodes);
  g_free (self);
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  dvmd_services_add_number (statistics, "jobs-bound", g_hash_table_size (((Claims *)service)->jobs));
}

const DvmdService dvmd_cpu_claims_service = {
  .name = "cpu-claims",
  .create = create,
  .free = claims_free,
  .add_statistics = add_statistics,
};
