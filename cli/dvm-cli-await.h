/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asynchronous calls written in a line: start one with dvm_cli_ready as its callback and &result as user data, then
 * await. Meanwhile the main loop runs: signals and input are served.
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* user_data: GAsyncResult **, which is to hold NULL */
void dvm_cli_ready (GObject *source, GAsyncResult *result, gpointer user_data);
/* Returns the result (borrowed: it stays in *result) */
GAsyncResult *dvm_cli_await (GAsyncResult **result);

G_END_DECLS
