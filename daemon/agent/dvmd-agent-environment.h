/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-job.h"

G_BEGIN_DECLS

void dvmd_agent_prepare_app_environment (DvmdAgentJob *job, DvmdAgentApp *app);
/* (transfer full): over that of its application, which is there as long */
DvmdVariables *dvmd_agent_build_environment (DvmdAgentJob *job, DvmdLocalProc *proc, GError **error);
/* apps (aa{sv}, as of SubmitApps) of a job that proc wants, without what it has only because it runs here.
 * (transfer full) */
GVariant *dvmd_agent_strip_defaults (DvmdAgentJob *job, const DvmdLocalProc *proc, GVariant *apps);

G_END_DECLS
