/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The script of a test plugin is read, one step at a time.
 */

#include "config.h"

#include "test-script.h"

#include <string.h>

/* How often it is looked whether a file is there (ms). */
#define LOOK_INTERVAL 5

typedef struct
{
  char *kind;
  char **steps;
  guint next;
  const char *died; /* (nullable): of what: it answers nothing else any more */
} TestScript;

typedef struct
{
  GTask *task;
  GSourceFunc func;
  gint64 earliest;
  char *until;
  gboolean never;
} Later;

static void
test_script_free (gpointer data)
{
  TestScript *self = data;

  g_strfreev (self->steps);
  g_free (self->kind);
  g_free (self);
}

static TestScript *
get_script (gpointer plugin, const char *kind)
{
  g_autofree char *key = g_strconcat ("test-script-", kind, NULL);
  TestScript *self = g_object_get_data (plugin, key);
  const char *text;

  if (self != NULL)
    return self;
  self = g_new0 (TestScript, 1);
  text = dvmd_plugin_host_get_setting (dvmd_plugin_get_host (plugin), "script");
  self->kind = g_strdup (kind);
  self->steps = g_strsplit (text != NULL ? text : "", ";", -1);
  g_object_set_data_full (plugin, key, self, test_script_free);
  return self;
}

/* The action and its argument of the next step of our kind; NULL: none is left */
static const char *
next_step (TestScript *self, const char **argument)
{
  gsize length = strlen (self->kind);

  while (self->steps[self->next] != NULL)
    {
      char *step = g_strstrip (self->steps[self->next++]);
      char *action = strchr (step, ' ');
      char *space;

      if (action == NULL || (gsize)(action - step) != length || strncmp (step, self->kind, length) != 0)
        continue;
      action = g_strchug (action);
      space = strchr (action, ' ');
      *argument = space != NULL ? space + 1 : "";
      if (space != NULL)
        *space = '\0';
      return action;
    }
  return NULL;
}

/* Whether this says when the next step is done. */
static gboolean
take_pause (TestStep *step, const char *action, const char *argument)
{
  if (strcmp (action, "delay") == 0)
    step->delay += (guint)g_ascii_strtoull (argument, NULL, 10);
  else if (strcmp (action, "until") == 0)
    step->until = argument;
  else if (strcmp (action, "twice") == 0)
    step->twice = TRUE;
  else
    return FALSE;
  return TRUE;
}

TestAction
test_script_next (gpointer plugin, const char *kind, TestStep *step, GError **error)
{
  TestScript *self = get_script (plugin, kind);
  const char *argument = "";
  const char *action = next_step (self, &argument);

  *step = (TestStep){ .action = TEST_FAIL };
  while (action != NULL && take_pause (step, action, argument))
    action = next_step (self, &argument);
  if (self->died == NULL && g_strcmp0 (action, "die") == 0)
    self->died = argument;
  step->argument = argument;
  step->never = g_strcmp0 (action, "never") == 0;
  if (self->died != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "%s", self->died);
  else if (action == NULL || step->never || strcmp (action, "decline") == 0)
    step->action = TEST_DECLINE;
  else if (strcmp (action, "done") == 0)
    step->action = TEST_DONE;
  else if (strcmp (action, "wrong") == 0)
    step->action = TEST_WRONG;
  else if (strcmp (action, "fail") == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "%s", argument);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "test-plugin: \"%s\" is no action of a script; use done, decline, fail, die, never, delay, until, "
                 "twice or wrong",
                 action);
  return step->action;
}

/* ---- answers that come later ---- */

static void
later_free (gpointer data)
{
  Later *self = data;

  g_object_unref (self->task);
  g_free (self->until);
  g_free (self);
}

static gboolean
on_look (gpointer user_data)
{
  Later *self = user_data;

  if (!g_cancellable_is_cancelled (g_task_get_cancellable (self->task))
      && (self->never || g_get_monotonic_time () < self->earliest
          || (self->until != NULL && !g_file_test (self->until, G_FILE_TEST_EXISTS))))
    return G_SOURCE_CONTINUE;
  self->func (self->task);
  return G_SOURCE_REMOVE;
}

void
test_script_later (const TestStep *step, GTask *task, GSourceFunc func)
{
  gboolean at_once = step->delay == 0 && step->until == NULL && !step->never;
  g_autoptr (GSource) source = g_timeout_source_new (at_once ? 0 : LOOK_INTERVAL);
  Later *later = g_new0 (Later, 1);

  later->task = g_object_ref (task);
  later->func = func;
  later->earliest = g_get_monotonic_time () + (gint64)step->delay * 1000;
  later->until = g_strdup (step->until);
  later->never = step->never;
  g_source_set_callback (source, on_look, later, later_free);
  g_source_attach (source, g_task_get_context (task));
}
