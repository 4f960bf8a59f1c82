/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests of all kinds of callers, for the tests of sessions.
 */

#pragma once

#include "core-world.h"

#include "dvmd-core-sessions.h"

#define TOOL      "private:1"
#define SCHEDULER "scheduler:test"

/* The process 0 of the job. */
static inline char *
process_of (DvmdJob *job)
{
  return g_strdup_printf ("pmix:%s.0", dvm_job_get_nspace (dvmd_job_get_record (job)));
}

/* hosts (nullable): "node4 node5:2"; request (nullable): what else there is of it */
static inline gboolean
try_allocate (World *world, const char *who, const char *hosts, const DvmdGrowRequest *request, DvmdSizeAnswer *answer,
              GError **error)
{
  g_autoptr (DvmdRequester) requester = who != NULL ? dvmd_requester_new (who, 1000, 42) : NULL;
  DvmdGrowRequest asked = { 0 };
  g_auto (GStrv) words = g_strsplit (hosts != NULL ? hosts : "", " ", -1);
  DvmdGrowHost list[16] = { 0 };
  guint n = 0;

  if (request != NULL)
    asked = *request;
  for (; words[n] != NULL; n++)
    list[n].name = words[n];
  asked.requester = requester;
  asked.hosts = list;
  asked.n_hosts = n;
  return dvmd_core_grow (world->core, &asked, answer, error);
}

static inline DvmdSession *
allocate (World *world, const char *who, const char *hosts, const DvmdGrowRequest *request)
{
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  try_allocate (world, who, hosts, request, &answer, &error);
  g_assert_no_error (error);
  run (world);
  return dvmd_core_get_session (world->core, answer.session);
}

/* Nothing has come of it (R52). */
static inline void
refuse_allocate (World *world, const char *who, const char *hosts, const DvmdGrowRequest *request, DvmError code)
{
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  guint n_before = 0;
  guint n_after = 0;
  guint n_campaigns = dvmd_core_get_campaigns_running (world->core);

  for (DvmdSession *s = NULL; (s = dvmd_core_next_session (world->core, s)) != NULL;)
    n_before++;
  g_string_truncate (world->log, 0);
  g_assert_false (try_allocate (world, who, hosts, request, &answer, &error));
  g_assert_error (error, DVM_ERROR, (int)code);
  run (world);
  for (DvmdSession *s = NULL; (s = dvmd_core_next_session (world->core, s)) != NULL;)
    n_after++;
  g_assert_cmpuint (n_after, ==, n_before);
  g_assert_cmpuint (dvmd_core_get_campaigns_running (world->core), ==, n_campaigns);
  assert_log (world, "");
}

static inline gboolean
try_release (World *world, const char *who, guint session, const char *hosts, DvmdSizeAnswer *answer, GError **error)
{
  g_autoptr (DvmdRequester) requester = who != NULL ? dvmd_requester_new (who, 1000, 42) : NULL;
  g_auto (GStrv) words = hosts != NULL ? g_strsplit (hosts, " ", -1) : NULL;
  const DvmdShrinkRequest request = { .requester = requester, .session = session, .hosts = (const char *const *)words };

  return dvmd_core_shrink (world->core, &request, answer, error);
}

/* Its campaign; NULL: nothing leaves. */
static inline DvmdCampaign *
release (World *world, const char *who, guint session, const char *hosts)
{
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  try_release (world, who, session, hosts, &answer, &error);
  g_assert_no_error (error);
  run (world);
  return answer.campaign != 0 ? dvmd_core_get_campaign (world->core, answer.campaign) : NULL;
}

static inline void
refuse_release (World *world, const char *who, guint session, const char *hosts, DvmError code)
{
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  g_string_truncate (world->log, 0);
  g_assert_false (try_release (world, who, session, hosts, &answer, &error));
  g_assert_error (error, DVM_ERROR, (int)code);
  run (world);
  assert_log (world, "");
}

/* targets (nullable): "A B", "-" is the default session */
static inline DvmJobSpec *
make_targets (guint np, const char *targets)
{
  DvmJobSpec *spec = make_spec (np);
  g_auto (GStrv) words = g_strsplit (targets != NULL ? targets : "", " ", -1);

  for (gsize i = 0; words[i] != NULL; i++)
    if (strcmp (words[i], "-") == 0)
      words[i][0] = '\0';
  if (targets != NULL)
    dvm_job_spec_set_target (spec, (const char *const *)words);
  return spec;
}

static inline DvmdJob *
submit_as (World *world, const char *who, DvmJobSpec *spec, GError **error)
{
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (who, 1000, 42);
  DvmdJob *job = dvmd_core_submit (world->core, spec, requester, error);

  run (world);
  return job;
}

static inline DvmdJob *
spawn (World *world, const char *who, guint np, const char *targets)
{
  g_autoptr (DvmJobSpec) spec = make_targets (np, targets);
  g_autoptr (GError) error = NULL;
  DvmdJob *job = submit_as (world, who, spec, &error);

  g_assert_no_error (error);
  return job;
}

/* It runs. */
static inline DvmdJob *
spawn_running (World *world, const char *who, guint np, const char *targets)
{
  DvmdJob *job = spawn (world, who, np, targets);

  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  launch_all (world, job);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  return job;
}

static inline void
refuse_spawn (World *world, const char *who, const char *targets, DvmError code)
{
  g_autoptr (DvmJobSpec) spec = make_targets (1, targets);
  g_autoptr (GError) error = NULL;
  guint n_live = dvmd_core_get_num_live (world->core);

  g_assert_null (submit_as (world, who, spec, &error));
  g_assert_error (error, DVM_ERROR, (int)code);
  g_assert_cmpuint (dvmd_core_get_num_live (world->core), ==, n_live);
}

static inline void
end_job (World *world, DvmdJob *job)
{
  guint n = dvmd_job_get_procs (job)->n_rows;

  for (guint rank = 0; rank < n; rank++)
    end_proc (world, job, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (world, job);
}

static inline void
assert_strings (const char *const *strings, const char *text)
{
  g_autofree char *joined = g_strjoinv (" ", (char **)strings);

  g_assert_cmpstr (joined, ==, text);
}

static inline void
assert_nodes (DvmdSession *session, const char *names)
{
  dvmd_session_publish (session);
  assert_strings (dvm_session_get_nodes (dvmd_session_get_record (session)), names);
}

static inline void
assert_default_nodes (World *world, const char *names)
{
  assert_nodes (dvmd_core_get_session (world->core, 0), names);
}

static inline void
assert_jobs (DvmdSession *session, const char *paths)
{
  dvmd_session_publish (session);
  assert_strings (dvm_session_get_jobs (dvmd_session_get_record (session)), paths);
}

static inline void
assert_owners (DvmdSession *session, const char *owners)
{
  dvmd_session_publish (session);
  assert_strings (dvm_session_get_owners (dvmd_session_get_record (session)), owners);
}

static inline void
assert_job_nodes (DvmdJob *job, const char *names)
{
  assert_strings (dvm_job_get_nodes (dvmd_job_get_record (job)), names);
}

static inline const char *
alloc_of (DvmdSession *session)
{
  return dvmd_session_get_alloc_id (session);
}
