/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrays of pmix_info_t grow, and are filled in place.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-info.h"

#include <pmix.h>
#include <stdlib.h>
#include <string.h>

#include "dvmd-pmix-numbers.h"
#include "dvmd-pmix-read.h"

void
dvmd_pmix_info_clear (DvmdPmixInfo *self)
{
  PMIX_INFO_FREE (self->items, self->length);
  self->items = NULL;
  self->length = 0;
  self->size = 0;
}

void
dvmd_pmix_info_reserve (DvmdPmixInfo *self, gsize n)
{
  gsize size = MAX (self->size, 8);

  if (self->length + n <= self->size)
    return;
  while (size < self->length + n)
    size *= 2;
  self->items = realloc (self->items, size * sizeof (pmix_info_t));
  if (self->items == NULL)
    g_error ("No memory for %" G_GSIZE_FORMAT " PMIx values", size);
  self->size = size;
}

static pmix_value_t *
append (DvmdPmixInfo *self, const char *key, pmix_data_type_t type)
{
  pmix_info_t *item;

  dvmd_pmix_info_reserve (self, 1);
  item = &self->items[self->length++];
  memset (item, 0, sizeof *item);
  g_strlcpy (item->key, key, sizeof item->key);
  item->value.type = type;
  return &item->value;
}

void
dvmd_pmix_info_add_string (DvmdPmixInfo *self, const char *key, const char *value)
{
  if (value != NULL)
    append (self, key, PMIX_STRING)->data.string = strdup (value);
}

void
dvmd_pmix_info_add_uint32 (DvmdPmixInfo *self, const char *key, guint32 value)
{
  append (self, key, PMIX_UINT32)->data.uint32 = value;
}

void
dvmd_pmix_info_add_uint16 (DvmdPmixInfo *self, const char *key, guint16 value)
{
  append (self, key, PMIX_UINT16)->data.uint16 = value;
}

void
dvmd_pmix_info_add_rank (DvmdPmixInfo *self, const char *key, guint32 value)
{
  append (self, key, PMIX_PROC_RANK)->data.rank = value;
}

void
dvmd_pmix_info_add_flag (DvmdPmixInfo *self, const char *key, gboolean value)
{
  append (self, key, PMIX_BOOL)->data.flag = value != FALSE;
}

void
dvmd_pmix_info_add_proc (DvmdPmixInfo *self, const char *key, const char *nspace, guint32 rank)
{
  pmix_proc_t proc;

  PMIX_LOAD_PROCID (&proc, nspace, rank);
  dvmd_pmix_info_add (self, key, &proc, PMIX_PROC);
}

void
dvmd_pmix_info_add (DvmdPmixInfo *self, const char *key, const void *value, pmix_data_type_t type)
{
  dvmd_pmix_info_reserve (self, 1);
  memset (&self->items[self->length], 0, sizeof (pmix_info_t));
  PMIX_INFO_LOAD (&self->items[self->length], key, value, type);
  self->length++;
}

void
dvmd_pmix_info_add_topology (DvmdPmixInfo *self, const char *key, pmix_topology_t *topology)
{
  append (self, key, PMIX_TOPO)->data.topo = topology;
  self->items[self->length - 1].flags |= PMIX_INFO_PERSISTENT;
}

static gboolean
add_unpacked (DvmdPmixInfo *self, const char *key, GVariant *bytes)
{
  pmix_value_t value;

  if (!dvmd_pmix_unpack_value (bytes, &value))
    return FALSE;
  *append (self, key, value.type) = value;
  return TRUE;
}

void
dvmd_pmix_info_add_packed (DvmdPmixInfo *self, const char *key, GVariant *bytes)
{
  for (gsize i = 0; i < self->length; i++)
    if (PMIX_CHECK_KEY (&self->items[i], key))
      return;
  if (!add_unpacked (self, key, bytes))
    g_message ("What “%s” stands for cannot be read here", key);
}

void
dvmd_pmix_info_add_array (DvmdPmixInfo *self, const char *key, DvmdPmixInfo *array)
{
  pmix_data_array_t *data = malloc (sizeof *data);

  data->type = PMIX_INFO;
  data->size = array->length;
  data->array = array->items;
  append (self, key, PMIX_DATA_ARRAY)->data.darray = data;
  memset (array, 0, sizeof *array);
}

