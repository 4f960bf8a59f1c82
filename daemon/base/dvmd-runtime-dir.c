/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The private directory of a DVM is made, locked, and swept when its owner has gone.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-runtime-dir"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dvm-records-private.h"

#include "dvmd-remove-tree.h"
#include "dvmd-runtime-dir.h"

#define NAME_LENGTH_MAX 64
#define LOCK            "lock"
/* How often somebody else may start or end at the same moment before we give up. */
#define ATTEMPTS 100
/* ms until the lock of one who was killed is looked at again */
#define PAUSE 10

struct _DvmdRuntimeDir
{
  char *path;
  char *socket_path;
  char *sessions_path;
  int dir_fd;
  int lock_fd; /* its lock is the DVM's name */
};

/* The kernel shows everybody the path of the socket in there: it must not tell the id, with which names of jobs begin.
 */
char *
dvmd_runtime_dir_build_agent_name (const char *instance, guint32 rank)
{
  g_autofree char *digest = g_compute_checksum_for_string (G_CHECKSUM_SHA256, instance, -1);

  return g_strdup_printf ("agent-%.8s-%u", digest, rank);
}

gboolean
dvmd_runtime_dir_check_name (const char *name, GError **error)
{
  gsize length = strlen (name);
  gboolean good = length > 0 && length <= NAME_LENGTH_MAX && (g_ascii_isalpha (name[0]) || name[0] == '_');

  for (gsize i = 1; good && i < length; i++)
    good = g_ascii_isalnum (name[i]) || name[i] == '_' || name[i] == '-';
  if (!good)
    {
      g_autofree char *shown = g_utf8_make_valid (name, (gssize)MIN (length, 80));

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "\"%s\" cannot be the name of a DVM: right is a letter or _ and then letters, digits, _ and -, at "
                   "most %d in all",
                   shown, NAME_LENGTH_MAX);
    }
  return good;
}

static gboolean
check_socket_length (const char *path, GError **error)
{
  const gsize limit = sizeof (((struct sockaddr_un *)NULL)->sun_path) - 1;

  if (strlen (path) <= limit)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "the socket path %s has %zu bytes, and a unix socket's can have %zu: choose a shorter directory or name",
               path, strlen (path), limit);
  return FALSE;
}

static gboolean
check_private (int fd, const char *path, GError **error)
{
  struct stat st;

  if (fstat (fd, &st) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot look at %s: %s", path, g_strerror (errno));
      return FALSE;
    }
  if (st.st_uid != geteuid ())
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                   "the directory %s belongs to uid %u, and must belong to uid %u: remove it or set XDG_RUNTIME_DIR",
                   path, (guint)st.st_uid, (guint)geteuid ());
      return FALSE;
    }
  if ((st.st_mode & 0077) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                   "the directory %s has mode %04o, so that others may look or write into it: right is `chmod 700 %s`",
                   path, st.st_mode & 07777, path);
      return FALSE;
    }
  return TRUE;
}

/* -1 without an error: what is above the directory was removed under our hands, or is not there. */
static int
open_private_dir (const char *path, GError **error)
{
  int fd;

  if (mkdir (path, 0700) != 0 && errno != EEXIST)
    {
      if (errno != ENOENT)
        g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot make the directory %s: %s", path, g_strerror (errno));
      return -1;
    }
  fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    {
      if (errno != ENOENT)
        g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot use %s as a runtime directory: %s", path,
                     errno == ENOTDIR || errno == ELOOP ? "it is a symbolic link or no directory" : g_strerror (errno));
      return -1;
    }
  if (!check_private (fd, path, error))
    {
      close (fd);
      return -1;
    }
  return fd;
}

static int
read_pid (int fd)
{
  char text[32] = "";
  gssize n = pread (fd, text, sizeof text - 1, 0);

  return n > 0 ? (int)g_ascii_strtoll (text, NULL, 10) : 0;
}

