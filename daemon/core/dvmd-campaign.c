/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A campaign is one change of the size of the DVM, with its targets.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-campaign-private.h"

#include "dvm-records-private.h"
#include "dvmd-campaign-inner.h"

/* Of many nodes, a sentence names the first ones. */
#define MAX_NAMED 3

G_DEFINE_FINAL_TYPE (DvmdCampaign, dvmd_campaign, G_TYPE_OBJECT)

/* The statuses are those of PMIx. */
static const struct
{
  const char *word;
  int status;
} causes[] = {
  [DVMD_CAUSE_NONE] = { "", 0 },
  [DVMD_CAUSE_LAUNCH] = { "launch-failed", -181 },                /* PMIX_ERR_JOB_FAILED_TO_LAUNCH */
  [DVMD_CAUSE_CONNECT] = { "connect-failed", -25 },               /* PMIX_ERR_UNREACH */
  [DVMD_CAUSE_AUTHENTICATION] = { "authentication-failed", -12 }, /* PMIX_ERR_INVALID_CRED */
  [DVMD_CAUSE_TIMEOUT] = { "timeout", -24 },                      /* PMIX_ERR_TIMEOUT */
  [DVMD_CAUSE_LOST] = { "lost", -61 },                            /* PMIX_ERR_LOST_CONNECTION */
  [DVMD_CAUSE_CANCELLED] = { "cancelled", -180 },                 /* PMIX_ERR_JOB_CANCELED */
  [DVMD_CAUSE_SHUTTING_DOWN] = { "shutting-down", -189 },         /* PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT */
  [DVMD_CAUSE_ORDER] = { "order-failed", -49 },                   /* PMIX_ERR_COMM_FAILURE */
};

const char *
dvmd_cause_to_string (DvmdCause cause)
{
  return causes[cause].word;
}

int
dvmd_cause_get_status (DvmdCause cause)
{
  return causes[cause].status;
}

DvmdTarget *
dvmd_target_new (const char *name, guint rank, const char *allocator)
{
  DvmdTarget *target = g_new0 (DvmdTarget, 1);

  target->name = g_strdup (name);
  target->rank = rank;
  target->allocator = allocator != NULL && allocator[0] != '\0' ? g_strdup (allocator) : NULL;
  return target;
}

static void
target_free (gpointer data)
{
  DvmdTarget *target = data;

  g_free (target->name);
  g_free (target->address);
  g_free (target->allocator);
  g_clear_object (&target->offered_by);
  g_free (target);
}

GPtrArray *
dvmd_targets_new (void)
{
  return g_ptr_array_new_with_free_func (target_free);
}

static void
dvmd_campaign_finalize (GObject *object)
{
  DvmdCampaign *self = DVMD_CAMPAIGN (object);

  g_clear_object (&self->record);
  g_clear_object (&self->job);
  g_clear_object (&self->session);
  g_clear_pointer (&self->requester, dvmd_requester_free);
  g_clear_pointer (&self->joined, g_array_unref);
  g_clear_pointer (&self->by_rank, g_hash_table_unref);
  g_clear_pointer (&self->targets, g_ptr_array_unref);
  g_clear_pointer (&self->to_offer, g_ptr_array_unref);
  g_clear_pointer (&self->own_jobs, g_ptr_array_unref);
  g_clear_pointer (&self->waits, g_hash_table_unref);
  g_clear_pointer (&self->failure.reason, g_free);
  G_OBJECT_CLASS (dvmd_campaign_parent_class)->finalize (object);
}

static void
dvmd_campaign_class_init (DvmdCampaignClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_campaign_finalize;
}

static void
dvmd_campaign_init (DvmdCampaign *self)
{
  self->joined = g_array_new (FALSE, FALSE, sizeof (guint));
  self->targets = dvmd_targets_new ();
  self->by_rank = g_hash_table_new (NULL, NULL);
  self->to_offer = dvmd_targets_new ();
  self->own_jobs = g_ptr_array_new_with_free_func (g_object_unref);
  self->waits = g_hash_table_new (NULL, NULL);
}

