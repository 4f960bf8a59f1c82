/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that are processes are started: launchers are asked one after another, tokens let the agents in.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote.h"

#include <string.h>

#include "dvmd-descriptors.h"
#include "dvmd-remote-argv.h"
#include "dvmd-topology.h"

/* How long the agents of one launch may take to join and to report (µs). */
#define REPORT_LIMIT (60 * G_TIME_SPAN_SECOND)

/* From so many agents of one machine on it is worth the while to look at it for them. */
#define SHARED_TOPOLOGY_MIN 4

/* ---- one launch: some nodes, which one launcher after another is asked for ---- */

typedef struct
{
  DvmdRemote *remote; /* unowned; its controller is reffed */
  DvmdController *controller;
  GPtrArray *launchers; /* DvmdLauncher */
  guint next;
  GPtrArray *entries; /* DvmdAgentEntry */
  GPtrArray *inputs;  /* GBytes: the token of each */
  char **argv;
  gboolean local;
} Launch;

static void
launch_free (Launch *self)
{
  g_ptr_array_unref (self->launchers);
  g_ptr_array_unref (self->entries);
  g_ptr_array_unref (self->inputs);
  g_strfreev (self->argv);
  g_object_unref (self->controller);
  g_free (self);
}

static DvmdCause
find_cause (const GError *error)
{
  if (error->domain != DVM_ERROR)
    return DVMD_CAUSE_LAUNCH;
  switch (error->code)
    {
    case DVM_ERROR_NO_PERMISSIONS:
      return DVMD_CAUSE_AUTHENTICATION;
    case DVM_ERROR_TIMEOUT:
      return DVMD_CAUSE_TIMEOUT;
    case DVM_ERROR_NOT_READY:
      return DVMD_CAUSE_CONNECT;
    default:
      return DVMD_CAUSE_LAUNCH;
    }
}

static void
fail_launch (Launch *self, DvmdCause cause, const char *reason)
{
  for (guint i = 0; i < self->entries->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (self->entries, i);
      g_autofree char *named = g_strdup_printf ("%s: %s", entry->name, reason);

      dvmd_remote_agent_failed (self->remote, entry->rank, cause, named);
    }
}

static void
on_node_failed (DvmdLauncher *launcher, guint rank, const GError *error, gpointer user_data)
{
  DvmdRemote *self = user_data;

  /* An agent that was ordered to leave has done so when its link ends. */
  if (!dvmd_remote_has_departed (self, rank))
    dvmd_remote_agent_failed (self, rank, find_cause (error), error->message);
}

static void
on_ends (DvmdLauncher *launcher, const char *reason, gpointer user_data)
{
  dvmd_remote_note_ending (user_data, reason);
}

DvmdPluginNode *
dvmd_remote_describe_nodes (GPtrArray *entries)
{
  DvmdPluginNode *nodes = g_new0 (DvmdPluginNode, MAX (entries->len, 1));

  for (guint i = 0; i < entries->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (entries, i);

      nodes[i].name = entry->name;
      nodes[i].rank = entry->rank;
      nodes[i].address = entry->address;
    }
  return nodes;
}

static void ask_next (Launch *self);

static void
on_launched (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Launch *self = user_data;
  g_autoptr (GError) error = NULL;
  DvmdPluginVerdict verdict = dvmd_launcher_launch_finish (DVMD_LAUNCHER (source), result, &error);

  if (dvmd_controller_get_agents (self->controller) == NULL)
    {
      launch_free (self);
      return;
    }
  if (error == NULL && verdict == DVMD_PLUGIN_DECLINED)
    {
      ask_next (self);
      return;
    }
  if (error != NULL)
    fail_launch (self, find_cause (error), error->message);
  launch_free (self);
}

/* Plugins answer where they are asked. */
static void
ask (Launch *self, DvmdLauncher *launcher)
{
  g_autofree DvmdPluginNode *nodes = dvmd_remote_describe_nodes (self->entries);
  const DvmdLaunchRequest request = {
    .nodes = nodes,
    .n_nodes = self->entries->len,
    .agent_argv = (const char *const *)self->argv,
    .node_inputs = (GBytes *const *)self->inputs->pdata,
    .logical = self->local,
  };
  g_autoptr (GError) error = NULL;

  if (DVMD_LAUNCHER_GET_CLASS (launcher)->awaits
      && !dvmd_remote_await (self->remote, self->entries, (const char *const *)self->argv, &error))
    {
      fail_launch (self, DVMD_CAUSE_LAUNCH, error->message);
      launch_free (self);
      return;
    }
  for (guint i = 0; i < self->entries->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (self->entries, i);

      g_set_object (&entry->launcher, launcher);
      dvmd_core_set_node_origin (
          dvmd_controller_get_core (self->controller), entry->rank,
          dvmd_plugins_get_name (dvmd_controller_get_parts (self->controller)->plugins, launcher), NULL);
    }
  if (g_hash_table_add (self->remote->launchers, g_object_ref (launcher)))
    {
      g_signal_connect (launcher, "node-failed", G_CALLBACK (on_node_failed), self->remote);
      g_signal_connect (launcher, "ends", G_CALLBACK (on_ends), self->remote);
    }
  dvmd_launcher_launch_async (launcher, &request, NULL, on_launched, self);
}

