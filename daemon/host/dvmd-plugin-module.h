/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gmodule.h>

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* A plugin from a file, and what every plugin must be. All refusals are a DVM_ERROR that names the place and the
 * reason. */

/*
 * Opens a file, binding all symbols now and locally, and checks what it says of itself. The caller closes the module,
 * or makes it resident before it calls get_type().
 */
const DvmdPluginInfo *dvmd_plugin_module_open (const char *path, GModule **module, GError **error);

/*
 * Checks the description that a plugin exports: abi and size first, because the rest may lie elsewhere in another
 * version.
 */
gboolean dvmd_plugin_info_check (const DvmdPluginInfo *info, const char *place, GError **error);

/* The type of a plugin that has been checked; G_TYPE_INVALID if it is none that can be instantiated as its kind. */
GType dvmd_plugin_info_get_type (const DvmdPluginInfo *info, const char *place, GError **error);

G_END_DECLS
