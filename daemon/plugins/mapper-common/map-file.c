/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that name the node of each process, and its cpus: what rankfiles and sequences have in common.
 */

#include "config.h"

#include "map-file.h"

#include <string.h>

#include "map-plan.h"
#include "map-words.h"

/* Besides the last file others are kept while all texts together have so many bytes at most. */
#define KEPT_BYTES (4 * 1024 * 1024)

/* A file as it was read. */
typedef struct
{
  char *text;
  char *name;
  gsize length;
  GArray *lines; /* DvmdMapLine */
} File;

static void
file_free (gpointer data)
{
  File *self = data;

  g_free (self->text);
  g_free (self->name);
  g_array_unref (self->lines);
  g_free (self);
}

static void
line_clear (gpointer data)
{
  DvmdMapLine *self = data;

  g_free (self->host);
  g_free (self->place);
  g_free (self->text);
  g_clear_pointer (&self->cpus, g_array_unref);
}

static gboolean
add_line (GArray *lines, const char *name, guint number, char *text, DvmdMapReadLine read, GError **error)
{
  char *comment = strchr (text, '#');
  DvmdMapLine *line;

  if (comment != NULL)
    *comment = '\0';
  if (g_strstrip (text)[0] == '\0')
    return TRUE;
  g_array_set_size (lines, lines->len + 1);
  line = &g_array_index (lines, DvmdMapLine, lines->len - 1);
  line->place = g_strdup_printf ("%s:%u", name, number);
  line->rank = lines->len - 1;
  return read (line, text, error);
}

/* (transfer full) (nullable) */
static GArray *
read_lines (const char *text, const char *name, DvmdMapReadLine read, GError **error)
{
  g_autoptr (GArray) lines = g_array_new (FALSE, TRUE, sizeof (DvmdMapLine));
  g_auto (GStrv) texts = g_strsplit (text, "\n", -1);

  g_array_set_clear_func (lines, line_clear);
  for (guint i = 0; texts[i] != NULL; i++)
    if (!add_line (lines, name, i + 1, texts[i], read, error))
      return NULL;
  return g_steal_pointer (&lines);
}

DvmdMapFiles *
dvmd_map_files_new (void)
{
  return g_ptr_array_new_with_free_func (file_free);
}

/* (transfer full) (nullable): it becomes the last one */
static GArray *
find_lines (DvmdMapFiles *self, const char *text, const char *name)
{
  for (guint i = 0; i < self->len; i++)
    {
      File *file = self->pdata[i];

      if (strcmp (file->text, text) != 0 || strcmp (file->name, name) != 0)
        continue;
      g_ptr_array_insert (self, 0, g_ptr_array_steal_index (self, i));
      return g_array_ref (file->lines);
    }
  return NULL;
}

static void
keep_lines (DvmdMapFiles *self, const char *text, const char *name, GArray *lines)
{
  File *file = g_new (File, 1);
  gsize length = strlen (text);

  *file = (File){ g_strdup (text), g_strdup (name), length, g_array_ref (lines) };
  g_ptr_array_insert (self, 0, file);
  for (guint i = 1; i < self->len; i++)
    {
      length += ((File *)self->pdata[i])->length;
      if (length > KEPT_BYTES)
        g_ptr_array_set_size (self, (int)i);
    }
}

/* (nullable): the first line that names cpus, or names none */
static const DvmdMapLine *
find_line (GArray *lines, gboolean with_cpus)
{
  for (guint i = 0; i < lines->len; i++)
    if ((g_array_index (lines, DvmdMapLine, i).cpus != NULL) == with_cpus)
      return &g_array_index (lines, DvmdMapLine, i);
  return NULL;
}

/*
 * A process whose cpus a line names is bound to these, and to no object around them. One without would be bound to
 * cpus that another line names.
 */
