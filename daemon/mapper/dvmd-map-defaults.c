/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The defaults of placement: where a job says nothing, and what the words that it says mean together.
 */

#include "config.h"

#include "dvmd-map-defaults.h"

#include <string.h>

/* A job of at most this many processes has a cpu for each by default; the processes of a larger one share NUMA nodes.
 */
#define FEW 2

/* Words of map-by that are objects, with what a process is bound to there. */
static const struct
{
  const char *word;
  DvmdBindTo bind_to;
} objects[] = {
  { "hwthread", DVMD_BIND_TO_HWTHREAD }, { "core", DVMD_BIND_TO_CORE },       { "l1cache", DVMD_BIND_TO_L1CACHE },
  { "l2cache", DVMD_BIND_TO_L2CACHE },   { "l3cache", DVMD_BIND_TO_L3CACHE }, { "numa", DVMD_BIND_TO_NUMA },
  { "package", DVMD_BIND_TO_PACKAGE },
};

static gboolean
is (const char *word, const char *name)
{
  return g_strcmp0 (word, name) == 0;
}

/* 0: it is none */
static DvmdBindTo
object_of_word (const char *word)
{
  for (gsize i = 0; i < G_N_ELEMENTS (objects); i++)
    if (is (word, objects[i].word))
      return objects[i].bind_to;
  return 0;
}

const char *
dvmd_map_defaults_name_binding (DvmdBindTo bind_to)
{
  for (gsize i = 0; i < G_N_ELEMENTS (objects); i++)
    if (objects[i].bind_to == bind_to)
      return objects[i].word;
  return "none";
}

static const char *
word_of_binding (DvmBindTo bind_to)
{
  return bind_to == DVM_BIND_TO_NONE ? "slot" : dvmd_map_defaults_name_binding (1 << bind_to);
}

/* The object of a word, or of ppr; 0: it is by nodes or slots */
static DvmdBindTo
object_of_placement (const DvmPlacement *placement, const char *word)
{
  return object_of_word (is (word, "ppr") ? placement->arguments[1] : word);
}

gboolean
dvmd_map_defaults_is_by_device (const DvmPlacement *placement)
{
  return is (placement->word, "device")
         || (is (placement->word, "ppr") && g_str_has_prefix (placement->arguments[1], "device="));
}

static gboolean
has (const DvmPlacement *placement, const char *qualifier)
{
  return g_strv_contains ((const char *const *)placement->rest, qualifier);
}

/* ---- map-by ---- */

static const char *
default_word (const DvmPlacement *placement, const DvmdMapWishes *wishes)
{
  gboolean by_object = placement->rank_given && placement->rank_by >= DVM_RANK_BY_FILL;

  if (placement->pe > 0)
    return "slot";
  if (placement->bind_given)
    return word_of_binding (placement->bind_to);
  if (!wishes->binds && !by_object && placement->cpus == DVM_CPUS_DEFAULT)
    return "slot";
  return placement->cpus == DVM_CPUS_HWTHREAD ? "hwthread" : "core";
}

static DvmdCpuKind
settle_cpus (const DvmPlacement *placement, const char *word)
{
  /* Processes of several threads that are bound to whole cores would share the last core. */
  if (placement->pe > 1 && placement->bind_given && placement->bind_to == DVM_BIND_TO_CORE)
    return DVMD_CPUS_CORE;
  if (placement->cpus != DVM_CPUS_DEFAULT)
    return placement->cpus == DVM_CPUS_HWTHREAD ? DVMD_CPUS_HWTHREAD : DVMD_CPUS_CORE;
  if (object_of_placement (placement, word) == DVMD_BIND_TO_HWTHREAD
      || (placement->bind_given && placement->bind_to == DVM_BIND_TO_HWTHREAD))
    return DVMD_CPUS_HWTHREAD;
  return DVMD_CPUS_CORE;
}

/* ---- rank-by ---- */

static DvmdRankBy
settle_ranking (const DvmPlacement *placement, const char *word)
{
  if (placement->rank_given)
    return 1 << placement->rank_by;
  if (is (word, "node"))
    return DVMD_RANK_BY_NODE;
  if (object_of_word (word) != 0 || is (word, "device"))
    return has (placement, "span") ? DVMD_RANK_BY_SPAN : DVMD_RANK_BY_FILL;
  return DVMD_RANK_BY_SLOT;
}

