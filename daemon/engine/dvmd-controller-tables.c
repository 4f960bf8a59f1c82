/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables of agents, asked for as a whole.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-private.h"

void
dvmd_controller_ask_tables_async (DvmdController *self, guint rank, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  guint64 token = ++self->last_table_ask;

  g_task_set_source_tag (task, dvmd_controller_ask_tables_async);
  g_task_set_task_data (task, GUINT_TO_POINTER (rank), NULL);
  if (!g_hash_table_contains (self->links, GUINT_TO_POINTER (rank)))
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_READY, "Node %u has no agent that could be asked", rank);
      return;
    }
  g_hash_table_insert (self->table_asks, g_memdup2 (&token, sizeof token), g_steal_pointer (&task));
  dvmd_controller_send (self, rank, DVMD_MSG_TABLES_ASK, g_variant_new ("(t)", token));
}

GVariant *
dvmd_controller_ask_tables_finish (DvmdController *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_async_result_is_tagged (result, dvmd_controller_ask_tables_async), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

static guint
get_rank (GTask *task)
{
  return GPOINTER_TO_UINT (g_task_get_task_data (task));
}

/* (transfer full) (nullable): one of those that were asked of this agent */
static GTask *
take_any (DvmdController *self, guint rank)
{
  GHashTableIter iter;
  gpointer task;

  g_hash_table_iter_init (&iter, self->table_asks);
  while (g_hash_table_iter_next (&iter, NULL, &task))
    if (get_rank (task) == rank)
      {
        g_object_ref (task);
        g_hash_table_iter_remove (&iter);
        return task;
      }
  return NULL;
}

void
dvmd_controller_handle_tables (DvmdController *self, guint rank, GVariant *body)
{
  g_autoptr (GTask) task = NULL;
  GTask *asked;
  guint64 token;

  g_variant_get_child (body, 0, "t", &token);
  asked = g_hash_table_lookup (self->table_asks, &token);
  if (asked == NULL || get_rank (asked) != rank)
    {
      g_message ("Agent %u tells what it was not asked", rank);
      return;
    }
  task = g_object_ref (asked);
  g_hash_table_remove (self->table_asks, &token);
  g_task_return_pointer (task, g_variant_ref (body), (GDestroyNotify)g_variant_unref);
}

void
dvmd_controller_fail_tables (DvmdController *self, guint rank)
{
  GTask *task;

  while ((task = take_any (self, rank)) != NULL)
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The agent of node %u has gone", rank);
      g_object_unref (task);
    }
}
