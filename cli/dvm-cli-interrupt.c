/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Signals that end a verb are told to the user in terms of what the verb has waited for.
 */

#include "config.h"

#include "dvm-cli-interrupt.h"

#include <glib-unix.h>
#include <signal.h>

#include "dvm-cli-output.h"

static const int wanted[] = { SIGINT, SIGTERM, SIGHUP };

struct _DvmCliInterrupt
{
  DvmCli *cli;
  char *said;
  guint sources[G_N_ELEMENTS (wanted)]; /* 0: our parent ignores that signal, and so do we */
};

/* The parent sees the signal, as a shell that runs a script has to. */
static void
end_by_signal (DvmCliInterrupt *self, int signum)
{
  dvm_cli_note (self->cli, "%s", self->said);
  signal (signum, SIG_DFL);
  raise (signum);
}

static gboolean
on_interrupt (gpointer user_data)
{
  end_by_signal (user_data, SIGINT);
  return G_SOURCE_CONTINUE;
}

static gboolean
on_terminate (gpointer user_data)
{
  end_by_signal (user_data, SIGTERM);
  return G_SOURCE_CONTINUE;
}

static gboolean
on_hang_up (gpointer user_data)
{
  end_by_signal (user_data, SIGHUP);
  return G_SOURCE_CONTINUE;
}

DvmCliInterrupt *
dvm_cli_interrupt_new (DvmCli *cli, char *said)
{
  static const GSourceFunc handlers[] = { on_interrupt, on_terminate, on_hang_up };
  DvmCliInterrupt *self = g_new0 (DvmCliInterrupt, 1);
  struct sigaction action;

  self->cli = cli;
  self->said = said;
  for (gsize i = 0; i < G_N_ELEMENTS (wanted); i++)
    if (sigaction (wanted[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
      self->sources[i] = g_unix_signal_add (wanted[i], handlers[i], self);
  return self;
}

void
dvm_cli_interrupt_free (DvmCliInterrupt *self)
{
  for (gsize i = 0; i < G_N_ELEMENTS (wanted); i++)
    g_clear_handle_id (&self->sources[i], g_source_remove);
  g_free (self->said);
  g_free (self);
}
