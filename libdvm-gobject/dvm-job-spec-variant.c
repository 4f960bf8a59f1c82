/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The description of a job is written as a GVariant and read again.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvm-words-private.h"

/* Out. */

static gboolean
is_text (const char *const *list)
{
  for (gsize i = 0; list[i] != NULL; i++)
    if (!g_utf8_validate (list[i], -1, NULL))
      return FALSE;
  return TRUE;
}

static void
add_strv (GVariantBuilder *builder, const char *key, const char *const *list)
{
  if (list[0] != NULL && is_text (list))
    g_variant_builder_add (builder, "{sv}", key, g_variant_new_strv (list, -1));
}

static void
add_argv (GVariantBuilder *builder, const char *const *argv)
{
  if (is_text (argv))
    g_variant_builder_add (builder, "{sv}", "argv", g_variant_new_strv (argv, -1));
  else
    g_variant_builder_add (builder, "{sv}", "argv-bytes", g_variant_new_bytestring_array (argv, -1));
}

static void
add_cwd (GVariantBuilder *builder, const char *cwd)
{
  if (cwd == NULL)
    return;
  if (g_utf8_validate (cwd, -1, NULL))
    g_variant_builder_add (builder, "{sv}", "cwd", g_variant_new_string (cwd));
  else
    g_variant_builder_add (builder, "{sv}", "cwd-bytes", g_variant_new_bytestring (cwd));
}

/* A dictionary takes each name once: of equal names only the last one counts anyway. */
static GHashTable *
find_last_indices (const char *const *env, guint n)
{
  g_autoptr (GHashTable) last = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < n; i++)
    g_hash_table_insert (last, g_strndup (env[i], strcspn (env[i], "=")), GUINT_TO_POINTER (i));
  return g_steal_pointer (&last);
}

static void
add_variable (GVariantBuilder *texts, GVariantBuilder *bytes, const char *variable, const char *name)
{
  gsize length = strlen (name);

  if (variable[length] == '=' && g_utf8_validate (variable, -1, NULL))
    g_variant_builder_add (texts, "{ss}", name, variable + length + 1);
  else
    g_variant_builder_add_value (bytes, g_variant_new_bytestring (variable));
}

static void
add_environment (GVariantBuilder *builder, const char *const *env)
{
  guint n = g_strv_length ((char **)env);
  g_autoptr (GHashTable) last = NULL;
  g_autoptr (GVariant) text = NULL;
  g_autoptr (GVariant) other = NULL;
  GVariantBuilder texts, bytes;

  if (n == 0)
    return;
  last = find_last_indices (env, n);
  g_variant_builder_init (&texts, G_VARIANT_TYPE ("a{ss}"));
  g_variant_builder_init (&bytes, G_VARIANT_TYPE_BYTESTRING_ARRAY);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strndup (env[i], strcspn (env[i], "="));

      if (GPOINTER_TO_UINT (g_hash_table_lookup (last, name)) == i)
        add_variable (&texts, &bytes, env[i], name);
    }
  text = g_variant_ref_sink (g_variant_builder_end (&texts));
  other = g_variant_ref_sink (g_variant_builder_end (&bytes));
  if (g_variant_n_children (text) > 0)
    g_variant_builder_add (builder, "{sv}", "env", text);
  if (g_variant_n_children (other) > 0)
    g_variant_builder_add (builder, "{sv}", "env-bytes", other);
}

static void
add_text (GVariantBuilder *builder, const char *key, const char *text)
{
  if (text != NULL && g_utf8_validate (text, -1, NULL))
    g_variant_builder_add (builder, "{sv}", key, g_variant_new_string (text));
}

static void
add_preloads (GVariantBuilder *builder, DvmAppSpec *app)
{
  add_strv (builder, "preload-files", dvm_app_spec_get_preload_files (app));
  add_text (builder, "preload-dir", dvm_app_spec_get_preload_dir (app));
  if (dvm_app_spec_get_preload_binary (app))
    g_variant_builder_add (builder, "{sv}", "preload-binary", g_variant_new_boolean (TRUE));
  if (dvm_app_spec_get_session_cwd (app))
    g_variant_builder_add (builder, "{sv}", "set-cwd-to-session-dir", g_variant_new_boolean (TRUE));
}

