/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-reaper.h"
#include "dvmd-spawn.h"

G_BEGIN_DECLS

/* The stacks of a process are read by eu-stack of elfutils, a process of its own that may take its time. */

typedef struct _DvmdStack DvmdStack;

/* So much is kept of one process, in bytes. */
#define DVMD_STACK_MAX (64 * 1024)

/*
 * text: UTF-8: a stack for each thread, or ""; problem: (nullable): why there is none, or why it is not whole. Called
 * once, later; self is freed after it.
 */
typedef void (*DvmdStackRead) (DvmdStack *self, const char *text, const char *problem, gpointer user_data);

/* NULL with an error: the tool cannot be started. */
DvmdStack *dvmd_stack_read (GMainContext *context, DvmdSpawner *spawner, DvmdReaper *reaper, pid_t pid,
                            DvmdStackRead read, gpointer user_data, GError **error);
/* The tool is ended; reason is the problem that is told. */
void dvmd_stack_stop (DvmdStack *self, const char *reason);
/* A tool that was ended may have been about to stop the process, which then has to be let go on. */
gboolean dvmd_stack_may_have_stopped (DvmdStack *self);
/* Nothing is told any more. */
void dvmd_stack_free (DvmdStack *self);

G_END_DECLS
