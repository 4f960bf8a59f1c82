/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables of a campaign and their one writer.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-campaign-machine.h"

#include "dvm-records-private.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-campaigns.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-grow.h"
#include "dvmd-shrink.h"
#include "dvmd-size.h"

static gboolean
is_grow (DvmdCampaign *self)
{
  return dvmd_campaign_get_kind (self) == DVM_CAMPAIGN_KIND_GROW;
}

/* ---- steps ---- */

static void
act_resumed (gpointer object, const DvmdEvent *event)
{
  DvmdCampaign *self = object;

  if (!dvmd_core_holds_back (dvmd_campaign_get_core (self)))
    dvmd_size_unhold (self);
  dvmd_campaign_try_begin (self);
}

static void
act_draining (gpointer object, const DvmdEvent *event)
{
  dvmd_shrink_drain (object);
}

static void
act_drained (gpointer object, const DvmdEvent *event)
{
  DvmdCampaign *self = object;

  dvmd_campaign_stop_timer (self);
  dvmd_shrink_drained (self);
}

static void
step_running (gpointer object, const DvmdEvent *event)
{
  DvmdCampaign *self = object;

  /* The event of the campaign's failure is on its way. */
  if (dvmd_campaign_has_failed (self))
    return;
  if (is_grow (self))
    dvmd_grow_launch (self);
  else
    dvmd_shrink_order (self);
}

static void
act_reported (gpointer object, const DvmdEvent *event)
{
  DvmdCampaign *self = object;

  dvmd_campaign_stop_timer (self);
  if (!dvmd_campaign_has_failed (self))
    dvmd_grow_wire (self);
}

static void
act_departed (gpointer object, const DvmdEvent *event)
{
  dvmd_shrink_departed (object);
}

static void
step_rolling_back (gpointer object, const DvmdEvent *event)
{
  dvmd_campaign_stop_timer (object);
  dvmd_grow_roll_back (object);
}

static void
step_completed (gpointer object, const DvmdEvent *event)
{
  if (is_grow (object))
    dvmd_grow_completed (object);
  else
    dvmd_shrink_completed (object);
  dvmd_core_end_campaign (object);
}

static void
step_failed (gpointer object, const DvmdEvent *event)
{
  dvmd_campaign_stop_timer (object);
  if (is_grow (object))
    dvmd_grow_failed (object);
  else
    dvmd_shrink_failed (object);
  dvmd_core_end_campaign (object);
}

static const DvmdState campaign_states[] = {
  { DVM_CAMPAIGN_STATE_WAITING, NULL },
  { DVM_CAMPAIGN_STATE_RUNNING, step_running },
  { DVM_CAMPAIGN_STATE_ROLLING_BACK, step_rolling_back },
  { DVM_CAMPAIGN_STATE_COMPLETED, step_completed },
  { DVM_CAMPAIGN_STATE_FAILED, step_failed },
};

static const DvmdTransition campaign_transitions[] = {
  { DVM_CAMPAIGN_STATE_WAITING, DVMD_CAMPAIGN_BEGUN, DVM_CAMPAIGN_STATE_RUNNING, NULL },
  { DVM_CAMPAIGN_STATE_WAITING, DVMD_CAMPAIGN_RESUMED, DVMD_STATE_SAME, act_resumed },
  { DVM_CAMPAIGN_STATE_WAITING, DVMD_CAMPAIGN_DRAINING, DVMD_STATE_SAME, act_draining },
  { DVM_CAMPAIGN_STATE_WAITING, DVMD_CAMPAIGN_DRAINED, DVMD_STATE_SAME, act_drained },
  { DVM_CAMPAIGN_STATE_WAITING, DVMD_CAMPAIGN_NOTHING_LEFT, DVM_CAMPAIGN_STATE_COMPLETED, NULL },
  { DVM_CAMPAIGN_STATE_WAITING, DVMD_CAMPAIGN_FAILED, DVM_CAMPAIGN_STATE_FAILED, NULL },
  { DVM_CAMPAIGN_STATE_WAITING, DVMD_CAMPAIGN_GIVEN_UP, DVM_CAMPAIGN_STATE_FAILED, NULL },
  { DVM_CAMPAIGN_STATE_RUNNING, DVMD_CAMPAIGN_REPORTED, DVMD_STATE_SAME, act_reported },
  { DVM_CAMPAIGN_STATE_RUNNING, DVMD_CAMPAIGN_WIRED, DVM_CAMPAIGN_STATE_COMPLETED, NULL },
  { DVM_CAMPAIGN_STATE_RUNNING, DVMD_CAMPAIGN_DEPARTED, DVMD_STATE_SAME, act_departed },
  { DVM_CAMPAIGN_STATE_RUNNING, DVMD_CAMPAIGN_OFFERED, DVM_CAMPAIGN_STATE_COMPLETED, NULL },
  /* Only grows roll back. */
  { DVM_CAMPAIGN_STATE_RUNNING, DVMD_CAMPAIGN_FAILED, DVM_CAMPAIGN_STATE_ROLLING_BACK, NULL },
  { DVM_CAMPAIGN_STATE_RUNNING, DVMD_CAMPAIGN_GIVEN_UP, DVM_CAMPAIGN_STATE_FAILED, NULL },
  { DVM_CAMPAIGN_STATE_ROLLING_BACK, DVMD_CAMPAIGN_DEPARTED, DVM_CAMPAIGN_STATE_FAILED, NULL },
  { DVM_CAMPAIGN_STATE_ROLLING_BACK, DVMD_CAMPAIGN_GIVEN_UP, DVM_CAMPAIGN_STATE_FAILED, NULL },
  /* A grow is cancelled when it has found that all of its nodes are there, and has not been told so. */
  { DVM_CAMPAIGN_STATE_COMPLETED, DVMD_CAMPAIGN_FAILED, DVMD_STATE_SAME, NULL },
  /* The DVM ends while the last node leaves: a campaign that is given up does not wait for that. */
  { DVM_CAMPAIGN_STATE_FAILED, DVMD_CAMPAIGN_DEPARTED, DVMD_STATE_SAME, NULL },
  /* The DVM that ends gives up each campaign that has not ended, every time that somebody asks it to. */
  { DVMD_STATE_ANY_ENDED, DVMD_CAMPAIGN_GIVEN_UP, DVMD_STATE_SAME, NULL },
};

