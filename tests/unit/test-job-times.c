/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long a job lasts, by the answers of schedulers: their forms are described in tests/schedulers.
 */

#include "config.h"

#include <string.h>

#include "job-time.h"
#include "time-left.h"

/* A file of tests/schedulers. */
#define RECORDED '@'
/* In an answer: an hour ago, in the form of ctime(3), or of ISO 8601. */
#define CTIME "@CTIME@"
#define START "@START@"
#define AGO   3600

typedef struct
{
  const DvmdTimeQuestion *question;
  const char *id;
  const char *text;  /* the answer, or a file with it */
  gint64 left;       /* seconds, as if it were the moment of the start; -1: without a limit */
  const char *error; /* (nullable): a part of the sentence */
  gboolean is_end;   /* the job does not run any more */
  gboolean runs;     /* of a clock: so much less */
} Row;

static char *
put (const char *text, const char *mark, gint64 start, const char *form)
{
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_local (start);
  g_autofree char *shown = g_date_time_format (time, form);
  g_auto (GStrv) pieces = g_strsplit (text, mark, -1);

  return g_strjoinv (shown, pieces);
}

static char *
make_text (const char *text, gint64 start)
{
  g_autofree char *read = NULL;
  g_autofree char *first = NULL;

  if (text[0] == RECORDED)
    {
      g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "schedulers", text + 1, NULL);

      g_assert_true (g_file_get_contents (path, &read, NULL, NULL));
    }
  first = put (read != NULL ? read : text, CTIME, start, "%a %b %e %H:%M:%S %Y");
  return put (first, START, start, "%Y-%m-%dT%H:%M:%S");
}

static void
check_row (const Row *row)
{
  gint64 start = g_get_real_time () / G_USEC_PER_SEC - AGO;
  g_autofree char *text = make_text (row->text, start);
  g_autoptr (GError) error = NULL;
  gint64 left = -2;
  gboolean said = row->question->read (text, row->id, &left, &error);
  gint64 passed = row->runs ? g_get_real_time () / G_USEC_PER_SEC - start : 0;

  g_test_message ("%s of %s", row->id, row->text);
  g_assert_cmpint (said, ==, row->error == NULL);
  if (row->error != NULL)
    {
      g_assert_true (error->domain == DVM_ERROR);
      g_assert_cmpint (error->code == DVM_ERROR_NOT_FOUND, ==, row->is_end);
      g_assert_nonnull (strstr (error->message, row->error));
      return;
    }
  g_assert_no_error (error);
  g_assert_cmpint (left, >=, MAX (row->left - passed, MIN (row->left, 0)));
  g_assert_cmpint (left, <=, row->runs ? MAX (row->left - AGO, 0) : row->left);
}

static void
check_rows (const Row *rows, gsize n)
{
  for (gsize i = 0; i < n; i++)
    check_row (&rows[i]);
}

static void
check_command (const DvmdTimeQuestion *question, const char *id, const char *words)
{
  g_auto (GStrv) argv = question->make_argv (id);
  g_autofree char *all = g_strjoinv (" ", argv);

  g_assert_cmpstr (all, ==, words);
}

/* hosts: "NAME:SLOTS ...", expected: "BYTES ..." of each */
static void
check_memory (const DvmdTimeQuestion *question, const char *id, const char *text, const char *hosts,
              const char *expected)
{
  g_autofree char *made = make_text (text, g_get_real_time () / G_USEC_PER_SEC - AGO);
  g_autoptr (DvmdAllocation) allocation = dvmd_allocation_new (id);
  g_auto (GStrv) names = g_strsplit (hosts, " ", -1);
  g_autoptr (GString) found = g_string_new (NULL);
  guint64 memory[8] = { 0 };
  gint64 left;

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (names[i], ":", 2);

      dvmd_allocation_add_node (allocation, parts[0], (guint32)g_ascii_strtoull (parts[1], NULL, 10), 0);
    }
  g_assert_true (question->read (made, id, &left, NULL));
  question->read_memory (made, id, allocation, memory);
  for (guint i = 0; names[i] != NULL; i++)
    g_string_append_printf (found, "%s%" G_GUINT64_FORMAT, i > 0 ? " " : "", memory[i]);
  g_assert_cmpstr (found->str, ==, expected);
}

