/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"

G_BEGIN_DECLS

/*
 * Jobs of one description, which have the number of the first of them in common. Each is a job as any other one; what
 * they share is how many of them may run at once, and that others can wait for them all.
 */
DvmdArrays *dvmd_arrays_new (void);
void dvmd_arrays_free (DvmdArrays *self);

/* The job has come: it is held while as many of its array run as may. */
void dvmd_arrays_begin (DvmdJob *job);
void dvmd_arrays_started (DvmdJob *job);
/* The next one of its array goes on. */
void dvmd_arrays_ended (DvmdJob *job);
/* The history has it no longer. */
void dvmd_arrays_forget (DvmdJob *job);
/* One job of an array that has begun will not come. */
void dvmd_arrays_lose (DvmdCore *core, DvmJobSpec *spec);

typedef struct
{
  gboolean started;       /* all of them have, or have ended without that */
  gboolean ended;         /* all of them have */
  const char *failed;     /* (nullable): the namespace of the first one that has failed */
  const char *failed_why; /* (nullable): its reason */
} DvmdArrayState;

/* FALSE: no job of such an array is known. */
gboolean dvmd_arrays_get_state (DvmdCore *core, guint id, DvmdArrayState *state);

G_END_DECLS
