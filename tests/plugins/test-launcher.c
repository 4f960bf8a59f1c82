/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A launcher that does what the script of a test says.
 */

#include "config.h"

#include "dvmd-plugin.h"
#include "test-script.h"

#define DVMD_TYPE_TEST_LAUNCHER (dvmd_test_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdTestLauncher, dvmd_test_launcher, DVMD, TEST_LAUNCHER, DvmdLauncher)

struct _DvmdTestLauncher
{
  DvmdLauncher parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdTestLauncher, dvmd_test_launcher, DVMD_TYPE_LAUNCHER)

typedef struct
{
  TestAction action;
  GArray *ranks;
  GError *error;
} Answer;

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  g_array_unref (answer->ranks);
  g_clear_error (&answer->error);
  g_free (answer);
}

static gboolean
give_answer (gpointer data)
{
  GTask *task = data;
  Answer *answer = g_task_get_task_data (task);
  g_autoptr (GError) unreachable = g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "the test says: unreachable");

  if (g_task_return_error_if_cancelled (task))
    return G_SOURCE_REMOVE;
  for (guint i = 0; answer->action == TEST_WRONG && i < answer->ranks->len; i++)
    dvmd_launcher_node_failed (g_task_get_source_object (task), g_array_index (answer->ranks, guint32, i), unreachable);
  if (answer->error != NULL)
    g_task_return_error (task, g_steal_pointer (&answer->error));
  else
    g_task_return_boolean (task, answer->action != TEST_DECLINE);
  return G_SOURCE_REMOVE;
}

static void
dvmd_test_launcher_launch_async (DvmdLauncher *launcher, const DvmdLaunchRequest *request, GCancellable *cancellable,
                                 GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (launcher, cancellable, callback, user_data);
  Answer *answer = g_new0 (Answer, 1);
  TestStep step;

  answer->action = test_script_next (launcher, "launcher", &step, &answer->error);
  answer->ranks = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint i = 0; i < request->n_nodes; i++)
    g_array_append_val (answer->ranks, request->nodes[i].rank);
  g_task_set_task_data (task, answer, answer_free);
  test_script_later (&step, task, give_answer);
}

static void
dvmd_test_launcher_class_init (DvmdTestLauncherClass *klass)
{
  DVMD_LAUNCHER_CLASS (klass)->launch_async = dvmd_test_launcher_launch_async;
}

static void
dvmd_test_launcher_init (DvmdTestLauncher *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "test",
  .description = "does what a script says, for tests",
  .get_type = dvmd_test_launcher_get_type,
};
