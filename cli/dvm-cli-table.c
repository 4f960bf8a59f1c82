/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The one output table shows rows of values, aligned for people and as JSON.
 */

#include "config.h"

#include "dvm-cli-table.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-json.h"
#include "dvm-cli-output.h"

/* A column that may be cut is never made narrower than this. */
#define MIN_CUT_WIDTH 8

typedef struct
{
  GVariant *value; /* (nullable): NULL: it is what plain has */
  DvmCliPlain plain;
} Cell;

struct _DvmCliTable
{
  const DvmCliColumn *columns;
  guint n_columns;
  GArray *cells; /* Cell, row by row */
  GTimeZone *here;
  GDateTime *now;
  gint64 last_second; /* that was shown */
  char *last_time;    /* (nullable): how: jobs that come together have it in common */
};

static gboolean
is_last (const DvmCliColumn *column)
{
  return column->key == NULL && column->title == NULL;
}

static void
cell_clear (gpointer data)
{
  Cell *cell = data;

  g_clear_pointer (&cell->value, g_variant_unref);
  g_free (cell->plain.text);
}

DvmCliTable *
dvm_cli_table_new (const DvmCliColumn *columns)
{
  DvmCliTable *self = g_new0 (DvmCliTable, 1);

  self->columns = columns;
  while (!is_last (&columns[self->n_columns]))
    self->n_columns++;
  self->cells = g_array_new (FALSE, FALSE, sizeof (Cell));
  g_array_set_clear_func (self->cells, cell_clear);
  self->here = g_time_zone_new_local ();
  self->now = g_date_time_new_now (self->here);
  return self;
}

void
dvm_cli_table_free (DvmCliTable *self)
{
  g_array_unref (self->cells);
  g_time_zone_unref (self->here);
  g_date_time_unref (self->now);
  g_free (self->last_time);
  g_free (self);
}

/* value: (transfer full) */
static void
take_value (DvmCliTable *self, GVariant *value)
{
  const Cell cell = { .value = value };

  g_array_append_val (self->cells, cell);
}

void
dvm_cli_table_add (DvmCliTable *self, GVariant *const *values)
{
  for (guint i = 0; i < self->n_columns; i++)
    take_value (self, g_variant_ref_sink (values[i]));
}

void
dvm_cli_table_take (DvmCliTable *self, const DvmCliPlain *cells)
{
  for (guint i = 0; i < self->n_columns; i++)
    {
      const Cell cell = { .plain = cells[i] };

      g_array_append_val (self->cells, cell);
    }
}

void
dvm_cli_table_add_tuple (DvmCliTable *self, GVariant *row)
{
  for (guint i = 0; i < self->n_columns; i++)
    take_value (self, g_variant_get_child_value (row, i));
}

guint
dvm_cli_table_get_n_rows (DvmCliTable *self)
{
  return self->cells->len / self->n_columns;
}

char *
dvm_cli_format_time (gint64 time)
{
  g_autoptr (GDateTime) seconds = g_date_time_new_from_unix_utc (time / G_USEC_PER_SEC);
  g_autofree char *text = g_date_time_format (seconds, "%Y-%m-%dT%H:%M:%S");

  return g_strdup_printf ("%s.%06dZ", text, (int)(time % G_USEC_PER_SEC));
}

/* The hour of the viewer's place, with the date when it is not today's. */
static char *
format_local_time (DvmCliTable *self, gint64 second)
{
  g_autoptr (GDateTime) there = g_date_time_new_from_unix_utc (second);
  g_autoptr (GDateTime) then = there != NULL ? g_date_time_to_timezone (there, self->here) : NULL;

  if (then == NULL)
    return g_strdup ("-");
  if (g_date_time_get_day_of_year (then) == g_date_time_get_day_of_year (self->now)
      && g_date_time_get_year (then) == g_date_time_get_year (self->now))
    return g_date_time_format (then, "%H:%M:%S");
  return g_date_time_format (then, "%Y-%m-%d %H:%M:%S");
}

static char *
show_time (DvmCliTable *self, gint64 time)
{
  gint64 second = time / G_USEC_PER_SEC;

  if (time == 0)
    return g_strdup ("-");
  if (self->last_time == NULL || self->last_second != second)
    {
      g_free (self->last_time);
      self->last_time = format_local_time (self, second);
      self->last_second = second;
    }
  return g_strdup (self->last_time);
}

