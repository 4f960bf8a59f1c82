/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What PMIx's keys of a spawn and of job control become in the words of the bus.
 */

#include "config.h"

#include <pmix_tool.h>
#include <string.h>

#include "dvm.h"
#include "dvmd-call-kind.h"
#include "dvmd-map.h"
#include "dvmd-pmix-control.h"
#include "dvmd-pmix-info.h"
#include "dvmd-pmix-spawn.h"
#include "dvmd-pmix-read.h"

#define SPAWN_TARGET  "pmix.spwn.tgt"
#define JOB_CTRL_SEP  "pmix.jctrl.sep"
#define JOB_CTRL_PSET "pmix.jctrl.defpset"

typedef struct
{
  DvmdPmixInfo job;
  DvmdPmixInfo app;
  char *argv[4];
  char *env[3];
  char *cwd;
  int n_procs;
  guint n_apps; /* the others of them say no more than the name of the program */
} Request;

static void
set_up (Request *self, gconstpointer data)
{
  *self = (Request){ .argv = { (char *)"prog", (char *)"one", NULL }, .n_procs = 2, .n_apps = 1 };
}

static void
tear_down (Request *self, gconstpointer data)
{
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_clear (&self->app);
}

static void
add_variable (DvmdPmixInfo *info, const char *name, const char *value)
{
  pmix_envar_t variable = { .envar = (char *)name, .value = (char *)value, .separator = ':' };

  dvmd_pmix_info_add (info, PMIX_SET_ENVAR, &variable, PMIX_ENVAR);
}

static GVariant *
read_request (Request *self, DvmdPmixAttributes *attributes, GError **error)
{
  pmix_app_t apps[2] = { { .cmd = (char *)"/bin/prog", .argv = self->argv, .env = self->env, .cwd = self->cwd },
                         { .cmd = (char *)"/bin/prog", .argv = self->argv } };

  apps[0].maxprocs = self->n_procs;
  apps[0].info = self->app.items;
  apps[0].ninfo = self->app.length;
  return dvmd_pmix_read_spawn (self->job.items, self->job.length, apps, self->n_apps, attributes, error);
}

/* The words are such that the library knows them all. told: with which what its processes are told begins */
static DvmJobSpec *
read_spec_told (Request *self, const char *told)
{
  g_autoptr (GError) error = NULL;
  DvmdPmixAttributes attributes;
  g_autoptr (GVariant) whole = read_request (self, &attributes, &error);
  g_autoptr (GVariant) apps = NULL;
  g_autoptr (GVariant) all = NULL;
  g_autoptr (GVariant) info = NULL;
  g_autoptr (GVariant) options = NULL;
  g_autofree char *text = NULL;
  GVariantDict dict;
  DvmJobSpec *spec;

  g_assert_no_error (error);
  g_assert_true (g_variant_is_of_type (whole, G_VARIANT_TYPE ("(aa{sv}a{sv})")));
  apps = g_variant_get_child_value (whole, 0);
  all = g_variant_get_child_value (whole, 1);
  g_variant_dict_init (&dict, all);
  /* The controller takes it out, too. */
  info = g_variant_dict_lookup_value (&dict, DVMD_SPAWN_INFO, NULL);
  g_variant_dict_remove (&dict, DVMD_SPAWN_INFO);
  g_variant_dict_remove (&dict, DVMD_SPAWN_STOP_RANKS);
  g_variant_dict_remove (&dict, DVMD_SPAWN_FORWARD_ENV);
  options = g_variant_ref_sink (g_variant_dict_end (&dict));
  spec = dvm_job_spec_new_from_variant (apps, options, &error);
  g_assert_no_error (error);
  text = info != NULL ? g_variant_print (info, TRUE) : g_strdup ("");
  g_assert_true (g_str_has_prefix (text, told));
  return spec;
}

static DvmJobSpec *
read_spec (Request *self)
{
  return read_spec_told (self, "");
}

static void
assert_refused (Request *self, DvmError code)
{
  g_autoptr (GError) error = NULL;
  DvmdPmixAttributes attributes;

  g_assert_null (read_request (self, &attributes, &error));
  g_assert_error (error, DVM_ERROR, (int)code);
}

static void
assert_list (const char *const *list, const char *expected)
{
  g_autofree char *text = list != NULL ? g_strjoinv ("|", (char **)list) : g_strdup ("");

  g_assert_cmpstr (text, ==, expected);
}

static void
test_app (Request *self, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = NULL;
  DvmAppSpec *app;

  self->cwd = (char *)"/usr";
  self->env[0] = (char *)"A=1";
  add_variable (&self->app, "B", "2");
  add_variable (&self->job, "C", "\xff");
  dvmd_pmix_info_add_string (&self->app, PMIX_UNSET_ENVAR, "D");
  dvmd_pmix_info_add_string (&self->app, PMIX_HOST, "n1:2, n2");
  dvmd_pmix_info_add_string (&self->app, PMIX_PRELOAD_FILES, "/etc/passwd,/etc/group");
  spec = read_spec (self);
  app = dvm_job_spec_get_app (spec, 0);
  assert_list (dvm_app_spec_get_argv (app), "/bin/prog|one");
  g_assert_cmpuint (dvm_app_spec_get_np (app), ==, 2);
  g_assert_cmpstr (dvm_app_spec_get_cwd (app), ==, "/usr");
  assert_list (dvm_app_spec_get_env (app), "C=\xff|A=1|B=2");
  assert_list (dvm_app_spec_get_unset_env (app), "D");
  assert_list (dvm_app_spec_get_hosts (app), "n1:2|n2");
  assert_list (dvm_app_spec_get_preload_files (app), "/etc/passwd|/etc/group");
}

