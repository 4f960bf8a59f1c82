/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The words that several mappers have.
 */

#include "config.h"

#include "map-words.h"

#include <string.h>

static const char *const names[DVMD_N_OBJECT_KINDS] = { "node",    "package", "numa",     "l3cache", "l2cache",
                                                        "l1cache", "core",    "hwthread", "device" };

const char *
dvmd_map_words_name_kind (DvmdObjectKind kind)
{
  return names[kind];
}

DvmdObjectKind
dvmd_map_words_kind_of (DvmdBindTo bind_to)
{
  static const DvmdObjectKind kinds[] = { DVMD_OBJECT_NODE,    DVMD_OBJECT_HWTHREAD, DVMD_OBJECT_CORE,
                                          DVMD_OBJECT_L1CACHE, DVMD_OBJECT_L2CACHE,  DVMD_OBJECT_L3CACHE,
                                          DVMD_OBJECT_NUMA,    DVMD_OBJECT_PACKAGE };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (bind_to == 1u << i)
      return kinds[i];
  return DVMD_OBJECT_NODE;
}

gboolean
dvmd_map_words_read_kind (const char *text, DvmdObjectKind *kind, GError **error)
{
  gsize length = strlen (text);
  guint n = 0;

  for (guint i = 0; length > 0 && i < G_N_ELEMENTS (names); i++)
    if (g_ascii_strncasecmp (names[i], text, length) == 0)
      {
        *kind = i;
        n++;
        if (names[i][length] == '\0')
          return TRUE;
      }
  if (n == 1)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               n > 1 ? "map-by: “%s” is the beginning of more than one kind of object"
                     : "map-by: there is no kind of object “%s”; there are node, package, numa, l3cache, l2cache, "
                       "l1cache, core and hwthread",
               text);
  return FALSE;
}

const char *
dvmd_map_words_name_device (const DvmdMapRequest *request)
{
  const char *object = request->value == NULL && request->arguments != NULL ? request->arguments[1] : NULL;

  return object != NULL && strchr (object, '=') != NULL ? strchr (object, '=') + 1 : request->value;
}

gboolean
dvmd_map_words_has_qualifier (const DvmdMapRequest *request, const char *name)
{
  for (gsize i = 0; request->qualifiers != NULL && request->qualifiers[i] != NULL; i++)
    if (strcmp (request->qualifiers[i], name) == 0)
      return TRUE;
  return FALSE;
}

char *
dvmd_map_words_show_nodes (const DvmdMapRequest *request)
{
  return request->n_nodes == 1 ? g_strdup ("the job's only node")
                               : g_strdup_printf ("the job's %u nodes", request->n_nodes);
}

gboolean
dvmd_map_words_has_pe (const DvmdMapRequest *request)
{
  return request->pe > 1 || dvmd_map_words_has_qualifier (request, "pe=1");
}
