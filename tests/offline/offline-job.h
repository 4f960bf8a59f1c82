/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map-driver.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/* A job on machines that are not there: it is mapped and bound as in a DVM, and nothing starts. */

/* run: gets the mappers that are built in, a GPtrArray */
typedef struct
{
  const char *path;
  GTestDataFunc run;
} OfflineTest;

/* It is the main() of a test of placement. */
int offline_run_tests (int argc, char **argv, const OfflineTest *tests, gsize n_tests);

typedef struct
{
  char *name;
  guint slots;
  guint slots_max; /* 0: no limit beyond */
  gboolean is_local;
  const char *const *aliases; /* (nullable) */
  DvmdTopology *topology;
  DvmdMapTopology *objects;
  DvmdCpuset *in_use;         /* (nullable) */
  DvmdCpuset *devices_in_use; /* (nullable) */
} OfflineNode;

typedef struct
{
  GPtrArray *mappers; /* borrowed */
  GArray *nodes;      /* OfflineNode */
  GArray *app_np;     /* guint32; 0: not given */
  GArray *app_limits; /* (nullable): guint32, a row over the nodes for each application */
  DvmdMapWishes wishes;
  GArray *app_wishes; /* (nullable): DvmdMapWishes of each application; NULL: wishes are those of all */
  gboolean oversubscribe;
} OfflineJob;

void offline_job_init (OfflineJob *self, GPtrArray *mappers);
void offline_job_clear (OfflineJob *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (OfflineJob, offline_job_clear)

/* synthetic: hwloc's description, "package:2 core:4 pu:2", also with the cpus near its network cards, "... | 0-3 4", or
 * the name of an XML in machines/; machines of the same text share one topology */
OfflineNode *offline_job_add_node (OfflineJob *self, const char *name, const char *synthetic, guint slots);

/* (transfer full): the map. app_np has no 0 any more then. The ranks of the nodes are their indexes plus one. */
DvmdMap *offline_job_map (OfflineJob *self, GError **error);
/* (transfer full) (element-type utf8): the cpus of each rank, NULL: it is not bound */
GPtrArray *offline_job_bind (OfflineJob *self, DvmdMap *map, GError **error);
/* (transfer full): "rank:node:cpus" of each rank, "-": not bound */
char *offline_job_show (OfflineJob *self, DvmdMap *map, GPtrArray *cpus);

/*
 * (transfer full): the places of a job of one application, as offline_job_show() has them, or the message of the error.
 * bind_to, file (nullable); np 0: not given
 */
char *offline_job_place (OfflineJob *self, const char *map_by, const char *bind_to, const char *file, guint32 np);

G_END_DECLS
