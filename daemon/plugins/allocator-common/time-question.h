/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * A command of a scheduler that says how long a job lasts.
 *
 * @plugin: "KIND-NAME"
 * @scheduler: for messages
 * @make_argv: (transfer full): the command. id: of the job, as the allocation has it
 * @read: its output, which is UTF-8. left: (out): seconds; -1: without a limit. FALSE with an error: it does not say so
 */
typedef struct
{
  const char *plugin;
  const char *scheduler;
  char **(*make_argv) (const char *id);
  gboolean (*read) (const char *text, const char *id, gint64 *left, GError **error);
} DvmdTimeQuestion;

/* Asks it again and again, as dvmd_time_left_new() says. A command takes as long as the setting "timeout" says, at
 * most. An answer that is none is in the log once, and what was known before stays. */
typedef struct _DvmdTimeAsker DvmdTimeAsker;

/* allocator: unowned */
DvmdTimeAsker *dvmd_time_asker_new (DvmdAllocator *allocator, const DvmdTimeQuestion *question, const char *id);
void dvmd_time_asker_release (DvmdTimeAsker *self);

G_END_DECLS
