/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include "dvm-enums.h"

G_BEGIN_DECLS

#define DVM_TYPE_PROC (dvm_proc_get_type ())

/**
 * DvmProc:
 *
 * One process of a job as it was when it was asked for: a value, not an object that changes.
 *
 * Since: 0.1
 */
typedef struct _DvmProc DvmProc;

GType dvm_proc_get_type (void) G_GNUC_CONST;

DvmProc *dvm_proc_copy (const DvmProc *proc);
void dvm_proc_free (DvmProc *proc);

guint dvm_proc_get_rank (const DvmProc *proc);
guint dvm_proc_get_app (const DvmProc *proc);
const char *dvm_proc_get_node (const DvmProc *proc);
guint dvm_proc_get_local_rank (const DvmProc *proc);
guint dvm_proc_get_node_rank (const DvmProc *proc);
int dvm_proc_get_pid (const DvmProc *proc);
DvmProcState dvm_proc_get_state (const DvmProc *proc);
int dvm_proc_get_exit_code (const DvmProc *proc);
int dvm_proc_get_exit_signal (const DvmProc *proc);
const char *dvm_proc_get_cpuset (const DvmProc *proc);
const char *dvm_proc_get_devices (const DvmProc *proc);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmProc, dvm_proc_free)

G_END_DECLS
