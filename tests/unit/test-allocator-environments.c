/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The allocators that find the job of a scheduler: which nodes and slots each environment means.
 */

#include "config.h"

#include <string.h>

#include <glib/gstdio.h>

#include "dvmd-plugins.h"

#define HERE "the-machine-itself"

/* Of a value, that names a file of tests/schedulers. */
#define RECORDED '@'
/* Likewise, one of the folder of the test. */
#define WRITTEN '%'

typedef struct
{
  const char *allocator;
  const char *variables[6]; /* "NAME=VALUE" */
  const char *answer;       /* (nullable): "ID: NODE=SLOTS NODE=SLOTS/CPUS@MEMORY"; NULL: declined */
} Job;

typedef struct
{
  const char *allocator;
  const char *variables[5];
  const char *text; /* (nullable): of the file "nodes" in the folder of the test */
  const char *mentions[3];
} Mistake;

/* The plugins of the program, which may start commands. */
typedef struct
{
  DvmdPlugins *plugins;
  DvmdSpawner *spawner;
  DvmdReaper *reaper;
} World;

static void
world_clear (World *self)
{
  dvmd_plugins_set_processes (self->plugins, NULL, NULL);
  dvmd_plugins_free (self->plugins);
  dvmd_spawner_free (self->spawner);
  dvmd_reaper_free (self->reaper);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (World, world_clear)

static World
load (const char *settings)
{
  const DvmdPluginsSettings given = { .settings = settings };
  g_autoptr (GError) error = NULL;
  World self = { 0 };

  self.plugins = dvmd_plugins_new (&given, &error);
  g_assert_no_error (error);
  self.spawner = dvmd_spawner_new (&error);
  g_assert_no_error (error);
  self.reaper = dvmd_reaper_new (NULL, FALSE, &error);
  g_assert_no_error (error);
  dvmd_plugins_set_processes (self.plugins, self.spawner, self.reaper);
  return self;
}

static DvmdAllocator *
find (const World *self, const char *name)
{
  GPtrArray *active = dvmd_plugins_get_active (self->plugins, DVMD_PLUGIN_ALLOCATOR);

  for (guint i = 0; i < active->len; i++)
    if (strcmp (dvmd_plugins_get_name (self->plugins, active->pdata[i]), name) == 0)
      return active->pdata[i];
  g_error ("there is no allocator %s", name);
}

/* ---- the environment ---- */

/* (nullable): where files are written; NULL takes the variables away */
static void
set_variables (const char *const *variables, const char *folder)
{
  for (; *variables != NULL; variables++)
    {
      g_autofree char *name = g_strndup (*variables, strcspn (*variables, "="));
      const char *value = *variables + strlen (name) + 1;
      g_autofree char *path = NULL;

      if (value[0] == RECORDED)
        path = g_test_build_filename (G_TEST_DIST, "..", "schedulers", value + 1, NULL);
      else if (value[0] == WRITTEN && folder != NULL)
        path = g_build_filename (folder, value + 1, NULL);
      if (folder != NULL)
        g_setenv (name, path != NULL ? path : value, TRUE);
      else
        g_unsetenv (name);
    }
}

/* ---- the answer ---- */

static void
on_answered (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **)user_data = g_object_ref (result);
}

static DvmdPluginVerdict
ask (const World *world, const char *name, const DvmdAllocationRequest *request, DvmdAllocation **allocation,
     GError **error)
{
  DvmdAllocator *allocator = find (world, name);
  g_autoptr (GAsyncResult) result = NULL;

  dvmd_allocator_allocate_async (allocator, request, NULL, on_answered, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  return dvmd_allocator_allocate_finish (allocator, result, allocation, error);
}

static char *
show (DvmdAllocation *allocation)
{
  GString *text = g_string_new (dvmd_allocation_get_id (allocation));
  guint n;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (allocation, &n);

  g_string_append_c (text, ':');
  g_assert_false (dvmd_allocation_get_logical (allocation));
  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (text, " %s=%u", strcmp (nodes[i].name, g_get_host_name ()) == 0 ? HERE : nodes[i].name,
                              nodes[i].slots);
      if (nodes[i].cpus != NULL)
        g_string_append_printf (text, "/%s", nodes[i].cpus);
      if (nodes[i].memory > 0)
        g_string_append_printf (text, "@%" G_GUINT64_FORMAT, nodes[i].memory);
      g_assert_cmpuint (nodes[i].slots_max, ==, 0);
    }
  return g_string_free (text, FALSE);
}

static void
check_job (const World *world, const Job *job)
{
  const DvmdAllocationRequest request = { .host = "x", .slots = 7 };
  g_autoptr (DvmdAllocation) allocation = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *answer = NULL;
  DvmdPluginVerdict verdict;

  set_variables (job->variables, "");
  verdict = ask (world, job->allocator, &request, &allocation, &error);
  set_variables (job->variables, NULL);
  g_assert_no_error (error);
  g_assert_cmpint (verdict, ==, job->answer != NULL ? DVMD_PLUGIN_DONE : DVMD_PLUGIN_DECLINED);
  answer = allocation != NULL ? show (allocation) : NULL;
  g_assert_cmpstr (answer, ==, job->answer);
}

