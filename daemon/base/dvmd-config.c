/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Settings have a type, a value and an origin, and later origins win.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-config"

#include <errno.h>
#include <string.h>

#include <dvm.h>

#include "dvm-installation-private.h"
#include "dvmd-config.h"

#define GROUP "dvm"
/* A file larger than this is no settings file of ours. */
#define FILE_MAX (1024 * 1024)

typedef struct
{
  char *text;
  guint64 number; /* BOOL, UINT, SIZE; SECONDS in µs */
  DvmdConfigOrigin origin;
  char *place;
} Value;

struct _DvmdConfig
{
  gatomicrefcount ref_count;
  GHashTable *values;  /* name -> Value */
  GHashTable *waiting; /* name -> text, of those that count after a restart */
};

static void
value_free (gpointer data)
{
  Value *value = data;

  g_free (value->text);
  g_free (value->place);
  g_free (value);
}

static gboolean
parse_bool (const char *text, guint64 *number)
{
  static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };

  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_ascii_strcasecmp (text, words[i]) == 0)
      {
        *number = i % 2;
        return TRUE;
      }
  return FALSE;
}

typedef struct
{
  const char *name;
  gdouble factor;
} Unit;

static const Unit size_units[] = {
  { "", 1 }, { "B", 1 }, { "KiB", 1024 }, { "MiB", 1024 * 1024 }, { "GiB", 1024 * 1024 * 1024 },
};

static const Unit time_units[] = {
  { "", G_USEC_PER_SEC },           { "ms", 1000 }, { "s", G_USEC_PER_SEC }, { "min", 60.0 * G_USEC_PER_SEC },
  { "h", 3600.0 * G_USEC_PER_SEC },
};

