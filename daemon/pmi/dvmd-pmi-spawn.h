/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Bytes of all lines of a request. */
#define DVMD_PMI_SPAWN_LIMIT    (1024 * 1024)
#define DVMD_PMI_SPAWN_MAX_APPS 65536

typedef struct
{
  char *program;
  guint n_procs;
  GPtrArray *args; /* char *, without the program */
  GPtrArray *info; /* char *: key, value, key ... */
} DvmdPmiSpawnApp;

/* A job that a rank wants. */
typedef struct
{
  GPtrArray *apps;   /* DvmdPmiSpawnApp */
  GPtrArray *preput; /* char *: key, value, key ...: what its table has from the beginning, as that can have it */
  guint n_procs;
} DvmdPmiSpawn;

typedef enum
{
  DVMD_PMI_SPAWN_MORE,     /* it goes on */
  DVMD_PMI_SPAWN_READ,     /* that was all of it */
  DVMD_PMI_SPAWN_REFUSED,  /* likewise, and something in it was wrong */
  DVMD_PMI_SPAWN_NO_SENSE, /* the line does not belong to it */
} DvmdPmiSpawnStep;

/* In PMI-1 a request is for each application lines from "mcmd=spawn" to "endcmd". */
typedef struct _DvmdPmiSpawnReader DvmdPmiSpawnReader;

DvmdPmiSpawnReader *dvmd_pmi_spawn_reader_new (void);
void dvmd_pmi_spawn_reader_free (DvmdPmiSpawnReader *self);
/* line: without its line feed; none follows one with which the request was read or refused. */
DvmdPmiSpawnStep dvmd_pmi_spawn_reader_take_line (DvmdPmiSpawnReader *self, const char *line);
const DvmdPmiSpawn *dvmd_pmi_spawn_reader_get (const DvmdPmiSpawnReader *self);
/* (nullable): what was wrong first, without spaces */
const char *dvmd_pmi_spawn_reader_get_failure (const DvmdPmiSpawnReader *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmiSpawnReader, dvmd_pmi_spawn_reader_free)

G_END_DECLS