static void
check_mistake (const World *world, const Mistake *mistake, const char *folder)
{
  const DvmdAllocationRequest request = { .host = "x" };
  g_autofree char *path = g_build_filename (folder, "nodes", NULL);
  g_autoptr (DvmdAllocation) allocation = NULL;
  g_autoptr (GError) error = NULL;

  if (mistake->text != NULL)
    g_assert_true (g_file_set_contents (path, mistake->text, -1, NULL));
  set_variables (mistake->variables, folder);
  g_assert_cmpint (ask (world, mistake->allocator, &request, &allocation, &error), ==, DVMD_PLUGIN_FAILED);
  set_variables (mistake->variables, NULL);
  g_assert_nonnull (error);
  g_assert_true (error->domain == DVM_ERROR);
  g_assert_cmpuint (strlen (error->message), <, 4096);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (mistake->mentions) && mistake->mentions[i] != NULL; i++)
    if (strstr (error->message, mistake->mentions[i]) == NULL)
      g_error ("“%s” does not speak of “%s”", error->message, mistake->mentions[i]);
  g_remove (path);
}

static void
check_mistakes (const char *settings, const Mistake *mistakes, gsize n)
{
  g_auto (World) world = load (settings);
  g_autofree char *folder = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);

  for (gsize i = 0; i < n; i++)
    check_mistake (&world, &mistakes[i], folder);
  g_rmdir (folder);
}

static void
check_jobs (const char *settings, const Job *jobs, gsize n)
{
  g_auto (World) world = load (settings);

  for (gsize i = 0; i < n; i++)
    check_job (&world, &jobs[i]);
}

/* ---- PBS ---- */

static void
test_pbs (void)
{
  static const Job jobs[] = {
    { "pbs", { NULL }, NULL },
    { "pbs", { "PBS_NODEFILE=@pbs/vnodes" }, NULL },
    { "pbs", { "PBS_JOBID=", "PBS_NODEFILE=@pbs/vnodes" }, NULL },
    { "pbs", { "PBS_JOBID=12.server", "PBS_NODEFILE=@pbs/select-mpiprocs" }, "12.server: n001=4 n002=4" },
    { "pbs", { "PBS_JOBID=13[2].server", "PBS_NODEFILE=@pbs/vnodes" }, "13[2].server: n001=3 n002=1 n003=2" },
    { "pbs",
      { "PBS_JOBID=14", "PBS_NODEFILE=@pbs/torque", "PBS_NUM_NODES=2", "PBS_NUM_PPN=3", "NCPUS=1" },
      "14: c2.cluster.example=3 c1.cluster.example=3" },
    /* Threads of a process are no slots. */
    { "pbs",
      { "PBS_JOBID=15", "PBS_NODEFILE=@pbs/select-mpiprocs", "NCPUS=8", "OMP_NUM_THREADS=8" },
      "15: n001=4 n002=4" },
  };

  check_jobs (NULL, jobs, G_N_ELEMENTS (jobs));
}

static void
test_pbs_smp (void)
{
  static const Job jobs[] = {
    { "pbs", { "PBS_JOBID=1", "PBS_NODEFILE=@pbs/once-per-host", "PBS_NUM_PPN=12" }, "1: big1=12 big2=12" },
    { "pbs", { "PBS_JOBID=1", "PBS_NODEFILE=@pbs/once-per-host", "PBS_PPN=8" }, "1: big1=8 big2=8" },
  };
  static const Mistake mistakes[] = {
    { "pbs", { "PBS_JOBID=1", "PBS_NODEFILE=%nodes" }, "big1\n", { "allocator-pbs.smp", "PBS_NUM_PPN", "PBS_PPN" } },
    { "pbs", { "PBS_JOBID=1", "PBS_NODEFILE=%nodes", "PBS_PPN=x" }, "big1\n", { "PBS_PPN: “x”" } },
    { "pbs", { "PBS_JOBID=1", "PBS_NODEFILE=%nodes", "PBS_PPN=2" }, "b\nb\n", { "nodes:2: b comes again" } },
  };
  static const Mistake setting[] = {
    { "pbs", { "PBS_JOBID=1", "PBS_NODEFILE=%nodes" }, "big1\n", { "allocator-pbs.smp is “maybe”", "yes or no" } },
  };

  check_jobs ("allocator-pbs.smp=yes", jobs, G_N_ELEMENTS (jobs));
  check_mistakes ("allocator-pbs.smp=yes", mistakes, G_N_ELEMENTS (mistakes));
  check_mistakes ("allocator-pbs.smp=maybe", setting, G_N_ELEMENTS (setting));
}

