/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options that only another launcher has become those of the verb, by the tables of its dialect.
 */

#include "config.h"

#include "dvm-cli-foreign.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-old.h"

/* Options of the verb that may have several values. */
static const char *const lists_of_values[] = { "x", "output", "display", "host", "set", NULL };

static void
append_word (GString *text, const char *word)
{
  g_string_append_printf (text, "%s%s", text->len > 0 ? " " : "", word);
}

gboolean
dvm_cli_foreign_add (DvmCliForeign *self, const char *name, const char *value, GError **error)
{
  const char *other = dvm_cli_args_get (self->args, name);
  g_autofree char *typed = NULL;

  if (dvm_cli_option_find (self->lists, name) == NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("unknown option '%s'"), self->shown);
      return FALSE;
    }
  if (other != NULL && !g_strv_contains (lists_of_values, name) && g_strcmp0 (other, value) != 0)
    {
      typed = dvm_cli_args_show (self->args, name);
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' and '%s' contradict each other"), typed, self->shown);
      return FALSE;
    }
  if (!dvm_cli_args_add (self->args, self->lists, name, value, error))
    {
      g_prefix_error (error, "'%s': ", self->shown);
      return FALSE;
    }
  g_string_append_printf (self->here, "%s%s%s%s%s", self->here->len > 0 ? " " : "", name[1] == '\0' ? "-" : "--", name,
                          value != NULL ? " " : "", value != NULL ? value : "");
  return TRUE;
}

/* (transfer full): of all rows of the option, for a message */
static char *
list_words (const DvmCliDialect *dialect, const char *option)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (gsize i = 0; i < dialect->n_words; i++)
    if (strcmp (dialect->words[i].option, option) == 0)
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", dialect->words[i].word);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
add_word (DvmCliForeign *self, const DvmCliOption *option, const char *word, GError **error)
{
  g_autofree char *known = NULL;

  for (gsize i = 0; i < self->dialect->n_words; i++)
    {
      const DvmCliForeignWord *row = &self->dialect->words[i];

      if (strcmp (row->option, option->name) == 0 && g_ascii_strcasecmp (row->word, word) == 0)
        return row->name == NULL || dvm_cli_foreign_add (self, row->name, row->value, error);
    }
  known = list_words (self->dialect, option->name);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option %s takes one of %s, not '%s'"), self->shown, known, word);
  return FALSE;
}

static gboolean
has_words (const DvmCliDialect *dialect, const char *option)
{
  for (gsize i = 0; i < dialect->n_words; i++)
    if (strcmp (dialect->words[i].option, option) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
add_words (DvmCliForeign *self, const DvmCliOption *option, const char *value, GError **error)
{
  g_auto (GStrv) words = g_strsplit (value, ",", -1);

  for (gsize i = 0; words[i] != NULL; i++)
    if (!add_word (self, option, words[i], error))
      return FALSE;
  return TRUE;
}

/* "--wdir %", "--output tag" or "--use-hwthread-cpus" */
static gboolean
add_instead (DvmCliForeign *self, const DvmCliOption *option, const char *value, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (option->instead + 2, " ", 2);
  g_auto (GStrv) pieces = g_strsplit (parts[1] != NULL ? parts[1] : "", "%", -1);
  g_autofree char *filled = g_strjoinv (value != NULL ? value : "", pieces);

  return dvm_cli_foreign_add (self, parts[0], parts[1] != NULL ? filled : NULL, error);
}

/* One that is a spelling of before stays as it was typed, and gets the notice of those. */
static gboolean
turn_into_old (DvmCliForeign *self, const DvmCliOption *option)
{
  g_auto (GStrv) parts = option->instead != NULL ? g_strsplit (option->instead, " ", 2) : NULL;
  const DvmCliOption *to = parts != NULL && g_str_has_prefix (parts[0], "--")
                               ? dvm_cli_option_find (self->lists, parts[0] + 2)
                               : NULL;

  if (to == NULL || to->instead == NULL || g_strcmp0 (parts[1], "%") != 0)
    return FALSE;
  dvm_cli_args_turn (self->args, option, to);
  return TRUE;
}

static gboolean
convert_one (DvmCliForeign *self, const DvmCliOption *option, const char *value, GError **error)
{
  gboolean done = FALSE;

  if (option->help != NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("unknown option '%s': %s"), self->shown, _ (option->help));
      return FALSE;
    }
  if (self->dialect->convert != NULL && !self->dialect->convert (self, option, value, &done, error))
    return FALSE;
  if (done)
    return TRUE;
  if (value != NULL && has_words (self->dialect, option->name))
    return add_words (self, option, value, error);
  return strcmp (option->instead, DVM_CLI_NOT_NEEDED) == 0 || add_instead (self, option, value, error);
}

static gboolean
apply_one (DvmCliForeign *self, const DvmCliOption *option, GError **error)
{
  char *shown = dvm_cli_args_show_of (self->args, option);
  const char *value = dvm_cli_args_get_of (self->args, option);
  gsize before = self->here->len;

  g_ptr_array_add (self->spellings, shown);
  self->shown = shown;
  self->is_deferred = FALSE;
  if (turn_into_old (self, option))
    return TRUE;
  dvm_cli_args_turn (self->args, option, NULL);
  if (!convert_one (self, option, value, error))
    return FALSE;
  append_word (self->here->len > before || self->is_deferred ? self->typed : self->needless, shown);
  return TRUE;
}

/* (transfer full): each a line */
static char **
make_notices (DvmCliForeign *self)
{
  g_autoptr (GStrvBuilder) notices = g_strv_builder_new ();
  g_autofree char *both = NULL;
  g_autofree char *needless = NULL;

  if (self->needless->len > 0 && !dvm_cli_old_is_hidden ())
    {
      needless = g_strdup_printf (_ ("'%s' is not needed here (DVM_NOTICE=no hides this line)"), self->needless->str);
      g_strv_builder_add (notices, needless);
    }
  if (self->typed->len > 0 && !dvm_cli_old_is_hidden ())
    {
      both = g_strdup_printf (_ ("'%s' is '%s' here (DVM_NOTICE=no hides this line)"), self->typed->str,
                              self->here->str);
      g_strv_builder_add (notices, both);
    }
  return g_strv_builder_end (notices);
}

gboolean
dvm_cli_foreign_apply (const DvmCliDialect *dialect, gboolean is_caller, DvmCliArgs *args, DvmCliOptionLists lists,
                       char ***notices, GError **error)
{
  g_autoptr (GString) typed = g_string_new (NULL);
  g_autoptr (GString) here = g_string_new (NULL);
  g_autoptr (GString) needless = g_string_new (NULL);
  g_autoptr (GPtrArray) spellings = g_ptr_array_new_with_free_func (g_free);
  DvmCliForeign self = { .dialect = dialect,
                         .args = args,
                         .lists = lists,
                         .is_caller = is_caller,
                         .spellings = spellings,
                         .typed = typed,
                         .here = here,
                         .needless = needless };
  const DvmCliOption *option;

  while ((option = dvm_cli_args_find_of (args, dialect->options)) != NULL)
    if (!apply_one (&self, option, error))
      return FALSE;
  if (dialect->finish != NULL && !dialect->finish (&self, error))
    return FALSE;
  *notices = make_notices (&self);
  return TRUE;
}
