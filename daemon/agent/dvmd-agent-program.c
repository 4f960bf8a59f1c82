/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An agent that is a process of its own joins the DVM, has its place in the tree, and ends with its controller.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <dvm.h>
#include <glib/gstdio.h>

#include "dvmd-agent-bootstrap-private.h"
#include "dvmd-agent.h"
#include "dvmd-connector.h"
#include "dvmd-launcher.h"
#include "dvmd-leaving.h"
#include "dvmd-router.h"
#include "dvmd-runtime-dir.h"
#include "dvmd-transport-error.h"

/* How long the controller may take to let this agent in. */
#define JOIN_LIMIT (30 * G_TIME_SPAN_SECOND)
/* An agent that cannot begin has so long to say why. */
#define TELL_LIMIT (500 * G_TIME_SPAN_MILLISECOND)

struct _DvmdAgentProgram
{
  char **controller;
  char *instance;
  char *node;
  char *directory; /* (nullable): of the controller, on its machine; its own from when it is let in */
  char *topology;
  gboolean logical;
  DvmdConfig *config;
  DvmdAgentProgramEnded ended;
  gpointer user_data;

  DvmdToken token;
  DvmdClock *clock;
  DvmdRuntimeDir *dir; /* (nullable): of an agent that has none below its controller's */
  DvmdIdentity *identity;
  GCancellable *joining;
  DvmdListener *listener;
  DvmdRouter *router;
  DvmdAgent *agent;
  gint64 lost_since; /* monotonic: when the way to the controller was lost; -1: there is one */
  guint timer;       /* of that search, or of the end */
  gboolean done;     /* everything of the node has ended */
  gboolean leaving;
  DvmdLeaving *departure; /* by order of the controller */
  gboolean departed;
  gboolean over;
};

/* ---- the end ---- */

static void
tell_end (DvmdAgentProgram *self, int status)
{
  if (self->over)
    return;
  self->over = TRUE;
  self->ended (status, self->user_data);
}

static void
on_leave_limit (gpointer user_data)
{
  DvmdAgentProgram *self = user_data;

  self->timer = 0;
  g_message ("What runs on %s has not ended in time, and is ended with the agent", self->node);
  tell_end (self, EXIT_FAILURE);
}

/* The end may take what is left of the controller's grace. */
static gint64
get_grace (DvmdAgentProgram *self)
{
  gint64 grace = dvmd_config_get_usec (self->config, "controller-grace");

  return self->lost_since < 0 ? grace : MAX (0, self->lost_since + grace - dvmd_clock_monotonic (self->clock));
}

/* The guard above ends what is still there when this process has gone. */
void
dvmd_agent_program_leave (DvmdAgentProgram *self, const char *reason)
{
  gint64 grace = get_grace (self);

  if (self->done)
    {
      tell_end (self, EXIT_SUCCESS);
      return;
    }
  if (self->leaving)
    return;
  self->leaving = TRUE;
  g_message ("The agent of %s leaves: %s", self->node, reason);
  g_cancellable_cancel (self->joining);
  if (self->agent == NULL)
    {
      tell_end (self, EXIT_FAILURE);
      return;
    }
  dvmd_clock_remove_timer (self->clock, self->timer);
  self->timer = dvmd_clock_add_timer (self->clock, grace, on_leave_limit, self);
  dvmd_agent_leave (self->agent, reason, MIN (dvmd_config_get_usec (self->config, "kill-grace"), grace / 2));
}

static void
on_agent_ended (DvmdAgent *agent, gpointer user_data)
{
  DvmdAgentProgram *self = user_data;

  /* Told to go by the controller, it stays until it is not needed to pass things on any more. */
  self->done = TRUE;
  if (self->leaving)
    tell_end (self, EXIT_SUCCESS);
  else
    dvmd_leaving_work_ended (self->departure);
}

static void
on_agent_released (DvmdAgent *agent, gpointer user_data)
{
  tell_end (user_data, EXIT_SUCCESS);
}

/* ---- ordered to leave ---- */

