/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The directories of a PMIx server are made, found again and removed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dvm.h"
#include "dvmd-remove-tree.h"

#define SHM_PREFIX "dvm-%u-"
/* A name can be lost to a sweeper only between its mkdir and its lock. */
#define MAX_ATTEMPTS 16

struct _DvmdPmixDirs
{
  char *pmix;
  char *sessions;
  char *shm;  /* (nullable) */
  int shm_fd; /* holds the lock */
  gboolean shared;
};

static gboolean
make_directory (const char *path, GError **error)
{
  if (g_mkdir (path, 0700) == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, errno == EEXIST ? DVM_ERROR_EXISTS : DVM_ERROR_FAILED,
               "Could not make the directory “%s”: %s", path, g_strerror (errno));
  return FALSE;
}

static void
remove_tree (const char *path)
{
  g_autoptr (GError) error = NULL;

  if (!dvmd_remove_tree (path, &error))
    g_message ("Left behind: %s", error->message);
}

/* The directory locked, or -1 if somebody has it or it is not ours. */
static int
lock_directory (const char *path)
{
  int fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;

  if (fd < 0)
    return -1;
  if (fstat (fd, &status) == 0 && status.st_uid == geteuid () && flock (fd, LOCK_EX | LOCK_NB) == 0)
    return fd;
  close (fd);
  return -1;
}

/* A server that was killed cannot remove its directory; its lock has gone with it. */
static void
sweep (const char *parent, const char *prefix)
{
  g_autoptr (GDir) dir = g_dir_open (parent, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = NULL;
      int fd;

      if (!g_str_has_prefix (name, prefix))
        continue;
      path = g_build_filename (parent, name, NULL);
      fd = lock_directory (path);
      if (fd < 0)
        continue;
      g_info ("Removing “%s”, which a server that has died left", path);
      remove_tree (path);
      close (fd);
    }
}

void
dvmd_pmix_dirs_sweep (const char *shm_parent)
{
  g_autofree char *prefix = g_strdup_printf (SHM_PREFIX, (guint)geteuid ());

  sweep (shm_parent != NULL ? shm_parent : "/dev/shm", prefix);
}

static void
close_lock (DvmdPmixDirs *self)
{
  if (self->shm_fd >= 0)
    close (self->shm_fd);
  self->shm_fd = -1;
}

static gboolean
create_shm (DvmdPmixDirs *self, const char *parent, GError **error)
{
  g_autofree char *prefix = g_strdup_printf (SHM_PREFIX, (guint)geteuid ());

  for (int i = 0; i < MAX_ATTEMPTS; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/%sXXXXXX", parent, prefix);
      struct stat status;

      if (g_mkdtemp (path) == NULL)
        break;
      self->shm_fd = lock_directory (path);
      /* Another server may have swept it before the lock was ours. */
      if (self->shm_fd >= 0 && fstat (self->shm_fd, &status) == 0 && status.st_nlink > 0)
        {
          self->shm = g_steal_pointer (&path);
          return TRUE;
        }
      close_lock (self);
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "Could not make a directory in “%s”: %s", parent,
               g_strerror (errno));
  return FALSE;
}

static gboolean
create_own (DvmdPmixDirs *self, const char *runtime_dir, GError **error)
{
  self->pmix = g_build_filename (runtime_dir, "pmix", NULL);
  self->sessions = g_build_filename (runtime_dir, "sessions", NULL);
  /* A directory that exists is of a server that died: the runtime directory is locked by its one owner. */
  if (!dvmd_remove_tree (self->pmix, error) || !make_directory (self->pmix, error))
    return FALSE;
  /* An existing directory may be in use: jobs without PMIx have session directories too. */
  if (g_mkdir (self->sessions, 0700) == 0 || errno == EEXIST)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "Could not make the directory “%s”: %s", self->sessions,
               g_strerror (errno));
  return FALSE;
}

