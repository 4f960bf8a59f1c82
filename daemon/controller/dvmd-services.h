/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-dispatch.h"
#include "dvmd-requesters.h"

G_BEGIN_DECLS

/*
 * A service is one concern of the controller: a struct that no other file sees, the messages that it takes, and what it
 * does when something has ended. The controller does not change when it gets another one;
 * dvmd-controller-private.h lists them.
 */

typedef struct
{
  DvmdCallKind kind;
  /* call: borrowed; dvmd_controller_answer() follows, at once or later */
  void (*handle) (gpointer service, DvmdCall *call, GVariant *request);
} DvmdCallHandler;

/* All but name, create and free are nullable. */
typedef struct
{
  const char *name;
  gpointer (*create) (DvmdController *controller, const DvmdControllerSettings *settings);
  void (*free) (gpointer service);
  const DvmdHandler *handlers;  /* the last one has no function */
  const DvmdCallHandler *calls; /* the same */
  void (*job_changed) (gpointer service, DvmdJob *job, DvmJobState state);
  /* All of its processes are there. */
  void (*job_started) (gpointer service, DvmdJob *job);
  /* Its processes are being ended. */
  void (*job_killed) (gpointer service, DvmdJob *job);
  /* Nothing of the job runs any more. */
  void (*job_ended) (gpointer service, DvmdJob *job);
  /* The job has left the history. */
  void (*job_forgotten) (gpointer service, DvmdJob *job);
  /* The process has ended or is lost: it calls nothing any more. */
  void (*proc_ended) (gpointer service, DvmdJob *job, guint32 rank);
  /* The agent of this rank answers nothing any more; it may be told twice. */
  void (*agent_gone) (gpointer service, guint rank);
  /* A tool, by its namespace, has gone. */
  void (*requester_gone) (gpointer service, const char *nspace);
  /* Nothing of the DVM runs any more; what is waited for does not come. */
  void (*dvm_ended) (gpointer service);
  /* For Manager.Statistics, with dvmd_services_add_number(). */
  void (*add_statistics) (gpointer service, GVariantBuilder *statistics);
} DvmdService;

typedef struct _DvmdServices DvmdServices;

/* controller: unowned; what services need of it is there. */
DvmdServices *dvmd_services_new (DvmdController *controller, const DvmdControllerSettings *settings);
void dvmd_services_free (DvmdServices *self);
/* The struct of a service. */
gpointer dvmd_services_get (DvmdServices *self, const DvmdService *service);
/* FALSE: no service takes messages of this kind. */
gboolean dvmd_services_handle (DvmdServices *self, DvmdMessage *message);
/* Of a known kind, and with a request of its type. */
void dvmd_services_call (DvmdServices *self, DvmdCall *call, GVariant *request);
void dvmd_services_job_changed (DvmdServices *self, DvmdJob *job, DvmJobState state);
void dvmd_services_job_started (DvmdServices *self, DvmdJob *job);
void dvmd_services_job_killed (DvmdServices *self, DvmdJob *job);
void dvmd_services_job_ended (DvmdServices *self, DvmdJob *job);
void dvmd_services_job_forgotten (DvmdServices *self, DvmdJob *job);
void dvmd_services_proc_ended (DvmdServices *self, DvmdJob *job, guint32 rank);
void dvmd_services_agent_gone (DvmdServices *self, guint rank);
void dvmd_services_dvm_ended (DvmdServices *self);
void dvmd_services_add_statistics (DvmdServices *self, GVariantBuilder *statistics);
void dvmd_services_add_number (GVariantBuilder *statistics, const char *name, guint64 value);
void dvmd_services_requester_gone (DvmdServices *self, const char *nspace);

G_END_DECLS
