/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of a job of PBS: a line of its file is a slot.
 */

#include "config.h"

#include "pbs-job.h"

#include <string.h>

#include "environment.h"
#include "node-file.h"
#include "node-table.h"

#define NODE_FILE "PBS_NODEFILE"

typedef struct
{
  DvmdNodeTable *table;
  guint32 slots;   /* of a line */
  gboolean is_smp; /* each host has one line */
} Reading;

/* Large shared machines name each host once, and say in a variable how many slots that is. */
static gboolean
read_smp (const char *setting, const char *const *environ, Reading *reading, GError **error)
{
  static const char *const names[] = { "PBS_NUM_PPN", "PBS_PPN", NULL };
  const char *name;
  const char *value;

  if (setting == NULL || strcmp (setting, "no") == 0)
    return TRUE;
  value = dvmd_environment_find (environ, names, &name);
  if (strcmp (setting, "yes") != 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "allocator-pbs.smp is “%s”; it can be yes or no", setting);
  else if (value == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "allocator-pbs.smp is yes, and neither PBS_NUM_PPN nor PBS_PPN says how many slots a node has");
  else
    {
      reading->is_smp = TRUE;
      return dvmd_environment_parse_number (value, name, 1, DVMD_NODE_TABLE_MOST_SLOTS, &reading->slots, error);
    }
  return FALSE;
}

static gboolean
add_line (gpointer data, const char *const *words, const char *place, GError **error)
{
  Reading *reading = data;
  guint n_nodes = dvmd_node_table_get_n_nodes (reading->table);

  dvmd_node_table_add (reading->table, words[0], reading->slots);
  if (!reading->is_smp || dvmd_node_table_get_n_nodes (reading->table) > n_nodes)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "%s: %s comes again; with allocator-pbs.smp=yes each host has one line", place, words[0]);
  return FALSE;
}

DvmdAllocation *
pbs_job_read (const char *const *environ, const char *smp, GError **error)
{
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  Reading reading = { .table = table, .slots = 1 };
  const char *value = dvmd_environment_get (environ, "PBS_JOBID");
  g_autofree char *id = value != NULL ? g_utf8_make_valid (value, -1) : NULL;
  const char *path = dvmd_environment_get (environ, NODE_FILE);
  g_autofree char *place = dvmd_node_file_name_place (NODE_FILE, path);

  if (id == NULL)
    return NULL;
  if (path == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "PBS_JOBID is “%s”, and " NODE_FILE " is not set: it names the file with the nodes of the job, and "
                   "is there in the job's script",
                   id);
      return NULL;
    }
  if (!read_smp (smp, environ, &reading, error)
      || !dvmd_node_file_read (path, NODE_FILE, 1, 1, "HOST", add_line, &reading, error))
    return NULL;
  return dvmd_node_table_to_allocation (table, id, place, error);
}
