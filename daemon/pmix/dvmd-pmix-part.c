/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The entry of the part pmix, which alone is linked with libpmix.
 */

#include "config.h"

#include <gmodule.h>

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-open.h"
#include "dvmd-pmix-server.h"

G_MODULE_EXPORT extern const DvmdPmixPart dvmd_pmix_part;

static DvmdPmix *
server_new (void)
{
  return DVMD_PMIX (dvmd_pmix_server_new ());
}

const DvmdPmixPart dvmd_pmix_part = {
  .info = { sizeof (DvmdPmixPart), DVM_VERSION_STRING },
  .server_new = server_new,
  .get_version = PMIx_Get_version,
};
