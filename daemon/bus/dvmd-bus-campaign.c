/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The interface org.dvm.Campaign of each change of size.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvm-records-private.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-wait.h"
#include "dvmd-rights.h"

#include <string.h>

static gpointer
find (DvmdCore *core, guint id, GError **error)
{
  DvmdCampaign *campaign = dvmd_core_get_campaign (core, id);

  if (campaign != NULL)
    return campaign;
  if (id > dvmd_core_get_last_campaign_id (core))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There never was a campaign %u: the last one is %u", id,
                 dvmd_core_get_last_campaign_id (core));
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                 "Campaign %u has been forgotten: its end is more than %u ended campaigns ago (HistoryLimit)", id,
                 dvmd_core_get_history_limit (core));
  return NULL;
}

static GVariant *
get_property (DvmdBusServer *server, gpointer object, const char *name)
{
  DvmdCampaign *campaign = object;

  if (strcmp (name, "HeldJobs") == 0)
    dvmd_campaign_publish_held_jobs (campaign);
  return _dvm_record_get_bus_property (G_OBJECT (dvmd_campaign_get_record (campaign)), name);
}

/* Its allocation is to be the caller's; a session that has gone is nobody's. */
static gboolean
check_owner (DvmdBusCall *call, GError **error)
{
  DvmdCore *core = call->core;
  DvmCampaign *record = dvmd_campaign_get_record (call->object);
  DvmdSession *session = dvmd_core_find_session (core, dvm_campaign_get_alloc_id (record));

  return dvmd_core_may (core, &call->caller->requester, DVMD_RIGHT_RELEASE, session, NULL, error);
}

static void
cancel_campaign (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  GError *error = NULL;

  if (dvmd_bus_options_parse (dict, NULL, 0, &error) && check_owner (call, &error))
    dvmd_core_cancel_campaign (call->core, call->object, &error);
  dvmd_bus_return_result (call, error);
}

static void
wait_campaign (DvmdBusCall *call)
{
  g_autoptr (GVariant) options = g_variant_get_child_value (call->parameters, 0);

  dvmd_bus_wait_campaign (call, call->object, options);
}

static const DvmdBusMethod campaign_methods[] = {
  { "Cancel", DVMD_BUS_CHANGES, cancel_campaign },
  { "Wait", DVMD_BUS_TRACKED, wait_campaign },
};

/* Those that have not ended; the others answer without being listed. */
static char **
enumerate (DvmdCore *core)
{
  g_autoptr (GPtrArray) nodes = g_ptr_array_new ();

  for (DvmdCampaign *campaign = dvmd_core_next_campaign (core, NULL, FALSE);
       campaign != NULL && nodes->len < DVMD_BUS_MAX_CHILDREN;
       campaign = dvmd_core_next_campaign (core, campaign, FALSE))
    g_ptr_array_add (nodes, g_strdup_printf ("%u", dvmd_campaign_get_id (campaign)));
  g_ptr_array_add (nodes, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&nodes), FALSE);
}

const DvmdBusSubtree dvmd_bus_campaigns = {
  .path = DVMD_BUS_CAMPAIGNS_PATH,
  .enumerate = enumerate,
  .klass = { &dvm_dbus_campaign_interface, get_property, find, campaign_methods, G_N_ELEMENTS (campaign_methods) },
};
