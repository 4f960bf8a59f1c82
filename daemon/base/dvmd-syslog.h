/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-log.h"

G_BEGIN_DECLS

/* The syslog of this machine, at /dev/log. */

/* FALSE with DVM_ERROR_NOT_SUPPORTED: nobody listens there. */
gboolean dvmd_syslog_is_there (GError **error);
/*
 * One message of the facility "user" with its subject in front; priority: LOG_EMERG to LOG_DEBUG. TRUE: the syslog has
 * it; DVM_ERROR_NOT_READY: it does not take it now, and nobody waits for that.
 */
gboolean dvmd_syslog_write (guint priority, const DvmdLogSubject *subject, const char *text, GError **error);

G_END_DECLS
