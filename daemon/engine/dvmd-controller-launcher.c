/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that are processes: launchers start them, tokens let them in, launchers end them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-wired.h"

#include <string.h>

#include "dvmd-descriptors.h"
#include "dvmd-programs.h"
#include "dvmd-secret.h"
#include "dvmd-topology.h"

/* From so many agents of one machine on it is worth the while to look at it for them. */
#define SHARED_TOPOLOGY_MIN 4
/* How long the agents of one launch may take to join and to report (µs). */
#define REPORT_LIMIT (60 * G_TIME_SPAN_SECOND)
/* How long an agent that is to leave may take, where nobody has said anything else (µs). */
#define SHRINK_GRACE (10 * G_TIME_SPAN_SECOND)

/* ---- who may come, and where to ---- */

static void
router_joined (gpointer world, guint32 rank, const char *name)
{
  dvmd_wired_joined (world, rank, name);
}

static void
router_lost (gpointer world, guint32 rank, guint32 reporter, const char *reason)
{
  dvmd_wired_link_lost (world, rank, reporter, reason);
}

static void
router_completed (gpointer world, guint64 number)
{
  dvmd_wired_completed (world, number);
  dvmd_wired_check_wirings (world, number);
}

static void
router_routes_changed (gpointer world, DvmdRoutes *routes)
{
  dvmd_wired_tell_places (world, routes);
}

static void
router_gathered (gpointer world, const char *key, GVariant *whole)
{
  dvmd_controller_gathered (((DvmdWired *)world)->controller, key, whole);
}

static const DvmdRouterFuncs router_funcs = {
  .joined = router_joined,
  .lost = router_lost,
  .completed = router_completed,
  .routes_changed = router_routes_changed,
  .gathered = router_gathered,
};

static gboolean
is_without_tls (DvmdWired *self)
{
  return g_str_equal (dvmd_config_get_string (self->config, "security"), "none");
}

static void
make_router (DvmdWired *self)
{
  DvmdController *controller = self->controller;
  const DvmdRouterOptions options = {
    .rank = 0,
    .name = controller->host,
    .radix = self->radix,
    .clock = controller->clock,
    .identity = self->identity,
    .heartbeat_timeout = dvmd_config_get_usec (self->config, "heartbeat-timeout"),
  };

  self->router = dvmd_router_new (&options, &router_funcs, self, controller->context);
  dvmd_controller_set_fence_tree (controller, dvmd_router_get_fence_tree (), self->router);
}

static void
make_listener (DvmdWired *self)
{
  DvmdListenerOptions options = { 0 };

  options.identity = self->identity;
  options.tokens = self->tokens;
  options.without_tls = is_without_tls (self);
  options.knows = dvmd_router_knows;
  options.knows_data = self->router;
  dvmd_router_get_wire_options (self->router, &options.wire);
  self->listener = dvmd_listener_new (&options);
  dvmd_router_set_listener (self->router, self->listener);
}

/* What only links to other machines need. */
static gboolean
make_authority (DvmdWired *self, GError **error)
{
  if (self->authority != NULL)
    return TRUE;
  self->authority = dvmd_authority_new (self->controller->instance_id, error);
  if (self->authority == NULL)
    return FALSE;
  if (dvmd_authority_certify (self->authority, self->identity, 0, error))
    {
      dvmd_listener_set_authority (self->listener, self->authority);
      return TRUE;
    }
  g_clear_pointer (&self->authority, dvmd_authority_unref);
  return FALSE;
}

static void
make_identity (DvmdWired *self)
{
  guint8 link_key[DVMD_LINK_KEY_SIZE];

  self->identity = dvmd_identity_new_local ();
  dvmd_identity_set_name (self->identity, self->controller->instance_id, 0);
  dvmd_secret_draw (link_key, sizeof link_key);
  dvmd_identity_set_link_key (self->identity, link_key);
  explicit_bzero (link_key, sizeof link_key);
}

