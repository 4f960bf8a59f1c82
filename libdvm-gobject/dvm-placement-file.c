/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The file of seq:FILE=PATH and rankfile:FILE=PATH is read where the job is submitted, once; mappers read none.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-placement-private.h"
#include "dvm-words-private.h"

#define FILE_QUALIFIER "file="

static GQuark
text_quark (void)
{
  return g_quark_from_static_string ("dvm-job-spec-map-file");
}

static GQuark
path_quark (void)
{
  return g_quark_from_static_string ("dvm-job-spec-map-path");
}

/* (transfer full) (nullable): the path that map-by names */
static char *
dup_path (const char *map_by)
{
  g_autoptr (DvmPlacement) placement = NULL;

  if (map_by == NULL || strchr (map_by, ':') == NULL)
    return NULL;
  placement = _dvm_placement_parse (map_by, NULL, NULL, "", NULL);
  for (gsize i = 0; placement != NULL && placement->rest[i] != NULL; i++)
    if (g_str_has_prefix (placement->rest[i], FILE_QUALIFIER)
        && (strcmp (placement->word, "seq") == 0 || strcmp (placement->word, "rankfile") == 0))
      return g_strdup (placement->rest[i] + strlen (FILE_QUALIFIER));
  return NULL;
}

static gboolean
load_map_file (gpointer spec, const char *map_by, const char *place, DvmHostsRead *read, GError **error)
{
  g_autofree char *path = dup_path (map_by);
  char *text;

  if (path == NULL)
    return TRUE;
  if (path[0] != '/')
    {
      g_autofree char *shown = _dvm_words_show (path);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: “%s” is not an absolute path"), place, "map-by",
                   shown);
      return FALSE;
    }
  text = _dvm_hosts_read_map_file (path, read, error);
  if (text == NULL)
    return FALSE;
  g_object_set_qdata_full (G_OBJECT (spec), text_quark (), text, g_free);
  g_object_set_qdata_full (G_OBJECT (spec), path_quark (), g_utf8_make_valid (path, -1), g_free);
  return TRUE;
}

gboolean
_dvm_job_spec_load_map_files (DvmJobSpec *self, const char *place, DvmHostsRead *read, GError **error)
{
  if (!load_map_file (self, dvm_job_spec_get_map_by (self), place, read, error))
    return FALSE;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (self); i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (self, i);
      const char *map_by = dvm_app_spec_get_map_by (app);
      g_autofree char *app_place = map_by != NULL ? g_strdup_printf ("%sapps[%u].", place, i) : NULL;

      if (map_by != NULL && !load_map_file (app, map_by, app_place, read, error))
        return FALSE;
    }
  return TRUE;
}

const char *
_dvm_placement_get_map_file (gpointer spec, const char **path)
{
  *path = g_object_get_qdata (G_OBJECT (spec), path_quark ());
  return g_object_get_qdata (G_OBJECT (spec), text_quark ());
}
