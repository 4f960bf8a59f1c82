/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Columns are as wide as the rows that are seen need, and leave in their order where the screen is too narrow.
 */

#include "config.h"

#include "dvm-cli-top-lines.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-output.h"
#include "dvm-cli-table.h"

/* Columns of text are not wider than this, but for the last one. */
#define MAX_WIDTH 26

/* The last column gets so much before others leave for it. */
#define MIN_LAST 12

static gboolean
is_right (DvmCliWatchKind kind)
{
  return kind != DVM_CLI_WATCH_TEXT && kind != DVM_CLI_WATCH_STATE;
}

static guint
sum_widths (const DvmCliTopLayout *layout)
{
  guint sum = 0;

  for (guint i = 0; i < layout->n; i++)
    sum += (i > 0 ? 1 : 0) + layout->widths[i];
  return sum;
}

static void
remove_column (DvmCliTopLayout *layout, guint index)
{
  layout->n--;
  for (guint i = index; i < layout->n; i++)
    {
      layout->columns[i] = layout->columns[i + 1];
      layout->widths[i] = layout->widths[i + 1];
    }
}

/* FALSE: the rest stays */
static gboolean
drop_column (const DvmCliWatchColumn *columns, DvmCliTopLayout *layout)
{
  guint found = layout->n;

  for (guint i = 0; i < layout->n; i++)
    if (columns[layout->columns[i]].drop > 0
        && (found == layout->n || columns[layout->columns[i]].drop < columns[layout->columns[found]].drop))
      found = i;
  if (found == layout->n)
    return FALSE;
  remove_column (layout, found);
  return TRUE;
}

/* All columns, as wide as these rows and their titles are */
static void
measure_rows (DvmCliWatchModel *model, DvmCliWatchPanel panel, guint first, guint n, gint64 now,
              DvmCliTopLayout *layout)
{
  const DvmCliWatchColumn *columns = dvm_cli_watch_columns (panel);
  g_autoptr (GString) text = g_string_new (NULL);
  const DvmCliWatchRow *row;

  for (; columns[layout->n].key != NULL; layout->n++)
    {
      layout->columns[layout->n] = layout->n;
      /* One more for the mark of the order. */
      layout->widths[layout->n] = dvm_cli_width (_ (columns[layout->n].title)) + 1;
    }
  for (guint i = first; i < first + n && (row = dvm_cli_watch_model_get (model, panel, i)) != NULL; i++)
    for (guint column = 0; column < layout->n; column++)
      {
        g_string_truncate (text, 0);
        dvm_cli_watch_append_cell (text, panel, column, row, now);
        layout->widths[column] = MAX (layout->widths[column], dvm_cli_width (text->str));
      }
}

/* The last column has the rest of the width; where it needs less, that stays free. */
static void
place_columns (DvmCliTopLayout *layout, guint width)
{
  guint start = 0;

  for (guint i = 0; i < layout->n; i++)
    {
      layout->starts[i] = start;
      if (width > 0)
        layout->widths[i] = start < width ? MIN (layout->widths[i], width - start) : 0;
      start += layout->widths[i] + 1;
    }
  while (width > 0 && layout->n > 1 && layout->widths[layout->n - 1] == 0)
    layout->n--;
}

void
dvm_cli_top_layout (DvmCliWatchModel *model, DvmCliWatchPanel panel, guint first, guint n, guint width, gint64 now,
                    DvmCliTopLayout *layout)
{
  const DvmCliWatchColumn *columns = dvm_cli_watch_columns (panel);
  guint last_width;

  *layout = (DvmCliTopLayout){ 0 };
  measure_rows (model, panel, first, n, now, layout);
  for (guint i = 0; width > 0 && i + 1 < layout->n; i++)
    layout->widths[i] = MIN (layout->widths[i], MAX_WIDTH);
  last_width = layout->widths[layout->n - 1];
  layout->widths[layout->n - 1] = MIN (last_width, MIN_LAST);
  while (width > 0 && sum_widths (layout) > width && drop_column (columns, layout))
    ;
  if (columns[layout->columns[layout->n - 1] + 1].key == NULL)
    layout->widths[layout->n - 1] = last_width;
  place_columns (layout, width);
}

static void
append_spaces (GString *text, guint n)
{
  while (n-- > 0)
    g_string_append_c (text, ' ');
}