static void
departure_end_work (gpointer user_data)
{
  DvmdAgentProgram *self = user_data;

  g_info ("The agent of %s leaves: the DVM goes on without it", self->node);
  if (self->agent != NULL)
    dvmd_agent_stop (self->agent, dvmd_config_get_usec (self->config, "kill-grace"));
}

static void
departure_say_left (gpointer user_data, guint32 uplink)
{
  dvmd_agent_say_left (((DvmdAgentProgram *)user_data)->agent, uplink);
}

/* Its own directory goes now: the process ends as it stands. */
static void
departure_exit (gpointer user_data)
{
  DvmdAgentProgram *self = user_data;

  if (self->over)
    return;
  self->departed = TRUE;
  g_clear_pointer (&self->dir, dvmd_runtime_dir_release);
  tell_end (self, EXIT_SUCCESS);
}

gboolean
dvmd_agent_program_has_departed (DvmdAgentProgram *self)
{
  return self->departed;
}

static const DvmdLeavingFuncs departure_funcs = {
  .end_work = departure_end_work,
  .say_left = departure_say_left,
  .exit = departure_exit,
};

static void
router_moved (gpointer user_data)
{
  DvmdAgentProgram *self = user_data;
  DvmdRouterDeparture departure;

  dvmd_router_get_departure (self->router, &departure);
  dvmd_leaving_set_unacknowledged (self->departure, departure.n_unacknowledged);
  dvmd_leaving_set_uplink (self->departure, departure.uplink);
  dvmd_leaving_set_below (self->departure, departure.n_below);
}

static void
router_leave (gpointer user_data)
{
  router_moved (user_data);
  dvmd_leaving_order (((DvmdAgentProgram *)user_data)->departure);
}

static void
on_told_to_leave (DvmdAgent *agent, gpointer user_data)
{
  dvmd_router_begin_leaving (((DvmdAgentProgram *)user_data)->router);
}

/* ---- a controller that cannot be reached ---- */

static void
on_search_over (gpointer user_data)
{
  DvmdAgentProgram *self = user_data;

  self->timer = 0;
  /* Ordered to leave, it does so and tells nobody. */
  if (dvmd_leaving_is_ordered (self->departure))
    dvmd_leaving_cut_off (self->departure);
  else
    dvmd_agent_program_leave (self, "the controller cannot be reached");
}

/* Half of the grace is for the search, half for the end of the processes. */
static void
router_cut_off (gpointer user_data, gint64 since)
{
  DvmdAgentProgram *self = user_data;
  gint64 end = since + dvmd_config_get_usec (self->config, "controller-grace") / 2;

  if (self->leaving)
    return;
  self->lost_since = since;
  dvmd_clock_remove_timer (self->clock, self->timer);
  self->timer = dvmd_clock_add_timer (self->clock, MAX (0, end - dvmd_clock_monotonic (self->clock)), on_search_over,
                                      self);
}

static void
router_way_found (gpointer user_data)
{
  DvmdAgentProgram *self = user_data;

  if (self->leaving)
    return;
  self->lost_since = -1;
  dvmd_clock_remove_timer (self->clock, self->timer);
  self->timer = 0;
}

static void
router_expelled (gpointer user_data)
{
  dvmd_agent_program_leave (user_data, "the DVM goes on without it");
}

/* The first place is always taken: of several nodes of one machine that one has the machine's name. */
static void
router_routes_changed (gpointer user_data, DvmdRoutes *routes)
{
  DvmdAgentProgram *self = user_data;

  /* Before there is an agent it has no place. */
  if (self->agent != NULL)
    dvmd_agent_set_first (self->agent,
                          dvmd_routes_get_n_members (routes) > 1
                              && dvmd_routes_get_rank (routes, 1) == dvmd_identity_get_rank (self->identity));
}

static const DvmdRouterFuncs router_funcs = {
  .routes_changed = router_routes_changed,
  .cut_off = router_cut_off,
  .way_found = router_way_found,
  .expelled = router_expelled,
  .leave = router_leave,
  .moved = router_moved,
};

/* ---- joining ---- */

