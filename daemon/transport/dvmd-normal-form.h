/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * The same as g_variant_is_normal_form(), which looks at each byte of a byte array as if it could be wrong: output,
 * files and what ranks tell each other cost more to check than to carry.
 */
gboolean dvmd_variant_is_normal (GVariant *value);

G_END_DECLS
