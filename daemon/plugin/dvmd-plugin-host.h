/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/**
 * DvmdPluginHost:
 *
 * What a plugin may do to the world. The daemon gives each plugin a host of its own, which knows the plugin's name.
 * Everything is called from the main context of the DVM, and answers there.
 *
 * Since: 0.1
 */
#define DVMD_TYPE_PLUGIN_HOST (dvmd_plugin_host_get_type ())
G_DECLARE_INTERFACE (DvmdPluginHost, dvmd_plugin_host, DVMD, PLUGIN_HOST, GObject)

/**
 * DvmdPluginCommand:
 * @argv: the program and its arguments; a name without '/' is looked for in PATH
 * @environ: (nullable): its whole environment; %NULL for that of the DVM
 * @cwd: (nullable): its directory; %NULL for that of the DVM
 * @input: (nullable): what it finds on its standard input; %NULL for nothing
 *
 * A command that a plugin wants to be run. Secrets go into @input, never into @argv or @environ.
 *
 * Since: 0.1
 */
typedef struct
{
  const char *const *argv;
  const char *const *environ;
  const char *cwd;
  GBytes *input;
} DvmdPluginCommand;

/**
 * DvmdPluginOutcome:
 * @exit_code: what it exited with, -1 if a signal ended it
 * @exit_signal: the signal that ended it, 0 if none did
 * @output: (transfer full): the first MiB of its standard output
 * @messages: (transfer full): the first MiB of its standard error
 *
 * How a command ended.
 *
 * Since: 0.1
 */
typedef struct
{
  int exit_code;
  int exit_signal;
  GBytes *output;
  GBytes *messages;
} DvmdPluginOutcome;

/**
 * DvmdPluginWatch:
 * @line: (nullable): the process has written a line: without its end, at most 4 KiB, on its standard error
 * (@is_message) or standard output
 * @ended: the process has ended: exit code or signal, and in messages the last 4 KiB of its standard error; borrowed.
 * It is the last call. A process that is ended because the DVM ends is told of as killed
 * @lost: (nullable): instead of @ended, for a process of dvmd_plugin_host_start_at(): it could not be started, or
 * nothing more is known of it, because the agent of its node has gone; the reason is a sentence
 *
 * Who wants to know what a process says and when it ends. What a process has written is told before its end.
 *
 * Since: 0.1
 */
typedef struct
{
  void (*line) (guint process, gboolean is_message, const char *line, gpointer user_data);
  void (*ended) (guint process, const DvmdPluginOutcome *outcome, gpointer user_data);
  void (*lost) (guint process, const char *reason, gpointer user_data);
  gpointer reserved[1];
} DvmdPluginWatch;

/**
 * DvmdPluginHostInterface:
 * @log: writes a line to the log, under the plugin's own domain
 * @get_setting: the value of one of the plugin's settings
 * @spawn_async: starts a command and watches it
 * @spawn_finish: how it ended
 * @start: starts a process that is talked with while it runs
 * @give_input: writes to its standard input
 * @send_signal: sends a signal to its process group
 * @start_at: starts such a process on the node of an agent
 *
 * What the daemon implements.
 *
 * Since: 0.1
 */
struct _DvmdPluginHostInterface
{
  GTypeInterface parent_iface;

  void (*log) (DvmdPluginHost *self, GLogLevelFlags level, const char *message);
  const char *(*get_setting) (DvmdPluginHost *self, const char *key);
  void (*spawn_async) (DvmdPluginHost *self, const DvmdPluginCommand *command, GCancellable *cancellable,
                       GAsyncReadyCallback callback, gpointer user_data);
  gboolean (*spawn_finish) (DvmdPluginHost *self, GAsyncResult *result, DvmdPluginOutcome *outcome, GError **error);
  guint (*start) (DvmdPluginHost *self, const DvmdPluginCommand *command, const DvmdPluginWatch *watch,
                  gpointer user_data, GError **error);
  void (*give_input) (DvmdPluginHost *self, guint process, GBytes *input, gboolean last);
  void (*send_signal) (DvmdPluginHost *self, guint process, int signum);
  guint (*start_at) (DvmdPluginHost *self, guint32 rank, const DvmdPluginCommand *command, const DvmdPluginWatch *watch,
                     gpointer user_data, GError **error);

  gpointer reserved[3];
};

