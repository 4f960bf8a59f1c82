/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of srun, what it starts on a node, and what srun says.
 */

#include "config.h"

#include "slurm-words.h"

#include <string.h>

static const char *const variables[] = { "PATH=/usr/bin:/bin",
                                         "HOME=/",
                                         "SLURM_JOB_ID=7",
                                         "SLURM_JOB_NODELIST=n[1-3]",
                                         "SLURM_NTASKS=48",
                                         "SLURM_CONF=/etc/slurm.conf",
                                         "SLURM_JWT=the-secret",
                                         "SLURM_MEM_PER_CPU=100",
                                         "SRUN_CPUS_PER_TASK=2",
                                         "SLURM_EXPORT_ENV=NONE",
                                         "SLURM_JOB_COMMENT=it's x",
                                         "SQUEUE_STATES=PENDING",
                                         NULL };
static const char *const nodes[] = { "n2", "n10", NULL };

static char **
make_argv (const char *options, const char *prefix, const char *const *agent_argv, GError **error)
{
  const SlurmStepWish wish = {
    .job = "7", .options = options, .prefix = prefix, .nodes = nodes, .environ = variables, .agent_argv = agent_argv
  };

  return slurm_make_argv (&wish, error);
}

/* ---- the command line ---- */

static void
test_command (void)
{
  const char *const agent[] = { "/opt/bin/dvm-agent", "--controller=tcp:h:1", NULL };
  const char *const wanted[] = {
    "--jobid=7",   "--nodes=2",        "--ntasks=2",   "--ntasks-per-node=1",   "--nodelist=n[2,10]",
    "--overlap",   "--mem=0",          "--mpi=none",   "--kill-on-bad-exit=0",  "--no-kill",
    "--wait=0",    "--cpu-bind=none",  "--export=ALL", "--job-name=dvm-agents", "--label",
    "--input=all", "--reservation=a b"
  };
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) argv = make_argv ("'--reservation=a b' -v", NULL, agent, &error);
  guint n = g_strv_length (argv);

  g_assert_no_error (error);
  g_assert_cmpstr (argv[0], ==, "srun");
  for (gsize i = 0; i < G_N_ELEMENTS (wanted); i++)
    g_assert_true (g_strv_contains ((const char *const *)argv, wanted[i]));
  g_assert_cmpstr (argv[n - 3], ==, "--");
  g_assert_cmpstr (argv[n - 2], ==, agent[0]);
  g_assert_cmpstr (argv[n - 1], ==, agent[1]);
  for (guint i = 0; i < n; i++)
    g_assert_null (strstr (argv[i], "the-secret"));
}

static void
test_prefix (void)
{
  const char *const agent[] = { "/opt/bin/dvm-agent", NULL };
  const char *const other[] = { "dvm-agent", NULL };
  g_auto (GStrv) argv = make_argv (NULL, "/usr/local", agent, NULL);
  g_auto (GStrv) second = make_argv ("", "/usr/local", other, NULL);
  g_auto (GStrv) third = make_argv (NULL, "", agent, NULL);

  g_assert_cmpstr (argv[g_strv_length (argv) - 1], ==, "/usr/local/bin/dvm-agent");
  g_assert_cmpstr (second[g_strv_length (second) - 1], ==, "/usr/local/bin/dvm-agent");
  g_assert_cmpstr (third[g_strv_length (third) - 1], ==, "/opt/bin/dvm-agent");
}

