/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A DVM for which no nodes are named gets those of the scheduler's job that it was started in, as its variables say.
 */

#include "config.h"

#include <string.h>

#include "dvmd-plugins.h"

static const char *const all[] = {
  "SLURM_JOB_ID",
  "SLURM_JOBID",
  "SLURM_JOB_NODELIST",
  "SLURM_NODELIST",
  "SLURM_TASKS_PER_NODE",
  "SLURM_NTASKS_PER_NODE",
  "SLURM_JOB_CPUS_PER_NODE",
  "SLURM_CPUS_PER_TASK",
  "SLURM_STEP_NODELIST",
  "SLURM_STEP_TASKS_PER_NODE",
  "SLURM_HET_SIZE",
  "SLURMD_NODENAME",
  "SLURM_MEM_PER_NODE",
  "SLURM_MEM_PER_CPU",
  "SLURM_MEM_PER_NODE_HET_GROUP_0",
  "SLURM_MEM_PER_CPU_HET_GROUP_1",
  "SLURM_JOB_NODELIST_HET_GROUP_0",
  "SLURM_TASKS_PER_NODE_HET_GROUP_0",
  "SLURM_JOB_NODELIST_HET_GROUP_1",
  "SLURM_TASKS_PER_NODE_HET_GROUP_1",
  "SLURM_NTASKS_PER_NODE_HET_GROUP_1",
  "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1",
  "SLURM_CPUS_PER_TASK_HET_GROUP_1",
};

static void
set_variables (const char *text)
{
  g_auto (GStrv) variables = g_strsplit (text, " ", -1);

  for (gsize i = 0; i < G_N_ELEMENTS (all); i++)
    g_unsetenv (all[i]);
  for (guint i = 0; variables[i] != NULL && variables[i][0] != '\0'; i++)
    {
      char *value = strchr (variables[i], '=');
      gboolean known = FALSE;

      *value = '\0';
      for (gsize k = 0; k < G_N_ELEMENTS (all); k++)
        known |= strcmp (all[k], variables[i]) == 0;
      g_assert_true (known);
      g_setenv (variables[i], value + 1, TRUE);
    }
}

/* ---- asking ---- */

typedef struct
{
  DvmdPluginVerdict verdict;
  DvmdAllocation *allocation;
  GError *error;
  gboolean done;
} Answer;

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->allocation, dvmd_allocation_unref);
  g_clear_error (&answer->error);
  memset (answer, 0, sizeof *answer);
}

static void
on_allocated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Answer *answer = user_data;

  answer->verdict = dvmd_allocator_allocate_finish (DVMD_ALLOCATOR (source), result, &answer->allocation,
                                                    &answer->error);
  answer->done = TRUE;
}

/* All allocators in their order, until one does not decline: as the controller asks them. */
static const char *
ask (DvmdPlugins *plugins, const DvmdAllocationRequest *request, Answer *answer)
{
  GPtrArray *active = dvmd_plugins_get_active (plugins, DVMD_PLUGIN_ALLOCATOR);

  for (guint i = 0; i < active->len; i++)
    {
      answer_clear (answer);
      dvmd_allocator_allocate_async (active->pdata[i], request, NULL, on_allocated, answer);
      while (!answer->done)
        g_main_context_iteration (NULL, TRUE);
      if (answer->verdict != DVMD_PLUGIN_DECLINED)
        return dvmd_plugins_get_name (plugins, active->pdata[i]);
    }
  return "none";
}

/* "slurm 7: n1=2 n2=1@1024" with KiB of memory, or "slurm fails: ..." */
static char *
describe (const char *name, const Answer *answer)
{
  GString *text = g_string_new (name);
  const DvmdPluginNode *nodes;
  guint n_nodes;

  if (answer->error != NULL)
    g_string_append_printf (text, " fails: %s", answer->error->message);
  if (answer->allocation == NULL)
    return g_string_free (text, FALSE);
  nodes = dvmd_allocation_get_nodes (answer->allocation, &n_nodes);
  if (dvmd_allocation_get_id (answer->allocation) != NULL)
    g_string_append_printf (text, " %s", dvmd_allocation_get_id (answer->allocation));
  g_string_append_c (text, ':');
  for (guint i = 0; i < n_nodes; i++)
    {
      g_string_append_printf (text, " %s=%u", nodes[i].name, nodes[i].slots);
      if (nodes[i].memory > 0)
        g_string_append_printf (text, "@%" G_GUINT64_FORMAT, nodes[i].memory >> 10);
    }
  return g_string_free (text, FALSE);
}

