/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a verb is found by its name, and the options that every verb takes.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-hints.h"
#include "dvm-cli-suggest.h"
#include "dvm-cli-verb.h"

const DvmCliOption dvm_cli_common_options[] = {
  { "name", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL,
    N_ ("which DVM (default: $DVM_NAME, else the unnamed one)") },
  { "socket", 0, NULL, DVM_CLI_ARG_STRING, N_ ("PATH"), NULL, N_ ("its private socket (default: $DVM_SOCKET)") },
  { "bus", 0, NULL, DVM_CLI_ARG_CHOICE, N_ ("BUS"), "session|system|none",
    N_ ("the message bus: session, system or none") },
  { "json", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("print one JSON object or array") },
  { "color", 0, "--colour", DVM_CLI_ARG_CHOICE, N_ ("WHEN"), "auto|always|never",
    N_ ("colours: auto (on a terminal), always or never") },
  { "no-pager", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("do not show long output through $DVM_PAGER, $PAGER or less") },
  { "quiet", 'q', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("print errors alone") },
  { "verbose", 'v', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("say what is done, on standard error") },
  { "help", 'h', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("show this help") },
  { "version", 'V', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("show the version") },
  { NULL },
};

void
dvm_cli_verb_fill_lists (const DvmCliVerb *verb, DvmCliForeignPlace place, const DvmCliOption **lists)
{
  gboolean has_foreign = verb != NULL && verb->foreign != NULL;
  gsize n = 0;

  if (has_foreign && place == DVM_CLI_FOREIGN_FIRST)
    lists[n++] = verb->foreign->options;
  for (gsize i = 0; verb != NULL && i < G_N_ELEMENTS (verb->options) && verb->options[i] != NULL; i++)
    lists[n++] = verb->options[i];
  lists[n++] = dvm_cli_common_options;
  if (has_foreign && place == DVM_CLI_FOREIGN_LAST)
    lists[n++] = verb->foreign->options;
  lists[n] = NULL;
}

const DvmCliVerb *
dvm_cli_verb_find (const char *name)
{
  for (const DvmCliVerb *const *verb = dvm_cli_verbs (); *verb != NULL; verb++)
    if (strcmp ((*verb)->name, name) == 0)
      return *verb;
  return NULL;
}

const char *
dvm_cli_verb_suggest (const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *hint = dvm_cli_hint_verb (name);

  if (hint != NULL && dvm_cli_verb_find (hint) != NULL)
    return hint;
  for (const DvmCliVerb *const *verb = dvm_cli_verbs (); *verb != NULL; verb++)
    g_ptr_array_add (names, (gpointer)(*verb)->name);
  g_ptr_array_add (names, NULL);
  return dvm_cli_suggest (name, (const char *const *)names->pdata);
}

/* (nullable): NULL: all of them */
static const char *
get_action_options (const DvmCliVerb *verb, const char *action)
{
  return verb->get_action_options != NULL ? verb->get_action_options (action) : NULL;
}

gboolean
dvm_cli_verb_takes (const DvmCliVerb *verb, const char *action, const char *option)
{
  const char *options = get_action_options (verb, action);
  g_auto (GStrv) taken = g_strsplit (options != NULL ? options : "", " ", -1);

  return options == NULL || g_strv_contains ((const char *const *)taken, option);
}

gboolean
dvm_cli_verb_check_options (const DvmCliVerb *verb, DvmCliArgs *args, const char *action, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (verb->options) && verb->options[i] != NULL; i++)
    for (const DvmCliOption *option = verb->options[i]; option->name != NULL; option++)
      if (dvm_cli_args_has (args, option->name) && !dvm_cli_verb_takes (verb, action, option->name))
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --%s has no meaning for '%s %s'"), option->name,
                       verb->name, action);
          return FALSE;
        }
  return TRUE;
}
