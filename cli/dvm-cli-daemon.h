/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Programs of the DVM that dvm-cli starts itself.
 */

#pragma once

#include <sys/types.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* (transfer full): the path of dvmd: $DVM_DVMD, beside dvm-cli, in the build tree, or where it was installed */
char *dvm_cli_find_dvmd (GError **error);

/* Waits until the process has ended; -1: without limit. FALSE: it still lives. pidfd: of any process */
gboolean dvm_cli_wait_gone (int pidfd, int timeout_ms);

/* A private dvmd that lives for one job. */
typedef struct _DvmCliEmbedded DvmCliEmbedded;

/* pmix: its job will need the PMIx server; fd: (out): our end of the connection to it, the caller's */
DvmCliEmbedded *dvm_cli_embedded_new (DvmCli *cli, gboolean pmix, int *fd, GError **error);
/* Closes the connection and waits until the process is gone. */
void dvm_cli_embedded_free (DvmCliEmbedded *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliEmbedded, dvm_cli_embedded_free)

G_END_DECLS