static gboolean
check_binding (const DvmdMapRequest *request, GArray *lines, GError **error)
{
  const DvmdMapLine *with = find_line (lines, TRUE);
  const DvmdMapLine *without = find_line (lines, FALSE);

  if (with == NULL || request->bind_to <= DVMD_BIND_TO_NONE)
    return TRUE;
  if (!request->bind_is_default && request->bind_to > DVMD_BIND_TO_CORE)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "bind-to: “%s” contradicts “%s” at %s, which names the cpus %s for a process: it can be core, "
                 "hwthread or none",
                 dvmd_map_words_name_kind (dvmd_map_words_kind_of (request->bind_to)), request->word, with->place,
                 with->text);
  else if (without != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "%s: no cpus are named here, but at %s there are: let all lines name them, or none, or bind no "
                 "process (bind-to none)",
                 without->place, with->place);
  else
    return TRUE;
  return FALSE;
}

GArray *
dvmd_map_files_read (DvmdMapFiles *self, const DvmdMapRequest *request, DvmdMapReadLine read, GError **error)
{
  const char *name = request->file_name != NULL ? request->file_name : "file";
  GArray *lines;

  if (request->file == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "map-by: “%s” is without its file: it is written %s:file=PATH", request->word, request->word);
      return NULL;
    }
  lines = find_lines (self, request->file, name);
  if (lines == NULL)
    {
      lines = read_lines (request->file, name, read, error);
      if (lines != NULL)
        keep_lines (self, request->file, name, lines);
    }
  if (lines == NULL || check_binding (request, lines, error))
    return lines;
  g_array_unref (lines);
  return NULL;
}

gboolean
dvmd_map_line_set_cpus (DvmdMapLine *line, const char *text, GError **error)
{
  line->text = g_strdup (text);
  line->cpus = dvmd_cpu_list_parse (text, line->place, error);
  return line->cpus != NULL;
}

void
dvmd_map_file_count (const DvmdMapRequest *request, guint32 n_lines, guint32 *app_np)
{
  for (guint app = 0; app < request->n_apps; app++)
    n_lines -= MIN (n_lines, app_np[app]);
  for (guint app = 0; app < request->n_apps; app++)
    if (app_np[app] == 0)
      {
        app_np[app] = n_lines;
        n_lines = 0;
      }
}

/* ---- placing ---- */

static void
add_name (GHashTable *names, char *name, guint node)
{
  if (g_hash_table_contains (names, name))
    g_free (name);
  else
    g_hash_table_insert (names, name, GUINT_TO_POINTER (node + 1));
}

/* A file may have a million lines, and the job ten thousand nodes. */
static void
list_names (DvmdFilePlan *self)
{
  self->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->domains = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < self->request->n_nodes; i++)
    {
      const char *name = self->request->nodes[i].name;
      gsize length = strcspn (name, ".");

      add_name (self->names, g_ascii_strdown (name, -1), i);
      if (name[length] != '\0')
        add_name (self->domains, g_ascii_strdown (name, (gssize)length), i);
    }
  /* Names come before aliases. */
  for (guint i = 0; i < self->request->n_nodes; i++)
    for (const char *const *alias = self->request->nodes[i].aliases; alias != NULL && *alias != NULL; alias++)
      add_name (self->names, g_ascii_strdown (*alias, -1), i);
}

void
dvmd_file_plan_init (DvmdFilePlan *self, const DvmdMapRequest *request, DvmdPlacement *placement)
{
  *self = (DvmdFilePlan){ .request = request, .placement = placement };
  self->counts = g_new0 (guint32, request->n_nodes);
  self->app_counts = g_new0 (guint32, request->n_nodes);
  list_names (self);
  self->app_end = request->app_np[0];
  dvmd_cpu_ledger_init (&self->ledger);
}

void
dvmd_file_plan_clear (DvmdFilePlan *self)
{
  g_clear_pointer (&self->counts, g_free);
  g_clear_pointer (&self->app_counts, g_free);
  g_clear_pointer (&self->names, g_hash_table_unref);
  g_clear_pointer (&self->domains, g_hash_table_unref);
  dvmd_cpu_ledger_clear (&self->ledger);
}

