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
  N_RUNTIME,
  RUNTIME_MAX_RESTARTS /* a number, the others are yes or no */
};

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
  { "donotspawn", -1, FALSE },
  { "show-progress", -1, FALSE },
  { "exec-agent", -1, FALSE },
  { "default-exec-agent", -1, FALSE },
  { "output-proctable", -1, FALSE },
  { "timeout", -1, FALSE },
  { "spawn-timeout", -1, FALSE },
  { "report-child-jobs-separately", -1, FALSE },
  { "aggregate-help-messages", -1, FALSE },
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
set_runtime_option (const DvmWord *word, const char *value, const char *place, gint8 *given, GError **error)
{
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");
  gboolean on;

  if (!_dvm_words_parse_boolean (value, &on))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%sruntime-options: %s is “%s”; it can be yes or no"),
                   place, word->name, shown);
      return FALSE;
    }
  if (given[word->value] >= 0 && given[word->value] != on)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sruntime-options: %s is given twice, once yes and once no"), place, word->name);
      return FALSE;
    }
  given[word->value] = on;
  return TRUE;
}

static gboolean
set_max_restarts (const char *value, const char *place, gint64 *max_restarts, GError **error)
{
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");
  guint64 number;

  if (value == NULL || !g_ascii_string_to_unsigned (value, 10, 0, G_MAXUINT32, &number, NULL))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sruntime-options: max-restarts is “%s”; it is a number from 0 to %u"), place, shown,
                   G_MAXUINT32);
      return FALSE;
    }
  if (*max_restarts >= 0 && *max_restarts != (gint64)number)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sruntime-options: max-restarts is given twice, with different numbers"), place);
      return FALSE;
    }
  *max_restarts = (gint64)number;
  return TRUE;
}

/*
 * autorestart says whether, max-restarts how often: the second one alone is enough. With continuous alone there is no
 * limit.
 */
static gboolean
choose_restarts (const gint8 *given, gint64 max_restarts, const char *place, guint32 *number, GError **error)
{
  gint8 autorestart = given[RUNTIME_AUTORESTART];

  if (given[RUNTIME_CONTINUOUS] == TRUE && max_restarts < 0)
    max_restarts = G_MAXUINT32;
  *number = (guint32)MAX (max_restarts, 0);
  if (given[RUNTIME_CONTINUOUS] == TRUE && *number == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sruntime-options: continuous starts processes again, and max-restarts is 0"), place);
      return FALSE;
    }
  if (autorestart < 0 || (autorestart == TRUE) == (*number > 0))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               autorestart == TRUE ? _ ("%sruntime-options: autorestart needs a max-restarts=N above 0")
                                   : _ ("%sruntime-options: autorestart is no, and max-restarts is above 0"),
               place);
  return FALSE;
}

static gboolean
choose_stop (const gint8 *given, const char *place, DvmStop *stop, GError **error)
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
      if (given[stops[i].word] != TRUE)
        continue;
      if (*stop != DVM_STOP_NONE)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       _ ("%sruntime-options: a job stops at one place: stop-on-exec, stop-in-init or stop-in-app"),
                       place);
          return FALSE;
        }
      *stop = stops[i].stop;
    }
  return TRUE;
}

gboolean
_dvm_runtime_options_parse (const char *text, const char *place, DvmRuntimeOptions *options, GError **error)
{
  gint8 given[N_RUNTIME];
  gint64 max_restarts = -1;
  g_auto (GStrv) entries = NULL;

  memset (given, -1, sizeof given);
  entries = text != NULL && text[0] != '\0' ? g_strsplit (text, ",", -1) : g_new0 (char *, 1);
  for (gsize i = 0; entries[i] != NULL; i++)
    {
      gsize length = strcspn (entries[i], "=");
      const char *value = entries[i][length] == '=' ? entries[i] + length + 1 : NULL;
      const DvmWord *word;

      word = _dvm_words_find (runtime_words, G_N_ELEMENTS (runtime_words), entries[i], length, place, "runtime-options",
                              error);
      if (word == NULL)
        return FALSE;
      if (word->value == RUNTIME_MAX_RESTARTS ? !set_max_restarts (value, place, &max_restarts, error)
                                              : !set_runtime_option (word, value, place, given, error))
        return FALSE;
    }
  options->error_nonzero_status = given[RUNTIME_ERROR_NONZERO] != FALSE;
  options->recoverable = given[RUNTIME_RECOVERABLE] == TRUE;
  options->do_not_launch = given[RUNTIME_DO_NOT_LAUNCH] == TRUE;
  options->notify_errors = given[RUNTIME_NOTIFY_ERRORS];
  options->stack_traces = given[RUNTIME_STACK_TRACES] == TRUE;
  options->report_state = given[RUNTIME_REPORT_STATE] == TRUE;
  return choose_restarts (given, max_restarts, place, &options->max_restarts, error)
         && choose_stop (given, place, &options->stop, error);
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

gboolean
_dvm_stdin_target_parse (const char *text, const char *place, DvmStdinTarget *target, GError **error)
{
  guint64 rank;
  int kind;

  target->kind = DVM_STDIN_RANK;
  target->rank = 0;
  if (text == NULL)
    return TRUE;
  if (g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT - 1, &rank, NULL))
    {
      target->rank = rank;
      return TRUE;
    }
  if (!g_ascii_isalpha (text[0]))
    {
      g_autofree char *shown = _dvm_words_show (text);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sstdin: “%s” is not a rank; it can be one rank, “all” or “none”"), place, shown);
      return FALSE;
    }
  if (!find_only (stdin_words, G_N_ELEMENTS (stdin_words), text, place, "stdin", &kind, error))
    return FALSE;
  target->kind = kind;
  return TRUE;
}
