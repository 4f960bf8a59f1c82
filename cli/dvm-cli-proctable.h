/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The processes of a job, for a debugger that attaches to them: run --output-proctable.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

typedef struct _DvmCliProctable DvmCliProctable;

/* Whether the command line asks for it. FALSE with an error: in a way that cannot be, or to a place where no file can
 * be */
gboolean dvm_cli_proctable_is_given (DvmCli *cli, GError **error);

/*
 * It is written from the main loop as soon as all processes have been started, and once. The job is watched; spec,
 * which says what its programs are, lives as long.
 */
DvmCliProctable *dvm_cli_proctable_new (DvmCli *cli, DvmClient *client, DvmJob *job, DvmJobSpec *spec);
void dvm_cli_proctable_free (DvmCliProctable *self);
/* The job has ended: waits until what is to be written is. FALSE: it could not be, which has been told */
gboolean dvm_cli_proctable_finish (DvmCliProctable *self);

G_END_DECLS