static void
test_pbs_mistakes (void)
{
  static const Mistake mistakes[] = {
    { "pbs", { "PBS_JOBID=12" }, NULL, { "PBS_JOBID is “12”", "PBS_NODEFILE is not set" } },
    { "pbs", { "PBS_JOBID=12", "PBS_NODEFILE=%nodes" }, NULL, { "PBS_NODEFILE names", "/nodes", "No such file" } },
    { "pbs", { "PBS_JOBID=12", "PBS_NODEFILE=%." }, NULL, { "PBS_NODEFILE names", "no regular file" } },
    { "pbs", { "PBS_JOBID=12", "PBS_NODEFILE=%nodes" }, "\n \n", { "PBS_NODEFILE: ", "/nodes names no node" } },
    { "pbs", { "PBS_JOBID=12", "PBS_NODEFILE=%nodes" }, "n1\n\nn2 4\n", { "PBS_NODEFILE: ", "nodes:3: “n2 4”" } },
    { "pbs", { "PBS_JOBID=12", "PBS_NODEFILE=%nodes" }, "n1\n-o", { "nodes:2: “-o”", "no name of a host" } },
    { "pbs", { "PBS_JOBID=12", "PBS_NODEFILE=%nodes" }, "n1;id\n", { "nodes:1: “n1;id”" } },
    { "pbs", { "PBS_JOBID=12", "PBS_NODEFILE=%nodes" }, "n1:4\n", { "nodes:1: “n1:4”" } },
  };

  check_mistakes (NULL, mistakes, G_N_ELEMENTS (mistakes));
}

/* A megabyte of lines is a large job; a line of a megabyte is none, and its message is short. */
static void
test_large (void)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *line = g_strnfill (1024 * 1024, 'n');
  const Mistake mistakes[] = {
    { "pbs", { "PBS_JOBID=12", "PBS_NODEFILE=%nodes" }, line, { "nodes:1: “nnn", "...", "no name of a host" } },
    { "gridengine", { "JOB_ID=1", "SGE_ROOT=/", "PE_HOSTFILE=%nodes" }, line, { "nodes:1: “nnn", "is not written" } },
  };
  g_auto (World) world = load (NULL);
  g_autofree char *folder = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "nodes", NULL);
  g_autofree char *variable = g_strconcat ("PBS_NODEFILE=", path, NULL);
  const Job job = { "pbs", { "PBS_JOBID=12", variable }, "12: node1=131072" };

  while (text->len < 1024 * 1024 - 8)
    g_string_append (text, "node1\r\n\n");
  g_string_append (text, "node1\n");
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  check_job (&world, &job);
  g_remove (path);
  g_rmdir (folder);
  check_mistakes (NULL, mistakes, G_N_ELEMENTS (mistakes));
}

/* Variables and paths are bytes, and messages are UTF-8. */
static void
test_no_utf8 (void)
{
  static const Job jobs[] = {
    { "pbs", { "PBS_JOBID=1\xff", "PBS_NODEFILE=@pbs/select-mpiprocs" }, "1\xef\xbf\xbd: n001=4 n002=4" },
    { "lsf", { "LSB_JOBID=1\xff", "LSB_HOSTS=h" }, "1\xef\xbf\xbd: h=1" },
    { "gridengine", { "JOB_ID=1\xff", "SGE_ROOT=/" }, "1\xef\xbf\xbd: " HERE "=1" },
  };
  g_autofree char *folder = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  g_autofree char *empty = g_build_filename (folder, "empty\xff", NULL);
  g_autofree char *wrong = g_build_filename (folder, "wrong\xff", NULL);
  g_autofree char *pbs_empty = g_strconcat ("PBS_NODEFILE=", empty, NULL);
  g_autofree char *pbs_wrong = g_strconcat ("PBS_NODEFILE=", wrong, NULL);
  g_autofree char *sge_empty = g_strconcat ("PE_HOSTFILE=", empty, NULL);
  g_autofree char *filler = g_strnfill (59, 'x');
  g_autofree char *cpus = g_strdup_printf ("h1 %sé\n", filler);
  const Mistake mistakes[] = {
    { "pbs", { "PBS_JOBID=1\xff" }, NULL, { "PBS_JOBID is “1\xef\xbf\xbd”" } },
    { "pbs", { "PBS_JOBID=1", pbs_empty }, NULL, { "empty\xef\xbf\xbd names no node" } },
    { "pbs", { "PBS_JOBID=1", pbs_wrong }, NULL, { "wrong\xef\xbf\xbd:1: “n1 4”" } },
    { "gridengine", { "JOB_ID=1", "SGE_ROOT=/", sge_empty }, NULL, { "empty\xef\xbf\xbd names no node" } },
    { "lsf", { "LSB_JOBID=1\xff" }, NULL, { "LSB_JOBID is “1\xef\xbf\xbd”" } },
    { "lsf", { "LSB_JOBID=1", "LSB_AFFINITY_HOSTFILE=%nodes" }, cpus, { "nodes:1: “xxx", "is no list of cpus" } },
  };

  g_assert_true (g_file_set_contents (empty, "", -1, NULL));
  g_assert_true (g_file_set_contents (wrong, "n1 4\n", -1, NULL));
  check_jobs (NULL, jobs, G_N_ELEMENTS (jobs));
  check_mistakes (NULL, mistakes, G_N_ELEMENTS (mistakes));
  g_remove (empty);
  g_remove (wrong);
  g_rmdir (folder);
}

