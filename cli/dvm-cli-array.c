/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs of arrays are named by their array and their indexes.
 */

#include "config.h"

#include "dvm-cli-array.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#define PREFIX "array:"

void
dvm_cli_array_clear (DvmCliArray *array)
{
  g_clear_pointer (&array->list, g_free);
}

static guint
read_id (const char *text)
{
  guint64 id;

  return g_ascii_string_to_unsigned (text, 10, 1, G_MAXUINT, &id, NULL) ? (guint)id : 0;
}

gboolean
dvm_cli_array_read (const char *word, DvmCliArray *array)
{
  const char *at = strchr (word, '@');
  const char *number = at != NULL ? at + 1 : word;
  const char *bracket = strchr (number, '[');
  gsize length = strlen (word);

  if (g_str_has_prefix (word, PREFIX))
    {
      array->id = read_id (word + strlen (PREFIX));
      return TRUE;
    }
  if (bracket != NULL && word[length - 1] == ']')
    {
      g_autofree char *digits = g_strndup (number, (gsize)(bracket - number));

      array->id = read_id (digits);
      array->list = g_strndup (bracket + 1, strlen (bracket) - 2);
      return TRUE;
    }
  /* "12[3" is none, nor the name of anything else. */
  return bracket != NULL && g_ascii_isdigit (number[0]);
}

/* part: "3" or "3-9" */
static gboolean
read_range (const char *part, guint *first, guint *last)
{
  g_auto (GStrv) ends = g_strsplit (part, "-", 2);
  guint64 numbers[2];

  for (guint i = 0; i < 2; i++)
    {
      const char *text = i == 1 && ends[0] != NULL && ends[1] != NULL ? ends[1] : ends[0];

      if (text == NULL || !g_ascii_string_to_unsigned (text, 10, 0, G_MAXINT, &numbers[i], NULL))
        return FALSE;
    }
  *first = (guint)numbers[0];
  *last = (guint)numbers[1];
  return *first <= *last;
}

static gboolean
take_range (GPtrArray *all, const DvmCliArray *array, const char *part, GPtrArray *jobs, GError **error)
{
  guint n_before = jobs->len;
  guint first;
  guint last;

  if (!read_range (part, &first, &last))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' is no list of indexes; one is such as 3-9,20"), array->list);
      return FALSE;
    }
  for (guint i = 0; i < all->len; i++)
    {
      DvmJob *job = all->pdata[i];

      if (dvm_job_get_array_id (job) == array->id && dvm_job_get_array_index (job) >= first
          && dvm_job_get_array_index (job) <= last)
        g_ptr_array_add (jobs, g_object_ref (job));
    }
  if (jobs->len > n_before)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
               _ ("there is no job %u[%s]: the array has no such index, or the job has been forgotten"), array->id,
               part);
  return FALSE;
}

static gboolean
take_all (GPtrArray *all, guint id, GPtrArray *jobs, GError **error)
{
  for (guint i = 0; i < all->len; i++)
    if (dvm_job_get_array_id (all->pdata[i]) == id)
      g_ptr_array_add (jobs, g_object_ref (all->pdata[i]));
  if (jobs->len > 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
               _ ("there is no array %u, or all of its jobs have been forgotten; its number is that of its first job"),
               id);
  return FALSE;
}

GPtrArray *
dvm_cli_array_find_jobs (DvmClient *client, const char *word, GPtrArray **known, GError **error)
{
  g_auto (DvmCliArray) array = { 0 };
  g_autoptr (GPtrArray) jobs = g_ptr_array_new_with_free_func (g_object_unref);
  g_auto (GStrv) parts = NULL;

  dvm_cli_array_read (word, &array);
  if (array.id == 0)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("'%s' names no jobs of an array: they are such as array:12 or 12[3-9]"), word);
      return NULL;
    }
  if (*known == NULL)
    *known = dvm_client_list_jobs (client, TRUE, NULL, error);
  if (*known == NULL || (array.list == NULL && !take_all (*known, array.id, jobs, error)))
    return NULL;
  if (array.list != NULL)
    parts = g_strsplit (array.list[0] != '\0' ? array.list : "-", ",", -1);
  for (gsize i = 0; parts != NULL && parts[i] != NULL; i++)
    if (!take_range (*known, &array, parts[i], jobs, error))
      return NULL;
  return g_steal_pointer (&jobs);
}

char *
dvm_cli_array_describe (DvmJob *const *jobs, guint n_jobs)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%u[", dvm_job_get_array_id (jobs[0]));
  for (guint i = 0; i < n_jobs;)
    {
      guint first = dvm_job_get_array_index (jobs[i]);
      guint last = first;

      while (++i < n_jobs && dvm_job_get_array_index (jobs[i]) == last + 1)
        last++;
      g_string_append_printf (text, "%s%u", text->str[text->len - 1] == '[' ? "" : ",", first);
      if (last > first)
        g_string_append_printf (text, "-%u", last);
    }
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}
