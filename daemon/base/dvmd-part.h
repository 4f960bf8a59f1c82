/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * A part of the daemons that is a file of its own, because it needs a large library that most starts do without: it is
 * opened by the first who needs it, and stays. A part exports one symbol, a constant that begins with this.
 */
typedef struct
{
  gsize size;          /* of the whole constant */
  const char *version; /* DVM_VERSION_STRING */
} DvmdPartInfo;

/* Returns the value of symbol in the part (dvmd-NAME.so). A part of another build is refused. */
gconstpointer dvmd_part_open (const char *name, const char *symbol, gsize size, GError **error);

G_END_DECLS
