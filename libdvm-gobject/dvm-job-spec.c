/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include "dvm-job-spec-private.h"
#include "dvm-record-codec-private.h"

/**
 * DvmJobSpec:
 *
 * What is to run: one or more programs and the options of the job.
 *
 * Since: 0.1
 */
struct _DvmJobSpec
{
  GObject parent_instance;

  GPtrArray *apps;
  guint n_apps;
  char *name;
  char *label;
  char *personality;
  char *map_by;
  char *rank_by;
  char *bind_to;
  char *when_full;
  char *output;
  char *stdin_target;
  char *stdout_path;
  char *stderr_path;
  char *runtime_options;
  guint timeout;
  gboolean recoverable;
  gboolean pty;
  guint pty_rows;
  guint pty_columns;
};

enum
{
  PROP_0,
  PROP_N_APPS,
  PROP_NAME,
  PROP_LABEL,
  PROP_PERSONALITY,
  PROP_MAP_BY,
  PROP_RANK_BY,
  PROP_BIND_TO,
  PROP_WHEN_FULL,
  PROP_OUTPUT,
  PROP_STDIN_TARGET,
  PROP_STDOUT_PATH,
  PROP_STDERR_PATH,
  PROP_RUNTIME_OPTIONS,
  PROP_TIMEOUT,
  PROP_RECOVERABLE,
  PROP_PTY,
  PROP_PTY_ROWS,
  PROP_PTY_COLUMNS,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

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
   * How processes are placed: "slot" (default) or "node".
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
   * DvmJobSpec:timeout:
   *
   * After how many seconds the job is ended, 0 for never.
   *
   * Since: 0.1
   */
  { "timeout", "timeout", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmJobSpec, timeout) },
  /**
   * DvmJobSpec:recoverable:
   *
   * Whether the job goes on when one of its processes fails.
   *
   * Since: 0.1
   */
  { "recoverable", "recoverable", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmJobSpec, recoverable) },
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

G_STATIC_ASSERT (G_N_ELEMENTS (fields) == N_PROPS - 1);

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
  .is_spec = TRUE,
};

static void
dvm_job_spec_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  _dvm_record_get_property (object, &codec, prop_id, value);
}

static void
dvm_job_spec_set_property (GObject *object, guint prop_id, const GValue *value, GParamSpec *pspec)
{
  _dvm_record_set_property (object, &codec, prop_id, value);
}

static void
dvm_job_spec_finalize (GObject *object)
{
  DvmJobSpec *self = DVM_JOB_SPEC (object);

  g_ptr_array_unref (self->apps);
  _dvm_record_clear (self, &codec);
  G_OBJECT_CLASS (dvm_job_spec_parent_class)->finalize (object);
}

static void
dvm_job_spec_class_init (DvmJobSpecClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = dvm_job_spec_get_property;
  object_class->set_property = dvm_job_spec_set_property;
  object_class->finalize = dvm_job_spec_finalize;
  _dvm_record_class_install (klass, &codec);
}

static void
dvm_job_spec_init (DvmJobSpec *self)
{
  self->apps = g_ptr_array_new_with_free_func (g_object_unref);
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
  _dvm_record_set_uint (self, &self->n_apps, self->apps->len, properties[PROP_N_APPS]);
}

