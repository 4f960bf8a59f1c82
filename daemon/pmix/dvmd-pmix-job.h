/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * A job as the PMIx server of one node must know it: with the whole map, since every client may ask for every rank. It
 * is built by the agent from the launch message, then handed to dvmd_pmix_register_job_async() and not changed any
 * more.
 */

typedef struct
{
  char **argv;
  char *cwd;
  guint32 n_procs;
  guint32 first_rank; /* the application's ranks follow one another from here */
  char *map_by;       /* (nullable): "slot", ... by which its ranks were placed; NULL: not known */
  char *rank_by;      /* (nullable) */
  char *bind_to;      /* (nullable): NULL is "none" */
  char *pset;         /* (nullable): the process set that its ranks are in */
} DvmdPmixApp;

typedef struct
{
  guint32 app;        /* index of the application */
  guint32 node;       /* index into the job's nodes */
  guint16 local_rank; /* among the job's ranks on its node */
  guint16 node_rank;  /* among all ranks of all jobs on its node */
  guint32 app_rank;   /* within its application */
  char *cpuset;       /* (nullable): hardware threads as "0-3,8"; NULL: not bound */
  char *devices;      /* (nullable): "mlx5_0", those that it was given; NULL: none, or the rank is elsewhere */
} DvmdPmixRank;

#define DVMD_TYPE_PMIX_JOB (dvmd_pmix_job_get_type ())

/* Where the library lets every rank wait for a debugger. */
typedef enum
{
  DVMD_PMIX_STOP_NONE,
  DVMD_PMIX_STOP_IN_INIT,
  DVMD_PMIX_STOP_IN_APP, /* where the program itself says */
} DvmdPmixStop;

typedef struct
{
  char *nspace;    /* of at most 255 bytes */
  GPtrArray *apps; /* DvmdPmixApp */
  GArray *ranks;   /* DvmdPmixRank, by rank */
  char **nodes;    /* names of the nodes that host ranks */
  guint32 *ids;    /* of each: its number in the DVM */
  guint32 n_nodes;
  guint32 my_node;       /* index of this server's node; G_MAXUINT32: it hosts no rank of the job */
  guint32 universe_size; /* slots that the job could use; 0: its own size */
  guint32 max_procs;     /* 0: its own size */
  guint32 session_id;
  guint64 memory;      /* bytes that there are on this node for all its processes; 0: that is not known */
  guint32 node_size;   /* ranks of all jobs on this node, this one's included; 0: this job's alone */
  char *parent_nspace; /* (nullable): the process that spawned the job */
  guint32 parent_rank;
  guint32 offset; /* processes of those that it descends from: where its own begin among all of them */
  char *alloc_id; /* (nullable): of its allocation */
  GVariant *info; /* (nullable): a(usay): application or G_MAXUINT32, key, packed value; of its spawn */
  DvmdPmixStop stop;
  gboolean may_restart; /* its processes: how often one was started again is not known beforehand */
  guint32 uid;          /* whose processes may connect as this job's ranks; the server's own unless set */
  guint32 gid;
  gatomicrefcount ref_count;
} DvmdPmixJob;

GType dvmd_pmix_job_get_type (void);

/* my_node: index of this server's node in nodes. */
DvmdPmixJob *dvmd_pmix_job_new (const char *nspace, const char *const *nodes, guint32 my_node);
DvmdPmixJob *dvmd_pmix_job_ref (DvmdPmixJob *self);
void dvmd_pmix_job_unref (DvmdPmixJob *self);

/* ids: of the nodes, one for each; until then they are numbered from 0 */
void dvmd_pmix_job_set_node_ids (DvmdPmixJob *self, const guint32 *ids);

/* Adds the next application. argv must not be empty. */
void dvmd_pmix_job_add_app (DvmdPmixJob *self, const char *const *argv, const char *cwd, guint32 n_procs);
/* Of an application that was added. All are nullable. */
void dvmd_pmix_job_set_policies (DvmdPmixJob *self, guint32 app, const char *map_by, const char *rank_by,
                                 const char *bind_to);
/* Likewise; NULL, "": none */
void dvmd_pmix_job_set_pset (DvmdPmixJob *self, guint32 app, const char *pset);
/* Adds the next rank; ranks are added in order. The application and its first rank follow from the sizes of the apps.
 */
void dvmd_pmix_job_add_rank (DvmdPmixJob *self, guint32 node, guint16 local_rank, guint16 node_rank,
                             const char *cpuset);
/* devices: of a rank that was added, "nvml0,nvml1" */
void dvmd_pmix_job_set_devices (DvmdPmixJob *self, guint32 rank, const char *devices);

guint32 dvmd_pmix_job_get_size (DvmdPmixJob *self);
const DvmdPmixRank *dvmd_pmix_job_get_rank (DvmdPmixJob *self, guint32 rank);
guint32 dvmd_pmix_job_count_on_node (DvmdPmixJob *self, guint32 node);
/* Whether that rank, or with DVMD_PMIX_RANK_WILDCARD any, is on this server's node. */
gboolean dvmd_pmix_job_has_local_rank (DvmdPmixJob *self, guint32 rank);
/* FALSE: something is missing or contradictory, as DVM_ERROR_BAD_PARAM says. */
gboolean dvmd_pmix_job_validate (DvmdPmixJob *self, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmixJob, dvmd_pmix_job_unref)

G_END_DECLS
