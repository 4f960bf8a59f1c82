/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions that are paused, preempted, signalled, terminated and separated, in the pure core, whatever their jobs are
 * at. Each test is named after the statements of spec/CONFORMANCE.md that it shows.
 */

#include "config.h"

#include "core-world.h"
#include "dvmd-core-session-control.h"

/* ---- sessions ---- */

static DvmdSession *
reserve_with (World *world, const char *host, DvmdGrowRequest *request)
{
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  DvmdGrowHost hosts[] = { { .name = host, .slots = 2 } };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  if (request->requester == NULL)
    request->requester = requester;
  request->hosts = hosts;
  request->n_hosts = 1;
  request->share_given = TRUE;
  dvmd_core_grow (world->core, request, &answer, &error);
  g_assert_no_error (error);
  run (world);
  return dvmd_core_get_session (world->core, answer.session);
}

static DvmdSession *
reserve (World *world, const char *host)
{
  DvmdGrowRequest request = { 0 };

  return reserve_with (world, host, &request);
}

static DvmSessionState
state_of (DvmdSession *session)
{
  return dvm_session_get_state (dvmd_session_get_record (session));
}

static gboolean
try_control (World *world, DvmdSession *session, const DvmdSessionControl *control, const char *who, GError **error)
{
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (who, 1000, 42);
  gboolean done = dvmd_core_control_session (world->core, session, control, requester, error);

  run (world);
  return done;
}

static void
control_job (World *world, DvmdSession *session, DvmdSessionOp op, DvmdJob *job)
{
  const DvmdSessionControl control = { .op = op,
                                       .signal = 10,
                                       .nspace = job != NULL ? dvm_job_get_nspace (dvmd_job_get_record (job)) : NULL };
  g_autoptr (GError) error = NULL;

  try_control (world, session, &control, "private:1", &error);
  g_assert_no_error (error);
}

static void
control (World *world, DvmdSession *session, DvmdSessionOp op)
{
  control_job (world, session, op, NULL);
}

/* ---- jobs ---- */

static DvmdJob *
submit_into (World *world, DvmdSession *session, DvmJobSpec *given, guint np)
{
  g_autoptr (DvmJobSpec) spec = given != NULL ? g_object_ref (given) : make_spec (np);

  dvm_job_spec_set_session (spec, dvmd_session_get_id (session));
  return submit_spec (world, spec);
}

static DvmdJob *
launch_into (World *world, DvmdSession *session, guint np)
{
  DvmdJob *job = submit_into (world, session, NULL, np);

  launch_all (world, job);
  g_string_truncate (world->log, 0);
  return job;
}

static const char *
reason_of (DvmdJob *job)
{
  return dvm_job_get_reason (dvmd_job_get_record (job));
}

static gboolean
is_paused (DvmdJob *job)
{
  return dvm_job_get_paused (dvmd_job_get_record (job));
}

static void
assert_mentions (const char *text, const char *word)
{
  if (strstr (text, word) == NULL)
    g_error ("“%s” does not mention “%s”", text, word);
}

/* ---- pause and preempt ---- */

/* S16: each job is stopped once and continued once. */
static void
test_pause (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  launch_into (&world, session, 1);
  launch_into (&world, session, 1);
  launch_all (&world, submit (&world, 1));
  g_string_truncate (world.log, 0);
  control (&world, session, DVMD_SESSION_PAUSE);
  assert_log (&world, "stop 1\nstop 2\n");
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_PAUSED);
  control (&world, session, DVMD_SESSION_PAUSE);
  assert_log (&world, "");
  control (&world, session, DVMD_SESSION_RESUME);
  assert_log (&world, "continue 1\ncontinue 2\n");
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ACTIVE);
  control (&world, session, DVMD_SESSION_RESUME);
  assert_log (&world, "");
}

/* S17: one reason may go while the other stays; a namespace chooses one job. */
static void
test_preempt (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  job = launch_into (&world, session, 1);
  launch_into (&world, session, 1);
  g_assert_false (is_paused (job));
  control_job (&world, session, DVMD_SESSION_PREEMPT, job);
  assert_log (&world, "stop 1\n");
  g_assert_true (is_paused (job));
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ACTIVE);
  control (&world, session, DVMD_SESSION_PREEMPT);
  assert_log (&world, "stop 2\n");
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_PAUSED);
  control (&world, session, DVMD_SESSION_PAUSE);
  control (&world, session, DVMD_SESSION_RESTORE);
  assert_log (&world, "");
  g_assert_true (is_paused (job));
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_PAUSED);
  control (&world, session, DVMD_SESSION_RESUME);
  assert_log (&world, "continue 1\ncontinue 2\n");
  g_assert_false (is_paused (job));
  /* The jobs keep the slots that they have claimed. */
  g_assert_cmpuint (dvmd_node_pool_get (dvmd_core_get_nodes (world.core), 2)->slots_in_use, ==, 2);
}