static DvmdPlugins *
load (const char *disabled)
{
  const DvmdPluginsSettings settings = { .disabled = disabled };
  g_autoptr (GError) error = NULL;
  DvmdPlugins *plugins = dvmd_plugins_new (&settings, &error);

  g_assert_no_error (error);
  return plugins;
}

static void
assert_answer (DvmdPlugins *plugins, const DvmdAllocationRequest *request, const char *expected)
{
  Answer answer = { 0 };
  const char *name = ask (plugins, request, &answer);
  g_autofree char *text = describe (name, &answer);

  g_assert_cmpstr (text, ==, expected);
  answer_clear (&answer);
}

/* ---- the start ---- */

typedef struct
{
  const char *variables;
  const char *answer;
} Row;

static void
assert_rows (const Row *rows, gsize n)
{
  g_autoptr (DvmdPlugins) plugins = load (NULL);
  const DvmdAllocationRequest request = { .host = "here", .slots = 5 };

  for (gsize i = 0; i < n; i++)
    {
      set_variables (rows[i].variables);
      assert_answer (plugins, &request, rows[i].answer);
    }
  set_variables ("");
}

static void
test_slurm (void)
{
  static const Row rows[] = {
    { "", "hosts: here=5" },
    { "SLURM_JOB_ID=7", "hosts: here=5" },
    { "SLURM_JOB_NODELIST=n1", "hosts: here=5" },
    { "SLURM_JOB_ID= SLURM_JOB_NODELIST=n1", "hosts: here=5" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2],x", "slurm 7: n1=0 n2=0 x=0" },
    { "SLURM_JOBID=7 SLURM_NODELIST=n1", "slurm 7: n1=0" },
    { "SLURM_JOB_ID=7 SLURM_JOBID=8 SLURM_JOB_NODELIST=n1 SLURM_NODELIST=n2", "slurm 7: n1=0" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-4] SLURM_TASKS_PER_NODE=2(x3),1", "slurm 7: n1=2 n2=2 n3=2 n4=1" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-3] SLURM_TASKS_PER_NODE=3,1(x2)", "slurm 7: n1=3 n2=1 n3=1" },
    /* Tasks count more than what they are made of. */
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=2,1 SLURM_NTASKS_PER_NODE=3 "
      "SLURM_JOB_CPUS_PER_NODE=8(x2) SLURM_CPUS_PER_TASK=2",
      "slurm 7: n1=2 n2=1" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_NTASKS_PER_NODE=3 SLURM_JOB_CPUS_PER_NODE=8(x2)",
      "slurm 7: n1=3 n2=3" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_JOB_CPUS_PER_NODE=8,4", "slurm 7: n1=8 n2=4" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-3] SLURM_JOB_CPUS_PER_NODE=9,4,2 SLURM_CPUS_PER_TASK=4",
      "slurm 7: n1=2 n2=1 n3=1" },
    /* A step on one of the nodes: its tasks are not those of the job. */
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=1 SLURM_JOB_CPUS_PER_NODE=3,1 "
      "SLURM_STEP_NODELIST=n1 SLURM_STEP_TASKS_PER_NODE=1",
      "slurm 7: n1=3 n2=1" },
    /* An interactive step has the variables of the job, too. */
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=2,1 SLURM_JOB_CPUS_PER_NODE=3,1 "
      "SLURM_STEP_NODELIST=n1 SLURM_STEP_TASKS_PER_NODE=1",
      "slurm 7: n1=2 n2=1" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=2,1 SLURM_JOB_CPUS_PER_NODE=4(x2) "
      "SLURM_STEP_NODELIST=n[1-2] SLURM_STEP_TASKS_PER_NODE=2,1",
      "slurm 7: n1=2 n2=1" },
    /* The components of a heterogeneous job may have a node in common. */
    { "SLURM_JOB_ID=7 SLURM_HET_SIZE=2 SLURM_JOB_NODELIST_HET_GROUP_0=n1 SLURM_TASKS_PER_NODE_HET_GROUP_0=2 "
      "SLURM_JOB_NODELIST_HET_GROUP_1=n[2-3],N1 SLURM_TASKS_PER_NODE_HET_GROUP_1=3,1(x2)",
      "slurm 7: n1=3 n2=3 n3=1" },
    { "SLURM_JOB_ID=7 SLURM_HET_SIZE=2 SLURM_JOB_NODELIST_HET_GROUP_0=n1 SLURM_TASKS_PER_NODE_HET_GROUP_0=2 "
      "SLURM_JOB_NODELIST_HET_GROUP_1=n2 SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1=8 SLURM_CPUS_PER_TASK_HET_GROUP_1=4",
      "slurm 7: n1=2 n2=2" },
  };

  assert_rows (rows, G_N_ELEMENTS (rows));
}

