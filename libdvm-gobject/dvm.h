/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#define DVM_INSIDE

#include "dvm-campaign.h"
#include "dvm-client.h"
#include "dvm-enum-types.h"
#include "dvm-enums.h"
#include "dvm-error.h"
#include "dvm-host-list.h"
#include "dvm-job-spec.h"
#include "dvm-job-streams.h"
#include "dvm-job.h"
#include "dvm-node.h"
#include "dvm-proc.h"
#include "dvm-session.h"
#include "dvm-version.h"

#undef DVM_INSIDE