/* S16: jobs that come to a paused session, or wait for slots there, are placed when it goes on. */
static void
test_held (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdJob *running;
  DvmdJob *waiting;
  DvmdJob *late;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  running = launch_into (&world, session, 4);
  waiting = submit_into (&world, session, NULL, 3);
  assert_held (waiting, "slots");
  control (&world, session, DVMD_SESSION_PAUSE);
  assert_held (waiting, "session");
  late = submit_into (&world, session, NULL, 1);
  assert_held (late, "session");
  g_assert_true (is_paused (late));
  assert_state (late, DVM_JOB_STATE_ALLOCATE);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 2);
  /* Slots that come free are not for them. */
  run_to_end (&world, running);
  assert_held (waiting, "session");
  g_assert_cmpuint (dvmd_node_pool_get (dvmd_core_get_nodes (world.core), 2)->slots_in_use, ==, 0);
  control (&world, session, DVMD_SESSION_RESUME);
  assert_state (waiting, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  assert_state (late, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
  assert_held (waiting, "");
}

/* S16: one on its way to its processes: those are stopped when they are there, all of them. */
static void
test_launching (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  job = submit_into (&world, session, NULL, 2);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  g_string_truncate (world.log, 0);
  control (&world, session, DVMD_SESSION_PAUSE);
  dvmd_core_proc_launched (world.core, job, 0, 100, 0, NULL);
  run (&world);
  assert_log (&world, "started 1\n");
  launch_all (&world, job);
  assert_log (&world, "stop 1\n");
}

/* S16: one that has been placed waits with what it has, and its launch message is not sent. */
static void
test_placed (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *files[] = { "/tmp/data.txt", NULL };
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  job = submit_into (&world, session, spec, 1);
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  control (&world, session, DVMD_SESSION_PAUSE);
  dvmd_core_files_staged (world.core, job, 2, NULL);
  run (&world);
  assert_state (job, DVM_JOB_STATE_LAUNCH_APPS);
  assert_held (job, "session");
  g_string_truncate (world.log, 0);
  control (&world, session, DVMD_SESSION_RESUME);
  assert_log (&world, "launch 1\n");
  assert_held (job, "");
}

/* D2: its node leaves while it waits so: it is placed anew when it goes on; and no campaign waits for it. */
static void
test_placed_leaves (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  const char *files[] = { "/tmp/data.txt", NULL };
  DvmdGrowRequest more = { .extend = TRUE, .session = 1 };
  DvmdCampaign *campaign;
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 3, 2);
  session = reserve (&world, "node2");
  reserve_with (&world, "node3", &more);
  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  job = submit_into (&world, session, spec, 2);
  control (&world, session, DVMD_SESSION_PAUSE);
  dvmd_core_files_staged (world.core, job, 2, NULL);
  run (&world);
  assert_state (job, DVM_JOB_STATE_LAUNCH_APPS);
  campaign = shrink (&world, "node2");
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  depart (&world, 2);
  offered (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_held (job, "session");
  control (&world, session, DVMD_SESSION_RESUME);
  dvmd_core_files_staged (world.core, job, 3, NULL);
  run (&world);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  g_assert_cmpuint (dvm_job_get_remapped (dvmd_job_get_record (job)), ==, 1);
  g_assert_cmpuint (dvmd_proc_table_row (dvmd_job_get_procs (job), 0)->node, ==, 3);
}

/* The same with a node that is lost, in a DVM that keeps its nodes: the job fails, when it goes on, and names it. */
static void
test_placed_lost (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *files[] = { "/tmp/data.txt", NULL };
  DvmdSession *session;
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  session = reserve (&world, "node2");
  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  job = submit_into (&world, session, spec, 1);
  control (&world, session, DVMD_SESSION_PAUSE);
  dvmd_core_files_staged (world.core, job, 2, NULL);
  run (&world);
  assert_held (job, "session");
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  run (&world);
  control (&world, session, DVMD_SESSION_RESUME);
  assert_state (job, DVM_JOB_STATE_FAILED_TO_LAUNCH);
  assert_mentions (reason_of (job), "node2");
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
}

/* A job whose ranks wait for a debugger is let go by nobody else. */
static void
test_debugger (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  dvm_job_spec_set_runtime_options (spec, "stop-on-exec");
  job = submit_into (&world, session, spec, 1);
  launch_all (&world, job);
  end_proc (&world, job, 0, DVM_PROC_STATE_READY_FOR_DEBUG, 0, 0);
  assert_state (job, DVM_JOB_STATE_READY_FOR_DEBUG);
  g_string_truncate (world.log, 0);
  control (&world, session, DVMD_SESSION_PAUSE);
  control (&world, session, DVMD_SESSION_RESUME);
  assert_log (&world, "");
  control (&world, session, DVMD_SESSION_PAUSE);
  end_proc (&world, job, 0, DVM_PROC_STATE_RUNNING, 0, 0);
  assert_log (&world, "stop 1\n");
}

/* One that is parked while the DVM grows is held when that is over; the campaign does not wait for it. */
static void
test_parked (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  campaign = grow (&world, "node3");
  job = submit_into (&world, session, NULL, 1);
  assert_held (job, "map");
  control (&world, session, DVMD_SESSION_PAUSE);
  assert_held (job, "map");
  report_in (&world, 3);
  wired (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_held (job, "session");
  control (&world, session, DVMD_SESSION_RESUME);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* A job can be paused by itself, too. */
static void
test_one_job (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  job = launch_into (&world, session, 1);
  g_assert_true (dvmd_core_pause_job (world.core, job, &error));
  control (&world, session, DVMD_SESSION_PAUSE);
  control (&world, session, DVMD_SESSION_RESUME);
  assert_log (&world, "stop 1\n");
  g_assert_true (dvmd_core_resume_job (world.core, job, &error));
  assert_log (&world, "continue 1\n");
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  g_assert_false (dvmd_core_pause_job (world.core, job, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
}

/* S18 */
static void
test_signal (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  launch_into (&world, session, 1);
  job = launch_into (&world, session, 1);
  submit_into (&world, session, NULL, 4);
  control (&world, session, DVMD_SESSION_SIGNAL);
  assert_log (&world, "signal 1\nsignal 2\n");
  control_job (&world, session, DVMD_SESSION_SIGNAL, job);
  assert_log (&world, "signal 2\n");
}

/* ---- terminate ---- */

/* S19, S24, S28: what is stopped goes on first, all jobs end, and when the last process has gone the nodes leave. */
static void
test_terminate (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .inheritance = DVMD_INHERIT_NONE, .inheritance_given = TRUE };
  g_autoptr (DvmdSession) session = NULL;
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 1, 4);
  session = g_object_ref (reserve_with (&world, "node2", &request));
  report_in (&world, 2);
  wired (&world, dvmd_core_get_campaign (world.core, 1));
  job = launch_into (&world, session, 1);
  control (&world, session, DVMD_SESSION_PAUSE);
  g_string_truncate (world.log, 0);
  control (&world, session, DVMD_SESSION_TERMINATE);
  assert_log (&world, "continue 1\nkill 1\n");
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
  assert_mentions (reason_of (job), "terminated");
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_TERMINATING);
  g_assert_null (dvmd_core_get_campaign (world.core, 2));
  all_gone (&world, job);
  campaign = dvmd_core_get_campaign (world.core, 2);
  g_assert_nonnull (campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  depart (&world, 2);
  offered (&world, campaign);
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ENDED);
  g_assert_null (dvmd_core_get_session (world.core, 1));
  /* Once. */
  g_assert_null (dvmd_core_get_campaign (world.core, 3));
}

/* A second request to end a session succeeds; nothing else can be done to a session that is ending. */
static void
test_terminate_again (void)
{
  g_auto (World) world = { 0 };
  const DvmdSessionControl end = { .op = DVMD_SESSION_TERMINATE };
  const DvmdSessionControl pause = { .op = DVMD_SESSION_PAUSE };
  g_autoptr (DvmdSession) session = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *stranger = NULL;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  session = g_object_ref (reserve (&world, "node2"));
  job = launch_into (&world, session, 1);
  stranger = g_strdup_printf ("pmix:%s.0", dvm_job_get_nspace (dvmd_job_get_record (submit (&world, 1))));
  g_string_truncate (world.log, 0);
  control (&world, session, DVMD_SESSION_TERMINATE);
  assert_log (&world, "kill 1\n");
  control (&world, session, DVMD_SESSION_TERMINATE);
  assert_log (&world, "");
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_TERMINATING);
  g_assert_false (try_control (&world, session, &end, stranger, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS);
  g_clear_error (&error);
  g_assert_false (try_control (&world, session, &pause, "private:1", &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  all_gone (&world, job);
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ENDED);
}

/* A session that is released goes when its jobs have gone: who terminates it does not wait for them. */
static void
test_terminate_released (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .inheritance = DVMD_INHERIT_NONE, .inheritance_given = TRUE };
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  DvmdShrinkRequest release = { .session = 1, .drain_timeout = 3600, .requester = requester };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (DvmdSession) session = NULL;
  g_autoptr (GError) error = NULL;
  DvmdJob *job;

  world_init_elastic (&world, 1, 4);
  session = g_object_ref (reserve_with (&world, "node2", &request));
  report_in (&world, 2);
  wired (&world, dvmd_core_get_campaign (world.core, 1));
  job = launch_into (&world, session, 1);
  dvmd_core_shrink (world.core, &release, &answer, &error);
  g_assert_no_error (error);
  run (&world);
  g_string_truncate (world.log, 0);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  control (&world, session, DVMD_SESSION_TERMINATE);
  assert_log (&world, "kill 1\n");
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
  all_gone (&world, job);
  depart (&world, 2);
  offered (&world, dvmd_core_get_campaign (world.core, answer.campaign));
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ENDED);
}

/* S24: the default keeps its nodes in the DVM, for everybody. */
static void
test_terminate_default (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdSession) session = NULL;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  session = g_object_ref (reserve (&world, "node2"));
  job = launch_into (&world, session, 1);
  control (&world, session, DVMD_SESSION_TERMINATE);
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_TERMINATING);
  all_gone (&world, job);
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ENDED);
  g_assert_cmpuint (dvmd_core_get_campaigns_running (world.core), ==, 0);
  assert_state (submit (&world, 4), DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* S24: so do nodes that it has brought. */
static void
test_terminate_default_brought (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdSession) session = NULL;
  DvmdJob *job;

  world_init_elastic (&world, 1, 2);
  session = g_object_ref (reserve (&world, "node2"));
  report_in (&world, 2);
  wired (&world, dvmd_core_get_campaign (world.core, 1));
  job = launch_into (&world, session, 1);
  control (&world, session, DVMD_SESSION_TERMINATE);
  all_gone (&world, job);
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ENDED);
  g_assert_cmpuint (dvmd_core_get_campaigns_running (world.core), ==, 0);
  assert_state (submit (&world, 4), DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* D18: its jobs that have not been launched never are, wherever they are. */
static void
test_terminate_waiting (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *files[] = { "/tmp/data.txt", NULL };
  g_autoptr (DvmdSession) session = NULL;
  DvmdJob *jobs[4];

  world_init_elastic (&world, 2, 4);
  session = g_object_ref (reserve (&world, "node2"));
  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  jobs[0] = submit_into (&world, session, spec, 1);
  jobs[1] = submit_into (&world, session, NULL, 4);
  assert_held (jobs[1], "slots");
  grow (&world, "node3");
  jobs[2] = submit_into (&world, session, NULL, 1);
  assert_held (jobs[2], "map");
  control (&world, session, DVMD_SESSION_PAUSE);
  control (&world, session, DVMD_SESSION_TERMINATE);
  all_gone (&world, jobs[0]);
  for (guint i = 0; i < 3; i++)
    {
      assert_state (jobs[i], DVM_JOB_STATE_NEVER_LAUNCHED);
      g_assert_true (dvmd_job_get_ended (jobs[i]));
      assert_mentions (reason_of (jobs[i]), "session 1");
      assert_mentions (reason_of (jobs[i]), "private:1 has terminated it");
      assert_held (jobs[i], "");
    }
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ENDED);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
}

