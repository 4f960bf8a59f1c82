/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-placement-private.h"
#include "dvmd-mapper.h"

G_BEGIN_DECLS

/* The wishes of a job: its words of placement, and what kind of job it is. All texts are nullable. */
typedef struct
{
  const char *map_by;
  const char *rank_by;
  const char *bind_to;
  gboolean binds;         /* its processes are bound unless it says otherwise: those of parallel programs */
  gboolean shares_cpus;   /* they would be, if its nodes were not parts of one machine */
  gboolean oversubscribe; /* the job allows it */
  gboolean np_is_counted; /* how many processes there are was not given */
  const char *file;       /* the text of the file that map-by names */
  const char *file_name;
} DvmdMapWishes;

/* The same without anything left open. */
typedef struct
{
  const char *word; /* borrowed from the placement, or static */
  gboolean word_is_default;
  DvmdBindTo map_object; /* of the word, or of ppr; 0: it is by nodes, slots or devices */
  gboolean by_device;
  DvmdRankBy rank_by;
  DvmdBindTo bind_to;
  gboolean bind_is_default;
  gboolean bind_is_optional; /* processes are not bound where it is not possible; else that is an error */
  guint32 bind_flags;
  guint32 bind_limit;
  guint32 pe;
  DvmdCpuKind cpus;
} DvmdMapPolicy;

/*
 * Pure. oversubscribe: a node may take more processes than slots. np: of all applications together. The rules are those
 * of docs/placement.md.
 */
DvmdMapPolicy dvmd_map_defaults_settle (const DvmPlacement *placement, const DvmdMapWishes *wishes,
                                        gboolean oversubscribe, guint64 np);

/* By the devices that it names: device=gpu, ppr:2:device=gpu. */
gboolean dvmd_map_defaults_is_by_device (const DvmPlacement *placement);
/* "l3cache" */
const char *dvmd_map_defaults_name_binding (DvmdBindTo bind_to);

G_END_DECLS
