/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * The base of launchers that start each agent by a process of its own, which lives as long as the agent. It limits the
 * starts at once, logs the output of the agents, explains a failed start, and ends the agents.
 *
 * Its settings: "concurrency" (starts at once), "timeout" (seconds for one start), "grace" (seconds that an agent which
 * is terminated gets to end by itself); where it is a tree, "tree-radix" (how many agents each one starts, and from how
 * many more on there is a tree; 0 or 1: none) and "tree-depth" (how many levels there are at most, 0: as many as it
 * takes).
 */

#define DVMD_TYPE_COMMAND_LAUNCHER (dvmd_command_launcher_get_type ())
G_DECLARE_DERIVABLE_TYPE (DvmdCommandLauncher, dvmd_command_launcher, DVMD, COMMAND_LAUNCHER, DvmdLauncher)

/* A start writes this to its standard error when it runs on the machine of the agent; the pid there follows. */
#define DVMD_COMMAND_ARRIVED "dvm-agent-process "

/*
 * @logical: which requests are for this launcher
 * @waits: a start is over when it has said DVMD_COMMAND_ARRIVED, and only then gets the agent's input
 * @is_tree: agents that have come may run the command, and start other ones
 * @lost_status: what the command exits with when the connection has ended, and not the agent
 * @find_input_directory: (nullable): where the input of agents is put into files, for commands that hand on none, and
 *   where that was named, for messages; what is started there reads it and says DVMD_COMMAND_ARRIVED in it
 * @make_argv: the command for one node; @name: how to get there, which is the node's name if nothing else is known;
 *   @input_file: (nullable): the agent's input
 * @make_kill_argv: (nullable): a command that ends the process of that pid on the node, for agents that do not end
 *   with their input
 * @explain: why the agent of a node that has ended like this has not come; @arrived: as for @waits
 */
struct _DvmdCommandLauncherClass
{
  DvmdLauncherClass parent_class;

  gboolean logical;
  gboolean waits;
  gboolean is_tree;
  int lost_status;
  char *(*find_input_directory) (DvmdCommandLauncher *self, char **place);
  char **(*make_argv) (DvmdCommandLauncher *self, const char *name, const char *const *agent_argv,
                       const char *input_file, GError **error);
  char **(*make_kill_argv) (DvmdCommandLauncher *self, const char *name, int pid);
  GError *(*explain) (DvmdCommandLauncher *self, const char *name, gboolean arrived, const DvmdPluginOutcome *outcome);
};

/* One of the settings of a launcher, of any class; standard if it is not set or no number from 1 to a million. */
/* The largest number that a setting of a launcher may be. */
#define DVMD_COMMAND_LAUNCHER_MOST 1000000

guint dvmd_command_launcher_get_number (gpointer self, const char *key, guint standard);

/* The settings that each launcher of this class heeds, for its description. */
extern const DvmdPluginSetting dvmd_command_launcher_settings[];

/* The last line of its messages that says something: (transfer full), "" if there is none. */
char *dvmd_command_last_words (const DvmdPluginOutcome *outcome);

/* Why an agent has ended, as far as that does not depend on the launcher. */
GError *dvmd_command_explain_exit (const char *name, const DvmdPluginOutcome *outcome);

G_END_DECLS
