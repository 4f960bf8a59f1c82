/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * How long the job of the DVM lasts: the DVM is told, and it is time to ask the scheduler again now and then, more
 * often when the end is near. Setting "interval" of the plugin: seconds from one question to the next at most; 0: no
 * question of this kind. A sign that the job has ended (dvmd_job_signs_new()) makes a question due at once, and some
 * more soon after it, as the scheduler may be slower.
 */
typedef struct _DvmdTimeLeft DvmdTimeLeft;

typedef void (*DvmdTimeLeftDue) (gpointer user_data);

/* allocator: unowned; plugin: "KIND-NAME"; job: "job 12 of Slurm", for messages; file: (nullable): that is there as
 * long as the job. due: is called when the scheduler is to be asked; at first as soon as nothing else is to be done */
DvmdTimeLeft *dvmd_time_left_new (DvmdAllocator *allocator, const char *plugin, const char *job, const char *file,
                                  DvmdTimeLeftDue due, gpointer user_data);
void dvmd_time_left_free (DvmdTimeLeft *self);

/* left: seconds; -1: without a limit. The next question is due later. */
void dvmd_time_left_tell (DvmdTimeLeft *self, gint64 left);
/* The scheduler has not said it, and is asked again later. */
void dvmd_time_left_wait (DvmdTimeLeft *self);
/* No question is due until one of the two above is called again. */
void dvmd_time_left_stop (DvmdTimeLeft *self);

/* Tells the DVM alone. left: as above */
void dvmd_time_left_push (DvmdAllocator *allocator, gint64 left);

/* "[DAYS-][[HOURS:]MINUTES:]SECONDS" in seconds; a fraction of these is dropped. -1: it is none */
gint64 dvmd_time_left_parse (const char *text);

G_END_DECLS
