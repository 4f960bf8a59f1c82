/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <sys/types.h>

#include <glib.h>

G_BEGIN_DECLS

/*
 * The kernel tells what a process and its node use, in a folder like DVMD_PROC. Entries {sv} are added to fields for
 * what can be read; what cannot be is left out.
 */

/*
 * FALSE: there is no such process. pid i, command s, state s, cpu-time x (µs), percent-cpu d (of its life), priority i
 * (more is higher), threads u, processor u; in bytes t: peak-vsize, vsize, rss, pss; time x (s, of the sample)
 */
gboolean dvmd_usage_add_process (GVariantBuilder *fields, const char *proc, pid_t pid);

/*
 * load-1, load-5, load-15 d; in bytes t: mem-total, mem-free, buffers, cached, mapped, swap-cached, swap-total,
 * swap-free; disks aa{sv}: name s, counters t; networks, likewise; time x (s, of the sample)
 */
void dvmd_usage_add_node (GVariantBuilder *fields, const char *proc);

G_END_DECLS
