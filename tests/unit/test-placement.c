/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The words of placement: what each means, what may be left out of it, and what contradicts what.
 */

#include "config.h"

#include <string.h>

#include <glib/gstdio.h>

#include "dvm-placement-private.h"

static const char *const rankings[] = { "slot", "node", "fill", "span" };
static const char *const objects[] = { "none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package" };

static void
add_flag (GString *text, gboolean flag, const char *name)
{
  if (flag)
    g_string_append_printf (text, " %s", name);
}

static void
add_list (GString *text, const char *name, GStrv list)
{
  g_autofree char *joined = g_strjoinv ("|", list);

  if (joined[0] != '\0')
    g_string_append_printf (text, " %s[%s]", name, joined);
}

/* Everything that was given, in the order of the struct. */
static char *
show_placement (const DvmPlacement *self)
{
  GString *text = g_string_new (self->word != NULL ? self->word : "-");

  if (self->value != NULL)
    g_string_append_printf (text, " value[%s]", self->value);
  add_list (text, "arguments", self->arguments);
  add_list (text, "rest", self->rest);
  if (self->pe > 0)
    g_string_append_printf (text, " pe%u", self->pe);
  add_flag (text, self->cpus == DVM_CPUS_CORE, "cores");
  add_flag (text, self->cpus == DVM_CPUS_HWTHREAD, "hwthreads");
  add_flag (text, self->oversubscribe == 1, "over");
  add_flag (text, self->oversubscribe == 0, "no-over");
  add_flag (text, self->inherit == 1, "inherit");
  add_flag (text, self->inherit == 0, "no-inherit");
  add_flag (text, self->nolocal, "nolocal");
  if (self->rank_given)
    g_string_append_printf (text, " rank-%s", rankings[self->rank_by]);
  if (self->bind_given)
    g_string_append_printf (text, " bind-%s", objects[self->bind_to]);
  add_flag (text, self->overload, "overload");
  add_flag (text, self->no_overload, "no-overload");
  add_flag (text, self->if_supported, "if-supported");
  add_flag (text, self->report, "report");
  if (self->bind_limit > 0)
    g_string_append_printf (text, " limit%u", self->bind_limit);
  return g_string_free (text, FALSE);
}

