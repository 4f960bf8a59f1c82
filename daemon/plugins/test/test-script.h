/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* The steps of one plugin, of the script in its setting "script". README.md describes them. */

typedef enum
{
  TEST_DONE,
  TEST_DECLINE,
  TEST_FAIL,
  TEST_WRONG,
} TestAction;

/*
 * What the next call of this plugin does, and after how many milliseconds; kind: its word in the script. TEST_FAIL sets
 * error, also for a script with a mistake.
 */
TestAction test_script_next (gpointer plugin, const char *kind, guint *delay, GError **error);

/* Calls func(task) when the delay is over, and gives the task away to it. */
void test_script_later (guint delay, GTask *task, GSourceFunc func);

G_END_DECLS
