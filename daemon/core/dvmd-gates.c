/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs are parked at the gates of the launch fence, go on when these open, or are aborted.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-gates.h"

#include "dvm-records-private.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-machine.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-candidates.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-parts.h"
#include "dvmd-job-private.h"
#include "dvmd-job-sessions.h"
#include "dvmd-staging.h"
#include "dvmd-vm-machine.h"
#include "dvmd-vm.h"

struct _DvmdGates
{
  gboolean changed;          /* the jobs that are parked will be told of it */
  guint n_targets;           /* of campaigns with a ticket, that have not come or gone */
  DvmdCampaign *last_opened; /* (nullable): the last one that opened the map gate */
  guint64 opening;           /* and the number of that, among parkings and tickets */
};

DvmdGates *
dvmd_gates_new (void)
{
  return g_new0 (DvmdGates, 1);
}

void
dvmd_gates_free (DvmdGates *self)
{
  g_clear_object (&self->last_opened);
  g_free (self);
}

/* ---- jobs ---- */

typedef struct
{
  guint64 queueing; /* the number of when it began to wait for slots, among parkings and tickets; 0: it has not */
  DvmdCampaign *let_go_by; /* (nullable): that it was parked for, until it is placed */
} Passage;

static void
passage_clear (gpointer part)
{
  g_clear_object (&((Passage *)part)->let_go_by);
}

static Passage *
passage_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_GATES, sizeof (Passage), passage_clear);
}

void
dvmd_gate_queue (DvmdJob *job)
{
  Passage *self = passage_of (job);

  if (self->queueing == 0)
    self->queueing = dvmd_launch_fence_next_number (dvmd_core_get_fence (job->core));
}

void
dvmd_gate_forget (DvmdJob *job)
{
  passage_clear (passage_of (job));
}

DvmdCampaign *
dvmd_gate_find_change (DvmdJob *job)
{
  const Passage *self = passage_of (job);
  DvmdCore *core = job->core;
  guint taker = dvmd_candidates_get_taker (job);
  DvmdCampaign *campaign = taker != 0 ? dvmd_core_get_campaign (core, taker) : NULL;

  if (campaign == NULL)
    campaign = self->let_go_by;
  if (campaign == NULL && self->queueing != 0 && self->queueing < dvmd_core_get_gates (core)->opening)
    campaign = dvmd_core_get_gates (core)->last_opened;
  return campaign;
}

gboolean
dvmd_gate_is_closed (DvmdJob *job, DvmdGate gate)
{
  return dvmd_launch_fence_is_closed (dvmd_core_get_fence (job->core), gate);
}

static void
tell_campaigns (DvmdCore *core, DvmdGate gate)
{
  for (GList *l = dvmd_core_get_live_campaigns (core); l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (dvmd_campaign_get_ticket (campaign)->given
          && (gate == DVMD_GATE_MAP || dvmd_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_SHRINK))
        dvmd_campaign_held_changed (campaign);
    }
}

void
dvmd_gate_park (DvmdJob *job, DvmdGate gate)
{
  DvmdCore *core = job->core;

  dvmd_launch_fence_park (dvmd_core_get_fence (core), job, gate, dvmd_clock_monotonic (dvmd_core_get_clock (core)));
  if (gate == DVMD_GATE_MAP)
    dvmd_admission_raise_turn (job, DVMD_TURN_KEPT);
  _dvm_job_set_held_at (job->record, gate == DVMD_GATE_MAP ? "map" : "launch");
  _dvm_job_set_waits_for (job->record, dvmd_launch_fence_get_paths (dvmd_core_get_fence (core), gate));
  tell_campaigns (core, gate);
  dvmd_core_changed (core);
}

static void
resume_held_back (DvmdCore *core)
{
  GList *held = dvmd_campaign_registry_get_held (dvmd_core_get_campaign_registry (core));

  if (held == NULL || dvmd_core_holds_back (core))
    return;
  for (GList *l = held; l != NULL; l = l->next)
    if (!dvmd_campaign_has_failed (l->data))
      dvmd_campaign_post (l->data, DVMD_CAMPAIGN_RESUMED, NULL);
}

void
dvmd_gate_pass (DvmdJob *job)
{
  DvmdCore *core = job->core;
  DvmdGate gate;

  if (!dvmd_launch_fence_pass (dvmd_core_get_fence (core), job, &gate))
    return;
  _dvm_job_set_held_at (job->record, "");
  _dvm_job_set_waits_for (job->record, NULL);
  if (gate != DVMD_GATE_NONE)
    tell_campaigns (core, gate);
  resume_held_back (core);
  dvmd_core_changed (core);
}

