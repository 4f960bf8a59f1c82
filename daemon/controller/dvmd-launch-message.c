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

/* The applications that run where the files of the job are, and those that come as files themselves. */
static void
add_session_apps (GVariantDict *dict, DvmJobSpec *spec)
{
  g_autoptr (GArray) there = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) preloaded = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint32 i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (spec, i);

      if (_dvm_app_spec_runs_in_session_dir (app))
        g_array_append_val (there, i);
      if (dvm_app_spec_get_preload_binary (app))
        g_array_append_val (preloaded, i);
    }
  if (there->len > 0)
    g_variant_dict_insert_value (dict, "session-dir-apps",
                                 g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, there->data, there->len, 4));
  if (preloaded->len > 0)
    g_variant_dict_insert_value (dict, "preloaded-apps",
                                 g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, preloaded->data, preloaded->len, 4));
}

static GVariant *
describe_options (const DvmdLaunchMessage *self)
{
  DvmJobSpec *spec = self->spec;
  const char *personality = dvm_job_spec_get_personality (spec);
  const char *map_by = dvm_job_spec_get_map_by (spec);
  DvmRuntimeOptions runtime;
  GVariantDict dict;

  g_variant_dict_init (&dict, NULL);
  if (personality != NULL)
    g_variant_dict_insert (&dict, "personality", "s", personality);
  if (map_by != NULL)
    g_variant_dict_insert (&dict, "map-by", "s", map_by);
  if (dvm_job_spec_get_pty (spec))
    {
      g_variant_dict_insert (&dict, "pty", "b", TRUE);
      g_variant_dict_insert (&dict, "pty-rows", "u", dvm_job_spec_get_pty_rows (spec));
      g_variant_dict_insert (&dict, "pty-columns", "u", dvm_job_spec_get_pty_columns (spec));
    }
  _dvm_job_spec_get_runtime (spec, &runtime);
  if (runtime.stop != DVM_STOP_NONE)
    g_variant_dict_insert (&dict, "stop", "u", (guint32)runtime.stop);
  add_session_apps (&dict, spec);
  g_variant_dict_insert (&dict, "kill-grace", "x", self->kill_grace);
  g_variant_dict_insert (&dict, "stdin", "u", self->stdin_target);
  g_variant_dict_insert (&dict, "credit", "t", self->credit);
  if (self->parent != NULL)
    g_variant_dict_insert (&dict, "parent", "(su)", self->parent, self->parent_rank);
  if (self->offset > 0)
    g_variant_dict_insert (&dict, "offset", "u", self->offset);
  if (self->session > 0)
    g_variant_dict_insert (&dict, "session", "u", self->session);
  if (self->tree_fences)
    g_variant_dict_insert (&dict, "tree-fences", "b", TRUE);
  return g_variant_dict_end (&dict);
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
