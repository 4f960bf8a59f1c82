/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli history: jobs and campaigns that have ended, also those of DVMs that have gone. dvmd reads the archive.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <pwd.h>
#include <string.h>

#include <dvm.h>

#include "dvm-cli-daemon.h"
#include "dvm-cli-exit.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-signals.h"
#include "dvm-cli-state.h"

static const DvmCliOption options[] = {
  { "since", 0, NULL, DVM_CLI_ARG_STRING, N_ ("TIME"), NULL,
    N_ ("those that have ended after 2026-01-31, 2026-01-31T12:00, or so long ago: 90m, 8h, 7d") },
  { "until", 0, NULL, DVM_CLI_ARG_STRING, N_ ("TIME"), NULL, N_ ("those that have ended before") },
  { "user", 'u', NULL, DVM_CLI_ARG_STRING, N_ ("USER"), NULL, N_ ("those of this user") },
  { "label", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LABEL"), NULL, N_ ("those with this label") },
  { "job-name", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL, N_ ("those with this name") },
  { "failed", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("those that have failed") },
  { "campaigns", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("changes of size instead of jobs") },
  { "last", 'n', NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "1000000", N_ ("the last ones (default: 100)") },
  { "archive", 0, NULL, DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, N_ ("of this archive, not that of the DVM's name") },
  { NULL },
};

static const DvmCliColumn job_columns[] = {
  { "id", N_ ("ID"), DVM_CLI_KIND_NUMBER },
  { "namespace", NULL, DVM_CLI_KIND_TEXT },
  { "name", N_ ("NAME"), DVM_CLI_KIND_TEXT, 2 },
  { "label", NULL, DVM_CLI_KIND_TEXT },
  { "user", N_ ("USER"), DVM_CLI_KIND_TEXT, 4 },
  { "state", NULL, DVM_CLI_KIND_TEXT },
  { NULL, N_ ("STATE"), DVM_CLI_KIND_STATE },
  { "exit", N_ ("EXIT"), DVM_CLI_KIND_TEXT },
  { "procs", N_ ("PROCS"), DVM_CLI_KIND_NUMBER, 3 },
  { "created", NULL, DVM_CLI_KIND_TIME },
  { "started", NULL, DVM_CLI_KIND_TIME },
  { "ended", N_ ("ENDED"), DVM_CLI_KIND_TIME, 1 },
  { NULL, N_ ("TIME"), DVM_CLI_KIND_TEXT, 5 },
  { "nodes", NULL, DVM_CLI_KIND_TEXT },
  { "reason", NULL, DVM_CLI_KIND_TEXT },
  { "command", N_ ("COMMAND"), DVM_CLI_KIND_TEXT },
  { "instance", NULL, DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static const DvmCliColumn campaign_columns[] = {
  { "id", N_ ("ID"), DVM_CLI_KIND_NUMBER },
  { "kind", N_ ("KIND"), DVM_CLI_KIND_TEXT },
  { "state", N_ ("STATE"), DVM_CLI_KIND_STATE },
  { "alloc-id", NULL, DVM_CLI_KIND_TEXT },
  { "started", NULL, DVM_CLI_KIND_TIME },
  { "ended", N_ ("ENDED"), DVM_CLI_KIND_TIME, 1 },
  { NULL, N_ ("TIME"), DVM_CLI_KIND_TEXT, 2 },
  { "hosts", N_ ("HOSTS"), DVM_CLI_KIND_TEXT },
  { "reason", N_ ("REASON"), DVM_CLI_KIND_TEXT, 3 },
  { "instance", NULL, DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

/* ---- the question ---- */

/* "90m": so many µs; FALSE: it is no such time */
static gboolean
read_age (const char *text, gint64 *age)
{
  static const struct
  {
    char letter;
    gint64 seconds;
  } units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 60 * 60 }, { 'd', 24 * 60 * 60 }, { 'w', 7 * 24 * 60 * 60 } };
  char *end;
  guint64 number = g_ascii_strtoull (text, &end, 10);

  if (!g_ascii_isdigit (text[0]) || number > 100000 || end[0] == '\0' || end[1] != '\0')
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS (units); i++)
    if (units[i].letter == end[0])
      {
        *age = (gint64)number * units[i].seconds * G_USEC_PER_SEC;
        return TRUE;
      }
  return FALSE;
}

static gboolean
read_time (DvmCliArgs *args, const char *option, GVariantDict *filter, GError **error)
{
  const char *text = dvm_cli_args_get (args, option);
  g_autoptr (GTimeZone) here = g_time_zone_new_local ();
  g_autofree char *whole = NULL;
  g_autoptr (GDateTime) time = NULL;
  gint64 age;

  if (text == NULL)
    return TRUE;
  if (read_age (text, &age))
    {
      g_variant_dict_insert (filter, option, "x", g_get_real_time () - age);
      return TRUE;
    }
  whole = strlen (text) == strlen ("2026-01-31")         ? g_strconcat (text, "T00:00:00", NULL)
          : strlen (text) == strlen ("2026-01-31T12:00") ? g_strconcat (text, ":00", NULL)
                                                         : g_strdup (text);
  time = g_date_time_new_from_iso8601 (whole, here);
  if (time == NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("--%s: '%s' is no time such as 2026-01-31, 2026-01-31T12:00, 90m, 8h or 7d"), option, text);
      return FALSE;
    }
  g_variant_dict_insert (filter, option, "x",
                         g_date_time_to_unix (time) * G_USEC_PER_SEC + g_date_time_get_microsecond (time));
  return TRUE;
}

static gboolean
read_user (DvmCliArgs *args, GVariantDict *filter, GError **error)
{
  const char *text = dvm_cli_args_get (args, "user");
  struct passwd *user = text != NULL ? getpwnam (text) : NULL;
  guint64 uid;

  if (text == NULL)
    return TRUE;
  if (user == NULL && !g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32, &uid, NULL))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("--user: there is no user '%s'"), text);
      return FALSE;
    }
  g_variant_dict_insert (filter, "uid", "u", user != NULL ? (guint32)user->pw_uid : (guint32)uid);
  return TRUE;
}

