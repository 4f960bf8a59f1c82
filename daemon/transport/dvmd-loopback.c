/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A pair of links within one process.
 */

#include "config.h"

#include "dvmd-loopback.h"

#include "dvmd-turn-source.h"

/* Messages delivered in one turn before other sources get theirs. */
#define MESSAGES_PER_TURN 64

struct _DvmdLoopback
{
  DvmdLink parent_instance;

  DvmdLoopback *peer; /* unowned, NULL when it is gone */
  GQueue incoming;    /* DvmdMessage */
  GSource *source;
};

G_DEFINE_FINAL_TYPE (DvmdLoopback, dvmd_loopback, DVMD_TYPE_LINK)

static void
wake (DvmdLoopback *self)
{
  if (self->source != NULL)
    dvmd_turn_source_request (self->source);
}

static void
loopback_send (DvmdLink *link, DvmdMessage *message)
{
  DvmdLoopback *peer = DVMD_LOOPBACK (link)->peer;

  if (peer == NULL || peer->source == NULL)
    return;
  g_queue_push_tail (&peer->incoming, dvmd_message_ref (message));
  wake (peer);
}

static void
detach (DvmdLoopback *self)
{
  if (self->peer != NULL)
    self->peer->peer = NULL;
  self->peer = NULL;
}

static gboolean
on_source (gpointer user_data)
{
  g_autoptr (DvmdLoopback) self = g_object_ref (user_data);

  for (guint i = 0; i < MESSAGES_PER_TURN && !g_queue_is_empty (&self->incoming); i++)
    {
      g_autoptr (DvmdMessage) message = g_queue_pop_head (&self->incoming);

      dvmd_link_received (DVMD_LINK (self), message);
    }
  if (!g_queue_is_empty (&self->incoming))
    wake (self);
  return self->source != NULL ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void
dvmd_loopback_dispose (GObject *object)
{
  DvmdLoopback *self = DVMD_LOOPBACK (object);

  detach (self);
  g_queue_clear_full (&self->incoming, (GDestroyNotify)dvmd_message_unref);
  g_clear_pointer (&self->source, dvmd_turn_source_free);
  G_OBJECT_CLASS (dvmd_loopback_parent_class)->dispose (object);
}

static void
dvmd_loopback_class_init (DvmdLoopbackClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = dvmd_loopback_dispose;
  DVMD_LINK_CLASS (klass)->send = loopback_send;
}

static void
dvmd_loopback_init (DvmdLoopback *self)
{
  g_queue_init (&self->incoming);
}

static DvmdLoopback *
new_end (GMainContext *context)
{
  DvmdLoopback *self = g_object_new (DVMD_TYPE_LOOPBACK, NULL);

  self->source = dvmd_turn_source_new (context, "dvmd loopback", on_source, self);
  return self;
}

void
dvmd_loopback_new_pair (GMainContext *context, DvmdLink **one, DvmdLink **other)
{
  DvmdLoopback *a = new_end (context);
  DvmdLoopback *b = new_end (context);

  a->peer = b;
  b->peer = a;
  *one = DVMD_LINK (a);
  *other = DVMD_LINK (b);
}