gboolean
dvmd_wired_open (DvmdWired *self, GError **error)
{
  g_autofree char *path = g_build_filename (self->controller->runtime_dir, "link", NULL);

  if (self->listener != NULL)
    return TRUE;
  make_identity (self);
  make_router (self);
  make_listener (self);
  /* The agents of one that may come to other machines have certificates from the start. */
  return dvmd_listener_add_unix (self->listener, path, error)
         && (!dvmd_config_get_bool (self->config, "elastic") || make_authority (self, error));
}

/* Agents of other machines come by TCP: where there are none, nobody listens. */
static gboolean
open_tcp (DvmdWired *self, GError **error)
{
  const char *const *addresses = dvmd_listener_get_addresses (self->listener);
  g_auto (DvmdTcpOptions) tcp = { 0 };

  for (gsize i = 0; addresses[i] != NULL; i++)
    if (g_str_has_prefix (addresses[i], "tcp:"))
      return TRUE;
  if (is_without_tls (self))
    g_message ("security=none: everybody on the network can read and change what goes between the daemons");
  return dvmd_tcp_options_parse (dvmd_config_get_string (self->config, "listen-address"),
                                 dvmd_config_get_string (self->config, "listen-family"),
                                 dvmd_config_get_string (self->config, "port-range"), &tcp, error)
         && make_authority (self, error) && dvmd_listener_add_tcp (self->listener, &tcp, error);
}

/* ---- what an agent is started with ---- */

/* Those of TCP; for an agent of this machine the socket before them, and by them it knows that there are others. */
static char *
join_addresses (DvmdWired *self, gboolean local)
{
  const char *const *addresses = dvmd_listener_get_addresses (self->listener);
  g_autoptr (GPtrArray) chosen = g_ptr_array_new ();

  for (gsize i = 0; addresses[i] != NULL; i++)
    if (!g_str_has_prefix (addresses[i], "unix:"))
      g_ptr_array_add (chosen, (gpointer)addresses[i]);
    else if (local)
      g_ptr_array_insert (chosen, 0, (gpointer)addresses[i]);
  g_ptr_array_add (chosen, NULL);
  return g_strjoinv (",", (char **)chosen->pdata);
}

static gboolean
add_programs (GPtrArray *argv, gboolean local, GError **error)
{
  char *agent = dvmd_programs_find ("dvm-agent", error);
  char *guard = local && agent != NULL ? dvmd_programs_find ("dvm-guard", error) : NULL;

  if (guard != NULL)
    g_ptr_array_add (argv, guard);
  if (agent != NULL)
    g_ptr_array_add (argv, agent);
  if (guard != NULL)
    g_ptr_array_add (argv, g_strdup ("--guarded"));
  return agent != NULL && (guard != NULL || !local);
}

/* Those of one machine need not all look at it. (nullable) (transfer full): the file; without it they look. */
static char *
share_topology (DvmdWired *self, guint n_agents)
{
  g_autofree char *path = g_build_filename (self->controller->runtime_dir, "topology.xml", NULL);
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

/* An address is that of one machine; networks and names of interfaces are for all of them. */
static char *
choose_listen_address (DvmdWired *self, gboolean local)
{
  g_auto (GStrv) words = g_strsplit_set (dvmd_config_get_string (self->config, "listen-address"), " ,", -1);
  g_autoptr (GStrvBuilder) chosen = g_strv_builder_new ();
  g_auto (GStrv) list = NULL;

  for (gsize i = 0; words[i] != NULL; i++)
    if (words[i][0] != '\0' && (local || !g_hostname_is_ip_address (words[i])))
      g_strv_builder_add (chosen, words[i]);
  list = g_strv_builder_end (chosen);
  return g_strjoinv (",", list);
}

/* An agent reads no files of settings: what it has to know it is told. None of it is secret. */
static char **
make_argv (DvmdWired *self, guint n_agents, gboolean local, gboolean logical, GError **error)
{
  static const char *const passed_on[] = { "controller-grace", "elastic",       "heartbeat-timeout",
                                           "kill-grace",       "listen-family", "pmix",
                                           "pmix-gds",         "port-range",    "security" };
  DvmdController *controller = self->controller;
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *addresses = join_addresses (self, local);
  g_autofree char *listen_address = choose_listen_address (self, local);
  g_autofree char *topology = NULL;

  if (!add_programs (argv, local, error))
    return NULL;
  g_ptr_array_add (argv, g_strdup_printf ("--controller=%s", addresses));
  g_ptr_array_add (argv, g_strdup_printf ("--instance=%s", controller->instance_id));
  if (local)
    g_ptr_array_add (argv, g_strdup_printf ("--runtime-dir=%s", controller->runtime_dir));
  topology = local ? share_topology (self, n_agents) : NULL;
  if (topology != NULL)
    g_ptr_array_add (argv, g_strdup_printf ("--topology=%s", topology));
  if (logical)
    g_ptr_array_add (argv, g_strdup ("--logical"));
  if (listen_address[0] != '\0')
    g_ptr_array_add (argv, g_strdup_printf ("--set=listen-address=%s", listen_address));
  for (gsize i = 0; i < G_N_ELEMENTS (passed_on); i++)
    if (dvmd_config_get_origin (self->config, passed_on[i]) != DVMD_CONFIG_ORIGIN_BUILT_IN)
      g_ptr_array_add (
          argv, g_strdup_printf ("--set=%s=%s", passed_on[i], dvmd_config_get_string (self->config, passed_on[i])));
  g_ptr_array_add (argv, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&argv), FALSE);
}

