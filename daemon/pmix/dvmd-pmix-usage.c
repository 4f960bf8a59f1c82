/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The use of processes and nodes is told with PMIx's keys and types.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-usage.h"

#include <string.h>

#include "dvmd-pmix-gates.h"

typedef struct
{
  const char *word;
  const char *key;
  pmix_data_type_t type;
} Field;

static const Field proc_fields[] = {
  { "process", PMIX_PROCID, PMIX_PROC },
  { "node", PMIX_HOSTNAME, PMIX_STRING },
  { "pid", PMIX_PROC_PID, PMIX_PID },
  { "command", PMIX_CMD_LINE, PMIX_STRING },
  { "state", PMIX_PROC_OS_STATE, PMIX_STRING },
  { "cpu-time", PMIX_PROC_TIME, PMIX_TIMEVAL },
  { "percent-cpu", PMIX_PROC_PERCENT_CPU, PMIX_FLOAT },
  { "priority", PMIX_PROC_PRIORITY, PMIX_INT32 },
  { "threads", PMIX_PROC_NUM_THREADS, PMIX_UINT16 },
  { "processor", PMIX_PROC_CPU, PMIX_UINT16 },
  { "pss", PMIX_PROC_PSS, PMIX_FLOAT },
  { "vsize", PMIX_PROC_VSIZE, PMIX_FLOAT },
  { "rss", PMIX_PROC_RSS, PMIX_FLOAT },
  { "peak-vsize", PMIX_PROC_PEAK_VSIZE, PMIX_FLOAT },
  { "time", PMIX_PROC_SAMPLE_TIME, PMIX_TIME },
  { NULL },
};

static const Field node_fields[] = {
  { "node", PMIX_HOSTNAME, PMIX_STRING },
  { "load-1", PMIX_NODE_LOAD_AVG, PMIX_FLOAT },
  { "load-5", PMIX_NODE_LOAD_AVG5, PMIX_FLOAT },
  { "load-15", PMIX_NODE_LOAD_AVG15, PMIX_FLOAT },
  { "mem-total", PMIX_NODE_MEM_TOTAL, PMIX_FLOAT },
  { "mem-free", PMIX_NODE_MEM_FREE, PMIX_FLOAT },
  { "buffers", PMIX_NODE_MEM_BUFFERS, PMIX_FLOAT },
  { "cached", PMIX_NODE_MEM_CACHED, PMIX_FLOAT },
  { "swap-cached", PMIX_NODE_MEM_SWAP_CACHED, PMIX_FLOAT },
  { "swap-total", PMIX_NODE_SWAP_TOTAL, PMIX_FLOAT },
  { "swap-free", PMIX_NODE_MEM_SWAP_FREE, PMIX_FLOAT },
  { "mapped", PMIX_NODE_MEM_MAPPED, PMIX_FLOAT },
  { "time", PMIX_NODE_SAMPLE_TIME, PMIX_TIME },
  { "disks", PMIX_DISK_RESOURCE_USAGE, PMIX_DATA_ARRAY },
  { "networks", PMIX_NETWORK_RESOURCE_USAGE, PMIX_DATA_ARRAY },
  { NULL },
};

static const Field disk_fields[] = {
  { "name", PMIX_DISK_ID, PMIX_STRING },
  { "reads", PMIX_DISK_READ_COMPLETED, PMIX_UINT64 },
  { "reads-merged", PMIX_DISK_READ_MERGED, PMIX_UINT64 },
  { "sectors-read", PMIX_DISK_READ_SECTORS, PMIX_UINT64 },
  { "reading-ms", PMIX_DISK_READ_MILLISEC, PMIX_UINT64 },
  { "writes", PMIX_DISK_WRITE_COMPLETED, PMIX_UINT64 },
  { "writes-merged", PMIX_DISK_WRITE_MERGED, PMIX_UINT64 },
  { "sectors-written", PMIX_DISK_WRITE_SECTORS, PMIX_UINT64 },
  { "writing-ms", PMIX_DISK_WRITE_MILLISEC, PMIX_UINT64 },
  { "in-progress", PMIX_DISK_IO_IN_PROGRESS, PMIX_UINT64 },
  { "io-ms", PMIX_DISK_IO_MILLISEC, PMIX_UINT64 },
  { "weighted-io-ms", PMIX_DISK_IO_WEIGHTED, PMIX_UINT64 },
  { NULL },
};

static const Field network_fields[] = {
  { "name", PMIX_NETWORK_ID, PMIX_STRING },
  { "bytes-received", PMIX_NET_RECVD_BYTES, PMIX_UINT64 },
  { "packets-received", PMIX_NET_RECVD_PCKTS, PMIX_UINT64 },
  { "receive-errors", PMIX_NET_RECVD_ERRS, PMIX_UINT64 },
  { "bytes-sent", PMIX_NET_SENT_BYTES, PMIX_UINT64 },
  { "packets-sent", PMIX_NET_SENT_PCKTS, PMIX_UINT64 },
  { "send-errors", PMIX_NET_SENT_ERRS, PMIX_UINT64 },
  { NULL },
};

static const struct
{
  const char *key; /* of an array with these fields */
  const Field *fields;
} tables[] = {
  { PMIX_PROC_RESOURCE_USAGE, proc_fields },
  { PMIX_NODE_RESOURCE_USAGE, node_fields },
  { PMIX_DISK_RESOURCE_USAGE, disk_fields },
  { PMIX_NETWORK_RESOURCE_USAGE, network_fields },
};

