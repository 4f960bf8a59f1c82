/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A picture of a node: its packages, and in these NUMA nodes, caches and cores with the ranks that are bound to them.
 */

#pragma once

#include "dvm-cli-machine.h"

G_BEGIN_DECLS

/* A core, or a hardware thread where the machine shows no cores. */
typedef struct
{
  char **parts; /* what stands in it: once, or for each hardware thread if that differs; "": nothing */
  int rank;     /* the first one; -1: none */
  char *ranks;  /* all of them, "0,4" */
} DvmCliCell;

/* An object that is drawn around others: it has either boxes or cells. */
typedef struct
{
  char *label;      /* "numa 1" */
  GPtrArray *boxes; /* DvmCliBox */
  guint first;      /* of its cells among those of the node */
  guint n;
} DvmCliBox;

typedef struct
{
  char *title;
  DvmCliMachine *machine; /* (nullable): not known */
  DvmCliObjectKind kind;  /* of the cells */
  GPtrArray *boxes;       /* DvmCliBox */
  GPtrArray *cells;       /* DvmCliCell */
  char *unbound;          /* ranks that are not bound */
  GPtrArray *devices;     /* of ranks that were given some: "[0] nvml0", "[1] nvml1" */
} DvmCliPicture;

/* How a picture becomes text. */
typedef struct
{
  guint width; /* of the screen, 0 for no limit */
  gboolean ascii;
  gboolean colour;
} DvmCliStyle;

/*
 * One for each node of the map a(uuussss), in its order, up to limit; n_left: nodes that are left out. They borrow the
 * machines. (transfer full) (element-type DvmCliPicture)
 */
GPtrArray *dvm_cli_pictures_new (GVariant *map, GPtrArray *machines, guint limit, guint *n_left);
/* Of nodes without ranks, one for each kind among them: cells have the numbers of cores, or those of their cpus. */
GPtrArray *dvm_cli_pictures_new_for_nodes (GPtrArray *machines, const char *const *nodes, gboolean physical);

/* (transfer full) */
char *dvm_cli_picture_to_text (DvmCliPicture *self, const DvmCliStyle *style);
/* (transfer full): what cells mean, one line */
char *dvm_cli_picture_describe_cells (const DvmCliStyle *style);

G_END_DECLS
