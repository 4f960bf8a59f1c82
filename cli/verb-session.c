/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli session: nodes taken aside, looked at, extended, given back; the jobs on them paused, ended, ...
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-campaign.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-control.h"
#include "dvm-cli-hints.h"
#include "dvm-cli-request.h"
#include "dvm-cli-session.h"
#include "dvm-cli-signals.h"
#include "dvm-cli-suggest.h"

static const DvmCliOption options[] = {
  { "hosts", 'H', "--host", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL,
    N_ ("create, extend, release, reaquire: these nodes, such as n9:2,n10:2") },
  { "hostfile", 0, "--machinefile", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("create, extend: the nodes that a file names") },
  { "count", 'n', NULL, DVM_CLI_ARG_COUNT, N_ ("N"), NULL,
    N_ ("create, extend: so many nodes, which the allocators choose") },
  { "req-id", 0, NULL, DVM_CLI_ARG_STRING, N_ ("ID"), NULL, N_ ("a name for this request") },
  { "drain-timeout", 0, NULL, DVM_CLI_ARG_TIME, N_ ("TIME"), NULL,
    N_ ("release: let the jobs that run there go on so long, such as 90s") },
  { "signal", 's', NULL, DVM_CLI_ARG_STRING, N_ ("SIGNAL"), NULL, N_ ("signal: by name or number (also -USR1, -10)") },
  { "job", 'j', NULL, DVM_CLI_ARG_STRING, N_ ("JOB"), NULL,
    N_ ("preempt, restore, signal: this job of the session alone") },
  { "undo", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("separate: the session ends with its owner again") },
  { "all", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("every session that you control but the default one") },
  { "wait", 'w', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("wait until the nodes have come or gone") },
  { NULL },
};

typedef struct
{
  DvmCli *cli;
  DvmClient *client;
  DvmSession *session; /* (nullable): create, and with --all */
  const char *name;    /* of the action */
} Order;

/* ---- nodes ---- */

static GVariant *
make_request (Order *order, GError **error)
{
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (NULL);

  if (!dvm_cli_request_fill (&dict, order->cli->args, order->client, error))
    return NULL;
  if (order->session == NULL && !g_variant_dict_contains (&dict, "share"))
    g_variant_dict_insert (&dict, "share", "b", FALSE);
  if (order->session != NULL)
    g_variant_dict_insert (&dict, "alloc-id", "s", dvm_session_get_alloc_id (order->session));
  return g_variant_ref_sink (g_variant_dict_end (&dict));
}

/* The other directives of Allocate, with an answer like that of grow and shrink */
static gboolean
call_allocate (DvmClient *client, const char *directive, GVariant *request, char **alloc_id, DvmCampaign **campaign,
               GError **error)
{
  g_autoptr (GVariant) answer = dvm_client_allocate (client, directive, request, NULL, error);
  const char *path = "/";
  const char *id = "";

  if (answer == NULL)
    return FALSE;
  g_variant_lookup (answer, "campaign", "&o", &path);
  g_variant_lookup (answer, "alloc-id", "&s", &id);
  if (strcmp (path, "/") != 0)
    *campaign = dvm_client_find_campaign (client, path, NULL, error);
  if (strcmp (path, "/") != 0 && *campaign == NULL)
    return FALSE;
  *alloc_id = g_strdup (id);
  return TRUE;
}

static gboolean
ask_reaquire (DvmClient *client, GVariant *request, GCancellable *cancellable, char **alloc_id, DvmCampaign **campaign,
              GError **error)
{
  return call_allocate (client, "reaquire", request, alloc_id, campaign, error);
}

static gboolean
ask_cancel (DvmClient *client, GVariant *request, GCancellable *cancellable, char **alloc_id, DvmCampaign **campaign,
            GError **error)
{
  return call_allocate (client, "cancel", request, alloc_id, campaign, error);
}

static gboolean
change (Order *order, DvmCliChange function, const char *unchanged, GError **error)
{
  g_autoptr (GVariant) request = make_request (order, error);

  return request != NULL
         && dvm_cli_change_and_follow (order->cli, order->client, function, request, unchanged, function == ask_cancel,
                                       error);
}

static gboolean
names_nodes (DvmCliArgs *args)
{
  return dvm_cli_args_has (args, "hosts") || dvm_cli_args_has (args, "hostfile") || dvm_cli_args_has (args, "count");
}

static gboolean
create_session (Order *order, GError **error)
{
  const char *const *words = dvm_cli_args_get_words (order->cli->args);

  if (words[1] != NULL)
    return dvm_cli_instantiate_session (order->cli, order->client, words + 1, error);
  return change (order, dvm_client_grow, _ ("the DVM has these nodes already: they are in the session at once"), error);
}