/**
 * dvm_job_spec_get_name:
 * @self: a job description
 *
 * The name of the job, for people.
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_name (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->name;
}

/**
 * dvm_job_spec_set_name:
 * @self: a job description
 * @name: (nullable): the text, %NULL for the default
 *
 * Sets the name of the job, for people.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_name (DvmJobSpec *self, const char *name)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->name, name, properties[PROP_NAME]);
}

/**
 * dvm_job_spec_get_label:
 * @self: a job description
 *
 * The label of the job; many jobs may share one.
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_label (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->label;
}

/**
 * dvm_job_spec_set_label:
 * @self: a job description
 * @label: (nullable): the text, %NULL for the default
 *
 * Sets the label of the job; many jobs may share one.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_label (DvmJobSpec *self, const char *label)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->label, label, properties[PROP_LABEL]);
}

/**
 * dvm_job_spec_get_personality:
 * @self: a job description
 *
 * How processes are started: "pmix" (default) or "plain", without PMIx.
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_personality (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->personality;
}

/**
 * dvm_job_spec_set_personality:
 * @self: a job description
 * @personality: (nullable): the text, %NULL for the default
 *
 * Sets how processes are started: "pmix" (default) or "plain", without PMIx.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_personality (DvmJobSpec *self, const char *personality)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->personality, personality, properties[PROP_PERSONALITY]);
}

/**
 * dvm_job_spec_get_map_by:
 * @self: a job description
 *
 * How processes are placed: "slot" (default) or "node".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_map_by (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->map_by;
}

/**
 * dvm_job_spec_set_map_by:
 * @self: a job description
 * @map_by: (nullable): the text, %NULL for the default
 *
 * Sets how processes are placed: "slot" (default) or "node".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_map_by (DvmJobSpec *self, const char *map_by)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->map_by, map_by, properties[PROP_MAP_BY]);
}

/**
 * dvm_job_spec_get_rank_by:
 * @self: a job description
 *
 * How ranks are given: "slot".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_rank_by (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->rank_by;
}

/**
 * dvm_job_spec_set_rank_by:
 * @self: a job description
 * @rank_by: (nullable): the text, %NULL for the default
 *
 * Sets how ranks are given: "slot".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_rank_by (DvmJobSpec *self, const char *rank_by)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->rank_by, rank_by, properties[PROP_RANK_BY]);
}

/**
 * dvm_job_spec_get_bind_to:
 * @self: a job description
 *
 * What processes are bound to: "none".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_bind_to (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->bind_to;
}

/**
 * dvm_job_spec_set_bind_to:
 * @self: a job description
 * @bind_to: (nullable): the text, %NULL for the default
 *
 * Sets what processes are bound to: "none".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_bind_to (DvmJobSpec *self, const char *bind_to)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->bind_to, bind_to, properties[PROP_BIND_TO]);
}

/**
 * dvm_job_spec_get_when_full:
 * @self: a job description
 *
 * What happens when slots are missing: "wait" (default), "refuse" or "oversubscribe".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_when_full (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->when_full;
}

/**
 * dvm_job_spec_set_when_full:
 * @self: a job description
 * @when_full: (nullable): the text, %NULL for the default
 *
 * Sets what happens when slots are missing: "wait" (default), "refuse" or "oversubscribe".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_when_full (DvmJobSpec *self, const char *when_full)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->when_full, when_full, properties[PROP_WHEN_FULL]);
}

/**
 * dvm_job_spec_get_output:
 * @self: a job description
 *
 * How output is marked and where it goes, such as "tag,timestamp" or "dir=/tmp/out".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_output (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->output;
}

/**
 * dvm_job_spec_set_output:
 * @self: a job description
 * @output: (nullable): the text, %NULL for the default
 *
 * Sets how output is marked and where it goes, such as "tag,timestamp" or "dir=/tmp/out".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_output (DvmJobSpec *self, const char *output)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->output, output, properties[PROP_OUTPUT]);
}

/**
 * dvm_job_spec_get_stdin_target:
 * @self: a job description
 *
 * Which process gets the standard input: a rank (default "0"), "all" or "none".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_stdin_target (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->stdin_target;
}

/**
 * dvm_job_spec_set_stdin_target:
 * @self: a job description
 * @target: (nullable): the text, %NULL for the default
 *
 * Sets which process gets the standard input: a rank (default "0"), "all" or "none".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_stdin_target (DvmJobSpec *self, const char *target)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->stdin_target, target, properties[PROP_STDIN_TARGET]);
}

/**
 * dvm_job_spec_get_stdout_path:
 * @self: a job description
 *
 * A file that gets the standard output.
 *
 * Returns: (transfer none) (nullable) (type filename): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_stdout_path (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->stdout_path;
}

/**
 * dvm_job_spec_set_stdout_path:
 * @self: a job description
 * @path: (nullable) (type filename): the text, %NULL for the default
 *
 * Sets a file that gets the standard output.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_stdout_path (DvmJobSpec *self, const char *path)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->stdout_path, path, properties[PROP_STDOUT_PATH]);
}

/**
 * dvm_job_spec_get_stderr_path:
 * @self: a job description
 *
 * A file that gets the standard error.
 *
 * Returns: (transfer none) (nullable) (type filename): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_stderr_path (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->stderr_path;
}

/**
 * dvm_job_spec_set_stderr_path:
 * @self: a job description
 * @path: (nullable) (type filename): the text, %NULL for the default
 *
 * Sets a file that gets the standard error.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_stderr_path (DvmJobSpec *self, const char *path)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->stderr_path, path, properties[PROP_STDERR_PATH]);
}

/**
 * dvm_job_spec_get_runtime_options:
 * @self: a job description
 *
 * A list such as "error-nonzero-status=no,recoverable".
 *
 * Returns: (transfer none) (nullable): the text, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_runtime_options (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->runtime_options;
}

/**
 * dvm_job_spec_set_runtime_options:
 * @self: a job description
 * @options: (nullable): the text, %NULL for the default
 *
 * Sets a list such as "error-nonzero-status=no,recoverable".
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_runtime_options (DvmJobSpec *self, const char *options)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &self->runtime_options, options, properties[PROP_RUNTIME_OPTIONS]);
}

/**
 * dvm_job_spec_get_timeout:
 * @self: a job description
 *
 * After how many seconds the job is ended.
 *
 * Returns: the seconds, 0 for never
 * Since: 0.1
 */
