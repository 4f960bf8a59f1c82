/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * map-by: "slot", "node", "ppr:2:node".
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvm-words-private.h"

/* More on one node are a mistake of whoever asks. */
#define MOST_PER_NODE 65536

static const DvmWord map_by_words[] = {
  { "slot", DVM_MAP_BY_SLOT, TRUE },
  { "node", DVM_MAP_BY_NODE, TRUE },
  { "hwthread", -1, FALSE },
  { "core", -1, FALSE },
  { "l1cache", -1, FALSE },
  { "l2cache", -1, FALSE },
  { "l3cache", -1, FALSE },
  { "numa", -1, FALSE },
  { "package", -1, FALSE },
  { "ppr", DVM_MAP_BY_PPR, TRUE },
  { "seq", -1, FALSE },
  { "rankfile", -1, FALSE },
  { "pe-list", -1, FALSE },
  { "device", -1, FALSE },
};

static const DvmWord map_by_qualifiers[] = {
  { "pe", -1, FALSE },
  { "span", -1, FALSE },
  { "oversubscribe", -1, FALSE },
  { "nooversubscribe", -1, FALSE },
  { "nolocal", -1, FALSE },
  { "hwtcpus", -1, FALSE },
  { "corecpus", -1, FALSE },
  { "inherit", -1, FALSE },
  { "noinherit", -1, FALSE },
  { "file", -1, FALSE },
  { "ordered", -1, FALSE },
  { "interleave", -1, FALSE },
  { "shared", -1, FALSE },
  { "ndev", -1, FALSE },
};

/* What there can be a number of processes of. Open MPI says "n" of its programs' "npernode". */
static const DvmWord ppr_words[] = {
  { "node", 0, TRUE },      { "hwthread", -1, FALSE }, { "core", -1, FALSE }, { "l1cache", -1, FALSE },
  { "l2cache", -1, FALSE }, { "l3cache", -1, FALSE },  { "numa", -1, FALSE }, { "package", -1, FALSE },
  { "device", -1, FALSE },  { "n", 0, TRUE },
};

static gboolean
refuse (const char *text, const char *place, const char *why, GError **error)
{
  g_autofree char *shown = _dvm_words_show (text);

  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%smap-by: “%s” %s", place, shown, why);
  return FALSE;
}

/* Behind "ppr": the number and the object. *rest: what follows. */
static gboolean
parse_ppr (const char *text, const char *place, DvmMapPolicy *policy, const char **rest, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ":", 4);
  guint64 number = 0;
  gsize length;

  if (g_strv_length (parts) < 3)
    return refuse (text, place, _ ("is not whole: behind ppr stand a number and an object, such as ppr:2:node"), error);
  if (!g_ascii_string_to_unsigned (parts[1], 10, 1, MOST_PER_NODE, &number, NULL))
    return refuse (parts[1], place, _ ("is no number of processes on each node, from 1 to 65536"), error);
  length = strcspn (parts[2], "=");
  if (_dvm_words_find (ppr_words, G_N_ELEMENTS (ppr_words), parts[2], length, place, "map-by: ppr", error) == NULL)
    return FALSE;
  policy->per_node = number;
  *rest = text + strlen (parts[0]) + strlen (parts[1]) + length + 2;
  return TRUE;
}

static gboolean
parse_word (const char *text, const char *place, DvmMapPolicy *policy, const char **rest, GError **error)
{
  gsize length = strcspn (text, "=:");
  const DvmWord *word;

  *rest = text + length;
  if (text[0] == ':')
    return TRUE;
  word = _dvm_words_find (map_by_words, G_N_ELEMENTS (map_by_words), text, length, place, "map-by", error);
  if (word == NULL)
    return FALSE;
  policy->by = word->value;
  return policy->by != DVM_MAP_BY_PPR || parse_ppr (text, place, policy, rest, error);
}

gboolean
_dvm_map_policy_parse (const char *text, const char *place, DvmMapPolicy *policy, GError **error)
{
  const char *rest;

  *policy = (DvmMapPolicy){ .by = DVM_MAP_BY_SLOT };
  if (text == NULL)
    return TRUE;
  if (!parse_word (text, place, policy, &rest, error))
    return FALSE;
  if (rest[0] == '\0')
    return TRUE;
  /* No qualifier is supported: the search names the first one or the nearest. */
  if (rest[0] == ':')
    {
      _dvm_words_find (map_by_qualifiers, G_N_ELEMENTS (map_by_qualifiers), rest + 1, strcspn (rest + 1, "=:,"), place,
                       "map-by", error);
      return FALSE;
    }
  return refuse (rest, place, _ ("makes no sense there"), error);
}

char *
_dvm_map_policy_to_text (const DvmMapPolicy *policy)
{
  switch (policy->by)
    {
    case DVM_MAP_BY_SLOT:
      return g_strdup ("slot");
    case DVM_MAP_BY_NODE:
      return g_strdup ("node");
    case DVM_MAP_BY_PPR:
      return g_strdup_printf ("ppr:%u:node", policy->per_node);
    default:
      g_return_val_if_reached (NULL);
    }
}
