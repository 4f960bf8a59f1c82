/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The words that options take, for completion: from the tables by which they are read, and from plugins.
 */

#include "config.h"

#include <string.h>

#include "dvm-words-private.h"
#include "dvmd-controller.h"

/* (transfer full): "pe=N" is "pe=", "ppr:N:OBJECT" is "ppr:", "shared[=BOOL]" is "shared" */
static char *
cut_declared (const char *declared)
{
  gsize n = strspn (declared, "abcdefghijklmnopqrstuvwxyz0123456789-");

  return g_strndup (declared, declared[n] == '=' || declared[n] == ':' ? n + 1 : n);
}

/* Several mappers may have one word. */
static void
add_once (GVariantBuilder *rows, GHashTable *done, const char *kind, const char *behind, const char *declared)
{
  g_autofree char *written = cut_declared (declared);
  char *key = g_strjoin (" ", kind, behind, written, NULL);

  if (g_hash_table_add (done, key))
    g_variant_builder_add (rows, "(ssss)", "map-by", kind, behind, written);
}

static void
add_mapper (GVariantBuilder *rows, GHashTable *done, const DvmdPluginInfo *info)
{
  for (gsize i = 0; info->words != NULL && info->words[i] != NULL; i++)
    {
      g_autofree char *word = g_strndup (info->words[i], strcspn (info->words[i], "=:["));

      add_once (rows, done, "word", "", info->words[i]);
      for (gsize k = 0; info->qualifiers != NULL && info->qualifiers[k] != NULL; k++)
        add_once (rows, done, "qualifier", word, info->qualifiers[k]);
    }
}

GVariant *
dvmd_controller_list_words (DvmdPlugins *plugins)
{
  g_autoptr (GHashTable) done = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GPtrArray *entries = dvmd_plugins_list (plugins);
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(ssss)"));
  for (guint i = 0; i < entries->len; i++)
    {
      const DvmdPluginEntry *entry = entries->pdata[i];

      if (entry->plugin == NULL)
        continue;
      if (entry->info->kind == DVMD_PLUGIN_MAPPER)
        add_mapper (&rows, done, entry->info);
      else if (entry->info->kind == DVMD_PLUGIN_LAUNCHER)
        g_variant_builder_add (&rows, "(ssss)", "launcher", "word", "", entry->info->name);
    }
  _dvm_placement_add_words (&rows);
  _dvm_output_add_words (&rows);
  _dvm_runtime_options_add_words (&rows);
  return g_variant_builder_end (&rows);
}
