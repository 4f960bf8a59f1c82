/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The interface org.dvm.Session of each session.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvm-records-private.h"
#include "dvmd-bus-call.h"
#include "dvmd-bus-methods.h"
#include "dvmd-core-sessions.h"

#include <string.h>

static gpointer
find (DvmdCore *core, guint id, GError **error)
{
  DvmdSession *session = dvmd_core_get_session (core, id);

  if (session == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                 "There is no session " DVMD_BUS_SESSIONS_PATH "/%u, or it has ended", id);
  return session;
}

static GVariant *
get_property (DvmdBusServer *server, gpointer object, const char *name)
{
  DvmdSession *session = object;

  /* Jobs, which are owners too, can be many, and are looked at less often. */
  if (strcmp (name, "Nodes") == 0)
    dvmd_session_publish_nodes (session);
  else if (strcmp (name, "Jobs") == 0)
    dvmd_session_publish_jobs (session);
  else if (strcmp (name, "Owners") == 0)
    dvmd_session_publish_owners (session);
  return _dvm_record_get_bus_property (G_OBJECT (dvmd_session_get_record (session)), name);
}

/* (nullable): there is none, or (with an error) more than one. Those that are ending come after the others. */
static DvmdSession *
find_by_request (DvmdCore *core, const char *req_id, gboolean ending, GError **error)
{
  DvmdSession *found = NULL;

  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (core, session)) != NULL;)
    {
      if (dvmd_session_is_ending (session) != ending
          || strcmp (dvm_session_get_request_id (dvmd_session_get_record (session)), req_id) != 0)
        continue;
      if (found != NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       "Several sessions were requested as “%s”, %s and %s among them: say the id of the allocation",
                       req_id, dvmd_session_get_alloc_id (found), dvmd_session_get_alloc_id (session));
          return NULL;
        }
      found = session;
    }
  return found;
}

/* (nullable) with an error; a scheduler's ids may be numbers too. */
static DvmdSession *
find_by_any_id (DvmdCore *core, const char *id, GError **error)
{
  DvmdSession *session = dvmd_core_find_session (core, id);
  DvmdSession *numbered = NULL;
  GError *ambiguous = NULL;
  guint number;

  if (session != NULL)
    return session;
  if (dvmd_bus_parse_node (id, &number))
    numbered = dvmd_core_get_session (core, number);
  session = find_by_request (core, id, FALSE, &ambiguous);
  if (session == NULL && ambiguous == NULL)
    session = find_by_request (core, id, TRUE, &ambiguous);
  if (ambiguous == NULL && session != NULL && numbered != NULL && session != numbered)
    g_set_error (&ambiguous, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "%s is the number of a session, and another one, %s, was requested by that name: say the id of the "
                 "allocation",
                 id, dvmd_session_get_alloc_id (session));
  if (ambiguous != NULL)
    {
      g_propagate_error (error, ambiguous);
      return NULL;
    }
  if (session == NULL)
    session = numbered;
  if (session == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                 "No session has the allocation “%s”, the request or the number; the default session has the empty one",
                 id);
  return session;
}

void
dvmd_bus_find_session (DvmdBusCall *call)
{
  g_autofree char *path = NULL;
  DvmdSession *session;
  GError *error = NULL;
  const char *id;

  g_variant_get (call->parameters, "(&s)", &id);
  session = find_by_any_id (call->core, id, &error);
  if (session == NULL)
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  path = dvmd_bus_path (DVMD_BUS_SESSION, dvmd_session_get_id (session));
  dvmd_bus_return_value (call->invocation, g_variant_new ("(o)", path));
}

static const DvmdBusMethod session_methods[] = {
  { "Extend", DVMD_BUS_CHANGES, dvmd_bus_session_extend, &dvmd_bus_hosts_reader },
  { "Pause", DVMD_BUS_CHANGES, dvmd_bus_session_pause },
  { "Release", DVMD_BUS_CHANGES, dvmd_bus_session_release },
  { "Resume", DVMD_BUS_CHANGES, dvmd_bus_session_resume },
  { "Signal", DVMD_BUS_CHANGES, dvmd_bus_session_signal },
  { "Terminate", DVMD_BUS_CHANGES, dvmd_bus_session_terminate },
};

static char **
enumerate (DvmdCore *core)
{
  g_autoptr (GPtrArray) nodes = g_ptr_array_new ();

  for (DvmdSession *session = dvmd_core_next_session (core, NULL);
       session != NULL && nodes->len < DVMD_BUS_MAX_CHILDREN; session = dvmd_core_next_session (core, session))
    g_ptr_array_add (nodes, g_strdup_printf ("%u", dvmd_session_get_id (session)));
  g_ptr_array_add (nodes, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&nodes), FALSE);
}

const DvmdBusSubtree dvmd_bus_sessions = {
  .path = DVMD_BUS_SESSIONS_PATH,
  .enumerate = enumerate,
  .klass = { &dvm_dbus_session_interface, get_property, find, session_methods, G_N_ELEMENTS (session_methods) },
};
