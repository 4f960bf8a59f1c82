/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A scripted allocator that decides of requests, as a scheduler outside of the DVM does.
 */

#include "config.h"

#include "test-allocator.h"

#include <string.h>

typedef struct
{
  TestAction action;
  GVariant *answer; /* (nullable) */
  GError *error;
} Decision;

static void
decision_free (gpointer data)
{
  Decision *self = data;

  g_clear_pointer (&self->answer, g_variant_unref);
  g_clear_error (&self->error);
  g_free (self);
}

static gboolean
give_decision (gpointer data)
{
  GTask *task = data;
  Decision *decision = g_task_get_task_data (task);

  if (g_task_return_error_if_cancelled (task))
    return G_SOURCE_REMOVE;
  if (decision->error != NULL)
    g_task_return_error (task, g_steal_pointer (&decision->error));
  else
    g_task_return_pointer (task, g_steal_pointer (&decision->answer), (GDestroyNotify)g_variant_unref);
  return G_SOURCE_REMOVE;
}

static void
tell_decision (DvmdAllocator *allocator, const DvmdDecisionRequest *request)
{
  g_autofree char *keys = g_variant_print (request->request, FALSE);

  dvmd_plugin_host_log (dvmd_plugin_get_host (DVMD_PLUGIN (allocator)), G_LOG_LEVEL_MESSAGE,
                        "asked %s of %u by %s (%s, uid %u): %s", request->directive, request->session,
                        request->requester, request->nspace, request->uid, keys);
}

void
dvmd_test_allocator_decide_async (DvmdAllocator *allocator, const DvmdDecisionRequest *request,
                                  GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdTestAllocator *self = DVMD_TEST_ALLOCATOR (allocator);
  Decision *decision = g_new0 (Decision, 1);
  g_autoptr (GTask) task = NULL;
  TestStep step;

  decision->action = dvmd_test_allocator_next (self, TEST_DECIDE, &step, &decision->error);
  if (decision->action != TEST_DECLINE || step.never)
    tell_decision (allocator, request);
  task = dvmd_test_allocator_new_task (self, &step, cancellable, callback, user_data);
  if (decision->action == TEST_DONE)
    decision->answer = g_variant_ref_sink (dvmd_test_allocator_parse_keys (step.argument));
  else if (decision->action == TEST_WRONG)
    decision->answer = g_variant_ref_sink (dvmd_test_allocator_parse_keys ("colour=red"));
  g_task_set_task_data (task, decision, decision_free);
  test_script_later (&step, task, give_decision);
}