static GVariant *
app_to_variant (DvmAppSpec *app)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  add_argv (&builder, dvm_app_spec_get_argv (app));
  if (dvm_app_spec_get_np (app) > 0)
    g_variant_builder_add (&builder, "{sv}", "np", g_variant_new_uint32 (dvm_app_spec_get_np (app)));
  add_cwd (&builder, dvm_app_spec_get_cwd (app));
  add_environment (&builder, dvm_app_spec_get_env (app));
  add_strv (&builder, "unset-env", dvm_app_spec_get_unset_env (app));
  if (dvm_app_spec_get_clear_env (app))
    g_variant_builder_add (&builder, "{sv}", "env-clear", g_variant_new_boolean (TRUE));
  add_strv (&builder, "hosts", dvm_app_spec_get_hosts (app));
  add_text (&builder, "hostfile", dvm_app_spec_get_hostfile (app));
  add_preloads (&builder, app);
  add_text (&builder, "map-by", dvm_app_spec_get_map_by (app));
  add_text (&builder, "rank-by", dvm_app_spec_get_rank_by (app));
  add_text (&builder, "bind-to", dvm_app_spec_get_bind_to (app));
  add_text (&builder, "pset", dvm_app_spec_get_pset (app));
  return g_variant_builder_end (&builder);
}

static gboolean
is_given (DvmJobSpec *self, const DvmSpecKey *key, GValue *value)
{
  GParamSpec *pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (self), key->property);

  return !g_param_value_defaults (pspec, value);
}

/* (nullable): NULL for the default, which is not sent */
static GVariant *
option_to_variant (DvmJobSpec *self, const DvmSpecKey *key)
{
  g_auto (GValue) value = G_VALUE_INIT;

  g_object_get_property (G_OBJECT (self), key->property, &value);
  switch (key->type[0])
    {
    case 's':
      if (g_value_get_string (&value) == NULL || !g_utf8_validate (g_value_get_string (&value), -1, NULL))
        return NULL;
      return g_variant_new_string (g_value_get_string (&value));
    case 'a':
      {
        char **list = g_value_get_boxed (&value);

        if (list == NULL || list[0] == NULL || !is_text ((const char *const *)list))
          return NULL;
        return g_variant_new_strv ((const char *const *)list, -1);
      }
    case 'i':
      return g_value_get_int (&value) != 0 ? g_variant_new_int32 (g_value_get_int (&value)) : NULL;
    case 'u':
      return is_given (self, key, &value) ? g_variant_new_uint32 (g_value_get_uint (&value)) : NULL;
    default:
      return g_value_get_boolean (&value) ? g_variant_new_boolean (TRUE) : NULL;
    }
}

/**
 * dvm_job_spec_to_variant:
 * @self: a job description that has been validated
 *
 * The description as the arguments of org.dvm.Manager.SubmitApps. Options that have their default are left out.
 *
 * Returns: (transfer full): a tuple of type (aa{sv}a{sv})
 * Since: 0.1
 */
GVariant *
dvm_job_spec_to_variant (DvmJobSpec *self)
{
  GVariantBuilder apps, options;
  const DvmSpecKey *keys;
  gsize n_keys;

  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  g_variant_builder_init (&apps, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < dvm_job_spec_get_n_apps (self); i++)
    g_variant_builder_add_value (&apps, app_to_variant (dvm_job_spec_get_app (self, i)));
  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  keys = _dvm_spec_get_job_keys (&n_keys);
  for (gsize i = 0; i < n_keys; i++)
    {
      GVariant *value = option_to_variant (self, &keys[i]);

      if (value != NULL)
        g_variant_builder_add (&options, "{sv}", keys[i].name, value);
    }
  return g_variant_ref_sink (g_variant_new ("(aa{sv}a{sv})", &apps, &options));
}

/* In. */

static const char *
describe_type (const char *type)
{
  static const struct
  {
    const char *type;
    const char *text;
  } descriptions[] = {
    { "b", N_ ("true or false") },
    { "s", N_ ("a text") },
    { "u", N_ ("a whole number that is not negative") },
    { "as", N_ ("a list of texts") },
    { "ay", N_ ("bytes") },
    { "aay", N_ ("a list of bytes") },
    { "a{ss}", N_ ("names with texts") },
    { "h", N_ ("a descriptor") },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (descriptions); i++)
    if (strcmp (descriptions[i].type, type) == 0)
      return _ (descriptions[i].text);
  return type;
}

