/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-agent: the daemon of one node. A launcher starts it, gives it a token and the DVM's id on standard input, and
 * keeps that open as long as the agent is to live. With --bootstrap nobody starts it but the machine's own service
 * manager: it finds its controller by its settings. It puts itself below dvm-guard, so that nothing is left of it
 * however it ends.
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <glib-unix.h>

#include <dvm.h>

#include "dvmd-agent-bootstrap.h"
#include "dvmd-agent-checks.h"
#include "dvmd-agent-program.h"
#include "dvmd-agent.h"
#include "dvmd-config.h"
#include "dvmd-log.h"
#include "dvmd-programs.h"

/* Of the line with the token; longer ones are none. */
#define LINE_LIMIT    1024
#define HEAP_RETAINED (256 * 1024)

typedef struct
{
  GMainLoop *loop;
  DvmdAgentBootstrap *bootstrap; /* (nullable) */
  DvmdAgentProgram *program;     /* (nullable): it waits for its controller */
  DvmdConfig *config;
  int status;

  /* the command line */
  char *controller;
  char *node;
  char *runtime_dir;
  char *topology;
  char **settings;
  gboolean bootstraps;
  gboolean logical;
  gboolean stays;
  gboolean guarded;
  gboolean checks;
  gboolean fixes;
  gboolean version;
} Program;

static void
on_ended (int status, gpointer user_data)
{
  Program *self = user_data;

  self->status = status;
  g_main_loop_quit (self->loop);
}

static gboolean
on_signal (gpointer user_data)
{
  Program *self = user_data;

  if (self->program != NULL)
    dvmd_agent_program_leave (self->program, "a signal ends it");
  else
    on_ended (EXIT_SUCCESS, self);
  return G_SOURCE_CONTINUE;
}

/* Nothing more is said there: what counts is that it is open. */
static gboolean
on_input (int fd, GIOCondition condition, gpointer user_data)
{
  char buffer[256];
  ssize_t n = read (fd, buffer, sizeof buffer);

  if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
    return G_SOURCE_CONTINUE;
  /* Another agent has started it, which may go long before the DVM does: then the controller's word counts alone. */
  if (!((Program *)user_data)->stays)
    dvmd_agent_program_leave (((Program *)user_data)->program, "whoever has started it has gone");
  return G_SOURCE_REMOVE;
}

/* "TOKEN INSTANCE", byte by byte: what follows the line is not ours to take. NULL: there is none. */
static char *
read_line (int fd, GError **error)
{
  g_autoptr (GString) line = g_string_new (NULL);
  char c;

  while (line->len < LINE_LIMIT)
    {
      ssize_t n = read (fd, &c, 1);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0 || c == '\n')
        break;
      g_string_append_c (line, c);
    }
  if (line->len < LINE_LIMIT && strchr (line->str, ' ') != NULL)
    return g_string_free (g_steal_pointer (&line), FALSE);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "There is no token on standard input: agents are started by dvmd, not by hand");
  return NULL;
}

static void
wipe (char *text)
{
  explicit_bzero (text, strlen (text));
  g_free (text);
}

static gboolean
check_options (Program *self, int argc, char **argv, GError **error)
{
  if (argc > 1)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "dvm-agent takes no argument “%s”", argv[1]);
      return FALSE;
    }
  if (self->fixes && !self->checks)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "--fix goes with --check");
      return FALSE;
    }
  if (self->checks && (self->bootstraps || self->controller != NULL))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "--check looks at a machine, and starts no agent there");
      return FALSE;
    }
  if (self->bootstraps && (self->controller != NULL || self->runtime_dir != NULL || self->logical || self->stays))
    {
      g_set_error (
          error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
          "--bootstrap: such an agent finds its controller by dvm.conf, and is on a machine of its own: it takes "
          "no --controller, --runtime-dir, --logical or --stay");
      return FALSE;
    }
  if (self->bootstraps || self->checks || self->controller != NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "--controller is missing: agents are started by dvmd, not by hand (see dvm-cli start), or with "
               "--bootstrap");
  return FALSE;
}

static gboolean
read_settings (Program *self, GError **error)
{
  self->config = dvmd_config_new ();
  if (self->bootstraps && !dvmd_config_load (self->config, NULL, error))
    return FALSE;
  for (gsize i = 0; self->settings != NULL && self->settings[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (self->settings[i], "=", 2);

      if (parts[0] == NULL || parts[1] == NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "--set %s: expected NAME=VALUE", self->settings[i]);
          return FALSE;
        }
      if (!dvmd_config_set (self->config, parts[0], parts[1], DVMD_CONFIG_ORIGIN_COMMAND_LINE, error))
        return FALSE;
    }
  return TRUE;
}