static gboolean
parse_with_unit (const char *text, const Unit *units, gsize n_units, guint64 *number)
{
  char *end = NULL;
  gdouble value;

  /* g_ascii_strtod() takes "inf", "nan" and hexadecimal too. */
  if (!g_ascii_isdigit (text[0]) || (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')))
    return FALSE;
  value = g_ascii_strtod (text, &end);
  while (*end == ' ')
    end++;
  for (gsize i = 0; i < n_units; i++)
    if (g_ascii_strcasecmp (end, units[i].name) == 0)
      {
        value = value * units[i].factor + 0.5;
        if (!(value >= 0 && value < 1e18))
          return FALSE;
        *number = (guint64)value;
        return TRUE;
      }
  return FALSE;
}

gboolean
dvmd_config_parse_ports (const char *text, guint16 *first, guint16 *last)
{
  g_auto (GStrv) words = g_strsplit (text, "-", 3);
  guint n = g_strv_length (words);
  guint64 from = 0;
  guint64 to;

  if (n < 1 || n > 2 || !g_ascii_string_to_unsigned (words[0], 10, 0, G_MAXUINT16, &from, NULL))
    return FALSE;
  to = from;
  if (n == 2 && !g_ascii_string_to_unsigned (words[1], 10, 1, G_MAXUINT16, &to, NULL))
    return FALSE;
  *first = (guint16)from;
  *last = (guint16)to;
  return from <= to && (n == 1 || from > 0);
}

static gboolean
parse_value (const DvmdSetting *setting, const char *text, guint64 *number)
{
  guint16 first;
  guint16 last;

  switch (setting->type)
    {
    case DVMD_CONFIG_BOOL:
      return parse_bool (text, number);
    case DVMD_CONFIG_UINT:
      return g_ascii_string_to_unsigned (text, 10, setting->min, setting->max, number, NULL);
    case DVMD_CONFIG_SIZE:
      return parse_with_unit (text, size_units, G_N_ELEMENTS (size_units), number) && *number >= setting->min
             && *number <= setting->max;
    case DVMD_CONFIG_SECONDS:
      return parse_with_unit (text, time_units, G_N_ELEMENTS (time_units), number) && *number >= setting->min
             && *number <= setting->max;
    case DVMD_CONFIG_CHOICE:
      {
        g_auto (GStrv) words = g_strsplit (setting->choices, " ", -1);

        return g_strv_contains ((const char *const *)words, text);
      }
    case DVMD_CONFIG_PORTS:
      return dvmd_config_parse_ports (text, &first, &last);
    case DVMD_CONFIG_COMMAND:
      return g_utf8_validate (text, -1, NULL) && g_shell_parse_argv (text, NULL, NULL, NULL);
    case DVMD_CONFIG_STRING:
      return g_utf8_validate (text, -1, NULL);
    }
  return FALSE;
}

/* place: where the text stands, for messages and for those who ask where a value comes from */
static gboolean
set_value (DvmdConfig *self, const DvmdSetting *setting, const char *text, DvmdConfigOrigin origin, const char *place,
           int code, GError **error)
{
  g_autofree char *stripped = g_strstrip (g_strdup (text));
  guint64 number = 0;
  Value *value;

  if (!parse_value (setting, stripped, &number))
    {
      g_autofree char *right = dvmd_setting_describe_values (setting);
      g_autofree char *shown = g_utf8_make_valid (stripped, MIN (strlen (stripped), 80));

      g_set_error (error, DVM_ERROR, code, "%s: \"%s\" is no value of %s; it takes %s", place, shown, setting->name,
                   right);
      return FALSE;
    }
  value = g_hash_table_lookup (self->values, setting->name);
  if (value != NULL && value->origin > origin)
    return TRUE;
  value = g_new0 (Value, 1);
  value->text = g_steal_pointer (&stripped);
  value->number = number;
  value->origin = origin;
  value->place = g_strdup (place);
  g_hash_table_insert (self->values, (gpointer)setting->name, value);
  return TRUE;
}

DvmdConfig *
dvmd_config_new (void)
{
  DvmdConfig *self = g_new0 (DvmdConfig, 1);
  guint n_settings;
  const DvmdSetting *settings = dvmd_config_get_settings (&n_settings);

  g_atomic_ref_count_init (&self->ref_count);
  self->values = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, value_free);
  self->waiting = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  for (guint i = 0; i < n_settings; i++)
    {
      g_autoptr (GError) error = NULL;

      if (!set_value (self, &settings[i], settings[i].built_in, DVMD_CONFIG_ORIGIN_BUILT_IN, "built-in",
                      DVM_ERROR_FAILED, &error))
        g_error ("%s", error->message);
    }
  return self;
}

DvmdConfig *
dvmd_config_ref (DvmdConfig *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_config_unref (DvmdConfig *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_hash_table_unref (self->values);
  g_hash_table_unref (self->waiting);
  g_free (self);
}

static void
set_unknown_error (GError **error, int code, const char *place, const char *name)
{
  GString *known = g_string_new (NULL);
  g_autofree char *shown = g_utf8_make_valid (name, MIN (strlen (name), 80));
  guint n_settings;
  const DvmdSetting *settings = dvmd_config_get_settings (&n_settings);

  for (guint i = 0; i < n_settings; i++)
    g_string_append_printf (known, "%s%s", i == 0 ? "" : ", ", settings[i].name);
  g_set_error (error, DVM_ERROR, code, "%s: there is no setting \"%s\"; there are %s", place, shown, known->str);
  g_string_free (known, TRUE);
}

gboolean
dvmd_config_set (DvmdConfig *self, const char *name, const char *value, DvmdConfigOrigin origin, GError **error)
{
  const DvmdSetting *setting = dvmd_config_find_setting (name);
  const char *place = origin == DVMD_CONFIG_ORIGIN_COMMAND_LINE ? "command line" : "program";

  if (setting == NULL)
    {
      set_unknown_error (error, DVM_ERROR_BAD_PARAM, place, name);
      return FALSE;
    }
  return set_value (self, setting, value, origin, place, DVM_ERROR_BAD_PARAM, error);
}

/* GKeyFile keeps no line numbers: the last line that sets key in our group, 0 if none. key NULL: the first line that
 * is no blank, comment, group or setting. */
static guint
find_line (const char *text, const char *key)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint found = 0;

  for (guint i = 0; lines[i] != NULL; i++)
    {
      char *line = g_strstrip (lines[i]);
      char *equals = strchr (line, '=');

      if (line[0] == '\0' || line[0] == '#' || (line[0] == '[' && g_str_has_suffix (line, "]")))
        continue;
      if (equals == NULL || equals == line)
        {
          if (key == NULL)
            return i + 1;
          continue;
        }
      *equals = '\0';
      if (g_strcmp0 (g_strchomp (line), key) == 0)
        found = i + 1;
    }
  return found;
}

static guint
find_group_line (const char *text, const char *group)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autofree char *header = g_strdup_printf ("[%s]", group);

  for (guint i = 0; lines[i] != NULL; i++)
    if (strcmp (g_strstrip (lines[i]), header) == 0)
      return i + 1;
  return 0;
}

