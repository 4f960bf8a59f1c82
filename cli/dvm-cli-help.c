/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The texts of --help are made of the tables of verbs and options.
 */

#include "config.h"

#include "dvm-cli-help.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-caller.h"
#include "dvm-cli-foreign.h"
#include "dvm-cli-hints.h"
#include "dvm-cli-old.h"
#include "dvm-cli-output.h"
#include "dvm-cli-parameters.h"

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

static void
append_dialect (GString *text, const DvmCliDialect *dialect)
{
  g_string_append_printf (text, "\n%s\n", _ (dialect->title));
  append_options (text, dialect->options);
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
  g_autofree char *command = dvm_cli_caller_command (verb->name);
  g_autofree char *indent = g_strnfill (dvm_cli_width (_ ("Usage:")), ' ');
  const DvmCliCaller *caller = dvm_cli_caller_find (g_get_prgname ());

  for (gsize i = 0; forms[i] != NULL; i++)
    g_string_append_printf (text, "%s %s %s\n", i == 0 ? _ ("Usage:") : indent, command, forms[i]);
  g_string_append_printf (text, "\n%s\n", _ (verb->summary));
  if (caller != NULL && caller->is_foreign && verb->foreign != NULL)
    append_dialect (text, verb->foreign);
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

/* ---- for users of other launchers ---- */

static void
append_other (const char *there, const char *here, gpointer user_data)
{
  g_autofree char *left = g_strconcat ("  ", there, NULL);

  append_row (user_data, left, here);
}

/* One table for the eye, of those by which command lines are read. */
char *
dvm_cli_help_others (void)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%s\n", _ ("What users of mpirun, prun and srun type, and what it is here."));
  g_string_append_printf (text, "\n%s\n", _ ("Programs:"));
  dvm_cli_hint_list (DVM_CLI_HINT_VERBS, append_other, text);
  g_string_append_printf (text, "\n%s\n", _ ("Spellings that are understood, and the options that they are today:"));
  append_options (text, dvm_cli_old_app_options);
  append_options (text, dvm_cli_old_options);
  append_options (text, dvm_cli_old_display_options);
  append_options (text, dvm_cli_old_add_options);
  append_dialect (text, &dvm_cli_srun);
  append_dialect (text, &dvm_cli_prte);
  g_string_append_printf (text, "\n%s\n", _ ("Parameters of --mca and --prtemca that are options here:"));
  dvm_cli_parameters_list (append_other, text);
  g_string_append_printf (text, "\n%s\n", _ ("Options that have another name here:"));
  dvm_cli_hint_list (DVM_CLI_HINT_OPTIONS, append_other, text);
  g_string_append_printf (text, "\n%s\n", _ ("Options that are not here, and what there is instead:"));
  dvm_cli_hint_list (DVM_CLI_HINT_REMARKS, append_other, text);
  g_string_append_printf (text, "\n%s\n", _ ("All others that 'dvm-cli run --help' shows are as they were."));
  return g_string_free (text, FALSE);
}
