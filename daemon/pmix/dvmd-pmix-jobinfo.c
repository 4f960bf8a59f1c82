/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The description of a job becomes the info arrays that libpmix wants.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-jobinfo.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dvm.h"

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-numbers.h"

/* Per node: what its ranks are, in one pass over the job. */
typedef struct
{
  GString *peers; /* "0,1,2" */
  guint32 size;
  guint32 leader;
} Node;

typedef struct
{
  DvmdPmixInfo *info;
  DvmdPmixJob *job;
  const DvmdPmixView *view;
  const char *session_dir;
  Node *nodes;
  GArray *in_package; /* guint16: how many of the ranks so far lie in each package of this node */
  GArray *in_numa;
} Builder;

struct _DvmdPmixPlaces
{
  DvmdTopology *topology; /* (nullable) */
  GHashTable *places;
};

static void
place_free (gpointer data)
{
  DvmdPmixPlace *place = data;

  free (place->cpuset);
  free (place->locality);
  g_free (place);
}

DvmdPmixPlaces *
dvmd_pmix_places_new (DvmdTopology *topology)
{
  DvmdPmixPlaces *self = g_new0 (DvmdPmixPlaces, 1);

  self->topology = topology != NULL ? dvmd_topology_ref (topology) : NULL;
  self->places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, place_free);
  return self;
}

void
dvmd_pmix_places_free (DvmdPmixPlaces *self)
{
  g_hash_table_unref (self->places);
  g_clear_pointer (&self->topology, dvmd_topology_unref);
  g_free (self);
}

/* cpuset (nullable): not bound. (nullable): nothing is known of the node */
static const char *
get_cpus (DvmdPmixPlaces *self, const char *cpuset)
{
  return cpuset == NULL && self->topology != NULL ? dvmd_topology_get_cpuset (self->topology) : cpuset;
}

const DvmdPmixPlace *
dvmd_pmix_places_lookup (DvmdPmixPlaces *self, const char *cpuset)
{
  char source[] = "hwloc";
  pmix_cpuset_t set = { .source = source };
  DvmdPmixPlace *place;

  cpuset = get_cpus (self, cpuset);
  if (cpuset == NULL)
    return NULL;
  place = g_hash_table_lookup (self->places, cpuset);
  if (place != NULL)
    return place;

  set.bitmap = dvmd_topology_bitmap_new (cpuset);
  if (set.bitmap == NULL)
    {
      g_message ("“%s” is not a set of hardware threads such as “0-3,8”", cpuset);
      return NULL;
    }
  place = g_new0 (DvmdPmixPlace, 1);
  if (PMIx_server_generate_cpuset_string (&set, &place->cpuset) != PMIX_SUCCESS)
    place->cpuset = NULL;
  if (PMIx_server_generate_locality_string (&set, &place->locality) != PMIX_SUCCESS)
    place->locality = NULL;
  place->package = place->numa = -1;
  if (self->topology != NULL)
    {
      place->package = dvmd_topology_find_object (self->topology, DVMD_TOPOLOGY_PACKAGE, cpuset);
      place->numa = dvmd_topology_find_object (self->topology, DVMD_TOPOLOGY_NUMA, cpuset);
    }
  g_hash_table_insert (self->places, g_strdup (cpuset), place);
  dvmd_topology_bitmap_free (set.bitmap);
  return place;
}

static Node *
collect_nodes (DvmdPmixJob *job)
{
  Node *nodes = g_new0 (Node, MAX (job->n_nodes, 1));

  for (guint32 i = 0; i < job->n_nodes; i++)
    nodes[i].peers = g_string_new (NULL);
  for (guint32 rank = 0; rank < dvmd_pmix_job_get_size (job); rank++)
    {
      Node *node = &nodes[dvmd_pmix_job_get_rank (job, rank)->node];

      if (node->size++ == 0)
        node->leader = rank;
      g_string_append_printf (node->peers, "%s%u", node->peers->len > 0 ? "," : "", rank);
    }
  return nodes;
}

