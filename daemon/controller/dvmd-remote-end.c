/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that are processes are ended, by those who have started them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote.h"

typedef struct
{
  DvmdController *controller; /* reffed */
  DvmdRemote *remote;         /* unowned: not there any more when the controller has no agents */
  GPtrArray *entries;
  DvmdRemoteDone done; /* (nullable) */
  guint n_left;
} Termination;

static void
termination_unref (Termination *self)
{
  if (--self->n_left > 0)
    return;
  if (dvmd_controller_get_agents (self->controller) != NULL && self->done != NULL)
    self->done (self->remote, self->entries);
  g_ptr_array_unref (self->entries);
  if (dvmd_controller_get_agents (self->controller) != NULL && --self->remote->n_terminations == 0)
    dvmd_controller_check_end (self->controller);
  g_object_unref (self->controller);
  g_free (self);
}

static void
on_terminated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  dvmd_launcher_terminate_finish (DVMD_LAUNCHER (source), result, &error);
  if (error != NULL)
    g_message ("Agents have not been ended: %s", error->message);
  termination_unref (user_data);
}

/* (element-type DvmdAgentEntry): those that it has started */
static GPtrArray *
select_by_launcher (GPtrArray *entries, DvmdLauncher *launcher)
{
  GPtrArray *own = g_ptr_array_new ();

  for (guint i = 0; i < entries->len; i++)
    if (((DvmdAgentEntry *)g_ptr_array_index (entries, i))->launcher == launcher)
      g_ptr_array_add (own, g_ptr_array_index (entries, i));
  return own;
}

static void
terminate_by (Termination *termination, DvmdLauncher *launcher)
{
  g_autoptr (GPtrArray) own = select_by_launcher (termination->entries, launcher);
  g_autofree DvmdPluginNode *nodes = NULL;

  if (own->len == 0)
    return;
  nodes = dvmd_remote_describe_nodes (own);
  termination->n_left++;
  dvmd_launcher_terminate_async (launcher, nodes, own->len, NULL, on_terminated, termination);
}

static void
on_nothing_to_end (gpointer user_data)
{
  termination_unref (user_data);
}

void
dvmd_remote_terminate (DvmdRemote *self, GPtrArray *entries, DvmdRemoteDone done)
{
  Termination *termination = g_new0 (Termination, 1);
  GHashTableIter iter;
  gpointer launcher;

  termination->controller = g_object_ref (self->controller);
  termination->remote = self;
  termination->done = done;
  termination->n_left = 1;
  termination->entries = g_ptr_array_new_with_free_func (dvmd_agent_entry_unref);
  for (guint i = 0; i < entries->len; i++)
    g_ptr_array_add (termination->entries, g_rc_box_acquire (g_ptr_array_index (entries, i)));
  self->n_terminations++;
  dvmd_controller_enter (self->controller);
  g_hash_table_iter_init (&iter, self->launchers);
  while (g_hash_table_iter_next (&iter, &launcher, NULL))
    terminate_by (termination, launcher);
  dvmd_controller_leave (self->controller);
  dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock, 0, on_nothing_to_end, termination);
}

void
dvmd_remote_kill (DvmdRemote *self, GPtrArray *entries)
{
  GHashTableIter iter;
  gpointer launcher;

  dvmd_controller_enter (self->controller);
  g_hash_table_iter_init (&iter, self->launchers);
  while (g_hash_table_iter_next (&iter, &launcher, NULL))
    {
      g_autoptr (GPtrArray) own = select_by_launcher (entries, launcher);
      g_autofree DvmdPluginNode *nodes = dvmd_remote_describe_nodes (own);

      if (own->len > 0)
        dvmd_launcher_kill (launcher, nodes, own->len);
    }
  dvmd_controller_leave (self->controller);
}
