/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

#include "dvmd-pmix.h"

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
/*
 * No tool is let in any more. What has come from the library so far goes on to the tools; when they have it, func is
 * called, once, unless self is freed before. TRUE: they have it already, func is not called.
 */
gboolean dvmd_pmix_relay_finish (DvmdPmixRelay *self, DvmdPmixDone func, gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmixRelay, dvmd_pmix_relay_free)

G_END_DECLS
