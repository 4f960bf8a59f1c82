/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests for agents of launchers that have to ask something first.
 */

#include "config.h"

#include "kept-request.h"

/* The arrays may have moved. */
static void
point (DvmdKeptRequest *self)
{
  self->request.nodes = (const DvmdPluginNode *)self->nodes->data;
  self->request.n_nodes = self->nodes->len;
  self->request.node_inputs = (GBytes *const *)self->inputs->pdata;
}

DvmdKeptRequest *
dvmd_kept_request_new (const DvmdLaunchRequest *request, GBytes *(*map_input) (GBytes *input))
{
  DvmdKeptRequest *self = g_new0 (DvmdKeptRequest, 1);

  self->nodes = g_array_new (FALSE, FALSE, sizeof (DvmdPluginNode));
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->inputs = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);
  self->agent_argv = g_strdupv ((char **)request->agent_argv);
  for (guint i = 0; i < request->n_nodes; i++)
    {
      GBytes *input = request->node_inputs != NULL ? request->node_inputs[i] : request->agent_input;
      const DvmdPluginNode node = { .name = g_strdup (request->nodes[i].name), .rank = request->nodes[i].rank };

      g_ptr_array_add (self->names, (gpointer)node.name);
      g_ptr_array_add (self->inputs, map_input != NULL ? map_input (input) : g_bytes_ref (input));
      g_array_append_val (self->nodes, node);
    }
  self->request.agent_argv = (const char *const *)self->agent_argv;
  self->request.logical = request->logical;
  point (self);
  return self;
}

gboolean
dvmd_kept_request_drop (DvmdKeptRequest *self, guint32 rank)
{
  for (guint i = 0; i < self->nodes->len; i++)
    if (g_array_index (self->nodes, DvmdPluginNode, i).rank == rank)
      {
        g_array_remove_index (self->nodes, i);
        g_ptr_array_remove_index (self->names, i);
        g_ptr_array_remove_index (self->inputs, i);
        point (self);
        return TRUE;
      }
  return FALSE;
}

void
dvmd_kept_request_free (DvmdKeptRequest *self)
{
  g_array_unref (self->nodes);
  g_ptr_array_unref (self->names);
  g_ptr_array_unref (self->inputs);
  g_strfreev (self->agent_argv);
  g_free (self);
}
