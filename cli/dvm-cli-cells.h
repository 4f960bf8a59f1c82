/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Values of one object, which the DVM has told by rows or by columns.
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

typedef struct
{
  GVariant *values;    /* a{sv}: the values, or an array of values for each name */
  GVariant *unpacked;  /* (nullable): the latter, if they came as bytes */
  GHashTable *columns; /* (nullable): name -> column, of many objects */
  GHashTable *found;   /* (nullable): literal -> column (nullable): those that were asked for */
  gsize row;           /* of the columns */
} DvmCliCells;

/* values: a{sv} in normal form, as those of messages are, of one object; it lives as long */
void dvm_cli_cells_init (DvmCliCells *self, GVariant *values);
/* The same of many, which are columns: how many there are; the first one is current. */
gsize dvm_cli_cells_init_columns (DvmCliCells *self, GVariant *values);
void dvm_cli_cells_clear (DvmCliCells *self);

/* A value that the object does not have is 0, FALSE or "". key: a literal, which is found again by its place. */
guint dvm_cli_cells_get_uint (const DvmCliCells *self, const char *key);
gint64 dvm_cli_cells_get_time (const DvmCliCells *self, const char *key);
gboolean dvm_cli_cells_get_boolean (const DvmCliCells *self, const char *key);
/* (transfer none): lives as long as the values */
const char *dvm_cli_cells_get_text (const DvmCliCells *self, const char *key);
/* (transfer container) (nullable): of type as or ao */
const char **dvm_cli_cells_get_list (const DvmCliCells *self, const char *key);
/* Both read a list of texts (type as): it is joined into text, and its texts are counted. */
void dvm_cli_cells_append_joined (const DvmCliCells *self, const char *key, const char *separator, GString *text);
guint dvm_cli_cells_count_items (const DvmCliCells *self, const char *key);

G_END_DECLS