static void
free_nodes (Node *nodes, guint32 n)
{
  for (guint32 i = 0; i < n; i++)
    g_string_free (nodes[i].peers, TRUE);
  g_free (nodes);
}

/* The compressed lists "which nodes" and "which ranks on each". */
static void
add_maps (Builder *b)
{
  g_autofree char *names = g_strjoinv (",", b->job->nodes);
  g_autoptr (GString) ranks = g_string_new (NULL);
  char *text = NULL;

  for (guint32 i = 0; i < b->job->n_nodes; i++)
    g_string_append_printf (ranks, "%s%s", i > 0 ? ";" : "", b->nodes[i].peers->str);
  if (PMIx_generate_regex (names, &text) == PMIX_SUCCESS)
    dvmd_pmix_info_add (b->info, PMIX_NODE_MAP, text, PMIX_REGEX);
  g_clear_pointer (&text, free);
  if (PMIx_generate_ppn (ranks->str, &text) == PMIX_SUCCESS)
    dvmd_pmix_info_add (b->info, PMIX_PROC_MAP, text, PMIX_REGEX);
  free (text);
#ifdef DVMD_PMIX_HAS_NODE_LIST
  dvmd_pmix_info_add_string (b->info, PMIX_NODE_LIST, names);
#endif
}

/* The command lines of its applications, as "a 1 : b 2". */
static void
add_command (Builder *b)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint32 i = 0; i < b->job->apps->len; i++)
    {
      const DvmdPmixApp *app = g_ptr_array_index (b->job->apps, i);
      g_autofree char *argv = g_strjoinv (" ", app->argv);

      g_string_append_printf (text, "%s%s", i > 0 ? " : " : "", argv);
    }
  dvmd_pmix_info_add_string (b->info, PMIX_CMD_LINE, text->str);
}

/* Of the DVM, and whose the job is. */
static void
add_manager (Builder *b)
{
  dvmd_pmix_info_add_string (b->info, PMIX_RM_NAME, "dvm");
  dvmd_pmix_info_add_string (b->info, PMIX_RM_VERSION, DVM_VERSION_STRING);
  dvmd_pmix_info_add_string (b->info, PMIX_SERVER_NSPACE, b->view->nspace);
  dvmd_pmix_info_add_rank (b->info, PMIX_SERVER_RANK, b->view->rank);
  dvmd_pmix_info_add_string (b->info, PMIX_ALLOC_ID, b->job->alloc_id);
  dvmd_pmix_info_add_uint32 (b->info, PMIX_USERID, b->job->uid);
  dvmd_pmix_info_add_uint32 (b->info, PMIX_GRPID, b->job->gid);
}

static void
add_parent (Builder *b, DvmdPmixInfo *info)
{
  if (b->job->parent_nspace == NULL)
    return;
  dvmd_pmix_info_add_flag (info, PMIX_SPAWNED, TRUE);
  dvmd_pmix_info_add_proc (info, PMIX_PARENT_ID, b->job->parent_nspace, b->job->parent_rank);
}

static void
add_policies (DvmdPmixInfo *info, const DvmdPmixApp *app)
{
  dvmd_pmix_info_add_string (info, PMIX_MAPBY, app->map_by != NULL ? app->map_by : "slot");
  dvmd_pmix_info_add_string (info, PMIX_RANKBY, app->rank_by != NULL ? app->rank_by : "slot");
  dvmd_pmix_info_add_string (info, PMIX_BINDTO, app->bind_to != NULL ? app->bind_to : "none");
}

/* A list of all applications for each client is too much for more than these. */
#define MAX_LISTED_APPS 1000

