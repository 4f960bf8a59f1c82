/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The log that standard error is: each line begins with its time, and a log that has become large is renamed. */
typedef struct _DvmdLogFile DvmdLogFile;

DvmdLogFile *dvmd_log_file_new (const char *path);
void dvmd_log_file_free (DvmdLogFile *self);

/* size: bytes after which PATH becomes PATH.1, that PATH.2 and so on up to PATH.n_old; 0 (so at first): never */
void dvmd_log_file_set_limits (DvmdLogFile *self, guint64 size, guint n_old);

/* From any thread. line: without its newline */
void dvmd_log_file_write (DvmdLogFile *self, const char *line);
/* Lines that could not be written; the log tells it when there is room again. */
guint64 dvmd_log_file_get_n_lost (DvmdLogFile *self);

G_END_DECLS