#define JOB   "Job Id: 12.server\n"
#define LIMIT "    Resource_List.walltime = 02:00:00\n"

static void
test_pbs (void)
{
  static const Row rows[] = {
    { &pbs_time_question, "12.server", "@pbs/qstat-f", 24 * 3600 - 5410 },
    { &pbs_time_question, "114618", "@pbs/qstat-f-torque", 2516937 },
    { &pbs_time_question, "12.server", "a warning\n" JOB LIMIT "    resources_used.walltime = 00:00:10\n", 7190 },
    { &pbs_time_question, "12.server", JOB "    Resource_List.walltime = 100\n    resources_used.walltime = 7.25\n",
      93 },
    { &pbs_time_question, "12.server", JOB LIMIT "    stime = " CTIME "\n", 7200, .runs = TRUE },
    /* A suspended job has time left when others would have ended, and one that is over has none. */
    { &pbs_time_question, "12.server", JOB LIMIT "    resources_used.walltime = 0\n    stime = " CTIME "\n", 7200 },
    { &pbs_time_question, "12.server", JOB LIMIT "    resources_used.walltime = 9000\n", 0 },
    { &pbs_time_question, "12.server", JOB "    resources_used.walltime = 00:00:10\n", -1 },
    { &pbs_time_question, "12.server", JOB LIMIT, .error = "neither resources_used.walltime nor stime" },
    { &pbs_time_question, "12.server", JOB LIMIT "    stime = soon\n", .error = "neither resources_used" },
    { &pbs_time_question, "12.server", JOB "    Resource_List.walltime = long\n", .error = "walltime is “long”" },
    { &pbs_time_question, "12.server", JOB LIMIT "    resources_used.walltime = -1\n",
      .error = "is “-1”, which is no" },
    { &pbs_time_question, "12.server", JOB LIMIT "    job_state = E\n    resources_used.walltime = 0\n", 7200 },
    { &pbs_time_question, "12.server", JOB LIMIT "    job_state = F\n", .error = "job_state F", .is_end = TRUE },
    { &pbs_time_question, "12.server", JOB LIMIT "    job_state = C\n", .error = "job_state C", .is_end = TRUE },
    { &pbs_time_question, "12.server", "", .error = "qstat has said nothing of it" },
    { &pbs_time_question, "12.server", "\xef\xbf\xbd\x01\n\n", .error = "qstat has said nothing of it" },
  };

  check_rows (rows, G_N_ELEMENTS (rows));
  check_command (&pbs_time_question, "13[2].server", "qstat -f 13[2].server");
}

#define HOSTS "n1:2 n2:2"

static void
test_pbs_memory (void)
{
  const DvmdTimeQuestion *pbs = &pbs_time_question;

  check_memory (pbs, "12.server", "@pbs/qstat-f", "n001.cluster.example:4 n002.cluster.example:4",
                "8589934592 8589934592");
  check_memory (pbs, "114618", "@pbs/qstat-f-torque", HOSTS, "0 0");
  /* Parts of a host have other names than it, long lines go on with a tab, and a host has several chunks. */
  check_memory (
      pbs, "12.server",
      JOB
      "    exec_host = n1/0*4+n2/0*2+n1/1\n"
      "    exec_vnode = (n1[0]:ncpus=2:mem=1gb+n1[1]:ncpus=2:mem=5\n\t12mb)+(n2:ncpus=2:mem=100)+(n1[0]:ncpus=1:mem=\n"
      "\t1kb)\n",
      HOSTS, "1610613760 100");
  check_memory (pbs, "12.server", JOB "    exec_host = n1/0+n2/0\n    exec_vnode = (n1:ncpus=2)+(n2:mem=lots)\n", HOSTS,
                "0 0");
  check_memory (pbs, "12.server", JOB "    exec_host = n1/0\n    exec_vnode = (n1:mem=1gb)+(n2:mem=1gb)\n", HOSTS,
                "0 0");
  check_memory (pbs, "12.server", JOB "    exec_host = n9/0\n    exec_vnode = (n9:mem=1gb)\n", HOSTS, "0 0");
  check_memory (pbs, "12.server", JOB "    exec_host = n1/0+n1/1\n    exec_vnode = (n1:mem=9000pb)+(n1:mem=9000pb)\n",
                HOSTS, "9223372036854775807 0");
}

