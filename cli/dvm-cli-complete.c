/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The completion of every shell asks here what may stand at a place of a command line.
 */

#include "config.h"

#include "dvm-cli-complete.h"

#include <glib/gi18n-lib.h>
#include <string.h>
#include <unistd.h>

#include "dvm-cli-caller.h"
#include "dvm-cli-complete-words.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-daemon.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-signals.h"
#include "dvm-cli-watch-model.h"

/* A user at the prompt does not wait longer for proposals. */
#define TIMEOUT_SECONDS 2

typedef struct
{
  DvmCli cli;
  const DvmCliVerb *verb; /* (nullable) */
  const DvmCliOption *lists[DVM_CLI_LISTS_MAX];
  const char *panel;           /* (nullable): of --panel, borrowed */
  const DvmCliOption *pending; /* (nullable): its value is to be completed */
  gboolean has_name;           /* of a pair that is pending */
  GPtrArray *arguments;        /* the verb's own words so far, borrowed */
  gsize program;               /* where a program begins; 0: nowhere yet */
  gboolean only_words;         /* behind "--" */
  const char *current;
  const char *prefix; /* of candidates: "--bus=" */
  GString *text;
} Complete;

/* The kinds of the values of options, beside those that are a choice. */
static const struct
{
  const char *names;
  const char *kind;
} value_kinds[] = {
  { "socket file log stdout-path stderr-path hostfile add-hostfile preload-files rankfile svg output-proctable app "
    "tune report-pid report-uri keepalive output-filename nodefile default-hostfile error",
    "files" },
  { "wdir chdir prefix app-pmix-prefix path output-directory", "directories" },
};

static void
offer (Complete *self, const char *candidate, const char *description)
{
  g_autofree char *shown = dvm_cli_escape (description != NULL ? description : "");

  if (g_str_has_prefix (candidate, self->current))
    g_string_append_printf (self->text, "%s%s\t%s\n", self->prefix, candidate, shown);
}

/* ---- what comes from the DVM ---- */

static DvmClient *
connect_client (Complete *self)
{
  g_autoptr (GError) error = NULL;

  if (!dvm_cli_is_chosen (&self->cli))
    self->cli.socket = g_getenv ("DVM_SOCKET");
  if (self->cli.name == NULL)
    self->cli.name = g_getenv ("DVM_NAME");
  alarm (TIMEOUT_SECONDS);
  return dvm_cli_connect (&self->cli, &error);
}

/* Jobs that have ended can be looked at, but not killed, nor given nodes. */
static void
offer_jobs (Complete *self)
{
  static const char *const live[] = { "kill", "events", "grow", "session", "run", "submit", "map", NULL };
  gboolean all = !g_strv_contains (live, self->verb->name);
  g_autoptr (DvmClient) client = connect_client (self);
  g_autoptr (GPtrArray) jobs = client != NULL ? dvm_client_list_jobs (client, all, NULL, NULL) : NULL;

  for (guint i = 0; jobs != NULL && i < jobs->len; i++)
    {
      DvmJob *job = g_ptr_array_index (jobs, i);
      g_autofree char *number = g_strdup_printf ("%u", dvm_job_get_id (job));
      g_autofree char *state = dvm_cli_describe_state (job);
      g_autofree char *command = dvm_cli_describe_command (job);
      g_autofree char *description = g_strdup_printf ("%s %s", state, command);

      offer (self, g_ascii_isdigit (self->current[0]) ? number : dvm_job_get_nspace (job), description);
    }
}

static void
offer_nodes (Complete *self)
{
  g_autoptr (DvmClient) client = connect_client (self);
  g_autoptr (GPtrArray) nodes = client != NULL ? dvm_client_list_nodes (client, NULL, NULL) : NULL;

  for (guint i = 0; nodes != NULL && i < nodes->len; i++)
    {
      DvmNode *node = g_ptr_array_index (nodes, i);

      if (dvm_node_get_rank (node) > 0)
        offer (self, dvm_node_get_name (node), dvm_node_state_to_string (dvm_node_get_state (node)));
    }
}

