/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hardware of nodes is read from what the DVM says of it.
 */

#include "config.h"

#include "dvm-cli-machine.h"

#include <string.h>

/* The operating system gives no cpu a higher number. */
#define MAX_CPU 65535

struct _DvmCliMachine
{
  GHashTable *nodes;                       /* their names */
  GArray *objects[DVM_CLI_N_OBJECT_KINDS]; /* DvmCliObject */
  GArray *os_numbers;                      /* guint, by hardware thread */
  GHashTable *by_os_number;                /* -> hardware thread, plus one */
};

static const char *const names[DVM_CLI_N_OBJECT_KINDS] = { "package", "numa", "l3cache", "l2cache",
                                                           "l1cache", "core", "hwthread" };

const char *
dvm_cli_object_kind_to_string (DvmCliObjectKind kind)
{
  return names[kind];
}

static void
machine_free (gpointer data)
{
  DvmCliMachine *self = data;

  g_hash_table_unref (self->nodes);
  for (guint kind = 0; kind < DVM_CLI_N_OBJECT_KINDS; kind++)
    g_array_unref (self->objects[kind]);
  g_array_unref (self->os_numbers);
  g_hash_table_unref (self->by_os_number);
  g_free (self);
}

/* ---- lists of numbers ---- */

static guint
read_number (const char *text, const char **end)
{
  guint64 number = g_ascii_strtoull (text, (char **)end, 10);

  return (guint)MIN (number, MAX_CPU);
}

/* The next part of "0-3,8"; FALSE: there is none, or it is no number */
static gboolean
next_part (const char **text, guint *first, guint *last)
{
  if (!g_ascii_isdigit (**text))
    return FALSE;
  *first = *last = read_number (*text, text);
  if (**text == '-')
    *last = read_number (*text + 1, text);
  *text += **text == ',';
  return TRUE;
}

static int
compare_numbers (gconstpointer a, gconstpointer b)
{
  guint left = *(const guint *)a;
  guint right = *(const guint *)b;

  return left < right ? -1 : left > right;
}

char *
dvm_cli_list_numbers (GArray *numbers)
{
  GString *text = g_string_new (NULL);

  g_array_sort (numbers, compare_numbers);
  for (guint i = 0; i < numbers->len;)
    {
      guint first = g_array_index (numbers, guint, i);
      guint last = first;

      while (++i < numbers->len && g_array_index (numbers, guint, i) <= last + 1)
        last = g_array_index (numbers, guint, i);
      g_string_append_printf (text, first < last ? "%s%u-%u" : "%s%u", text->len > 0 ? "," : "", first, last);
    }
  return g_string_free (text, FALSE);
}

/* ---- reading ---- */

/* A hardware thread has one number of the operating system. */
static void
add_hwthread (DvmCliMachine *self, const char *text)
{
  guint number = 0;
  guint last;

  next_part (&text, &number, &last);
  g_array_append_val (self->os_numbers, number);
  g_hash_table_insert (self->by_os_number, GUINT_TO_POINTER (number), GUINT_TO_POINTER (self->os_numbers->len));
}

static void
add_object (DvmCliMachine *self, guint kind, const char *cpus)
{
  g_autoptr (GArray) hwthreads = dvm_cli_machine_read_cpus (self, cpus);
  DvmCliObject object = { .first = G_MAXUINT, .n = hwthreads->len };

  for (guint i = 0; i < hwthreads->len; i++)
    object.first = MIN (object.first, g_array_index (hwthreads, guint, i));
  /* Memory alone has no place among hardware threads, but keeps its number. */
  if (hwthreads->len == 0)
    object.first = 0;
  g_array_append_val (self->objects[kind], object);
}