static char *
format_place (const char *path, guint line)
{
  return line > 0 ? g_strdup_printf ("%s:%u", path, line) : g_strdup (path);
}

static gboolean
load_keys (DvmdConfig *self, GKeyFile *file, const char *text, const char *path, DvmdConfigOrigin origin,
           GError **error)
{
  g_auto (GStrv) keys = g_key_file_get_keys (file, GROUP, NULL, NULL);

  for (gsize i = 0; keys != NULL && keys[i] != NULL; i++)
    {
      const DvmdSetting *setting = dvmd_config_find_setting (keys[i]);
      g_autofree char *place = format_place (path, find_line (text, keys[i]));
      g_autofree char *value = g_key_file_get_string (file, GROUP, keys[i], NULL);

      if (setting == NULL)
        {
          set_unknown_error (error, DVM_ERROR_PARSE_FAILED, place, keys[i]);
          return FALSE;
        }
      if (value == NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                       "%s: the value of %s is no UTF-8 text or has a wrong escape; write \"\\\\\" for a backslash",
                       place, keys[i]);
          return FALSE;
        }
      if (!set_value (self, setting, value, origin, place, DVM_ERROR_PARSE_FAILED, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
check_groups (GKeyFile *file, const char *text, const char *path, GError **error)
{
  g_auto (GStrv) groups = g_key_file_get_groups (file, NULL);

  for (gsize i = 0; groups[i] != NULL; i++)
    if (strcmp (groups[i], GROUP) != 0)
      {
        g_autofree char *place = format_place (path, find_group_line (text, groups[i]));
        g_autofree char *shown = g_utf8_make_valid (groups[i], MIN (strlen (groups[i]), 80));

        g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                     "%s: there is no group [%s]; settings stand in [" GROUP "]", place, shown);
        return FALSE;
      }
  return TRUE;
}

static gboolean
read_file (const char *path, char **text, gsize *length, GError **error)
{
  g_autoptr (GError) local = NULL;

  if (g_file_get_contents (path, text, length, &local))
    {
      if (*length <= FILE_MAX && memchr (*text, '\0', *length) == NULL)
        return TRUE;
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "%s: this is no settings file: %s", path,
                   *length > FILE_MAX ? "it is larger than 1 MiB" : "it has a null byte");
      return FALSE;
    }
  if (g_error_matches (local, G_FILE_ERROR, G_FILE_ERROR_NOENT)
      || g_error_matches (local, G_FILE_ERROR, G_FILE_ERROR_NOTDIR))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s: there is no such settings file", path);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot read the settings: %s", local->message);
  return FALSE;
}

gboolean
dvmd_config_load_file (DvmdConfig *self, const char *path, DvmdConfigOrigin origin, GError **error)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autoptr (GError) local = NULL;
  g_autofree char *text = NULL;
  gsize length = 0;

  if (!read_file (path, &text, &length, error))
    return FALSE;
  if (!g_key_file_load_from_data (file, text, length, G_KEY_FILE_NONE, &local)
      && !(length == 0 || g_error_matches (local, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_GROUP_NOT_FOUND)))
    {
      g_autofree char *place = format_place (path, find_line (text, NULL));
      g_autofree char *shown = g_utf8_make_valid (local->message, -1);

      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                   "%s: %s; a settings file has the line [" GROUP "] and lines \"name = value\"", place, shown);
      return FALSE;
    }
  if (local != NULL)
    {
      g_autofree char *place = format_place (path, 1);

      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "%s: settings must stand below a line [" GROUP "]", place);
      return FALSE;
    }
  return check_groups (file, text, path, error) && load_keys (self, file, text, path, origin, error);
}

