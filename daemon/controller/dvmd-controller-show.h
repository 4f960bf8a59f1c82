/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"

G_BEGIN_DECLS

/* Whether the map of a job can be shown to those who read its output. DVM_ERROR_NOT_SUPPORTED */
gboolean dvmd_controller_can_show (DvmdController *self, GError **error);

G_END_DECLS
