/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Command lines are read by tables of options, which --help and the manual share.
 */

#include "config.h"

#include "dvm-cli-options.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-hints.h"
#include "dvm-cli-suggest.h"

typedef struct
{
  const DvmCliOption *option;
  const char *value;
  const char *word; /* as typed: with the value, or without */
} Given;

struct _DvmCliArgs
{
  GArray *given;    /* of Given */
  GPtrArray *words; /* of const char *, NULL-terminated */
  GPtrArray *texts; /* of char *: parts of values that were typed */
};

/* Where the parser stands. */
typedef struct
{
  DvmCliArgs *args;
  DvmCliOptionLists lists;
  const char *const *argv;
  gsize next;
  const char *word; /* the one before */
} Parser;

G_DEFINE_QUARK (dvm - cli - usage - error, dvm_cli_usage_error)

DvmCliArgs *
dvm_cli_args_new (void)
{
  DvmCliArgs *self = g_new0 (DvmCliArgs, 1);

  self->given = g_array_new (FALSE, FALSE, sizeof (Given));
  self->words = g_ptr_array_new ();
  g_ptr_array_add (self->words, NULL);
  self->texts = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
dvm_cli_args_free (DvmCliArgs *self)
{
  g_array_unref (self->given);
  g_ptr_array_unref (self->words);
  g_ptr_array_unref (self->texts);
  g_free (self);
}

static gboolean
has_alias (const DvmCliOption *option, const char *spelling)
{
  gsize length = strlen (spelling);

  for (const char *alias = option->aliases; alias != NULL; alias = strchr (alias, ' '))
    {
      alias += strspn (alias, " ");
      if (strcspn (alias, " ") == length && strncmp (alias, spelling, length) == 0)
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_spelled (const DvmCliOption *option, const char *spelling)
{
  if (g_str_has_prefix (spelling, "--"))
    return strcmp (option->name, spelling + 2) == 0 || has_alias (option, spelling);
  if (option->letter != '\0' && spelling[1] == option->letter && spelling[2] == '\0')
    return TRUE;
  /* Launchers of before had one dash for all of them. */
  return has_alias (option, spelling) || (spelling[1] != '\0' && strcmp (option->name, spelling + 1) == 0);
}

/* spelling: with its dashes and without a value */
static const DvmCliOption *
find_spelling (DvmCliOptionLists lists, const char *spelling)
{
  for (gsize i = 0; lists[i] != NULL; i++)
    for (const DvmCliOption *option = lists[i]; option->name != NULL; option++)
      if (is_spelled (option, spelling))
        return option;
  return NULL;
}

/**
 * dvm_cli_option_find:
 * @lists: lists of options
 * @name: a long name without dashes
 *
 * Returns: (nullable): the option of that name
 */
const DvmCliOption *
dvm_cli_option_find (DvmCliOptionLists lists, const char *name)
{
  for (gsize i = 0; lists[i] != NULL; i++)
    for (const DvmCliOption *option = lists[i]; option->name != NULL; option++)
      if (strcmp (option->name, name) == 0)
        return option;
  return NULL;
}

char *
dvm_cli_option_explain (const DvmCliOption *self)
{
  g_auto (GStrv) parts = NULL;

  if (self->instead == NULL)
    return g_strdup (_ (self->help));
  if (strcmp (self->instead, DVM_CLI_NOT_NEEDED) == 0)
    return g_strdup (_ ("not needed here"));
  parts = g_strsplit (self->instead, "%", -1);
  return g_strjoinv (self->value != NULL ? _ (self->value) : "", parts);
}

const DvmCliOption *
dvm_cli_option_find_spelling (DvmCliOptionLists lists, const char *spelling)
{
  return find_spelling (lists, spelling);
}

static const char *
nearest_option (DvmCliOptionLists lists, const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (gsize i = 0; lists[i] != NULL; i++)
    for (const DvmCliOption *option = lists[i]; option->name != NULL; option++)
      g_ptr_array_add (names, (gpointer)option->name);
  g_ptr_array_add (names, NULL);
  return dvm_cli_suggest (name, (const char *const *)names->pdata);
}

static gboolean
fail_unknown (DvmCliOptionLists lists, const char *spelling, GError **error)
{
  const char *near = nearest_option (lists, spelling + strspn (spelling, "-"));
  g_autofree char *hint = dvm_cli_hint_option (spelling);

  if (hint != NULL)
    g_set_error_literal (error, DVM_CLI_USAGE_ERROR, 0, hint);
  else if (near != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("unknown option '%s'; did you mean '--%s'?"), spelling, near);
  else
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("unknown option '%s'"), spelling);
  return FALSE;
}

static gboolean
check_number (const DvmCliOption *option, const char *spelling, const char *value, guint least, GError **error)
{
  int most = option->choices != NULL ? (int)g_ascii_strtoull (option->choices, NULL, 10) : G_MAXINT32;
  guint64 number;

  if (g_ascii_string_to_unsigned (value, 10, least, (guint64)most, &number, NULL))
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option %s takes a whole number from %u to %d, not '%s'"), spelling,
               least, most, value);
  return FALSE;
}

static gboolean
check_choice (const DvmCliOption *option, const char *spelling, const char *value, GError **error)
{
  g_auto (GStrv) choices = g_strsplit (option->choices, "|", -1);
  g_autofree char *listed = NULL;
  const char *near;

  if (g_strv_contains ((const char *const *)choices, value))
    return TRUE;
  listed = g_strjoinv (", ", choices);
  near = dvm_cli_suggest (value, (const char *const *)choices);
  if (near != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option %s takes one of %s, not '%s'; did you mean '%s'?"), spelling,
                 listed, value, near);
  else
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option %s takes one of %s, not '%s'"), spelling, listed, value);
  return FALSE;
}

/* "1:30:00": read from the right, as seconds, minutes, hours and days */
static gboolean
parse_clock (const char *value, guint64 *seconds)
{
  static const guint units[] = { 1, 60, 3600, 86400 };
  g_auto (GStrv) parts = g_strsplit (value, ":", -1);
  guint n = g_strv_length (parts);

  *seconds = 0;
  for (guint i = 0; i < n; i++)
    {
      guint64 number;

      if (n > G_N_ELEMENTS (units) || !g_ascii_string_to_unsigned (parts[i], 10, 0, G_MAXINT32, &number, NULL))
        return FALSE;
      *seconds += number * units[n - 1 - i];
    }
  return n > 0 && *seconds <= G_MAXINT32;
}

static gboolean
parse_time (const char *value, guint64 *seconds)
{
  static const char letters[] = "smhd";
  static const guint units[] = { 1, 60, 3600, 86400 };
  gsize length = strlen (value);
  const char *letter = length > 1 ? strchr (letters, value[length - 1]) : NULL;
  g_autofree char *digits = letter != NULL ? g_strndup (value, length - 1) : NULL;

  if (letter == NULL)
    return parse_clock (value, seconds);
  if (!g_ascii_string_to_unsigned (digits, 10, 0, G_MAXINT32, seconds, NULL))
    return FALSE;
  *seconds *= units[letter - letters];
  return *seconds <= G_MAXINT32;
}

static gboolean
check_time (const DvmCliOption *option, const char *spelling, const char *value, GError **error)
{
  guint64 least = option->choices != NULL ? g_ascii_strtoull (option->choices, NULL, 10) : 0;
  guint64 seconds;

  if (parse_time (value, &seconds) && seconds >= least)
    return TRUE;
  if (least > 0 && parse_time (value, &seconds))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option %s takes a time of %u seconds at least, not '%s'"),
                   spelling, (guint)least, value);
      return FALSE;
    }
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("option %s takes a time: seconds, or such as 90s, 10m, 2h, 1d or 1:30:00; not '%s'"), spelling,
               value);
  return FALSE;
}

