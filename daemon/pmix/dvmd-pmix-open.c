/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The real PMIx server is opened as a part when it is to be started.
 */

#include "config.h"

#include "dvmd-pmix-open.h"

DvmdPmix *
dvmd_pmix_open (GError **error)
{
  const DvmdPmixPart *part = dvmd_part_open ("pmix", "dvmd_pmix_part", sizeof (DvmdPmixPart), error);

  return part != NULL ? part->server_new () : NULL;
}
