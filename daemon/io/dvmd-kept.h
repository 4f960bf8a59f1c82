/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-stream.h"

G_BEGIN_DECLS

/* The last bytes of a job's output in their order, both streams together. */

typedef struct _DvmdKept DvmdKept;

DvmdKept *dvmd_kept_new (gsize max);
void dvmd_kept_free (DvmdKept *self);
void dvmd_kept_add (DvmdKept *self, DvmdStream stream, GBytes *bytes);
/* (transfer full): what was kept of one stream, which is then no longer kept */
GBytes *dvmd_kept_take (DvmdKept *self, DvmdStream stream);
gsize dvmd_kept_get_size (DvmdKept *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdKept, dvmd_kept_free)

G_END_DECLS
