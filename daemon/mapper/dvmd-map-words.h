/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-placement-private.h"
#include "dvmd-mapper.h"

G_BEGIN_DECLS

/* A map-by as a mapper is told of it, by the words that it has declared. Pure. */
typedef struct
{
  char *word;       /* in full */
  char *value;      /* (nullable) */
  GStrv arguments;  /* as they were written */
  GStrv qualifiers; /* in full, with their values */
} DvmdMapWords;

/*
 * (transfer full): the word in full. NULL: DVM_ERROR_BAD_PARAM with the words that there are, or
 * DVM_ERROR_NOT_SUPPORTED. word: one of the grammar in full, or another one, which may be short for a mapper's own.
 */
char *dvmd_map_words_find (GPtrArray *mappers, const char *word, GError **error);
/* (nullable): how the mapper declares the word, "ppr:N:OBJECT"; NULL: it does not */
const char *dvmd_map_words_declared (DvmdMapper *mapper, const char *word);
/* The same errors. self is empty after one, else it is to be cleared. */
gboolean dvmd_map_words_fill (DvmdMapWords *self, DvmdMapper *mapper, const char *word, const DvmPlacement *placement,
                              GError **error);
void dvmd_map_words_clear (DvmdMapWords *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdMapWords, dvmd_map_words_clear)

G_END_DECLS
