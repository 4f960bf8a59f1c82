/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-spawn-keys.h"

G_BEGIN_DECLS

/* The tables that a spawn wants to see of its job, in the words of --display. */
typedef struct
{
  GString *words; /* "map,topo=node1;node2" */
  GString *how;   /* ":parseable" */
} DvmdPmixShown;

/* key: one of DVMD_PMIX_TAKE_SHOW and the next two */
gboolean dvmd_pmix_shown_take (DvmdPmixShown *self, const pmix_info_t *info, const DvmdPmixSpawnKey *key,
                               GError **error);
/* (transfer full) (nullable): nothing is to be shown */
char *dvmd_pmix_shown_end (const DvmdPmixShown *self);
void dvmd_pmix_shown_clear (DvmdPmixShown *self);

G_END_DECLS
