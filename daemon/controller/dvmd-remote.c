/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that are processes of their own, on this machine or on others.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote.h"

#include "dvmd-address.h"
#include "dvmd-bootstrap.h"
#include "dvmd-controller-fences.h"
#include "dvmd-secret.h"

/* How long an agent that is to leave may take, where nobody has said anything else (µs). */
#define SHRINK_GRACE (10 * G_TIME_SPAN_SECOND)

/* ---- the authority, the listener and the router are made when they are needed ---- */

static void
router_joined (gpointer user_data, guint32 rank, const char *name)
{
  dvmd_remote_joined (user_data, rank, name);
}

static void
router_lost (gpointer user_data, guint32 rank, guint32 reporter, const char *reason)
{
  dvmd_remote_link_lost (user_data, rank, reporter, reason);
}

static void
router_completed (gpointer user_data, guint64 number)
{
  dvmd_remote_completed (user_data, number);
}

static void
router_routes_changed (gpointer user_data, DvmdRoutes *routes)
{
  dvmd_remote_tell_places (user_data, routes);
}

static void
router_gathered (gpointer user_data, const char *key, GVariant *whole)
{
  dvmd_controller_gathered (((DvmdRemote *)user_data)->controller, key, whole);
}

static const DvmdRouterFuncs router_funcs = {
  .joined = router_joined,
  .lost = router_lost,
  .completed = router_completed,
  .routes_changed = router_routes_changed,
  .gathered = router_gathered,
};

static gboolean
is_without_tls (DvmdRemote *self)
{
  return g_str_equal (dvmd_config_get_string (self->config, "security"), "none");
}

static void
make_router (DvmdRemote *self)
{
  DvmdController *controller = self->controller;
  const DvmdRouterOptions options = {
    .rank = 0,
    .name = dvmd_controller_get_parts (controller)->host,
    .radix = self->radix,
    .clock = dvmd_controller_get_parts (controller)->clock,
    .identity = self->identity,
    .heartbeat_timeout = dvmd_config_get_usec (self->config, "heartbeat-timeout"),
  };

  self->router = dvmd_router_new (&options, &router_funcs, self, dvmd_controller_get_parts (controller)->context);
  dvmd_controller_set_fence_tree (controller, dvmd_router_get_fence_tree (), self->router);
}

static void
make_listener (DvmdRemote *self)
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

/* The authority: only links to other machines need one. */
static gboolean
make_authority (DvmdRemote *self, GError **error)
{
  if (self->authority != NULL)
    return TRUE;
  self->authority = dvmd_authority_new (dvmd_controller_get_parts (self->controller)->instance_id, error);
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
make_identity (DvmdRemote *self)
{
  guint8 link_key[DVMD_LINK_KEY_SIZE];

  self->identity = dvmd_identity_new_local ();
  dvmd_identity_set_name (self->identity, dvmd_controller_get_parts (self->controller)->instance_id, 0);
  dvmd_secret_draw (link_key, sizeof link_key);
  dvmd_identity_set_link_key (self->identity, link_key);
  explicit_bzero (link_key, sizeof link_key);
}

gboolean
dvmd_remote_open (DvmdRemote *self, GError **error)
{
  g_autofree char *path = g_build_filename (dvmd_controller_get_parts (self->controller)->runtime_dir, "link", NULL);

  if (self->listener != NULL)
    return TRUE;
  make_identity (self);
  make_router (self);
  make_listener (self);
  /* The agents of one that may come to other machines have certificates from the start. */
  return dvmd_listener_add_unix (self->listener, path, error)
         && (!dvmd_config_get_bool (self->config, "elastic") || make_authority (self, error));
}

/* Agents that nobody starts know one port. */
static gboolean
choose_meeting_port (DvmdRemote *self, DvmdTcpOptions *tcp, GError **error)
{
  const char *place = dvmd_config_get_string (self->config, "bootstrap-controller");

  if (!dvmd_bootstrap_parse_place (place, NULL, &tcp->first_port, error))
    return FALSE;
  tcp->last_port = tcp->first_port;
  return TRUE;
}

gboolean
dvmd_remote_open_tcp (DvmdRemote *self, GError **error)
{
  const char *const *addresses = dvmd_listener_get_addresses (self->listener);
  gboolean awaits = dvmd_remote_awaits (self);
  g_auto (DvmdTcpOptions) tcp = { 0 };

  for (gsize i = 0; addresses[i] != NULL; i++)
    if (g_str_has_prefix (addresses[i], "tcp:"))
      return TRUE;
  if (is_without_tls (self))
    g_message ("security=none: everybody on the network can read and change what goes between the daemons");
  if (!dvmd_tcp_options_parse (dvmd_config_get_string (self->config, "listen-address"),
                               dvmd_config_get_string (self->config, "listen-family"),
                               dvmd_config_get_string (self->config, "port-range"), &tcp, error)
      || (awaits && !choose_meeting_port (self, &tcp, error)) || !make_authority (self, error))
    return FALSE;
  if (dvmd_listener_add_tcp (self->listener, &tcp, error))
    return TRUE;
  if (awaits)
    g_prefix_error (error, "bootstrap-controller: ");
  return FALSE;
}

/* ---- the table ---- */

/* 0: it listens at a socket of this machine alone. */
static guint16
get_port (DvmdListener *listener)
{
  const char *const *addresses = dvmd_listener_get_addresses (listener);

  for (gsize i = 0; addresses[i] != NULL; i++)
    {
      g_autoptr (GSocketAddress) address = NULL;
      g_autofree char *host = NULL;
      guint16 port = 0;

      if (g_str_has_prefix (addresses[i], "tcp:") && dvmd_address_parse (addresses[i], &address, &host, &port, NULL))
        return port;
    }
  return 0;
}

static void
add_statistics (DvmdAgents *agents, GVariantBuilder *statistics)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  DvmdRouterStatistics router = { 0 };

  if (self->router != NULL)
    dvmd_router_get_statistics (self->router, &router);
  dvmd_services_add_number (statistics, "broadcasts", router.broadcasts);
  dvmd_services_add_number (statistics, "broadcast-bytes", router.broadcast_bytes);
  dvmd_services_add_number (statistics, "links-opened", router.links_opened);
  dvmd_services_add_number (statistics, "links-lost", router.links_lost);
  dvmd_services_add_number (statistics, "joins-refused",
                            self->listener != NULL ? dvmd_listener_get_n_refused (self->listener) : 0);
  dvmd_services_add_number (statistics, "listen-port", self->listener != NULL ? get_port (self->listener) : 0);
}

