/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The server as the files of this folder see it, with operations of the library.
 */

#pragma once

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-queue.h"
#include "dvmd-pmix-server.h"

G_BEGIN_DECLS

/* The time limit of a connect or a disconnect, where the library is not to see it (dvmd-pmix-meet-intercept.c). */
#define DVMD_PMIX_MEETING_LIMIT "dvm.meeting.limit"

typedef struct _DvmdPmixOutputs DvmdPmixOutputs;

DvmdPmixHost *dvmd_pmix_server_get_host (DvmdPmixServer *self);
DvmdPmixOutputs *dvmd_pmix_server_get_outputs (DvmdPmixServer *self);
gboolean dvmd_pmix_server_is_running (DvmdPmixServer *self);
/* As the library knows it. */
void dvmd_pmix_server_get_proc (DvmdPmixServer *self, pmix_proc_t *proc);
/* (nullable) */
DvmdTopology *dvmd_pmix_server_get_topology (DvmdPmixServer *self);
/* nspace -> how many events its processes may tell of (dvmd-pmix-events.c) */
GHashTable *dvmd_pmix_server_get_allowances (DvmdPmixServer *self);
/* The job is registered here. */
gboolean dvmd_pmix_server_has_job (DvmdPmixServer *self, const char *nspace);

/*
 * An operation of the library: one task, answered when count callbacks have come. It is made on the main context; the
 * callbacks come on PMIx's thread.
 */
typedef struct
{
  DvmdPmixItem item;
  DvmdPmixQueue *queue;
  GTask *task;
  gint count;
  gint status; /* of the first that failed */
  int thread;  /* of the last */
  GBytes *data;
  /* On the main context, when all have come. */
  void (*done) (DvmdPmixServer *server, GTask *task, int status, GBytes *data);
} DvmdPmixOperation;

typedef void (*DvmdPmixOperationDone) (DvmdPmixServer *server, GTask *task, int status, GBytes *data);

DvmdPmixOperation *dvmd_pmix_operation_new (DvmdPmixServer *server, GTask *task, gint count,
                                            DvmdPmixOperationDone done);
/* A pmix_op_cbfunc_t: one of the callbacks has come. From any thread. */
void dvmd_pmix_operation_step (pmix_status_t status, void *data);
/* Takes the status of a library call that calls dvmd_pmix_operation_step() later, unless it has failed at once. */
void dvmd_pmix_operation_called (DvmdPmixOperation *self, pmix_status_t status);

/* From any thread; func gets data, and a status that says nothing. */
void dvmd_pmix_server_run_on_thread (pmix_op_cbfunc_t func, void *data);

/* NULL, with the error set to the task, unless the server runs. */
GTask *dvmd_pmix_server_new_task (DvmdPmixServer *self, gpointer tag, GAsyncReadyCallback callback, gpointer user_data);
GError *dvmd_pmix_error_new (int status, const char *format, ...) G_GNUC_PRINTF (2, 3);

G_END_DECLS
