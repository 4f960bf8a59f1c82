/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nearest match of a word that is not known.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

guint dvm_cli_word_distance (const char *a, const char *b);
/* (nullable): the candidate that word was probably meant to be; one of the strings of candidates */
const char *dvm_cli_suggest (const char *word, const char *const *candidates);

G_END_DECLS
