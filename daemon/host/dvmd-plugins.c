/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The plugins of a DVM are loaded, listed, and made inactive by name.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-plugins"

#include "dvmd-plugins.h"

#include <string.h>

#include "dvmd-host.h"
#include "dvmd-plugin-module.h"
#include "dvmd-plugins-private.h"

struct _DvmdPlugins
{
  GPtrArray *entries;                 /* DvmdPluginEntry */
  GPtrArray *active[4];               /* DvmdPlugin, by kind */
  GPtrArray *hosts;                   /* DvmdHost */
  DvmdSpawner *spawner;               /* (nullable) borrowed, for the hosts */
  DvmdReaper *reaper;                 /* likewise */
  const DvmdHostElsewhere *elsewhere; /* likewise */
  gpointer elsewhere_data;
  GHashTable *disabled; /* "mapper-round-robin" -> itself */
  GHashTable *settings; /* "mapper-site.key" -> value */
};

static void
entry_free (gpointer data)
{
  DvmdPluginEntry *entry = data;

  g_clear_object (&entry->instance);
  g_free (entry->path);
  g_free (entry);
}

static char *
id_of (const DvmdPluginInfo *info)
{
  return g_strdup_printf ("%s-%s", dvmd_plugin_kind_to_string (info->kind), info->name);
}

static DvmdPluginEntry *
find_entry (DvmdPlugins *self, const char *id)
{
  for (guint i = 0; i < self->entries->len; i++)
    {
      DvmdPluginEntry *entry = g_ptr_array_index (self->entries, i);
      g_autofree char *other = id_of (entry->info);

      if (strcmp (id, other) == 0)
        return entry;
    }
  return NULL;
}

static gpointer
instantiate (DvmdPlugins *self, const DvmdPluginEntry *entry, const char *id)
{
  DvmdHost *host = dvmd_host_new (id, self->settings);

  g_ptr_array_add (self->hosts, host);
  dvmd_host_set_processes (host, self->spawner, self->reaper);
  dvmd_host_set_elsewhere (host, self->elsewhere, self->elsewhere_data);
  return g_object_new (entry->type, "host", host, "info", entry->info, NULL);
}

/* Makes it the first time that it is wanted. */
static void
activate (DvmdPlugins *self, DvmdPluginEntry *entry)
{
  g_autofree char *id = id_of (entry->info);

  entry->plugin = NULL;
  if (g_hash_table_contains (self->disabled, id))
    return;
  if (entry->instance == NULL)
    entry->instance = instantiate (self, entry, id);
  entry->plugin = entry->instance;
  g_ptr_array_add (self->active[entry->info->kind], g_object_ref (entry->plugin));
}

/* A plugin that has been checked, except for its type. */
static gboolean
add (DvmdPlugins *self, const DvmdPluginInfo *info, const char *path, GError **error)
{
  const char *place = path != NULL ? path : info->name;
  g_autofree char *id = id_of (info);
  DvmdPluginEntry *entry;
  GType type;

  type = dvmd_plugin_info_get_type (info, place, error);
  if (type == G_TYPE_INVALID)
    return FALSE;
  entry = g_new0 (DvmdPluginEntry, 1);
  entry->info = info;
  entry->path = g_strdup (path);
  entry->type = type;
  activate (self, entry);
  g_ptr_array_add (self->entries, entry);
  g_debug ("%s is loaded from %s%s", id, path != NULL ? path : "the program", entry->plugin ? "" : ", and disabled");
  return TRUE;
}

gboolean
dvmd_plugins_load_file (DvmdPlugins *self, const char *path, GError **error)
{
  GModule *module = NULL;
  const DvmdPluginInfo *info = dvmd_plugin_module_open (path, &module, error);
  g_autofree char *id = NULL;
  DvmdPluginEntry *other;

  if (info == NULL)
    return FALSE;
  id = id_of (info);
  other = find_entry (self, id);
  if (other != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "Plugin %s is refused: the %s \"%s\" is taken from %s already",
                   path, dvmd_plugin_kind_to_string (info->kind), info->name,
                   other->path != NULL ? other->path : "the program itself");
      g_module_close (module);
      return FALSE;
    }
  /* A type that has been registered cannot be taken back. */
  g_module_make_resident (module);
  return add (self, info, path, error);
}

