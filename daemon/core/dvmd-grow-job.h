/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-campaign.h"
#include "dvmd-job.h"

G_BEGIN_DECLS

/* The nodes that a job brings: they are asked for once, and it waits for them. FALSE: there are none to ask for. */
gboolean dvmd_grow_for_job (DvmdJob *job);
/* The job asks for them now; FALSE: it has before. */
gboolean dvmd_grow_job_ask (DvmdJob *job);
/* The job waits from now on for the campaigns that bring some of them; FALSE: there are none. */
gboolean dvmd_grow_job_wait (DvmdJob *job);
/* The campaign brings some of them. */
void dvmd_grow_add_own (DvmdJob *job, DvmdCampaign *campaign);
gboolean dvmd_grow_job_waits (DvmdJob *job);
/* All of them have reported, or are in: it goes on. */
void dvmd_grow_check_job (DvmdJob *job);
/* It does not wait for them any more. */
void dvmd_grow_forget_job (DvmdJob *job);
/* The core ends: it keeps the campaigns alive no more. */
void dvmd_grow_drop_own (DvmdJob *job);

G_END_DECLS
