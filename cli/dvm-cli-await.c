/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asynchronous calls are started and waited for in one line.
 */

#include "config.h"

#include "dvm-cli-await.h"

void
dvm_cli_ready (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GAsyncResult **slot = user_data;

  *slot = g_object_ref (result);
}

GAsyncResult *
dvm_cli_await (GAsyncResult **result)
{
  while (*result == NULL)
    g_main_context_iteration (NULL, TRUE);
  return *result;
}
