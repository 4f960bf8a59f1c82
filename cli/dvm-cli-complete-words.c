/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each word comes from the table by which it is read: dvmd has those of jobs, mappers and launchers, and prints them.
 */

#include "config.h"

#include "dvm-cli-complete-words.h"

#include <string.h>

#include "dvm-cli-daemon.h"
#include "dvm-cli-display.h"

static const char *const known[] = { "map-by",          "rank-by",  "bind-to", "output",
                                     "runtime-options", "launcher", "display", NULL };
static const char *const known_lists[] = { "output", "runtime-options", "display", NULL };

gboolean
dvm_cli_complete_has_words (const char *option)
{
  return g_strv_contains (known, option);
}

/* Where a word stands: "map,bindings:phys" is at a qualifier of "bindings". */
typedef struct
{
  const char *kind; /* (nullable): nothing can be offered */
  char *behind;     /* the word before */
} Spot;

static void
spot_clear (Spot *self)
{
  g_free (self->behind);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Spot, spot_clear)

static void
find_spot (const char *option, const char *text, Spot *spot, gsize *start)
{
  const char *comma = g_strv_contains (known_lists, option) ? strrchr (text, ',') : NULL;
  const char *entry = comma != NULL ? comma + 1 : text;
  const char *colon = strrchr (entry, ':');
  guint n_colons = 0;

  for (const char *c = entry; *c != '\0'; c++)
    n_colons += *c == ':';
  *start = (gsize)((colon != NULL ? colon + 1 : entry) - text);
  spot->behind = colon != NULL ? g_ascii_strdown (entry, (gssize)strcspn (entry, ":=")) : g_strdup ("");
  spot->kind = colon != NULL ? "qualifier" : "word";
  /* A number, and then an object. */
  if (strcmp (option, "map-by") == 0 && strcmp (spot->behind, "ppr") == 0 && n_colons <= 2)
    spot->kind = n_colons == 2 ? "object" : NULL;
}

static gboolean
is_offered (const Spot *spot, const DvmCliOption *const *lists, const char *kind, const char *behind, const char *word)
{
  if (strcmp (kind, "client") == 0)
    return strcmp (spot->kind, "word") == 0 && dvm_cli_option_find (lists, word) != NULL;
  return strcmp (kind, spot->kind) == 0 && (behind[0] == '\0' || strcmp (behind, spot->behind) == 0);
}

static char **
ask_words (const char *option, const DvmCliOption *const *lists, const Spot *spot)
{
  static const char *const asked[] = { "--dump-words", NULL };
  g_autoptr (GStrvBuilder) found = g_strv_builder_new ();
  g_autofree char *text = dvm_cli_ask_dvmd (asked, NULL);
  g_autoptr (GVariant) rows = NULL;
  const char *of, *kind, *behind, *word;
  GVariantIter iter;

  if (text != NULL)
    rows = g_variant_parse (G_VARIANT_TYPE ("a(ssss)"), g_strchomp (text), NULL, NULL, NULL);
  if (rows != NULL)
    {
      g_variant_iter_init (&iter, rows);
      while (g_variant_iter_next (&iter, "(&s&s&s&s)", &of, &kind, &behind, &word))
        if (strcmp (of, option) == 0 && is_offered (spot, lists, kind, behind, word))
          g_strv_builder_add (found, word);
    }
  return g_strv_builder_end (found);
}

char **
dvm_cli_complete_words (const char *option, const DvmCliOption *const *lists, const char *text, gsize *start)
{
  g_auto (Spot) spot = { 0 };

  find_spot (option, text, &spot, start);
  if (spot.kind == NULL)
    return g_new0 (char *, 1);
  if (strcmp (option, "display") == 0)
    return dvm_cli_display_list (strcmp (spot.kind, "qualifier") == 0);
  return ask_words (option, lists, &spot);
}

char **
dvm_cli_complete_choices (const char *description)
{
  g_autoptr (GStrvBuilder) found = g_strv_builder_new ();
  g_auto (GStrv) parts = NULL;

  /* "true or false" */
  if (g_str_has_prefix (description, "true "))
    return g_strsplit (description, " or ", -1);
  /* "\"a\", \"b\" or \"c\"" */
  if (description[0] == '"')
    parts = g_strsplit (description, "\"", -1);
  for (gsize i = 1; parts != NULL && parts[i - 1] != NULL && parts[i] != NULL; i += 2)
    g_strv_builder_add (found, parts[i]);
  return g_strv_builder_end (found);
}