/* ---- Grid Engine ---- */

static void
test_gridengine (void)
{
  static const Job jobs[] = {
    { "gridengine", { NULL }, NULL },
    { "gridengine", { "SGE_ROOT=/opt/sge" }, NULL },
    { "gridengine", { "JOB_ID=7", "PE_HOSTFILE=@gridengine/binding" }, NULL },
    { "gridengine",
      { "JOB_ID=7", "SGE_ROOT=/opt/sge", "PE_HOSTFILE=@gridengine/pe-hostfile", "NSLOTS=8", "SGE_TASK_ID=undefined" },
      "7: node3.cluster.example=4 node1.cluster.example=4" },
    { "gridengine",
      { "JOB_ID=8", "SGE_ROOT=/opt/sge", "PE_HOSTFILE=@gridengine/binding", "SGE_TASK_ID=3" },
      "8.3: node3=2/core:0:0;0:1 node1=2/core:0:0;1:0" },
    { "gridengine", { "JOB_ID=9", "SGE_ROOT=/", "PE_HOSTFILE=@gridengine/no-processors" }, "9: node3=1 node1=1" },
    /* Without a parallel environment. */
    { "gridengine", { "JOB_ID=10", "SGE_ROOT=/opt/sge", "NSLOTS=1" }, "10: " HERE "=1" },
    { "gridengine", { "JOB_ID=10", "SGE_ROOT=/opt/sge" }, "10: " HERE "=1" },
  };
  static const Mistake mistakes[] = {
    { "gridengine", { "JOB_ID=7", "SGE_ROOT=/", "NSLOTS=8" }, NULL, { "NSLOTS is 8", "PE_HOSTFILE is not set" } },
    { "gridengine", { "JOB_ID=7", "SGE_ROOT=/", "NSLOTS=many" }, NULL, { "NSLOTS: “many”" } },
    { "gridengine", { "JOB_ID=7", "SGE_ROOT=/", "PE_HOSTFILE=%none" }, NULL, { "PE_HOSTFILE names", "No such" } },
    { "gridengine", { "JOB_ID=7", "SGE_ROOT=/", "PE_HOSTFILE=%." }, NULL, { "PE_HOSTFILE names", "regular" } },
    { "gridengine", { "JOB_ID=7", "SGE_ROOT=/", "PE_HOSTFILE=%nodes" }, "", { "PE_HOSTFILE: ", "names no node" } },
    { "gridengine",
      { "JOB_ID=7", "SGE_ROOT=/", "PE_HOSTFILE=%nodes" },
      "n1 2 q\nn2\n",
      { "PE_HOSTFILE: ", "nodes:2: “n2”", "HOST SLOTS" } },
    { "gridengine", { "JOB_ID=7", "SGE_ROOT=/", "PE_HOSTFILE=%nodes" }, "n1 two q -\n", { "nodes:1: “two”" } },
    { "gridengine", { "JOB_ID=7", "SGE_ROOT=/", "PE_HOSTFILE=%nodes" }, "n1 0 q -\n", { "nodes:1: “0”" } },
    { "gridengine", { "JOB_ID=7", "SGE_ROOT=/", "PE_HOSTFILE=%nodes" }, "n1 -1 q -\n", { "nodes:1: “-1”" } },
    { "gridengine", { "JOB_ID=7", "SGE_ROOT=/", "PE_HOSTFILE=%nodes" }, "n1 9999999 q -\n", { "from 1 to 1000000" } },
    { "gridengine",
      { "JOB_ID=7", "SGE_ROOT=/", "PE_HOSTFILE=%nodes" },
      "n1 1000000 q -\nN1 1 r -\n",
      { "n1 has 1000001 slots" } },
    { "gridengine", { "JOB_ID=7", "SGE_ROOT=/", "PE_HOSTFILE=%nodes" }, "n1 2 q - more\n", { "nodes:1: “n1 2 q" } },
  };

  check_jobs (NULL, jobs, G_N_ELEMENTS (jobs));
  check_mistakes (NULL, mistakes, G_N_ELEMENTS (mistakes));
}

/* ---- LSF ---- */

