/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files by which PMIx tools find the server of this node are written, kept true, and removed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "dvm.h"
#include "dvmd-runtime-dir.h"

#define CONTENTS "address"

struct _DvmdAgentRendezvous
{
  DvmdAgent *agent; /* unowned */
  gboolean system;
  DvmdRuntimeDir *dir; /* (nullable): there has been nothing to show, or it cannot be made */
  gboolean refused;    /* it cannot, and the log says so */
  char *system_path;   /* (nullable): the file that we have written outside of it, and its contents */
  char *system_text;
};

/* As libpmix calls it: without the domain. */
static char *
dup_machine_name (void)
{
  char *name = g_strdup (g_get_host_name ());
  char *dot = g_hostname_is_ip_address (name) ? NULL : strchr (name, '.');

  if (dot != NULL)
    *dot = '\0';
  return name;
}

static void
acquire_dir (DvmdAgentRendezvous *self)
{
  const DvmdAgentParts *parts = dvmd_agent_get_parts (self->agent);
  /* The runtime directory of an agent inside of dvmd has the name of a DVM, or of a node, which others have, too. */
  g_autofree char *name = dvmd_runtime_dir_build_agent_name (parts->nspace, parts->rank);
  g_autofree char *path = dvmd_runtime_dir_build_tools_place (name);
  g_autoptr (GError) error = NULL;

  if (self->dir != NULL || self->refused)
    return;
  self->dir = dvmd_runtime_dir_acquire (name, path, &error);
  dvmd_agent_rendezvous_sweep (self);
  if (self->dir != NULL)
    return;
  self->refused = TRUE;
  g_message ("PMIx tools do not find node %s by themselves, but by PMIX_TOOL_ATTACHMENT_FILE, which is "
             "%s/pmix/pmix.%s.tool: %s",
             parts->name, parts->runtime_dir, parts->name, error->message);
}

/* ---- names ---- */

/* The number is 0 where there is none. */
static int
read_pid (const char *text)
{
  return (int)g_ascii_strtoll (text, NULL, 10);
}

/* The server's own stands in the third line. */
static int
read_server_pid (const char *address)
{
  g_auto (GStrv) lines = g_strsplit (address, "\n", 4);

  return g_strv_length (lines) > 2 ? read_pid (lines[2]) : 0;
}

/* The directory of an agent on the controller's machine is in that of the DVM, whose lock names its holder. */
static int
read_controller_pid (const DvmdAgentParts *parts)
{
  g_autofree char *parent = g_path_get_dirname (parts->runtime_dir);
  g_autofree char *path = g_build_filename (parent, "lock", NULL);
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? read_pid (text) : 0;
}

static void
add_names (GHashTable *names, const DvmdAgentParts *parts, const char *host, const char *address)
{
  const int pids[] = { read_server_pid (address), (int)getpid (), read_controller_pid (parts) };

  g_hash_table_add (names, g_strdup_printf ("pmix.%s.tool", host));
  g_hash_table_add (names, g_strdup_printf ("pmix.%s.tool.%s", host, parts->nspace));
  for (gsize i = 0; i < G_N_ELEMENTS (pids); i++)
    if (pids[i] > 0)
      g_hash_table_add (names, g_strdup_printf ("pmix.%s.tool.%d", host, pids[i]));
}

/* ---- files ---- */

/*
 * A tool takes whatever begins with the name that it looks for, so that no file may be there under such a name before
 * it is whole: the one that has the contents has a name of its own.
 */
static gboolean
write_contents (DvmdAgentRendezvous *self, const char *address, GError **error)
{
  g_autofree char *path = g_build_filename (dvmd_runtime_dir_get_path (self->dir), CONTENTS, NULL);

  return g_file_set_contents_full (path, address, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error);
}

static gboolean
link_contents (DvmdAgentRendezvous *self, const char *path, GError **error)
{
  g_autofree char *contents = g_build_filename (dvmd_runtime_dir_get_path (self->dir), CONTENTS, NULL);
  g_autofree char *next = g_build_filename (dvmd_runtime_dir_get_path (self->dir), CONTENTS "-next", NULL);

  g_unlink (next);
  if (link (contents, next) == 0 && g_rename (next, path) == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "Could not make the file %s: %s", path, g_strerror (errno));
  return FALSE;
}

static void
write_files (DvmdAgentRendezvous *self, GHashTable *names, const char *address)
{
  g_autoptr (GError) error = NULL;
  GHashTableIter iter;
  gpointer name;
  gboolean good = address == NULL || write_contents (self, address, &error);

  g_hash_table_iter_init (&iter, names);
  while (good && g_hash_table_iter_next (&iter, &name, NULL))
    {
      g_autofree char *path = g_build_filename (dvmd_runtime_dir_get_path (self->dir), name, NULL);

      good = link_contents (self, path, &error);
    }
  if (!good)
    g_message ("PMIx tools do not find node %s by themselves: %s", dvmd_agent_get_parts (self->agent)->name,
               error->message);
}

