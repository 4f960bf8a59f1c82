/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the DVM says to this client alone: how a change of its size that the client asked for has ended.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <string.h>

#include "dvm-client-private.h"

typedef struct
{
  gboolean failed;
  GVariant *parameters;
} Event;

struct _DvmClientEvents
{
  DvmClient *client; /* unowned: it owns us */
  GDBusConnection *connection;
  guint subscriptions[2];
  GHashTable *held; /* set of paths of campaigns whose caller has no answer yet */
  GQueue waiting;   /* Event, of those */
};

static void
event_free (gpointer data)
{
  Event *event = data;

  g_variant_unref (event->parameters);
  g_free (event);
}

/* (transfer full): "/" if it is not said */
static char *
get_campaign (const Event *event)
{
  g_autoptr (GVariant) details = g_variant_get_child_value (event->parameters, event->failed ? 4 : 2);
  const char *path = "/";

  g_variant_lookup (details, "campaign", "&o", &path);
  return g_strdup (path);
}

static void
emit (DvmClient *client, const Event *event)
{
  g_autoptr (GVariant) details = NULL;
  const char *alloc_id, *req_id, *reason;
  int status;

  if (event->failed)
    {
      g_variant_get (event->parameters, "(&s&si&s@a{sv})", &alloc_id, &req_id, &status, &reason, &details);
      _dvm_client_emit_mod_failed (client, alloc_id, req_id, status, reason, details);
    }
  else
    {
      g_variant_get (event->parameters, "(&s&s@a{sv})", &alloc_id, &req_id, &details);
      _dvm_client_emit_is_ready (client, alloc_id, req_id, details);
    }
}

static void
on_event (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *name,
          GVariant *parameters, gpointer user_data)
{
  DvmClientEvents *self = user_data;
  Event event = { strcmp (name, "DvmModFailed") == 0, parameters };
  g_autofree char *campaign = NULL;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE (event.failed ? "(ssisa{sv})" : "(ssa{sv})")))
    return;
  campaign = get_campaign (&event);
  if (g_hash_table_contains (self->held, campaign))
    {
      g_variant_ref (parameters);
      g_queue_push_tail (&self->waiting, g_memdup2 (&event, sizeof event));
    }
  else
    emit (self->client, &event);
}

void
_dvm_client_events_hold (DvmClientEvents *self, const char *campaign)
{
  g_hash_table_add (self->held, g_strdup (campaign));
}

static Event *
take_event (DvmClientEvents *self, const char *campaign)
{
  for (GList *l = self->waiting.head; l != NULL; l = l->next)
    {
      Event *event = l->data;
      g_autofree char *path = get_campaign (event);

      if (strcmp (path, campaign) != 0)
        continue;
      g_queue_delete_link (&self->waiting, l);
      return event;
    }
  return NULL;
}

void
_dvm_client_events_release (DvmClient *client, const char *campaign)
{
  Event *event;

  if (client->events == NULL)
    return;
  g_hash_table_remove (client->events->held, campaign);
  event = take_event (client->events, campaign);
  if (event == NULL)
    return;
  emit (client, event);
  event_free (event);
}

DvmClientEvents *
_dvm_client_events_new (DvmClient *client)
{
  /* They are sent to this connection alone: no rule is needed. */
  const GDBusSignalFlags flags = G_DBUS_SIGNAL_FLAGS_NO_MATCH_RULE;
  const char *const names[] = { "DvmIsReady", "DvmModFailed" };
  DvmClientEvents *self = g_new0 (DvmClientEvents, 1);

  self->client = client;
  self->connection = g_object_ref (client->connection);
  self->held = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_queue_init (&self->waiting);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    self->subscriptions[i] = g_dbus_connection_signal_subscribe (self->connection, client->owner, DVM_MANAGER_INTERFACE,
                                                                 names[i], DVM_MANAGER_PATH, NULL, flags, on_event,
                                                                 self, NULL);
  return self;
}

void
_dvm_client_events_free (DvmClientEvents *self)
{
  for (gsize i = 0; i < G_N_ELEMENTS (self->subscriptions); i++)
    g_dbus_connection_signal_unsubscribe (self->connection, self->subscriptions[i]);
  g_object_unref (self->connection);
  g_hash_table_unref (self->held);
  g_queue_clear_full (&self->waiting, event_free);
  g_free (self);
}