static void
test_lsf (void)
{
  static const Job jobs[] = {
    { "lsf", { NULL }, NULL },
    { "lsf", { "LSB_MCPU_HOSTS=h1 4 h2 4" }, NULL },
    { "lsf", { "LSB_JOBID=5", "LSB_JOBINDEX=0", "LSB_MCPU_HOSTS=h1 4 h2 2 " }, "5: h1=4 h2=2" },
    { "lsf", { "LSB_JOBID=5", "LSB_JOBINDEX=3", "LSB_MCPU_HOSTS=h1 4 h2 2 h1 1" }, "5[3]: h1=5 h2=2" },
    { "lsf", { "LSB_JOBID=5", "LSB_DJOB_HOSTFILE=@lsf/hostfile", "LSB_HOSTS=x" }, "5: hostA=2 hostB=3" },
    { "lsf", { "LSB_JOBID=5", "LSB_HOSTS=h1 h1 h2" }, "5: h1=2 h2=1" },
    /* A task may have several cpus. */
    { "lsf",
      { "LSB_JOBID=5", "LSB_AFFINITY_HOSTFILE=@lsf/affinity", "LSB_MCPU_HOSTS=cn17 18 cn18 12" },
      "5: cn17=3/pu:0,1,2,3;4,5,6,7;16,17,18,19 cn18=2/pu:0,1,2,3;16,17,18,19" },
    { "lsf", { "LSB_JOBID=5", "LSB_AFFINITY_HOSTFILE=@lsf/affinity-none", "LSB_MCPU_HOSTS=h1 4" }, "5: h1=4" },
  };

  check_jobs (NULL, jobs, G_N_ELEMENTS (jobs));
}

/* In an allocation of CSM the job's script is run on a node that is no place for processes. */
static void
test_lsf_launch_node (void)
{
  static const Job jobs[] = {
    { "lsf", { "LSB_JOBID=5", "CSM_ALLOCATION_ID=9", "LSB_MCPU_HOSTS=batch7 1 cn9 2 cn17 2" }, "5: cn9=2 cn17=2" },
    { "lsf", { "LSB_JOBID=5", "CSM_ALLOCATION_ID=9", "LSB_HOSTS=batch2 n1 n1 BATCH2 n2" }, "5: n1=2 n2=1" },
    { "lsf", { "LSB_JOBID=5", "CSM_ALLOCATION_ID=9", "LSB_DJOB_HOSTFILE=@lsf/hostfile" }, "5: hostB=3" },
    { "lsf",
      { "LSB_JOBID=5", "CSM_ALLOCATION_ID=9", "LSB_AFFINITY_HOSTFILE=@lsf/affinity", "LSB_MCPU_HOSTS=batch2 1 n1 8" },
      "5: n1=8" },
  };
  static const Mistake mistakes[] = {
    { "lsf",
      { "LSB_JOBID=5", "CSM_ALLOCATION_ID=9", "LSB_MCPU_HOSTS=batch2 1" },
      NULL,
      { "LSB_MCPU_HOSTS names no node" } },
  };

  check_jobs (NULL, jobs, G_N_ELEMENTS (jobs));
  check_mistakes (NULL, mistakes, G_N_ELEMENTS (mistakes));
}

static void
test_lsf_mistakes (void)
{
  static const Mistake mistakes[] = {
    { "lsf", { "LSB_JOBID=5" }, NULL, { "LSB_JOBID is “5”", "LSB_MCPU_HOSTS", "LSB_HOSTS" } },
    { "lsf", { "LSB_JOBID=5", "LSB_HOSTS= " }, NULL, { "LSB_JOBID is “5”" } },
    { "lsf", { "LSB_JOBID=5", "LSB_MCPU_HOSTS=h1" }, NULL, { "LSB_MCPU_HOSTS: ", "slots of h1 is missing" } },
    { "lsf", { "LSB_JOBID=5", "LSB_MCPU_HOSTS=h1 h2 4" }, NULL, { "LSB_MCPU_HOSTS: “h2”", "no whole number" } },
    { "lsf", { "LSB_JOBID=5", "LSB_MCPU_HOSTS=h1 0" }, NULL, { "LSB_MCPU_HOSTS: “0”" } },
    { "lsf", { "LSB_JOBID=5", "LSB_MCPU_HOSTS=4*h1 1" }, NULL, { "LSB_MCPU_HOSTS: “4*h1”" } },
    { "lsf", { "LSB_JOBID=5", "LSB_HOSTS=h1 h/2" }, NULL, { "LSB_HOSTS: “h/2”" } },
    { "lsf", { "LSB_JOBID=5", "LSB_DJOB_HOSTFILE=%nodes" }, NULL, { "LSB_DJOB_HOSTFILE names", "No such file" } },
    { "lsf", { "LSB_JOBID=5", "LSB_DJOB_HOSTFILE=%." }, NULL, { "LSB_DJOB_HOSTFILE names", "no regular file" } },
    { "lsf", { "LSB_JOBID=5", "LSB_DJOB_HOSTFILE=%nodes" }, "h1\nh2 3\n", { "LSB_DJOB_HOSTFILE: ", "nodes:2: “h2" } },
    { "lsf",
      { "LSB_JOBID=5", "LSB_MCPU_HOSTS=h1 4", "LSB_AFFINITY_HOSTFILE=%nodes" },
      NULL,
      { "LSB_AFFINITY_HOSTFILE names", "No such file" } },
    { "lsf",
      { "LSB_JOBID=5", "LSB_MCPU_HOSTS=h1 4", "LSB_AFFINITY_HOSTFILE=%nodes" },
      "h1 0,1\nh1 two\n",
      { "LSB_AFFINITY_HOSTFILE: ", "nodes:2: “two” is no list of cpus" } },
  };

  check_mistakes (NULL, mistakes, G_N_ELEMENTS (mistakes));
}

