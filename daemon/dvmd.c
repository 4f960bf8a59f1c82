/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The daemon: one DVM with its controller, its agent on this machine, its socket and its bus.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <glib-unix.h>

#include "dvmd-agent.h"
#include "dvmd-archive.h"
#include "dvmd-bus-server.h"
#include "dvmd-config.h"
#include "dvmd-controller.h"
#include "dvmd-embed.h"
#include "dvmd-idle.h"
#include "dvmd-log.h"
#include "dvmd-node-options.h"
#include "dvmd-operator.h"
#include "dvmd-pmix-abilities.h"
#include "dvmd-programs.h"
#include "dvmd-runtime-dir.h"

/* How long one that is activated waits for the one before it to go, and how often it looks; in µs. */
#define PREDECESSOR_LIMIT (10 * G_USEC_PER_SEC)
#define PREDECESSOR_PAUSE (10 * 1000)
#define HEAP_RETAINED     (1024 * 1024)
/* The names of DVMs that are for one job begin so. */
#define PRIVATE_PREFIX "run-"

typedef struct
{
  /* the command line */
  char *name;
  char *socket_path;
  char *bus_word;
  DvmdNodeOptions nodes;
  int ready_fd;
  gboolean progress;
  int peer_fd;
  gboolean one_shot;
  char *trace_file;
  char *archive_file; /* (nullable) */
  char *search;       /* (nullable): of the archive */
  char *log_path;
  gboolean activated;
  char **settings;
  gboolean version;
  gboolean dump_config;
  gboolean dump_words;
  gboolean state_machines;
  gboolean pmix_library;

  GMainLoop *loop;
  DvmdLogFile *log; /* (nullable) */
  DvmdConfig *config;
  DvmdRuntimeDir *dir;
  DvmdController *controller;
  DvmdPlugins *plugins;    /* those of the controller */
  DvmdEmbedding embedding; /* of an agent inside */
  DvmdBusServer *bus;
  DvmdIdle *idle;       /* (nullable): leaves when there is nothing to do */
  gboolean bus_settled; /* on the bus, or known to go without */
  gboolean dvm_ready;
  gboolean has_peer; /* the one program that a private DVM serves */
  gboolean ended;    /* the DVM has; the process serves its peer until that leaves */
  gboolean has_terminal;
  guint notified_reported;
  guint notified_expected;
  gboolean stopping;
  gboolean wrong_usage;
  gboolean signalled;
  int exit_status;
} Daemon;

/* Of one user, who reads what it says on his screen: what an operator wants to know is not for it. */
static gboolean
is_private (Daemon *self)
{
  return self->one_shot || self->peer_fd >= 0;
}

/* ---- what the starter hears ---- */

static void
tell_starter (Daemon *self, const char *text)
{
  gsize length = strlen (text);
  gssize written;

  if (self->ready_fd < 0)
    return;
  do
    written = write (self->ready_fd, text, length);
  while (written < 0 && errno == EINTR);
  close (self->ready_fd);
  self->ready_fd = -1;
}

/*
 * Progress is written only while the pipe has room: a slow reader misses old figures, but gets the last line (READY or
 * ERROR).
 */
static void
on_core_changed (DvmdCore *core, gpointer user_data)
{
  Daemon *self = user_data;
  guint reported = dvmd_core_get_nodes_reported (core);
  guint expected = dvmd_core_get_nodes_expected (core);
  struct pollfd poll_fd = { self->ready_fd, POLLOUT, 0 };
  g_autofree char *line = NULL;

  if (self->ready_fd < 0 || !self->progress || expected == 0
      || (reported == self->notified_reported && expected == self->notified_expected) || poll (&poll_fd, 1, 0) != 1)
    return;
  line = g_strdup_printf ("PROGRESS %u %u\n", reported, expected);
  if (write (self->ready_fd, line, strlen (line)) < 0)
    return;
  self->notified_reported = reported;
  self->notified_expected = expected;
}

static void
fail_start (Daemon *self, const char *message)
{
  g_autofree char *text = g_strdelimit (g_strdup (message), "\n", ' ');
  g_autofree char *line = g_strdup_printf ("ERROR: %s\n", text);

  /* One that starts a private DVM tells the user of wrong settings itself. */
  if (!self->wrong_usage || self->peer_fd < 0 || self->ready_fd < 0)
    g_message ("%s", message);
  tell_starter (self, line);
  self->exit_status = EXIT_FAILURE;
}