static gboolean
check_value (const DvmCliOption *option, const char *spelling, const char *value, GError **error)
{
  switch (option->arg)
    {
    case DVM_CLI_ARG_COUNT:
      return check_number (option, spelling, value, 1, error);
    case DVM_CLI_ARG_NUMBER:
      return check_number (option, spelling, value, 0, error);
    case DVM_CLI_ARG_TIME:
      return check_time (option, spelling, value, error);
    case DVM_CLI_ARG_CHOICE:
      return check_choice (option, spelling, value, error);
    case DVM_CLI_ARG_STRING:
    case DVM_CLI_ARG_OPTIONAL:
      if (value[0] != '\0')
        return TRUE;
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option %s has an empty value"), spelling);
      return FALSE;
    case DVM_CLI_ARG_PAIR:
      if (strcspn (value, "=") > 0)
        return TRUE;
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option %s takes a name and a value, two words"), spelling);
      return FALSE;
    case DVM_CLI_ARG_NONE:
    default:
      return TRUE;
    }
}

static const Given *
find_given (DvmCliArgs *self, const char *name)
{
  for (guint i = self->given->len; i > 0; i--)
    {
      const Given *given = &g_array_index (self->given, Given, i - 1);

      if (strcmp (given->option->name, name) == 0)
        return given;
    }
  return NULL;
}

