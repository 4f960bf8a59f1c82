/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-remote.h"

G_BEGIN_DECLS

/*
 * The PMIx server of a node as several processes, each with a libpmix of its own: what the library does to itself ends
 * with the process. Jobs that one another has spawned share a server; others get one of their own, as long as there are
 * fewer than n_servers. A server in which a rank went without PMIx_Finalize, or that has grown, gets no new jobs and
 * ends with its last one; one that crashes or does not answer takes the jobs along that had clients there, and nothing
 * else. Servers of one node work together as those of two nodes do.
 */

#define DVMD_TYPE_PMIX_SERVERS (dvmd_pmix_servers_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPmixServers, dvmd_pmix_servers, DVMD, PMIX_SERVERS, GObject)

/* starter: static; starter_data: lives longer. n_servers: at least 1. */
DvmdPmix *dvmd_pmix_servers_new (const DvmdPmixStarter *starter, gpointer starter_data, DvmdClock *clock,
                                 guint n_servers);

G_END_DECLS
