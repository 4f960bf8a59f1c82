/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The description of a job to run. A DvmJobSpec holds one or more DvmAppSpec (MPMD: each its own program) and the
 * options of the job. Byte strings (argv, environment, directory) need not be UTF-8.
 */

#define DVM_TYPE_APP_SPEC (dvm_app_spec_get_type ())
G_DECLARE_FINAL_TYPE (DvmAppSpec, dvm_app_spec, DVM, APP_SPEC, GObject)

DvmAppSpec *dvm_app_spec_new (const char *const *argv);

const char *const *dvm_app_spec_get_argv (DvmAppSpec *self);
void dvm_app_spec_set_argv (DvmAppSpec *self, const char *const *argv);
/* 0: not given (all free slots, at least 1) */
guint dvm_app_spec_get_np (DvmAppSpec *self);
void dvm_app_spec_set_np (DvmAppSpec *self, guint np);
const char *dvm_app_spec_get_cwd (DvmAppSpec *self);
void dvm_app_spec_set_cwd (DvmAppSpec *self, const char *cwd);
/* "NAME=value" each, in the order given; later ones win */
const char *const *dvm_app_spec_get_env (DvmAppSpec *self);
void dvm_app_spec_set_env (DvmAppSpec *self, const char *const *env);
void dvm_app_spec_setenv (DvmAppSpec *self, const char *name, const char *value);
const char *const *dvm_app_spec_get_unset_env (DvmAppSpec *self);
void dvm_app_spec_set_unset_env (DvmAppSpec *self, const char *const *names);
/* TRUE: start from an empty environment, not from the daemon's */
gboolean dvm_app_spec_get_clear_env (DvmAppSpec *self);
void dvm_app_spec_set_clear_env (DvmAppSpec *self, gboolean clear);
/* "node3" or "node3:4" each */
const char *const *dvm_app_spec_get_hosts (DvmAppSpec *self);
void dvm_app_spec_set_hosts (DvmAppSpec *self, const char *const *hosts);
const char *dvm_app_spec_get_hostfile (DvmAppSpec *self);
void dvm_app_spec_set_hostfile (DvmAppSpec *self, const char *path);
/* Copied into the session directory of the job on each of its nodes */
const char *const *dvm_app_spec_get_preload_files (DvmAppSpec *self);
void dvm_app_spec_set_preload_files (DvmAppSpec *self, const char *const *files);
const char *dvm_app_spec_get_preload_dir (DvmAppSpec *self);
void dvm_app_spec_set_preload_dir (DvmAppSpec *self, const char *directory);
gboolean dvm_app_spec_get_preload_binary (DvmAppSpec *self);
void dvm_app_spec_set_preload_binary (DvmAppSpec *self, gboolean preload);
gboolean dvm_app_spec_get_session_cwd (DvmAppSpec *self);
void dvm_app_spec_set_session_cwd (DvmAppSpec *self, gboolean session);
/* How its processes are placed, ranked and bound; NULL: as the job says */
const char *dvm_app_spec_get_map_by (DvmAppSpec *self);
void dvm_app_spec_set_map_by (DvmAppSpec *self, const char *map_by);
const char *dvm_app_spec_get_rank_by (DvmAppSpec *self);
void dvm_app_spec_set_rank_by (DvmAppSpec *self, const char *rank_by);
const char *dvm_app_spec_get_pset (DvmAppSpec *self);
void dvm_app_spec_set_pset (DvmAppSpec *self, const char *pset);
const char *dvm_app_spec_get_bind_to (DvmAppSpec *self);
void dvm_app_spec_set_bind_to (DvmAppSpec *self, const char *bind_to);

#define DVM_TYPE_JOB_SPEC (dvm_job_spec_get_type ())
G_DECLARE_FINAL_TYPE (DvmJobSpec, dvm_job_spec, DVM, JOB_SPEC, GObject)

