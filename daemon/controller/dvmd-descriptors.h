/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * Whether this process may have so many descriptors more, with some to spare. What begins without them fails in the
 * middle, and late: those that have come keep what the others would need. FALSE: the error says what the limit is.
 */
gboolean dvmd_descriptors_check (guint64 n, const char *what, GError **error);

G_END_DECLS
