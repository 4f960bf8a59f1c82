/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The real PMIx server is opened as a part when it is to be started.
 */

#include "config.h"

#include "dvmd-pmix-open.h"

static const DvmdPmixPart *
open_part (GError **error)
{
  return dvmd_part_open ("pmix", "dvmd_pmix_part", sizeof (DvmdPmixPart), error);
}

DvmdPmix *
dvmd_pmix_open (GError **error)
{
  const DvmdPmixPart *part = open_part (error);

  return part != NULL ? part->server_new () : NULL;
}

const char *
dvmd_pmix_get_library_version (GError **error)
{
  const DvmdPmixPart *part = open_part (error);

  return part != NULL ? part->get_version () : NULL;
}
