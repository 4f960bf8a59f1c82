/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <sys/uio.h>

#include "dvmd-frame.h"

G_BEGIN_DECLS

/*
 * The frames that wait to be sent over a link, by priority and in their order. They are written from where their bodies
 * lie:
 *
 *   n = dvmd_outbox_peek (outbox, vector, N);   what is to go next
 *   ... write it ...
 *   dvmd_outbox_take (outbox, written);         so much of it has gone
 */

typedef struct _DvmdOutbox DvmdOutbox;

typedef enum
{
  DVMD_WIRE_CONTROL, /* before all bulk that has not begun to go */
  DVMD_WIRE_BULK,    /* bounded by the link */
} DvmdWirePriority;

DvmdOutbox *dvmd_outbox_new (void);
void dvmd_outbox_free (DvmdOutbox *self);

/* header is copied; body (nullable): what comes after it. */
void dvmd_outbox_add (DvmdOutbox *self, DvmdWirePriority priority, const guint8 *header, GVariant *body);
gboolean dvmd_outbox_is_empty (DvmdOutbox *self);
/* Bytes of the frames that have not gone altogether. */
gsize dvmd_outbox_get_size (DvmdOutbox *self, DvmdWirePriority priority);

/* How many places were filled in; none is empty. Valid until the next call. */
guint dvmd_outbox_peek (DvmdOutbox *self, struct iovec *vector, guint n);
/* Returns how many packets have gone with it; frames of the link's own do not count. */
guint dvmd_outbox_take (DvmdOutbox *self, gsize n_bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdOutbox, dvmd_outbox_free)

G_END_DECLS
