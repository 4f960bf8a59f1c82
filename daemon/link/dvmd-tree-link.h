/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-link.h"

G_BEGIN_DECLS

/* The link to a daemon that is somewhere in the tree. Made by the router, which sends for it and brings it messages. */

#define DVMD_TYPE_TREE_LINK (dvmd_tree_link_get_type ())
G_DECLARE_FINAL_TYPE (DvmdTreeLink, dvmd_tree_link, DVMD, TREE_LINK, DvmdLink)

typedef void (*DvmdTreeLinkSend) (gpointer user_data, guint32 peer, DvmdMessage *message);

DvmdLink *dvmd_tree_link_new (guint32 peer, DvmdTreeLinkSend send, gpointer user_data);
/* Messages that are sent over the link from now on are dropped. */
void dvmd_tree_link_cut (DvmdTreeLink *self);

G_END_DECLS
