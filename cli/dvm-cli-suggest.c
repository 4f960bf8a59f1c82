/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A word that is not known gets its nearest match.
 */

#include "config.h"

#include "dvm-cli-suggest.h"

#include <string.h>

/* Beyond this length nobody mistypes a word of ours; it also bounds the work for hostile input. */
#define MAX_WORD 64

static guint
min3 (guint a, guint b, guint c)
{
  return MIN (a, MIN (b, c));
}

/**
 * dvm_cli_word_distance:
 * @a: a word
 * @b: another
 *
 * Returns: how many letters have to be added, dropped, changed or swapped with their neighbour to make @b of @a
 */
guint
dvm_cli_word_distance (const char *a, const char *b)
{
  gsize la = strlen (a);
  gsize lb = strlen (b);
  guint rows[3][MAX_WORD + 1];

  if (la > MAX_WORD || lb > MAX_WORD)
    return G_MAXUINT;
  for (gsize j = 0; j <= lb; j++)
    rows[0][j] = (guint)j;
  for (gsize i = 1; i <= la; i++)
    {
      guint *row = rows[i % 3];
      const guint *above = rows[(i - 1) % 3];

      row[0] = (guint)i;
      for (gsize j = 1; j <= lb; j++)
        {
          guint cost = a[i - 1] != b[j - 1];

          row[j] = min3 (above[j] + 1, row[j - 1] + 1, above[j - 1] + cost);
          if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
            row[j] = MIN (row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
  return rows[la % 3][lb];
}

/**
 * dvm_cli_suggest:
 * @word: what was given
 * @candidates: (array zero-terminated=1): what is known
 *
 * Returns: (nullable) (transfer none): the nearest of @candidates, or %NULL when none is near enough to be meant
 */
const char *
dvm_cli_suggest (const char *word, const char *const *candidates)
{
  const char *best = NULL;
  guint best_distance = G_MAXUINT;
  gsize length = strlen (word);

  for (gsize i = 0; candidates[i] != NULL; i++)
    {
      guint distance = dvm_cli_word_distance (word, candidates[i]);

      /* A beginning of at least two letters is near, whatever is missing behind it. */
      if (length >= 2 && strncmp (word, candidates[i], length) == 0)
        distance = 0;
      if (distance < best_distance)
        {
          best = candidates[i];
          best_distance = distance;
        }
    }
  /* Nothing is left of a word when every letter of it is wrong. */
  return best_distance <= (length + 2) / 3 && best_distance < length ? best : NULL;
}
