/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _DvmdMemory DvmdMemory;

/* proc: a folder like DVMD_PROC */
DvmdMemory *dvmd_memory_new (const char *proc);
void dvmd_memory_free (DvmdMemory *self);

/* Bytes of memory that processes of this one may have together, as it is now: the smallest of what the machine has, of
 * the limits of its cgroup and of those around it, and of allotted, 0 for none. 0: nothing is known */
guint64 dvmd_memory_find_limit (DvmdMemory *self, guint64 allotted);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdMemory, dvmd_memory_free)

G_END_DECLS