static const Cell *
get_cell (DvmCliTable *self, guint row, guint column)
{
  return &g_array_index (self->cells, Cell, row * self->n_columns + column);
}

static const char *
get_text (const Cell *cell)
{
  if (cell->value != NULL)
    return g_variant_get_string (cell->value, NULL);
  return cell->plain.text != NULL ? cell->plain.text : "";
}

static gint64
get_time (const Cell *cell)
{
  return cell->value != NULL ? (gint64)g_variant_get_uint64 (cell->value) : cell->plain.number;
}

static gint64
get_offset (const Cell *cell)
{
  return cell->value != NULL ? g_variant_get_int64 (cell->value) : cell->plain.number;
}

static char *
show_number (const Cell *cell)
{
  return cell->value != NULL ? g_variant_print (cell->value, FALSE)
                             : g_strdup_printf ("%" G_GINT64_FORMAT, cell->plain.number);
}

static char *
show_value (DvmCliTable *self, const DvmCliColumn *column, const Cell *cell)
{
  const char *text;

  switch (column->kind)
    {
    case DVM_CLI_KIND_NUMBER:
      return show_number (cell);
    case DVM_CLI_KIND_TIME:
      return show_time (self, get_time (cell));
    case DVM_CLI_KIND_OFFSET:
      return g_strdup_printf ("%.3f", (double)get_offset (cell) / 1000.0);
    case DVM_CLI_KIND_TEXT:
    case DVM_CLI_KIND_STATE:
    default:
      text = get_text (cell);
      return text[0] == '\0' ? g_strdup ("-") : dvm_cli_escape (text);
    }
}

static gboolean
is_right (const DvmCliColumn *column)
{
  return column->kind == DVM_CLI_KIND_NUMBER || column->kind == DVM_CLI_KIND_OFFSET;
}

const char *
dvm_cli_state_colour (const char *state)
{
  static const char *const good[] = { "RUNNING", "REGISTERED", "UP", "ready", "running", "active", "ok", NULL };
  static const char *const ended[] = { "NOTIFIED", "TERMINATED", "NOTIFY_COMPLETED", "NOT_INCLUDED", "completed",
                                       "ended",    NULL };
  static const char *const people[][2] = { { N_ ("ready"), "\033[32m" },     { N_ ("running"), "\033[32m" },
                                           { N_ ("done"), "\033[2m" },       { N_ ("failed"), "\033[31m" },
                                           { N_ ("cancelled"), "\033[31m" }, { N_ ("lost"), "\033[31m" },
                                           { N_ ("BAD"), "\033[31m" } };
  static const char *const bad_marks[] = { "ABORT", "FAILED", "KILLED", "NON_ZERO", "NEVER", "CANNOT",
                                           "DOWN",  "FORCED", "failed", "rolling",  "bad",   NULL };

  /* As a table says it in the language of its reader. */
  for (gsize i = 0; i < G_N_ELEMENTS (people); i++)
    if (strcmp (state, _ (people[i][0])) == 0)
      return people[i][1];
  if (g_strv_contains (good, state))
    return "\033[32m";
  if (g_strv_contains (ended, state))
    return "\033[2m";
  for (gsize i = 0; bad_marks[i] != NULL; i++)
    if (strstr (state, bad_marks[i]) != NULL)
      return "\033[31m";
  return NULL;
}

static void
append_padding (GString *text, guint n)
{
  for (guint i = 0; i < n; i++)
    g_string_append_c (text, ' ');
}

/* is_last_shown: nothing is padded behind the last column */
static void
append_cell (GString *text, const DvmCliColumn *column, const char *shown, guint width, gboolean is_last_shown,
             gboolean colour)
{
  const char *start = colour && column->kind == DVM_CLI_KIND_STATE ? dvm_cli_state_colour (shown) : NULL;
  guint taken = dvm_cli_width (shown);
  guint padding = taken < width ? width - taken : 0;

  if (is_right (column))
    append_padding (text, padding);
  if (start != NULL)
    g_string_append (text, start);
  g_string_append (text, shown);
  if (start != NULL)
    g_string_append (text, "\033[0m");
  if (!is_right (column) && !is_last_shown)
    append_padding (text, padding);
}

/* The columns for people, in order. */
static GArray *
shown_columns (DvmCliTable *self)
{
  GArray *shown = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < self->n_columns; i++)
    if (self->columns[i].title != NULL)
      g_array_append_val (shown, i);
  return shown;
}

