/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Signals have names here, and arrive as events of the main loop.
 */

#include "config.h"

#include "dvm-cli-signals.h"

#include <glib-unix.h>
#include <glib/gi18n-lib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct _DvmCliSignals
{
  int fd;
  guint source;
  sigset_t saved;
  DvmCliSignalFunc func;
  gpointer user_data;
};

/* "RTMIN", "RTMIN+3", "RTMAX-1" */
static int
real_time_from_name (const char *name)
{
  int signum;

  if (g_ascii_strcasecmp (name, "RTMIN") == 0)
    return SIGRTMIN;
  if (g_ascii_strcasecmp (name, "RTMAX") == 0)
    return SIGRTMAX;
  if (g_ascii_strncasecmp (name, "RTMIN+", 6) == 0)
    signum = SIGRTMIN + atoi (name + 6);
  else if (g_ascii_strncasecmp (name, "RTMAX-", 6) == 0)
    signum = SIGRTMAX - atoi (name + 6);
  else
    return 0;
  return signum >= SIGRTMIN && signum <= SIGRTMAX ? signum : 0;
}

int
dvm_cli_signal_from_name (const char *name)
{
  guint64 number;

  if (g_ascii_string_to_unsigned (name, 10, 1, (guint64)SIGRTMAX, &number, NULL))
    return (int)number;
  if (g_ascii_strncasecmp (name, "SIG", 3) == 0)
    name += 3;
  for (int signum = 1; signum < NSIG; signum++)
    {
      const char *known = sigabbrev_np (signum);

      if (known != NULL && g_ascii_strcasecmp (known, name) == 0)
        return signum;
    }
  return real_time_from_name (name);
}

char *
dvm_cli_signal_name (int signum)
{
  const char *known = sigabbrev_np (signum);

  if (known != NULL)
    return g_strdup_printf ("SIG%s", known);
  if (signum >= SIGRTMIN && signum <= SIGRTMAX)
    return g_strdup_printf ("SIGRTMIN+%d", signum - SIGRTMIN);
  return g_strdup_printf ("signal %d", signum);
}

char *
dvm_cli_signal_list (void)
{
  GString *list = g_string_new (NULL);

  for (int signum = 1; signum < NSIG; signum++)
    if (sigabbrev_np (signum) != NULL)
      g_string_append_printf (list, "%2d SIG%s\n", signum, sigabbrev_np (signum));
  g_string_append_printf (list, "%2d SIGRTMIN\n%2d SIGRTMAX\n", SIGRTMIN, SIGRTMAX);
  return g_string_free (list, FALSE);
}

char *
dvm_cli_signal_list_json (void)
{
  GString *list = g_string_new ("[");

  for (int signum = 1; signum <= SIGRTMAX; signum++)
    {
      g_autofree char *name = dvm_cli_signal_name (signum);

      if (g_str_has_prefix (name, "SIG"))
        g_string_append_printf (list, "%s{\"number\":%d,\"name\":\"%s\"}", list->len > 1 ? ",\n " : "", signum, name);
    }
  g_string_append (list, "]\n");
  return g_string_free (list, FALSE);
}

/* They suspend the job and let it go on, whatever is said. */
static gboolean
is_always_passed_on (int signum)
{
  return signum == SIGTSTP || signum == SIGCONT;
}

static gboolean
is_ours (int signum)
{
  static const int ours[] = { SIGINT, SIGTERM, SIGHUP, SIGKILL, SIGSTOP, SIGCHLD, SIGTTIN, SIGWINCH };

  for (gsize i = 0; i < G_N_ELEMENTS (ours); i++)
    if (ours[i] == signum)
      return TRUE;
  return FALSE;
}

int *
dvm_cli_signal_read_list (const char *option, const char *list, GError **error)
{
  g_autoptr (GArray) numbers = g_array_new (TRUE, FALSE, sizeof (int));
  g_auto (GStrv) names = g_ascii_strcasecmp (list, "none") != 0 ? g_strsplit (list, ",", -1) : NULL;

  for (gsize i = 0; names != NULL && names[i] != NULL; i++)
    {
      int signum = dvm_cli_signal_from_name (names[i]);

      if (signum <= 0 || is_ours (signum))
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                       signum <= 0 ? _ ("option %s: there is no signal '%s'; it takes names and numbers, such as "
                                        "USR1,USR2, or none")
                                   : _ ("option %s: %s is for dvm-cli itself, and ends or changes the job by its own "
                                        "rules"),
                       option, names[i]);
          return NULL;
        }
      if (!is_always_passed_on (signum))
        g_array_append_val (numbers, signum);
    }
  return (int *)g_array_free (g_steal_pointer (&numbers), FALSE);
}