/* -1: none of that row */
static int
find_row (DvmCliArgs *self, const DvmCliOption *row)
{
  for (guint i = 0; i < self->given->len; i++)
    if (g_array_index (self->given, Given, i).option == row)
      return (int)i;
  return -1;
}

/* A value may be part of its word: "-N2", "--npernode=2". */
static char *
show_given (const Given *self)
{
  if (self->value == NULL || (self->value > self->word && self->value <= self->word + strlen (self->word)))
    return g_strdup (self->word);
  return g_strdup_printf ("%s %s", self->word, self->value);
}

/* Words are read in any case, paths are not. */
static gboolean
say_the_same (const char *one, const char *other)
{
  return strchr (one, '/') != NULL ? strcmp (one, other) == 0 : g_ascii_strcasecmp (one, other) == 0;
}

/* The last one does not win silently. */
static gboolean
check_once (DvmCliArgs *self, const Given *given, GError **error)
{
  const Given *other = find_given (self, given->option->name);
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;
  const char *hint;

  if (other == NULL || other->option != given->option || given->value == NULL || other->value == NULL
      || given->option->arg == DVM_CLI_ARG_PAIR || (!given->option->once && given->option->instead == NULL)
      || say_the_same (other->value, given->value))
    return TRUE;
  first = show_given (other);
  second = show_given (given);
  hint = dvm_cli_hint_clash (given->option->name);
  if (strncmp (other->word, given->word, 2) != 0 && hint != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' and '%s' cannot stand together: say it once; %s"), first,
                 second, hint);
  else
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' and '%s' cannot stand together: say it once"), first, second);
  return FALSE;
}

static const char *
keep_text (DvmCliArgs *self, char *text)
{
  g_ptr_array_add (self->texts, text);
  return text;
}

/* One dash and a word may be a value, as "-name" of top --sort. */
static gboolean
is_typed_option (Parser *parser, const char *word)
{
  return word[0] == '-' && word[1] != '\0' && (word[1] == '-' || word[2] == '\0')
         && g_str_has_prefix (parser->word, "--") && find_spelling (parser->lists, word) != NULL;
}

