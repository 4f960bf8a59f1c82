/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calls that wait for the end of a job or campaign.
 */

#pragma once

#include "dvmd-bus-call.h"

G_BEGIN_DECLS

typedef struct _DvmdBusWaiters DvmdBusWaiters;

DvmdBusWaiters *dvmd_bus_waiters_new (DvmdBusServer *server);
void dvmd_bus_waiters_free (DvmdBusWaiters *self);
/* Answers the call when the job has finished, or the campaign has ended; takes the invocation. */
void dvmd_bus_wait (DvmdBusCall *call, DvmdJob *job, GVariant *options);
void dvmd_bus_wait_campaign (DvmdBusCall *call, DvmdCampaign *campaign, GVariant *options);
void dvmd_bus_waiters_job_finished (DvmdBusWaiters *self, DvmdJob *job);
void dvmd_bus_waiters_campaign_ended (DvmdBusWaiters *self, DvmdCampaign *campaign);
void dvmd_bus_waiters_drop (DvmdBusWaiters *self, DvmdBusCaller *caller);
/* Everybody who still waits gets this error. */
void dvmd_bus_waiters_fail (DvmdBusWaiters *self, const GError *error);

G_END_DECLS
