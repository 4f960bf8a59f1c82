/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A pipe whose other end another program holds: when that has closed it, what we run is to end.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _DvmCliKeepalive DvmCliKeepalive;

/* text: the number of a descriptor, or the path of a named pipe. closed is called once, from the main context. */
DvmCliKeepalive *dvm_cli_keepalive_new (const char *text, void (*closed) (gpointer user_data), gpointer user_data,
                                        GError **error);
void dvm_cli_keepalive_free (DvmCliKeepalive *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliKeepalive, dvm_cli_keepalive_free)

G_END_DECLS