static const Field *
find_fields (const char *row)
{
  gsize i = 0;

  while (strcmp (tables[i].key, row) != 0)
    i++;
  return tables[i].fields;
}

/* Another type of GVariant than dvmd-usage.h says is passed over. */
static void
add_integer (DvmdPmixInfo *self, const Field *field, GVariant *value)
{
  if (field->type == PMIX_PID && g_variant_is_of_type (value, G_VARIANT_TYPE_INT32))
    dvmd_pmix_info_add (self, field->key, &(pid_t){ g_variant_get_int32 (value) }, PMIX_PID);
  else if (field->type == PMIX_INT32 && g_variant_is_of_type (value, G_VARIANT_TYPE_INT32))
    dvmd_pmix_info_add (self, field->key, &(gint32){ g_variant_get_int32 (value) }, PMIX_INT32);
  else if (field->type == PMIX_UINT64 && g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64))
    dvmd_pmix_info_add (self, field->key, &(guint64){ g_variant_get_uint64 (value) }, PMIX_UINT64);
  /* A number that PMIx has no room for is left out. */
  else if (field->type == PMIX_UINT16 && g_variant_is_of_type (value, G_VARIANT_TYPE_UINT32)
           && g_variant_get_uint32 (value) <= G_MAXUINT16)
    dvmd_pmix_info_add_uint16 (self, field->key, (guint16)g_variant_get_uint32 (value));
}

static void
add_time (DvmdPmixInfo *self, const Field *field, gint64 time)
{
  if (field->type == PMIX_TIME)
    dvmd_pmix_info_add (self, field->key, &(time_t){ time }, PMIX_TIME);
  else if (field->type == PMIX_TIMEVAL)
    dvmd_pmix_info_add (self, field->key, &(struct timeval){ time / G_USEC_PER_SEC, time % G_USEC_PER_SEC },
                        PMIX_TIMEVAL);
}

static void
add_field (DvmdPmixInfo *self, const Field *field, GVariant *value)
{
  if (field->type == PMIX_STRING && g_variant_is_of_type (value, G_VARIANT_TYPE_STRING))
    dvmd_pmix_info_add_string (self, field->key, g_variant_get_string (value, NULL));
  else if (field->type == PMIX_FLOAT && g_variant_is_of_type (value, G_VARIANT_TYPE_DOUBLE))
    dvmd_pmix_info_add (self, field->key, &(float){ (float)g_variant_get_double (value) }, PMIX_FLOAT);
  /* Sizes are bytes, of PMIx MBytes. */
  else if (field->type == PMIX_FLOAT && g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64))
    dvmd_pmix_info_add (self, field->key, &(float){ (float)g_variant_get_uint64 (value) / (1024 * 1024) }, PMIX_FLOAT);
  else if (field->type == PMIX_PROC && g_variant_is_of_type (value, G_VARIANT_TYPE ("(su)")))
    dvmd_pmix_info_add_variant (self, field->key, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_INT64))
    add_time (self, field, g_variant_get_int64 (value));
  else
    add_integer (self, field, value);
}

static void add_rows (DvmdPmixInfo *self, const char *row, GVariant *rows);

/* In the order of the table, which begins with whose they are. */
static void
add_fields (DvmdPmixInfo *self, const Field *fields, GVariant *dict)
{
  for (const Field *field = fields; field->word != NULL; field++)
    {
      g_autoptr (GVariant) value = g_variant_lookup_value (dict, field->word, NULL);

      if (value != NULL && field->type == PMIX_DATA_ARRAY)
        add_rows (self, field->key, value);
      else if (value != NULL)
        add_field (self, field, value);
    }
}

static void
add_rows (DvmdPmixInfo *self, const char *row, GVariant *rows)
{
  GVariantIter iter;
  GVariant *dict;

  if (!g_variant_is_of_type (rows, G_VARIANT_TYPE ("aa{sv}")))
    return;
  g_variant_iter_init (&iter, rows);
  while (g_variant_iter_loop (&iter, "@a{sv}", &dict))
    {
      DvmdPmixInfo fields = DVMD_PMIX_INFO_INIT;

      add_fields (&fields, find_fields (row), dict);
      dvmd_pmix_info_add_array (self, row, &fields);
    }
}

gboolean
dvmd_pmix_usage_add (DvmdPmixInfo *self, const char *key, const char *row, GVariant *value)
{
  DvmdPmixInfo array = DVMD_PMIX_INFO_INIT;

  if (g_variant_is_of_type (value, G_VARIANT_TYPE_VARDICT))
    add_fields (&array, find_fields (row), value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE ("aa{sv}")))
    add_rows (&array, row, value);
  else
    return FALSE;
  dvmd_pmix_info_add_array (self, key, &array);
  return TRUE;
}

gboolean
dvmd_pmix_usage_add_rows (DvmdPmixInfo *self, const char *row, GVariant *value)
{
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_VARDICT))
    return dvmd_pmix_usage_add (self, row, row, value);
  if (!g_variant_is_of_type (value, G_VARIANT_TYPE ("aa{sv}")))
    return FALSE;
  add_rows (self, row, value);
  return TRUE;
}