DvmdPmixDirs *
dvmd_pmix_dirs_new (const char *runtime_dir, const char *shm_parent, GError **error)
{
  g_autoptr (DvmdPmixDirs) self = g_new0 (DvmdPmixDirs, 1);
  const char *parent = shm_parent != NULL ? shm_parent : "/dev/shm";
  g_autoptr (GError) local_error = NULL;

  self->shm_fd = -1;
  dvmd_pmix_dirs_sweep (shm_parent);
  if (!create_own (self, runtime_dir, error))
    return NULL;
  /* Without it the MPI libraries choose a place of their own. */
  if (!create_shm (self, parent, &local_error))
    g_message ("Shared memory of killed jobs will stay behind: %s", local_error->message);
  return g_steal_pointer (&self);
}

DvmdPmixDirs *
dvmd_pmix_dirs_new_shared (const char *runtime_dir, const char *pmix, const char *shm, GError **error)
{
  g_autoptr (DvmdPmixDirs) self = g_new0 (DvmdPmixDirs, 1);

  self->shm_fd = -1;
  self->shared = TRUE;
  self->pmix = g_strdup (pmix);
  self->sessions = g_build_filename (runtime_dir, "sessions", NULL);
  self->shm = g_strdup (shm);
  return make_directory (pmix, error) ? g_steal_pointer (&self) : NULL;
}

void
dvmd_pmix_dirs_free (DvmdPmixDirs *self)
{
  if (self->shm != NULL && !self->shared)
    remove_tree (self->shm);
  close_lock (self);
  if (self->pmix != NULL)
    remove_tree (self->pmix);
  if (self->sessions != NULL && !self->shared)
    dvmd_remove_tree_contents (self->sessions, NULL);
  g_free (self->shm);
  g_free (self->pmix);
  g_free (self->sessions);
  g_free (self);
}

const char *
dvmd_pmix_dirs_get_pmix (DvmdPmixDirs *self)
{
  return self->pmix;
}

const char *
dvmd_pmix_dirs_get_sessions (DvmdPmixDirs *self)
{
  return self->sessions;
}

char *
dvmd_pmix_dirs_build_session (DvmdPmixDirs *self, const char *nspace)
{
  return g_build_filename (self->sessions, nspace, NULL);
}

const char *
dvmd_pmix_dirs_get_shm (DvmdPmixDirs *self)
{
  return self->shm;
}

char *
dvmd_pmix_dirs_build_shm (DvmdPmixDirs *self, const char *nspace)
{
  return self->shm != NULL ? g_build_filename (self->shm, nspace, NULL) : NULL;
}

gboolean
dvmd_pmix_dirs_create_job (DvmdPmixDirs *self, const char *nspace, GError **error)
{
  g_autofree char *session = dvmd_pmix_dirs_build_session (self, nspace);
  g_autofree char *shm = dvmd_pmix_dirs_build_shm (self, nspace);

  g_autoptr (GError) local_error = NULL;

  /* The directory exists already for a job that has brought files. */
  if (!make_directory (session, &local_error) && !g_error_matches (local_error, DVM_ERROR, DVM_ERROR_EXISTS))
    {
      g_propagate_error (error, g_steal_pointer (&local_error));
      return FALSE;
    }
  if (shm == NULL || make_directory (shm, error))
    return TRUE;
  g_rmdir (session);
  return FALSE;
}

gboolean
dvmd_pmix_dirs_create_rank (DvmdPmixDirs *self, const char *nspace, guint32 rank, GError **error)
{
  g_autofree char *path = g_strdup_printf ("%s/%s/%u", self->sessions, nspace, rank);

  return make_directory (path, error);
}

void
dvmd_pmix_dirs_remove_job (DvmdPmixDirs *self, const char *nspace)
{
  g_autofree char *session = dvmd_pmix_dirs_build_session (self, nspace);
  g_autofree char *shm = dvmd_pmix_dirs_build_shm (self, nspace);

  remove_tree (session);
  if (shm != NULL)
    remove_tree (shm);
}
