/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The one output table: rows of values under columns, for people (aligned, cut to the terminal) and as JSON (an array
 * of objects). A value is a GVariant; how it looks follows from the column's kind.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  DVM_CLI_KIND_TEXT,   /* s; empty is shown as "-" */
  DVM_CLI_KIND_NUMBER, /* any integer; right-aligned */
  DVM_CLI_KIND_TIME,   /* t: µs since the epoch; 0 is none (null in JSON) */
  DVM_CLI_KIND_STATE,  /* s; coloured: good, bad, neither */
  DVM_CLI_KIND_OFFSET, /* x: µs, shown as milliseconds; right-aligned */
} DvmCliKind;

typedef struct
{
  const char *key;   /* in JSON; NULL: for people alone */
  const char *title; /* for people, marked for translation; NULL: in JSON alone */
  DvmCliKind kind;
  guint8 drop; /* when the screen is too narrow: 0 stays, 1 is the first to go, then 2, ... */
} DvmCliColumn;

typedef struct _DvmCliTable DvmCliTable;

/* columns: ended by a row without key and title; they stay the caller's. On a narrow screen the last column for people
 * is cut, columns are dropped, and in the end every row becomes a list of its values. */
DvmCliTable *dvm_cli_table_new (const DvmCliColumn *columns);
void dvm_cli_table_free (DvmCliTable *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliTable, dvm_cli_table_free)

/* values: (transfer none): one per column, floating ones are taken */
void dvm_cli_table_add (DvmCliTable *self, GVariant *const *values);
/* The same for thousands of rows, which need no GVariant then. */
typedef struct
{
  char *text;    /* (transfer full) (nullable): of a text or a state; "" if it is NULL */
  gint64 number; /* of others */
} DvmCliPlain;

/* cells: one per column */
void dvm_cli_table_take (DvmCliTable *self, const DvmCliPlain *cells);
/* row: (transfer none): a tuple that begins with the values of all columns */
void dvm_cli_table_add_tuple (DvmCliTable *self, GVariant *row);
guint dvm_cli_table_get_n_rows (DvmCliTable *self);

/* width: columns of the screen, 0 for no limit; (transfer full) */
char *dvm_cli_table_to_text (DvmCliTable *self, guint width, gboolean colour);
/* "Title: value" lines of the first row; (transfer full) */
char *dvm_cli_table_to_list (DvmCliTable *self, gboolean colour);
char *dvm_cli_table_to_json (DvmCliTable *self);
/* Each row as an object on a line of its own */
char *dvm_cli_table_to_json_lines (DvmCliTable *self);
/* The first row alone, as an object */
char *dvm_cli_table_to_json_object (DvmCliTable *self);

/* (nullable): the escape sequence for what a state's name says about how things are: good, bad, over */
const char *dvm_cli_state_colour (const char *state);

/* (transfer full): "2026-01-02T03:04:05.000006Z" */
char *dvm_cli_format_time (gint64 time);

G_END_DECLS
