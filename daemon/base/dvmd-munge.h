/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * munge's library, which is opened when it is needed and need not be there. All functions but the first wait for
 * munged, up to some seconds; any thread may call them. Errors: DVM_ERROR_NOT_SUPPORTED (no library, or no munged
 * answers), DVM_ERROR_TIMEOUT, DVM_ERROR_OUT_OF_RESOURCE.
 */

/* FALSE: there is no library. */
gboolean dvmd_munge_is_there (GError **error);
/* (transfer full): a credential of this process's user, with no data in it */
char *dvmd_munge_encode (GError **error);
/* It says whose the credential is. DVM_ERROR_BAD_PARAM: it is none, has expired, or munged has seen it before. */
gboolean dvmd_munge_decode (const char *credential, guint32 *uid, guint32 *gid, GError **error);

/*
 * (transfer full): a credential of this process's user with data that nobody but a process of the same user can read,
 * whatever cipher munged has for others. socket: that of munged; "": where the library looks for it
 */
char *dvmd_munge_seal (const char *socket, const guint8 *data, gsize size, GError **error);
/* (transfer full): the data, and whose credential it was. DVM_ERROR_BAD_PARAM: as above, or it is for another user. */
GBytes *dvmd_munge_unseal (const char *socket, const char *credential, guint32 *uid, GError **error);

G_END_DECLS