/*
 * Below that of the controller; where it is elsewhere, as a DVM of its own. No name is used twice: an agent that has
 * lost its controller may still be cleaning up when the next DVM starts. Of one that is not let in nothing is there:
 * nobody would remove it, or the controller just then, after a campaign that has failed.
 */
static gboolean
make_directory (DvmdAgentProgram *self, GError **error)
{
  g_autofree char *name = dvmd_runtime_dir_build_agent_name (self->instance, dvmd_identity_get_rank (self->identity));
  g_autofree char *parent = g_steal_pointer (&self->directory);

  if (parent != NULL)
    {
      g_autofree char *sessions = g_build_filename (parent, name, "sessions", NULL);

      self->directory = g_build_filename (parent, name, NULL);
      /* The controller's own is not made anew: when it has gone the DVM has, and nobody would remove it. */
      if ((g_mkdir (self->directory, 0700) == 0 || errno == EEXIST)
          && (g_mkdir (sessions, 0700) == 0 || errno == EEXIST))
        return TRUE;
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "Could not make the directory %s: %s", sessions,
                   g_strerror (errno));
      return FALSE;
    }
  self->dir = dvmd_runtime_dir_acquire (name, NULL, error);
  if (self->dir == NULL)
    return FALSE;
  /* Of agents that died on this machine, with the files that jobs had brought along: these names do not come again. */
  dvmd_runtime_dir_sweep (self->dir, "agent-");
  self->directory = g_strdup (dvmd_runtime_dir_get_path (self->dir));
  return TRUE;
}

/* Whether other agents come that way: the controller itself can be reached there. */
static gboolean
comes_by (DvmdAgentProgram *self, const char *prefix)
{
  for (gsize i = 0; self->controller[i] != NULL; i++)
    if (g_str_has_prefix (self->controller[i], prefix))
      return TRUE;
  return FALSE;
}

/* One of this machine alone, for good, never shows a certificate: an elastic DVM may get others. */
static gboolean
make_identity (DvmdAgentProgram *self, GError **error)
{
  if (comes_by (self, "tcp:") || dvmd_config_get_bool (self->config, "elastic"))
    self->identity = dvmd_identity_new (error);
  else
    self->identity = dvmd_identity_new_local ();
  return self->identity != NULL;
}

/* Where other agents come to. */
static gboolean
listen (DvmdAgentProgram *self, GError **error)
{
  g_autofree char *path = g_build_filename (self->directory, "link", NULL);
  g_auto (DvmdTcpOptions) tcp = { 0 };
  DvmdListenerOptions options = { 0 };

  options.identity = self->identity;
  options.without_tls = g_str_equal (dvmd_config_get_string (self->config, "security"), "none");
  options.knows = dvmd_router_knows;
  options.knows_data = self->router;
  dvmd_router_get_wire_options (self->router, &options.wire);
  self->listener = dvmd_listener_new (&options);
  dvmd_router_set_listener (self->router, self->listener);
  if (comes_by (self, "unix:") && !dvmd_listener_add_unix (self->listener, path, error))
    return FALSE;
  if (!comes_by (self, "tcp:"))
    return TRUE;
  return dvmd_tcp_options_parse (dvmd_config_get_string (self->config, "listen-address"),
                                 dvmd_config_get_string (self->config, "listen-family"),
                                 dvmd_config_get_string (self->config, "port-range"), &tcp, error)
         && dvmd_listener_add_tcp (self->listener, &tcp, error);
}

/* Of PMIx servers, where nobody says how many: the processors, within these. */
#define MIN_PMIX_SERVERS 2
#define MAX_PMIX_SERVERS 8

/* There is always one at least: what libpmix does to itself must not be the agent's end. */
static guint
choose_pmix_servers (DvmdConfig *config)
{
  guint n = dvmd_config_get_uint (config, "pmix-servers");

  return n > 0 ? n : CLAMP (g_get_num_processors (), MIN_PMIX_SERVERS, MAX_PMIX_SERVERS);
}