static const struct
{
  const char *map_by;
  const char *rank_by;
  const char *bind_to;
  const char *expected;
} good[] = {
  { NULL, NULL, NULL, "-" },
  /* each word, and what it may be shortened to */
  { "slot", NULL, NULL, "slot" },
  { "SL", NULL, NULL, "slot" },
  { "node", NULL, NULL, "node" },
  { "No", NULL, NULL, "node" },
  { "hwthread", NULL, NULL, "hwthread" },
  { "h", NULL, NULL, "hwthread" },
  { "hwt", NULL, NULL, "hwthread" },
  { "core", NULL, NULL, "core" },
  { "c", NULL, NULL, "core" },
  { "l1cache", NULL, NULL, "l1cache" },
  { "L1", NULL, NULL, "l1cache" },
  { "l2cache", NULL, NULL, "l2cache" },
  { "l3cache", NULL, NULL, "l3cache" },
  { "L3", NULL, NULL, "l3cache" },
  { "numa", NULL, NULL, "numa" },
  { "nu", NULL, NULL, "numa" },
  { "package", NULL, NULL, "package" },
  { "pack", NULL, NULL, "package" },
  { "socket", NULL, NULL, "package" },
  { "seq", NULL, NULL, "seq" },
  { "se:FILE=/a b", NULL, NULL, "seq rest[file=/a b]" },
  { "rankfile:FILE=/A/b=c", NULL, NULL, "rankfile rest[file=/A/b=c]" },
  { "seq:file=/a:b", NULL, NULL, "seq rest[file=/a:b]" },
  { "seq:file=/a\\:span:over", NULL, NULL, "seq rest[file=/a:span] over" },
  { "rankfile:file=/runs/12:30:00:x=y:nolocal", NULL, NULL, "rankfile rest[file=/runs/12:30:00:x=y] nolocal" },
  { "rankfile:nolocal:file=/a:b/c:d/e:oversubscribe", NULL, NULL, "rankfile rest[file=/a:b/c:d/e] over nolocal" },
  { "r:f=x", NULL, NULL, "rankfile rest[file=x]" },
  { "pe-list=0,2,4-7", NULL, NULL, "pe-list value[0,2,4-7]" },
  { "PE-L=3-3:Ordered", NULL, NULL, "pe-list value[3-3] rest[ordered]" },
  { "pe-list=1,2:HWTCPUS:ORDERED", NULL, NULL, "pe-list value[1,2] rest[ordered] hwthreads" },
  { "device=GPU", NULL, NULL, "device value[gpu]" },
  { "d=Nic", NULL, NULL, "device value[network]" },
  { "device=fabric", NULL, NULL, "device value[network]" },
  { "device=openfabrics", NULL, NULL, "device value[network]" },
  { "device=network", NULL, NULL, "device value[network]" },
  { "device=block", NULL, NULL, "device value[block]" },
  { "device=mlx5_0", NULL, NULL, "device value[mlx5_0]" },
  { "device=GPU-0a1B", NULL, NULL, "device value[GPU-0a1B]" },
  { "device=a\\:span:shared", NULL, NULL, "device value[a:span] rest[shared=true]" },
  { "device=a\\:b\\:PE=2:PE=3", NULL, NULL, "device value[a:b:PE=2] pe3" },
  { "ppr:2:device=a\\:span", NULL, NULL, "ppr arguments[2|device=a:span]" },
  { "device=0000:3b:00.0:shared", NULL, NULL, "device value[0000:3b:00.0] rest[shared=true]" },
  { "device=gpu:interleave:shared:ndev=2", NULL, NULL,
    "device value[gpu] rest[interleave=package|shared=true|ndev=2]" },
  { "device=gpu:interleave=l3", NULL, NULL, "device value[gpu] rest[interleave=l3cache]" },
  { "device=gpu:interleave=Socket", NULL, NULL, "device value[gpu] rest[interleave=package]" },
  { "device=gpu:shared=no", NULL, NULL, "device value[gpu]" },
  { "ppr:2:node", NULL, NULL, "ppr arguments[2|node]" },
  { "PPR:12:NO", NULL, NULL, "ppr arguments[12|node]" },
  { "ppr:1:l3", NULL, NULL, "ppr arguments[1|l3cache]" },
  { "ppr:1:hwthread", NULL, NULL, "ppr arguments[1|hwthread]" },
  { "ppr:1:core", NULL, NULL, "ppr arguments[1|core]" },
  { "ppr:1:l1cache", NULL, NULL, "ppr arguments[1|l1cache]" },
  { "ppr:1:l2cache", NULL, NULL, "ppr arguments[1|l2cache]" },
  { "ppr:1:numa:PE=4", NULL, NULL, "ppr arguments[1|numa] pe4" },
  { "ppr:1:package:OVERSUBSCRIBE", NULL, NULL, "ppr arguments[1|package] over" },
  { "ppr:1:skt", NULL, NULL, "ppr arguments[1|package]" },
  { "ppr:2:device=NIC:PE=2", NULL, NULL, "ppr arguments[2|device=network] pe2" },
  { "ppr:2:device=0000:3b:00.0", NULL, NULL, "ppr arguments[2|device=0000:3b:00.0]" },
  { "colocate=7", NULL, NULL, "colocate value[7]" },
  { "COLOCATE=dvm-1@7:0-3,8:NPERPROC=2", NULL, NULL, "colocate value[dvm-1@7:0-3,8] rest[nperproc=2]" },
  { "colocate=a@1:0+b@2+c@3:4-5:npernode=1:PE=2", NULL, "core",
    "colocate value[a@1:0+b@2+c@3:4-5] rest[npernode=1] pe2 bind-core" },
  { "colocate=7:4294967295:PE=2", NULL, "core", "colocate value[7:4294967295] pe2 bind-core" },
  { "coloc=7", NULL, NULL, "colocate value[7]" },
  { "co", NULL, NULL, "core" },
  /* qualifiers */
  { ":PE=2", NULL, NULL, "- pe2" },
  { "slot:pe=65535", NULL, NULL, "slot pe65535" },
  { "numa:SPAN", NULL, NULL, "numa rest[span]" },
  { "node:SPAN", NULL, NULL, "node rest[span]" },
  { "slot:span=0", NULL, NULL, "slot" },
  { "node:OVERSUBSCRIBE", NULL, NULL, "node over" },
  { "node:ov", NULL, NULL, "node over" },
  { "node:oversubscribe=n", NULL, NULL, "node no-over" },
  { "node:NOOVERSUBSCRIBE", NULL, NULL, "node no-over" },
  { "node:noover=FALSE", NULL, NULL, "node over" },
  { "slot:NOLOCAL", NULL, NULL, "slot nolocal" },
  { "slot:nol=disable", NULL, NULL, "slot" },
  { "slot:HWTCPUS", NULL, NULL, "slot hwthreads" },
  { "slot:hwtcpus=no", NULL, NULL, "slot cores" },
  { "slot:corecpus", NULL, NULL, "slot cores" },
  { "slot:c", NULL, NULL, "slot cores" },
  { "core:INHERIT", NULL, NULL, "core inherit" },
  { "core:inh=T", NULL, NULL, "core inherit" },
  { "core:NOINHERIT", NULL, NULL, "core no-inherit" },
  { "core:PE=2:OVERSUBSCRIBE:NOLOCAL:SPAN", NULL, NULL, "core rest[span] pe2 over nolocal" },
  /* mappers' own */
  { "Own-Word=3:arg:QUAL=a value, of two", NULL, NULL, "own-word value[3] rest[arg|QUAL=a value, of two]" },
  { "x:o:PE=2:NoLocal:span", NULL, NULL, "x rest[o|span] pe2 nolocal" },
  /* ranking and binding */
  { NULL, "slot", NULL, "- rank-slot" },
  { NULL, "N", NULL, "- rank-node" },
  { NULL, "FILL", NULL, "- rank-fill" },
  { "numa", "span", NULL, "numa rank-span" },
  { "ppr:1:numa", "fill", NULL, "ppr arguments[1|numa] rank-fill" },
  { NULL, NULL, "none", "- bind-none" },
  { NULL, NULL, "hw", "- bind-hwthread" },
  { NULL, NULL, "CORE", "- bind-core" },
  { NULL, NULL, "l1", "- bind-l1cache" },
  { NULL, NULL, "l2cache", "- bind-l2cache" },
  { NULL, NULL, "l3cache", "- bind-l3cache" },
  { NULL, NULL, "numa", "- bind-numa" },
  { NULL, NULL, "p", "- bind-package" },
  { NULL, NULL, "socket", "- bind-package" },
  { NULL, NULL, "core:overload-allowed", "- bind-core overload" },
  { NULL, NULL, "core:OVERLOAD", "- bind-core overload" },
  { NULL, NULL, "core:overload=no", "- bind-core no-overload" },
  { NULL, NULL, "core:NO-OVERLOAD", "- bind-core no-overload" },
  { NULL, NULL, "core:if", "- bind-core if-supported" },
  { NULL, NULL, "core:LIMIT=3:REPORT", "- bind-core report limit3" },
  { NULL, NULL, ":overload-allowed", "- overload" },
  { "slot:PE=2", NULL, "core", "slot pe2 bind-core" },
  { "slot:PE=2", NULL, "hwthread", "slot pe2 bind-hwthread" },
  { "numa:PE=1", NULL, "core", "numa pe1 bind-core" },
  { "package", NULL, "l3cache", "package bind-l3cache" },
  { "l3cache", NULL, "l3cache", "l3cache bind-l3cache" },
  { "ppr:2:numa", NULL, "numa", "ppr arguments[2|numa] bind-numa" },
  { "core", NULL, "none", "core bind-none" },
  { "slot", NULL, "package", "slot bind-package" },
  { "node", NULL, "package", "node bind-package" },
  { "x", NULL, "package", "x bind-package" },
};

