/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of this folder share: the server, its connections and who calls on them.
 */

#pragma once

#include "dvmd-bus-limit.h"
#include "dvmd-bus-log.h"
#include "dvmd-bus-server.h"
#include "dvmd-bus-unsent.h"
#include "dvmd-core-elastic.h"
#include "dvmd-id-set.h"

G_BEGIN_DECLS

/* The DVM's own unique name for private peers that behave as on a bus; theirs are :1.N. */
#define DVMD_BUS_PRIVATE_UNIQUE_NAME ":1.0"

/* A message can hold 128 MiB and an array 64: lists are cut long before. */
#define DVMD_BUS_MAX_ROWS     4096
#define DVMD_BUS_MAX_BYTES    (64 * 1024) /* nobody else is served while a page is made */
#define DVMD_BUS_MAX_ARRAY    (60 * 1024 * 1024)
#define DVMD_BUS_MAX_CHILDREN 1000

typedef struct _DvmdBusPeer DvmdBusPeer;
typedef struct _DvmdBusCaller DvmdBusCaller;
typedef struct _DvmdBusSignals DvmdBusSignals;
typedef struct _DvmdBusWaiters DvmdBusWaiters;

struct _DvmdBusServer
{
  GObject parent_instance;

  DvmdController *controller;
  DvmdCore *core;
  char *bus_name;
  DvmdConfig *settings; /* (nullable) */
  gboolean hides;       /* the setting private */
  DvmdBusReloadFunc reload;
  gpointer reload_data;
  gboolean stopped;

  GPtrArray *peers;          /* DvmdBusPeer, open */
  GHashTable *private_peers; /* "private:7" -> DvmdBusPeer, borrowed */
  guint last_peer;
  guint n_authenticating;
  GCancellable *cancellable; /* of what is under way: cancelled by stop */

  DvmdBusListener *listener; /* (nullable) */
  GDBusAuthObserver *observer;
  char *guid;
  char *address;

  DvmdBusSignals *signals;
  DvmdBusWaiters *waiters;
  GHashTable *requesters; /* number of a campaign -> DvmdBusCaller who asked for it, and has been answered */
  GHashTable *askers;     /* number of a session -> who asked for it last (dvmd-bus-events.c) */
  GPtrArray *batches;     /* of SubmitMany, under way */
  GPtrArray *early_maps;  /* calls of Map that wait for the DVM to be ready */
  guint force_timer;      /* Shutdown with a timeout */

  /* the message bus (dvmd-bus-buses.c) */
  char *bus_address;      /* (nullable): where to come back to */
  gboolean bus_is_shared; /* by other users */
  guint n_joining;        /* attempts under way */
  guint bus_retry;        /* source */
  guint bus_delay;        /* ms before the next try */
  gboolean bus_told;      /* that another DVM has the name */
};

/* The connection is served from now on. */
void dvmd_bus_insert_peer (DvmdBusServer *self, DvmdBusPeer *peer);
/* The message bus has closed its connection: it is looked for until it is back. */
void dvmd_bus_lost (DvmdBusServer *self, const GError *error);

/* ---- connections (dvmd-bus-peer.c) ---- */

struct _DvmdBusPeer
{
  DvmdBusServer *server; /* NULL once the connection is closed */
  GDBusConnection *connection;
  gboolean is_bus;
  gboolean is_guest; /* has come by the private socket */
  guint id;
  char *name;       /* "private:7", "bus:8" */
  GArray *objects;  /* guint, registrations */
  GArray *subtrees; /* guint */
  gulong closed_handler;

  DvmdBusLimit *limit;   /* (nullable): of the system bus */
  GHashTable *callers;   /* unique name -> DvmdBusCaller; buses */
  DvmdBusCaller *self;   /* private connections: the one who calls */
  guint n_subscriptions; /* of all callers */
  gboolean saw_objects;  /* private: has called GetManagedObjects, gets everything from then on */
  gboolean owns_name;
  gboolean said_hello;
  gboolean submits_quietly; /* the call that is being served asked for no signals of its job */

  DvmdBusUnsent *unsent;
  DvmdBusLog *backlog; /* (nullable): it lags: changes are kept there, and not sent */
  gboolean full;       /* lags after the object that is being told of */
  gboolean given_up;   /* is being closed */
  guint n_lists;       /* GetManagedObjects under way: lags for as long */
  guint written;       /* of what was unsent, when it was last looked at */
  gint64 written_at;
};

