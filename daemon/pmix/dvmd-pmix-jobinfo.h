/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-info.h"
#include "dvmd-pmix-job.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

typedef struct
{
  char *cpuset;   /* as PMIx wants it */
  char *locality; /* (nullable) */
  int package;    /* that it lies in; -1: in none alone */
  int numa;       /* likewise */
} DvmdPmixPlace;

/* Where a process is, by its cpuset; answers are kept. */
typedef struct _DvmdPmixPlaces DvmdPmixPlaces;

/* topology (nullable): of the node; processes that are not bound have all of it. */
DvmdPmixPlaces *dvmd_pmix_places_new (DvmdTopology *topology);
void dvmd_pmix_places_free (DvmdPmixPlaces *self);
/* cpuset (nullable): not bound. (nullable): not a cpuset. */
const DvmdPmixPlace *dvmd_pmix_places_lookup (DvmdPmixPlaces *self, const char *cpuset);

/* A server, as the jobs of its node see it; all borrowed. */
typedef struct
{
  const char *nspace; /* of the DVM */
  guint32 rank;       /* of the agent */
  const char *node_name;
  const char *sessions_dir;
  DvmdPmixPlaces *places;
} DvmdPmixView;

/* Everything a client may ask about job; session_dir: of the job. */
void dvmd_pmix_build_job_info (DvmdPmixInfo *info, DvmdPmixJob *job, const DvmdPmixView *view, const char *session_dir);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmixPlaces, dvmd_pmix_places_free)

G_END_DECLS
