/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A mapper that does what the script of a test says.
 */

#include "config.h"

#include "dvmd-plugin.h"
#include "test-script.h"

#define DVMD_TYPE_TEST_MAPPER (dvmd_test_mapper_get_type ())
G_DECLARE_FINAL_TYPE (DvmdTestMapper, dvmd_test_mapper, DVMD, TEST_MAPPER, DvmdMapper)

struct _DvmdTestMapper
{
  DvmdMapper parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdTestMapper, dvmd_test_mapper, DVMD_TYPE_MAPPER)

static void
place (const DvmdMapRequest *request, DvmdPlacement *placement, guint missing)
{
  guint rank = 0;

  for (guint app = 0; app < request->n_apps; app++)
    {
      guint count = request->app_np[app] - (app + 1 == request->n_apps ? missing : 0);

      if (count > 0)
        dvmd_placement_add (placement, 0, app, rank, count, 1);
      rank += count;
    }
}

static DvmdPluginVerdict
dvmd_test_mapper_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  TestStep step;
  TestAction action = test_script_next (mapper, "mapper", &step, error);

  if (action == TEST_FAIL)
    return DVMD_PLUGIN_FAILED;
  if (action == TEST_DECLINE)
    return DVMD_PLUGIN_DECLINED;
  if (step.delay > 0 || step.until != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "test-plugin: a mapper cannot wait, and has no \"delay\"");
      return DVMD_PLUGIN_FAILED;
    }
  place (request, placement, action == TEST_WRONG ? 1 : 0);
  return DVMD_PLUGIN_DONE;
}

static void
dvmd_test_mapper_class_init (DvmdTestMapperClass *klass)
{
  DVMD_MAPPER_CLASS (klass)->map = dvmd_test_mapper_map;
}

static void
dvmd_test_mapper_init (DvmdTestMapper *self)
{
}

static const char *const words[] = { "slot", "node", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "test",
  .description = "does what a script says, for tests",
  .get_type = dvmd_test_mapper_get_type,
  .words = words,
};
