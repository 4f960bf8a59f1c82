/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * A set of ids (ranks, numbers of jobs) as people and the bus write it: "0-99,200". Kept as sorted ranges, so that
 * "0-4294967295" costs as much as "7".
 */

typedef struct _DvmdIdSet DvmdIdSet;

typedef struct
{
  guint first;
  guint last;
} DvmdIdRange;

DvmdIdSet *dvmd_id_set_new (void);
DvmdIdSet *dvmd_id_set_new_all (void);
/* ranges (element-type DvmdIdRange): in any order, sorted here, so that no order costs quadratic time */
DvmdIdSet *dvmd_id_set_new_from_ranges (GArray *ranges);
/*
 * "" is every id, as on the bus. what names the text in messages ("ranks"). DVM_ERROR_PARSE_FAILED says at which
 * character what is wrong.
 */
DvmdIdSet *dvmd_id_set_parse (const char *text, const char *what, GError **error);
/* (transfer full): "" for an empty set, as in the `rest` of a list on the bus */
char *dvmd_id_set_format (DvmdIdSet *self);
void dvmd_id_set_free (DvmdIdSet *self);

void dvmd_id_set_add (DvmdIdSet *self, guint id);
void dvmd_id_set_add_range (DvmdIdSet *self, guint first, guint last);
/* Adds the ids of other from first to last. */
void dvmd_id_set_add_part (DvmdIdSet *self, DvmdIdSet *other, guint first, guint last);
gboolean dvmd_id_set_contains (DvmdIdSet *self, guint id);
gboolean dvmd_id_set_is_empty (DvmdIdSet *self);
guint64 dvmd_id_set_count (DvmdIdSet *self);
/*
 * The smallest id of the set that is >= from; FALSE when there is none.
 *   for (guint id = 0; dvmd_id_set_next (set, id, &id) && id < n; id++) ...
 */
gboolean dvmd_id_set_next (DvmdIdSet *self, guint from, guint *id);
/* The id with which the last range of the set begins; FALSE when it is empty. */
gboolean dvmd_id_set_last_start (DvmdIdSet *self, guint *id);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdIdSet, dvmd_id_set_free)

G_END_DECLS
