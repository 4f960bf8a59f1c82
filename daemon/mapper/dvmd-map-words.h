/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-mapper.h"

G_BEGIN_DECLS

/* A map-by is split into these words, with the help of the words that the mappers declare. Pure. */
typedef struct
{
  char *word;       /* in full */
  char *value;      /* (nullable) */
  GStrv arguments;  /* as they were written */
  GStrv qualifiers; /* in full, with their values */
} DvmdMapWords;

/*
 * (transfer full): the word of the text in full. NULL: DVM_ERROR_BAD_PARAM with the words that there are, or
 * DVM_ERROR_NOT_SUPPORTED. text: it has the form of map-by.
 */
char *dvmd_map_words_find (GPtrArray *mappers, const char *text, GError **error);
/* (nullable): how the mapper declares the word, "ppr:N:node"; NULL: it does not */
const char *dvmd_map_words_declared (DvmdMapper *mapper, const char *word);
/* The same errors. self is empty after one, else it is to be cleared. */
gboolean dvmd_map_words_parse (DvmdMapWords *self, DvmdMapper *mapper, const char *word, const char *text,
                               GError **error);
void dvmd_map_words_clear (DvmdMapWords *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdMapWords, dvmd_map_words_clear)

G_END_DECLS
