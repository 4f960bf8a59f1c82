/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The variables that Slurm sets for a job, as salloc(1), sbatch(1) and srun(1) describe them.
 */

#include "config.h"

#include "slurm-job.h"

#include <string.h>

#include "environment.h"
#include "node-memory.h"
#include "node-table.h"

/* Components of a heterogeneous job at most. */
#define MOST_COMPONENTS 1024

/* One component of a job; a job that is not heterogeneous has one, whose variables end in nothing. */
typedef struct
{
  const char *const *environ;
  const char *suffix; /* of the names of its variables: "", "_HET_GROUP_0" */
  char **names;       /* of its nodes */
  guint n_names;
  char *list_name; /* the variable that they are from */
} Component;

/* ---- variables ---- */

/* (nullable): the value, if there is one; name: (out) (transfer full): the whole name */
static const char *
get_variable (const Component *self, const char *stem, char **name)
{
  const char *value;

  *name = g_strconcat (stem, self->suffix, NULL);
  value = g_environ_getenv ((char **)self->environ, *name);
  return value != NULL && value[0] != '\0' ? value : NULL;
}

static gboolean
read_number (const Component *self, const char *stem, guint32 *number, GError **error)
{
  g_autofree char *name = g_strconcat (stem, self->suffix, NULL);

  return dvmd_environment_read_number (self->environ, name, 1, DVMD_NODE_TABLE_MOST_SLOTS, number, error);
}

static const char *
get_plain (const Component *self, const char *name)
{
  const char *const names[] = { name, NULL };

  return dvmd_environment_find (self->environ, names, NULL);
}

/* ---- slots ---- */

/* "2(x3)" or "1": text is changed */
static gboolean
read_run (char *text, const char *place, guint32 *count, guint32 *n, GError **error)
{
  char *repeat = strstr (text, "(x");
  gsize length = strlen (text);

  *n = 1;
  if (repeat != NULL && text[length - 1] == ')')
    {
      text[length - 1] = '\0';
      *repeat = '\0';
      if (!dvmd_environment_parse_number (repeat + 2, place, 1, DVM_HOST_LIST_MOST_NAMES, n, error))
        return FALSE;
    }
  return dvmd_environment_parse_number (text, place, 1, DVMD_NODE_TABLE_MOST_SLOTS, count, error);
}

/* "2(x3),1": one count for each node. (nullable) (transfer full) (element-type guint32) */
static GArray *
read_runs (const Component *self, const char *value, const char *place, GError **error)
{
  g_auto (GStrv) runs = g_strsplit (value, ",", -1);
  g_autoptr (GArray) counts = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint64 n_counts = 0;

  for (guint i = 0; runs[i] != NULL; i++)
    {
      guint32 count, n;

      if (!read_run (runs[i], place, &count, &n, error))
        return NULL;
      for (guint k = 0; k < n && n_counts + k < self->n_names; k++)
        g_array_append_val (counts, count);
      n_counts += n;
    }
  if (n_counts == self->n_names)
    return g_steal_pointer (&counts);
  g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
               "%s has counts for %" G_GUINT64_FORMAT " node%s, and %s names %u: each node has one", place, n_counts,
               n_counts == 1 ? "" : "s", self->list_name, self->n_names);
  return NULL;
}

static gboolean
add_runs (const Component *self, const char *value, const char *place, guint32 divisor, DvmdNodeTable *table,
          GError **error)
{
  g_autoptr (GArray) counts = read_runs (self, value, place, error);

  for (guint i = 0; counts != NULL && i < counts->len; i++)
    dvmd_node_table_add (table, self->names[i], MAX (g_array_index (counts, guint32, i) / divisor, 1));
  return counts != NULL;
}

static gboolean
add_same (const Component *self, guint32 slots, DvmdNodeTable *table)
{
  for (guint i = 0; i < self->n_names; i++)
    dvmd_node_table_add (table, self->names[i], slots);
  return TRUE;
}

/* srun tells a step of its own tasks, by the name that the job's have elsewhere. */
static gboolean
tasks_are_of_step (const Component *self, const char *tasks)
{
  const char *nodes = get_plain (self, "SLURM_STEP_NODELIST");

  return nodes != NULL && g_strcmp0 (get_plain (self, "SLURM_STEP_TASKS_PER_NODE"), tasks) == 0
         && g_strcmp0 (get_plain (self, "SLURM_JOB_NODELIST"), nodes) != 0;
}

static gboolean
add_nodes (const Component *self, DvmdNodeTable *table, GError **error)
{
  g_autofree char *tasks_name = NULL;
  g_autofree char *cpus_name = NULL;
  const char *tasks = get_variable (self, "SLURM_TASKS_PER_NODE", &tasks_name);
  const char *cpus = get_variable (self, "SLURM_JOB_CPUS_PER_NODE", &cpus_name);
  guint32 per_node = 0;
  guint32 per_task = 1;

  if (tasks != NULL && !tasks_are_of_step (self, tasks))
    return add_runs (self, tasks, tasks_name, 1, table, error);
  if (!read_number (self, "SLURM_NTASKS_PER_NODE", &per_node, error))
    return FALSE;
  if (per_node > 0)
    return add_same (self, per_node, table);
  if (cpus == NULL)
    return add_same (self, 0, table);
  return read_number (self, "SLURM_CPUS_PER_TASK", &per_task, error)
         && add_runs (self, cpus, cpus_name, per_task, table, error);
}

/* ---- memory ---- */

