/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that processes want have from those what they do not say themselves: environment, directory, policies.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-inherit.h"

#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvm-placement-private.h"
#include "dvmd-call-kind.h"
#include "dvmd-controller.h"
#include "dvmd-controller-jobs.h"

/* (nullable): the application of the job that this rank belongs to. number (out): of it in the job */
static DvmAppSpec *
find_app (DvmdController *self, const char *nspace, guint32 rank, guint32 *number)
{
  DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self), nspace);
  DvmdProcTable *procs = job != NULL ? dvmd_job_get_procs (job) : NULL;

  if (procs == NULL || rank >= procs->n_rows)
    return NULL;
  *number = dvmd_proc_table_row (procs, rank)->app;
  return dvm_job_spec_get_app (dvmd_job_get_spec (job), *number);
}

static gboolean
names_variable (const char *const *names, const char *variable)
{
  gsize length = strcspn (variable, "=");

  for (gsize i = 0; names != NULL && names[i] != NULL; i++)
    if (strlen (names[i]) == length && strncmp (names[i], variable, length) == 0)
      return TRUE;
  return FALSE;
}

static void
add_all (GStrvBuilder *list, const char *const *texts)
{
  for (gsize i = 0; texts != NULL && texts[i] != NULL; i++)
    g_strv_builder_add (list, texts[i]);
}

/* As a child has it from its parent: the environment that was given to that, changed by what is said here. */
static void
inherit_environment (DvmAppSpec *app, DvmAppSpec *parent)
{
  const char *const *unset = dvm_app_spec_get_unset_env (app);
  const char *const *given = dvm_app_spec_get_env (parent);
  g_autoptr (GStrvBuilder) env = g_strv_builder_new ();
  g_autoptr (GStrvBuilder) gone = g_strv_builder_new ();
  g_auto (GStrv) whole = NULL;
  g_auto (GStrv) names = NULL;

  for (gsize i = 0; given != NULL && given[i] != NULL; i++)
    if (!names_variable (unset, given[i]))
      g_strv_builder_add (env, given[i]);
  add_all (env, dvm_app_spec_get_env (app));
  add_all (gone, dvm_app_spec_get_unset_env (parent));
  add_all (gone, unset);
  whole = g_strv_builder_end (env);
  names = g_strv_builder_end (gone);
  dvm_app_spec_set_env (app, (const char *const *)whole);
  dvm_app_spec_set_unset_env (app, (const char *const *)names);
  if (dvm_app_spec_get_clear_env (parent))
    dvm_app_spec_set_clear_env (app, TRUE);
}

static gboolean
names (DvmAppSpec *app, const char *variable)
{
  const char *const *env = dvm_app_spec_get_env (app);
  gsize length = strcspn (variable, "=") + 1;

  for (gsize i = 0; env != NULL && env[i] != NULL; i++)
    if (strncmp (env[i], variable, length) == 0)
      return TRUE;
  return names_variable (dvm_app_spec_get_unset_env (app), variable);
}

/* Edits of the parent come before those of its children. */
static void
inherit_edits (DvmJobSpec *spec, DvmJobSpec *asker, guint32 parent_app)
{
  GVariant *given = _dvm_job_spec_get_env_edits (asker);
  GVariant *own = _dvm_job_spec_get_env_edits (spec);
  GVariantBuilder rows;

  if (given == NULL)
    return;
  g_variant_builder_init (&rows, G_VARIANT_TYPE (DVMD_SPAWN_EDITS_TYPE));
  for (gsize i = 0; i < g_variant_n_children (given); i++)
    {
      g_autoptr (GVariant) entry = NULL;
      guint32 app;
      guint32 edit;
      guint8 separator;

      g_variant_get_child (given, i, "(uu@ayy)", &app, &edit, &entry, &separator);
      for (guint32 k = 0; app == parent_app && k < dvm_job_spec_get_n_apps (spec); k++)
        if (!names (dvm_job_spec_get_app (spec, k), g_variant_get_bytestring (entry)))
          g_variant_builder_add (&rows, "(uu@ayy)", k, edit, entry, separator);
    }
  for (gsize i = 0; own != NULL && i < g_variant_n_children (own); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (own, i);

      g_variant_builder_add_value (&rows, row);
    }
  _dvm_job_spec_set_env_edits (spec, g_variant_builder_end (&rows));
}

static const char *
first_of (const char *one, const char *other)
{
  return one != NULL ? one : other;
}

/* INHERIT of the job: children that do not say how are placed as the process is that spawns them. */
static void
inherit_policies (DvmdController *self, DvmJobSpec *spec, DvmJobSpec *asker, DvmAppSpec *parent)
{
  if (_dvm_job_spec_get_inherit (asker) <= 0 || dvm_job_spec_get_map_by (spec) != NULL)
    return;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    if (dvm_app_spec_get_map_by (dvm_job_spec_get_app (spec, i)) != NULL)
      return;
  dvmd_controller_try_policies (self, spec,
                                first_of (dvm_app_spec_get_map_by (parent), dvm_job_spec_get_map_by (asker)),
                                first_of (dvm_app_spec_get_rank_by (parent), dvm_job_spec_get_rank_by (asker)),
                                first_of (dvm_app_spec_get_bind_to (parent), dvm_job_spec_get_bind_to (asker)));
}

void
dvmd_controller_inherit (DvmdController *self, DvmJobSpec *spec, const DvmdCall *call, gboolean with_environment)
{
  DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self), call->nspace);
  guint32 number = 0;
  DvmAppSpec *parent = find_app (self, call->nspace, call->rank, &number);
  DvmJobSpec *asker = job != NULL ? dvmd_job_get_spec (job) : NULL;
  const char *when_full = asker != NULL ? dvm_job_spec_get_when_full (asker) : NULL;

  if (asker != NULL && parent != NULL)
    inherit_policies (self, spec, asker, parent);
  dvmd_controller_apply_defaults (self, spec, TRUE);
  /* map-by may say it too. */
  if (asker != NULL && _dvm_job_spec_get_when_full_policy (asker) == DVM_WHEN_FULL_OVERSUBSCRIBE)
    when_full = "oversubscribe";
  /* Its own map-by may say it as well. */
  if (dvm_job_spec_get_when_full (spec) == NULL && _dvm_job_spec_get_oversubscribe (spec) < 0)
    dvm_job_spec_set_when_full (spec, when_full != NULL ? when_full : "refuse");
  if (with_environment && asker != NULL && parent != NULL)
    inherit_edits (spec, asker, number);
  for (guint i = 0; parent != NULL && i < dvm_job_spec_get_n_apps (spec); i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (spec, i);

      if (with_environment)
        inherit_environment (app, parent);
      if (dvm_app_spec_get_cwd (app) == NULL)
        dvm_app_spec_set_cwd (app, dvm_app_spec_get_cwd (parent));
    }
}
