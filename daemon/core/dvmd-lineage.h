/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * Who spawned whom, by namespace. A job's outlives the job as long as something that descends from it lives, so that a
 * family can be walked from its last child up to an owner that was forgotten long ago.
 */
typedef struct _DvmdLineage DvmdLineage;

/* sessions (element-type guint) (nullable): that it was spawned into; parent (nullable): of who spawned it */
DvmdLineage *dvmd_lineage_new (const char *nspace, GArray *sessions, DvmdLineage *parent);
DvmdLineage *dvmd_lineage_ref (DvmdLineage *self);
void dvmd_lineage_unref (DvmdLineage *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdLineage, dvmd_lineage_unref)

/* At any depth; nobody descends from itself. */
gboolean dvmd_lineage_descends_from (DvmdLineage *self, const char *nspace);
/* It, or one that it descends from, was spawned into that session. */
gboolean dvmd_lineage_has_session (DvmdLineage *self, guint session);

G_END_DECLS
