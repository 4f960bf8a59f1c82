/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where a widely used launcher puts and binds processes, measured on machines that are not there (placements.tsv), is
 * where we put and bind them; where that is wrong, differences say why. An argument chooses one row and prints it.
 */

#include "config.h"

#include <stdio.h>
#include <string.h>

#include "dvm-hosts-private.h"
#include "dvmd-plugins.h"
#include "offline-job.h"

enum
{
  COLUMN_ID,
  COLUMN_TOPOLOGY,
  COLUMN_NODES,
  COLUMN_ARGUMENTS,
  COLUMN_NP,
  COLUMN_EXPECTED,
  N_COLUMNS
};

/* Rows in which the measured answer is wrong, with what is right. */
static const struct
{
  const char *id;
  const char *right;
  const char *reason;
} differences[] = {
  { "hf07", "0:1:0-1 1:1:2-3",
    "a host that a list chooses from a hostfile keeps its slots and its place there, where it is not said otherwise" },
  { "lim06", "0:0:0-15 1:0:0-15 2:0:16-31 3:0:16-31 4:1:0-15 5:1:0-15 6:1:16-31",
    "a limit is one of each object, also where nodes are alike" },
  { "pet06", "0:0:0-15 1:0:16-31 2:0:0-15",
    "processes of several cpus may share them, too, where overload is allowed" },
  { "pel05", "0:0:0,8 1:0:1,9 2:0:2,10 3:0:3,11",
    "programs of a job share no cpu that nobody has allowed them to share" },
  { "pel06", "0:0:- 1:0:-", "the list says on how many cpus a node has processes, bound or not" },
  { "rkf04", "0:0:0 1:1:0", "lines without cpus say nothing of the binding: it is that of any job" },
  { "rkf05", "0:1:0-1 1:0:4-7 2:2:2-3,8-9 3:1:10-11", "who names the cpus of a process wants it to be there" },
  { "seq06", "0:1:0-15 1:0:0-15 2:1:0-15 3:2:0-15", "each line is for one process" },
  { "prg04", "0:0:- 1:0:- 2:0:- 3:0:- 4:1:- 5:1:- 6:1:- 7:1:- 8:2:-", "slots that are free come first" },
  { "dfl01", "0:0:0 1:0:1 2:0:2", "a hardware thread is a cpu there" },
  { "dfl02", "0:0:- 1:1:- 2:1:- 3:1:- 4:1:- 5:1:- 6:1:- 7:1:- 8:2:-", "all processes of a job are bound, or none is" },
  { "dfl03", "0:0:- 1:0:- 2:0:- 3:0:- 4:0:- 5:0:- 6:0:-", "if-supported says that the job can do without" },
  { "dfl04", "ERROR", "words do not contradict each other on some machines alone" },
  { "dfl05", "0:0:0-9 1:0:16-25", "a job without a number is as large as there is room" },
  { NULL, NULL, NULL },
};

typedef struct
{
  OfflineJob job;
  GPtrArray *own;   /* what the wishes borrow */
  DvmHosts *file;   /* (nullable) */
  GPtrArray *lists; /* per application: "head:2,n001", or NULL */
} Row;