/* first (nullable): the first word of the value */
static gboolean
take_value (Parser *parser, const DvmCliOption *option, const char *spelling, const char *first, Given *given,
            GError **error)
{
  const char *second = NULL;

  given->value = first != NULL ? first : parser->argv[parser->next];
  if (option->arg == DVM_CLI_ARG_PAIR && given->value != NULL)
    second = parser->argv[parser->next + (first == NULL ? 1 : 0)];
  if (given->value == NULL || (option->arg == DVM_CLI_ARG_PAIR && second == NULL))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option %s needs a value: %s"), spelling, _ (option->value));
      return FALSE;
    }
  /* "--label -n 1": srun has a flag of that name. Behind a letter there is no other way to give such a value. */
  if (first == NULL && option->arg == DVM_CLI_ARG_STRING && is_typed_option (parser, given->value))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("option %s needs a value: %s; '%s' is an option, and with '=' between it would be the value"),
                   spelling, _ (option->value), given->value);
      return FALSE;
    }
  parser->next += (first == NULL ? 1 : 0) + (second != NULL ? 1 : 0);
  if (second != NULL)
    given->value = keep_text (parser->args, g_strconcat (given->value, "=", second, NULL));
  return TRUE;
}

/* value: what was attached to the option by '=' or directly, or NULL: then the next word is taken */
static gboolean
take_option (Parser *parser, const DvmCliOption *option, const char *spelling, const char *value, GError **error)
{
  Given given = { option, value, parser->word };

  if (option->arg == DVM_CLI_ARG_NONE && value != NULL)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option %s takes no value"), spelling);
      return FALSE;
    }
  if (option->arg != DVM_CLI_ARG_NONE && option->arg != DVM_CLI_ARG_OPTIONAL
      && (value == NULL || option->arg == DVM_CLI_ARG_PAIR)
      && !take_value (parser, option, spelling, value, &given, error))
    return FALSE;
  if (given.value != NULL && !check_value (option, spelling, given.value, error))
    return FALSE;
  if (!check_once (parser->args, &given, error))
    return FALSE;
  g_array_append_val (parser->args->given, given);
  return TRUE;
}

static gboolean
take_long (Parser *parser, const char *word, GError **error)
{
  const char *equals = strchr (word, '=');
  g_autofree char *spelling = equals != NULL ? g_strndup (word, (gsize)(equals - word)) : g_strdup (word);
  const DvmCliOption *option = find_spelling (parser->lists, spelling);

  if (option == NULL)
    return fail_unknown (parser->lists, spelling, error);
  return take_option (parser, option, spelling, equals != NULL ? equals + 1 : NULL, error);
}

/* "-np 4" (an alias), "-n 4", "-n4", "-qv" */
static gboolean
take_short (Parser *parser, const char *word, GError **error)
{
  const DvmCliOption *option = find_spelling (parser->lists, word);

  if (option != NULL)
    return take_option (parser, option, word, NULL, error);
  for (const char *letter = word + 1; *letter != '\0'; letter++)
    {
      const char spelling[3] = { '-', *letter, '\0' };

      option = find_spelling (parser->lists, spelling);
      if (option == NULL)
        return fail_unknown (parser->lists, word, error);
      if (option->arg != DVM_CLI_ARG_NONE)
        return take_option (parser, option, spelling, letter[1] != '\0' ? letter + 1 : NULL, error);
      if (!take_option (parser, option, spelling, NULL, error))
        return FALSE;
    }
  return TRUE;
}

static void
take_word (Parser *parser, const char *word)
{
  GPtrArray *words = parser->args->words;

  g_ptr_array_insert (words, (int)words->len - 1, (gpointer)word);
}

static void
take_rest (Parser *parser)
{
  while (parser->argv[parser->next] != NULL)
    take_word (parser, parser->argv[parser->next++]);
}

/**
 * dvm_cli_args_parse:
 * @self: what has been read so far
 * @lists: the options that are known
 * @argv: (array zero-terminated=1): what to read; borrowed by @self
 * @flags: how to read it
 * @error: a sentence in %DVM_CLI_USAGE_ERROR
 *
 * Returns: %FALSE with @error set when @argv has what @lists do not know
 */
