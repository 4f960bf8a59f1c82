/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The words of --display are read: in any case, and as short as they are unambiguous.
 */

#include "config.h"

#include "dvm-cli-display.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-old.h"
#include "dvm-cli-suggest.h"

enum
{
  QUALIFIER_PARSEABLE,
  QUALIFIER_PHYSICAL,
};

typedef struct
{
  const char *name;
  guint value;
} Word;

static const Word words[] = {
  { "map", DVM_CLI_DISPLAY_MAP },           { "map-devel", DVM_CLI_DISPLAY_MAP_DEVEL },
  { "bindings", DVM_CLI_DISPLAY_BINDINGS }, { "allocation", DVM_CLI_DISPLAY_ALLOCATION },
  { "topo", DVM_CLI_DISPLAY_TOPO },         { "cpus", DVM_CLI_DISPLAY_CPUS },
};

static const Word qualifiers[] = {
  { "parseable", QUALIFIER_PARSEABLE },
  { "parsable", QUALIFIER_PARSEABLE },
  { "physical", QUALIFIER_PHYSICAL },
};

void
dvm_cli_display_clear (DvmCliDisplay *self)
{
  g_clear_pointer (&self->topo, g_free);
  g_clear_pointer (&self->cpus, g_free);
}

char **
dvm_cli_display_list (gboolean of_qualifiers)
{
  const Word *table = of_qualifiers ? qualifiers : words;
  gsize n = of_qualifiers ? G_N_ELEMENTS (qualifiers) : G_N_ELEMENTS (words);
  char **list = g_new0 (char *, n + 1);

  for (gsize i = 0; i < n; i++)
    list[i] = g_strdup (table[i].name);
  return list;
}

static gboolean
refuse_word (const Word *table, gsize n, const char *text, GError **error)
{
  const char *names[G_N_ELEMENTS (words) + 1] = { NULL };
  g_autofree char *list = NULL;
  const char *near;

  for (gsize i = 0; i < n; i++)
    names[i] = table[i].name;
  list = g_strjoinv (", ", (char **)names);
  near = dvm_cli_suggest (text, names);
  if (near != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --display: unknown word '%s'; did you mean '%s'?"), text,
                 near);
  else
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --display: unknown word '%s'; there are: %s"), text, list);
  return FALSE;
}

/* (nullable): the word of which text is the beginning. Words of one value are one. */
static const Word *
find_word (const Word *table, gsize n, const char *text, GError **error)
{
  gsize length = strlen (text);
  const Word *found = NULL;

  for (gsize i = 0; length > 0 && i < n; i++)
    {
      if (g_ascii_strncasecmp (table[i].name, text, length) != 0)
        continue;
      if (table[i].name[length] == '\0')
        return &table[i];
      if (found != NULL && found->value != table[i].value)
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --display: '%s' is the beginning of '%s' and of '%s'"),
                       text, found->name, table[i].name);
          return NULL;
        }
      found = &table[i];
    }
  if (found == NULL)
    refuse_word (table, n, text, error);
  return found;
}

/* Only topo and cpus have a value, and may do without. */
static gboolean
take_word (DvmCliDisplay *self, char *text, GError **error)
{
  char *equals = strchr (text, '=');
  const Word *word;
  char **nodes;
  g_autofree char *before = NULL;

  if (equals != NULL)
    *equals = '\0';
  word = find_word (words, G_N_ELEMENTS (words), text, error);
  if (word == NULL)
    return FALSE;
  self->what |= word->value;
  if (equals == NULL)
    return TRUE;
  if (equals[1] == '\0' || (word->value & (DVM_CLI_DISPLAY_TOPO | DVM_CLI_DISPLAY_CPUS)) == 0)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("option --display: '%s=%s': nodes may be named behind topo and cpus, parted by ';'"), word->name,
                   equals + 1);
      return FALSE;
    }
  nodes = word->value == DVM_CLI_DISPLAY_TOPO ? &self->topo : &self->cpus;
  before = *nodes;
  *nodes = before != NULL ? g_strjoin (";", before, equals + 1, NULL) : g_strdup (equals + 1);
  return TRUE;
}

static gboolean
take_entry (DvmCliDisplay *self, const char *entry, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (entry, ":", -1);

  /* Qualifiers alone are for all that is shown. */
  if ((parts[0] == NULL || parts[0][0] != '\0' || parts[1] == NULL)
      && !take_word (self, parts[0] != NULL ? parts[0] : (char[]){ "" }, error))
    return FALSE;
  for (gsize i = 1; parts[i] != NULL; i++)
    {
      const Word *qualifier = find_word (qualifiers, G_N_ELEMENTS (qualifiers), parts[i], error);

      if (qualifier == NULL)
        return FALSE;
      self->parseable = self->parseable || qualifier->value == QUALIFIER_PARSEABLE;
      self->physical = self->physical || qualifier->value == QUALIFIER_PHYSICAL;
    }
  return TRUE;
}