static void
row_clear (Row *self)
{
  offline_job_clear (&self->job);
  g_clear_pointer (&self->own, g_ptr_array_unref);
  g_clear_pointer (&self->file, _dvm_hosts_free);
  g_clear_pointer (&self->lists, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Row, row_clear)

static char *
path_of (const char *name)
{
  const char *base = g_str_has_prefix (name, "files/") ? name + strlen ("files/") : name;

  return g_test_build_filename (G_TEST_DIST, "placements-files", base, NULL);
}

/* ---- arguments ---- */

static void
read_map_by (Row *self, const char *text)
{
  const char *file = strstr (text, "FILE=");

  self->job.wishes.map_by = text;
  self->job.oversubscribe = strstr (text, ":OVERSUBSCRIBE") != NULL;
  if (file != NULL)
    {
      g_autofree char *name = g_strndup (file + 5, strcspn (file + 5, ":"));
      g_autofree char *path = path_of (name);
      char *content = NULL;
      g_autoptr (GError) error = NULL;

      g_file_get_contents (path, &content, NULL, &error);
      g_assert_no_error (error);
      g_ptr_array_add (self->own, content);
      self->job.wishes.file = content;
      self->job.wishes.file_name = text;
    }
}

static void
read_hostfile (Row *self, const char *name)
{
  g_autofree char *path = path_of (name);
  g_autoptr (GError) error = NULL;

  self->file = _dvm_hosts_new ();
  _dvm_hosts_add_file (self->file, path, NULL, &error);
  g_assert_no_error (error);
}

static void
read_option (Row *self, const char *option, const char *value)
{
  guint last = self->job.app_np->len - 1;

  if (strcmp (option, "--map-by") == 0)
    read_map_by (self, value);
  else if (strcmp (option, "--rank-by") == 0)
    self->job.wishes.rank_by = value;
  else if (strcmp (option, "--bind-to") == 0)
    self->job.wishes.bind_to = value;
  else if (strcmp (option, "-np") == 0)
    g_array_index (self->job.app_np, guint32, last) = (guint32)atoi (value);
  else if (strcmp (option, "--host") == 0)
    self->lists->pdata[last] = (char *)value;
  else if (strcmp (option, "--hostfile") == 0)
    read_hostfile (self, value);
  else
    g_error ("%s is not known here", option);
}

static void
add_app (Row *self)
{
  const guint32 none = 0;

  g_array_append_val (self->job.app_np, none);
  g_ptr_array_add (self->lists, NULL);
}

static void
read_arguments (Row *self, const char *text, const char *np)
{
  char **words = g_strsplit (text, " ", -1);

  for (gsize i = 0; words[i] != NULL; i++)
    g_ptr_array_add (self->own, words[i]);
  add_app (self);
  if (strcmp (np, "-") != 0)
    g_array_index (self->job.app_np, guint32, 0) = (guint32)atoi (np);
  for (gsize i = 0; words[i] != NULL; i++)
    if (words[i][0] == '-')
      {
        read_option (self, words[i], words[i + 1]);
        i++;
      }
    else if (strcmp (words[i], ":") == 0)
      add_app (self);
  g_free (words);
}

/* ---- nodes ---- */

static const char *const names[] = { "head", "n001", "n002" };

/* The topology of a node: "A: T", or "A,A,C: T | T | T". */
static char *
topology_of (const char *column, guint node)
{
  const char *text = strchr (column, ':') + 1;
  g_auto (GStrv) parts = g_strsplit (text, " | ", -1);
  guint n = g_strv_length (parts);

  return g_strdup (g_strstrip (parts[MIN (node, n - 1)]));
}

static void
add_node (Row *self, const char *topology, guint index, guint slots)
{
  g_autofree char *synthetic = topology_of (topology, index);

  offline_job_add_node (&self->job, names[index], synthetic, slots)->is_local = index == 0;
}

/* "3x16, head n001 n002" or "head:16 n001:16 n002:6 (DVM)" */
static void
add_nodes (Row *self, const char *topology, const char *column)
{
  guint n;
  guint slots;

  if (sscanf (column, "%ux%u", &n, &slots) == 2)
    {
      for (guint i = 0; i < n; i++)
        add_node (self, topology, i, slots);
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const char *found = strstr (column, names[i]);

      if (found != NULL)
        add_node (self, topology, i, (guint)atoi (found + strlen (names[i]) + 1));
    }
}

static guint
index_of (const char *name)
{
  guint i = 0;

  while (strcmp (names[i], name) != 0)
    i++;
  return i;
}

/* The nodes that hosts and hostfile name, in their order. */
static void
add_hosts (Row *self, const char *topology)
{
  g_autoptr (DvmHosts) list = _dvm_hosts_new ();
  g_autoptr (DvmHosts) chosen = NULL;
  g_autoptr (GError) error = NULL;
  DvmHosts *hosts = list;

  if (self->lists->pdata[0] != NULL)
    _dvm_hosts_add_list (list, self->lists->pdata[0], "--host", NULL, &error);
  g_assert_no_error (error);
  if (self->file != NULL && self->lists->pdata[0] != NULL)
    hosts = chosen = _dvm_hosts_filter (self->file, list, &error);
  else if (self->file != NULL)
    hosts = self->file;
  g_assert_no_error (error);
  for (guint i = 0; i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);

      add_node (self, topology, index_of (host->name), MAX (host->slots, 1));
      g_array_index (self->job.nodes, OfflineNode, i).slots_max = host->slots_max;
    }
}

/* ---- rows ---- */