static void
load_builtin (DvmdPlugins *self)
{
  for (guint i = 0; dvmd_builtin_plugins[i] != NULL; i++)
    {
      const DvmdPluginInfo *info = dvmd_builtin_plugins[i];
      g_autoptr (GError) error = NULL;

      if (!dvmd_plugin_info_check (info, info->name, &error) || !add (self, info, NULL, &error))
        g_error ("%s", error->message);
    }
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* By name, so that the order does not depend on the file system. */
static void
load_directory (DvmdPlugins *self, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GDir) dir = g_dir_open (path, 0, &error);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  if (dir == NULL)
    {
      g_info ("No plugins from %s: %s", path, error->message);
      return;
    }
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, "." G_MODULE_SUFFIX))
      g_ptr_array_add (names, g_build_filename (path, name, NULL));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    {
      g_autoptr (GError) refused = NULL;

      if (!dvmd_plugins_load_file (self, g_ptr_array_index (names, i), &refused))
        g_message ("%s", refused->message);
    }
}

static void
load_path (DvmdPlugins *self, const char *path)
{
  g_auto (GStrv) directories = g_strsplit (path, ":", -1);

  for (guint i = 0; directories[i] != NULL; i++)
    if (directories[i][0] != '\0')
      load_directory (self, directories[i]);
}

static void
read_disabled (DvmdPlugins *self, const char *text)
{
  g_auto (GStrv) words = g_strsplit_set (text, " ,", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (words[i][0] != '\0')
      g_hash_table_add (self->disabled, g_strdup (words[i]));
}

/* A name that nobody has is told: it is a typing error more often than not. */
static void
tell_unknown_disabled (DvmdPlugins *self)
{
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, self->disabled);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    if (find_entry (self, id) == NULL)
      g_message ("disabled-plugins: there is no plugin \"%s\"; names are KIND-NAME, as in mapper-round-robin",
                 (char *)id);
}

void
dvmd_plugins_set_disabled (DvmdPlugins *self, const char *disabled)
{
  g_hash_table_remove_all (self->disabled);
  read_disabled (self, disabled);
  for (gsize i = 0; i < G_N_ELEMENTS (self->active); i++)
    g_ptr_array_set_size (self->active[i], 0);
  for (guint i = 0; i < self->entries->len; i++)
    activate (self, g_ptr_array_index (self->entries, i));
  tell_unknown_disabled (self);
}

static gboolean
read_settings (DvmdPlugins *self, const char *text, GError **error)
{
  g_auto (GStrv) words = NULL;
  g_autoptr (GError) local = NULL;

  if (!g_shell_parse_argv (text, NULL, &words, &local))
    {
      if (g_error_matches (local, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING))
        return TRUE;
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "plugin-settings: %s", local->message);
      return FALSE;
    }
  for (guint i = 0; words[i] != NULL; i++)
    {
      char *equals = strchr (words[i], '=');
      char *dot = strchr (words[i], '.');

      if (equals == NULL || dot == NULL || dot > equals || dot == words[i] || dot + 1 == equals)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       "plugin-settings: \"%s\" is not of the form KIND-NAME.KEY=VALUE, as in mapper-site.limit=3",
                       words[i]);
          return FALSE;
        }
      g_hash_table_replace (self->settings, g_strndup (words[i], equals - words[i]), g_strdup (equals + 1));
    }
  return TRUE;
}

/* (transfer full): for a sentence */
static char *
list_keys (const DvmdPluginSetting *settings)
{
  g_autoptr (GString) keys = g_string_new (NULL);

  for (; settings->key != NULL; settings++)
    g_string_append_printf (keys, "%s%s", keys->len > 0 ? ", " : "", settings->key);
  return g_string_free (g_steal_pointer (&keys), FALSE);
}

