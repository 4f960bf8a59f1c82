/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One description of many jobs: which indexes they have, and what each of them is told.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-job-spec-fields-private.h"
#include "dvm-words-private.h"

/**
 * dvm_job_spec_get_array:
 * @self: a job description
 *
 * The indexes of the jobs that the description stands for.
 *
 * Returns: (transfer none) (nullable): such as "0-99:2,200%10"; %NULL: it is one job
 * Since: 0.1
 */
const char *
dvm_job_spec_get_array (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->array;
}

/**
 * dvm_job_spec_set_array:
 * @self: a job description
 * @array: (nullable): indexes, such as "0-99:2,200%10"
 *
 * Makes the description stand for many jobs, one for each index. A number behind ":" is the step of a range, the one
 * behind "%" at the end says how many of the jobs may run at once. dvm_client_submit_many() takes such a description.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_array (DvmJobSpec *self, const char *array)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->array, array);
}

/* ---- indexes ---- */

static gboolean
set_array_error (const char *text, const char *place, GError **error)
{
  g_autofree char *shown = _dvm_words_show (text);

  g_set_error (
      error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
      _ ("%sarray: “%s” is no list of indexes; it is such as 0-99, 1,3,7, 0-99:2 (every second one) or 0-99%%10 "
         "(10 of them at once), and the largest index is %d"),
      place, shown, G_MAXINT);
  return FALSE;
}

/* at is moved behind the number. */
static gboolean
take_number (const char **at, guint32 *number)
{
  char *end;
  guint64 value;

  if (!g_ascii_isdigit (**at))
    return FALSE;
  value = g_ascii_strtoull (*at, &end, 10);
  *at = end;
  *number = (guint32)MIN (value, G_MAXINT);
  return value <= G_MAXINT;
}

static int
compare_indexes (gconstpointer a, gconstpointer b)
{
  guint32 left = *(const guint32 *)a;
  guint32 right = *(const guint32 *)b;

  return left < right ? -1 : left > right;
}

/* "5", "5-9" or "5-9:2"; at is moved behind it. */
static gboolean
take_range (const char **at, GArray *indexes)
{
  guint32 first;
  guint32 last;
  guint32 step = 1;

  if (!take_number (at, &first))
    return FALSE;
  last = first;
  if (**at == '-')
    {
      ++*at;
      if (!take_number (at, &last) || last < first)
        return FALSE;
      if (**at == ':')
        {
          ++*at;
          if (!take_number (at, &step) || step == 0)
            return FALSE;
        }
    }
  for (guint64 index = first; index <= last && indexes->len <= DVM_ARRAY_MOST; index += step)
    {
      guint32 value = (guint32)index;

      g_array_append_val (indexes, value);
    }
  return TRUE;
}

static gboolean
check_indexes (GArray *indexes, const char *place, GError **error)
{
  if (indexes->len > DVM_ARRAY_MOST)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%sarray: it has more than %d jobs"), place,
                   DVM_ARRAY_MOST);
      return FALSE;
    }
  g_array_sort (indexes, compare_indexes);
  for (guint i = 1; i < indexes->len; i++)
    if (g_array_index (indexes, guint32, i) == g_array_index (indexes, guint32, i - 1))
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%sarray: the index %u is named twice"), place,
                     g_array_index (indexes, guint32, i));
        return FALSE;
      }
  return TRUE;
}

GArray *
_dvm_array_parse (const char *text, const char *place, guint32 *most, GError **error)
{
  g_autoptr (GArray) indexes = g_array_new (FALSE, FALSE, sizeof (guint32));
  const char *at = text;

  *most = 0;
  do
    {
      at += at != text;
      if (!take_range (&at, indexes))
        {
          set_array_error (text, place, error);
          return NULL;
        }
    }
  while (*at == ',' && indexes->len <= DVM_ARRAY_MOST);
  if (*at == '%' && indexes->len <= DVM_ARRAY_MOST)
    {
      at++;
      if (!take_number (&at, most) || *most == 0)
        {
          set_array_error (text, place, error);
          return NULL;
        }
    }
  if (*at != '\0' && indexes->len <= DVM_ARRAY_MOST)
    {
      set_array_error (text, place, error);
      return NULL;
    }
  return check_indexes (indexes, place, error) ? g_steal_pointer (&indexes) : NULL;
}

