/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-records-private.h"
#include "dvmd-bus-call.h"
#include "dvmd-controller-cpus.h"
#include "dvmd-id-set.h"

G_BEGIN_DECLS

/* An answer in pages: as many rows as fit, and the ids of those that did not. */
typedef struct
{
  GVariantBuilder builder;
  GPtrArray *records; /* (nullable): of an answer by columns */
  DvmdIdSet *rest;
  guint n_rows;
  guint limit;
  gsize n_bytes;
} DvmdBusRows;

/* limit: 0 for as many as an answer takes */
void dvmd_bus_rows_init (DvmdBusRows *rows, const GVariantType *type, guint limit);
/* One row of ListProcs: (uusuuiuiis), (transfer floating) */
GVariant *dvmd_bus_proc_row (DvmdNodePool *pool, DvmdProcTable *procs, guint rank, DvmdControllerCpus *cpus);
/* TRUE if there is room for one more row; else its id is among the rest. */
gboolean dvmd_bus_rows_want (DvmdBusRows *rows, guint id);
/* row: floating */
void dvmd_bus_rows_add (DvmdBusRows *rows, GVariant *row);
/* (transfer floating): the rows and the rest; clears rows */
GVariant *dvmd_bus_rows_end (DvmdBusRows *rows);

/* Which properties of records are told, and how. */
typedef struct
{
  const DvmRecordField *fields;
  guint n_fields;
  const char *const *columns; /* (nullable): names that have been checked; NULL: all */
  guint64 told;               /* the fields that they name, as bits: of each record names would be compared */
  gboolean sparse;            /* without those that are empty */
  gboolean by_column;         /* one dictionary alone, with an array of the values of each property */
  gboolean packed;            /* that dictionary as bytes, of by_column */
  gboolean once;              /* one value where all would be the same, but for the first property */
  gboolean hides;             /* what dvmd_bus_hide_value() hides */
} DvmdBusTelling;

/* Sets columns, which live as long, and what follows from them; after fields. */
void dvmd_bus_telling_choose (DvmdBusTelling *telling, const char *const *columns);

/* record: it stays as it is until the end of rows */
void dvmd_bus_rows_add_record (DvmdBusRows *rows, gpointer record, const DvmdBusTelling *telling);
/* Before dvmd_bus_rows_end(), which it is for. */
void dvmd_bus_rows_end_records (DvmdBusRows *rows, const DvmdBusTelling *telling);

/*
 * a{sv} of the record's bus properties, (transfer floating); columns: (nullable) names that have been checked; sparse:
 * without those that are empty
 */
GVariant *dvmd_bus_record_row (gpointer record, const DvmRecordField *fields, guint n_fields,
                               const char *const *columns, gboolean sparse);
/* Likewise of any object, by the properties of its interface. */
GVariant *dvmd_bus_object_row (DvmdBusServer *server, const DvmdBusClass *klass, gpointer object,
                               const char *const *columns);
/* Every column is one of the properties; BAD_PARAM names the first that is not. columns: (nullable) */
gboolean dvmd_bus_check_properties (const GDBusInterfaceInfo *info, const char *const *columns, GError **error);
/* Every column is one of the fields; BAD_PARAM names the first that is not. */
gboolean dvmd_bus_check_columns (const char *const *columns, const DvmRecordField *fields, guint n_fields,
                                 GError **error);

G_END_DECLS
