/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-routes.h"

G_BEGIN_DECLS

/*
 * Which ranks were ordered to leave, and which are spoken to no more. Every daemon is told of all of them: a batch is
 * kept as it came, in order, so that many that leave together cost no daemon a table of its own.
 */

typedef struct _DvmdLeavers DvmdLeavers;

/* (transfer floating) "au": rising, each once, which spares every daemon the sorting. */
GVariant *dvmd_leavers_describe (const guint32 *ranks, gsize n);

/* rank: of this daemon. */
DvmdLeavers *dvmd_leavers_new (guint32 rank);
void dvmd_leavers_free (DvmdLeavers *self);

/* Ordered to leave in that epoch. routes: where they stay until they have gone; NULL: that is not known. */
void dvmd_leavers_order (DvmdLeavers *self, GVariant *ranks, guint64 epoch, DvmdRoutes *routes);
/* They have gone. */
void dvmd_leavers_bury (DvmdLeavers *self, GVariant *ranks, guint64 epoch);
/* Batches of long ago are forgotten: no packet takes so long. */
void dvmd_leavers_forget (DvmdLeavers *self, guint64 epoch);

/* epoch (nullable): of the order. */
gboolean dvmd_leavers_contains (DvmdLeavers *self, guint32 rank, guint64 *epoch);
gboolean dvmd_leavers_has_departed (DvmdLeavers *self, guint32 rank);
/* The neighbour behind which the leaver stays; DVMD_NO_RANK: none is known. */
guint32 dvmd_leavers_get_hop (DvmdLeavers *self, guint32 rank);
/* The link to this neighbour is gone: nobody is known to be behind it. */
void dvmd_leavers_forget_hop (DvmdLeavers *self, guint32 neighbour);
/* (transfer floating) "au": those that were ordered and are not known to have gone. */
GVariant *dvmd_leavers_to_variant (DvmdLeavers *self);

G_END_DECLS