static void
test_good (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmPlacement)
          placement = _dvm_placement_parse (good[i].map_by, good[i].rank_by, good[i].bind_to, "", &error);
      g_autofree char *shown = NULL;

      if (error != NULL)
        g_error ("%s %s %s: %s", good[i].map_by, good[i].rank_by, good[i].bind_to, error->message);
      shown = show_placement (placement);
      g_assert_cmpstr (shown, ==, good[i].expected);
    }
}

static const struct
{
  const char *map_by;
  const char *rank_by;
  const char *bind_to;
  const char *mention;
} bad[] = {
  /* beginnings of more than one */
  { "s", NULL, NULL, "$.map-by: “s” is the beginning of more than one word: “slot”, “seq”" },
  { "n", NULL, NULL, "“numa”, “node”" },
  { "l", NULL, NULL, "“l1cache”, “l2cache”, “l3cache”" },
  { "p", NULL, NULL, "“package”, “ppr”, “pe-list”" },
  { "slot:n", NULL, NULL, "“nooversubscribe”, “nolocal”, “noinherit”, “ndev”" },
  { "slot:no", NULL, NULL, "“nooversubscribe”, “nolocal”, “noinherit”" },
  { "slot:s", NULL, NULL, "“span”, “shared”" },
  { "slot:i", NULL, NULL, "“inherit”, “interleave”" },
  { "slot:o", NULL, NULL, "“oversubscribe”, “ordered”" },
  { "ppr:1:n", NULL, NULL, "$.map-by: ppr: “n” is the beginning of more than one word: “numa”, “node”" },
  { NULL, "s", NULL, "$.rank-by: “s” is the beginning of more than one word: “slot”, “span”" },
  { NULL, NULL, "n", "$.bind-to: “n” is the beginning of more than one word: “none”, “numa”" },
  { NULL, NULL, "l", "“l1cache”, “l2cache”, “l3cache”" },
  { "device=gpu:interleave=l", NULL, NULL, "“l3cache”, “l2cache”, “l1cache”" },
  { "slot:PE=2:CORECPUS", NULL, "hwthread", "“hwthread” contradicts map-by “corecpus”" },
  { "mine:HWTCPUS=no", NULL, "hwthread", "“hwthread” contradicts map-by “corecpus”" },
  /* unknown ones */
  { NULL, "bogus", NULL, "unknown word “bogus” (there are: slot, node, fill, span)" },
  { NULL, "socket", NULL, "unknown word “socket”" },
  { NULL, "slot:span", NULL, "without qualifiers" },
  { NULL, "", NULL, "a word is missing" },
  { NULL, NULL, "", "a word is missing" },
  { NULL, NULL, ":", "a word is missing" },
  { NULL, NULL, "cores", "did you mean “core”" },
  { NULL, NULL, "core:overlaod", "did you mean" },
  { "slot:PES=2", NULL, NULL, "unknown word “PES”" },
  { "slot:", NULL, NULL, "“slot:”" },
  { "ppr:1:board", NULL, NULL, "unknown word “board” (there are: hwthread, core, " },
  { NULL, NULL, "crate", "“crate” (there are: none, hwthread, core, l1cache, l2cache, l3cache, " },
  { NULL, NULL, "core:foo",
    "unknown word “foo” (there are: overload-allowed, no-overload, if-supported, limit, report)" },
  { "slot:donotlaunch", NULL, NULL, "--runtime-options donotlaunch" },
  { "slot:display", NULL, NULL, "--display map" },
  { "slot:displaydevel", NULL, NULL, "--display map-devel" },
  { "slot:displayalloc", NULL, NULL, "--display allocation" },
  { "slot:dir=/x", NULL, NULL, "--output dir=" },
  { "span", NULL, NULL, "“span” is a qualifier: it is written behind a colon, :span" },
  { "PE=2", NULL, NULL, "“pe” is a qualifier" },
  { "numa:PE=2,SPAN", NULL, NULL, "“span” is a qualifier: it is written behind a colon, :span" },
  { NULL, NULL, "none:overload", "“overload-allowed” and “none” contradict each other" },
  { NULL, NULL, "none:limit=2", "“limit” and “none” contradict each other" },
  { "colocate", NULL, NULL, "it is written colocate=JOB, or colocate=JOB:0-3" },
  { "colocate=", NULL, NULL, "“colocate” is without its job" },
  { "colocate=:0-3", NULL, NULL, "“colocate” is without its job" },
  { "colocate=a@1+", NULL, NULL, "“colocate” is without its job" },
  { "colocate=4:0-3x", NULL, NULL, "map-by: “0-3x” of colocate is neither a rank nor a range of them" },
  { "colocate=a@1:3+b@2:1,,2", NULL, NULL, "“” of colocate" },
  { "colocate=7:4-2", NULL, NULL, "“4-2” of colocate" },
  { "colocate=7:0:1", NULL, NULL, "“0:1” of colocate" },
  { "colocate=7:4294967296", NULL, NULL, "“4294967296” of colocate" },
  { "colocate=7:some", NULL, NULL, "unknown word “some”" },
  { "colocate=7:nperproc", NULL, NULL, "“nperproc” is without its number" },
  { "colocate=7:npernode=0", NULL, NULL, "“npernode=0”: it takes a number from 1" },
  { "colocate=7:npernode=1:nperproc=1", NULL, NULL, "“nperproc” and “npernode” contradict each other" },
  { "colocate=7:OVERSUBSCRIBE", NULL, NULL, "“oversubscribe” and “colocate” contradict each other: the job takes no" },
  { "colocate=7:NOLOCAL", NULL, NULL, "“nolocal” and “colocate” contradict" },
  { "colocate=7:SPAN", NULL, NULL, "“span” and “colocate” contradict" },
  { "colocate=7", "node", NULL, "$.rank-by: “node” contradicts map-by “colocate”" },
  { "slot:nperproc=2", NULL, NULL, "“nperproc” makes no sense with “slot”: it is for colocate" },
  /* values */
  { "slot:PE", NULL, NULL, "“pe” is without its number" },
  { "slot:PE=", NULL, NULL, "“pe” is without its number" },
  { "slot:PE=0", NULL, NULL, "“pe=0”: it takes a number from 1" },
  { "slot:PE=-1", NULL, NULL, "“pe=-1”" },
  { "slot:PE=2x", NULL, NULL, "“pe=2x”" },
  { "slot:PE=65536", NULL, NULL, "65535" },
  { "rankfile=a", NULL, NULL, "“rankfile” takes no value: a file is given as rankfile:file=a" },
  { "SEQ=/x/a", NULL, NULL, "seq:file=/x/a" },
  { "slot=2", NULL, NULL, "“slot” takes no value: “=2”" },
  { "slot:oversubscribe=perhaps", NULL, NULL, "oversubscribe is “perhaps”; it can be yes or no" },
  { "slot:span=", NULL, NULL, "it can be yes or no" },
  { "seq:file", NULL, NULL, "“file” is without its path" },
  { "seq:file=", NULL, NULL, "“file” is without its path" },
  { "rankfile", NULL, NULL, "rankfile:file=PATH" },
  { "seq:file=/a:donotlaunch", NULL, NULL, "“donotlaunch” is no qualifier" },
  { "seq:file=/a:s", NULL, NULL, "“s” is the beginning of more than one word: “span”, “shared”" },
  { "seq:/a:file=/b", NULL, NULL, "unknown word “/a”" },
  { "ppr", NULL, NULL, "“ppr” is not whole" },
  { "ppr:2", NULL, NULL, "“ppr” is not whole" },
  { "ppr:0:node", NULL, NULL, "“ppr:0”: it takes a number from 1" },
  { "ppr:x:node", NULL, NULL, "“ppr:x”" },
  { "ppr:1:core=2", NULL, NULL, "ppr: “core=2”" },
  { "ppr:1:device", NULL, NULL, "device=gpu" },
  { "ppr:1:device=", NULL, NULL, "device=gpu" },
  { "ppr:1:slot", NULL, NULL, "unknown word “slot”" },
  { "pe-list", NULL, NULL, "“pe-list” is without its cpus" },
  { "pe-list=", NULL, NULL, "“pe-list” is without its cpus" },
  { "pe-list=1,,2", NULL, NULL, "“” in pe-list" },
  { "pe-list=1,x", NULL, NULL, "“x” in pe-list" },
  { "pe-list=4-2", NULL, NULL, "“4-2” in pe-list" },
  { "pe-list=-2", NULL, NULL, "“-2” in pe-list" },
  { "pe-list=4-", NULL, NULL, "“4-” in pe-list" },
  { "device", NULL, NULL, "“device” is without its value" },
  { "device=", NULL, NULL, "“device” is without its value" },
  { "device=gpu:ndev=0", NULL, NULL, "“ndev=0”" },
  { "device=gpu:ndev", NULL, NULL, "“ndev” is without its number" },
  { "device=gpu:interleave=node", NULL, NULL, "unknown word “node” (there are: package, numa, l3cache, l2cache, l1" },
  { "device=gpu:interleave=No", NULL, NULL, "“interleave=No”: leave it out, and devices are taken in the order of" },
  { "device=gpu:shared=some", NULL, NULL, "shared is “some”" },
  { "x:pe=0", NULL, NULL, "“pe=0”" },
  { NULL, NULL, "core:limit", "“limit=”" },
  { NULL, NULL, "core:limit=0", "“limit=0”" },
  { NULL, NULL, "core:report=x", "report is “x”" },
  /* contradictions */
  { "slot:OVERSUBSCRIBE:NOOVERSUBSCRIBE", NULL, NULL, "$.map-by: “oversubscribe” and “nooversubscribe” contradict" },
  { "slot:NOOVERSUBSCRIBE:OVERSUBSCRIBE", NULL, NULL, "“oversubscribe” and “nooversubscribe” contradict" },
  { "slot:HWTCPUS:CORECPUS", NULL, NULL, "“hwtcpus” and “corecpus” contradict" },
  { "slot:INHERIT:NOINHERIT", NULL, NULL, "“inherit” and “noinherit” contradict" },
  { "x:INHERIT:NOINHERIT", NULL, NULL, "“inherit” and “noinherit” contradict" },
  { "slot:PE=2:PE=2", NULL, NULL, "“pe” is given twice" },
  { "slot:span:sp=no", NULL, NULL, "“span” is given twice" },
  { "x:pe=2:PE=3", NULL, NULL, "“pe” is given twice" },
  { "rankfile:file=x:PE=2", NULL, NULL, "“pe” and “rankfile” contradict each other: the file says" },
  { "pe-list=1:PE=2", NULL, NULL, "“pe” and “pe-list” contradict each other: the list says" },
  { "seq:SPAN", NULL, NULL, "“span” and “seq” contradict" },
  { "rankfile:file=x:SPAN", NULL, NULL, "“span” and “rankfile” contradict" },
  { "ppr:1:core:SPAN", NULL, NULL, "“span” and “ppr” contradict" },
  { "pe-list=1:SPAN", NULL, NULL, "“span” and “pe-list” contradict" },
  { "hwthread:CORECPUS", NULL, NULL, "“corecpus” and “hwthread” contradict" },
  { "slot:FILE=x", NULL, NULL, "“file” makes no sense with “slot”: it is for seq, rankfile" },
  { ":FILE=x", NULL, NULL, "“file” makes no sense with “core”" },
  { "slot:ORDERED", NULL, NULL, "“ordered” makes no sense with “slot”: it is for pe-list" },
  { "core:INTERLEAVE", NULL, NULL, "“interleave” makes no sense with “core”: it is for device" },
  { "core:SHARED", NULL, NULL, "“shared” makes no sense with “core”" },
  { "ppr:1:device=gpu:NDEV=2", NULL, NULL, "“ndev” makes no sense with “ppr”" },
  { "slot", "fill", NULL, "$.rank-by: “fill” contradicts map-by “slot”: it needs mapping by an object" },
  { "node", "span", NULL, "“span” contradicts map-by “node”" },
  { "pe-list=1", "fill", NULL, "“fill” contradicts map-by “pe-list”" },
  { "ppr:2:node", "span", NULL, "“span” contradicts map-by “ppr”" },
  { ":PE=2", "fill", NULL, "“fill” contradicts map-by “slot”" },
  { NULL, "span", "none", "“span” contradicts map-by “slot”" },
  { "seq", "slot", NULL, "“slot” contradicts map-by “seq”: the file gives the ranks" },
  { "rankfile:file=x", "node", NULL, "“node” contradicts map-by “rankfile”" },
  { "core", NULL, "package", "$.bind-to: “package” is above what map-by gives a process, “core”" },
  { "l3cache", NULL, "numa", "“numa” is above what map-by gives a process, “l3cache”" },
  { "hwthread", NULL, "core", "“core” is above" },
  { "ppr:1:numa", NULL, "package", "“package” is above what map-by gives a process, “numa”" },
  { "numa:PE=2", NULL, "numa", "“numa” contradicts map-by “pe”, which gives cpus to a process" },
  { ":PE=2", NULL, "none", "“none” contradicts map-by “pe”" },
  { "pe-list=1:ORDERED", NULL, "numa", "“numa” contradicts map-by “ordered”" },
  { "pe-list=1-2", NULL, "l1cache", "“l1cache” contradicts map-by “pe-list”, which names the cpus" },
  { ":PE=1", "fill", NULL, "“fill” contradicts map-by “slot”" },
  { "numa:PE=1", NULL, "numa", "“numa” contradicts map-by “pe”" },
  { "slot:PE=1", NULL, "none", "“none” contradicts map-by “pe”" },
  { NULL, NULL, "core:OVERLOAD:NO-OVERLOAD", "“overload-allowed” and “no-overload” contradict" },
  { NULL, NULL, "core:report:report", "“report” is given twice" },
};

