/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "test-script.h"

#include <string.h>

typedef struct
{
  char *kind;
  char **steps;
  guint next;
} TestScript;

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
  TestScript *self = g_object_get_data (plugin, "test-script");
  const char *text;

  if (self != NULL)
    return self;
  self = g_new0 (TestScript, 1);
  text = dvmd_plugin_host_get_setting (dvmd_plugin_get_host (plugin), "script");
  self->kind = g_strdup (kind);
  self->steps = g_strsplit (text != NULL ? text : "", ";", -1);
  g_object_set_data_full (plugin, "test-script", self, test_script_free);
  return self;
}

/* The action and its argument of the next step of our kind; NULL: none is left */
static const char *
next_step (TestScript *self, const char **argument)
{
  while (self->steps[self->next] != NULL)
    {
      char *step = g_strstrip (self->steps[self->next++]);
      char *action = strchr (step, ' ');
      char *space;

      if (action == NULL || strncmp (step, self->kind, action - step) != 0)
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

TestAction
test_script_next (gpointer plugin, const char *kind, guint *delay, GError **error)
{
  TestScript *self = get_script (plugin, kind);
  const char *argument = "";
  const char *action = next_step (self, &argument);

  *delay = 0;
  while (action != NULL && strcmp (action, "delay") == 0)
    {
      *delay += (guint)g_ascii_strtoull (argument, NULL, 10);
      action = next_step (self, &argument);
    }
  if (action == NULL || strcmp (action, "decline") == 0)
    return TEST_DECLINE;
  if (strcmp (action, "done") == 0)
    return TEST_DONE;
  if (strcmp (action, "wrong") == 0)
    return TEST_WRONG;
  if (strcmp (action, "fail") == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "%s", argument);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "test-plugin: \"%s\" is no action of a script; use done, decline, fail, delay or wrong", action);
  return TEST_FAIL;
}

void
test_script_later (guint delay, GTask *task, GSourceFunc func)
{
  g_autoptr (GSource) source = g_timeout_source_new (delay);

  g_source_set_callback (source, func, g_object_ref (task), g_object_unref);
  g_source_attach (source, g_task_get_context (task));
}
