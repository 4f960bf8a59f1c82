/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The launch message: one for all agents of the job, each takes its share of it.
 */

#include "config.h"

#include "dvmd-launch-message.h"

#include "dvm-job-spec-private.h"
#include "dvm-preload-private.h"
#include "dvmd-message.h"

#include <string.h>

gboolean
dvmd_launch_message_names_environment (DvmAppSpec *app)
{
  const char *const *env = dvm_app_spec_get_env (app);
  gsize n_bytes = 0;

  for (gsize i = 0; env != NULL && env[i] != NULL; i++)
    n_bytes += strlen (env[i]) + 1;
  return n_bytes >= DVMD_ENVIRONMENT_INLINE;
}

static GVariant *
describe_app (DvmAppSpec *app, DvmdEnvironment *environment)
{
  const char *cwd = dvm_app_spec_get_cwd (app);
  const char *const *unset = dvm_app_spec_get_unset_env (app);
  const char *const *env = environment == NULL ? dvm_app_spec_get_env (app) : NULL;
  gconstpointer digest = NULL;
  gsize length = 0;
  const char *none[] = { NULL };

  if (cwd == NULL)
    cwd = g_get_home_dir ();
  if (environment != NULL)
    digest = g_bytes_get_data (environment->digest, &length);
  return g_variant_new ("(@aay@ayb^as@ay@aay)", dvmd_variant_new_bytes_array (dvm_app_spec_get_argv (app)),
                        dvmd_variant_new_bytes (cwd), dvm_app_spec_get_clear_env (app), unset != NULL ? unset : none,
                        g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, digest, length, 1),
                        dvmd_variant_new_bytes_array (env));
}

/* (nullable): au, of the applications that are so */
static GVariant *
list_apps (DvmJobSpec *spec, gboolean (*is_so) (DvmAppSpec *app))
{
  g_autoptr (GArray) list = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint32 i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    if (is_so (dvm_job_spec_get_app (spec, i)))
      g_array_append_val (list, i);
  if (list->len == 0)
    return NULL;
  return g_variant_ref_sink (g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, list->data, list->len, 4));
}

/* (nullable): as, the process set of each application, "" for none; NULL when none has one */
static GVariant *
list_psets (DvmJobSpec *spec)
{
  guint n = dvm_job_spec_get_n_apps (spec);
  g_autofree const char **names = g_new0 (const char *, n + 1);
  gboolean any = FALSE;

  for (guint i = 0; i < n; i++)
    {
      const char *name = dvm_app_spec_get_pset (dvm_job_spec_get_app (spec, i));

      names[i] = name != NULL ? name : "";
      any |= name != NULL;
    }
  return any ? g_variant_ref_sink (g_variant_new_strv (names, n)) : NULL;
}

/* (nullable): as */
static GVariant *
list_exec_agent (DvmJobSpec *spec)
{
  g_auto (GStrv) words = _dvm_job_spec_dup_exec_agent (spec);

  return words != NULL ? g_variant_ref_sink (g_variant_new_strv ((const char *const *)words, -1)) : NULL;
}

/* (nullable): au */
static GVariant *
describe_place (const DvmArrayPlace *place)
{
  guint32 numbers[5];

  if (place == NULL)
    return NULL;
  numbers[0] = place->id;
  numbers[1] = place->index;
  numbers[2] = place->count;
  numbers[3] = place->min;
  numbers[4] = place->max;
  return g_variant_ref_sink (g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, numbers, G_N_ELEMENTS (numbers), 4));
}

static GVariant *
describe_options (const DvmdLaunchMessage *self)
{
  DvmJobSpec *spec = self->spec;
  DvmdLaunchOptions options = self->options;
  g_autoptr (GVariant) there = list_apps (spec, _dvm_app_spec_runs_in_session_dir);
  g_autoptr (GVariant) preloaded = list_apps (spec, dvm_app_spec_get_preload_binary);
  g_autoptr (GVariant) psets = list_psets (spec);
  g_autoptr (GVariant) exec_agent = list_exec_agent (spec);
  g_autoptr (GVariant) array = describe_place (_dvm_job_spec_get_place (spec));
  DvmRuntimeOptions runtime;

  _dvm_job_spec_get_runtime (spec, &runtime);
  /* Borrowed. */
  options.personality = (char *)dvm_job_spec_get_personality (spec);
  options.pty = dvm_job_spec_get_pty (spec);
  options.pty_rows = options.pty ? dvm_job_spec_get_pty_rows (spec) : 0;
  options.pty_columns = options.pty ? dvm_job_spec_get_pty_columns (spec) : 0;
  options.stop = (guint32)runtime.stop;
  options.stop_ranks = (char *)_dvm_job_spec_get_stop_ranks (spec);
  options.max_restarts = runtime.max_restarts;
  options.status_is_no_failure = runtime.max_restarts > 0 && !runtime.error_nonzero_status;
  options.session_dir_apps = there;
  options.preloaded_apps = preloaded;
  options.psets = psets;
  options.exec_agent = exec_agent;
  options.array = array;
  options.pmix_info = _dvm_job_spec_get_pmix_info (spec);
  options.index_argv = _dvm_job_spec_get_index_argv (spec);
  options.env_edits = _dvm_job_spec_get_env_edits (spec);
  return dvmd_fields_to_dict (dvmd_launch_fields, &options);
}

GVariant *
dvmd_launch_message_build (const DvmdLaunchMessage *self)
{
  GVariantBuilder apps;

  g_variant_builder_init (&apps, G_VARIANT_TYPE (DVMD_LAUNCH_APPS_TYPE));
  for (guint i = 0; i < dvm_job_spec_get_n_apps (self->spec); i++)
    g_variant_builder_add_value (
        &apps, describe_app (dvm_job_spec_get_app (self->spec, i), g_ptr_array_index (self->environments, i)));
  return g_variant_new ("(usuu@a{sv}@" DVMD_LAUNCH_APPS_TYPE "@" DVMD_LAUNCH_MAP_TYPE ")", self->job, self->nspace,
                        self->map->num_procs, self->universe, describe_options (self), g_variant_builder_end (&apps),
                        dvmd_map_to_variant (self->map));
}
