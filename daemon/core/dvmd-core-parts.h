/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The core as its own files see it: each part is of one file, which alone knows what is in it.
 */

#pragma once

#include "dvmd-admission.h"
#include "dvmd-core.h"
#include "dvmd-launch-fence.h"

G_BEGIN_DECLS

typedef struct _DvmdGates DvmdGates;                       /* dvmd-gates.h */
typedef struct _DvmdJobRegistry DvmdJobRegistry;           /* dvmd-job-registry.h */
typedef struct _DvmdCampaignRegistry DvmdCampaignRegistry; /* dvmd-campaign-registry.h */
typedef struct _DvmdSessionRegistry DvmdSessionRegistry;   /* dvmd-session-registry.h */
typedef struct _DvmdSessionOwners DvmdSessionOwners;       /* dvmd-session-owners.h */
typedef struct _DvmdArrays DvmdArrays;                     /* dvmd-arrays.h */
typedef struct _DvmdDependencies DvmdDependencies;         /* dvmd-dependencies.h */
typedef struct _DvmdVm DvmdVm;                             /* dvmd-vm.h */
typedef struct _DvmdMembership DvmdMembership;             /* dvmd-membership.h */
typedef struct _DvmdStrangerLog DvmdStrangerLog;           /* dvmd-rights.h */

const DvmdCoreSettings *dvmd_core_get_settings (DvmdCore *self);
DvmdClock *dvmd_core_get_clock (DvmdCore *self);
DvmdEventQueue *dvmd_core_get_queue (DvmdCore *self);
/* Its commands to the controller, and the argument of each. */
const DvmdEffects *dvmd_core_get_effects (DvmdCore *self);
gpointer dvmd_core_get_user_data (DvmdCore *self);
DvmdCoreStatistics *dvmd_core_get_counters (DvmdCore *self);

DvmdAdmission *dvmd_core_get_admission (DvmdCore *self);
DvmdLaunchFence *dvmd_core_get_fence (DvmdCore *self);
DvmdGates *dvmd_core_get_gates (DvmdCore *self);
DvmdJobRegistry *dvmd_core_get_job_registry (DvmdCore *self);
DvmdCampaignRegistry *dvmd_core_get_campaign_registry (DvmdCore *self);
DvmdSessionRegistry *dvmd_core_get_session_registry (DvmdCore *self);
DvmdSessionOwners *dvmd_core_get_owners (DvmdCore *self);
DvmdArrays *dvmd_core_get_arrays (DvmdCore *self);
DvmdDependencies *dvmd_core_get_dependencies (DvmdCore *self);
DvmdVm *dvmd_core_get_vm (DvmdCore *self);
DvmdMembership *dvmd_core_get_membership (DvmdCore *self);
DvmdStrangerLog *dvmd_core_get_strangers (DvmdCore *self);

G_END_DECLS
