/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * A lineage says which namespaces a namespace descends from. That of a job outlives the job as long as something that
 * descends from it lives: a family can be walked from its last child up to an owner that was forgotten long ago.
 */
typedef struct _DvmdLineage DvmdLineage;

/* sessions (element-type guint) (nullable): that nspace was spawned into; parent (nullable): of its spawner */
DvmdLineage *dvmd_lineage_new (const char *nspace, GArray *sessions, DvmdLineage *parent);
DvmdLineage *dvmd_lineage_ref (DvmdLineage *self);
void dvmd_lineage_unref (DvmdLineage *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdLineage, dvmd_lineage_unref)

/* Descent of any depth counts; no namespace descends from itself. */
gboolean dvmd_lineage_descends_from (DvmdLineage *self, const char *nspace);
/* The namespace, or one that it descends from, was spawned into that session. */
gboolean dvmd_lineage_has_session (DvmdLineage *self, guint session);

G_END_DECLS