DvmdBusPeer *dvmd_bus_peer_new (DvmdBusServer *server, GDBusConnection *connection, gboolean is_bus);
DvmdBusPeer *dvmd_bus_peer_ref (DvmdBusPeer *self);
void dvmd_bus_peer_unref (DvmdBusPeer *self);
/* One object; user_data of its vtable is the peer */
gboolean dvmd_bus_peer_register (DvmdBusPeer *self, const char *path, const GDBusInterfaceInfo *info,
                                 const GDBusInterfaceVTable *vtable, GError **error);
/* Counts it, and closes the connection that lets too much gather. */
void dvmd_bus_peer_send (DvmdBusPeer *self, GDBusMessage *message);
/* So much is unsent that it lags. */
gboolean dvmd_bus_peer_is_full (DvmdBusPeer *self);
/* It is closed; why: for the log */
void dvmd_bus_peer_give_up (DvmdBusPeer *self, const char *why);
/* (nullable) */
DvmdBusPeer *dvmd_bus_peer_of (GDBusConnection *connection);
/* body: floating or not, shared by many peers. */
void dvmd_bus_peer_send_signal (DvmdBusPeer *self, const char *path, const char *interface, const char *signal,
                                GVariant *body);
/* A signal of the manager for one alone; destination: (nullable) a unique name on a bus. */
void dvmd_bus_peer_send_directed (DvmdBusPeer *self, const char *destination, const char *signal, GVariant *body);
/* Wants everything that is sent while somebody is subscribed. */
gboolean dvmd_bus_peer_is_subscribed (DvmdBusPeer *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusPeer, dvmd_bus_peer_unref)

/* ---- who calls (dvmd-bus-caller.c) ---- */

/* One call of a method; func answers it, now or later. */
typedef struct
{
  DvmdBusServer *server;
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

/* Who may is the core's to say: dvmd_core_may(). */
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

/* What the objects of one interface have in common. */
typedef struct
{
  const GDBusInterfaceInfo *interface;
  DvmdBusGetProperty get_property;
  /* (nullable) with an error: the object of this number, for as long as the main loop is not run; NULL: there is one */
  gpointer (*find) (DvmdBusServer *server, guint id, GError **error);
  const DvmdBusMethod *methods;
  gsize n_methods;
} DvmdBusClass;

/* A unique name on a bus, or the other end of a private connection. */
struct _DvmdBusCaller
{
  DvmdBusPeer *peer; /* (nullable) borrowed: NULL when the caller or the connection has gone */
  DvmdRequester requester;
  gboolean known;   /* credentials have been had */
  gboolean reading; /* what it calls */
  guint watch;      /* buses: NameOwnerChanged */
  guint n_subscriptions;
  GQueue pending;   /* DvmdBusPendingCall */
  GArray *jobs;     /* guint, ids of those that are to end with the caller; (nullable) */
  guint jobs_limit; /* at that length the ended ones are taken out */
};

/* A call that waits until it is known who calls, or the call before it is read. */
typedef struct
{
  const DvmdBusClass *klass;
  const DvmdBusMethod *method;
  guint id;
  GDBusMethodInvocation *invocation;
} DvmdBusPendingCall;

void dvmd_bus_pending_call_free (DvmdBusPendingCall *pending);
gboolean dvmd_bus_caller_check (DvmdBusServer *server, DvmdBusCaller *caller, DvmdBusAccess access, gpointer object,
                                GError **error);
DvmdBusCaller *dvmd_bus_caller_new (DvmdBusPeer *peer, const char *name);
DvmdBusCaller *dvmd_bus_caller_new_private (DvmdBusPeer *peer);
DvmdBusCaller *dvmd_bus_caller_ref (DvmdBusCaller *self);
void dvmd_bus_caller_unref (DvmdBusCaller *self);
/* (transfer full): the user and the program, for people */
char *dvmd_bus_caller_describe (DvmdBusCaller *self);
/* The job is cancelled when the caller leaves. */
void dvmd_bus_caller_keep_job (DvmdBusCaller *self, DvmdJob *job);
/* May do something to the DVM. */
gboolean dvmd_bus_caller_may_change (DvmdBusCaller *self);
/* Those of its jobs end that are to. */
void dvmd_bus_caller_end_jobs (DvmdBusCaller *self, DvmdBusServer *server);

/* The caller leaves: subscriptions and waits end, calls that wait for it are dropped. */
void dvmd_bus_caller_leave (DvmdBusCaller *self);
void dvmd_bus_caller_subscribe (DvmdBusCaller *self);
gboolean dvmd_bus_caller_unsubscribe (DvmdBusCaller *self);
/* Answers a call to the object of this number, at once or when it is known who calls; takes the invocation. */
void dvmd_bus_dispatch (DvmdBusPeer *peer, const DvmdBusClass *klass, guint id, GDBusMethodInvocation *invocation);
/* Answers with the value (floating, or NULL for nothing); takes the invocation. */
void dvmd_bus_return_value (GDBusMethodInvocation *invocation, GVariant *value);
/* Answers with the error, which is made one of DVM_ERROR's if it is none; takes both. */
void dvmd_bus_return_error (GDBusMethodInvocation *invocation, GError *error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusCaller, dvmd_bus_caller_unref)

/* ---- objects ---- */

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
  char **(*enumerate) (DvmdBusServer *server); /* the numbers; (transfer full) */
  DvmdBusClass klass;
} DvmdBusSubtree;

