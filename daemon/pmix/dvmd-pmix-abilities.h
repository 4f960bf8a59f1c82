/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * (transfer full) a{sv}: "built-with" s: the release whose headers this was built with; "runs-with" s: what the library
 * that is loaded says of itself, or "problem" s: why there is none; "abilities" a{sv}: b for each of dvmd-pmix-gates.h.
 */
GVariant *dvmd_pmix_describe_library (void);

G_END_DECLS