static gboolean
extend (Order *order, GError **error)
{
  const char *unchanged = names_nodes (order->cli->args)
                              ? _ ("the DVM has these nodes already: they are in the session at once")
                              : NULL;

  return change (order, dvm_client_grow, unchanged, error);
}

static gboolean
release_nodes (Order *order, GError **error)
{
  return change (order, dvm_client_shrink, _ ("no node leaves the DVM"), error);
}

static gboolean
reaquire (Order *order, GError **error)
{
  return change (order, ask_reaquire, _ ("the DVM has these nodes already: they are in the session at once"), error);
}

static gboolean
cancel_allocation (Order *order, GError **error)
{
  return change (order, ask_cancel, NULL, error);
}

/* ---- the others ---- */

static gboolean
control_session (Order *order, GError **error)
{
  guint id = order->session != NULL ? dvm_session_get_id (order->session) : DVM_CLI_ALL_SESSIONS;

  return dvm_cli_control_session (order->cli, order->client, id, order->name, error);
}

static gboolean
show_session (Order *order, GError **error)
{
  return dvm_cli_show_session (order->cli, order->session, error);
}

/* ---- which ---- */

typedef gboolean (*Run) (Order *order, GError **error);

enum
{
  SHOW = 1, /* its place below */
};

static const struct
{
  const char *name;
  Run run;
  const char *options; /* of the verb's own: those that it takes */
} actions[] = {
  { "list", NULL, "" },
  [SHOW] = { "show", show_session, "" },
  { "create", create_session,
    "hosts hostfile count share no-share target inheritance time warn-timeout session child-separate req-id wait" },
  { "extend", extend, "hosts hostfile count share no-share target inheritance time warn-timeout req-id wait" },
  { "release", release_nodes, "hosts drain-timeout req-id wait" },
  { "reaquire", reaquire, "hosts req-id wait" },
  { "cancel", cancel_allocation, "req-id wait" },
  { "pause", control_session, "all" },
  { "resume", control_session, "all" },
  { "preempt", control_session, "job all" },
  { "restore", control_session, "job all" },
  { "signal", control_session, "signal job all" },
  { "terminate", control_session, "all wait" },
  { "separate", control_session, "undo all" },
};

static gboolean
find_action (const char *name, gsize *found, GError **error)
{
  const char *names[G_N_ELEMENTS (actions) + 1] = { NULL };
  g_autofree char *known = NULL;
  const char *near;

  for (gsize i = 0; i < G_N_ELEMENTS (actions); i++)
    {
      names[i] = actions[i].name;
      if (strcmp (names[i], name) == 0)
        {
          *found = i;
          return TRUE;
        }
    }
  near = dvm_cli_hint_session (name);
  if (near == NULL)
    near = dvm_cli_suggest (name, names);
  known = g_strjoinv (", ", (char **)names);
  if (near != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a session cannot be told to '%s'; did you mean '%s'?"), name, near);
  else
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a session cannot be told to '%s': there are %s"), name, known);
  return FALSE;
}

/* "session 3" shows it, as "campaign 3" does; what looks like no action is taken for a name. */
static gboolean
is_reference (const char *word)
{
  return g_ascii_isdigit (word[0]) || strpbrk (word, "./") != NULL;
}

static const char *
get_action_options (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (actions); i++)
    if (strcmp (actions[i].name, name) == 0)
      return actions[i].options;
  return is_reference (name) ? actions[SHOW].options : NULL;
}

static gboolean
check_options (DvmCli *cli, gsize action, GError **error)
{
  return dvm_cli_verb_check_options (cli->verb, cli->args, actions[action].name, error)
         && dvm_cli_request_check (cli->args, error);
}

/* A session that is made together with a job is an option of the submission, which knows fewer options. */
static gboolean
check_program (DvmCliArgs *args, GError **error)
{
  static const char *const taken[] = { "hosts", "time", "inheritance", NULL };
  const DvmCliOption *const lists[] = { options, dvm_cli_allocation_options };

  for (gsize i = 0; i < G_N_ELEMENTS (lists); i++)
    for (const DvmCliOption *option = lists[i]; option->name != NULL; option++)
      if (dvm_cli_args_has (args, option->name) && !g_strv_contains (taken, option->name))
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                       _ ("option --%s and a program cannot go together: create the session first, then run in it"),
                       option->name);
          return FALSE;
        }
  if (dvm_cli_args_has (args, "hosts"))
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("the argument '%s' is too much: nodes are named by --hosts LIST"),
               dvm_cli_args_get_words (args)[1]);
  return FALSE;
}

