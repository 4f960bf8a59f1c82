/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that nobody has started come by themselves: those of nodes that the DVM wants are let in, others wait.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote.h"

#include <string.h>

#include "dvmd-bootstrap.h"
#include "dvmd-core-nodes.h"
#include "dvmd-heal.h"
#include "dvmd-hello.h"
#include "dvmd-munge-key.h"
#include "dvmd-transport-error.h"

/* Names that the log has had; beyond that it begins anew, so that no name is kept for ever. */
#define MAX_TOLD 4096

struct _DvmdRemoteAwait
{
  GHashTable *told;     /* name of a host -> what the log has had of it */
  GHashTable *returned; /* set of ranks: DOWN, and an agent of theirs waits */
  guint timer;
  GCancellable *asking; /* munged, whether it works here */
  char *problem;        /* (nullable): it does not, and so no agent can join */
};

gboolean
dvmd_remote_awaits (DvmdRemote *self)
{
  GPtrArray *all = dvmd_plugins_list (dvmd_controller_get_parts (self->controller)->plugins);
  const char *name = dvmd_controller_get_parts (self->controller)->shape->launcher;

  for (guint i = 0; name != NULL && i < all->len; i++)
    {
      const DvmdPluginEntry *entry = g_ptr_array_index (all, i);

      if (entry->plugin != NULL && entry->info->kind == DVMD_PLUGIN_LAUNCHER && g_str_equal (entry->info->name, name))
        return DVMD_LAUNCHER_GET_CLASS (entry->plugin)->awaits;
    }
  return FALSE;
}

/* ---- an agent that is not expected ---- */

/* By its name or one that its agent has said of itself, else by one that is short for it. (nullable) */
static DvmdNode *
find_node (DvmdRemote *self, const char *name)
{
  DvmdNodePool *nodes = dvmd_core_get_nodes (dvmd_controller_get_core (self->controller));
  DvmdNode *found = dvmd_node_pool_find (nodes, name);

  for (DvmdNode *node = NULL; found == NULL && (node = dvmd_node_pool_next (nodes, node)) != NULL;)
    if (dvmd_token_names_match (dvm_node_get_name (node->record), name, FALSE))
      found = node;
  return found;
}

/* From the main loop: a node that is brought back is expected at once, and the agent has not had its answer yet. */
static void
on_returned (gpointer user_data)
{
  DvmdRemote *self = user_data;
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  g_autoptr (GHashTable) returned = g_steal_pointer (&self->await->returned);
  GHashTableIter iter;
  gpointer rank;

  self->await->timer = 0;
  self->await->returned = g_hash_table_new (NULL, NULL);
  g_hash_table_iter_init (&iter, returned);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    {
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (core), GPOINTER_TO_UINT (rank));

      if (node != NULL && !dvmd_remote_is_stopping (self))
        dvmd_core_take_back_node (core, node);
    }
}

static void
take_back (DvmdRemote *self, DvmdNode *node)
{
  g_hash_table_add (self->await->returned, GUINT_TO_POINTER (node->rank));
  if (self->await->timer == 0)
    self->await->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock, 0, on_returned,
                                               self);
}

static char *
describe_refusal (DvmdRemote *self, DvmdNode *node, const char *name)
{
  if (node == NULL)
    return g_strdup_printf ("%s is none of the nodes of this DVM: it can be named in its hostfile, or the DVM can grow "
                            "by it",
                            name);
  if (dvmd_core_get_shutting_down (dvmd_controller_get_core (self->controller)))
    return g_strdup_printf ("%s: this DVM is ending", name);
  if (dvmd_node_is_down (node))
    {
      take_back (self, node);
      return g_strdup_printf ("%s is DOWN: unless that is to stay so, its agent is let in when it comes again", name);
    }
  return g_strdup_printf ("%s has an agent already, that of the node %s, rank %u", name,
                          dvm_node_get_name (node->record), node->rank);
}