/* Open MPI 5 has ompi_np and ompi_first_rank of MPI_INFO_ENV from these two; 4.1 has them from the environment. */
static void
add_app_lists (Builder *b)
{
  g_autoptr (GString) sizes = g_string_new (NULL);
  g_autoptr (GString) first_ranks = g_string_new (NULL);

  if (b->job->apps->len > MAX_LISTED_APPS)
    return;
  for (guint32 i = 0; i < b->job->apps->len; i++)
    {
      const DvmdPmixApp *app = g_ptr_array_index (b->job->apps, i);

      g_string_append_printf (sizes, "%s%u", i > 0 ? " " : "", app->n_procs);
      g_string_append_printf (first_ranks, "%s%u", i > 0 ? " " : "", app->first_rank);
    }
  dvmd_pmix_info_add_string (b->info, "OMPI_APP_SIZES", sizes->str);
  dvmd_pmix_info_add_string (b->info, "OMPI_FIRST_RANKS", first_ranks->str);
}

static void
add_job_level (Builder *b)
{
  DvmdPmixJob *job = b->job;
  guint32 size = dvmd_pmix_job_get_size (job);

  dvmd_pmix_info_add_uint32 (b->info, PMIX_SESSION_ID, job->session_id);
  dvmd_pmix_info_add_uint32 (b->info, PMIX_UNIV_SIZE, job->universe_size > 0 ? job->universe_size : size);
  dvmd_pmix_info_add_uint32 (b->info, PMIX_JOB_SIZE, size);
  dvmd_pmix_info_add_uint32 (b->info, PMIX_MAX_PROCS, job->max_procs > 0 ? job->max_procs : size);
  dvmd_pmix_info_add_rank (b->info, PMIX_NPROC_OFFSET, job->offset);
  dvmd_pmix_info_add_uint32 (b->info, PMIX_NUM_NODES, job->n_nodes);
  dvmd_pmix_info_add_uint32 (b->info, PMIX_JOB_NUM_APPS, job->apps->len);
  dvmd_pmix_info_add_string (b->info, PMIX_JOBID, job->nspace);
  dvmd_pmix_info_add_string (b->info, PMIX_NSPACE, job->nspace);
  /* A job whose applications are placed in different ways has one value all the same. */
  add_policies (b->info, g_ptr_array_index (job->apps, 0));
  add_app_lists (b);
  if (job->my_node < job->n_nodes)
    {
      dvmd_pmix_info_add_string (b->info, PMIX_TMPDIR, b->view->sessions_dir);
      dvmd_pmix_info_add_string (b->info, PMIX_NSDIR, b->session_dir);
      dvmd_pmix_info_add_flag (b->info, PMIX_TDIR_RMCLEAN, TRUE);
    }
  if (job->stop == DVMD_PMIX_STOP_IN_INIT)
    dvmd_pmix_info_add_flag (b->info, PMIX_DEBUG_STOP_IN_INIT, TRUE);
  else if (job->stop == DVMD_PMIX_STOP_IN_APP)
    dvmd_pmix_info_add_flag (b->info, PMIX_DEBUG_STOP_IN_APP, TRUE);
  add_parent (b, b->info);
}

/* (transfer full): the hardware threads of each rank of this node, "0-1:2-3" */
static char *
list_cpusets (Builder *b)
{
  GString *text = g_string_new (NULL);
  const char *divider = "";

  for (guint32 rank = 0; rank < dvmd_pmix_job_get_size (b->job); rank++)
    {
      const DvmdPmixRank *row = dvmd_pmix_job_get_rank (b->job, rank);
      const char *cpus = get_cpus (b->view->places, row->cpuset);

      if (row->node != b->job->my_node)
        continue;
      g_string_append_printf (text, "%s%s", divider, cpus != NULL ? cpus : "");
      divider = ":";
    }
  return g_string_free (text, FALSE);
}

