/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Changes that a scripted allocator asks for itself.
 */

#include "config.h"

#include "test-allocator.h"

#include <string.h>

typedef struct
{
  TestAction action;
  char *words;
  GError *error;
} Push;

static void
push_free (gpointer data)
{
  Push *push = data;

  g_free (push->words);
  g_clear_error (&push->error);
  g_free (push);
}

static GVariant *
parse_value (const char *key, const char *value)
{
  static const char *const numbers[] = { "session", "seconds", "time",          "warn-timeout",
                                         "count",   "extend",  "drain-timeout", NULL };
  static const char *const flags[] = {
    "pause", "resume", "preempt", "restore", "terminate", "separate", "share", NULL
  };
  g_auto (GStrv) list = NULL;

  if (g_strv_contains (numbers, key))
    return g_variant_new_uint32 ((guint32)g_ascii_strtoull (value, NULL, 10));
  if (g_strv_contains (flags, key))
    return g_variant_new_boolean (strcmp (value, "true") == 0);
  if (strcmp (key, "signal") == 0)
    return g_variant_new_int32 ((gint32)g_ascii_strtoll (value, NULL, 10));
  if (strcmp (key, "hosts") != 0)
    return g_variant_new_string (value);
  list = g_strsplit (value, ",", -1);
  return g_variant_new_strv ((const char *const *)list, -1);
}

GVariant *
dvmd_test_allocator_parse_keys (const char *words)
{
  g_auto (GStrv) pairs = g_strsplit (words, " ", -1);
  g_auto (GVariantDict) request;

  g_variant_dict_init (&request, NULL);
  for (char **pair = pairs; *pair != NULL; pair++)
    {
      char *value = strchr (*pair, '=');

      if (value == NULL)
        continue;
      *value++ = '\0';
      g_variant_dict_insert_value (&request, *pair, parse_value (*pair, value));
    }
  return g_variant_dict_end (&request);
}

/* "NAME:SLOTS,NAME" for short */
static GVariant *
parse_request (const char *words)
{
  g_autofree char *hosts = strchr (words, '=') == NULL ? g_strconcat ("hosts=", words, NULL) : NULL;

  return dvmd_test_allocator_parse_keys (hosts != NULL ? hosts : words);
}

/* "HOSTS PROGRAM ARGUMENTS": a session with a job in it */
static GVariant *
parse_session (const char *words)
{
  g_auto (GStrv) parts = g_strsplit (words, " ", -1);
  g_auto (GStrv) hosts = g_strsplit (parts[0] != NULL ? parts[0] : "", ",", -1);
  g_auto (GVariantDict) request;
  GVariantBuilder apps;

  g_variant_builder_init (&apps, G_VARIANT_TYPE ("aa{sv}"));
  g_variant_builder_open (&apps, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&apps, "{sv}", "argv",
                         g_variant_new_strv ((const char *const *)(parts[0] != NULL ? parts + 1 : parts), -1));
  g_variant_builder_close (&apps);
  g_variant_dict_init (&request, NULL);
  g_variant_dict_insert (&request, "instantiate", "b", TRUE);
  g_variant_dict_insert_value (&request, "hosts", g_variant_new_strv ((const char *const *)hosts, -1));
  g_variant_dict_insert_value (&request, "apps", g_variant_builder_end (&apps));
  return g_variant_dict_end (&request);
}

static void push_next (DvmdTestAllocator *self);

static gboolean
do_push (gpointer data)
{
  GTask *task = data;
  const Push *push = g_task_get_task_data (task);
  DvmdTestAllocator *self = g_task_get_source_object (task);
  g_auto (GStrv) words = g_strsplit (push->words, " ", 2);

  if (g_strcmp0 (words[0], "session") == 0)
    dvmd_allocator_push (DVMD_ALLOCATOR (self), "control-session", parse_session (words[1] != NULL ? words[1] : ""));
  else if (words[0] != NULL)
    dvmd_allocator_push (DVMD_ALLOCATOR (self), words[0], parse_request (words[1] != NULL ? words[1] : ""));
  g_task_return_boolean (task, TRUE);
  push_next (self);
  return G_SOURCE_REMOVE;
}

static void
push_next (DvmdTestAllocator *self)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, NULL, NULL);
  Push *push = g_new0 (Push, 1);
  TestStep step;

  push->action = dvmd_test_allocator_next (self, TEST_PUSH, &step, &push->error);
  push->words = g_strdup (step.argument);
  g_task_set_task_data (task, push, push_free);
  if (push->action == TEST_DONE)
    test_script_later (&step, task, do_push);
}

void
dvmd_test_allocator_start_pushing (DvmdTestAllocator *self)
{
  push_next (self);
}
