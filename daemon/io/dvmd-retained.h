/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-stream.h"

G_BEGIN_DECLS

/* The last bytes of a job's output in their order, both streams together. */

typedef struct _DvmdRetained DvmdRetained;

DvmdRetained *dvmd_retained_new (gsize max);
void dvmd_retained_free (DvmdRetained *self);
void dvmd_retained_add (DvmdRetained *self, DvmdStream stream, GBytes *bytes);
/* (transfer full): what was kept of one stream, which is then no longer kept */
GBytes *dvmd_retained_take (DvmdRetained *self, DvmdStream stream);
gsize dvmd_retained_get_size (DvmdRetained *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdRetained, dvmd_retained_free)

G_END_DECLS
