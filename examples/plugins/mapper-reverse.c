/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An example of a mapper: by slot, but the last node is filled first.
 */

#include <dvmd-plugin.h>

#define EXAMPLE_TYPE_REVERSE_MAPPER (example_reverse_mapper_get_type ())
G_DECLARE_FINAL_TYPE (ExampleReverseMapper, example_reverse_mapper, EXAMPLE, REVERSE_MAPPER, DvmdMapper)

struct _ExampleReverseMapper
{
  DvmdMapper parent_instance;
};

G_DEFINE_FINAL_TYPE (ExampleReverseMapper, example_reverse_mapper, DVMD_TYPE_MAPPER)

static guint64
count_missing (const DvmdMapRequest *request)
{
  guint64 missing = 0;

  for (guint i = 0; i < request->n_apps; i++)
    missing += request->app_np[i];
  for (guint i = 0; i < request->n_nodes; i++)
    missing -= MIN (missing, request->nodes[i].limit);
  return missing;
}

static DvmdPluginVerdict
example_reverse_mapper_map (DvmdMapper *self, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  guint64 extra = count_missing (request);
  guint node = request->n_nodes - 1;
  guint left = request->nodes[node].limit;
  guint rank = 0;

  if (extra > 0 && !request->oversubscribe)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%" G_GUINT64_FORMAT " processes have no slot", extra);
      return DVMD_PLUGIN_FAILED;
    }
  for (guint app = 0; app < request->n_apps; app++)
    for (guint todo = request->app_np[app]; todo > 0;)
      {
        guint count;

        while (left == 0 && node > 0)
          left = request->nodes[--node].limit;
        /* The first node takes what is too much for all. */
        count = node == 0 ? todo : MIN (todo, left);
        dvmd_placement_add (placement, node, app, rank, count, 1);
        left -= MIN (left, count);
        rank += count;
        todo -= count;
      }
  return DVMD_PLUGIN_DONE;
}

static void
example_reverse_mapper_class_init (ExampleReverseMapperClass *klass)
{
  DVMD_MAPPER_CLASS (klass)->map = example_reverse_mapper_map;
}

static void
example_reverse_mapper_init (ExampleReverseMapper *self)
{
}

static const char *const words[] = { "slot", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "reverse",
  .description = "an example: by slot, the last node first",
  .get_type = example_reverse_mapper_get_type,
  .words = words,
};
