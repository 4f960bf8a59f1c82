/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The exit status of each child is collected and handed to its owner.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-reaper"

#include "dvmd-reaper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-proc-scan.h"
#include "dvmd-turn-source.h"

/* Ends handled in one turn of the main loop before other sources get their turn. */
#define REAPS_PER_TURN 64

typedef struct
{
  DvmdReaper *reaper;
  pid_t pid;
  int pidfd; /* -1 when ends come through the signalfd */
  DvmdReaperFunc func;
  gpointer user_data;
  GSource *source; /* of pidfd */
} Watch;

struct _DvmdReaper
{
  GMainContext *context;
  gboolean adopts;
  GHashTable *watches; /* pid -> Watch */
  int signal_fd;
  GSource *source;           /* of signal_fd */
  DvmdReaperAdopted adopted; /* (nullable) */
  gpointer adopted_data;
};

static GSource *
add_fd_source (GMainContext *context, int fd, GSourceFunc func, gpointer data, const char *name)
{
  GSource *source = dvmd_turn_source_new (context, name, func, data);

  g_source_add_unix_fd (source, fd, G_IO_IN);
  return source;
}

static void
watch_free (gpointer data)
{
  Watch *watch = data;

  if (watch->source != NULL)
    dvmd_turn_source_free (watch->source);
  if (watch->pidfd >= 0)
    close (watch->pidfd);
  g_free (watch);
}

void
dvmd_reaper_block_sigchld (void)
{
  sigset_t set;

  sigemptyset (&set);
  sigaddset (&set, SIGCHLD);
  pthread_sigmask (SIG_BLOCK, &set, NULL);
}

/* Takes the status of a dead child. FALSE: it is not dead, or not our child. */
static gboolean
reap (DvmdReaper *self, pid_t pid)
{
  Watch *watch;
  DvmdReaperFunc func;
  gpointer user_data;
  int status = 0;

  if (waitpid (pid, &status, WNOHANG) != pid)
    return FALSE;
  watch = g_hash_table_lookup (self->watches, GINT_TO_POINTER (pid));
  if (watch == NULL)
    {
      g_debug ("adopted process %d has ended with status %d", pid, status);
      return TRUE;
    }
  func = watch->func;
  user_data = watch->user_data;
  g_hash_table_remove (self->watches, GINT_TO_POINTER (pid));
  if (func != NULL)
    func (pid, status, user_data);
  return TRUE;
}

static void
reap_some (DvmdReaper *self)
{
  for (guint n = 0; n < REAPS_PER_TURN; n++)
    {
      siginfo_t info = { 0 };

      if (waitid (P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        return;
      reap (self, info.si_pid);
    }
  dvmd_turn_source_request (self->source);
}

static gboolean
on_sigchld (gpointer user_data)
{
  DvmdReaper *self = user_data;
  struct signalfd_siginfo signals[16];

  while (read (self->signal_fd, signals, sizeof signals) == sizeof signals)
    ;
  reap_some (self);
  if (self->adopted != NULL)
    self->adopted (self->adopted_data);
  return G_SOURCE_CONTINUE;
}

static gboolean
start_adopting (DvmdReaper *self, GError **error)
{
  sigset_t set;

  pthread_sigmask (SIG_SETMASK, NULL, &set);
  if (!sigismember (&set, SIGCHLD))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED,
                   "SIGCHLD is not blocked: dvmd_reaper_block_sigchld() must be called first in main()");
      return FALSE;
    }
  if (prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot become the reaper of orphans: %s", g_strerror (errno));
      return FALSE;
    }
  sigemptyset (&set);
  sigaddset (&set, SIGCHLD);
  self->signal_fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (self->signal_fd < 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "cannot make a signal descriptor: %s",
                   g_strerror (errno));
      return FALSE;
    }
  self->adopts = TRUE;
  self->source = add_fd_source (self->context, self->signal_fd, on_sigchld, self, "dvmd reaper");
  /* Children that ended before this. */
  dvmd_turn_source_request (self->source);
  return TRUE;
}

