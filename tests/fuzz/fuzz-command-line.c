/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Command lines of dvm-cli, one word a line, up to the point where a DVM is looked for; and what completion says of
 * them.
 */

#include "config.h"

#include "dvm-cli-spec.h"
#include "fuzz.h"

#define MOST_WORDS 64

/* As main() and call_verb() of dvm-cli.c do. */
static void
read_verb (const DvmCliVerb *verb, const char *const *argv)
{
  const DvmCliOption *lists[G_N_ELEMENTS (verb->options) + 2] = { NULL };
  g_auto (GStrv) rewritten = NULL;
  g_autoptr (DvmCliArgs) args = dvm_cli_args_new ();
  g_autoptr (DvmJobSpec) spec = NULL;
  DvmCli cli = { .verb = verb, .args = args };
  const char *action;
  gsize n = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (verb->options) && verb->options[i] != NULL; i++)
    lists[n++] = verb->options[i];
  lists[n] = dvm_cli_common_options;
  if (verb->rewrite != NULL)
    rewritten = verb->rewrite (argv, lists);
  if (!dvm_cli_args_parse (args, lists, verb->rewrite != NULL ? (const char *const *)rewritten : argv, verb->flags,
                           NULL))
    return;
  action = dvm_cli_args_get_words (args)[0];
  if (action != NULL)
    dvm_cli_verb_check_options (verb, args, action, NULL);
  /* These take a job, and the others do not have its options; a file that is named may be anything. */
  if (dvm_cli_option_find (lists, "map-by") != NULL && dvm_cli_option_find (lists, "np") != NULL
      && !dvm_cli_args_has (args, "file"))
    spec = dvm_cli_spec_new (&cli, NULL, NULL);
}

void
fuzz_command_line (const guint8 *data, gsize size)
{
  g_autofree char *text = fuzz_dup_text (data, size);
  g_auto (GStrv) words = g_strsplit (text, "\n", MOST_WORDS);
  const DvmCliOption *const lists[] = { dvm_cli_common_options, NULL };
  g_autoptr (DvmCliArgs) common = dvm_cli_args_new ();
  const DvmCliVerb *verb;
  const char *const *rest;

  if (!dvm_cli_args_parse (common, lists, (const char *const *)words, DVM_CLI_PARSE_STOP_AT_WORD, NULL))
    return;
  rest = dvm_cli_args_get_words (common);
  if (rest[0] == NULL)
    return;
  verb = dvm_cli_verb_find (rest[0]);
  if (verb != NULL)
    read_verb (verb, rest + 1);
  else
    dvm_cli_verb_suggest (rest[0]);
}
