/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <sys/types.h>

#include <glib.h>

G_BEGIN_DECLS

/*
 * Collects the exit status of watched children. One that adopts orphans is a subreaper: what a job's processes leave
 * behind becomes our child, and is reaped when it ends. Then all ends come through one signalfd, else through a pidfd
 * for each watched process.
 *
 * A reaper that adopts orphans takes the status of every child of the process that nobody told it of: other code of the
 * daemon starts its children through DvmdSpawner and watches them here.
 */

typedef struct _DvmdReaper DvmdReaper;

/* status is that of waitpid: WIFEXITED(), WTERMSIG() and so on. May call every function of the reaper. */
typedef void (*DvmdReaperFunc) (pid_t pid, int status, gpointer user_data);

/* To be called first thing in main() of a daemon that adopts orphans, before there is any thread. */
void dvmd_reaper_block_sigchld (void);

/* adopt_orphans: see above; an error if dvmd_reaper_block_sigchld() was not called or the kernel refuses. */
DvmdReaper *dvmd_reaper_new (GMainContext *context, gboolean adopt_orphans, GError **error);
void dvmd_reaper_free (DvmdReaper *self);
gboolean dvmd_reaper_adopts_orphans (DvmdReaper *self);

/*
 * Watches a child, which must not have been waited for; to be called in the same turn of the main loop as its start.
 * func runs from the main context, once. pidfd (-1: none is given, one is opened where it is needed) is taken over.
 */
void dvmd_reaper_watch (DvmdReaper *self, pid_t pid, int pidfd, DvmdReaperFunc func, gpointer user_data);
/* Gives up the callback; the process is still reaped when it ends. */
void dvmd_reaper_unwatch (DvmdReaper *self, pid_t pid);
gboolean dvmd_reaper_is_watched (DvmdReaper *self, pid_t pid);
guint dvmd_reaper_get_n_watched (DvmdReaper *self);
/* One of the children in a process group, if one has ended. FALSE: there are none. */
gboolean dvmd_reaper_reap_group (DvmdReaper *self, pid_t group);

/*
 * The children of this process that nobody watches: adopted orphans, dead ones that were not yet reaped excepted.
 * Costs one read of a file of /proc. Elements are pid_t.
 */
GArray *dvmd_reaper_list_orphans (DvmdReaper *self);

/* Called after children have been reaped, watched or not: what they leave behind has been adopted by then. */
typedef void (*DvmdReaperAdopted) (gpointer user_data);
void dvmd_reaper_set_adopted (DvmdReaper *self, DvmdReaperAdopted func, gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdReaper, dvmd_reaper_free)

G_END_DECLS
