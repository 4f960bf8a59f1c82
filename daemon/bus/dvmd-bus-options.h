/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* One key that a method knows. */
typedef struct
{
  const char *name;
  const char *type; /* "s", "u", "b", "as" */
  /* const char **, guint *, gboolean *, const char *** (to be freed with g_free); strings live as long as the a{sv} */
  gpointer value;
  gboolean *given; /* (nullable) */
} DvmdBusOption;

/*
 * Takes every key of the a{sv}: one that is not among the options, has another type or comes twice is
 * DVM_ERROR_BAD_PARAM with its name. options may be NULL for methods that know no key.
 */
gboolean dvmd_bus_options_parse (GVariant *dict, const DvmdBusOption *options, gsize n_options, GError **error);

G_END_DECLS