extern const DvmdBusClass dvmd_bus_manager;

extern const DvmdBusSubtree dvmd_bus_campaigns;
extern const DvmdBusSubtree dvmd_bus_jobs;
extern const DvmdBusSubtree dvmd_bus_nodes;
extern const DvmdBusSubtree dvmd_bus_sessions;
/* Every object; only after that may calls come in. */
gboolean dvmd_bus_export (DvmdBusPeer *peer, GError **error);
/* The callers have left, and nothing is served or sent any more. */
void dvmd_bus_unexport (DvmdBusPeer *peer);
gboolean dvmd_bus_manager_export (DvmdBusPeer *peer, GError **error);
gboolean dvmd_bus_object_manager_export (DvmdBusPeer *peer, GError **error);
/* org.freedesktop.DBus for private peers that take us for a bus */
gboolean dvmd_bus_daemon_export (DvmdBusPeer *peer, GError **error);

void dvmd_bus_find_node (DvmdBusCall *call);
void dvmd_bus_find_session (DvmdBusCall *call);

/* ---- methods in files of their own ---- */

extern const DvmdBusReader dvmd_bus_submit_reader;
extern const DvmdBusReader dvmd_bus_submit_apps_reader;
extern const DvmdBusReader dvmd_bus_map_reader;
void dvmd_bus_submit (DvmdBusCall *call);
void dvmd_bus_submit_many (DvmdBusCall *call);
void dvmd_bus_list_jobs (DvmdBusCall *call);
void dvmd_bus_cancel_jobs (DvmdBusCall *call);
void dvmd_bus_list_nodes (DvmdBusCall *call);
void dvmd_bus_list_campaigns (DvmdBusCall *call);
void dvmd_bus_list_sessions (DvmdBusCall *call);
void dvmd_bus_list_procs (DvmdBusCall *call);
void dvmd_bus_query (DvmdBusCall *call);
void dvmd_bus_attach (DvmdBusCall *call);
void dvmd_bus_map (DvmdBusCall *call);
void dvmd_bus_map_job (DvmdBusCall *call);
/* Also of one that has left; "" for DVMD_NO_NODE */
const char *dvmd_bus_get_node_name (DvmdNodePool *pool, guint rank);

/* ---- what other users do not see of jobs (dvmd-bus-hidden.c) ---- */

/* caller: (nullable): a stranger then */
gboolean dvmd_bus_hides_from (DvmdBusServer *server, const DvmdBusCaller *caller);
gboolean dvmd_bus_is_hidden (const char *name);
/* The empty one of its type, or that there is an output error; takes a floating one, (transfer floating) */
GVariant *dvmd_bus_hide_value (const char *name, GVariant *value);
/* a{sv} of a job, with empty values for the hidden ones; takes a floating one, (transfer floating) */
GVariant *dvmd_bus_hide_values (GVariant *dict);
/* What everybody may get of this signal: body itself, or a floating one */
GVariant *dvmd_bus_hide_signal (const char *interface, const char *signal, GVariant *body);

/* ---- signals (dvmd-bus-signals.c, dvmd-bus-collect.c) ---- */

DvmdBusSignals *dvmd_bus_signals_new (DvmdBusServer *server);
void dvmd_bus_signals_free (DvmdBusSignals *self);
/* Somebody has begun or ceased to listen. */
void dvmd_bus_signals_listeners_changed (DvmdBusSignals *self);
void dvmd_bus_signals_peer_gone (DvmdBusSignals *self, DvmdBusPeer *peer);
/* Sends what is pending, however long it takes. */
void dvmd_bus_signals_flush (DvmdBusSignals *self);
/* Sends as much of it as is soon sent. */
void dvmd_bus_signals_flush_some (DvmdBusSignals *self);
/* Sends what is pending of this job: before its end is told in another way. */
void dvmd_bus_signals_flush_job (DvmdBusSignals *self, DvmdJob *job);
/* A campaign that has ended, or a session that has been warned: whoever asked is told when its last values have been
 * sent. */
