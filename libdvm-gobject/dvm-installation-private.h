/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * Where a folder of the installation is that was configured to be at path: in the tree that this library is part of, if
 * that has been moved since, or mounted elsewhere, and has the folder; else at path. (transfer full)
 */
char *_dvm_installation_find (const char *path);

G_END_DECLS
