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
  gboolean pushes;
};

G_DEFINE_FINAL_TYPE (DvmdTestAllocator, dvmd_test_allocator, DVMD_TYPE_ALLOCATOR)

typedef struct
{
  TestAction action;
  DvmdAllocation *allocation;
  char *words;
  GError *error;
} Answer;

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  g_clear_pointer (&answer->allocation, dvmd_allocation_unref);
  g_free (answer->words);
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

/* words: "NAME:SLOTS,NAME"; without any those that are asked for, or this machine */
static void
add_nodes (DvmdAllocation *allocation, const DvmdAllocationRequest *request, const char *words)
{
  const char *const here[] = { request->host, NULL };
  g_auto (GStrv) given = g_strsplit (words, ",", -1);
  const char *const *names = given[0] != NULL         ? (const char *const *)given
                             : request->hosts != NULL ? request->hosts
                                                      : here;

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (names[i], ":", 2);
      gboolean has_slots = given[0] != NULL && parts[1] != NULL;

      dvmd_allocation_add_node (allocation, given[0] != NULL ? parts[0] : names[i],
                                has_slots ? (guint)g_ascii_strtoull (parts[1], NULL, 10) : request->slots, 0);
    }
}

/* ---- changes that it asks for itself ---- */

static void push_next (DvmdAllocator *self);

/* "release NAME,NAME", or "new NAME:SLOTS,NAME" */
static gboolean
push (gpointer data)
{
  GTask *task = data;
  Answer *answer = g_task_get_task_data (task);
  DvmdAllocator *self = g_task_get_source_object (task);
  g_auto (GStrv) words = g_strsplit (answer->words, " ", 2);
  g_auto (GStrv) hosts = g_strsplit (words[0] != NULL && words[1] != NULL ? words[1] : "", ",", -1);
  g_auto (GVariantDict) request;

  g_variant_dict_init (&request, NULL);
  g_variant_dict_insert_value (&request, "hosts", g_variant_new_strv ((const char *const *)hosts, -1));
  if (words[0] != NULL)
    dvmd_allocator_push (self, words[0], g_variant_dict_end (&request));
  g_task_return_boolean (task, TRUE);
  push_next (self);
  return G_SOURCE_REMOVE;
}

static void
push_next (DvmdAllocator *self)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, NULL, NULL);
  Answer *answer = g_new0 (Answer, 1);
  TestStep step;

  answer->action = test_script_next (self, "push", &step, &answer->error);
  answer->words = g_strdup (step.argument);
  g_task_set_task_data (task, answer, answer_free);
  if (answer->action == TEST_DONE)
    test_script_later (&step, task, push);
}

/* ---- nodes that it finds ---- */

static void
dvmd_test_allocator_allocate_async (DvmdAllocator *allocator, const DvmdAllocationRequest *request,
                                    GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (allocator, cancellable, callback, user_data);
  Answer *answer = g_new0 (Answer, 1);
  DvmdTestAllocator *self = DVMD_TEST_ALLOCATOR (allocator);
  TestStep step;

  if (!self->pushes)
    push_next (allocator);
  self->pushes = TRUE;
  answer->action = test_script_next (allocator, "allocator", &step, &answer->error);
  if (answer->action == TEST_DONE || answer->action == TEST_WRONG)
    answer->allocation = dvmd_allocation_new ("test");
  if (answer->action == TEST_DONE)
    add_nodes (answer->allocation, request, step.argument);
  g_task_set_task_data (task, answer, answer_free);
  test_script_later (&step, task, give_answer);
}

/* ---- nodes that come back ---- */

static gboolean
give_back_answer (gpointer data)
{
  GTask *task = data;
  Answer *answer = g_task_get_task_data (task);

  if (g_task_return_error_if_cancelled (task))
    return G_SOURCE_REMOVE;
  if (answer->error != NULL)
    g_task_return_error (task, g_steal_pointer (&answer->error));
  else
    g_task_return_boolean (task, answer->action == TEST_DONE);
  return G_SOURCE_REMOVE;
}

static void
dvmd_test_allocator_give_back_async (DvmdAllocator *allocator, const char *alloc_id, const char *const *names,
                                     GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (allocator, cancellable, callback, user_data);
  g_autofree char *list = g_strjoinv (",", (char **)names);
  Answer *answer = g_new0 (Answer, 1);
  TestStep step;

  dvmd_plugin_host_log (dvmd_plugin_get_host (DVMD_PLUGIN (allocator)), G_LOG_LEVEL_MESSAGE, "offered %s of %s", list,
                        alloc_id != NULL ? alloc_id : "nothing");
  answer->action = test_script_next (allocator, "give-back", &step, &answer->error);
  g_task_set_task_data (task, answer, answer_free);
  test_script_later (&step, task, give_back_answer);
}

static void
dvmd_test_allocator_class_init (DvmdTestAllocatorClass *klass)
{
  DVMD_ALLOCATOR_CLASS (klass)->allocate_async = dvmd_test_allocator_allocate_async;
  DVMD_ALLOCATOR_CLASS (klass)->give_back_async = dvmd_test_allocator_give_back_async;
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
