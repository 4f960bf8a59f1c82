/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Cgroups are made below our own, reused, and given back.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-cgroup"

#include "dvmd-cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-cgroup-name.h"

#define POOL_MAX 16
/* A process that has just died keeps its cgroup busy for a moment: µs between two tries, doubled each time. */
#define FIRST_PAUSE 1000
#define LAST_PAUSE  G_USEC_PER_SEC
/* So many tries, which is half a second, and the log hears of it. */
#define MANY_TRIES 9
/* A cgroup that is still busy when the daemon ends gets so many more tries, FIRST_PAUSE apart. */
#define FINAL_TRIES 200

struct _DvmdCgroup
{
  char *path;
  int dir_fd;
  int events_fd;
  gboolean killed; /* cgroup.kill was written */
};

/* A cgroup that is to be removed and is still busy. */
typedef struct
{
  DvmdCgroups *set;
  char *path;
  guint n_tries;
  gint64 pause;
  guint timer;
} Leaving;

struct _DvmdCgroups
{
  DvmdClock *clock;
  char *own; /* the cgroup of this process */
  GQueue pool;
  GQueue leaving; /* Leaving */
  guint n_made;
};

static gboolean refuse_cgroups (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse_cgroups (GError **error, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, text);
  return FALSE;
}

/* Where cgroup2 is mounted, and which part of it is seen there. */
static gboolean
find_mount (char **mount, char **root, GError **error)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents ("/proc/self/mountinfo", &text, NULL, NULL))
    return refuse_cgroups (error, "/proc/self/mountinfo cannot be read");
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *type = strstr (lines[i], " - cgroup2 ");
      g_auto (GStrv) fields = NULL;

      if (type == NULL)
        continue;
      fields = g_strsplit (lines[i], " ", 6);
      if (g_strv_length (fields) < 6)
        continue;
      *root = g_strdup (fields[3]);
      *mount = g_strcompress (fields[4]);
      return TRUE;
    }
  return refuse_cgroups (error, "no cgroup2 file system is mounted");
}

static char *
find_own_path (GError **error)
{
  g_autofree char *text = NULL;
  g_autofree char *mount = NULL;
  g_autofree char *root = NULL;
  const char *own;
  g_autofree char *relative = NULL;

  if (!find_mount (&mount, &root, error))
    return NULL;
  if (g_file_get_contents ("/proc/self/cgroup", &text, NULL, NULL) && g_str_has_prefix (text, "0::"))
    own = text;
  else
    own = text != NULL ? strstr (text, "\n0::") : NULL;
  if (own == NULL)
    {
      refuse_cgroups (error, "this process is in no cgroup of version 2");
      return NULL;
    }
  own = strstr (own, "0::") + strlen ("0::");
  relative = g_strndup (own, strcspn (own, "\n"));
  if (strcmp (root, "/") != 0 && g_str_has_prefix (relative, root))
    return g_build_filename (mount, relative + strlen (root), NULL);
  return g_build_filename (mount, relative, NULL);
}

/* FALSE: it is busy. */
static gboolean
try_remove (const char *path)
{
  return rmdir (path) == 0 || errno != EBUSY;
}

static void
leaving_free (Leaving *leaving)
{
  dvmd_clock_remove_timer (leaving->set->clock, leaving->timer);
  g_free (leaving->path);
  g_free (leaving);
}

static void
on_leaving_timer (gpointer user_data)
{
  Leaving *leaving = user_data;

  leaving->timer = 0;
  if (try_remove (leaving->path))
    {
      g_queue_remove (&leaving->set->leaving, leaving);
      leaving_free (leaving);
      return;
    }
  if (++leaving->n_tries == MANY_TRIES)
    g_message ("cgroup %s cannot be removed yet: something still runs in it", leaving->path);
  leaving->pause = MIN (leaving->pause * 2, LAST_PAUSE);
  leaving->timer = dvmd_clock_add_timer (leaving->set->clock, leaving->pause, on_leaving_timer, leaving);
}

/* Now, or as soon as nothing is in it any more; nobody waits for it. */
static void
remove_directory (DvmdCgroups *self, const char *path)
{
  Leaving *leaving;

  if (try_remove (path))
    return;
  leaving = g_new0 (Leaving, 1);
  leaving->set = self;
  leaving->path = g_strdup (path);
  leaving->pause = FIRST_PAUSE;
  leaving->timer = dvmd_clock_add_timer (self->clock, leaving->pause, on_leaving_timer, leaving);
  g_queue_push_tail (&self->leaving, leaving);
}

