/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ten thousand rows are compared by their revisions each time, and written only where they have changed.
 */

#include "config.h"

#include "dvm-cli-web-state.h"

#include "dvm-cli-json.h"
#include "dvm-cli-records.h"

/* As long is a whole state as good as a new one, if nothing has changed: a crowd of readers is served by one. */
#define KEEP_TIME G_USEC_PER_SEC

struct _DvmCliWebState
{
  DvmCliWatchModel *model;
  GHashTable *told[DVM_CLI_WATCH_N_PANELS]; /* id -> revision, of the rows that readers have */
  char *dvm;                                /* (nullable): that they have */
  GBytes *whole;                            /* (nullable) */
  gint64 whole_at;
};

DvmCliWebState *
dvm_cli_web_state_new (DvmCliWatchModel *model)
{
  DvmCliWebState *self = g_new0 (DvmCliWebState, 1);

  self->model = model;
  for (guint i = 0; i < DVM_CLI_WATCH_N_PANELS; i++)
    self->told[i] = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  return self;
}

void
dvm_cli_web_state_free (DvmCliWebState *self)
{
  for (guint i = 0; i < DVM_CLI_WATCH_N_PANELS; i++)
    g_hash_table_unref (self->told[i]);
  g_clear_pointer (&self->whole, g_bytes_unref);
  g_free (self->dvm);
  g_free (self);
}

/* ---- which rows ---- */

static void
add_rows (DvmCliWebState *self, DvmCliWatchPanel panel, gboolean ended, GPtrArray *rows)
{
  const DvmCliWatchRow *row;

  for (guint i = dvm_cli_watch_model_count_shown (self->model, panel); i > 0 && rows->len < DVM_CLI_WEB_MAX_ROWS; i--)
    {
      row = dvm_cli_watch_model_get (self->model, panel, i - 1);
      if ((row->ended_at != 0) == ended)
        g_ptr_array_add (rows, (gpointer)row);
    }
}

/* (transfer container) (element-type DvmCliWatchRow) */
static GPtrArray *
choose_rows (DvmCliWebState *self, DvmCliWatchPanel panel)
{
  GPtrArray *rows = g_ptr_array_new ();

  add_rows (self, panel, FALSE, rows);
  add_rows (self, panel, TRUE, rows);
  return rows;
}

/* ---- JSON ---- */

static void
append_text (GString *json, const char *key, const char *text)
{
  g_string_append_printf (json, "\"%s\":", key);
  if (text != NULL)
    dvm_cli_json_append_string (json, text);
  else
    g_string_append (json, "null");
  g_string_append_c (json, ',');
}

/* (transfer full): its numbers, whole also where not all rows are sent */
static char *
describe_dvm (DvmCliWebState *self, const DvmCliWebFacts *facts)
{
  GVariant *info = dvm_cli_watch_model_get_info (self->model);
  GString *json = g_string_new ("{");
  gboolean ready = FALSE;
  guint64 started_at = 0;

  if (info != NULL)
    {
      g_variant_lookup (info, "Ready", "b", &ready);
      g_variant_lookup (info, "StartedAt", "t", &started_at);
    }
  append_text (json, "name", facts->name);
  g_string_append_printf (json, "\"connected\":%s,\"ready\":%s,", facts->connected ? "true" : "false",
                          ready ? "true" : "false");
  append_text (json, "problem", facts->problem);
  append_text (json, "version", info != NULL ? dvm_cli_lookup_text (info, "Version") : "");
  append_text (json, "namespace", info != NULL ? dvm_cli_lookup_text (info, "Namespace") : "");
  g_string_append_printf (json, "\"started-at\":%" G_GUINT64_FORMAT ",", started_at / G_USEC_PER_SEC);
  for (DvmCliWatchPanel panel = 0; panel < DVM_CLI_WATCH_N_PANELS; panel++)
    g_string_append_printf (json, "\"%s\":%u,", dvm_cli_watch_panel_name (panel),
                            dvm_cli_watch_model_count (self->model, panel));
  dvm_cli_watch_model_append_dvm (self->model, json);
  g_string_append_c (json, '}');
  return g_string_free (json, FALSE);
}

/* rows: those that are to be in it */
static void
append_rows (GString *json, DvmCliWatchPanel panel, GPtrArray *rows)
{
  g_string_append_printf (json, ",\"%s\":[", dvm_cli_watch_panel_name (panel));
  for (guint i = 0; i < rows->len; i++)
    {
      g_string_append (json, i > 0 ? "," : "");
      dvm_cli_watch_append_row (json, panel, rows->pdata[i], 0);
    }
  g_string_append_c (json, ']');
}

static GString *
begin_object (gint64 now, const char *dvm)
{
  GString *json = g_string_new (NULL);

  g_string_append_printf (json, "{\"time\":%" G_GINT64_FORMAT ".%03d", now / G_USEC_PER_SEC,
                          (int)(now % G_USEC_PER_SEC / 1000));
  if (dvm != NULL)
    g_string_append_printf (json, ",\"dvm\":%s", dvm);
  return json;
}