static void
test_directory (Request *self, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = NULL;

  self->cwd = (char *)"/usr";
  dvmd_pmix_info_add_string (&self->job, PMIX_WDIR, "/etc");
  spec = read_spec (self);
  g_assert_cmpstr (dvm_app_spec_get_cwd (dvm_job_spec_get_app (spec, 0)), ==, "/etc");
}

static void
test_job (Request *self, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = NULL;
  pmix_proc_t proc;

  self->n_procs = 0;
  PMIX_LOAD_PROCID (&proc, "any", PMIX_RANK_WILDCARD);
  dvmd_pmix_info_add_string (&self->job, PMIX_PPR, "2:node");
  dvmd_pmix_info_add_string (&self->app, PMIX_ADD_HOST, "n8,n9");
  dvmd_pmix_info_add_uint32 (&self->job, PMIX_JOB_TIMEOUT, 30);
  dvmd_pmix_info_add_flag (&self->job, "pmix.tim.stack", TRUE); /* PMIX_TIMEOUT_STACKTRACES */
  dvmd_pmix_info_add_flag (&self->job, "pmix.tim.state", TRUE); /* PMIX_TIMEOUT_REPORT_STATE */
  dvmd_pmix_info_add_flag (&self->job, PMIX_JOB_RECOVERABLE, TRUE);
  dvmd_pmix_info_add_uint32 (&self->job, PMIX_MAX_RESTARTS, 3);
  dvmd_pmix_info_add_flag (&self->job, PMIX_IOF_TAG_OUTPUT, TRUE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_IOF_TIMESTAMP_OUTPUT, FALSE);
  dvmd_pmix_info_add_string (&self->job, PMIX_IOF_OUTPUT_TO_DIRECTORY, "/tmp/out");
  dvmd_pmix_info_add (&self->job, PMIX_STDIN_TGT, &proc, PMIX_PROC);
  spec = read_spec (self);
  g_assert_cmpuint (dvm_app_spec_get_np (dvm_job_spec_get_app (spec, 0)), ==, 0);
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "ppr:2:node");
  assert_list (dvm_job_spec_get_add_hosts (spec), "n8|n9");
  g_assert_cmpuint (dvm_job_spec_get_timeout (spec), ==, 30);
  g_assert_cmpstr (dvm_job_spec_get_runtime_options (spec), ==, "get-stack-traces=yes,report-state-on-timeout=yes");
  g_assert_true (dvm_job_spec_get_recoverable (spec));
  g_assert_cmpuint (dvm_job_spec_get_max_restarts (spec), ==, 3);
  g_assert_cmpstr (dvm_job_spec_get_output (spec), ==, "tag,dir=/tmp/out,:copy");
  g_assert_cmpstr (dvm_job_spec_get_stdin_target (spec), ==, "all");
}

static void
add_edit (DvmdPmixInfo *info, const char *key, const char *name, const char *value, char separator)
{
  pmix_envar_t variable = { .envar = (char *)name, .value = (char *)value, .separator = separator };

  dvmd_pmix_info_add (info, key, &variable, PMIX_ENVAR);
}

/* Changes of the job come before those of the application; to set or unset a variable makes void what was said before.
 */
static void
test_edits (Request *self, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) whole = NULL;
  g_autoptr (GVariant) options = NULL;
  g_autoptr (GVariant) apps = NULL;
  g_autoptr (GVariant) edits = NULL;
  g_autofree char *text = NULL;
  DvmdPmixAttributes attributes;

  add_edit (&self->job, PMIX_PREPEND_ENVAR, "A", "1", ':');
  add_edit (&self->job, PMIX_APPEND_ENVAR, "B", "2", ';');
  add_edit (&self->app, PMIX_ADD_ENVAR, "C", "3", '\0');
  add_edit (&self->app, PMIX_SET_ENVAR, "D", "4", '\0');
  add_edit (&self->app, PMIX_APPEND_ENVAR, "D", "5", ':');
  dvmd_pmix_info_add_string (&self->app, PMIX_UNSET_ENVAR, "B");
  add_edit (&self->app, PMIX_SET_ENVAR, "E", "6", '\0');
  dvmd_pmix_info_add_string (&self->app, PMIX_UNSET_ENVAR, "E");
  whole = read_request (self, &attributes, &error);
  g_assert_no_error (error);
  options = g_variant_get_child_value (whole, 1);
  edits = g_variant_lookup_value (options, "env-edits", G_VARIANT_TYPE ("a(uuayy)"));
  text = g_variant_print (edits, FALSE);
  g_assert_cmpstr (text, ==, "[(0, 1, b'A=1', 0x3a), (0, 0, b'C=3', 0x00), (0, 2, b'D=5', 0x3a)]");
  apps = g_variant_get_child_value (whole, 0);
  g_free (text);
  text = g_variant_print (apps, FALSE);
  g_assert_nonnull (strstr (text, "'env-bytes': <[b'D=4']>"));
}