/* At the end, when no timer will run any more. */
static void
remove_leaving (DvmdCgroups *self)
{
  Leaving *leaving;
  guint n_tries = 0;

  while ((leaving = g_queue_pop_head (&self->leaving)) != NULL)
    {
      while (!try_remove (leaving->path) && n_tries++ < FINAL_TRIES)
        g_usleep (FIRST_PAUSE);
      if (n_tries > FINAL_TRIES)
        g_message ("cgroup %s is left behind: something still runs in it", leaving->path);
      leaving_free (leaving);
    }
}

/* 0 is a process of another pid namespace, and so may be the daemon that only seems to be gone. */
static gboolean
sees_all_of (const char *path)
{
  g_autofree char *procs = g_build_filename (path, "cgroup.procs", NULL);
  g_autofree char *text = NULL;

  return g_file_get_contents (procs, &text, NULL, NULL) && text[0] != '0' && strstr (text, "\n0\n") == NULL;
}

static void
end_stale (DvmdCgroups *self, const char *path)
{
  DvmdCgroup cgroup = { .dir_fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };

  if (cgroup.dir_fd < 0)
    return;
  g_message ("ending what a daemon that has died left running in %s", path);
  dvmd_cgroup_kill (&cgroup);
  close (cgroup.dir_fd);
  remove_directory (self, path);
}

/* The name of a cgroup that a process of our pid namespace made, and that process is gone. */
static gboolean
is_stale (const char *name)
{
  char prefix[DVMD_CGROUP_PREFIX_SIZE];
  g_autofree char *proc = NULL;
  int pid;

  if (!g_str_has_prefix (name, "dvm-") || !g_ascii_isdigit (name[strlen ("dvm-")]))
    return FALSE;
  pid = atoi (name + strlen ("dvm-"));
  dvmd_cgroup_get_prefix (pid, prefix);
  proc = g_strdup_printf ("/proc/%d", pid);
  return g_str_has_prefix (name, prefix) && access (proc, F_OK) != 0;
}

/* Removes the cgroups of crashed daemons, with the processes in them. */
static void
remove_stale (DvmdCgroups *self)
{
  g_autoptr (GDir) dir = g_dir_open (self->own, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = NULL;

      if (!is_stale (name))
        continue;
      path = g_build_filename (self->own, name, NULL);
      if (rmdir (path) != 0 && errno == EBUSY && sees_all_of (path))
        end_stale (self, path);
    }
}

/* Our own cgroup, if children may be made there. */
static char *
find_usable_path (GError **error)
{
  g_autofree char *own = find_own_path (error);
  g_autofree char *procs = NULL;

  if (own == NULL)
    return NULL;
  /* A child is put into a cgroup below by who may write to the one that both have in common: ours. */
  procs = g_build_filename (own, "cgroup.procs", NULL);
  if (access (own, W_OK) == 0 && access (procs, W_OK) == 0)
    return g_steal_pointer (&own);
  refuse_cgroups (error, "our own cgroup %s is not ours to write: %s", own, g_strerror (errno));
  return NULL;
}

gboolean
dvmd_cgroups_check (GError **error)
{
  g_autofree char *own = find_usable_path (error);

  return own != NULL;
}

DvmdCgroups *
dvmd_cgroups_new (DvmdClock *clock, GError **error)
{
  g_autofree char *own = find_usable_path (error);
  g_autoptr (DvmdCgroups) self = NULL;

  if (own == NULL)
    return NULL;
  self = g_new0 (DvmdCgroups, 1);
  self->clock = dvmd_clock_ref (clock);
  g_queue_init (&self->pool);
  g_queue_init (&self->leaving);
  self->own = g_steal_pointer (&own);
  remove_stale (self);
  return g_steal_pointer (&self);
}

static void
cgroup_free (DvmdCgroups *self, DvmdCgroup *cgroup)
{
  if (cgroup->events_fd >= 0)
    close (cgroup->events_fd);
  if (cgroup->dir_fd >= 0)
    close (cgroup->dir_fd);
  remove_directory (self, cgroup->path);
  g_free (cgroup->path);
  g_free (cgroup);
}

