/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A process of a job, as it was when it was asked for.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-proc"

#include "dvm-records-private.h"

struct _DvmProc
{
  guint rank;
  guint app;
  guint local_rank;
  guint node_rank;
  int pid;
  DvmProcState state;
  int exit_code;
  int exit_signal;
  char *node;
  char *cpuset;
  char *devices;
};

G_DEFINE_BOXED_TYPE (DvmProc, dvm_proc, dvm_proc_copy, dvm_proc_free)

DvmProc *
_dvm_proc_new (guint rank, guint app, const char *node, guint local_rank, guint node_rank, int pid, DvmProcState state,
               int exit_code, int exit_signal, const char *cpuset)
{
  DvmProc *proc = g_new0 (DvmProc, 1);

  proc->rank = rank;
  proc->app = app;
  proc->node = g_strdup (node != NULL ? node : "");
  proc->local_rank = local_rank;
  proc->node_rank = node_rank;
  proc->pid = pid;
  proc->state = state;
  proc->exit_code = exit_code;
  proc->exit_signal = exit_signal;
  proc->cpuset = g_strdup (cpuset != NULL ? cpuset : "");
  proc->devices = g_strdup ("");
  return proc;
}

DvmProc *
_dvm_proc_new_from_variant (GVariant *row)
{
  guint rank, app, local_rank, node_rank, state;
  int pid, exit_code, exit_signal;
  const char *node, *cpuset;

  g_return_val_if_fail (g_variant_is_of_type (row, G_VARIANT_TYPE ("(uusuuiuiis)")), NULL);

  g_variant_get (row, "(uu&suuiuii&s)", &rank, &app, &node, &local_rank, &node_rank, &pid, &state, &exit_code,
                 &exit_signal, &cpuset);
  return _dvm_proc_new (rank, app, node, local_rank, node_rank, pid, state, exit_code, exit_signal, cpuset);
}

void
_dvm_proc_set_devices (DvmProc *proc, const char *devices)
{
  g_free (proc->devices);
  proc->devices = g_strdup (devices);
}

/**
 * dvm_proc_copy:
 * @proc: a process
 *
 * Copies a process.
 *
 * Returns: (transfer full): the copy
 * Since: 0.1
 */
DvmProc *
dvm_proc_copy (const DvmProc *proc)
{
  DvmProc *copy;

  g_return_val_if_fail (proc != NULL, NULL);

  copy = _dvm_proc_new (proc->rank, proc->app, proc->node, proc->local_rank, proc->node_rank, proc->pid, proc->state,
                        proc->exit_code, proc->exit_signal, proc->cpuset);
  _dvm_proc_set_devices (copy, proc->devices);
  return copy;
}

/**
 * dvm_proc_free:
 * @proc: a process
 *
 * Frees a process.
 *
 * Since: 0.1
 */
void
dvm_proc_free (DvmProc *proc)
{
  g_return_if_fail (proc != NULL);

  g_free (proc->node);
  g_free (proc->cpuset);
  g_free (proc->devices);
  g_free (proc);
}

/**
 * dvm_proc_get_rank:
 * @proc: a process
 *
 * The rank of the process in its job.
 *
 * Returns: the rank, from 0
 * Since: 0.1
 */
guint
dvm_proc_get_rank (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, 0);

  return proc->rank;
}

/**
 * dvm_proc_get_app:
 * @proc: a process
 *
 * The number of its application in the job.
 *
 * Returns: the number, from 0
 * Since: 0.1
 */
guint
dvm_proc_get_app (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, 0);

  return proc->app;
}

/**
 * dvm_proc_get_node:
 * @proc: a process
 *
 * The name of the node that it is placed on.
 *
 * Returns: (transfer none): the name, "" if it is not placed
 * Since: 0.1
 */
const char *
dvm_proc_get_node (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, NULL);

  return proc->node;
}

/**
 * dvm_proc_get_local_rank:
 * @proc: a process
 *
 * Its number among the processes of its job on its node.
 *
 * Returns: the number, from 0
 * Since: 0.1
 */
guint
dvm_proc_get_local_rank (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, 0);

  return proc->local_rank;
}

/**
 * dvm_proc_get_node_rank:
 * @proc: a process
 *
 * Its number among the processes of all jobs on its node.
 *
 * Returns: the number, from 0
 * Since: 0.1
 */
guint
dvm_proc_get_node_rank (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, 0);

  return proc->node_rank;
}

/**
 * dvm_proc_get_pid:
 * @proc: a process
 *
 * Its process id on its node.
 *
 * Returns: the process id, 0 if it is not started
 * Since: 0.1
 */
int
dvm_proc_get_pid (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, 0);

  return proc->pid;
}

/**
 * dvm_proc_get_state:
 * @proc: a process
 *
 * Its state.
 *
 * Returns: the state
 * Since: 0.1
 */
DvmProcState
dvm_proc_get_state (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, DVM_PROC_STATE_UNDEF);

  return proc->state;
}

/**
 * dvm_proc_get_exit_code:
 * @proc: a process
 *
 * The status that it exited with.
 *
 * Returns: the status, 0 as long as it runs
 * Since: 0.1
 */
int
dvm_proc_get_exit_code (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, 0);

  return proc->exit_code;
}

/**
 * dvm_proc_get_exit_signal:
 * @proc: a process
 *
 * The signal that ended it.
 *
 * Returns: the number of the signal, 0 for none
 * Since: 0.1
 */
int
dvm_proc_get_exit_signal (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, 0);

  return proc->exit_signal;
}

/**
 * dvm_proc_get_cpuset:
 * @proc: a process
 *
 * The hardware threads that it is bound to.
 *
 * Returns: (transfer none): a list such as "0-3,8", "" if it is not bound
 * Since: 0.1
 */
const char *
dvm_proc_get_cpuset (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, NULL);

  return proc->cpuset;
}

/**
 * dvm_proc_get_devices:
 * @proc: a process
 *
 * The devices that are its own.
 *
 * Returns: (transfer none): a list of names such as "nvml0,nvml1", "" if it has none
 * Since: 0.1
 */
const char *
dvm_proc_get_devices (const DvmProc *proc)
{
  g_return_val_if_fail (proc != NULL, NULL);

  return proc->devices;
}