/**
 * dvmd_plugin_host_log:
 * @self: the plugin's host
 * @level: %G_LOG_LEVEL_MESSAGE, %G_LOG_LEVEL_INFO or %G_LOG_LEVEL_DEBUG
 * @format: as for printf()
 * @...: what @format needs
 *
 * Writes a line to the log of the DVM, in the domain "dvmd-plugin"; the line begins with kind and name of the plugin.
 *
 * Since: 0.1
 */
void dvmd_plugin_host_log (DvmdPluginHost *self, GLogLevelFlags level, const char *format, ...) G_GNUC_PRINTF (3, 4);

/**
 * dvmd_plugin_host_get_setting:
 * @self: the plugin's host
 * @key: the name of one of the plugin's own settings
 *
 * A setting of the plugin. In dvm.conf the setting KEY of the mapper "site" stands in the line
 * `plugin-settings = mapper-site.KEY=VALUE ...`.
 *
 * Returns: (nullable): the text, %NULL if nobody has set it
 * Since: 0.1
 */
const char *dvmd_plugin_host_get_setting (DvmdPluginHost *self, const char *key);

/**
 * dvmd_plugin_host_spawn_async:
 * @self: the plugin's host
 * @command: what to run; it is copied
 * @cancellable: (nullable): ends the command by SIGKILL, with all that it has left in its process group
 * @callback: called when the command has ended and its output is read
 * @user_data: for @callback
 *
 * Runs a command and watches it to its end.
 *
 * Since: 0.1
 */
void dvmd_plugin_host_spawn_async (DvmdPluginHost *self, const DvmdPluginCommand *command, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);

/**
 * dvmd_plugin_host_spawn_finish:
 * @self: the plugin's host
 * @result: what the callback got
 * @outcome: (out): how the command ended; clear it with dvmd_plugin_outcome_clear()
 * @error: return location for an error
 *
 * Ends dvmd_plugin_host_spawn_async().
 *
 * Returns: %TRUE if the command ran, whatever it exited with; %FALSE if it could not be started or was cancelled
 * Since: 0.1
 */
gboolean dvmd_plugin_host_spawn_finish (DvmdPluginHost *self, GAsyncResult *result, DvmdPluginOutcome *outcome,
                                        GError **error);

/**
 * dvmd_plugin_host_start:
 * @self: the plugin's host
 * @command: what to run; it is copied. Its standard input stays open after what @command gives it
 * @watch: what is called from now on; it must live as long as the process
 * @user_data: for @watch
 * @error: return location for an error
 *
 * Starts a process that lives longer than a command, and that is talked with meanwhile.
 *
 * Returns: a number for the process, which is never given again; 0 with @error set if it cannot be started
 * Since: 0.1
 */
guint dvmd_plugin_host_start (DvmdPluginHost *self, const DvmdPluginCommand *command, const DvmdPluginWatch *watch,
                              gpointer user_data, GError **error);

/**
 * dvmd_plugin_host_start_at:
 * @self: the plugin's host
 * @rank: of a node whose agent has come
 * @command: what to run; of it @argv alone, which is copied: environment and directory are those of the agent
 * @watch: what is called from now on, with @lost; it must live as long as the process
 * @user_data: for @watch
 * @error: return location for an error
 *
 * As dvmd_plugin_host_start(), on the node of an agent. What the process says and is given goes by the agent's
 * connection.
 *
 * Returns: a number for the process, as those of dvmd_plugin_host_start(); 0 with @error set if no agent of this rank
 *   is there. That it cannot be started there is told by @lost
 * Since: 0.1
 */
guint dvmd_plugin_host_start_at (DvmdPluginHost *self, guint32 rank, const DvmdPluginCommand *command,
                                 const DvmdPluginWatch *watch, gpointer user_data, GError **error);

/**
 * dvmd_plugin_host_give_input:
 * @self: the plugin's host
 * @process: what dvmd_plugin_host_start() has returned; one that has ended is none, and nothing happens
 * @input: (nullable): what it finds next on its standard input
 * @last: whether that ends there
 *
 * Since: 0.1
 */
void dvmd_plugin_host_give_input (DvmdPluginHost *self, guint process, GBytes *input, gboolean last);

/**
 * dvmd_plugin_host_send_signal:
 * @self: the plugin's host
 * @process: what dvmd_plugin_host_start() has returned; one that has ended is none, and nothing happens
 * @signum: a signal
 *
 * Sends a signal to the process and what is in its process group.
 *
 * Since: 0.1
 */
void dvmd_plugin_host_send_signal (DvmdPluginHost *self, guint process, int signum);

/* Frees what an outcome holds. */
void dvmd_plugin_outcome_clear (DvmdPluginOutcome *outcome);

G_END_DECLS
