/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-records-private.h"

G_BEGIN_DECLS

/* The head of the instance of a record: all that records have beside the fields of their tables. */
typedef struct
{
  GObject parent_instance;

  guint state; /* of the enumeration of the class */
  char *reason;
  char *object_path; /* made when it is asked for */
} DvmRecord;

/* The description of a class for the code that all records share. */
typedef struct
{
  const DvmRecordField *fields; /* in the order of the properties: property id = index + 1 */
  guint n_fields;
  /*
   * By the place of their field in the instance, so that a setter finds them at once; two, as a state has its name
   * beside it. Filled in by class_init.
   */
  GParamSpec *(*properties)[2];

  /* (nullable): NULL for the description of a job: no DvmRecord, properties are writable, and NULL if nothing was given
   */
  const DvmRecordWords *states;
  guint *state_changed; /* the signal, filled in by class_init */
  /* (nullable): Called between the notification of a new state and its signal. */
  void (*follow_state) (gpointer record);
} DvmRecordCodec;

/* For class_init: the properties, the signal, and how they are read, written and freed. */
void _dvm_record_class_install (gpointer klass, const DvmRecordCodec *codec);
/* For a class that has more to free. */
void _dvm_record_finalize (GObject *record);
const DvmRecordCodec *_dvm_record_get_codec (gpointer record);
const DvmRecordCodec *_dvm_record_type_get_codec (GType type);

/* By the kind of a field. */
GParamSpec *_dvm_record_field_make_pspec (const DvmRecordField *field, gboolean is_spec);
void _dvm_record_field_get_value (gpointer record, const DvmRecordField *field, GValue *value, GParamSpec *pspec);
void _dvm_record_field_set_value (gpointer record, const DvmRecordCodec *codec, const DvmRecordField *field,
                                  const GValue *value);
void _dvm_record_clear_fields (gpointer record, const DvmRecordCodec *codec);
/* (transfer floating) */
GVariant *_dvm_record_field_to_variant (gconstpointer record, const DvmRecordField *field);
/* value has the field's type */
void _dvm_record_field_from_variant (gpointer record, const DvmRecordCodec *codec, const DvmRecordField *field,
                                     GVariant *value);
guint _dvm_record_field_to_enum (const DvmRecordField *field, GVariant *value);

GVariant *_dvm_record_to_variant (gpointer record);
/* (transfer full) (nullable) */
gpointer _dvm_record_new_from_variant (GType type, GVariant *properties, GError **error);
char *_dvm_record_to_json (gpointer record);
/* "/org/dvm/jobs/" and the number */
const char *_dvm_record_get_object_path (DvmRecord *self, const char *folder, guint number);

/* One writer: state and reason, then whoever listens hears of both and at last of the change as a whole. */
void _dvm_record_set_state (DvmRecord *self, const DvmRecordCodec *codec, guint state, const char *reason);

/*
 * Setters of one field: nothing is allocated and nobody is notified unless it changes; TRUE if it did. All properties
 * that are made of the field are notified. "" and NULL are the same, and so are empty and NULL lists and variants.
 */
gboolean _dvm_record_set_uint (gpointer record, const DvmRecordCodec *codec, guint *field, guint value);
gboolean _dvm_record_set_int (gpointer record, const DvmRecordCodec *codec, int *field, int value);
gboolean _dvm_record_set_boolean (gpointer record, const DvmRecordCodec *codec, gboolean *field, gboolean value);
gboolean _dvm_record_set_time (gpointer record, const DvmRecordCodec *codec, gint64 *field, gint64 value);
gboolean _dvm_record_set_string (gpointer record, const DvmRecordCodec *codec, char **field, const char *value);
gboolean _dvm_record_set_path (gpointer record, const DvmRecordCodec *codec, char **field, const char *value);
gboolean _dvm_record_set_strv (gpointer record, const DvmRecordCodec *codec, char ***field, const char *const *value);
gboolean _dvm_record_set_variant (gpointer record, const DvmRecordCodec *codec, GVariant **field, GVariant *value);
void _dvm_record_notify (gpointer record, const DvmRecordCodec *codec, gconstpointer field);

const char *const *_dvm_record_get_strv (char **field);

G_END_DECLS
