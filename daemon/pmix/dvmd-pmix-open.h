/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-part.h"
#include "dvmd-pmix.h"

G_BEGIN_DECLS

/*
 * The real server is the part "pmix", which alone knows libpmix: an agent is ready, and runs plain jobs, without it. It
 * is opened when the server is to be started.
 */

/* The functions that the part exports, as dvmd_pmix_part. */
typedef struct
{
  DvmdPartInfo info;
  DvmdPmix *(*server_new) (void);
  const char *(*get_version) (void); /* of the library */
} DvmdPmixPart;

/* A server that is not started, see dvmd_pmix_server_new(). NULL with an error: the part is missing, or cannot be
 * opened. */
DvmdPmix *dvmd_pmix_open (GError **error);
/* The version that the library at hand says it has; errors as there. The library is loaded, and stays. */
const char *dvmd_pmix_get_library_version (GError **error);

G_END_DECLS
