/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Cpus that users have numbered one by one, in logical order, become those of the operating system.
 */

#include "config.h"

#include "cpu-list.h"

#include <string.h>

/* A longer list names cpus twice. */
#define MOST_RANGES 4096

/* ---- reading ---- */

/* Files have many of these lists: nothing is copied. */
static const char *
skip_spaces (const char *text)
{
  return text + strspn (text, " \t");
}

static gboolean
read_number (const char **text, guint32 *number)
{
  const char *c = skip_spaces (*text);
  guint32 read = 0;

  if (!g_ascii_isdigit (*c))
    return FALSE;
  for (; g_ascii_isdigit (*c) && read <= G_MAXUINT16; c++)
    read = 10 * read + (guint32)(*c - '0');
  *number = read;
  *text = skip_spaces (c);
  return read <= G_MAXUINT16;
}

static gboolean
take_sign (const char **text, char sign)
{
  if (**text != sign)
    return FALSE;
  (*text)++;
  return TRUE;
}

/* "0,2,4-6", with what is known of it */
static gboolean
read_ranges (GArray *ranges, const char **text, DvmdCpuRange range)
{
  do
    {
      if (!read_number (text, &range.first))
        return FALSE;
      range.last = range.first;
      if (take_sign (text, '-') && (!read_number (text, &range.last) || range.last < range.first))
        return FALSE;
      g_array_append_val (ranges, range);
    }
  while (ranges->len <= MOST_RANGES && take_sign (text, ','));
  return ranges->len <= MOST_RANGES;
}

static gboolean
read_item (GArray *ranges, const char **text)
{
  DvmdCpuRange range = { .package = -1 };
  const char *start;
  guint32 package;

  *text = skip_spaces (*text);
  range.whole = **text != '\0' && strchr ("PpSs", **text) != NULL;
  *text += range.whole;
  start = *text;
  if (read_number (text, &package) && take_sign (text, ':'))
    return read_ranges (ranges, text, (DvmdCpuRange){ .package = package });
  *text = start;
  return read_ranges (ranges, text, range);
}

GArray *
dvmd_cpu_list_parse (const char *text, const char *place, GError **error)
{
  g_autoptr (GArray) ranges = g_array_new (FALSE, TRUE, sizeof (DvmdCpuRange));
  const char *c = text;
  gboolean right;

  do
    right = read_item (ranges, &c);
  while (right && take_sign (&c, ';'));
  if (right && *c == '\0')
    return g_steal_pointer (&ranges);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "%s: “%s” is no list of cpus: it is written 0,2,4-6, or 1:0-2 for cores of package 1, or P0,1 for "
               "packages, with semicolons between several of these",
               place, text);
  return NULL;
}

/* ---- finding ---- */

DvmdObjectKind
dvmd_cpu_list_kind (DvmdMapTopology *topology, DvmdCpuKind cpus)
{
  if (cpus == DVMD_CPUS_CORE && dvmd_map_topology_get_n_objects (topology, DVMD_OBJECT_CORE) > 0)
    return DVMD_OBJECT_CORE;
  return DVMD_OBJECT_HWTHREAD;
}

typedef struct
{
  const DvmdMapNode *node;
  DvmdObjectKind unit;
  const DvmdCpuset *allowed;
  const char *place;
  guint32 n_units;
  guint32 last_unit;
  gboolean other; /* there is something that is no such unit */
  guint32 n_words;
  guint64 *words;
} Finder;

static guint64
word_of (const DvmdCpuset *set, guint32 i)
{
  return i < set->n_words ? set->words[i] : 0;
}

static gboolean
meets (const DvmdCpuset *left, const DvmdCpuset *right)
{
  for (guint32 i = 0; i < left->n_words; i++)
    if ((left->words[i] & word_of (right, i)) != 0)
      return TRUE;
  return FALSE;
}

/* FALSE: none of them may be used */
static gboolean
add_cpus (Finder *self, const DvmdCpuset *cpus)
{
  gboolean some = FALSE;

  for (guint32 i = 0; i < self->n_words; i++)
    {
      guint64 word = word_of (cpus, i) & word_of (self->allowed, i);

      some = some || word != 0;
      self->words[i] |= word;
    }
  return some;
}

static gboolean
set_missing (const Finder *self, const char *what, guint32 number, guint32 n, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%s: node %s has no %s %u: they are numbered from 0 to %d",
               self->place, self->node->name, what, number, (int)n - 1);
  return FALSE;
}

