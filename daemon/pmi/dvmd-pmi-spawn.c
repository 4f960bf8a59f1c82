/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A job that a rank wants, in lines of PMI-1.
 */

#include "config.h"

#include "dvmd-pmi-spawn.h"

#include <string.h>

#include "dvmd-pmi-table.h"

/* The memory of a line besides its text. */
#define LINE_SIZE 64

struct _DvmdPmiSpawnReader
{
  DvmdPmiSpawn spawn;
  GHashTable *fields; /* (nullable): name -> value, of the command that is being read */
  gsize size;         /* of all lines so far */
  guint n_commands;   /* that have ended */
  guint n_expected;   /* known with the first one */
  char *failure;      /* (nullable) */
};

static void
app_free (gpointer data)
{
  DvmdPmiSpawnApp *self = data;

  g_free (self->program);
  g_ptr_array_unref (self->args);
  g_ptr_array_unref (self->info);
  g_free (self);
}

DvmdPmiSpawnReader *
dvmd_pmi_spawn_reader_new (void)
{
  DvmdPmiSpawnReader *self = g_new0 (DvmdPmiSpawnReader, 1);

  self->spawn.apps = g_ptr_array_new_with_free_func (app_free);
  self->spawn.preput = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
dvmd_pmi_spawn_reader_free (DvmdPmiSpawnReader *self)
{
  g_clear_pointer (&self->fields, g_hash_table_unref);
  g_ptr_array_unref (self->spawn.apps);
  g_ptr_array_unref (self->spawn.preput);
  g_free (self->failure);
  g_free (self);
}

const DvmdPmiSpawn *
dvmd_pmi_spawn_reader_get (const DvmdPmiSpawnReader *self)
{
  return &self->spawn;
}

const char *
dvmd_pmi_spawn_reader_get_failure (const DvmdPmiSpawnReader *self)
{
  return self->failure;
}

/* what: of the command; the first failure is told */
static gboolean
fail (DvmdPmiSpawnReader *self, const char *what, const char *how)
{
  if (self->failure == NULL)
    self->failure = g_strconcat (what, how, NULL);
  return FALSE;
}

static gboolean
read_number (DvmdPmiSpawnReader *self, const char *name, guint min, guint max, guint *number)
{
  const char *text = g_hash_table_lookup (self->fields, name);
  guint64 value;

  if (text == NULL)
    return fail (self, name, "_is_missing");
  if (min > max || !g_ascii_string_to_unsigned (text, 10, min, max, &value, NULL))
    return fail (self, name, "_is_out_of_range");
  *number = (guint)value;
  return TRUE;
}

/* The name has a number in it. */
static gboolean
read_text (DvmdPmiSpawnReader *self, const char *prefix, guint number, GPtrArray *list)
{
  g_autofree char *name = g_strdup_printf ("%s%u", prefix, number);
  const char *text = g_hash_table_lookup (self->fields, name);

  if (text == NULL)
    return fail (self, name, "_is_missing");
  g_ptr_array_add (list, g_strdup (text));
  return TRUE;
}

/* A count that is too large finds the first text that is not there. */
static gboolean
read_args (DvmdPmiSpawnReader *self, GPtrArray *args)
{
  guint n;

  if (!read_number (self, "argcnt", 0, G_MAXINT, &n))
    return FALSE;
  for (guint i = 1; i <= n; i++)
    if (!read_text (self, "arg", i, args))
      return FALSE;
  return TRUE;
}

static gboolean
read_pairs (DvmdPmiSpawnReader *self, const char *count, const char *key, const char *value, GPtrArray *pairs)
{
  guint n = 0;

  if (g_hash_table_contains (self->fields, count) && !read_number (self, count, 0, G_MAXINT, &n))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!read_text (self, key, i, pairs) || !read_text (self, value, i, pairs))
      return FALSE;
  return TRUE;
}

static gboolean
read_app (DvmdPmiSpawnReader *self, DvmdPmiSpawnApp *app)
{
  const char *program = g_hash_table_lookup (self->fields, "execname");
  guint number = self->n_commands;

  if (g_hash_table_contains (self->fields, "spawnssofar")
      && !read_number (self, "spawnssofar", self->n_commands, self->n_commands, &number))
    return FALSE;
  if (program == NULL || program[0] == '\0')
    return fail (self, "execname", "_is_missing");
  app->program = g_strdup (program);
  if (!read_number (self, "nprocs", 1, G_MAXINT - self->spawn.n_procs, &app->n_procs))
    return FALSE;
  self->spawn.n_procs += app->n_procs;
  return read_args (self, app->args) && read_pairs (self, "info_num", "info_key_", "info_val_", app->info);
}

/* Libraries say it again with each application. */
static gboolean
read_preput (DvmdPmiSpawnReader *self)
{
  GPtrArray *preput = self->spawn.preput;

  if (!read_pairs (self, "preput_num", "preput_key_", "preput_val_", preput))
    return FALSE;
  for (guint i = 0; i < preput->len; i += 2)
    if (dvmd_pmi_table_check (preput->pdata[i], preput->pdata[i + 1]) != DVMD_PMI_PUT)
      return fail (self, "preput", "_is_out_of_range");
  return TRUE;
}

static void
read_command (DvmdPmiSpawnReader *self)
{
  DvmdPmiSpawnApp *app = g_new0 (DvmdPmiSpawnApp, 1);

  app->args = g_ptr_array_new_with_free_func (g_free);
  app->info = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (self->spawn.apps, app);
  if (read_app (self, app) && self->n_commands == 1)
    read_preput (self);
}

static DvmdPmiSpawnStep
end_command (DvmdPmiSpawnReader *self)
{
  self->n_commands++;
  /* How many commands follow is not known then: what comes is another request. */
  if (self->n_commands == 1 && !read_number (self, "totspawns", 1, DVMD_PMI_SPAWN_MAX_APPS, &self->n_expected))
    self->n_expected = 1;
  if (self->failure == NULL)
    read_command (self);
  g_clear_pointer (&self->fields, g_hash_table_unref);
  if (self->n_commands < self->n_expected)
    return DVMD_PMI_SPAWN_MORE;
  return self->failure != NULL ? DVMD_PMI_SPAWN_REFUSED : DVMD_PMI_SPAWN_READ;
}

/* Of one that is refused anyway nothing is kept but how many commands there are. */
static void
add_field (DvmdPmiSpawnReader *self, const char *line)
{
  const char *value = strchr (line, '=');

  if (value == NULL || value == line)
    fail (self, "a_line", "_has_no_name");
  else if (self->failure == NULL || g_str_has_prefix (line, "totspawns="))
    {
      g_hash_table_replace (self->fields, g_strndup (line, (gsize)(value - line)), g_strdup (value + 1));
      self->size += strlen (line) + LINE_SIZE;
    }
  if (self->size > DVMD_PMI_SPAWN_LIMIT)
    fail (self, "the_request", "_is_too_long");
}

DvmdPmiSpawnStep
dvmd_pmi_spawn_reader_take_line (DvmdPmiSpawnReader *self, const char *line)
{
  gboolean begins = g_str_equal (line, "mcmd=spawn");

  if (begins != (self->fields == NULL) || g_str_has_prefix (line, "cmd="))
    return DVMD_PMI_SPAWN_NO_SENSE;
  if (begins)
    self->fields = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  else if (g_str_equal (line, "endcmd"))
    return end_command (self);
  else
    add_field (self, line);
  return DVMD_PMI_SPAWN_MORE;
}