void
dvmd_gate_unmap (DvmdJob *job)
{
  if (job->map == NULL)
    return;
  dvmd_admission_raise_turn (job, DVMD_TURN_FIRST);
  dvmd_core_get_counters (job->core)->jobs_remapped++;
  _dvm_job_set_remapped (job->record, dvm_job_get_remapped (job->record) + 1);
  dvmd_admission_give_back (dvmd_core_get_admission (job->core), job);
  dvmd_job_unplace (job);
}

/* ---- tickets ---- */

void
dvmd_gate_count_targets (DvmdCore *core, int change)
{
  dvmd_core_get_gates (core)->n_targets += change;
}

/* Once for all that change together. */
static void
fence_changed (DvmdCore *core)
{
  if (!dvmd_core_get_gates (core)->changed)
    dvmd_core_post_vm (core, DVMD_VM_FENCE_CHANGED, 0, NULL);
  dvmd_core_get_gates (core)->changed = TRUE;
  dvmd_core_changed (core);
}

void
dvmd_gate_close (DvmdCampaign *campaign)
{
  DvmdCore *core = dvmd_campaign_get_core (campaign);

  if (dvmd_campaign_get_ticket (campaign)->given)
    return;
  dvmd_campaign_get_ticket (campaign)->given = TRUE;
  dvmd_campaign_get_ticket (campaign)->number = dvmd_launch_fence_next_number (dvmd_core_get_fence (core));
  dvmd_gate_count_targets (core, dvmd_campaign_get_pending (campaign));
  dvmd_launch_fence_close (dvmd_core_get_fence (core), DVMD_GATE_MAP, campaign);
  if (dvmd_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_SHRINK)
    dvmd_launch_fence_close (dvmd_core_get_fence (core), DVMD_GATE_LAUNCH, campaign);
  dvmd_admission_set_closed (dvmd_core_get_admission (core), TRUE);
  dvmd_campaign_held_changed (campaign);
  fence_changed (core);
}

static int
compare_jobs (gconstpointer a, gconstpointer b)
{
  guint left = dvmd_job_get_id (*(DvmdJob *const *)a);
  guint right = dvmd_job_get_id (*(DvmdJob *const *)b);

  return left < right ? -1 : left > right;
}

static void
post_all (GPtrArray *jobs, guint event, DvmdCampaign *campaign)
{
  for (guint i = 0; i < jobs->len; i++)
    {
      DvmdJob *job = g_ptr_array_index (jobs, i);

      g_set_object (&passage_of (job)->let_go_by, campaign);
      dvmd_core_post (job, event);
    }
}

/* Moves those out of jobs that are to be placed anew. */
static void
sort_out (GPtrArray *jobs, GPtrArray *anew)
{
  guint n = 0;

  for (guint i = 0; i < jobs->len; i++)
    {
      DvmdJob *job = g_ptr_array_index (jobs, i);

      if (job->map != NULL && (dvmd_staging_is_half (job) || dvmd_core_find_missing (job) != G_MAXUINT))
        dvmd_gate_unmap (job);
      if (dvmd_admission_get_turn (job) == DVMD_TURN_FIRST)
        g_ptr_array_add (anew, job);
      else
        jobs->pdata[n++] = job;
    }
  g_ptr_array_set_size (jobs, n);
}

/*
 * Those that are to be placed anew go first, in the order of their submission like the others (D4). All of them have
 * given back what they had before the first one is placed, and nobody else gets any of it before them.
 */
static void
release_jobs (DvmdCore *core, DvmdCampaign *campaign)
{
  gboolean map_open = !dvmd_launch_fence_is_closed (dvmd_core_get_fence (core), DVMD_GATE_MAP);
  gboolean launch_open = !dvmd_launch_fence_is_closed (dvmd_core_get_fence (core), DVMD_GATE_LAUNCH);
  g_autoptr (GPtrArray) to_map = map_open ? dvmd_launch_fence_release (dvmd_core_get_fence (core), DVMD_GATE_MAP)
                                          : g_ptr_array_new ();
  g_autoptr (GPtrArray) to_launch = launch_open
                                        ? dvmd_launch_fence_release (dvmd_core_get_fence (core), DVMD_GATE_LAUNCH)
                                        : g_ptr_array_new ();
  g_autoptr (GPtrArray) anew = g_ptr_array_new ();

  sort_out (to_launch, anew);
  sort_out (to_map, anew);
  g_ptr_array_sort (anew, compare_jobs);
  post_all (anew, DVMD_JOB_PLACED_ANEW, campaign);
  post_all (to_launch, DVMD_JOB_LET_LAUNCH, campaign);
  post_all (to_map, DVMD_JOB_LET_MAP, campaign);
  if (!map_open)
    return;
  g_set_object (&dvmd_core_get_gates (core)->last_opened, campaign);
  dvmd_core_get_gates (core)->opening = dvmd_launch_fence_next_number (dvmd_core_get_fence (core));
  dvmd_core_post_vm (core, DVMD_VM_GATE_OPENED, 0, NULL);
}

