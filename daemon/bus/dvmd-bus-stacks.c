/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The method CollectStacks answers with the stacks of a job's processes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-controller-stacks.h"

static void
on_collected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GDBusMethodInvocation *invocation = user_data;
  GError *error = NULL;
  g_autoptr (GVariant) rows = dvmd_controller_collect_stacks_finish (DVMD_CONTROLLER (source), result, &error);

  if (rows != NULL)
    dvmd_bus_return_value (invocation, g_variant_new ("(@a(usss))", rows));
  else
    dvmd_bus_return_error (invocation, error);
}

void
dvmd_bus_collect_stacks (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = NULL;
  guint seconds = DVMD_STACKS_SECONDS;
  const char *ranks;
  const DvmdBusOption options[] = {
    { "timeout", "u", &seconds },
  };
  GError *error = NULL;

  g_variant_get (call->parameters, "(&s@a{sv})", &ranks, &dict);
  if (dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error)
      && (seconds == 0 || seconds > DVMD_STACKS_MAX_SECONDS))
    g_set_error (&error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“timeout” is 1 to %d seconds, not %u",
                 DVMD_STACKS_MAX_SECONDS, seconds);
  if (error != NULL)
    dvmd_bus_return_error (call->invocation, error);
  else
    dvmd_controller_collect_stacks_async (call->controller, call->object, ranks, seconds, on_collected,
                                          call->invocation);
}
