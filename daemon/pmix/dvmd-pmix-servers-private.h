/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of DvmdPmixServers, for its own files.
 */

#pragma once

#include "dvmd-pmix-counter.h"
#include "dvmd-pmix-dirs.h"
#include "dvmd-pmix-ports.h"
#include "dvmd-pmix-servers.h"

G_BEGIN_DECLS

struct _DvmdPmixServers
{
  GObject parent_instance;

  const DvmdPmixStarter *starter;
  gpointer starter_data;
  DvmdClock *clock;
  guint n_wanted;
  DvmdPmixSettings settings;
  DvmdPmixHost *host; /* not owned; NULL: stopped */
  DvmdPmixDirs *dirs;
  GHashTable *servers; /* id -> DvmdPmixServerProcess */
  guint last_id;
  GHashTable *jobs;        /* nspace -> DvmdPmixServersJob */
  GPtrArray *tools;        /* DvmdPmixServersTool that are connected */
  guint shown;             /* id of the server that tools are pointed to; 0: there is none */
  GHashTable *collectives; /* key -> DvmdPmixCollective: that not all servers of the node have come to */
  GPtrArray *left_ports;   /* LeftPorts: of servers that have ended under jobs */
  guint64 last_collective;
  guint idle_timer;
  DvmdPmixDone stopped; /* (nullable): to be called when the last server has ended */
  gpointer stopped_data;
};

typedef enum
{
  DVMD_PMIX_SERVER_USABLE,  /* or starting: it is told all the same */
  DVMD_PMIX_SERVER_RETIRED, /* no new jobs */
} DvmdPmixServerState;

typedef struct
{
  DvmdPmixServers *pool; /* unowned */
  guint id;
  DvmdPmixRemote *remote;
  char *dir;
  DvmdPmixServerState state;
  gboolean tainted;  /* the library may hang when it forgets a job */
  GHashTable *known; /* nspace -> Known: jobs that it has been told of */
  guint n_homes;     /* of them, with ranks here */
  guint n_leaving;   /* jobs that have ended and that the library has not forgotten yet */
  guint n_tools;
  GArray *catching_up; /* (nullable): who waits for the answer that is on its way, and for the next one */
  GArray *to_catch_up;
  guint64 memory; /* bytes, after its first job */
  guint grace_timer;
  gboolean hidden; /* retired, and no tool comes any more */
  gboolean had_job;
  char *address;                /* (nullable): contents of the file that points tools to it */
  DvmdPmixPorts *ports;         /* (nullable) */
  DvmdPmixCounter *connections; /* (nullable) */
  guint n_connected;            /* clients of which it has said that they have connected */
} DvmdPmixServerProcess;

typedef struct
{
  DvmdPmixJob *job;
  guint home;               /* id of its server; 0: it has no ranks here, or its server has ended */
  GHashTable *environments; /* rank -> char ** */
  GHashTable *connected;    /* set of ranks that have called PMIx_Init, and not PMIx_Finalize */
  GTask *registering;       /* (nullable) */
  guint n_tries;
  guint connections; /* that its server had accepted before */
} DvmdPmixServersJob;

typedef struct
{
  char *nspace;
  guint32 rank;
  guint home; /* id of its server */
} DvmdPmixServersTool;

/* (nullable): it has ended */
DvmdPmixServerProcess *dvmd_pmix_servers_find (DvmdPmixServers *self, guint id);
DvmdPmixServersJob *dvmd_pmix_servers_find_job (DvmdPmixServers *self, const char *nspace);

/* (nullable): that of the job's ranks */
DvmdPmixServerProcess *dvmd_pmix_servers_find_home (DvmdPmixServers *self, const char *nspace);
void dvmd_pmix_servers_leave_home (DvmdPmixServers *self, DvmdPmixServersJob *job);
/* For a new job: its parent's, one without jobs, else a new one, else that with the fewest. */
DvmdPmixServerProcess *dvmd_pmix_servers_choose (DvmdPmixServers *self, DvmdPmixJob *job, GError **error);
/* No rank of it will connect any more. */
void dvmd_pmix_servers_leave_ports (DvmdPmixServers *self, const char *nspace);
/* A retired server gets no new jobs any more; a tainted one does not either, and its library may hang. */
void dvmd_pmix_servers_retire (DvmdPmixServerProcess *server, const char *why);
void dvmd_pmix_servers_taint (DvmdPmixServerProcess *server, const char *nspace);
/* The number of its jobs or tools has changed. */
void dvmd_pmix_servers_check_idle (DvmdPmixServerProcess *server);

/* A server's token as one for the host, and back. */
guint64 dvmd_pmix_servers_widen (DvmdPmixServerProcess *server, guint64 token);
DvmdPmixServerProcess *dvmd_pmix_servers_narrow (DvmdPmixServers *self, guint64 *token);

/* func is called when that server knows those jobs, as far as they are known here; at once if it does. */
typedef void (*DvmdPmixServersFunc) (DvmdPmixServers *self, gpointer user_data);
void dvmd_pmix_servers_ensure_known (DvmdPmixServers *self, DvmdPmixServerProcess *server, const char *const *nspaces,
                                     DvmdPmixServersFunc func, gpointer user_data);

/* dvmd-pmix-servers-jobs.c */
GHashTable *dvmd_pmix_servers_known_new (void);
void dvmd_pmix_servers_init_jobs (DvmdPmixInterface *iface);
/* FALSE: nobody of the job has come to its server. */
gboolean dvmd_pmix_servers_has_anybody_connected (const DvmdPmixServerProcess *server, const DvmdPmixServersJob *job);
/* The server has ended, and everybody knows: nothing more will be known of what its clients have reported. */
void dvmd_pmix_servers_end_waiting (DvmdPmixServerProcess *server);
/* code -1: NULL */
GError *dvmd_pmix_servers_make_error (gint32 code, const char *text);

/* dvmd-pmix-servers-clients.c */
void dvmd_pmix_servers_init_clients (DvmdPmixInterface *iface);
/* Of clients that have connected, when the server has ended. */
void dvmd_pmix_servers_hear_rest (DvmdPmixServerProcess *server);
void dvmd_pmix_servers_take_message (DvmdPmixRemote *remote, DvmdPmixMessageKind kind, GVariant *body,
                                     gpointer user_data);

/* dvmd-pmix-collectives.c: fences, connects and disconnects that ranks of several servers take part in */
GHashTable *dvmd_pmix_collectives_new (void);
/* The ranks of that server have come; kind: FENCE or CONNECT. */
void dvmd_pmix_collectives_join (DvmdPmixServers *self, DvmdPmixServerProcess *server, DvmdPmixMessageKind kind,
                                 GVariant *body);
/* Answers those with token (of the host's) that have several servers, or a connect. FALSE: it is none of them. */
gboolean dvmd_pmix_collectives_complete (DvmdPmixServers *self, guint64 token, int status, GBytes *data);
/*
 * Fails the collectives that wait for a rank of a job which will not come, or (DVMD_PMIX_RANK_WILDCARD) for any of it.
 */
void dvmd_pmix_collectives_fail (DvmdPmixServers *self, const char *nspace, guint32 rank);
void dvmd_pmix_collectives_server_ended (DvmdPmixServers *self, guint id);

G_END_DECLS
