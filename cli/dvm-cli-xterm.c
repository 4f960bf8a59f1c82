/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A shell stands before the program: it looks which rank it is, and becomes an xterm with the program, or the program.
 */

#include "config.h"

#include "dvm-cli-xterm.h"

#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-options.h"

/* A program that is in no directory of PATH may be in the working directory, as for every job. */
#define FIND "command -v -- \"$1\" >/dev/null || ! test -x \"./$1\" || set -- \"./$@\"; "

/* (transfer full) (nullable): a condition of the shell. most (out): the highest rank */
static char *
read_ranks (const char *text, guint *most, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  g_autoptr (GString) condition = g_string_new (NULL);

  *most = 0;
  if (strcmp (text, "all") == 0 || strcmp (text, "-1") == 0)
    return g_strdup (":");
  for (gsize i = 0; parts[i] != NULL; i++)
    {
      g_auto (GStrv) ends = g_strsplit (parts[i], "-", 2);
      guint64 first = 0;
      guint64 last = 0;

      if (ends[0] == NULL || !g_ascii_string_to_unsigned (ends[0], 10, 0, G_MAXINT, &first, NULL)
          || !g_ascii_string_to_unsigned (ends[1] != NULL ? ends[1] : ends[0], 10, first, G_MAXINT, &last, NULL))
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                       _ ("--xterm takes ranks such as 0,2-4, or all, and ! behind them, not '%s'"), text);
          return NULL;
        }
      *most = MAX (*most, (guint)last);
      g_string_append_printf (condition, "%s{ test \"$DVM_RANK\" -ge %u && test \"$DVM_RANK\" -le %u; }",
                              i > 0 ? " || " : "", (guint)first, (guint)last);
    }
  return g_string_free (g_steal_pointer (&condition), FALSE);
}

/* "0,2!": the window stays when the program has ended. (transfer full): without it */
static char *
split_hold (const char *text, gboolean *hold)
{
  char *ranks = g_strdup (text);

  *hold = g_str_has_suffix (text, "!");
  if (*hold)
    ranks[strlen (ranks) - 1] = '\0';
  return ranks;
}

static gboolean
check_display (DvmCliEnvironment *environment, GError **error)
{
  const char *display = dvm_cli_environment_lookup (environment, "DISPLAY");

  if (display != NULL && display[0] != '\0')
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("--xterm: no terminal can be opened, for DISPLAY is not set; -x DISPLAY=HOST:0 gives the job one"));
  return FALSE;
}

gboolean
dvm_cli_xterm_wrap (DvmAppSpec *app, const char *text, DvmCliEnvironment *environment, GError **error)
{
  const char *const *argv = dvm_app_spec_get_argv (app);
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
  g_auto (GStrv) wrapped = NULL;
  gboolean hold;
  g_autofree char *ranks = split_hold (text, &hold);
  guint most;
  g_autofree char *condition = read_ranks (ranks, &most, error);
  g_autofree char *script = NULL;

  if (condition == NULL || !check_display (environment, error))
    return FALSE;
  if (dvm_app_spec_get_preload_binary (app))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("options --xterm and --preload-binary exclude each other"));
      return FALSE;
    }
  script = g_strdup_printf (FIND "if %s; then exec xterm %s-T \"rank $DVM_RANK\" -e \"$@\"; fi; exec \"$@\"", condition,
                            hold ? "-hold " : "");
  g_strv_builder_add_many (words, "/bin/sh", "-c", script, "sh", NULL);
  g_strv_builder_addv (words, (const char **)argv);
  wrapped = g_strv_builder_end (words);
  dvm_app_spec_set_argv (app, (const char *const *)wrapped);
  return TRUE;
}

gboolean
dvm_cli_xterm_check (DvmJobSpec *spec, const char *text, GError **error)
{
  gboolean hold;
  g_autofree char *ranks = split_hold (text, &hold);
  guint most;
  g_autofree char *condition = read_ranks (ranks, &most, error);
  guint64 n = 0;

  if (condition == NULL)
    return FALSE;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      guint np = dvm_app_spec_get_np (dvm_job_spec_get_app (spec, i));

      if (np == 0)
        return TRUE;
      n += np;
    }
  if (most < n)
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("--xterm: rank %u is none of the job, whose last one is %u"), most,
               (guint)n - 1);
  return FALSE;
}
