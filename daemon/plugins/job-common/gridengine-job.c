/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of a job of Grid Engine, from the file of its parallel environment.
 */

#include "config.h"

#include "gridengine-job.h"

#include <string.h>

#include "environment.h"
#include "node-file.h"
#include "node-table.h"

#define HOST_FILE "PE_HOSTFILE"

/* The cores of "-binding pe", "0,0:0,1": package and core of each. In other queues there is another word, or a list
 * that is not about this job. (transfer full) (nullable): NULL: it is none of cores */
static char *
read_cores (const char *word)
{
  g_auto (GStrv) pairs = g_strsplit (word != NULL ? word : "", ":", -1);
  g_autoptr (GString) cores = g_string_new (NULL);

  for (guint i = 0; pairs[i] != NULL; i++)
    {
      char *comma = strchr (pairs[i], ',');

      if (comma == NULL || comma == pairs[i] || comma[1] == '\0'
          || strspn (comma + 1, "0123456789") != strlen (comma + 1)
          || strspn (pairs[i], "0123456789") != (gsize)(comma - pairs[i]))
        return NULL;
      *comma = ':';
      g_string_append_printf (cores, "%s%s", i > 0 ? ";" : "", pairs[i]);
    }
  return cores->len > 0 ? g_string_free (g_steal_pointer (&cores), FALSE) : NULL;
}

static gboolean
add_line (gpointer data, const char *const *words, const char *place, GError **error)
{
  g_autofree char *cores = read_cores (words[2] != NULL ? words[3] : NULL);
  guint32 slots;

  if (!dvmd_environment_parse_number (words[1], place, 1, DVMD_NODE_TABLE_MOST_SLOTS, &slots, error))
    return FALSE;
  dvmd_node_table_add (data, words[0], slots);
  dvmd_node_table_add_cpus (data, words[0], "core", cores);
  return TRUE;
}

/* A job without a parallel environment is one process on the machine that it is started on. */
static gboolean
add_serial (DvmdNodeTable *table, const char *const *environ, GError **error)
{
  guint32 n_slots = 1;

  if (!dvmd_environment_read_number (environ, "NSLOTS", 1, G_MAXUINT32, &n_slots, error))
    return FALSE;
  if (n_slots > 1)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "NSLOTS is %u, and " HOST_FILE " is not set: it names the file with the nodes of the job, and is "
                   "there in the job's script, not in what qrsh starts on another node",
                   n_slots);
      return FALSE;
    }
  dvmd_node_table_add (table, g_get_host_name (), 1);
  return TRUE;
}

/* Jobs of an array have one number, and each its task. */
static char *
make_id (const char *const *environ, const char *id)
{
  const char *task = dvmd_environment_get (environ, "SGE_TASK_ID");

  g_autofree char *whole = task != NULL && strcmp (task, "undefined") != 0 ? g_strconcat (id, ".", task, NULL)
                                                                           : g_strdup (id);

  return g_utf8_make_valid (whole, -1);
}

DvmdAllocation *
gridengine_job_read (const char *const *environ, GError **error)
{
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  const char *number = dvmd_environment_get (environ, "JOB_ID");
  const char *path = dvmd_environment_get (environ, HOST_FILE);
  g_autofree char *place = dvmd_node_file_name_place (HOST_FILE, path);
  g_autofree char *id = NULL;

  /* JOB_ID alone may be of anything. */
  if (number == NULL || dvmd_environment_get (environ, "SGE_ROOT") == NULL)
    return NULL;
  if (path == NULL
          ? !add_serial (table, environ, error)
          : !dvmd_node_file_read (path, HOST_FILE, 2, 4, "HOST SLOTS QUEUE PROCESSORS", add_line, table, error))
    return NULL;
  id = make_id (environ, number);
  return dvmd_node_table_to_allocation (table, id, place, error);
}
