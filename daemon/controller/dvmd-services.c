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

static gpointer
struct_of (DvmdController *controller, gsize i)
{
  return controller->services != NULL ? controller->services->services[i] : NULL;
}

gpointer
dvmd_services_get (DvmdController *controller, const DvmdService *service)
{
  gsize i = 0;

  while (services[i] != service)
    i++;
  return struct_of (controller, i);
}

gboolean
dvmd_services_handle (DvmdController *controller, DvmdMessage *message)
{
  return dvmd_dispatch_deliver (controller->services->dispatch, message);
}

void
dvmd_services_call (DvmdController *controller, DvmdCall *call, GVariant *request)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    for (const DvmdCallHandler *handler = services[i]->calls; handler != NULL && handler->handle != NULL; handler++)
      if (handler->kind == call->kind)
        {
          handler->handle (struct_of (controller, i), call, request);
          return;
        }
  g_assert_not_reached ();
}

/* All that have this function, in their order. */
#define TELL(function, ...)                                                                                            \
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)                                                                  \
    if (services[i]->function != NULL)                                                                                 \
  services[i]->function (struct_of (controller, i), ##__VA_ARGS__)

void
dvmd_services_job_changed (DvmdController *controller, DvmdJob *job, DvmJobState state)
{
  TELL (job_changed, job, state);
}

void
dvmd_services_job_started (gpointer controller, DvmdJob *job)
{
  TELL (job_started, job);
}

void
dvmd_services_job_killed (DvmdController *controller, DvmdJob *job)
{
  TELL (job_killed, job);
}

void
dvmd_services_job_ended (gpointer controller, DvmdJob *job)
{
  TELL (job_ended, job);
}

void
dvmd_services_job_forgotten (DvmdController *controller, DvmdJob *job)
{
  TELL (job_forgotten, job);
}

void
dvmd_services_proc_ended (DvmdController *controller, DvmdJob *job, guint32 rank)
{
  TELL (proc_ended, job, rank);
}

void
dvmd_services_proc_failed (DvmdController *controller, DvmdJob *job, guint32 rank, int exit_code, int exit_signal)
{
  TELL (proc_failed, job, rank, exit_code, exit_signal);
}

void
dvmd_services_proc_is_back (DvmdController *controller, DvmdJob *job, guint32 rank)
{
  TELL (proc_is_back, job, rank);
}

void
dvmd_services_agent_reported (DvmdController *controller, guint rank)
{
  TELL (agent_reported, rank);
}

void
dvmd_services_agent_gone (DvmdController *controller, guint rank)
{
  TELL (agent_gone, rank);
}

void
dvmd_services_requester_gone (DvmdController *controller, const char *nspace)
{
  TELL (requester_gone, nspace);
}

void
dvmd_services_campaign_ended (gpointer controller, DvmdCampaign *campaign)
{
  TELL (campaign_ended, campaign);
}

void
dvmd_services_warn_session (gpointer controller, DvmdSession *session, guint seconds_left)
{
  TELL (warn_session, session, seconds_left);
}

void
dvmd_services_traced (gpointer controller, DvmdJob *job, const DvmdTraceEntry *entry)
{
  TELL (traced, job, entry);
}

void
dvmd_services_settings_changed (DvmdController *controller, const DvmdControllerChanges *changes)
{
  TELL (settings_changed, changes);
}

void
dvmd_services_dvm_ended (DvmdController *controller)
{
  TELL (dvm_ended);
}

void
dvmd_services_add_statistics (DvmdController *controller, GVariantBuilder *statistics)
{
  TELL (add_statistics, statistics);
}

void
dvmd_services_add_number (GVariantBuilder *statistics, const char *name, guint64 value)
{
  g_variant_builder_add (statistics, "{sv}", name, g_variant_new_uint64 (value));
}