/*
 * An agent that was ordered to leave meanwhile is not started, nor is any when the DVM ends: the end waits for those
 * that a launcher has, and might not wait for it.
 */
static void
drop_unwanted (Launch *self)
{
  gboolean stopping = dvmd_remote_is_stopping (self->remote);

  for (guint i = self->entries->len; i > 0; i--)
    if (stopping || ((DvmdAgentEntry *)g_ptr_array_index (self->entries, i - 1))->step != AGENT_LAUNCHED)
      {
        g_ptr_array_remove_index (self->entries, i - 1);
        g_ptr_array_remove_index (self->inputs, i - 1);
      }
}

/* (transfer full): why no launcher has started the agents */
static char *
explain_refusal (Launch *self)
{
  const DvmdControllerParts *parts = dvmd_controller_get_parts (self->controller);
  const char *wanted = parts->shape->launcher;
  g_autofree char *missing = wanted != NULL && !self->local
                                 ? dvmd_plugins_find_missing (parts->plugins, DVMD_PLUGIN_LAUNCHER, wanted)
                                 : NULL;

  if (missing != NULL)
    return g_strdup_printf (
        "the launcher \"%s\" starts agents in the job of a scheduler, and the DVM is in none of that one (not set: %s)",
        wanted, missing);
  return g_strdup (wanted != NULL ? "the launcher that was asked for does not start agents there"
                                  : "no launcher starts agents there; \"disabled-plugins\" may name one that does");
}

static void
ask_next (Launch *self)
{
  g_autofree char *reason = NULL;

  drop_unwanted (self);
  if (self->entries->len == 0)
    {
      launch_free (self);
      return;
    }
  if (self->next < self->launchers->len)
    {
      ask (self, g_ptr_array_index (self->launchers, self->next++));
      return;
    }
  reason = explain_refusal (self);
  fail_launch (self, DVMD_CAUSE_LAUNCH, reason);
  launch_free (self);
}

/* Any launcher starts agents on this machine; elsewhere it is the one that the settings name. */
static gboolean
is_wanted (Launch *launch, const DvmdPluginEntry *entry, const char *wanted_name)
{
  if (entry->plugin == NULL || entry->info->kind != DVMD_PLUGIN_LAUNCHER)
    return FALSE;
  if (DVMD_LAUNCHER_GET_CLASS (entry->plugin)->awaits)
    return !launch->local && g_strcmp0 (entry->info->name, wanted_name) == 0;
  return launch->local || wanted_name == NULL || g_str_equal (entry->info->name, wanted_name);
}

/* FALSE: there is none. */
static gboolean
find_launchers (DvmdRemote *self, Launch *launch)
{
  GPtrArray *all = dvmd_plugins_list (dvmd_controller_get_parts (self->controller)->plugins);
  const char *wanted_name = dvmd_controller_get_parts (self->controller)->shape->launcher;

  launch->launchers = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < all->len; i++)
    {
      DvmdPluginEntry *entry = g_ptr_array_index (all, i);

      if (is_wanted (launch, entry, wanted_name))
        g_ptr_array_add (launch->launchers, g_object_ref (entry->plugin));
    }
  return launch->launchers->len > 0;
}

/* The names of jobs begin with the id of the DVM, and arguments are for everybody to read: it comes with the token. */
static void
add_token (Launch *launch, const DvmdToken *secret, guint32 rank)
{
  g_auto (DvmdToken) token = { 0 };
  g_autofree char *text = NULL;
  char *line;

  dvmd_token_derive (secret, rank, &token);
  text = dvmd_token_to_text (&token);
  line = g_strconcat (text, " ", dvmd_controller_get_parts (launch->controller)->instance_id, "\n", NULL);
  explicit_bzero (text, strlen (text));
  g_ptr_array_add (launch->inputs, g_bytes_new_take (line, strlen (line)));
}