gboolean
dvm_cli_args_parse (DvmCliArgs *self, DvmCliOptionLists lists, const char *const *argv, DvmCliParseFlags flags,
                    GError **error)
{
  Parser parser = { .args = self, .lists = lists, .argv = argv };

  while (argv[parser.next] != NULL)
    {
      const char *word = argv[parser.next++];
      gboolean ok = TRUE;

      parser.word = word;
      if (strcmp (word, "--") == 0)
        take_rest (&parser);
      else if (g_str_has_prefix (word, "--"))
        ok = take_long (&parser, word, error);
      else if (word[0] == '-' && word[1] != '\0')
        ok = take_short (&parser, word, error);
      else
        {
          take_word (&parser, word);
          if ((flags & DVM_CLI_PARSE_STOP_AT_WORD) != 0)
            take_rest (&parser);
        }
      if (!ok)
        return FALSE;
    }
  return TRUE;
}

gboolean
dvm_cli_args_add (DvmCliArgs *self, DvmCliOptionLists lists, const char *name, const char *value, GError **error)
{
  const DvmCliOption *option = dvm_cli_option_find (lists, name);
  g_autofree char *spelling = g_strdup_printf ("--%s", name);
  Given given = { option, NULL, NULL };

  if (!check_value (option, spelling, value, error))
    return FALSE;
  given.value = keep_text (self, g_strdup (value));
  given.word = keep_text (self, g_steal_pointer (&spelling));
  g_array_append_val (self->given, given);
  return TRUE;
}

const DvmCliOption *
dvm_cli_args_find_of (DvmCliArgs *self, const DvmCliOption *list)
{
  for (guint i = 0; i < self->given->len; i++)
    for (const DvmCliOption *row = list; row->name != NULL; row++)
      if (g_array_index (self->given, Given, i).option == row)
        return row;
  return NULL;
}

const char *
dvm_cli_args_get_of (DvmCliArgs *self, const DvmCliOption *row)
{
  int place = find_row (self, row);

  return place >= 0 ? g_array_index (self->given, Given, place).value : NULL;
}

char *
dvm_cli_args_show_of (DvmCliArgs *self, const DvmCliOption *row)
{
  int place = find_row (self, row);

  return place >= 0 ? show_given (&g_array_index (self->given, Given, place)) : NULL;
}

void
dvm_cli_args_turn (DvmCliArgs *self, const DvmCliOption *row, const DvmCliOption *to)
{
  int place = find_row (self, row);

  if (place >= 0 && to != NULL)
    g_array_index (self->given, Given, place).option = to;
  else if (place >= 0)
    g_array_remove_index (self->given, (guint)place);
}

void
dvm_cli_args_take_options (DvmCliArgs *self, DvmCliArgs *other)
{
  g_array_append_vals (self->given, other->given->data, other->given->len);
}

const char *const *
dvm_cli_args_keep (DvmCliArgs *self, char **words)
{
  for (gsize i = 0; words[i] != NULL; i++)
    keep_text (self, words[i]);
  return (const char *const *)keep_text (self, (char *)words);
}

const char *const *
dvm_cli_args_get_words (DvmCliArgs *self)
{
  return (const char *const *)self->words->pdata;
}

guint
dvm_cli_args_get_n_words (DvmCliArgs *self)
{
  return self->words->len - 1;
}

gboolean
dvm_cli_args_has (DvmCliArgs *self, const char *name)
{
  return find_given (self, name) != NULL;
}

const char *
dvm_cli_args_get (DvmCliArgs *self, const char *name)
{
  const Given *given = find_given (self, name);

  return given != NULL ? given->value : NULL;
}

char *
dvm_cli_args_show (DvmCliArgs *self, const char *name)
{
  const Given *given = find_given (self, name);

  return given != NULL ? show_given (given) : NULL;
}