/* Returns what it may be, as words of a sentence, or NULL if value is right. (transfer full) (nullable) */
static char *
find_mistake (const DvmdPluginSetting *setting, const char *value)
{
  guint64 number;

  if (setting->values != NULL)
    {
      g_autofree char *words = g_strv_contains (setting->values, value) ? NULL
                                                                        : g_strjoinv (" or ", (char **)setting->values);

      return words != NULL ? g_strdup_printf ("it can be %s", words) : NULL;
    }
  if (setting->most == 0 || g_ascii_string_to_unsigned (value, 10, setting->least, setting->most, &number, NULL))
    return NULL;
  return g_strdup_printf ("it must be a number from %u to %u", setting->least, setting->most);
}

/* word: PLUGIN.KEY=VALUE */
static gboolean
check_setting (const DvmdPluginInfo *info, const char *word, GError **error)
{
  const DvmdPluginSetting *setting = info->settings;
  const char *equals = strchr (word, '=');
  g_autofree char *place = g_strndup (word, equals - word);
  const char *key = strchr (place, '.') + 1;
  g_autofree char *mistake = NULL;

  while (setting != NULL && setting->key != NULL && strcmp (setting->key, key) != 0)
    setting++;
  if (setting != NULL && setting->key == NULL)
    {
      g_autofree char *keys = list_keys (info->settings);

      if (keys[0] != '\0')
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "plugin-settings: there is no setting %s; there are %s",
                     place, keys);
      else
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "plugin-settings: %s is for nobody: %.*s has no settings",
                     place, (int)strcspn (place, "."), place);
      return FALSE;
    }
  mistake = setting != NULL ? find_mistake (setting, equals + 1) : NULL;
  if (mistake != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "plugin-settings: %s is “%s”; %s", place, equals + 1, mistake);
  return mistake == NULL;
}

/* A setting with a mistake in the name of its plugin would be heeded by nobody. */
gboolean
dvmd_plugins_check_settings (DvmdPlugins *self, const char *text, GError **error)
{
  g_auto (GStrv) words = NULL;

  /* A text that cannot be read was refused by dvmd_plugins_new(). */
  if (!g_shell_parse_argv (text, NULL, &words, NULL))
    return TRUE;
  for (guint i = 0; words[i] != NULL; i++)
    {
      g_autofree char *plugin = g_strndup (words[i], strcspn (words[i], "."));
      const DvmdPluginEntry *entry = find_entry (self, plugin);

      if (entry != NULL && check_setting (entry->info, words[i], error))
        continue;
      if (entry != NULL)
        return FALSE;
      g_set_error (
          error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
          "plugin-settings: %.*s is for nobody: there is no plugin \"%s\"; dvm-cli plugins lists those of a DVM",
          (int)strcspn (words[i], "="), words[i], plugin);
      return FALSE;
    }
  return TRUE;
}

DvmdPlugins *
dvmd_plugins_new (const DvmdPluginsSettings *settings, GError **error)
{
  g_autoptr (DvmdPlugins) self = g_new0 (DvmdPlugins, 1);

  self->entries = g_ptr_array_new_with_free_func (entry_free);
  for (gsize i = 0; i < G_N_ELEMENTS (self->active); i++)
    self->active[i] = g_ptr_array_new_with_free_func (g_object_unref);
  self->hosts = g_ptr_array_new_with_free_func (g_object_unref);
  self->disabled = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->settings = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  read_disabled (self, settings->disabled != NULL ? settings->disabled : "");
  if (!read_settings (self, settings->settings != NULL ? settings->settings : "", error))
    return NULL;
  load_builtin (self);
  if (settings->path != NULL)
    load_path (self, settings->path);
  tell_unknown_disabled (self);
  return g_steal_pointer (&self);
}

void
dvmd_plugins_free (DvmdPlugins *self)
{
  dvmd_plugins_set_processes (self, NULL, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (self->active); i++)
    g_ptr_array_unref (self->active[i]);
  g_ptr_array_unref (self->entries);
  g_ptr_array_unref (self->hosts);
  g_hash_table_unref (self->disabled);
  g_hash_table_unref (self->settings);
  g_free (self);
}

