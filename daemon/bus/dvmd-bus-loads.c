/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The load and the memory of thousands of nodes are one answer: each agent is asked by itself, and one that does not
 * answer is left out.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-methods.h"
#include "dvmd-controller-usage.h"

#include <string.h>

/* One of the answer, as a GVariant of type (udtt) has it in memory. */
typedef struct
{
  guint32 rank;
  guint32 nothing;
  double load;
  guint64 total;
  guint64 unused;
} Row;

typedef struct
{
  GDBusMethodInvocation *invocation;
  char *name;
  GVariant *values; /* those of the other keys */
  GArray *rows;     /* Row */
  guint n_open;
} Loads;

typedef struct
{
  Loads *loads;
  guint rank;
} Ask;

static void
close_one (Loads *self)
{
  g_auto (GVariantDict) values = G_VARIANT_DICT_INIT (NULL);

  if (--self->n_open > 0)
    return;
  g_variant_dict_init (&values, self->values);
  g_variant_dict_insert_value (
      &values, self->name,
      g_variant_new_fixed_array (G_VARIANT_TYPE ("(udtt)"), self->rows->data, self->rows->len, sizeof (Row)));
  dvmd_bus_return_value (self->invocation, g_variant_new ("(@a{sv})", g_variant_dict_end (&values)));
  g_array_unref (self->rows);
  g_variant_unref (self->values);
  g_free (self->name);
  g_free (self);
}

/* In one pass: an agent tells of far more than this. */
static void
read_usage (GVariant *usage, Row *row)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  row->load = -1;
  g_variant_iter_init (&iter, usage);
  while (g_variant_iter_loop (&iter, "{&sv}", &key, &value))
    if (strcmp (key, "load-1") == 0 && g_variant_is_of_type (value, G_VARIANT_TYPE_DOUBLE))
      row->load = g_variant_get_double (value);
    else if (!g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64))
      continue;
    else if (strcmp (key, "mem-total") == 0)
      row->total = g_variant_get_uint64 (value);
    else if (strcmp (key, "mem-free") == 0 || strcmp (key, "buffers") == 0 || strcmp (key, "cached") == 0)
      row->unused += g_variant_get_uint64 (value);
}

static void
on_measured (gpointer user_data, int status, GVariant *rows)
{
  Ask *ask = user_data;
  g_autoptr (GVariant) usage = NULL;
  Row row = { .rank = ask->rank };

  if (rows == NULL || g_variant_n_children (rows) != 1)
    return;
  usage = g_variant_get_child_value (rows, 0);
  read_usage (usage, &row);
  g_array_append_val (ask->loads->rows, row);
}

static void
ask_free (gpointer data)
{
  g_autofree Ask *ask = data;

  close_one (ask->loads);
}

void
dvmd_bus_measure_loads (DvmdController *controller, GArray *nodes, const char *name, GVariant *values,
                        GDBusMethodInvocation *invocation)
{
  Loads *self = g_new0 (Loads, 1);

  self->invocation = invocation;
  self->name = g_strdup (name);
  self->values = g_variant_ref_sink (values);
  self->rows = g_array_sized_new (FALSE, FALSE, sizeof (Row), nodes->len);
  self->n_open = nodes->len + 1;
  for (guint i = 0; i < nodes->len; i++)
    {
      g_autoptr (GArray) one = g_array_new (FALSE, FALSE, sizeof (guint));
      Ask *ask = g_new (Ask, 1);

      *ask = (Ask){ self, g_array_index (nodes, guint, i) };
      g_array_append_val (one, ask->rank);
      dvmd_controller_measure (controller, one, NULL, DVMD_ALL_RANKS, on_measured, ask, ask_free);
    }
  close_one (self);
}
