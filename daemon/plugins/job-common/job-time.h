/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "time-question.h"

G_BEGIN_DECLS

extern const DvmdTimeQuestion flux_time_question;
extern const DvmdTimeQuestion gridengine_time_question;
extern const DvmdTimeQuestion lsf_time_question;
extern const DvmdTimeQuestion pbs_time_question;

G_END_DECLS
