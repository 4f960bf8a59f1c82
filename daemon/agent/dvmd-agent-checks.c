/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A machine is looked at for what an agent needs there.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-checks.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-address.h"
#include "dvmd-agent.h"
#include "dvmd-bootstrap.h"
#include "dvmd-cgroup.h"
#include "dvmd-munge.h"
#include "dvmd-programs.h"
#include "dvmd-runtime-dir.h"
#include "dvmd-topology.h"

/* Each rank has some four descriptors in its agent. */
#define ENOUGH_DESCRIPTORS 4096
/* The libraries of MPI take about a megabyte for each process. */
#define ENOUGH_SHARED_MEMORY (64 * 1024 * 1024)
#define ENOUGH_TMP           (64 * 1024 * 1024)

typedef struct
{
  const char *node;
  gboolean fix;
  GString *lines;
} Checks;

static void add (Checks *self, const char *check, const char *verdict, const char *mend, const char *format, ...)
    G_GNUC_PRINTF (5, 6);

/* mend: (nullable) */
static void
add (Checks *self, const char *check, const char *verdict, const char *mend, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_strstrip (g_strdelimit (text, "\t\n\r", ' '));
  g_string_append_printf (self->lines, "%s\t%s\t%s\t%s\t%s\n", self->node, check, verdict, text,
                          mend != NULL ? mend : "");
}

static gboolean
has_program (Checks *self, const char *name, gboolean is_part)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = is_part ? dvmd_programs_find_part (name, &error) : dvmd_programs_find (name, &error);

  if (path != NULL)
    return TRUE;
  add (self, "programs", "bad", "install all of dvm on this node, in the same version", "%s", error->message);
  return FALSE;
}

static void
check_programs (Checks *self)
{
  gboolean complete = has_program (self, "dvm-guard", FALSE);

  complete = has_program (self, "dvm-pmix", FALSE) && complete;
  complete = has_program (self, "dvmd-tls.so", TRUE) && complete;
  if (complete)
    add (self, "programs", "ok", NULL, "dvm %s is complete", DVM_VERSION_STRING);
}

/* libpmix is in a program of its own, which may not start where a library is missing. */
static void
check_pmix (Checks *self)
{
  g_autofree char *path = dvmd_programs_find ("dvm-pmix", NULL);
  char *argv[] = { path, (char *)"--version", NULL };
  g_autofree char *out = NULL;
  g_autofree char *err = NULL;
  g_autoptr (GError) error = NULL;
  int status;

  if (path == NULL)
    return;
  if (g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, &err, &status, &error)
      && g_spawn_check_wait_status (status, &error))
    {
      const char *library = strchr (out, '\n');

      add (self, "pmix", "ok", NULL, "%s", library != NULL ? library + 1 : out);
      return;
    }
  add (self, "pmix", "bad", "install the library that is missing (Debian: libpmix2)", "%s does not run: %s", path,
       err != NULL && err[0] != '\0' ? err : error->message);
}

/* hwloc takes the machine itself without a word. */
static void
check_description (Checks *self)
{
  const char *file = g_getenv ("HWLOC_XMLFILE");

  if (file != NULL && access (file, R_OK) != 0)
    add (self, "hwloc", "note", "the path of a file that lstopo has written, or no HWLOC_XMLFILE",
         "HWLOC_XMLFILE names %s, which cannot be read: %s; the machine itself is described", file, g_strerror (errno));
}

static void
check_topology (Checks *self)
{
  g_autoptr (GError) error = NULL;
  DvmdTopology *topology = dvmd_topology_new_local (&error);

  if (topology == NULL)
    {
      add (self, "hwloc", "bad",
           "see what lstopo (package hwloc) says; HWLOC_XMLFILE may name a description of the machine", "%s",
           error->message);
      return;
    }
  add (self, "hwloc", "ok", NULL, "%u cores, %u hardware threads",
       dvmd_topology_count_in_signature (dvmd_topology_get_signature (topology), DVMD_TOPOLOGY_CORE),
       dvmd_topology_get_n_pus (topology));
  dvmd_topology_unref (topology);
}

static void
check_cgroup (Checks *self)
{
  g_autoptr (GError) error = NULL;

  if (dvmd_cgroups_check (&error))
    {
      add (self, "cgroup", "ok", NULL, "each job can have a cgroup of its own");
      return;
    }
  add (self, "cgroup", "note",
       "start the DVM in a cgroup of yours: systemd-run --user --scope -p Delegate=yes dvm-cli start",
       "%s; jobs are ended by their process groups, and their memory is not told", error->message);
}

/* Root's may be /tmp or /run, which all need; a user's may be the home directory. */
static gboolean
is_for_more (const char *path, const struct stat *status)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  if (dir == NULL || (status->st_mode & S_ISVTX) != 0 || g_strcmp0 (path, g_get_home_dir ()) == 0)
    return TRUE;
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *entry = g_build_filename (path, name, NULL);
      struct stat found;

      if (strcmp (name, "dvm") != 0 && (geteuid () == 0 || (lstat (entry, &found) == 0 && found.st_uid != geteuid ())))
        return TRUE;
    }
  return FALSE;
}

