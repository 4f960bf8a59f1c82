/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * Removes path and everything below it. Follows no symbolic link, leaves no file system, and needs little memory
 * whatever the tree looks like. A path that is not there is no error. The first failure is reported (with the name that
 * could not be removed), after all that can be removed has been.
 */
gboolean dvmd_remove_tree (const char *path, GError **error);
/* As above, without path itself. */
gboolean dvmd_remove_tree_contents (const char *path, GError **error);

G_END_DECLS
