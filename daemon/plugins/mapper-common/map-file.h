/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "cpu-list.h"

G_BEGIN_DECLS

/* A process that a file places. */
typedef struct
{
  guint32 rank;
  char *host;
  char *place;  /* "FILE:LINE" */
  char *text;   /* (nullable): its cpus, as they are written */
  GArray *cpus; /* (nullable): the same, DvmdCpuRange */
} DvmdMapLine;

/* Reads what stands in a line that is not empty. FALSE: an error that begins with the place of the line. */
typedef gboolean (*DvmdMapReadLine) (DvmdMapLine *line, const char *text, GError **error);

/* The files that a mapper has read, the last ones first: a job that waits is mapped again and again. */
typedef GPtrArray DvmdMapFiles;

/* (transfer full): g_ptr_array_unref() */
DvmdMapFiles *dvmd_map_files_new (void);
/* (transfer full) (element-type DvmdMapLine): all lines of the request's file; comments begin with "#" */
GArray *dvmd_map_files_read (DvmdMapFiles *self, const DvmdMapRequest *request, DvmdMapReadLine read, GError **error);
/* The cpus of the line. */
gboolean dvmd_map_line_set_cpus (DvmdMapLine *line, const char *text, GError **error);

/* Processes are placed by a file, one after another. */
typedef struct
{
  const DvmdMapRequest *request;
  DvmdPlacement *placement;
  guint32 *counts;     /* per node */
  guint32 *app_counts; /* likewise, of the application alone */
  GHashTable *names;   /* name of a node in small letters -> its index, plus one */
  GHashTable *domains; /* likewise, the part before the domain of those that have one */
  guint32 app;
  guint32 app_end; /* the rank behind the last one of the application */
  DvmdCpuLedger ledger;
} DvmdFilePlan;

void dvmd_file_plan_init (DvmdFilePlan *self, const DvmdMapRequest *request, DvmdPlacement *placement);
void dvmd_file_plan_clear (DvmdFilePlan *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdFilePlan, dvmd_file_plan_clear)
/* The ranks come in their order. */
gboolean dvmd_file_plan_place (DvmdFilePlan *self, guint32 rank, const DvmdMapLine *line, GError **error);
/* Gives the lines to the applications that have no number. */
void dvmd_map_file_count (const DvmdMapRequest *request, guint32 n_lines, guint32 *app_np);

G_END_DECLS
