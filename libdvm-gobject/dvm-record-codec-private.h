/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-records-private.h"

G_BEGIN_DECLS

/* What a record class tells the code that all records share. */
typedef struct
{
  const DvmRecordField *fields; /* in the order of the properties: property id = index + 1 */
  guint n_fields;
  GParamSpec **properties; /* n_fields + 1, filled in by class_init */
  gboolean is_spec;        /* properties are writable, and NULL if nothing was given */
  /* (nullable) Called once after all fields of an update that are not guarded. */
  void (*set_state) (gpointer record, guint state, const char *reason);
} DvmRecordCodec;

/* For class_init: the properties, and the codec for those functions that have but a record in hand. */
void _dvm_record_class_install (gpointer klass, const DvmRecordCodec *codec);
void _dvm_record_class_set_codec (gpointer klass, const DvmRecordCodec *codec);
/* For get_property, set_property and finalize. */
void _dvm_record_get_property (gpointer record, const DvmRecordCodec *codec, guint prop_id, GValue *value);
void _dvm_record_set_property (gpointer record, const DvmRecordCodec *codec, guint prop_id, const GValue *value);
void _dvm_record_clear (gpointer record, const DvmRecordCodec *codec);

/* (transfer floating) */
GVariant *_dvm_record_field_to_variant (gconstpointer record, const DvmRecordField *field);
/* value has the field's type */
void _dvm_record_field_from_variant (gpointer record, const DvmRecordField *field, GVariant *value, GParamSpec *pspec);
guint _dvm_record_field_to_enum (const DvmRecordField *field, GVariant *value);

GVariant *_dvm_record_to_variant (gpointer record);
char *_dvm_record_to_json (gpointer record);

/*
 * Setters of one field: nothing is allocated and nobody is notified unless it changes; TRUE if it did.
 * "" and NULL are the same, and so are empty and NULL lists and variants.
 */
gboolean _dvm_record_set_uint (gpointer record, guint *field, guint value, GParamSpec *pspec);
gboolean _dvm_record_set_int (gpointer record, int *field, int value, GParamSpec *pspec);
gboolean _dvm_record_set_boolean (gpointer record, gboolean *field, gboolean value, GParamSpec *pspec);
gboolean _dvm_record_set_time (gpointer record, gint64 *field, gint64 value, GParamSpec *pspec);
gboolean _dvm_record_set_string (gpointer record, char **field, const char *value, GParamSpec *pspec);
gboolean _dvm_record_set_path (gpointer record, char **field, const char *value, GParamSpec *pspec);
gboolean _dvm_record_set_strv (gpointer record, char ***field, const char *const *value, GParamSpec *pspec);
gboolean _dvm_record_set_variant (gpointer record, GVariant **field, GVariant *value, GParamSpec *pspec);
gboolean _dvm_record_set_strv_variant (gpointer record, char ***field, GVariant *value, GParamSpec *pspec);

const char *const *_dvm_record_get_strv (char **field);

/* "2026-01-31T12:00:00.000000Z"; NULL for 0 */
char *_dvm_format_time (gint64 microseconds);

G_END_DECLS
