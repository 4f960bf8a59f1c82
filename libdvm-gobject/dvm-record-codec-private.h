/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-records-private.h"

G_BEGIN_DECLS

/*
 * What a record class tells the codec. Fields are in the order of the class's properties: property id = index + 1.
 */
typedef struct
{
  const DvmRecordField *fields;
  guint n_fields;
  /* (transfer floating) never NULL */
  GVariant *(*get) (gpointer record, guint index);
  /* value has the field's type; fields that follow from others are left alone */
  void (*set) (gpointer record, guint index, GVariant *value);
  /* Called once after all fields that set() took, with the values of State and Reason, (nullable) if not given. */
  void (*set_state) (gpointer record, GVariant *state, GVariant *reason);
  const char *(*state_name) (guint state);
} DvmRecordCodec;

/* For class_init. */
void _dvm_record_class_set_codec (gpointer klass, const DvmRecordCodec *codec);

GVariant *_dvm_record_to_variant (gpointer record);
char *_dvm_record_to_json (gpointer record);

/*
 * Setters of one field: nothing is allocated and nobody is notified unless it changes; TRUE if it did.
 * "" and NULL are the same, and so are empty and NULL lists.
 */
gboolean _dvm_record_set_uint (gpointer record, guint *field, guint value, GParamSpec *pspec);
gboolean _dvm_record_set_int (gpointer record, int *field, int value, GParamSpec *pspec);
gboolean _dvm_record_set_boolean (gpointer record, gboolean *field, gboolean value, GParamSpec *pspec);
gboolean _dvm_record_set_time (gpointer record, gint64 *field, gint64 value, GParamSpec *pspec);
gboolean _dvm_record_set_string (gpointer record, char **field, const char *value, GParamSpec *pspec);
gboolean _dvm_record_set_path (gpointer record, char **field, const char *value, GParamSpec *pspec);
gboolean _dvm_record_set_strv (gpointer record, char ***field, const char *const *value, GParamSpec *pspec);
gboolean _dvm_record_set_strv_variant (gpointer record, char ***field, GVariant *value, GParamSpec *pspec);

const char *const *_dvm_record_get_strv (char **field);
GVariant *_dvm_record_string_variant (const char *value);
GVariant *_dvm_record_strv_variant (char **value);
/* Object path: "/" stands for none. */
GVariant *_dvm_record_path_variant (const char *value);
GVariant *_dvm_record_paths_variant (char **value);

/* "2026-01-31T12:00:00.000000Z"; NULL for 0 */
char *_dvm_format_time (gint64 microseconds);

G_END_DECLS
