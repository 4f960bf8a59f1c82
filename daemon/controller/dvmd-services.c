/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The services of the controller are told of messages, calls and ends.
 */

#include "config.h"

#include "dvmd-services.h"

#include "dvmd-controller-private.h"

#define SERVICE_ROW(name) &dvmd_##name##_service,

static const DvmdService *const services[] = { DVMD_SERVICES (SERVICE_ROW) };

struct _DvmdServices
{
  gpointer services[G_N_ELEMENTS (services)];
  DvmdDispatch *dispatch;
};

DvmdServices *
dvmd_services_new (DvmdController *controller, const DvmdControllerSettings *settings)
{
  DvmdServices *self = g_new0 (DvmdServices, 1);

  self->dispatch = dvmd_dispatch_new ();
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    {
      self->services[i] = services[i]->create (controller, settings);
      dvmd_dispatch_add (self->dispatch, services[i]->handlers, self->services[i]);
    }
  return self;
}

void
dvmd_services_free (DvmdServices *self)
{
  for (gsize i = G_N_ELEMENTS (services); i-- > 0;)
    services[i]->free (self->services[i]);
  dvmd_dispatch_free (self->dispatch);
  g_free (self);
}

gpointer
dvmd_services_get (DvmdServices *self, const DvmdService *service)
{
  gsize i = 0;

  while (services[i] != service)
    i++;
  return self->services[i];
}

gboolean
dvmd_services_handle (DvmdServices *self, DvmdMessage *message)
{
  return dvmd_dispatch_deliver (self->dispatch, message);
}

void
dvmd_services_call (DvmdServices *self, DvmdCall *call, GVariant *request)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    for (const DvmdCallHandler *handler = services[i]->calls; handler != NULL && handler->handle != NULL; handler++)
      if (handler->kind == call->kind)
        {
          handler->handle (self->services[i], call, request);
          return;
        }
  g_assert_not_reached ();
}

void
dvmd_services_job_changed (DvmdServices *self, DvmdJob *job, DvmJobState state)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->job_changed != NULL)
      services[i]->job_changed (self->services[i], job, state);
}

void
dvmd_services_job_started (DvmdServices *self, DvmdJob *job)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->job_started != NULL)
      services[i]->job_started (self->services[i], job);
}

void
dvmd_services_job_killed (DvmdServices *self, DvmdJob *job)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->job_killed != NULL)
      services[i]->job_killed (self->services[i], job);
}

void
dvmd_services_job_ended (DvmdServices *self, DvmdJob *job)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->job_ended != NULL)
      services[i]->job_ended (self->services[i], job);
}

void
dvmd_services_job_forgotten (DvmdServices *self, DvmdJob *job)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->job_forgotten != NULL)
      services[i]->job_forgotten (self->services[i], job);
}

void
dvmd_services_proc_ended (DvmdServices *self, DvmdJob *job, guint32 rank)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->proc_ended != NULL)
      services[i]->proc_ended (self->services[i], job, rank);
}

void
dvmd_services_agent_gone (DvmdServices *self, guint rank)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->agent_gone != NULL)
      services[i]->agent_gone (self->services[i], rank);
}

void
dvmd_services_requester_gone (DvmdServices *self, const char *nspace)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->requester_gone != NULL)
      services[i]->requester_gone (self->services[i], nspace);
}

void
dvmd_services_dvm_ended (DvmdServices *self)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->dvm_ended != NULL)
      services[i]->dvm_ended (self->services[i]);
}

void
dvmd_services_add_statistics (DvmdServices *self, GVariantBuilder *statistics)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->add_statistics != NULL)
      services[i]->add_statistics (self->services[i], statistics);
}

void
dvmd_services_add_number (GVariantBuilder *statistics, const char *name, guint64 value)
{
  g_variant_builder_add (statistics, "{sv}", name, g_variant_new_uint64 (value));
}