static DvmCliMachine *
machine_new (const char **nodes, GVariant *objects)
{
  DvmCliMachine *self = g_new0 (DvmCliMachine, 1);
  g_autofree const char **hwthreads = NULL;

  self->nodes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (gsize i = 0; nodes[i] != NULL; i++)
    g_hash_table_add (self->nodes, g_strdup (nodes[i]));
  self->os_numbers = g_array_new (FALSE, FALSE, sizeof (guint));
  self->by_os_number = g_hash_table_new (NULL, NULL);
  if (g_variant_lookup (objects, names[DVM_CLI_HWTHREAD], "^a&s", &hwthreads))
    for (gsize i = 0; hwthreads[i] != NULL; i++)
      add_hwthread (self, hwthreads[i]);
  for (guint kind = 0; kind < DVM_CLI_N_OBJECT_KINDS; kind++)
    {
      g_autofree const char **lists = NULL;

      self->objects[kind] = g_array_new (FALSE, FALSE, sizeof (DvmCliObject));
      if (!g_variant_lookup (objects, names[kind], "^a&s", &lists))
        continue;
      for (gsize i = 0; lists[i] != NULL; i++)
        add_object (self, kind, lists[i]);
    }
  return self;
}

GPtrArray *
dvm_cli_machines_new (GVariant *topologies)
{
  GPtrArray *machines = g_ptr_array_new_with_free_func (machine_free);

  for (gsize i = 0; i < g_variant_n_children (topologies); i++)
    {
      g_autofree const char **nodes = NULL;
      g_autoptr (GVariant) objects = NULL;

      g_variant_get_child (topologies, i, "(&s^a&s@a{sas})", NULL, &nodes, &objects);
      g_ptr_array_add (machines, machine_new (nodes, objects));
    }
  return machines;
}

/* ---- what there is ---- */

DvmCliMachine *
dvm_cli_machines_find (GPtrArray *machines, const char *node)
{
  for (guint i = 0; i < machines->len; i++)
    if (dvm_cli_machine_has_node (machines->pdata[i], node))
      return machines->pdata[i];
  return NULL;
}

gboolean
dvm_cli_machine_has_node (DvmCliMachine *self, const char *node)
{
  return g_hash_table_contains (self->nodes, node);
}

guint
dvm_cli_machine_count (DvmCliMachine *self, DvmCliObjectKind kind)
{
  return self->objects[kind]->len;
}

DvmCliObject
dvm_cli_machine_get_object (DvmCliMachine *self, DvmCliObjectKind kind, guint index)
{
  return g_array_index (self->objects[kind], DvmCliObject, index);
}

DvmCliObject
dvm_cli_machine_get_whole (DvmCliMachine *self)
{
  return (DvmCliObject){ 0, self->os_numbers->len };
}

GArray *
dvm_cli_machine_read_cpus (DvmCliMachine *self, const char *list)
{
  GArray *hwthreads = g_array_new (FALSE, FALSE, sizeof (guint));
  guint first;
  guint last;

  while (next_part (&list, &first, &last))
    for (guint number = first; number <= last; number++)
      {
        guint found = GPOINTER_TO_UINT (g_hash_table_lookup (self->by_os_number, GUINT_TO_POINTER (number)));

        if (found-- > 0)
          g_array_append_val (hwthreads, found);
      }
  return hwthreads;
}

char *
dvm_cli_machine_list_cpus (DvmCliMachine *self, DvmCliObject object, gboolean physical)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = object.first; i < object.first + object.n; i++)
    {
      guint number = physical ? g_array_index (self->os_numbers, guint, i) : i;

      g_array_append_val (numbers, number);
    }
  return dvm_cli_list_numbers (numbers);
}

char *
dvm_cli_machine_list_objects (DvmCliMachine *self, DvmCliObjectKind kind, DvmCliObject inside)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < self->objects[kind]->len; i++)
    {
      DvmCliObject object = dvm_cli_machine_get_object (self, kind, i);

      if (object.n > 0 && object.first >= inside.first && object.first + object.n <= inside.first + inside.n)
        g_array_append_val (numbers, i);
    }
  return dvm_cli_list_numbers (numbers);
}