/* Only a grow can be called off. */
static void
offer_campaigns (Complete *self)
{
  gboolean shows = g_strcmp0 (self->arguments->len > 0 ? self->arguments->pdata[0] : NULL, "cancel") != 0;
  g_autoptr (DvmClient) client = connect_client (self);
  g_autoptr (GPtrArray) campaigns = client != NULL ? dvm_client_list_campaigns (client, shows, NULL, NULL) : NULL;

  for (guint i = 0; campaigns != NULL && i < campaigns->len; i++)
    {
      DvmCampaign *campaign = g_ptr_array_index (campaigns, i);
      g_autofree char *number = g_strdup_printf ("%u", dvm_campaign_get_id (campaign));
      g_autofree char *hosts = g_strjoinv (",", (char **)dvm_campaign_get_hosts (campaign));
      g_autofree char *description = g_strdup_printf (
          "%s %s %s", dvm_campaign_kind_to_string (dvm_campaign_get_kind (campaign)),
          dvm_campaign_state_to_string (dvm_campaign_get_state (campaign)), hosts);

      if (shows || dvm_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_GROW)
        offer (self, number, description);
    }
}

/* A session has up to three names: a number is proposed to who has begun one, and where there is nothing else. */
static void
offer_session (Complete *self, DvmSession *session)
{
  const char *alloc_id = dvm_session_get_alloc_id (session);
  const char *request = dvm_session_get_request_id (session);
  gboolean has_id = alloc_id != NULL && alloc_id[0] != '\0';
  g_autofree char *nodes = g_strjoinv (",", (char **)dvm_session_get_nodes (session));
  g_autofree char *number = g_strdup_printf ("%u", dvm_session_get_id (session));

  if (!has_id || g_ascii_isdigit (self->current[0]))
    offer (self, number, nodes);
  if (has_id)
    offer (self, alloc_id, nodes);
  if (request != NULL && request[0] != '\0')
    offer (self, request, nodes);
}

/* by: "alloc-id" and "of-req-id" are names of one kind, a session has all of them */
static void
offer_sessions (Complete *self, const char *by)
{
  g_autoptr (DvmClient) client = connect_client (self);
  g_autoptr (GPtrArray) sessions = client != NULL ? dvm_client_list_sessions (client, NULL, NULL) : NULL;

  for (guint i = 0; sessions != NULL && i < sessions->len; i++)
    {
      DvmSession *session = g_ptr_array_index (sessions, i);
      const char *name = strcmp (by, "of-req-id") == 0 ? dvm_session_get_request_id (session)
                                                       : dvm_session_get_alloc_id (session);
      g_autofree char *nodes = g_strjoinv (",", (char **)dvm_session_get_nodes (session));

      if (strcmp (by, "session") == 0)
        offer_session (self, session);
      else if (name != NULL && name[0] != '\0')
        offer (self, name, nodes);
    }
}

/* Behind the last comma of a list; (transfer full) (nullable): the prefix from then on, which must live as long */
static char *
step_behind_comma (Complete *self)
{
  const char *comma = strrchr (self->current, ',');
  char *prefix;

  if (comma == NULL)
    return NULL;
  prefix = g_strdup_printf ("%s%.*s", self->prefix, (int)(comma + 1 - self->current), self->current);
  self->prefix = prefix;
  self->current = comma + 1;
  return prefix;
}

static void
offer_hosts (Complete *self)
{
  g_autofree char *prefix = step_behind_comma (self);

  offer_nodes (self);
  self->prefix = "";
}

/* "ID,ID" of a job; whose nodes are to be is one namespace */
static void
offer_targets (Complete *self)
{
  g_autofree char *prefix = NULL;

  if (dvm_cli_option_find (self->lists, "inheritance") != NULL)
    {
      offer_jobs (self);
      return;
    }
  prefix = step_behind_comma (self);
  offer (self, "default", NULL);
  offer_sessions (self, "alloc-id");
  self->prefix = "";
}

