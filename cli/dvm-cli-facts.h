/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The answers of the DVM about a job that is placed.
 */

#pragma once

#include "dvm-cli-display.h"
#include "dvm-cli-machine.h"

G_BEGIN_DECLS

/* An answer that no word of --display needs is NULL. */
typedef struct
{
  GVariant *map;       /* a(uuussss) */
  GPtrArray *nodes;    /* DvmNode */
  GPtrArray *procs;    /* DvmProc */
  GPtrArray *machines; /* DvmCliMachine */
  GVariant *policies;  /* aa{sv}: apps, map-by, rank-by, bind-to */
} DvmCliFacts;

void dvm_cli_facts_clear (DvmCliFacts *facts);
/* (transfer full): of the nodes of the job, or those that the word names; NULL with an error: there is no such node */
GStrv dvm_cli_facts_list_nodes (const DvmCliFacts *facts, const char *named, GError **error);

/* (transfer full) (nullable): as elements of XML, for programs */
char *dvm_cli_facts_to_xml (const DvmCliFacts *facts, const DvmCliDisplay *display, GError **error);

G_END_DECLS
