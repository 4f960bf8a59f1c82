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

typedef struct
{
  GDBusMethodInvocation *invocation;
  char *name;
  GVariant *values; /* those of the other keys */
  GVariantBuilder rows;
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
  g_variant_dict_insert_value (&values, self->name, g_variant_builder_end (&self->rows));
  dvmd_bus_return_value (self->invocation, g_variant_new ("(@a{sv})", g_variant_dict_end (&values)));
  g_variant_unref (self->values);
  g_free (self->name);
  g_free (self);
}

static guint64
get_bytes (GVariant *usage, const char *key)
{
  guint64 bytes = 0;

  g_variant_lookup (usage, key, "t", &bytes);
  return bytes;
}

static void
on_measured (gpointer user_data, int status, GVariant *rows)
{
  Ask *ask = user_data;
  g_autoptr (GVariant) usage = NULL;
  double load = -1;

  if (rows == NULL || g_variant_n_children (rows) != 1)
    return;
  usage = g_variant_get_child_value (rows, 0);
  g_variant_lookup (usage, "load-1", "d", &load);
  g_variant_builder_add (&ask->loads->rows, "(udtt)", ask->rank, load, get_bytes (usage, "mem-total"),
                         get_bytes (usage, "mem-free") + get_bytes (usage, "buffers") + get_bytes (usage, "cached"));
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
  g_variant_builder_init (&self->rows, G_VARIANT_TYPE ("a(udtt)"));
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