static void
add_procs (DvmdPmixInfo *self, const char *key, GVariant *value)
{
  gsize n = g_variant_n_children (value);
  g_autofree pmix_proc_t *procs = g_new0 (pmix_proc_t, n);
  pmix_data_array_t array = { .type = PMIX_PROC, .size = n, .array = procs };
  const char *nspace;
  guint32 rank;

  for (gsize i = 0; i < n; i++)
    {
      g_variant_get_child (value, i, "(&su)", &nspace, &rank);
      PMIX_LOAD_PROCID (&procs[i], nspace, rank);
    }
  dvmd_pmix_info_add (self, key, &array, PMIX_DATA_ARRAY);
}

static void
add_proc_table (DvmdPmixInfo *self, const char *key, GVariant *value)
{
  gsize n = g_variant_n_children (value);
  pmix_proc_info_t *rows = calloc (n > 0 ? n : 1, sizeof *rows);
  pmix_data_array_t *array = malloc (sizeof *array);
  const char *nspace;
  const char *host;
  const char *program;
  guint32 rank;
  gint32 pid;
  gint32 state;

  for (gsize i = 0; i < n; i++)
    {
      g_variant_get_child (value, i, "(&su&s&siii)", &nspace, &rank, &host, &program, &pid, &rows[i].exit_code, &state);
      PMIX_LOAD_PROCID (&rows[i].proc, nspace, rank);
      rows[i].hostname = strdup (host);
      rows[i].executable_name = strdup (program);
      rows[i].pid = pid;
      rows[i].state = (pmix_proc_state_t)state;
    }
  array->type = PMIX_PROC_INFO;
  array->size = n;
  array->array = rows;
  append (self, key, PMIX_DATA_ARRAY)->data.darray = array;
}

static void
add_arrays (DvmdPmixInfo *self, const char *key, GVariant *value)
{
  DvmdPmixInfo rows = DVMD_PMIX_INFO_INIT;
  GVariantIter iter;
  const char *name;
  GVariant *dict;

  g_variant_iter_init (&iter, value);
  while (g_variant_iter_loop (&iter, "(&s@a{sv})", &name, &dict))
    {
      DvmdPmixInfo row = DVMD_PMIX_INFO_INIT;

      dvmd_pmix_info_add_dict (&row, dict);
      dvmd_pmix_info_add_array (&rows, name, &row);
    }
  dvmd_pmix_info_add_array (self, key, &rows);
}

void
dvmd_pmix_info_add_dict (DvmdPmixInfo *self, GVariant *dict)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_variant_iter_init (&iter, dict);
  while (g_variant_iter_loop (&iter, "{&sv}", &key, &value))
    if (!dvmd_pmix_info_add_variant (self, key, value))
      g_message ("“%s” has a value of type %s, which PMIx cannot be given", key, g_variant_get_type_string (value));
}

static void
add_array (DvmdPmixInfo *self, const char *key, GVariant *dict)
{
  DvmdPmixInfo array = DVMD_PMIX_INFO_INIT;

  dvmd_pmix_info_add_dict (&array, dict);
  dvmd_pmix_info_add_array (self, key, &array);
}

gboolean
dvmd_pmix_info_add_variant (DvmdPmixInfo *self, const char *key, GVariant *value)
{
  const char *nspace;
  guint32 rank;

  if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING))
    dvmd_pmix_info_add_string (self, key, g_variant_get_string (value, NULL));
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN))
    dvmd_pmix_info_add_flag (self, key, g_variant_get_boolean (value));
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_INT32))
    append (self, key, PMIX_INT)->data.integer = g_variant_get_int32 (value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_UINT32))
    dvmd_pmix_info_add_uint32 (self, key, g_variant_get_uint32 (value));
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_INT64))
    append (self, key, PMIX_INT64)->data.int64 = g_variant_get_int64 (value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64))
    append (self, key, PMIX_UINT64)->data.uint64 = g_variant_get_uint64 (value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE ("(t)")))
    {
      guint64 size;

      g_variant_get (value, "(t)", &size);
      append (self, key, PMIX_SIZE)->data.size = (gsize)size;
    }
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE ("(i)")))
    g_variant_get (value, "(i)", &append (self, key, PMIX_STATUS)->data.status);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE ("(su)")))
    {
      g_variant_get (value, "(&su)", &nspace, &rank);
      dvmd_pmix_info_add_proc (self, key, nspace, rank);
    }
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE ("a(su)")))
    add_procs (self, key, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE (DVMD_PMIX_PROC_TABLE)))
    add_proc_table (self, key, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE ("a(sa{sv})")))
    add_arrays (self, key, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_VARDICT))
    add_array (self, key, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_BYTESTRING))
    return add_unpacked (self, key, value);
  else
    return FALSE;
  return TRUE;
}
