/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <pmix.h>

/*
 * session NUMBER WORD[=VALUE][+WORD...]: PMIx_Session_control, with what comes back; "missing" where the library has no
 * such call. How many of the arguments were for it, -1: none.
 */
int pmix_session_command (const pmix_proc_t *proc, char **argv);
