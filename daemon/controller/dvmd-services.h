/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-dispatch.h"
#include "dvmd-controller-frame.h"
#include "dvmd-pmix-numbers.h"
#include "dvmd-requesters.h"

G_BEGIN_DECLS

/*
 * A service is one concern of the controller: a struct that no other file sees, the messages that it takes, and what it
 * does when something has ended. The controller does not change when it gets another one;
 * DVMD_SERVICES lists them.
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
  /* A process that has called PMIx_Init or MPI_Init has failed, and is to be started again. */
  void (*proc_failed) (gpointer service, DvmdJob *job, guint32 rank, int exit_code, int exit_signal);
  /* That was started. */
  void (*proc_is_back) (gpointer service, DvmdJob *job, guint32 rank);
  /* An agent that was waited for is there. */
  void (*agent_reported) (gpointer service, guint rank);
  /* The agent of this rank answers nothing any more; it may be told twice. */
  void (*agent_gone) (gpointer service, guint rank);
  /* A tool, by its namespace, has gone. */
  void (*requester_gone) (gpointer service, const char *nspace);
  void (*campaign_ended) (gpointer service, DvmdCampaign *campaign);
  void (*warn_session) (gpointer service, DvmdSession *session, guint seconds_left);
  void (*traced) (gpointer service, DvmdJob *job, const DvmdTraceEntry *entry);
  void (*settings_changed) (gpointer service, const DvmdControllerChanges *changes);
  /* Nothing of the DVM runs any more; what is waited for does not come. */
  void (*dvm_ended) (gpointer service);
  /* For Manager.Statistics, with dvmd_services_add_number(). */
  void (*add_statistics) (gpointer service, GVariantBuilder *statistics);
} DvmdService;

/*
 * The services, a file each, in the order in which they are told of messages and ends; they are freed in the opposite
 * one: a service may use those before it to the end.
 */
#define DVMD_SERVICES(SERVICE)                                                                                         \
  SERVICE (requesters)                                                                                                 \
  SERVICE (history)                                                                                                    \
  SERVICE (archive)                                                                                                    \
  SERVICE (questions)                                                                                                  \
  SERVICE (size_changes)                                                                                               \
  SERVICE (streams)                                                                                                    \
  SERVICE (signals)                                                                                                    \
  SERVICE (launch)                                                                                                     \
  SERVICE (show)                                                                                                       \
  SERVICE (stage)                                                                                                      \
  SERVICE (topology)                                                                                                   \
  SERVICE (node_allotment)                                                                                             \
  SERVICE (cpu_claims)                                                                                                 \
  SERVICE (device_claims)                                                                                              \
  SERVICE (tree_fences)                                                                                                \
  SERVICE (collectives)                                                                                                \
  SERVICE (modex)                                                                                                      \
  SERVICE (connect)                                                                                                    \
  SERVICE (data)                                                                                                       \
  SERVICE (pulls)                                                                                                      \
  SERVICE (size_calls)                                                                                                 \
  SERVICE (spawn)                                                                                                      \
  SERVICE (job_control)                                                                                                \
  SERVICE (log)                                                                                                        \
  SERVICE (groups)                                                                                                     \
  SERVICE (stacks)                                                                                                     \
  SERVICE (usage)                                                                                                      \
  SERVICE (psets)                                                                                                      \
  SERVICE (query)                                                                                                      \
  SERVICE (input)                                                                                                      \
  SERVICE (events)                                                                                                     \
  SERVICE (runs)                                                                                                       \
  SERVICE (defaults)

#define DVMD_SERVICE_DECLARATION(name) extern const DvmdService dvmd_##name##_service;
DVMD_SERVICES (DVMD_SERVICE_DECLARATION)
#undef DVMD_SERVICE_DECLARATION

/* controller: a DvmdController, as the effects of the core hand it on */
/* The struct of a service; NULL: the controller has none any more, or none yet. */
gpointer dvmd_services_get (DvmdController *controller, const DvmdService *service);
/* FALSE: no service takes messages of this kind. */
gboolean dvmd_services_handle (DvmdController *controller, DvmdMessage *message);
/* Of a known kind, and with a request of its type. */
void dvmd_services_call (DvmdController *controller, DvmdCall *call, GVariant *request);
void dvmd_services_job_changed (DvmdController *controller, DvmdJob *job, DvmJobState state);
void dvmd_services_job_started (gpointer controller, DvmdJob *job);
void dvmd_services_job_killed (DvmdController *controller, DvmdJob *job);
void dvmd_services_job_ended (gpointer controller, DvmdJob *job);
void dvmd_services_job_forgotten (DvmdController *controller, DvmdJob *job);
void dvmd_services_proc_ended (DvmdController *controller, DvmdJob *job, guint32 rank);
void dvmd_services_proc_failed (DvmdController *controller, DvmdJob *job, guint32 rank, int exit_code, int exit_signal);
void dvmd_services_proc_is_back (DvmdController *controller, DvmdJob *job, guint32 rank);
void dvmd_services_agent_reported (DvmdController *controller, guint rank);
void dvmd_services_agent_gone (DvmdController *controller, guint rank);
void dvmd_services_campaign_ended (gpointer controller, DvmdCampaign *campaign);
void dvmd_services_warn_session (gpointer controller, DvmdSession *session, guint seconds_left);
void dvmd_services_traced (gpointer controller, DvmdJob *job, const DvmdTraceEntry *entry);
void dvmd_services_settings_changed (DvmdController *controller, const DvmdControllerChanges *changes);
void dvmd_services_dvm_ended (DvmdController *controller);
void dvmd_services_add_statistics (DvmdController *controller, GVariantBuilder *statistics);
void dvmd_services_add_number (GVariantBuilder *statistics, const char *name, guint64 value);
void dvmd_services_requester_gone (DvmdController *controller, const char *nspace);

G_END_DECLS
