/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ListCampaigns and ListSessions.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-call.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-rows.h"
#include "dvmd-bus-signals.h"

typedef struct
{
  const char *ids;
  gboolean all;
  guint limit;
  const char **columns;
  DvmdIdSet *set; /* NULL: every id */
} Filter;

static void
filter_clear (Filter *filter)
{
  g_clear_pointer (&filter->columns, g_free);
  g_clear_pointer (&filter->set, dvmd_id_set_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Filter, filter_clear)

/* has_ended: there is a history, which "all" asks for */
static gboolean
parse_filter (DvmdBusCall *call, const DvmdBusClass *klass, gboolean has_ended, Filter *filter, GError **error)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  const DvmdBusOption options[] = {
    { "ids", "s", &filter->ids },
    { "limit", "u", &filter->limit },
    { "columns", "as", &filter->columns },
    { "all", "b", &filter->all },
  };

  if (!dvmd_bus_options_parse (dict, options, has_ended ? 4 : 3, error)
      || !dvmd_bus_check_properties (klass->interface, filter->columns, error))
    return FALSE;
  if (filter->ids == NULL || filter->ids[0] == '\0')
    return TRUE;
  filter->set = dvmd_id_set_parse (filter->ids, "ids", error);
  return filter->set != NULL;
}

static void
add_row (DvmdBusCall *call, DvmdBusRows *rows, const Filter *filter, const DvmdBusClass *klass, guint id,
         gpointer object)
{
  if ((filter->set == NULL || dvmd_id_set_contains (filter->set, id)) && dvmd_bus_rows_want (rows, id))
    dvmd_bus_rows_add (rows, dvmd_bus_object_row (call->server, klass, object, filter->columns));
}

void
dvmd_bus_list_campaigns (DvmdBusCall *call)
{
  const DvmdBusClass *klass = &dvmd_bus_campaigns.klass;
  DvmdCore *core = call->core;
  g_auto (Filter) filter = { NULL };
  DvmdBusRows rows;
  GError *error = NULL;
  gboolean ended;

  if (!parse_filter (call, klass, TRUE, &filter, &error))
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  dvmd_bus_signals_flush_before_list (call->peer);
  dvmd_bus_rows_init (&rows, G_VARIANT_TYPE ("aa{sv}"), filter.limit);
  ended = filter.all || filter.set != NULL;
  for (DvmdCampaign *campaign = dvmd_core_next_campaign (core, NULL, ended); campaign != NULL;
       campaign = dvmd_core_next_campaign (core, campaign, ended))
    add_row (call, &rows, &filter, klass, dvmd_campaign_get_id (campaign), campaign);
  dvmd_bus_return_value (call->invocation, dvmd_bus_rows_end (&rows));
}

void
dvmd_bus_list_sessions (DvmdBusCall *call)
{
  const DvmdBusClass *klass = &dvmd_bus_sessions.klass;
  DvmdCore *core = call->core;
  g_auto (Filter) filter = { NULL };
  DvmdBusRows rows;
  GError *error = NULL;

  if (!parse_filter (call, klass, FALSE, &filter, &error))
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  dvmd_bus_signals_flush_before_list (call->peer);
  dvmd_bus_rows_init (&rows, G_VARIANT_TYPE ("aa{sv}"), filter.limit);
  for (DvmdSession *session = dvmd_core_next_session (core, NULL); session != NULL;
       session = dvmd_core_next_session (core, session))
    add_row (call, &rows, &filter, klass, dvmd_session_get_id (session), session);
  dvmd_bus_return_value (call->invocation, dvmd_bus_rows_end (&rows));
}