static void
append_cell (GString *line, DvmCliWatchKind kind, const char *text, guint width, gboolean is_last, const char *colour)
{
  guint taken = dvm_cli_width (text);
  g_autofree char *cut = taken > MAX (width, 1) ? dvm_cli_cut (text, MAX (width, 1)) : NULL;
  guint padding;

  if (cut != NULL)
    taken = dvm_cli_width (cut);
  padding = taken < width ? width - taken : 0;
  append_spaces (line, is_right (kind) ? padding : 0);
  if (colour != NULL)
    g_string_append (line, colour);
  g_string_append (line, cut != NULL ? cut : text);
  if (colour != NULL)
    g_string_append (line, "\033[0m");
  append_spaces (line, is_right (kind) || is_last ? 0 : padding);
}

char *
dvm_cli_top_titles (DvmCliWatchModel *model, DvmCliWatchPanel panel, const DvmCliTopLayout *layout, const char *mark)
{
  const DvmCliWatchColumn *columns = dvm_cli_watch_columns (panel);
  GString *line = g_string_new (NULL);
  gboolean descending;
  guint sort = dvm_cli_watch_model_get_sort (model, panel, &descending);

  for (guint i = 0; i < layout->n; i++)
    {
      const DvmCliWatchColumn *column = &columns[layout->columns[i]];
      gboolean sorts = mark != NULL && layout->columns[i] == sort;
      g_autofree char *title = g_strdup_printf ("%s%s", _ (column->title), sorts ? mark : "");

      append_spaces (line, i > 0 ? 1 : 0);
      append_cell (line, column->kind, title, layout->widths[i], i + 1 == layout->n, NULL);
    }
  return g_string_free (line, FALSE);
}

/* cell: where each is put together */
static void
append_line (GString *line, GString *cell, DvmCliWatchPanel panel, const DvmCliWatchRow *row,
             const DvmCliTopLayout *layout, gint64 now, gboolean colour)
{
  const DvmCliWatchColumn *columns = dvm_cli_watch_columns (panel);

  for (guint i = 0; i < layout->n; i++)
    {
      const DvmCliWatchColumn *column = &columns[layout->columns[i]];
      gboolean has_colour = colour && column->kind == DVM_CLI_WATCH_STATE;

      g_string_truncate (cell, 0);
      dvm_cli_watch_append_cell (cell, panel, layout->columns[i], row, now);
      append_spaces (line, i > 0 ? 1 : 0);
      append_cell (line, column->kind, cell->str, layout->widths[i], i + 1 == layout->n,
                   has_colour ? dvm_cli_state_colour (cell->str) : NULL);
    }
}

char *
dvm_cli_top_line (DvmCliWatchPanel panel, const DvmCliWatchRow *row, const DvmCliTopLayout *layout, gint64 now,
                  gboolean colour)
{
  g_autoptr (GString) cell = g_string_new (NULL);
  GString *line = g_string_new (NULL);

  append_line (line, cell, panel, row, layout, now, colour);
  return g_string_free (line, FALSE);
}

static void
append_header (GString *text, DvmCliWatchModel *model, const char *name, guint width, gint64 now)
{
  g_autofree char *header = dvm_cli_watch_model_describe (model, name, now);
  g_auto (GStrv) lines = g_strsplit (header, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autofree char *shown = width > 0 ? dvm_cli_cut (lines[i], width) : g_strdup (lines[i]);

      g_string_append_printf (text, "%s\n", shown);
    }
}

char *
dvm_cli_top_print (DvmCliWatchModel *model, const char *name, guint width, gboolean colour, gint64 now)
{
  GString *text = g_string_new (NULL);
  g_autoptr (GString) cell = g_string_new (NULL);
  DvmCliTopLayout layout;
  const DvmCliWatchRow *row;

  append_header (text, model, name, width, now);
  for (DvmCliWatchPanel panel = 0; panel < DVM_CLI_WATCH_N_PANELS; panel++)
    {
      g_autofree char *titles = NULL;

      /* Campaigns are rare. */
      if (panel == DVM_CLI_WATCH_CAMPAIGNS && dvm_cli_watch_model_count_shown (model, panel) == 0)
        continue;
      dvm_cli_top_layout (model, panel, 0, dvm_cli_watch_model_count_shown (model, panel), width, now, &layout);
      titles = dvm_cli_top_titles (model, panel, &layout, NULL);
      g_string_append_printf (text, "\n%s\n", titles);
      for (guint i = 0; (row = dvm_cli_watch_model_get (model, panel, i)) != NULL; i++)
        {
          append_line (text, cell, panel, row, &layout, now, colour);
          g_string_append_c (text, '\n');
        }
    }
  return g_string_free (text, FALSE);
}