static gboolean
is_file_of_name (int dir_fd, const char *name, int fd)
{
  struct stat by_name;
  struct stat by_fd;

  return fstatat (dir_fd, name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 && fstat (fd, &by_fd) == 0
         && by_name.st_dev == by_fd.st_dev && by_name.st_ino == by_fd.st_ino;
}

/* A locked file with our pid under a name of its own: it becomes the lock by one link(), never empty, never unlocked.
 */
static int
make_lock_file (int dir_fd, const char *name)
{
  int fd = openat (dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  g_autofree char *pid = g_strdup_printf ("%d\n", (int)getpid ());
  int code;

  if (fd < 0)
    return -1;
  if (flock (fd, LOCK_EX | LOCK_NB) == 0 && write (fd, pid, strlen (pid)) == (gssize)strlen (pid))
    return fd;
  code = errno;
  unlinkat (dir_fd, name, 0);
  close (fd);
  errno = code;
  return -1;
}

typedef enum
{
  LOCK_TAKEN,
  LOCK_AGAIN, /* something moved: look once more */
  LOCK_ENDS,  /* its holder has gone, and has left it to a process for a moment */
  LOCK_FAILED,
} LockResult;

/* A process that one has begun who was killed has the lock, too, until it executes its program or ends. */
static gboolean
has_gone (pid_t holder)
{
  return holder > 0 && kill (holder, 0) != 0 && errno == ESRCH;
}

/*
 * The lock is there already: its holder lives, or has crashed and our file takes its place. By one rename(): what the
 * other one left is never without a lock, by which it is found when we are killed now.
 */
static LockResult
replace_lock (DvmdRuntimeDir *self, const char *own, const char *name, GError **error)
{
  int fd = openat (self->dir_fd, LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  LockResult result = LOCK_AGAIN;

  if (fd < 0)
    {
      if (errno == ENOENT)
        return LOCK_AGAIN;
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot open %s/" LOCK ": %s", self->path, g_strerror (errno));
      return LOCK_FAILED;
    }
  if (flock (fd, LOCK_EX | LOCK_NB) == 0)
    {
      if (is_file_of_name (self->dir_fd, LOCK, fd) && renameat (self->dir_fd, own, self->dir_fd, LOCK) == 0)
        {
          g_message ("taking over %s, which the DVM with pid %d left behind", self->path, read_pid (fd));
          result = LOCK_TAKEN;
        }
    }
  else
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS,
                   "a DVM named \"%s\" runs already with pid %d: stop it, or give this one another name with --name",
                   name, read_pid (fd));
      result = has_gone (read_pid (fd)) ? LOCK_ENDS : LOCK_FAILED;
    }
  close (fd);
  return result;
}

/* The directory, and the one above it, if nobody has anything there. */
static void
remove_if_empty (DvmdRuntimeDir *self)
{
  g_autofree char *parent = g_path_get_dirname (self->path);

  if (rmdir (self->path) == 0)
    rmdir (parent);
}

static LockResult
try_lock (DvmdRuntimeDir *self, const char *name, GError **error)
{
  g_autofree char *own = g_strdup_printf (LOCK ".%d.%08x", (int)getpid (), g_random_int ());
  int fd = make_lock_file (self->dir_fd, own);
  LockResult result = LOCK_TAKEN;

  if (fd < 0)
    {
      /* A sweep has removed the directory, or looks at the file at this moment. */
      if (errno == ENOENT || errno == EWOULDBLOCK)
        return LOCK_AGAIN;
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot make a lock file in %s: %s", self->path,
                   g_strerror (errno));
      remove_if_empty (self);
      return LOCK_FAILED;
    }
  if (linkat (self->dir_fd, own, self->dir_fd, LOCK, 0) != 0)
    result = errno == EEXIST ? replace_lock (self, own, name, error) : LOCK_AGAIN;
  if (result == LOCK_TAKEN)
    self->lock_fd = fd;
  else
    close (fd);
  unlinkat (self->dir_fd, own, 0);
  return result;
}

static LockResult
try_acquire (DvmdRuntimeDir *self, const char *name, GError **error)
{
  g_autofree char *parent = g_path_get_dirname (self->path);
  g_autoptr (GError) local = NULL;
  int parent_fd = open_private_dir (parent, &local);
  LockResult result;

  if (parent_fd >= 0)
    {
      close (parent_fd);
      self->dir_fd = open_private_dir (self->path, &local);
    }
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return LOCK_FAILED;
    }
  if (self->dir_fd < 0)
    return LOCK_AGAIN;
  result = try_lock (self, name, error);
  if (result != LOCK_TAKEN)
    {
      close (self->dir_fd);
      self->dir_fd = -1;
    }
  return result;
}

/* Only the holder of the lock may do this. */
static gboolean
remove_all_but_lock (DvmdRuntimeDir *self, GError **error)
{
  g_autoptr (GDir) dir = g_dir_open (self->path, 0, error);
  const char *entry;

  if (dir == NULL)
    return FALSE;
  while ((entry = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (self->path, entry, NULL);

      if (strcmp (entry, LOCK) != 0 && !dvmd_remove_tree (path, error))
        return FALSE;
    }
  return TRUE;
}

static void
runtime_dir_free (DvmdRuntimeDir *self)
{
  if (self->lock_fd >= 0)
    close (self->lock_fd);
  if (self->dir_fd >= 0)
    close (self->dir_fd);
  g_free (self->path);
  g_free (self->socket_path);
  g_free (self->sessions_path);
  g_free (self);
}

static gboolean
acquire_lock (DvmdRuntimeDir *self, const char *name, GError **error)
{
  LockResult result = LOCK_AGAIN;

  for (guint i = 0; i < ATTEMPTS && (result == LOCK_AGAIN || result == LOCK_ENDS); i++)
    {
      g_clear_error (error);
      if (result == LOCK_ENDS)
        g_usleep (PAUSE * 1000);
      result = try_acquire (self, name, error);
    }
  if (result == LOCK_AGAIN)
    g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED,
                 "cannot make the runtime directory %s: is the directory above it there, and who keeps removing it?",
                 self->path);
  return result == LOCK_TAKEN;
}

