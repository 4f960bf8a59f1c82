/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The words of options such as when-full, stdin and runtime-options are read and checked.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvm-words-private.h"

#define MOST_RANK (G_MAXUINT - 1)

enum
{
  RUNTIME_ERROR_NONZERO,
  RUNTIME_RECOVERABLE,
  RUNTIME_DO_NOT_LAUNCH,
  RUNTIME_NOTIFY_ERRORS,
  RUNTIME_STOP_ON_EXEC,
  RUNTIME_STOP_IN_INIT,
  RUNTIME_STOP_IN_APP,
  RUNTIME_AUTORESTART,
  RUNTIME_CONTINUOUS,
  RUNTIME_STACK_TRACES,
  RUNTIME_REPORT_STATE,
  RUNTIME_DO_NOT_SPAWN,
  RUNTIME_CHILDREN_APART,
  RUNTIME_AGGREGATE_HELP,
  RUNTIME_NO_EXEC_AGENT,
  N_RUNTIME,
  /* Those have a value of their own, the others are yes or no. */
  RUNTIME_MAX_RESTARTS,
  RUNTIME_TIMEOUT,
  RUNTIME_SPAWN_TIMEOUT,
  RUNTIME_EXEC_AGENT
};

/* The words of a list say this; -1: nothing */
typedef struct
{
  const char *place;
  gint8 given[N_RUNTIME];
  gint64 max_restarts;
  gint64 timeout;
  gint64 spawn_timeout;
  char *exec_agent; /* (nullable) */
} Runtime;

static void
clear_runtime (Runtime *self)
{
  g_free (self->exec_agent);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Runtime, clear_runtime)

static const DvmWord runtime_words[] = {
  { "error-nonzero-status", RUNTIME_ERROR_NONZERO, TRUE },
  { "recoverable", RUNTIME_RECOVERABLE, TRUE },
  { "donotlaunch", RUNTIME_DO_NOT_LAUNCH, TRUE },
  { "notifyerrors", RUNTIME_NOTIFY_ERRORS, TRUE },
  { "stop-on-exec", RUNTIME_STOP_ON_EXEC, TRUE },
  { "stop-in-init", RUNTIME_STOP_IN_INIT, TRUE },
  { "stop-in-app", RUNTIME_STOP_IN_APP, TRUE },
  { "autorestart", RUNTIME_AUTORESTART, TRUE },
  { "continuous", RUNTIME_CONTINUOUS, TRUE },
  { "max-restarts", RUNTIME_MAX_RESTARTS, TRUE },
  { "get-stack-traces", RUNTIME_STACK_TRACES, TRUE },
  { "report-state-on-timeout", RUNTIME_REPORT_STATE, TRUE },
  { "donotspawn", RUNTIME_DO_NOT_SPAWN, TRUE },
  { "exec-agent", RUNTIME_EXEC_AGENT, TRUE },
  { "default-exec-agent", RUNTIME_NO_EXEC_AGENT, TRUE },
  { "timeout", RUNTIME_TIMEOUT, TRUE },
  { "spawn-timeout", RUNTIME_SPAWN_TIMEOUT, TRUE },
  { "report-child-jobs-separately", RUNTIME_CHILDREN_APART, TRUE },
  { "aggregate-help-messages", RUNTIME_AGGREGATE_HELP, TRUE },
  /* dvm-cli does these by itself. */
  { "show-progress", -1, FALSE },
  { "output-proctable", -1, FALSE },
  { "fwd-environment", -1, FALSE },
};

static const DvmWord when_full_words[] = {
  { "wait", DVM_WHEN_FULL_WAIT, TRUE },
  { "refuse", DVM_WHEN_FULL_REFUSE, TRUE },
  { "oversubscribe", DVM_WHEN_FULL_OVERSUBSCRIBE, TRUE },
};

static const DvmWord personality_words[] = {
  { "pmix", FALSE, TRUE },
  { "plain", TRUE, TRUE },
};

static const DvmWord stdin_words[] = {
  { "all", DVM_STDIN_ALL, TRUE },
  { "none", DVM_STDIN_NONE, TRUE },
};

/* One entry of a comma list: up to "=" or ":" is the word. */
static gsize
word_length (const char *text)
{
  return strcspn (text, "=:");
}