void dvmd_bus_signals_tell (DvmdBusSignals *self, gpointer object);
/* The private connection asked for this session: it is told of it though it has not subscribed. */
void dvmd_bus_signals_own_session (DvmdBusSignals *self, DvmdSession *session, DvmdBusPeer *owner);
/* How long, in microseconds, a lagging peer may take nothing of what waits for it. */
void dvmd_bus_signals_set_timeout (DvmdBusSignals *self, gint64 timeout);

/* ---- lagging peers (dvmd-bus-lagging.c) ---- */

/* It is given a list: what changes from now on is told after that. */
void dvmd_bus_lagging_begin_list (DvmdBusPeer *peer);
void dvmd_bus_lagging_end_list (DvmdBusPeer *peer);

/* ---- SubmitMany (dvmd-bus-submit-many.c) ---- */

GPtrArray *dvmd_bus_batches_new (void);
/* The caller has left: what it has begun, and what does not exist yet, is forgotten. */
void dvmd_bus_batches_drop (DvmdBusServer *server, DvmdBusCaller *caller);
/* Everything that is under way gets this error. */
void dvmd_bus_batches_fail (DvmdBusServer *server, const GError *error);

/* ---- changes of the size (dvmd-bus-size.c) ---- */

/* What the request, the last of the parameters, names as hosts. */
extern const DvmdBusReader dvmd_bus_hosts_reader;
void dvmd_bus_grow (DvmdBusCall *call);
void dvmd_bus_shrink (DvmdBusCall *call);
void dvmd_bus_allocate (DvmdBusCall *call);

/* ---- sessions are told what to do (dvmd-bus-session-control.c) ---- */

extern const DvmdBusReader dvmd_bus_control_session_reader;
void dvmd_bus_control_session (DvmdBusCall *call);
/* The methods of a session */
void dvmd_bus_session_extend (DvmdBusCall *call);
void dvmd_bus_session_pause (DvmdBusCall *call);
void dvmd_bus_session_release (DvmdBusCall *call);
void dvmd_bus_session_resume (DvmdBusCall *call);
void dvmd_bus_session_signal (DvmdBusCall *call);
void dvmd_bus_session_terminate (DvmdBusCall *call);

/* ---- what is told to whoever asked (dvmd-bus-events.c) ---- */

GHashTable *dvmd_bus_askers_new (void);
/* A request about this session has begun, and is answered: what is known of both is told after that. */
void dvmd_bus_events_asking (DvmdBusServer *server, DvmdSession *session);
/* Numbers of sessions and campaigns, 0 for none. about: what was said by _asking() */
void dvmd_bus_events_answered (DvmdBusServer *server, DvmdBusCaller *caller, guint about, guint session,
                               guint campaign);
void dvmd_bus_events_not_answered (DvmdBusServer *server, guint about);
/* The core says so. */
void dvmd_bus_events_warned (DvmdBusServer *server, DvmdSession *session, guint seconds_left);
void dvmd_bus_events_session_gone (DvmdBusServer *server, DvmdSession *session);
/* The values that have changed before have been sent. The campaign has ended: those who wait for that are answered too.
 */
void dvmd_bus_events_tell_end (DvmdBusServer *server, DvmdCampaign *campaign);
void dvmd_bus_events_tell_warning (DvmdBusServer *server, DvmdSession *session);

/* ---- Map before the DVM is ready (dvmd-bus-map.c): as the batches ---- */

GPtrArray *dvmd_bus_maps_new (void);
void dvmd_bus_maps_ready (DvmdBusServer *server);
void dvmd_bus_maps_drop (DvmdBusServer *server, DvmdBusCaller *caller);
void dvmd_bus_maps_fail (DvmdBusServer *server, const GError *error);

/* ---- Wait (dvmd-bus-wait.c) ---- */

DvmdBusWaiters *dvmd_bus_waiters_new (DvmdBusServer *server);
void dvmd_bus_waiters_free (DvmdBusWaiters *self);
/* Answers the call when the job has finished, or the campaign has ended; takes the invocation. */
void dvmd_bus_wait (DvmdBusCall *call, DvmdJob *job, GVariant *options);
void dvmd_bus_wait_campaign (DvmdBusCall *call, DvmdCampaign *campaign, GVariant *options);
void dvmd_bus_waiters_job_finished (DvmdBusWaiters *self, DvmdJob *job);
void dvmd_bus_waiters_campaign_ended (DvmdBusWaiters *self, DvmdCampaign *campaign);
void dvmd_bus_waiters_drop (DvmdBusWaiters *self, DvmdBusCaller *caller);
/* Everybody who still waits gets this error. */
void dvmd_bus_waiters_fail (DvmdBusWaiters *self, const GError *error);

G_END_DECLS