/* The value was checked by the parser. */
guint
dvm_cli_args_get_uint (DvmCliArgs *self, const char *name, guint fallback)
{
  const char *value = dvm_cli_args_get (self, name);

  return value != NULL ? (guint)g_ascii_strtoull (value, NULL, 10) : fallback;
}

gboolean
dvm_cli_args_get_flag (DvmCliArgs *self, const char *name, gboolean fallback, gboolean *on, GError **error)
{
  static const char *const yes[] = { "yes", "true", "1", "on", NULL };
  static const char *const no[] = { "no", "false", "0", "off", NULL };
  const char *value = dvm_cli_args_get (self, name);
  g_autofree char *word = value != NULL ? g_ascii_strdown (value, -1) : NULL;

  *on = dvm_cli_args_has (self, name) ? TRUE : fallback;
  if (value == NULL || g_strv_contains (yes, word))
    return TRUE;
  *on = FALSE;
  if (g_strv_contains (no, word))
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --%s is yes or no, not '%s'"), name, value);
  return FALSE;
}

guint
dvm_cli_args_get_seconds (DvmCliArgs *self, const char *name, guint fallback)
{
  const char *value = dvm_cli_args_get (self, name);
  guint64 seconds;

  return value != NULL && parse_time (value, &seconds) ? (guint)seconds : fallback;
}

const char **
dvm_cli_args_get_all (DvmCliArgs *self, const char *name)
{
  GPtrArray *values = g_ptr_array_new ();

  for (guint i = 0; i < self->given->len; i++)
    {
      const Given *given = &g_array_index (self->given, Given, i);

      if (strcmp (given->option->name, name) == 0)
        g_ptr_array_add (values, (gpointer)given->value);
    }
  g_ptr_array_add (values, NULL);
  return (const char **)g_ptr_array_free (values, FALSE);
}

/* A word may be shortened, as all words of lists. */
static gboolean
is_word (const char *entry, const char *name)
{
  gsize length = strcspn (entry, "=");

  return length > 0 && g_ascii_strncasecmp (entry, name, length) == 0;
}

/* Of the option that stands at place. n (out): of how many more there are now */
static gboolean
move_words (DvmCliArgs *self, guint place, const DvmCliOption *to, guint *n, GError **error)
{
  Given *list = &g_array_index (self->given, Given, place);
  g_auto (GStrv) entries = g_strsplit (list->value, ",", -1);
  g_autoptr (GPtrArray) left = g_ptr_array_new ();
  g_autoptr (GArray) moved = g_array_new (FALSE, FALSE, sizeof (Given));

  *n = 0;
  for (gsize i = 0; entries[i] != NULL; i++)
    {
      const char *value = strchr (entries[i], '=');
      Given given = { to, value != NULL ? keep_text (self, g_strdup (value + 1)) : NULL, list->word };

      if (!is_word (entries[i], to->name))
        g_ptr_array_add (left, entries[i]);
      else if (value == NULL || check_value (to, to->name, given.value, error))
        g_array_append_val (moved, given);
      else
        return FALSE;
    }
  if (moved->len == 0)
    return TRUE;
  g_ptr_array_add (left, NULL);
  list->value = keep_text (self, g_strjoinv (",", (char **)left->pdata));
  g_array_insert_vals (self->given, place + 1, moved->data, moved->len);
  *n = moved->len;
  if (left->len > 1)
    return TRUE;
  g_array_remove_index (self->given, place);
  *n -= 1;
  return TRUE;
}

gboolean
dvm_cli_args_move_words (DvmCliArgs *self, const char *from, const DvmCliOption *to, GError **error)
{
  for (guint i = 0; i < self->given->len; i++)
    {
      guint n = 0;

      if (strcmp (g_array_index (self->given, Given, i).option->name, from) == 0
          && !move_words (self, i, to, &n, error))
        return FALSE;
      i += n;
    }
  return TRUE;
}