/* The DVMs of this user are folders beside each other. */
static void
offer_names (Complete *self)
{
  g_autofree char *own = dvm_client_build_runtime_dir (NULL);
  g_autofree char *parent = g_path_get_dirname (own);
  g_autoptr (GDir) directory = g_dir_open (parent, 0, NULL);
  const char *name;

  while (directory != NULL && (name = g_dir_read_name (directory)) != NULL)
    {
      g_autofree char *socket = g_build_filename (parent, name, "bus", NULL);

      if (g_file_test (socket, G_FILE_TEST_EXISTS))
        offer (self, name, NULL);
    }
}

/* ---- what is in the tables ---- */

static void
offer_list (Complete *self, const char *list)
{
  g_auto (GStrv) words = g_strsplit (list, "|", -1);

  for (gsize i = 0; words[i] != NULL; i++)
    offer (self, words[i], NULL);
}

static void
offer_variables (Complete *self)
{
  g_auto (GStrv) names = g_listenv ();

  for (gsize i = 0; names[i] != NULL; i++)
    offer (self, names[i], NULL);
}

static void
offer_signals (Complete *self)
{
  for (int signum = 1; signum < 32; signum++)
    {
      g_autofree char *name = dvm_cli_signal_name (signum);

      if (g_str_has_prefix (name, "SIG"))
        offer (self, g_str_has_prefix (self->current, "SIG") ? name : name + 3, NULL);
    }
}

/* (transfer full) (nullable): a(sssssss): the program that has the settings says which there are, and needs no DVM */
static GVariant *
ask_settings (void)
{
  static const char *const asked[] = { "--dump-config", NULL };
  g_autofree char *text = dvm_cli_ask_dvmd (asked, NULL);

  return text != NULL ? g_variant_parse (G_VARIANT_TYPE ("a(sssssss)"), g_strchomp (text), NULL, NULL, NULL) : NULL;
}

/* suffix: behind the name of a setting */
static void
offer_settings (Complete *self, const char *suffix)
{
  g_autoptr (GVariant) settings = ask_settings ();
  GVariantIter iter;
  const char *name;
  const char *meaning;

  if (settings == NULL)
    return;
  g_variant_iter_init (&iter, settings);
  while (g_variant_iter_next (&iter, "(&ssssss&s)", &name, NULL, NULL, NULL, NULL, NULL, &meaning))
    {
      g_autofree char *candidate = g_strconcat (name, suffix, NULL);

      offer (self, candidate, meaning);
    }
}

/* They end the word that begins at current + start. */
static void
offer_ends (Complete *self, char **ends, gsize start)
{
  for (gsize i = 0; ends[i] != NULL; i++)
    {
      g_autofree char *candidate = g_strdup_printf ("%.*s%s", (int)start, self->current, ends[i]);

      offer (self, candidate, NULL);
    }
}

static void
offer_words (Complete *self, const char *option)
{
  gsize start;
  g_auto (GStrv) words = dvm_cli_complete_words (option, self->lists, self->current, &start);

  offer_ends (self, words, start);
}

/* "NAME=VALUE" */
static void
offer_assignments (Complete *self)
{
  const char *equals = strchr (self->current, '=');
  gsize start = equals != NULL ? (gsize)(equals + 1 - self->current) : 0;
  g_autofree char *wanted = start > 0 ? g_strndup (self->current, start - 1) : NULL;
  g_autoptr (GVariant) settings = NULL;
  g_auto (GStrv) values = NULL;
  GVariantIter iter;
  const char *name;
  const char *takes;
  gsize inside = 0;

  if (wanted == NULL)
    {
      offer_settings (self, "=");
      return;
    }
  if (dvm_cli_complete_has_words (wanted))
    values = dvm_cli_complete_words (wanted, self->lists, equals + 1, &inside);
  else if ((settings = ask_settings ()) != NULL)
    {
      g_variant_iter_init (&iter, settings);
      while (values == NULL && g_variant_iter_next (&iter, "(&sssss&ss)", &name, NULL, NULL, NULL, NULL, &takes, NULL))
        if (strcmp (name, wanted) == 0)
          values = dvm_cli_complete_choices (takes);
    }
  if (values != NULL)
    offer_ends (self, values, start + inside);
}

