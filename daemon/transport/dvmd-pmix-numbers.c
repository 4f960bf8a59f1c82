/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMIx hands a client that is refused a number alone: each kind of error has one of its own.
 */

#include "config.h"

#include "dvmd-pmix-numbers.h"

#include <dvm.h>
#include <string.h>

/* libpmix packs the type first, as a number below 127 in its shortest form, or as two bytes of which the first is 0. */
#define TEXT_MARK '\xff'

GVariant *
dvmd_pmix_text_new (const char *text)
{
  g_autofree char *marked = g_strdup_printf ("%c%s", TEXT_MARK, text);

  return g_variant_new_bytestring (marked);
}

const char *
dvmd_pmix_text_get (GVariant *packed)
{
  const char *marked = g_variant_get_bytestring (packed);

  return marked[0] == TEXT_MARK && strlen (marked) + 1 == g_variant_get_size (packed) ? marked + 1 : NULL;
}

int
dvmd_pmix_status_from_error (const GError *error)
{
  static const DvmdPmixStatus statuses[] = {
    [DVM_ERROR_FAILED] = DVMD_PMIX_ERROR,
    [DVM_ERROR_BAD_PARAM] = DVMD_PMIX_ERR_BAD_PARAM,
    [DVM_ERROR_NOT_FOUND] = DVMD_PMIX_ERR_NOT_FOUND,
    [DVM_ERROR_NO_PERMISSIONS] = DVMD_PMIX_ERR_NO_PERMISSIONS,
    [DVM_ERROR_NOT_SUPPORTED] = DVMD_PMIX_ERR_NOT_SUPPORTED,
    [DVM_ERROR_NOT_ELASTIC] = DVMD_PMIX_ERR_INVALID_OPERATION,
    [DVM_ERROR_NOT_READY] = DVMD_PMIX_ERR_RESOURCE_BUSY,
    [DVM_ERROR_OUT_OF_RESOURCE] = DVMD_PMIX_ERR_OUT_OF_RESOURCE,
    [DVM_ERROR_EXISTS] = DVMD_PMIX_ERR_EXISTS,
    [DVM_ERROR_TIMEOUT] = DVMD_PMIX_ERR_TIMEOUT,
    [DVM_ERROR_LAUNCH_FAILED] = DVMD_PMIX_ERR_JOB_FAILED_TO_LAUNCH,
    [DVM_ERROR_MAP_FAILED] = DVMD_PMIX_ERR_JOB_FAILED_TO_MAP,
    [DVM_ERROR_ALLOC_FAILED] = DVMD_PMIX_ERR_JOB_ALLOC_FAILED,
    [DVM_ERROR_PARSE_FAILED] = DVMD_PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED,
    [DVM_ERROR_SHUTTING_DOWN] = DVMD_PMIX_ERR_UNREACH,
  };

  if (error->domain != DVM_ERROR || error->code < 0 || error->code >= (int)G_N_ELEMENTS (statuses))
    return DVMD_PMIX_ERROR;
  return statuses[error->code];
}