DvmdCampaign *
dvmd_campaign_new (DvmdCore *core, guint id, DvmCampaignKind kind)
{
  DvmdCampaign *self = g_object_new (DVMD_TYPE_CAMPAIGN, NULL);

  self->core = core;
  self->record = _dvm_campaign_new (id);
  _dvm_campaign_set_request (self->record, kind, NULL, NULL, NULL);
  _dvm_campaign_set_state (self->record, DVM_CAMPAIGN_STATE_WAITING, NULL);
  return self;
}

DvmdTarget *
dvmd_campaign_add_target (DvmdCampaign *self, const char *name, guint rank)
{
  DvmdTarget *target = dvmd_target_new (name, 0, NULL);

  g_ptr_array_add (self->targets, target);
  if (rank != 0)
    dvmd_campaign_set_target_rank (self, target, rank);
  return target;
}

void
dvmd_campaign_set_target_rank (DvmdCampaign *self, DvmdTarget *target, guint rank)
{
  target->rank = rank;
  g_hash_table_insert (self->by_rank, GUINT_TO_POINTER (rank), target);
}

DvmdTarget *
dvmd_campaign_find_target (DvmdCampaign *self, guint rank)
{
  return g_hash_table_lookup (self->by_rank, GUINT_TO_POINTER (rank));
}

void
dvmd_campaign_publish_targets (DvmdCampaign *self)
{
  g_autofree guint32 *ranks = g_new (guint32, self->targets->len + 1);
  g_autofree const char **hosts = g_new0 (const char *, self->targets->len + 1);
  guint n_ranks = 0;

  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);

      hosts[i] = target->name;
      if (target->rank != 0)
        ranks[n_ranks++] = target->rank;
    }
  _dvm_campaign_set_targets (self->record, ranks, n_ranks, hosts);
}

gboolean
dvmd_campaign_is_restart (DvmdCampaign *self)
{
  return dvmd_campaign_get_id (self) == 0;
}

char *
dvmd_campaign_describe (DvmdCampaign *self)
{
  const char *const *hosts = dvm_campaign_get_hosts (self->record);
  GString *text = g_string_new (NULL);
  guint n;

  if (dvmd_campaign_is_restart (self))
    {
      g_string_append_printf (text, "the restart of %s", hosts[0]);
      return g_string_free (text, FALSE);
    }
  g_string_append_printf (text, "campaign %u (%s of ", dvmd_campaign_get_id (self),
                          dvm_campaign_kind_to_string (dvmd_campaign_get_kind (self)));
  for (n = 0; hosts[n] != NULL && n < MAX_NAMED; n++)
    g_string_append_printf (text, "%s%s", n > 0 ? ", " : "", hosts[n]);
  g_string_append (text, hosts[n] != NULL ? ", ...)" : ")");
  return g_string_free (text, FALSE);
}

guint
dvmd_campaign_get_id (DvmdCampaign *self)
{
  return dvm_campaign_get_id (self->record);
}

DvmCampaign *
dvmd_campaign_get_record (DvmdCampaign *self)
{
  return self->record;
}

DvmCampaignKind
dvmd_campaign_get_kind (DvmdCampaign *self)
{
  return dvm_campaign_get_kind (self->record);
}

DvmCampaignState
dvmd_campaign_get_state (DvmdCampaign *self)
{
  return dvm_campaign_get_state (self->record);
}

gboolean
dvmd_campaign_get_ended (DvmdCampaign *self)
{
  DvmCampaignState state = dvmd_campaign_get_state (self);

  return state == DVM_CAMPAIGN_STATE_COMPLETED || state == DVM_CAMPAIGN_STATE_FAILED;
}

gboolean
dvmd_campaign_has_ticket (DvmdCampaign *self)
{
  return self->ticket.given;
}

const DvmdRequester *
dvmd_campaign_get_requester (DvmdCampaign *self)
{
  return self->requester;
}

DvmdCause
dvmd_campaign_get_cause (DvmdCampaign *self)
{
  return self->failure.cause;
}

DvmdJob *
dvmd_campaign_get_job (DvmdCampaign *self)
{
  return self->job;
}

DvmdCore *
dvmd_campaign_get_core (DvmdCampaign *self)
{
  return self->core;
}

