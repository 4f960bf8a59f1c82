/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include "dvm-enums.h"

G_BEGIN_DECLS

#define DVM_TYPE_JOB (dvm_job_get_type ())
G_DECLARE_FINAL_TYPE (DvmJob, dvm_job, DVM, JOB, GObject)

guint dvm_job_get_id (DvmJob *self);
const char *dvm_job_get_nspace (DvmJob *self);
const char *dvm_job_get_name (DvmJob *self);
const char *dvm_job_get_label (DvmJob *self);
const char *dvm_job_get_object_path (DvmJob *self);
DvmJobState dvm_job_get_state (DvmJob *self);
const char *dvm_job_get_state_name (DvmJob *self);
gboolean dvm_job_get_ended (DvmJob *self);
gboolean dvm_job_get_failed (DvmJob *self);
const char *dvm_job_get_reason (DvmJob *self);
const char *dvm_job_get_held_at (DvmJob *self);
gboolean dvm_job_get_paused (DvmJob *self);
const char *const *dvm_job_get_waits_for (DvmJob *self);
int dvm_job_get_priority (DvmJob *self);
const char *const *dvm_job_get_awaited_jobs (DvmJob *self);
guint dvm_job_get_array_id (DvmJob *self);
guint dvm_job_get_array_index (DvmJob *self);
guint dvm_job_get_array_count (DvmJob *self);
guint dvm_job_get_num_procs (DvmJob *self);
guint dvm_job_get_num_launched (DvmJob *self);
guint dvm_job_get_num_registered (DvmJob *self);
guint dvm_job_get_num_terminated (DvmJob *self);
int dvm_job_get_exit_code (DvmJob *self);
int dvm_job_get_exit_signal (DvmJob *self);
int dvm_job_get_failed_rank (DvmJob *self);
const char *dvm_job_get_session (DvmJob *self);
const char *dvm_job_get_parent (DvmJob *self);
const char *const *dvm_job_get_children (DvmJob *self);
const char *const *dvm_job_get_command (DvmJob *self);
const char *const *dvm_job_get_nodes (DvmJob *self);
const char *dvm_job_get_submitter (DvmJob *self);
guint dvm_job_get_submitter_uid (DvmJob *self);
guint dvm_job_get_submitter_pid (DvmJob *self);
gint64 dvm_job_get_created_at (DvmJob *self);
gint64 dvm_job_get_started_at (DvmJob *self);
gint64 dvm_job_get_ended_at (DvmJob *self);
guint dvm_job_get_remapped (DvmJob *self);
guint dvm_job_get_restarts (DvmJob *self);
gint64 dvm_job_get_output_bytes (DvmJob *self);
const char *dvm_job_get_output_error (DvmJob *self);
const char *dvm_job_get_reason_code (DvmJob *self);
const char *const *dvm_job_get_reason_arguments (DvmJob *self);
char *dvm_job_dup_translated_reason (DvmJob *self);
DvmJob *dvm_job_get_first_failure (DvmJob *self);

DvmJob *dvm_job_new_from_variant (GVariant *values, GError **error);
GVariant *dvm_job_to_variant (DvmJob *self);
char *dvm_job_to_json (DvmJob *self);

G_END_DECLS
