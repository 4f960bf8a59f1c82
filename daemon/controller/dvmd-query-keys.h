/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"

G_BEGIN_DECLS

/* A question can be narrowed by these. */
enum
{
  DVMD_QUERY_JOB = 1 << 0,
  DVMD_QUERY_RANK = 1 << 1,
  DVMD_QUERY_NODE = 1 << 2,
  DVMD_QUERY_ALLOC = 1 << 3,
  DVMD_QUERY_PROPERTY = 1 << 4,
  DVMD_QUERY_GROUP = 1 << 5,
  DVMD_QUERY_PSET = 1 << 6,
  DVMD_QUERY_NAMES = 1 << 7, /* and topology and nodes */
  DVMD_QUERY_SERVED = 1 << 15,
};

/* One question that Query of the bus or PMIx_Query_info() of programs answers. */
typedef struct
{
  const char *word;
  const char *pmix; /* (nullable): the name that PMIx has for it */
  /* On each side: DVMD_QUERY_SERVED if it is answered there, and what narrows it. */
  guint of_pmix;
  guint of_bus;
  guint needs; /* of these on the bus */
} DvmdQueryKey;

const DvmdQueryKey *dvmd_query_keys_get (guint *n_keys);
/* (nullable): by its word, or its name in PMIx */
const DvmdQueryKey *dvmd_query_keys_find (const char *name);

/*
 * The answer to PMIx, with words instead of the names of PMIx. dict: qualifiers as those of the questions of PMIx
 * programs.
 *
 * Returns: (transfer floating) (nullable): NULL with an error
 */
GVariant *dvmd_controller_answer_fact (DvmdController *self, const char *word, GVariant *dict, GError **error);

G_END_DECLS
