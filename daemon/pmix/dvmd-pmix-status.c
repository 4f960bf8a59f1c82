/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-pmix-gates.h"

#include "dvm.h"

/* One status for each, so that a client can tell them apart: PMIx hands it nothing else when it is refused. */
int
dvmd_pmix_status_from_error (const GError *error)
{
  static const pmix_status_t statuses[] = {
    [DVM_ERROR_FAILED] = PMIX_ERROR,
    [DVM_ERROR_BAD_PARAM] = PMIX_ERR_BAD_PARAM,
    [DVM_ERROR_NOT_FOUND] = PMIX_ERR_NOT_FOUND,
    [DVM_ERROR_NO_PERMISSIONS] = PMIX_ERR_NO_PERMISSIONS,
    [DVM_ERROR_NOT_SUPPORTED] = PMIX_ERR_NOT_SUPPORTED,
    [DVM_ERROR_NOT_ELASTIC] = PMIX_ERR_INVALID_OPERATION,
    [DVM_ERROR_NOT_READY] = PMIX_ERR_RESOURCE_BUSY,
    [DVM_ERROR_OUT_OF_RESOURCE] = PMIX_ERR_OUT_OF_RESOURCE,
    [DVM_ERROR_EXISTS] = PMIX_ERR_EXISTS,
    [DVM_ERROR_TIMEOUT] = PMIX_ERR_TIMEOUT,
    [DVM_ERROR_LAUNCH_FAILED] = PMIX_ERR_JOB_FAILED_TO_LAUNCH,
    [DVM_ERROR_MAP_FAILED] = PMIX_ERR_JOB_FAILED_TO_MAP,
    [DVM_ERROR_ALLOC_FAILED] = PMIX_ERR_JOB_ALLOC_FAILED,
    [DVM_ERROR_PARSE_FAILED] = PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED,
    [DVM_ERROR_SHUTTING_DOWN] = PMIX_ERR_UNREACH,
  };

  if (error->domain != DVM_ERROR || error->code < 0 || error->code >= (int)G_N_ELEMENTS (statuses))
    return PMIX_ERROR;
  return statuses[error->code];
}
