/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files of a job that are on their way to its nodes are reported, and waited for (L14); before that its map is shown.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-job"

#include "dvmd-staging.h"

#include "dvm-job-spec-private.h"
#include "dvm-preload-private.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-answers.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-parts.h"

typedef enum
{
  STAGING_NONE,
  STAGING_UNDER_WAY, /* also when all of them have come */
  STAGING_PUT_OFF,   /* the map is not whole: they were not sent */
  STAGING_CUT_SHORT, /* nodes leave: some have not come */
} StagingState;

typedef struct
{
  StagingState state;
  gboolean showing; /* its map: the files come after that */
} Staging;

static Staging *
staging_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_STAGING, sizeof (Staging), NULL);
}

static void
bring_files (DvmdJob *job)
{
  Staging *self = staging_of (job);
  DvmdCore *core = dvmd_job_get_core (job);
  gboolean has_files = _dvm_job_spec_has_preloads (dvmd_job_get_spec (job));

  dvmd_job_answers_forget (job, DVMD_ANSWER_STAGED);
  /* Without all of its nodes it comes no further than to the launch gate. */
  if (!has_files || dvmd_core_find_missing (job) != G_MAXUINT)
    {
      self->state = has_files ? STAGING_PUT_OFF : STAGING_NONE;
      dvmd_core_post (job, DVMD_JOB_PREPARED);
      return;
    }
  self->state = STAGING_UNDER_WAY;
  dvmd_job_answers_ask (job, DVMD_ANSWER_STAGED);
  /* From now on there is something of the job there. */
  dvmd_job_answers_ask (job, DVMD_ANSWER_GONE);
  dvmd_core_get_effects (core)->stage_files (dvmd_core_get_user_data (core), job);
}

void
dvmd_staging_begin (DvmdJob *job)
{
  Staging *self = staging_of (job);
  DvmdCore *core = dvmd_job_get_core (job);
  const DvmdEffects *effects = dvmd_core_get_effects (core);

  self->state = STAGING_NONE;
  self->showing = effects->show_job != NULL && _dvm_job_spec_get_display (dvmd_job_get_spec (job)) != NULL
                  && dvmd_core_find_missing (job) == G_MAXUINT;
  if (self->showing)
    effects->show_job (dvmd_core_get_user_data (core), job);
  else
    bring_files (job);
}

void
dvmd_core_job_shown (DvmdCore *core, DvmdJob *job, const char *reason)
{
  Staging *self = staging_of (job);

  if (!self->showing || dvmd_job_get_state (job) != DVM_JOB_STATE_SYSTEM_PREP)
    return;
  self->showing = FALSE;
  if (reason != NULL)
    dvmd_core_post_failure (job, DVM_JOB_STATE_FAILED_TO_LAUNCH, reason);
  else
    bring_files (job);
}

gboolean
dvmd_staging_is_half (DvmdJob *job)
{
  StagingState state = staging_of (job)->state;

  return state == STAGING_PUT_OFF || state == STAGING_CUT_SHORT;
}

/* The agents of its map have been sent its files. */
static gboolean
is_under_way (DvmdJob *job)
{
  StagingState state = staging_of (job)->state;

  return dvmd_job_get_state (job) == DVM_JOB_STATE_SYSTEM_PREP
         && (state == STAGING_UNDER_WAY || state == STAGING_CUT_SHORT);
}

/*
 * A rank that is not one of the DVM any more, or on its way out: nobody will run anything there. The job goes on to the
 * launch gate, which looks at its map.
 */
static gboolean
is_leaving (DvmdJob *job, guint agent)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_job_get_core (job)), agent);

  return node == NULL || node->leaving || dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN;
}

/* The others need not have their files before the launch gate has judged that. */
static void
cut_short (DvmdJob *job)
{
  staging_of (job)->state = dvmd_job_answers_count (job, DVMD_ANSWER_STAGED) > 0 ? STAGING_CUT_SHORT
                                                                                 : STAGING_UNDER_WAY;
  dvmd_job_answers_forget (job, DVMD_ANSWER_STAGED);
  dvmd_core_post (job, DVMD_JOB_PREPARED);
}

/* Its agents need not answer any more. */
void
dvmd_core_files_leaving (DvmdCore *core, DvmdJob *job)
{
  g_autoptr (GArray) agents = NULL;

  if (!is_under_way (job))
    return;
  agents = dvmd_map_get_nodes (dvmd_job_get_map (job));
  for (guint i = 0; i < agents->len; i++)
    {
      guint agent = g_array_index (agents, guint, i);

      if (dvmd_job_answers_await (job, DVMD_ANSWER_STAGED, agent) && is_leaving (job, agent))
        {
          cut_short (job);
          return;
        }
    }
}

void
dvmd_core_files_staged (DvmdCore *core, DvmdJob *job, guint agent, const char *reason)
{
  if (!is_under_way (job))
    return;
  if (agent == 0)
    {
      dvmd_core_post_failure (job, DVM_JOB_STATE_FILES_POSN_FAILED, reason);
      return;
    }
  if (!dvmd_job_answers_take (job, DVMD_ANSWER_STAGED, agent))
    return;
  if (is_leaving (job, agent))
    cut_short (job);
  else if (reason != NULL)
    dvmd_core_post_failure (job, DVM_JOB_STATE_FILES_POSN_FAILED, reason);
  else if (dvmd_job_answers_count (job, DVMD_ANSWER_STAGED) == 0)
    dvmd_core_post (job, DVMD_JOB_PREPARED);
}
