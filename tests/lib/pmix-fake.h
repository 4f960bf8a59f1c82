/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix.h"

G_BEGIN_DECLS

/*
 * A server without libpmix, for tests of many agents in one process: it accepts jobs, answers from an idle source as
 * the real one does, and remembers. Its clients are played by the test, which calls the host through it.
 */

#define TEST_TYPE_PMIX_FAKE (pmix_fake_get_type ())
G_DECLARE_FINAL_TYPE (PmixFake, pmix_fake, TEST, PMIX_FAKE, GObject)

PmixFake *pmix_fake_new (void);

/* The host given to start(), NULL when not running. */
DvmdPmixHost *pmix_fake_get_host (PmixFake *self);
guint pmix_fake_get_n_jobs (PmixFake *self);
/* (nullable): the job while it is registered. */
DvmdPmixJob *pmix_fake_find_job (PmixFake *self, const char *nspace);
/* The next registration fails so. */
void pmix_fake_set_error (PmixFake *self, const GError *error);

/* Registrations take as long as this is TRUE; the jobs are there at once, as in the library. */
void pmix_fake_hold_registrations (PmixFake *self, gboolean hold);

/* s, of fences from now on; 0: none */
void pmix_fake_set_fence_timeout (PmixFake *self, guint timeout);
/* All local participants have come to a fence; token of its answer. */
guint64 pmix_fake_fence (PmixFake *self, const DvmdPmixProc *participants, guint n_participants, GBytes *data);
/* FALSE: not answered yet. data (out) (optional) (nullable) */
gboolean pmix_fake_get_answer (PmixFake *self, guint64 token, int *status, GBytes **data);
/* A local rank has put data: fetch_modex answers with it. */
void pmix_fake_put (PmixFake *self, const char *nspace, guint32 rank, GBytes *data);
/* A local client asks for what nspace.rank has put; token of its answer. */
guint64 pmix_fake_direct_modex (PmixFake *self, const char *nspace, guint32 rank);

/* A local client or tool calls; request (floating is sunk): of the type of the kind; token of its answer. */
guint64 pmix_fake_call (PmixFake *self, DvmdCallKind kind, const char *nspace, guint32 rank, GVariant *request);
/* A local client or tool asks for nodes, in the words of the bus (floating is sunk); token of its answer. */
guint64 pmix_fake_allocate (PmixFake *self, const char *nspace, guint32 rank, const char *directive, GVariant *request);
/* A local client or tool publishes, looks up or unpublishes (floating is sunk); token of its answer. */
guint64 pmix_fake_data (PmixFake *self, DvmdPmixDataOp op, const char *nspace, guint32 rank, GVariant *request);
/* All local participants have come to a connect, or (leave) a disconnect; token of its answer. */
guint64 pmix_fake_connect (PmixFake *self, gboolean leave, const DvmdPmixProc *participants, guint n_participants,
                           guint timeout);
/* FALSE: not answered yet. answer (out) (nullable): of the type of the kind */
gboolean pmix_fake_get_allocation (PmixFake *self, guint64 token, int *status, GVariant **answer);
/* A local client or tool wants a job, (aa{sv}a{sv}) as SubmitApps has it (floating is sunk); token of its answer. */
guint64 pmix_fake_spawn (PmixFake *self, const char *nspace, guint32 rank, GVariant *job, guint timeout, guint streams);
/* The text is the output of jobs that was delivered: "NSPACE.RANK:STREAM:TEXT", one after another. */
const char *pmix_fake_get_output (PmixFake *self);
/* FALSE: not answered yet. nspace (out) (nullable) */
gboolean pmix_fake_get_spawn (PmixFake *self, guint64 token, int *status, const char **nspace);
/* It wants something done to jobs; token of the answer. */
guint64 pmix_fake_control (PmixFake *self, const char *nspace, guint32 rank, const DvmdPmixProc *targets,
                           guint n_targets, const char *operation, int signum);
/* How often that process was told of status; details (out) (optional) (nullable): of the last time. */
guint pmix_fake_count_events (PmixFake *self, const char *nspace, guint32 rank, int status, GVariant **details);

/* Status codes of the events that came, in their order. */
GArray *pmix_fake_get_events (PmixFake *self);
/* (nullable): what the last of them brought along, a{sv} */
GVariant *pmix_fake_get_details (PmixFake *self);

G_END_DECLS
