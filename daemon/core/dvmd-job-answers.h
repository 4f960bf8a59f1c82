/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/* The agents that have something of a job say each of these once. */
typedef enum
{
  DVMD_ANSWER_STAGED,   /* the files of the job are there */
  DVMD_ANSWER_LAUNCHED, /* all of its processes have been tried */
  DVMD_ANSWER_GONE,     /* nothing of it is left */
  DVMD_ANSWER_OVER,     /* the agent was lost, and has been ended by its launcher: dvmd-job-moves.c */
  DVMD_N_ANSWERS
} DvmdAnswer;

/* All agents of its map are to give this answer, besides the agents that still owe it. */
void dvmd_job_answers_ask (DvmdJob *job, DvmdAnswer what);
/* This agent is to give it, too. */
void dvmd_job_answers_add (DvmdJob *job, DvmdAnswer what, guint agent);
/* No agent owes this answer any more. */
void dvmd_job_answers_forget (DvmdJob *job, DvmdAnswer what);
/* The agent has given its answer, or never will. FALSE: it did not owe it. */
gboolean dvmd_job_answers_take (DvmdJob *job, DvmdAnswer what, guint agent);
gboolean dvmd_job_answers_await (DvmdJob *job, DvmdAnswer what, guint agent);
guint dvmd_job_answers_count (DvmdJob *job, DvmdAnswer what);

G_END_DECLS
