/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The DVM behind the page: found, found again when it has gone, and read as often as somebody looks.
 */

#pragma once

#include "dvm-cli-web-state.h"

G_BEGIN_DECLS

typedef struct _DvmCliWebSource DvmCliWebSource;

/* The model is as new as the DVM, or there is news of the connection. */
typedef void (*DvmCliWebSourceFunc) (gpointer user_data);

/* client: need not be connected; borrowed, as model is, and both outlive it */
DvmCliWebSource *dvm_cli_web_source_new (DvmClient *client, DvmCliWatchModel *model, DvmCliWebSourceFunc func,
                                         gpointer user_data);
void dvm_cli_web_source_free (DvmCliWebSource *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliWebSource, dvm_cli_web_source_free)

/* Whether somebody looks all the time; else the DVM is asked rarely. */
void dvm_cli_web_source_set_watched (DvmCliWebSource *self, gboolean watched);
/* Reads the DVM, unless that was done right now. TRUE: func will be called; FALSE: the model is as new as it can be */
gboolean dvm_cli_web_source_refresh (DvmCliWebSource *self);
/* (nullable) (transfer none): why the model is not as new as the DVM */
const char *dvm_cli_web_source_get_problem (DvmCliWebSource *self);

G_END_DECLS
