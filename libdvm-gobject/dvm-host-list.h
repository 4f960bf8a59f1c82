/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lists of hosts in which ranges of numbers stand in brackets, as Slurm and other schedulers write them.
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include <glib.h>

G_BEGIN_DECLS

/**
 * DVM_HOST_LIST_MOST_NAMES:
 *
 * How many names one list has at most: more of them is a mistake.
 *
 * Since: 0.1
 */
#define DVM_HOST_LIST_MOST_NAMES 1000000

/**
 * DVM_HOST_LIST_MOST_BYTES:
 *
 * How many bytes one name has at most.
 *
 * Since: 0.1
 */
#define DVM_HOST_LIST_MOST_BYTES 255

char **dvm_host_list_expand (const char *list, const char *place, GError **error);
char *dvm_host_list_compress (const char *const *names, gssize n_names);

G_END_DECLS
