/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * The attributes that the DVM heeds, for those who ask the library for them (PMIX_HOST_ATTRIBUTES and
 * PMIX_HOST_FUNCTIONS of PMIX_QUERY_ATTRIBUTE_SUPPORT).
 */

/* Tells the library of all of them, unless it has been told. It must have been started. From its thread. */
void dvmd_pmix_register_supported (void);

/* Adds the attributes of n rows of a table; each row has so many bytes, and begins with a pointer to its attribute. */
void dvmd_pmix_add_keys (GPtrArray *keys, gconstpointer rows, gsize n, gsize size);

/* (transfer full): "pmix.host,pmix.wdir,..." */
char *dvmd_pmix_join_keys (GPtrArray *keys);

G_END_DECLS