/* A column of the panel that the line names; "-" turns the order round. */
static void
offer_columns (Complete *self)
{
  const char *sign = self->current[0] == '-' ? "-" : "";
  DvmCliWatchPanel panel = DVM_CLI_WATCH_JOBS;
  const DvmCliWatchColumn *columns;

  if (self->panel != NULL)
    dvm_cli_watch_panel_parse (self->panel, &panel);
  columns = dvm_cli_watch_columns (panel);
  for (gsize i = 0; columns[i].key != NULL; i++)
    {
      g_autofree char *candidate = g_strconcat (sign, columns[i].key, NULL);

      offer (self, candidate, _ (columns[i].title));
    }
}

static const char *
offer_value (Complete *self, const DvmCliOption *option)
{
  for (gsize i = 0; i < G_N_ELEMENTS (value_kinds); i++)
    {
      g_auto (GStrv) names = g_strsplit (value_kinds[i].names, " ", -1);

      if (g_strv_contains ((const char *const *)names, option->name))
        return value_kinds[i].kind;
    }
  if (option->arg == DVM_CLI_ARG_CHOICE)
    offer_list (self, option->choices);
  else if (strcmp (option->name, "name") == 0)
    offer_names (self);
  else if (strcmp (option->name, "x") == 0 || strcmp (option->name, "unset-env") == 0
           || strcmp (option->name, "prepend-env") == 0 || strcmp (option->name, "append-env") == 0)
    offer_variables (self);
  else if (strcmp (option->name, "signal") == 0 || strcmp (option->name, "forward-signals") == 0)
    offer_signals (self);
  else if (strcmp (option->name, "dvm") == 0)
    offer_list (self, "search|pid:|ns:|uri:|file:|system|system-first");
  else if (strcmp (option->name, "set") == 0)
    offer_assignments (self);
  else if (strcmp (option->name, "stdin") == 0)
    offer_list (self, "0|all|none");
  else if (dvm_cli_complete_has_words (option->name))
    offer_words (self, option->name);
  else if (strcmp (option->name, "sort") == 0)
    offer_columns (self);
  else if (strcmp (option->name, "kind") == 0)
    offer_list (self, "dvm|job|proc|node|session|campaign");
  else if (strcmp (option->name, "host") == 0
           || (strcmp (option->name, "hosts") == 0 && strcmp (self->verb->name, "shrink") == 0))
    offer_hosts (self);
  else if (strcmp (option->name, "alloc-id") == 0 || strcmp (option->name, "of-req-id") == 0)
    offer_sessions (self, option->name);
  else if (strcmp (option->name, "session") == 0)
    offer_sessions (self, "session");
  else if (strcmp (option->name, "target") == 0)
    offer_targets (self);
  else if (strcmp (option->name, "job") == 0 || strcmp (option->name, "colocate") == 0
           || g_str_has_prefix (option->name, "after"))
    offer_jobs (self);
  else
    return "none";
  return "words";
}

static void
offer_spelling (Complete *self, const char *spelling, const DvmCliOption *option)
{
  g_autofree char *explanation = dvm_cli_option_explain (option);

  offer (self, spelling, explanation);
}

static void
offer_option (Complete *self, const DvmCliOption *option)
{
  g_auto (GStrv) aliases = g_strsplit (option->aliases != NULL ? option->aliases : "", " ", -1);
  g_autofree char *name = g_strdup_printf ("--%s", option->name);
  const char letter[3] = { '-', option->letter, '\0' };

  offer_spelling (self, name, option);
  for (gsize i = 0; aliases[i] != NULL; i++)
    if (aliases[i][0] != '\0')
      offer_spelling (self, aliases[i], option);
  if (option->letter != '\0')
    offer_spelling (self, letter, option);
}

/* Those of the verb, or of its action alone when that is there */
static void
offer_options (Complete *self)
{
  const char *action = self->arguments->len > 0 ? g_ptr_array_index (self->arguments, 0) : NULL;

  for (gsize i = 0; self->lists[i] != NULL; i++)
    for (const DvmCliOption *option = self->lists[i]; option->name != NULL; option++)
      if (action == NULL || self->lists[i] == dvm_cli_common_options
          || dvm_cli_verb_takes (self->verb, action, option->name))
        offer_option (self, option);
}

