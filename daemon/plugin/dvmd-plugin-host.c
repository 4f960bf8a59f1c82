/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The interface by which a plugin reaches the world.
 */

#include "config.h"

#include "dvmd-plugin-host.h"

G_DEFINE_INTERFACE (DvmdPluginHost, dvmd_plugin_host, G_TYPE_OBJECT)

static void
dvmd_plugin_host_default_init (DvmdPluginHostInterface *iface)
{
}

void
dvmd_plugin_host_log (DvmdPluginHost *self, GLogLevelFlags level, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  g_return_if_fail (DVMD_IS_PLUGIN_HOST (self));

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  DVMD_PLUGIN_HOST_GET_IFACE (self)->log (self, level, message);
}

const char *
dvmd_plugin_host_get_setting (DvmdPluginHost *self, const char *key)
{
  g_return_val_if_fail (DVMD_IS_PLUGIN_HOST (self), NULL);
  g_return_val_if_fail (key != NULL, NULL);

  return DVMD_PLUGIN_HOST_GET_IFACE (self)->get_setting (self, key);
}

void
dvmd_plugin_host_spawn_async (DvmdPluginHost *self, const DvmdPluginCommand *command, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVMD_IS_PLUGIN_HOST (self));
  g_return_if_fail (command != NULL && command->argv != NULL && command->argv[0] != NULL);

  DVMD_PLUGIN_HOST_GET_IFACE (self)->spawn_async (self, command, cancellable, callback, user_data);
}

gboolean
dvmd_plugin_host_spawn_finish (DvmdPluginHost *self, GAsyncResult *result, DvmdPluginOutcome *outcome, GError **error)
{
  g_return_val_if_fail (DVMD_IS_PLUGIN_HOST (self), FALSE);
  g_return_val_if_fail (outcome != NULL, FALSE);

  return DVMD_PLUGIN_HOST_GET_IFACE (self)->spawn_finish (self, result, outcome, error);
}

guint
dvmd_plugin_host_start (DvmdPluginHost *self, const DvmdPluginCommand *command, const DvmdPluginWatch *watch,
                        gpointer user_data, GError **error)
{
  g_return_val_if_fail (DVMD_IS_PLUGIN_HOST (self), 0);
  g_return_val_if_fail (command != NULL && command->argv != NULL && command->argv[0] != NULL, 0);
  g_return_val_if_fail (watch != NULL && watch->ended != NULL, 0);

  return DVMD_PLUGIN_HOST_GET_IFACE (self)->start (self, command, watch, user_data, error);
}

guint
dvmd_plugin_host_start_at (DvmdPluginHost *self, guint32 rank, const DvmdPluginCommand *command,
                           const DvmdPluginWatch *watch, gpointer user_data, GError **error)
{
  g_return_val_if_fail (DVMD_IS_PLUGIN_HOST (self), 0);
  g_return_val_if_fail (command != NULL && command->argv != NULL && command->argv[0] != NULL, 0);
  g_return_val_if_fail (watch != NULL && watch->ended != NULL && watch->lost != NULL, 0);

  return DVMD_PLUGIN_HOST_GET_IFACE (self)->start_at (self, rank, command, watch, user_data, error);
}

void
dvmd_plugin_host_give_input (DvmdPluginHost *self, guint process, GBytes *input, gboolean last)
{
  g_return_if_fail (DVMD_IS_PLUGIN_HOST (self));

  DVMD_PLUGIN_HOST_GET_IFACE (self)->give_input (self, process, input, last);
}

void
dvmd_plugin_host_send_signal (DvmdPluginHost *self, guint process, int signum)
{
  g_return_if_fail (DVMD_IS_PLUGIN_HOST (self));

  DVMD_PLUGIN_HOST_GET_IFACE (self)->send_signal (self, process, signum);
}

void
dvmd_plugin_outcome_clear (DvmdPluginOutcome *outcome)
{
  g_clear_pointer (&outcome->output, g_bytes_unref);
  g_clear_pointer (&outcome->messages, g_bytes_unref);
}
