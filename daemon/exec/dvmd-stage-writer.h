/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * Writes files below one directory, piece by piece, for a thread: it blocks as the file system does. A file is there
 * under its name when it is whole, or not at all. No symbolic link is followed, also none that was written before,
 * nothing gets out of the directory, and a file that is there already stays: with the same content it is taken for the
 * one that came.
 */

typedef struct _DvmdStageWriter DvmdStageWriter;

/* The directory comes into being with the first file. */
DvmdStageWriter *dvmd_stage_writer_new (const char *directory);
void dvmd_stage_writer_free (DvmdStageWriter *self);

gboolean dvmd_stage_writer_create (DvmdStageWriter *self, GError **error);
/*
 * target: relative, without “.” and “..”; mode: permissions, and S_IFDIR for a directory, which has no content, or
 * S_IFLNK for a symbolic link, whose content is where it leads to; size: of all that will be written
 */
gboolean dvmd_stage_writer_begin (DvmdStageWriter *self, const char *target, guint mode, guint64 size, GError **error);
gboolean dvmd_stage_writer_write (DvmdStageWriter *self, const void *data, gsize length, GError **error);
/* Whether every file that was begun is there. */
gboolean dvmd_stage_writer_finish (DvmdStageWriter *self, GError **error);
/* The file that is being written is given up. */
void dvmd_stage_writer_abandon (DvmdStageWriter *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdStageWriter, dvmd_stage_writer_free)

G_END_DECLS
