/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * Where a scheduler names nodes: in a file, each line of which begins with the name of one, or in a variable.
 */

/* words: those of a line, the first of which may be the name of a host; place: begins the message of an error. */
typedef gboolean (*DvmdNodeLineFunc) (gpointer data, const char *const *words, const char *place, GError **error);

/*
 * Calls func for each line that is not blank of the file that a variable names. least, most: how many words a line
 * has; form: how it is written, for messages. FALSE: what func has answered, or DVM_ERROR_BAD_PARAM, which names
 * variable, file and line
 */
gboolean dvmd_node_file_read (const char *path, const char *variable, guint least, guint most, const char *form,
                              DvmdNodeLineFunc func, gpointer data, GError **error);

/* (transfer full): what messages call that file, also one whose path is no UTF-8; path: (nullable) */
char *dvmd_node_file_name_place (const char *variable, const char *path);

/* Says DVM_ERROR_BAD_PARAM with the start of the text and the reason, which follows it. Always FALSE */
gboolean dvmd_node_refuse_text (const char *text, const char *place, const char *reason, GError **error);

/* The words of a variable. (transfer full) */
char **dvmd_node_words (const char *value);

/* FALSE: DVM_ERROR_BAD_PARAM; the name of a host has letters, digits, '.', '-' and '_' alone. */
gboolean dvmd_node_check_name (const char *name, const char *place, GError **error);

G_END_DECLS