static GBytes *
end_object (GString *json)
{
  g_string_append_c (json, '}');
  return g_string_free_to_bytes (json);
}

/* ---- what has changed ---- */

/* (transfer container) (element-type DvmCliWatchRow): those of rows that readers do not have so */
static GPtrArray *
tell_rows (DvmCliWebState *self, DvmCliWatchPanel panel, GPtrArray *rows)
{
  GPtrArray *changed = g_ptr_array_new ();

  for (guint i = 0; i < rows->len; i++)
    {
      const DvmCliWatchRow *row = rows->pdata[i];
      guint64 *told = g_hash_table_lookup (self->told[panel], GUINT_TO_POINTER (row->id));

      if (told != NULL && *told == row->revision)
        continue;
      g_ptr_array_add (changed, (gpointer)row);
      if (told == NULL)
        g_hash_table_insert (self->told[panel], GUINT_TO_POINTER (row->id),
                             g_memdup2 (&row->revision, sizeof row->revision));
      else
        *told = row->revision;
    }
  return changed;
}

/* (transfer full): ids that readers have, and that rows have not any more */
static GArray *
forget_rows (DvmCliWebState *self, DvmCliWatchPanel panel, GPtrArray *rows)
{
  g_autoptr (GHashTable) left = NULL;
  GArray *gone = g_array_new (FALSE, FALSE, sizeof (guint));
  GHashTableIter iter;
  gpointer key;

  /* All of rows are among those that were told. */
  if (g_hash_table_size (self->told[panel]) == rows->len)
    return gone;
  left = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < rows->len; i++)
    g_hash_table_add (left, GUINT_TO_POINTER (((const DvmCliWatchRow *)rows->pdata[i])->id));
  g_hash_table_iter_init (&iter, self->told[panel]);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (!g_hash_table_contains (left, key))
      {
        guint id = GPOINTER_TO_UINT (key);

        g_array_append_val (gone, id);
        g_hash_table_iter_remove (&iter);
      }
  return gone;
}

static void
append_gone (GString *json, DvmCliWatchPanel panel, GArray *ids, gboolean is_first)
{
  g_string_append_printf (json, "%s\"%s\":[", is_first ? "" : ",", dvm_cli_watch_panel_name (panel));
  for (guint i = 0; i < ids->len; i++)
    g_string_append_printf (json, "%s%u", i > 0 ? "," : "", g_array_index (ids, guint, i));
  g_string_append_c (json, ']');
}

/* FALSE: readers have the rows of the panel */
static gboolean
append_changes (DvmCliWebState *self, DvmCliWatchPanel panel, GString *json, GString *gone)
{
  g_autoptr (GPtrArray) rows = choose_rows (self, panel);
  g_autoptr (GPtrArray) changed = tell_rows (self, panel, rows);
  g_autoptr (GArray) ids = forget_rows (self, panel, rows);

  if (changed->len > 0)
    append_rows (json, panel, changed);
  if (ids->len > 0)
    append_gone (gone, panel, ids, gone->len == 0);
  return changed->len > 0 || ids->len > 0;
}

GBytes *
dvm_cli_web_state_update (DvmCliWebState *self, const DvmCliWebFacts *facts, gint64 now)
{
  g_autofree char *dvm = describe_dvm (self, facts);
  gboolean same = g_strcmp0 (dvm, self->dvm) == 0;
  g_autoptr (GString) gone = g_string_new (NULL);
  GString *json = begin_object (now, same ? NULL : dvm);

  for (DvmCliWatchPanel panel = 0; panel < DVM_CLI_WATCH_N_PANELS; panel++)
    same = !append_changes (self, panel, json, gone) && same;
  if (same)
    {
      g_string_free (json, TRUE);
      return NULL;
    }
  g_clear_pointer (&self->whole, g_bytes_unref);
  g_free (self->dvm);
  self->dvm = g_steal_pointer (&dvm);
  if (gone->len > 0)
    g_string_append_printf (json, ",\"gone\":{%s}", gone->str);
  return end_object (json);
}

GBytes *
dvm_cli_web_state_get (DvmCliWebState *self, const DvmCliWebFacts *facts, gint64 now)
{
  g_autofree char *dvm = NULL;
  GString *json;

  if (self->whole != NULL && now >= self->whole_at && now - self->whole_at < KEEP_TIME)
    return g_bytes_ref (self->whole);
  dvm = describe_dvm (self, facts);
  json = begin_object (now, dvm);
  for (DvmCliWatchPanel panel = 0; panel < DVM_CLI_WATCH_N_PANELS; panel++)
    {
      g_autoptr (GPtrArray) rows = choose_rows (self, panel);

      append_rows (json, panel, rows);
    }
  g_clear_pointer (&self->whole, g_bytes_unref);
  self->whole = end_object (json);
  self->whole_at = now;
  return g_bytes_ref (self->whole);
}
