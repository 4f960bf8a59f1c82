/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * Signs on this machine that the job of the DVM may have ended: its file is gone, or one of the processes is below
 * which the DVM was started, such as the shell of a script. The scheduler alone knows whether it has.
 */
typedef struct _DvmdJobSigns DvmdJobSigns;

typedef void (*DvmdJobSign) (gpointer user_data);

/* file: (nullable): that is there as long as the job. seen: may be called several times */
DvmdJobSigns *dvmd_job_signs_new (const char *file, DvmdJobSign seen, gpointer user_data);
void dvmd_job_signs_free (DvmdJobSigns *self);

G_END_DECLS
