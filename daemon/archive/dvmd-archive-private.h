/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <sqlite3.h>

#include "dvmd-archive.h"

G_BEGIN_DECLS

/* Archives of another layout have another number, and are refused. */
#define DVMD_ARCHIVE_LAYOUT 1

DvmdArchiveBook *dvmd_archive_book_new (const DvmdArchiveSettings *settings, GError **error);
void dvmd_archive_book_add (DvmdArchiveBook *self, DvmdArchiveKind kind, guint id, GVariant *record);
void dvmd_archive_book_free (DvmdArchiveBook *self);

GVariant *dvmd_archive_search (const char *path, GVariant *filter, GError **error);

/* The layout of a database; 0: it has none yet, -1 with an error: it cannot be read */
int dvmd_archive_get_layout (sqlite3 *db, const char *path, GError **error);
/* Sets DVM_ERROR_FAILED with what SQLite says. Returns FALSE */
gboolean dvmd_archive_set_error (sqlite3 *db, const char *path, GError **error);

G_END_DECLS
