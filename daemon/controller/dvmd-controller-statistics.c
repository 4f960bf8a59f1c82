/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Numbers since the start, and of this moment, for Manager.Statistics.
 */

#include "config.h"

#include "dvmd-controller-private.h"

static void
add_messages (DvmdController *self, GVariantBuilder *builder)
{
  guint64 sent = self->gone.sent;
  guint64 received = self->gone.received;
  GHashTableIter iter;
  gpointer link;

  g_hash_table_iter_init (&iter, self->links);
  while (g_hash_table_iter_next (&iter, NULL, &link))
    {
      sent += dvmd_link_get_n_sent (link);
      received += dvmd_link_get_n_received (link);
    }
  dvmd_services_add_number (builder, "messages-sent", sent);
  dvmd_services_add_number (builder, "messages-received", received);
}

GVariant *
dvmd_controller_get_statistics (DvmdController *self)
{
  const DvmdCoreStatistics *core = dvmd_core_get_statistics (self->core);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  dvmd_services_add_number (&builder, "jobs-submitted", core->jobs_submitted);
  dvmd_services_add_number (&builder, "jobs-ended", core->jobs_ended);
  dvmd_services_add_number (&builder, "procs-launched", core->procs_launched);
  dvmd_services_add_number (&builder, "campaigns-completed", core->campaigns_completed);
  dvmd_services_add_number (&builder, "campaigns-failed", core->campaigns_failed);
  dvmd_services_add_number (&builder, "jobs-remapped", core->jobs_remapped);
  self->agents->funcs->add_statistics (self->agents, &builder);
  add_messages (self, &builder);
  dvmd_services_add_statistics (self->services, &builder);
  return g_variant_builder_end (&builder);
}
