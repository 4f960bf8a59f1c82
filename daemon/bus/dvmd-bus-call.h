/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calls and their answers, and the classes of objects that are called.
 */

#pragma once

#include "dvmd-bus-paths.h"
#include "dvmd-bus-server.h"
#include "dvmd-core-elastic.h"

G_BEGIN_DECLS

typedef struct _DvmdBusPeer DvmdBusPeer;
typedef struct _DvmdBusCaller DvmdBusCaller;

/* A message can hold 128 MiB and an array 64: lists are cut long before. */
#define DVMD_BUS_MAX_ROWS     4096
#define DVMD_BUS_MAX_BYTES    (64 * 1024) /* nobody else is served while a page is made */
#define DVMD_BUS_MAX_ARRAY    (60 * 1024 * 1024)
#define DVMD_BUS_MAX_CHILDREN 1000

/* One call of a method; func answers it, now or later. */
typedef struct
{
  DvmdBusServer *server;
  DvmdController *controller;
  DvmdCore *core;
  DvmdBusPeer *peer;
  DvmdBusCaller *caller; /* (nullable): calls that only read */
  gpointer object;       /* (nullable): that is called, as its class finds it; not of the manager */
  guint id;              /* its number */
  GVariant *parameters;
  GDBusMethodInvocation *invocation;
  gpointer read; /* (nullable): what the reader of the method has made; func may take it */
} DvmdBusCall;

typedef void (*DvmdBusMethodFunc) (DvmdBusCall *call);

/*
 * Reads what a call says, and the files that it names, before func is called: in a thread if that may take long, so it
 * touches nothing but the call. Other calls of the caller wait for it, and one that leaves meanwhile has not called.
 */
typedef struct
{
  gpointer (*read) (GDBusMethodInvocation *invocation, GError **error);
  GDestroyNotify free;
  gboolean when_long; /* other calls are read by those who carry them out */
} DvmdBusReader;

/* The core decides who may do what: see dvmd_core_may(). */
typedef enum
{
  DVMD_BUS_READS,        /* anybody; the caller need not be known */
  DVMD_BUS_TRACKED,      /* anybody; ends when the caller leaves */
  DVMD_BUS_PLANS,        /* changes nothing, but reads files and asks the mapper: those who may change */
  DVMD_BUS_CHANGES,      /* those who may do something to the DVM; the core asks again about sessions */
  DVMD_BUS_CHANGES_JOB,  /* to the job that is called */
  DVMD_BUS_CHANGES_NODE, /* to nodes */
} DvmdBusAccess;

typedef struct
{
  const char *name;
  DvmdBusAccess access;
  DvmdBusMethodFunc func;
  const DvmdBusReader *reader; /* (nullable) */
} DvmdBusMethod;

/* (transfer floating) (nullable) */
typedef GVariant *(*DvmdBusGetProperty) (DvmdBusServer *server, gpointer object, const char *name);

/* A class describes the objects of one interface. */
typedef struct
{
  const GDBusInterfaceInfo *interface;
  DvmdBusGetProperty get_property;
  /* (nullable) with an error: the object of this number, for as long as the main loop is not run; NULL: there is one */
  gpointer (*find) (DvmdCore *core, guint id, GError **error);
  const DvmdBusMethod *methods;
  gsize n_methods;
} DvmdBusClass;

/* Answers with the value (floating, or NULL for nothing); takes the invocation. */
void dvmd_bus_return_value (GDBusMethodInvocation *invocation, GVariant *value);
/* Answers with the error, which is made one of DVM_ERROR's if it is none; takes both. */
void dvmd_bus_return_error (GDBusMethodInvocation *invocation, GError *error);
/* With the error, which is taken, or with nothing if it is NULL */
void dvmd_bus_return_result (DvmdBusCall *call, GError *error);

/* a{sv} of these properties of the object (DVMD_BUS_FIELD), (transfer floating) */
GVariant *dvmd_bus_get_some (DvmdBusServer *server, const DvmdBusClass *klass, gpointer object, guint64 fields);
/* Likewise of all */
GVariant *dvmd_bus_get_all (DvmdBusServer *server, const DvmdBusClass *klass, gpointer object);
/* These values in a{sa{sv}}, (transfer floating) */
GVariant *dvmd_bus_make_interfaces (const DvmdBusClass *klass, GVariant *values);
/* All of them in a{sa{sv}}, (transfer floating) */
GVariant *dvmd_bus_get_interfaces (DvmdBusServer *server, const DvmdBusClass *klass, gpointer object);
/* Answers Get and GetAll of org.freedesktop.DBus.Properties, hidden values as empty ones; takes the invocation. */
void dvmd_bus_handle_properties (DvmdBusServer *server, const DvmdBusClass *klass, gpointer object, gboolean hides,
                                 GDBusMethodInvocation *invocation);
gboolean dvmd_bus_is_properties_call (GDBusMethodInvocation *invocation);

/* All objects of a class: they are called by numbers, and each has one interface. */
typedef struct
{
  const char *path;
  char **(*enumerate) (DvmdCore *core); /* the numbers; (transfer full) */
  DvmdBusClass klass;
} DvmdBusSubtree;

extern const DvmdBusClass dvmd_bus_manager;

extern const DvmdBusSubtree dvmd_bus_campaigns;
extern const DvmdBusSubtree dvmd_bus_jobs;
extern const DvmdBusSubtree dvmd_bus_nodes;
extern const DvmdBusSubtree dvmd_bus_sessions;

G_END_DECLS
