/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/*
 * A requester is what its connection proves: an application is a namespace that is a job of this DVM, "scheduler:NAME"
 * is the scheduler, and everybody else is a tool.
 */

/* (transfer full): "bus.UID" for callers on a bus and on the private socket, "" for NULL */
char *dvmd_requester_dup_nspace (const DvmdRequester *self);
gboolean dvmd_requester_is_scheduler (const DvmdRequester *self);
/* NSPACE@N. id (out) (optional) */
gboolean dvmd_core_has_job_form (DvmdCore *self, const char *nspace, guint64 *id);
/* There is, or was, such a job; it may have been forgotten. */
gboolean dvmd_core_is_job_nspace (DvmdCore *self, const char *nspace);
/* The requester's namespace is, or was, that of a job of this DVM. */
gboolean dvmd_core_is_application (DvmdCore *self, const DvmdRequester *who);
/* (nullable): the job whose process the requester is, live or in the history */
DvmdJob *dvmd_core_find_requesting_job (DvmdCore *self, const DvmdRequester *who);

G_END_DECLS
