/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An allocator that does what the script of a test says.
 */

#include "config.h"

#include "test-allocator.h"

#include <string.h>

typedef struct
{
  gboolean pushes;
} DvmdTestAllocatorPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (DvmdTestAllocator, dvmd_test_allocator, DVMD_TYPE_ALLOCATOR)

/* ---- answers ---- */

TestAction
dvmd_test_allocator_next (DvmdTestAllocator *self, TestKind kind, TestStep *step, GError **error)
{
  return test_script_next (self, DVMD_TEST_ALLOCATOR_GET_CLASS (self)->kinds[kind], step, error);
}

typedef struct
{
  GAsyncReadyCallback callback;
  gpointer user_data;
  GAsyncResult *result;
} Twice;

static gboolean
answer_again (gpointer user_data)
{
  Twice *twice = user_data;
  g_autoptr (GObject) source = g_async_result_get_source_object (twice->result);

  twice->callback (source, twice->result, twice->user_data);
  g_object_unref (twice->result);
  g_free (twice);
  return G_SOURCE_REMOVE;
}

static void
answer_twice (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Twice *twice = user_data;
  g_autoptr (GSource) again = g_idle_source_new ();

  twice->result = g_object_ref (result);
  g_source_set_callback (again, answer_again, twice, NULL);
  g_source_attach (again, g_task_get_context (G_TASK (result)));
  twice->callback (source, result, twice->user_data);
}

GTask *
dvmd_test_allocator_new_task (DvmdTestAllocator *self, const TestStep *step, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data)
{
  Twice *twice;

  if (!step->twice)
    return g_task_new (self, cancellable, callback, user_data);
  twice = g_new0 (Twice, 1);
  twice->callback = callback;
  twice->user_data = user_data;
  return g_task_new (self, cancellable, answer_twice, twice);
}

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

/* ---- nodes that it finds ---- */

/* The allocator is asked for nodes before anything else, so that pushing can start here. */
static void
start_pushing (DvmdTestAllocator *self)
{
  DvmdTestAllocatorPrivate *private = dvmd_test_allocator_get_instance_private (self);

  if (!private->pushes)
    dvmd_test_allocator_start_pushing (self);
  private->pushes = TRUE;
}

static void
dvmd_test_allocator_allocate_async (DvmdAllocator *allocator, const DvmdAllocationRequest *request,
                                    GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdTestAllocator *self = DVMD_TEST_ALLOCATOR (allocator);
  Answer *answer = g_new0 (Answer, 1);
  g_autoptr (GTask) task = NULL;
  TestStep step;

  start_pushing (self);
  answer->action = dvmd_test_allocator_next (self, TEST_ALLOCATE, &step, &answer->error);
  task = dvmd_test_allocator_new_task (self, &step, cancellable, callback, user_data);
  if (answer->action == TEST_DONE || answer->action == TEST_WRONG)
    answer->allocation = dvmd_allocation_new ("test");
  if (answer->action == TEST_DONE)
    add_nodes (answer->allocation, request, step.argument);
  g_task_set_task_data (task, answer, answer_free);
  test_script_later (&step, task, give_answer);
}

/* ---- nodes that come back ---- */

/* "" or "other " */
static const char *
get_prefix (DvmdTestAllocator *self)
{
  return g_str_equal (DVMD_TEST_ALLOCATOR_GET_CLASS (self)->kinds[TEST_ALLOCATE], "allocator") ? "" : "other ";
}

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

/* The other one is silent in scripts that do not speak of it. */
static gboolean
is_in_use (DvmdTestAllocator *self)
{
  const char *script = dvmd_plugin_host_get_setting (dvmd_plugin_get_host (DVMD_PLUGIN (self)), "script");

  return get_prefix (self)[0] == '\0' || (script != NULL && strstr (script, "other") != NULL);
}

static void
dvmd_test_allocator_give_back_async (DvmdAllocator *allocator, const char *alloc_id, const char *const *names,
                                     GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdTestAllocator *self = DVMD_TEST_ALLOCATOR (allocator);
  g_autoptr (GTask) task = NULL;
  g_autofree char *list = g_strjoinv (",", (char **)names);
  Answer *answer = g_new0 (Answer, 1);
  TestStep step;

  if (is_in_use (self))
    dvmd_plugin_host_log (dvmd_plugin_get_host (DVMD_PLUGIN (allocator)), G_LOG_LEVEL_MESSAGE, "%soffered %s of %s",
                          get_prefix (self), list, alloc_id != NULL ? alloc_id : "nothing");
  answer->action = dvmd_test_allocator_next (self, TEST_GIVE_BACK, &step, &answer->error);
  task = dvmd_test_allocator_new_task (self, &step, cancellable, callback, user_data);
  g_task_set_task_data (task, answer, answer_free);
  test_script_later (&step, task, give_back_answer);
}

/* Each allocator that is active is called, the base class then for its share. */
static void
dvmd_test_allocator_offer_release_async (DvmdAllocator *allocator, const DvmdReleaseOffer *offer,
                                         GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdTestAllocator *self = DVMD_TEST_ALLOCATOR (allocator);
  g_autofree char *all = g_strjoinv (",", (char **)offer->all);
  g_autofree char *names = g_strjoinv (",", (char **)offer->names);

  if (is_in_use (self))
    dvmd_plugin_host_log (dvmd_plugin_get_host (DVMD_PLUGIN (allocator)), G_LOG_LEVEL_MESSAGE,
                          "%stold of the release of %s, of which [%s] are its own", get_prefix (self), all, names);
  DVMD_ALLOCATOR_CLASS (dvmd_test_allocator_parent_class)
      ->offer_release_async (allocator, offer, cancellable, callback, user_data);
}

/* ---- sessions that end ---- */

static void
dvmd_test_allocator_session_ended (DvmdAllocator *allocator, guint32 session, const char *alloc_id, GVariant *jobs)
{
  g_autofree char *text = g_variant_print (jobs, FALSE);

  if (!is_in_use (DVMD_TEST_ALLOCATOR (allocator)))
    return;
  dvmd_plugin_host_log (dvmd_plugin_get_host (DVMD_PLUGIN (allocator)), G_LOG_LEVEL_MESSAGE,
                        "%scompleted session %u of %s: %s", get_prefix (DVMD_TEST_ALLOCATOR (allocator)), session,
                        alloc_id, text);
}

static void
dvmd_test_allocator_class_init (DvmdTestAllocatorClass *klass)
{
  DVMD_ALLOCATOR_CLASS (klass)->allocate_async = dvmd_test_allocator_allocate_async;
  DVMD_ALLOCATOR_CLASS (klass)->give_back_async = dvmd_test_allocator_give_back_async;
  DVMD_ALLOCATOR_CLASS (klass)->offer_release_async = dvmd_test_allocator_offer_release_async;
  DVMD_ALLOCATOR_CLASS (klass)->session_ended = dvmd_test_allocator_session_ended;
  DVMD_ALLOCATOR_CLASS (klass)->decide_async = dvmd_test_allocator_decide_async;
  klass->kinds[TEST_ALLOCATE] = "allocator";
  klass->kinds[TEST_GIVE_BACK] = "give-back";
  klass->kinds[TEST_DECIDE] = "decide";
  klass->kinds[TEST_PUSH] = "push";
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
