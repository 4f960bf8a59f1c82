/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Mistakes that only the headers of a newer libpmix show.
 */

#include "config.h"

#include "dvmd-pmix-gates.h"

#ifdef HAVE_PMIX_VALUES
#include "src/util/pmix_hash.h"

pmix_status_t (*dvmd_wrong_fetch) (pmix_hash_table_t *table, const char *key) = pmix_hash_fetch;
#endif

#ifdef HAVE_PMIX_SESSION_CONTROL
pmix_status_t (*dvmd_wrong_control) (uint32_t session) = PMIx_Session_control;
#endif
