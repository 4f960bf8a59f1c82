/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"
#include "dvmd-pmix.h"

G_BEGIN_DECLS

/*
 * The far end of a DvmdPmixServers: what the agent says over the link is called on pmix, and what pmix asks of its host
 * is said to the agent. Signal: ended (): the agent has gone, or wants no more of this server.
 */

#define DVMD_TYPE_PMIX_STUB (dvmd_pmix_stub_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPmixStub, dvmd_pmix_stub, DVMD, PMIX_STUB, GObject)

/*
 * fd is taken; pmix: reffed, not started; started (nullable): pmix is, and has its directory. Messages come on the
 * thread's default context of this call.
 */
DvmdPmixStub *dvmd_pmix_stub_new (int fd, DvmdPmix *pmix, DvmdClock *clock, void (*started) (const char *dir));

G_END_DECLS