static void
test_wrong_variables (Request *self, gconstpointer data)
{
  static const char *const names[] = { "", "A=B", "A" };
  static const char *const keys[] = { PMIX_SET_ENVAR, PMIX_ADD_ENVAR, PMIX_PREPEND_ENVAR };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      dvmd_pmix_info_clear (&self->job);
      add_edit (&self->job, keys[i], names[i], "x", '\0');
      assert_refused (self, DVM_ERROR_BAD_PARAM);
    }
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add_string (&self->job, PMIX_APPEND_ENVAR, "A=1");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
}

/* Words of placement are the application's where they stand with it, and else the job's. */
static void
test_placement (Request *self, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = NULL;
  DvmAppSpec *app;

  dvmd_pmix_info_add_string (&self->job, PMIX_MAPBY, "numa");
  dvmd_pmix_info_add_string (&self->job, PMIX_BINDTO, "core");
  dvmd_pmix_info_add_uint32 (&self->job, PMIX_CPUS_PER_PROC, 4);
  dvmd_pmix_info_add_string (&self->app, PMIX_RANKBY, "fill");
  dvmd_pmix_info_add_uint32 (&self->app, PMIX_CPUS_PER_PROC, 2);
  spec = read_spec (self);
  app = dvm_job_spec_get_app (spec, 0);
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "numa:PE=4");
  g_assert_cmpstr (dvm_job_spec_get_bind_to (spec), ==, "core");
  g_assert_null (dvm_job_spec_get_rank_by (spec));
  g_assert_cmpstr (dvm_app_spec_get_map_by (app), ==, "numa:PE=2");
  g_assert_cmpstr (dvm_app_spec_get_rank_by (app), ==, "fill");
  g_assert_null (dvm_app_spec_get_bind_to (app));
  dvmd_pmix_info_add_string (&self->app, PMIX_PPR, "1:package");
  dvmd_pmix_info_add_string (&self->app, PMIX_BINDTO, "hwthread");
  g_clear_object (&spec);
  spec = read_spec (self);
  app = dvm_job_spec_get_app (spec, 0);
  g_assert_cmpstr (dvm_app_spec_get_map_by (app), ==, "ppr:1:package:PE=2");
  g_assert_cmpstr (dvm_app_spec_get_bind_to (app), ==, "hwthread");
  dvmd_pmix_info_add_string (&self->app, PMIX_MAPBY, "slot");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
}

static void
add_processes (DvmdPmixInfo *info, pmix_proc_t *procs, gsize n)
{
  pmix_data_array_t array = { .type = PMIX_PROC, .size = n, .array = procs };

  dvmd_pmix_info_add (info, PMIX_COLOCATE_PROCS, &array, PMIX_DATA_ARRAY);
}

/* Processes of other jobs, beside which the job is to be. */
static void
test_beside (Request *self, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = NULL;
  const guint16 two = 2;
  pmix_proc_t procs[5];

  self->n_procs = 0;
  PMIX_LOAD_PROCID (&procs[0], "dvm@7", 3);
  PMIX_LOAD_PROCID (&procs[1], "dvm@9", PMIX_RANK_WILDCARD);
  PMIX_LOAD_PROCID (&procs[2], "dvm@7", 1);
  PMIX_LOAD_PROCID (&procs[3], "dvm@7", 2);
  PMIX_LOAD_PROCID (&procs[4], "dvm@9", 4);
  add_processes (&self->job, procs, G_N_ELEMENTS (procs));
  spec = read_spec (self);
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "colocate=dvm@7:1-3+dvm@9");
  dvmd_pmix_info_add (&self->app, PMIX_COLOCATE_NPERNODE, &two, PMIX_UINT16);
  g_clear_object (&spec);
  spec = read_spec (self);
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "colocate=dvm@7:1-3+dvm@9:npernode=2");
  dvmd_pmix_info_add_string (&self->job, PMIX_MAPBY, "slot");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
}

/* Qualifiers say nothing of where the job goes. */
static void
test_beside_qualified (Request *self, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = NULL;
  const guint16 two = 2;
  pmix_proc_t proc;

  PMIX_LOAD_PROCID (&proc, "dvm@7", 1);
  add_processes (&self->job, &proc, 1);
  dvmd_pmix_info_add_uint32 (&self->job, PMIX_CPUS_PER_PROC, 4);
  dvmd_pmix_info_add (&self->job, PMIX_COLOCATE_NPERPROC, &two, PMIX_UINT16);
  spec = read_spec (self);
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "colocate=dvm@7:1:nperproc=2:PE=4");
  dvmd_pmix_info_add_string (&self->job, PMIX_MAPBY, ":HWTCPUS");
  g_clear_object (&spec);
  spec = read_spec (self);
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "colocate=dvm@7:1:nperproc=2:HWTCPUS:PE=4");
}