/* The words of a synopsis that are arguments: "show [OPTION...] JOB" is "show", "JOB"; (transfer full) */
static char **
split_form (const char *form)
{
  g_auto (GStrv) words = g_strsplit (form, " ", -1);
  GStrvBuilder *builder = g_strv_builder_new ();
  char **result;

  for (gsize i = 0; words[i] != NULL; i++)
    {
      g_autofree char *word = g_strdup (words[i] + strspn (words[i], "["));

      word[strcspn (word, ".]")] = '\0';
      if (word[0] == '\0' || strcmp (word, "OPTION") == 0)
        continue;
      /* An option of this form, with its value if there is one */
      if (word[0] == '-')
        {
          i += words[i + 1] != NULL;
          continue;
        }
      g_strv_builder_add (builder, word);
    }
  result = g_strv_builder_end (builder);
  g_strv_builder_unref (builder);
  return result;
}

static gboolean
form_fits (Complete *self, char **form)
{
  guint n = g_strv_length (form);

  for (guint i = 0; i < self->arguments->len && i < n; i++)
    if (g_ascii_islower (form[i][0]) && strcmp (form[i], g_ptr_array_index (self->arguments, i)) != 0)
      return FALSE;
  return n > 0;
}

static void
offer_verb_names (Complete *self)
{
  const DvmCliVerb *const *verbs = dvm_cli_verbs ();

  for (gsize i = 0; verbs[i] != NULL; i++)
    offer (self, verbs[i]->name, _ (verbs[i]->summary));
}

static const char *
offer_argument (Complete *self, const char *word, gboolean repeats)
{
  if (g_ascii_islower (word[0]) && !repeats)
    offer (self, word, NULL);
  else if (strcmp (word, "VERB") == 0)
    offer_verb_names (self);
  else if (strcmp (word, "JOB") == 0)
    offer_jobs (self);
  else if (strcmp (word, "NODE") == 0)
    offer_nodes (self);
  else if (strcmp (word, "CAMPAIGN") == 0)
    offer_campaigns (self);
  else if (strcmp (word, "SESSION") == 0)
    offer_sessions (self, "session");
  else if (strcmp (word, "SETTING") == 0)
    offer_settings (self, "");
  else if (strcmp (word, "PROGRAM") == 0)
    return "commands";
  return "words";
}

/* A form's last argument may be repeated. */
static const char *
offer_arguments (Complete *self)
{
  g_auto (GStrv) forms = g_strsplit (self->verb->synopsis, "\n", -1);
  g_autoptr (GHashTable) done = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const char *kind = "words";

  if (self->arguments->len >= self->verb->max_words)
    return "none";
  for (gsize i = 0; forms[i] != NULL; i++)
    {
      g_auto (GStrv) form = split_form (forms[i]);
      guint n = g_strv_length (form);
      guint place = MIN (self->arguments->len, n > 0 ? n - 1 : 0);

      if (form_fits (self, form) && g_hash_table_add (done, g_strdup (form[place])))
        kind = offer_argument (self, form[place], self->arguments->len > place);
    }
  return kind;
}

/* ---- the words so far ---- */

static void
note_option (Complete *self, const DvmCliOption *option, const char *value)
{
  if (strcmp (option->name, "name") == 0)
    self->cli.name = value;
  else if (strcmp (option->name, "socket") == 0)
    self->cli.socket = value;
  else if (strcmp (option->name, "bus") == 0)
    self->cli.bus = value;
  else if (strcmp (option->name, "panel") == 0)
    self->panel = value;
}

static void
choose_verb (Complete *self, const DvmCliVerb *verb)
{
  const DvmCliCaller *caller = dvm_cli_caller_find (g_get_prgname ());

  self->verb = verb;
  dvm_cli_verb_fill_lists (verb, caller != NULL && caller->is_foreign ? DVM_CLI_FOREIGN_FIRST : DVM_CLI_FOREIGN_NONE,
                           self->lists);
}