static void
test_bad (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmPlacement)
          placement = _dvm_placement_parse (bad[i].map_by, bad[i].rank_by, bad[i].bind_to, "$.", &error);

      if (placement != NULL || strstr (error->message, bad[i].mention) == NULL)
        g_error ("%s %s %s: %s", bad[i].map_by, bad[i].rank_by, bad[i].bind_to,
                 error != NULL ? error->message : "accepted");
      g_assert_true (g_str_has_prefix (error->message, "$.map-by: ") || g_str_has_prefix (error->message, "$.rank-by: ")
                     || g_str_has_prefix (error->message, "$.bind-to: "));
      g_assert_cmpint (error->code, ==, DVM_ERROR_BAD_PARAM);
    }
}

static DvmJobSpec *
describe (const char *map_by, const char *when_full)
{
  static const char *const argv[] = { "a", NULL };
  DvmJobSpec *spec = dvm_job_spec_new_for_argv (argv);

  dvm_job_spec_set_map_by (spec, map_by);
  dvm_job_spec_set_when_full (spec, when_full);
  return spec;
}

/* A qualifier of map-by and when-full say the same, or contradict each other. */
static void
test_when_full (void)
{
  static const struct
  {
    const char *map_by;
    const char *when_full;
    DvmWhenFull policy;
    const char *mention;
  } cases[] = {
    { NULL, NULL, DVM_WHEN_FULL_WAIT, NULL },
    { "slot", "refuse", DVM_WHEN_FULL_REFUSE, NULL },
    { "slot:PE=2", NULL, DVM_WHEN_FULL_WAIT, NULL },
    { ":oversubscribe", NULL, DVM_WHEN_FULL_OVERSUBSCRIBE, NULL },
    { "x:OVERSUBSCRIBE", NULL, DVM_WHEN_FULL_OVERSUBSCRIBE, NULL },
    { "node:NOOVERSUBSCRIBE", NULL, DVM_WHEN_FULL_REFUSE, NULL },
    { "node:NOOVERSUBSCRIBE", "wait", DVM_WHEN_FULL_WAIT, NULL },
    { "node:oversubscribe=yes", "over", DVM_WHEN_FULL_OVERSUBSCRIBE, NULL },
    { "node:OVERSUBSCRIBE", "wait", DVM_WHEN_FULL_OVERSUBSCRIBE,
      "when-full: “wait” contradicts map-by “oversubscribe”" },
    { "node:OVERSUBSCRIBE", "refuse", DVM_WHEN_FULL_OVERSUBSCRIBE,
      "when-full: “refuse” contradicts map-by “oversubscribe”" },
    { "node:NOOVERSUBSCRIBE", "oversubscribe", DVM_WHEN_FULL_REFUSE,
      "when-full: “oversubscribe” contradicts map-by “nooversubscribe”" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (DvmJobSpec) spec = describe (cases[i].map_by, cases[i].when_full);
      g_autoptr (GError) error = NULL;
      gboolean ok = dvm_job_spec_validate (spec, &error);

      g_assert_true (ok == (cases[i].mention == NULL));
      if (!ok)
        g_assert_nonnull (strstr (error->message, cases[i].mention));
      /* A child gets the when-full of its parent after it was checked. */
      g_assert_cmpint (_dvm_job_spec_get_when_full_policy (spec), ==, cases[i].policy);
    }
}

/* ---- several applications ---- */

static DvmJobSpec *
read_spec (const char *apps, const char *options, GError **error)
{
  g_autoptr (GVariant) list = g_variant_parse (G_VARIANT_TYPE ("aa{sv}"), apps, NULL, NULL, NULL);
  g_autoptr (GVariant) dict = g_variant_parse (G_VARIANT_TYPE_VARDICT, options, NULL, NULL, NULL);

  g_assert_nonnull (list);
  g_assert_nonnull (dict);
  return dvm_job_spec_new_from_variant (list, dict, error);
}

static char *
show_words (DvmJobSpec *spec)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      const DvmPlacementWords words = _dvm_job_spec_get_placement (spec, i);

      g_string_append_printf (text, "%s%s,%s,%s", i > 0 ? " " : "", words.map_by != NULL ? words.map_by : "-",
                              words.rank_by != NULL ? words.rank_by : "-", words.bind_to != NULL ? words.bind_to : "-");
    }
  return g_string_free (text, FALSE);
}