/* A list in the worst order costs no quadratic time, and one that is too long is not read. */
static void
test_beside_many (Request *self, gconstpointer data)
{
  const gsize n = 20000;
  g_autofree pmix_proc_t *procs = g_new (pmix_proc_t, n);
  g_autoptr (DvmJobSpec) spec = NULL;

  for (gsize i = 0; i < n; i++)
    PMIX_LOAD_PROCID (&procs[i], "dvm@7", 2 * (pmix_rank_t)(n - i));
  add_processes (&self->job, procs, n);
  spec = read_spec (self);
  g_assert_true (g_str_has_prefix (dvm_job_spec_get_map_by (spec), "colocate=dvm@7:2,4,6,"));
  self->job.items[0].value.data.darray->size = (gsize)DVMD_MAP_MAX_PROCS + 1;
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  self->job.items[0].value.data.darray->size = n;
}

/* A namespace is one, whatever else the words of map-by would take it for. */
static void
test_beside_nspace (Request *self, gconstpointer data)
{
  static const char *const names[] = { "7", "x:hwtcpus", "x+dvm@5", "/org/dvm/jobs/7", "dvm\xff", "" };
  pmix_proc_t proc;

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      PMIX_LOAD_PROCID (&proc, names[i], 0);
      dvmd_pmix_info_clear (&self->job);
      add_processes (&self->job, &proc, 1);
      assert_refused (self, DVM_ERROR_BAD_PARAM);
    }
}

/* Daemons of debuggers, by all the words that say where they go. */
static void
test_debuggers (Request *self, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = NULL;
  const guint16 two = 2;
  pmix_proc_t target;

  self->n_procs = 0;
  PMIX_LOAD_PROCID (&target, "dvm@7", PMIX_RANK_WILDCARD);
  dvmd_pmix_info_add_flag (&self->job, PMIX_DEBUGGER_DAEMONS, TRUE);
  dvmd_pmix_info_add (&self->app, PMIX_DEBUG_TARGET, &target, PMIX_PROC);
  spec = read_spec_told (self, "[(uint32 4294967295, '" PMIX_DEBUG_TARGET "', ");
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "colocate=dvm@7");
  dvmd_pmix_info_add_string (&self->job, PMIX_MAPBY, "PPR:3:node:HWTCPUS");
  g_clear_object (&spec);
  spec = read_spec (self);
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "colocate=dvm@7:npernode=3:HWTCPUS");
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add (&self->job, PMIX_DEBUG_DAEMONS_PER_NODE, &two, PMIX_UINT16);
  g_clear_object (&spec);
  spec = read_spec (self);
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "colocate=dvm@7:npernode=2");
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_clear (&self->app);
  PMIX_LOAD_PROCID (&target, "dvm@7", 3);
  dvmd_pmix_info_add (&self->job, PMIX_DEBUG_TARGET, &target, PMIX_PROC);
  dvmd_pmix_info_add (&self->job, PMIX_DEBUG_DAEMONS_PER_PROC, &two, PMIX_UINT16);
  g_clear_object (&spec);
  spec = read_spec (self);
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "colocate=dvm@7:3:nperproc=2");
}

/* Daemons of one spawn with what they debug are a job of their own, which has what is theirs. */
static void
test_together (Request *self, gconstpointer data)
{
  const guint16 one = 1;
  g_autoptr (GVariant) whole = NULL;
  g_autoptr (GVariant) options = NULL;
  g_autoptr (GVariant) with = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *first = NULL;
  g_autofree char *other = NULL;
  DvmdPmixAttributes attributes;

  self->n_apps = 2;
  self->n_procs = 0;
  dvmd_pmix_info_add (&self->job, PMIX_DEBUG_DAEMONS_PER_NODE, &one, PMIX_UINT16);
  dvmd_pmix_info_add_string (&self->job, PMIX_MAPBY, "node");
  dvmd_pmix_info_add_flag (&self->job, PMIX_DEBUG_STOP_ON_EXEC, TRUE);
  dvmd_pmix_info_add_flag (&self->app, PMIX_DEBUGGER_DAEMONS, TRUE);
  whole = read_request (self, &attributes, &error);
  g_assert_no_error (error);
  options = g_variant_get_child_value (whole, 1);
  g_assert_true (g_variant_lookup (options, "map-by", "s", &first));
  g_assert_cmpstr (first, ==, "node");
  with = g_variant_lookup_value (options, DVMD_SPAWN_WITH, G_VARIANT_TYPE (DVMD_SPAWN_WITH_TYPE));
  g_assert_cmpuint (g_variant_n_children (with), ==, 1);
  other = g_variant_print (with, FALSE);
  g_assert_nonnull (strstr (other, "{'map-by': <'colocate=@:npernode=1'>}"));
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_clear (&self->app);
  dvmd_pmix_info_add_flag (&self->job, PMIX_COSPAWN_APP, TRUE);
  assert_refused (self, DVM_ERROR_NOT_SUPPORTED);
  dvmd_pmix_info_clear (&self->job);
  self->n_apps = 1;
  dvmd_pmix_info_add_flag (&self->app, PMIX_COSPAWN_APP, TRUE);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
}

