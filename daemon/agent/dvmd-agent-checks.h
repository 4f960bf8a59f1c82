/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-config.h"

G_BEGIN_DECLS

/*
 * Whether this machine has what an agent needs. Each check is tried on the real thing, as the agent does it, and
 * changes nothing but what it removes again.
 */

/*
 * One line for each check: NODE, check, verdict ("ok", "note": works less well, "bad": does not work), what was found,
 * how to mend it (may be empty), with tabs between. The text of "clock" is the time in µs. fix: mends what is safe to
 * mend without asking. config: what was said on the command line; the files of this machine are read, too. (transfer
 * full)
 */
char *dvmd_agent_checks_run (const char *node, gboolean fix, DvmdConfig *config);

G_END_DECLS