/* An application takes from the job what it does not say; the job stays as it was, also in JSON. */
static void
test_apps (void)
{
  static const struct
  {
    const char *apps;
    const char *options;
    const char *words;
    DvmWhenFull policy;
  } cases[] = {
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'numa:PE=2'>}]",
      "{'map-by': <'core'>, 'rank-by': <'fill'>, 'bind-to': <'core'>}", "core,fill,core numa:PE=2,fill,core",
      DVM_WHEN_FULL_WAIT },
    { "[{'argv': <['a']>, 'bind-to': <'none'>}, {'argv': <['b']>, 'rank-by': <'node'>}]", "{}", "-,-,none -,node,-",
      DVM_WHEN_FULL_WAIT },
    /* The slots are counted for the job as a whole. */
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'slot:OVERSUBSCRIBE'>}]", "{'map-by': <'node'>}",
      "node,-,- slot:OVERSUBSCRIBE,-,-", DVM_WHEN_FULL_OVERSUBSCRIBE },
    { "[{'argv': <['a']>, 'map-by': <'node'>}]", "{'map-by': <'slot:NOOVERSUBSCRIBE'>}", "node,-,-",
      DVM_WHEN_FULL_REFUSE },
    { "[{'argv': <['a']>, 'map-by': <'seq:file=/1'>}, {'argv': <['b']>, 'map-by': <'seq:file=/2'>}]", "{}",
      "seq:file=/1,-,- seq:file=/2,-,-", DVM_WHEN_FULL_WAIT },
    { "[{'argv': <['a']>}, {'argv': <['b']>}]", "{'map-by': <'rankfile:file=/1'>}",
      "rankfile:file=/1,-,- rankfile:file=/1,-,-", DVM_WHEN_FULL_WAIT },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmJobSpec) spec = read_spec (cases[i].apps, cases[i].options, &error);
      g_autoptr (DvmJobSpec) again = NULL;
      g_autofree char *json = NULL;
      g_autofree char *words = NULL;
      g_autofree char *words_again = NULL;

      g_assert_no_error (error);
      json = dvm_job_spec_to_json (spec);
      again = dvm_job_spec_new_from_json (json, -1, &error);
      g_assert_no_error (error);
      words = show_words (spec);
      words_again = show_words (again);
      g_assert_cmpstr (words, ==, cases[i].words);
      g_assert_cmpstr (words_again, ==, cases[i].words);
      g_assert_cmpstr (dvm_job_spec_get_map_by (again), ==, dvm_job_spec_get_map_by (spec));
      g_assert_cmpstr (dvm_app_spec_get_map_by (dvm_job_spec_get_app (again, 0)), ==,
                       dvm_app_spec_get_map_by (dvm_job_spec_get_app (spec, 0)));
      g_assert_cmpint (_dvm_job_spec_get_when_full_policy (spec), ==, cases[i].policy);
    }
}

