/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The private directory of one DVM of one user: $XDG_RUNTIME_DIR/dvm/NAME, /tmp/dvm-UID/NAME, or ~/.dvm-HOST/NAME. Who
 * holds its lock is the DVM of that name. In it: `lock` (with the holder's pid), `bus` (private socket), `sessions/`
 * (directories of jobs). Everything in it goes when the DVM goes, and what a crashed one left goes when the next one
 * comes.
 */

typedef struct _DvmdRuntimeDir DvmdRuntimeDir;

/*
 * Makes and checks the directory (0700, ours, no symbolic link) and takes its lock. name: NULL for "default"; path:
 * NULL for the usual place. DVM_ERROR_EXISTS names the pid of the holder.
 */
DvmdRuntimeDir *dvmd_runtime_dir_acquire (const char *name, const char *path, GError **error);
/* Removes what is in the directory, the directory, and gives back the lock. */
void dvmd_runtime_dir_release (DvmdRuntimeDir *self);
/* Removes those beside it whose names begin so and that crashed ones left: of names that nobody uses twice. */
void dvmd_runtime_dir_sweep (DvmdRuntimeDir *self, const char *prefix);
/* The same in the directory parent, which goes if nothing is in it any more. */
void dvmd_runtime_dir_sweep_place (const char *parent, const char *prefix);
/* The directory for temporary files that PMIx tools search. */
const char *dvmd_runtime_dir_get_tmp (void);
/* (transfer full): in that the directory of this user; name (nullable): in that one */
char *dvmd_runtime_dir_build_tools_place (const char *name);

const char *dvmd_runtime_dir_get_path (DvmdRuntimeDir *self);
const char *dvmd_runtime_dir_get_socket_path (DvmdRuntimeDir *self);   /* PATH/bus */
const char *dvmd_runtime_dir_get_sessions_path (DvmdRuntimeDir *self); /* PATH/sessions, which exists */

/* The unique name of the directory of an agent, below that of its DVM. (transfer full) */
char *dvmd_runtime_dir_build_agent_name (const char *instance, guint32 rank);

/* A DVM's name is [A-Za-z_][A-Za-z0-9_-]*, at most 64 characters. */
gboolean dvmd_runtime_dir_check_name (const char *name, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdRuntimeDir, dvmd_runtime_dir_release)

G_END_DECLS