/* ---- for the core's own files ---- */

void
dvmd_campaign_set_requester (DvmdCampaign *self, const DvmdRequester *requester)
{
  self->requester = requester != NULL ? dvmd_requester_copy (requester) : NULL;
}

void
dvmd_campaign_set_session (DvmdCampaign *self, DvmdSession *session, DvmdStake stake, DvmdJob *job)
{
  g_set_object (&self->session, session);
  g_set_object (&self->job, job);
  self->stake = stake;
}

DvmdSession *
dvmd_campaign_get_session (DvmdCampaign *self)
{
  return self->session;
}

gboolean
dvmd_campaign_brings_to (DvmdCampaign *self, DvmdSession *session)
{
  return self->session == session && dvmd_campaign_get_kind (self) == DVM_CAMPAIGN_KIND_GROW && !self->failure.known
         && self->grown != DVMD_GROW_WIRED;
}

gboolean
dvmd_campaign_ends_session (DvmdCampaign *self)
{
  return self->stake == DVMD_STAKE_ENDS;
}

void
dvmd_campaign_note_moved (DvmdCampaign *self, guint rank)
{
  g_array_append_val (self->joined, rank);
}

gboolean
dvmd_campaign_note_again (DvmdCampaign *self, guint old_rank, guint rank)
{
  for (guint i = 0; i < self->joined->len; i++)
    if (g_array_index (self->joined, guint, i) == old_rank)
      {
        g_array_index (self->joined, guint, i) = rank;
        return TRUE;
      }
  return FALSE;
}

void
dvmd_campaign_set_drain_timeout (DvmdCampaign *self, guint timeout)
{
  self->drain.timeout = timeout;
}

guint
dvmd_campaign_get_drain_timeout (DvmdCampaign *self)
{
  return self->drain.timeout;
}

void
dvmd_campaign_set_heal (DvmdCampaign *self, struct _DvmdHeal *heal)
{
  self->heal = heal;
  if (heal == NULL)
    return;
  self->n_pending = self->targets->len;
  self->start = DVMD_START_BEGUN;
}

struct _DvmdHeal *
dvmd_campaign_get_heal (DvmdCampaign *self)
{
  return self->heal;
}

GPtrArray *
dvmd_campaign_get_targets (DvmdCampaign *self)
{
  return self->targets;
}

guint
dvmd_campaign_get_pending (DvmdCampaign *self)
{
  return self->n_pending;
}

GPtrArray *
dvmd_campaign_get_released (DvmdCampaign *self)
{
  return self->to_offer;
}

GHashTable *
dvmd_campaign_get_waits (DvmdCampaign *self)
{
  return self->waits;
}

gboolean
dvmd_campaign_is_held (DvmdCampaign *self)
{
  return self->start == DVMD_START_HELD;
}

gboolean
dvmd_campaign_has_begun (DvmdCampaign *self)
{
  return self->start == DVMD_START_BEGUN;
}

gboolean
dvmd_campaign_bars_nodes (DvmdCampaign *self)
{
  return self->start == DVMD_START_BEGUN || self->drain.state != DVMD_DRAIN_NONE;
}

gboolean
dvmd_campaign_has_reported (DvmdCampaign *self)
{
  return self->n_reported > 0 && self->n_reported == self->targets->len;
}

gboolean
dvmd_campaign_is_wiring (DvmdCampaign *self)
{
  return self->grown >= DVMD_GROW_WIRING;
}

gboolean
dvmd_campaign_is_wired (DvmdCampaign *self)
{
  return self->grown == DVMD_GROW_WIRED;
}

DvmdTicket *
dvmd_campaign_get_ticket (DvmdCampaign *self)
{
  return &self->ticket;
}

gboolean
dvmd_campaign_has_failed (DvmdCampaign *self)
{
  return self->failure.known;
}

const char *
dvmd_campaign_get_failure_reason (DvmdCampaign *self)
{
  return self->failure.reason;
}

void
dvmd_campaign_forget_job (DvmdCampaign *self)
{
  g_clear_object (&self->job);
}

GPtrArray *
dvmd_campaign_get_own_jobs (DvmdCampaign *self)
{
  return self->own_jobs;
}
