/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"

G_BEGIN_DECLS

/* The DVM's own job as the rest of the core sees it. */

/* core: whose job it is, in the namespace of the DVM */
DvmdVm *dvmd_vm_new (DvmdCore *core, const char *nspace);
void dvmd_vm_free (DvmdVm *self);
/* Posts to the DVM's own job. */
void dvmd_core_post_vm (DvmdCore *self, guint event, DvmJobState given, const char *reason);
/* Nodes have changed their states or sessions: jobs that wait are looked at. */
void dvmd_core_look_again (DvmdCore *self);
/* The agents have been told to end, and this may have been the last one. */
void dvmd_core_check_all_gone (DvmdCore *self);
/* The DVM takes jobs. */
gboolean dvmd_vm_check_open (DvmdCore *core, GError **error);
/* An agent of the start has reported, or has not come and is DOWN. */
void dvmd_start_reported (DvmdCore *self);
void dvmd_start_missed (DvmdCore *self, gboolean had_reported);
/* It is ready, or has been. */
gboolean dvmd_core_was_ready (DvmdCore *self);

G_END_DECLS
