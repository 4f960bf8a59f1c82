/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"

G_BEGIN_DECLS

/*
 * Jobs wait for other jobs, as they say themselves: after their start or their end, or (singleton) for those of their
 * name that came before. A job can only name jobs that there are, so none waits for itself, or in a circle.
 */
DvmdDependencies *dvmd_dependencies_new (void);
void dvmd_dependencies_free (DvmdDependencies *self);

/* FALSE: error names a job that is not known. */
gboolean dvmd_dependencies_check (DvmdCore *core, DvmJobSpec *spec, GError **error);
/* The job has come: it is held while it depends on others, or is to be released by a user. Those are checked. */
void dvmd_dependencies_begin (DvmdJob *job);
/* The job has started, or has ended: others may have waited for that. */
void dvmd_dependencies_started (DvmdJob *job);
void dvmd_dependencies_ended (DvmdJob *job);
/* A job of that description will not come. */
void dvmd_dependencies_lost (DvmdCore *core, DvmJobSpec *spec);

G_END_DECLS