/* The ranks of the job on this node. */
static void
add_local_procs (Builder *b, DvmdPmixInfo *info)
{
  guint32 n = b->nodes[b->job->my_node].size;
  g_autofree pmix_proc_t *procs = g_new0 (pmix_proc_t, n);
  pmix_data_array_t array = { .type = PMIX_PROC, .size = n, .array = procs };
  gsize i = 0;

  for (guint32 rank = 0; rank < dvmd_pmix_job_get_size (b->job); rank++)
    if (dvmd_pmix_job_get_rank (b->job, rank)->node == b->job->my_node)
      {
        PMIX_LOAD_PROCID (&procs[i], b->job->nspace, rank);
        i++;
      }
  dvmd_pmix_info_add (info, PMIX_LOCAL_PROCS, &array, PMIX_DATA_ARRAY);
}

/* This node alone knows the name that its programs find, which a part of a machine does not have. */
static void
add_machine (Builder *b, DvmdPmixInfo *info)
{
  const char *host = g_get_host_name ();

  if (strcmp (host, b->view->node_name) != 0)
    dvmd_pmix_info_add_string (info, PMIX_HOSTNAME_ALIASES, host);
  if (b->job->memory > 0)
    dvmd_pmix_info_add (info, PMIX_AVAIL_PHYS_MEMORY, &b->job->memory, PMIX_UINT64);
}

/* Of this node, as the clients ask without naming one. */
static void
add_own_node (Builder *b)
{
  DvmdPmixJob *job = b->job;
  g_autofree char *cpusets = NULL;
  const Node *node;

  if (job->my_node >= job->n_nodes)
    return;
  cpusets = list_cpusets (b);
  dvmd_pmix_info_add_string (b->info, PMIX_LOCAL_CPUSETS, cpusets);
  dvmd_pmix_info_add_string (b->info, PMIX_HOSTNAME, b->view->node_name);
  node = &b->nodes[job->my_node];
  dvmd_pmix_info_add_uint32 (b->info, PMIX_NODEID, job->ids[job->my_node]);
  dvmd_pmix_info_add_uint32 (b->info, PMIX_LOCAL_SIZE, node->size);
  dvmd_pmix_info_add_uint32 (b->info, PMIX_NODE_SIZE, MAX (job->node_size, node->size));
  dvmd_pmix_info_add_string (b->info, PMIX_LOCAL_PEERS, node->peers->str);
  dvmd_pmix_info_add_rank (b->info, PMIX_LOCALLDR, node->leader);
  add_local_procs (b, b->info);
  add_machine (b, b->info);
}

static void
add_nodes (Builder *b)
{
  for (guint32 i = 0; i < b->job->n_nodes; i++)
    {
      DvmdPmixInfo array = DVMD_PMIX_INFO_INIT;

      dvmd_pmix_info_add_string (&array, PMIX_HOSTNAME, b->job->nodes[i]);
      dvmd_pmix_info_add_uint32 (&array, PMIX_NODEID, b->job->ids[i]);
      dvmd_pmix_info_add_uint32 (&array, PMIX_LOCAL_SIZE, b->nodes[i].size);
      dvmd_pmix_info_add_string (&array, PMIX_LOCAL_PEERS, b->nodes[i].peers->str);
      dvmd_pmix_info_add_rank (&array, PMIX_LOCALLDR, b->nodes[i].leader);
      if (i == b->job->my_node)
        add_machine (b, &array);
      dvmd_pmix_info_add_array (b->info, PMIX_NODE_INFO_ARRAY, &array);
    }
}

/*
 * app: G_MAXUINT32 is the job. It does not replace what is told of every job. The target of daemons that were spawned
 * with it has no process that somebody could have packed.
 */
static void
add_spawn_info (Builder *b, DvmdPmixInfo *info, guint32 app)
{
  GVariantIter iter;
  const char *key;
  GVariant *bytes;
  guint32 of;

  if (b->job->info == NULL)
    return;
  g_variant_iter_init (&iter, b->job->info);
  while (g_variant_iter_loop (&iter, "(u&s@ay)", &of, &key, &bytes))
    if (of != app)
      continue;
    else if (g_str_equal (key, PMIX_DEBUG_TARGET) && dvmd_pmix_text_get (bytes) != NULL)
      dvmd_pmix_info_add_proc (info, key, dvmd_pmix_text_get (bytes), PMIX_RANK_WILDCARD);
    else
      dvmd_pmix_info_add_packed (info, key, bytes);
}

