/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A peer is one connection on which the objects of the DVM are exported.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-behind.h"

/* More than MANY bytes that wait: what happens is gathered until there are FEW again. With MAX it is closed. */
#define MANY        (1024 * 1024)
#define FEW         (256 * 1024)
#define MAX_WAITING (64 * 1024 * 1024)
/* So many objects nobody has on its screen. */
#define MAX_BEHIND 200000
/* Nobody else is served meanwhile. */
#define SLICE         (3 * G_TIME_SPAN_MILLISECOND)
#define WATCH_SECONDS 1

static GQuark
peer_quark (void)
{
  return g_quark_from_static_string ("dvmd-bus-peer");
}

static void catch_up (gpointer user_data);

DvmdBusPeer *
dvmd_bus_peer_new (DvmdBusServer *server, GDBusConnection *connection, gboolean is_bus)
{
  DvmdBusPeer *self = g_rc_box_new0 (DvmdBusPeer);

  self->server = server;
  self->connection = g_object_ref (connection);
  self->is_bus = is_bus;
  self->backlog = dvmd_bus_backlog_new (catch_up, self);
  g_object_set_qdata (G_OBJECT (connection), peer_quark (), self);
  self->id = ++server->last_peer;
  self->name = g_strdup_printf ("%s:%u", is_bus ? "bus" : "private", self->id);
  self->objects = g_array_new (FALSE, FALSE, sizeof (guint));
  self->subtrees = g_array_new (FALSE, FALSE, sizeof (guint));
  if (is_bus)
    self->callers = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)dvmd_bus_caller_unref);
  else
    self->self = dvmd_bus_caller_new_private (self);
  return self;
}

DvmdBusPeer *
dvmd_bus_peer_ref (DvmdBusPeer *self)
{
  return g_rc_box_acquire (self);
}

static void
peer_clear (gpointer data)
{
  DvmdBusPeer *self = data;

  g_clear_pointer (&self->callers, g_hash_table_unref);
  g_clear_pointer (&self->self, dvmd_bus_caller_unref);
  g_clear_pointer (&self->limit, dvmd_bus_limit_unref);
  g_clear_pointer (&self->behind, dvmd_bus_behind_free);
  dvmd_bus_backlog_release (self->backlog);
  g_object_set_qdata (G_OBJECT (self->connection), peer_quark (), NULL);
  g_array_unref (self->objects);
  g_array_unref (self->subtrees);
  g_free (self->name);
  g_object_unref (self->connection);
}

void
dvmd_bus_peer_unref (DvmdBusPeer *self)
{
  g_rc_box_release_full (self, peer_clear);
}

gboolean
dvmd_bus_peer_export (DvmdBusPeer *self, GError **error)
{
  return dvmd_bus_object_manager_export (self, error) && dvmd_bus_manager_export (self, error)
         && dvmd_bus_subtree_export (&dvmd_bus_jobs, self, error)
         && dvmd_bus_subtree_export (&dvmd_bus_sessions, self, error)
         && dvmd_bus_subtree_export (&dvmd_bus_campaigns, self, error)
         && dvmd_bus_subtree_export (&dvmd_bus_nodes, self, error)
         && (self->is_bus || dvmd_bus_daemon_export (self, error));
}

static void
drop_callers (DvmdBusPeer *self)
{
  if (self->self != NULL)
    dvmd_bus_caller_leave (self->self);
  if (self->callers != NULL)
    {
      g_autoptr (GList) callers = g_hash_table_get_values (self->callers);

      for (GList *l = callers; l != NULL; l = l->next)
        dvmd_bus_caller_leave (l->data);
    }
}

void
dvmd_bus_peer_detach (DvmdBusPeer *self)
{
  g_autoptr (DvmdBusPeer) keep = dvmd_bus_peer_ref (self);

  if (self->server == NULL)
    return;
  drop_callers (self);
  self->server = NULL;
  g_clear_signal_handler (&self->closed_handler, self->connection);
  for (guint i = 0; i < self->objects->len; i++)
    g_dbus_connection_unregister_object (self->connection, g_array_index (self->objects, guint, i));
  for (guint i = 0; i < self->subtrees->len; i++)
    g_dbus_connection_unregister_subtree (self->connection, g_array_index (self->subtrees, guint, i));
  g_array_set_size (self->objects, 0);
  g_array_set_size (self->subtrees, 0);
}

DvmdBusPeer *
dvmd_bus_peer_of (GDBusConnection *connection)
{
  return g_object_get_qdata (G_OBJECT (connection), peer_quark ());
}

/* ---- those who read slowly, or not at all ---- */

static void
give_up (DvmdBusPeer *self, const char *why)
{
  if (self->given_up)
    return;
  self->given_up = TRUE;
  g_message ("%s does not read its messages (%s): closed", self->name, why);
  g_dbus_connection_close (self->connection, NULL, NULL, NULL);
}

