/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The description of a job: its applications and its options.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include "dvm-job-spec-fields-private.h"

/**
 * DvmJobSpec:
 *
 * What is to run: one or more programs and the options of the job.
 *
 * Since: 0.1
 */
G_DEFINE_FINAL_TYPE (DvmJobSpec, dvm_job_spec, G_TYPE_OBJECT)

/* In the order of the properties. */
static const DvmRecordField fields[] = {
  /**
   * DvmJobSpec:n-apps:
   *
   * The number of programs.
   *
   * Since: 0.1
   */
  { "n-apps", "n-apps", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJobSpec, n_apps), .guarded = TRUE },
  /**
   * DvmJobSpec:name:
   *
   * The name of the job, for people.
   *
   * Since: 0.1
   */
  { "name", "name", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, name) },
  /**
   * DvmJobSpec:label:
   *
   * The label of the job; many jobs may share one.
   *
   * Since: 0.1
   */
  { "label", "label", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, label) },
  /**
   * DvmJobSpec:personality:
   *
   * How processes are started: "pmix" (default) or "plain", without PMIx.
   *
   * Since: 0.1
   */
  { "personality", "personality", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, personality) },
  /**
   * DvmJobSpec:map-by:
   *
   * How processes are placed: "slot" (default), "node", "ppr:2:node" (two on each node), or what the mappers of the DVM
   * know besides.
   *
   * Since: 0.1
   */
  { "map-by", "map-by", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, map_by) },
  /**
   * DvmJobSpec:rank-by:
   *
   * How ranks are given: "slot".
   *
   * Since: 0.1
   */
  { "rank-by", "rank-by", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, rank_by) },
  /**
   * DvmJobSpec:bind-to:
   *
   * What processes are bound to: "none".
   *
   * Since: 0.1
   */
  { "bind-to", "bind-to", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, bind_to) },
  /**
   * DvmJobSpec:when-full:
   *
   * What happens when slots are missing: "wait" (default), "refuse" or "oversubscribe".
   *
   * Since: 0.1
   */
  { "when-full", "when-full", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, when_full) },
  /**
   * DvmJobSpec:output:
   *
   * How output is marked and where it goes, such as "tag,timestamp" or "file=/tmp/out/%R:pattern:copy". Words are
   * separated by commas, qualifiers stand behind a colon. In a path what follows the last colon is a qualifier if it is
   * letters alone, or nothing: other colons are part of the path. Relative paths start in the directory of the first
   * application. dvm-cli-run(1) has all words.
   *
   * Since: 0.1
   */
  { "output", "output", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, output) },
  /**
   * DvmJobSpec:stdin-target:
   *
   * Which process gets the standard input: a rank (default "0"), "all" or "none".
   *
   * Since: 0.1
   */
  { "stdin", "stdin", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, stdin_target), .property = "stdin-target" },
  /**
   * DvmJobSpec:stdout-path:
   *
   * A file that gets the standard output.
   *
   * Since: 0.1
   */
  { "stdout-path", "stdout-path", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, stdout_path) },
  /**
   * DvmJobSpec:stderr-path:
   *
   * A file that gets the standard error.
   *
   * Since: 0.1
   */
  { "stderr-path", "stderr-path", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, stderr_path) },
  /**
   * DvmJobSpec:runtime-options:
   *
   * A list such as "error-nonzero-status=no,recoverable".
   *
   * Since: 0.1
   */
  { "runtime-options", "runtime-options", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, runtime_options) },
  /**
   * DvmJobSpec:add-hosts:
   *
   * Nodes that are added to the DVM before the job is placed: "node9", with a number of slots "node9:2". The DVM must
   * be elastic. A job whose nodes cannot be added never runs.
   *
   * Since: 0.1
   */
  { "add-hosts", "add-hosts", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmJobSpec, add_hosts) },
  /**
   * DvmJobSpec:add-hostfile:
   *
   * The absolute path of a file that names nodes that are added to the DVM before the job is placed. The DVM reads it.
   *
   * Since: 0.1
   */
  { "add-hostfile", "add-hostfile", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, add_hostfile) },
  /**
   * DvmJobSpec:target:
   *
   * The allocations whose nodes the job may use, by their ids; an empty text is the default session. The first one is
   * the session of the job.
   *
   * Since: 0.1
   */
  { "target", "target", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmJobSpec, target) },
  /**
   * DvmJobSpec:session:
   *
   * The number of the session of the job, 0 for the default one; %G_MAXUINT: none was given.
   *
   * Since: 0.1
   */
  { "session", "session", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJobSpec, session), .otherwise = DVM_SESSION_NONE },
  /**
   * DvmJobSpec:alloc-id:
   *
   * The id of the allocation whose session is that of the job.
   *
   * Since: 0.1
   */
  { "alloc-id", "alloc-id", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, alloc_id) },
  /**
   * DvmJobSpec:alloc-req-id:
   *
   * The id of the request that made the session of the job.
   *
   * Since: 0.1
   */
  { "alloc-req-id", "alloc-req-id", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, alloc_req_id) },
  /**
   * DvmJobSpec:child-separate:
   *
   * Whether the job goes on when the job ends that has spawned it.
   *
   * Since: 0.1
   */
  { "child-separate", "child-separate", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmJobSpec, child_separate) },
  /**
   * DvmJobSpec:timeout:
   *
   * After how many seconds the job is ended, 0 for never.
   *
   * Since: 0.1
   */
  { "timeout", "timeout", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJobSpec, timeout) },
  /**
   * DvmJobSpec:spawn-timeout:
   *
   * Within how many seconds all processes must have been started, 0 for no limit.
   *
   * Since: 0.1
   */
  { "spawn-timeout", "spawn-timeout", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJobSpec, spawn_timeout) },
  /**
   * DvmJobSpec:exec-agent:
   *
   * The words of a command that starts each process: the program and its arguments stand behind them.
   *
   * Since: 0.1
   */
  { "exec-agent", "exec-agent", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmJobSpec, exec_agent) },
  /**
   * DvmJobSpec:recoverable:
   *
   * Whether the job goes on when one of its processes fails.
   *
   * Since: 0.1
   */
  { "recoverable", "recoverable", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmJobSpec, recoverable) },
  /**
   * DvmJobSpec:max-restarts:
   *
   * How often each process that fails is started again, 0 for never.
   *
   * Since: 0.1
   */
  { "max-restarts", "max-restarts", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJobSpec, max_restarts) },
  /**
   * DvmJobSpec:priority:
   *
   * How urgent the job is among those that wait, from -1000 to 1000; 0 is usual. Of equal ones the first that came
   * goes first.
   *
   * Since: 0.1
   */
  { "priority", "priority", DVM_RECORD_FIELD_INT, G_STRUCT_OFFSET (DvmJobSpec, priority) },
  /**
   * DvmJobSpec:hold:
   *
   * Whether the job waits until it is released.
   *
   * Since: 0.1
   */
  { "hold", "hold", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmJobSpec, hold) },
  /**
   * DvmJobSpec:after:
   *
   * Jobs, by number or namespace, that must have started, or ended, before this one goes on.
   *
   * Since: 0.1
   */
  { "after", "after", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmJobSpec, after) },
  /**
   * DvmJobSpec:after-ok:
   *
   * Jobs that must have ended well. When one of them has failed, this one never runs.
   *
   * Since: 0.1
   */
  { "after-ok", "after-ok", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmJobSpec, after_ok) },
  /**
   * DvmJobSpec:after-any:
   *
   * Jobs that must have ended, in whatever way.
   *
   * Since: 0.1
   */
  { "after-any", "after-any", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmJobSpec, after_any) },
  /**
   * DvmJobSpec:singleton:
   *
   * Whether the job waits until the jobs of its name that came before it have ended.
   *
   * Since: 0.1
   */
  { "singleton", "singleton", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmJobSpec, singleton) },
  /**
   * DvmJobSpec:wait-for-slots:
   *
   * Whether the job waits, in a DVM that can grow, also for slots that the DVM does not have yet.
   *
   * Since: 0.1
   */
  { "wait-for-slots", "wait-for-slots", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmJobSpec, wait_for_slots) },
  /**
   * DvmJobSpec:array:
   *
   * The indexes of the jobs that the description stands for, such as "0-99:2,200%10"; %NULL for one job.
   *
   * Since: 0.1
   */
  { "array", "array", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmJobSpec, array) },
  /**
   * DvmJobSpec:pty:
   *
   * Whether the processes get a pseudo terminal.
   *
   * Since: 0.1
   */
  { "pty", "pty", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmJobSpec, pty) },
  /**
   * DvmJobSpec:pty-rows:
   *
   * The lines of the pseudo terminal, 0 for what the system gives.
   *
   * Since: 0.1
   */
  { "pty-rows", "pty-rows", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJobSpec, pty_rows) },
  /**
   * DvmJobSpec:pty-columns:
   *
   * The columns of the pseudo terminal, 0 for what the system gives.
   *
   * Since: 0.1
   */
  { "pty-columns", "pty-columns", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJobSpec, pty_columns) },
};

