/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A link is one end of a connection between two daemons, over which messages go.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-link"

#include "dvmd-link.h"

typedef struct
{
  guint64 n_sent;
  guint64 n_received;
} DvmdLinkPrivate;

enum
{
  MESSAGE,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_BOXED_TYPE (DvmdMessage, dvmd_message, dvmd_message_ref, dvmd_message_unref)
G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (DvmdLink, dvmd_link, G_TYPE_OBJECT)

static void
dvmd_link_class_init (DvmdLinkClass *klass)
{
  signals[MESSAGE] = g_signal_new ("message", DVMD_TYPE_LINK, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                                   DVMD_TYPE_MESSAGE | G_SIGNAL_TYPE_STATIC_SCOPE);
}

static void
dvmd_link_init (DvmdLink *self)
{
}

void
dvmd_link_send (DvmdLink *self, DvmdMessage *message)
{
  DvmdLinkPrivate *priv = dvmd_link_get_instance_private (self);

  message->sequence = ++priv->n_sent;
  DVMD_LINK_GET_CLASS (self)->send (self, message);
}

guint64
dvmd_link_get_n_sent (DvmdLink *self)
{
  DvmdLinkPrivate *priv = dvmd_link_get_instance_private (self);

  return priv->n_sent;
}

guint64
dvmd_link_get_n_received (DvmdLink *self)
{
  DvmdLinkPrivate *priv = dvmd_link_get_instance_private (self);

  return priv->n_received;
}

void
dvmd_link_received (DvmdLink *self, DvmdMessage *message)
{
  DvmdLinkPrivate *priv = dvmd_link_get_instance_private (self);

  priv->n_received++;
  g_signal_emit (self, signals[MESSAGE], 0, message);
}
