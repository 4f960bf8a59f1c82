/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix.h"

G_BEGIN_DECLS

#define DVMD_TYPE_PMIX_SERVER (dvmd_pmix_server_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPmixServer, dvmd_pmix_server, DVMD, PMIX_SERVER, GObject)

/* The server that libpmix provides. A second start() in one process is refused: the library cannot be started again. */
DvmdPmixServer *dvmd_pmix_server_new (void);
/* The library names itself: "OpenPMIx 4.2.2 (PMIx Standard: ...)" */
const char *dvmd_pmix_server_get_library (void);

G_END_DECLS