/* ---- one of the jobs ---- */

/* For a description that nobody listens to. */
static void
copy_field (DvmJobSpec *self, DvmJobSpec *from, const DvmRecordField *field)
{
  switch (field->kind)
    {
    case DVM_RECORD_FIELD_STRING:
      G_STRUCT_MEMBER (char *, self, field->offset) = g_strdup (G_STRUCT_MEMBER (char *, from, field->offset));
      break;
    case DVM_RECORD_FIELD_STRV:
      G_STRUCT_MEMBER (char **, self, field->offset) = g_strdupv (G_STRUCT_MEMBER (char **, from, field->offset));
      break;
    default: /* numbers of 32 bits: a description has no other fields */
      G_STRUCT_MEMBER (guint32, self, field->offset) = G_STRUCT_MEMBER (guint32, from, field->offset);
      break;
    }
}

static char *
make_name (DvmJobSpec *self, guint32 index)
{
  const char *const *argv = dvm_app_spec_get_argv (dvm_job_spec_get_app (self, 0));
  g_autofree char *base = self->name == NULL ? g_path_get_basename (argv[0]) : g_strdup (self->name);
  g_autofree char *shown = g_utf8_validate (base, -1, NULL) ? g_strdup (base) : g_strescape (base, NULL);

  return g_strdup_printf ("%s[%u]", shown, index);
}

DvmJobSpec *
_dvm_job_spec_new_element (DvmJobSpec *self, const DvmArrayPlace *place)
{
  DvmJobSpec *element = dvm_job_spec_new ();

  for (guint i = 0; i < _dvm_job_spec_codec.n_fields; i++)
    copy_field (element, self, &_dvm_job_spec_codec.fields[i]);
  g_clear_pointer (&element->array, g_free);
  g_free (element->name);
  element->name = make_name (self, place->index);
  for (guint i = 0; i < self->apps->len; i++)
    g_ptr_array_add (element->apps, g_object_ref (self->apps->pdata[i]));
  element->place = g_memdup2 (place, sizeof *place);
  return element;
}

const DvmArrayPlace *
_dvm_job_spec_get_place (DvmJobSpec *self)
{
  return self->place;
}

void
_dvm_job_spec_set_array_id (DvmJobSpec *self, guint32 id)
{
  self->place->id = id;
}

/* ---- paths ---- */

gboolean
_dvm_array_path_has_place (const char *path)
{
  for (const char *at = path != NULL ? strchr (path, '%') : NULL; at != NULL && at[1] != '\0';
       at = strchr (at + 2, '%'))
    if (at[1] == 'a' || at[1] == 'A')
      return TRUE;
  return FALSE;
}

char *
_dvm_array_expand_path (const DvmArrayPlace *place, const char *path, gboolean is_pattern)
{
  GString *expanded;

  if (path == NULL || place == NULL)
    return g_strdup (path);
  expanded = g_string_new (NULL);
  for (const char *at = path; *at != '\0'; at++)
    {
      if (at[0] == '%' && at[1] == 'a')
        g_string_append_printf (expanded, "%u", place->index);
      else if (at[0] == '%' && at[1] == 'A')
        g_string_append_printf (expanded, "%u", place->id);
      else if (at[0] == '%' && at[1] == '%')
        g_string_append (expanded, is_pattern ? "%%" : "%");
      else
        {
          g_string_append_c (expanded, *at);
          continue;
        }
      at++;
    }
  return g_string_free (expanded, FALSE);
}