void
dvmd_gate_open (DvmdCampaign *campaign)
{
  DvmdCore *core = dvmd_campaign_get_core (campaign);

  if (!dvmd_campaign_get_ticket (campaign)->given)
    return;
  dvmd_campaign_get_ticket (campaign)->given = FALSE;
  dvmd_gate_count_targets (core, -dvmd_campaign_get_pending (campaign));
  dvmd_launch_fence_open (dvmd_core_get_fence (core), DVMD_GATE_MAP, campaign);
  if (dvmd_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_SHRINK)
    dvmd_launch_fence_open (dvmd_core_get_fence (core), DVMD_GATE_LAUNCH, campaign);
  dvmd_campaign_held_changed (campaign);
  fence_changed (core);
  release_jobs (core, campaign);
}

void
dvmd_gate_opened (DvmdCore *core)
{
  if (dvmd_launch_fence_is_closed (dvmd_core_get_fence (core), DVMD_GATE_MAP))
    return;
  dvmd_admission_set_closed (dvmd_core_get_admission (core), FALSE);
  dvmd_admission_nodes_changed (dvmd_core_get_admission (core));
}

static void
publish_gate (DvmdCore *core, DvmdGate gate)
{
  g_autoptr (GPtrArray) jobs = dvmd_launch_fence_list (dvmd_core_get_fence (core), gate);

  for (guint i = 0; i < jobs->len; i++)
    _dvm_job_set_waits_for (((DvmdJob *)g_ptr_array_index (jobs, i))->record,
                            dvmd_launch_fence_get_paths (dvmd_core_get_fence (core), gate));
  if (jobs->len > 0)
    tell_campaigns (core, gate);
}

void
dvmd_gate_publish (DvmdCore *core)
{
  dvmd_core_get_gates (core)->changed = FALSE;
  publish_gate (core, DVMD_GATE_MAP);
  publish_gate (core, DVMD_GATE_LAUNCH);
}

/* ---- a grow has failed ---- */

static gboolean
would_have_used (DvmdJob *job, DvmdCampaign *campaign)
{
  if (!dvmd_job_uses_session (job, dvmd_session_get_id (dvmd_campaign_get_session (campaign)))
      && !(dvmd_job_uses_session (job, 0) && !dvmd_session_is_reserved (dvmd_campaign_get_session (campaign))))
    return FALSE;
  for (guint i = 0; i < dvmd_campaign_get_targets (campaign)->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (dvmd_campaign_get_targets (campaign), i);

      if (dvmd_candidates_would_have (dvmd_core_get_nodes (job->core), job, target->name, target->rank))
        return TRUE;
    }
  return FALSE;
}

void
dvmd_gate_abort (DvmdCampaign *campaign)
{
  DvmdCore *core = dvmd_campaign_get_core (campaign);
  g_autofree char *what = dvmd_campaign_describe (campaign);
  g_autoptr (DvmReason)
      reason = _dvm_reason_new (DVM_REASON_GROW_FAILED, what, dvmd_cause_to_string (dvmd_campaign_get_cause (campaign)),
                                dvmd_campaign_get_failure_reason (campaign));
  g_autoptr (GPtrArray) jobs = NULL;

  if (dvmd_campaign_get_ticket (campaign)->aborted || dvmd_core_get_shutting_down (core))
    return;
  dvmd_campaign_get_ticket (campaign)->aborted = TRUE;
  jobs = dvmd_launch_fence_list (dvmd_core_get_fence (core), DVMD_GATE_MAP);
  for (guint i = 0; dvmd_campaign_get_ticket (campaign)->given && i < jobs->len; i++)
    {
      DvmdJob *job = g_ptr_array_index (jobs, i);

      if (dvmd_admission_get_turn (job) != DVMD_TURN_FIRST
          && dvmd_launch_fence_get_number (job) > dvmd_campaign_get_ticket (campaign)->number
          && would_have_used (job, campaign))
        dvmd_core_post_reason (job, DVM_JOB_STATE_NEVER_LAUNCHED, reason);
    }
  for (guint i = 0; i < dvmd_campaign_get_own_jobs (campaign)->len; i++)
    dvmd_core_post_reason (g_ptr_array_index (dvmd_campaign_get_own_jobs (campaign), i), DVM_JOB_STATE_NEVER_LAUNCHED,
                           reason);
}

guint
dvmd_core_get_launch_fence (DvmdCore *self)
{
  return dvmd_core_get_gates (self)->n_targets;
}
