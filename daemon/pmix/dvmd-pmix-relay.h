/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The door for tools: a port of this machine whose connections are carried on to the library's. libpmix 4.2.2 falls
 * over when a tool dies while it is being let in; here its connection lives until the library is done with it. And who
 * connects can be told from the connection, so that strangers do not come as far as the library.
 */

typedef struct _DvmdPmixRelay DvmdPmixRelay;

/* port: where the library listens. On the thread-default main context. */
DvmdPmixRelay *dvmd_pmix_relay_new (guint port, GError **error);
void dvmd_pmix_relay_free (DvmdPmixRelay *self);
guint dvmd_pmix_relay_get_port (DvmdPmixRelay *self);
/* Nobody is let in any more; who is there stays until the library closes. */
void dvmd_pmix_relay_close (DvmdPmixRelay *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmixRelay, dvmd_pmix_relay_free)

G_END_DECLS
