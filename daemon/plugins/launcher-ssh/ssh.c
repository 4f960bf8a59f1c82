/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents by ssh, or by a command that is called like it: COMMAND [-p PORT] [USER@]HOST LINE. Its settings, besides
 * those of all command launchers: "command" (as for a shell, "ssh" if there is none), and of the other side "prefix"
 * (where dvm is installed), "agent" (as for a shell, what is called instead of the agent) and "library-path" (its
 * LD_LIBRARY_PATH).
 */

#include "config.h"

#include "command-launcher.h"
#include "launch-words.h"
#include "ssh-words.h"

#include <string.h>

/* The exit code of ssh when it has not reached the host, or has lost the connection. */
#define SSH_FAILED 255

#define DVMD_TYPE_SSH_LAUNCHER (dvmd_ssh_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdSshLauncher, dvmd_ssh_launcher, DVMD, SSH_LAUNCHER, DvmdCommandLauncher)

struct _DvmdSshLauncher
{
  DvmdCommandLauncher parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdSshLauncher, dvmd_ssh_launcher, DVMD_TYPE_COMMAND_LAUNCHER)

static const char *
get_setting (DvmdCommandLauncher *self, const char *key)
{
  return dvmd_plugin_host_get_setting (dvmd_plugin_get_host (self), key);
}

/* Only ssh itself is known to understand its options: no question is asked, and no terminal made. */
static void
add_options (DvmdCommandLauncher *self, GStrvBuilder *builder, const char *program)
{
  g_autofree char *base = g_path_get_basename (program);
  g_autofree char *timeout = NULL;

  if (strcmp (base, "ssh") != 0)
    return;
  timeout = g_strdup_printf ("ConnectTimeout=%u", dvmd_command_launcher_get_number (self, "timeout", 30));
  g_strv_builder_add_many (builder, "-T", "-o", "BatchMode=yes", "-o", timeout, NULL);
}

/* COMMAND and all before the line for the remote shell. */
static GStrvBuilder *
begin_argv (DvmdCommandLauncher *self, const SshAddress *address, GError **error)
{
  const char *command = get_setting (self, "command");
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) words = NULL;
  g_autoptr (GError) local = NULL;

  if (!g_shell_parse_argv (command != NULL ? command : "ssh", NULL, &words, &local))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The launcher's command \"%s\" is none: %s", command,
                   local->message);
      return NULL;
    }
  g_strv_builder_addv (builder, (const char **)words);
  add_options (self, builder, words[0]);
  if (address->port != NULL)
    g_strv_builder_add_many (builder, "-p", address->port, NULL);
  g_strv_builder_add (builder, address->target);
  return g_steal_pointer (&builder);
}

/* The agent as it is called there. */
static char **
make_there (DvmdCommandLauncher *self, const char *const *agent_argv, GError **error)
{
  const char *agent = get_setting (self, "agent");
  const char *library_path = get_setting (self, "library-path");
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autofree char *program = dvmd_launch_find_agent (get_setting (self, "prefix"), agent_argv[0]);
  g_autofree char *variable = NULL;
  g_auto (GStrv) words = NULL;
  g_autoptr (GError) local = NULL;

  if (agent != NULL && !g_shell_parse_argv (agent, NULL, &words, &local))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The launcher's agent \"%s\" is none: %s", agent,
                   local->message);
      return NULL;
    }
  if (library_path != NULL && library_path[0] != '\0')
    {
      variable = g_strconcat ("LD_LIBRARY_PATH=", library_path, NULL);
      g_strv_builder_add_many (builder, "env", variable, NULL);
    }
  if (words != NULL)
    g_strv_builder_addv (builder, (const char **)words);
  else
    g_strv_builder_add (builder, program);
  g_strv_builder_addv (builder, (const char **)agent_argv + 1);
  return g_strv_builder_end (builder);
}

