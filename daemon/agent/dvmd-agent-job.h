/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-job-spec-private.h"
#include "dvmd-agent-services.h"
#include "dvmd-environments.h"
#include "dvmd-launch-options.h"
#include "dvmd-map-devices.h"
#include "dvmd-pipes.h"
#include "dvmd-variables.h"

G_BEGIN_DECLS

/* An application is described here as the launch message has it. */
typedef struct
{
  char **argv;
  char *cwd;
  gboolean clear_env;
  char **unset_env;
  GBytes *digest;               /* (nullable): of its environment */
  DvmdEnvironment *environment; /* (nullable): while it is on its way */
  guint n_local;                /* ranks here */
  guint32 size;                 /* ranks, of all nodes */
  guint32 first_rank;           /* the lowest */
  char **defaults;              /* (nullable): what of it nobody but the agent has asked for */
  DvmdVariables *base;          /* environment of its processes but for what belongs to the rank */
  gboolean looked_at;           /* for an MPI library */
} DvmdAgentApp;

/* A run is the state that dvmd-agent-procs.c keeps of a job whose processes it starts. */
typedef struct _DvmdAgentRun DvmdAgentRun;

/* A job that has processes here, as the launch message describes it, and how far it has come. */
struct _DvmdAgentJob
{
  DvmdAgent *agent; /* unowned */
  DvmdLocalJob *local;
  guint32 universe;
  DvmdMap *map;
  GPtrArray *apps; /* DvmdAgentApp */
  DvmdLaunchOptions options;
  gboolean pmix;        /* personality */
  gboolean registering; /* the PMIx server is being told of it */
  guint timer;          /* for its answer */
  gboolean registered;  /* with the PMIx server */
  char *lost_reason;    /* (nullable): why its PMIx server has ended, while the controller has not heard */
  gint64 lost_at;       /* when that was known; 0: it is there */
  guint n_awaited;      /* environments that were asked for */
  char *session_dir;    /* (nullable): where the files are that the job brought along */
  DvmdContainer *container;
  DvmdCredit *credit;
  DvmdAgentRun *run;
  gboolean killed;
  GPtrArray *cpus;         /* (nullable): by local rank: what the process is bound to */
  DvmdMapDevices *devices; /* (nullable): processes have none */
  gsize early_size;        /* bytes of these */
  gboolean early_lost;     /* there was no room for one */
  GPtrArray *early_events; /* (nullable): bodies of DVMD_MSG_EVENT that have come before the PMIx server knew the job */
  gboolean went_on;        /* ranks that wait for a debugger need not any more */
};

/* dvmd-agent-launch.c */
DvmdAgentJob *dvmd_agent_job_new_from_message (DvmdAgent *self, GVariant *body, GError **error);
void dvmd_agent_job_free (DvmdAgentJob *self);

G_END_DECLS