/* ---- one launch: some nodes, which one launcher after another is asked for ---- */

typedef struct
{
  DvmdWired *wired; /* unowned; its controller is reffed */
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

      dvmd_wired_agent_failed (self->wired, entry->rank, cause, named);
    }
}

static void
on_node_failed (DvmdLauncher *launcher, guint rank, const GError *error, gpointer user_data)
{
  DvmdWired *self = user_data;

  /* Of one that was ordered to leave it is good news. */
  if (self->departures == NULL || !dvmd_departures_ended (self->departures, rank))
    dvmd_wired_agent_failed (self, rank, find_cause (error), error->message);
}

static DvmdPluginNode *
describe_nodes (DvmdWired *self, GPtrArray *entries)
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

  if (self->controller->wired == NULL)
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
  g_autofree DvmdPluginNode *nodes = describe_nodes (self->wired, self->entries);
  const DvmdLaunchRequest request = {
    .nodes = nodes,
    .n_nodes = self->entries->len,
    .agent_argv = (const char *const *)self->argv,
    .node_inputs = (GBytes *const *)self->inputs->pdata,
    .logical = self->local,
  };

  for (guint i = 0; i < self->entries->len; i++)
    {
      DvmdAgentEntry *entry = g_ptr_array_index (self->entries, i);

      g_set_object (&entry->launcher, launcher);
      dvmd_core_set_node_origin (self->controller->core, entry->rank,
                                 dvmd_plugins_get_name (self->controller->plugins, launcher), NULL);
    }
  if (g_hash_table_add (self->wired->launchers, g_object_ref (launcher)))
    g_signal_connect (launcher, "node-failed", G_CALLBACK (on_node_failed), self->wired);
  dvmd_launcher_launch_async (launcher, &request, NULL, on_launched, self);
}

/* Whoever has been told to leave meanwhile is not started any more. */
static void
drop_unwanted (Launch *self)
{
  for (guint i = self->entries->len; i > 0; i--)
    if (((DvmdAgentEntry *)g_ptr_array_index (self->entries, i - 1))->step != AGENT_LAUNCHED)
      {
        g_ptr_array_remove_index (self->entries, i - 1);
        g_ptr_array_remove_index (self->inputs, i - 1);
      }
}

static void
ask_next (Launch *self)
{
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
  fail_launch (self, DVMD_CAUSE_LAUNCH,
               self->controller->shape.launcher != NULL
                   ? "the launcher that was asked for does not start agents there"
                   : "no launcher starts agents there; \"disabled-plugins\" may name one that does");
  launch_free (self);
}

/* Of this machine any will do; elsewhere the one that was asked for. FALSE: there is none. */
static gboolean
find_launchers (DvmdWired *self, Launch *launch)
{
  GPtrArray *all = dvmd_plugins_list (self->controller->plugins);
  const char *wanted_name = self->controller->shape.launcher;

  launch->launchers = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < all->len; i++)
    {
      DvmdPluginEntry *entry = g_ptr_array_index (all, i);
      gboolean wanted = launch->local || wanted_name == NULL || g_str_equal (entry->info->name, wanted_name);

      if (entry->plugin != NULL && entry->info->kind == DVMD_PLUGIN_LAUNCHER && wanted)
        g_ptr_array_add (launch->launchers, g_object_ref (entry->plugin));
    }
  return launch->launchers->len > 0;
}

