/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * hwloc believes what an XML says, and reads through null pointers where it says too little: it gets a text of ours
 * instead, with the objects of the other one and what placement needs of them, after a check that they fit together.
 *
 * Returns: (transfer full) (nullable): NULL with DVM_ERROR_PARSE_FAILED, which names the line and what is wrong there
 */
char *dvmd_topology_xml_clean (const char *xml, gsize length, GError **error);

G_END_DECLS