void
dvmd_cgroups_free (DvmdCgroups *self)
{
  DvmdCgroup *cgroup;

  while ((cgroup = g_queue_pop_head (&self->pool)) != NULL)
    cgroup_free (self, cgroup);
  remove_leaving (self);
  dvmd_clock_unref (self->clock);
  g_free (self->own);
  g_free (self);
}

/* Another part of this process may have taken a name. */
static char *
make_directory (DvmdCgroups *self, GError **error)
{
  char prefix[DVMD_CGROUP_PREFIX_SIZE];
  g_autofree char *path = NULL;

  dvmd_cgroup_get_prefix (getpid (), prefix);
  do
    {
      g_autofree char *name = g_strdup_printf ("%s%u", prefix, ++self->n_made);

      g_free (path);
      path = g_build_filename (self->own, name, NULL);
      if (mkdir (path, 0755) == 0)
        return g_steal_pointer (&path);
    }
  while (errno == EEXIST);
  refuse_cgroups (error, "cannot make the cgroup %s: %s", path, g_strerror (errno));
  return NULL;
}

DvmdCgroup *
dvmd_cgroups_take (DvmdCgroups *self, GError **error)
{
  DvmdCgroup *cgroup = g_queue_pop_head (&self->pool);
  char *path;

  if (cgroup != NULL)
    return cgroup;
  path = make_directory (self, error);
  if (path == NULL)
    return NULL;
  cgroup = g_new0 (DvmdCgroup, 1);
  cgroup->path = path;
  cgroup->events_fd = -1;
  cgroup->dir_fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (cgroup->dir_fd >= 0)
    cgroup->events_fd = openat (cgroup->dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
  if (cgroup->events_fd >= 0)
    return cgroup;
  refuse_cgroups (error, "the cgroup %s cannot be used: %s", path, g_strerror (errno));
  cgroup_free (self, cgroup);
  return NULL;
}

void
dvmd_cgroups_give_back (DvmdCgroups *self, DvmdCgroup *cgroup)
{
  /* Linux 6.18 kills whatever is cloned into a cgroup that was killed once: such a one is never used again. */
  if (!cgroup->killed && g_queue_get_length (&self->pool) < POOL_MAX)
    g_queue_push_head (&self->pool, cgroup);
  else
    cgroup_free (self, cgroup);
}

int
dvmd_cgroup_get_fd (DvmdCgroup *self)
{
  return self->dir_fd;
}

GArray *
dvmd_cgroup_list (DvmdCgroup *self)
{
  GArray *pids = g_array_new (FALSE, FALSE, sizeof (pid_t));
  int fd = openat (self->dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
  g_autoptr (GString) text = g_string_new (NULL);
  char buffer[4096];
  ssize_t n;

  if (fd < 0)
    return pids;
  while ((n = read (fd, buffer, sizeof buffer)) > 0)
    g_string_append_len (text, buffer, n);
  close (fd);
  for (char *at = text->str; *at != '\0';)
    {
      char *end;
      pid_t pid = (pid_t)strtol (at, &end, 10);

      if (end == at)
        break;
      /* 0 is a process that this pid namespace does not see. */
      if (pid > 0)
        g_array_append_val (pids, pid);
      at = end + strspn (end, "\n");
    }
  return pids;
}

gboolean
dvmd_cgroup_is_empty (DvmdCgroup *self)
{
  char buffer[256];
  ssize_t n = pread (self->events_fd, buffer, sizeof buffer - 1, 0);

  if (n <= 0)
    return FALSE;
  buffer[n] = '\0';
  return strstr (buffer, "populated 0") != NULL;
}

void
dvmd_cgroup_kill (DvmdCgroup *self)
{
  int fd = openat (self->dir_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
  gboolean done = fd >= 0 && write (fd, "1", 1) == 1;
  g_autoptr (GArray) pids = NULL;

  if (fd >= 0)
    close (fd);
  self->killed = self->killed || done;
  if (done)
    return;
  /* A kernel before 5.14: the caller comes again until nothing is left. */
  pids = dvmd_cgroup_list (self);
  for (guint i = 0; i < pids->len; i++)
    kill (g_array_index (pids, pid_t, i), SIGKILL);
}