static gboolean
check_type (const char *key, const char *type, GVariant *value, const char *place, GError **error)
{
  if (strcmp (g_variant_get_type_string (value), type) == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: must be of type %s (%s), not %.20s"), place, key, type,
               describe_type (type), g_variant_get_type_string (value));
  return FALSE;
}

/* The type that a key must have, NULL (with an error) if it has no place there. */
static const char *
find_type (const char *name, gboolean in_app, guint n_apps, const char *place, GError **error)
{
  static const char *const fd_keys[] = { "stdin-fd", "stdout-fd", "stderr-fd", NULL };
  const DvmSpecKey *key = in_app ? NULL : _dvm_spec_find_job_key (name);

  if (key == NULL)
    key = _dvm_spec_find_app_key (name);
  /* The bus takes the descriptors out of the message before it asks what is to run. */
  if (key == NULL && !in_app && place[0] == '\0' && g_strv_contains (fd_keys, name))
    return "h";
  if (key == NULL)
    {
      _dvm_spec_set_key_error (name, in_app, place, error);
      return NULL;
    }
  if (!in_app && (strcmp (name, "argv") == 0 || (strcmp (name, "argv-bytes") == 0 && n_apps != 1)))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%s%s: this belongs to an application, not to the options of the job"), place, name);
      return NULL;
    }
  return key->type;
}

/*
 * As g_variant_get_child() with "{&s*}", which would take this format apart for each entry: an environment has many,
 * and every job has one. The name belongs to dict.
 */
static const char *
get_entry (GVariant *dict, gsize index, GVariant **value)
{
  g_autoptr (GVariant) entry = g_variant_get_child_value (dict, index);
  g_autoptr (GVariant) name = g_variant_get_child_value (entry, 0);

  *value = g_variant_get_child_value (entry, 1);
  return g_variant_get_string (name, NULL);
}

/*
 * Returns: (transfer full): the values of dict by name; the names belong to dict. NULL (with an error) if one has no
 *   place there, has another type, or is there twice
 */
static GHashTable *
read_keys (GVariant *dict, gboolean in_app, guint n_apps, const char *place, GError **error)
{
  g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_variant_unref);

  for (gsize i = 0; i < g_variant_n_children (dict); i++)
    {
      g_autoptr (GVariant) boxed = NULL;
      g_autoptr (GVariant) value = NULL;
      const char *name = get_entry (dict, i, &boxed);
      const char *type = find_type (name, in_app, n_apps, place, error);

      value = g_variant_get_variant (boxed);
      if (type == NULL || !check_type (name, type, value, place, error))
        return NULL;
      if (!g_hash_table_insert (keys, (gpointer)name, g_steal_pointer (&value)))
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: given twice"), place, name);
          return NULL;
        }
    }
  return g_steal_pointer (&keys);
}

/* (nullable) */
static const char *
get_text (GHashTable *keys, const char *name)
{
  GVariant *value = g_hash_table_lookup (keys, name);

  return value != NULL ? g_variant_get_string (value, NULL) : NULL;
}

static gboolean
get_switch (GHashTable *keys, const char *name, gboolean *on)
{
  GVariant *value = g_hash_table_lookup (keys, name);

  if (value != NULL)
    *on = g_variant_get_boolean (value);
  return value != NULL;
}

/* (transfer container) (nullable) */
static const char **
get_list (GHashTable *keys, const char *name)
{
  GVariant *value = g_hash_table_lookup (keys, name);

  return value != NULL ? g_variant_get_strv (value, NULL) : NULL;
}

/* With or without a NUL behind it. */
static char *
get_bytes (GVariant *value, const char *key, const char *place, GError **error)
{
  gsize length;
  const char *data = g_variant_get_fixed_array (value, &length, 1);

  if (length > 0 && data[length - 1] == '\0')
    length--;
  if (length > 0 && memchr (data, '\0', length) != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%s%s: bytes with a NUL inside cannot be given to a program"), place, key);
      return NULL;
    }
  return length > 0 ? g_strndup (data, length) : g_strdup ("");
}

