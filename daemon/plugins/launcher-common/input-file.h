/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * The standard input of a process elsewhere, in a file that nobody but its user can read: for commands that hand none
 * on. The other machine sees the directory, too. The process that reads the file puts DVMD_COMMAND_ARRIVED and its pid
 * in the place of the text.
 */
typedef struct _DvmdInputFile DvmdInputFile;

/* The path may have more than one directory that is not there yet. NULL: DVM_ERROR_LAUNCH_FAILED; place: where the
 * directory was named, for the message */
DvmdInputFile *dvmd_input_file_new (const char *directory, const char *place, GBytes *input, GError **error);

const char *dvmd_input_file_get_path (DvmdInputFile *self);

/* The pid that has come; 0: none yet. */
int dvmd_input_file_find_pid (DvmdInputFile *self);

/* Removes the file. */
void dvmd_input_file_free (DvmdInputFile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdInputFile, dvmd_input_file_free)

G_END_DECLS