/* Daemons without a target, with two, with another policy, and together with what they debug. */
static void
test_debuggers_wrong (Request *self, gconstpointer data)
{
  static const char *const policies[] = { "node", "ppr:1:nodes", "ppr::node", "ppr:1:package" };
  pmix_proc_t target;

  PMIX_LOAD_PROCID (&target, "dvm@7", PMIX_RANK_WILDCARD);
  dvmd_pmix_info_add_flag (&self->app, PMIX_DEBUGGER_DAEMONS, TRUE);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_add_string (&self->job, PMIX_DEBUG_TARGET, "dvm@7");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add (&self->job, PMIX_DEBUG_TARGET, &target, PMIX_PROC);
  self->n_apps = 2;
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  self->n_apps = 1;
  for (gsize i = 0; i < G_N_ELEMENTS (policies); i++)
    {
      dvmd_pmix_info_clear (&self->job);
      dvmd_pmix_info_add (&self->job, PMIX_DEBUG_TARGET, &target, PMIX_PROC);
      dvmd_pmix_info_add_string (&self->job, PMIX_MAPBY, policies[i]);
      assert_refused (self, DVM_ERROR_BAD_PARAM);
    }
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add (&self->job, PMIX_DEBUG_TARGET, &target, PMIX_PROC);
  add_processes (&self->job, &target, 1);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add (&self->job, PMIX_DEBUG_TARGET, &target, PMIX_PROC);
  g_object_unref (read_spec (self));
  dvmd_pmix_info_add (&self->app, PMIX_DEBUG_TARGET, &target, PMIX_PROC);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
}

static void
test_beside_wrong (Request *self, gconstpointer data)
{
  const guint16 two = 2;
  pmix_proc_t proc;

  dvmd_pmix_info_add (&self->job, PMIX_COLOCATE_NPERPROC, &two, PMIX_UINT16);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add_string (&self->job, PMIX_COLOCATE_PROCS, "dvm@7");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->job);
  add_processes (&self->job, &proc, 0);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->job);
  PMIX_LOAD_PROCID (&proc, "dvm@7", PMIX_RANK_LOCAL_NODE);
  add_processes (&self->job, &proc, 1);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  PMIX_LOAD_PROCID (&proc, "", 0);
  dvmd_pmix_info_clear (&self->job);
  add_processes (&self->job, &proc, 1);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->job);
  PMIX_LOAD_PROCID (&proc, "dvm@7", 0);
  add_processes (&self->job, &proc, 1);
  g_object_unref (read_spec (self));
  add_processes (&self->app, &proc, 1);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
}

static void
test_sessions (Request *self, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  DvmdPmixAttributes attributes;
  g_autoptr (GVariant) whole = NULL;
  g_autofree char *text = NULL;
  g_autoptr (GVariant) options = NULL;
  char *ids[] = { (char *)"a-1", (char *)"" };
  pmix_data_array_t array = { .type = PMIX_STRING, .size = 2, .array = ids };

  dvmd_pmix_info_add (&self->job, SPAWN_TARGET, &array, PMIX_DATA_ARRAY);
  dvmd_pmix_info_add_uint32 (&self->job, PMIX_TIMEOUT, 7);
  dvmd_pmix_info_add_flag (&self->job, PMIX_FWD_STDOUT, FALSE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_FWD_STDERR, TRUE);
  whole = read_request (self, &attributes, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (attributes.timeout, ==, 7);
  g_assert_cmpuint (attributes.forward, ==, DVMD_PMIX_STDERR);
  g_assert_cmpuint (attributes.withhold, ==, DVMD_PMIX_STDOUT);
  options = g_variant_get_child_value (whole, 1);
  text = g_variant_print (options, FALSE);
  g_assert_cmpstr (text, ==, "{'target': <['a-1', '']>}");
}

/* The default session is an empty name between commas, or nothing at all. */
static void
test_default_session (Request *self, gconstpointer data)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (g_free);

  dvmd_pmix_info_add_string (&self->job, SPAWN_TARGET, "");
  dvmd_pmix_info_add_string (&self->job, SPAWN_TARGET, "a,,b");
  g_assert_true (dvmd_pmix_read_list (&self->job.items[0], TRUE, list, NULL));
  g_assert_cmpuint (list->len, ==, 1);
  g_assert_true (dvmd_pmix_read_list (&self->job.items[1], TRUE, list, NULL));
  g_assert_cmpuint (list->len, ==, 4);
  g_assert_true (dvmd_pmix_read_list (&self->job.items[1], FALSE, list, NULL));
  g_assert_cmpuint (list->len, ==, 6);
}