/* ---- Flux ---- */

/* The command, in a folder that is first in PATH: it prints what variables name, and wants to be asked as documented.
 */
static const char flux_script[] = "#!/bin/sh\n"
                                  "case \"$*\" in\n"
                                  "  'resource R -s up') [ -z \"$FLUX_JOB_ID\" ] || exit 4; file=$INSTANCE ;;\n"
                                  "  \"job info $FLUX_JOB_ID R\") file=$JOB ;;\n"
                                  "  *) exit 3 ;;\n"
                                  "esac\n"
                                  "case $file in\n"
                                  "  fails) echo 'ERROR: flux_open: No such file or directory' >&2; exit 1 ;;\n"
                                  "  crashes) kill -SEGV $$ ;;\n"
                                  "  hangs) sleep 100000 & wait ;;\n"
                                  "  talks) cat /dev/zero ;;\n"
                                  "  *) cat \"$file\" ;;\n"
                                  "esac\n";

static void
with_flux (void (*func) (void))
{
  g_autofree char *before = g_strdup (g_getenv ("PATH"));
  g_autofree char *folder = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "flux", NULL);
  g_autofree char *paths = g_strjoin (":", folder, before, NULL);

  g_assert_true (g_file_set_contents_full (path, flux_script, -1, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
  g_setenv ("PATH", paths, TRUE);
  func ();
  g_setenv ("PATH", before, TRUE);
  g_remove (path);
  g_rmdir (folder);
}

#define AT_FLUX "FLUX_URI=local:///run/flux/local"

static void
check_flux (void)
{
  static const Job jobs[] = {
    { "flux", { "INSTANCE=@flux/instance.json" }, NULL },
    { "flux",
      { AT_FLUX, "INSTANCE=@flux/instance.json" },
      ": rack1n12=8/core:0-7 rack1n7=8/core:0-7 rack1n8=8/core:0-7 rack1n9=8/core:0-7 fat1=16/core:0-15" },
    { "flux",
      { AT_FLUX, "INSTANCE=@flux/instance.json", "FLUX_ENCLOSING_ID=f2345" },
      "f2345: rack1n12=8/core:0-7 rack1n7=8/core:0-7 rack1n8=8/core:0-7 rack1n9=8/core:0-7 fat1=16/core:0-15" },
    { "flux",
      { AT_FLUX, "JOB=@flux/job.json", "FLUX_JOB_ID=ƒ6789", "FLUX_ENCLOSING_ID=f2345" },
      "ƒ6789: n040=4/core:2-5 n041=4/core:2-5" },
    /* Ranks in any order, with other cores, some of them of one host. */
    { "flux", { AT_FLUX, "INSTANCE=@flux/mixed.json" }, ": a=4/core:0-2,7 b=4/core:0-1;0-1 c=3/core:4-6" },
  };

  check_jobs (NULL, jobs, G_N_ELEMENTS (jobs));
}

static void
on_push (DvmdAllocator *allocator, const char *directive, GVariant *request, gpointer user_data)
{
  guint32 seconds;

  g_assert_cmpstr (directive, ==, "time-left");
  g_assert_true (g_variant_lookup (request, "seconds", "u", &seconds));
  g_array_append_val ((GArray *)user_data, seconds);
}

/* left: (out): seconds; FALSE: nothing is said of an end */
static gboolean
ask_time (const World *world, const char *folder, const char *expiration, guint32 *left)
{
  static const char *const variables[] = { AT_FLUX, "INSTANCE=%nodes", NULL };
  const DvmdAllocationRequest request = { .host = "x" };
  DvmdAllocator *allocator = find (world, "flux");
  g_autoptr (GArray) told = g_array_new (FALSE, FALSE, sizeof (guint32));
  gulong handler = g_signal_connect (allocator, "push", G_CALLBACK (on_push), told);
  g_autoptr (DvmdAllocation) allocation = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (folder, "nodes", NULL);
  g_autofree char *text = g_strdup_printf ("{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0\", "
                                           "\"children\": {\"core\": \"0\"}}], \"nodelist\": [\"n1\"]%s%s}}",
                                           expiration != NULL ? ", \"expiration\": " : "",
                                           expiration != NULL ? expiration : "");

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  set_variables (variables, folder);
  g_assert_cmpint (ask (world, "flux", &request, &allocation, &error), ==, DVMD_PLUGIN_DONE);
  set_variables (variables, NULL);
  g_remove (path);
  g_signal_handler_disconnect (allocator, handler);
  g_assert_cmpuint (told->len, <=, 1);
  if (told->len == 1)
    *left = g_array_index (told, guint32, 0);
  return told->len == 1;
}

static void
check_flux_time (void)
{
  g_auto (World) world = load (NULL);
  g_autofree char *folder = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  gint64 before = g_get_real_time () / G_USEC_PER_SEC;
  g_autofree char *whole = g_strdup_printf ("%" G_GINT64_FORMAT, before + 5000);
  g_autofree char *fraction = g_strdup_printf ("%" G_GINT64_FORMAT ".25", before + 5000);
  const char *const ends[] = { whole, fraction };
  guint32 left = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      g_assert_true (ask_time (&world, folder, ends[i], &left));
      g_assert_cmpuint (left, <=, 5000);
      g_assert_cmpint (left + g_get_real_time () / G_USEC_PER_SEC, >=, before + 5000);
    }
  g_assert_true (ask_time (&world, folder, "1000000000", &left));
  g_assert_cmpuint (left, ==, 0);
  g_assert_true (ask_time (&world, folder, "250000000000", &left));
  g_assert_cmpuint (left, ==, G_MAXUINT32);
  g_assert_false (ask_time (&world, folder, "0", &left));
  g_assert_false (ask_time (&world, folder, "0.0", &left));
  g_assert_false (ask_time (&world, folder, NULL, &left));
  g_rmdir (folder);
}

