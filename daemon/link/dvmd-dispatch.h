/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-message.h"

G_BEGIN_DECLS

/* The way of a message to the service that takes it: the services of a controller and of an agent list theirs in
 * tables. */

typedef struct
{
  DvmdMessageKind kind;
  /* source: rank of the sender */
  void (*handle) (gpointer service, guint source, GVariant *body);
} DvmdHandler;

typedef struct _DvmdDispatch DvmdDispatch;

DvmdDispatch *dvmd_dispatch_new (void);
void dvmd_dispatch_free (DvmdDispatch *self);
/* handlers: (nullable): the last one has no function. No kind has two. service: unowned */
void dvmd_dispatch_add (DvmdDispatch *self, const DvmdHandler *handlers, gpointer service);
/* FALSE: nobody takes messages of this kind. */
gboolean dvmd_dispatch_deliver (DvmdDispatch *self, DvmdMessage *message);

G_END_DECLS
