/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Secrets are drawn, proved and compared in constant time.
 */

#include "config.h"

#include "dvmd-secret.h"

#include <errno.h>
#include <sys/random.h>

void
dvmd_secret_draw (gpointer data, gsize size)
{
  gssize n;

  g_return_if_fail (size <= 256);

  /* So few are given as a whole. */
  do
    n = getrandom (data, size, 0);
  while (n < 0 && errno == EINTR);
  if (n != (gssize)size)
    g_error ("The kernel has no random numbers: %s", g_strerror (errno));
}

void
dvmd_secret_hmac (const guint8 *key, gsize key_size, const guint8 *text, gsize size, guint8 hmac[DVMD_SECRET_HMAC_SIZE])
{
  GHmac *state = g_hmac_new (G_CHECKSUM_SHA256, key, key_size);
  gsize length = DVMD_SECRET_HMAC_SIZE;

  g_hmac_update (state, text, (gssize)size);
  g_hmac_get_digest (state, hmac, &length);
  g_hmac_unref (state);
}

gboolean
dvmd_secret_equal (const guint8 *one, const guint8 *other, gsize size)
{
  volatile guint8 different = 0;

  for (gsize i = 0; i < size; i++)
    different |= one[i] ^ other[i];
  return different == 0;
}
