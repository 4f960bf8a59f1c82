/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * Where the other programs of this build are, and its parts: those of the installation, or of the build tree that this
 * process comes from. DVM_LIBEXEC_DIR is looked at first. (transfer full); DVM_ERROR_NOT_FOUND says where it was looked
 * for.
 */
char *dvmd_programs_find (const char *name, GError **error);
/* A part is opened, not started, see dvmd-part.h. */
char *dvmd_programs_find_part (const char *name, GError **error);
/* A folder that was configured to be at path, in the tree of this installation, wherever that is now. (transfer full)
 */
char *dvmd_programs_find_folder (const char *path);

G_END_DECLS
