/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Signs that the job of the DVM may have ended: a file that is removed, and processes above dvmd that end.
 */

#include "config.h"

#include "job-signs.h"

#include <gio/gio.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

/* A terminal, some shells and the daemons of a scheduler are above a DVM, and not more. */
#define MOST_ABOVE 32

/* The starter and its keeper are above a dvmd in the background, and end as they should. */
#define STARTER "dvm-cli"

struct _DvmdJobSigns
{
  DvmdJobSign seen;
  gpointer user_data;
  GFileMonitor *monitor; /* (nullable) */
  GPtrArray *processes;  /* Process: above dvmd */
};

/* ---- the file ---- */

static void
on_changed (GFileMonitor *monitor, GFile *file, GFile *other, GFileMonitorEvent event, gpointer user_data)
{
  DvmdJobSigns *self = user_data;

  if (event == G_FILE_MONITOR_EVENT_DELETED || event == G_FILE_MONITOR_EVENT_MOVED_OUT
      || event == G_FILE_MONITOR_EVENT_RENAMED)
    self->seen (self->user_data);
}

static void
watch_file (DvmdJobSigns *self, const char *path)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);

  /* Without one the scheduler is asked now and then all the same. */
  self->monitor = g_file_monitor_file (file, G_FILE_MONITOR_WATCH_MOVES, NULL, NULL);
  if (self->monitor != NULL)
    g_signal_connect (self->monitor, "changed", G_CALLBACK (on_changed), self);
}

/* ---- processes ---- */

typedef struct
{
  DvmdJobSigns *signs;
  guint tag;
  int fd;
} Process;

static void
process_free (gpointer data)
{
  Process *process = data;

  g_clear_handle_id (&process->tag, g_source_remove);
  close (process->fd);
  g_free (process);
}

static gboolean
on_ended (int fd, GIOCondition condition, gpointer user_data)
{
  Process *process = user_data;

  process->tag = 0;
  process->signs->seen (process->signs->user_data);
  return G_SOURCE_REMOVE;
}

static void
watch_process (DvmdJobSigns *self, pid_t pid)
{
  int fd = pidfd_open (pid, 0);
  Process *process;

  if (fd < 0)
    return;
  process = g_new0 (Process, 1);
  process->signs = self;
  process->fd = fd;
  process->tag = g_unix_fd_add (fd, G_IO_IN, on_ended, process);
  g_ptr_array_add (self->processes, process);
}

/* 0: it is not known, or there is none */
static pid_t
find_parent (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", (int)pid);
  g_autofree char *text = NULL;
  /* A name in parentheses may have such signs, too. */
  const char *rest = g_file_get_contents (path, &text, NULL, NULL) ? strrchr (text, ')') : NULL;
  int parent = 0;

  return rest != NULL && sscanf (rest, ") %*c %d", &parent) == 1 ? parent : 0;
}

static gboolean
is_starter (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/exe", (int)pid);
  g_autofree char *program = g_file_read_link (path, NULL);
  g_autofree char *name = program != NULL ? g_path_get_basename (program) : NULL;

  return name != NULL && g_str_has_prefix (name, STARTER);
}

static void
watch_processes (DvmdJobSigns *self)
{
  pid_t pid = getppid ();

  for (guint i = 0; i < MOST_ABOVE && pid > 1; i++, pid = find_parent (pid))
    if (!is_starter (pid))
      watch_process (self, pid);
}

/* ---- the whole ---- */

DvmdJobSigns *
dvmd_job_signs_new (const char *file, DvmdJobSign seen, gpointer user_data)
{
  DvmdJobSigns *self = g_new0 (DvmdJobSigns, 1);

  self->seen = seen;
  self->user_data = user_data;
  self->processes = g_ptr_array_new_with_free_func (process_free);
  if (file != NULL)
    watch_file (self, file);
  watch_processes (self);
  return self;
}

void
dvmd_job_signs_free (DvmdJobSigns *self)
{
  if (self->monitor != NULL)
    g_signal_handlers_disconnect_by_data (self->monitor, self);
  g_clear_object (&self->monitor);
  g_ptr_array_unref (self->processes);
  g_free (self);
}
