/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-record-codec-private.h"

G_BEGIN_DECLS

struct _DvmNode
{
  DvmRecord record;

  char *name;
  char **aliases;
  guint rank;
  guint slots;
  guint slots_in_use;
  guint slots_max;
  char **sessions;
  char **jobs;
  char **devices;
  char *address;
  int pid;
  guint parent_rank;
  guint depth;
  char *topology;
  gint64 memory_allotted;
  gint64 last_seen;
  char *launcher;
  char *allocator;
};

G_END_DECLS
