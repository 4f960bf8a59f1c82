/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gunixfdlist.h>

#include "dvm-records-private.h"

G_BEGIN_DECLS

#define DVM_MANAGER_PATH       "/org/dvm/Manager"
#define DVM_MANAGER_INTERFACE  "org.dvm.Manager"
#define DVM_JOB_INTERFACE      "org.dvm.Job"
#define DVM_NODE_INTERFACE     "org.dvm.Node"
#define DVM_SESSION_INTERFACE  "org.dvm.Session"
#define DVM_CAMPAIGN_INTERFACE "org.dvm.Campaign"
#define DVM_JOBS_PATH          "/org/dvm/jobs"
#define DVM_NODES_PATH         "/org/dvm/nodes"
#define DVM_SESSIONS_PATH      "/org/dvm/sessions"
#define DVM_CAMPAIGNS_PATH     "/org/dvm/campaigns"
#define DVM_PROPERTIES         "org.freedesktop.DBus.Properties"
#define DVM_BUS_NAME           "org.freedesktop.DBus"
#define DVM_BUS_PATH           "/org/freedesktop/DBus"

typedef struct _DvmClientWatches DvmClientWatches;
typedef struct _DvmClientLists DvmClientLists;
typedef struct _DvmClientEvents DvmClientEvents;

struct _DvmClient
{
  GObject parent_instance;

  /* Where to look. */
  char *name;          /* (nullable): of the DVM */
  char *given_address; /* (nullable): the only place to look */
  int fd;              /* -1, or an open socket that belongs to us until it is connected */

  gboolean jobs_end_with_client;

  /* The connection, as it was found. */
  GDBusConnection *connection; /* (nullable) */
  char *owner;                 /* (nullable): unique name on a bus; NULL on a private socket */
  guint owner_uid;             /* the user of who owns the name; G_MAXUINT: the bus does not say */
  char *address;               /* (nullable) */
  char *instance_id;           /* (nullable): not asked for yet */
  gboolean connected;          /* as last notified */
  gboolean loaded;             /* the lists that were asked for are filled */
  gulong closed_handler;

  DvmClientWatches *watches; /* (nullable) */
  DvmClientLists *lists;     /* (nullable): nobody has asked for one */
  DvmClientEvents *events;   /* (nullable): without a connection */

  /* Coming back to a DVM. */
  gboolean reconnect;
  GMainContext *context; /* (nullable): where it is tried */
  GSource *retry;        /* (nullable) */
  guint delay_ms;        /* before the next try */
  guint owner_changed;   /* subscription on a bus */
  char *last_instance;   /* (nullable): the one before */
};

/* Places to look, in order. */
typedef enum
{
  DVM_PLACE_FD,
  DVM_PLACE_SOCKET, /* a DVM's own socket, peer to peer */
  DVM_PLACE_BUS,
} DvmPlaceKind;

typedef struct
{
  DvmPlaceKind kind;
  char *address;            /* D-Bus address, NULL for a descriptor */
  char *path;               /* (nullable): of a socket */
  const char *title;        /* "the session bus" */
  gboolean check_directory; /* a place in our runtime directory, where nobody else may have put something */
} DvmPlace;

/* (element-type DvmPlace); NULL on error */
GPtrArray *_dvm_client_find_places (DvmClient *self, GError **error);
/* (transfer full): the stream of a socket or descriptor; not for buses */
GIOStream *_dvm_client_open_place (DvmClient *self, const DvmPlace *place, GError **error);
char *_dvm_client_get_bus_name (DvmClient *self);
/* Reads the id if it is not known yet; that waits for the DVM. */
void _dvm_client_ask_instance_id (DvmClient *self);

/* A message holds 128 MiB, an array in it 64; a DVM loses its connection to whoever sends more. */
#define DVM_CLIENT_MAX_BYTES (60 * 1024 * 1024)

/* One call to the DVM, on behalf of task. */
typedef struct
{
  const char *path;
  const char *interface;
  const char *method;
  GVariant *parameters; /* (transfer floating) (nullable) */
  const char *reply;    /* type */
  int timeout_ms;       /* -1: default, G_MAXINT: none */
  GUnixFDList *fds;     /* (nullable) */
} DvmCall;

/* Takes task over: done gets it as user_data. */
void _dvm_client_call (DvmClient *self, const DvmCall *call, GTask *task, GAsyncReadyCallback done);
/* (transfer full): NULL on error, which is one of DVM_ERROR. fds (nullable) */
GVariant *_dvm_client_call_take (GObject *connection, GAsyncResult *result, GUnixFDList **fds, GError **error);
/* (transfer full): NULL when task has been given the error. fds (nullable) */
GVariant *_dvm_client_call_finish (GObject *connection, GAsyncResult *result, GTask *task, GUnixFDList **fds);
/* The callback of a call that answers with nothing: the task gets TRUE. */
void _dvm_client_on_done (GObject *connection, GAsyncResult *result, gpointer task);
/* The callback of a call that answers with one value, which the task gets. */
void _dvm_client_on_value (GObject *connection, GAsyncResult *result, gpointer task);
GTask *_dvm_client_new_task (DvmClient *self, gpointer tag, GCancellable *cancellable, GAsyncReadyCallback callback,
                             gpointer user_data);
