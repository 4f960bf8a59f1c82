/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * Members of a struct that travel as a{sv}: one table for those who write the message and those who read it. What is 0,
 * FALSE or NULL is left out.
 */
typedef struct
{
  const char *key;
  /* "b" gboolean, "u" guint32, "x" gint64, "t" guint64, "s" char *; of any other type GVariant *. */
  const char *type;
  gsize offset;
} DvmdField;

#define DVMD_FIELD(Struct, key, type, member)                                                                          \
  {                                                                                                                    \
    key, type, G_STRUCT_OFFSET (Struct, member)                                                                        \
  }

/* (transfer floating): a{sv}. fields: the last one has no key */
GVariant *dvmd_fields_to_dict (const DvmdField *fields, gconstpointer values);
/* values: zeroed. A key that there is not, or a value of another type, is DVM_ERROR_PARSE_FAILED. */
gboolean dvmd_fields_from_dict (const DvmdField *fields, gpointer values, GVariant *dict, GError **error);
/* Frees what dvmd_fields_from_dict() has made. */
void dvmd_fields_clear (const DvmdField *fields, gpointer values);

G_END_DECLS
