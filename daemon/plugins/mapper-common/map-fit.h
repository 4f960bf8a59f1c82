/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* Processes of a node that follow each other in some order, on objects at equal distances. */
typedef struct
{
  guint32 offset; /* of the first one in that order */
  guint32 count;
  guint32 per_object; /* so many on each object, before the next one */
  guint32 object;
  guint32 object_stride;
} DvmdMapSegment;

typedef struct _DvmdMapFit DvmdMapFit;

/* Where so many processes of a node go. */
typedef struct
{
  guint32 *of_object; /* how many of them the object at each place gets */
  guint32 n_rounds;   /* the most of one object */
  GArray *in_order;   /* DvmdMapSegment: as they are placed */
  GArray *by_object;  /* DvmdMapSegment: object by object */
  DvmdMapFit *after;  /* (owned by its plan): what the node takes then */
} DvmdMapPattern;

/* How many processes each object of a node takes. Like nodes share one, and it does not change. */
struct _DvmdMapFit
{
  DvmdMapRoom *room;         /* (nullable): the hardware is not known: one object that takes any number */
  DvmdMapTopology *topology; /* (nullable): borrowed, of the request */
  DvmdObjectKind kind;
  guint32 quota;  /* an object takes so many of an application, or none of it; 0: any number */
  gboolean skips; /* a device is passed over for want of cpus: the job has asked for them */
  guint32 n;
  const DvmdMapObject *objects;
  guint32 *most;        /* per object, by itself; G_MAXUINT32: any number */
  guint32 *near;        /* (nullable): per device, of all devices whose cpus are near it: these are the same cpus */
  guint32 *used;        /* (nullable): per device, what applications before have on it */
  guint32 *shares;      /* per object: what it takes of one application, together with the others */
  guint64 total;        /* of one application */
  guint64 whole;        /* what the total was before the first application */
  GHashTable *patterns; /* number -> DvmdMapPattern */
};

/* topology (nullable): of the room */
DvmdMapFit *dvmd_map_fit_new (DvmdMapRoom *room, DvmdMapTopology *topology, DvmdObjectKind kind, guint32 quota,
                              const DvmdMapRequest *request);
void dvmd_map_fit_free (DvmdMapFit *self);
/* How many objects take one more after so many rounds, in which each that can has got one: those before count. */
guint32 dvmd_map_fit_count_open (DvmdMapFit *self, guint32 n_rounds);
/* After so many rounds no object waits for its first one. */
guint32 dvmd_map_fit_get_level (DvmdMapFit *self);
/* (transfer none): fits is where a new fit is put */
const DvmdMapPattern *dvmd_map_fit_get_pattern (DvmdMapFit *self, guint32 n, GPtrArray *fits);
/* (transfer full): the objects that get a process in that round, as segments */
GArray *dvmd_map_fit_list_round (DvmdMapFit *self, const DvmdMapPattern *pattern, guint32 round);

G_END_DECLS
