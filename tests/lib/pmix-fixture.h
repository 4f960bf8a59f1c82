/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-server.h"

G_BEGIN_DECLS

/* A PMIx server in this process with a host that only counts, and jobs of real processes under it. */

#define TEST_TYPE_HOST (test_host_get_type ())
G_DECLARE_FINAL_TYPE (TestHost, test_host, TEST, HOST, GObject)

struct _TestHost
{
  GObject parent_instance;
  DvmdPmix *pmix; /* unowned */
  guint n_connected;
  guint n_finalized;
  guint n_lost;
  guint n_fences;
  guint n_aborts;
  guint n_modexes;
  guint32 abort_rank;
  int abort_status;
  char *abort_message;
  guint64 fence_token;
  GBytes *fence_data;
  guint64 modex_token;
  guint32 modex_rank;
  guint n_events;      /* that clients have told, which go back to the job */
  guint n_tools;       /* the first is "test@tool-1" */
  char *tool_claim;    /* (nullable): what the last one called itself */
  guint n_allocations; /* of the last one: */
  guint64 alloc_token;
  char *alloc_requester; /* "NSPACE.RANK" */
  char *alloc_directive;
  GVariant *alloc_request;
};

typedef struct
{
  DvmdPmix *pmix;
  TestHost *host;
  char *runtime_dir;
  DvmdTopology *topology;
  gboolean quick; /* ranks are started the fastest way and their output is not caught */
} PmixFixture;

typedef struct
{
  guint n_running;
  GPtrArray *procs;   /* GSubprocess */
  GPtrArray *outputs; /* char * */
  GArray *statuses;   /* gint: exit code, or 128 + signal */
} PmixRun;

PmixFixture *pmix_fixture_new (const char *gds);
/* Checks that nothing is left on the disk. */
void pmix_fixture_free (PmixFixture *self);

/* n ranks of argv on this node; the job is registered on return. */
gboolean pmix_fixture_register (PmixFixture *self, DvmdPmixJob *job, GError **error);
void pmix_fixture_deregister (PmixFixture *self, const char *nspace);
DvmdPmixJob *pmix_fixture_new_job (PmixFixture *self, const char *nspace, guint n, const char *const *argv);

/* Starts the local ranks of a registered job. */
PmixRun *pmix_fixture_start (PmixFixture *self, DvmdPmixJob *job);
/* Iterates the main context until all have ended (60 s; then they are killed and the test fails). */
void pmix_run_wait (PmixRun *self);
int pmix_run_get_status (PmixRun *self, guint rank);
const char *pmix_run_get_output (PmixRun *self, guint rank);
void pmix_run_free (PmixRun *self);

/* A GAsyncReadyCallback that keeps the result in the GAsyncResult * given, and the waiting for it. */
void pmix_store_result (GObject *source, GAsyncResult *result, gpointer user_data);
void pmix_wait_result (GAsyncResult **slot);

/* Register, start, wait. */
PmixRun *pmix_fixture_run (PmixFixture *self, const char *nspace, guint n, const char *const *argv);

/* Iterates until *counter >= value. */
void pmix_wait_for (const guint *counter, guint value);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PmixFixture, pmix_fixture_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PmixRun, pmix_run_free)

G_END_DECLS