static void
test_slurm_memory (void)
{
  static const Row rows[] = {
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=2,1 SLURM_MEM_PER_NODE=1000",
      "slurm 7: n1=2@1024000 n2=1@1024000" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_MEM_PER_NODE=2G", "slurm 7: n1=0@2097152" },
    /* Of each cpu, whatever tasks there are. */
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-3] SLURM_TASKS_PER_NODE=1(x3) SLURM_JOB_CPUS_PER_NODE=4(x2),2 "
      "SLURM_MEM_PER_CPU=3",
      "slurm 7: n1=1@12288 n2=1@12288 n3=1@6144" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_JOB_CPUS_PER_NODE=4 SLURM_MEM_PER_NODE=2 SLURM_MEM_PER_CPU=3",
      "slurm 7: n1=4@2048" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_JOB_CPUS_PER_NODE=1000 SLURM_MEM_PER_CPU=9999999999999",
      "slurm 7: n1=1000@9007199254740991" },
    /* All of the node, or cpus of which the number is not known. */
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_MEM_PER_NODE=0", "slurm 7: n1=0" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=2 SLURM_MEM_PER_CPU=3", "slurm 7: n1=2" },
    { "SLURM_JOB_ID=7 SLURM_HET_SIZE=2 SLURM_JOB_NODELIST_HET_GROUP_0=n1 SLURM_MEM_PER_NODE_HET_GROUP_0=5 "
      "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-2] SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1=2,3 SLURM_MEM_PER_CPU_HET_GROUP_1=1",
      "slurm 7: n1=2@7168 n2=3@3072" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_MEM_PER_NODE=lots",
      "slurm fails: SLURM_MEM_PER_NODE: “lots” is no size such as 4000 (MiB) or 4G" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_MEM_PER_CPU=-1",
      "slurm fails: SLURM_MEM_PER_CPU: “-1” is no size such as 4000 (MiB) or 4G" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=1(x2) SLURM_JOB_CPUS_PER_NODE=4 "
      "SLURM_MEM_PER_CPU=3",
      "slurm fails: SLURM_JOB_CPUS_PER_NODE has counts for 1 node, and SLURM_JOB_NODELIST names 2: each node has one" },
  };

  assert_rows (rows, G_N_ELEMENTS (rows));
}

/* A megabyte of names, each for itself or as one range; one that is no name is told in a short message. */
static void
test_slurm_long (void)
{
  g_autoptr (DvmdPlugins) plugins = load (NULL);
  const DvmdAllocationRequest request = { .host = "here", .slots = 5 };
  g_autofree char *name = g_strnfill (1024 * 1024, 'n');
  g_autofree char *wrong = g_strconcat ("SLURM_JOB_ID=7 SLURM_JOB_NODELIST=", name, NULL);
  Answer refused = { 0 };
  g_autoptr (GString) list = g_string_new ("SLURM_JOB_ID=7 SLURM_TASKS_PER_NODE=2(x100000) SLURM_JOB_NODELIST=");
  g_autoptr (GString) answer = g_string_new ("slurm 7:");

  for (guint i = 0; i < 100000; i++)
    {
      g_string_append_printf (list, "%snode%06u", i > 0 ? "," : "", i);
      g_string_append_printf (answer, " node%06u=2", i);
    }
  set_variables (list->str);
  assert_answer (plugins, &request, answer->str);
  set_variables ("SLURM_JOB_ID=7 SLURM_TASKS_PER_NODE=2(x100000) SLURM_JOB_NODELIST=node[000000-099999]");
  assert_answer (plugins, &request, answer->str);
  set_variables (wrong);
  g_assert_cmpstr (ask (plugins, &request, &refused), ==, "slurm");
  g_assert_true (g_str_has_prefix (refused.error->message, "SLURM_JOB_NODELIST: "));
  g_assert_cmpuint (strlen (refused.error->message), <, 400);
  answer_clear (&refused);
  set_variables ("");
}