/* The nodes without which the DVM has come up, as far as the starter reads. */
static void
tell_missing (Daemon *self)
{
  DvmdNodePool *nodes = dvmd_core_get_nodes (dvmd_controller_get_core (self->controller));
  guint max_rank = dvmd_node_pool_get_max_rank (nodes);
  struct pollfd poll_fd = { self->ready_fd, POLLOUT, 0 };

  for (guint rank = 1; rank <= max_rank && self->progress && self->ready_fd >= 0; rank++)
    {
      DvmdNode *node = dvmd_node_pool_get (nodes, rank);
      g_autofree char *line = NULL;

      if (node == NULL || dvm_node_get_state (node->record) != DVM_NODE_STATE_DOWN || poll (&poll_fd, 1, 0) != 1)
        continue;
      line = g_strdup_printf ("MISSING %s %.1000s", dvm_node_get_name (node->record),
                              dvm_node_get_reason (node->record));
      g_strdelimit (line, "\n", ' ');
      if (dprintf (self->ready_fd, "%s\n", line) < 0)
        return;
    }
}

static void
check_ready (Daemon *self)
{
  if (!self->dvm_ready || !self->bus_settled || self->exit_status != EXIT_SUCCESS)
    return;
  tell_missing (self);
  if (!is_private (self))
    dvmd_operator_tell_ready (self->controller);
  tell_starter (self, "READY\n");
}

/* ---- the end ---- */

static void
on_bus_stopped (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Daemon *self = user_data;

  dvmd_bus_server_stop_finish (self->bus, result);
  g_main_loop_quit (self->loop);
}

static void
stop_bus (Daemon *self)
{
  g_clear_pointer (&self->idle, dvmd_idle_free);
  if (self->stopping)
    return;
  self->stopping = TRUE;
  dvmd_bus_server_stop_async (self->bus, on_bus_stopped, self);
}

static void
on_ended (DvmdController *controller, guint state, const char *reason, gpointer user_data)
{
  Daemon *self = user_data;

  if (dvm_job_state_is_error (state) && state != DVM_JOB_STATE_FORCED_EXIT)
    fail_start (self, reason != NULL ? reason : "The DVM could not be started");
  else if (!is_private (self))
    dvmd_operator_tell_end (controller, reason);
  /* The one whom we serve may only now ask how its job ended: it is the first to leave. */
  self->ended = TRUE;
  if (!self->has_peer || self->signalled)
    stop_bus (self);
}

static gboolean
on_signal (gpointer user_data)
{
  Daemon *self = user_data;

  /*
   * The process that started us may answer the loss of the name with a signal: a job that came just before is not to
   * suffer.
   */
  if (self->idle != NULL && !self->signalled && dvmd_idle_is_leaving (self->idle))
    {
      self->signalled = TRUE;
      dvmd_idle_hurry (self->idle);
      return G_SOURCE_CONTINUE;
    }
  if (self->ended)
    stop_bus (self);
  dvmd_controller_shutdown (self->controller, self->signalled,
                            self->signalled ? "A second signal ends the DVM at once" : "A signal ends the DVM");
  self->signalled = TRUE;
  return G_SOURCE_CONTINUE;
}

static void
on_connection_closed (DvmdBusServer *bus, gboolean is_bus, guint n_left, gpointer user_data)
{
  Daemon *self = user_data;

  if (is_bus || !self->has_peer || n_left > 0)
    return;
  self->has_peer = FALSE;
  if (self->ended)
    stop_bus (self);
  else
    dvmd_controller_shutdown (self->controller, FALSE, "The program that the DVM was started for has gone");
}

/* ---- the settings ---- */

/* Files and environment, and the command line on top. */
static DvmdConfig *
read_config (Daemon *self, GError **error)
{
  g_autoptr (DvmdConfig) config = dvmd_config_new ();

  if (!dvmd_config_load (config, NULL, error))
    return NULL;
  for (gsize i = 0; self->settings != NULL && self->settings[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (self->settings[i], "=", 2);

      if (parts[0] == NULL || parts[1] == NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "--set %s: expected NAME=VALUE", self->settings[i]);
          return NULL;
        }
      if (!dvmd_config_set (config, parts[0], parts[1], DVMD_CONFIG_ORIGIN_COMMAND_LINE, error))
        return NULL;
    }
  if (self->trace_file != NULL
      && !dvmd_config_set (config, "trace-file", self->trace_file, DVMD_CONFIG_ORIGIN_COMMAND_LINE, error))
    return NULL;
  if (!dvmd_node_options_apply (&self->nodes, config, error))
    return NULL;
  return g_steal_pointer (&config);
}

