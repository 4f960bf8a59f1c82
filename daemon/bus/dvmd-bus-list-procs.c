/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The methods ListProcs and ListDevices answer with rows of processes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-call.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-rows.h"

const char *
dvmd_bus_get_node_name (DvmdNodePool *pool, guint rank)
{
  const char *name = rank != DVMD_NO_NODE ? dvmd_node_pool_get_name (pool, rank) : NULL;

  return name != NULL ? name : "";
}

GVariant *
dvmd_bus_proc_row (DvmdNodePool *pool, DvmdProcTable *procs, guint rank, DvmdControllerCpus *cpus)
{
  const DvmdProcRow *row = dvmd_proc_table_row (procs, rank);

  return g_variant_new ("(uusuuiuiis)", rank, row->app, dvmd_bus_get_node_name (pool, row->node), row->local_rank,
                        row->node_rank, row->pid, (guint)row->state, row->exit_code, (int)row->exit_signal,
                        dvmd_controller_cpus_get (cpus, row->node, row->local_rank));
}

/* (transfer floating) (nullable): what a list has of a process; NULL: it is not in that list */
typedef GVariant *(*ProcToRow) (DvmdNodePool *pool, DvmdProcTable *procs, guint rank, DvmdControllerCpus *cpus);

static GVariant *
make_devices_row (DvmdNodePool *pool, DvmdProcTable *procs, guint rank, DvmdControllerCpus *cpus)
{
  const DvmdProcRow *row = dvmd_proc_table_row (procs, rank);
  g_autofree char *devices = dvmd_controller_cpus_dup_devices (cpus, row->node, row->local_rank);

  return devices != NULL ? g_variant_new ("(us)", rank, devices) : NULL;
}

static void
add_procs (DvmdBusRows *rows, DvmdBusCall *call, DvmdProcTable *procs, DvmdIdSet *ranks, ProcToRow make_row)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (call->core);
  g_autoptr (DvmdControllerCpus) cpus = dvmd_controller_cpus_new (call->controller, dvmd_job_get_map (call->object));

  for (guint rank = 0; dvmd_id_set_next (ranks, rank, &rank) && rank < procs->n_rows; rank++)
    {
      GVariant *row = dvmd_bus_rows_want (rows, rank) ? make_row (pool, procs, rank, cpus) : NULL;

      if (row != NULL)
        dvmd_bus_rows_add (rows, row);
    }
}

static void
list_procs (DvmdBusCall *call, const char *type, ProcToRow make_row)
{
  DvmdProcTable *procs = dvmd_job_get_procs (call->object);
  g_autoptr (GVariant) dict = NULL;
  g_autoptr (DvmdIdSet) set = NULL;
  const char *ranks;
  guint limit = 0;
  const DvmdBusOption options[] = {
    { "limit", "u", &limit },
  };
  DvmdBusRows rows;
  GError *error = NULL;

  g_variant_get (call->parameters, "(&s@a{sv})", &ranks, &dict);
  if (!dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error)
      || (set = dvmd_id_set_parse (ranks, "ranks", &error)) == NULL)
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  dvmd_bus_rows_init (&rows, G_VARIANT_TYPE (type), limit);
  if (procs != NULL)
    add_procs (&rows, call, procs, set, make_row);
  dvmd_bus_return_value (call->invocation, dvmd_bus_rows_end (&rows));
}

void
dvmd_bus_list_procs (DvmdBusCall *call)
{
  list_procs (call, "a(uusuuiuiis)", dvmd_bus_proc_row);
}

void
dvmd_bus_list_devices (DvmdBusCall *call)
{
  list_procs (call, "a(us)", make_devices_row);
}