/* Words that cannot stand together are refused, both by name. */
static void
test_bad_apps (void)
{
  static const struct
  {
    const char *apps;
    const char *options;
    const char *mention;
    const char *also;
  } cases[] = {
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'rank-by': <'x'>}]", "{}", "apps[1].rank-by", "“x”" },
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'core'>}]", "{'bind-to': <'numa'>}",
      "apps[1].bind-to: “numa” is above what map-by gives a process, “core”", "takes from the job" },
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'slot:NOOVERSUBSCRIBE'>}]", "{'map-by': <':OVERSUBSCRIBE'>}",
      "apps[1].map-by: “nooversubscribe” contradicts “oversubscribe” of map-by", "whole job" },
    { "[{'argv': <['a']>, 'map-by': <':INHERIT'>}, {'argv': <['b']>, 'map-by': <':NOINHERIT'>}]", "{}",
      "apps[1].map-by: “noinherit” contradicts “inherit” of apps[0].map-by", "whole job" },
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'slot:OVERSUBSCRIBE'>}]", "{'when-full': <'refuse'>}",
      "when-full: “refuse” contradicts map-by “oversubscribe”", "" },
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'rankfile:file=/1'>}]", "{}", "apps[1].map-by: “rankfile”",
      "apps[0] cannot" },
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'slot'>}]", "{'map-by': <'colocate=7'>}",
      "apps[1].map-by: “slot” contradicts “colocate” of map-by", "whole job" },
    { "[{'argv': <['a']>, 'map-by': <'slot'>}]", "{'map-by': <'colocate=7'>}", "apps[0].map-by: “slot” contradicts",
      "" },
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'colocate=7'>}]", "{}",
      "apps[1].map-by: “colocate” is said once", "for the whole job" },
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'colocate=7'>}]", "{'map-by': <'colocate=8'>}",
      "“colocate” is said once", "colocate=JOB:RANKS+JOB" },
    { "[{'argv': <['a']>, 'hosts': <['n1']>}]", "{'map-by': <'colocate=7'>}", "“hosts” and “colocate” contradict", "" },
    { "[{'argv': <['a']>, 'hostfile': <'/1'>}]", "{'map-by': <'colocate=7'>}", "“hostfile” and “colocate”", "" },
    { "[{'argv': <['a']>}]", "{'map-by': <'colocate=7'>, 'add-hosts': <['n1']>}", "“add-hosts” and “colocate”", "" },
    { "[{'argv': <['a']>}]", "{'map-by': <'colocate=7'>, 'add-hostfile': <'/1'>}", "“add-hostfile” and “coloc", "" },
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'slot'>}]", "{'map-by': <'rankfile:file=/1'>}",
      "apps[0].map-by: “rankfile”", "apps[1] cannot" },
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'bind-to': <'none'>}]", "{'map-by': <'rankfile:file=/1'>}", "“rankfile”",
      "cannot be placed by other words" },
    { "[{'argv': <['a']>}, {'argv': <['b']>, 'map-by': <'slot'>}, {'argv': <['c']>}]", "{'map-by': <'seq:file=/1'>}",
      "apps[2].map-by: “seq:file=/1” is that of apps[0].map-by", "first line" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmJobSpec) spec = read_spec (cases[i].apps, cases[i].options, &error);

      g_assert_null (spec);
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
      if (strstr (error->message, cases[i].mention) == NULL || strstr (error->message, cases[i].also) == NULL)
        g_error ("\"%s\" does not speak of \"%s\" and \"%s\"", error->message, cases[i].mention, cases[i].also);
    }
}

