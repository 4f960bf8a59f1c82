/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-config.h"
#include "dvmd-munge-key.h"

G_BEGIN_DECLS

/* Agents that nobody starts and their controller agree on one secret in a file, and on the place where they meet. */

/*
 * The secret of the standing launch, from a file that its owner alone may read, and who is this process's user or root.
 * DVM_ERROR_BAD_PARAM: it is missing, open to others, or too short; the message names it and never quotes it.
 */
gboolean dvmd_bootstrap_read_secret (const char *path, DvmdToken *secret, GError **error);

/*
 * The settings say how agents that nobody starts prove who they are, and both ends ask here. munge: (transfer full)
 * (out) (nullable): by munge; else secret is that of the file. DVM_ERROR_BAD_PARAM: the file does not do, or there is
 * no library of munge.
 */
gboolean dvmd_bootstrap_choose_means (DvmdConfig *config, DvmdToken *secret, DvmdMungeKeys **munge, GError **error);

/* The setting bootstrap-controller, "node0:7817". address: (transfer full) (out) (optional): as daemons take them. */
gboolean dvmd_bootstrap_parse_place (const char *text, char **address, guint16 *port, GError **error);

G_END_DECLS
