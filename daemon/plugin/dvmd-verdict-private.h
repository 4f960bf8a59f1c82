/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin-base.h"

G_BEGIN_DECLS

/* The answer of a GTask becomes a verdict. Takes local. */
static inline DvmdPluginVerdict
dvmd_verdict_take (gboolean done, GError *local, GError **error)
{
  if (local == NULL)
    return done ? DVMD_PLUGIN_DONE : DVMD_PLUGIN_DECLINED;
  g_propagate_error (error, local);
  return DVMD_PLUGIN_FAILED;
}

G_END_DECLS
