/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options and settings that say which nodes the DVM is to have are joined here.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd"

#include "dvmd-node-options.h"

#include <dvm.h>

void
dvmd_node_options_add (DvmdNodeOptions *self, GOptionContext *context)
{
  const GOptionEntry entries[] = {
    { "nodes", 0, 0, G_OPTION_ARG_INT, &self->nodes, "So many logical nodes on this machine", "K" },
    { "slots", 0, 0, G_OPTION_ARG_STRING, &self->slots,
      "Slots of each node: a number, or one for each of its hwthreads (default), cores, numas or packages", "N" },
    { "hostfile", 0, 0, G_OPTION_ARG_FILENAME, &self->hostfile, "The nodes that a file names", "PATH" },
    { "host", 0, 0, G_OPTION_ARG_STRING, &self->hosts, "These nodes, as in node3:4,node5", "LIST" },
    { "launcher", 0, 0, G_OPTION_ARG_STRING, &self->launcher, "What starts the agents of the nodes", "NAME" },
    { "allow-missing", 0, 0, G_OPTION_ARG_NONE, &self->allow_missing, "Come up without nodes that do not come", NULL },
    { "elastic", 0, 0, G_OPTION_ARG_NONE, &self->elastic, "Nodes may come and go while jobs run", NULL },
    G_OPTION_ENTRY_NULL,
  };

  g_option_context_add_main_entries (context, entries, NULL);
}

void
dvmd_node_options_clear (DvmdNodeOptions *self)
{
  g_free (self->hostfile);
  g_free (self->hosts);
  g_free (self->launcher);
  g_free (self->slots);
}

static gboolean
set (DvmdConfig *config, const char *name, const char *value, GError **error)
{
  return value == NULL || dvmd_config_set (config, name, value, DVMD_CONFIG_ORIGIN_COMMAND_LINE, error);
}

static gboolean
set_number (DvmdConfig *config, const char *name, int number, GError **error)
{
  g_autofree char *text = g_strdup_printf ("%d", number);

  if (number < 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "--%s %d: the number of %s must be 1 or more", name, number,
                   name);
      return FALSE;
    }
  return number == 0 || set (config, name, text, error);
}

/* A number of slots, or what each node has one for. */
static gboolean
set_slots (DvmdConfig *config, const char *text, GError **error)
{
  gboolean is_word = text != NULL && g_ascii_isalpha (text[0]);

  if (set (config, "slots", is_word ? "0" : text, error) && (!is_word || set (config, "default-slots", text, error)))
    return TRUE;
  g_prefix_error (error, "--slots %s: ", text);
  return FALSE;
}

/* Others than those of the command line are no longer asked for. */
static gboolean
drop_setting (DvmdConfig *config, const char *name, GError **error)
{
  return dvmd_config_get_origin (config, name) == DVMD_CONFIG_ORIGIN_COMMAND_LINE
         || set (config, name, dvmd_config_find_setting (name)->built_in, error);
}

static gboolean
is_given (DvmdConfig *config, const char *name)
{
  return dvmd_config_get_origin (config, name) == DVMD_CONFIG_ORIGIN_COMMAND_LINE;
}

gboolean
dvmd_node_options_apply (DvmdNodeOptions *self, DvmdConfig *config, GError **error)
{
  gboolean logical;
  gboolean named;

  if (!set_number (config, "nodes", self->nodes, error) || !set_slots (config, self->slots, error)
      || !set (config, "hostfile", self->hostfile, error) || !set (config, "hosts", self->hosts, error)
      || !set (config, "launcher", self->launcher, error)
      || !set (config, "allow-missing", self->allow_missing ? "true" : NULL, error)
      || !set (config, "elastic", self->elastic ? "true" : NULL, error))
    return FALSE;
  logical = is_given (config, "nodes");
  named = is_given (config, "hostfile") || is_given (config, "hosts");
  if (logical && !(drop_setting (config, "hostfile", error) && drop_setting (config, "hosts", error)))
    return FALSE;
  return !named || drop_setting (config, "nodes", error);
}

/* NULL: not set */
static const char *
get_text (DvmdConfig *config, const char *name)
{
  const char *text = dvmd_config_get_string (config, name);

  return text[0] != '\0' ? text : NULL;
}

const char *
dvmd_node_options_get_given (DvmdConfig *config, const char *name)
{
  return is_given (config, name) ? get_text (config, name) : NULL;
}

static gboolean
check_options (DvmdConfig *config, GError **error)
{
  const char *hostfile = get_text (config, "hostfile");
  const char *named = hostfile != NULL ? "hostfile" : "hosts";

  /* Where a daemon stands depends on who has started it. */
  if (hostfile != NULL && !g_path_is_absolute (hostfile) && !is_given (config, "hostfile"))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: hostfile: “%s” is not an absolute path",
                   dvmd_config_get_place (config, "hostfile"), hostfile);
      return FALSE;
    }
  if (dvmd_config_get_uint (config, "nodes") > 0 && get_text (config, named) != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "A DVM has logical nodes or named ones: nodes is set (%s), and %s too (%s)",
                   dvmd_config_get_place (config, "nodes"), named, dvmd_config_get_place (config, named));
      return FALSE;
    }
  return TRUE;
}

