/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The bytes that a connection was given and has not written yet are counted.
 */

#include "config.h"

#include "dvmd-bus-unsent.h"

/* A message takes about this beside its body: twice the headers, and the objects around them. */
#define OVERHEAD 1024

/* Messages are dropped in a thread of GDBus: so atomics, and a reference of its own for each. */
struct _DvmdBusUnsent
{
  GMainContext *context;
  DvmdBusUnsentFunc func; /* (nullable): none yet, or released; main context alone */
  gpointer user_data;
  gsize bytes;
  guint written;
  gsize wanted;
  gint requested;
};

typedef struct
{
  DvmdBusUnsent *unsent;
  gsize bytes;
} Tag;

static void
unsent_clear (gpointer data)
{
  DvmdBusUnsent *self = data;

  g_main_context_unref (self->context);
}

static void
unsent_unref (gpointer data)
{
  g_atomic_rc_box_release_full (data, unsent_clear);
}

DvmdBusUnsent *
dvmd_bus_unsent_new (void)
{
  DvmdBusUnsent *self = g_atomic_rc_box_new0 (DvmdBusUnsent);

  self->context = g_main_context_ref_thread_default ();
  return self;
}

void
dvmd_bus_unsent_release (DvmdBusUnsent *self)
{
  self->func = NULL;
  unsent_unref (self);
}

static gboolean
on_reached (gpointer user_data)
{
  DvmdBusUnsent *self = user_data;

  if (self->func != NULL)
    self->func (self->user_data);
  return G_SOURCE_REMOVE;
}

/* Any thread. */
static void
check_request (DvmdBusUnsent *self)
{
  g_autoptr (GSource) source = NULL;

  if (dvmd_bus_unsent_get_bytes (self) > (gsize)g_atomic_pointer_get (&self->wanted)
      || !g_atomic_int_compare_and_exchange (&self->requested, TRUE, FALSE))
    return;
  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, on_reached, g_atomic_rc_box_acquire (self), unsent_unref);
  g_source_attach (source, self->context);
}

/* Any thread: the message is out, or its connection is closed. */
static void
tag_free (gpointer data)
{
  Tag *tag = data;

  g_atomic_pointer_add (&tag->unsent->bytes, -(gssize)tag->bytes);
  g_atomic_int_inc (&tag->unsent->written);
  check_request (tag->unsent);
  unsent_unref (tag->unsent);
  g_free (tag);
}

void
dvmd_bus_unsent_add (DvmdBusUnsent *self, GDBusMessage *message)
{
  GVariant *body = g_dbus_message_get_body (message);
  Tag *tag = g_new (Tag, 1);

  tag->unsent = g_atomic_rc_box_acquire (self);
  tag->bytes = OVERHEAD + (body != NULL ? g_variant_get_size (body) : 0);
  g_atomic_pointer_add (&self->bytes, (gssize)tag->bytes);
  g_object_set_qdata_full (G_OBJECT (message), g_quark_from_static_string ("dvmd-bus-unsent"), tag, tag_free);
}

gsize
dvmd_bus_unsent_get_bytes (DvmdBusUnsent *self)
{
  return (gsize)g_atomic_pointer_get (&self->bytes);
}

guint
dvmd_bus_unsent_get_written (DvmdBusUnsent *self)
{
  return g_atomic_int_get (&self->written);
}

void
dvmd_bus_unsent_request (DvmdBusUnsent *self, gsize bytes, DvmdBusUnsentFunc func, gpointer user_data)
{
  self->func = func;
  self->user_data = user_data;
  g_atomic_pointer_set (&self->wanted, bytes);
  g_atomic_int_set (&self->requested, TRUE);
  check_request (self);
}