static void
test_flux_time (void)
{
  with_flux (check_flux_time);
}

static void
test_flux (void)
{
  with_flux (check_flux);
}

#define ENDS(expiration)                                                                                               \
  "{\"version\": 1, \"execution\": {\"R_lite\": [], \"nodelist\": [], \"expiration\": " expiration "}}"

#define SET(rank, core, list)                                                                                          \
  "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": " rank ", \"children\": {\"core\": " core                  \
  "}}], \"nodelist\": " list "}}"

static char *
repeat_entry (const char *entry, guint n)
{
  GString *text = g_string_new ("{\"version\": 1, \"execution\": {\"R_lite\": [");

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", entry);
  g_string_append (text, "], \"nodelist\": [\"n[0-999999]\"]}}");
  return g_string_free (text, FALSE);
}

static void
check_flux_mistakes (void)
{
  g_autofree char *brackets = g_strnfill (500000, '[');
  g_autofree char *deep = g_strconcat ("{\"version\": 1, \"a\": \"]]\", \"b\": ", brackets, NULL);
  g_autofree char *blanks = g_strnfill (1100000, ' ');
  g_autofree char *many = repeat_entry ("{\"rank\": \"0-999999\", \"children\": {\"core\": \"0-999999\"}}", 40);
  const Mistake nested[] = {
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, deep, { "nested too deeply" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, blanks, { "“flux resource R -s up” has written 1 MiB or more" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, many, { "R_lite has more than 1000000 ranks" } },
  };
  static const Mistake mistakes[] = {
    { "flux", { AT_FLUX, "INSTANCE=fails" }, NULL, { "“flux resource R -s up” has", "status 1", "flux_open" } },
    { "flux", { AT_FLUX, "INSTANCE=crashes" }, NULL, { "“flux resource R -s up” has", "signal 11" } },
    { "flux", { AT_FLUX, "INSTANCE=%none" }, NULL, { "status 1", "No such file" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, "", { "flux resource R -s up: this is no resource set" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, "{\"version\":", { "this is no resource set" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, "[1]", { "this is no resource set" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, "{\"version\": 2}", { "its version is not 1" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, "{\"version\": 1, \"execution\": null}", { "execution, R_lite" } },
    { "flux", { AT_FLUX, "JOB=@flux/no-names.json", "FLUX_JOB_ID=1" }, NULL, { "flux job info 1 R: ", "nodelist" } },
    { "flux", { AT_FLUX, "INSTANCE=@flux/empty.json" }, NULL, { "flux resource R -s up names no node" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0-1\"", "\"0\"", "[\"n1\"]"), { "another number of hosts" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0,0\"", "\"0\"", "[\"n[1-2]\"]"), { "a rank comes twice" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("0", "\"0\"", "[\"n1\"]"), { "without its rank or core" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0\"", "[]", "[\"n1\"]"), { "without its rank or core" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0\"", "\"\"", "[\"n1\"]"), { "“” is no set of numbers" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"x\"", "\"0\"", "[\"n1\"]"), { "“x” is no set of numbers" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0-\"", "\"0\"", "[\"n1\"]"), { "“0-” is no set" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0\"", "\"0,\"", "[\"n1\"]"), { "“0,” is no set" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0\"", "\"3-1\"", "[\"n1\"]"), { "“3-1” is no set" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0\"", "\"[0\"", "[\"n1\"]"), { "“[0” is no set" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"4294967296\"", "\"0\"", "[\"n1\"]"), { "6” is no set" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0\"", "\"0-1000000\"", "[\"n1\"]"), { "than 1000000 cores" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"7,0-999999\"", "\"0\"", "[\"n\"]"), { "than 1000000 ranks" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0\"", "\"0\"", "[1]"), { "an entry of nodelist is no text" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, SET ("\"0\"", "\"0\"", "[\"-n\"]"), { "“-n” is no name of a host" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, ENDS ("\"soon\""), { "RFC 20", "expiration is no number" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, ENDS ("-1"), { "expiration is no time in seconds since 1970" } },
    { "flux", { AT_FLUX, "INSTANCE=%nodes" }, ENDS ("1e300"), { "expiration is no time in seconds since 1970" } },
  };
  static const Mistake slow[] = {
    { "flux", { AT_FLUX, "INSTANCE=hangs" }, NULL, { "flux resource R -s up", "in 1 s", "FLUX_URI" } },
    { "flux", { AT_FLUX, "INSTANCE=talks" }, NULL, { "flux resource R -s up", "in 1 s" } },
  };
  static const Mistake setting[] = {
    { "flux", { AT_FLUX, "INSTANCE=hangs" }, NULL, { "allocator-flux.timeout: “0”" } },
  };

  check_mistakes (NULL, mistakes, G_N_ELEMENTS (mistakes));
  check_mistakes (NULL, nested, G_N_ELEMENTS (nested));
  check_mistakes ("allocator-flux.timeout=1", slow, G_N_ELEMENTS (slow));
  check_mistakes ("allocator-flux.timeout=0", setting, G_N_ELEMENTS (setting));
}

static void
test_flux_mistakes (void)
{
  static const Mistake missing[] = {
    { "flux", { AT_FLUX }, NULL, { "“flux resource R -s up”: ", "flux" } },
  };

  with_flux (check_flux_mistakes);
  check_mistakes (NULL, missing, G_N_ELEMENTS (missing));
}

/* ---- all of them ---- */

/* Nodes that are named, counted or logical, and later requests, are for others. */
static void
test_other_requests (void)
{
  static const char *const hosts[] = { "n1", NULL };
  static const char *const variables[] = { "PBS_JOBID=1", "PBS_NODEFILE=/none", "JOB_ID=1",
                                           "SGE_ROOT=/",  "LSB_JOBID=1",        NULL };
  static const DvmdAllocationRequest requests[] = {
    { .host = "x", .hosts = hosts },
    { .host = "x", .count = 2 },
    { .host = "x", .n_logical = 2 },
    { .host = "x", .alloc_id = "1" },
  };
  static const char *const names[] = { "flux", "gridengine", "lsf", "pbs" };
  g_auto (World) world = load (NULL);

  set_variables (variables, "");
  for (gsize i = 0; i < G_N_ELEMENTS (requests) * G_N_ELEMENTS (names); i++)
    {
      g_autoptr (DvmdAllocation) allocation = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (
          ask (&world, names[i / G_N_ELEMENTS (requests)], &requests[i % G_N_ELEMENTS (requests)], &allocation, &error),
          ==, DVMD_PLUGIN_DECLINED);
      g_assert_no_error (error);
    }
  set_variables (variables, NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator-environments/pbs", test_pbs);
  g_test_add_func ("/allocator-environments/pbs/smp", test_pbs_smp);
  g_test_add_func ("/allocator-environments/pbs/mistakes", test_pbs_mistakes);
  g_test_add_func ("/allocator-environments/large", test_large);
  g_test_add_func ("/allocator-environments/no-utf8", test_no_utf8);
  g_test_add_func ("/allocator-environments/gridengine", test_gridengine);
  g_test_add_func ("/allocator-environments/lsf", test_lsf);
  g_test_add_func ("/allocator-environments/lsf/launch-node", test_lsf_launch_node);
  g_test_add_func ("/allocator-environments/lsf/mistakes", test_lsf_mistakes);
  g_test_add_func ("/allocator-environments/flux", test_flux);
  g_test_add_func ("/allocator-environments/flux/time", test_flux_time);
  g_test_add_func ("/allocator-environments/flux/mistakes", test_flux_mistakes);
  g_test_add_func ("/allocator-environments/other-requests", test_other_requests);
  return g_test_run ();
}