/* How long an agent may take until it has reported; what launchers get is part of it. */
static gint64
report_limit (DvmdRemote *self)
{
  gboolean started = dvmd_core_get_ready (dvmd_controller_get_core (self->controller));
  gint64 given = started ? self->grow_timeout : dvmd_controller_get_parts (self->controller)->shape->start_timeout;

  return given > 0 ? given : REPORT_LIMIT;
}

static void
add_tokens (DvmdRemote *self, Launch *launch)
{
  g_autofree guint32 *ranks = g_new (guint32, launch->entries->len);
  g_auto (DvmdToken) secret = { 0 };

  for (guint i = 0; i < launch->entries->len; i++)
    ranks[i] = ((DvmdAgentEntry *)g_ptr_array_index (launch->entries, i))->rank;
  dvmd_tokens_add (self->tokens, ranks, launch->entries->len, report_limit (self), &secret);
  g_hash_table_insert (self->launches, g_memdup2 (&secret.launch, sizeof secret.launch),
                       GUINT_TO_POINTER (launch->entries->len));
  launch->inputs = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);
  for (guint i = 0; i < launch->entries->len; i++)
    {
      ((DvmdAgentEntry *)g_ptr_array_index (launch->entries, i))->launch = secret.launch;
      add_token (launch, &secret, ranks[i]);
    }
}

/* Agents of one machine share one file of its topology. (nullable) (transfer full): its path; NULL: each looks itself
 */
static char *
share_topology (DvmdRemote *self, guint n_agents)
{
  g_autofree char *path = g_build_filename (dvmd_controller_get_parts (self->controller)->runtime_dir, "topology.xml",
                                            NULL);
  g_autoptr (DvmdTopology) topology = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *xml = NULL;

  if (!self->has_topology && n_agents < SHARED_TOPOLOGY_MIN)
    return NULL;
  if (!self->has_topology)
    topology = dvmd_topology_new_local (&error);
  if (topology != NULL)
    xml = dvmd_topology_dup_xml (topology, &error);
  if (xml != NULL)
    self->has_topology = g_file_set_contents (path, xml, -1, &error);
  if (self->has_topology)
    return g_steal_pointer (&path);
  g_info ("Each agent looks at this machine itself: %s", error->message);
  return NULL;
}

static char **
make_argv (DvmdRemote *self, guint n_agents, gboolean local, gboolean logical, GError **error)
{
  g_autofree char *topology = local ? share_topology (self, n_agents) : NULL;

  return dvmd_remote_make_argv (self->config, dvmd_listener_get_addresses (self->listener),
                                local ? dvmd_controller_get_parts (self->controller)->runtime_dir : NULL, topology,
                                logical, error);
}

static void
begin_launch (DvmdRemote *self, GPtrArray *entries, gboolean local, gboolean logical)
{
  g_autoptr (GError) error = NULL;
  Launch *launch;

  if (entries->len == 0)
    return;
  launch = g_new0 (Launch, 1);
  launch->remote = self;
  launch->controller = g_object_ref (self->controller);
  launch->entries = g_ptr_array_ref (entries);
  launch->local = local;
  add_tokens (self, launch);
  if (!find_launchers (self, launch))
    g_set_error (&error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "there is no launcher %s",
                 dvmd_controller_get_parts (self->controller)->shape->launcher != NULL
                     ? dvmd_controller_get_parts (self->controller)->shape->launcher
                     : "that is not disabled");
  else
    launch->argv = make_argv (self, entries->len, local, logical, &error);
  if (launch->argv != NULL)
    {
      ask_next (launch);
      return;
    }
  fail_launch (launch, DVMD_CAUSE_LAUNCH, error->message);
  launch_free (launch);
}

/* ---- all of them ---- */

/* Each takes three pipes and its pidfd for as long as it lives, and comes to the controller first. */
gboolean
dvmd_remote_check_room (DvmdAgents *agents, guint n, GError **error)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  g_autofree char *what = g_strdup_printf ("%u agent%s", n, n == 1 ? "" : "s");

  if (dvmd_controller_get_parts (self->controller)->processes != NULL)
    dvmd_spawner_raise_nofile (
        dvmd_host_processes_get_spawner (dvmd_controller_get_parts (self->controller)->processes));
  return dvmd_descriptors_check (5 * (guint64)n, what, error);
}

