/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

G_BEGIN_DECLS

/* Jobs with words of every kind, drawn at random; not all of them make sense. */

typedef struct
{
  GRand *random;
  guint n_nodes;      /* node1, node2, ... */
  guint beside;       /* the number of a job that runs, 0: none */
  const char *folder; /* for rankfiles and sequences */
} StreamDraw;

/* (transfer full) (nullable): a job whose files have been read; NULL: these words are refused */
DvmJobSpec *stream_draw_job (const StreamDraw *self);
/* (transfer full): its words, as one types them */
char *stream_show_job (DvmJobSpec *spec);

G_END_DECLS
