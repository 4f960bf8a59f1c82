/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A plugin is loaded from a file and checked, or refused with a sentence.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-plugins"

#include "dvmd-plugin-module.h"

#include <string.h>

#define SYMBOL "dvmd_plugin_info"

const DvmdPluginInfo *
dvmd_plugin_module_open (const char *path, GModule **module, GError **error)
{
  g_autoptr (GError) local = NULL;
  gpointer symbol = NULL;
  GModule *opened = NULL;

  /* GModule reads some kinds of file itself; what is no regular file could make it wait for ever. */
  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "Plugin %s is refused: it is no regular file", path);
      return NULL;
    }
  opened = g_module_open_full (path, G_MODULE_BIND_LOCAL, &local);
  if (opened == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "Plugin %s is refused: it cannot be opened: %s", path,
                   local->message);
      return NULL;
    }
  if (!g_module_symbol (opened, SYMBOL, &symbol) || symbol == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED,
                 "Plugin %s is refused: it is no plugin of dvm, it does not export " SYMBOL, path);
  else if (dvmd_plugin_info_check (symbol, path, error))
    {
      *module = opened;
      return symbol;
    }
  g_module_close (opened);
  return NULL;
}

static gboolean
check_name (const char *name)
{
  return name != NULL && name[0] != '\0' && strlen (name) <= 64
         && strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen (name);
}

/* NAME, NAME=VALUE or NAME[=VALUE], and for a word :ARGUMENT as often as it likes. */
static gboolean
check_words (const char *const *words, gboolean arguments)
{
  for (gsize i = 0; words != NULL && words[i] != NULL; i++)
    if (!g_regex_match_simple ("^[a-z][a-z0-9-]*(=[!-~]+|\\[=[!-~]+\\])?(:[!-~]+)*$", words[i], G_REGEX_DOLLAR_ENDONLY,
                               0)
        || (!arguments && strchr (words[i], ':') != NULL))
      return FALSE;
  return TRUE;
}

gboolean
dvmd_plugin_info_check (const DvmdPluginInfo *info, const char *place, GError **error)
{
  if (info->abi != DVMD_PLUGIN_ABI)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "Plugin %s is refused: it was built for version %u of the plugin interface, and this is version %u: "
                 "build it again",
                 place, info->abi, DVMD_PLUGIN_ABI);
  else if (info->size != sizeof (DvmdPluginInfo))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "Plugin %s is refused: its description has %u bytes where %" G_GSIZE_FORMAT
                 " are right: build it again",
                 place, info->size, sizeof (DvmdPluginInfo));
  else if (dvmd_plugin_kind_to_string (info->kind) == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "Plugin %s is refused: there is no kind %u; there are launcher, allocator and mapper", place,
                 (guint)info->kind);
  else if (!check_name (info->name))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "Plugin %s is refused: its name must be made of small letters, digits and dashes", place);
  else if (info->description == NULL || !g_utf8_validate (info->description, -1, NULL) || info->get_type == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Plugin %s is refused: it has no description or no get_type",
                 place);
  else if ((info->kind == DVMD_PLUGIN_MAPPER) != (info->words != NULL && info->words[0] != NULL))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "Plugin %s is refused: a mapper declares the words of map-by that it takes, and no other plugin does",
                 place);
  else if (info->kind == DVMD_PLUGIN_MAPPER && info->variables != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "Plugin %s is refused: a mapper has no variables of a scheduler", place);
  else if (!check_words (info->words, TRUE) || !check_words (info->qualifiers, FALSE))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "Plugin %s is refused: its words and qualifiers must be written as in slot, ppr:N:node, pe=N", place);
  else
    return TRUE;
  return FALSE;
}

static GType
base_of (DvmdPluginKind kind)
{
  switch (kind)
    {
    case DVMD_PLUGIN_LAUNCHER:
      return DVMD_TYPE_LAUNCHER;
    case DVMD_PLUGIN_ALLOCATOR:
      return DVMD_TYPE_ALLOCATOR;
    case DVMD_PLUGIN_MAPPER:
    default:
      return DVMD_TYPE_MAPPER;
    }
}

GType
dvmd_plugin_info_get_type (const DvmdPluginInfo *info, const char *place, GError **error)
{
  GType base = base_of (info->kind);
  GType type = info->get_type ();

  if (type != G_TYPE_INVALID && g_type_is_a (type, base) && !G_TYPE_IS_ABSTRACT (type))
    return type;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "Plugin %s is refused: its type %s is no class that derives from %s, as a %s must", place,
               type != G_TYPE_INVALID ? g_type_name (type) : "(none)", g_type_name (base),
               dvmd_plugin_kind_to_string (info->kind));
  return G_TYPE_INVALID;
}
