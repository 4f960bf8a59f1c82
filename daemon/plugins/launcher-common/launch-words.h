/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* Where an agent is on other machines; prefix: (nullable): where dvm is installed there */
char *dvmd_launch_find_agent (const char *prefix, const char *program);

/* A word as the shells of users read it: sh, bash, csh, fish. */
char *dvmd_launch_quote (const char *word);

/* For sh: ends this process, which is told so twice, then killed. */
char *dvmd_launch_make_kill_script (int pid);

/* Why a command has not got there, by its messages: "unreachable", "refused", "authentication", "timeout"; NULL: no
 * idea. */
const char *dvmd_launch_find_reason (const char *messages);

/* reason: (nullable): as above */
DvmError dvmd_launch_find_code (const char *reason);

G_END_DECLS
