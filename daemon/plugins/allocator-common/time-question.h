/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * A command of a scheduler that says how long a job lasts, and whether it is there.
 *
 * @plugin: "KIND-NAME"
 * @scheduler: for messages
 * @make_argv: (transfer full): the command. id: of the job, as the allocation has it
 * @read: its output, which is UTF-8. left: (out): seconds; -1: without a limit. FALSE with an error: it does not say
 * so; DVM_ERROR_NOT_FOUND: the job does not run any more
 * @read_memory: (nullable): of the same output, after read: how much memory of each node of the allocation the job has,
 * into memory, which is 0
 * @unknown: (nullable): parts of the line with which the command fails where the job does not run any more; the line
 * has the number of the job, too
 * @file: (nullable): the variable with the name of a file that is there as long as the job
 */
typedef struct
{
  const char *plugin;
  const char *scheduler;
  char **(*make_argv) (const char *id);
  gboolean (*read) (const char *text, const char *id, gint64 *left, GError **error);
  void (*read_memory) (const char *text, const char *id, DvmdAllocation *allocation, guint64 *memory);
  const char *const *unknown;
  const char *file;
} DvmdTimeQuestion;

/* Asks it again and again, as dvmd_time_left_new() says. A command takes as long as the setting "timeout" says, at
 * most. An answer that is none is in the log once, and what was known before stays. A job that was there and is not any
 * more is the end of the DVM: so the scheduler says twice, a second apart, or the file is gone and the scheduler does
 * not say that it runs.
 */
typedef struct _DvmdTimeAsker DvmdTimeAsker;

/* The settings that each allocator which asks so heeds, for its description. */
extern const DvmdPluginSetting dvmd_time_settings[];

/* allocator: unowned; allocation: its nodes; id: of the job */
DvmdTimeAsker *dvmd_time_asker_new (DvmdAllocator *allocator, const DvmdTimeQuestion *question,
                                    DvmdAllocation *allocation, const char *id);
/* The answer of this moment is known, and the first question is due later. left: seconds; -1: without a limit */
void dvmd_time_asker_know (DvmdTimeAsker *self, gint64 left);
void dvmd_time_asker_release (DvmdTimeAsker *self);

/* Asks at once, because agents are lost. task: (transfer full): ends with NULL when the answer is there: the end of the
 * job is told before */
void dvmd_time_asker_ask (DvmdTimeAsker *self, GTask *task);

G_END_DECLS