static void
remove_others (DvmdAgentRendezvous *self, GHashTable *names)
{
  g_autoptr (GDir) dir = g_dir_open (dvmd_runtime_dir_get_path (self->dir), 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (dvmd_runtime_dir_get_path (self->dir), name, NULL);

      if (g_str_has_prefix (name, "pmix.") && !g_hash_table_contains (names, name))
        g_unlink (path);
    }
}

/* ---- the system-level server ---- */

/* (transfer full) (nullable): of a file of ours or of root. Anybody may put a pipe there, or a link. */
static char *
read_system_file (const char *path)
{
  int fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  char text[4096];
  struct stat st;
  gssize n = -1;

  if (fd < 0)
    return NULL;
  if (fstat (fd, &st) == 0 && S_ISREG (st.st_mode) && (st.st_uid == geteuid () || st.st_uid == 0))
    n = read (fd, text, sizeof text);
  close (fd);
  return n >= 0 ? g_strndup (text, (gsize)n) : NULL;
}

static void
remove_system_file (DvmdAgentRendezvous *self)
{
  g_autofree char *text = self->system_path != NULL ? read_system_file (self->system_path) : NULL;

  if (text != NULL && g_str_equal (text, self->system_text))
    g_unlink (self->system_path);
  g_clear_pointer (&self->system_path, g_free);
  g_clear_pointer (&self->system_text, g_free);
}

static char *
build_system_path (const char *host)
{
  g_autofree char *name = g_strdup_printf ("pmix.sys.%s", host);

  return g_build_filename (dvmd_runtime_dir_get_tmp (), name, NULL);
}

static gboolean
server_lives (const char *address)
{
  int pid = read_server_pid (address);

  return pid > 0 && (kill (pid, 0) == 0 || errno != ESRCH);
}

/* Another server that lives has said that it is the one of the machine. */
static gboolean
is_taken (DvmdAgentRendezvous *self, const char *path)
{
  g_autofree char *text = read_system_file (path);

  if (text == NULL || g_strcmp0 (text, self->system_text) == 0 || !server_lives (text))
    return FALSE;
  g_message ("This DVM is not the system-level PMIx server of the machine: by %s that is process %d", path,
             read_server_pid (text));
  return TRUE;
}

static void
write_system_file (DvmdAgentRendezvous *self, const char *host, const char *address)
{
  g_autofree char *path = build_system_path (host);
  g_autoptr (GError) error = NULL;

  if (is_taken (self, path))
    return;
  if (!link_contents (self, path, &error))
    {
      g_message ("This DVM is not the system-level PMIx server of the machine: %s", error->message);
      return;
    }
  g_free (self->system_path);
  g_free (self->system_text);
  self->system_path = g_steal_pointer (&path);
  self->system_text = g_strdup (address);
}

/* ---- what others call ---- */

void
dvmd_agent_rendezvous_show (DvmdAgentRendezvous *self, const char *address, gboolean for_machine)
{
  const DvmdAgentParts *parts = dvmd_agent_get_parts (self->agent);
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *machine = dup_machine_name ();

  if (address != NULL)
    {
      acquire_dir (self);
      add_names (names, parts, parts->name, address);
      if (for_machine)
        add_names (names, parts, machine, address);
    }
  if (self->dir != NULL)
    {
      write_files (self, names, address);
      remove_others (self, names);
    }
  if (self->system && for_machine && address != NULL && self->dir != NULL)
    write_system_file (self, machine, address);
  else
    remove_system_file (self);
}

void
dvmd_agent_rendezvous_sweep (DvmdAgentRendezvous *self)
{
  if (self->dir != NULL)
    dvmd_runtime_dir_sweep (self->dir, "agent-");
}

void
dvmd_agent_rendezvous_clear (void)
{
  g_autofree char *place = dvmd_runtime_dir_build_tools_place (NULL);
  g_autofree char *machine = dup_machine_name ();
  g_autofree char *path = build_system_path (machine);
  g_autofree char *text = read_system_file (path);

  dvmd_runtime_dir_sweep_place (place, "agent-");
  if (text != NULL && g_str_has_prefix (text, "dvm-") && !server_lives (text))
    g_unlink (path);
}

DvmdAgentRendezvous *
dvmd_agent_rendezvous_new (DvmdAgent *agent, gboolean system)
{
  DvmdAgentRendezvous *self = g_new0 (DvmdAgentRendezvous, 1);

  self->agent = agent;
  self->system = system;
  return self;
}

void
dvmd_agent_rendezvous_free (DvmdAgentRendezvous *self)
{
  remove_system_file (self);
  g_clear_pointer (&self->dir, dvmd_runtime_dir_release);
  g_free (self);
}