guint
dvm_job_spec_get_timeout (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), 0);

  return self->timeout;
}

/**
 * dvm_job_spec_set_timeout:
 * @self: a job description
 * @seconds: the seconds, 0 for never
 *
 * Sets after how many seconds the job is ended.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_timeout (DvmJobSpec *self, guint seconds)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_uint (self, &self->timeout, seconds, properties[PROP_TIMEOUT]);
}

/**
 * dvm_job_spec_get_recoverable:
 * @self: a job description
 *
 * Whether the job goes on when one of its processes fails.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_job_spec_get_recoverable (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), FALSE);

  return self->recoverable;
}

/**
 * dvm_job_spec_set_recoverable:
 * @self: a job description
 * @recoverable: %TRUE or %FALSE
 *
 * Sets whether the job goes on when one of its processes fails.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_recoverable (DvmJobSpec *self, gboolean recoverable)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_boolean (self, &self->recoverable, !!recoverable, properties[PROP_RECOVERABLE]);
}

/**
 * dvm_job_spec_get_pty:
 * @self: a job description
 *
 * Whether the processes get a pseudo terminal.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_job_spec_get_pty (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), FALSE);

  return self->pty;
}

/**
 * dvm_job_spec_set_pty:
 * @self: a job description
 * @pty: %TRUE or %FALSE
 *
 * Sets whether the processes get a pseudo terminal.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_pty (DvmJobSpec *self, gboolean pty)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_boolean (self, &self->pty, !!pty, properties[PROP_PTY]);
}

/**
 * dvm_job_spec_get_pty_rows:
 * @self: a job description
 *
 * The lines of the pseudo terminal.
 *
 * Returns: their number, 0 for what the system gives
 * Since: 0.1
 */
guint
dvm_job_spec_get_pty_rows (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), 0);

  return self->pty_rows;
}

/**
 * dvm_job_spec_set_pty_rows:
 * @self: a job description
 * @rows: their number, 65535 at most, 0 for what the system gives
 *
 * Sets the lines of the pseudo terminal.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_pty_rows (DvmJobSpec *self, guint rows)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_uint (self, &self->pty_rows, rows, properties[PROP_PTY_ROWS]);
}

/**
 * dvm_job_spec_get_pty_columns:
 * @self: a job description
 *
 * The columns of the pseudo terminal.
 *
 * Returns: their number, 0 for what the system gives
 * Since: 0.1
 */
guint
dvm_job_spec_get_pty_columns (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), 0);

  return self->pty_columns;
}

/**
 * dvm_job_spec_set_pty_columns:
 * @self: a job description
 * @columns: their number, 65535 at most, 0 for what the system gives
 *
 * Sets the columns of the pseudo terminal.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_pty_columns (DvmJobSpec *self, guint columns)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_uint (self, &self->pty_columns, columns, properties[PROP_PTY_COLUMNS]);
}
