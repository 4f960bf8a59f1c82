/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The error domain of the library and of the DVM, with its names on D-Bus.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-error"

#include "dvm-records-private.h"

static const GDBusErrorEntry error_entries[] = {
  { DVM_ERROR_FAILED, "org.dvm.Error.Failed" },
  { DVM_ERROR_BAD_PARAM, "org.dvm.Error.BadParam" },
  { DVM_ERROR_NOT_FOUND, "org.dvm.Error.NotFound" },
  { DVM_ERROR_NO_PERMISSIONS, "org.dvm.Error.NoPermissions" },
  { DVM_ERROR_NOT_SUPPORTED, "org.dvm.Error.NotSupported" },
  { DVM_ERROR_NOT_ELASTIC, "org.dvm.Error.NotElastic" },
  { DVM_ERROR_NOT_READY, "org.dvm.Error.NotReady" },
  { DVM_ERROR_OUT_OF_RESOURCE, "org.dvm.Error.OutOfResource" },
  { DVM_ERROR_EXISTS, "org.dvm.Error.Exists" },
  { DVM_ERROR_TIMEOUT, "org.dvm.Error.Timeout" },
  { DVM_ERROR_LAUNCH_FAILED, "org.dvm.Error.LaunchFailed" },
  { DVM_ERROR_MAP_FAILED, "org.dvm.Error.MapFailed" },
  { DVM_ERROR_ALLOC_FAILED, "org.dvm.Error.AllocFailed" },
  { DVM_ERROR_PARSE_FAILED, "org.dvm.Error.ParseFailed" },
  { DVM_ERROR_SHUTTING_DOWN, "org.dvm.Error.ShuttingDown" },
};

/* A code without a bus name would reach the other side as an unknown error. */
G_STATIC_ASSERT (G_N_ELEMENTS (error_entries) == DVM_ERROR_SHUTTING_DOWN + 1);

/**
 * dvm_error_quark:
 *
 * The error domain #DVM_ERROR. Calling it also tells GDBus how the codes are called on the bus.
 *
 * Returns: the quark
 * Since: 0.1
 */
GQuark
dvm_error_quark (void)
{
  static gsize quark = 0;

  g_dbus_error_register_error_domain ("dvm-error-quark", &quark, error_entries, G_N_ELEMENTS (error_entries));
  return (GQuark)quark;
}

const char *
_dvm_error_get_dbus_name (DvmError code)
{
  for (gsize i = 0; i < G_N_ELEMENTS (error_entries); i++)
    if (error_entries[i].error_code == (int)code)
      return error_entries[i].dbus_error_name;
  return "org.dvm.Error.Failed";
}
