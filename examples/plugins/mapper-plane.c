/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An example of a mapper with a word of its own: --map-by plane:N places N processes on each node in turn. With
 * plane:N:first=NAME it begins on that node.
 */

#include <dvmd-plugin.h>
#include <string.h>

#define EXAMPLE_TYPE_PLANE_MAPPER (example_plane_mapper_get_type ())
G_DECLARE_FINAL_TYPE (ExamplePlaneMapper, example_plane_mapper, EXAMPLE, PLANE_MAPPER, DvmdMapper)

struct _ExamplePlaneMapper
{
  DvmdMapper parent_instance;
};

G_DEFINE_FINAL_TYPE (ExamplePlaneMapper, example_plane_mapper, DVMD_TYPE_MAPPER)

/* 0 with an error: it is no number */
static guint
read_plane (const DvmdMapRequest *request, GError **error)
{
  guint64 plane = 0;

  if (!g_ascii_string_to_unsigned (request->arguments[0], 10, 1, G_MAXUINT16, &plane, NULL))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "map-by: plane: “%s” is no number of processes from 1 to %u",
                 request->arguments[0], G_MAXUINT16);
  return plane;
}

static gboolean
example_plane_mapper_check (DvmdMapper *self, const DvmdMapRequest *request, GError **error)
{
  return read_plane (request, error) > 0;
}

/* Where it begins; n_nodes: there is no such node. */
static guint
find_first (const DvmdMapRequest *request)
{
  const char *name = g_environ_getenv ((char **)request->qualifiers, "first");
  guint node = 0;

  while (name != NULL && node < request->n_nodes && strcmp (request->nodes[node].name, name) != 0)
    node++;
  return node;
}

/*
 * The next node that takes some of the application, from this one on; n_nodes: there is none. How much of it a node
 * takes this example leaves to the daemon, which refuses a map that is too large.
 */
static guint
find_next (const DvmdMapRequest *request, const guint *room, guint app, guint from)
{
  for (guint i = 0; i < request->n_nodes; i++)
    {
      guint node = (from + i) % request->n_nodes;

      if (room[node] > 0 && (request->app_limits == NULL || request->app_limits[app * request->n_nodes + node] > 0))
        return node;
    }
  return request->n_nodes;
}

static DvmdPluginVerdict
example_plane_mapper_map (DvmdMapper *self, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  guint plane = read_plane (request, error);
  guint node = find_first (request);
  g_autofree guint *room = g_new (guint, request->n_nodes);
  guint rank = 0;

  if (plane == 0)
    return DVMD_PLUGIN_FAILED;
  for (guint i = 0; i < request->n_nodes; i++)
    room[i] = request->oversubscribe ? request->nodes[i].most : request->nodes[i].limit;
  for (guint app = 0; app < request->n_apps; app++)
    for (guint left = request->app_np[app]; left > 0;)
      {
        guint count;

        node = node < request->n_nodes ? find_next (request, room, app, node) : node;
        if (node == request->n_nodes)
          {
            g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%u processes have no place in planes of %u", left,
                         plane);
            return DVMD_PLUGIN_FAILED;
          }
        count = MIN (MIN (plane, left), room[node]);
        dvmd_placement_add (placement, node, app, rank, count, 1);
        room[node] -= count;
        rank += count;
        left -= count;
        node = (node + 1) % request->n_nodes;
      }
  return DVMD_PLUGIN_DONE;
}

static void
example_plane_mapper_class_init (ExamplePlaneMapperClass *klass)
{
  DVMD_MAPPER_CLASS (klass)->map = example_plane_mapper_map;
  DVMD_MAPPER_CLASS (klass)->check = example_plane_mapper_check;
}

static void
example_plane_mapper_init (ExamplePlaneMapper *self)
{
}

static const char *const words[] = { "plane:N", NULL };
static const char *const qualifiers[] = { "first=NODE", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "plane",
  .description = "an example: so many ranks on each node in turn",
  .get_type = example_plane_mapper_get_type,
  .words = words,
  .qualifiers = qualifiers,
};
