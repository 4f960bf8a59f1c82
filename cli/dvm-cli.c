/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli: finds the verb, reads its options, runs it and ends with its exit status.
 */

#include "config.h"

#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "dvm.h"

#include "dvm-cli-caller.h"
#include "dvm-cli-complete.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-help.h"
#include "dvm-cli-scheduler.h"
#include "dvm-cli-output.h"
#include "dvm-cli-parameters.h"
#include "dvm-cli-screen.h"
#include "dvm-cli-verb.h"
#include "dvm-cli-which.h"

/*
 * A closed standard descriptor would be taken by the next socket or pipe that is opened. Where output was to go every
 * write fails, ours and those of a job: output that is lost is no success.
 */
static void
fill_standard_descriptors (void)
{
  int fd;

  do
    {
      fd = open (fcntl (STDIN_FILENO, F_GETFD) < 0 ? "/dev/null" : "/dev/full", O_RDWR);
      /* Where there is no /dev/full a descriptor that cannot be written to fails, too. */
      if (fd < 0)
        fd = open ("/dev/null", O_RDONLY);
    }
  while (fd >= 0 && fd < STDERR_FILENO);
  if (fd > STDERR_FILENO)
    close (fd);
}

/* The class of the library says where the messages are, those of this program too. */
static void
set_up_locale (void)
{
  setlocale (LC_CTYPE, "");
  setlocale (LC_MESSAGES, "");
  g_type_class_unref (g_type_class_ref (DVM_TYPE_CLIENT));
}

static int
show_text (DvmCliArgs *args, const char *text)
{
  g_autoptr (GError) error = NULL;
  DvmCli cli = { .args = args };

  if (dvm_cli_show (&cli, text, &error))
    return DVM_CLI_EXIT_OK;
  dvm_cli_complain ("%s", error->message);
  return DVM_CLI_EXIT_FAILED;
}

/* Scripts ask mpirun for its version to learn whose it is. */
static int
show_version (DvmCliArgs *args)
{
  const char *name = dvm_cli_caller_name ();
  g_autofree char *text = g_strdup_printf ("%s %s" DVM_VERSION_STRING "\n", name,
                                           strcmp (name, "dvm-cli") == 0 ? "" : "(dvm) ");

  return show_text (args, text);
}

static int
refuse_usage (const DvmCliVerb *verb, const char *message)
{
  g_autofree char *command = verb != NULL ? dvm_cli_caller_command (verb->name) : NULL;

  dvm_cli_complain ("%s", message);
  if (verb != NULL)
    dvm_cli_complain (_ ("'%s --help' shows how it is used"), command);
  else
    dvm_cli_complain (_ ("'dvm-cli --help' lists the verbs"));
  return DVM_CLI_EXIT_USAGE;
}

static int
refuse_verb (const char *name)
{
  const char *near = dvm_cli_verb_suggest (name);
  g_autofree char *message = NULL;

  if (near != NULL)
    message = g_strdup_printf (_ ("unknown verb '%s'; did you mean '%s'?"), name, near);
  else
    message = g_strdup_printf (_ ("unknown verb '%s'"), name);
  return refuse_usage (NULL, message);
}

