/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Setters of the records, for the daemon's core and for the client of this library alone. Exported under the map node
 * of private symbols, without any promise.
 */

#pragma once

#include "dvm.h"

G_BEGIN_DECLS

/* Made by the core (id and nspace are for life) or by the client (update from a{sv}). */
DvmJob *_dvm_job_new (guint id, const char *nspace);
DvmNode *_dvm_node_new (guint rank, const char *name);

/* One writer: the state machine. Sets state and reason, notifies, then emits state-changed (old, new, reason). */
void _dvm_job_set_state (DvmJob *self, DvmJobState state, const char *reason);
void _dvm_job_set_ended (DvmJob *self, gint64 ended_at);
void _dvm_job_set_description (DvmJob *self, const char *name, const char *label, const char *const *command);
void _dvm_job_set_submitter (DvmJob *self, const char *submitter, guint uid, guint pid);
void _dvm_job_set_session (DvmJob *self, const char *object_path);
void _dvm_job_set_parent (DvmJob *self, const char *object_path);
/* Of its family, and not itself. */
void _dvm_job_set_first_failure (DvmJob *self, DvmJob *failed);
/* One by one: there may be thousands. */
void _dvm_job_add_child (DvmJob *self, const char *object_path);
void _dvm_job_remove_child (DvmJob *self, const char *object_path);
void _dvm_job_set_held_at (DvmJob *self, const char *held_at);
void _dvm_job_set_paused (DvmJob *self, gboolean paused);
void _dvm_job_set_waits_for (DvmJob *self, const char *const *waits_for);
void _dvm_job_set_priority (DvmJob *self, int priority);
void _dvm_job_set_array (DvmJob *self, guint id, guint index, guint count);
void _dvm_job_set_awaited_jobs (DvmJob *self, const char *const *object_paths);
void _dvm_job_set_remapped (DvmJob *self, guint remapped);
void _dvm_job_set_restarts (DvmJob *self, guint restarts);
/* Of what the reason is made, before the state with that reason is set; NULL: a sentence alone. */
void _dvm_job_set_reason_parts (DvmJob *self, const char *code, const char *const *arguments);
/* A line that a job writes is not notified: the sum is, when it has ended. */
void _dvm_job_add_output (DvmJob *self, gsize n_bytes);
void _dvm_job_notify_output (DvmJob *self);
void _dvm_job_set_output_error (DvmJob *self, const char *output_error);
void _dvm_job_set_num_procs (DvmJob *self, guint num_procs);
void _dvm_job_set_nodes (DvmJob *self, const char *const *nodes);
void _dvm_job_set_counts (DvmJob *self, guint launched, guint registered, guint terminated);
void _dvm_job_set_exit (DvmJob *self, int exit_code, int exit_signal, int failed_rank);
void _dvm_job_set_created_at (DvmJob *self, gint64 created_at);
void _dvm_job_set_started_at (DvmJob *self, gint64 started_at);
/* A process went from one state to another: emits proc-state-changed (rank, old, new). */
void _dvm_job_proc_state_changed (DvmJob *self, guint rank, DvmProcState old_state, DvmProcState new_state);

void _dvm_node_set_state (DvmNode *self, DvmNodeState state, const char *reason);
void _dvm_node_set_slots (DvmNode *self, guint slots, guint slots_max);
void _dvm_node_set_slots_in_use (DvmNode *self, guint slots_in_use);
void _dvm_node_set_contact (DvmNode *self, const char *address, int pid, const char *const *aliases);
/* TRUE if it is another one than before. */
gboolean _dvm_node_set_place (DvmNode *self, guint parent_rank, guint depth);
void _dvm_node_set_sessions (DvmNode *self, const char *const *object_paths);
void _dvm_node_set_topology (DvmNode *self, const char *signature);
void _dvm_node_set_memory_allotted (DvmNode *self, guint64 bytes);
void _dvm_node_set_last_seen (DvmNode *self, gint64 when);
void _dvm_node_set_origin (DvmNode *self, const char *launcher, const char *allocator);
void _dvm_node_set_jobs (DvmNode *self, const char *const *object_paths);
void _dvm_node_set_devices (DvmNode *self, const char *const *devices);

DvmSession *_dvm_session_new (guint id);
void _dvm_session_set_state (DvmSession *self, DvmSessionState state, const char *reason);
void _dvm_session_set_allocation (DvmSession *self, const char *alloc_id, const char *request_id);
void _dvm_session_set_nodes (DvmSession *self, const char *const *nodes);
void _dvm_session_set_jobs (DvmSession *self, const char *const *jobs);
void _dvm_session_set_family (DvmSession *self, const char *parent, const char *const *children);
void _dvm_session_set_owners (DvmSession *self, const char *owner, const char *const *owners);
void _dvm_session_set_sharing (DvmSession *self, const char *inheritance, gboolean shared, gboolean separate);
void _dvm_session_set_expires_at (DvmSession *self, gint64 expires_at);

DvmCampaign *_dvm_campaign_new (guint id);
void _dvm_campaign_set_state (DvmCampaign *self, DvmCampaignState state, const char *reason);
void _dvm_campaign_set_request (DvmCampaign *self, DvmCampaignKind kind, const char *alloc_id, const char *request_id,
                                const char *requester);
void _dvm_campaign_set_targets (DvmCampaign *self, const guint32 *targets, gsize n_targets, const char *const *hosts);
void _dvm_campaign_set_pending (DvmCampaign *self, guint pending);
void _dvm_campaign_set_outcome (DvmCampaign *self, int status, const char *cause);
void _dvm_campaign_set_started_at (DvmCampaign *self, gint64 started_at);
void _dvm_campaign_set_ended_at (DvmCampaign *self, gint64 ended_at);
void _dvm_campaign_set_repairs (DvmCampaign *self, guint tree_repairs, guint links_changed);
void _dvm_campaign_set_held_jobs (DvmCampaign *self, const char *const *held_jobs);