static void
add_token (Launch *launch, const DvmdToken *secret, guint32 rank)
{
  g_auto (DvmdToken) token = { 0 };
  g_autofree char *text = NULL;
  char *line;

  dvmd_token_derive (secret, rank, &token);
  text = dvmd_token_to_text (&token);
  line = g_strconcat (text, "\n", NULL);
  explicit_bzero (text, strlen (text));
  g_ptr_array_add (launch->inputs, g_bytes_new_take (line, strlen (line)));
}

/* How long an agent may take until it has reported; what launchers get is part of it. */
static gint64
report_limit (DvmdWired *self)
{
  gboolean started = dvmd_core_get_ready (self->controller->core);
  gint64 given = started ? self->grow_timeout : self->controller->shape.start_timeout;

  return given > 0 ? given : REPORT_LIMIT;
}

static void
add_tokens (DvmdWired *self, Launch *launch)
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

static void
begin_launch (DvmdWired *self, GPtrArray *entries, gboolean local, gboolean logical)
{
  g_autoptr (GError) error = NULL;
  Launch *launch;

  if (entries->len == 0)
    return;
  launch = g_new0 (Launch, 1);
  launch->wired = self;
  launch->controller = g_object_ref (self->controller);
  launch->entries = g_ptr_array_ref (entries);
  launch->local = local;
  add_tokens (self, launch);
  if (!find_launchers (self, launch))
    g_set_error (&error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "there is no launcher %s",
                 self->controller->shape.launcher != NULL ? self->controller->shape.launcher : "that is not disabled");
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
dvmd_wired_check_descriptors (DvmdWired *self, guint n, GError **error)
{
  g_autofree char *what = g_strdup_printf ("%u agents", n);

  if (self->controller->spawner != NULL)
    dvmd_spawner_raise_nofile (self->controller->spawner);
  return dvmd_descriptors_check (5 * (guint64)n, what, error);
}

static void
on_report_limit (gpointer user_data)
{
  DvmdWired *self = user_data;
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
      g_autofree char *reason = g_strdup_printf ("%s: timeout: its agent was started and has not reported within %g s",
                                                 entry->name, (gdouble)report_limit (self) / G_USEC_PER_SEC);

      dvmd_wired_agent_failed (self, entry->rank, DVMD_CAUSE_TIMEOUT, reason);
    }
}

void
dvmd_wired_close_launches (DvmdWired *self)
{
  GHashTableIter iter;
  gpointer launch;

  dvmd_clock_remove_timer (self->controller->clock, self->report_timer);
  self->report_timer = 0;
  g_hash_table_iter_init (&iter, self->launches);
  while (g_hash_table_iter_next (&iter, &launch, NULL))
    dvmd_tokens_remove (self->tokens, *(guint64 *)launch);
  g_hash_table_remove_all (self->launches);
}

void
dvmd_wired_close_launch (DvmdWired *self, DvmdAgentEntry *entry)
{
  guint64 launch = entry->launch;
  guint n_left = GPOINTER_TO_UINT (g_hash_table_lookup (self->launches, &launch));

  entry->launch = 0;
  if (n_left > 1)
    g_hash_table_insert (self->launches, g_memdup2 (&launch, sizeof launch), GUINT_TO_POINTER (n_left - 1));
  else if (g_hash_table_remove (self->launches, &launch))
    dvmd_tokens_remove (self->tokens, launch);
  if (g_hash_table_size (self->launches) == 0)
    dvmd_wired_close_launches (self);
}

static void
agent_entry_clear (gpointer data)
{
  DvmdAgentEntry *self = data;

  g_clear_object (&self->launcher);
  g_free (self->name);
  g_free (self->address);
}

void
dvmd_agent_entry_unref (gpointer entry)
{
  g_rc_box_release_full (entry, agent_entry_clear);
}