static void
test_slurm_wrong (void)
{
  static const Row rows[] = {
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=2",
      "slurm fails: SLURM_TASKS_PER_NODE has counts for 1 node, and SLURM_JOB_NODELIST names 2: each node has one" },
    { "SLURM_JOB_ID=7 SLURM_NODELIST=n1 SLURM_TASKS_PER_NODE=2(x3)",
      "slurm fails: SLURM_TASKS_PER_NODE has counts for 3 nodes, and SLURM_NODELIST names 1: each node has one" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_JOB_CPUS_PER_NODE=2(x1000000),2(x1000000)",
      "slurm fails: SLURM_JOB_CPUS_PER_NODE has counts for 2000000 nodes, and SLURM_JOB_NODELIST names 2: each node "
      "has "
      "one" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2 SLURM_TASKS_PER_NODE=2",
      "slurm fails: SLURM_JOB_NODELIST: byte 2, at “n[1-2”: the bracket is not closed; a list of hosts is written "
      "n[001-128,200],login1" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=2(x)",
      "slurm fails: SLURM_TASKS_PER_NODE: “” is no whole number from 1 to 1000000" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=2(x1",
      "slurm fails: SLURM_TASKS_PER_NODE: “2(x1” is no whole number from 1 to 1000000" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=2,",
      "slurm fails: SLURM_TASKS_PER_NODE: “” is no whole number from 1 to 1000000" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=0",
      "slurm fails: SLURM_TASKS_PER_NODE: “0” is no whole number from 1 to 1000000" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_JOB_CPUS_PER_NODE=4 SLURM_CPUS_PER_TASK=-2",
      "slurm fails: SLURM_CPUS_PER_TASK: “-2” is no whole number from 1 to 1000000" },
    { "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_NTASKS_PER_NODE=many",
      "slurm fails: SLURM_NTASKS_PER_NODE: “many” is no whole number from 1 to 1000000" },
    { "SLURM_JOB_ID=seven SLURM_JOB_NODELIST=n1",
      "slurm fails: SLURM_JOB_ID: “seven” is no whole number from 1 to 4294967295" },
    { "SLURM_JOB_ID=7 SLURM_HET_SIZE=2 SLURM_JOB_NODELIST_HET_GROUP_0=n1",
      "slurm fails: SLURM_HET_SIZE is 2, and there is no SLURM_JOB_NODELIST_HET_GROUP_1: each component has nodes" },
    { "SLURM_JOB_ID=7 SLURM_HET_SIZE=1000000000",
      "slurm fails: SLURM_HET_SIZE: “1000000000” is no whole number from 1 to 1024" },
    { "SLURM_JOB_ID=7 SLURM_HET_SIZE=2 SLURM_JOB_NODELIST_HET_GROUP_0=n1 SLURM_JOB_NODELIST_HET_GROUP_1=n2 "
      "SLURM_NTASKS_PER_NODE_HET_GROUP_1=0",
      "slurm fails: SLURM_NTASKS_PER_NODE_HET_GROUP_1: “0” is no whole number from 1 to 1000000" },
  };

  assert_rows (rows, G_N_ELEMENTS (rows));
}

