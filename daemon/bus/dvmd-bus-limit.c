/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many calls of other users a bus may have under way here: everybody may call on the system bus, and what has been
 * read waits in the main loop until it is served, while nobody else is.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-limit.h"

/* Of one sender; with MANY of all that are not known to be the owner's each may have FEW, so that a new one is heard,
 * too. A call may take half a millisecond, and all of them are served in one turn. */
#define MAX_OF_ONE 64
#define MANY       64
#define FEW        2
/* Descriptors that have come with calls of others: a few of 1,024 that a process may have. */
#define MAX_FDS 64

static GQuark
call_quark (void)
{
  return g_quark_from_static_string ("dvmd-bus-limit");
}

/* The filter runs in the thread of GDBus, and calls are dropped in any. */
struct _DvmdBusLimit
{
  GMutex lock;
  GHashTable *senders; /* unique name -> Sender */
  guint n_calls;
  guint n_fds;
};

typedef struct
{
  gboolean trusted;
  guint n_calls;
} Sender;

/* One call that waits to be served; at the latest until its message goes. */
typedef struct
{
  DvmdBusLimit *limit;
  char *sender;
  guint n_fds;
} Call;

static void
limit_clear (gpointer data)
{
  DvmdBusLimit *self = data;

  g_hash_table_unref (self->senders);
  g_mutex_clear (&self->lock);
}

void
dvmd_bus_limit_unref (DvmdBusLimit *self)
{
  g_atomic_rc_box_release_full (self, limit_clear);
}

/* Locked. */
static Sender *
get_sender (DvmdBusLimit *self, const char *name)
{
  Sender *sender = g_hash_table_lookup (self->senders, name);

  if (sender != NULL)
    return sender;
  sender = g_new0 (Sender, 1);
  g_hash_table_insert (self->senders, g_strdup (name), sender);
  return sender;
}

static void
call_free (gpointer data)
{
  Call *call = data;
  DvmdBusLimit *self = call->limit;
  Sender *sender;

  g_mutex_lock (&self->lock);
  self->n_calls--;
  self->n_fds -= call->n_fds;
  sender = g_hash_table_lookup (self->senders, call->sender);
  if (sender != NULL && --sender->n_calls == 0 && !sender->trusted)
    g_hash_table_remove (self->senders, call->sender);
  g_mutex_unlock (&self->lock);
  g_free (call->sender);
  g_free (call);
  dvmd_bus_limit_unref (self);
}

/* Locked. */
static gboolean
has_room (DvmdBusLimit *self, GDBusMessage *message, const Sender *sender)
{
  guint limit = self->n_calls < MANY ? MAX_OF_ONE : FEW;

  if (sender->n_calls >= limit)
    return FALSE;
  return self->n_fds + g_dbus_message_get_num_unix_fds (message) <= MAX_FDS;
}

/* FALSE: it is too much. */
static gboolean
enter (DvmdBusLimit *self, GDBusMessage *message)
{
  const char *name = g_dbus_message_get_sender (message);
  Sender *sender;
  Call *call;
  gboolean room;

  g_mutex_lock (&self->lock);
  sender = get_sender (self, name != NULL ? name : "");
  room = sender->trusted || has_room (self, message, sender);
  if (room && !sender->trusted)
    {
      call = g_new0 (Call, 1);
      call->limit = g_atomic_rc_box_acquire (self);
      call->sender = g_strdup (name != NULL ? name : "");
      call->n_fds = g_dbus_message_get_num_unix_fds (message);
      sender->n_calls++;
      self->n_calls++;
      self->n_fds += call->n_fds;
      g_object_set_qdata_full (G_OBJECT (message), call_quark (), call, call_free);
    }
  else if (!room && sender->n_calls == 0)
    g_hash_table_remove (self->senders, name != NULL ? name : "");
  g_mutex_unlock (&self->lock);
  return room;
}

static void
refuse (GDBusConnection *connection, GDBusMessage *message)
{
  g_autoptr (GDBusMessage) error = NULL;

  if ((g_dbus_message_get_flags (message) & G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED) != 0)
    return;
  error = g_dbus_message_new_method_error_literal (
      message, "org.freedesktop.DBus.Error.LimitsExceeded",
      "Too many calls wait for their answers: send the next ones when these have come");
  g_dbus_connection_send_message (connection, error, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL);
}

/* Calls that submit jobs have them; what else they come with is closed, and not kept as long as the call. */
static GDBusMessage *
without_fds (GDBusMessage *message)
{
  GDBusMessage *copy;

  if (g_dbus_message_get_num_unix_fds (message) == 0
      || g_str_has_prefix (g_dbus_message_get_member (message), "Submit"))
    return message;
  copy = g_dbus_message_copy (message, NULL);
  g_dbus_message_set_unix_fd_list (copy, NULL);
  g_object_unref (message);
  return copy;
}

static GDBusMessage *
filter (GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer user_data)
{
  if (!incoming || g_dbus_message_get_message_type (message) != G_DBUS_MESSAGE_TYPE_METHOD_CALL)
    return message;
  message = without_fds (message);
  if (message == NULL || enter (user_data, message))
    return message;
  refuse (connection, message);
  g_object_unref (message);
  return NULL;
}

DvmdBusLimit *
dvmd_bus_limit_new (GDBusConnection *connection)
{
  DvmdBusLimit *self = g_atomic_rc_box_new0 (DvmdBusLimit);

  g_mutex_init (&self->lock);
  self->senders = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_dbus_connection_add_filter (connection, filter, g_atomic_rc_box_acquire (self),
                                (GDestroyNotify)dvmd_bus_limit_unref);
  return self;
}

void
dvmd_bus_limit_serve (GDBusMethodInvocation *invocation)
{
  g_object_set_qdata (G_OBJECT (g_dbus_method_invocation_get_message (invocation)), call_quark (), NULL);
}

void
dvmd_bus_limit_trust (DvmdBusLimit *self, const char *name)
{
  g_mutex_lock (&self->lock);
  get_sender (self, name)->trusted = TRUE;
  g_mutex_unlock (&self->lock);
}

void
dvmd_bus_limit_forget (DvmdBusLimit *self, const char *name)
{
  Sender *sender;

  g_mutex_lock (&self->lock);
  sender = g_hash_table_lookup (self->senders, name);
  if (sender != NULL)
    sender->trusted = FALSE;
  if (sender != NULL && sender->n_calls == 0)
    g_hash_table_remove (self->senders, name);
  g_mutex_unlock (&self->lock);
}