static gboolean
check_whole (const DvmCli *cli, const DvmCliDisplay *self, GError **error)
{
  if (self->physical && (self->what & ~(guint)DVM_CLI_DISPLAY_ALLOCATION) == 0)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("option --display: 'physical' is for numbers of cpus: of map, map-devel, bindings, topo and cpus"));
  else if (self->parseable && self->what == 0)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("option --display: 'parseable' needs a word, such as map:parseable"));
  else if (self->what != 0 && cli->json)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("--display and --json exclude each other: --json prints one object; see dvm-cli job map"));
  else
    return TRUE;
  return FALSE;
}

/* --bind-to core:report asks for the bindings, too; the library checks what else stands there. */
static gboolean
asks_for_report (DvmCliArgs *args)
{
  static const char *const yes[] = { "1", "t", "true", "y", "yes", "enable", NULL };
  g_autofree char *text = NULL;
  g_auto (GStrv) parts = NULL;

  if (!dvm_cli_old_compose (args, "bind-to", NULL, &text, NULL) || text == NULL)
    return FALSE;
  parts = g_strsplit (text, ":", -1);
  for (gsize i = 1; parts[0] != NULL && parts[i] != NULL; i++)
    {
      gsize length = strcspn (parts[i], "=");
      g_autofree char *value = parts[i][length] == '=' ? g_ascii_strdown (parts[i] + length + 1, -1) : g_strdup ("yes");

      if (length > 0 && g_ascii_strncasecmp (parts[i], "report", length) == 0 && g_strv_contains (yes, value))
        return TRUE;
    }
  return FALSE;
}

static gboolean
take_list (DvmCliDisplay *display, const char *text, GError **error)
{
  g_auto (GStrv) entries = g_strsplit (text != NULL ? text : "", ",", -1);

  for (gsize i = 0; entries[i] != NULL; i++)
    if (!take_entry (display, entries[i], error))
      {
        dvm_cli_display_clear (display);
        return FALSE;
      }
  return TRUE;
}

gboolean
dvm_cli_display_read (const char *text, DvmCliDisplay *display, GError **error)
{
  const DvmCli plain = { 0 };

  *display = (DvmCliDisplay){ 0 };
  if (!take_list (display, text, error))
    return FALSE;
  if (check_whole (&plain, display, error))
    return TRUE;
  dvm_cli_display_clear (display);
  return FALSE;
}

gboolean
dvm_cli_display_is_given (DvmCli *cli)
{
  g_autofree char *text = NULL;

  return dvm_cli_old_compose (cli->args, "display", NULL, &text, NULL) && text != NULL;
}

static gboolean
parse (DvmCli *cli, DvmCliDisplay *display,
       gboolean (*check) (const DvmCli *cli, const DvmCliDisplay *display, GError **error), GError **error)
{
  g_autofree char *text = NULL;

  *display = (DvmCliDisplay){ 0 };
  if (!dvm_cli_old_compose (cli->args, "display", NULL, &text, error) || !take_list (display, text, error))
    return FALSE;
  if (asks_for_report (cli->args))
    display->what |= DVM_CLI_DISPLAY_BINDINGS;
  if (check (cli, display, error))
    return TRUE;
  dvm_cli_display_clear (display);
  return FALSE;
}

gboolean
dvm_cli_display_parse (DvmCli *cli, DvmCliDisplay *display, GError **error)
{
  return parse (cli, display, check_whole, error);
}

/* The JSON of a map has all that these two words show. */
static gboolean
check_of_map (const DvmCli *cli, const DvmCliDisplay *self, GError **error)
{
  const DvmCli plain = { 0 };

  if (self->parseable)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("option --display: 'parseable' is for jobs that run; --json prints a map for programs"));
  else if ((self->what & ~(guint)(DVM_CLI_DISPLAY_MAP | DVM_CLI_DISPLAY_BINDINGS)) != 0)
    g_set_error (
        error, DVM_CLI_USAGE_ERROR, 0,
        _ ("option --display: 'dvm-cli map' shows map and bindings; the other words are those of 'dvm-cli run'"));
  else
    return check_whole (&plain, self, error);
  return FALSE;
}

gboolean
dvm_cli_display_parse_of_map (DvmCli *cli, DvmCliDisplay *display, GError **error)
{
  return parse (cli, display, check_of_map, error);
}