/* Words of options that several keys add to. */
static void
test_words (Request *self, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = NULL;

  dvmd_pmix_info_add_string (&self->job, PMIX_RUNTIME_OPTIONS, "recoverable");
  dvmd_pmix_info_add_flag (&self->job, "pmix.abnz", FALSE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_DEBUG_STOP_ON_EXEC, FALSE);
  dvmd_pmix_info_add_rank (&self->job, PMIX_DEBUG_STOP_IN_INIT, PMIX_RANK_WILDCARD);
  dvmd_pmix_info_add_flag (&self->job, PMIX_NO_PROCS_ON_HEAD, TRUE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_NO_OVERSUBSCRIBE, TRUE);
  dvmd_pmix_info_add_uint32 (&self->job, PMIX_CPUS_PER_PROC, 2);
  dvmd_pmix_info_add_string (&self->job, PMIX_PERSONALITY, "ompi5,prte");
  dvmd_pmix_info_add_string (&self->job, PMIX_IOF_OUTPUT_TO_FILE, "/tmp/out");
  dvmd_pmix_info_add_flag (&self->job, "pmix.iof.fonly", TRUE);
  dvmd_pmix_info_add_flag (&self->job, "pmix.iof.fpt", TRUE);
  spec = read_spec (self);
  g_assert_cmpstr (dvm_job_spec_get_runtime_options (spec), ==, "recoverable,error-nonzero-status=no,stop-in-init");
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, ":NOLOCAL:NOOVERSUBSCRIBE:PE=2");
  g_assert_cmpstr (dvm_job_spec_get_personality (spec), ==, "pmix");
  g_assert_cmpstr (dvm_job_spec_get_output (spec), ==, "file=/tmp/out,:pattern");
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add_string (&self->job, PMIX_CPU_LIST, "0,2-3");
  dvmd_pmix_info_add_string (&self->job, PMIX_PERSONALITY, "plain");
  g_clear_object (&spec);
  spec = read_spec (self);
  g_assert_cmpstr (dvm_job_spec_get_map_by (spec), ==, "pe-list=0,2-3");
  g_assert_cmpstr (dvm_job_spec_get_personality (spec), ==, "plain");
}

static char *
read_stop_ranks (Request *self)
{
  g_autoptr (GError) error = NULL;
  DvmdPmixAttributes attributes;
  g_autoptr (GVariant) whole = read_request (self, &attributes, &error);
  g_autoptr (GVariant) options = NULL;
  g_autoptr (GVariant) info = NULL;
  char *ranks = NULL;

  g_assert_no_error (error);
  options = g_variant_get_child_value (whole, 1);
  g_assert_true (g_variant_lookup (options, DVMD_SPAWN_STOP_RANKS, "s", &ranks));
  info = g_variant_lookup_value (options, DVMD_SPAWN_INFO, NULL);
  /* Programs that stop where they like are told whom it means. */
  g_assert_true ((info != NULL) == (ranks[0] != '\0'));
  return ranks;
}

static void
add_array (DvmdPmixInfo *info, pmix_data_type_t type, void *items, gsize n)
{
  pmix_data_array_t array = { .type = type, .size = n, .array = items };

  dvmd_pmix_info_add (info, PMIX_DEBUG_STOP_IN_APP, &array, PMIX_DATA_ARRAY);
}

/* A stop is for all ranks, one, or some. */
static void
test_stop_ranks (Request *self, gconstpointer data)
{
  pmix_rank_t ranks[] = { 4, 0, 3 };
  pmix_proc_t procs[] = { { .rank = 2 }, { .rank = PMIX_RANK_WILDCARD } };
  g_autofree char *one = NULL;
  g_autofree char *some = NULL;
  g_autofree char *all = NULL;

  dvmd_pmix_info_add_rank (&self->app, PMIX_DEBUG_STOP_IN_INIT, 1);
  one = read_stop_ranks (self);
  g_assert_cmpstr (one, ==, "1");
  dvmd_pmix_info_add_flag (&self->job, PMIX_DEBUG_STOP_IN_INIT, TRUE);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_clear (&self->app);
  add_array (&self->job, PMIX_PROC_RANK, ranks, G_N_ELEMENTS (ranks));
  some = read_stop_ranks (self);
  g_assert_cmpstr (some, ==, "0,3-4");
  dvmd_pmix_info_clear (&self->job);
  add_array (&self->job, PMIX_PROC, procs, G_N_ELEMENTS (procs));
  all = read_stop_ranks (self);
  g_assert_cmpstr (all, ==, "");
  dvmd_pmix_info_clear (&self->job);
  strcpy (procs[0].nspace, "other");
  add_array (&self->job, PMIX_PROC, procs, G_N_ELEMENTS (procs));
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add_rank (&self->job, PMIX_DEBUG_STOP_ON_EXEC, PMIX_RANK_LOCAL_NODE);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add_string (&self->job, PMIX_DEBUG_STOP_ON_EXEC, "1");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
}

/* Of the application, or of each where it stands among the attributes of the job. */
static void
test_pset (Request *self, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = NULL;

  dvmd_pmix_info_add_string (&self->job, PMIX_PSET_NAME, "ocean");
  spec = read_spec (self);
  g_assert_cmpstr (dvm_app_spec_get_pset (dvm_job_spec_get_app (spec, 0)), ==, "ocean");
  dvmd_pmix_info_add_string (&self->app, PMIX_PSET_NAME, "ice");
  g_clear_object (&spec);
  spec = read_spec (self);
  g_assert_cmpstr (dvm_app_spec_get_pset (dvm_job_spec_get_app (spec, 0)), ==, "ice");
  dvmd_pmix_info_clear (&self->app);
  dvmd_pmix_info_add_uint32 (&self->app, PMIX_PSET_NAME, 7);
  assert_refused (self, DVM_ERROR_BAD_PARAM);
}

