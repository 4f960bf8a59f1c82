/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-id-set.h"

G_BEGIN_DECLS

/*
 * Environments that users give their jobs. Each distinct one travels once to an agent and is named by its digest from
 * then on. Controller and agents keep those that were used last; who has lost one asks for it.
 */

/* An environment shorter than this travels with its job: its digest would not be much less. */
#define DVMD_ENVIRONMENT_INLINE 128

/* Bytes that the controller keeps, and each agent. */
#define DVMD_ENVIRONMENTS_LIMIT (4 * 1024 * 1024)

typedef struct
{
  grefcount ref_count;
  GBytes *digest; /* (nullable): of one that is not kept */
  char **strings; /* "NAME=value" */
  gsize n_bytes;
  DvmdIdSet *holders; /* at the controller: ranks of agents that it was sent to */
  GList link;
} DvmdEnvironment;

DvmdEnvironment *dvmd_environment_new (GBytes *digest, const char *const *strings);
DvmdEnvironment *dvmd_environment_ref (DvmdEnvironment *self);
void dvmd_environment_unref (DvmdEnvironment *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdEnvironment, dvmd_environment_unref)

typedef struct _DvmdEnvironments DvmdEnvironments;

/* limit: bytes; the one that was used last is kept even if it alone is larger. */
DvmdEnvironments *dvmd_environments_new (gsize limit);
void dvmd_environments_free (DvmdEnvironments *self);
/* (transfer full): the one with this content; a new one is given a digest and kept. */
DvmdEnvironment *dvmd_environments_intern (DvmdEnvironments *self, const char *const *strings);
/* (transfer full): likewise, of somebody who knows the digest */
DvmdEnvironment *dvmd_environments_add (DvmdEnvironments *self, GBytes *digest, const char *const *strings);
/* (transfer full) (nullable) */
DvmdEnvironment *dvmd_environments_find (DvmdEnvironments *self, GBytes *digest);
guint dvmd_environments_get_n (DvmdEnvironments *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdEnvironments, dvmd_environments_free)

G_END_DECLS
