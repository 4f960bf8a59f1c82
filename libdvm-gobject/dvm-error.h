/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include <gio/gio.h>

G_BEGIN_DECLS

/**
 * DVM_ERROR:
 *
 * The error domain of everything that the library and the DVM report.
 *
 * On D-Bus each code is `org.dvm.Error.` and the code's name in camel case.
 *
 * Since: 0.1
 */
#define DVM_ERROR (dvm_error_quark ())

/**
 * DvmError:
 * @DVM_ERROR_FAILED: something that has no code of its own
 * @DVM_ERROR_BAD_PARAM: an argument is wrong; the message names it
 * @DVM_ERROR_NOT_FOUND: the thing named does not exist, or no longer
 * @DVM_ERROR_NO_PERMISSIONS: the caller may not do this
 * @DVM_ERROR_NOT_SUPPORTED: known, but cannot be done here
 * @DVM_ERROR_NOT_ELASTIC: needs a DVM that was started elastic
 * @DVM_ERROR_NOT_READY: the DVM is not ready for this yet
 * @DVM_ERROR_OUT_OF_RESOURCE: no room: slots, memory, descriptors
 * @DVM_ERROR_EXISTS: something of that name is there already
 * @DVM_ERROR_TIMEOUT: the time given has passed
 * @DVM_ERROR_LAUNCH_FAILED: processes or agents could not be started
 * @DVM_ERROR_MAP_FAILED: processes could not be placed
 * @DVM_ERROR_ALLOC_FAILED: nodes could not be had
 * @DVM_ERROR_PARSE_FAILED: a text could not be read; the message names the place
 * @DVM_ERROR_SHUTTING_DOWN: the DVM is ending
 *
 * Error codes.
 *
 * Since: 0.1
 */
typedef enum
{
  DVM_ERROR_FAILED,
  DVM_ERROR_BAD_PARAM,
  DVM_ERROR_NOT_FOUND,
  DVM_ERROR_NO_PERMISSIONS,
  DVM_ERROR_NOT_SUPPORTED,
  DVM_ERROR_NOT_ELASTIC,
  DVM_ERROR_NOT_READY,
  DVM_ERROR_OUT_OF_RESOURCE,
  DVM_ERROR_EXISTS,
  DVM_ERROR_TIMEOUT,
  DVM_ERROR_LAUNCH_FAILED,
  DVM_ERROR_MAP_FAILED,
  DVM_ERROR_ALLOC_FAILED,
  DVM_ERROR_PARSE_FAILED,
  DVM_ERROR_SHUTTING_DOWN,
} DvmError;

GQuark dvm_error_quark (void);

G_END_DECLS