static gboolean
append_bytes (GPtrArray *list, GVariant *values, const char *key, const char *place, GError **error)
{
  for (gsize i = 0; i < g_variant_n_children (values); i++)
    {
      g_autoptr (GVariant) value = g_variant_get_child_value (values, i);
      char *bytes = get_bytes (value, key, place, error);

      if (bytes == NULL)
        return FALSE;
      g_ptr_array_add (list, bytes);
    }
  return TRUE;
}

static gboolean
append_environment (GPtrArray *list, GHashTable *keys, const char *place, GError **error)
{
  GVariant *texts = g_hash_table_lookup (keys, "env");
  GVariant *bytes = g_hash_table_lookup (keys, "env-bytes");

  for (gsize i = 0; texts != NULL && i < g_variant_n_children (texts); i++)
    {
      g_autoptr (GVariant) value = NULL;
      const char *name = get_entry (texts, i, &value);

      if (name[0] == '\0' || strchr (name, '=') != NULL)
        {
          g_autofree char *shown = _dvm_words_show (name);

          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       _ ("%senv: “%s” is not a name: it must not be empty or contain “=”"), place, shown);
          return FALSE;
        }
      g_ptr_array_add (list, g_strconcat (name, "=", g_variant_get_string (value, NULL), NULL));
    }
  return bytes == NULL || append_bytes (list, bytes, "env-bytes", place, error);
}

static gboolean
read_argv (DvmAppSpec *app, GHashTable *keys, const char *place, GError **error)
{
  GVariant *texts = g_hash_table_lookup (keys, "argv");
  GVariant *bytes = g_hash_table_lookup (keys, "argv-bytes");
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (g_free);
  g_autofree const char **argv = NULL;

  if (bytes == NULL)
    {
      if (texts != NULL)
        dvm_app_spec_set_argv (app, (argv = g_variant_get_strv (texts, NULL)));
      return TRUE;
    }
  if (texts != NULL && g_variant_n_children (texts) > 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%sargv-bytes: given beside argv; one of them is enough"),
                   place);
      return FALSE;
    }
  if (!append_bytes (list, bytes, "argv-bytes", place, error))
    return FALSE;
  g_ptr_array_add (list, NULL);
  dvm_app_spec_set_argv (app, (const char *const *)list->pdata);
  return TRUE;
}

static gboolean
read_np (DvmAppSpec *app, GHashTable *keys, const char *place, GError **error)
{
  GVariant *np = g_hash_table_lookup (keys, "np");

  if (np == NULL)
    return TRUE;
  if (g_variant_get_uint32 (np) == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%snp: must be at least 1, not 0"), place);
      return FALSE;
    }
  dvm_app_spec_set_np (app, g_variant_get_uint32 (np));
  return TRUE;
}

static gboolean
read_cwd (DvmAppSpec *app, GHashTable *keys, const char *place, GError **error)
{
  GVariant *bytes = g_hash_table_lookup (keys, "cwd-bytes");
  const char *text = get_text (keys, "cwd");
  g_autofree char *cwd = NULL;

  if (bytes != NULL && text != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%scwd-bytes: given beside cwd; one of them is enough"),
                   place);
      return FALSE;
    }
  if (bytes != NULL)
    {
      cwd = get_bytes (bytes, "cwd-bytes", place, error);
      if (cwd == NULL)
        return FALSE;
      text = cwd;
    }
  if (text != NULL && text[0] != '/')
    {
      g_autofree char *shown = _dvm_words_show (text);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%scwd: “%s” is not an absolute path"), place, shown);
      return FALSE;
    }
  if (text != NULL)
    dvm_app_spec_set_cwd (app, text);
  return TRUE;
}

static void
read_lists (DvmAppSpec *app, GHashTable *keys)
{
  g_autofree const char **names = get_list (keys, "unset-env");
  g_autofree const char **hosts = get_list (keys, "hosts");
  const char *hostfile = get_text (keys, "hostfile");
  gboolean clear;

  if (names != NULL)
    dvm_app_spec_set_unset_env (app, names);
  if (hosts != NULL)
    dvm_app_spec_set_hosts (app, hosts);
  if (hostfile != NULL)
    dvm_app_spec_set_hostfile (app, hostfile);
  if (get_switch (keys, "env-clear", &clear))
    dvm_app_spec_set_clear_env (app, clear);
}

