/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The claims of a job and the state of the queue, for dvmd-admission.c (the queue) and dvmd-fit.c (whether a job fits).
 */

#pragma once

#include "dvmd-admission.h"
#include "dvmd-candidates.h"
#include "dvmd-job-reason.h"
#include "dvmd-queue.h"

G_BEGIN_DECLS

typedef enum
{
  SLOTS_NONE,
  SLOTS_AWAITED, /* it is in the queue */
  SLOTS_CLAIMED,
  SLOTS_BROKEN, /* some were on a node that was lost before the job was mapped */
} Slots;

/* A job that is not to wait waits a moment for slots of jobs that its parent has spawned before. */
typedef enum
{
  MOMENT_AHEAD,
  MOMENT_RUNS,
  MOMENT_OVER,
} Moment;

typedef struct
{
  GArray *app_np;   /* (nullable): guint per application, known when the job is admitted */
  guint need;       /* slots that it takes */
  DvmdMap *planned; /* (nullable): its map, from the gate to MAP */
  GArray *claims;   /* DvmdClaim, not NULL when they are claimed, or broken */
  Slots slots;
  const char *awaited; /* (nullable): what it waits for, or would; NULL: slots */
  DvmdTurn turn;
  GSequenceIter *place; /* in the queue, while it is there */
  gboolean may_fit;     /* not on the nodes that there are: it waits for others, and holds up nobody */
  Moment moment;
  guint timer; /* of its moment */
} DvmdAdmissionClaims;

struct _DvmdAdmission
{
  DvmdNodePool *nodes;
  void (*look) (DvmdJob *job);
  GPtrArray *moving;   /* DvmdJob: some of their ranks look for a node */
  GSequence *waiting;  /* DvmdJob, in the order of their turns */
  GHashTable *running; /* DvmdJob: those that have slots, if the policy needs to know them */
  DvmdQueuePolicy policy;
  guint n_limited;         /* of running, those that max_running is for */
  guint n_waiting_limited; /* likewise of waiting */
  gboolean closed;         /* no waiting job goes on now */
  DvmdAdmissionMap map;
  DvmdAdmissionCount count;
  DvmdAdmissionRelease release;
  DvmdAdmissionClaimed claimed;
  gpointer user_data;
};

DvmdAdmissionClaims *dvmd_admission_claims_of (DvmdJob *job);

/*
 * Whether a job fits on its candidates now: ADMIT alone leaves a plan, WAIT says in claims->awaited for what, if not
 * for slots, and NEVER sets error
 */
DvmdAdmit dvmd_fit_judge (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error);
void dvmd_fit_drop_plan (DvmdJob *job);

gboolean dvmd_fit_may_oversubscribe (DvmdJob *job);
/* The job has said so, or another job waits for it. */
gboolean dvmd_fit_may_not_wait (DvmdJob *job);
/* The job may not wait, or not any longer. */
gboolean dvmd_fit_is_impatient (DvmdJob *job, DvmdCandidates *candidates);
/* The job may have more processes than these nodes have slots. */
gboolean dvmd_fit_need_not_fit (DvmdJob *job, DvmdCandidates *candidates);
/* The job waits for nodes that are drained, or not there yet. */
gboolean dvmd_fit_waits_for_nodes (DvmdJob *job, DvmdCandidates *candidates);

/* Refuses a job for this reason, which becomes one of the job. reason: (transfer full) */
void dvmd_fit_refuse (DvmdJob *job, GError **error, DvmReason *reason);

G_END_DECLS