/* A method of the record's object that answers with nothing; parameters: floating. Takes task over. */
void _dvm_client_call_object (DvmClient *self, gpointer record, const char *method, GVariant *parameters, GTask *task);
/* For people: without the bus's prefix, and in DVM_ERROR. */
GError *_dvm_client_clean_error (GError *error);

/* ---- objects on the bus and their records (dvm-client-find.c) ---- */

typedef enum
{
  DVM_KIND_JOB,
  DVM_KIND_NODE,
  DVM_KIND_SESSION,
  DVM_KIND_CAMPAIGN,
  DVM_N_KINDS
} DvmKind;

typedef struct
{
  GType (*get_type) (void);
  const char *interface;
  const char *folder;      /* of their paths */
  const char *find_method; /* (nullable): of the manager */
  gboolean has_numbers;    /* people name them by number too */
  gboolean has_unnamed;    /* "" is the name of one */
  const char *how_named;   /* for people; to be translated */
} DvmKindInfo;

const DvmKindInfo *_dvm_kind_get_info (DvmKind kind);
GType _dvm_kind_get_type (DvmKind kind);
/* (transfer full): it takes its number with its properties */
GObject *_dvm_kind_new_record (DvmKind kind);
gboolean _dvm_kind_parse_path (DvmKind kind, const char *path, guint *number);
const char *_dvm_record_get_path (GObject *record);

/* Reads all properties of the record's object again. */
void _dvm_client_refresh_async (DvmClient *self, gpointer record, gpointer tag, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data);
gboolean _dvm_client_refresh_finish (DvmClient *self, GAsyncResult *result, GError **error);
/* reference: a name, a number or a path, as the kind has them; (transfer full): a record */
void _dvm_client_find_async (DvmClient *self, DvmKind kind, const char *reference, gpointer tag,
                             GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
gpointer _dvm_client_find_finish (GAsyncResult *result, GError **error);
gpointer _dvm_client_find (DvmClient *self, DvmKind kind, const char *reference, GCancellable *cancellable,
                           GError **error);

/* Page by page. ids: (nullable) ids or ranks, NULL for all; (element-type GObject): records of the kind */
void _dvm_client_list_async (DvmClient *self, DvmKind kind, gboolean all, const char *ids, gpointer tag,
                             GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
GPtrArray *_dvm_client_list_finish (GAsyncResult *result, GError **error);

/* Makes the record be that of path; the id is read from it. NULL if it is no job's path. */
DvmJob *_dvm_client_new_job (const char *path, GError **error);

/* Takes the descriptors over; -1 for none. */
DvmJobStreams *_dvm_job_streams_new (int stdin_fd, int stdout_fd, int stderr_fd);

/* Notifies. */
void _dvm_client_set_loaded (DvmClient *self, gboolean loaded);

void _dvm_client_lists_free (DvmClientLists *self);
void _dvm_client_lists_connected (DvmClientLists *self);
void _dvm_client_lists_lost (DvmClientLists *self);

/* ---- what is said to this client alone (dvm-client-events.c) ---- */

/* Signals come to the main context that is the thread's default now. */
DvmClientEvents *_dvm_client_events_new (DvmClient *client);
void _dvm_client_events_free (DvmClientEvents *self);
/* Signals about this campaign and this allocation (nullable) are held back until they are released. */
void _dvm_client_events_hold (DvmClientEvents *self, const char *campaign, const char *alloc_id);
void _dvm_client_events_release (DvmClient *client, const char *campaign, const char *alloc_id);
void _dvm_client_emit_is_ready (DvmClient *self, const char *alloc_id, const char *req_id, GVariant *details);
void _dvm_client_emit_mod_failed (DvmClient *self, const char *alloc_id, const char *req_id, int status,
                                  const char *reason, GVariant *details);
void _dvm_client_emit_timeout_warning (DvmClient *self, const char *alloc_id, const char *req_id, guint seconds_left);

/* ---- changes of the size (dvm-client-size.c) ---- */

/* A method of the session that answers with a campaign. request: (nullable) a{sv}, consumed if floating; takes task. */
void _dvm_client_change_session (DvmClient *self, DvmSession *session, const char *method, GVariant *request,
                                 GTask *task);
/* alloc_id, campaign: (optional) */
gboolean _dvm_client_change_size_finish (GAsyncResult *result, char **alloc_id, DvmCampaign **campaign, GError **error);

/* The connection is there, or has gone. */
void _dvm_client_reconnect_connected (DvmClient *self);
void _dvm_client_reconnect_lost (DvmClient *self);
void _dvm_client_reconnect_stop (DvmClient *self);
void _dvm_client_emit_instance_changed (DvmClient *self);

void _dvm_client_watches_free (DvmClientWatches *watches);
/* The job has come to its end by another way: what is still on the way tells of the past. */
void _dvm_client_watches_settle (DvmClientWatches *watches, DvmJob *job);

/* A synchronous call runs the asynchronous one on a main context of its own. */
typedef struct
{
  GMainContext *context;
  GAsyncResult *result;
} DvmSync;

DvmSync _dvm_sync_begin (void);
void _dvm_sync_done (GObject *source, GAsyncResult *result, gpointer user_data);
GAsyncResult *_dvm_sync_wait (DvmSync *sync);
void _dvm_sync_end (DvmSync *sync);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmSync, _dvm_sync_end)

G_END_DECLS