/* *file is NULL when none is wanted. */
static gboolean
open_trace_file (DvmdConfig *config, DvmdTraceFile **file, GError **error)
{
  const char *path = dvmd_config_get_string (config, "trace-file");

  *file = path[0] != '\0' ? dvmd_trace_file_new (path, NULL, error) : NULL;
  return *file != NULL || path[0] == '\0';
}

static void
set_archive (Daemon *self, DvmdArchiveSettings *archive)
{
  const char *set = dvmd_config_get_string (self->config, "archive-file");

  if (strcmp (set, "none") == 0)
    return;
  archive->path = set[0] != '\0' ? set : self->archive_file;
  archive->days = (guint)dvmd_config_get_uint (self->config, "archive-days");
  archive->size = dvmd_config_get_uint (self->config, "archive-size");
}

static gboolean
check_defaults (Daemon *self, DvmdConfig *config, GError **error)
{
  static const char *const names[] = { "map-by", "rank-by", "bind-to", "output" };
  const DvmdDefaults defaults = dvmd_node_options_get_defaults (config);
  g_autoptr (GError) local = NULL;
  g_autoptr (GString) said = g_string_new (NULL);

  if (dvmd_controller_check_defaults (self->plugins, &defaults, &local))
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (dvmd_config_get_origin (config, names[i]) != DVMD_CONFIG_ORIGIN_BUILT_IN)
      g_string_append_printf (said, "%s%s: %s = %s", said->len > 0 ? ", " : "",
                              dvmd_config_get_place (config, names[i]), names[i],
                              dvmd_config_get_string (config, names[i]));
  g_set_error (error, local->domain, local->code, "%s (%s)", local->message, said->str);
  return FALSE;
}

/* A file that is not there, or has a mistake, is no wrong usage. What a private DVM is asked for its jobs and doctor
 * look at themselves.
 */
