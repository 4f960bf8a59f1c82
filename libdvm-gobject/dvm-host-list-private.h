/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Names in one list, and bytes in one name, at most: more of them is a mistake. */
#define DVM_HOST_LIST_MOST_NAMES 1000000
#define DVM_HOST_LIST_MOST_BYTES 255

/*
 * The names of a list such as "n[001-128,200],rack[1-2]n[1-4]-ib,login1", in its order: numbers are as wide as the
 * first one of their range, brackets are not nested, and a name that comes twice is there twice. place: begins the
 * message of an error, such as the name of a variable (transfer full) (nullable): NULL with DVM_ERROR_BAD_PARAM, which
 * says where; an empty list is one, too
 */
char **_dvm_host_list_expand (const char *text, const char *place, GError **error);

/*
 * Whether ranges stand in text, one word of a list: a bracket that is not that of an address of IPv6, with which a
 * name, or what stands behind "@", begins.
 */
gboolean _dvm_host_list_has_ranges (const char *text);
/* The comma behind the first word of text, or its end: commas in brackets are part of the word. */
const char *_dvm_host_list_find_comma (const char *text);

/*
 * A list that _dvm_host_list_expand() turns into these names again, in this order: numbers at the end of names that
 * follow each other are written as ranges, as a command takes one argument of 128 KiB at most. Names have none of
 * "[],". (transfer full): empty without names
 */
char *_dvm_host_list_compress (const char *const *names, gsize n_names);

G_END_DECLS