static void
test_lsf (void)
{
  static const Row rows[] = {
    { &lsf_time_question, "5", "0:57 L\n", 57 * 60 },
    { &lsf_time_question, "5", "  47:05 L   \n", 47 * 3600 + 300 },
    { &lsf_time_question, "5", "0:0 L\n", 0 },
    { &lsf_time_question, "5", "batch system: a warning\n100:00 L\n", 360000 },
    /* LSF ends no job when an estimate is over. */
    { &lsf_time_question, "5", "0:57 E\n", -1 },
    { &lsf_time_question, "5", "0:57 X\n", -1 },
    { &lsf_time_question, "5", "-\n", -1 },
    { &lsf_time_question, "5", "0:57 L     RUN\n", 57 * 60 },
    { &lsf_time_question, "5", "- USUSP\n", -1 },
    { &lsf_time_question, "5", "- UNKWN\n", -1 },
    { &lsf_time_question, "5", "- EXIT\n", .error = "it has ended (EXIT)", .is_end = TRUE },
    { &lsf_time_question, "5", "0:57 L DONE\n", .error = "it has ended (DONE)", .is_end = TRUE },
    { &lsf_time_question, "5", "EXIT\n", .error = "bjobs has said “" },
    { &lsf_time_question, "5", "", .error = "bjobs has said “”" },
    { &lsf_time_question, "5", "57 L\n", .error = "bjobs has said “57 L”" },
    { &lsf_time_question, "5", "0:57\n", .error = "bjobs has said “0:57”" },
    { &lsf_time_question, "5", "0:57 LL\n", .error = "bjobs has said “0:57 LL”" },
    { &lsf_time_question, "5", "1:x L\n", .error = "bjobs has said “1:x L”" },
    { &lsf_time_question, "5", "1:-5 L\n", .error = "bjobs has said" },
  };

  check_rows (rows, G_N_ELEMENTS (rows));
  check_command (&lsf_time_question, "5[3]", "bjobs -noheader -o time_left stat 5[3]");
}

#define LIST(entries) "<?xml version='1.0'?>\n<job_info><queue_info>" entries "</queue_info></job_info>\n"
#define RUNS(start, limit)                                                                                             \
  "<job_list state=\"running\"><JB_job_number>7</JB_job_number><JAT_start_time>" start                                 \
  "</JAT_start_time><hard_request name=\"h_rt\">" limit "</hard_request></job_list>"
#define STATE(state) "<job_list><JB_job_number>7</JB_job_number><state>" state "</state></job_list>"
#define UNNAMED      "does not name it among the running jobs"

static void
test_gridengine (void)
{
  static const Row rows[] = {
    { &gridengine_time_question, "7", "@gridengine/qstat.xml", 86400, .runs = TRUE },
    { &gridengine_time_question, "8.3", "@gridengine/qstat.xml", 7200, .runs = TRUE },
    { &gridengine_time_question, "8.2", "@gridengine/qstat.xml", 0 },
    { &gridengine_time_question, "9", "@gridengine/qstat.xml", -1 },
    { &gridengine_time_question, "7", "a warning\n" LIST (RUNS (START, "7200")), 7200, .runs = TRUE },
    { &gridengine_time_question, "7", LIST (RUNS (START, "INFINITY")), -1 },
    { &gridengine_time_question, "8", "@gridengine/qstat.xml", .error = UNNAMED, .is_end = TRUE },
    { &gridengine_time_question, "7", LIST (""), .error = UNNAMED, .is_end = TRUE },
    { &gridengine_time_question, "7", LIST (STATE ("dr")), .error = "it is deleted (state dr)", .is_end = TRUE },
    { &gridengine_time_question, "7", LIST (STATE ("s")), -1 },
    { &gridengine_time_question, "7", LIST (RUNS ("soon", "7200")), .error = "h_rt is “7200” and the start “soon”" },
    { &gridengine_time_question, "7", LIST (RUNS (START, "long")), .error = "h_rt is “long”" },
    { &gridengine_time_question, "7", LIST ("<job_list>"), .error = "no list of jobs: " },
    { &gridengine_time_question, "7", "<job_info>", .error = "no list of jobs: " },
    { &gridengine_time_question, "7", "7 0.5 dvm user1 r 10/10/2018\n", .error = "no list of jobs: it is no XML" },
    { &gridengine_time_question, "7", "", .error = "no list of jobs: it is no XML" },
  };
  g_autofree char *words = g_strconcat ("qstat -xml -r -s rs -u ", g_get_user_name (), NULL);

  check_rows (rows, G_N_ELEMENTS (rows));
  check_command (&gridengine_time_question, "7", words);
}