/* A command has the words that a shell would see; the two say what options of a job say. */
static void
test_exec_agent (Request *self, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = NULL;

  dvmd_pmix_info_add_string (&self->job, PMIX_EXEC_AGENT, "strace -o 'a b'");
  dvmd_pmix_info_add_flag (&self->job, PMIX_REPORT_CHILD_SEP, TRUE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_FWD_ENVIRONMENT, TRUE);
  spec = read_spec (self);
  assert_list (dvm_job_spec_get_exec_agent (spec), "strace|-o|a b");
  g_assert_cmpstr (dvm_job_spec_get_runtime_options (spec), ==, "report-child-jobs-separately=yes");
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add_string (&self->job, PMIX_EXEC_AGENT, "strace '");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
}

static void
assert_display (Request *self, const char *display)
{
  DvmdPmixAttributes attributes;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) job = read_request (self, &attributes, &error);
  g_autoptr (GVariant) options = NULL;
  const char *words = NULL;

  g_assert_no_error (error);
  options = g_variant_get_child_value (job, 1);
  g_variant_lookup (options, DVMD_SPAWN_DISPLAY, "&s", &words);
  g_assert_cmpstr (words, ==, display);
  dvmd_pmix_info_clear (&self->job);
}

/* The tables that are to be shown, in the words of --display. */
static void
test_shown (Request *self, gconstpointer data)
{
  static const char *const wrong[] = { "a:b", "a=b", "a,,b", ",", "\xff" };

  dvmd_pmix_info_add_flag (&self->job, PMIX_DISPLAY_MAP, FALSE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_DISPLAY_PARSEABLE_OUTPUT, TRUE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_DISPLAY_TOPOLOGY, FALSE);
  assert_display (self, NULL);
  dvmd_pmix_info_add_flag (&self->job, PMIX_REPORT_PHYSICAL_CPUS, TRUE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_DISPLAY_MAP, TRUE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_REPORT_BINDINGS, TRUE);
  dvmd_pmix_info_add_string (&self->job, PMIX_DISPLAY_TOPOLOGY, "node1,node2;node3");
  dvmd_pmix_info_add_string (&self->job, PMIX_DISPLAY_PROCESSORS, "");
  assert_display (self, "map,bindings,topo=node1;node2;node3,cpus:physical");
  dvmd_pmix_info_add_flag (&self->job, PMIX_DISPLAY_ALLOCATION, TRUE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_REPORT_PHYSICAL_CPUS, TRUE);
  dvmd_pmix_info_add_flag (&self->job, PMIX_DISPLAY_PARSEABLE_OUTPUT, TRUE);
  assert_display (self, "allocation:parseable");
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      dvmd_pmix_info_clear (&self->job);
      dvmd_pmix_info_add_string (&self->job, PMIX_DISPLAY_TOPOLOGY, wrong[i]);
      assert_refused (self, DVM_ERROR_BAD_PARAM);
    }
  dvmd_pmix_info_clear (&self->job);
  dvmd_pmix_info_add_string (&self->job, PMIX_DISPLAY_MAP, "text");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
}

/* Known, and not done: refused when it would change something, whether it is required or not. */
static void
test_not_done (Request *self, gconstpointer data)
{
  static const char *const flags[] = { PMIX_FWD_STDIN, PMIX_SHOW_LAUNCH_PROGRESS, PMIX_DO_NOT_LAUNCH, PMIX_NOHUP };
  static const char *const texts[] = { PMIX_PREFIX, PMIX_FORKEXEC_AGENT, PMIX_PROC_MAP, PMIX_JOB_INFO_ARRAY };

  for (gsize i = 0; i < G_N_ELEMENTS (flags); i++)
    {
      dvmd_pmix_info_clear (&self->app);
      dvmd_pmix_info_add_flag (&self->app, flags[i], FALSE);
      g_object_unref (read_spec (self));
      dvmd_pmix_info_add_flag (&self->app, flags[i], TRUE);
      assert_refused (self, DVM_ERROR_NOT_SUPPORTED);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      dvmd_pmix_info_clear (&self->app);
      dvmd_pmix_info_add_string (&self->app, texts[i], "x");
      assert_refused (self, DVM_ERROR_NOT_SUPPORTED);
    }
  dvmd_pmix_info_clear (&self->app);
  dvmd_pmix_info_add_string (&self->app, PMIX_PERSONALITY, "fortran");
  assert_refused (self, DVM_ERROR_NOT_SUPPORTED);
}

