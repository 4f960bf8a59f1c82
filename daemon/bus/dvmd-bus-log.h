/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

#include "dvmd-bus-paths.h"

G_BEGIN_DECLS

/*
 * The change log: what there is to tell of objects, each of them once, in the order of their first changes. The same
 * struct holds what has happened in this turn of the main loop, and what a lagging peer has not been told of: there
 * each change of the first is merged in, so that the last state of an object is kept and no history, and the backlog is
 * bounded by what there is.
 */

typedef struct
{
  guint id;
  guint old_state;
  guint new_state;
  char *reason; /* (nullable) */
} DvmdBusStateChange;

typedef struct
{
  guint32 rank;
  guint32 old_state;
  guint32 new_state;
} DvmdBusProcChange;

/* A property by its place in the interface. */
#define DVMD_BUS_FIELD(index) (G_GUINT64_CONSTANT (1) << (index))

/* A change holds all that there is to tell of one object. */
typedef struct
{
  DvmdBusKey key;
  gboolean added;
  gboolean ended;     /* leaves the object manager */
  gboolean has_state; /* of a node: goes into NodesChanged too */
  guint64 fields;     /* those of a manager, session or campaign are only looked at when they are told */
  GArray *states;     /* (nullable) DvmdBusStateChange */
  GArray *procs;      /* (nullable) DvmdBusProcChange */
  guint procs_limit;  /* at that length those of one process are made one */
  GList link;
} DvmdBusChange;

/* Goes to one alone, after all else. */
typedef struct
{
  gpointer about;    /* (nullable): a session or campaign, and it is not known yet to whom */
  char *destination; /* (nullable) */
  char *signal;
  GVariant *body;
} DvmdBusEvent;

typedef struct _DvmdBusLog DvmdBusLog;

/* Jobs are told first, then nodes, then all others together. */
typedef enum
{
  DVMD_BUS_LOG_JOBS,
  DVMD_BUS_LOG_NODES,
  DVMD_BUS_LOG_OTHERS,
  DVMD_BUS_LOG_N_PARTS
} DvmdBusLogPart;

DvmdBusLog *dvmd_bus_log_new (void);
void dvmd_bus_log_free (DvmdBusLog *self);
/* (nullable) */
DvmdBusChange *dvmd_bus_log_find (DvmdBusLog *self, DvmdBusKind kind, guint id);
/* The change of this object, with nothing in it yet if there was none. */
DvmdBusChange *dvmd_bus_log_get (DvmdBusLog *self, DvmdBusKind kind, guint id);
/* (transfer full) (nullable): the change, which is not in the log any more */
DvmdBusChange *dvmd_bus_log_take (DvmdBusLog *self, DvmdBusKind kind, guint id);
/* The change of another log is told of with what there is; follows: states and processes too. */
void dvmd_bus_log_merge (DvmdBusLog *self, const DvmdBusChange *change, gboolean follows);
/* Objects that there is something to tell of. */
guint dvmd_bus_log_count (DvmdBusLog *self, DvmdBusLogPart part);
/* (transfer full): the next one of the part, which must have one */
DvmdBusChange *dvmd_bus_log_pop (DvmdBusLog *self, DvmdBusLogPart part);

void dvmd_bus_change_free (DvmdBusChange *self);
void dvmd_bus_change_add_state (DvmdBusChange *self, guint old_state, guint new_state, const char *reason);
void dvmd_bus_change_add_proc (DvmdBusChange *self, guint rank, guint old_state, guint new_state);
/* One row for each process: from its first old state to its last new one. */
void dvmd_bus_change_merge_procs (DvmdBusChange *self);
/* (transfer floating) (nullable): the body of ProcStateChanged for the next of its processes, which are taken out */
GVariant *dvmd_bus_change_take_procs (DvmdBusChange *self);

/* A row of JobsChanged (part: jobs) or NodesChanged (nodes) */
void dvmd_bus_log_add_row (DvmdBusLog *self, DvmdBusLogPart part, guint id, guint old_state, guint new_state,
                           const char *reason);
/* (transfer floating) (nullable): the body with the next rows, which are taken out */
GVariant *dvmd_bus_log_take_rows (DvmdBusLog *self, DvmdBusLogPart part);

void dvmd_bus_log_add_about (DvmdBusLog *self, gpointer object);
/* destination: (nullable): a unique name on a bus */
void dvmd_bus_log_add_event (DvmdBusLog *self, const char *destination, const char *signal, GVariant *body);
/* (transfer full) (nullable) */
DvmdBusEvent *dvmd_bus_log_pop_event (DvmdBusLog *self);
void dvmd_bus_event_free (DvmdBusEvent *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusLog, dvmd_bus_log_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusChange, dvmd_bus_change_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusEvent, dvmd_bus_event_free)

G_END_DECLS
