/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files that a job brings along are listed, with their names in its session directory.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include "dvm-preload-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-words-private.h"

static void
preload_free (gpointer data)
{
  DvmPreload *self = data;

  g_free (self->source);
  g_free (self->target);
  g_free (self);
}

static gboolean
refuse_path (const char *place, const char *path, const char *why, GError **error)
{
  g_autofree char *shown = _dvm_words_show (path);

  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%spreload-files: “%s”: %s"), place, shown, why);
  return FALSE;
}

/* Where those of a relative path keep their directories, the others leave them behind. */
static char *
build_target (const char *path, const char *place, GError **error)
{
  const char *from = path[0] == '/' ? strrchr (path, '/') + 1 : path;
  g_auto (GStrv) words = g_strsplit (from, "/", -1);
  g_autoptr (GPtrArray) kept = g_ptr_array_new ();
  gboolean inside = FALSE;

  for (gsize i = 0; words[i] != NULL; i++)
    {
      gboolean up = strcmp (words[i], "..") == 0;

      if (words[i][0] == '\0' || strcmp (words[i], ".") == 0)
        continue;
      if (up && inside && kept->len == 0)
        {
          refuse_path (place, path, _ ("its “..” leads out of the session directory"), error);
          return NULL;
        }
      inside = inside || !up;
      if (!up)
        g_ptr_array_add (kept, words[i]);
      else if (kept->len > 0)
        g_ptr_array_set_size (kept, kept->len - 1);
    }
  if (kept->len == 0 || g_str_has_suffix (path, "/") || g_str_has_suffix (path, "/.") || g_str_has_suffix (path, "/.."))
    {
      refuse_path (place, path, _ ("this is not the name of a file"), error);
      return NULL;
    }
  g_ptr_array_add (kept, NULL);
  return g_strjoinv ("/", (char **)kept->pdata);
}

/* The ranks have directories of their own there. */
static gboolean
check_target (const char *target, const char *path, const char *place, GError **error)
{
  gsize digits = strspn (target, "0123456789");

  if (digits > 0 && (target[digits] == '\0' || target[digits] == '/'))
    return refuse_path (place, path, _ ("names of digits alone are those of the directories of the ranks"), error);
  return TRUE;
}

static gboolean
is_archive (const char *target)
{
  static const char *const endings[] = { ".tar", ".gz", ".tgz", ".bz2", ".tbz", ".xz", ".txz", ".zst", ".zip" };

  for (gsize i = 0; i < G_N_ELEMENTS (endings); i++)
    if (g_str_has_suffix (target, endings[i]))
      return TRUE;
  return FALSE;
}

/* The directory from which the relative paths of an application start. */
static const char *
get_directory (DvmAppSpec *app)
{
  if (dvm_app_spec_get_preload_dir (app) != NULL)
    return dvm_app_spec_get_preload_dir (app);
  return dvm_app_spec_get_cwd (app) != NULL ? dvm_app_spec_get_cwd (app) : g_get_home_dir ();
}

typedef struct
{
  GPtrArray *list;
  GHashTable *by_target;
  const char *place;
} Collection;

static gboolean
is_same_source (const DvmPreload *a, const DvmPreload *b)
{
  g_autofree char *left = NULL;
  g_autofree char *right = NULL;

  if (strchr (a->source, '/') == NULL || strchr (b->source, '/') == NULL)
    return strcmp (a->source, b->source) == 0;
  left = g_canonicalize_filename (a->source, "/");
  right = g_canonicalize_filename (b->source, "/");
  return strcmp (left, right) == 0;
}