void
dvmd_bus_peer_check_progress (DvmdBusPeer *self, gint64 timeout)
{
  guint written = dvmd_bus_backlog_get_written (self->backlog);
  gint64 now = g_get_monotonic_time ();
  g_autofree char *why = NULL;

  if (written != self->written || dvmd_bus_backlog_get_bytes (self->backlog) == 0)
    {
      self->written = written;
      self->written_at = now;
    }
  else if (self->is_bus)
    return; /* the bus sees to its own clients */
  else if (now - self->written_at >= timeout)
    {
      why = g_strdup_printf ("for %" G_GINT64_FORMAT " s", (now - self->written_at) / G_USEC_PER_SEC);
      give_up (self, why);
    }
}

/* While somebody is behind it is looked whether that one takes anything at all. */
static gboolean
on_watch (gpointer user_data)
{
  DvmdBusServer *server = user_data;
  g_autoptr (GPtrArray) peers = g_ptr_array_copy (server->peers, (GCopyFunc)dvmd_bus_peer_ref, NULL);
  gboolean any = FALSE;

  g_ptr_array_set_free_func (peers, (GDestroyNotify)dvmd_bus_peer_unref);
  for (guint i = 0; i < peers->len; i++)
    if (((DvmdBusPeer *)peers->pdata[i])->behind != NULL)
      {
        dvmd_bus_peer_check_progress (peers->pdata[i], server->timeout);
        any = TRUE;
      }
  if (!any)
    server->watch_timer = 0;
  return any;
}

void
dvmd_bus_peer_fall_behind (DvmdBusPeer *self)
{
  self->full = FALSE;
  if (self->behind != NULL || self->server == NULL)
    return;
  g_debug ("%s is behind: %zu bytes wait for it", self->name, dvmd_bus_backlog_get_bytes (self->backlog));
  self->behind = dvmd_bus_behind_new ();
  self->written = dvmd_bus_backlog_get_written (self->backlog);
  self->written_at = g_get_monotonic_time ();
  if (self->server->watch_timer == 0)
    self->server->watch_timer = g_timeout_add_seconds (WATCH_SECONDS, on_watch, self->server);
  if (self->n_lists == 0)
    dvmd_bus_backlog_request (self->backlog, FEW);
}

static void
catch_up (gpointer user_data)
{
  DvmdBusPeer *self = user_data;

  if (self->server == NULL || self->behind == NULL || self->n_lists > 0)
    return;
  if (dvmd_bus_behind_send (self->behind, self, MANY, g_get_monotonic_time () + SLICE))
    {
      g_clear_pointer (&self->behind, dvmd_bus_behind_free);
      self->full = FALSE;
    }
  else
    dvmd_bus_backlog_request (self->backlog, FEW);
}

void
dvmd_bus_peer_begin_list (DvmdBusPeer *self)
{
  self->n_lists++;
  dvmd_bus_peer_fall_behind (self);
}

void
dvmd_bus_peer_end_list (DvmdBusPeer *self)
{
  if (--self->n_lists == 0)
    dvmd_bus_backlog_request (self->backlog, FEW);
}

void
dvmd_bus_peer_send (DvmdBusPeer *self, GDBusMessage *message)
{
  g_autoptr (GError) error = NULL;
  gsize waiting = dvmd_bus_backlog_get_bytes (self->backlog);

  if (g_dbus_connection_is_closed (self->connection))
    return;
  dvmd_bus_backlog_add (self->backlog, message);
  if (!g_dbus_connection_send_message (self->connection, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, &error))
    g_debug ("%s: a message is lost: %s", self->name, error->message);
  self->full |= waiting > MANY;
  if (!self->is_bus && waiting > MAX_WAITING)
    give_up (self, "64 MiB wait for it");
  else if (self->behind != NULL && dvmd_bus_behind_get_size (self->behind) > MAX_BEHIND)
    give_up (self, "more jobs have come and gone than can be kept for it");
}

static void
send_signal (DvmdBusPeer *self, const char *destination, const char *path, const char *interface, const char *signal,
             GVariant *body)
{
  g_autoptr (GDBusMessage) message = g_dbus_message_new_signal (path, interface, signal);

  if (destination != NULL)
    g_dbus_message_set_destination (message, destination);
  g_dbus_message_set_body (message, body);
  if (self->said_hello)
    g_dbus_message_set_sender (message, DVMD_BUS_PRIVATE_UNIQUE_NAME);
  dvmd_bus_peer_send (self, message);
}

void
dvmd_bus_peer_send_signal (DvmdBusPeer *self, const char *path, const char *interface, const char *signal,
                           GVariant *body)
{
  g_autoptr (GVariant) whole = g_variant_ref_sink (body);
  gboolean hides = self->is_bus && self->server != NULL && self->server->hides;

  send_signal (self, NULL, path, interface, signal, hides ? dvmd_bus_hide_signal (interface, signal, whole) : whole);
}

void
dvmd_bus_peer_send_directed (DvmdBusPeer *self, const char *destination, const char *signal, GVariant *body)
{
  send_signal (self, destination, DVMD_BUS_MANAGER_PATH, dvmd_bus_manager.interface->name, signal, body);
}

gboolean
dvmd_bus_peer_is_subscribed (DvmdBusPeer *self)
{
  return self->n_subscriptions > 0 || self->saw_objects;
}