DvmdRuntimeDir *
dvmd_runtime_dir_acquire (const char *name, const char *path, GError **error)
{
  DvmdRuntimeDir *self;

  if (name == NULL)
    name = "default";
  if (!dvmd_runtime_dir_check_name (name, error))
    return NULL;
  self = g_new0 (DvmdRuntimeDir, 1);
  self->dir_fd = -1;
  self->lock_fd = -1;
  self->path = path != NULL ? g_strdup (path) : _dvm_runtime_dir (name);
  self->socket_path = g_build_filename (self->path, "bus", NULL);
  self->sessions_path = g_build_filename (self->path, "sessions", NULL);
  if (!check_socket_length (self->socket_path, error) || !acquire_lock (self, name, error))
    {
      runtime_dir_free (self);
      return NULL;
    }
  if (!remove_all_but_lock (self, error))
    {
      dvmd_runtime_dir_release (self);
      return NULL;
    }
  if (mkdir (self->sessions_path, 0700) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot make the directory %s: %s", self->sessions_path,
                   g_strerror (errno));
      dvmd_runtime_dir_release (self);
      return NULL;
    }
  return self;
}

void
dvmd_runtime_dir_release (DvmdRuntimeDir *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *parent = g_path_get_dirname (self->path);

  /* The lock stays with what is left, which is found by it later. */
  if (!remove_all_but_lock (self, &error))
    g_message ("something is left in %s: %s", self->path, error->message);
  else if (is_file_of_name (self->dir_fd, LOCK, self->lock_fd))
    unlinkat (self->dir_fd, LOCK, 0);
  /* From here on the name is free: another DVM may already be making itself at home in the same directory. */
  rmdir (self->path);
  rmdir (parent);
  runtime_dir_free (self);
}

/* As libpmix looks for it, but for the variables of PMIx itself: they may be those of a server above us. */
const char *
dvmd_runtime_dir_get_tmp (void)
{
  static const char *const names[] = { "TMPDIR", "TEMP", "TMP" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_getenv (names[i]) != NULL && g_path_is_absolute (g_getenv (names[i])))
      return g_getenv (names[i]);
  return "/tmp";
}

char *
dvmd_runtime_dir_build_tools_place (const char *name)
{
  g_autofree char *user = g_strdup_printf ("dvm-pmix-%u", (guint)geteuid ());

  return g_build_filename (dvmd_runtime_dir_get_tmp (), user, name, NULL);
}

void
dvmd_runtime_dir_sweep (DvmdRuntimeDir *self, const char *prefix)
{
  g_autofree char *parent = g_path_get_dirname (self->path);

  dvmd_runtime_dir_sweep_place (parent, prefix);
}

/* Anybody may have made a directory of that name in a place that is for all. */
static gboolean
is_private (const char *path)
{
  int fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  gboolean answer = fd >= 0 && check_private (fd, path, NULL);

  if (fd >= 0)
    close (fd);
  return answer;
}

/* Open, and locked by us. -1 and EWOULDBLOCK: somebody else has it. */
static int
lock_file (const char *path)
{
  int fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

  if (fd < 0 || flock (fd, LOCK_EX | LOCK_NB) == 0)
    return fd;
  close (fd);
  errno = EWOULDBLOCK;
  return -1;
}

/*
 * A directory has no lock, and nothing in it, before its owner has made one and after it has removed it; it stays so
 * if that is killed then. An owner who lives makes it anew when it goes, and the file that is to be its lock.
 */
static void
remove_unlocked (const char *path)
{
  g_autoptr (GDir) dir = NULL;
  const char *name;

  if (rmdir (path) == 0 || !is_private (path))
    return;
  dir = g_dir_open (path, 0, NULL);
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);
      int fd = g_str_has_prefix (name, LOCK ".") ? lock_file (file) : -1;

      if (fd < 0)
        continue;
      unlink (file);
      close (fd);
    }
  rmdir (path);
}

/* A directory was left with what is in it if it has a lock file that is not locked. */
static gboolean
was_left (const char *path)
{
  g_autofree char *lock = g_build_filename (path, LOCK, NULL);
  int fd = lock_file (lock);

  if (fd < 0 && errno == ENOENT)
    remove_unlocked (path);
  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

void
dvmd_runtime_dir_sweep_place (const char *parent, const char *prefix)
{
  g_autoptr (GDir) dir = is_private (parent) ? g_dir_open (parent, 0, NULL) : NULL;
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (parent, name, NULL);
      g_autoptr (GError) error = NULL;
      DvmdRuntimeDir *left;

      if (!g_str_has_prefix (name, prefix) || !was_left (path))
        continue;
      left = dvmd_runtime_dir_acquire (name, path, &error);
      if (left != NULL)
        dvmd_runtime_dir_release (left);
      else
        g_message ("%s stays: %s", path, error->message);
    }
  if (dir != NULL)
    rmdir (parent);
}

const char *
dvmd_runtime_dir_get_path (DvmdRuntimeDir *self)
{
  return self->path;
}

const char *
dvmd_runtime_dir_get_socket_path (DvmdRuntimeDir *self)
{
  return self->socket_path;
}

const char *
dvmd_runtime_dir_get_sessions_path (DvmdRuntimeDir *self)
{
  return self->sessions_path;
}