static gboolean
read_ids (DvmCliArgs *args, GVariantDict *filter, GError **error)
{
  GVariantBuilder ids;

  if (dvm_cli_args_get_n_words (args) == 0)
    return TRUE;
  g_variant_builder_init (&ids, G_VARIANT_TYPE ("au"));
  for (guint i = 0; i < dvm_cli_args_get_n_words (args); i++)
    {
      const char *word = dvm_cli_args_get_words (args)[i];
      guint64 id;

      if (!g_ascii_string_to_unsigned (word, 10, 1, G_MAXUINT32, &id, NULL))
        {
          g_variant_builder_clear (&ids);
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' is no number of a job"), word);
          return FALSE;
        }
      g_variant_builder_add (&ids, "u", (guint32)id);
    }
  g_variant_dict_insert_value (filter, "ids", g_variant_builder_end (&ids));
  return TRUE;
}

/* (transfer full) (nullable): as a text for dvmd */
static char *
build_filter (DvmCliArgs *args, GError **error)
{
  g_autoptr (GVariantDict) filter = g_variant_dict_new (NULL);
  g_autoptr (GVariant) whole = NULL;
  const char *label = dvm_cli_args_get (args, "label");
  const char *name = dvm_cli_args_get (args, "job-name");

  if (!read_time (args, "since", filter, error) || !read_time (args, "until", filter, error)
      || !read_user (args, filter, error) || !read_ids (args, filter, error))
    return NULL;
  if (dvm_cli_args_has (args, "campaigns") && (label != NULL || name != NULL || dvm_cli_args_has (args, "user")))
    {
      g_set_error_literal (error, DVM_CLI_USAGE_ERROR, 0,
                           _ ("--user, --label and --job-name are of jobs, not of campaigns"));
      return NULL;
    }
  if (label != NULL)
    g_variant_dict_insert (filter, "label", "s", label);
  if (name != NULL)
    g_variant_dict_insert (filter, "name", "s", name);
  g_variant_dict_insert (filter, "failed", "b", dvm_cli_args_has (args, "failed"));
  g_variant_dict_insert (filter, "campaigns", "b", dvm_cli_args_has (args, "campaigns"));
  g_variant_dict_insert (filter, "limit", "u", dvm_cli_args_get_uint (args, "last", 100));
  whole = g_variant_ref_sink (g_variant_dict_end (filter));
  return g_variant_print (whole, TRUE);
}

/* (transfer full) (nullable): a(sa{sv}) */
static GVariant *
search (DvmCli *cli, GError **error)
{
  g_autofree char *filter = build_filter (cli->args, error);
  const char *given = dvm_cli_args_get (cli->args, "archive");
  g_autofree char *own = dvm_cli_state_archive_path (cli);
  g_autofree char *file = g_strconcat ("--archive-file=", own, NULL);
  g_autofree char *set = given != NULL ? g_strconcat ("--set=archive-file=", given, NULL) : NULL;
  g_autofree char *question = filter != NULL ? g_strconcat ("--search-archive=", filter, NULL) : NULL;
  const char *const asked[] = { file, question, set, NULL };
  g_autoptr (GBytes) bytes = question != NULL ? dvm_cli_ask_dvmd_bytes (asked, error) : NULL;
  g_autoptr (GVariant) boxed = NULL;
  g_autoptr (GVariant) found = NULL;

  if (bytes == NULL)
    return NULL;
  boxed = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE_VARIANT, bytes, FALSE));
  /* Once they are known to be whole, nothing in them is checked again. */
  if (g_variant_is_normal_form (boxed))
    found = g_variant_get_variant (boxed);
  if (found != NULL && g_variant_is_of_type (found, G_VARIANT_TYPE ("a(sa{sv})")))
    return g_steal_pointer (&found);
  g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                       _ ("dvmd is of another version: it answers otherwise"));
  return NULL;
}