static gboolean
load_optional_file (DvmdConfig *self, const char *path, DvmdConfigOrigin origin, GError **error)
{
  g_autoptr (GError) local = NULL;

  if (dvmd_config_load_file (self, path, origin, &local))
    return TRUE;
  if (g_error_matches (local, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static char *
environment_name (const char *name)
{
  g_autofree char *upper = g_ascii_strup (name, -1);

  return g_strdup_printf ("DVM_%s", g_strdelimit (upper, "-", '_'));
}

static gboolean
load_environment (DvmdConfig *self, char **environ, GError **error)
{
  guint n_settings;
  const DvmdSetting *settings = dvmd_config_get_settings (&n_settings);

  for (guint i = 0; i < n_settings; i++)
    {
      g_autofree char *variable = environment_name (settings[i].name);
      const char *text = g_environ_getenv (environ, variable);

      if (text != NULL
          && !set_value (self, &settings[i], text, DVMD_CONFIG_ORIGIN_ENVIRONMENT, variable, DVM_ERROR_BAD_PARAM,
                         error))
        return FALSE;
    }
  return TRUE;
}

/* Relative values are ignored, as the base directory specification wants it. */
static char *
user_file (char **environ)
{
  const char *config_home = g_environ_getenv (environ, "XDG_CONFIG_HOME");
  const char *home = g_environ_getenv (environ, "HOME");

  if (config_home != NULL && g_path_is_absolute (config_home))
    return g_build_filename (config_home, "dvm", "dvm.conf", NULL);
  return g_build_filename (home != NULL && g_path_is_absolute (home) ? home : g_get_home_dir (), ".config", "dvm",
                           "dvm.conf", NULL);
}

gboolean
dvmd_config_load (DvmdConfig *self, const char *const *environ, GError **error)
{
  g_auto (GStrv) variables = environ != NULL ? g_strdupv ((char **)environ) : g_get_environ ();
  g_autofree char *system_dir = _dvm_installation_find (DVM_SYSCONF_DIR);
  g_autofree char *system_path = g_build_filename (system_dir, "dvm", "dvm.conf", NULL);
  g_autofree char *user_path = user_file (variables);

  return load_optional_file (self, system_path, DVMD_CONFIG_ORIGIN_SYSTEM_FILE, error)
         && load_optional_file (self, user_path, DVMD_CONFIG_ORIGIN_USER_FILE, error)
         && load_environment (self, variables, error);
}

static Value *
value_copy (const Value *value)
{
  Value *copy = g_memdup2 (value, sizeof *value);

  copy->text = g_strdup (value->text);
  copy->place = g_strdup (value->place);
  return copy;
}

GPtrArray *
dvmd_config_take (DvmdConfig *self, DvmdConfig *newer, GPtrArray **waiting)
{
  g_autoptr (GPtrArray) changed = g_ptr_array_new ();
  g_autoptr (GPtrArray) left = g_ptr_array_new ();
  guint n_settings;
  const DvmdSetting *settings = dvmd_config_get_settings (&n_settings);

  g_hash_table_remove_all (self->waiting);
  for (guint i = 0; i < n_settings; i++)
    {
      gpointer name = (gpointer)settings[i].name;
      const Value *value = g_hash_table_lookup (newer->values, name);
      gboolean differs = strcmp (value->text, dvmd_config_get_string (self, name)) != 0;

      if (differs)
        g_ptr_array_add (settings[i].time == DVMD_CONFIG_AT_ONCE ? changed : left, name);
      /* The same value may come from another place now. */
      if (!differs || settings[i].time == DVMD_CONFIG_AT_ONCE)
        g_hash_table_insert (self->values, name, value_copy (value));
      else
        g_hash_table_insert (self->waiting, name, g_strdup (value->text));
    }
  if (waiting != NULL)
    *waiting = g_steal_pointer (&left);
  return g_steal_pointer (&changed);
}

const char *
dvmd_config_get_waiting (DvmdConfig *self, const char *name)
{
  return g_hash_table_lookup (self->waiting, name);
}

static const Value *
get_value (DvmdConfig *self, const char *name)
{
  const Value *value = g_hash_table_lookup (self->values, name);

  if (value == NULL)
    g_error ("there is no setting \"%s\" in the table", name);
  return value;
}

static DvmdConfigType
get_type (const char *name)
{
  const DvmdSetting *setting = dvmd_config_find_setting (name);

  return setting != NULL ? setting->type : DVMD_CONFIG_STRING;
}

gboolean
dvmd_config_get_bool (DvmdConfig *self, const char *name)
{
  g_return_val_if_fail (get_type (name) == DVMD_CONFIG_BOOL, FALSE);
  return get_value (self, name)->number != 0;
}

guint64
dvmd_config_get_uint (DvmdConfig *self, const char *name)
{
  g_return_val_if_fail (get_type (name) == DVMD_CONFIG_UINT || get_type (name) == DVMD_CONFIG_SIZE, 0);
  return get_value (self, name)->number;
}

gint64
dvmd_config_get_usec (DvmdConfig *self, const char *name)
{
  g_return_val_if_fail (get_type (name) == DVMD_CONFIG_SECONDS, 0);
  return (gint64)get_value (self, name)->number;
}

const char *
dvmd_config_get_string (DvmdConfig *self, const char *name)
{
  return get_value (self, name)->text;
}

DvmdConfigOrigin
dvmd_config_get_origin (DvmdConfig *self, const char *name)
{
  return get_value (self, name)->origin;
}

const char *
dvmd_config_get_place (DvmdConfig *self, const char *name)
{
  return get_value (self, name)->place;
}

static const char *const origins[] = { "built-in", "system-file", "user-file", "environment", "command-line" };

/* "" for those that come from no file and no variable. */
static char *
describe_place (const Value *value)
{
  gboolean has_place = value->origin != DVMD_CONFIG_ORIGIN_BUILT_IN && value->origin != DVMD_CONFIG_ORIGIN_COMMAND_LINE;

  return g_utf8_make_valid (has_place ? value->place : "", -1);
}

GVariant *
dvmd_config_to_variant (DvmdConfig *self)
{
  GVariantBuilder builder;
  guint n_settings;
  const DvmdSetting *settings = dvmd_config_get_settings (&n_settings);

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(sssssss)"));
  for (guint i = 0; i < n_settings; i++)
    {
      const Value *value = g_hash_table_lookup (self->values, settings[i].name);
      g_autofree char *takes = dvmd_setting_describe_values (&settings[i]);
      g_autofree char *place = describe_place (value);

      g_variant_builder_add (&builder, "(sssssss)", settings[i].name, value->text, settings[i].built_in,
                             origins[value->origin], place, takes, settings[i].description);
    }
  return g_variant_builder_end (&builder);
}

static GVariant *
describe_setting (DvmdConfig *self, const DvmdSetting *setting)
{
  const Value *value = get_value (self, setting->name);
  const char *waiting = dvmd_config_get_waiting (self, setting->name);
  g_autofree char *takes = dvmd_setting_describe_values (setting);
  g_autofree char *place = describe_place (value);
  GVariantDict dict;

  g_variant_dict_init (&dict, NULL);
  g_variant_dict_insert (&dict, "value", "s", value->text);
  g_variant_dict_insert (&dict, "built-in", "s", setting->built_in);
  g_variant_dict_insert (&dict, "origin", "s", origins[value->origin]);
  g_variant_dict_insert (&dict, "place", "s", place);
  g_variant_dict_insert (&dict, "takes", "s", takes);
  g_variant_dict_insert (&dict, "description", "s", setting->description);
  g_variant_dict_insert (&dict, "time", "s", setting->time == DVMD_CONFIG_AT_ONCE ? "at-once" : "at-start");
  if (waiting != NULL)
    g_variant_dict_insert (&dict, "waiting", "s", waiting);
  return g_variant_dict_end (&dict);
}

GVariant *
dvmd_config_to_dictionary (DvmdConfig *self)
{
  GVariantBuilder builder;
  guint n_settings;
  const DvmdSetting *settings = dvmd_config_get_settings (&n_settings);

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sa{sv}}"));
  for (guint i = 0; i < n_settings; i++)
    g_variant_builder_add (&builder, "{s@a{sv}}", settings[i].name, describe_setting (self, &settings[i]));
  return g_variant_builder_end (&builder);
}

void
dvmd_config_log (DvmdConfig *self)
{
  guint n_settings;
  const DvmdSetting *settings = dvmd_config_get_settings (&n_settings);

  for (guint i = 0; i < n_settings; i++)
    {
      const Value *value = get_value (self, settings[i].name);

      g_info ("%s = %s (%s)", settings[i].name, value->text, value->place);
    }
}