static void
on_knock (const char *name, gpointer user_data, GError **error)
{
  DvmdRemote *self = user_data;
  DvmdNode *node = find_node (self, name);
  g_autofree char *reason = describe_refusal (self, node, name);

  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_NOT_WANTED, "%s", reason);
  if (g_strcmp0 (g_hash_table_lookup (self->await->told, name), reason) == 0)
    return;
  if (g_hash_table_size (self->await->told) >= MAX_TOLD)
    g_hash_table_remove_all (self->await->told);
  g_message ("An agent waits: %s", reason);
  g_hash_table_insert (self->await->told, g_strdup (name), g_steal_pointer (&reason));
}

/* ---- those that are expected ---- */

static void
on_munge_asked (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_auto (DvmdToken) secret = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *credential = dvmd_munge_keys_seal_finish (result, &secret, &error);
  DvmdRemoteAwait *await = user_data;

  if (credential != NULL || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  await->problem = g_strdup_printf ("munge of the controller's machine does not work: %s", error->message);
  g_message ("bootstrap-auth=munge: %s", await->problem);
}

/* (transfer full): behind the sentence that says which agent has not come: what is known of the cause, or "". */
char *
dvmd_remote_explain_await (DvmdRemote *self)
{
  const char *refusal = self->listener != NULL ? dvmd_listener_get_last_refusal (self->listener) : NULL;

  if (refusal != NULL)
    return g_strdup_printf ("; the last one that was refused: %s", refusal);
  if (self->await != NULL && self->await->problem != NULL)
    return g_strdup_printf ("; %s", self->await->problem);
  return g_strdup ("");
}

static gboolean
open_door (DvmdRemote *self, GError **error)
{
  g_auto (DvmdToken) secret = { 0 };
  DvmdMungeKeys *munge = NULL;

  if (self->await != NULL)
    return TRUE;
  if (!dvmd_bootstrap_choose_means (self->config, &secret, &munge, error))
    return FALSE;
  self->await = g_new0 (DvmdRemoteAwait, 1);
  self->await->told = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->await->returned = g_hash_table_new (NULL, NULL);
  self->await->asking = g_cancellable_new ();
  if (munge != NULL)
    dvmd_munge_keys_seal_async (munge, self->await->asking, on_munge_asked, self->await);
  dvmd_tokens_set_munge (self->tokens, munge);
  dvmd_tokens_open (self->tokens, &secret, on_knock, self);
  return TRUE;
}

void
dvmd_remote_await_free (DvmdRemoteAwait *await, DvmdClock *clock)
{
  if (await == NULL)
    return;
  dvmd_clock_remove_timer (clock, await->timer);
  g_cancellable_cancel (await->asking);
  g_object_unref (await->asking);
  g_free (await->problem);
  g_hash_table_unref (await->told);
  g_hash_table_unref (await->returned);
  g_free (await);
}

/* The command line of an agent that is started, without the program. (nullable) */
static char *
join_arguments (const char *const *argv, GError **error)
{
  g_autofree char *joined = g_strjoinv ("\n", (char **)argv + 1);

  for (gsize i = 1; argv[i] != NULL; i++)
    if (strchr (argv[i], '\n') != NULL)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                     "a setting of this DVM has a line break, and cannot be told to an agent that starts by itself: "
                     "%.40s",
                     argv[i]);
        return NULL;
      }
  /* The name of the node follows. */
  if (strlen (joined) + sizeof "\n--node=" + DVMD_HELLO_MAX_NAME <= DVMD_HELLO_MAX_ARGUMENTS
      && g_utf8_validate (joined, -1, NULL))
    return g_steal_pointer (&joined);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "the settings of this DVM, with its addresses, are more text than an agent that starts by itself can be "
               "told (%u bytes), or no UTF-8: listen-address can leave addresses out",
               DVMD_HELLO_MAX_ARGUMENTS);
  return NULL;
}

gboolean
dvmd_remote_await (DvmdRemote *self, GPtrArray *entries, const char *const *argv, GError **error)
{
  g_autofree char *joined = join_arguments (argv, error);

  if (joined == NULL || !open_door (self, error))
    return FALSE;
  for (guint i = 0; i < entries->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (entries, i);
      g_autofree char *arguments = g_strconcat (joined, "\n--node=", entry->name, NULL);

      dvmd_tokens_expect (self->tokens, entry->rank, entry->name, arguments);
      g_hash_table_remove (self->await->told, entry->name);
    }
  return TRUE;
}
