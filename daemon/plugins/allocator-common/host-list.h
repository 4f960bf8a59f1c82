/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* Names in one list, and bytes in one name, at most: more of them is a mistake. */
#define DVMD_HOST_LIST_MOST_NAMES 1000000
#define DVMD_HOST_LIST_MOST_BYTES 255

/*
 * The names of a list such as "n[001-128,200],rack[1-2]n[1-4]-ib,login1", in its order: numbers are as wide as the
 * first one of their range, brackets are not nested, and a name that comes twice is there twice. place: begins the
 * message of an error, such as the name of a variable (transfer full) (nullable): NULL with DVM_ERROR_BAD_PARAM, which
 * says where; an empty list is one, too
 */
char **dvmd_host_list_expand (const char *text, const char *place, GError **error);

/*
 * A list that dvmd_host_list_expand() turns into these names again, in this order: numbers at the end of names that
 * follow each other are written as ranges, as a command takes one argument of 128 KiB at most. Names have none of
 * "[],". (transfer full): empty without names
 */
char *dvmd_host_list_compress (const char *const *names, gsize n_names);

G_END_DECLS
