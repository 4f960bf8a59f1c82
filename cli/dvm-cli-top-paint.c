/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The whole picture is painted each time; ncurses sends what has changed of it.
 */

#include "config.h"

#include "dvm-cli-top-paint.h"

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-output.h"
#include "dvm-cli-table.h"
#include "dvm-cli-top-lines.h"

/* Below this height the numbers of the DVM leave to its rows. */
#define FULL_HEIGHT 8

enum
{
  PAIR_GOOD = 1,
  PAIR_BAD,
};

gboolean
dvm_cli_top_paint_begin (gboolean colour)
{
  if (newterm (NULL, stdout, stdin) == NULL)
    return FALSE;
  cbreak ();
  noecho ();
  nonl ();
  keypad (stdscr, TRUE);
  nodelay (stdscr, TRUE);
  set_escdelay (25);
  curs_set (0);
  mouseinterval (0);
  mousemask (BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
  if (colour && has_colors ())
    {
      start_color ();
      use_default_colors ();
      init_pair (PAIR_GOOD, COLOR_GREEN, -1);
      init_pair (PAIR_BAD, COLOR_RED, -1);
    }
  return TRUE;
}

void
dvm_cli_top_paint_end (void)
{
  endwin ();
}

static guint
get_columns (void)
{
  return (guint)MAX (getmaxx (stdscr), 1);
}

static guint
get_rows (void)
{
  return (guint)MAX (getmaxy (stdscr), 1);
}

static guint
count_header (void)
{
  return get_rows () >= FULL_HEIGHT ? 2 : 0;
}

guint
dvm_cli_top_paint_titles_row (void)
{
  return count_header () + 1;
}

guint
dvm_cli_top_paint_n_rows (void)
{
  guint taken = dvm_cli_top_paint_titles_row () + 2;

  return get_rows () > taken ? get_rows () - taken : 0;
}

/* (transfer full): in the encoding of the terminal */
static char *
encode (const char *text)
{
  const char *charset;
  g_auto (GStrv) parts = NULL;
  g_autofree char *plain = NULL;
  char *encoded;

  if (g_get_charset (&charset))
    return g_strdup (text);
  parts = g_strsplit (text, "…", -1);
  plain = g_strjoinv ("~", parts);
  encoded = g_convert_with_fallback (plain, -1, charset, "UTF-8", "?", NULL, NULL, NULL);
  return encoded != NULL ? encoded : g_str_to_ascii (plain, NULL);
}

/* Returns the column behind it. */
static guint
put_text (guint y, guint x, const char *text, attr_t attributes)
{
  g_autofree char *shown = NULL;
  g_autofree char *encoded = NULL;

  if (y >= get_rows () || x >= get_columns ())
    return x;
  shown = dvm_cli_cut (text, get_columns () - x);
  encoded = encode (shown);
  attr_set (attributes, 0, NULL);
  mvaddstr ((int)y, (int)x, encoded);
  attr_set (A_NORMAL, 0, NULL);
  return x + dvm_cli_width (shown);
}

/* The rest of the line has these, too. */
static void
put_bar (guint y, const char *text, attr_t attributes, short pair)
{
  put_text (y, 0, text, attributes);
  if (y < get_rows ())
    mvchgat ((int)y, 0, -1, attributes, pair, NULL);
}

static void
paint_header (const DvmCliTopView *view)
{
  g_autofree char *header = dvm_cli_watch_model_describe (view->model, view->name, view->now);
  g_auto (GStrv) lines = g_strsplit (header, "\n", -1);

  if (view->notice != NULL)
    put_bar (0, view->notice, A_BOLD, view->colour ? PAIR_BAD : 0);
  for (guint i = 0; view->notice == NULL && i < count_header () && lines[i] != NULL; i++)
    put_text (i, 0, lines[i], i == 0 ? A_BOLD : A_NORMAL);
}

static void
paint_tabs (const DvmCliTopView *view)
{
  static const char *const titles[] = { N_ ("Jobs"), N_ ("Nodes"), N_ ("Campaigns") };
  const char *filter = dvm_cli_watch_model_get_filter (view->model, view->panel);
  guint y = count_header ();
  guint x = 0;

  /* On a low screen nothing else has room. */
  if (y == 0 && view->notice != NULL)
    return;
  for (guint i = 0; i < DVM_CLI_WATCH_N_PANELS; i++)
    {
      g_autofree char *tab = g_strdup_printf (" %u %s ", i + 1, _ (titles[i]));

      x = put_text (y, x, tab, i == view->panel ? A_REVERSE | A_BOLD : A_NORMAL);
    }
  if (filter[0] != '\0')
    {
      g_autofree char *text = g_strdup_printf (_ (" filter: %s"), filter);

      x = put_text (y, x, text, A_BOLD);
    }
  if (view->paused)
    put_text (y, x, _ (" paused"), A_BOLD);
}

static void
paint_state (const DvmCliTopView *view, guint y, const DvmCliWatchRow *row, const DvmCliTopLayout *layout,
             attr_t attributes)
{
  const DvmCliWatchColumn *columns = dvm_cli_watch_columns (view->panel);

  for (guint i = 0; i < layout->n; i++)
    {
      const char *colour = columns[layout->columns[i]].kind == DVM_CLI_WATCH_STATE
                               ? dvm_cli_state_colour (row->texts[layout->columns[i]])
                               : NULL;

      if (colour == NULL)
        continue;
      if (strstr (colour, "[2m") != NULL)
        mvchgat ((int)y, (int)layout->starts[i], (int)layout->widths[i], attributes | A_DIM, 0, NULL);
      else
        mvchgat ((int)y, (int)layout->starts[i], (int)layout->widths[i], attributes,
                 strstr (colour, "32m") != NULL ? PAIR_GOOD : PAIR_BAD, NULL);
    }
}

static void
find_layout (const DvmCliTopView *view, DvmCliTopLayout *layout)
{
  dvm_cli_top_layout (view->model, view->panel, view->first, dvm_cli_top_paint_n_rows (), get_columns (), view->now,
                      layout);
}

static void
paint_rows (const DvmCliTopView *view)
{
  guint y = dvm_cli_top_paint_titles_row ();
  gboolean descending;
  DvmCliTopLayout layout;
  g_autofree char *titles = NULL;
  const DvmCliWatchRow *row;

  dvm_cli_watch_model_get_sort (view->model, view->panel, &descending);
  find_layout (view, &layout);
  titles = dvm_cli_top_titles (view->model, view->panel, &layout, descending ? "-" : "+");
  put_bar (y, titles, A_REVERSE, 0);
  for (guint i = 0; i < dvm_cli_top_paint_n_rows (); i++)
    {
      g_autofree char *line = NULL;
      attr_t attributes = view->first + i == view->selected ? A_REVERSE : A_NORMAL;

      row = dvm_cli_watch_model_get (view->model, view->panel, view->first + i);
      if (row == NULL)
        break;
      line = dvm_cli_top_line (view->panel, row, &layout, view->now, FALSE);
      put_bar (y + 1 + i, line, attributes, 0);
      if (view->colour)
        paint_state (view, y + 1 + i, row, &layout, attributes);
    }
  if (dvm_cli_watch_model_count_shown (view->model, view->panel) == 0 && dvm_cli_top_paint_n_rows () > 0)
    put_text (y + 1, 1, _ ("none"), A_DIM);
}

static void
paint_lines (const DvmCliTopView *view)
{
  guint y = dvm_cli_top_paint_titles_row ();
  guint n = g_strv_length ((char **)view->lines);

  for (guint i = 0; i <= dvm_cli_top_paint_n_rows () && view->first_line + i < n; i++)
    put_text (y + i, 0, view->lines[view->first_line + i], A_NORMAL);
}

/* The end of a line of the text: between words, where there is one. */
static const char *
find_line_end (const char *text, guint columns)
{
  const char *end = text;
  const char *space = NULL;

  while (*end != '\0')
    {
      const char *next = g_utf8_next_char (end);
      g_autofree char *line = g_strndup (text, (gsize)(next - text));

      if (end > text && dvm_cli_width (line) > columns && *end != ' ')
        return space != NULL ? space : end;
      if (*end == ' ')
        space = end;
      end = next;
    }
  return end;
}

/* It stands on as many lines as it needs, the last of which is the last one of the screen. */
static void
paint_message (const char *message)
{
  guint most = dvm_cli_top_paint_n_rows () + 1;
  g_autoptr (GPtrArray) ends = g_ptr_array_new ();
  const char *end = message;

  while (*end != '\0')
    {
      end = find_line_end (end, get_columns ());
      end += strspn (end, " ");
      g_ptr_array_add (ends, (gpointer)end);
    }
  for (guint i = 0, n = MIN (ends->len, most); i < n; i++)
    {
      const char *begin = i > 0 ? ends->pdata[i - 1] : message;
      g_autofree char *line = i + 1 < n ? g_strndup (begin, (gsize)((const char *)ends->pdata[i] - begin)) : NULL;

      move ((int)(get_rows () - n + i), 0);
      clrtoeol ();
      put_text (get_rows () - n + i, 0, line != NULL ? g_strchomp (line) : begin, A_BOLD);
    }
}

static void
paint_bottom (const DvmCliTopView *view)
{
  guint y = get_rows () - 1;

  if (view->prompt != NULL)
    {
      guint x = put_text (y, 0, view->prompt, A_BOLD);

      x = put_text (y, x, view->input, A_NORMAL);
      curs_set (1);
      move ((int)y, (int)MIN (x, get_columns () - 1));
      return;
    }
  curs_set (0);
  if (view->message != NULL)
    paint_message (view->message);
  else if (view->lines != NULL)
    put_text (y, 0, _ ("arrows scroll, q goes back"), A_DIM);
  else
    put_text (y, 0, _ ("q quit  ? help  / filter  < > sort  k kill  h hold  d drain  g grow  s shrink"), A_DIM);
}

void
dvm_cli_top_paint (const DvmCliTopView *view)
{
  erase ();
  paint_header (view);
  paint_tabs (view);
  if (view->lines != NULL)
    paint_lines (view);
  else
    paint_rows (view);
  paint_bottom (view);
  refresh ();
}

gint
dvm_cli_top_paint_find_column (const DvmCliTopView *view, guint x)
{
  DvmCliTopLayout layout;

  find_layout (view, &layout);
  for (guint i = 0; i < layout.n; i++)
    if (x >= layout.starts[i] && x <= layout.starts[i] + layout.widths[i])
      return (gint)layout.columns[i];
  return -1;
}
