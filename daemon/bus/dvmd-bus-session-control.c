/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is done to sessions: the methods of a session, and the one of the manager for all of them. Who may is asked
 * below.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-ask.h"
#include "dvmd-bus-options.h"

#include <string.h>

static gboolean
check_not_default (DvmdSession *session, const char *what, GError **error)
{
  if (dvmd_session_get_id (session) != 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
               "The default session lives as long as the DVM: it cannot be %s", what);
  return FALSE;
}

/* ---- its allocation ---- */

/* request: a{sv} without what selects an allocation */
static void
change_allocation (DvmdBusCall *call, const char *directive, GVariant *request)
{
  g_autoptr (GVariant) whole = NULL;
  GVariantDict keys;

  g_variant_dict_init (&keys, request);
  g_variant_dict_insert (&keys, "alloc-id", "s", dvmd_session_get_alloc_id (call->object));
  whole = g_variant_ref_sink (g_variant_dict_end (&keys));
  dvmd_bus_change_size (call, directive, whole, dvmd_bus_reply_campaign);
}

/* The others are known to those who read them. */
static gboolean
check_selects_nothing (GVariant *request, GError **error)
{
  static const char *const selectors[] = { "alloc-id", "of-req-id", "session" };

  for (gsize i = 0; i < G_N_ELEMENTS (selectors); i++)
    {
      g_autoptr (GVariant) value = g_variant_lookup_value (request, selectors[i], NULL);

      if (value == NULL)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "Unknown option “%s”: the session that is called is the one that is extended", selectors[i]);
      return FALSE;
    }
  return TRUE;
}

void
dvmd_bus_session_extend (DvmdBusCall *call)
{
  g_autoptr (GVariant) request = g_variant_get_child_value (call->parameters, 0);
  GError *error = NULL;

  if (check_selects_nothing (request, &error) && check_not_default (call->object, "extended", &error))
    change_allocation (call, "extend", request);
  else
    dvmd_bus_return_error (call->invocation, error);
}

void
dvmd_bus_session_release (DvmdBusCall *call)
{
  g_autoptr (GVariant) request = g_variant_get_child_value (call->parameters, 0);
  const char *req_id = NULL;
  guint drain_timeout = 0;
  const DvmdBusOption options[] = {
    { "drain-timeout", "u", &drain_timeout },
    { "req-id", "s", &req_id },
  };
  GError *error = NULL;

  if (dvmd_bus_options_parse (request, options, G_N_ELEMENTS (options), &error)
      && check_not_default (call->object, "released", &error))
    change_allocation (call, "release", request);
  else
    dvmd_bus_return_error (call->invocation, error);
}