static GParamSpec *properties[sizeof (DvmJobSpec) / sizeof (guint)][2];

const DvmRecordCodec _dvm_job_spec_codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
};

static void
dvm_job_spec_finalize (GObject *object)
{
  g_ptr_array_unref (DVM_JOB_SPEC (object)->apps);
  g_clear_pointer (&DVM_JOB_SPEC (object)->pmix_info, g_variant_unref);
  g_clear_pointer (&DVM_JOB_SPEC (object)->env_edits, g_variant_unref);
  g_free (DVM_JOB_SPEC (object)->stop_ranks);
  g_free (DVM_JOB_SPEC (object)->display);
  g_free (DVM_JOB_SPEC (object)->place);
  _dvm_record_finalize (object);
}

static void
dvm_job_spec_class_init (DvmJobSpecClass *klass)
{
  _dvm_record_class_install (klass, &_dvm_job_spec_codec);
  G_OBJECT_CLASS (klass)->finalize = dvm_job_spec_finalize;
}

static void
dvm_job_spec_init (DvmJobSpec *self)
{
  self->apps = g_ptr_array_new_with_free_func (g_object_unref);
  self->session = DVM_SESSION_NONE;
}

void
_dvm_job_spec_set_pmix_info (DvmJobSpec *self, GVariant *info)
{
  g_clear_pointer (&self->pmix_info, g_variant_unref);
  self->pmix_info = info != NULL ? g_variant_ref_sink (info) : NULL;
}

