/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job-private.h"

G_BEGIN_DECLS

/*
 * Which jobs may go on to MAP: who fits, who waits for slots and in which order. First come first served among jobs
 * whose candidate nodes overlap (design/DBUS.md "Slots and waiting").
 */

typedef struct _DvmdAdmission DvmdAdmission;

typedef enum
{
  DVMD_ADMIT,
  DVMD_ADMIT_WAIT,
  DVMD_ADMIT_NEVER,
} DvmdAdmit;

/* Called when a job that waited has got its slots. */
typedef void (*DvmdAdmissionRelease) (DvmdJob *job, gpointer user_data);

DvmdAdmission *dvmd_admission_new (DvmdNodePool *nodes, DvmdAdmissionRelease release, gpointer user_data);
void dvmd_admission_free (DvmdAdmission *self);

/*
 * Judges a job at the map gate. ADMIT: its slots are claimed. WAIT: it stands in the queue. NEVER: error says why.
 */
DvmdAdmit dvmd_admission_judge (DvmdAdmission *self, DvmdJob *job, GError **error);
/* The job leaves the queue, if it is in it. */
void dvmd_admission_remove (DvmdAdmission *self, DvmdJob *job);
/* Slots became free. */
void dvmd_admission_release (DvmdAdmission *self);
/* Nodes changed: also those that stand behind others are told when they can never fit any more. */
void dvmd_admission_nodes_changed (DvmdAdmission *self);
guint dvmd_admission_get_n_waiting (DvmdAdmission *self);

/* The nodes and limits that the mapper may use, the job's own claims counted as free. (element-type DvmdNode) */
GPtrArray *dvmd_admission_get_candidates (DvmdAdmission *self, DvmdJob *job, GArray **limits, GError **error);
/*
 * The same for a job that does not exist, and nothing is claimed. waits: it would have to wait; then every slot counts
 * as free. NULL: error says why it can never go on.
 */
GPtrArray *dvmd_admission_try (DvmdAdmission *self, DvmdJob *job, GArray **limits, gboolean *waits, GError **error);
/* The claims become those of the map. */
void dvmd_admission_claim_map (DvmdAdmission *self, DvmdJob *job);
void dvmd_admission_give_back (DvmdAdmission *self, DvmdJob *job);
/* What the job has there: the node is lost. A job that was not placed yet is judged again at the gate, ahead of others
 * that came after it. */
void dvmd_admission_give_back_node (DvmdAdmission *self, DvmdJob *job, DvmdNode *node);

G_END_DECLS