/* (element-type utf8 guint): the size of each process set */
static GHashTable *
count_psets (DvmdPmixJob *job)
{
  GHashTable *sizes = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint32 i = 0; i < job->apps->len; i++)
    {
      const DvmdPmixApp *app = g_ptr_array_index (job->apps, i);

      if (app->pset != NULL)
        g_hash_table_insert (
            sizes, app->pset,
            GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (sizes, app->pset)) + app->n_procs));
    }
  return sizes;
}

/* Applications that name the same set are in it together. */
static void
add_members (Builder *b, DvmdPmixInfo *info, const char *name, guint size)
{
  g_autofree pmix_proc_t *procs = g_new0 (pmix_proc_t, size);
  pmix_data_array_t array = { .type = PMIX_PROC, .size = size, .array = procs };
  gsize n = 0;

  for (guint32 i = 0; i < b->job->apps->len; i++)
    {
      const DvmdPmixApp *app = g_ptr_array_index (b->job->apps, i);

      if (g_strcmp0 (app->pset, name) != 0)
        continue;
      for (guint32 k = 0; k < app->n_procs; k++)
        {
          PMIX_LOAD_PROCID (&procs[n], b->job->nspace, app->first_rank + k);
          n++;
        }
    }
  dvmd_pmix_info_add (info, PMIX_PSET_MEMBERS, &array, PMIX_DATA_ARRAY);
}

/* n_listed: members in the lists of all applications so far */
static void
add_pset (Builder *b, DvmdPmixInfo *info, const char *name, GHashTable *sizes, guint64 *n_listed)
{
  guint size = name != NULL ? GPOINTER_TO_UINT (g_hash_table_lookup (sizes, name)) : 0;

  dvmd_pmix_info_add_string (info, PMIX_PSET_NAME, name);
  if (size == 0 || *n_listed + size > DVMD_PMIX_MOST_MEMBERS)
    return;
  *n_listed += size;
  add_members (b, info, name, size);
}

static void
add_apps (Builder *b)
{
  g_autoptr (GHashTable) sizes = count_psets (b->job);
  guint64 n_listed = 0;

  for (guint32 i = 0; i < b->job->apps->len; i++)
    {
      const DvmdPmixApp *app = g_ptr_array_index (b->job->apps, i);
      g_autofree char *argv = g_strjoinv (" ", app->argv);
      DvmdPmixInfo array = DVMD_PMIX_INFO_INIT;

      dvmd_pmix_info_add_uint32 (&array, PMIX_APPNUM, i);
      dvmd_pmix_info_add_uint32 (&array, PMIX_APP_SIZE, app->n_procs);
      dvmd_pmix_info_add_rank (&array, PMIX_APPLDR, app->first_rank);
      dvmd_pmix_info_add_string (&array, PMIX_WDIR, app->cwd);
      dvmd_pmix_info_add_string (&array, PMIX_APP_ARGV, argv);
      add_policies (&array, app);
      add_pset (b, &array, app->pset, sizes, &n_listed);
      add_spawn_info (b, &array, i);
      dvmd_pmix_info_add_array (b->info, PMIX_APP_INFO_ARRAY, &array);
    }
}

/* The rank among those that lie in this object; one that lies in several has none. */
static void
add_object_rank (DvmdPmixInfo *array, const char *key, GArray *counts, int object)
{
  if (object < 0)
    return;
  if ((guint)object >= counts->len)
    g_array_set_size (counts, (guint)object + 1);
  dvmd_pmix_info_add_uint16 (array, key, g_array_index (counts, guint16, object)++);
}

