/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job of Slurm that the DVM is in, the environment of commands that ask about it, and what they answer.
 */

#include "config.h"

#include "slurm-environment.h"

#include <string.h>

#include "environment.h"

/* How Slurm is reached: a secret is among them, and no argument says it. */
static const char *const reaching[] = { "SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS", NULL };

const char *
slurm_find_job (const char *const *environ)
{
  const char *const names[] = { "SLURM_JOB_ID", "SLURM_JOBID", NULL };

  return dvmd_environment_find (environ, names, NULL);
}

gboolean
slurm_is_own_variable (const char *variable)
{
  static const char *const prefixes[] = { "SLURM_", "SRUN_", "SQUEUE_", "SALLOC_", "SCANCEL_" };
  g_autofree char *name = g_strndup (variable, strcspn (variable, "="));

  for (guint i = 0; i < G_N_ELEMENTS (prefixes); i++)
    if (g_str_has_prefix (name, prefixes[i]))
      return !g_strv_contains (reaching, name);
  return FALSE;
}

char **
slurm_make_environ (const char *const *environ)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  for (gsize i = 0; environ[i] != NULL; i++)
    if (!slurm_is_own_variable (environ[i]))
      g_strv_builder_add (builder, environ[i]);
  return g_strv_builder_end (builder);
}

char *
slurm_make_job_name (const char *const *environ)
{
  const char *array = dvmd_environment_get (environ, "SLURM_ARRAY_JOB_ID");
  const char *task = dvmd_environment_get (environ, "SLURM_ARRAY_TASK_ID");

  return array != NULL && task != NULL ? g_strdup_printf ("%s_%s", array, task) : g_strdup (slurm_find_job (environ));
}

char **
slurm_make_squeue_argv (const char *const *environ, const char *format, gboolean ended)
{
  g_autofree char *name = slurm_make_job_name (environ);
  GPtrArray *argv = g_ptr_array_new ();

  g_ptr_array_add (argv, g_strdup ("squeue"));
  g_ptr_array_add (argv, g_strdup ("--noheader"));
  if (ended)
    g_ptr_array_add (argv, g_strdup ("--states=all"));
  g_ptr_array_add (argv, g_strconcat ("--format=", format, NULL));
  g_ptr_array_add (argv, g_strconcat ("--jobs=", name, NULL));
  g_ptr_array_add (argv, NULL);
  return (char **)g_ptr_array_free (argv, FALSE);
}

char *
slurm_get_last_line (GBytes *output)
{
  gsize length = 0;
  const char *bytes = output != NULL ? g_bytes_get_data (output, &length) : NULL;
  g_autofree char *all = g_strstrip (g_strndup (bytes != NULL ? bytes : "", length));
  const char *last = strrchr (all, '\n');

  return g_strdup (last != NULL ? last + 1 : all);
}