static gboolean
is_ignored (int signum)
{
  struct sigaction action;

  return sigaction (signum, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static gboolean
on_signal (int fd, GIOCondition condition, gpointer user_data)
{
  DvmCliSignals *self = user_data;
  struct signalfd_siginfo info;

  while (read (fd, &info, sizeof info) == (gssize)sizeof info)
    self->func ((int)info.ssi_signo, self->user_data);
  return G_SOURCE_CONTINUE;
}

static void
add_signals (sigset_t *set, const int *wanted)
{
  for (; *wanted != 0; wanted++)
    if (!is_ignored (*wanted))
      sigaddset (set, *wanted);
}

DvmCliSignals *
dvm_cli_signals_new (const int *also, DvmCliSignalFunc func, gpointer user_data)
{
  static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGTTIN, SIGWINCH, 0 };
  DvmCliSignals *self = g_new0 (DvmCliSignals, 1);
  sigset_t set;

  sigemptyset (&set);
  add_signals (&set, wanted);
  if (also != NULL)
    add_signals (&set, also);
  sigprocmask (SIG_BLOCK, &set, &self->saved);
  self->func = func;
  self->user_data = user_data;
  self->fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (self->fd >= 0)
    self->source = g_unix_fd_add (self->fd, G_IO_IN, on_signal, self);
  else
    sigprocmask (SIG_SETMASK, &self->saved, NULL);
  return self;
}

/* The kernel drops a SIGTSTP where no shell could let the process go on; what is continued finds a SIGCONT. */
static gboolean
stop_as_terminals_do (void)
{
  struct sigaction by_default = { .sa_handler = SIG_DFL };
  struct sigaction saved;
  sigset_t set;

  sigemptyset (&set);
  sigaddset (&set, SIGTSTP);
  /* ncurses has a handler of its own. */
  sigaction (SIGTSTP, &by_default, &saved);
  kill (getpid (), SIGTSTP);
  pthread_sigmask (SIG_UNBLOCK, &set, NULL);
  pthread_sigmask (SIG_BLOCK, &set, NULL);
  sigaction (SIGTSTP, &saved, NULL);
  return sigpending (&set) == 0 && sigismember (&set, SIGCONT) == 1;
}

void
dvm_cli_signals_stop (void)
{
  if (is_ignored (SIGCONT) || !stop_as_terminals_do ())
    kill (getpid (), SIGSTOP);
}

void
dvm_cli_signals_free (DvmCliSignals *self)
{
  if (self->fd >= 0)
    {
      g_source_remove (self->source);
      close (self->fd);
    }
  sigprocmask (SIG_SETMASK, &self->saved, NULL);
  g_free (self);
}
static gboolean
takes_next (DvmCliOptionLists lists, const char *word)
{
  const DvmCliOption *option = word[0] == '-' ? dvm_cli_option_find_spelling (lists, word) : NULL;

  return option != NULL && option->arg != DVM_CLI_ARG_NONE && option->arg != DVM_CLI_ARG_OPTIONAL;
}

/* "-9" and "-KILL", as kill(1) has them */
char **
dvm_cli_signal_rewrite (const char *const *argv, DvmCliOptionLists lists)
{
  GPtrArray *words = g_ptr_array_new ();
  gboolean has_ended = FALSE;

  for (gsize i = 0; argv[i] != NULL; i++)
    {
      gboolean is_signal = !has_ended && argv[i][0] == '-' && (i == 0 || !takes_next (lists, argv[i - 1]))
                           && (g_ascii_isdigit (argv[i][1]) || g_ascii_isupper (argv[i][1]))
                           && dvm_cli_signal_from_name (argv[i] + 1) > 0;

      has_ended = has_ended || strcmp (argv[i], "--") == 0;
      g_ptr_array_add (words, is_signal ? g_strdup_printf ("--signal=%s", argv[i] + 1) : g_strdup (argv[i]));
    }
  g_ptr_array_add (words, NULL);
  return (char **)g_ptr_array_free (words, FALSE);
}
