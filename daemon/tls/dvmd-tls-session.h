/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-tls.h"

G_BEGIN_DECLS

DvmdTlsSession *dvmd_tls_session_new (DvmdTlsKey *key, int fd, const char *peer, gboolean is_server, GError **error);
void dvmd_tls_session_free (DvmdTlsSession *self);
int dvmd_tls_session_handshake (DvmdTlsSession *self, const guint8 **certificate, gsize *size, GError **error);
void dvmd_tls_session_refuse (DvmdTlsSession *self);
gssize dvmd_tls_session_read (DvmdTlsSession *self, gpointer data, gsize size, GError **error);
gssize dvmd_tls_session_write (DvmdTlsSession *self, gconstpointer data, gsize size, GError **error);
GIOCondition dvmd_tls_session_get_condition (DvmdTlsSession *self);
void dvmd_tls_session_end (DvmdTlsSession *self);

G_END_DECLS
