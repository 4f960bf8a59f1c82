/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long a job of PBS lasts, and whether it runs: "qstat -f" has an attribute in each line, "    NAME = VALUE".
 */

#include "config.h"

#include "job-time.h"

#include <string.h>
#include <time.h>

#include "node-memory.h"
#include "node-table.h"
#include "time-left.h"

static char **
make_argv (const char *id)
{
  const char *const argv[] = { "qstat", "-f", id, NULL };

  return g_strdupv ((char **)argv);
}

/* (nullable) (transfer full): the value of an attribute */
static char *
find_value (char **lines, const char *name)
{
  gsize length = strlen (name);

  for (; *lines != NULL; lines++)
    {
      const char *at = *lines + strspn (*lines, " ");

      if (strncmp (at, name, length) == 0 && g_str_has_prefix (at + length, " = "))
        return g_strstrip (g_strdup (at + length + strlen (" = ")));
    }
  return NULL;
}

/* FALSE: an attribute that is there is no time. seconds: (out): -1: it is not there */
static gboolean
read_time (char **lines, const char *name, gint64 *seconds, GError **error)
{
  g_autofree char *value = find_value (lines, name);

  *seconds = value != NULL ? dvmd_time_left_parse (value) : -1;
  if (value == NULL || *seconds >= 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "%s is “%.60s”, which is no time", name, value);
  return FALSE;
}

/* "Wed Apr 10 17:10:29 2013". (out): -1: it does not say so */
static gint64
find_seconds_since_start (char **lines)
{
  g_autofree char *value = find_value (lines, "stime");
  struct tm start = { .tm_isdst = -1 };
  const char *end = value != NULL ? strptime (value, "%a %b %d %H:%M:%S %Y", &start) : NULL;

  return end != NULL && *end == '\0' ? MAX (g_get_real_time () / G_USEC_PER_SEC - (gint64)mktime (&start), 0) : -1;
}

/* C is Torque's word for a job that has been completed; F, M and X are OpenPBS's for jobs, and for subjobs of arrays,
 * that have finished here or have been moved. */
static gboolean
check_state (char **lines, GError **error)
{
  g_autofree char *state = find_value (lines, "job_state");

  if (state == NULL || state[0] == '\0' || strchr ("CFMX", state[0]) == NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "qstat has said that it has ended (job_state %c)", state[0]);
  return FALSE;
}

/* The time that the job has used counts against the limit: a suspended job uses none. */
static gboolean
read_left (const char *text, const char *id, gint64 *left, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  gint64 remaining, limit, used;

  if (strstr (text, "Job Id:") == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "qstat has said nothing of it");
      return FALSE;
    }
  if (!check_state (lines, error) || !read_time (lines, "Walltime.Remaining", &remaining, error)
      || !read_time (lines, "Resource_List.walltime", &limit, error)
      || !read_time (lines, "resources_used.walltime", &used, error))
    return FALSE;
  if (used < 0)
    used = find_seconds_since_start (lines);
  if (limit >= 0 && remaining < 0 && used < 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                   "qstat names neither resources_used.walltime nor stime beside the limit");
      return FALSE;
    }
  *left = remaining >= 0 || limit < 0 ? remaining : MAX (limit - used, 0);
  return TRUE;
}

/* ---- memory ---- */

static const DvmdSizeUnit units[] = {
  { "b", 1 },
  { "kb", G_GUINT64_CONSTANT (1) << 10 },
  { "mb", G_GUINT64_CONSTANT (1) << 20 },
  { "gb", G_GUINT64_CONSTANT (1) << 30 },
  { "tb", G_GUINT64_CONSTANT (1) << 40 },
  { "pb", G_GUINT64_CONSTANT (1) << 50 },
  { "", 1 },
};

/* "n001:ncpus=4:mem=8388608kb", and others behind a + where a chunk is taken from several parts of a host. */
static guint64
read_chunk (const char *chunk)
{
  g_auto (GStrv) words = g_strsplit_set (chunk, ":+", -1);
  guint64 sum = 0;
  guint64 bytes;

  for (guint i = 0; words[i] != NULL; i++)
    if (g_str_has_prefix (words[i], "mem=") && dvmd_size_parse (words[i] + strlen ("mem="), units, &bytes))
      sum += MIN (bytes, DVMD_NODE_TABLE_MOST_MEMORY - sum);
  return sum;
}

static void
add_to_host (DvmdAllocation *allocation, const char *host, guint64 bytes, guint64 *memory)
{
  g_autofree char *name = g_strndup (host, strcspn (host, "/"));
  guint n_nodes;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    if (dvmd_node_is_same_host (nodes[i].name, name))
      {
        memory[i] += MIN (bytes, DVMD_NODE_TABLE_MOST_MEMORY - memory[i]);
        return;
      }
}

/* Lines that go on begin with a tab. */
static char **
join_lines (const char *text)
{
  g_auto (GStrv) pieces = g_strsplit (text, "\n\t", -1);
  g_autofree char *joined = g_strjoinv ("", pieces);

  return g_strsplit (joined, "\n", -1);
}

/* "(n001:ncpus=4:mem=8388608kb)+(n002:...)", chunk by chunk on the hosts of "n001/0*4+n002/0*4": a vnode may be called
 * otherwise than its host. */
static void
read_memory (const char *text, const char *id, DvmdAllocation *allocation, guint64 *memory)
{
  g_auto (GStrv) lines = join_lines (text);
  g_autofree char *vnodes = find_value (lines, "exec_vnode");
  g_autofree char *hosts = find_value (lines, "exec_host");
  g_auto (GStrv) chunks = g_strsplit (vnodes != NULL ? vnodes : "", ")+(", -1);
  g_auto (GStrv) places = g_strsplit (hosts != NULL ? hosts : "", "+", -1);

  if (g_strv_length (chunks) != g_strv_length (places))
    return;
  for (guint i = 0; chunks[i] != NULL; i++)
    add_to_host (allocation, places[i], read_chunk (g_strdelimit (chunks[i], "()", '+')), memory);
}

static const char *const unknown[] = { "Unknown Job Id", "Job has finished", NULL };

const DvmdTimeQuestion pbs_time_question = {
  .plugin = "allocator-pbs",
  .scheduler = "PBS",
  .make_argv = make_argv,
  .read = read_left,
  .read_memory = read_memory,
  .unknown = unknown,
  .file = "PBS_NODEFILE",
};