static void
test_wrong_options (void)
{
  const char *const agent[] = { "/opt/bin/dvm-agent", NULL };
  g_autoptr (GError) error = NULL;

  g_assert_null (make_argv ("--x='", NULL, agent, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_true (g_str_has_prefix (error->message, "The options for srun, \"--x='\", are no words: "));
}

static void
test_kill_command (void)
{
  g_auto (GStrv) gently = slurm_make_kill_argv ("7", "n2", 123, FALSE);
  g_auto (GStrv) at_once = slurm_make_kill_argv ("7", "n2", 123, TRUE);

  g_assert_true (g_strv_contains ((const char *const *)gently, "--nodelist=n2"));
  g_assert_true (g_strv_contains ((const char *const *)gently, "--overlap"));
  g_assert_true (g_strv_contains ((const char *const *)gently, "--job-name=dvm-kill"));
  g_assert_true (g_str_has_prefix (gently[g_strv_length (gently) - 1], "kill -TERM 123 "));
  g_assert_cmpstr (at_once[g_strv_length (at_once) - 1], ==, "kill -KILL 123");
}

/* Options of srun and squeue come from the environment, too; those of the user's are not for what the launcher asks. */
static void
test_environment (void)
{
  g_auto (GStrv) left = slurm_make_environ (variables);
  g_autofree char *joined = g_strjoinv (" ", left);

  g_assert_cmpstr (joined, ==, "PATH=/usr/bin:/bin HOME=/ SLURM_CONF=/etc/slurm.conf SLURM_JWT=the-secret");
}

static void
test_job (void)
{
  const char *const old[] = { "SLURM_JOB_ID=", "SLURM_JOBID=8", NULL };
  const char *const none[] = { "SLURM_JOB_ID=", "SLURM_JOBID=", NULL };

  g_assert_cmpstr (slurm_find_job (variables), ==, "7");
  g_assert_cmpstr (slurm_find_job (old), ==, "8");
  g_assert_null (slurm_find_job (none));
  g_assert_null (slurm_find_job (none + 2));
}

/* The task that is the last one of an array has the number of the array. */
static void
test_squeue (void)
{
  const char *const task[] = { "SLURM_JOB_ID=7", "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3", NULL };
  const char *const no_task[] = { "SLURM_JOB_ID=7", "SLURM_ARRAY_JOB_ID=5", "SLURM_ARRAY_TASK_ID=", NULL };
  g_auto (GStrv) plain = slurm_make_squeue_argv (variables, "%N", FALSE);
  g_auto (GStrv) of_task = slurm_make_squeue_argv (task, "%N", FALSE);
  g_auto (GStrv) of_none = slurm_make_squeue_argv (no_task, "%N", FALSE);
  g_autofree char *command = g_strjoinv (" ", plain);

  g_assert_cmpstr (command, ==, "squeue --noheader --format=%N --jobs=7");
  g_assert_true (g_strv_contains ((const char *const *)of_task, "--jobs=7_3"));
  g_assert_true (g_strv_contains ((const char *const *)of_none, "--jobs=7"));
}

/* ---- on a node ---- */

static GBytes *
make_line (const char *text)
{
  return g_bytes_new (text, strlen (text));
}

/* Runs all that follows srun's options, as srun would do there. */
static GSubprocess *
run_there (const char *node, char **out, char **messages)
{
  const char *const agent[] = {
    "/bin/sh",
    "-c",
    "read -r line; echo \"$line|$SLURM_NTASKS|${SLURM_PROCID-none}|${SRUN_DEBUG-none}|$SLURM_JWT|"
    "$SLURM_JOB_COMMENT|${XDG_RUNTIME_DIR-none}|$1|$2|$3\"; exit 9",
    "agent",
    "a  b",
    NULL
  };
  g_autoptr (GBytes) first = make_line ("token-of-2 id\n");
  g_autoptr (GBytes) second = make_line ("token-of-10 id\n");
  GBytes *const inputs[] = { first, second };
  g_autoptr (GBytes) input = slurm_make_input (nodes, inputs);
  g_auto (GStrv) argv = make_argv (NULL, NULL, agent, NULL);
  g_auto (GStrv) environment = slurm_make_environ (variables);
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (
      G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  GSubprocess *process;
  guint first_word = 0;

  while (strcmp (argv[first_word], "sh") != 0)
    first_word++;
  g_subprocess_launcher_set_environ (launcher, environment);
  g_subprocess_launcher_setenv (launcher, "SLURMD_NODENAME", node, TRUE);
  g_subprocess_launcher_setenv (launcher, "SLURM_PROCID", "1", TRUE);
  g_subprocess_launcher_setenv (launcher, "SLURM_NTASKS", "2", TRUE);
  g_subprocess_launcher_setenv (launcher, "SRUN_DEBUG", "3", TRUE);
  g_subprocess_launcher_setenv (launcher, "XDG_RUNTIME_DIR", "/run/user/of-another-machine", TRUE);
  process = g_subprocess_launcher_spawnv (launcher, (const char *const *)argv + first_word, &error);
  g_assert_no_error (error);
  text = g_strndup (g_bytes_get_data (input, NULL), g_bytes_get_size (input));
  g_assert_true (g_subprocess_communicate_utf8 (process, text, NULL, out, messages, &error));
  g_assert_no_error (error);
  return process;
}

static void
test_node (void)
{
  g_autofree char *out = NULL;
  g_autofree char *messages = NULL;
  g_autoptr (GSubprocess) process = run_there ("n10", &out, &messages);

  g_assert_cmpint (g_subprocess_get_exit_status (process), ==, 0);
  g_assert_cmpstr (out, ==, "token-of-10 id|48|none|none|the-secret|it's x|none|a  b|--node|n10\n");
  g_assert_true (g_regex_match_simple ("^dvm-agent-process [0-9]+ n10\ndvm-agent-ended 9\n$", messages, 0, 0));
}

static void
test_strange_node (void)
{
  g_autofree char *out = NULL;
  g_autofree char *messages = NULL;
  g_autoptr (GSubprocess) process = run_there ("n1", &out, &messages);

  g_assert_cmpint (g_subprocess_get_exit_status (process), ==, 0);
  g_assert_cmpstr (out, ==, "");
  g_assert_true (g_regex_match_simple (
      "^dvm-agent-process [0-9]+ n1\nn1 is none of the nodes of this start\ndvm-agent-ended 1\n$", messages, 0, 0));
}

/* ---- what srun says ---- */

static void
test_labels (void)
{
  static const struct
  {
    const char *line;
    int task; /* -1: none */
    const char *text;
  } rows[] = {
    { "0: hello", 0, "hello" },        { "12: a: b", 12, "a: b" },   { " 3: x", 3, "x" }, { "7: ", 7, "" },
    { "srun: error: 3: x", -1, NULL }, { "7:x", -1, NULL },          { ": x", -1, NULL }, { "", -1, NULL },
    { "99999999999: far", -1, NULL },  { "007: james", 7, "james" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      guint task = 0;
      const char *text = NULL;

      g_assert_cmpint (slurm_parse_label (rows[i].line, &task, &text), ==, rows[i].task >= 0);
      if (rows[i].task >= 0)
        g_assert_cmpuint (task, ==, (guint)rows[i].task);
      g_assert_cmpstr (text, ==, rows[i].text);
    }
}

static void
test_task_ends (void)
{
  static const struct
  {
    const char *line;
    const char *nodes;
    const char *words;
  } rows[] = {
    { "srun: error: n2: task 1: Killed", "n2", "Killed" },
    { "srun: error: n[1-3]: tasks 0-2: Exited with exit code 1", "n1 n2 n3", "Exited with exit code 1" },
    { "srun: error: n[1,3]: tasks 0,2: Segmentation fault (core dumped)", "n1 n3", "Segmentation fault (core dumped)" },
    { "srun: error: Unable to create step for job 1: Requested nodes are busy", NULL, NULL },
    { "srun: error: : task 1: Killed", NULL, NULL },
    { "srun: error: n[1: task 1: Killed", NULL, NULL },
    { "srun: error: n1: task", NULL, NULL },
    { "n1: task 1: Killed", NULL, NULL },
    { "", NULL, NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *words = NULL;
      g_auto (GStrv) found = slurm_parse_task_end (rows[i].line, &words);
      g_autofree char *joined = found != NULL ? g_strjoinv (" ", found) : NULL;

      g_assert_cmpstr (joined, ==, rows[i].nodes);
      if (found != NULL)
        g_assert_cmpstr (words, ==, rows[i].words);
    }
}

static void
test_refusal (void)
{
  static const struct
  {
    const char *line;
    const char *node; /* NULL: it is none */
    const char *words;
  } rows[] = {
    { "srun: error: Task launch for StepId=1.0 failed on node n2: Socket timed out on send/recv operation", "n2",
      "Task launch for StepId=1.0 failed on node n2: Socket timed out on send/recv operation" },
    { "srun: error: Task launch for 1.0 failed on node a-b.c: Invalid job credential", "a-b.c",
      "Task launch for 1.0 failed on node a-b.c: Invalid job credential" },
    { "srun: error: Task launch for StepId=1.0 failed on node : x", NULL, NULL },
    { "srun: error: Application launch failed: Socket timed out on send/recv operation", NULL, NULL },
    { "n2: Task launch for 1.0 failed on node n2: x", NULL, NULL },
    { "", NULL, NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *words = NULL;
      g_autofree char *node = slurm_parse_refusal (rows[i].line, &words);

      g_assert_cmpstr (node, ==, rows[i].node);
      g_assert_cmpstr (words, ==, rows[i].words);
    }
}

/* The first node of a step says so of itself: that it is down is no end of the others. */
static void
test_step_end (void)
{
  const char *const others[] = {
    "0: slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-28T00:33:28 DUE TO NODE FAILURE, SEE SLURMCTLD "
    "LOG FOR DETAILS ***",
    "0: slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT", "srun: error: n1: task 0: Killed", ""
  };
  g_autofree char *limit = slurm_parse_step_end (
      "0: slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-28T00:33:28 DUE TO TIME LIMIT ***");

  g_assert_cmpstr (limit, ==, "STEP 7.0 ON n1 CANCELLED AT 2026-11-28T00:33:28 DUE TO TIME LIMIT");
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    g_assert_null (slurm_parse_step_end (others[i]));
}

static void
test_last_words (void)
{
  static const struct
  {
    const char *messages;
    const char *words;
  } rows[] = {
    { "srun: error: Unable to create step for job 1: Requested nodes are busy\n",
      "Unable to create step for job 1: Requested nodes are busy" },
    { "srun: lacks support\nsrun: error: first\nsrun: error: second\n", "first" },
    { "0: slurmstepd-n1: error: *** STEP 1.8 ON n1 CANCELLED ***\n", "*** STEP 1.8 ON n1 CANCELLED ***" },
    { "srun: Force Terminated StepId=1.6\n", "Force Terminated StepId=1.6" },
    { "  \n", "" },
    { "", "" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *words = slurm_find_words (rows[i].messages);

      g_assert_cmpstr (words, ==, rows[i].words);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slurm-words/command", test_command);
  g_test_add_func ("/slurm-words/prefix", test_prefix);
  g_test_add_func ("/slurm-words/wrong-options", test_wrong_options);
  g_test_add_func ("/slurm-words/kill-command", test_kill_command);
  g_test_add_func ("/slurm-words/environment", test_environment);
  g_test_add_func ("/slurm-words/job", test_job);
  g_test_add_func ("/slurm-words/squeue", test_squeue);
  g_test_add_func ("/slurm-words/node", test_node);
  g_test_add_func ("/slurm-words/strange-node", test_strange_node);
  g_test_add_func ("/slurm-words/refusal", test_refusal);
  g_test_add_func ("/slurm-words/labels", test_labels);
  g_test_add_func ("/slurm-words/task-ends", test_task_ends);
  g_test_add_func ("/slurm-words/step-end", test_step_end);
  g_test_add_func ("/slurm-words/last-words", test_last_words);
  return g_test_run ();
}
