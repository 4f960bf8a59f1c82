/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What dvm-cli doctor has found: rows of node, check, verdict, text, and how to mend it.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

typedef enum
{
  DVM_CLI_VERDICT_OK,
  DVM_CLI_VERDICT_NOTE, /* works less well than it could */
  DVM_CLI_VERDICT_BAD,  /* does not work */
} DvmCliVerdict;

typedef struct _DvmCliFindings DvmCliFindings;

DvmCliFindings *dvm_cli_findings_new (void);
void dvm_cli_findings_free (DvmCliFindings *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliFindings, dvm_cli_findings_free)

/* node (nullable): this machine, as dvm-cli sees it; mend (nullable): NULL where text says what is known to help */
void dvm_cli_findings_add (DvmCliFindings *self, const char *node, const char *check, DvmCliVerdict verdict,
                           const char *text, const char *mend);
/*
 * The lines of `dvm-agent --check` on many nodes, which were asked between the two times (µs). Others are passed over:
 * a login shell may print what it likes. Returns how many nodes have told all.
 */
guint dvm_cli_findings_add_lines (DvmCliFindings *self, const char *lines, gint64 before, gint64 after);
gboolean dvm_cli_findings_has_bad (DvmCliFindings *self);
gboolean dvm_cli_findings_print (DvmCliFindings *self, DvmCli *cli, GError **error);

/* (transfer full): in the language of the reader, if it is one of the texts of agents; else as it is */
char *dvm_cli_findings_translate (const char *text);

G_END_DECLS
