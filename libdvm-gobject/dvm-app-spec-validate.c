/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The description of an application is checked before it is sent.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-app-spec-private.h"
#include "dvm-job-spec-private.h"
#include "dvm-words-private.h"

/* MPI_MAX_PSET_NAME_LEN of Open MPI, with the final zero. */
#define MAX_PSET_NAME 511

static gboolean
check_argv (DvmAppSpec *self, const char *place, GError **error)
{
  if (self->argv == NULL || self->argv[0][0] == '\0')
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sargv: the program is missing: its first element must not "
                      "be empty"),
                   place);
      return FALSE;
    }
  for (gsize i = 0; self->argv[i] != NULL; i++)
    if (strlen (self->argv[i]) > DVM_LONGEST_STRING)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                     _ ("%sargv[%zu]: %zu bytes are too long for one argument; the system takes %d"), place, i,
                     strlen (self->argv[i]), DVM_LONGEST_STRING);
        return FALSE;
      }
  return TRUE;
}

static gboolean
check_variable (const char *variable, const char *place, GError **error)
{
  const char *equals = strchr (variable, '=');
  g_autofree char *name = NULL;
  g_autofree char *shown = NULL;

  if (equals != NULL && equals != variable && strlen (variable) <= DVM_LONGEST_STRING)
    return TRUE;
  name = equals != NULL ? g_strndup (variable, equals - variable) : g_strdup (variable);
  shown = _dvm_words_show (name);
  if (equals == NULL || equals == variable)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%senv: “%s” is not NAME=value: a variable needs a name without “=”"), place,
                   equals == variable ? "=" : shown);
    }
  else
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%senv: %s has %zu bytes with its name; the system takes %d"), place, shown, strlen (variable),
                   DVM_LONGEST_STRING);
    }
  return FALSE;
}

static gboolean
check_environment (DvmAppSpec *self, const char *place, GError **error)
{
  for (gsize i = 0; self->env != NULL && self->env[i] != NULL; i++)
    if (!check_variable (self->env[i], place, error))
      return FALSE;
  for (gsize i = 0; self->unset_env != NULL && self->unset_env[i] != NULL; i++)
    if (self->unset_env[i][0] == '\0' || strchr (self->unset_env[i], '=') != NULL)
      {
        g_autofree char *name = _dvm_words_show (self->unset_env[i]);

        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                     _ ("%sunset-env: “%s” is not a name: it must not be empty or contain “=”"), place, name);
        return FALSE;
      }
  return TRUE;
}

static gboolean
is_utf8_list (char **list)
{
  for (gsize i = 0; list != NULL && list[i] != NULL; i++)
    if (!g_utf8_validate (list[i], -1, NULL))
      return FALSE;
  return TRUE;
}

static gboolean
is_utf8_text (const char *text)
{
  return text == NULL || g_utf8_validate (text, -1, NULL);
}

static gboolean
check_directory (const char *path, const char *key, const char *place, GError **error)
{
  g_autofree char *shown = NULL;

  if (path == NULL || path[0] == '/')
    return TRUE;
  shown = _dvm_words_show (path);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: “%s” is not an absolute path"), place, key, shown);
  return FALSE;
}

/* These travel as texts. */
static gboolean
check_preloads (DvmAppSpec *self, const char *place, GError **error)
{
  if (is_utf8_list (self->preload_files)
      && (self->preload_dir == NULL || g_utf8_validate (self->preload_dir, -1, NULL)))
    return check_directory (self->preload_dir, "preload-dir", place, error);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%spreload-files and preload-dir must be UTF-8"), place);
  return FALSE;
}

/* Lists of names have commas between them. */
static gboolean
is_pset_name (const char *name)
{
  if (*name == '\0' || strlen (name) > MAX_PSET_NAME || !g_utf8_validate (name, -1, NULL))
    return FALSE;
  for (const char *c = name; *c != '\0'; c = g_utf8_next_char (c))
    if (*c == ',' || g_unichar_iscntrl (g_utf8_get_char (c)))
      return FALSE;
  return TRUE;
}

gboolean
_dvm_app_spec_check_pset (const char *name, const char *place, GError **error)
{
  g_autofree char *shown = NULL;

  if (name == NULL || is_pset_name (name))
    return TRUE;
  shown = _dvm_words_show (name);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%spset: “%s” is not the name of a process set: 1 to %d bytes of UTF-8 without commas and control "
                  "characters are wanted"),
               place, shown, MAX_PSET_NAME);
  return FALSE;
}

gboolean
_dvm_app_spec_validate (DvmAppSpec *self, const char *place, DvmHostsRead *read, GError **error)
{
  if (!check_argv (self, place, error) || !check_environment (self, place, error))
    return FALSE;
  if (!check_directory (self->cwd, "cwd", place, error) || !check_preloads (self, place, error)
      || !_dvm_app_spec_check_pset (self->pset, place, error))
    return FALSE;
  if (!is_utf8_list (self->hosts) || !is_utf8_list (self->unset_env))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%shosts and unset-env must be UTF-8"), place);
      return FALSE;
    }
  if (!is_utf8_text (self->map_by) || !is_utf8_text (self->rank_by) || !is_utf8_text (self->bind_to))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%smap-by, rank-by and bind-to must be UTF-8"), place);
      return FALSE;
    }
  if (self->hostfile != NULL && !g_utf8_validate (self->hostfile, -1, NULL))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%shostfile must be UTF-8"), place);
      return FALSE;
    }
  return check_directory (self->hostfile, "hostfile", place, error)
         && (read == NULL || _dvm_app_spec_read_hosts (self, place, NULL, read, error));
}
