/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The routes say which daemon is whose parent: they are one immutable table for each epoch of the membership, the same
 * on every daemon. Members have places 0 to n - 1 without a hole; the parent of place p is (p - 1) / radix. A rank is
 * for ever, its place is not: the places of those that leave are taken by joiners and then by the last members, so that
 * one batch of departures is one repair, and no other link changes (spec: D9, D12, P18).
 */

typedef struct _DvmdRoutes DvmdRoutes;

#define DVMD_RADIX_DEFAULT 32
#define DVMD_RADIX_MAX     1024
#define DVMD_NO_RANK       G_MAXUINT32
/* (epoch, radix, ranks by place) */
#define DVMD_ROUTES_TYPE "(tuau)"

/* The controller alone, epoch 0. radix: 1 to DVMD_RADIX_MAX. */
DvmdRoutes *dvmd_routes_new (guint radix);
DvmdRoutes *dvmd_routes_ref (DvmdRoutes *self);
void dvmd_routes_unref (DvmdRoutes *self);

/*
 * The table of the next epoch. Ranks that are in already, or are not, are passed over; the controller (0) never
 * leaves. The order of the ranks makes no difference: all daemons come to the same table.
 */
DvmdRoutes *dvmd_routes_change (DvmdRoutes *self, const guint32 *joined, guint n_joined, const guint32 *left,
                                guint n_left);

GVariant *dvmd_routes_to_variant (DvmdRoutes *self);
/* A table that no DVM can have (no controller at place 0, a rank twice) is refused. */
DvmdRoutes *dvmd_routes_new_from_variant (GVariant *variant, GError **error);

guint64 dvmd_routes_get_epoch (DvmdRoutes *self);
guint dvmd_routes_get_radix (DvmdRoutes *self);
guint dvmd_routes_get_n_members (DvmdRoutes *self);
gboolean dvmd_routes_contains (DvmdRoutes *self, guint32 rank);
guint32 dvmd_routes_get_rank (DvmdRoutes *self, guint place);
/* DVMD_NO_RANK: of the controller, and of those that are no members. */
guint32 dvmd_routes_get_parent (DvmdRoutes *self, guint32 rank);
guint dvmd_routes_get_depth (DvmdRoutes *self, guint32 rank);
guint dvmd_routes_get_max_depth (DvmdRoutes *self);
/* Children have neighbouring places: child i of rank, i < n_children. */
guint dvmd_routes_get_n_children (DvmdRoutes *self, guint32 rank);
guint32 dvmd_routes_get_child (DvmdRoutes *self, guint32 rank, guint i);
/* The neighbour of `from` on the way to `to`; DVMD_NO_RANK unless both are members and differ. */
guint32 dvmd_routes_next_hop (DvmdRoutes *self, guint32 from, guint32 to);

/* Pairs of child and parent that are in `next` and were not in self: the links that a repair makes. */
guint dvmd_routes_count_new_links (DvmdRoutes *self, DvmdRoutes *next);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdRoutes, dvmd_routes_unref)

G_END_DECLS
