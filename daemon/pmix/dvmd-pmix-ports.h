/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>
#include <sys/types.h>

G_BEGIN_DECLS

/*
 * The ports on which a PMIx server listens, held for it: when it crashes, ranks that have not connected yet have its
 * address in their environment, and another user of the node could listen there. Whoever connects then is turned away.
 */

typedef struct _DvmdPmixPorts DvmdPmixPorts;

/* (nullable): there are none, or the system does not let us take them */
DvmdPmixPorts *dvmd_pmix_ports_take (pid_t pid);
/*
 * The process that listened there has ended: from now on connections are closed, in the thread's default main context,
 * and each is told of.
 */
void dvmd_pmix_ports_guard (DvmdPmixPorts *self, void (*refused) (gpointer user_data), gpointer user_data);
void dvmd_pmix_ports_free (DvmdPmixPorts *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmixPorts, dvmd_pmix_ports_free)

G_END_DECLS