/* Row 0 is the titles; (transfer full): rows x columns->len strings */
static GPtrArray *
show_all (DvmCliTable *self, GArray *columns)
{
  GPtrArray *shown = g_ptr_array_new_with_free_func (g_free);
  guint n_rows = dvm_cli_table_get_n_rows (self);

  for (guint i = 0; i < columns->len; i++)
    g_ptr_array_add (shown, g_strdup (_ (self->columns[g_array_index (columns, guint, i)].title)));
  for (guint row = 0; row < n_rows; row++)
    for (guint i = 0; i < columns->len; i++)
      {
        guint column = g_array_index (columns, guint, i);

        g_ptr_array_add (shown, show_value (self, &self->columns[column], get_cell (self, row, column)));
      }
  return shown;
}

static guint *
measure (GPtrArray *shown, guint n_columns)
{
  guint *widths = g_new0 (guint, n_columns + 1);

  for (guint i = 0; i < shown->len; i++)
    widths[i % n_columns] = MAX (widths[i % n_columns], dvm_cli_width (g_ptr_array_index (shown, i)));
  return widths;
}

/* The width of all columns but the last one, with the gaps between them */
static guint
width_before_last (const guint *widths, guint n_columns)
{
  guint before = 0;

  for (guint i = 0; i + 1 < n_columns; i++)
    before += widths[i] + 2;
  return before;
}

/* Whether it fits when the last column is cut as far as it may be. */
static gboolean
may_fit (const guint *widths, guint n_columns, guint screen)
{
  return screen == 0 || n_columns < 2
         || width_before_last (widths, n_columns) + MIN (widths[n_columns - 1], MIN_CUT_WIDTH) <= screen;
}

static void
remove_cells (GPtrArray *shown, guint n_columns, guint column)
{
  guint n_kept = 0;

  for (guint i = 0; i < shown->len; i++)
    {
      char *cell = g_steal_pointer (&shown->pdata[i]);

      if (i % n_columns == column)
        g_free (cell);
      else
        shown->pdata[n_kept++] = cell;
    }
  g_ptr_array_set_size (shown, (int)n_kept);
}

/* Leaves out the column that can be done without most easily; FALSE: none can. */
static gboolean
drop_column (DvmCliTable *self, GArray *columns, GPtrArray *shown, guint *widths)
{
  guint found = columns->len;
  guint8 least = G_MAXUINT8;

  for (guint i = 0; i < columns->len; i++)
    {
      guint8 drop = self->columns[g_array_index (columns, guint, i)].drop;

      if (drop == 0 || drop >= least)
        continue;
      least = drop;
      found = i;
    }
  if (found == columns->len)
    return FALSE;
  remove_cells (shown, columns->len, found);
  memmove (&widths[found], &widths[found + 1], (columns->len - found - 1) * sizeof widths[0]);
  g_array_remove_index (columns, found);
  return TRUE;
}

/* Takes from the last column what is too much for the screen. */
static void
fit (GPtrArray *shown, guint *widths, guint n_columns, guint screen)
{
  guint before = width_before_last (widths, n_columns);
  guint room;

  if (screen == 0 || before + widths[n_columns - 1] <= screen)
    return;
  room = screen > before + MIN_CUT_WIDTH ? screen - before : MIN_CUT_WIDTH;
  for (guint i = n_columns - 1; i < shown->len; i += n_columns)
    {
      char *whole = g_ptr_array_index (shown, i);

      g_ptr_array_index (shown, i) = dvm_cli_cut (whole, room);
      g_free (whole);
    }
  widths[n_columns - 1] = room;
}

static void append_record (DvmCliTable *self, GString *text, guint row, guint screen, gboolean colour);

/* For screens that are narrower than any sensible table: one line for each value */
static char *
to_records (DvmCliTable *self, guint screen, gboolean colour)
{
  GString *text = g_string_new (NULL);
  guint n_rows = dvm_cli_table_get_n_rows (self);

  for (guint row = 0; row < n_rows; row++)
    {
      if (row > 0)
        g_string_append_c (text, '\n');
      append_record (self, text, row, screen, colour);
    }
  return g_string_free (text, FALSE);
}