/* ---- the answer ---- */

/* Keys of a record that are shown, in the order in which dvmd writes them down */
typedef enum
{
  ID,
  NAMESPACE,
  NAME,
  LABEL,
  KIND,
  STATE,
  FAILED,
  EXIT_CODE,
  EXIT_SIGNAL,
  REASON,
  NUM_PROCS,
  NODES,
  COMMAND,
  ALLOC_ID,
  HOSTS,
  SUBMITTER_UID,
  CREATED_AT,
  STARTED_AT,
  ENDED_AT,
  LOST,
  N_KEYS,
} Key;

static const char *const keys[N_KEYS] = {
  "Id",       "Namespace",    "Name",      "Label",     "Kind",    "State",   "Failed",
  "ExitCode", "ExitSignal",   "Reason",    "NumProcs",  "Nodes",   "Command", "AllocId",
  "Hosts",    "SubmitterUid", "CreatedAt", "StartedAt", "EndedAt", "Lost",
};

/* Looking into a variant is slow: each value is taken out of it once. */
typedef struct
{
  const char *instance;
  GVariant *values[N_KEYS]; /* (nullable) */
} Record;

/* (nullable) */
static GVariant *
get_value (const Record *record, Key key, const char *type)
{
  GVariant *value = record->values[key];

  return value != NULL && g_variant_is_of_type (value, G_VARIANT_TYPE (type)) ? value : NULL;
}

static gint64
get_time (const Record *record, Key key)
{
  GVariant *value = get_value (record, key, "t");

  return value != NULL ? (gint64)g_variant_get_uint64 (value) : 0;
}

static guint32
get_uint (const Record *record, Key key)
{
  GVariant *value = get_value (record, key, "u");

  return value != NULL ? g_variant_get_uint32 (value) : 0;
}

static gint32
get_int (const Record *record, Key key)
{
  GVariant *value = get_value (record, key, "i");

  return value != NULL ? g_variant_get_int32 (value) : 0;
}

static gboolean
get_boolean (const Record *record, Key key)
{
  GVariant *value = get_value (record, key, "b");

  return value != NULL && g_variant_get_boolean (value);
}

/* (transfer full) (nullable) */
static char *
dup_text (const Record *record, Key key)
{
  GVariant *value = get_value (record, key, "s");

  return value != NULL ? g_variant_dup_string (value, NULL) : NULL;
}

/* (transfer full) (nullable) */
static char *
join (const Record *record, Key key, const char *separator)
{
  GVariant *value = get_value (record, key, "as");
  g_autofree const char **words = value != NULL ? g_variant_get_strv (value, NULL) : NULL;

  return words != NULL ? g_strjoinv (separator, (char **)words) : NULL;
}

/* As programs read it; people read its translation. */
static const char *
describe_end (const Record *record)
{
  if (get_boolean (record, LOST))
    return N_ ("lost");
  if (get_uint (record, STATE) == DVM_JOB_STATE_KILLED_BY_CMD)
    return N_ ("cancelled");
  return get_boolean (record, FAILED) ? N_ ("failed") : N_ ("done");
}

/* (transfer full) (nullable): as the list of jobs has it */
static char *
describe_exit (const Record *record)
{
  gint32 number = get_int (record, EXIT_SIGNAL);

  if (get_boolean (record, LOST))
    return NULL;
  if (number > 0)
    return dvm_cli_signal_name (number);
  return dvm_cli_describe_exit_code (get_boolean (record, FAILED), get_uint (record, STATE),
                                     get_int (record, EXIT_CODE));
}

/* names: uid -> its name; thousands of jobs have a handful of users, and a directory may be asked for each */
static char *
describe_user (GHashTable *names, const Record *record)
{
  guint32 uid = get_uint (record, SUBMITTER_UID);
  char *name = g_hash_table_lookup (names, GUINT_TO_POINTER (uid));
  struct passwd *user = name == NULL ? getpwuid (uid) : NULL;

  if (name == NULL)
    {
      name = user != NULL ? g_strdup (user->pw_name) : g_strdup_printf ("%u", uid);
      g_hash_table_insert (names, GUINT_TO_POINTER (uid), name);
    }
  return g_strdup (name);
}