/* n_nodes: there is none. "n7" is "n7.cluster": the DVM has one of both. */
static guint
find_node (const DvmdFilePlan *self, const char *host)
{
  g_autofree char *name = g_ascii_strdown (host, -1);
  char *dot = strchr (name, '.');
  guint64 index;
  gpointer found;

  if (g_str_has_prefix (name, "+n") && g_ascii_string_to_unsigned (name + 2, 10, 0, G_MAXUINT32, &index, NULL))
    return (guint)MIN (index, self->request->n_nodes);
  found = g_hash_table_lookup (self->names, name);
  if (found == NULL && dot == NULL)
    found = g_hash_table_lookup (self->domains, name);
  if (found == NULL && dot != NULL)
    {
      *dot = '\0';
      found = g_hash_table_lookup (self->names, name);
    }
  return found != NULL ? GPOINTER_TO_UINT (found) - 1 : self->request->n_nodes;
}

static gboolean
take_node (DvmdFilePlan *self, const DvmdMapLine *line, guint *node, GError **error)
{
  const DvmdMapRequest *request = self->request;
  guint32 most;

  *node = find_node (self, line->host);
  if (*node == request->n_nodes)
    {
      g_autofree char *nodes = dvmd_map_words_show_nodes (request);

      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%s: “%s” is %s %s%s", line->place, line->host,
                   request->n_nodes == 1 ? "not" : "none of", nodes, line->host[0] == '+' ? ": the first is +n0" : "");
      return FALSE;
    }
  most = request->oversubscribe ? request->nodes[*node].most : request->nodes[*node].limit;
  if (++self->counts[*node] <= most)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "%s: node %s takes %u process%s of the job, and this is one more", line->place,
               request->nodes[*node].name, most, most == 1 ? "" : "es");
  return FALSE;
}

/* A node may be for some programs of a job, or take so many of one. */
static gboolean
take_for_app (DvmdFilePlan *self, const DvmdMapLine *line, guint node, GError **error)
{
  const DvmdMapRequest *request = self->request;
  guint32 limit = dvmd_map_plan_app_limit (request, self->app, node);

  if (limit > 0 && (++self->app_counts[node] <= limit || request->oversubscribe))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "%s: node %s takes %u process%s of this program of the job, and this is one more", line->place,
               request->nodes[node].name, limit, limit == 1 ? "" : "es");
  return FALSE;
}

/* An object says the same as its cpus, and makes the map smaller. */
static void
set_cpus (const DvmdMapRequest *request, const DvmdCpuChoice *choice, DvmdPlacementRun *run)
{
  DvmdObjectKind unit = dvmd_cpu_list_kind (request->nodes[run->node].topology, request->cpus);
  DvmdBindTo bound = unit == DVMD_OBJECT_CORE ? DVMD_BIND_TO_CORE : DVMD_BIND_TO_HWTHREAD;

  if (choice->n_units != 1 || request->bind_to != bound)
    {
      run->cpus = choice->cpus;
      return;
    }
  run->kind = unit;
  run->object = choice->unit;
}

gboolean
dvmd_file_plan_place (DvmdFilePlan *self, guint32 rank, const DvmdMapLine *line, GError **error)
{
  const DvmdMapRequest *request = self->request;
  g_auto (DvmdCpuChoice) choice = { 0 };
  DvmdPlacementRun run = { .first_rank = rank, .count = 1, .stride = 1 };

  for (; rank >= self->app_end && self->app + 1 < request->n_apps; self->app_end += request->app_np[self->app])
    {
      self->app++;
      memset (self->app_counts, 0, request->n_nodes * sizeof (guint32));
    }
  run.app = self->app;
  if (!take_node (self, line, &run.node, error) || !take_for_app (self, line, run.node, error))
    return FALSE;
  if (line->cpus != NULL && request->bind_to > DVMD_BIND_TO_NONE)
    {
      const DvmdMapNode *node = &request->nodes[run.node];

      if (!dvmd_cpu_list_choose (line->cpus, node, request->cpus, line->place, &choice, error))
        return FALSE;
      if (!dvmd_cpu_ledger_take (&self->ledger, node, run.node, choice.cpus)
          && (request->bind_flags & DVMD_BIND_OVERLOAD) == 0)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                       "%s: one of the cpus %s of node %s has a process already: bind-to %s:overload-allowed would "
                       "let them share it",
                       line->place, line->text, node->name,
                       dvmd_map_words_name_kind (dvmd_map_words_kind_of (request->bind_to)));
          return FALSE;
        }
      set_cpus (request, &choice, &run);
    }
  dvmd_placement_add_run (self->placement, &run);
  return TRUE;
}
