/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-message.h"

G_BEGIN_DECLS

/*
 * One end of a connection between two daemons. Messages arrive whole, in their order, from the main loop, never from
 * within a call of the link. Signal: message (DvmdMessage).
 */

#define DVMD_TYPE_LINK (dvmd_link_get_type ())
G_DECLARE_DERIVABLE_TYPE (DvmdLink, dvmd_link, DVMD, LINK, GObject)

struct _DvmdLinkClass
{
  GObjectClass parent_class;

  void (*send) (DvmdLink *self, DvmdMessage *message);
};

/* Where the other end has gone, messages go nowhere. */
void dvmd_link_send (DvmdLink *self, DvmdMessage *message);
guint64 dvmd_link_get_n_sent (DvmdLink *self);
guint64 dvmd_link_get_n_received (DvmdLink *self);

/* For the kinds of link. */
void dvmd_link_received (DvmdLink *self, DvmdMessage *message);

GType dvmd_message_get_type (void);
#define DVMD_TYPE_MESSAGE (dvmd_message_get_type ())

G_END_DECLS
