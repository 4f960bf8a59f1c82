/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Words of placement that contradict each other are refused, both by name.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>

#include "dvm-placement-private.h"

#define BIT(n) (1u << (n))

static const char *const qualifier_names[DVM_N_MAP_QUALIFIERS] = {
  [DVM_MAP_PE] = "pe",
  [DVM_MAP_OVERSUBSCRIBE] = "oversubscribe",
  [DVM_MAP_NOOVERSUBSCRIBE] = "nooversubscribe",
  [DVM_MAP_NOLOCAL] = "nolocal",
  [DVM_MAP_HWTCPUS] = "hwtcpus",
  [DVM_MAP_CORECPUS] = "corecpus",
  [DVM_MAP_INHERIT] = "inherit",
  [DVM_MAP_NOINHERIT] = "noinherit",
  [DVM_MAP_SPAN] = "span",
  [DVM_MAP_ORDERED] = "ordered",
  [DVM_MAP_FILE] = "file",
  [DVM_MAP_INTERLEAVE] = "interleave",
  [DVM_MAP_SHARED] = "shared",
  [DVM_MAP_NDEV] = "ndev",
  [DVM_MAP_NPERPROC] = "nperproc",
  [DVM_MAP_NPERNODE] = "npernode",
};

static const char *const bind_names[] = {
  "none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package"
};

/* Two of one option that say the contrary of each other. */
static const struct
{
  DvmMapQualifier one;
  DvmMapQualifier other;
} contraries[] = {
  { DVM_MAP_OVERSUBSCRIBE, DVM_MAP_NOOVERSUBSCRIBE },
  { DVM_MAP_HWTCPUS, DVM_MAP_CORECPUS },
  { DVM_MAP_INHERIT, DVM_MAP_NOINHERIT },
  { DVM_MAP_NPERPROC, DVM_MAP_NPERNODE },
};

/* Qualifiers that mean something behind these words alone. */
static const struct
{
  DvmMapQualifier qualifier;
  guint words; /* bits of DvmMapWord */
  const char *shown;
} behind[] = {
  { DVM_MAP_FILE, BIT (DVM_MAP_WORD_SEQ) | BIT (DVM_MAP_WORD_RANKFILE), "seq, rankfile" },
  { DVM_MAP_ORDERED, BIT (DVM_MAP_WORD_PE_LIST), "pe-list" },
  { DVM_MAP_INTERLEAVE, BIT (DVM_MAP_WORD_DEVICE), "device" },
  { DVM_MAP_SHARED, BIT (DVM_MAP_WORD_DEVICE), "device" },
  { DVM_MAP_NDEV, BIT (DVM_MAP_WORD_DEVICE), "device" },
  { DVM_MAP_NPERPROC, BIT (DVM_MAP_WORD_COLOCATE), "colocate" },
  { DVM_MAP_NPERNODE, BIT (DVM_MAP_WORD_COLOCATE), "colocate" },
};

/* Qualifiers that contradict a word. */
static const struct
{
  DvmMapQualifier qualifier;
  DvmMapWord word;
  const char *why;
} against[] = {
  { DVM_MAP_PE, DVM_MAP_WORD_RANKFILE, N_ ("the file says which cpus a process has") },
  { DVM_MAP_PE, DVM_MAP_WORD_PE_LIST, N_ ("the list says which cpus a process has") },
  { DVM_MAP_SPAN, DVM_MAP_WORD_SEQ, N_ ("the file says where a process runs") },
  { DVM_MAP_SPAN, DVM_MAP_WORD_RANKFILE, N_ ("the file says where a process runs") },
  { DVM_MAP_SPAN, DVM_MAP_WORD_PPR, N_ ("every object gets as many") },
  { DVM_MAP_SPAN, DVM_MAP_WORD_PE_LIST, N_ ("the list says where a process runs") },
  { DVM_MAP_SPAN, DVM_MAP_WORD_COLOCATE, N_ ("the other job says where a process runs") },
  { DVM_MAP_NOLOCAL, DVM_MAP_WORD_COLOCATE, N_ ("the other job says where a process runs") },
  { DVM_MAP_OVERSUBSCRIBE, DVM_MAP_WORD_COLOCATE, N_ ("the job takes no slots") },
  { DVM_MAP_NOOVERSUBSCRIBE, DVM_MAP_WORD_COLOCATE, N_ ("the job takes no slots") },
  { DVM_MAP_CORECPUS, DVM_MAP_WORD_HWTHREAD, N_ ("a hardware thread is less than a core") },
};

static gboolean
has (const DvmPlacementReader *self, DvmMapQualifier qualifier)
{
  return (self->on & BIT (qualifier)) != 0;
}

static const char *
word_shown (const DvmPlacementReader *self)
{
  return self->placement->word != NULL ? self->placement->word : "core";
}

static gboolean
check_contraries (const DvmPlacementReader *self, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (contraries); i++)
    if ((self->given & BIT (contraries[i].one)) != 0 && (self->given & BIT (contraries[i].other)) != 0)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%smap-by: “%s” and “%s” contradict each other"),
                     self->place, qualifier_names[contraries[i].one], qualifier_names[contraries[i].other]);
        return FALSE;
      }
  return TRUE;
}

