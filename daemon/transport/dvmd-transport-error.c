/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The errors of the transport have codes of their own.
 */

#include "config.h"

#include "dvmd-transport-error.h"

GQuark
dvmd_transport_error_quark (void)
{
  return g_quark_from_static_string ("dvmd-transport-error-quark");
}

char *
dvmd_transport_escape (const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  GString *escaped = g_string_new (NULL);

  for (const char *p = valid; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (g_unichar_isprint (c))
        g_string_append_unichar (escaped, c);
      else
        g_string_append_printf (escaped, "\\u%04x", c);
    }
  return g_string_free (escaped, FALSE);
}
