/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The data of a fence between an agent and one of its PMIx servers.
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* (bytes, name of a file): one of both is empty */
#define DVMD_PMIX_BULK_TYPE "(ays)"

/*
 * (transfer floating): what a message says of bytes (nullable). Many are put into a file of dir, which only the owner
 * of the DVM may enter and both processes know; when that cannot be done they are in the message.
 */
GVariant *dvmd_pmix_bulk_new (const char *dir, GBytes *bytes);
/* Also removes the file. NULL: it cannot be read, or is none. */
GBytes *dvmd_pmix_bulk_read (const char *dir, GVariant *bulk, GError **error);

G_END_DECLS
