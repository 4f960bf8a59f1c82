/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-bus-private.h"

G_BEGIN_DECLS

/*
 * An object of which there are few: the manager, a session, a campaign. Its values are compared with those that were
 * sent last, so that whoever says "something has changed" need not know what.
 */

typedef struct
{
  const DvmdBusClass *klass;
  gpointer object; /* (nullable): a GObject; NULL: the manager */
  guint id;
  char *path;
  DvmdBusPeer *owner; /* (nullable) borrowed: the private connection that asked for it */
  gboolean added;     /* not told of yet */
  gboolean ended;     /* leaves the object manager */
  gboolean queued;
  GArray *states;  /* DvmdBusWordChange */
  GVariant **sent; /* by the properties of the interface; NULL for those that are not told of */
} DvmdBusWatched;

typedef struct
{
  char *old_state;
  char *new_state;
  char *reason;
} DvmdBusWordChange;

/* folder: (nullable) of the path, which is that of the manager if it is NULL */
DvmdBusWatched *dvmd_bus_watched_new (const DvmdBusClass *klass, const char *folder, guint id, gpointer object);
void dvmd_bus_watched_free (DvmdBusWatched *self);
/* Takes the present values as sent. */
void dvmd_bus_watched_reset (DvmdBusWatched *self, DvmdBusServer *server);
/*
 * (transfer floating) (nullable): a{sv} of what differs, which counts as sent from now on; NULL for nothing.
 * with_counters FALSE leaves the counters for the next time and says so in left.
 */
GVariant *dvmd_bus_watched_take (DvmdBusWatched *self, DvmdBusServer *server, gboolean with_counters, gboolean *left);
/* (transfer floating): a{sv} of all that has been sent last */
GVariant *dvmd_bus_watched_get_sent (DvmdBusWatched *self);
void dvmd_bus_watched_add_state (DvmdBusWatched *self, const char *old_state, const char *new_state,
                                 const char *reason);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusWatched, dvmd_bus_watched_free)

G_END_DECLS