static gboolean
check_words (DvmCliArgs *args, gsize action, GError **error)
{
  const char *const *words = dvm_cli_args_get_words (args);
  const char *name = actions[action].name;
  guint n_taken = strcmp (name, "list") == 0 ? 1 : 2;

  if (strcmp (name, "create") == 0)
    return words[1] == NULL || check_program (args, error);
  if (dvm_cli_args_get_n_words (args) > n_taken)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("the argument '%s' is too much: dvm-cli session %s"), words[n_taken],
                 name);
  else if (n_taken == 2 && words[1] == NULL && !dvm_cli_args_has (args, "all"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a session is missing: dvm-cli session %s SESSION"), name);
  else if (words[1] != NULL && dvm_cli_args_has (args, "all"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a session and --all exclude each other"));
  else if (dvm_cli_args_has (args, "all") && dvm_cli_args_has (args, "job"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("options --all and --job cannot go together"));
  else
    return TRUE;
  return FALSE;
}

/* Checks that the words and options are there that the action needs */
static gboolean
check_needs (DvmCliArgs *args, gsize action, GError **error)
{
  const char *name = actions[action].name;
  const char *signum = dvm_cli_args_get (args, "signal");

  if (strcmp (name, "create") == 0 && !names_nodes (args))
    g_set_error (
        error, DVM_CLI_USAGE_ERROR, 0,
        _ ("which nodes are to be set aside? --hosts LIST and --hostfile FILE name them, --count N says how many"));
  else if (strcmp (name, "extend") == 0 && !names_nodes (args) && !dvm_cli_args_has (args, "time")
           && !dvm_cli_args_has (args, "warn-timeout") && !dvm_cli_args_has (args, "inheritance"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("by what? --hosts LIST, --hostfile FILE and --count N give it nodes, --time TIME gives it time"));
  else if (strcmp (name, "signal") == 0 && signum == NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a signal is missing: dvm-cli session signal -s SIGNAL SESSION"));
  else if (signum != NULL && dvm_cli_signal_from_name (signum) == 0)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' is no signal; 'dvm-cli kill -l' lists them"), signum);
  else
    return TRUE;
  return FALSE;
}

static int
run_action (DvmCli *cli, gsize action, const char *reference, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (DvmSession) session = NULL;
  Order order = { .cli = cli, .client = client, .name = actions[action].name };

  if (client != NULL && reference != NULL)
    session = dvm_cli_find_session (client, reference, error);
  if (client == NULL || (reference != NULL && session == NULL))
    return DVM_CLI_EXIT_FAILED;
  if (session != NULL && dvm_session_get_id (session) == 0 && actions[action].run != show_session)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                   _ ("the default session is everybody's: it cannot be told to '%s'"), order.name);
      return DVM_CLI_EXIT_FAILED;
    }
  order.session = session;
  return actions[action].run (&order, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

static int
session_verb (DvmCli *cli, GError **error)
{
  const char *const *words = dvm_cli_args_get_words (cli->args);
  gsize action = SHOW;

  if (words[1] == NULL && is_reference (words[0]))
    return check_options (cli, action, error) ? run_action (cli, action, words[0], error) : DVM_CLI_EXIT_USAGE;
  if (!find_action (words[0], &action, error) || !check_words (cli->args, action, error)
      || !check_options (cli, action, error) || !check_needs (cli->args, action, error))
    return DVM_CLI_EXIT_USAGE;
  if (actions[action].run == NULL)
    return dvm_cli_list_sessions (cli, error);
  return run_action (cli, action, actions[action].run != create_session ? words[1] : NULL, error);
}

const DvmCliVerb dvm_cli_verb_session = {
  .name = "session",
  .synopsis = "list [OPTION...]\n"
              "show [OPTION...] SESSION\n"
              "create [OPTION...] --hosts LIST [-- PROGRAM]\n"
              "extend [OPTION...] SESSION\n"
              "release [OPTION...] SESSION\n"
              "reaquire [OPTION...] SESSION\n"
              "cancel [OPTION...] SESSION\n"
              "pause [OPTION...] SESSION\n"
              "resume [OPTION...] SESSION\n"
              "preempt [OPTION...] SESSION\n"
              "restore [OPTION...] SESSION\n"
              "signal [OPTION...] -s SIGNAL SESSION\n"
              "terminate [OPTION...] SESSION\n"
              "separate [OPTION...] SESSION",
  .summary = N_ ("take nodes aside, look at them, extend them, give them back; pause or end the jobs there"),
  .options = { options, dvm_cli_allocation_options },
  .min_words = 1,
  .max_words = G_MAXUINT,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = session_verb,
  .rewrite = dvm_cli_signal_rewrite,
  .get_action_options = get_action_options,
};