static gboolean
add_object (Finder *self, DvmdObjectKind kind, guint32 number, GError **error)
{
  const char *what = kind == DVMD_OBJECT_PACKAGE ? "package" : kind == DVMD_OBJECT_CORE ? "core" : "hardware thread";
  guint32 n = dvmd_map_topology_get_n_objects (self->node->topology, kind);

  if (number >= n)
    return set_missing (self, what, number, n, error);
  self->other = self->other || kind != self->unit;
  self->n_units++;
  self->last_unit = number;
  if (add_cpus (self, dvmd_map_topology_get_cpus (self->node->topology, kind, number)))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%s: %s %u of node %s may not be used by the job", self->place,
               what, number, self->node->name);
  return FALSE;
}

/* The core of that number in the package. */
static gboolean
add_core_of_package (Finder *self, guint32 package, guint32 number, GError **error)
{
  DvmdMapTopology *topology = self->node->topology;
  guint32 n_packages = dvmd_map_topology_get_n_objects (topology, DVMD_OBJECT_PACKAGE);
  DvmdObjectKind core = dvmd_cpu_list_kind (topology, DVMD_CPUS_CORE);
  guint32 n = 0;

  if (package >= n_packages)
    return set_missing (self, "package", package, n_packages, error);
  for (guint32 i = 0; i < dvmd_map_topology_get_n_objects (topology, core); i++)
    if (meets (dvmd_map_topology_get_cpus (topology, core, i),
               dvmd_map_topology_get_cpus (topology, DVMD_OBJECT_PACKAGE, package))
        && n++ == number)
      return add_object (self, core, i, error);
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "%s: package %u of node %s has no core %u: they are numbered "
               "from 0 to %d",
               self->place, package, self->node->name, number, (int)n - 1);
  return FALSE;
}

static gboolean
add_range (Finder *self, const DvmdCpuRange *range, GError **error)
{
  for (guint32 number = range->first; number <= range->last; number++)
    if (range->package >= 0 ? !add_core_of_package (self, (guint32)range->package, number, error)
                            : !add_object (self, range->whole ? DVMD_OBJECT_PACKAGE : self->unit, number, error))
      return FALSE;
  return TRUE;
}

gboolean
dvmd_cpu_list_choose (GArray *ranges, const DvmdMapNode *node, DvmdCpuKind cpus, const char *place,
                      DvmdCpuChoice *choice, GError **error)
{
  Finder self = { .node = node, .place = place, .allowed = node->allowed };
  gboolean right = TRUE;

  *choice = (DvmdCpuChoice){ 0 };
  if (node->topology == NULL || dvmd_map_topology_get_n_objects (node->topology, DVMD_OBJECT_NODE) == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%s: the hardware of node %s is not known", place,
                   node->name);
      return FALSE;
    }
  if (self.allowed == NULL)
    self.allowed = dvmd_map_topology_get_cpus (node->topology, DVMD_OBJECT_NODE, 0);
  self.unit = dvmd_cpu_list_kind (node->topology, cpus);
  self.n_words = self.allowed->n_words;
  self.words = g_new0 (guint64, self.n_words + 1);
  for (guint i = 0; right && i < ranges->len; i++)
    right = add_range (&self, &g_array_index (ranges, DvmdCpuRange, i), error);
  choice->cpus = g_new (DvmdCpuset, 1);
  choice->cpus->n_words = self.n_words;
  choice->cpus->words = self.words;
  choice->n_units = self.other ? 0 : self.n_units;
  choice->unit = self.last_unit;
  return right;
}

void
dvmd_cpu_choice_clear (DvmdCpuChoice *choice)
{
  g_clear_pointer (&choice->cpus, dvmd_cpuset_free);
}

/* ---- who has them ---- */

void
dvmd_cpu_ledger_init (DvmdCpuLedger *self)
{
  self->nodes = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
}

void
dvmd_cpu_ledger_clear (DvmdCpuLedger *self)
{
  g_clear_pointer (&self->nodes, g_hash_table_unref);
}

gboolean
dvmd_cpu_ledger_take (DvmdCpuLedger *self, const DvmdMapNode *node, guint index, const DvmdCpuset *cpus)
{
  GArray *words = g_hash_table_lookup (self->nodes, GUINT_TO_POINTER (index));
  gboolean is_free = TRUE;

  if (words == NULL)
    {
      words = g_array_new (FALSE, TRUE, sizeof (guint64));
      g_hash_table_insert (self->nodes, GUINT_TO_POINTER (index), words);
    }
  if (words->len < cpus->n_words)
    g_array_set_size (words, cpus->n_words);
  for (guint32 i = 0; i < cpus->n_words; i++)
    {
      guint64 others = node->in_use != NULL ? word_of (node->in_use, i) : 0;

      is_free = is_free && ((g_array_index (words, guint64, i) | others) & cpus->words[i]) == 0;
      g_array_index (words, guint64, i) |= cpus->words[i];
    }
  return is_free;
}
