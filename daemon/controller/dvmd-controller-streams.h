/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-input.h"
#include "dvmd-output.h"

G_BEGIN_DECLS

/*
 * The standard streams of one job, from the moment at which it is prepared until it has left the history and nobody
 * reads its output any more.
 */
typedef struct _DvmdJobStreams DvmdJobStreams;

/* The streams of a job. (nullable): no job of this number was accepted, or it has been forgotten */
DvmdJobStreams *dvmd_controller_get_streams (DvmdController *self, guint job);

/* Before the job exists. Of fds, those that were taken are set to -1. */
DvmdJobStreams *dvmd_job_streams_new (DvmdController *self, DvmJobSpec *spec, const char *nspace, guint id, int fds[3],
                                      GError **error);
/* Nothing becomes of the job. */
void dvmd_job_streams_free (DvmdJobStreams *self);
/* The files of its output are emptied. */
void dvmd_job_streams_begin (DvmdJobStreams *self);
/* Takes the streams: they are those of the job. */
void dvmd_job_streams_accept (DvmdJobStreams *self, DvmdJob *job);

/*
 * The launch is to be sent. stdin_target (out): who gets the input; credit (out): bytes of its output that may be under
 * way from one agent. FALSE: a file of its output cannot be made.
 */
gboolean dvmd_job_streams_launch (DvmdJobStreams *self, guint *stdin_target, gsize *credit, GError **error);
/* The same answers again, for ranks of the job that are launched once more. */
void dvmd_job_streams_describe (DvmdJobStreams *self, guint *stdin_target, gsize *credit);
/* No input before the agents of its readers have launched them, or are lost. */
void dvmd_job_streams_launched (DvmdJobStreams *self, guint agent);
/* These ranks (element-type guint32) of that agent neither read nor write any more. */
void dvmd_job_streams_lose (DvmdJobStreams *self, guint agent, GArray *ranks);
/* The job has ended: "job-finished" follows as soon as its output is delivered. */
void dvmd_job_streams_end (DvmdJobStreams *self);
gboolean dvmd_job_streams_is_finished (DvmdJobStreams *self);

/* Its output goes where that of the leader goes, which is not delivered before this one's. */
void dvmd_job_streams_follow (DvmdJobStreams *self, DvmdJobStreams *leader);
/* The process does not end with its leader, which does not wait for it. */
void dvmd_job_streams_separate (DvmdJobStreams *self);
/* tap (nullable): none any more */
void dvmd_job_streams_tap (DvmdJobStreams *self, DvmdOutputTap tap, gpointer user_data);
/* As dvmd_output_add_mirror(): until it is dropped, or the streams go. */
DvmdOutput *dvmd_job_streams_mirror (DvmdJobStreams *self, DvmdOutputFormat *format, DvmdOutputTap tap,
                                     gpointer user_data);
void dvmd_job_streams_drop_mirror (DvmdJobStreams *self, DvmdOutput *mirror);
/* As dvmd_output_keep(). */
void dvmd_job_streams_keep (DvmdJobStreams *self, const DvmdOutputPiece *piece);
/* A line of the DVM's own for those who read the job's errors. */
void dvmd_job_streams_say (DvmdJobStreams *self, const char *message);
/* Lines in place of that rank's. */
void dvmd_job_streams_insert (DvmdJobStreams *self, guint rank, DvmdStream stream, const char *text);
/* (nullable): not launched yet, or ended */
DvmdInput *dvmd_job_streams_get_input (DvmdJobStreams *self);
/* Its standard input has an owner. */
gboolean dvmd_job_streams_is_written_to (DvmdJobStreams *self);
/* As dvmd_controller_attach(). */
gboolean dvmd_job_streams_attach (DvmdJobStreams *self, DvmStreams streams, int fds[3], GError **error);

G_END_DECLS
