/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-unpack.h"

G_BEGIN_DECLS

GInputStream *dvmd_unpack_stream_open (int fd, GError **error);
gboolean dvmd_unpack_stream_next (GInputStream *stream, const char *folder, DvmdUnpackEntry *entry, GError **error);

G_END_DECLS
