/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A mapper is told of map-by by the words and qualifiers that it declares: "ppr:N:OBJECT", "pe=N", "shared[=BOOL]".
 */

#include "config.h"

#include "dvmd-map-words.h"

#include <string.h>

#include "dvm-words-private.h"

/* Of the peers: where a mapper does not have them, they are no slip of the finger. */
static const char *const later_words[] = { "device", NULL };
static const char *const later_qualifiers[] = { "pe", "span", "file", "ordered", "interleave", "shared", "ndev", NULL };

/* ---- the words that there are ---- */

typedef struct
{
  GArray *words;    /* DvmWord */
  GPtrArray *names; /* of those that were cut out */
} Vocabulary;

static void
vocabulary_init (Vocabulary *self)
{
  self->words = g_array_new (FALSE, FALSE, sizeof (DvmWord));
  self->names = g_ptr_array_new_with_free_func (g_free);
}

static void
vocabulary_clear (Vocabulary *self)
{
  g_array_unref (self->words);
  g_ptr_array_unref (self->names);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Vocabulary, vocabulary_clear)

static gsize
name_length (const char *declared)
{
  return strcspn (declared, "=[:");
}

/* A word that several mappers have stands there once. */
static void
add (Vocabulary *self, const char *const *declared, gboolean supported)
{
  for (gsize i = 0; declared != NULL && declared[i] != NULL; i++)
    {
      DvmWord word = { .value = (int)i, .supported = supported };
      gpointer name = g_strndup (declared[i], name_length (declared[i]));

      word.name = name;
      if (!g_ptr_array_find_with_equal_func (self->names, name, g_str_equal, NULL))
        g_array_append_val (self->words, word);
      g_ptr_array_add (self->names, name);
    }
}

static const DvmWord *
find (Vocabulary *self, const char *text, gsize length, GError **error)
{
  return _dvm_words_find ((const DvmWord *)self->words->data, self->words->len, text, length, "", "map-by", error);
}

/* Those of the mappers, each once, as they are written. */
static void
list_words (GPtrArray *mappers, GError **error)
{
  g_autoptr (GString) list = g_string_new ((*error)->message);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < mappers->len; i++)
    {
      const char *const *words = dvmd_plugin_get_info (mappers->pdata[i])->words;

      for (gsize k = 0; words[k] != NULL; k++)
        if (g_hash_table_add (seen, (gpointer)words[k]))
          g_string_append_printf (list, "%s“%s”",
                                  g_hash_table_size (seen) == 1 ? "; the mappers of this DVM have " : ", ", words[k]);
    }
  if (g_hash_table_size (seen) == 0)
    g_string_append (list, "; this DVM has no mappers");
  g_free ((*error)->message);
  (*error)->message = g_string_free (g_steal_pointer (&list), FALSE);
}

char *
dvmd_map_words_find (GPtrArray *mappers, const char *text, GError **error)
{
  g_auto (Vocabulary) vocabulary = { 0 };
  const DvmWord *word;
  GError *local = NULL;

  vocabulary_init (&vocabulary);
  for (guint i = 0; i < mappers->len; i++)
    add (&vocabulary, dvmd_plugin_get_info (mappers->pdata[i])->words, TRUE);
  add (&vocabulary, later_words, FALSE);
  word = find (&vocabulary, text, strlen (text), &local);
  if (word != NULL)
    return g_strdup (word->name);
  if (g_error_matches (local, DVM_ERROR, DVM_ERROR_BAD_PARAM))
    list_words (mappers, &local);
  g_propagate_error (error, local);
  return NULL;
}

const char *
dvmd_map_words_declared (DvmdMapper *mapper, const char *word)
{
  const char *const *words = dvmd_plugin_get_info (mapper)->words;

  for (gsize i = 0; words[i] != NULL; i++)
    if (strlen (word) == name_length (words[i]) && g_str_has_prefix (words[i], word))
      return words[i];
  return NULL;
}

/* ---- what stands behind them ---- */

/* part: NAME or NAME=VALUE. value (nullable): where it stands */
static gboolean
check_value (const char *declared, const char *part, const char **value, GError **error)
{
  gsize length = name_length (declared);
  const char *equals = strchr (part, '=');

  *value = equals != NULL ? equals + 1 : NULL;
  if (equals != NULL && declared[length] != '=' && declared[length] != '[')
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "map-by: “%.*s” takes no value: “%s”", (int)length, declared,
                 equals);
  else if ((equals == NULL && declared[length] == '=') || (equals != NULL && equals[1] == '\0'))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "map-by: “%.*s” is without its value: it is written “%s”",
                 (int)length, declared, declared);
  else
    return TRUE;
  return FALSE;
}