static void
read_option (Complete *self, const char *word)
{
  const char *equals = strchr (word, '=');
  g_autofree char *spelling = equals != NULL ? g_strndup (word, (gsize)(equals - word)) : g_strdup (word);
  const DvmCliOption *option = dvm_cli_option_find_spelling (self->lists, spelling);

  if (option == NULL || option->arg == DVM_CLI_ARG_NONE)
    return;
  if (equals != NULL)
    note_option (self, option, equals + 1);
  else if (option->arg != DVM_CLI_ARG_OPTIONAL)
    self->pending = option;
}

/* place: of word in the line, dvm-cli itself being 0 */
static void
read_word (Complete *self, const char *word, gsize place)
{
  gboolean takes_program = self->verb != NULL && (self->verb->flags & DVM_CLI_PARSE_STOP_AT_WORD) != 0;

  if (self->program > 0)
    {
      if (strcmp (word, ":") == 0)
        {
          self->program = 0;
          self->only_words = FALSE;
        }
      return;
    }
  if (self->pending != NULL && self->pending->arg == DVM_CLI_ARG_PAIR && !self->has_name)
    self->has_name = TRUE;
  else if (self->pending != NULL)
    {
      self->has_name = FALSE;
      note_option (self, self->pending, word);
      self->pending = NULL;
    }
  else if (!self->only_words && strcmp (word, "--") == 0)
    self->only_words = TRUE;
  else if (!self->only_words && word[0] == '-' && word[1] != '\0')
    read_option (self, word);
  else if (self->verb == NULL)
    choose_verb (self, dvm_cli_verb_find (word));
  else if (takes_program)
    self->program = place;
  else
    g_ptr_array_add (self->arguments, (gpointer)word);
}

/* "--bus=ses" is completed as a value, and offered as a whole. */
static const DvmCliOption *
split_current (Complete *self, char **prefix)
{
  const char *equals = strchr (self->current, '=');
  g_autofree char *spelling = equals != NULL ? g_strndup (self->current, (gsize)(equals - self->current)) : NULL;

  if (self->only_words || spelling == NULL || !g_str_has_prefix (spelling, "--"))
    return NULL;
  *prefix = g_strdup_printf ("%s=", spelling);
  self->prefix = *prefix;
  self->current = equals + 1;
  return dvm_cli_option_find_spelling (self->lists, spelling);
}

static const char *
offer_all (Complete *self, char **prefix)
{
  const DvmCliOption *option = self->pending;

  if (option == NULL)
    option = split_current (self, prefix);
  if (option != NULL)
    return offer_value (self, option);
  if (!self->only_words && self->current[0] == '-')
    {
      offer_options (self);
      return "words";
    }
  if (self->verb != NULL)
    return offer_arguments (self);
  offer_verb_names (self);
  return "words";
}

int
dvm_cli_complete (const DvmCliVerb *verb, const char *const *words)
{
  g_autoptr (DvmCliArgs) args = dvm_cli_args_new ();
  g_autoptr (GPtrArray) arguments = g_ptr_array_new ();
  g_autoptr (GString) text = g_string_new (NULL);
  Complete self = { .cli = { .args = args }, .lists = { dvm_cli_common_options } };
  g_autofree char *prefix = NULL;
  g_autofree char *answer = NULL;
  gsize n = g_strv_length ((char **)words);

  self.arguments = arguments;
  self.text = text;
  self.prefix = "";
  self.current = n > 0 ? words[n - 1] : "";
  if (verb != NULL)
    choose_verb (&self, verb);
  for (gsize i = 0; i + 1 < n; i++)
    read_word (&self, words[i], i + 1);
  if (self.program > 0)
    answer = g_strdup_printf ("program %zu\n", self.program);
  else
    {
      const char *kind = offer_all (&self, &prefix);

      answer = g_strdup_printf ("%s\n%s", kind, text->str);
    }
  return dvm_cli_print (answer, NULL) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}