static const char *
get_from_environment (const char *variable)
{
  const char *value = g_getenv (variable);

  return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The command line first; a DVM named there is not overridden by a socket in the environment. */
static void
choose_dvm (DvmCli *cli)
{
  cli->name = dvm_cli_args_get (cli->args, "name");
  cli->socket = dvm_cli_args_get (cli->args, "socket");
  cli->bus = dvm_cli_args_get (cli->args, "bus");
  if (cli->name == NULL && cli->socket == NULL && cli->bus == NULL)
    cli->socket = get_from_environment ("DVM_SOCKET");
  else
    g_unsetenv ("DVM_SOCKET");
  if (cli->name == NULL)
    cli->name = get_from_environment ("DVM_NAME");
}

/* The limit of a name that is a directory and a part of a bus name. */
#define NAME_LENGTH_MAX 64

static gboolean
check_name (const char *name, GError **error)
{
  gboolean ok = name == NULL || (strlen (name) <= NAME_LENGTH_MAX && (g_ascii_isalpha (name[0]) || name[0] == '_'));

  for (const char *p = name; ok && p != NULL && *p != '\0'; p++)
    ok = g_ascii_isalnum (*p) || *p == '_' || *p == '-';
  if (!ok)
    g_set_error (
        error, DVM_CLI_USAGE_ERROR, 0,
        _ ("'%s' is no name of a DVM: a letter or '_' first, then letters, digits, '_' and '-', at most %d in all"),
        name, NAME_LENGTH_MAX);
  return ok;
}

static gboolean
check_words (const DvmCliVerb *verb, DvmCliArgs *args, GError **error)
{
  guint n_words = dvm_cli_args_get_n_words (args);
  g_autofree char *form = g_strndup (verb->synopsis, strcspn (verb->synopsis, "\n"));
  g_autofree char *command = dvm_cli_caller_command (verb->name);

  if (n_words < verb->min_words)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("an argument is missing: %s %s"), command, form);
  else if (n_words > verb->max_words)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("the argument '%s' is too much: %s %s"),
                 dvm_cli_args_get_words (args)[verb->max_words], command, form);
  else
    return TRUE;
  return FALSE;
}

/* rewritten (out) (nullable): what args borrows from */
static gboolean
parse_words (const DvmCliVerb *verb, DvmCliArgs *args, const char *const *argv, char ***rewritten, GError **error)
{
  const DvmCliCaller *caller = dvm_cli_caller_find (g_get_prgname ());
  gboolean is_first = caller != NULL && caller->is_foreign;
  const DvmCliOption *lists[DVM_CLI_LISTS_MAX];

  dvm_cli_verb_fill_lists (verb, is_first ? DVM_CLI_FOREIGN_FIRST : DVM_CLI_FOREIGN_LAST, lists);
  if (verb->rewrite == NULL)
    return dvm_cli_args_parse (args, lists, argv, verb->flags, error);
  *rewritten = verb->rewrite (argv, lists);
  return dvm_cli_args_parse (args, lists, (const char *const *)*rewritten, verb->flags, error);
}

/* notices (out) (transfer full) (nullable): what became of options of other launchers */
static gboolean
translate (const DvmCliVerb *verb, DvmCliArgs *args, char ***notices, GError **error)
{
  const DvmCliCaller *caller = dvm_cli_caller_find (g_get_prgname ());
  const DvmCliOption *lists[DVM_CLI_LISTS_MAX];

  if (verb->foreign == NULL)
    return TRUE;
  dvm_cli_verb_fill_lists (verb, DVM_CLI_FOREIGN_NONE, lists);
  return dvm_cli_foreign_apply (verb->foreign, caller != NULL && caller->is_foreign, args, lists, notices, error);
}

/* The DVM alone knows what its mappers heed, and which machines there can be: a wrong word is wrong usage all the same.
 */
static gboolean
is_wrong_usage (const GError *error)
{
  static const char *const options[] = { "map-by: ", "rank-by: ", "bind-to: ", "topology: ",
                                         "nodes: ",  "slots: ",   "ranks: " };
  const char *message;
  guint app;

  if (error->domain == DVM_CLI_USAGE_ERROR)
    return TRUE;
  if (!g_error_matches (error, DVM_ERROR, DVM_ERROR_BAD_PARAM)
      && !g_error_matches (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED)
      && !g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED))
    return FALSE;
  message = dvm_cli_skip_app (error->message, &app);
  for (gsize i = 0; i < G_N_ELEMENTS (options); i++)
    if (g_str_has_prefix (message, options[i]))
      return TRUE;
  return FALSE;
}

