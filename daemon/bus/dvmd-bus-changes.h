/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-bus-private.h"

G_BEGIN_DECLS

/* What has changed of one live job. */

typedef struct
{
  DvmdJob *job;
  char *path;
  DvmdBusPeer *owner; /* (nullable) borrowed: the private connection that created it */
  gboolean added;     /* not told of yet */
  gboolean ended;     /* has left the live jobs */
  gboolean queued;
  guint64 dirty;  /* one bit for each field of the record */
  GArray *states; /* StateChange */
  GArray *procs;  /* ProcChange */
  gulong notify_handler;
  gulong proc_handler;
} DvmdBusLiveJob;

typedef struct
{
  guint old_state;
  guint new_state;
  char *reason;
} DvmdBusStateChange;

typedef struct
{
  guint32 rank;
  guint32 old_state;
  guint32 new_state;
} DvmdBusProcChange;

DvmdBusLiveJob *dvmd_bus_live_job_new (DvmdJob *job);
void dvmd_bus_live_job_free (DvmdBusLiveJob *self);
/* The fields that changed, which count as told from now on; counters may be left for later */
guint64 dvmd_bus_live_job_take_fields (DvmdBusLiveJob *self, gboolean with_counters);
/* (transfer floating): a{sv} of these fields as they are now */
GVariant *dvmd_bus_job_get_fields (DvmdJob *job, guint64 mask);
/* (transfer floating): (a(uuu)) of the next of these DvmdBusProcChange; NULL when there is none left */
GVariant *dvmd_bus_proc_changes_take (GArray *procs, guint *position);
/* The fields that change on the bus when the record's property is notified. */
guint64 dvmd_bus_live_job_get_mask (DvmdBusLiveJob *self, const char *property);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusLiveJob, dvmd_bus_live_job_free)

G_END_DECLS