static DvmdAgentEntry *
add_entry (DvmdWired *self, DvmdNode *node)
{
  DvmdAgentEntry *entry = g_rc_box_new0 (DvmdAgentEntry);

  entry->rank = node->rank;
  entry->name = g_strdup (dvm_node_get_name (node->record));
  entry->address = g_strdup (node->address != NULL ? node->address
                                                   : dvmd_shape_get_address (&self->controller->shape, entry->name));
  g_hash_table_insert (self->agents, GUINT_TO_POINTER (node->rank), entry);
  return entry;
}

void
dvmd_wired_launch (DvmdWired *self, DvmdNode *const *nodes, guint n_nodes)
{
  g_autoptr (GPtrArray) here = g_ptr_array_new_with_free_func (dvmd_agent_entry_unref);
  g_autoptr (GPtrArray) elsewhere = g_ptr_array_new_with_free_func (dvmd_agent_entry_unref);
  g_autoptr (GError) error = NULL;
  gboolean logical = self->controller->shape.logical;

  for (guint i = 0; i < n_nodes; i++)
    {
      DvmdAgentEntry *entry = add_entry (self, nodes[i]);

      g_ptr_array_add (logical || dvmd_shape_is_this_machine (self->controller->host, entry->name) ? here : elsewhere,
                       g_rc_box_acquire (entry));
    }
  if (!dvmd_wired_check_descriptors (self, n_nodes, &error) || !dvmd_wired_open (self, &error)
      || (elsewhere->len > 0 && !open_tcp (self, &error)))
    {
      for (guint i = 0; i < n_nodes; i++)
        dvmd_wired_agent_failed (self, nodes[i]->rank, DVMD_CAUSE_LAUNCH, error->message);
      return;
    }
  dvmd_clock_remove_timer (self->controller->clock, self->report_timer);
  self->report_timer = 0;
  /* How long a grow may take is the core's to say. */
  if (!dvmd_core_get_ready (self->controller->core))
    self->report_timer = dvmd_clock_add_timer (self->controller->clock, report_limit (self), on_report_limit, self);
  if (self->controller->context != NULL)
    g_main_context_push_thread_default (self->controller->context);
  begin_launch (self, here, TRUE, logical);
  begin_launch (self, elsewhere, FALSE, FALSE);
  if (self->controller->context != NULL)
    g_main_context_pop_thread_default (self->controller->context);
}

/* ---- ending them ---- */

typedef struct
{
  DvmdController *controller; /* reffed */
  GPtrArray *entries;
  DvmdWiredDone done; /* (nullable) */
  guint n_left;
} Termination;

static void
termination_unref (Termination *self)
{
  if (--self->n_left > 0)
    return;
  if (self->controller->wired != NULL && self->done != NULL)
    self->done (self->controller->wired, self->entries);
  g_ptr_array_unref (self->entries);
  if (self->controller->wired != NULL && --self->controller->wired->n_terminations == 0)
    dvmd_controller_check_end (self->controller);
  g_object_unref (self->controller);
  g_free (self);
}

static void
on_terminated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  dvmd_launcher_terminate_finish (DVMD_LAUNCHER (source), result, &error);
  if (error != NULL)
    g_message ("Agents have not been ended: %s", error->message);
  termination_unref (user_data);
}

/* (element-type DvmdAgentEntry): those that it has started */
static GPtrArray *
select_by_launcher (GPtrArray *entries, DvmdLauncher *launcher)
{
  GPtrArray *own = g_ptr_array_new ();

  for (guint i = 0; i < entries->len; i++)
    if (((DvmdAgentEntry *)g_ptr_array_index (entries, i))->launcher == launcher)
      g_ptr_array_add (own, g_ptr_array_index (entries, i));
  return own;
}

static void
terminate_by (Termination *termination, DvmdLauncher *launcher)
{
  g_autoptr (GPtrArray) own = select_by_launcher (termination->entries, launcher);
  g_autofree DvmdPluginNode *nodes = NULL;

  if (own->len == 0)
    return;
  nodes = describe_nodes (termination->controller->wired, own);
  termination->n_left++;
  dvmd_launcher_terminate_async (launcher, nodes, own->len, NULL, on_terminated, termination);
}

