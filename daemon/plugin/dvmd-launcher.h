/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin-base.h"

G_BEGIN_DECLS

/**
 * DVMD_AGENT_EXIT_VERSION:
 *
 * What an agent exits with that the controller has refused for its version.
 *
 * Since: 0.1
 */
#define DVMD_AGENT_EXIT_VERSION 76

/**
 * DVMD_AGENT_EXIT_CONNECT:
 *
 * What an agent exits with that could not reach the controller, or was refused.
 *
 * Since: 0.1
 */
#define DVMD_AGENT_EXIT_CONNECT 77

/**
 * DVMD_AGENT_EXIT_AUTHENTICATION:
 *
 * What an agent exits with that could not prove who it is, or to whom the controller could not.
 *
 * Since: 0.1
 */
#define DVMD_AGENT_EXIT_AUTHENTICATION 78

/**
 * DvmdLaunchRequest:
 * @nodes: the nodes that want an agent
 * @n_nodes: how many there are
 * @agent_argv: the command line of an agent, the same for all. A launcher that starts each by a command of its own
 *   appends "--node" and the name of the node; one that starts all by one command leaves it away, and an agent takes
 *   the name of its host. An agent that may not join for its version exits with DVMD_AGENT_EXIT_VERSION
 * @agent_input: what an agent is to find on its standard input: it proves that it may join, and is to be seen nowhere.
 * The standard input stays open as long as the launcher wants the agent to live
 * @node_inputs: (array length=n_nodes) (nullable): the same for each node, for launchers that start each agent by
 * itself: what proves that the agent of one node may join is no use to that of another
 * @logical: the nodes are no machines, but names for parts of this one: their agents are started here
 *
 * Agents that are to be started. Borrowed until launch_async() has returned.
 *
 * Since: 0.1
 */
typedef struct
{
  const DvmdPluginNode *nodes;
  guint32 n_nodes;
  const char *const *agent_argv;
  GBytes *agent_input;
  gboolean logical;
  GBytes *const *node_inputs;
  gpointer reserved[2];
} DvmdLaunchRequest;

/**
 * DvmdLauncher:
 *
 * Starts the agents of nodes and ends those that do not end by themselves.
 *
 * Since: 0.1
 */
#define DVMD_TYPE_LAUNCHER (dvmd_launcher_get_type ())
G_DECLARE_DERIVABLE_TYPE (DvmdLauncher, dvmd_launcher, DVMD, LAUNCHER, DvmdPlugin)

/**
 * DvmdLauncherClass:
 * @parent_class: the parent
 * @launch_async: starts agents. It is done when nothing more is left to be started; that an agent has come up is known
 *   by its report to the controller. A node that cannot be reached is told by dvmd_launcher_node_failed(), with the
 *   reason: unreachable, refused, authentication, agent missing, version, timeout. The code of the error tells what
 * became of it: %DVM_ERROR_NO_PERMISSIONS: authentication, %DVM_ERROR_TIMEOUT, %DVM_ERROR_NOT_READY: its agent has not
 * reached the controller; any other: it could not be started
 * @launch_finish: the answer. Need not be given by those who answer with a GTask: %TRUE for done, %FALSE for declined,
 *   an error for failed as a whole
 * @terminate_async: ends the agents of these nodes and all below them; called for those that do not end when told to
 * @terminate_finish: the answer, as for @launch_finish
 * @kill: (nullable): the agents of these nodes get no time any more; for those that are being ended, too, whose
 *   @terminate_async is over soon then
 * @awaits: the agents of the nodes start by themselves and prove by the site's secret (the setting bootstrap-secret)
 *   that they may join; @launch_async has the nodes started, or does nothing. Such a launcher is asked only where the
 *   setting launcher has its name
 * @came: (nullable): the agent of the node of that rank is there: it takes part in the DVM, and
 *   dvmd_plugin_host_start_at() may use it
 *
 * Since: 0.1
 */
struct _DvmdLauncherClass
{
  DvmdPluginClass parent_class;

  void (*launch_async) (DvmdLauncher *self, const DvmdLaunchRequest *request, GCancellable *cancellable,
                        GAsyncReadyCallback callback, gpointer user_data);
  DvmdPluginVerdict (*launch_finish) (DvmdLauncher *self, GAsyncResult *result, GError **error);
  void (*terminate_async) (DvmdLauncher *self, const DvmdPluginNode *nodes, guint32 n_nodes, GCancellable *cancellable,
                           GAsyncReadyCallback callback, gpointer user_data);
  DvmdPluginVerdict (*terminate_finish) (DvmdLauncher *self, GAsyncResult *result, GError **error);
  void (*kill) (DvmdLauncher *self, const DvmdPluginNode *nodes, guint32 n_nodes);
  gboolean awaits;
  void (*came) (DvmdLauncher *self, guint32 rank);

  gpointer reserved[1];
};

/* Requests that the launcher does not implement are declined. */
void dvmd_launcher_launch_async (DvmdLauncher *self, const DvmdLaunchRequest *request, GCancellable *cancellable,
                                 GAsyncReadyCallback callback, gpointer user_data);
DvmdPluginVerdict dvmd_launcher_launch_finish (DvmdLauncher *self, GAsyncResult *result, GError **error);
void dvmd_launcher_terminate_async (DvmdLauncher *self, const DvmdPluginNode *nodes, guint32 n_nodes,
                                    GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
DvmdPluginVerdict dvmd_launcher_terminate_finish (DvmdLauncher *self, GAsyncResult *result, GError **error);
void dvmd_launcher_kill (DvmdLauncher *self, const DvmdPluginNode *nodes, guint32 n_nodes);
void dvmd_launcher_came (DvmdLauncher *self, guint32 rank);

/**
 * dvmd_launcher_node_failed:
 * @self: a launcher
 * @rank: of the node whose agent could not be started, or ended before it has reported
 * @reason: why
 *
 * Tells the controller, by the signal "node-failed" (guint, GError).
 *
 * Since: 0.1
 */
void dvmd_launcher_node_failed (DvmdLauncher *self, guint32 rank, const GError *reason);

/**
 * dvmd_launcher_ends:
 * @self: a launcher
 * @reason: a sentence
 *
 * The one through whom agents were started is ending them: a scheduler ends its job, or wants the DVM to end before it
 * does so. When agents leave by themselves within seconds of this, they are not lost one by one: the DVM ends, and this
 * is the reason of its jobs. Tells the controller, by the signal "ends" (string).
 *
 * Since: 0.1
 */
void dvmd_launcher_ends (DvmdLauncher *self, const char *reason);

G_END_DECLS
