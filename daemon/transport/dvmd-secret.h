/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Secrets are drawn, proved and compared here; a comparison does not show in its time where they differ. */

#define DVMD_SECRET_HMAC_SIZE 32

/* Random numbers of the kernel, fit for keys; up to 256 bytes. */
void dvmd_secret_draw (gpointer data, gsize size);
/* HMAC-SHA256. */
void dvmd_secret_hmac (const guint8 *key, gsize key_size, const guint8 *text, gsize size,
                       guint8 hmac[DVMD_SECRET_HMAC_SIZE]);
/* Takes as long whether they are equal or where they differ. */
gboolean dvmd_secret_equal (const guint8 *one, const guint8 *other, gsize size);

G_END_DECLS