static void
read_preloads (DvmAppSpec *app, GHashTable *keys)
{
  g_autofree const char **files = get_list (keys, "preload-files");
  const char *directory = get_text (keys, "preload-dir");
  gboolean value;

  if (files != NULL)
    dvm_app_spec_set_preload_files (app, files);
  if (directory != NULL)
    dvm_app_spec_set_preload_dir (app, directory);
  if (get_switch (keys, "preload-binary", &value))
    dvm_app_spec_set_preload_binary (app, value);
  if (get_switch (keys, "set-cwd-to-session-dir", &value))
    dvm_app_spec_set_session_cwd (app, value);
}

/* FALSE: it is empty, which the record would take for none. */
static gboolean
read_name (DvmAppSpec *app, const char *key, const char *text, void (*set) (DvmAppSpec *app, const char *value),
           const char *place, GError **error)
{
  if (text != NULL && text[0] == '\0')
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: must not be empty"), place, key);
      return FALSE;
    }
  if (text != NULL)
    set (app, text);
  return TRUE;
}

/*
 * The entries of this dictionary replace those that were read before, but the environment is read apart and added up.
 */
static gboolean
read_app (DvmAppSpec *app, GHashTable *keys, const char *place, GError **error)
{
  read_lists (app, keys);
  read_preloads (app, keys);
  return read_argv (app, keys, place, error) && read_np (app, keys, place, error) && read_cwd (app, keys, place, error)
         && read_name (app, "pset", get_text (keys, "pset"), dvm_app_spec_set_pset, place, error);
}

/* The policies that a program leaves out stay those of the job. */
static gboolean
read_placement (DvmAppSpec *app, GHashTable *keys, const char *place, GError **error)
{
  static const struct
  {
    const char *key;
    void (*set) (DvmAppSpec *app, const char *value);
  } words[] = {
    { "map-by", dvm_app_spec_set_map_by },
    { "rank-by", dvm_app_spec_set_rank_by },
    { "bind-to", dvm_app_spec_set_bind_to },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    if (!read_name (app, words[i].key, get_text (keys, words[i].key), words[i].set, place, error))
      return FALSE;
  return TRUE;
}

static DvmAppSpec *
app_from_keys (GHashTable *keys, GHashTable *options, const char *place, const char *app_place, GError **error)
{
  g_autoptr (DvmAppSpec) app = dvm_app_spec_new (NULL);
  g_autoptr (GPtrArray) env = g_ptr_array_new_with_free_func (g_free);

  /* The options of the job are the defaults of each application. */
  if (!read_app (app, options, place, error) || !append_environment (env, options, place, error))
    return NULL;
  if (!read_app (app, keys, app_place, error) || !append_environment (env, keys, app_place, error)
      || !read_placement (app, keys, app_place, error))
    return NULL;
  g_ptr_array_add (env, NULL);
  dvm_app_spec_set_env (app, (const char *const *)env->pdata);
  return g_steal_pointer (&app);
}

static gboolean
read_options (DvmJobSpec *self, GHashTable *options, const char *place, GError **error)
{
  gsize n_keys;
  const DvmSpecKey *all = _dvm_spec_get_job_keys (&n_keys);

  for (gsize i = 0; i < n_keys; i++)
    {
      const DvmSpecKey *key = &all[i];
      const char *name = key->name;
      GVariant *value = g_hash_table_lookup (options, name);

      if (value == NULL)
        continue;
      if (key->type[0] == 's' && g_variant_get_string (value, NULL)[0] == '\0' && strcmp (name, "name") != 0
          && strcmp (name, "label") != 0 && strcmp (name, "output") != 0 && strcmp (name, "runtime-options") != 0)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: must not be empty"), place, name);
          return FALSE;
        }
      if (strcmp (name, "session") == 0 && g_variant_get_uint32 (value) == DVM_SESSION_NONE)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       _ ("%ssession: %u stands for every session, and a job is in one"), place, DVM_SESSION_NONE);
          return FALSE;
        }
      if (key->type[0] == 's')
        g_object_set (self, key->property, g_variant_get_string (value, NULL), NULL);
      else if (key->type[0] == 'a')
        {
          g_autofree const char **list = g_variant_get_strv (value, NULL);

          g_object_set (self, key->property, list, NULL);
        }
      else if (key->type[0] == 'u')
        g_object_set (self, key->property, g_variant_get_uint32 (value), NULL);
      else if (key->type[0] == 'i')
        g_object_set (self, key->property, g_variant_get_int32 (value), NULL);
      else
        g_object_set (self, key->property, g_variant_get_boolean (value), NULL);
    }
  return TRUE;
}

