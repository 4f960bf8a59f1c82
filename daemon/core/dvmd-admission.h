/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-effects.h"

G_BEGIN_DECLS

/*
 * Admission decides which jobs go on to MAP, which wait for slots, and in which order: by priority, and then first come
 * first served, among jobs whose candidate nodes overlap (design/DBUS.md "Slots and waiting"). dvmd-queue.h has the
 * rules.
 */

typedef struct _DvmdAdmission DvmdAdmission;

/* The settings of jobs that wait. */
typedef struct
{
  gboolean queues;   /* the setting queue: backfill, and jobs wait for nodes by which the DVM may grow */
  gboolean grows;    /* it may, at all */
  guint max_running; /* jobs at the same time, without those that jobs have spawned; 0: any number */
} DvmdQueuePolicy;

typedef enum
{
  DVMD_ADMIT,
  DVMD_ADMIT_WAIT,
  DVMD_ADMIT_NEVER,
} DvmdAdmit;

/* The turn of a job among those that have common nodes: when it is judged */
typedef enum
{
  DVMD_TURN_LAST,  /* behind those that wait already */
  DVMD_TURN_KEPT,  /* it was held up: before those that came after it */
  DVMD_TURN_FIRST, /* nodes of its map have left: it is placed anew, before all others (D4) */
} DvmdTurn;

typedef struct
{
  guint node;
  guint slots;
} DvmdClaim;

/* Called when a job that waited has got its slots. */
typedef void (*DvmdAdmissionRelease) (DvmdJob *job, gpointer user_data);

/* Maps the processes of the job to the places; NULL: they do not fit there. */
typedef DvmdMap *(*DvmdAdmissionMap) (DvmdJob *job, const DvmdPlaces *places, gpointer user_data, GError **error);

/* Gives numbers to the applications of which np is 0; FALSE: the usual numbers apply. */
typedef gboolean (*DvmdAdmissionCount) (DvmdJob *job, const DvmdPlaces *places, guint32 *np, gpointer user_data);

/* Called when a job has got the slots of a map (which is then not NULL), or has given them back: see DvmdEffects. */
typedef void (*DvmdAdmissionClaimed) (DvmdJob *job, DvmdMap *map, DvmdNode *node, gpointer user_data);

DvmdAdmission *dvmd_admission_new (DvmdNodePool *nodes, DvmdAdmissionMap map, DvmdAdmissionCount count,
                                   DvmdAdmissionRelease release, DvmdAdmissionClaimed claimed, gpointer user_data);
void dvmd_admission_free (DvmdAdmission *self);
/* Before there are jobs. */
void dvmd_admission_set_policy (DvmdAdmission *self, const DvmdQueuePolicy *policy);
/* FALSE: nothing is changed. Jobs that wait are not looked at. */
gboolean dvmd_admission_change_policy (DvmdAdmission *self, gboolean queues, guint max_running);

/*
 * Judges a job at the map gate. ADMIT: it is planned where its processes go, and their slots are claimed. WAIT: it
 * stands in the queue. NEVER: error says why.
 */
DvmdAdmit dvmd_admission_judge (DvmdAdmission *self, DvmdJob *job, GError **error);
/* A job that fits on none of the nodes of now, but may on nodes that are coming, stands in the queue too. */
void dvmd_admission_wait (DvmdAdmission *self, DvmdJob *job);
/* The job leaves the queue, if it is in it. */
void dvmd_admission_remove (DvmdAdmission *self, DvmdJob *job);
/* Its place in the queue, if it is there, is another one, and the first ones are looked at. */
void dvmd_admission_set_priority (DvmdAdmission *self, DvmdJob *job, int priority);
/* While admission is closed no waiting job gets slots; jobs that have theirs are not concerned. */
void dvmd_admission_set_closed (DvmdAdmission *self, gboolean closed);
/* Slots became free. */
void dvmd_admission_release (DvmdAdmission *self);
/* Nodes changed: jobs that can never fit any more go on too, even those that stand behind others. */
void dvmd_admission_nodes_changed (DvmdAdmission *self);
guint dvmd_admission_get_n_waiting (DvmdAdmission *self);

/* A job that waits lacks this: "slots", or, where it has enough of these, "cpus" or "devices" that others have, or
 * "limit", while as many run as may. */
const char *dvmd_admission_get_awaited (DvmdJob *job);
/*
 * The map of a job that does not exist; nothing is claimed. awaited (out) (nullable): what it would have to wait for,
 * as above; then every slot counts as free. NULL: error says why it can never go on.
 */
DvmdMap *dvmd_admission_try (DvmdAdmission *self, DvmdJob *job, const char **awaited, GError **error);
/* look (the same for all jobs) is called when slots or nodes may have come free for ranks of the job. */
void dvmd_admission_watch (DvmdAdmission *self, DvmdJob *job, void (*look) (DvmdJob *job));
void dvmd_admission_unwatch (DvmdAdmission *self, DvmdJob *job);
/* A job that runs has slots there, too. */
void dvmd_admission_add_claim (DvmdAdmission *self, DvmdJob *job, DvmdNode *node, guint slots);
void dvmd_admission_give_back (DvmdAdmission *self, DvmdJob *job);
/* Gives back the job's slots on a node that is lost. A job that was not placed yet is judged again at the gate, ahead
 * of others that came after it. */
void dvmd_admission_give_back_node (DvmdAdmission *self, DvmdJob *job, DvmdNode *node);

/* ---- a job's ---- */
/* The job is in the queue for slots. */
gboolean dvmd_admission_is_waiting (DvmdJob *job);
/* The job had its slots, and some of them were given back with a node: it is to be judged again. */
gboolean dvmd_admission_is_broken (DvmdJob *job);
/* (transfer full): the map by which an admitted job is placed */
DvmdMap *dvmd_admission_take_plan (DvmdJob *job);
/* (element-type DvmdClaim) (nullable) */
GArray *dvmd_admission_get_claims (DvmdJob *job);
DvmdTurn dvmd_admission_get_turn (DvmdJob *job);
void dvmd_admission_raise_turn (DvmdJob *job, DvmdTurn turn);

G_END_DECLS