DvmdDefaults
dvmd_node_options_get_defaults (DvmdConfig *config)
{
  return (DvmdDefaults){
    .map_by = get_text (config, "map-by"),
    .rank_by = get_text (config, "rank-by"),
    .bind_to = get_text (config, "bind-to"),
    .output = get_text (config, "output"),
    .display = get_text (config, "display"),
  };
}

DvmdQueueSettings
dvmd_node_options_get_queue (DvmdConfig *config)
{
  return (DvmdQueueSettings){ .backfill = dvmd_config_get_bool (config, "queue"),
                              .max_running = dvmd_config_get_uint (config, "queue-max-running") };
}

gboolean
dvmd_node_options_fill (DvmdConfig *config, gboolean alone, DvmdControllerSettings *settings, GError **error)
{
  settings->shape.slots = dvmd_config_get_uint (config, "slots");
  settings->shape.default_slots = dvmd_config_get_string (config, "default-slots");
  settings->shape.allocator = get_text (config, "allocator");
  settings->radix = dvmd_config_get_uint (config, "radix");
  settings->shape.start_timeout = dvmd_config_get_usec (config, "start-timeout");
  if (alone)
    return TRUE;
  settings->shape.n_logical = dvmd_config_get_uint (config, "nodes");
  settings->shape.max_nodes = dvmd_config_get_uint (config, "max-nodes");
  settings->shape.hostfile = get_text (config, "hostfile");
  settings->shape.hosts = get_text (config, "hosts");
  settings->shape.launcher = get_text (config, "launcher");
  settings->shape.allow_missing = dvmd_config_get_bool (config, "allow-missing");
  settings->queue = dvmd_node_options_get_queue (config);
  settings->size.elastic = dvmd_config_get_bool (config, "elastic");
  settings->size.park_limit = dvmd_config_get_usec (config, "park-limit");
  settings->size.heal = dvmd_config_get_bool (config, "heal");
  settings->size.heal_limit = dvmd_config_get_uint (config, "heal-limit");
  settings->size.heal_pause = dvmd_config_get_usec (config, "heal-pause");
  /* An agent that cannot be reached leaves its controller, then ends its processes, or the guard does. */
  settings->size.move_pause = dvmd_config_get_usec (config, "heartbeat-timeout")
                              + dvmd_config_get_usec (config, "controller-grace")
                              + dvmd_config_get_usec (config, "kill-grace");
  settings->size.grow_timeout = dvmd_config_get_usec (config, "grow-timeout");
  settings->size.shrink_grace = dvmd_config_get_usec (config, "shrink-grace");
  settings->size.allocator_timeout = dvmd_config_get_usec (config, "allocator-timeout");
  return check_options (config, error);
}

static void
add_setting (GString *text, const char *name, const char *value)
{
  g_autofree char *quoted = g_shell_quote (value);

  g_string_append_printf (text, "%s=%s ", name, quoted);
}

char *
dvmd_node_options_plugin_settings (DvmdConfig *config)
{
  static const char *const launchers[] = {
    "local", "slurm", "flux", "gridengine", "lsf", "pbs", "ssh", "pdsh", "pals"
  };
  GString *text = g_string_new (NULL);
  guint64 limit = (dvmd_config_get_usec (config, "launcher-timeout") + G_USEC_PER_SEC - 1) / G_USEC_PER_SEC;
  guint64 half = dvmd_config_get_usec (config, "start-timeout") / 2 / G_USEC_PER_SEC;

  for (gsize i = 0; i < G_N_ELEMENTS (launchers); i++)
    {
      g_autofree char *timeout = g_strdup_printf ("launcher-%s.timeout", launchers[i]);
      /* All agents of a srun wait for its last one, and time has to be left for another srun without that. */
      gboolean waits = strcmp (launchers[i], "slurm") == 0;
      g_autofree char *seconds = g_strdup_printf ("%" G_GUINT64_FORMAT, waits ? MIN (limit, MAX (half, 1)) : limit);
      g_autofree char *prefix = g_strdup_printf ("launcher-%s.prefix", launchers[i]);

      add_setting (text, timeout, seconds);
      add_setting (text, prefix, dvmd_config_get_string (config, "launcher-prefix"));
    }
  add_setting (text, "launcher-ssh.command", dvmd_config_get_string (config, "launcher-command"));
  add_setting (text, "launcher-ssh.concurrency", dvmd_config_get_string (config, "ssh-concurrency"));
  /* plugin-settings come last, so that they override the settings above. */
  g_string_append (text, dvmd_config_get_string (config, "plugin-settings"));
  return g_string_free (text, FALSE);
}
