/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* A larger file is no list of nodes. */
#define DVMD_ENVIRONMENT_MOST_BYTES (16 * 1024 * 1024)

/* (nullable): the value of a variable that is there and not empty */
const char *dvmd_environment_get (const char *const *environ, const char *name);

/* (nullable): the first of these variables, in a list that ends in NULL, that is there and not empty; name (out)
 * (nullable) (optional): which one it is */
const char *dvmd_environment_find (const char *const *environ, const char *const *names, const char **name);

/* A whole number, in decimal digits alone. place: where it stands, such as the name of a variable. FALSE:
 * DVM_ERROR_BAD_PARAM, which begins with that. */
gboolean dvmd_environment_parse_number (const char *text, const char *place, guint32 least, guint32 most,
                                        guint32 *number, GError **error);

/* The number that a variable has. FALSE: as above; it is left as it is where the variable is missing or empty. */
gboolean dvmd_environment_read_number (const char *const *environ, const char *name, guint32 least, guint32 most,
                                       guint32 *number, GError **error);

/* The text of the file that a variable names: a regular one, of UTF-8, with at most DVMD_ENVIRONMENT_MOST_BYTES.
 * (transfer full) (nullable): NULL with DVM_ERROR_BAD_PARAM, which names variable and file */
char *dvmd_environment_read_file (const char *path, const char *name, GError **error);

G_END_DECLS