/* Nodes by their numbers in the rows: the job has them in the order in which it named them. */
static char *
renumber (Row *self, const char *shown)
{
  g_auto (GStrv) procs = g_strsplit (shown, " ", -1);
  GString *text = g_string_new (NULL);

  for (gsize i = 0; procs[i] != NULL && procs[i][0] != '\0'; i++)
    {
      g_auto (GStrv) parts = g_strsplit (procs[i], ":", 3);
      const OfflineNode *node = &g_array_index (self->job.nodes, OfflineNode, atoi (parts[1]));

      g_string_append_printf (text, "%s%s:%u:%s", i > 0 ? " " : "", parts[0], index_of (node->name), parts[2]);
    }
  return g_string_free (text, FALSE);
}

/* (transfer full): what the row says, or "ERROR sentence" */
static char *
place_row (GPtrArray *mappers, char **columns)
{
  g_auto (Row) self = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) map = NULL;
  g_autoptr (GPtrArray) cpus = NULL;
  g_autofree char *shown = NULL;

  offline_job_init (&self.job, mappers);
  self.job.wishes.binds = TRUE;
  self.own = g_ptr_array_new_with_free_func (g_free);
  self.lists = g_ptr_array_new ();
  read_arguments (&self, strcmp (columns[COLUMN_ARGUMENTS], "(none)") == 0 ? "" : columns[COLUMN_ARGUMENTS],
                  columns[COLUMN_NP]);
  if (g_str_has_prefix (columns[COLUMN_NODES], "in arguments"))
    add_hosts (&self, columns[COLUMN_TOPOLOGY]);
  else
    add_nodes (&self, columns[COLUMN_TOPOLOGY], columns[COLUMN_NODES]);
  map = offline_job_map (&self.job, &error);
  cpus = map != NULL ? offline_job_bind (&self.job, map, &error) : NULL;
  if (cpus == NULL)
    return g_strdup_printf ("ERROR %s", error->message);
  shown = offline_job_show (&self.job, map, cpus);
  return renumber (&self, shown);
}

static const char *
right_of (const char *id, const char *expected)
{
  for (gsize i = 0; differences[i].id != NULL; i++)
    if (strcmp (differences[i].id, id) == 0)
      return differences[i].right;
  return expected;
}

static gboolean
is_right (const char *expected, const char *placed)
{
  if (g_str_has_prefix (expected, "ERROR"))
    return g_str_has_prefix (placed, "ERROR");
  return strcmp (expected, placed) == 0;
}

typedef struct
{
  GPtrArray *mappers;
  const char *only; /* (nullable): the row that is printed */
} Rows;

/* FALSE: it is not as it must be */
static gboolean
check_row (const Rows *self, char **columns)
{
  g_autofree char *placed = NULL;
  const char *expected = right_of (columns[COLUMN_ID], columns[COLUMN_EXPECTED]);

  if (self->only != NULL && strcmp (self->only, columns[COLUMN_ID]) != 0)
    return TRUE;
  placed = place_row (self->mappers, columns);
  if (self->only == NULL && is_right (expected, placed))
    return TRUE;
  g_test_message ("%s: %s on %s, np %s\n  expected %s\n  got      %s", columns[COLUMN_ID], columns[COLUMN_ARGUMENTS],
                  columns[COLUMN_NODES], columns[COLUMN_NP], expected, placed);
  return is_right (expected, placed);
}

static void
test_rows (gconstpointer data)
{
  const Rows *self = data;
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "placements.tsv", NULL);
  g_autofree char *content = NULL;
  g_auto (GStrv) lines = NULL;
  g_autoptr (GError) error = NULL;
  guint n_wrong = 0;
  guint n = 0;

  g_file_get_contents (path, &content, NULL, &error);
  g_assert_no_error (error);
  lines = g_strsplit (content, "\n", -1);
  for (gsize i = 1; lines[i] != NULL; i++)
    {
      g_auto (GStrv) columns = g_strsplit (lines[i], "\t", -1);

      if (g_strv_length (columns) < N_COLUMNS)
        continue;
      n++;
      n_wrong += !check_row (self, columns);
    }
  g_test_message ("%u rows, %u of them are wrong", n, n_wrong);
  g_assert_cmpuint (n, >=, 165);
  g_assert_cmpuint (n_wrong, ==, 0);
}

int
main (int argc, char **argv)
{
  const DvmdPluginsSettings none = { 0 };
  g_autoptr (DvmdPlugins) plugins = NULL;
  Rows rows = { 0 };

  g_test_init (&argc, &argv, NULL);
  plugins = dvmd_plugins_new (&none, NULL);
  rows.mappers = dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER);
  rows.only = argc > 1 ? argv[1] : NULL;
  g_test_add_data_func ("/placements/rows", &rows, test_rows);
  return g_test_run ();
}