char *
dvm_cli_table_to_text (DvmCliTable *self, guint width, gboolean colour)
{
  g_autoptr (GArray) columns = shown_columns (self);
  g_autoptr (GPtrArray) shown = show_all (self, columns);
  g_autofree guint *widths = measure (shown, columns->len);
  GString *text;

  while (!may_fit (widths, columns->len, width))
    if (!drop_column (self, columns, shown, widths))
      return to_records (self, width, colour);
  text = g_string_new (NULL);
  fit (shown, widths, columns->len, width);
  for (guint i = 0; i < shown->len; i++)
    {
      guint place = i % columns->len;
      gboolean ends_line = place + 1 == columns->len;
      const DvmCliColumn *column = &self->columns[g_array_index (columns, guint, place)];

      append_cell (text, column, g_ptr_array_index (shown, i), widths[place], ends_line, colour && i >= columns->len);
      g_string_append (text, ends_line ? "\n" : "  ");
    }
  return g_string_free (text, FALSE);
}

/* screen: 0 for no limit */
static void
append_record (DvmCliTable *self, GString *text, guint row, guint screen, gboolean colour)
{
  guint width = 0;

  for (guint i = 0; i < self->n_columns; i++)
    if (self->columns[i].title != NULL)
      width = MAX (width, dvm_cli_width (_ (self->columns[i].title)));
  for (guint i = 0; i < self->n_columns; i++)
    {
      const DvmCliColumn *column = &self->columns[i];
      g_autofree char *whole = NULL;
      g_autofree char *shown = NULL;

      if (column->title == NULL)
        continue;
      whole = show_value (self, column, get_cell (self, row, i));
      shown = screen > 0 ? dvm_cli_cut (whole, MAX (screen, width + 2 + MIN_CUT_WIDTH) - width - 2) : g_strdup (whole);
      append_padding (text, width - dvm_cli_width (_ (column->title)));
      g_string_append_printf (text, "%s: ", _ (column->title));
      append_cell (text, column, shown, 0, TRUE, colour);
      g_string_append_c (text, '\n');
    }
}

char *
dvm_cli_table_to_list (DvmCliTable *self, gboolean colour)
{
  GString *text = g_string_new (NULL);

  append_record (self, text, 0, 0, colour);
  return g_string_free (text, FALSE);
}

static void
append_json_cell (GString *json, const DvmCliColumn *column, const Cell *cell)
{
  g_autofree char *time = NULL;
  gboolean is_text = column->kind == DVM_CLI_KIND_TEXT || column->kind == DVM_CLI_KIND_STATE;

  dvm_cli_json_append_string (json, column->key);
  g_string_append_c (json, ':');
  if (column->kind != DVM_CLI_KIND_TIME)
    {
      if (cell->value != NULL)
        dvm_cli_json_append_value (json, cell->value);
      else if (is_text)
        dvm_cli_json_append_string (json, get_text (cell));
      else
        g_string_append_printf (json, "%" G_GINT64_FORMAT, cell->plain.number);
      return;
    }
  if (get_time (cell) == 0)
    {
      g_string_append (json, "null");
      return;
    }
  time = dvm_cli_format_time (get_time (cell));
  dvm_cli_json_append_string (json, time);
}

static void
append_json_row (GString *json, DvmCliTable *self, guint row)
{
  const char *separator = "";

  g_string_append_c (json, '{');
  for (guint i = 0; i < self->n_columns; i++)
    {
      if (self->columns[i].key == NULL)
        continue;
      g_string_append (json, separator);
      append_json_cell (json, &self->columns[i], get_cell (self, row, i));
      separator = ",";
    }
  g_string_append_c (json, '}');
}

char *
dvm_cli_table_to_json_object (DvmCliTable *self)
{
  GString *json = g_string_new (NULL);

  append_json_row (json, self, 0);
  g_string_append_c (json, '\n');
  return g_string_free (json, FALSE);
}

char *
dvm_cli_table_to_json_lines (DvmCliTable *self)
{
  GString *json = g_string_new (NULL);
  guint n_rows = dvm_cli_table_get_n_rows (self);

  for (guint row = 0; row < n_rows; row++)
    {
      append_json_row (json, self, row);
      g_string_append_c (json, '\n');
    }
  return g_string_free (json, FALSE);
}

char *
dvm_cli_table_to_json (DvmCliTable *self)
{
  GString *json = g_string_new ("[");
  guint n_rows = dvm_cli_table_get_n_rows (self);

  for (guint row = 0; row < n_rows; row++)
    {
      g_string_append (json, row > 0 ? ",\n " : "");
      append_json_row (json, self, row);
    }
  g_string_append (json, "]\n");
  return g_string_free (json, FALSE);
}
