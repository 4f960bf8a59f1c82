/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

#include "slurm-environment.h"

G_BEGIN_DECLS

/* The names of the steps that agents run in, and of those that end one: squeue --steps shows them. */
#define SLURM_STEP_NAME "dvm-agents"
#define SLURM_KILL_NAME "dvm-kill"

/* Each node says so on standard error when its agent has ended: "dvm-agent-ended STATUS", as a shell's $?. Before that
 * comes DVMD_COMMAND_ARRIVED with the pid and the name of the node, when it waits for the agent's input. */
#define SLURM_ENDED "dvm-agent-ended "

/*
 * @job: the number of the allocation
 * @options: (nullable): more options for srun, as for a shell
 * @prefix: (nullable): where dvm is installed on the nodes
 * @nodes: where tasks are started, one on each
 * @environ: that of the DVM: agents find its variables of Slurm, not those that Slurm makes for their step
 */
typedef struct
{
  const char *job;
  const char *options;
  const char *prefix;
  const char *const *nodes;
  const char *const *environ;
  const char *const *agent_argv;
} SlurmStepWish;

/* (nullable) (transfer full): the command that starts the agents of all nodes; NULL: the options are no words */
char **slurm_make_argv (const SlurmStepWish *wish, GError **error);

/* (transfer full): the command that ends this process of a node: it is told so twice, then killed; killed if that is to
 * be at once */
char **slurm_make_kill_argv (const char *job, const char *node, int pid, gboolean at_once);

/* (transfer full): what all agents of the step find on their standard input, each of which reads on from its own line:
 * a table of names and inputs */
GBytes *slurm_make_input (const char *const *nodes, GBytes *const *inputs);

/* Whether a line is that of a task: "N: TEXT". text: a part of the line */
gboolean slurm_parse_label (const char *line, guint *task, const char **text);

/* (transfer full) (nullable): the nodes of the tasks of which srun says that they have ended badly; NULL: it says
 * something else. words: (transfer full): how */
char **slurm_parse_task_end (const char *line, char **words);

/* (transfer full) (nullable): the node of which srun says that it does not take its task, after which srun ends all
 * tasks; NULL: it says something else. words: (transfer full): what it says */
char *slurm_parse_refusal (const char *line, char **words);

/* (transfer full) (nullable): the words of a line by which Slurm says that it ends a step as a whole, on purpose; NULL:
 * it is none. The first node of the step says so, also when it is the only one that is ended, by SIGKILL. */
char *slurm_parse_step_end (const char *line);

/* (transfer full): why srun has ended, by the messages that it has left: the first error, without the words before it;
 * else the last line; "" if it has said nothing */
char *slurm_find_words (const char *messages);

G_END_DECLS