GVariant *
_dvm_job_spec_get_pmix_info (DvmJobSpec *self)
{
  return self->pmix_info;
}

void
_dvm_job_spec_set_env_edits (DvmJobSpec *self, GVariant *edits)
{
  g_clear_pointer (&self->env_edits, g_variant_unref);
  self->env_edits = edits != NULL ? g_variant_ref_sink (edits) : NULL;
}

GVariant *
_dvm_job_spec_get_env_edits (DvmJobSpec *self)
{
  return self->env_edits;
}

void
_dvm_job_spec_set_index_argv (DvmJobSpec *self, gboolean index_argv)
{
  self->index_argv = index_argv;
}

gboolean
_dvm_job_spec_get_index_argv (DvmJobSpec *self)
{
  return self->index_argv;
}

void
_dvm_job_spec_set_stop_ranks (DvmJobSpec *self, const char *ranks)
{
  g_free (self->stop_ranks);
  self->stop_ranks = g_strdup (ranks);
}

const char *
_dvm_job_spec_get_stop_ranks (DvmJobSpec *self)
{
  return self->stop_ranks;
}

void
_dvm_job_spec_set_display (DvmJobSpec *self, const char *words)
{
  g_free (self->display);
  self->display = g_strdup (words);
}

const char *
_dvm_job_spec_get_display (DvmJobSpec *self)
{
  return self->display;
}

/**
 * dvm_job_spec_new:
 *
 * Makes the description of a job without programs.
 *
 * Returns: (transfer full): the new object
 * Since: 0.1
 */
DvmJobSpec *
dvm_job_spec_new (void)
{
  return g_object_new (DVM_TYPE_JOB_SPEC, NULL);
}

/**
 * dvm_job_spec_new_for_argv:
 * @argv: (array zero-terminated=1) (element-type filename): the program and its arguments
 *
 * Makes the description of a job with one program.
 *
 * Returns: (transfer full): the new object
 * Since: 0.1
 */
DvmJobSpec *
dvm_job_spec_new_for_argv (const char *const *argv)
{
  DvmJobSpec *self = dvm_job_spec_new ();
  g_autoptr (DvmAppSpec) app = dvm_app_spec_new (argv);

  dvm_job_spec_add_app (self, app);
  return self;
}

/**
 * dvm_job_spec_get_n_apps:
 * @self: a job description
 *
 * The number of programs.
 *
 * Returns: the number
 * Since: 0.1
 */
guint
dvm_job_spec_get_n_apps (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), 0);

  return self->apps->len;
}

/**
 * dvm_job_spec_get_app:
 * @self: a job description
 * @index: the number of the program, from 0
 *
 * One of the programs.
 *
 * Returns: (transfer none): the program
 * Since: 0.1
 */
DvmAppSpec *
dvm_job_spec_get_app (DvmJobSpec *self, guint index)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);
  g_return_val_if_fail (index < self->apps->len, NULL);

  return g_ptr_array_index (self->apps, index);
}

/**
 * dvm_job_spec_add_app:
 * @self: a job description
 * @app: a program
 *
 * Adds a program to the job.
 *
 * Since: 0.1
 */
void
dvm_job_spec_add_app (DvmJobSpec *self, DvmAppSpec *app)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));
  g_return_if_fail (DVM_IS_APP_SPEC (app));

  g_ptr_array_add (self->apps, g_object_ref (app));
  _dvm_record_set_uint (self, &_dvm_job_spec_codec, &self->n_apps, self->apps->len);
}
