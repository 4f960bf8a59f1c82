/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tree link is the link to a daemon that is somewhere in the tree.
 */

#include "config.h"

#include "dvmd-tree-link.h"

struct _DvmdTreeLink
{
  DvmdLink parent_instance;

  guint32 peer;
  DvmdTreeLinkSend send; /* NULL when it is cut */
  gpointer user_data;
};

G_DEFINE_FINAL_TYPE (DvmdTreeLink, dvmd_tree_link, DVMD_TYPE_LINK)

static void
tree_link_send (DvmdLink *link, DvmdMessage *message)
{
  DvmdTreeLink *self = DVMD_TREE_LINK (link);

  if (self->send != NULL)
    self->send (self->user_data, self->peer, message);
}

static void
dvmd_tree_link_class_init (DvmdTreeLinkClass *klass)
{
  DVMD_LINK_CLASS (klass)->send = tree_link_send;
}

static void
dvmd_tree_link_init (DvmdTreeLink *self)
{
}

DvmdLink *
dvmd_tree_link_new (guint32 peer, DvmdTreeLinkSend send, gpointer user_data)
{
  DvmdTreeLink *self = g_object_new (DVMD_TYPE_TREE_LINK, NULL);

  self->peer = peer;
  self->send = send;
  self->user_data = user_data;
  return DVMD_LINK (self);
}

void
dvmd_tree_link_cut (DvmdTreeLink *self)
{
  self->send = NULL;
}
