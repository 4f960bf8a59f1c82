/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * A line of PMI-1: "name=value" with spaces between them. A value has no space, and may have '=' in it. That of
 * "message", behind another word, goes to the end of the line, and that of "service" to the port, or the end: libraries
 * write them as they are.
 */
typedef struct _DvmdPmiLine DvmdPmiLine;

/* text: without its line feed. NULL: it makes no sense. */
DvmdPmiLine *dvmd_pmi_line_parse (const char *text, gsize length);
/* words (transfer full): "name=value", one or more */
DvmdPmiLine *dvmd_pmi_line_new (GStrv words);
void dvmd_pmi_line_free (DvmdPmiLine *self);
/* In their order. */
const char *const *dvmd_pmi_line_get_words (const DvmdPmiLine *self);
/* (nullable): the first of that name */
const char *dvmd_pmi_line_get (const DvmdPmiLine *self, const char *name);
/* FALSE: there is none, or it is no whole number. */
gboolean dvmd_pmi_line_get_int (const DvmdPmiLine *self, const char *name, int *value);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmiLine, dvmd_pmi_line_free)

G_END_DECLS