static gboolean
set_runtime_option (Runtime *self, const DvmWord *word, const char *value, GError **error)
{
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");
  gboolean on;

  if (!_dvm_words_parse_boolean (value, &on))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%sruntime-options: %s is “%s”; it can be yes or no"),
                   self->place, word->name, shown);
      return FALSE;
    }
  if (self->given[word->value] >= 0 && self->given[word->value] != on)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sruntime-options: %s is given twice, once yes and once no"), self->place, word->name);
      return FALSE;
    }
  self->given[word->value] = on;
  return TRUE;
}

static gboolean
set_runtime_number (Runtime *self, const char *name, gint64 *place, guint64 number, GError **error)
{
  if (*place >= 0 && *place != (gint64)number)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sruntime-options: %s is given twice, with different numbers"), self->place, name);
      return FALSE;
    }
  *place = (gint64)number;
  return TRUE;
}

static gboolean
set_max_restarts (Runtime *self, const DvmWord *word, const char *value, GError **error)
{
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");
  guint64 number;

  if (value != NULL && g_ascii_string_to_unsigned (value, 10, 0, G_MAXUINT32, &number, NULL))
    return set_runtime_number (self, word->name, &self->max_restarts, number, error);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sruntime-options: max-restarts is “%s”; it is a number from 0 to %u"), self->place, shown,
               G_MAXUINT32);
  return FALSE;
}

/* "90", "1:30", "1:30:00" and "1:0:0:0" are read from the right: seconds, minutes, hours and days. */
static gboolean
parse_seconds (const char *text, guint64 *seconds)
{
  static const guint units[] = { 1, 60, 3600, 86400 };
  g_auto (GStrv) parts = g_strsplit (text, ":", -1);
  guint n = g_strv_length (parts);

  *seconds = 0;
  for (guint i = 0; i < n; i++)
    {
      guint64 number;

      if (n > G_N_ELEMENTS (units) || !g_ascii_string_to_unsigned (parts[i], 10, 0, G_MAXINT32, &number, NULL))
        return FALSE;
      *seconds += number * units[n - 1 - i];
    }
  return *seconds > 0 && *seconds <= G_MAXINT32;
}

static gboolean
set_seconds (Runtime *self, const DvmWord *word, const char *value, GError **error)
{
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");
  gint64 *place = word->value == RUNTIME_TIMEOUT ? &self->timeout : &self->spawn_timeout;
  guint64 seconds;

  if (value != NULL && parse_seconds (value, &seconds))
    return set_runtime_number (self, word->name, place, seconds, error);
  g_set_error (
      error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
      _ ("%sruntime-options: %s is “%s”; it is a number of seconds above 0, or days, hours, minutes and seconds "
         "such as 1:30:00"),
      self->place, word->name, shown);
  return FALSE;
}

static gboolean
set_exec_agent (Runtime *self, const char *value, GError **error)
{
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");
  g_auto (GStrv) words = NULL;

  if (value == NULL || !g_shell_parse_argv (value, NULL, &words, NULL) || words[0][0] == '\0')
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sruntime-options: exec-agent is “%s”; it is a command, whose words a shell could read"),
                   self->place, shown);
      return FALSE;
    }
  if (self->exec_agent != NULL && strcmp (self->exec_agent, value) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sruntime-options: exec-agent is given twice, with different commands"), self->place);
      return FALSE;
    }
  g_free (self->exec_agent);
  self->exec_agent = g_strdup (value);
  return TRUE;
}

/*
 * autorestart says whether, max-restarts how often: the second one alone is enough. With continuous alone there is no
 * limit.
 */
static gboolean
choose_restarts (const Runtime *self, guint32 *number, GError **error)
{
  gint8 autorestart = self->given[RUNTIME_AUTORESTART];
  gint64 max_restarts = self->max_restarts;

  if (self->given[RUNTIME_CONTINUOUS] == TRUE && max_restarts < 0)
    max_restarts = G_MAXUINT32;
  *number = (guint32)MAX (max_restarts, 0);
  if (self->given[RUNTIME_CONTINUOUS] == TRUE && *number == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sruntime-options: continuous starts processes again, and max-restarts is 0"), self->place);
      return FALSE;
    }
  if (autorestart < 0 || (autorestart == TRUE) == (*number > 0))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               autorestart == TRUE ? _ ("%sruntime-options: autorestart needs a max-restarts=N above 0")
                                   : _ ("%sruntime-options: autorestart is no, and max-restarts is above 0"),
               self->place);
  return FALSE;
}

