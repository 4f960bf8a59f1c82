/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions are controlled: the methods of a session, and the one of the manager for all of them. The controller asks
 * who may.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-ask.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-controller-session.h"

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

/* ---- its jobs ---- */

/* directives: a{sv}, consumed if it is floating; about: the session */
static void
control (DvmdBusCall *call, guint id, GVariant *directives, DvmdBusMakeReply make_reply)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (directives);

  dvmd_controller_control_session_async (
      call->controller, id, sunk, g_steal_pointer (&call->read), &call->caller->requester, FALSE, NULL,
      dvmd_bus_on_asked, dvmd_bus_asked_new (call, dvmd_controller_control_session_finish, make_reply, id));
}

/* Methods that have no options. */
static void
control_plainly (DvmdBusCall *call, const char *operation)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  GVariantBuilder directives;
  GError *error = NULL;

  if (!dvmd_bus_options_parse (dict, NULL, 0, &error))
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  g_variant_builder_init (&directives, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&directives, "{sv}", operation, g_variant_new_boolean (TRUE));
  control (call, call->id, g_variant_builder_end (&directives), dvmd_bus_reply_nothing);
}

void
dvmd_bus_session_pause (DvmdBusCall *call)
{
  control_plainly (call, "pause");
}

void
dvmd_bus_session_resume (DvmdBusCall *call)
{
  control_plainly (call, "resume");
}

void
dvmd_bus_session_terminate (DvmdBusCall *call)
{
  control_plainly (call, "terminate");
}

void
dvmd_bus_session_signal (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = NULL;
  const char *nspace = NULL;
  const DvmdBusOption options[] = {
    { "nspace", "s", &nspace },
  };
  GVariantBuilder directives;
  GError *error = NULL;
  int number;

  g_variant_get (call->parameters, "(i@a{sv})", &number, &dict);
  if (!dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error))
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  g_variant_builder_init (&directives, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&directives, "{sv}", "signal", g_variant_new_int32 (number));
  if (nspace != NULL)
    g_variant_builder_add (&directives, "{sv}", "nspace", g_variant_new_string (nspace));
  control (call, call->id, g_variant_builder_end (&directives), dvmd_bus_reply_nothing);
}

/* ---- all of them ---- */

static gpointer
read_request (GDBusMethodInvocation *invocation, GError **error)
{
  GVariant *parameters = g_dbus_method_invocation_get_parameters (invocation);
  g_autoptr (GVariant) directives = g_variant_get_child_value (parameters, 1);
  g_autoptr (DvmdSessionRequest) request = dvmd_session_request_new (directives, FALSE, error);

  return request != NULL && dvmd_session_request_read_hosts (request, error) ? g_steal_pointer (&request) : NULL;
}

const DvmdBusReader dvmd_bus_control_session_reader = { read_request, (GDestroyNotify)dvmd_session_request_free, TRUE };

void
dvmd_bus_control_session (DvmdBusCall *call)
{
  g_autoptr (GVariant) directives = NULL;
  guint id;

  g_variant_get (call->parameters, "(u@a{sv})", &id, &directives);
  control (call, id, directives, dvmd_bus_reply_dictionary);
}