static const char *const campaign_event_names[DVMD_CAMPAIGN_N_EVENTS] = {
  [DVMD_CAMPAIGN_BEGUN] = "begun",
  [DVMD_CAMPAIGN_RESUMED] = "resumed",
  [DVMD_CAMPAIGN_DRAINING] = "draining",
  [DVMD_CAMPAIGN_DRAINED] = "drained",
  [DVMD_CAMPAIGN_NOTHING_LEFT] = "nothing-left",
  [DVMD_CAMPAIGN_REPORTED] = "reported",
  [DVMD_CAMPAIGN_WIRED] = "wired",
  [DVMD_CAMPAIGN_DEPARTED] = "departed",
  [DVMD_CAMPAIGN_OFFERED] = "offered",
  [DVMD_CAMPAIGN_FAILED] = "failed",
  [DVMD_CAMPAIGN_GIVEN_UP] = "given-up",
};

static const char *
get_state_name (guint state)
{
  return dvm_campaign_state_to_string (state);
}

static gboolean
is_live (guint state)
{
  return state != DVM_CAMPAIGN_STATE_COMPLETED && state != DVM_CAMPAIGN_STATE_FAILED;
}

static guint
get_state (gpointer object)
{
  return dvmd_campaign_get_state (object);
}

/* The final state is set last: a listener finds the rest of the record up to date. */
static void
set_state (gpointer object, guint old_state, guint new_state, const DvmdEvent *event)
{
  DvmdCampaign *self = object;

  if (!is_live (new_state))
    {
      _dvm_campaign_set_ended_at (dvmd_campaign_get_record (self),
                                  dvmd_clock_now (dvmd_core_get_clock (dvmd_campaign_get_core (self))));
      _dvm_campaign_set_outcome (dvmd_campaign_get_record (self),
                                 dvmd_cause_get_status (dvmd_campaign_get_cause (self)),
                                 dvmd_cause_to_string (dvmd_campaign_get_cause (self)));
      dvmd_campaign_set_pending (self, 0);
    }
  if (new_state == DVM_CAMPAIGN_STATE_RUNNING)
    _dvm_campaign_set_started_at (dvmd_campaign_get_record (self),
                                  dvmd_clock_now (dvmd_core_get_clock (dvmd_campaign_get_core (self))));
  _dvm_campaign_set_state (dvmd_campaign_get_record (self), new_state,
                           dvmd_campaign_get_failure_reason (self) != NULL ? dvmd_campaign_get_failure_reason (self)
                                                                           : "");
  dvmd_core_campaign_state_changed (self, old_state, new_state);
}

static const char *
describe (gpointer object)
{
  return dvm_campaign_get_object_path (dvmd_campaign_get_record (object));
}

const DvmdStateTable dvmd_campaign_table = {
  .name = "campaign",
  .states = campaign_states,
  .n_states = G_N_ELEMENTS (campaign_states),
  .transitions = campaign_transitions,
  .n_transitions = G_N_ELEMENTS (campaign_transitions),
  .event_names = campaign_event_names,
  .n_events = DVMD_CAMPAIGN_N_EVENTS,
  .state_name = get_state_name,
  .is_live = is_live,
  .get_state = get_state,
  .set_state = set_state,
  .describe = describe,
  .ref = g_object_ref,
  .unref = g_object_unref,
};