static gboolean
choose_stop (const Runtime *self, DvmStop *stop, GError **error)
{
  static const struct
  {
    int word;
    DvmStop stop;
  } stops[] = {
    { RUNTIME_STOP_ON_EXEC, DVM_STOP_ON_EXEC },
    { RUNTIME_STOP_IN_INIT, DVM_STOP_IN_INIT },
    { RUNTIME_STOP_IN_APP, DVM_STOP_IN_APP },
  };

  *stop = DVM_STOP_NONE;
  for (gsize i = 0; i < G_N_ELEMENTS (stops); i++)
    {
      if (self->given[stops[i].word] != TRUE)
        continue;
      if (*stop != DVM_STOP_NONE)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       _ ("%sruntime-options: a job stops at one place: stop-on-exec, stop-in-init or stop-in-app"),
                       self->place);
          return FALSE;
        }
      *stop = stops[i].stop;
    }
  return TRUE;
}

/* Each message about a job is told once for all of its processes, and there is no other way. */
static gboolean
check_messages (const Runtime *self, GError **error)
{
  if (self->given[RUNTIME_AGGREGATE_HELP] != FALSE)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
               _ ("%sruntime-options: aggregate-help-messages=no is not supported: each message is told once"),
               self->place);
  return FALSE;
}

static gboolean
choose_exec_agent (const Runtime *self, gboolean *none, GError **error)
{
  *none = self->given[RUNTIME_NO_EXEC_AGENT] == TRUE;
  if (!*none || self->exec_agent == NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sruntime-options: exec-agent names a command, and default-exec-agent is none"), self->place);
  return FALSE;
}

static gboolean
take_runtime_word (Runtime *self, const char *entry, GError **error)
{
  gsize length = strcspn (entry, "=");
  const char *value = entry[length] == '=' ? entry + length + 1 : NULL;
  const DvmWord *word;

  word = _dvm_words_find (runtime_words, G_N_ELEMENTS (runtime_words), entry, length, self->place, "runtime-options",
                          error);
  if (word == NULL)
    return FALSE;
  switch (word->value)
    {
    case RUNTIME_MAX_RESTARTS:
      return set_max_restarts (self, word, value, error);
    case RUNTIME_TIMEOUT:
    case RUNTIME_SPAWN_TIMEOUT:
      return set_seconds (self, word, value, error);
    case RUNTIME_EXEC_AGENT:
      return set_exec_agent (self, value, error);
    default:
      return set_runtime_option (self, word, value, error);
    }
}

static gboolean
read_runtime_options (Runtime *self, const char *text, const char *place, GError **error)
{
  g_auto (GStrv) entries = NULL;

  *self = (Runtime){ .place = place, .max_restarts = -1, .timeout = -1, .spawn_timeout = -1 };
  memset (self->given, -1, sizeof self->given);
  entries = text != NULL && text[0] != '\0' ? g_strsplit (text, ",", -1) : g_new0 (char *, 1);
  for (gsize i = 0; entries[i] != NULL; i++)
    if (!take_runtime_word (self, entries[i], error))
      return FALSE;
  return TRUE;
}

gboolean
_dvm_runtime_options_parse (const char *text, const char *place, DvmRuntimeOptions *options, GError **error)
{
  g_auto (Runtime) self = { 0 };
  const gint8 *given = self.given;

  if (!read_runtime_options (&self, text, place, error))
    return FALSE;
  options->error_nonzero_status = given[RUNTIME_ERROR_NONZERO] != FALSE;
  options->recoverable = given[RUNTIME_RECOVERABLE] == TRUE;
  /* The nodes of the DVM are there in any case: nothing is started on them. */
  options->do_not_launch = given[RUNTIME_DO_NOT_LAUNCH] == TRUE || given[RUNTIME_DO_NOT_SPAWN] == TRUE;
  options->notify_errors = given[RUNTIME_NOTIFY_ERRORS];
  options->stack_traces = given[RUNTIME_STACK_TRACES] == TRUE;
  options->report_state = given[RUNTIME_REPORT_STATE] == TRUE;
  options->timeout = (guint)MAX (self.timeout, 0);
  options->spawn_timeout = (guint)MAX (self.spawn_timeout, 0);
  options->report_children_apart = given[RUNTIME_CHILDREN_APART] == TRUE;
  return choose_restarts (&self, &options->max_restarts, error) && choose_stop (&self, &options->stop, error)
         && choose_exec_agent (&self, &options->no_exec_agent, error) && check_messages (&self, error);
}

GStrv
_dvm_runtime_options_dup_exec_agent (const char *text)
{
  g_auto (Runtime) self = { 0 };
  GStrv words = NULL;

  if (read_runtime_options (&self, text, "", NULL) && self.exec_agent != NULL)
    g_shell_parse_argv (self.exec_agent, NULL, &words, NULL);
  return words;
}

static gboolean
refuse_rest (const char *text, const char *place, const char *what, GError **error)
{
  g_autofree char *shown = NULL;

  if (text[0] == '\0')
    return TRUE;
  shown = _dvm_words_show (text);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: “%s” makes no sense there"), place, what, shown);
  return FALSE;
}

static gboolean
find_only (const DvmWord *words, gsize n_words, const char *text, const char *place, const char *what, int *value,
           GError **error)
{
  const DvmWord *word;
  gsize length;

  if (text == NULL)
    return TRUE;
  length = word_length (text);
  word = _dvm_words_find (words, n_words, text, length, place, what, error);
  if (word == NULL)
    return FALSE;
  *value = word->value;
  return refuse_rest (text + length, place, what, error);
}

gboolean
_dvm_when_full_parse (const char *text, const char *place, DvmWhenFull *when_full, GError **error)
{
  int value = DVM_WHEN_FULL_WAIT;

  if (!find_only (when_full_words, G_N_ELEMENTS (when_full_words), text, place, "when-full", &value, error))
    return FALSE;
  *when_full = value;
  return TRUE;
}

gboolean
_dvm_personality_parse (const char *text, const char *place, gboolean *plain, GError **error)
{
  *plain = FALSE;
  return find_only (personality_words, G_N_ELEMENTS (personality_words), text, place, "personality", plain, error);
}

/* "0,2-4"; most (out): the highest */
static gboolean
read_rank_list (const char *text, guint *most)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  *most = 0;
  for (gsize i = 0; parts[i] != NULL; i++)
    {
      g_auto (GStrv) ends = g_strsplit (parts[i], "-", 2);
      guint64 first = 0;
      guint64 last = 0;

      if (ends[0] == NULL || !g_ascii_string_to_unsigned (ends[0], 10, 0, MOST_RANK, &first, NULL)
          || !g_ascii_string_to_unsigned (ends[1] != NULL ? ends[1] : ends[0], 10, first, MOST_RANK, &last, NULL))
        return FALSE;
      *most = MAX (*most, (guint)last);
    }
  return TRUE;
}

