/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-tokens.h"

G_BEGIN_DECLS

/* Agents that nobody starts and their controller agree on one secret in a file, and on the place where they meet. */

/*
 * The secret of the standing launch, from a file that its owner alone may read, and who is this process's user or root.
 * DVM_ERROR_BAD_PARAM: it is missing, open to others, or too short; the message names it and never quotes it.
 */
gboolean dvmd_bootstrap_read_secret (const char *path, DvmdToken *secret, GError **error);

/* The setting bootstrap-controller, "node0:7817". address: (transfer full) (out) (optional): as daemons take them. */
gboolean dvmd_bootstrap_parse_place (const char *text, char **address, guint16 *port, GError **error);

G_END_DECLS