/* ---- the file of map-by ---- */

/* mention (nullable): NULL: it is read, and has the text */
static void
check_file (const char *map_by, const char *text, const char *mention)
{
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new ();
  g_autoptr (GError) error = NULL;
  const char *path = NULL;

  dvm_job_spec_set_map_by (spec, map_by);
  if (mention == NULL)
    {
      g_assert_true (_dvm_job_spec_load_hosts (spec, "", &error));
      g_assert_no_error (error);
      g_assert_cmpstr (_dvm_placement_get_map_file (spec, &path), ==, text);
      g_assert_true ((path != NULL) == (text != NULL));
      return;
    }
  g_assert_false (_dvm_job_spec_load_hosts (spec, "", &error));
  g_assert_nonnull (error);
  if (strstr (error->message, mention) == NULL)
    g_error ("\"%s\" does not speak of \"%s\"", error->message, mention);
}

static void
test_file (void)
{
  g_autofree char *directory = g_dir_make_tmp ("dvm-placement-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "ranks", NULL);
  g_autofree char *rankfile = g_strconcat ("rankf:File=", path, NULL);
  g_autofree char *seq = g_strconcat ("seq:FILE=", path, ":OVERSUBSCRIBE", NULL);
  g_autofree char *is_directory = g_strconcat ("seq:file=", directory, NULL);
  g_autofree char *foreign = g_strconcat ("plane:2:file=", path, NULL);

  g_assert_true (g_file_set_contents (path, "rank 0=n1 slot=0\n", -1, NULL));
  check_file (rankfile, "rank 0=n1 slot=0\n", NULL);
  check_file (seq, "rank 0=n1 slot=0\n", NULL);
  check_file ("slot", NULL, NULL);
  /* A file of a mapper of others is not ours to read. */
  check_file (foreign, NULL, NULL);
  check_file ("seq:file=ranks", NULL, "map-by: “ranks” is not an absolute path");
  check_file ("seq:file=/nowhere/ranks", NULL, "map-by: cannot read the file /nowhere/ranks");
  check_file (is_directory, NULL, "it is not a file");
  g_assert_true (g_file_set_contents (path, "rank\xff", -1, NULL));
  check_file (seq, NULL, "it is no text");
  g_unlink (path);
  g_rmdir (directory);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/placement/good", test_good);
  g_test_add_func ("/placement/bad", test_bad);
  g_test_add_func ("/placement/when-full", test_when_full);
  g_test_add_func ("/placement/apps", test_apps);
  g_test_add_func ("/placement/bad-apps", test_bad_apps);
  g_test_add_func ("/placement/file", test_file);
  return g_test_run ();
}
