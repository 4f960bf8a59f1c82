/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * Where the jobs of one node's server keep their files, so that all of them can be found and removed again:
 *
 *   RUNTIME/pmix                 PMIx's own temporary directory
 *   RUNTIME/sessions/NSPACE/RANK session directories
 *   /dev/shm/dvm-UID-XXXXXX/NSPACE shared memory of the MPI libraries; the directory is locked while its server lives
 */

typedef struct _DvmdPmixDirs DvmdPmixDirs;

/* shm_parent (nullable): instead of /dev/shm. Also removes what servers that died have left there. */
/* Makes that removal alone, for a daemon that may never have a PMIx server. */
void dvmd_pmix_dirs_sweep (const char *shm_parent);
DvmdPmixDirs *dvmd_pmix_dirs_new (const char *runtime_dir, const char *shm_parent, GError **error);
/* Places of another one's: its sessions, shm (nullable) where its shared memory is, and pmix for this server alone. */
DvmdPmixDirs *dvmd_pmix_dirs_new_shared (const char *runtime_dir, const char *pmix, const char *shm, GError **error);
/* Removes everything; of one that shares what is its own alone. */
void dvmd_pmix_dirs_free (DvmdPmixDirs *self);

const char *dvmd_pmix_dirs_get_pmix (DvmdPmixDirs *self);
const char *dvmd_pmix_dirs_get_sessions (DvmdPmixDirs *self);
char *dvmd_pmix_dirs_build_session (DvmdPmixDirs *self, const char *nspace);
/* (nullable): where the shared memory of all jobs is */
const char *dvmd_pmix_dirs_get_shm (DvmdPmixDirs *self);
/* (nullable): NULL if this machine has no such place. */
char *dvmd_pmix_dirs_build_shm (DvmdPmixDirs *self, const char *nspace);

/* Both directories of a job. The session directory may be there; DVM_ERROR_EXISTS if the other one is. */
gboolean dvmd_pmix_dirs_create_job (DvmdPmixDirs *self, const char *nspace, GError **error);
gboolean dvmd_pmix_dirs_create_rank (DvmdPmixDirs *self, const char *nspace, guint32 rank, GError **error);
void dvmd_pmix_dirs_remove_job (DvmdPmixDirs *self, const char *nspace);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmixDirs, dvmd_pmix_dirs_free)

G_END_DECLS
