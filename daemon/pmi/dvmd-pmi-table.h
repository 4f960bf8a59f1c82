/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* As MPICH's own server has them. */
#define DVMD_PMI_NAME_MAX  256
#define DVMD_PMI_KEY_MAX   64
#define DVMD_PMI_VALUE_MAX 1024
/* All keys and values of a job together. */
#define DVMD_PMI_TABLE_LIMIT (64 * 1024 * 1024)

/* The keys and values of one job, as one node knows them. */
typedef struct _DvmdPmiTable DvmdPmiTable;

typedef enum
{
  DVMD_PMI_PUT,
  DVMD_PMI_BAD_KEY,   /* empty, longer than DVMD_PMI_KEY_MAX, or with a space, a line feed or '=' in it */
  DVMD_PMI_BAD_VALUE, /* longer than DVMD_PMI_VALUE_MAX, or with a space or a line feed in it */
  DVMD_PMI_NO_ROOM,
} DvmdPmiPut;

typedef enum
{
  DVMD_PMI_MERGED,
  DVMD_PMI_NO_NEWS,       /* it has something in it that is none, or that there is no room for */
  DVMD_PMI_OTHER_PROGRAM, /* of a node whose ranks are in another program of theirs */
} DvmdPmiMerge;

DvmdPmiTable *dvmd_pmi_table_new (void);
void dvmd_pmi_table_free (DvmdPmiTable *self);
/* Whether there may be such a pair, were there room. */
DvmdPmiPut dvmd_pmi_table_check (const char *key, const char *value);
/* All nodes know of it: it is there before any rank. Nothing happens where there cannot be such a pair. */
void dvmd_pmi_table_seed (DvmdPmiTable *self, const char *key, const char *value);
/* A later value replaces an earlier one. The other nodes are to know of it. */
DvmdPmiPut dvmd_pmi_table_put (DvmdPmiTable *self, const char *key, const char *value);
/* (nullable): until the table changes */
const char *dvmd_pmi_table_get (const DvmdPmiTable *self, const char *key);
/*
 * (transfer full): what was put since the last time; such texts of several nodes may follow one another. program: the
 * number of the one that the ranks here are in
 */
GBytes *dvmd_pmi_table_take_news (DvmdPmiTable *self, guint program);
DvmdPmiMerge dvmd_pmi_table_merge (DvmdPmiTable *self, GBytes *news, guint program);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmiTable, dvmd_pmi_table_free)

G_END_DECLS