/* Takes preload, which may have gone then. */
static gboolean
collect_file (Collection *self, DvmPreload *preload, GError **error)
{
  DvmPreload *other = g_hash_table_lookup (self->by_target, preload->target);
  g_autofree char *shown = NULL;
  g_autofree char *why = NULL;

  g_ptr_array_add (self->list, preload);
  if (other == NULL)
    {
      g_hash_table_insert (self->by_target, preload->target, preload);
      return TRUE;
    }
  if (is_same_source (preload, other))
    {
      g_ptr_array_set_size (self->list, self->list->len - 1);
      return TRUE;
    }
  shown = _dvm_words_show (other->source);
  why = g_strdup_printf (_ ("it would get the same name as “%s” in the session directory"), shown);
  return refuse_path (self->place, preload->source, why, error);
}

static DvmPreload *
preload_new (guint index, DvmAppSpec *app, const char *path, gboolean program)
{
  DvmPreload *self = g_new0 (DvmPreload, 1);

  self->app = index;
  self->program = program;
  if (path[0] == '/' || (program && strchr (path, '/') == NULL))
    self->source = g_strdup (path);
  else
    self->source = g_build_filename (get_directory (app), path, NULL);
  return self;
}

static gboolean
collect_app (Collection *self, guint index, DvmAppSpec *app, GError **error)
{
  const char *const *files = dvm_app_spec_get_preload_files (app);
  const char *const *argv = dvm_app_spec_get_argv (app);

  if (dvm_app_spec_get_preload_binary (app) && argv[0] != NULL && argv[0][0] != '\0')
    {
      g_autofree char *target = g_path_get_basename (argv[0]);
      DvmPreload *preload;

      if (!check_target (target, argv[0], self->place, error))
        return FALSE;
      preload = preload_new (index, app, argv[0], TRUE);
      preload->target = g_steal_pointer (&target);
      if (!collect_file (self, preload, error))
        return FALSE;
    }
  for (gsize i = 0; files[i] != NULL; i++)
    {
      g_autofree char *target = build_target (files[i], self->place, error);
      DvmPreload *preload;

      if (target == NULL || !check_target (target, files[i], self->place, error))
        return FALSE;
      preload = preload_new (index, app, files[i], FALSE);
      preload->archive = is_archive (target);
      preload->target = g_steal_pointer (&target);
      if (!collect_file (self, preload, error))
        return FALSE;
    }
  return TRUE;
}

/* No file is the directory of another one. */
static gboolean
check_directories (const Collection *self, GError **error)
{
  for (guint i = 0; i < self->list->len; i++)
    {
      const DvmPreload *preload = g_ptr_array_index (self->list, i);
      g_autofree char *folder = g_strdup (preload->target);
      char *slash;

      while ((slash = strrchr (folder, '/')) != NULL)
        {
          *slash = '\0';
          if (g_hash_table_contains (self->by_target, folder))
            return refuse_path (self->place, preload->source, _ ("a part of its path is a file that is preloaded too"),
                                error);
        }
    }
  return TRUE;
}

GPtrArray *
_dvm_job_spec_list_preloads (DvmJobSpec *self, const char *place, GError **error)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (preload_free);
  g_autoptr (GHashTable) by_target = g_hash_table_new (g_str_hash, g_str_equal);
  Collection collection = { .list = list, .by_target = by_target };

  for (guint i = 0; i < dvm_job_spec_get_n_apps (self); i++)
    {
      g_autofree char *app_place = g_strdup_printf ("%sapps[%u].", place, i);

      collection.place = app_place;
      if (!collect_app (&collection, i, dvm_job_spec_get_app (self, i), error))
        return NULL;
    }
  collection.place = place;
  return check_directories (&collection, error) ? g_steal_pointer (&list) : NULL;
}

gboolean
_dvm_job_spec_has_preloads (DvmJobSpec *self)
{
  for (guint i = 0; i < dvm_job_spec_get_n_apps (self); i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (self, i);

      if (dvm_app_spec_get_preload_binary (app) || dvm_app_spec_get_preload_files (app)[0] != NULL)
        return TRUE;
    }
  return FALSE;
}

gboolean
_dvm_app_spec_runs_in_session_dir (DvmAppSpec *self)
{
  return dvm_app_spec_get_preload_binary (self) || dvm_app_spec_get_session_cwd (self);
}
