/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of a job of LSF, which says them in several ways: the first one that is there counts.
 */

#include "config.h"

#include "lsf-job.h"

#include <string.h>

#include "environment.h"
#include "node-file.h"
#include "node-table.h"

typedef struct
{
  DvmdNodeTable *table;
  gboolean has_launch_node; /* the first one, where the job's script is run: it is no place for processes */
  char *launch_node;
} Reading;

static void
add_node (Reading *self, const char *name, guint32 slots)
{
  if (self->has_launch_node && self->launch_node == NULL)
    self->launch_node = g_strdup (name);
  if (self->launch_node == NULL || g_ascii_strcasecmp (name, self->launch_node) != 0)
    dvmd_node_table_add (self->table, name, slots);
}

/* ---- files ---- */

static gboolean
add_line (gpointer data, const char *const *words, const char *place, GError **error)
{
  add_node (data, words[0], 1);
  return TRUE;
}

/* "HOST 0,2,4": the cpus of all tasks of a host are those of its node; the DVM binds processes in them by itself. */
static gboolean
add_task (gpointer data, const char *const *words, const char *place, GError **error)
{
  if (words[1] != NULL && words[1][strspn (words[1], "0123456789,-")] != '\0')
    return dvmd_node_refuse_text (words[1], place, "is no list of cpus", error);
  add_node (data, words[0], 1);
  dvmd_node_table_add_cpus (((Reading *)data)->table, words[0], "pu", words[1]);
  return TRUE;
}

static gboolean
read_affinity (Reading *self, const char *value, const char *variable, GError **error)
{
  return dvmd_node_file_read (value, variable, 1, 4, "HOST CPUS NUMAS POLICY", add_task, self, error);
}

static gboolean
read_file (Reading *self, const char *value, const char *variable, GError **error)
{
  return dvmd_node_file_read (value, variable, 1, 1, "HOST", add_line, self, error);
}

/* ---- variables ---- */

/* "HOST SLOTS HOST SLOTS" */
static gboolean
read_pairs (Reading *self, const char *value, const char *variable, GError **error)
{
  g_auto (GStrv) words = dvmd_node_words (value);

  for (guint i = 0; words[i] != NULL; i += 2)
    {
      guint32 slots;

      if (!dvmd_node_check_name (words[i], variable, error))
        return FALSE;
      if (words[i + 1] == NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       "%s: the number of slots of %s is missing; it is written “HOST SLOTS HOST SLOTS”", variable,
                       words[i]);
          return FALSE;
        }
      if (!dvmd_environment_parse_number (words[i + 1], variable, 1, DVMD_NODE_TABLE_MOST_SLOTS, &slots, error))
        return FALSE;
      add_node (self, words[i], slots);
    }
  return TRUE;
}

static gboolean
read_names (Reading *self, const char *value, const char *variable, GError **error)
{
  g_auto (GStrv) words = dvmd_node_words (value);

  for (guint i = 0; words[i] != NULL; i++)
    {
      if (!dvmd_node_check_name (words[i], variable, error))
        return FALSE;
      add_node (self, words[i], 1);
    }
  return TRUE;
}

static const struct
{
  const char *variable;
  gboolean (*read) (Reading *self, const char *value, const char *variable, GError **error);
} sources[] = {
  { "LSB_AFFINITY_HOSTFILE", read_affinity }, /* empty without affinity */
  { "LSB_MCPU_HOSTS", read_pairs },
  { "LSB_DJOB_HOSTFILE", read_file },
  { "LSB_HOSTS", read_names },
};

/* (nullable): the variable that names the nodes; NULL without error: none does */
static const char *
read_nodes (Reading *self, const char *const *environ, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    {
      const char *value = dvmd_environment_get (environ, sources[i].variable);

      /* Whether the launch node has a task there nobody has written down. */
      if (value == NULL || (self->has_launch_node && sources[i].read == read_affinity))
        continue;
      if (!sources[i].read (self, value, sources[i].variable, error))
        return NULL;
      if (dvmd_node_table_get_n_nodes (self->table) > 0 || self->launch_node != NULL)
        return sources[i].variable;
    }
  return NULL;
}

/* Jobs of an array have one number, and each its index; other jobs have the index 0. */
static char *
make_id (const char *const *environ, const char *id)
{
  const char *index = dvmd_environment_get (environ, "LSB_JOBINDEX");

  g_autofree char *whole = index != NULL && strcmp (index, "0") != 0 ? g_strdup_printf ("%s[%s]", id, index)
                                                                     : g_strdup (id);

  return g_utf8_make_valid (whole, -1);
}

DvmdAllocation *
lsf_job_read (const char *const *environ, char **launch_node, GError **error)
{
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  Reading reading = { .table = table };
  const char *value = dvmd_environment_get (environ, "LSB_JOBID");
  g_autofree char *number = value != NULL ? g_utf8_make_valid (value, -1) : NULL;
  g_autofree char *id = NULL;
  const char *variable;
  GError *failed = NULL;

  *launch_node = NULL;
  if (number == NULL)
    return NULL;
  reading.has_launch_node = dvmd_environment_get (environ, "CSM_ALLOCATION_ID") != NULL;
  variable = read_nodes (&reading, environ, &failed);
  *launch_node = reading.launch_node;
  if (variable == NULL && failed == NULL)
    g_set_error (&failed, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "LSB_JOBID is “%s”, and none of LSB_MCPU_HOSTS, LSB_DJOB_HOSTFILE and LSB_HOSTS names the nodes of "
                 "the job",
                 number);
  if (failed != NULL)
    {
      g_propagate_error (error, failed);
      return NULL;
    }
  id = make_id (environ, number);
  return dvmd_node_table_to_allocation (table, id, variable, error);
}
