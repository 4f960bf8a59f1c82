/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The parts of a fence that goes by the tree are named, merged and read.
 */

#include "config.h"

#include "dvmd-fence.h"
#include "dvmd-pmix-numbers.h"

/* (contributions in it, how many there are to be, status, their bytes one after another) */
#define PART_TYPE "(uuiay)"

char *
dvmd_fence_make_key (guint32 job, guint64 sequence)
{
  return g_strdup_printf ("%u/%" G_GUINT64_FORMAT, job, sequence);
}

char *
dvmd_fence_make_prefix (guint32 job)
{
  return g_strdup_printf ("%u/", job);
}

gboolean
dvmd_fence_parse_key (const char *key, guint32 *job, guint64 *sequence)
{
  g_auto (GStrv) parts = g_strsplit (key, "/", -1);
  guint64 number;

  if (g_strv_length (parts) != 2 || !g_ascii_string_to_unsigned (parts[0], 10, 0, G_MAXUINT32, &number, NULL)
      || !g_ascii_string_to_unsigned (parts[1], 10, 1, DVMD_FENCE_ALL - 1, sequence, NULL))
    return FALSE;
  *job = (guint32)number;
  return TRUE;
}

static GVariant *
make_part (guint n_there, guint n_agents, int status, GBytes *data)
{
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);

  return g_variant_new (
      "(uui@ay)", n_there, n_agents, status,
      g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, status == DVMD_PMIX_SUCCESS ? data : none, TRUE));
}

GVariant *
dvmd_fence_part_new (guint n_agents, GBytes *data)
{
  return make_part (1, n_agents, g_bytes_get_size (data) <= DVMD_FENCE_LIMIT ? DVMD_PMIX_SUCCESS : DVMD_PMIX_ERROR,
                    data);
}

GVariant *
dvmd_fence_merge (GPtrArray *parts)
{
  GByteArray *all = g_byte_array_new ();
  g_autoptr (GBytes) bytes = NULL;
  guint64 n_there = 0;
  guint32 n_agents = 0;
  gint32 status = DVMD_PMIX_SUCCESS;

  for (guint i = 0; i < parts->len; i++)
    {
      GVariant *part = g_ptr_array_index (parts, i);
      g_autoptr (GVariant) data = NULL;
      gint32 part_status = DVMD_PMIX_ERROR;
      guint32 n = 0;

      if (g_variant_is_of_type (part, G_VARIANT_TYPE (PART_TYPE)))
        g_variant_get (part, "(uui@ay)", &n, &n_agents, &part_status, &data);
      n_there += n;
      if (data != NULL && all->len + g_variant_get_size (data) > DVMD_FENCE_LIMIT)
        part_status = DVMD_PMIX_ERROR;
      if (status == DVMD_PMIX_SUCCESS)
        status = part_status;
      if (status == DVMD_PMIX_SUCCESS)
        g_byte_array_append (all, g_variant_get_data (data), g_variant_get_size (data));
    }
  bytes = g_byte_array_free_to_bytes (all);
  return make_part (MIN (n_there, G_MAXUINT32), n_agents, status, bytes);
}

int
dvmd_fence_read (GVariant *whole, GVariant **data)
{
  gint32 status = DVMD_PMIX_ERROR;
  guint32 n_there = 0;
  guint32 n_agents = 0;

  if (g_variant_is_of_type (whole, G_VARIANT_TYPE (PART_TYPE)))
    g_variant_get (whole, "(uui@ay)", &n_there, &n_agents, &status, data);
  /* Those that were lost are not waited for. */
  if (status == DVMD_PMIX_SUCCESS && n_there < n_agents)
    status = DVMD_PMIX_ERR_LOST_CONNECTION;
  if (status == DVMD_PMIX_SUCCESS)
    return status;
  g_clear_pointer (data, g_variant_unref);
  *data = g_variant_ref_sink (g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, NULL, 0, 1));
  return status;
}