/* MiB unless a unit says otherwise, as srun takes it. bytes: (out): 0: nothing is said, or all of the node. */
static gboolean
read_memory (const Component *self, const char *stem, guint64 *bytes, GError **error)
{
  static const DvmdSizeUnit units[] = { { "K", G_GUINT64_CONSTANT (1) << 10 },
                                        { "M", G_GUINT64_CONSTANT (1) << 20 },
                                        { "G", G_GUINT64_CONSTANT (1) << 30 },
                                        { "T", G_GUINT64_CONSTANT (1) << 40 },
                                        { "", G_GUINT64_CONSTANT (1) << 20 } };
  g_autofree char *name = NULL;
  const char *value = get_variable (self, stem, &name);
  g_autofree char *shown = NULL;

  *bytes = 0;
  if (value == NULL || dvmd_size_parse (value, units, bytes))
    return TRUE;
  shown = g_utf8_make_valid (value, (gssize)strnlen (value, 60));
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: “%s” is no size such as 4000 (MiB) or 4G", name, shown);
  return FALSE;
}

/* --mem, or --mem-per-cpu for each cpu of the node. */
static gboolean
add_memory (const Component *self, DvmdNodeTable *table, GError **error)
{
  g_autofree char *cpus_name = NULL;
  const char *cpus = get_variable (self, "SLURM_JOB_CPUS_PER_NODE", &cpus_name);
  g_autoptr (GArray) counts = NULL;
  guint64 of_node, of_cpu;

  if (!read_memory (self, "SLURM_MEM_PER_NODE", &of_node, error)
      || !read_memory (self, "SLURM_MEM_PER_CPU", &of_cpu, error))
    return FALSE;
  for (guint i = 0; of_node > 0 && i < self->n_names; i++)
    dvmd_node_table_add_memory (table, self->names[i], of_node);
  if (of_node > 0 || of_cpu == 0 || cpus == NULL)
    return TRUE;
  counts = read_runs (self, cpus, cpus_name, error);
  for (guint i = 0; counts != NULL && i < counts->len; i++)
    {
      guint32 n = g_array_index (counts, guint32, i);

      dvmd_node_table_add_memory (table, self->names[i], MIN (of_cpu, DVMD_NODE_TABLE_MOST_MEMORY / n) * n);
    }
  return counts != NULL;
}

/* ---- components ---- */

/* FALSE without error: there is no such variable */
static gboolean
read_names (Component *self, GError **error)
{
  static const char *const stems[] = { "SLURM_JOB_NODELIST", "SLURM_NODELIST" };

  for (guint i = 0; i < G_N_ELEMENTS (stems); i++)
    {
      g_autofree char *name = NULL;
      const char *list = get_variable (self, stems[i], &name);

      if (list == NULL)
        continue;
      self->names = dvm_host_list_expand (list, name, error);
      self->n_names = self->names != NULL ? g_strv_length (self->names) : 0;
      self->list_name = g_steal_pointer (&name);
      return self->names != NULL;
    }
  return FALSE;
}

/* FALSE without error: there is no such component */
static gboolean
add_component (const char *const *environ, const char *suffix, DvmdNodeTable *table, GError **error)
{
  Component self = { .environ = environ, .suffix = suffix };
  gboolean right = read_names (&self, error) && add_nodes (&self, table, error) && add_memory (&self, table, error);

  g_strfreev (self.names);
  g_free (self.list_name);
  return right;
}

static gboolean
add_components (const char *const *environ, guint n, DvmdNodeTable *table, GError **error)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *suffix = g_strdup_printf ("_HET_GROUP_%u", i);
      GError *local = NULL;

      if (add_component (environ, suffix, table, &local))
        continue;
      if (local == NULL)
        local = g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                             "SLURM_HET_SIZE is %u, and there is no SLURM_JOB_NODELIST%s: each component has nodes", n,
                             suffix);
      g_propagate_error (error, local);
      return FALSE;
    }
  return TRUE;
}

/* ---- the job ---- */

void
slurm_job_free (SlurmJob *self)
{
  g_clear_pointer (&self->allocation, dvmd_allocation_unref);
  g_free (self->script_node);
  g_free (self);
}

SlurmJob *
slurm_job_read (const char *const *environ, GError **error)
{
  static const char *const id_names[] = { "SLURM_JOB_ID", "SLURM_JOBID", NULL };
  static const char *const node_names[] = { "SLURMD_NODENAME", NULL };
  const char *id_name;
  const char *id = dvmd_environment_find (environ, id_names, &id_name);
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  g_autoptr (SlurmJob) self = NULL;
  guint32 number;
  guint32 n = 0;

  if (id == NULL || !dvmd_environment_read_number (environ, "SLURM_HET_SIZE", 1, MOST_COMPONENTS, &n, error))
    return NULL;
  if (n > 0 ? !add_components (environ, n, table, error) : !add_component (environ, "", table, error))
    return NULL;
  /* It becomes a word of a command. */
  if (!dvmd_environment_parse_number (id, id_name, 1, G_MAXUINT32, &number, error))
    return NULL;
  self = g_new0 (SlurmJob, 1);
  self->heterogeneous = n > 1;
  self->script_node = g_strdup (dvmd_environment_find (environ, node_names, NULL));
  self->allocation = dvmd_node_table_to_allocation (table, id, "SLURM_JOB_NODELIST", error);
  return self->allocation != NULL ? g_steal_pointer (&self) : NULL;
}
