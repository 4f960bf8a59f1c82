/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Changes of the size of the DVM: the methods that ask for one.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-ask.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-controller-elastic.h"
#include "dvmd-core-sessions.h"
#include "dvmd-size-request.h"

#include <string.h>

static gpointer
read_hosts (GDBusMethodInvocation *invocation, GError **error)
{
  GVariant *parameters = g_dbus_method_invocation_get_parameters (invocation);
  g_autoptr (GVariant) request = g_variant_get_child_value (parameters, g_variant_n_children (parameters) - 1);
  DvmHostsRead read = { 0 };
  DvmHosts *hosts;

  return dvmd_size_request_read_hosts (request, &read, &hosts, error) ? hosts : NULL;
}

const DvmdBusReader dvmd_bus_hosts_reader = { read_hosts, (GDestroyNotify)_dvm_hosts_free, TRUE };

/* The session that the request is about, 0 if that is not known before it is answered. */
static guint
find_session (DvmdCore *core, const DvmdRequester *who, GVariant *request)
{
  const char *alloc_id = NULL;
  const char *of_req_id = NULL;
  DvmdSession *session = NULL;
  guint id = 0;

  g_variant_lookup (request, "session", "u", &id);
  g_variant_lookup (request, "alloc-id", "&s", &alloc_id);
  g_variant_lookup (request, "of-req-id", "&s", &of_req_id);
  if (!dvmd_core_select_session_for (core, who, id, alloc_id, of_req_id, &session, NULL) || session == NULL)
    return 0;
  return dvmd_session_get_id (session);
}

void
dvmd_bus_change_size (DvmdBusCall *call, const char *directive, GVariant *request, DvmdBusMakeReply make_reply)
{
  const DvmdRequester *who = &call->caller->requester;
  guint about = strcmp (directive, "new") != 0 ? find_session (call->core, who, request) : 0;

  dvmd_controller_change_size_async (call->controller, directive, request, g_steal_pointer (&call->read), who, FALSE,
                                     NULL, dvmd_bus_on_asked,
                                     dvmd_bus_asked_new (call, dvmd_controller_change_size_finish, make_reply, about));
}

void
dvmd_bus_grow (DvmdBusCall *call)
{
  g_autoptr (GVariant) request = g_variant_get_child_value (call->parameters, 0);
  g_autoptr (GVariant) alloc_id = g_variant_lookup_value (request, "alloc-id", NULL);
  g_autoptr (GVariant) of_req_id = g_variant_lookup_value (request, "of-req-id", NULL);

  dvmd_bus_change_size (call, alloc_id != NULL || of_req_id != NULL ? "extend" : "new", request,
                        dvmd_bus_reply_alloc_id);
}

void
dvmd_bus_shrink (DvmdBusCall *call)
{
  g_autoptr (GVariant) request = g_variant_get_child_value (call->parameters, 0);

  dvmd_bus_change_size (call, "release", request, dvmd_bus_reply_alloc_id);
}

void
dvmd_bus_allocate (DvmdBusCall *call)
{
  g_autoptr (GVariant) request = g_variant_get_child_value (call->parameters, 1);
  const char *directive;

  g_variant_get_child (call->parameters, 0, "&s", &directive);
  dvmd_bus_change_size (call, directive, request, dvmd_bus_reply_dictionary);
}
