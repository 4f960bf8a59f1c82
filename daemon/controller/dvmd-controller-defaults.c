/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The defaults that the DVM has for jobs that do not say how they are placed, and where their output goes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvm-placement-private.h"
#include "dvmd-controller-map.h"
#include "dvmd-controller.h"
#include "dvmd-map-driver.h"
#include "dvmd-services.h"

typedef struct
{
  char *map_by;
  char *rank_by;
  char *bind_to;
  char *output;
  char *display;
} Defaults;

static void
set_text (char **text, const char *value)
{
  g_free (*text);
  *text = g_strdup (value);
}

static void
take_settings (Defaults *self, const DvmdDefaults *settings)
{
  set_text (&self->map_by, settings->map_by);
  set_text (&self->rank_by, settings->rank_by);
  set_text (&self->bind_to, settings->bind_to);
  set_text (&self->output, settings->output);
  set_text (&self->display, settings->display);
}

/* ---- whether they are right ---- */

/* Each job would read the file from its beginning, whatever ranks it has; and it would be beside jobs of today. */
static gboolean
check_for_all (const char *map_by, GError **error)
{
  g_autoptr (DvmPlacement) placement = _dvm_placement_parse (map_by, NULL, NULL, "", error);

  if (placement == NULL)
    return FALSE;
  if (g_strcmp0 (placement->word, "colocate") == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "map-by: “colocate” is for one job: others cannot all be beside the same processes");
      return FALSE;
    }
  if (g_strcmp0 (placement->word, "seq") != 0 && g_strcmp0 (placement->word, "rankfile") != 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "map-by: “%s” is for one job: its file cannot be a default for all of them", placement->word);
  return FALSE;
}

/* Without one the words of the mappers that are there do not matter. */
static gboolean
has_policy (const DvmdDefaults *defaults)
{
  return defaults->map_by != NULL || defaults->rank_by != NULL || defaults->bind_to != NULL;
}

gboolean
dvmd_controller_check_defaults (DvmdPlugins *plugins, const DvmdDefaults *defaults, GError **error)
{
  static const char *const argv[] = { "true", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  gboolean counts;

  dvm_job_spec_set_map_by (spec, defaults->map_by);
  dvm_job_spec_set_rank_by (spec, defaults->rank_by);
  dvm_job_spec_set_bind_to (spec, defaults->bind_to);
  dvm_job_spec_set_output (spec, defaults->output);
  if (check_for_all (defaults->map_by, error) && dvm_job_spec_validate (spec, error)
      && (!has_policy (defaults)
          || dvmd_map_driver_check (dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER), spec, &counts, error)))
    return TRUE;
  g_prefix_error (error, "The settings have a wrong default for jobs: ");
  return FALSE;
}

/* ---- for a job ---- */

/*
 * A job that has qualifiers alone has the word of the default. Files of the job may contradict it, too; the mappers
 * know what they say.
 */
static void
try_default (DvmdController *controller, DvmJobSpec *spec, const char *value, const char *(*get) (DvmJobSpec *spec),
             void (*set) (DvmJobSpec *spec, const char *value))
{
  g_autofree char *own = g_strdup (get (spec));
  g_autofree char *whole = NULL;
  gboolean counts;

  if (value == NULL || (own != NULL && (own[0] != ':' || value[0] == ':')))
    return;
  whole = g_strconcat (value, own, NULL);
  set (spec, whole);
  if (!_dvm_job_spec_check_policies (spec, "", NULL)
      || !dvmd_controller_check_placement (controller, spec, &counts, NULL))
    set (spec, own);
}

/* Such a job is not bound without a word of its own: it may have more processes than there are cpus that nobody has. */
static gboolean
does_without_cpus (DvmJobSpec *spec)
{
  /* The programs of a job are all beside another one, or none is. */
  const char *map_by = dvm_job_spec_get_n_apps (spec) > 0 ? _dvm_job_spec_get_placement (spec, 0).map_by : NULL;
  g_autoptr (DvmPlacement) placement = map_by != NULL ? _dvm_placement_parse (map_by, NULL, NULL, "", NULL) : NULL;

  return _dvm_job_spec_get_when_full_policy (spec) == DVM_WHEN_FULL_OVERSUBSCRIBE
         || (placement != NULL && g_strcmp0 (placement->word, "colocate") == 0);
}

static gboolean
wants_cpus (const char *bind_to)
{
  g_autoptr (DvmPlacement) placement = _dvm_placement_parse (NULL, NULL, bind_to, "", NULL);

  return placement == NULL || !(placement->overload || placement->if_supported);
}

void
dvmd_controller_try_policies (DvmdController *controller, DvmJobSpec *spec, const char *map_by, const char *rank_by,
                              const char *bind_to)
{
  if (dvm_job_spec_get_bind_to (spec) == NULL && does_without_cpus (spec) && wants_cpus (bind_to))
    bind_to = NULL;
  try_default (controller, spec, map_by, dvm_job_spec_get_map_by, dvm_job_spec_set_map_by);
  try_default (controller, spec, bind_to, dvm_job_spec_get_bind_to, dvm_job_spec_set_bind_to);
  try_default (controller, spec, rank_by, dvm_job_spec_get_rank_by, dvm_job_spec_set_rank_by);
}

void
dvmd_controller_apply_defaults (DvmdController *controller, DvmJobSpec *spec, gboolean is_child)
{
  Defaults *self = dvmd_services_get (controller, &dvmd_defaults_service);

  dvmd_controller_try_policies (controller, spec, self->map_by, self->rank_by, self->bind_to);
  if (self->output != NULL && !is_child && dvm_job_spec_get_output (spec) == NULL)
    dvm_job_spec_set_output (spec, self->output);
}

static void
add_default (GVariantBuilder *builder, const char *name, const char *value)
{
  if (value != NULL)
    g_variant_builder_add (builder, "{sv}", name, g_variant_new_string (value));
}

GVariant *
dvmd_controller_get_defaults (DvmdController *controller)
{
  Defaults *self = dvmd_services_get (controller, &dvmd_defaults_service);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  add_default (&builder, "map-by", self->map_by);
  add_default (&builder, "rank-by", self->rank_by);
  add_default (&builder, "bind-to", self->bind_to);
  add_default (&builder, "output", self->output);
  add_default (&builder, "display", self->display);
  return g_variant_builder_end (&builder);
}

/* ---- the service ---- */

static void
settings_changed (gpointer service, const DvmdControllerChanges *changes)
{
  take_settings (service, &changes->defaults);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Defaults *self = g_new0 (Defaults, 1);

  take_settings (self, &settings->defaults);
  return self;
}

static void
defaults_free (gpointer service)
{
  const DvmdDefaults none = { 0 };

  take_settings (service, &none);
  g_free (service);
}

const DvmdService dvmd_defaults_service = {
  .name = "defaults",
  .create = create,
  .free = defaults_free,
  .settings_changed = settings_changed,
};