gboolean
_dvm_stdin_target_parse (const char *text, const char *place, DvmStdinTarget *target, GError **error)
{
  guint64 rank;
  int kind;

  target->kind = DVM_STDIN_RANK;
  target->rank = 0;
  if (text == NULL)
    return TRUE;
  if (g_ascii_string_to_unsigned (text, 10, 0, MOST_RANK, &rank, NULL))
    {
      target->rank = rank;
      return TRUE;
    }
  if (text[0] != '\0' && read_rank_list (text, &target->rank))
    {
      target->kind = DVM_STDIN_LIST;
      return TRUE;
    }
  if (!g_ascii_isalpha (text[0]))
    {
      g_autofree char *shown = _dvm_words_show (text);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sstdin: “%s” is not a rank; it can be a rank, ranks such as 0,2-4, “all” or “none”"), place,
                   shown);
      return FALSE;
    }
  if (!find_only (stdin_words, G_N_ELEMENTS (stdin_words), text, place, "stdin", &kind, error))
    return FALSE;
  target->kind = kind;
  return TRUE;
}

/* ---- for completion ---- */

static gboolean
has_value (int value)
{
  return value > N_RUNTIME;
}

void
_dvm_runtime_options_add_words (GVariantBuilder *rows)
{
  _dvm_words_add (rows, "runtime-options", "word", runtime_words, G_N_ELEMENTS (runtime_words), has_value);
}