static gboolean
check_qualifiers (const DvmPlacementReader *self, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (behind); i++)
    if (has (self, behind[i].qualifier) && (behind[i].words & BIT (self->word)) == 0)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%smap-by: “%s” makes no sense with “%s”: it is for %s"),
                     self->place, qualifier_names[behind[i].qualifier], word_shown (self), behind[i].shown);
        return FALSE;
      }
  for (gsize i = 0; i < G_N_ELEMENTS (against); i++)
    if (has (self, against[i].qualifier) && self->word == against[i].word)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%smap-by: “%s” and “%s” contradict each other: %s"),
                     self->place, qualifier_names[against[i].qualifier], word_shown (self), _ (against[i].why));
        return FALSE;
      }
  if (self->word == DVM_MAP_WORD_RANKFILE && !has (self, DVM_MAP_FILE))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%smap-by: “rankfile” is without its file: it is written rankfile:file=PATH"), self->place);
      return FALSE;
    }
  return TRUE;
}

/* Whether there are objects to fill or to go over. Without a word the binding is that of the objects; else it is by
   core, and by slot for a number of cpus. */
static gboolean
maps_by_object (const DvmPlacementReader *self)
{
  const DvmPlacement *placement = self->placement;

  if (self->word == DVM_MAP_WORD_NONE)
    return placement->pe == 0 && !(placement->bind_given && placement->bind_to == DVM_BIND_TO_NONE);
  if (self->word == DVM_MAP_WORD_PPR)
    return g_strcmp0 (placement->arguments[1], "node") != 0;
  return self->word <= DVM_MAP_WORD_PACKAGE || self->word == DVM_MAP_WORD_DEVICE;
}

static gboolean
check_ranking (const DvmPlacementReader *self, GError **error)
{
  static const char *const names[] = { "slot", "node", "fill", "span" };
  const DvmPlacement *placement = self->placement;

  if (!placement->rank_given || self->word == DVM_MAP_WORD_FOREIGN)
    return TRUE;
  if (self->word == DVM_MAP_WORD_SEQ || self->word == DVM_MAP_WORD_RANKFILE)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%srank-by: “%s” contradicts map-by “%s”: the file gives the ranks"), self->place,
                   names[placement->rank_by], placement->word);
      return FALSE;
    }
  if (self->word == DVM_MAP_WORD_COLOCATE)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%srank-by: “%s” contradicts map-by “colocate”: the ranks are in the order of those beside which "
                      "they are"),
                   self->place, names[placement->rank_by]);
      return FALSE;
    }
  if (placement->rank_by < DVM_RANK_BY_FILL || maps_by_object (self))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%srank-by: “%s” contradicts map-by “%s”: it needs mapping by an object, from hwthread to package"),
               self->place, names[placement->rank_by], placement->word != NULL ? placement->word : "slot");
  return FALSE;
}

static gboolean
check_one_cpu (const DvmPlacementReader *self, GError **error)
{
  const DvmPlacement *placement = self->placement;
  gboolean many = placement->pe > 0;

  if ((!many && !has (self, DVM_MAP_ORDERED)) || placement->bind_to == DVM_BIND_TO_CORE
      || placement->bind_to == DVM_BIND_TO_HWTHREAD)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sbind-to: “%s” contradicts map-by “%s”, which gives cpus to a process: it can be core or hwthread"),
               self->place, bind_names[placement->bind_to], many ? "pe" : "ordered");
  return FALSE;
}

static gboolean
check_list (const DvmPlacementReader *self, GError **error)
{
  const DvmPlacement *placement = self->placement;

  if (self->word != DVM_MAP_WORD_PE_LIST || placement->bind_to <= DVM_BIND_TO_CORE)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sbind-to: “%s” contradicts map-by “pe-list”, which names the cpus: it can be core, hwthread or "
                  "none"),
               self->place, bind_names[placement->bind_to]);
  return FALSE;
}

/* To bind to hardware threads means that each is a cpu. */
static gboolean
check_threads (const DvmPlacementReader *self, GError **error)
{
  const DvmPlacement *placement = self->placement;

  if (!placement->bind_given || placement->bind_to != DVM_BIND_TO_HWTHREAD || placement->cpus != DVM_CPUS_CORE)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sbind-to: “hwthread” contradicts map-by “corecpus”: a hardware thread is less than a core"),
               self->place);
  return FALSE;
}

/* Processes that are bound to nothing share all cpus. */
static gboolean
check_unbound (const DvmPlacementReader *self, GError **error)
{
  const DvmPlacement *placement = self->placement;

  if (!placement->bind_given || placement->bind_to != DVM_BIND_TO_NONE
      || (!placement->overload && placement->bind_limit == 0))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sbind-to: “%s” and “none” contradict each other: nothing is bound"), self->place,
               placement->overload ? "overload-allowed" : "limit");
  return FALSE;
}

static gboolean
check_binding (const DvmPlacementReader *self, GError **error)
{
  const DvmPlacement *placement = self->placement;

  if (!check_unbound (self, error))
    return FALSE;
  if (!placement->bind_given || self->word == DVM_MAP_WORD_FOREIGN)
    return TRUE;
  if (!check_one_cpu (self, error) || !check_list (self, error))
    return FALSE;
  if (self->object == DVM_MAP_WORD_NONE || self->object > DVM_MAP_WORD_PACKAGE
      || (int)placement->bind_to <= (int)self->object)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sbind-to: “%s” is above what map-by gives a process, “%s”: it can be that or something in it"),
               self->place, bind_names[placement->bind_to], bind_names[self->object]);
  return FALSE;
}

gboolean
_dvm_placement_check (const DvmPlacementReader *self, GError **error)
{
  return check_contraries (self, error) && (self->word == DVM_MAP_WORD_FOREIGN || check_qualifiers (self, error))
         && check_ranking (self, error) && check_threads (self, error) && check_binding (self, error);
}