/* ---- bind-to ---- */

/* A line of a sequence is "HOST [CPUS]", that of a rankfile "rank N=HOST [slot=CPUS]"; neither has "=" in a host. */
static gboolean
line_has_cpus (const char *line, gboolean is_rankfile)
{
  if (!is_rankfile)
    return strpbrk (line, " \t") != NULL;
  line = strchr (line, '=');
  return line != NULL && strchr (line + 1, '=') != NULL;
}

static gboolean
file_has_cpus (const char *file, gboolean is_rankfile)
{
  g_auto (GStrv) lines = file != NULL ? g_strsplit (file, "\n", -1) : g_new0 (char *, 1);

  for (gsize i = 0; lines[i] != NULL; i++)
    {
      char *comment = strchr (lines[i], '#');

      if (comment != NULL)
        *comment = '\0';
      if (line_has_cpus (g_strstrip (lines[i]), is_rankfile))
        return TRUE;
    }
  return FALSE;
}

/* The cpus are named one by one: to bind to them is what the job asks for. */
static gboolean
names_cpus (const char *word, const DvmdMapWishes *wishes)
{
  gboolean is_rankfile = is (word, "rankfile");

  return is (word, "pe-list") || ((is_rankfile || is (word, "seq")) && file_has_cpus (wishes->file, is_rankfile));
}

/* Mappers that count: how many there would be they have not been told when the binding is settled. */
static gboolean
counts_itself (const char *word)
{
  return is (word, "ppr") || is (word, "seq") || is (word, "rankfile");
}

static DvmdBindTo
default_binding (const DvmPlacement *placement, const DvmdMapWishes *wishes, const DvmdMapPolicy *policy,
                 gboolean oversubscribe, guint64 np)
{
  DvmdBindTo cpu = policy->cpus == DVMD_CPUS_HWTHREAD ? DVMD_BIND_TO_HWTHREAD : DVMD_BIND_TO_CORE;

  if (placement->pe > 0 || names_cpus (policy->word, wishes))
    return cpu;
  if (oversubscribe)
    return DVMD_BIND_TO_NONE;
  /* The cpus belong to the job beside which it is. */
  if (is (policy->word, "colocate"))
    return DVMD_BIND_TO_NONE;
  if (policy->map_object != 0)
    return policy->map_object;
  if (!wishes->binds)
    return DVMD_BIND_TO_NONE;
  if (policy->by_device)
    return cpu;
  if (wishes->np_is_counted && counts_itself (policy->word))
    return cpu;
  return np <= FEW ? cpu : DVMD_BIND_TO_NUMA;
}

DvmdMapPolicy
dvmd_map_defaults_settle (const DvmPlacement *placement, const DvmdMapWishes *wishes, gboolean oversubscribe,
                          guint64 np)
{
  DvmdMapPolicy policy = { .word = placement->word, .pe = MAX (placement->pe, 1), .bind_limit = placement->bind_limit };

  policy.word_is_default = policy.word == NULL;
  if (policy.word_is_default)
    policy.word = default_word (placement, wishes);
  policy.map_object = object_of_placement (placement, policy.word);
  policy.by_device = dvmd_map_defaults_is_by_device (placement);
  policy.cpus = settle_cpus (placement, policy.word);
  policy.rank_by = settle_ranking (placement, policy.word);
  policy.bind_is_default = !placement->bind_given;
  if (placement->bind_given)
    policy.bind_to = 1 << placement->bind_to;
  else
    policy.bind_to = default_binding (placement, wishes, &policy, oversubscribe, np);
  policy.bind_is_optional = placement->if_supported
                            || (policy.bind_is_default && placement->pe == 0 && !names_cpus (policy.word, wishes));
  if (placement->overload)
    policy.bind_flags |= DVMD_BIND_OVERLOAD;
  if (placement->if_supported)
    policy.bind_flags |= DVMD_BIND_IF_SUPPORTED;
  if (placement->bind_limit > 0)
    policy.bind_flags |= DVMD_BIND_LIMIT;
  return policy;
}
