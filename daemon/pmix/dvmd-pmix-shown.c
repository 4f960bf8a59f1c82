/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The attributes of a spawn that show its job are translated into words of --display.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-shown.h"

#include <string.h>

#include "dvm.h"
#include "dvmd-pmix-read.h"

static void
add_word (DvmdPmixShown *self, const char *word)
{
  if (self->words == NULL)
    self->words = g_string_new (NULL);
  g_string_append_printf (self->words, "%s%s", self->words->len > 0 ? "," : "", word);
}

/* Names of nodes with commas between, as the standard says, or with ";", as prun has them. */
static gboolean
take_names (DvmdPmixShown *self, const pmix_info_t *info, const char *word, GError **error)
{
  const char *text = dvmd_pmix_read_text (info, error);
  g_auto (GStrv) names = text != NULL ? g_strsplit_set (text, ",;", -1) : NULL;
  g_autofree char *list = NULL;
  g_autofree char *whole = NULL;

  if (text == NULL)
    return FALSE;
  for (gsize i = 0; text[0] != '\0' && names[i] != NULL; i++)
    if (names[i][0] == '\0' || strpbrk (names[i], ":=") != NULL)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: “%s” is not a list of nodes", info->key, text);
        return FALSE;
      }
  list = g_strjoinv (";", names);
  whole = g_strconcat (word, list[0] != '\0' ? "=" : "", list, NULL);
  add_word (self, whole);
  return TRUE;
}

gboolean
dvmd_pmix_shown_take (DvmdPmixShown *self, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  if (key->take == DVMD_PMIX_TAKE_SHOW_OF && info->value.type == PMIX_STRING && info->value.data.string != NULL)
    return take_names (self, info, key->extra, error);
  if (!dvmd_pmix_check_flag (info, error))
    return FALSE;
  if (PMIX_INFO_TRUE (info) && key->take == DVMD_PMIX_TAKE_SHOW_HOW)
    {
      if (self->how == NULL)
        self->how = g_string_new (NULL);
      g_string_append (self->how, key->extra);
    }
  else if (PMIX_INFO_TRUE (info))
    add_word (self, key->extra);
  return TRUE;
}

char *
dvmd_pmix_shown_end (const DvmdPmixShown *self)
{
  const char *how = self->how != NULL ? self->how->str : "";

  if (self->words == NULL)
    return NULL;
  /* The slots of nodes have no numbers of cpus. */
  if (strcmp (self->words->str, "allocation") == 0)
    how = strstr (how, ":parseable") != NULL ? ":parseable" : "";
  return g_strconcat (self->words->str, how, NULL);
}

void
dvmd_pmix_shown_clear (DvmdPmixShown *self)
{
  if (self->words != NULL)
    g_string_free (g_steal_pointer (&self->words), TRUE);
  if (self->how != NULL)
    g_string_free (g_steal_pointer (&self->how), TRUE);
}
