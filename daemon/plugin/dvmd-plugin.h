/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

/* Everything that a plugin includes. docs/plugins.md is the guide. */

#include <dvm.h>

#include "dvmd-allocator.h"
#include "dvmd-launcher.h"
#include "dvmd-map-room.h"
#include "dvmd-map-topology.h"
#include "dvmd-mapper.h"
#include "dvmd-plugin-base.h"
#include "dvmd-plugin-host.h"
#include "dvmd-plugin-info.h"