static gboolean
check_shape (Daemon *self, const DvmdControllerSettings *settings, GError **error)
{
  g_autoptr (GError) local = NULL;

  if (is_private (self) || dvmd_controller_check_shape (settings, self->plugins, &local))
    return TRUE;
  self->wrong_usage = g_error_matches (local, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static void
limit_log (Daemon *self)
{
  if (self->log != NULL)
    dvmd_log_file_set_limits (self->log, dvmd_config_get_uint (self->config, "log-size"),
                              (guint)dvmd_config_get_uint (self->config, "log-files"));
}

static void
tell_reload (Daemon *self, GPtrArray *changed, GPtrArray *waiting)
{
  for (guint i = 0; i < changed->len; i++)
    g_message ("%s is %s now (%s)", (char *)changed->pdata[i], dvmd_config_get_string (self->config, changed->pdata[i]),
               dvmd_config_get_place (self->config, changed->pdata[i]));
  for (guint i = 0; i < waiting->len; i++)
    g_message ("%s stays %s until the DVM is started again, then it is %s", (char *)waiting->pdata[i],
               dvmd_config_get_string (self->config, waiting->pdata[i]),
               dvmd_config_get_waiting (self->config, waiting->pdata[i]));
  if (changed->len == 0 && waiting->len == 0)
    g_message ("The settings have been read again, and are as they were");
}

static gboolean
reload_config (gpointer user_data, GError **error)
{
  Daemon *self = user_data;
  g_autoptr (DvmdConfig) newer = read_config (self, error);
  g_autoptr (GPtrArray) changed = NULL;
  g_autoptr (GPtrArray) waiting = NULL;
  DvmdControllerChanges changes = { 0 };

  if (newer == NULL || !check_defaults (self, newer, error))
    return FALSE;
  /* The file is opened again in any case: whoever has renamed it wants a new one. */
  if (!open_trace_file (newer, &changes.trace_file, error))
    return FALSE;
  changed = dvmd_config_take (self->config, newer, &waiting);
  changes.history_limit = dvmd_config_get_uint (self->config, "history-limit");
  changes.history_bytes = dvmd_config_get_uint (self->config, "history-bytes");
  changes.kill_grace = dvmd_config_get_usec (self->config, "kill-grace");
  changes.keep_output = dvmd_config_get_uint (self->config, "keep-output");
  changes.keep_output_total = dvmd_config_get_uint (self->config, "keep-output-total");
  changes.disabled_plugins = dvmd_config_get_string (self->config, "disabled-plugins");
  changes.defaults = dvmd_node_options_get_defaults (self->config);
  changes.queue = dvmd_node_options_get_queue (self->config);
  dvmd_controller_change (self->controller, &changes);
  limit_log (self);
  if (self->idle != NULL)
    dvmd_idle_set_limit (self->idle, dvmd_config_get_usec (self->config, "idle-exit"));
  tell_reload (self, changed, waiting);
  return TRUE;
}

/* At a terminal it means that the terminal has gone, as for every other program there. */
static gboolean
on_hangup (gpointer user_data)
{
  Daemon *self = user_data;
  g_autoptr (GError) error = NULL;

  if (self->has_terminal)
    return on_signal (self);
  if (!reload_config (self, &error))
    g_message ("The settings stay as they were: %s", error->message);
  return G_SOURCE_CONTINUE;
}

/* Whether there is a controlling terminal. Asked at the start: later it may have gone. */
static gboolean
find_terminal (void)
{
  int fd = open ("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

/* ---- the start ---- */

static void
on_ready (DvmdController *controller, gpointer user_data)
{
  Daemon *self = user_data;

  self->dvm_ready = TRUE;
  check_ready (self);
}

static void
on_bus_added (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Daemon *self = user_data;
  g_autoptr (GError) error = NULL;

  self->bus_settled = TRUE;
  if (dvmd_bus_server_add_bus_finish (self->bus, result, &error))
    {
      check_ready (self);
      return;
    }
  if (self->bus_word == NULL && !self->activated && !g_error_matches (error, DVM_ERROR, DVM_ERROR_EXISTS))
    {
      g_message ("No session bus (%s): the DVM goes on with its socket alone", error->message);
      check_ready (self);
      return;
    }
  fail_start (self, error->message);
  dvmd_controller_shutdown (self->controller, TRUE, error->message);
}

static gboolean
parse_bus (Daemon *self, GBusType *type, gboolean *none, GError **error)
{
  const char *word = self->bus_word != NULL ? self->bus_word : "session";

  *none = g_str_equal (word, "none");
  *type = g_str_equal (word, "system") ? G_BUS_TYPE_SYSTEM : G_BUS_TYPE_SESSION;
  if (*none || g_str_equal (word, "session") || g_str_equal (word, "system"))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "--bus=%s: the buses are session, system and none", word);
  return FALSE;
}

/* (nullable): where others than the peer of a private DVM find it */
static const char *
get_socket_path (const Daemon *self)
{
  if (self->peer_fd >= 0)
    return self->name != NULL ? dvmd_runtime_dir_get_socket_path (self->dir) : NULL;
  return self->socket_path != NULL ? self->socket_path : dvmd_runtime_dir_get_socket_path (self->dir);
}

static gboolean
serve (Daemon *self, GError **error)
{
  GBusType type;
  gboolean none;

  if (!parse_bus (self, &type, &none, error))
    return FALSE;
  if (self->peer_fd >= 0)
    {
      self->bus_settled = TRUE;
      self->has_peer = TRUE;
      /* It has been given a name so that others find it, which its peer tells them. */
      if (get_socket_path (self) != NULL && !dvmd_bus_server_listen (self->bus, get_socket_path (self), error))
        return FALSE;
      return dvmd_bus_server_add_fd (self->bus, self->peer_fd, error);
    }
  if (!dvmd_bus_server_listen (self->bus, get_socket_path (self), error))
    return FALSE;
  if (none)
    self->bus_settled = TRUE;
  else
    dvmd_bus_server_add_bus_async (self->bus, type, NULL, on_bus_added, self);
  return TRUE;
}

/* A daemon that was activated just as its predecessor left waits until that has released the directory. */
static DvmdRuntimeDir *
acquire_dir (Daemon *self, const char *name, GError **error)
{
  gint64 limit = g_get_monotonic_time () + (self->activated ? PREDECESSOR_LIMIT : 0);

  while (TRUE)
    {
      g_autoptr (GError) own_error = NULL;
      DvmdRuntimeDir *dir = dvmd_runtime_dir_acquire (name, NULL, &own_error);

      if (dir != NULL)
        return dir;
      if (!g_error_matches (own_error, DVM_ERROR, DVM_ERROR_EXISTS) || g_get_monotonic_time () >= limit)
        {
          g_propagate_error (error, g_steal_pointer (&own_error));
          return NULL;
        }
      g_usleep (PREDECESSOR_PAUSE);
    }
}

static gboolean
make_runtime_dir (Daemon *self, GError **error)
{
  g_autofree char *name = NULL;

  if (self->name != NULL && !dvmd_runtime_dir_check_name (self->name, error))
    return FALSE;
  /* One-shot DVMs have nothing to do with each other: each has a place of its own. */
  if (self->one_shot && self->name == NULL)
    name = g_strdup_printf (PRIVATE_PREFIX "%d", getpid ());
  self->dir = acquire_dir (self, name != NULL ? name : self->name, error);
  /* No other one takes over what such a DVM has left that was killed. */
  if (self->dir != NULL)
    dvmd_runtime_dir_sweep (self->dir, PRIVATE_PREFIX);
  return self->dir != NULL;
}

static DvmdPlugins *
load_plugins (Daemon *self, GError **error)
{
  const char *path = dvmd_config_get_string (self->config, "plugin-path");
  g_autofree char *plugin_settings = dvmd_node_options_plugin_settings (self->config);
  g_autofree char *usual = dvmd_programs_find_folder (DVM_PLUGIN_DIR);
  const DvmdPluginsSettings settings = {
    .path = path[0] != '\0' ? path : usual,
    .disabled = dvmd_config_get_string (self->config, "disabled-plugins"),
    .settings = plugin_settings,
  };
  g_autoptr (DvmdPlugins) plugins = dvmd_plugins_new (&settings, error);

  if (plugins == NULL
      || !dvmd_plugins_check_settings (plugins, dvmd_config_get_string (self->config, "plugin-settings"), error))
    return NULL;
  return g_steal_pointer (&plugins);
}

/*
 * As programs of their own. A private DVM on this machine alone has its agent inside; one for other machines, with
 * logical nodes, a launcher, or in the job of a scheduler, is as any other.
 */
static gboolean
has_agents (Daemon *self, DvmdPlugins *plugins)
{
  const char *hosts = dvmd_node_options_get_given (self->config, "hosts");
  const char *hostfile = dvmd_node_options_get_given (self->config, "hostfile");
  gboolean is_logical = dvmd_config_get_origin (self->config, "nodes") == DVMD_CONFIG_ORIGIN_COMMAND_LINE
                        && dvmd_config_get_uint (self->config, "nodes") > 0;

  if (!is_private (self) || is_logical || dvmd_node_options_get_given (self->config, "launcher") != NULL)
    return TRUE;
  if (hosts == NULL && hostfile == NULL)
    return dvmd_plugins_find_job (plugins);
  return dvmd_controller_goes_elsewhere (hosts, hostfile);
}

/* A missing program is better reported now than in the middle of the start. */
static gboolean
find_programs (GError **error)
{
  g_autofree char *agent = NULL;
  g_autofree char *guard = NULL;

  agent = dvmd_programs_find ("dvm-agent", error);
  if (agent != NULL)
    guard = dvmd_programs_find ("dvm-guard", error);
  return guard != NULL;
}

/* They are heard when the loop runs: from the first file that is made on, all is taken back in good order. A thread is
 * started for them: the environment may not change any more. */
static void
watch_signals (Daemon *self)
{
  g_unix_signal_add (SIGTERM, on_signal, self);
  g_unix_signal_add (SIGINT, on_signal, self);
  g_unix_signal_add (SIGHUP, on_hangup, self);
}

static gboolean
start_daemon (Daemon *self, GError **error)
{
  DvmdControllerSettings settings = { 0 };
  g_autoptr (DvmdPlugins) plugins = load_plugins (self, error);
  gboolean agents = plugins != NULL && has_agents (self, plugins);
  const char *gds = dvmd_config_get_string (self->config, "pmix-gds");
  const char *security = dvmd_config_get_string (self->config, "pmix-security");

  /* Its settings are wrong. */
  self->wrong_usage = plugins == NULL;
  if (plugins == NULL)
    return FALSE;
  /* Where there are agents, they are the ones with PMIx servers. */
  if (!dvmd_agent_prepare_environment (gds, agents ? NULL : security, error))
    return FALSE;
  if (!dvmd_node_options_fill (self->config, !agents, &settings, error) || (agents && !find_programs (error)))
    return FALSE;
  watch_signals (self);
  if (!make_runtime_dir (self, error))
    return FALSE;
  settings.defaults = dvmd_node_options_get_defaults (self->config);
  set_archive (self, &settings.archive);
  settings.log_file = self->log;
  self->plugins = plugins;
  /* A mistake of the one who starts it, as any other wrong setting. */
  self->wrong_usage = !check_defaults (self, self->config, error);
  if (self->wrong_usage || !check_shape (self, &settings, error)
      || !open_trace_file (self->config, &settings.trace_file, error))
    return FALSE;
  settings.plugins = g_steal_pointer (&plugins);
  settings.runtime_dir = dvmd_runtime_dir_get_path (self->dir);
  settings.socket = get_socket_path (self);
  settings.one_shot = self->one_shot;
  settings.history_limit = dvmd_config_get_uint (self->config, "history-limit");
  settings.history_bytes = dvmd_config_get_uint (self->config, "history-bytes");
  settings.kill_grace = dvmd_config_get_usec (self->config, "kill-grace");
  settings.output.of_one = dvmd_config_get_uint (self->config, "keep-output");
  settings.output.of_all = dvmd_config_get_uint (self->config, "keep-output-total");
  settings.output.credit = dvmd_config_get_uint (self->config, "output-credit");
  self->embedding.pmix_gds = gds;
  self->embedding.pmix_eager = g_str_equal (dvmd_config_get_string (self->config, "pmix"), "eager");
  /* It is there for one job: its user says so if tools are to find it. */
  if (dvmd_config_get_origin (self->config, "pmix-tools") != DVMD_CONFIG_ORIGIN_BUILT_IN)
    {
      self->embedding.pmix_tools = !g_str_equal (dvmd_config_get_string (self->config, "pmix-tools"), "none");
      self->embedding.pmix_system = g_str_equal (dvmd_config_get_string (self->config, "pmix-tools"), "system");
    }
  self->embedding.adopt_orphans = TRUE;
  settings.embed = dvmd_embed_agent;
  settings.embed_data = &self->embedding;
  settings.pmix_events = dvmd_config_get_bool (self->config, "pmix-dvm-events");
  settings.adopt_orphans = TRUE;
  if (agents)
    settings.config = self->config;
  self->controller = dvmd_controller_new (&settings, NULL);
  g_signal_connect (self->controller, "ready", G_CALLBACK (on_ready), self);
  g_signal_connect (self->controller, "ended", G_CALLBACK (on_ended), self);
  g_signal_connect (dvmd_controller_get_core (self->controller), "changed", G_CALLBACK (on_core_changed), self);
  if (!is_private (self))
    dvmd_operator_listen (self->controller);
  self->bus = dvmd_bus_server_new (self->controller, self->name);
  dvmd_bus_server_set_settings (self->bus, self->config, reload_config, self);
  g_signal_connect (self->bus, "connection-closed", G_CALLBACK (on_connection_closed), self);
  if (!serve (self, error))
    return FALSE;
  if (self->activated)
    self->idle = dvmd_idle_new (self->controller, self->bus, dvmd_config_get_usec (self->config, "idle-exit"));
  dvmd_controller_start (self->controller);
  return TRUE;
}

/* ---- the command line ---- */

static gboolean
check_activated (Daemon *self, GError **error)
{
  const char *wrong = NULL;

  if (self->name != NULL)
    wrong = "--name: a message bus starts the DVM without a name alone";
  else if (self->one_shot || self->peer_fd >= 0)
    wrong = "--one-shot or --fd: it serves whoever calls on the bus";
  else if (g_strcmp0 (self->bus_word, "none") == 0)
    wrong = "--bus=none: the bus has started it";
  if (!self->activated || wrong == NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "--activated does not go with %s", wrong);
  return FALSE;
}

static void
open_log (Daemon *self, DvmdLog *log)
{
  if (self->log_path == NULL)
    return;
  self->log = dvmd_log_file_new (self->log_path);
  dvmd_log_set_file (log, self->log);
}

static gboolean
read_settings (Daemon *self, DvmdLog *log, GError **error)
{
  open_log (self, log);
  self->config = read_config (self, error);
  if (self->config == NULL)
    return FALSE;
  limit_log (self);
  dvmd_config_log (self->config);
  return check_activated (self, error);
}

static gboolean
parse_arguments (Daemon *self, int *argc, char ***argv, GError **error)
{
  const GOptionEntry entries[] = {
    { "name", 0, 0, G_OPTION_ARG_STRING, &self->name, "Name of the DVM", "NAME" },
    { "socket", 0, 0, G_OPTION_ARG_FILENAME, &self->socket_path, "Path of the private socket", "PATH" },
    { "bus", 0, 0, G_OPTION_ARG_STRING, &self->bus_word, "Message bus: session, system or none", "BUS" },
    { "trace-file", 0, 0, G_OPTION_ARG_FILENAME, &self->trace_file, "File for every change of state", "PATH" },
    { "archive-file", 0, 0, G_OPTION_ARG_FILENAME, &self->archive_file,
      "Where ended jobs are kept, if the setting does not say it", "PATH" },
    { "search-archive", 0, 0, G_OPTION_ARG_STRING, &self->search, "Print what is in that archive, and end", "FILTER" },
    { "log-file", 0, 0, G_OPTION_ARG_FILENAME, &self->log_path, "The file that standard error is", "PATH" },
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &self->settings, "A setting of dvm.conf", "NAME=VALUE" },
    { "dump-config", 0, 0, G_OPTION_ARG_NONE, &self->dump_config, "Print the settings for dvm-cli config, and end",
      NULL },
    { "dump-words", 0, 0, G_OPTION_ARG_NONE, &self->dump_words, "Print the words of options for completion, and end",
      NULL },
    { "state-machines", 0, 0, G_OPTION_ARG_NONE, &self->state_machines,
      "Print the state machines for Graphviz, and end", NULL },
    { "pmix", 0, 0, G_OPTION_ARG_NONE, &self->pmix_library, "Print what is known of the PMIx library, and end", NULL },
    { "one-shot", 0, 0, G_OPTION_ARG_NONE, &self->one_shot, "End after the last job", NULL },
    { "activated", 0, 0, G_OPTION_ARG_NONE, &self->activated, "A message bus starts it; end when idle", NULL },
    { "fd", 0, 0, G_OPTION_ARG_INT, &self->peer_fd, "Serve the peer of this socket alone", "FD" },
    { "ready-fd", 0, 0, G_OPTION_ARG_INT, &self->ready_fd, "Tell here when the DVM is ready", "FD" },
    { "progress", 0, 0, G_OPTION_ARG_NONE, &self->progress, "Tell there how many nodes have come, too", NULL },
    { "version", 0, 0, G_OPTION_ARG_NONE, &self->version, "Print the version", NULL },
    G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("- a distributed virtual machine for parallel jobs");

  g_option_context_add_main_entries (context, entries, NULL);
  dvmd_node_options_add (&self->nodes, context);
  if (!g_option_context_parse (context, argc, argv, error))
    return FALSE;
  if (*argc > 1)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "dvmd takes no argument “%s”", (*argv)[1]);
      return FALSE;
    }
  return TRUE;
}

/* A text that does not fit into the buffer fails in fputs() already, not in fflush(). */
static gboolean
print_whole (const char *text)
{
  return fputs (text, stdout) >= 0 && fflush (stdout) == 0;
}

static gboolean
print_config (Daemon *self)
{
  g_autoptr (GVariant) settings = g_variant_ref_sink (dvmd_config_to_variant (self->config));
  g_autofree char *text = g_variant_print (settings, FALSE);
  g_autofree char *line = g_strconcat (text, "\n", NULL);

  return print_whole (line);
}

static gboolean
print_words (Daemon *self, GError **error)
{
  g_autoptr (DvmdPlugins) plugins = load_plugins (self, error);
  g_autoptr (GVariant) words = plugins != NULL ? g_variant_ref_sink (dvmd_controller_list_words (plugins)) : NULL;
  g_autofree char *text = words != NULL ? g_variant_print (words, FALSE) : NULL;
  g_autofree char *line = g_strconcat (text != NULL ? text : "", "\n", NULL);

  return text != NULL && print_whole (line);
}

static gboolean
print_machines (void)
{
  g_autofree char *of_controller = dvmd_controller_draw_machines ();
  g_autofree char *of_agent = dvmd_agent_draw_machines ();

  return print_whole (of_controller) && print_whole (of_agent);
}

/* A text of a variant, which dvm-cli info shows. */
static gboolean
print_pmix_library (void)
{
  g_autoptr (GVariant) library = dvmd_pmix_describe_library ();
  g_autofree char *text = g_variant_print (library, TRUE);

  return print_whole (text);
}

/* The records for dvm-cli history, as the bytes of a variant; it gives the filter as a text. */
static gboolean
search_archive (Daemon *self, GError **error)
{
  g_autoptr (GVariant) filter = g_variant_parse (G_VARIANT_TYPE_VARDICT, self->search, NULL, NULL, error);
  const char *set = dvmd_config_get_string (self->config, "archive-file");
  const char *path = set[0] != '\0' ? set : self->archive_file;
  const DvmdArchive *archive = filter != NULL ? dvmd_archive_open (error) : NULL;
  g_autoptr (GVariant) found = NULL;
  g_autoptr (GVariant) boxed = NULL;

  if (archive == NULL)
    return FALSE;
  if (path == NULL || strcmp (set, "none") == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "No archive is kept: the setting archive-file is none");
      return FALSE;
    }
  found = archive->search (path, filter, error);
  if (found == NULL)
    return FALSE;
  boxed = g_variant_ref_sink (g_variant_new_variant (found));
  if (fwrite (g_variant_get_data (boxed), g_variant_get_size (boxed), 1, stdout) == 1 && fflush (stdout) == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "The records cannot be written: %s", g_strerror (errno));
  return FALSE;
}