void
dvmd_plugins_set_processes (DvmdPlugins *self, DvmdSpawner *spawner, DvmdReaper *reaper)
{
  self->spawner = spawner;
  self->reaper = reaper;
  for (guint i = 0; i < self->hosts->len; i++)
    dvmd_host_set_processes (g_ptr_array_index (self->hosts, i), spawner, reaper);
}

void
dvmd_plugins_set_elsewhere (DvmdPlugins *self, const DvmdHostElsewhere *elsewhere, gpointer user_data)
{
  self->elsewhere = elsewhere;
  self->elsewhere_data = user_data;
  for (guint i = 0; i < self->hosts->len; i++)
    dvmd_host_set_elsewhere (g_ptr_array_index (self->hosts, i), elsewhere, user_data);
}

const char *
dvmd_plugins_get_name (DvmdPlugins *self, gpointer plugin)
{
  for (guint i = 0; i < self->entries->len; i++)
    {
      DvmdPluginEntry *entry = g_ptr_array_index (self->entries, i);

      if (entry->instance == plugin)
        return entry->info->name;
    }
  return NULL;
}

GPtrArray *
dvmd_plugins_list (DvmdPlugins *self)
{
  return self->entries;
}

GPtrArray *
dvmd_plugins_get_active (DvmdPlugins *self, DvmdPluginKind kind)
{
  return self->active[kind];
}

/* Whether one of the variables of a job is set. */
static gboolean
is_in_job (const DvmdPluginInfo *info)
{
  for (const char *const *name = info->variables; name != NULL && *name != NULL; name++)
    if (g_strcmp0 (g_getenv (*name), "") > 0)
      return TRUE;
  return FALSE;
}

gboolean
dvmd_plugins_find_job (DvmdPlugins *self)
{
  GPtrArray *allocators = dvmd_plugins_get_active (self, DVMD_PLUGIN_ALLOCATOR);

  for (guint i = 0; i < allocators->len; i++)
    if (is_in_job (dvmd_plugin_get_info (allocators->pdata[i])))
      return TRUE;
  return FALSE;
}

char *
dvmd_plugins_find_missing (DvmdPlugins *self, DvmdPluginKind kind, const char *name)
{
  for (guint i = 0; i < self->entries->len; i++)
    {
      const DvmdPluginInfo *info = ((const DvmdPluginEntry *)g_ptr_array_index (self->entries, i))->info;

      if (info->kind == kind && strcmp (info->name, name) == 0 && info->variables != NULL && !is_in_job (info))
        return g_strjoinv (", ", (char **)info->variables);
    }
  return NULL;
}

GVariant *
dvmd_plugins_to_variant (DvmdPlugins *self)
{
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < self->entries->len; i++)
    {
      const DvmdPluginEntry *entry = g_ptr_array_index (self->entries, i);
      g_autofree char *path = g_utf8_make_valid (entry->path != NULL ? entry->path : "", -1);

      g_variant_builder_open (&rows, G_VARIANT_TYPE_VARDICT);
      g_variant_builder_add (&rows, "{sv}", "kind",
                             g_variant_new_string (dvmd_plugin_kind_to_string (entry->info->kind)));
      g_variant_builder_add (&rows, "{sv}", "name", g_variant_new_string (entry->info->name));
      g_variant_builder_add (&rows, "{sv}", "description", g_variant_new_string (entry->info->description));
      g_variant_builder_add (&rows, "{sv}", "active", g_variant_new_boolean (entry->plugin != NULL));
      g_variant_builder_add (&rows, "{sv}", "path", g_variant_new_string (path));
      if (entry->info->words != NULL)
        g_variant_builder_add (&rows, "{sv}", "words", g_variant_new_strv (entry->info->words, -1));
      if (entry->info->qualifiers != NULL)
        g_variant_builder_add (&rows, "{sv}", "qualifiers", g_variant_new_strv (entry->info->qualifiers, -1));
      g_variant_builder_close (&rows);
    }
  return g_variant_builder_end (&rows);
}
