/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-pmix.h"

G_BEGIN_DECLS

/* The settings of agents that live in the process of their controller. */
typedef struct
{
  const char *pmix_gds;   /* (nullable): how PMIx clients get job data */
  gboolean pmix_tools;    /* PMIx lets tools in */
  gboolean pmix_system;   /* and they find it as the system-level server of the machine */
  gboolean pmix_eager;    /* start PMIx with the DVM, not with the first job that needs it */
  gboolean adopt_orphans; /* this process is a subreaper (the daemon, not a test) */
  DvmdPmix *const *pmix;  /* (nullable): the server of each node; NULL: the real one, which a process can have once */
  guint n_pmix;
} DvmdEmbedding;

/* For DvmdControllerSettings.embed; embedding: a DvmdEmbedding. (transfer full): an agent */
GObject *dvmd_embed_agent (const DvmdEmbeddedAgent *description, gpointer embedding, GError **error);

G_END_DECLS