/* The keys that only the node that hosts the rank can give. */
static void
add_local_rank (Builder *b, DvmdPmixInfo *array, guint32 rank, const DvmdPmixRank *row)
{
  g_autofree char *dir = g_strdup_printf ("%s/%u", b->session_dir, rank);
  const DvmdPmixPlace *place = dvmd_pmix_places_lookup (b->view->places, row->cpuset);

  dvmd_pmix_info_add_string (array, PMIX_PROCDIR, dir);
  if (row->devices != NULL)
    dvmd_pmix_info_add_string (array, PMIX_DEVICE_ID, row->devices);
  add_parent (b, array);
  if (place == NULL)
    return;
  dvmd_pmix_info_add_string (array, PMIX_CPUSET, place->cpuset);
  dvmd_pmix_info_add_string (array, PMIX_LOCALITY_STRING, place->locality);
  add_object_rank (array, PMIX_PACKAGE_RANK, b->in_package, place->package);
#ifdef DVMD_PMIX_HAS_NUMA_RANK
  add_object_rank (array, PMIX_NUMA_RANK, b->in_numa, place->numa);
#endif
}

/* (nullable) */
static const char *
find_pset (Builder *b, const DvmdPmixRank *row)
{
  return ((const DvmdPmixApp *)g_ptr_array_index (b->job->apps, row->app))->pset;
}

static void
add_ranks (Builder *b)
{
  guint32 size = dvmd_pmix_job_get_size (b->job);

  dvmd_pmix_info_reserve (b->info, size);
  for (guint32 rank = 0; rank < size; rank++)
    {
      const DvmdPmixRank *row = dvmd_pmix_job_get_rank (b->job, rank);
      DvmdPmixInfo array = DVMD_PMIX_INFO_INIT;

      dvmd_pmix_info_reserve (&array, 16);
      /* The library takes the first for the rank, whatever its key. */
      dvmd_pmix_info_add_rank (&array, PMIX_RANK, rank);
      dvmd_pmix_info_add_rank (&array, PMIX_GLOBAL_RANK, b->job->offset + rank);
      dvmd_pmix_info_add_uint32 (&array, PMIX_APPNUM, row->app);
      dvmd_pmix_info_add_rank (&array, PMIX_APP_RANK, row->app_rank);
      dvmd_pmix_info_add_uint16 (&array, PMIX_LOCAL_RANK, row->local_rank);
      dvmd_pmix_info_add_uint16 (&array, PMIX_NODE_RANK, row->node_rank);
      dvmd_pmix_info_add_uint32 (&array, PMIX_NODEID, b->job->ids[row->node]);
      dvmd_pmix_info_add_string (&array, PMIX_HOSTNAME, b->job->nodes[row->node]);
      /* The library looks for that of a rank here, and not at its application. */
      dvmd_pmix_info_add_string (&array, PMIX_PSET_NAME, find_pset (b, row));
      /* One that comes back would be told what was so before. */
      if (!b->job->may_restart)
        dvmd_pmix_info_add_uint32 (&array, PMIX_REINCARNATION, 0);
      if (row->node == b->job->my_node)
        add_local_rank (b, &array, rank, row);
      dvmd_pmix_info_add_array (b->info, PMIX_PROC_INFO_ARRAY, &array);
    }
}

void
dvmd_pmix_build_job_info (DvmdPmixInfo *info, DvmdPmixJob *job, const DvmdPmixView *view, const char *session_dir)
{
  Builder builder = {
    .info = info,
    .job = job,
    .view = view,
    .session_dir = session_dir,
    .nodes = collect_nodes (job),
    .in_package = g_array_new (FALSE, TRUE, sizeof (guint16)),
    .in_numa = g_array_new (FALSE, TRUE, sizeof (guint16)),
  };

  add_maps (&builder);
  add_job_level (&builder);
  add_manager (&builder);
  add_command (&builder);
  add_own_node (&builder);
  add_apps (&builder);
  add_nodes (&builder);
  add_ranks (&builder);
  add_spawn_info (&builder, info, G_MAXUINT32);
  free_nodes (builder.nodes, job->n_nodes);
  g_array_unref (builder.in_package);
  g_array_unref (builder.in_numa);
}