/* Another user's directory, or one that others may write to, is not used. */
static void
fix_runtime_parent (Checks *self)
{
  const char *parent = g_getenv ("XDG_RUNTIME_DIR");
  struct stat status;
  gboolean is_ours;

  if (parent == NULL || lstat (parent, &status) != 0 || !S_ISDIR (status.st_mode) || status.st_uid != geteuid ()
      || (status.st_mode & 0077) == 0)
    return;
  is_ours = !is_for_more (parent, &status);
  if (!self->fix || !is_ours)
    add (self, "runtime", "note",
         is_ours ? "chmod 0700 \"$XDG_RUNTIME_DIR\", or --fix"
                 : "set XDG_RUNTIME_DIR to a directory of your own with the mode 0700, in which nothing else is",
         "%s has the mode %04o, others may look into it", parent, (guint)status.st_mode & 07777);
  else if (chmod (parent, 0700) == 0)
    add (self, "runtime", "ok", NULL, "%s has the mode 0700 now", parent);
  else
    add (self, "runtime", "bad", NULL, "the mode of %s cannot be changed: %s", parent, g_strerror (errno));
}

static gboolean
is_full (const char *path)
{
  struct statvfs space;

  return statvfs (path, &space) == 0 && (space.f_bavail == 0 || (space.f_files != 0 && space.f_favail == 0));
}

static void
check_runtime_dir (Checks *self)
{
  g_autofree char *name = g_strdup_printf ("check-%d", (int)getpid ());
  g_autoptr (GError) error = NULL;
  g_autofree char *place = NULL;
  DvmdRuntimeDir *dir;

  fix_runtime_parent (self);
  dir = dvmd_runtime_dir_acquire (name, NULL, &error);
  if (dir == NULL)
    {
      g_autofree char *room = g_strdup_printf ("make room in %s", g_get_user_runtime_dir ());

      add (self, "runtime", "bad",
           is_full (g_get_user_runtime_dir ())
               ? room
               : "set XDG_RUNTIME_DIR to a directory of yours with the mode 0700, on a local disk",
           "%s", error->message);
      return;
    }
  place = g_path_get_dirname (dvmd_runtime_dir_get_path (dir));
  add (self, "runtime", "ok", NULL, "%s", place);
  dvmd_runtime_dir_release (dir);
}

static void
check_space (Checks *self, const char *check, const char *path, guint64 enough, const char *need)
{
  g_autofree char *mend = g_strdup_printf ("make room in %s", path);
  struct statvfs space;
  g_autofree char *size = NULL;
  guint64 available;

  if (access (path, W_OK | X_OK) != 0 || statvfs (path, &space) != 0)
    {
      add (self, check, "bad", "make it a directory that all may write to (mode 1777)", "%s: %s", path,
           g_strerror (errno));
      return;
    }
  available = (guint64)space.f_bavail * space.f_frsize;
  size = g_format_size_full (available, G_FORMAT_SIZE_IEC_UNITS);
  if (available < enough)
    add (self, check, "note", mend, "%s has %s left; %s", path, size, need);
  else
    add (self, check, "ok", NULL, "%s has room", path);
}

static void
check_limits (Checks *self)
{
  struct rlimit files;
  struct rlimit locked;

  if (getrlimit (RLIMIT_NOFILE, &files) == 0 && files.rlim_max < ENOUGH_DESCRIPTORS)
    add (self, "limits", "note", "raise it: LimitNOFILE= of the unit, or nofile in /etc/security/limits.conf",
         "a process may have %lu open files; %d are enough for some thousand ranks", (gulong)files.rlim_max,
         ENOUGH_DESCRIPTORS);
  else
    add (self, "limits", "ok", NULL, "open files: enough");
  if (g_file_test ("/sys/class/infiniband", G_FILE_TEST_IS_DIR) && getrlimit (RLIMIT_MEMLOCK, &locked) == 0
      && locked.rlim_cur != RLIM_INFINITY)
    add (self, "limits", "note", "LimitMEMLOCK=infinity of the unit, or memlock in /etc/security/limits.conf",
         "there is a fabric, and a process may lock %lu bytes of memory alone", (gulong)locked.rlim_cur);
}

/* MPI libraries and libpmix ask for the name of the machine. */
static void
check_name (Checks *self)
{
  const char *name = g_get_host_name ();
  struct addrinfo *found = NULL;
  int status = getaddrinfo (name, NULL, NULL, &found);

  if (status == 0)
    add (self, "name", "ok", NULL, "the name of the machine has an address");
  else
    add (self, "name", "note", "a line with the name in /etc/hosts", "the name of the machine, %s, has no address: %s",
         name, gai_strerror (status));
  if (found != NULL)
    freeaddrinfo (found);
}