static char **
dvmd_ssh_launcher_make_argv (DvmdCommandLauncher *self, const char *name, const char *const *agent_argv,
                             const char *input_file, GError **error)
{
  g_auto (SshAddress) address = { 0 };
  g_autoptr (GStrvBuilder) builder = NULL;
  g_auto (GStrv) there = NULL;
  g_autofree char *line = NULL;

  if (!ssh_address_parse (name, &address, error))
    return NULL;
  builder = begin_argv (self, &address, error);
  there = builder != NULL ? make_there (self, agent_argv, error) : NULL;
  if (there == NULL)
    return NULL;
  line = ssh_remote_line (DVMD_COMMAND_ARRIVED, (const char *const *)there, address.host);
  g_strv_builder_add (builder, line);
  return g_strv_builder_end (builder);
}

/* For an agent that does not end with its input. */
static char **
dvmd_ssh_launcher_make_kill_argv (DvmdCommandLauncher *self, const char *name, int pid)
{
  g_auto (SshAddress) address = { 0 };
  g_autoptr (GStrvBuilder) builder = NULL;
  g_autofree char *script = dvmd_launch_make_kill_script (pid);
  g_autofree char *line = g_strdup_printf ("exec sh -c '%s'", script);

  if (!ssh_address_parse (name, &address, NULL))
    return NULL;
  builder = begin_argv (self, &address, NULL);
  if (builder == NULL)
    return NULL;
  g_strv_builder_add (builder, line);
  return g_strv_builder_end (builder);
}

static GError *
dvmd_ssh_launcher_explain (DvmdCommandLauncher *self, const char *name, gboolean arrived,
                           const DvmdPluginOutcome *outcome)
{
  g_autofree char *words = dvmd_command_last_words (outcome);
  gsize length;
  const char *bytes = g_bytes_get_data (outcome->messages, &length);
  g_autofree char *messages = g_strndup (bytes != NULL ? bytes : "", length);
  /* The line with the reason is not always the last one. */
  const char *reason = dvmd_launch_find_reason (messages);

  if (!arrived && outcome->exit_signal != 0)
    return g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: the launcher's command was ended by signal %d (%s)",
                        name, outcome->exit_signal, g_strsignal (outcome->exit_signal));
  /* A connection that was accepted is not refused any more: it is lost. */
  if (outcome->exit_code == SSH_FAILED && arrived)
    return g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: %s: the connection to its agent has ended: %s", name,
                        g_strcmp0 (reason, "unreachable") == 0 ? reason : "lost", words);
  if (outcome->exit_code == SSH_FAILED)
    return g_error_new (DVM_ERROR, dvmd_launch_find_code (reason), "%s: %s: %s", name,
                        reason != NULL ? reason : "not reached",
                        words[0] != '\0' ? words : "the launcher's command has exited with status 255");
  return dvmd_command_explain_exit (name, outcome);
}

static void
dvmd_ssh_launcher_class_init (DvmdSshLauncherClass *klass)
{
  DvmdCommandLauncherClass *command_class = DVMD_COMMAND_LAUNCHER_CLASS (klass);

  command_class->waits = TRUE;
  command_class->is_tree = TRUE;
  command_class->lost_status = SSH_FAILED;
  command_class->make_argv = dvmd_ssh_launcher_make_argv;
  command_class->make_kill_argv = dvmd_ssh_launcher_make_kill_argv;
  command_class->explain = dvmd_ssh_launcher_explain;
}

static void
dvmd_ssh_launcher_init (DvmdSshLauncher *self)
{
}

static const DvmdPluginSetting settings[] = {
  { .key = "command" },
  { .key = "prefix" },
  { .key = "agent" },
  { .key = "library-path" },
  { .key = "tree-radix", .least = 0, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = "tree-depth", .least = 0, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = "concurrency", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = "timeout", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = "grace", .least = 1, .most = DVMD_COMMAND_LAUNCHER_MOST },
  { .key = NULL },
};

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "ssh",
  .description = "starts each agent by ssh, or a command like it",
  .get_type = dvmd_ssh_launcher_get_type,
  .settings = settings,
};