static gboolean
start_agent (DvmdAgentProgram *self, GError **error)
{
  g_autofree char *nspace = g_strdup_printf ("dvm-%.8s", self->instance);
  g_autofree char *addresses = g_strjoinv (" ", (char **)dvmd_listener_get_addresses (self->listener));
  const DvmdAgentSettings settings = {
    .rank = dvmd_identity_get_rank (self->identity),
    .name = self->node,
    .dvm_nspace = nspace,
    .runtime_dir = self->directory,
    .addresses = addresses,
    .topology = self->topology,
    .logical = self->logical,
    .pmix_gds = dvmd_config_get_string (self->config, "pmix-gds"),
    .pmix_eager = g_str_equal (dvmd_config_get_string (self->config, "pmix"), "eager"),
    .pmix_servers = choose_pmix_servers (self->config),
    .pmix_tools = !g_str_equal (dvmd_config_get_string (self->config, "pmix-tools"), "none"),
    .pmix_everywhere = dvmd_config_get_bool (self->config, "elastic"),
    .pmix_system = g_str_equal (dvmd_config_get_string (self->config, "pmix-tools"), "system"),
    .adopt_orphans = TRUE,
  };

  self->agent = dvmd_agent_new (&settings, dvmd_router_get_link (self->router, 0), NULL, self->clock, NULL);
  dvmd_agent_set_fence_tree (self->agent, dvmd_router_get_fence_tree (), self->router);
  g_signal_connect (self->agent, "ended", G_CALLBACK (on_agent_ended), self);
  g_signal_connect (self->agent, "released", G_CALLBACK (on_agent_released), self);
  g_signal_connect (self->agent, "told-to-leave", G_CALLBACK (on_told_to_leave), self);
  return dvmd_agent_start (self->agent, error);
}

static void
make_router (DvmdAgentProgram *self)
{
  const DvmdRouterOptions options = {
    .rank = dvmd_identity_get_rank (self->identity),
    .name = self->node,
    .clock = self->clock,
    .identity = self->identity,
    .heartbeat_timeout = dvmd_config_get_usec (self->config, "heartbeat-timeout"),
    .controller_grace = dvmd_config_get_usec (self->config, "controller-grace"),
  };
  g_autofree char *controller = g_strjoinv (" ", self->controller);

  self->router = dvmd_router_new (&options, &router_funcs, self, NULL);
  dvmd_router_set_addresses (self->router, 0, controller);
}

static void
fail (DvmdAgentProgram *self, const GError *error)
{
  int status = DVMD_AGENT_EXIT_CONNECT;

  if (g_error_matches (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_VERSION))
    status = DVMD_AGENT_EXIT_VERSION;
  else if (g_error_matches (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION))
    status = DVMD_AGENT_EXIT_AUTHENTICATION;
  g_message ("%s", error->message);
  tell_end (self, status);
}

static void
on_told (gpointer user_data)
{
  DvmdAgentProgram *self = user_data;

  self->timer = 0;
  tell_end (self, EXIT_FAILURE);
}

/* The controller would only see that the link has gone: it hears why before that. */
static void
fail_there (DvmdAgentProgram *self, const GError *error)
{
  g_autoptr (DvmdMessage) message = dvmd_message_new (DVMD_MSG_LEAVING, dvmd_identity_get_rank (self->identity), 0,
                                                      g_variant_new ("(s)", error->message));

  g_message ("%s", error->message);
  self->leaving = TRUE;
  dvmd_link_send (dvmd_router_get_link (self->router, 0), message);
  self->timer = dvmd_clock_add_timer (self->clock, TELL_LIMIT, on_told, self);
}

static void
begin (DvmdAgentProgram *self, DvmdWire *wire)
{
  g_autoptr (GError) error = NULL;

  make_router (self);
  if (make_directory (self, &error) && listen (self, &error))
    {
      dvmd_router_take_wire (self->router, wire);
      if (start_agent (self, &error))
        return;
    }
  else
    dvmd_router_take_wire (self->router, wire);
  fail_there (self, error);
}

static void
on_joined (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdAgentProgram *self;
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdWire) wire = dvmd_connect_finish (result, &error);

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  self = user_data;
  dvmd_token_clear (&self->token);
  if (wire == NULL)
    {
      fail (self, error);
      return;
    }
  begin (self, wire);
}