DvmJobSpec *dvm_job_spec_new (void);
DvmJobSpec *dvm_job_spec_new_for_argv (const char *const *argv);

guint dvm_job_spec_get_n_apps (DvmJobSpec *self);
DvmAppSpec *dvm_job_spec_get_app (DvmJobSpec *self, guint index);
void dvm_job_spec_add_app (DvmJobSpec *self, DvmAppSpec *app);

/*
 * Options of the job, each also a GObject property of the same name:
 *   name s, label s, personality s ("pmix", "plain"), map-by s, rank-by s, bind-to s, when-full s ("wait", "refuse",
 *   "oversubscribe"), output s, stdin s (rank, "all", "none"), stdin-path s, stdout-path s, stderr-path s,
 *   runtime-options s, timeout u (seconds, 0 none), spawn-timeout u (likewise), exec-agent as (words before those of
 *   each program), recoverable b, max-restarts u, pty b,
 *   pty-rows u, pty-columns u (65535 at most, 0: what the system gives), add-hosts as, add-hostfile s,
 *   target as (allocation ids, "" the default session), session u (G_MAXUINT: none), alloc-id s, alloc-req-id s,
 *   child-separate b, priority i (-1000 to 1000), hold b, after as, after-ok as, after-any as (numbers or namespaces of
 *   jobs), singleton b, wait-for-slots b, array s
 */
const char *dvm_job_spec_get_name (DvmJobSpec *self);
const char *dvm_job_spec_get_label (DvmJobSpec *self);
const char *dvm_job_spec_get_personality (DvmJobSpec *self);
const char *dvm_job_spec_get_map_by (DvmJobSpec *self);
const char *dvm_job_spec_get_rank_by (DvmJobSpec *self);
const char *dvm_job_spec_get_bind_to (DvmJobSpec *self);
const char *dvm_job_spec_get_when_full (DvmJobSpec *self);
const char *dvm_job_spec_get_output (DvmJobSpec *self);
const char *dvm_job_spec_get_stdin_target (DvmJobSpec *self);
const char *dvm_job_spec_get_stdout_path (DvmJobSpec *self);
const char *dvm_job_spec_get_stderr_path (DvmJobSpec *self);
const char *dvm_job_spec_get_runtime_options (DvmJobSpec *self);
guint dvm_job_spec_get_timeout (DvmJobSpec *self);
guint dvm_job_spec_get_spawn_timeout (DvmJobSpec *self);
const char *const *dvm_job_spec_get_exec_agent (DvmJobSpec *self);
gboolean dvm_job_spec_get_recoverable (DvmJobSpec *self);
guint dvm_job_spec_get_max_restarts (DvmJobSpec *self);
gboolean dvm_job_spec_get_pty (DvmJobSpec *self);
guint dvm_job_spec_get_pty_rows (DvmJobSpec *self);
guint dvm_job_spec_get_pty_columns (DvmJobSpec *self);
const char *const *dvm_job_spec_get_add_hosts (DvmJobSpec *self);
const char *dvm_job_spec_get_add_hostfile (DvmJobSpec *self);
const char *const *dvm_job_spec_get_target (DvmJobSpec *self);
guint dvm_job_spec_get_session (DvmJobSpec *self);
const char *dvm_job_spec_get_alloc_id (DvmJobSpec *self);
const char *dvm_job_spec_get_alloc_req_id (DvmJobSpec *self);
gboolean dvm_job_spec_get_child_separate (DvmJobSpec *self);
int dvm_job_spec_get_priority (DvmJobSpec *self);
gboolean dvm_job_spec_get_hold (DvmJobSpec *self);
const char *const *dvm_job_spec_get_after (DvmJobSpec *self);
const char *const *dvm_job_spec_get_after_ok (DvmJobSpec *self);
const char *const *dvm_job_spec_get_after_any (DvmJobSpec *self);
gboolean dvm_job_spec_get_singleton (DvmJobSpec *self);
gboolean dvm_job_spec_get_wait_for_slots (DvmJobSpec *self);
const char *dvm_job_spec_get_array (DvmJobSpec *self);

