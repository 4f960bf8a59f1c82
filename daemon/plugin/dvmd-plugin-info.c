/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kinds of plugins have names.
 */

#include "config.h"

#include "dvmd-plugin-info.h"

const char *
dvmd_plugin_kind_to_string (DvmdPluginKind kind)
{
  switch (kind)
    {
    case DVMD_PLUGIN_LAUNCHER:
      return "launcher";
    case DVMD_PLUGIN_ALLOCATOR:
      return "allocator";
    case DVMD_PLUGIN_MAPPER:
      return "mapper";
    default:
      return NULL;
    }
}
