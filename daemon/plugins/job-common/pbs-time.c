/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long a job of PBS lasts, and whether it runs: "qstat -f" has an attribute in each line, "    NAME = VALUE".
 */

#include "config.h"

#include "job-time.h"

#include <string.h>
#include <time.h>

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

static const char *const unknown[] = { "Unknown Job Id", "Job has finished", NULL };

const DvmdTimeQuestion pbs_time_question = {
  .plugin = "allocator-pbs",
  .scheduler = "PBS",
  .make_argv = make_argv,
  .read = read_left,
  .unknown = unknown,
  .file = "PBS_NODEFILE",
};
