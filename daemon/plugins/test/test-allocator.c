/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-plugin.h"
#include "test-script.h"

#define DVMD_TYPE_TEST_ALLOCATOR (dvmd_test_allocator_get_type ())
G_DECLARE_FINAL_TYPE (DvmdTestAllocator, dvmd_test_allocator, DVMD, TEST_ALLOCATOR, DvmdAllocator)

struct _DvmdTestAllocator
{
  DvmdAllocator parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdTestAllocator, dvmd_test_allocator, DVMD_TYPE_ALLOCATOR)

typedef struct
{
  TestAction action;
  DvmdAllocation *allocation;
  GError *error;
} Answer;

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  g_clear_pointer (&answer->allocation, dvmd_allocation_unref);
  g_clear_error (&answer->error);
  g_free (answer);
}

static gboolean
give_answer (gpointer data)
{
  GTask *task = data;
  Answer *answer = g_task_get_task_data (task);

  if (g_task_return_error_if_cancelled (task))
    return G_SOURCE_REMOVE;
  if (answer->error != NULL)
    g_task_return_error (task, g_steal_pointer (&answer->error));
  else
    g_task_return_pointer (task, g_steal_pointer (&answer->allocation), (GDestroyNotify)dvmd_allocation_unref);
  return G_SOURCE_REMOVE;
}

static void
dvmd_test_allocator_allocate_async (DvmdAllocator *allocator, const DvmdAllocationRequest *request,
                                    GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (allocator, cancellable, callback, user_data);
  const char *const here[] = { request->host, NULL };
  const char *const *names = request->hosts != NULL ? request->hosts : here;
  Answer *answer = g_new0 (Answer, 1);
  guint delay;

  answer->action = test_script_next (allocator, "allocator", &delay, &answer->error);
  if (answer->action == TEST_DONE || answer->action == TEST_WRONG)
    answer->allocation = dvmd_allocation_new ("test");
  for (guint i = 0; answer->action == TEST_DONE && names[i] != NULL; i++)
    dvmd_allocation_add_node (answer->allocation, names[i], request->slots, 0);
  g_task_set_task_data (task, answer, answer_free);
  test_script_later (delay, task, give_answer);
}

static void
dvmd_test_allocator_class_init (DvmdTestAllocatorClass *klass)
{
  DVMD_ALLOCATOR_CLASS (klass)->allocate_async = dvmd_test_allocator_allocate_async;
}

static void
dvmd_test_allocator_init (DvmdTestAllocator *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "test",
  .description = "does what a script says, for tests",
  .get_type = dvmd_test_allocator_get_type,
};