void dvm_job_spec_set_name (DvmJobSpec *self, const char *name);
void dvm_job_spec_set_label (DvmJobSpec *self, const char *label);
void dvm_job_spec_set_personality (DvmJobSpec *self, const char *personality);
void dvm_job_spec_set_map_by (DvmJobSpec *self, const char *map_by);
void dvm_job_spec_set_rank_by (DvmJobSpec *self, const char *rank_by);
void dvm_job_spec_set_bind_to (DvmJobSpec *self, const char *bind_to);
void dvm_job_spec_set_when_full (DvmJobSpec *self, const char *when_full);
void dvm_job_spec_set_output (DvmJobSpec *self, const char *output);
void dvm_job_spec_set_stdin_target (DvmJobSpec *self, const char *target);
void dvm_job_spec_set_stdout_path (DvmJobSpec *self, const char *path);
void dvm_job_spec_set_stderr_path (DvmJobSpec *self, const char *path);
void dvm_job_spec_set_runtime_options (DvmJobSpec *self, const char *options);
void dvm_job_spec_set_timeout (DvmJobSpec *self, guint seconds);
void dvm_job_spec_set_spawn_timeout (DvmJobSpec *self, guint seconds);
void dvm_job_spec_set_exec_agent (DvmJobSpec *self, const char *const *words);
void dvm_job_spec_set_recoverable (DvmJobSpec *self, gboolean recoverable);
void dvm_job_spec_set_max_restarts (DvmJobSpec *self, guint max_restarts);
void dvm_job_spec_set_pty (DvmJobSpec *self, gboolean pty);
void dvm_job_spec_set_pty_rows (DvmJobSpec *self, guint rows);
void dvm_job_spec_set_pty_columns (DvmJobSpec *self, guint columns);
void dvm_job_spec_set_add_hosts (DvmJobSpec *self, const char *const *hosts);
void dvm_job_spec_set_add_hostfile (DvmJobSpec *self, const char *path);
void dvm_job_spec_set_target (DvmJobSpec *self, const char *const *alloc_ids);
void dvm_job_spec_set_session (DvmJobSpec *self, guint session);
void dvm_job_spec_set_alloc_id (DvmJobSpec *self, const char *alloc_id);
void dvm_job_spec_set_alloc_req_id (DvmJobSpec *self, const char *request_id);
void dvm_job_spec_set_child_separate (DvmJobSpec *self, gboolean separate);
void dvm_job_spec_set_priority (DvmJobSpec *self, int priority);
void dvm_job_spec_set_hold (DvmJobSpec *self, gboolean hold);
void dvm_job_spec_set_after (DvmJobSpec *self, const char *const *jobs);
void dvm_job_spec_set_after_ok (DvmJobSpec *self, const char *const *jobs);
void dvm_job_spec_set_after_any (DvmJobSpec *self, const char *const *jobs);
void dvm_job_spec_set_singleton (DvmJobSpec *self, gboolean singleton);
void dvm_job_spec_set_wait_for_slots (DvmJobSpec *self, gboolean wait);
void dvm_job_spec_set_array (DvmJobSpec *self, const char *array);

gboolean dvm_job_spec_validate (DvmJobSpec *self, GError **error);

/* (aa{sv}a{sv}): the arguments of org.dvm.Manager.SubmitApps */
GVariant *dvm_job_spec_to_variant (DvmJobSpec *self);
DvmJobSpec *dvm_job_spec_new_from_variant (GVariant *apps, GVariant *options, GError **error);
char *dvm_job_spec_to_json (DvmJobSpec *self);
DvmJobSpec *dvm_job_spec_new_from_json (const char *json, gssize length, GError **error);

G_END_DECLS