DvmdReaper *
dvmd_reaper_new (GMainContext *context, gboolean adopt_orphans, GError **error)
{
  g_autoptr (DvmdReaper) self = g_new0 (DvmdReaper, 1);

  self->context = g_main_context_ref (context != NULL ? context : g_main_context_default ());
  self->signal_fd = -1;
  self->watches = g_hash_table_new_full (NULL, NULL, NULL, watch_free);
  if (adopt_orphans && !start_adopting (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
dvmd_reaper_free (DvmdReaper *self)
{
  if (self->adopts)
    prctl (PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  if (self->source != NULL)
    dvmd_turn_source_free (self->source);
  if (self->signal_fd >= 0)
    close (self->signal_fd);
  g_hash_table_unref (self->watches);
  g_main_context_unref (self->context);
  g_free (self);
}

void
dvmd_reaper_set_adopted (DvmdReaper *self, DvmdReaperAdopted func, gpointer user_data)
{
  self->adopted = func;
  self->adopted_data = user_data;
}

gboolean
dvmd_reaper_adopts_orphans (DvmdReaper *self)
{
  return self->adopts;
}

static gboolean
on_pidfd (gpointer user_data)
{
  Watch *watch = user_data;

  if (!reap (watch->reaper, watch->pid))
    g_debug ("process %d is not ours to wait for", watch->pid);
  return G_SOURCE_CONTINUE;
}

void
dvmd_reaper_watch (DvmdReaper *self, pid_t pid, int pidfd, DvmdReaperFunc func, gpointer user_data)
{
  Watch *watch = g_new0 (Watch, 1);

  watch->reaper = self;
  watch->pid = pid;
  watch->pidfd = pidfd;
  watch->func = func;
  watch->user_data = user_data;
  g_hash_table_insert (self->watches, GINT_TO_POINTER (pid), watch);
  if (self->adopts)
    return;
  if (watch->pidfd < 0)
    watch->pidfd = (int)syscall (SYS_pidfd_open, pid, 0);
  if (watch->pidfd < 0)
    {
      g_critical ("cannot watch process %d: %s", pid, g_strerror (errno));
      return;
    }
  watch->source = add_fd_source (self->context, watch->pidfd, on_pidfd, watch, "dvmd process");
}

void
dvmd_reaper_unwatch (DvmdReaper *self, pid_t pid)
{
  Watch *watch = g_hash_table_lookup (self->watches, GINT_TO_POINTER (pid));

  if (watch != NULL)
    watch->func = NULL;
}

gboolean
dvmd_reaper_is_watched (DvmdReaper *self, pid_t pid)
{
  return g_hash_table_contains (self->watches, GINT_TO_POINTER (pid));
}

guint
dvmd_reaper_get_n_watched (DvmdReaper *self)
{
  return g_hash_table_size (self->watches);
}

gboolean
dvmd_reaper_reap_group (DvmdReaper *self, pid_t group)
{
  siginfo_t info = { 0 };

  if (waitid (P_PGID, (id_t)group, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return errno == EINTR;
  if (info.si_pid != 0)
    reap (self, info.si_pid);
  return TRUE;
}

/* TRUE: some had ended, and may have left others behind who are not in the list. */
static gboolean
append_orphans (DvmdReaper *self, GArray *orphans)
{
  g_autoptr (GArray) children = dvmd_proc_list_children ();
  gboolean reaped = FALSE;

  for (guint i = 0; i < children->len; i++)
    {
      pid_t pid = g_array_index (children, pid_t, i);

      if (g_hash_table_contains (self->watches, GINT_TO_POINTER (pid)))
        continue;
      if (reap (self, pid))
        reaped = TRUE;
      else
        g_array_append_val (orphans, pid);
    }
  return reaped;
}

GArray *
dvmd_reaper_list_orphans (DvmdReaper *self)
{
  GArray *orphans = g_array_new (FALSE, FALSE, sizeof (pid_t));
  siginfo_t info = { 0 };

  /* No child at all is the usual case, and one system call tells. */
  if (!self->adopts || (waitid (P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD))
    return orphans;
  /* "None" must be true: it takes a pass in which nobody was replaced by its child. */
  while (append_orphans (self, orphans) && orphans->len == 0)
    ;
  return orphans;
}
