/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The four words of inheritance are read and written (R13, R56-R59).
 */

#include "config.h"

#include "dvmd-inheritance.h"

#include <dvm.h>

static const char *const words[] = {
  [DVMD_INHERIT_DEFAULT] = "default",
  [DVMD_INHERIT_NONE] = "none",
  [DVMD_INHERIT_CHILD] = "child",
  [DVMD_INHERIT_CHILD_DEFAULT] = "child-default",
};

gboolean
dvmd_inheritance_parse (const char *word, DvmdInheritance *inheritance, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_strcmp0 (word, words[i]) == 0)
      {
        *inheritance = i;
        return TRUE;
      }
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "inheritance: “%s” is none of \"none\", \"child\", \"default\" and \"child-default\"", word);
  return FALSE;
}

const char *
dvmd_inheritance_to_string (DvmdInheritance inheritance)
{
  return words[inheritance];
}
