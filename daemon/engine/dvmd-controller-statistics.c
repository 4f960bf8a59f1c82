/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What has been counted since the start.
 */

#include "config.h"

#include "dvmd-controller-wired.h"

static void
add (GVariantBuilder *builder, const char *name, guint64 value)
{
  g_variant_builder_add (builder, "{sv}", name, g_variant_new_uint64 (value));
}

static void
add_messages (DvmdController *self, GVariantBuilder *builder)
{
  guint64 sent = self->gone_sent;
  guint64 received = self->gone_received;
  GHashTableIter iter;
  gpointer link;

  g_hash_table_iter_init (&iter, self->links);
  while (g_hash_table_iter_next (&iter, NULL, &link))
    {
      sent += dvmd_link_get_n_sent (link);
      received += dvmd_link_get_n_received (link);
    }
  add (builder, "messages-sent", sent);
  add (builder, "messages-received", received);
}

/* Within one process there are no links, and nobody who could be refused. */
static void
add_links (DvmdController *self, GVariantBuilder *builder)
{
  DvmdRouterStatistics router = { 0 };

  if (self->wired != NULL && self->wired->router != NULL)
    dvmd_router_get_statistics (self->wired->router, &router);
  add (builder, "broadcasts", self->broadcasts + router.broadcasts);
  add (builder, "broadcast-bytes", router.broadcast_bytes);
  add (builder, "links-opened", router.links_opened);
  add (builder, "links-lost", router.links_lost);
  add (builder, "joins-refused",
       self->wired != NULL && self->wired->listener != NULL ? dvmd_listener_get_n_refused (self->wired->listener) : 0);
}

GVariant *
dvmd_controller_get_statistics (DvmdController *self)
{
  const DvmdCoreStatistics *core = dvmd_core_get_statistics (self->core);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  add (&builder, "jobs-submitted", core->jobs_submitted);
  add (&builder, "jobs-ended", core->jobs_ended);
  add (&builder, "procs-launched", core->procs_launched);
  add (&builder, "campaigns-completed", core->campaigns_completed);
  add (&builder, "campaigns-failed", core->campaigns_failed);
  add (&builder, "jobs-remapped", core->jobs_remapped);
  add (&builder, "launch-messages", self->launch_messages);
  add (&builder, "launch-bytes", self->launch_bytes);
  add (&builder, "environment-bytes", self->environment_bytes);
  add (&builder, "output-bytes", self->output_bytes);
  add_links (self, &builder);
  add_messages (self, &builder);
  return g_variant_builder_end (&builder);
}