/*
 * A record class is one table of its fields. Its properties, D-Bus replies, PropertiesChanged, to_variant, to_json and
 * update all go by it.
 */
typedef enum
{
  DVM_RECORD_FIELD_UINT,        /* guint: u */
  DVM_RECORD_FIELD_INT,         /* int: i */
  DVM_RECORD_FIELD_RANK,        /* int, -1 for none: i */
  DVM_RECORD_FIELD_BOOLEAN,     /* gboolean: b */
  DVM_RECORD_FIELD_TIME,        /* gint64, microseconds since the epoch: t; ISO 8601 in JSON */
  DVM_RECORD_FIELD_BYTES,       /* gint64: t; a number in JSON */
  DVM_RECORD_FIELD_STRING,      /* char *, NULL for "": s */
  DVM_RECORD_FIELD_PATH,        /* char *, NULL for "/": o */
  DVM_RECORD_FIELD_STRV,        /* char **, NULL for an empty one: as */
  DVM_RECORD_FIELD_PATHS,       /* char **, NULL for an empty one: ao */
  DVM_RECORD_FIELD_RANKS,       /* GVariant *, NULL for an empty one: au */
  DVM_RECORD_FIELD_ENUM_NUMBER, /* an enumeration as its number: u; its name in JSON */
  DVM_RECORD_FIELD_ENUM_WORD,   /* an enumeration as its name: s */
  DVM_RECORD_FIELD_ENUM_NAME, /* the name of an enumeration that is a field too: s; not in JSON, where that is its name
                               */
} DvmRecordFieldKind;

typedef struct
{
  GType (*get_type) (void);
  const char *(*to_string) (guint value);
  guint (*from_string) (const char *word); /* (nullable): enumerations that are numbers on the bus */
} DvmRecordWords;

typedef struct
{
  const char *bus_name;  /* "NumProcs" */
  const char *json_name; /* "num-procs" */
  DvmRecordFieldKind kind;
  gsize offset;                /* in the instance */
  const char *property;        /* (nullable): the GObject property if it is not called as in JSON */
  const DvmRecordWords *words; /* of the ENUM kinds */
  guint otherwise;             /* UINT: what stands there when nothing was given */
  gboolean guarded;            /* written by the record itself alone: the state, and what follows from other fields */
} DvmRecordField;

/* D-Bus type */
const char *_dvm_record_field_get_type (const DvmRecordField *field);
/* Of a class of records, in the order of its properties. */
const DvmRecordField *_dvm_record_get_fields (GType type, guint *n_fields);
/* Into a{sv}: many at once, without looking for their names. */
void _dvm_record_add_field (GVariantBuilder *dict, gconstpointer record, const DvmRecordField *field);
/* Whether the value is the one of a record that was made just now: 0, FALSE, "" and so on; not of states. */
gboolean _dvm_record_field_is_empty (gconstpointer record, const DvmRecordField *field);
/* a{sv} without the fields that are empty; (transfer full) */
GVariant *_dvm_record_to_sparse_variant (gpointer record);
/* (transfer floating) (nullable): NULL if the record has no such bus property */
GVariant *_dvm_record_get_bus_property (GObject *record, const char *bus_name);
/* The fields that change when the GObject property of this name is notified, as bits: 1 << their index. */
guint64 _dvm_record_get_changed_fields (GObject *record, const char *property_name);
/* From a{sv} by bus names. Unknown names are left aside (a newer daemon); a wrong type changes nothing at all. */
gboolean _dvm_record_update (GObject *record, GVariant *properties, GError **error);

/*
 * Many records of one class at once, by columns: an array of the values of each field, in the order of the records.
 * (transfer floating); n_records: one at least
 */
GVariant *_dvm_record_make_column (gpointer const *records, guint n_records, const DvmRecordField *field);
/* Whether all have the same value. A column of that one value alone stands for all, if it is not the first. */
gboolean _dvm_records_are_same (gpointer const *records, guint n_records, const DvmRecordField *field);
/* About how many bytes the value takes there. */
gsize _dvm_record_field_measure (gconstpointer record, const DvmRecordField *field);
/* a{sv} of such arrays as one of bytes, whose texts no message has to take apart; dict: floating. (transfer floating)
 */
GVariant *_dvm_record_pack_columns (GVariant *dict);
/* Adds new records from a{sv} of such arrays, packed or not, by bus names; with other names and types as
 * _dvm_record_update(). */
gboolean _dvm_records_add_columns (GPtrArray *records, GType type, GVariant *dict, GError **error);

DvmProc *_dvm_proc_new (guint rank, guint app, const char *node, guint local_rank, guint node_rank, int pid,
                        DvmProcState state, int exit_code, int exit_signal, const char *cpuset);
DvmProc *_dvm_proc_new_from_variant (GVariant *row); /* (uusuuiuiis) */
void _dvm_proc_set_devices (DvmProc *proc, const char *devices);

/* Strips nothing away for machines: the D-Bus name of a code ("org.dvm.Error.BadParam") and its PMIx-free text. */
const char *_dvm_error_get_dbus_name (DvmError code);

/* JSON of any variant as dvm-cli prints it: keys of a{sv} in kebab-case, states as names, times (...At) ISO 8601. */
char *_dvm_variant_to_json (GVariant *value);

/* As dvm_client_build_runtime_dir(). */
char *_dvm_runtime_dir (const char *name);

G_END_DECLS