static void
ask_munge (Checks *self, DvmdConfig *config)
{
  const char *socket = dvmd_config_get_string (config, "bootstrap-munge-socket");
  g_autoptr (GError) error = NULL;
  g_autofree char *credential = NULL;
  g_autoptr (GBytes) data = NULL;
  guint32 uid = 0;

  credential = dvmd_munge_seal (socket, (const guint8 *)self->node, strlen (self->node), &error);
  if (credential != NULL)
    data = dvmd_munge_unseal (socket, credential, &uid, &error);
  if (data != NULL && uid == geteuid ())
    add (self, "munge", "ok", NULL, "munge proves who an agent of this machine is");
  else
    add (
        self, "munge", "bad",
        "start munged here, with the key of the controller's machine (Debian: munge), or set bootstrap-munge-socket to "
        "where it listens",
        "bootstrap-auth=munge: %s", error != NULL ? error->message : "munged gives credentials of another user");
}

/* Both are kept where a site goes from one to the other. */
static void
note_unused (Checks *self, DvmdConfig *config, const char *auth, const char *setting)
{
  if (dvmd_config_get_string (config, setting)[0] != '\0')
    add (self, "bootstrap", "note", "remove it, or set bootstrap-auth to the other",
         "%s is not used, for bootstrap-auth is %s", setting, auth);
}

/* The machine that each agent is on is seldom the controller's. */
static void
note_own_machine (Checks *self, const char *place)
{
  g_autofree char *address = NULL;
  g_autofree char *host = NULL;
  g_autoptr (GSocketAddress) parsed = NULL;
  guint16 port = 0;

  if (!dvmd_bootstrap_parse_place (place, &address, &port, NULL)
      || !dvmd_address_parse (address, &parsed, &host, &port, NULL))
    return;
  if (parsed != NULL
          ? g_inet_address_get_is_loopback (g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (parsed)))
          : g_ascii_strcasecmp (host, "localhost") == 0)
    add (self, "bootstrap", "note", "a name or an address of the controller's machine that all nodes know",
         "bootstrap-controller: with %s each machine looks for the controller on itself", place);
}

/* Agents that start by themselves prove by these who they are, where the settings of this machine say so. */
static void
check_bootstrap (Checks *self, DvmdConfig *config)
{
  const char *place = dvmd_config_get_string (config, "bootstrap-controller");
  const char *auth = dvmd_config_get_string (config, "bootstrap-auth");
  gboolean by_munge = g_str_equal (auth, "munge");
  g_autoptr (DvmdMungeKeys) munge = NULL;
  g_autoptr (GError) error = NULL;
  DvmdToken secret = { 0 };

  if (place[0] == '\0' && !by_munge)
    return;
  if (!dvmd_bootstrap_choose_means (config, &secret, &munge, &error))
    add (self, by_munge ? "munge" : "bootstrap", "bad", "mend the setting or the file: agents do not start without",
         "%s", error->message);
  else if (by_munge)
    ask_munge (self, config);
  else
    add (self, "bootstrap", "ok", NULL, "the secret can be read, and by nobody else");
  explicit_bzero (&secret, sizeof secret);
  note_unused (self, config, auth, by_munge ? "bootstrap-secret" : "bootstrap-munge-socket");
  note_own_machine (self, place);
}

/* A file that cannot be read keeps only agents that start by themselves from starting. */
static void
check_settings (Checks *self, DvmdConfig *config)
{
  g_autoptr (GError) error = NULL;

  if (dvmd_config_load (config, NULL, &error))
    check_bootstrap (self, config);
  else
    add (self, "settings", "note", "mend the file; an agent that starts by itself (dvm-agent.service) reads it", "%s",
         error->message);
}

char *
dvmd_agent_checks_run (const char *node, gboolean fix, DvmdConfig *config)
{
  Checks self = { .node = node, .fix = fix, .lines = g_string_new (NULL) };

  if (fix)
    {
      dvmd_agent_sweep_machine ();
      add (&self, "leftovers", "ok", NULL, "what DVMs that were killed had left here is removed");
    }
  check_programs (&self);
  check_pmix (&self);
  check_description (&self);
  check_topology (&self);
  check_cgroup (&self);
  check_runtime_dir (&self);
  check_space (&self, "shm", "/dev/shm", ENOUGH_SHARED_MEMORY, "MPI processes of one node speak through it");
  check_space (&self, "tmp", dvmd_runtime_dir_get_tmp (), ENOUGH_TMP, "jobs have their files there");
  check_limits (&self);
  check_name (&self);
  check_settings (&self, config);
  add (&self, "clock", "ok", NULL, "%" G_GINT64_FORMAT, g_get_real_time ());
  return g_string_free (self.lines, FALSE);
}