/* Wishes come before the job, and a plugin that is disabled is not asked. */
static void
test_wishes (void)
{
  static const char *const names[] = { "a", "n1", NULL };
  g_autoptr (DvmdPlugins) plugins = load (NULL);
  g_autoptr (DvmdPlugins) without = load ("allocator-slurm");

  set_variables ("SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=2(x2)");
  assert_answer (plugins, &(DvmdAllocationRequest){ .host = "here" }, "slurm 7: n1=2 n2=2");
  assert_answer (without, &(DvmdAllocationRequest){ .host = "here" }, "hosts: here=0");
  assert_answer (plugins, &(DvmdAllocationRequest){ .host = "here", .hosts = names }, "hosts: a=0 n1=0");
  assert_answer (plugins, &(DvmdAllocationRequest){ .host = "here", .n_logical = 1, .slots = 3 }, "hosts: node1=3");
  assert_answer (without, &(DvmdAllocationRequest){ .host = "here", .count = 1 }, "none");
  /* Here nothing can be asked. */
  assert_answer (plugins, &(DvmdAllocationRequest){ .host = "here", .count = 1 },
                 "slurm fails: Plugin allocator-slurm cannot start a command before the DVM starts or after it has "
                 "ended");
  assert_answer (plugins, &(DvmdAllocationRequest){ .host = "here", .alloc_id = "7" }, "none");
  set_variables ("");
}

/* Whether there is a job is known before anything is asked; an allocator that is not used does not find any. */
static void
test_job (void)
{
  g_autoptr (DvmdPlugins) plugins = load (NULL);
  g_autoptr (DvmdPlugins) without = load ("allocator-slurm");

  set_variables ("");
  g_assert_false (dvmd_plugins_find_job (plugins));
  set_variables ("SLURM_JOB_ID= SLURM_JOB_NODELIST=n1");
  g_assert_false (dvmd_plugins_find_job (plugins));
  set_variables ("SLURM_JOBID=7");
  g_assert_true (dvmd_plugins_find_job (plugins));
  g_assert_false (dvmd_plugins_find_job (without));
  set_variables ("");
}

static void
test_settings (void)
{
  const struct
  {
    const char *text;
    const char *sentence;
  } wrong[] = {
    { "launcher-local.grace=many", "launcher-local.grace is “many”; it must be a number from 1 to 1000000" },
    { "launcher-ssh.tree-radix=-1", "launcher-ssh.tree-radix is “-1”; it must be a number from 0 to 1000000" },
    { "launcher-ssh.timeout=0", "launcher-ssh.timeout is “0”; it must be a number from 1 to 1000000" },
    { "launcher-slurm.prefix=/x launcher-slurm.options='-A b' launcher-slurm.grace=",
      "launcher-slurm.grace is “”; it must be a number from 1 to 1000000" },
    { "allocator-flux.timeout=3601", "allocator-flux.timeout is “3601”; it must be a number from 1 to 3600" },
    { "allocator-pbs.smp=maybe", "allocator-pbs.smp is “maybe”; it can be yes or no" },
    { "allocator-slurm.release=0", "allocator-slurm.release is “0”; it can be true or false" },
    { "allocator-lsf.intervall=3", "there is no setting allocator-lsf.intervall; there are interval, timeout" },
    { "launcher-local.prefix=/x", "there is no setting launcher-local.prefix; there are concurrency, timeout, grace" },
  };
  const char *right = "launcher-ssh.command='ssh -F \"a b\"' launcher-ssh.tree-radix=0 launcher-pbs.directory=/x "
                      "launcher-local.grace=1000000 allocator-pbs.smp=yes allocator-slurm.release=false "
                      "allocator-flux.interval=0 allocator-bus.name=org.example.Scheduler launcher-pals.prefix=";
  g_autoptr (DvmdPlugins) plugins = dvmd_plugins_new (&(DvmdPluginsSettings){ .settings = NULL }, NULL);
  g_autoptr (GError) none = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *sentence = g_strconcat ("plugin-settings: ", wrong[i].sentence, NULL);
      g_autoptr (GError) error = NULL;

      g_assert_false (dvmd_plugins_check_settings (plugins, wrong[i].text, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
      g_assert_cmpstr (error->message, ==, sentence);
    }
  g_assert_true (dvmd_plugins_check_settings (plugins, right, &none));
  g_assert_no_error (none);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/schedulers/settings", test_settings);
  g_test_add_func ("/schedulers/slurm", test_slurm);
  g_test_add_func ("/schedulers/slurm-memory", test_slurm_memory);
  g_test_add_func ("/schedulers/slurm-wrong", test_slurm_wrong);
  g_test_add_func ("/schedulers/slurm-long", test_slurm_long);
  g_test_add_func ("/schedulers/wishes", test_wishes);
  g_test_add_func ("/schedulers/job", test_job);
  return g_test_run ();
}
