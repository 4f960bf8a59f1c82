/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* (nullable): the number of the job that a process with this environment is in; a part of it */
const char *slurm_find_job (const char *const *environ);

/* (transfer full): what commands of Slurm call that job: the number of one task of an array is taken for the whole
 * array */
char *slurm_make_job_name (const char *const *environ);

/* NAME=VALUE: whether commands of Slurm have set it, or read it as an option; not if it says how Slurm is reached. */
gboolean slurm_is_own_variable (const char *variable);

/* (transfer full): the environment of a command of Slurm: without options, and without the job that it is in */
char **slurm_make_environ (const char *const *environ);

/* (transfer full): the command that shows that job in this format; ended: also when it has ended */
char **slurm_make_squeue_argv (const char *const *environ, const char *format, gboolean ended);

/* (transfer full): the last line of what a command of Slurm has answered: a warning may come before */
char *slurm_get_last_line (GBytes *output);

G_END_DECLS