/* D15: its launch message is under way: it counts as running, and ends. */
static void
test_terminate_launching (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdSession) session = NULL;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = g_object_ref (reserve (&world, "node2"));
  job = submit_into (&world, session, NULL, 2);
  g_string_truncate (world.log, 0);
  control (&world, session, DVMD_SESSION_TERMINATE);
  assert_log (&world, "kill 1\n");
  launch_all (&world, job);
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
  all_gone (&world, job);
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ENDED);
}

/* Nodes that are on their way for a session that is terminated do not come. */
static void
test_terminate_growing (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdSession) session = NULL;
  DvmdCampaign *campaign;

  world_init_elastic (&world, 1, 4);
  session = g_object_ref (reserve (&world, "node9"));
  campaign = dvmd_core_get_campaign (world.core, 1);
  control (&world, session, DVMD_SESSION_TERMINATE);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_ROLLING_BACK);
  depart (&world, 2);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_FAILED);
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ENDED);
}

/* S6: sessions below it end with it, unless they are separate. */
static void
test_terminate_children (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest below = { .session = 1 };
  DvmdGrowRequest beside = { .session = 1, .child_separate = TRUE };
  g_autoptr (DvmdSession) child = NULL;
  DvmdSession *separate;
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 4, 4);
  session = reserve (&world, "node2");
  child = g_object_ref (reserve_with (&world, "node3", &below));
  separate = reserve_with (&world, "node4", &beside);
  job = launch_into (&world, child, 1);
  control (&world, session, DVMD_SESSION_TERMINATE);
  g_assert_null (dvmd_core_get_session (world.core, 1));
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_cmpint (state_of (child), ==, DVM_SESSION_STATE_TERMINATING);
  all_gone (&world, job);
  g_assert_cmpint (state_of (child), ==, DVM_SESSION_STATE_ENDED);
  g_assert_cmpint (state_of (separate), ==, DVM_SESSION_STATE_ACTIVE);
}

