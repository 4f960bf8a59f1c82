/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The method ListNodes answers with rows of nodes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-call.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-rows.h"
#include "dvmd-bus-signals.h"

static void
add_nodes (DvmdBusRows *rows, DvmdBusCall *call, DvmdIdSet *ids, gboolean all, const DvmdBusTelling *telling)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (call->core);
  guint max = dvmd_node_pool_get_max_rank (pool);

  for (guint rank = 0; dvmd_id_set_next (ids, rank, &rank) && rank <= max; rank++)
    {
      DvmdNode *node = dvmd_node_pool_get (pool, rank);

      if (node == NULL || (!all && dvm_node_get_state (node->record) == DVM_NODE_STATE_NOT_INCLUDED))
        continue;
      if (!dvmd_bus_rows_want (rows, rank))
        continue;
      dvmd_node_pool_publish_jobs (node);
      if (telling->columns == NULL || g_strv_contains (telling->columns, "Devices"))
        dvmd_bus_publish_devices (call->controller, node);
      dvmd_bus_rows_add_record (rows, node->record, telling);
    }
}

void
dvmd_bus_list_nodes (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = NULL;
  g_autoptr (DvmdIdSet) set = NULL;
  g_autofree const char **columns = NULL;
  const char *ids;
  gboolean all = FALSE;
  guint limit = 0;
  DvmdBusTelling telling = { NULL };
  const DvmdBusOption options[] = {
    { "all", "b", &all },
    { "columns", "as", &columns },
    { "limit", "u", &limit },
    { "sparse", "b", &telling.sparse },
    { "by-column", "b", &telling.by_column },
    { "once", "b", &telling.once },
    { "packed", "b", &telling.packed },
  };
  DvmdBusRows rows;
  GError *error = NULL;

  g_variant_get (call->parameters, "(&s@a{sv})", &ids, &dict);
  telling.fields = _dvm_record_get_fields (DVM_TYPE_NODE, &telling.n_fields);
  if (!dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error)
      || !dvmd_bus_check_columns (columns, telling.fields, telling.n_fields, &error)
      || (set = dvmd_id_set_parse (ids, "ids", &error)) == NULL)
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  dvmd_bus_signals_flush_before_list (call->peer);
  dvmd_bus_rows_init (&rows, G_VARIANT_TYPE ("aa{sv}"), limit);
  dvmd_bus_telling_choose (&telling, columns);
  add_nodes (&rows, call, set, all, &telling);
  dvmd_bus_rows_end_records (&rows, &telling);
  dvmd_bus_return_value (call->invocation, dvmd_bus_rows_end (&rows));
}
