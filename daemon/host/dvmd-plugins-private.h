/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The plugins that are part of the program: the table is made by Meson.
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* NULL ends it. */
extern const DvmdPluginInfo *const dvmd_builtin_plugins[];

G_END_DECLS
