/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parts of a daemon that need a large library are opened when they are first needed.
 */

#include "config.h"

#include "dvmd-part.h"

#include <gmodule.h>

#include <dvm.h>

#include "dvmd-programs.h"

gconstpointer
dvmd_part_open (const char *name, const char *symbol, gsize size, GError **error)
{
  g_autofree char *file = g_strdup_printf ("dvmd-%s.so", name);
  g_autofree char *path = dvmd_programs_find_part (file, error);
  g_autoptr (GError) local = NULL;
  const DvmdPartInfo *info = NULL;
  GModule *module;

  if (path == NULL)
    return NULL;
  /* Opened again it is the same one: nobody here has to remember it. */
  module = g_module_open_full (path, G_MODULE_BIND_LOCAL, &local);
  if (module == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "%s cannot be opened: %s", path, local->message);
      return NULL;
    }
  g_module_make_resident (module);
  if (g_module_symbol (module, symbol, (gpointer *)&info) && info->size == size
      && g_str_equal (info->version, DVM_VERSION_STRING))
    return info;
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED,
               "%s is of dvm %s, and this process of another build (" DVM_VERSION_STRING
               "): the installation is not whole, or it was changed while this ran; then start it again",
               path, info != NULL ? info->version : "of unknown version");
  return NULL;
}