DvmJobSpec *
_dvm_job_spec_new_from_variant_at (GVariant *apps, GVariant *options, const char *place, GError **error)
{
  g_autoptr (DvmJobSpec) self = dvm_job_spec_new ();
  gsize n_apps = g_variant_n_children (apps);
  g_autoptr (GHashTable) job_keys = read_keys (options, FALSE, n_apps, place, error);

  if (job_keys == NULL || !read_options (self, job_keys, place, error))
    return NULL;
  for (gsize i = 0; i < n_apps; i++)
    {
      g_autoptr (GVariant) dict = g_variant_get_child_value (apps, i);
      g_autofree char *app_place = g_strdup_printf ("%sapps[%" G_GSIZE_FORMAT "].", place, i);
      g_autoptr (GHashTable) keys = read_keys (dict, TRUE, n_apps, app_place, error);
      g_autoptr (DvmAppSpec) app = NULL;

      if (keys == NULL)
        return NULL;
      app = app_from_keys (keys, job_keys, place, app_place, error);
      if (app == NULL)
        return NULL;
      dvm_job_spec_add_app (self, app);
    }
  if (!_dvm_job_spec_validate_at (self, place, error))
    return NULL;
  return g_steal_pointer (&self);
}

/**
 * dvm_job_spec_new_from_variant:
 * @apps: a value of type aa{sv}
 * @options: a value of type a{sv}
 * @error: return location for an error
 *
 * Makes a description from the arguments of org.dvm.Manager.SubmitApps and validates it. Options of the job that an
 * application could have (np, env, cwd, hosts ...) are the defaults of every application.
 *
 * Returns: (transfer full): the description; %NULL on error: %DVM_ERROR_BAD_PARAM or %DVM_ERROR_NOT_SUPPORTED, the
 *   message names the key
 * Since: 0.1
 */
DvmJobSpec *
dvm_job_spec_new_from_variant (GVariant *apps, GVariant *options, GError **error)
{
  g_return_val_if_fail (apps != NULL && options != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!g_variant_is_of_type (apps, G_VARIANT_TYPE ("aa{sv}"))
      || !g_variant_is_of_type (options, G_VARIANT_TYPE_VARDICT))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("The applications are of type aa{sv} and the options of type a{sv}, not %.20s and %.20s"),
                   g_variant_get_type_string (apps), g_variant_get_type_string (options));
      return NULL;
    }
  return _dvm_job_spec_new_from_variant_at (apps, options, "", error);
}

DvmJobSpec *
_dvm_job_spec_new_from_submit (GVariant *argv, GVariant *options, GError **error)
{
  g_autoptr (GVariant) apps = NULL;
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("aa{sv}"));
  g_variant_builder_open (&builder, G_VARIANT_TYPE_VARDICT);
  /* Without words the program stands in argv-bytes. */
  if (g_variant_n_children (argv) > 0)
    g_variant_builder_add (&builder, "{sv}", "argv", argv);
  g_variant_builder_close (&builder);
  apps = g_variant_ref_sink (g_variant_builder_end (&builder));
  if (g_variant_n_children (argv) > 0)
    {
      g_autoptr (GVariant) bytes = g_variant_lookup_value (options, "argv-bytes", NULL);

      if (bytes != NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       _ ("argv-bytes: given beside argv; one of them is enough"));
          return NULL;
        }
    }
  return _dvm_job_spec_new_from_variant_at (apps, options, "", error);
}
