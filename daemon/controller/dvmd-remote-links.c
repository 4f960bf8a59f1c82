/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Links to agents that are processes: the authority, the listener and the router, which are made when they are needed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote.h"

#include "dvmd-secret.h"
#include "dvmd-controller-fences.h"

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

gboolean
dvmd_remote_open_tcp (DvmdRemote *self, GError **error)
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
