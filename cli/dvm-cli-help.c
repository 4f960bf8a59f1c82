/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The texts of --help are made of the tables of verbs and options.
 */

#include "config.h"

#include "dvm-cli-help.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-output.h"

/* Where the explanations of options begin. */
#define HELP_COLUMN 30

/* Short spellings first, the long name last: "-n, -c, -np, --np N" */
static char *
spell (const DvmCliOption *option)
{
  GString *text = g_string_new ("  ");

  if (option->letter != '\0')
    g_string_append_printf (text, "-%c, ", option->letter);
  if (option->aliases != NULL)
    {
      g_auto (GStrv) aliases = g_strsplit (option->aliases, " ", -1);

      for (gsize i = 0; aliases[i] != NULL; i++)
        g_string_append_printf (text, "%s, ", aliases[i]);
    }
  if (option->letter == '\0' && option->aliases == NULL)
    g_string_append (text, "    ");
  g_string_append_printf (text, "--%s", option->name);
  if (option->arg == DVM_CLI_ARG_OPTIONAL)
    g_string_append_printf (text, "[=%s]", _ (option->value));
  else if (option->arg != DVM_CLI_ARG_NONE)
    g_string_append_printf (text, " %s", _ (option->value));
  return g_string_free (text, FALSE);
}

static void
append_row (GString *text, const char *left, const char *right)
{
  guint width = dvm_cli_width (left);

  g_string_append (text, left);
  if (width + 2 > HELP_COLUMN)
    {
      g_string_append_c (text, '\n');
      width = 0;
    }
  for (guint i = width; i < HELP_COLUMN; i++)
    g_string_append_c (text, ' ');
  g_string_append_printf (text, "%s\n", right);
}

static void
append_options (GString *text, const DvmCliOption *options)
{
  for (; options->name != NULL; options++)
    {
      g_autofree char *left = spell (options);
      g_autofree char *right = dvm_cli_option_explain (options);

      append_row (text, left, right);
    }
}

char *
dvm_cli_help_overview (void)
{
  GString *text = g_string_new (NULL);
  const DvmCliVerb *const *verbs = dvm_cli_verbs ();

  g_string_append_printf (text, "%s dvm-cli VERB [OPTION...] [ARGUMENT...]\n\n", _ ("Usage:"));
  g_string_append (text, _ ("Runs parallel jobs on a distributed virtual machine.\n"));
  g_string_append_printf (text, "\n%s\n", _ ("Verbs:"));
  for (gsize i = 0; verbs[i] != NULL; i++)
    g_string_append_printf (text, "  %-10s %s\n", verbs[i]->name, _ (verbs[i]->summary));
  g_string_append_printf (text, "\n%s\n", _ ("Options of every verb:"));
  append_options (text, dvm_cli_common_options);
  g_string_append_printf (text, "\n%s\n",
                          _ ("'dvm-cli VERB --help' shows the options of a verb, 'man dvm-cli' the manual."));
  return g_string_free (text, FALSE);
}

char *
dvm_cli_help_verb (const DvmCliVerb *verb)
{
  GString *text = g_string_new (NULL);
  g_auto (GStrv) forms = g_strsplit (verb->synopsis, "\n", -1);

  for (gsize i = 0; forms[i] != NULL; i++)
    g_string_append_printf (text, "%*s dvm-cli %s %s\n", (int)strlen (_ ("Usage:")), i == 0 ? _ ("Usage:") : "",
                            verb->name, forms[i]);
  g_string_append_printf (text, "\n%s\n", _ (verb->summary));
  for (gsize i = 0; i < G_N_ELEMENTS (verb->options) && verb->options[i] != NULL; i++)
    {
      if (i == 0 && verb->options[i]->name != NULL)
        g_string_append_printf (text, "\n%s\n", _ ("Options:"));
      if (verb->options[i]->instead != NULL && (i == 0 || verb->options[i - 1]->instead == NULL))
        g_string_append_printf (text, "\n%s\n", _ ("Spellings of other launchers, and what they are here:"));
      append_options (text, verb->options[i]);
    }
  g_string_append_printf (text, "\n%s\n", _ ("Options of every verb:"));
  append_options (text, dvm_cli_common_options);
  return g_string_free (text, FALSE);
}