static void
clear_options (Program *self)
{
  g_clear_pointer (&self->config, dvmd_config_unref);
  g_clear_pointer (&self->controller, g_free);
  g_clear_pointer (&self->node, g_free);
  g_clear_pointer (&self->runtime_dir, g_free);
  g_clear_pointer (&self->topology, g_free);
  g_clear_pointer (&self->settings, g_strfreev);
  self->bootstraps = FALSE;
}

static gboolean
parse_arguments (Program *self, int *argc, char ***argv, GError **error)
{
  const GOptionEntry entries[] = {
    { "controller", 0, 0, G_OPTION_ARG_STRING, &self->controller, "Where dvmd listens", "ADDRESS,..." },
    { "node", 0, 0, G_OPTION_ARG_STRING, &self->node, "Name of this node (default: of the host)", "NAME" },
    { "runtime-dir", 0, 0, G_OPTION_ARG_FILENAME, &self->runtime_dir, "Private directory; NAME is added", "PATH" },
    { "topology", 0, 0, G_OPTION_ARG_FILENAME, &self->topology, "The topology of this machine, as hwloc's XML",
      "FILE" },
    { "logical", 0, 0, G_OPTION_ARG_NONE, &self->logical, "The node is a part of its machine", NULL },
    { "stay", 0, 0, G_OPTION_ARG_NONE, &self->stays, "Live on when standard input ends", NULL },
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &self->settings, "A setting of dvm.conf", "NAME=VALUE" },
    { "bootstrap", 0, 0, G_OPTION_ARG_NONE, &self->bootstraps, "Find the controller by dvm.conf, and wait for it",
      NULL },
    { "check", 0, 0, G_OPTION_ARG_NONE, &self->checks,
      "Look whether this machine has what an agent needs, and print what was found (see dvm-cli doctor)", NULL },
    { "fix", 0, 0, G_OPTION_ARG_NONE, &self->fixes, "With --check: mend what is safe to mend", NULL },
    { "guarded", 0, 0, G_OPTION_ARG_NONE, &self->guarded, "dvm-guard has started it", NULL },
    { "version", 0, 0, G_OPTION_ARG_NONE, &self->version, "Print the version", NULL },
    G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("- the daemon of a node of a DVM, started by dvmd");

  g_option_context_add_main_entries (context, entries, NULL);
  return g_option_context_parse (context, argc, argv, error)
         && (self->version || (check_options (self, *argc, *argv, error) && read_settings (self, error)));
}

static gboolean
join (Program *self, GError **error)
{
  g_auto (GStrv) controller = g_strsplit (self->controller, ",", -1);
  char *token = read_line (STDIN_FILENO, error);
  char *blank = token != NULL ? strchr (token, ' ') : NULL;
  const DvmdAgentProgramSettings settings = {
    .controller = (const char *const *)controller,
    .instance = blank != NULL ? blank + 1 : NULL,
    .token = token,
    .node = self->node != NULL ? self->node : g_get_host_name (),
    .runtime_dir = self->runtime_dir,
    .topology = self->topology,
    .logical = self->logical,
    .config = self->config,
  };

  if (token == NULL)
    return FALSE;
  *blank = '\0';
  self->program = dvmd_agent_program_new (&settings, on_ended, self, error);
  wipe (token);
  return self->program != NULL;
}

/* ---- an agent that nobody has started ---- */

/* From here on it is as one that was started with these arguments; its own settings were for finding the way. */
static gboolean
take_arguments (Program *self, char **arguments, GError **error)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) whole = NULL;
  g_autofree char **argv = NULL;
  int argc;

  g_strv_builder_add (builder, "dvm-agent");
  g_strv_builder_addv (builder, (const char **)arguments);
  whole = g_strv_builder_end (builder);
  argc = (int)g_strv_length (whole);
  argv = g_memdup2 (whole, ((gsize)argc + 1) * sizeof (char *));
  clear_options (self);
  return parse_arguments (self, &argc, &argv, error);
}