static int
run_verb (DvmCli *cli)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *message = NULL;
  int status = cli->verb->failure;

  if (dvm_cli_which_resolve (cli, &error) && dvm_cli_parameters_apply (cli, &error))
    {
      if (strcmp (cli->verb->name, "start") != 0)
        dvm_cli_scheduler_choose (cli);
      status = cli->verb->run (cli, &error);
    }
  if (error == NULL)
    return status;
  message = dvm_cli_name_option (cli, error->message);
  if (is_wrong_usage (error))
    return refuse_usage (cli->verb, message);
  dvm_cli_complain ("%s", message);
  dvm_cli_explain_unknown (cli, error);
  return cli->verb->failure;
}

/* argv: from the word after the verb on; common: the options before the verb */
static int
call_verb (const DvmCliVerb *verb, gboolean needs_dvm, DvmCliArgs *common, const char *const *argv)
{
  g_auto (GStrv) rewritten = NULL;
  g_auto (GStrv) notices = NULL;
  g_autoptr (DvmCliArgs) args = dvm_cli_args_new ();
  g_autoptr (GError) error = NULL;
  DvmCli cli = { .verb = verb, .args = args, .needs_dvm = needs_dvm };

  dvm_cli_args_take_options (args, common);
  if (!parse_words (verb, args, argv, &rewritten, &error))
    return refuse_usage (verb, error->message);
  if (dvm_cli_args_has (args, "help"))
    {
      g_autofree char *text = dvm_cli_help_verb (verb);

      return show_text (args, text);
    }
  if (dvm_cli_args_has (args, "version"))
    return show_version (args);
  if (!translate (verb, args, &notices, &error))
    return refuse_usage (verb, error->message);
  choose_dvm (&cli);
  cli.json_lines = dvm_cli_args_has (args, "json-lines");
  cli.json = cli.json_lines || dvm_cli_args_has (args, "json");
  cli.quiet = dvm_cli_args_has (args, "quiet");
  cli.verbose = dvm_cli_args_has (args, "verbose");
  if (!check_name (cli.name, &error) || !check_words (verb, args, &error))
    return refuse_usage (verb, error->message);
  for (gsize i = 0; notices != NULL && notices[i] != NULL; i++)
    dvm_cli_note (&cli, "%s", notices[i]);
  return run_verb (&cli);
}

int
main (int argc, char **argv)
{
  const DvmCliOption *const lists[] = { dvm_cli_common_options, NULL };
  const char *const *arguments = (const char *const *)argv + MIN (argc, 1);
  g_autoptr (DvmCliArgs) common = dvm_cli_args_new ();
  g_autoptr (GError) error = NULL;
  const DvmCliCaller *caller = dvm_cli_caller_find (argc > 0 ? argv[0] : NULL);
  const DvmCliVerb *verb = caller != NULL ? dvm_cli_verb_find (caller->verb) : NULL;
  const char *const *words;

  fill_standard_descriptors ();
  set_up_locale ();
  g_set_prgname (caller != NULL ? caller->name : "dvm-cli");
  /* A pipe that closes is an error of write(), which is then taken for what it is. */
  signal (SIGPIPE, SIG_IGN);

  if (g_strcmp0 (arguments[0], DVM_CLI_COMPLETE) == 0)
    return dvm_cli_complete (verb, arguments + 1);
  if (verb != NULL)
    return call_verb (verb, caller->needs_dvm, common, arguments);
  if (!dvm_cli_args_parse (common, lists, arguments, DVM_CLI_PARSE_STOP_AT_WORD, &error))
    return refuse_usage (NULL, error->message);
  words = dvm_cli_args_get_words (common);
  if (words[0] == NULL && dvm_cli_args_has (common, "version"))
    return show_version (common);
  if (words[0] == NULL && dvm_cli_args_has (common, "help"))
    {
      g_autofree char *text = dvm_cli_help_overview ();

      return show_text (common, text);
    }
  if (words[0] == NULL)
    return refuse_usage (NULL, _ ("a verb is missing"));
  verb = dvm_cli_verb_find (words[0]);
  return verb != NULL ? call_verb (verb, FALSE, common, words + 1) : refuse_verb (words[0]);
}