static char *
describe_span (const Record *record)
{
  return dvm_cli_describe_span (get_time (record, STARTED_AT), get_time (record, ENDED_AT));
}

static void
add_job (DvmCliTable *table, GHashTable *names, const Record *record)
{
  const DvmCliPlain cells[] = {
    { .number = get_uint (record, ID) },
    { dup_text (record, NAMESPACE) },
    { dup_text (record, NAME) },
    { dup_text (record, LABEL) },
    { describe_user (names, record) },
    { g_strdup (describe_end (record)) },
    { g_strdup (_ (describe_end (record))) },
    { describe_exit (record) },
    { .number = get_uint (record, NUM_PROCS) },
    { .number = get_time (record, CREATED_AT) },
    { .number = get_time (record, STARTED_AT) },
    { .number = get_time (record, ENDED_AT) },
    { describe_span (record) },
    { join (record, NODES, ",") },
    { dup_text (record, REASON) },
    { join (record, COMMAND, " ") },
    { g_strdup (record->instance) },
  };

  G_STATIC_ASSERT (G_N_ELEMENTS (cells) == G_N_ELEMENTS (job_columns) - 1);
  dvm_cli_table_take (table, cells);
}

/* The state that it had when it was put down is not that of its end. */
static char *
describe_campaign (const Record *record)
{
  return get_boolean (record, LOST) ? g_strdup ("lost") : dup_text (record, STATE);
}

static void
add_campaign (DvmCliTable *table, const Record *record)
{
  const DvmCliPlain cells[] = {
    { .number = get_uint (record, ID) },
    { dup_text (record, KIND) },
    { describe_campaign (record) },
    { dup_text (record, ALLOC_ID) },
    { .number = get_time (record, STARTED_AT) },
    { .number = get_time (record, ENDED_AT) },
    { describe_span (record) },
    { join (record, HOSTS, ",") },
    { dup_text (record, REASON) },
    { g_strdup (record->instance) },
  };

  G_STATIC_ASSERT (G_N_ELEMENTS (cells) == G_N_ELEMENTS (campaign_columns) - 1);
  dvm_cli_table_take (table, cells);
}

/* N_KEYS: it is not shown; next: the key that is to be expected, behind the one before */
static Key
find_key (const char *name, Key next)
{
  for (guint i = 0; i < N_KEYS; i++)
    if (strcmp (keys[(next + i) % N_KEYS], name) == 0)
      return (next + i) % N_KEYS;
  return N_KEYS;
}

static void
record_clear (Record *record)
{
  for (Key key = 0; key < N_KEYS; key++)
    g_clear_pointer (&record->values[key], g_variant_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Record, record_clear)

/* dict: a{sv}, of which the same key may be there twice: the last one counts */
static void
read_record (GVariant *dict, Record *record)
{
  gsize n = g_variant_n_children (dict);
  Key next = 0;

  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (dict, i);
      g_autoptr (GVariant) name = g_variant_get_child_value (entry, 0);
      g_autoptr (GVariant) boxed = NULL;
      Key key = find_key (g_variant_get_string (name, NULL), next);

      if (key == N_KEYS)
        continue;
      g_clear_pointer (&record->values[key], g_variant_unref);
      boxed = g_variant_get_child_value (entry, 1);
      record->values[key] = g_variant_get_variant (boxed);
      next = (key + 1) % N_KEYS;
    }
}

static DvmCliTable *
make_table (GVariant *found, gboolean campaigns)
{
  DvmCliTable *table = dvm_cli_table_new (campaigns ? campaign_columns : job_columns);
  g_autoptr (GHashTable) names = g_hash_table_new_full (NULL, NULL, NULL, g_free);

  for (gsize i = 0; i < g_variant_n_children (found); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (found, i);
      g_autoptr (GVariant) instance = g_variant_get_child_value (row, 0);
      g_autoptr (GVariant) dict = g_variant_get_child_value (row, 1);
      g_auto (Record) record = { .instance = g_variant_get_string (instance, NULL) };

      read_record (dict, &record);
      if (campaigns)
        add_campaign (table, &record);
      else
        add_job (table, names, &record);
    }
  return table;
}

static int
show_history (DvmCli *cli, GError **error)
{
  g_autoptr (GVariant) found = search (cli, error);
  g_autoptr (DvmCliTable) table = NULL;

  if (found == NULL)
    return DVM_CLI_EXIT_FAILED;
  table = make_table (found, dvm_cli_args_has (cli->args, "campaigns"));
  return dvm_cli_print_table (cli, table, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_history = {
  .name = "history",
  .synopsis = "[OPTION...] [JOB...]",
  .summary = N_ ("list jobs and campaigns that have ended, also those of DVMs that have gone"),
  .options = { options },
  .max_words = G_MAXUINT,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = show_history,
};
