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
 * Appends; the file is emptied at its first write, missing directories are made. A file that failed is told of once and
 * then left alone: later writes to it return TRUE and do nothing.
 */
gboolean dvmd_output_files_write (DvmdOutputFiles *self, const char *path, GBytes *bytes, GError **error);
void dvmd_output_files_close (DvmdOutputFiles *self, const char *path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdOutputFiles, dvmd_output_files_free)

G_END_DECLS
