/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm.h"

G_BEGIN_DECLS

/* A word of an option, in any case and as short as it is unambiguous. */
typedef struct
{
  const char *name;
  int value;
  gboolean supported; /* FALSE: the peer knows it, this version cannot do it yet */
} DvmWord;

/*
 * what: how messages call the option ("map-by"). place: where it stands (an empty string or "apps[1]."). The word is
 * the first length bytes of text.
 */
const DvmWord *_dvm_words_find (const DvmWord *words, gsize n_words, const char *text, gsize length, const char *place,
                                const char *what, GError **error);
/* Whether one of the words begins so. */
gboolean _dvm_words_has (const DvmWord *words, gsize n_words, const char *text, gsize length);
/*
 * The tables of words for completion, as rows of a(ssss): the option, "word", "object", "qualifier" or, for what
 * dvm-cli does by itself, "client"; the word that it stands behind, empty for any; and what is written, with "=" where
 * a value follows. has_value: (nullable)
 */
void _dvm_words_add (GVariantBuilder *rows, const char *option, const char *kind, const DvmWord *words, gsize n_words,
                     gboolean (*has_value) (int value));
void _dvm_map_by_add_words (GVariantBuilder *rows);
void _dvm_placement_add_words (GVariantBuilder *rows);
void _dvm_output_add_words (GVariantBuilder *rows);
void _dvm_runtime_options_add_words (GVariantBuilder *rows);
/* "1", "0", "true", "no", "enable" ...; NULL is TRUE: the word alone. */
gboolean _dvm_words_parse_boolean (const char *text, gboolean *value);
/* (nullable): the name that was probably meant */
const char *_dvm_words_nearest (const char *text, const char *const *names);
/* A text of a user as a message shows it: UTF-8 in any case, and not endless. */
char *_dvm_words_show (const char *text);

G_END_DECLS
