/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The DVM tells this client alone: how a change of its size that the client asked for has ended, and that the time of
 * an allocation is soon over.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <string.h>

#include "dvm-client-private.h"

typedef enum
{
  READY,
  FAILED,
  WARNING,
  N_KINDS
} Kind;

typedef struct
{
  Kind kind;
  GVariant *parameters;
} Event;

static const struct
{
  const char *signal;
  const char *type;
} kinds[N_KINDS] = {
  [READY] = { "DvmIsReady", "(ssa{sv})" },
  [FAILED] = { "DvmModFailed", "(ssisa{sv})" },
  [WARNING] = { "AllocTimeoutWarning", "(ssu)" },
};

struct _DvmClientEvents
{
  DvmClient *client; /* unowned: it owns us */
  GDBusConnection *connection;
  guint subscriptions[N_KINDS];
  GHashTable *held; /* set: paths of campaigns and ids of allocations, whose caller has no answer yet */
  GQueue waiting;   /* Event, of those */
};

static void
event_free (gpointer data)
{
  Event *event = data;

  g_variant_unref (event->parameters);
  g_free (event);
}

/* The result is the subject of the event, (transfer full): the path of a campaign, or the id of an allocation */
static char *
get_subject (const Event *event)
{
  g_autoptr (GVariant) details = NULL;
  const char *subject = "/";

  if (event->kind == WARNING)
    {
      g_variant_get_child (event->parameters, 0, "&s", &subject);
      return g_strdup (subject);
    }
  details = g_variant_get_child_value (event->parameters, event->kind == FAILED ? 4 : 2);
  g_variant_lookup (details, "campaign", "&o", &subject);
  return g_strdup (subject);
}

static void
emit (DvmClient *client, const Event *event)
{
  g_autoptr (GVariant) details = NULL;
  const char *alloc_id, *req_id, *reason;
  guint seconds;
  int status;

  switch (event->kind)
    {
    case READY:
      g_variant_get (event->parameters, "(&s&s@a{sv})", &alloc_id, &req_id, &details);
      _dvm_client_emit_is_ready (client, alloc_id, req_id, details);
      break;
    case FAILED:
      g_variant_get (event->parameters, "(&s&si&s@a{sv})", &alloc_id, &req_id, &status, &reason, &details);
      _dvm_client_emit_mod_failed (client, alloc_id, req_id, status, reason, details);
      break;
    case WARNING:
      g_variant_get (event->parameters, "(&s&su)", &alloc_id, &req_id, &seconds);
      _dvm_client_emit_timeout_warning (client, alloc_id, req_id, seconds);
      break;
    default:
      g_assert_not_reached ();
    }
}

static void
on_event (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *name,
          GVariant *parameters, gpointer user_data)
{
  DvmClientEvents *self = user_data;
  Event event = { 0, parameters };
  g_autofree char *subject = NULL;

  while (strcmp (kinds[event.kind].signal, name) != 0)
    event.kind++;
  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE (kinds[event.kind].type)))
    return;
  subject = get_subject (&event);
  if (g_hash_table_contains (self->held, subject))
    {
      g_variant_ref (parameters);
      g_queue_push_tail (&self->waiting, g_memdup2 (&event, sizeof event));
    }
  else
    emit (self->client, &event);
}

void
_dvm_client_events_hold (DvmClientEvents *self, const char *campaign, const char *alloc_id)
{
  g_hash_table_add (self->held, g_strdup (campaign));
  if (alloc_id != NULL)
    g_hash_table_add (self->held, g_strdup (alloc_id));
}

/* (nullable) */
static Event *
take_event (DvmClientEvents *self, const char *campaign, const char *alloc_id)
{
  for (GList *l = self->waiting.head; l != NULL; l = l->next)
    {
      Event *event = l->data;
      g_autofree char *subject = get_subject (event);

      if (strcmp (subject, campaign) != 0 && g_strcmp0 (subject, alloc_id) != 0)
        continue;
      g_queue_delete_link (&self->waiting, l);
      return event;
    }
  return NULL;
}

void
_dvm_client_events_release (DvmClient *client, const char *campaign, const char *alloc_id)
{
  Event *event;

  if (client->events == NULL)
    return;
  g_hash_table_remove (client->events->held, campaign);
  if (alloc_id != NULL)
    g_hash_table_remove (client->events->held, alloc_id);
  /* A handler of the event may close the connection. */
  while (client->events != NULL && (event = take_event (client->events, campaign, alloc_id)) != NULL)
    {
      emit (client, event);
      event_free (event);
    }
}

DvmClientEvents *
_dvm_client_events_new (DvmClient *client)
{
  /* They are sent to this connection alone: no rule is needed. */
  const GDBusSignalFlags flags = G_DBUS_SIGNAL_FLAGS_NO_MATCH_RULE;
  DvmClientEvents *self = g_new0 (DvmClientEvents, 1);

  self->client = client;
  self->connection = g_object_ref (client->connection);
  self->held = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_queue_init (&self->waiting);
  for (gsize i = 0; i < N_KINDS; i++)
    self->subscriptions[i] = g_dbus_connection_signal_subscribe (self->connection, client->owner, DVM_MANAGER_INTERFACE,
                                                                 kinds[i].signal, DVM_MANAGER_PATH, NULL, flags,
                                                                 on_event, self, NULL);
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
