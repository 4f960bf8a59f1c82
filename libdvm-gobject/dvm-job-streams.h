/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include <gio/gio.h>

G_BEGIN_DECLS

#define DVM_TYPE_JOB_STREAMS (dvm_job_streams_get_type ())
G_DECLARE_FINAL_TYPE (DvmJobStreams, dvm_job_streams, DVM, JOB_STREAMS, GObject)

/* NULL for what was not asked for; closed when the last reference goes. */
GOutputStream *dvm_job_streams_get_stdin (DvmJobStreams *self);
GInputStream *dvm_job_streams_get_stdout (DvmJobStreams *self);
GInputStream *dvm_job_streams_get_stderr (DvmJobStreams *self);

G_END_DECLS
