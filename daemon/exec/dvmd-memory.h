/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Bytes of memory that processes of this one may have together: the smallest of what the machine has, of the limits of
 * its cgroup and of those around it, and of allotted, 0 for none. proc: a folder like DVMD_PROC. 0: nothing is known */
guint64 dvmd_memory_find_limit (const char *proc, guint64 allotted);

G_END_DECLS
