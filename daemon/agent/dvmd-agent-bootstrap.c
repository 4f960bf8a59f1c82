/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An agent that nobody has started waits for its controller.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-bootstrap-private.h"

#include <dvm.h>
#include <string.h>

#include "dvmd-bootstrap.h"
#include "dvmd-connector.h"
#include "dvmd-hello.h"
#include "dvmd-router.h"

/* Before the second attempt, and whenever the controller says something new; then twice as long each time. */
#define FIRST_PAUSE (250 * G_TIME_SPAN_MILLISECOND)
/* How long the controller may take to answer. */
#define JOIN_LIMIT (30 * G_TIME_SPAN_SECOND)

struct _DvmdAgentBootstrap
{
  char *node;
  char *address;
  DvmdToken secret;
  DvmdMungeKeys *munge; /* (nullable): munge proves who the agent is, and secret is drawn for each attempt */
  gint64 heartbeat_timeout;
  gint64 longest_pause;
  DvmdAgentBootstrapJoined joined;
  gpointer user_data;

  DvmdClock *clock;
  GCancellable *joining;
  guint timer;
  gint64 pause;
  char *told; /* (nullable): why the last attempt has failed */
  DvmdIdentity *identity;
  DvmdWire *wire; /* (nullable): it has joined */
};

static void
on_pause_over (gpointer user_data)
{
  DvmdAgentBootstrap *self = user_data;

  self->timer = 0;
  dvmd_agent_bootstrap_start (self);
}

/* Agents that have begun to wait together do not come together each time. */
static void
wait (DvmdAgentBootstrap *self)
{
  gint64 pause = self->pause * g_random_int_range (75, 126) / 100;

  self->timer = dvmd_clock_add_timer (self->clock, pause, on_pause_over, self);
  self->pause = MIN (2 * self->pause, self->longest_pause);
}

static void
note_failure (DvmdAgentBootstrap *self, const GError *error)
{
  if (g_strcmp0 (error->message, self->told) == 0)
    return;
  g_free (self->told);
  self->told = g_strdup (error->message);
  self->pause = MIN (FIRST_PAUSE, self->longest_pause);
  g_message ("%s waits for its controller: %s", self->node, error->message);
}

static void
on_joined (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdAgentBootstrap *self;
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdWire) wire = dvmd_connect_finish (result, &error);
  g_autofree char *lines = NULL;
  g_auto (GStrv) arguments = NULL;

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  self = user_data;
  if (wire == NULL)
    {
      note_failure (self, error);
      wait (self);
      return;
    }
  self->wire = g_steal_pointer (&wire);
  dvmd_token_clear (&self->secret);
  lines = dvmd_connect_dup_arguments (result);
  arguments = g_strsplit (lines, "\n", -1);
  g_message ("%s has found its controller, and is let in as rank %u", self->node,
             dvmd_identity_get_rank (self->identity));
  self->joined (arguments, self->user_data);
}

/* A certificate is that of one DVM: each attempt has a key of its own. credential: (nullable) */
static void
join (DvmdAgentBootstrap *self, const char *credential)
{
  const char *const addresses[] = { self->address, NULL };
  DvmdConnectOptions options = { 0 };
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&self->identity, dvmd_identity_unref);
  self->identity = dvmd_identity_new (&error);
  if (self->identity == NULL)
    {
      note_failure (self, error);
      wait (self);
      return;
    }
  options.identity = self->identity;
  options.token = &self->secret;
  options.credential = credential;
  options.rank = DVMD_RANK_ANY;
  options.name = self->node;
  options.timeout = JOIN_LIMIT;
  options.wire.clock = self->clock;
  options.wire.body_type = dvmd_router_find_body_type;
  options.wire.heartbeat_timeout = self->heartbeat_timeout;
  dvmd_connect_async (addresses, &options, self->joining, on_joined, self);
}

/* ---- munge ---- */

static void
on_sealed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdAgentBootstrap *self;
  g_autoptr (GError) error = NULL;
  g_auto (DvmdToken) secret = { 0 };
  g_autofree char *credential = dvmd_munge_keys_seal_finish (result, &secret, &error);

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  self = user_data;
  if (credential == NULL)
    {
      g_prefix_error (&error, "munge does not prove who it is: ");
      note_failure (self, error);
      wait (self);
      return;
    }
  self->secret = secret;
  join (self, credential);
}

void
dvmd_agent_bootstrap_start (DvmdAgentBootstrap *self)
{
  if (self->munge != NULL)
    dvmd_munge_keys_seal_async (self->munge, self->joining, on_sealed, self);
  else
    join (self, NULL);
}

DvmdIdentity *
dvmd_agent_bootstrap_take_identity (DvmdAgentBootstrap *self)
{
  return g_steal_pointer (&self->identity);
}

DvmdWire *
dvmd_agent_bootstrap_take_wire (DvmdAgentBootstrap *self)
{
  return g_steal_pointer (&self->wire);
}

DvmdAgentBootstrap *
dvmd_agent_bootstrap_new (DvmdConfig *config, const char *node, DvmdAgentBootstrapJoined joined, gpointer user_data,
                          GError **error)
{
  g_autoptr (DvmdAgentBootstrap) self = g_new0 (DvmdAgentBootstrap, 1);
  gsize length = strlen (node);
  guint16 port;

  self->node = g_strdup (node);
  self->heartbeat_timeout = dvmd_config_get_usec (config, "heartbeat-timeout");
  self->longest_pause = dvmd_config_get_usec (config, "bootstrap-pause");
  self->joined = joined;
  self->user_data = user_data;
  self->clock = dvmd_clock_new_real (NULL);
  self->joining = g_cancellable_new ();
  if (length == 0 || length > DVMD_HELLO_MAX_NAME || !g_utf8_validate (node, -1, NULL))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "--node: the name of a node is UTF-8, of 1 to %u bytes; without it, it is that of this host",
                   DVMD_HELLO_MAX_NAME);
      return NULL;
    }
  if (!dvmd_bootstrap_parse_place (dvmd_config_get_string (config, "bootstrap-controller"), &self->address, &port,
                                   error)
      || !dvmd_bootstrap_choose_means (config, &self->secret, &self->munge, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
dvmd_agent_bootstrap_free (DvmdAgentBootstrap *self)
{
  g_cancellable_cancel (self->joining);
  dvmd_clock_remove_timer (self->clock, self->timer);
  dvmd_token_clear (&self->secret);
  g_clear_object (&self->wire);
  g_clear_pointer (&self->identity, dvmd_identity_unref);
  g_clear_object (&self->joining);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  g_free (self->told);
  g_clear_pointer (&self->munge, dvmd_munge_keys_unref);
  g_free (self->address);
  g_free (self->node);
  g_free (self);
}
