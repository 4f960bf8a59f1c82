/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The fate of a session when the namespace that owns it ends (R56-R59). */
typedef enum
{
  DVMD_INHERIT_DEFAULT,       /* its nodes stay, reserved for nobody */
  DVMD_INHERIT_NONE,          /* it is released */
  DVMD_INHERIT_CHILD,         /* likewise, with the last child */
  DVMD_INHERIT_CHILD_DEFAULT, /* its nodes stay, reserved until the last child has ended */
} DvmdInheritance;

/* "none", "child", "default" or "child-default" */
gboolean dvmd_inheritance_parse (const char *word, DvmdInheritance *inheritance, GError **error);
const char *dvmd_inheritance_to_string (DvmdInheritance inheritance);

G_END_DECLS
