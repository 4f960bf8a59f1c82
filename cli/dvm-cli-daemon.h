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

/* (transfer full): what a dvmd with these options prints before it ends at once */
char *dvm_cli_ask_dvmd (const char *const *options, GError **error);
/* (transfer full): the same, for what is no text */
GBytes *dvm_cli_ask_dvmd_bytes (const char *const *options, GError **error);

/* Waits until the process has ended; -1: without limit. FALSE: it still lives. pidfd: of any process */
gboolean dvm_cli_wait_gone (int pidfd, int timeout_ms);

/* A private dvmd that lives for one job. */
typedef struct _DvmCliEmbedded DvmCliEmbedded;

typedef enum
{
  DVM_CLI_EMBEDDED_LISTENS = 1 << 0, /* others find it by a name, too */
  DVM_CLI_EMBEDDED_QUIET = 1 << 1,   /* its messages are dropped */
} DvmCliEmbeddedFlags;

/* options: of dvmd, besides those that make it private; fd: (out): our end of the connection to it, the caller's */
DvmCliEmbedded *dvm_cli_embedded_new (const char *const *options, DvmCliEmbeddedFlags flags, int *fd, GError **error);
/* error: of a connection that failed; TRUE: what dvmd has refused to start for is in its place */
gboolean dvm_cli_embedded_explain (DvmCliEmbedded *self, GError **error);
/* (nullable): of one that listens */
const char *dvm_cli_embedded_get_name (DvmCliEmbedded *self);
/* (transfer full) (nullable): how it has ended by itself: "signal SIGKILL"; NULL: it has not */
char *dvm_cli_embedded_describe_end (DvmCliEmbedded *self);
/* Closes the connection and waits until the process is gone. */
void dvm_cli_embedded_free (DvmCliEmbedded *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliEmbedded, dvm_cli_embedded_free)

G_END_DECLS
