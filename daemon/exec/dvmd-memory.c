/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How much memory there is for what runs here: of the machine, and of the cgroup that a scheduler or systemd has put
 * this process into.
 */

#include "config.h"

#include "dvmd-memory.h"

#include <string.h>

typedef struct
{
  const char *type;       /* of the file system, as in mountinfo */
  const char *controller; /* in its options and in the line of the process; "": there is one hierarchy for all */
  const char *file;
} Version;

struct _DvmdMemory
{
  char *proc;
  char *cgroups;    /* (nullable): of this process, when the files were found */
  GPtrArray *files; /* of the limits of these, which may come and go */
};

static const Version versions[] = {
  { "cgroup2", "", "memory.max" },
  { "cgroup", "memory", "memory.limit_in_bytes" },
};

static char **
read_lines (const char *proc, const char *file)
{
  g_autofree char *path = g_build_filename (proc, file, NULL);
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? g_strsplit (text, "\n", -1) : g_new0 (char *, 1);
}

static gboolean
has_word (const char *list, const char *word)
{
  g_auto (GStrv) words = g_strsplit (list, ",", -1);

  return g_strv_contains ((const char *const *)words, word);
}

/* A number of one: "max", and nonsense, are no limits. */
static guint64
take_smaller (guint64 least, const char *text)
{
  g_autofree char *stripped = g_strstrip (g_strdup (text));
  guint64 number;

  if (!g_ascii_string_to_unsigned (stripped, 10, 1, G_MAXUINT64, &number, NULL))
    return least;
  return least == 0 ? number : MIN (least, number);
}

/* "MemTotal:       16314948 kB" */
static guint64
read_machine (const char *proc)
{
  g_auto (GStrv) lines = read_lines (proc, "meminfo");

  for (guint i = 0; lines[i] != NULL; i++)
    if (g_str_has_prefix (lines[i], "MemTotal:") && g_str_has_suffix (lines[i], " kB"))
      {
        lines[i][strlen (lines[i]) - strlen (" kB")] = '\0';
        return take_smaller (0, lines[i] + strlen ("MemTotal:")) * 1024;
      }
  return 0;
}

/* "0::/user.slice", "9:memory:/slurm". (nullable) (transfer full): the cgroup of this process */
static char *
find_cgroup (const char *cgroups, const Version *version)
{
  g_auto (GStrv) lines = g_strsplit (cgroups, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) fields = g_strsplit (lines[i], ":", 3);

      if (g_strv_length (fields) == 3
          && (version->controller[0] != '\0' ? has_word (fields[1], version->controller) : fields[1][0] == '\0'))
        return g_strdup (fields[2]);
    }
  return NULL;
}

/* root: (out) (transfer full): the part of the hierarchy that is seen at the mount. (nullable) (transfer full) */
static char *
find_mount (char **lines, const Version *version, char **root)
{
  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *tail = strstr (lines[i], " - ");
      g_auto (GStrv) kind = g_strsplit (tail != NULL ? tail + strlen (" - ") : "", " ", 3);
      g_auto (GStrv) fields = g_strsplit (lines[i], " ", 6);

      if (g_strv_length (kind) < 3 || g_strv_length (fields) < 6 || strcmp (kind[0], version->type) != 0
          || (version->controller[0] != '\0' && !has_word (kind[2], version->controller)))
        continue;
      *root = g_strcompress (fields[3]);
      return g_strcompress (fields[4]);
    }
  return NULL;
}

/* The files of the cgroup of this process, and of all around it that are seen. */
static void
add_files (DvmdMemory *self, char **mounts, const Version *version)
{
  g_autofree char *cgroup = find_cgroup (self->cgroups, version);
  g_autofree char *root = NULL;
  g_autofree char *mount = find_mount (mounts, version, &root);
  gsize skipped = root != NULL && strcmp (root, "/") != 0 ? strlen (root) : 0;

  if (cgroup == NULL || mount == NULL || strstr (cgroup, "..") != NULL || strncmp (cgroup, root, skipped) != 0)
    return;
  for (char *path = cgroup + skipped;; path[strrchr (path, '/') - path] = '\0')
    {
      g_ptr_array_add (self->files, g_build_filename (mount, path, version->file, NULL));
      if (strchr (path, '/') == NULL)
        return;
    }
}

/* Finding them takes ten times as long as reading them: it is done once, and again when the process has been moved. */
static void
find_files (DvmdMemory *self)
{
  g_autofree char *path = g_build_filename (self->proc, "self", "cgroup", NULL);
  g_autofree char *cgroups = NULL;
  g_auto (GStrv) mounts = NULL;

  if (!g_file_get_contents (path, &cgroups, NULL, NULL))
    cgroups = g_strdup ("");
  if (g_strcmp0 (cgroups, self->cgroups) == 0)
    return;
  g_free (self->cgroups);
  self->cgroups = g_steal_pointer (&cgroups);
  g_ptr_array_set_size (self->files, 0);
  mounts = read_lines (self->proc, "self/mountinfo");
  for (guint i = 0; i < G_N_ELEMENTS (versions); i++)
    add_files (self, mounts, &versions[i]);
}

DvmdMemory *
dvmd_memory_new (const char *proc)
{
  DvmdMemory *self = g_new0 (DvmdMemory, 1);

  self->proc = g_strdup (proc);
  self->files = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
dvmd_memory_free (DvmdMemory *self)
{
  g_ptr_array_unref (self->files);
  g_free (self->cgroups);
  g_free (self->proc);
  g_free (self);
}

guint64
dvmd_memory_find_limit (DvmdMemory *self, guint64 allotted)
{
  guint64 least = read_machine (self->proc);

  if (allotted > 0)
    least = least > 0 ? MIN (least, allotted) : allotted;
  find_files (self);
  for (guint i = 0; i < self->files->len; i++)
    {
      g_autofree char *text = NULL;

      if (g_file_get_contents (g_ptr_array_index (self->files, i), &text, NULL, NULL))
        least = take_smaller (least, text);
    }
  return least;
}