static void
test_refused (Request *self, gconstpointer data)
{
  self->n_procs = -1;
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  self->n_procs = 1;
  dvmd_pmix_info_add_string (&self->job, PMIX_ADD_HOSTFILE, "/etc/one");
  dvmd_pmix_info_add_string (&self->app, PMIX_ADD_HOSTFILE, "/etc/two");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->app);
  dvmd_pmix_info_add_string (&self->app, PMIX_MAPBY, "\xff");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->app);
  dvmd_pmix_info_add_string (&self->app, PMIX_IOF_OUTPUT_TO_FILE, "/tmp/out,tag");
  assert_refused (self, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->app);
  dvmd_pmix_info_add_string (&self->app, "never.heard", "/opt");
  PMIX_INFO_REQUIRED (&self->app.items[0]);
  assert_refused (self, DVM_ERROR_NOT_SUPPORTED);
}

/* ---- control ---- */

static void
assert_control (DvmdPmixInfo *info, const char *operation, int signum)
{
  g_autoptr (GError) error = NULL;
  DvmdPmixControl control;

  g_assert_true (dvmd_pmix_read_control (info->items, info->length, &control, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (control.operation, ==, operation);
  g_assert_cmpint (control.signum, ==, signum);
}

static void
assert_control_refused (DvmdPmixInfo *info, DvmError code)
{
  g_autoptr (GError) error = NULL;
  DvmdPmixControl control;

  g_assert_false (dvmd_pmix_read_control (info->items, info->length, &control, &error));
  g_assert_error (error, DVM_ERROR, (int)code);
}

static void
test_control (Request *self, gconstpointer data)
{
  int number = 10;

  assert_control_refused (&self->job, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_add_string (&self->job, PMIX_JOB_CTRL_ID, "mine");
  dvmd_pmix_info_add_flag (&self->job, PMIX_JOB_CTRL_KILL, FALSE);
  assert_control_refused (&self->job, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_add (&self->job, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
  dvmd_pmix_info_add_string (&self->job, "pmix.whatever", "hint");
  assert_control (&self->job, "signal", 10);
  dvmd_pmix_info_add_flag (&self->job, PMIX_JOB_CTRL_PAUSE, TRUE);
  assert_control_refused (&self->job, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_add_flag (&self->app, JOB_CTRL_SEP, TRUE);
  assert_control (&self->app, "separate", 0);
  dvmd_pmix_info_add_string (&self->app, PMIX_JOB_CTRL_RESTART, "point");
  assert_control_refused (&self->app, DVM_ERROR_NOT_SUPPORTED);
  dvmd_pmix_info_clear (&self->app);
  dvmd_pmix_info_add_flag (&self->app, JOB_CTRL_PSET, TRUE);
  assert_control_refused (&self->app, DVM_ERROR_BAD_PARAM);
  dvmd_pmix_info_clear (&self->app);
  dvmd_pmix_info_add_string (&self->app, JOB_CTRL_PSET, "ocean");
  assert_control (&self->app, "define-pset", 0);
  dvmd_pmix_info_add_flag (&self->app, PMIX_JOB_CTRL_KILL, TRUE);
  assert_control_refused (&self->app, DVM_ERROR_BAD_PARAM);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*func) (Request *, gconstpointer);
  } tests[] = {
    { "/pmix-spawn/app", test_app },
    { "/pmix-spawn/directory", test_directory },
    { "/pmix-spawn/job", test_job },
    { "/pmix-spawn/edits", test_edits },
    { "/pmix-spawn/wrong-variables", test_wrong_variables },
    { "/pmix-spawn/placement", test_placement },
    { "/pmix-spawn/beside", test_beside },
    { "/pmix-spawn/beside-wrong", test_beside_wrong },
    { "/pmix-spawn/beside-qualified", test_beside_qualified },
    { "/pmix-spawn/beside-many", test_beside_many },
    { "/pmix-spawn/beside-nspace", test_beside_nspace },
    { "/pmix-spawn/debuggers", test_debuggers },
    { "/pmix-spawn/debuggers-wrong", test_debuggers_wrong },
    { "/pmix-spawn/sessions", test_sessions },
    { "/pmix-spawn/default-session", test_default_session },
    { "/pmix-spawn/words", test_words },
    { "/pmix-spawn/stop-ranks", test_stop_ranks },
    { "/pmix-spawn/together", test_together },
    { "/pmix-spawn/pset", test_pset },
    { "/pmix-spawn/exec-agent", test_exec_agent },
    { "/pmix-spawn/shown", test_shown },
    { "/pmix-spawn/not-done", test_not_done },
    { "/pmix-spawn/refused", test_refused },
    { "/pmix-spawn/control", test_control },
  };

  pmix_info_t alone;
  pmix_proc_t self;
  int failed;

  g_test_init (&argc, &argv, NULL);
  /* A library that has not begun packs no values. */
  PMIX_INFO_LOAD (&alone, PMIX_TOOL_DO_NOT_CONNECT, NULL, PMIX_BOOL);
  g_assert_cmpint (PMIx_tool_init (&self, &alone, 1), ==, PMIX_SUCCESS);
  for (gsize i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].name, Request, NULL, set_up, tests[i].func, tear_down);
  failed = g_test_run ();
  PMIx_tool_finalize ();
  return failed;
}