static void
on_nothing_to_end (gpointer user_data)
{
  termination_unref (user_data);
}

void
dvmd_wired_terminate (DvmdWired *self, GPtrArray *entries, DvmdWiredDone done)
{
  Termination *termination = g_new0 (Termination, 1);
  GHashTableIter iter;
  gpointer launcher;

  termination->controller = g_object_ref (self->controller);
  termination->done = done;
  termination->n_left = 1;
  termination->entries = g_ptr_array_new_with_free_func (dvmd_agent_entry_unref);
  for (guint i = 0; i < entries->len; i++)
    g_ptr_array_add (termination->entries, g_rc_box_acquire (g_ptr_array_index (entries, i)));
  self->n_terminations++;
  if (self->controller->context != NULL)
    g_main_context_push_thread_default (self->controller->context);
  g_hash_table_iter_init (&iter, self->launchers);
  while (g_hash_table_iter_next (&iter, &launcher, NULL))
    terminate_by (termination, launcher);
  if (self->controller->context != NULL)
    g_main_context_pop_thread_default (self->controller->context);
  dvmd_clock_add_timer (self->controller->clock, 0, on_nothing_to_end, termination);
}

void
dvmd_wired_kill (DvmdWired *self, GPtrArray *entries)
{
  GHashTableIter iter;
  gpointer launcher;

  if (self->controller->context != NULL)
    g_main_context_push_thread_default (self->controller->context);
  g_hash_table_iter_init (&iter, self->launchers);
  while (g_hash_table_iter_next (&iter, &launcher, NULL))
    {
      g_autoptr (GPtrArray) own = select_by_launcher (entries, launcher);
      g_autofree DvmdPluginNode *nodes = describe_nodes (self, own);

      if (own->len > 0)
        dvmd_launcher_kill (launcher, nodes, own->len);
    }
  if (self->controller->context != NULL)
    g_main_context_pop_thread_default (self->controller->context);
}

/* ---- the object ---- */

DvmdWired *
dvmd_wired_new (DvmdController *controller, const DvmdControllerSettings *settings)
{
  DvmdWired *self = g_new0 (DvmdWired, 1);

  self->controller = controller;
  self->config = dvmd_config_ref (settings->config);
  self->radix = settings->radix;
  self->tokens = dvmd_tokens_new (controller->clock);
  self->agents = g_hash_table_new_full (NULL, NULL, NULL, dvmd_agent_entry_unref);
  self->launchers = g_hash_table_new_full (NULL, NULL, g_object_unref, NULL);
  self->launches = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->grow_timeout = settings->grow_timeout;
  self->lost = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  dvmd_wired_open_departures (self, settings->shrink_grace > 0 ? settings->shrink_grace : SHRINK_GRACE);
  return self;
}

void
dvmd_wired_free (DvmdWired *self)
{
  GHashTableIter iter;
  gpointer launcher;

  dvmd_clock_remove_timer (self->controller->clock, self->report_timer);
  dvmd_clock_remove_timer (self->controller->clock, self->lost_timer);
  dvmd_clock_remove_timer (self->controller->clock, self->stop_timer);
  dvmd_clock_remove_timer (self->controller->clock, self->force_timer);
  g_hash_table_iter_init (&iter, self->launchers);
  while (g_hash_table_iter_next (&iter, &launcher, NULL))
    g_signal_handlers_disconnect_by_data (launcher, self);
  dvmd_controller_set_fence_tree (self->controller, NULL, NULL);
  dvmd_wired_close_departures (self);
  if (self->router != NULL)
    dvmd_router_stop (self->router);
  g_clear_object (&self->router);
  g_clear_object (&self->listener);
  g_clear_pointer (&self->tokens, dvmd_tokens_free);
  g_clear_pointer (&self->identity, dvmd_identity_unref);
  g_clear_pointer (&self->authority, dvmd_authority_unref);
  g_hash_table_unref (self->agents);
  g_hash_table_unref (self->launchers);
  g_hash_table_unref (self->launches);
  g_hash_table_unref (self->lost);
  dvmd_config_unref (self->config);
  g_free (self);
}
