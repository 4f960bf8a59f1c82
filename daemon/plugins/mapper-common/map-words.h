/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* All that a process can be bound to, and all flags. */
#define DVMD_MAP_BINDINGS                                                                                              \
  (DVMD_BIND_TO_NONE | DVMD_BIND_TO_HWTHREAD | DVMD_BIND_TO_CORE | DVMD_BIND_TO_L1CACHE | DVMD_BIND_TO_L2CACHE         \
   | DVMD_BIND_TO_L3CACHE | DVMD_BIND_TO_NUMA | DVMD_BIND_TO_PACKAGE | DVMD_BIND_OVERLOAD | DVMD_BIND_IF_SUPPORTED     \
   | DVMD_BIND_LIMIT)

/* In any case, and as short as it is unambiguous. kind (out). error: DVM_ERROR_BAD_PARAM */
gboolean dvmd_map_words_read_kind (const char *text, DvmdObjectKind *kind, GError **error);
const char *dvmd_map_words_name_kind (DvmdObjectKind kind);
/* (nullable): the devices that the job asks for, "gpu" of device=gpu and of ppr:2:device=gpu */
const char *dvmd_map_words_name_device (const DvmdMapRequest *request);
/* The object that processes are bound to */
DvmdObjectKind dvmd_map_words_kind_of (DvmdBindTo bind_to);
gboolean dvmd_map_words_has_qualifier (const DvmdMapRequest *request, const char *name);
/* (transfer full): for messages: "the job's 3 nodes", "the job's only node" */
char *dvmd_map_words_show_nodes (const DvmdMapRequest *request);
/* Whether the job says how many cpus a process has, if only one */
gboolean dvmd_map_words_has_pe (const DvmdMapRequest *request);

G_END_DECLS
