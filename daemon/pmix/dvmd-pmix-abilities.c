/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The abilities of libpmix that are compiled in, in words for people.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-abilities.h"

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-open.h"

#include <string.h>

/* A gate that is not defined is its own name when it has been expanded. */
#define EXPANDED(gate) #gate
#define ABILITY(word, gate)                                                                                            \
  {                                                                                                                    \
    word, #gate, EXPANDED (gate)                                                                                       \
  }

static const struct
{
  const char *word;
  const char *gate;
  const char *expanded;
} abilities[] = {
  ABILITY ("attribute-questions", HAVE_PMIX_QUERY_CADDY),
  ABILITY ("client-details", HAVE_PMIX_SERVER_MODULE_CLIENT_CONNECTED2),
  ABILITY ("group-list", HAVE_PMIX_SERVER_GLOBALS_GROUPS),
  ABILITY ("groups", HAVE_PMIX_INSIDE),
  ABILITY ("inheritance-type", DVMD_PMIX_HAS_INHERITANCE_TYPE),
  ABILITY ("key-numbers", HAVE_PMIX_KEYS),
  ABILITY ("marked-pulls", HAVE_PMIX_PULLS),
  ABILITY ("node-list", DVMD_PMIX_HAS_NODE_LIST),
  ABILITY ("numa-rank", DVMD_PMIX_HAS_NUMA_RANK),
  ABILITY ("qualified-values", HAVE_PMIX_VALUES),
  ABILITY ("required-key", DVMD_PMIX_HAS_REQUIRED_KEY),
  ABILITY ("session-control", HAVE_PMIX_SESSION_CONTROL),
};

static GVariant *
describe_abilities (void)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (gsize i = 0; i < G_N_ELEMENTS (abilities); i++)
    g_variant_builder_add (&builder, "{sv}", abilities[i].word,
                           g_variant_new_boolean (strcmp (abilities[i].gate, abilities[i].expanded) != 0));
  return g_variant_builder_end (&builder);
}

GVariant *
dvmd_pmix_describe_library (void)
{
  g_autoptr (GError) error = NULL;
  const char *version = dvmd_pmix_get_library_version (&error);
  g_autofree char *built = g_strdup_printf ("%u.%u.%u", (guint)PMIX_VERSION_MAJOR, (guint)PMIX_VERSION_MINOR,
                                            (guint)PMIX_VERSION_RELEASE);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "built-with", g_variant_new_string (built));
  g_variant_builder_add (&builder, "{sv}", version != NULL ? "runs-with" : "problem",
                         g_variant_new_string (version != NULL ? version : error->message));
  g_variant_builder_add (&builder, "{sv}", "abilities", describe_abilities ());
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}
