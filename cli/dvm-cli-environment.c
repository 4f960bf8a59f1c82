/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The environment that goes with a job is the caller's, without what is meant for dvm-cli alone.
 */

#include "config.h"

#include "dvm-cli-environment.h"

#include <string.h>
#include <unistd.h>

struct _DvmCliEnvironment
{
  GPtrArray *variables; /* "NAME=value", NULL-terminated */
  GHashTable *chosen;   /* set of names */
};

/* DVM_NAME and DVM_SOCKET stay: they say which DVM a dvm-cli inside the job talks to. */
static const char *const internal[] = { "DVM_DVMD",        "DVM_LIBEXEC_DIR", "DVM_LOCALE_DIR",   "DVM_OWN_VARIABLES",
                                        "DVM_PLUGIN_PATH", "G_DEBUG",         "G_MESSAGES_DEBUG", "G_SLICE" };

/* assignment: "NAME=value" */
static gboolean
is_name_of (const char *name, gsize length, const char *assignment)
{
  return strncmp (name, assignment, length) == 0 && assignment[length] == '=';
}

static gboolean
is_among (const char *const *names, gsize n, const char *assignment)
{
  for (gsize i = 0; i < n; i++)
    if (is_name_of (names[i], strlen (names[i]), assignment))
      return TRUE;
  return FALSE;
}

DvmCliEnvironment *
dvm_cli_environment_new (void)
{
  DvmCliEnvironment *self = g_new0 (DvmCliEnvironment, 1);
  const char *own = g_getenv ("DVM_OWN_VARIABLES");
  g_auto (GStrv) around = NULL;

  /* The DVM tells a job of its devices and cpus; another job that it starts has its own, or none. Variables that were
   * given another value since are the user's. */
  if (own != NULL)
    g_shell_parse_argv (own, NULL, &around, NULL);
  self->variables = g_ptr_array_new_with_free_func (g_free);
  self->chosen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (char **variable = environ; variable != NULL && *variable != NULL; variable++)
    /* A string without a name is no variable, and cannot be given to a job. */
    if (strcspn (*variable, "=") > 0 && strchr (*variable, '=') != NULL
        && !is_among (internal, G_N_ELEMENTS (internal), *variable)
        && (around == NULL || !g_strv_contains ((const char *const *)around, *variable)))
      g_ptr_array_add (self->variables, g_strdup (*variable));
  g_ptr_array_add (self->variables, NULL);
  return self;
}

void
dvm_cli_environment_free (DvmCliEnvironment *self)
{
  g_ptr_array_unref (self->variables);
  g_hash_table_unref (self->chosen);
  g_free (self);
}

void
dvm_cli_environment_assign (DvmCliEnvironment *self, const char *assignment)
{
  gsize length = strcspn (assignment, "=");

  g_hash_table_add (self->chosen, g_strndup (assignment, length));
  for (guint i = 0; i + 1 < self->variables->len; i++)
    if (is_name_of (assignment, length, g_ptr_array_index (self->variables, i)))
      {
        g_free (g_ptr_array_index (self->variables, i));
        g_ptr_array_index (self->variables, i) = g_strdup (assignment);
        return;
      }
  g_ptr_array_insert (self->variables, (int)self->variables->len - 1, g_strdup (assignment));
}

void
dvm_cli_environment_set (DvmCliEnvironment *self, const char *name, const char *value)
{
  g_autofree char *assignment = g_strconcat (name, "=", value, NULL);

  dvm_cli_environment_assign (self, assignment);
}

static gboolean
matches (const char *variable, const char *pattern)
{
  gsize length = strlen (pattern);
  gboolean is_prefix = length > 0 && pattern[length - 1] == '*';

  return is_prefix ? strncmp (variable, pattern, length - 1) == 0 : is_name_of (pattern, length, variable);
}

gboolean
dvm_cli_environment_has (DvmCliEnvironment *self, const char *pattern)
{
  for (guint i = 0; i + 1 < self->variables->len; i++)
    if (matches (g_ptr_array_index (self->variables, i), pattern))
      return TRUE;
  return FALSE;
}

const char *
dvm_cli_environment_lookup (DvmCliEnvironment *self, const char *name)
{
  gsize length = strlen (name);

  for (guint i = 0; i + 1 < self->variables->len; i++)
    if (is_name_of (name, length, g_ptr_array_index (self->variables, i)))
      return (const char *)g_ptr_array_index (self->variables, i) + length + 1;
  return NULL;
}

void
dvm_cli_environment_unset (DvmCliEnvironment *self, const char *pattern)
{
  for (guint i = self->variables->len - 1; i > 0; i--)
    if (matches (g_ptr_array_index (self->variables, i - 1), pattern))
      g_ptr_array_remove_index (self->variables, i - 1);
}

void
dvm_cli_environment_choose (DvmCliEnvironment *self, const char *pattern)
{
  for (guint i = 0; i + 1 < self->variables->len; i++)
    {
      const char *variable = g_ptr_array_index (self->variables, i);

      if (matches (variable, pattern))
        g_hash_table_add (self->chosen, g_strndup (variable, strcspn (variable, "=")));
    }
}

char **
dvm_cli_environment_dup_chosen (DvmCliEnvironment *self)
{
  GPtrArray *list = g_ptr_array_new ();

  for (guint i = 0; i + 1 < self->variables->len; i++)
    {
      const char *variable = g_ptr_array_index (self->variables, i);
      g_autofree char *name = g_strndup (variable, strcspn (variable, "="));

      if (g_hash_table_contains (self->chosen, name))
        g_ptr_array_add (list, g_strdup (variable));
    }
  g_ptr_array_add (list, NULL);
  return (char **)g_ptr_array_free (list, FALSE);
}

const char *const *
dvm_cli_environment_get (DvmCliEnvironment *self)
{
  return (const char *const *)self->variables->pdata;
}
