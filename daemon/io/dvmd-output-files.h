/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * Many files that are written piece by piece, of which only some are open at a time: a job may have more streams than
 * the process may have descriptors.
 */

typedef struct _DvmdOutputFiles DvmdOutputFiles;

DvmdOutputFiles *dvmd_output_files_new (void);
void dvmd_output_files_free (DvmdOutputFiles *self);

/*
 * Makes the file, or empties it, and the directories that are missing; once for each file. One that was not there, and
 * that nothing was written to, is removed when it is closed.
 */
gboolean dvmd_output_files_open (DvmdOutputFiles *self, const char *path, GError **error);
/*
 * Appends, and returns how many bytes are in the file now. A file that failed, or that was removed meanwhile, is told
 * of once, by the error, and then left alone: later writes to it return 0.
 */
gsize dvmd_output_files_write (DvmdOutputFiles *self, const char *path, GBytes *bytes, GError **error);
/* FALSE: what was written is lost, and that was not told before. */
gboolean dvmd_output_files_close (DvmdOutputFiles *self, const char *path, GError **error);
/* Closes all; the error is that of the first that failed. */
gboolean dvmd_output_files_close_all (DvmdOutputFiles *self, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdOutputFiles, dvmd_output_files_free)

G_END_DECLS
