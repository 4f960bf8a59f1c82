/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* Stands among the words of a command for the node. */
#define JOB_NODE "%node"

/*
 * How a command that starts a program on one node is called.
 * @words: NULL-terminated; all but the first, which is the program, are the same where a site has another one
 * @is_line: whether a shell of the node reads what follows them, so that it is one word
 */
typedef struct
{
  const char *const *words;
  gboolean is_line;
  gboolean hides_signals; /* a status above 128 would be more than the end of what has been started */
} JobCommand;

/* The command that becomes the agent of a node: it says DVMD_COMMAND_ARRIVED and reads what job_words_make_input() has
 * made, on its standard input or in input_file (nullable). prefix: (nullable): where dvm is installed there. (transfer
 * full) */
char **job_words_make_agent (const char *const *agent_argv, const char *prefix, const char *node,
                             const char *input_file);

/* The command that ends a process of a node. (transfer full) */
char **job_words_make_kill (int pid);

/* (transfer full) (nullable): the whole command. setting: (nullable): the words in the place of the first one, as for
 * a shell; target: what the command calls the node. NULL: these are none */
char **job_words_make_argv (const JobCommand *command, const char *setting, const char *target, char **what,
                            GError **error);

/* (transfer full): variables of the DVM, where programs and libraries are found, and the token behind them */
GBytes *job_words_make_input (const char *const *environ, GBytes *token);

/* The agent's shell exits with this when it has found no file. */
#define JOB_NO_FILE 79

G_END_DECLS