void
dvmd_agent_program_start (DvmdAgentProgram *self, DvmdAgentBootstrap *bootstrap)
{
  DvmdConnectOptions options = { 0 };

  if (bootstrap != NULL)
    {
      g_autoptr (DvmdWire) wire = dvmd_agent_bootstrap_take_wire (bootstrap);

      dvmd_wire_set_heartbeat_timeout (wire, dvmd_config_get_usec (self->config, "heartbeat-timeout"));
      begin (self, wire);
      return;
    }
  options.identity = self->identity;
  options.token = &self->token;
  options.rank = self->token.rank;
  options.instance = self->instance;
  options.name = self->node;
  options.timeout = JOIN_LIMIT;
  /* The wire is this daemon's first: there is no router yet to ask for its options. */
  options.wire.clock = self->clock;
  options.wire.body_type = dvmd_router_find_body_type;
  options.wire.heartbeat_timeout = dvmd_config_get_usec (self->config, "heartbeat-timeout");
  dvmd_connect_async ((const char *const *)self->controller, &options, self->joining, on_joined, self);
}

/* ---- the object ---- */

/* The DVM and the rank are those of the certificate. */
static void
take_identity (DvmdAgentProgram *self, DvmdAgentBootstrap *bootstrap)
{
  self->identity = dvmd_agent_bootstrap_take_identity (bootstrap);
  self->instance = g_strdup (dvmd_identity_get_instance (self->identity));
  self->token.rank = dvmd_identity_get_rank (self->identity);
}

DvmdAgentProgram *
dvmd_agent_program_new (const DvmdAgentProgramSettings *settings, DvmdAgentProgramEnded ended, gpointer user_data,
                        GError **error)
{
  g_auto (DvmdToken) token = { 0 };
  DvmdAgentProgram *self;

  if (!dvmd_agent_prepare_environment (dvmd_config_get_string (settings->config, "pmix-gds"),
                                       dvmd_config_get_string (settings->config, "pmix-security"), error)
      || (settings->bootstrap == NULL && !dvmd_token_parse (settings->token, &token, error)))
    return NULL;
  self = g_new0 (DvmdAgentProgram, 1);
  self->controller = g_strdupv ((char **)settings->controller);
  self->instance = g_strdup (settings->instance);
  self->node = g_strdup (settings->node);
  self->topology = g_strdup (settings->topology);
  self->logical = settings->logical;
  self->config = dvmd_config_ref (settings->config);
  self->ended = ended;
  self->user_data = user_data;
  self->token = token;
  self->clock = dvmd_clock_new_real (NULL);
  self->joining = g_cancellable_new ();
  self->lost_since = -1;
  self->departure = dvmd_leaving_new (&departure_funcs, self);
  if (settings->bootstrap != NULL)
    take_identity (self, settings->bootstrap);
  self->directory = g_strdup (settings->runtime_dir);
  if (self->identity != NULL || make_identity (self, error))
    return self;
  dvmd_agent_program_free (self);
  return NULL;
}

void
dvmd_agent_program_free (DvmdAgentProgram *self)
{
  g_cancellable_cancel (self->joining);
  dvmd_clock_remove_timer (self->clock, self->timer);
  if (self->agent != NULL)
    g_signal_handlers_disconnect_by_data (self->agent, self);
  g_clear_object (&self->agent);
  g_clear_object (&self->listener);
  if (self->router != NULL)
    dvmd_router_stop (self->router);
  g_clear_object (&self->router);
  g_clear_pointer (&self->identity, dvmd_identity_unref);
  g_clear_pointer (&self->departure, dvmd_leaving_free);
  dvmd_token_clear (&self->token);
  g_clear_pointer (&self->dir, dvmd_runtime_dir_release);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  g_clear_pointer (&self->config, dvmd_config_unref);
  g_clear_object (&self->joining);
  g_strfreev (self->controller);
  g_free (self->instance);
  g_free (self->node);
  g_free (self->directory);
  g_free (self->topology);
  g_free (self);
}
