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

/* A step is what one call does, and when; argument and until are the script's. */
typedef struct
{
  TestAction action;
  const char *argument;
  guint delay;       /* ms */
  const char *until; /* (nullable): the file that has to be there first */
  gboolean never;    /* it is not answered, but when it is cancelled */
  gboolean twice;    /* the answer is given two times */
} TestStep;

/*
 * Takes the next step of this plugin from its script; kind: its word in the script. TEST_FAIL sets error, also for a
 * script with a mistake.
 */
TestAction test_script_next (gpointer plugin, const char *kind, TestStep *step, GError **error);

/* Calls func(task) when the time of the step has come, or the task is cancelled, and gives the task away to it. */
void test_script_later (const TestStep *step, GTask *task, GSourceFunc func);

G_END_DECLS