/* S15: one that was made for its jobs ends after the last of them. */
static void
test_ends_itself (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdSession) session = NULL;
  DvmdJob *first;
  DvmdJob *second;

  world_init_elastic (&world, 2, 4);
  session = g_object_ref (reserve (&world, "node2"));
  first = launch_into (&world, session, 1);
  dvmd_session_set_ends_itself (session);
  second = submit_into (&world, session, NULL, 1);
  run_to_end (&world, first);
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ACTIVE);
  run_to_end (&world, second);
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ENDED);
}

/* R52: nothing stays of one that was made for jobs that could not be started, but what was there before. */
static void
test_discard (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdSession) session = NULL;
  g_autoptr (GError) error = NULL;
  DvmdGrowRequest more = { .extend = TRUE, .session = 1 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = g_object_ref (reserve (&world, "node2"));
  reserve_with (&world, "node3", &more);
  campaign = dvmd_core_get_campaign (world.core, 1);
  report_in (&world, 3);
  wired (&world, campaign);
  job = launch_into (&world, session, 5);
  dvmd_core_discard_session (world.core, session, campaign);
  run (&world);
  dvmd_core_fail_job (world.core, job, DVM_JOB_STATE_FAILED_TO_START, "no such program");
  run (&world);
  g_assert_null (dvmd_core_get_campaign (world.core, 2));
  all_gone (&world, job);
  g_assert_nonnull (dvmd_core_get_campaign (world.core, 2));
  depart (&world, 3);
  offered (&world, dvmd_core_get_campaign (world.core, 2));
  g_assert_cmpint (state_of (session), ==, DVM_SESSION_STATE_ENDED);
  g_assert_null (dvmd_node_pool_get (dvmd_core_get_nodes (world.core), 3));
  g_assert_nonnull (dvmd_node_pool_get (dvmd_core_get_nodes (world.core), 2));
  assert_state (submit (&world, 8), DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* R62, R64: released while it is paused: jobs on nodes that stay go on, for nobody could resume them any more. */
static void
test_release_paused (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  const DvmdShrinkRequest request = { .requester = requester, .session = 1 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  job = launch_into (&world, session, 1);
  control (&world, session, DVMD_SESSION_PAUSE);
  g_string_truncate (world.log, 0);
  g_assert_true (dvmd_core_shrink (world.core, &request, &answer, &error));
  run (&world);
  assert_log (&world, "continue 1\n");
  assert_state (job, DVM_JOB_STATE_RUNNING);
}

/* ---- refusals ---- */

static void
assert_refused (World *world, DvmdSession *session, const DvmdSessionControl *asked, const char *who, DvmError code,
                const char *word)
{
  g_autoptr (GError) error = NULL;
  DvmSessionState before = state_of (session);

  g_assert_false (try_control (world, session, asked, who, &error));
  g_assert_error (error, DVM_ERROR, (int)code);
  assert_mentions (error->message, word);
  g_assert_cmpint (state_of (session), ==, before);
  assert_log (world, "");
}

static void
test_refused (void)
{
  g_auto (World) world = { 0 };
  DvmdSessionControl pause = { .op = DVMD_SESSION_PAUSE };
  DvmdSessionControl strange = { .op = DVMD_SESSION_SIGNAL, .signal = 10, .nspace = "nobody" };
  g_autofree char *application = NULL;
  g_autoptr (GArray) ids = NULL;
  g_autoptr (DvmdRequester) tool = dvmd_requester_new ("private:1", 1000, 42);
  DvmdSession *session;
  DvmdJob *job;

  world_init_elastic (&world, 2, 4);
  session = reserve (&world, "node2");
  job = submit (&world, 1);
  launch_all (&world, job);
  g_string_truncate (world.log, 0);
  application = g_strdup_printf ("pmix:%s.0", dvm_job_get_nspace (dvmd_job_get_record (job)));
  assert_refused (&world, dvmd_core_get_session (world.core, 0), &pause, "private:1", DVM_ERROR_NOT_SUPPORTED,
                  "default");
  assert_refused (&world, session, &pause, application, DVM_ERROR_NO_PERMISSIONS, "session 1");
  assert_refused (&world, session, &strange, "private:1", DVM_ERROR_NOT_FOUND, "nobody");
  strange.nspace = dvm_job_get_nspace (dvmd_job_get_record (job));
  assert_refused (&world, session, &strange, "private:1", DVM_ERROR_NOT_FOUND, strange.nspace);
  ids = dvmd_core_list_controlled_sessions (world.core, tool);
  g_assert_cmpuint (ids->len, ==, 1);
  g_assert_cmpuint (g_array_index (ids, guint, 0), ==, 1);
}

/* Nothing of a thousand sessions stays. */
static void
test_thousand (void)
{
  g_auto (World) world = { 0 };

  world_init_elastic (&world, 2, 4);
  for (guint i = 0; i < 1000; i++)
    {
      DvmdSession *session = reserve (&world, "node2");
      DvmdJob *job = launch_into (&world, session, 2);

      control (&world, session, i % 2 == 0 ? DVMD_SESSION_PAUSE : DVMD_SESSION_PREEMPT);
      control (&world, session, DVMD_SESSION_TERMINATE);
      all_gone (&world, job);
      g_string_truncate (world.log, 0);
    }
  g_assert_null (dvmd_core_next_session (world.core, dvmd_core_get_session (world.core, 0)));
  g_assert_cmpuint (dvmd_core_get_num_live (world.core), ==, 0);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/session-control/S16/pause", test_pause);
  g_test_add_func ("/session-control/S16/held", test_held);
  g_test_add_func ("/session-control/S16/launching", test_launching);
  g_test_add_func ("/session-control/S16/placed", test_placed);
  g_test_add_func ("/session-control/D2/placed-leaves", test_placed_leaves);
  g_test_add_func ("/session-control/S16/placed-lost", test_placed_lost);
  g_test_add_func ("/session-control/S16/debugger", test_debugger);
  g_test_add_func ("/session-control/S16/parked", test_parked);
  g_test_add_func ("/session-control/S16/one-job", test_one_job);
  g_test_add_func ("/session-control/S17/preempt", test_preempt);
  g_test_add_func ("/session-control/S18/signal", test_signal);
  g_test_add_func ("/session-control/S19,S24,S28/terminate", test_terminate);
  g_test_add_func ("/session-control/terminate-again", test_terminate_again);
  g_test_add_func ("/session-control/terminate-released", test_terminate_released);
  g_test_add_func ("/session-control/S24/default", test_terminate_default);
  g_test_add_func ("/session-control/S24/default-brought", test_terminate_default_brought);
  g_test_add_func ("/session-control/D18/waiting", test_terminate_waiting);
  g_test_add_func ("/session-control/D15/launching", test_terminate_launching);
  g_test_add_func ("/session-control/S19/growing", test_terminate_growing);
  g_test_add_func ("/session-control/S6/children", test_terminate_children);
  g_test_add_func ("/session-control/S15/ends-itself", test_ends_itself);
  g_test_add_func ("/session-control/R52/discard", test_discard);
  g_test_add_func ("/session-control/R62/release-paused", test_release_paused);
  g_test_add_func ("/session-control/S9,S11/refused", test_refused);
  g_test_add_func ("/session-control/thousand", test_thousand);
  return g_test_run ();
}