/* Arguments of the grammar were set apart by the parser; a mapper's own are the first parts of the rest. used: their
 * number */
static gboolean
take_arguments (DvmdMapWords *self, const char *declared, const DvmPlacement *placement, gsize *used, GError **error)
{
  g_autoptr (GStrvBuilder) arguments = g_strv_builder_new ();
  gsize n_given = g_strv_length (placement->arguments);
  gsize n_rest = g_strv_length (placement->rest);
  gsize n = 0;

  for (const char *c = declared; *c != '\0'; c++)
    n += *c == ':';
  *used = n > n_given ? n - n_given : 0;
  if (*used > n_rest || n < n_given)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "map-by: “%s” is not whole: it is written “%s”", self->word,
                   declared);
      return FALSE;
    }
  for (gsize i = 0; i < n; i++)
    g_strv_builder_add (arguments, i < n_given ? placement->arguments[i] : placement->rest[i - n_given]);
  self->arguments = g_strv_builder_end (arguments);
  return TRUE;
}

/* (transfer full) (nullable): NAME=VALUE with the whole name */
static char *
read_qualifier (Vocabulary *vocabulary, const char *const *declared, const char *part, GError **error)
{
  const DvmWord *word = find (vocabulary, part, strcspn (part, "="), error);
  const char *value;

  if (word == NULL || !check_value (declared[word->value], part, &value, error))
    return NULL;
  return g_strconcat (word->name, value != NULL ? "=" : NULL, value, NULL);
}

static gboolean
is_given (GPtrArray *qualifiers, const char *qualifier)
{
  gsize length = strcspn (qualifier, "=");

  for (guint i = 0; i < qualifiers->len; i++)
    if (strcspn (qualifiers->pdata[i], "=") == length && strncmp (qualifiers->pdata[i], qualifier, length) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
take_qualifier (GPtrArray *qualifiers, Vocabulary *vocabulary, const char *const *declared, const char *part,
                GError **error)
{
  g_autofree char *qualifier = read_qualifier (vocabulary, declared, part, error);

  if (qualifier == NULL)
    return FALSE;
  if (is_given (qualifiers, qualifier))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "map-by: “%.*s” is given twice",
                   (int)strcspn (qualifier, "="), qualifier);
      return FALSE;
    }
  g_ptr_array_add (qualifiers, g_steal_pointer (&qualifier));
  return TRUE;
}

/* Qualifiers that concern no mapper are left out; pe=N, the number of cpus of a process, is kept. */
static gboolean
take_qualifiers (DvmdMapWords *self, const char *const *declared, const DvmPlacement *placement, gsize used,
                 GError **error)
{
  g_auto (Vocabulary) vocabulary = { 0 };
  g_autoptr (GPtrArray) qualifiers = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *pe = placement->pe > 0 ? g_strdup_printf ("pe=%u", placement->pe) : NULL;

  vocabulary_init (&vocabulary);
  add (&vocabulary, declared, TRUE);
  add (&vocabulary, later_qualifiers, FALSE);
  for (gsize i = used; placement->rest[i] != NULL; i++)
    if (!take_qualifier (qualifiers, &vocabulary, declared, placement->rest[i], error))
      return FALSE;
  if (pe != NULL && !take_qualifier (qualifiers, &vocabulary, declared, pe, error))
    return FALSE;
  g_ptr_array_add (qualifiers, NULL);
  self->qualifiers = (GStrv)g_ptr_array_free (g_steal_pointer (&qualifiers), FALSE);
  return TRUE;
}

gboolean
dvmd_map_words_fill (DvmdMapWords *self, DvmdMapper *mapper, const char *word, const DvmPlacement *placement,
                     GError **error)
{
  const char *declared = dvmd_map_words_declared (mapper, word);
  const char *text = placement->value != NULL ? placement->value : "";
  g_autofree char *whole = g_strconcat (word, placement->value != NULL ? "=" : NULL, text, NULL);
  const char *value;
  gsize used;

  *self = (DvmdMapWords){ .word = g_strdup (word) };
  if (check_value (declared, whole, &value, error) && take_arguments (self, declared, placement, &used, error)
      && take_qualifiers (self, dvmd_plugin_get_info (mapper)->qualifiers, placement, used, error))
    {
      self->value = g_strdup (value);
      return TRUE;
    }
  dvmd_map_words_clear (self);
  return FALSE;
}

void
dvmd_map_words_clear (DvmdMapWords *self)
{
  g_clear_pointer (&self->word, g_free);
  g_clear_pointer (&self->value, g_free);
  g_clear_pointer (&self->arguments, g_strfreev);
  g_clear_pointer (&self->qualifiers, g_strfreev);
}