static gboolean
is_ending (DvmdAgents *agents)
{
  return ((DvmdRemote *)agents)->n_terminations > 0;
}

static void
remote_free (DvmdAgents *agents)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  GHashTableIter iter;
  gpointer launcher;

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->report_timer);
  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->lost.timer);
  g_hash_table_iter_init (&iter, self->launchers);
  while (g_hash_table_iter_next (&iter, &launcher, NULL))
    g_signal_handlers_disconnect_by_data (launcher, self);
  dvmd_remote_why_free (self->why, dvmd_controller_get_parts (self->controller)->clock);
  dvmd_remote_departures_free (self->departures);
  dvmd_remote_await_free (self->await, dvmd_controller_get_parts (self->controller)->clock);
  dvmd_remote_stop_free (self->stop, dvmd_controller_get_parts (self->controller)->clock);
  dvmd_remote_close_wirings (self);
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
  g_hash_table_unref (self->lost.untold);
  dvmd_config_unref (self->config);
  g_free (self);
}

static const DvmdAgentsFuncs funcs = {
  .free = remote_free,
  .launch = dvmd_remote_launch,
  .check_room = dvmd_remote_check_room,
  .wire = dvmd_remote_wire,
  .restart = dvmd_remote_restart,
  .see_off = dvmd_remote_see_off,
  .force = dvmd_remote_force,
  .dvm_ended = dvmd_remote_clean_up,
  .is_ending = is_ending,
  .reported = dvmd_remote_reported,
  .gone = dvmd_remote_gone,
  .left = dvmd_remote_left,
  .leaving = dvmd_remote_leaving,
  .ends_work = dvmd_remote_ends_work,
  .is_for_all = dvmd_remote_is_for_all,
  .broadcast = dvmd_remote_broadcast,
  .add_statistics = add_statistics,
};

DvmdAgents *
dvmd_remote_new (DvmdController *controller, const DvmdControllerSettings *settings)
{
  DvmdRemote *self = g_new0 (DvmdRemote, 1);

  self->parent.funcs = &funcs;
  self->controller = controller;
  self->config = dvmd_config_ref (settings->config);
  self->radix = settings->radix;
  self->tokens = dvmd_tokens_new (dvmd_controller_get_parts (controller)->clock);
  self->agents = g_hash_table_new_full (NULL, NULL, NULL, dvmd_agent_entry_unref);
  self->launchers = g_hash_table_new_full (NULL, NULL, g_object_unref, NULL);
  self->launches = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->grow_timeout = settings->size.grow_timeout;
  self->lost.untold = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_queue_init (&self->wirings);
  self->departures = dvmd_remote_departures_new (self, settings->size.shrink_grace > 0 ? settings->size.shrink_grace
                                                                                       : SHRINK_GRACE);
  self->stop = dvmd_remote_stop_new ();
  self->why = dvmd_remote_why_new ();
  return &self->parent;
}