static void
on_let_in (char **arguments, gpointer user_data)
{
  Program *self = user_data;
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) controller = NULL;
  DvmdAgentProgramSettings settings = { 0 };

  if (take_arguments (self, arguments, &error))
    {
      controller = g_strsplit (self->controller, ",", -1);
      settings.controller = (const char *const *)controller;
      settings.bootstrap = self->bootstrap;
      settings.node = self->node;
      settings.config = self->config;
      self->program = dvmd_agent_program_new (&settings, on_ended, self, &error);
    }
  if (self->program != NULL)
    {
      dvmd_agent_program_start (self->program, self->bootstrap);
      return;
    }
  fprintf (stderr, "dvm-agent: the controller lets this agent in, and it cannot begin: %s\n", error->message);
  on_ended (EXIT_FAILURE, self);
}

static gboolean
prepare_bootstrap (Program *self, GError **error)
{
  self->bootstrap = dvmd_agent_bootstrap_new (self->config, self->node != NULL ? self->node : g_get_host_name (),
                                              on_let_in, self, error);
  /* As wrong settings do on other ways: a service manager need not try again. */
  if (self->bootstrap == NULL)
    self->status = 2;
  return self->bootstrap != NULL;
}

/* Becomes dvm-guard with this program below it. Returns only when that cannot be. */
static void
become_guarded (char **argv, GError **error)
{
  g_autofree char *guard = dvmd_programs_find ("dvm-guard", error);
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autoptr (GPtrArray) command = g_ptr_array_new ();

  if (guard == NULL)
    return;
  g_ptr_array_add (command, guard);
  g_ptr_array_add (command, self != NULL ? self : argv[0]);
  g_ptr_array_add (command, (char *)"--guarded");
  for (gsize i = 1; argv[i] != NULL; i++)
    g_ptr_array_add (command, argv[i]);
  g_ptr_array_add (command, NULL);
  execv (guard, (char **)command->pdata);
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "Cannot start %s: %s", guard, g_strerror (errno));
}

static void
run_agent (Program *self)
{
  if (self->bootstrap == NULL)
    {
      g_unix_set_fd_nonblocking (STDIN_FILENO, TRUE, NULL);
      g_unix_fd_add (STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, on_input, self);
    }
  g_unix_signal_add (SIGTERM, on_signal, self);
  g_unix_signal_add (SIGINT, on_signal, self);
  g_unix_signal_add (SIGHUP, on_signal, self);
  if (self->bootstrap != NULL)
    dvmd_agent_bootstrap_start (self->bootstrap);
  else
    dvmd_agent_program_start (self->program, NULL);
  g_main_loop_run (self->loop);
}

static void
clear (Program *self)
{
  g_clear_pointer (&self->program, dvmd_agent_program_free);
  g_clear_pointer (&self->bootstrap, dvmd_agent_bootstrap_free);
  g_clear_pointer (&self->loop, g_main_loop_unref);
  clear_options (self);
}

static int
print_checks (Program *self)
{
  /* A rank has the name of its node from the agent. */
  const char *node = self->node != NULL ? self->node : g_getenv ("DVM_NODE");
  g_autofree char *text = dvmd_agent_checks_run (node != NULL ? node : g_get_host_name (), self->fixes, self->config);

  return fputs (text, stdout) >= 0 && fflush (stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main (int argc, char **argv)
{
  Program self = { .status = EXIT_FAILURE };
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) given = g_strdupv (argv);

  /* The output of one job that is on its way; there may be many agents on one machine. */
  dvmd_agent_prepare_process (HEAP_RETAINED);
  signal (SIGPIPE, SIG_IGN);
  signal (SIGXFSZ, SIG_IGN);
  dvmd_log_install ("dvm-agent");
  if (!parse_arguments (&self, &argc, &argv, &error))
    self.status = 2;
  else if (self.version)
    {
      printf ("dvm-agent %s\n", DVM_VERSION_STRING);
      self.status = EXIT_SUCCESS;
    }
  else if (self.checks)
    self.status = print_checks (&self);
  else if (!self.guarded)
    become_guarded (given, &error);
  else
    {
      self.loop = g_main_loop_new (NULL, FALSE);
      if (self.bootstraps ? prepare_bootstrap (&self, &error) : join (&self, &error))
        run_agent (&self);
      /* The end of its uplink is its departure: there is nothing of it any more then. */
      if (self.program != NULL && dvmd_agent_program_has_departed (self.program))
        _exit (self.status);
    }
  if (error != NULL)
    fprintf (stderr, "dvm-agent: %s\n", error->message);
  clear (&self);
  return self.status;
}
