/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Values that clients put into pmix_info_t are read and checked.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-read.h"

#include <pmix.h>
#include <string.h>

#include "dvm.h"
#include "dvmd-id-set.h"
#include "dvmd-map.h"
#include "dvmd-pmix-numbers.h"

const char *
dvmd_pmix_read_text (const pmix_info_t *info, GError **error)
{
  if (info->value.type == PMIX_STRING && info->value.data.string != NULL
      && g_utf8_validate (info->value.data.string, -1, NULL))
    return info->value.data.string;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is not a text in UTF-8", info->key);
  return NULL;
}

gboolean
dvmd_pmix_read_number (const pmix_info_t *info, guint32 *number, GError **error)
{
  const pmix_value_t *value = &info->value;
  guint64 n = G_MAXUINT64;

  if (value->type == PMIX_UINT64)
    n = value->data.uint64;
  else if (value->type == PMIX_SIZE)
    n = value->data.size;
  else if (value->type == PMIX_UINT32)
    n = value->data.uint32;
  else if (value->type == PMIX_UINT16)
    n = value->data.uint16;
  else if (value->type == PMIX_UINT8)
    n = value->data.uint8;
  else if (value->type == PMIX_INT && value->data.integer >= 0)
    n = (guint64)value->data.integer;
  else if (value->type == PMIX_INT32 && value->data.int32 >= 0)
    n = (guint64)value->data.int32;
  if (n <= G_MAXUINT32)
    {
      *number = (guint32)n;
      return TRUE;
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is not a number from 0 to %u", info->key, G_MAXUINT32);
  return FALSE;
}

gboolean
dvmd_pmix_check_flag (const pmix_info_t *info, GError **error)
{
  if (info->value.type == PMIX_BOOL || info->value.type == PMIX_UNDEF)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is not yes or no", info->key);
  return FALSE;
}

static void
add_parts (const char *text, gboolean keep_empty, GPtrArray *list)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  if (keep_empty && parts[0] == NULL)
    g_ptr_array_add (list, g_strdup (""));
  for (char **part = parts; *part != NULL; part++)
    if (g_strstrip (*part)[0] != '\0' || keep_empty)
      g_ptr_array_add (list, g_strdup (*part));
}

/* Lists are one text, or an array of them. */
gboolean
dvmd_pmix_read_list (const pmix_info_t *info, gboolean keep_empty, GPtrArray *list, GError **error)
{
  const pmix_data_array_t *array = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray : NULL;
  const char *text;

  if (array != NULL && array->type == PMIX_STRING)
    {
      char *const *texts = array->array;

      for (gsize i = 0; i < array->size; i++)
        {
          if (texts[i] != NULL && !g_utf8_validate (texts[i], -1, NULL))
            {
              g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s has what is not a text in UTF-8", info->key);
              return FALSE;
            }
          g_ptr_array_add (list, g_strdup (texts[i] != NULL ? texts[i] : ""));
        }
      return TRUE;
    }
  text = dvmd_pmix_read_text (info, error);
  if (text == NULL)
    return FALSE;
  add_parts (text, keep_empty, list);
  return TRUE;
}

/* (nullable): the ranks of processes of an array; NULL: it has something else, or a process of another job */
static GArray *
list_ranks (const pmix_data_array_t *array)
{
  g_autoptr (GArray) ranks = g_array_new (FALSE, FALSE, sizeof (pmix_rank_t));
  const pmix_proc_t *procs = array->array;

  if (array->array == NULL || array->size == 0 || array->size > DVMD_MAP_MAX_PROCS)
    return NULL;
  if (array->type == PMIX_PROC_RANK)
    g_array_append_vals (ranks, array->array, (guint)array->size);
  else if (array->type != PMIX_PROC)
    return NULL;
  for (gsize i = 0; array->type == PMIX_PROC && i < array->size; i++)
    {
      if (procs[i].nspace[0] != '\0')
        return NULL;
      g_array_append_val (ranks, procs[i].rank);
    }
  return g_steal_pointer (&ranks);
}

/* (nullable): "0,3-4"; "" for all; NULL: one of them is none */
static char *
show_ranks (GArray *ranks)
{
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (DvmdIdRange));
  g_autoptr (DvmdIdSet) set = NULL;
  gboolean all = FALSE;

  for (guint i = 0; i < ranks->len; i++)
    {
      pmix_rank_t rank = g_array_index (ranks, pmix_rank_t, i);
      DvmdIdRange range = { rank, rank };

      if (rank > PMIX_RANK_VALID && rank != PMIX_RANK_WILDCARD)
        return NULL;
      all |= rank == PMIX_RANK_WILDCARD;
      g_array_append_val (ranges, range);
    }
  if (all)
    return g_strdup ("");
  set = dvmd_id_set_new_from_ranges (ranges);
  return dvmd_id_set_format (set);
}

char *
dvmd_pmix_read_ranks (const pmix_info_t *info, GError **error)
{
  const pmix_value_t *value = &info->value;
  g_autoptr (GArray) ranks = NULL;
  char *text;

  if (value->type == PMIX_PROC_RANK)
    {
      ranks = g_array_new (FALSE, FALSE, sizeof (pmix_rank_t));
      g_array_append_val (ranks, value->data.rank);
    }
  else if (value->type == PMIX_DATA_ARRAY && value->data.darray != NULL)
    ranks = list_ranks (value->data.darray);
  text = ranks != NULL ? show_ranks (ranks) : NULL;
  if (text == NULL)
    g_set_error (
        error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
        "%s names no ranks: right is a rank, PMIX_RANK_WILDCARD, or an array of ranks or of processes without a "
        "namespace",
        info->key);
  return text;
}

GVariant *
dvmd_pmix_pack_value (const pmix_info_t *info, GError **error)
{
  pmix_data_buffer_t buffer;
  pmix_value_t value = info->value;
  GVariant *bytes = NULL;
  pmix_status_t status;

  /* Ranks that speak PMI read those, too. */
  if (value.type == PMIX_STRING && value.data.string != NULL)
    return dvmd_pmix_text_new (value.data.string);
  PMIX_DATA_BUFFER_CONSTRUCT (&buffer);
  status = PMIx_Data_pack (NULL, &buffer, &value, 1, PMIX_VALUE);
  if (status == PMIX_SUCCESS)
    bytes = g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, buffer.base_ptr, buffer.bytes_used, 1);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "What “%s” stands for cannot be packed: %s", info->key,
                 PMIx_Error_string (status));
  PMIX_DATA_BUFFER_DESTRUCT (&buffer);
  return bytes;
}

gboolean
dvmd_pmix_unpack_value (GVariant *bytes, pmix_value_t *value)
{
  pmix_data_buffer_t buffer = { 0 };
  gconstpointer packed = g_variant_get_data (bytes);
  const char *text = dvmd_pmix_text_get (bytes);
  int32_t count = 1;

  if (text != NULL)
    {
      value->type = PMIX_STRING;
      value->data.string = strdup (text);
      return TRUE;
    }

  /* The buffer is the variant's: unpacking copies. */
  buffer.base_ptr = buffer.unpack_ptr = (char *)packed;
  buffer.pack_ptr = buffer.base_ptr + g_variant_get_size (bytes);
  buffer.bytes_allocated = buffer.bytes_used = g_variant_get_size (bytes);
  return PMIx_Data_unpack (NULL, &buffer, value, &count, PMIX_VALUE) == PMIX_SUCCESS;
}