#define ASKS(resource, size) "<hard_request name=\"" resource "\">" size "</hard_request>"
#define OF_7(requests)       LIST ("<job_list><JB_job_number>7</JB_job_number>" requests "</job_list>")

static void
test_gridengine_memory (void)
{
  const DvmdTimeQuestion *gridengine = &gridengine_time_question;

  check_memory (gridengine, "7", OF_7 (ASKS ("h_vmem", "2G")), "n1:4 n2:1", "8589934592 2147483648");
  check_memory (gridengine, "7", OF_7 (ASKS ("mem_free", "500m")), "n1:2 n2:1", "1000000000 500000000");
  /* A limit counts more than what was to be free. */
  check_memory (gridengine, "7", OF_7 (ASKS ("h_vmem", "1k") ASKS ("mem_free", "2G")), HOSTS, "2000 2000");
  check_memory (gridengine, "7", OF_7 (ASKS ("mem_free", "2G") ASKS ("h_vmem", "1k")), HOSTS, "2000 2000");
  check_memory (gridengine, "7", OF_7 (ASKS ("h_vmem", "much")), HOSTS, "0 0");
  check_memory (gridengine, "7", OF_7 ("<soft_request name=\"h_vmem\">2G</soft_request>"), HOSTS, "0 0");
  check_memory (gridengine, "7", "@gridengine/qstat.xml", HOSTS, "0 0");
  /* Of another job that stands before it. */
  check_memory (gridengine, "7",
                LIST ("<job_list><JB_job_number>6</JB_job_number>" ASKS (
                    "h_vmem", "9G") "</job_list>"
                                    "<job_list><JB_job_number>7</JB_job_number></job_list>"),
                HOSTS, "0 0");
}

static void
test_times (void)
{
  static const struct
  {
    const char *text;
    gint64 seconds;
  } times[] = {
    { "0", 0 },
    { "59", 59 },
    { "1:02", 62 },
    { "720:00:00", 2592000 },
    { "2-0:1:0", 172860 },
    { "3-5", 259205 },
    { "10.75", 10 },
    { "100000000", 100000000 },
    { "", -1 },
    { ":", -1 },
    { "1:", -1 },
    { "1:2:3:4", -1 },
    { "-1", -1 },
    { "1-", -1 },
    { "x-1", -1 },
    { "1.x", -1 },
    { " 1", -1 },
    { "+1", -1 },
    { "100000001", -1 },
    { "10001:00", -1 },
    { "1e3", -1 },
    { ".5", -1 },
    { "999999999999-0", -1 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (times); i++)
    g_assert_cmpint (dvmd_time_left_parse (times[i].text), ==, times[i].seconds);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/job-times/times", test_times);
  g_test_add_func ("/job-times/pbs", test_pbs);
  g_test_add_func ("/job-times/pbs-memory", test_pbs_memory);
  g_test_add_func ("/job-times/gridengine-memory", test_gridengine_memory);
  g_test_add_func ("/job-times/lsf", test_lsf);
  g_test_add_func ("/job-times/gridengine", test_gridengine);
  return g_test_run ();
}