static void
finish_daemon (Daemon *self)
{
  g_clear_pointer (&self->idle, dvmd_idle_free);
  g_clear_object (&self->bus);
  g_clear_object (&self->controller);
  if (self->dir != NULL)
    dvmd_agent_sweep_machine ();
  g_clear_pointer (&self->dir, dvmd_runtime_dir_release);
  g_clear_pointer (&self->config, dvmd_config_unref);
  g_clear_pointer (&self->loop, g_main_loop_unref);
  g_free (self->name);
  g_free (self->socket_path);
  g_free (self->bus_word);
  g_free (self->trace_file);
  g_free (self->archive_file);
  g_free (self->search);
  g_free (self->log_path);
  g_strfreev (self->settings);
  dvmd_node_options_clear (&self->nodes);
}

int
main (int argc, char **argv)
{
  Daemon self = { .ready_fd = -1, .peer_fd = -1 };
  DvmdLog *log;
  g_autoptr (GError) error = NULL;

  dvmd_agent_prepare_process (HEAP_RETAINED);
  signal (SIGPIPE, SIG_IGN);
  /* Of a file that gets too large the writer hears by an error. */
  signal (SIGXFSZ, SIG_IGN);
  log = dvmd_log_install ("dvmd");
  if (!parse_arguments (&self, &argc, &argv, &error) || (!self.version && !read_settings (&self, log, &error)))
    {
      self.wrong_usage = TRUE;
      fail_start (&self, error->message);
      finish_daemon (&self);
      return 2;
    }
  if (self.version)
    {
      printf ("dvmd %s\n", DVM_VERSION_STRING);
      finish_daemon (&self);
      return EXIT_SUCCESS;
    }
  if (self.dump_config || self.dump_words || self.state_machines || self.pmix_library || self.search != NULL)
    {
      gboolean written = self.search != NULL ? search_archive (&self, &error)
                         : self.dump_config  ? print_config (&self)
                         : self.dump_words   ? print_words (&self, &error)
                         : self.pmix_library ? print_pmix_library ()
                                             : print_machines ();

      if (error != NULL)
        fail_start (&self, error->message);
      finish_daemon (&self);
      return written ? EXIT_SUCCESS : EXIT_FAILURE;
    }
  self.has_terminal = find_terminal ();
  self.loop = g_main_loop_new (NULL, FALSE);
  if (start_daemon (&self, &error))
    g_main_loop_run (self.loop);
  else
    fail_start (&self, error->message);
  finish_daemon (&self);
  return self.wrong_usage ? 2 : self.exit_status;
}