static void
on_report_limit (gpointer user_data)
{
  DvmdRemote *self = user_data;
  GHashTableIter iter;
  gpointer value;
  g_autoptr (GPtrArray) late = g_ptr_array_new ();

  self->report_timer = 0;
  g_hash_table_iter_init (&iter, self->agents);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((DvmdAgentEntry *)value)->step < AGENT_REPORTED)
      g_ptr_array_add (late, value);
  for (guint i = 0; i < late->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (late, i);
      gboolean awaited = entry->launcher != NULL && DVMD_LAUNCHER_GET_CLASS (entry->launcher)->awaits;
      g_autofree char *why = awaited ? dvmd_remote_explain_await (self) : g_strdup ("");
      g_autofree char *reason = g_strdup_printf ("%s: timeout: its agent %s within %g s%s", entry->name,
                                                 awaited ? "starts by itself, and has not come"
                                                         : "was started and has not reported",
                                                 (gdouble)report_limit (self) / G_USEC_PER_SEC, why);

      dvmd_remote_agent_failed (self, entry->rank, DVMD_CAUSE_TIMEOUT, reason);
    }
}

void
dvmd_remote_close_launches (DvmdRemote *self)
{
  GHashTableIter iter;
  gpointer launch;
  gpointer rank;

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->report_timer);
  self->report_timer = 0;
  g_hash_table_iter_init (&iter, self->launches);
  while (g_hash_table_iter_next (&iter, &launch, NULL))
    dvmd_tokens_remove (self->tokens, *(guint64 *)launch);
  g_hash_table_remove_all (self->launches);
  g_hash_table_iter_init (&iter, self->agents);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    dvmd_tokens_forget (self->tokens, GPOINTER_TO_UINT (rank));
}

void
dvmd_remote_close_launch (DvmdRemote *self, DvmdAgentEntry *entry)
{
  guint64 launch = entry->launch;
  guint n_left = GPOINTER_TO_UINT (g_hash_table_lookup (self->launches, &launch));

  dvmd_tokens_forget (self->tokens, entry->rank);
  entry->launch = 0;
  if (n_left > 1)
    g_hash_table_insert (self->launches, g_memdup2 (&launch, sizeof launch), GUINT_TO_POINTER (n_left - 1));
  else if (g_hash_table_remove (self->launches, &launch))
    {
      dvmd_tokens_remove (self->tokens, launch);
      if (g_hash_table_size (self->launches) == 0)
        dvmd_remote_close_launches (self);
    }
}

static DvmdAgentEntry *
add_entry (DvmdRemote *self, DvmdNode *node)
{
  DvmdAgentEntry *entry = g_rc_box_new0 (DvmdAgentEntry);

  entry->rank = node->rank;
  entry->name = g_strdup (dvm_node_get_name (node->record));
  entry->address = g_strdup (
      node->address != NULL
          ? node->address
          : dvmd_shape_get_address (dvmd_controller_get_parts (self->controller)->shape, entry->name));
  g_hash_table_insert (self->agents, GUINT_TO_POINTER (node->rank), entry);
  return entry;
}

void
dvmd_remote_launch (DvmdAgents *agents, DvmdNode *const *nodes, guint n_nodes)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  g_autoptr (GPtrArray) here = g_ptr_array_new_with_free_func (dvmd_agent_entry_unref);
  g_autoptr (GPtrArray) elsewhere = g_ptr_array_new_with_free_func (dvmd_agent_entry_unref);
  g_autoptr (GError) error = NULL;
  gboolean logical = dvmd_controller_get_parts (self->controller)->shape->logical;

  for (guint i = 0; i < n_nodes; i++)
    {
      DvmdAgentEntry *entry = add_entry (self, nodes[i]);

      g_ptr_array_add (
          logical || dvmd_shape_is_this_machine (dvmd_controller_get_parts (self->controller)->host, entry->name)
              ? here
              : elsewhere,
          g_rc_box_acquire (entry));
    }
  if (!dvmd_remote_check_room (agents, n_nodes, &error) || !dvmd_remote_open (self, &error)
      || (elsewhere->len > 0 && !dvmd_remote_open_tcp (self, &error)))
    {
      for (guint i = 0; i < n_nodes; i++)
        dvmd_remote_agent_failed (self, nodes[i]->rank, DVMD_CAUSE_LAUNCH, error->message);
      return;
    }
  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->report_timer);
  self->report_timer = 0;
  /* How long a grow may take is the core's to say. */
  if (!dvmd_core_get_ready (dvmd_controller_get_core (self->controller)))
    self->report_timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock, report_limit (self),
                                               on_report_limit, self);
  dvmd_controller_enter (self->controller);
  begin_launch (self, here, TRUE, logical);
  begin_launch (self, elsewhere, FALSE, FALSE);
  dvmd_controller_leave (self->controller);
}
