/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Facts about processes are read from /proc.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-proc-scan"

#include "dvmd-proc-scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dvm.h>

/* Files of /proc have no size: read to the end. */
static GString *
read_file (const char *path)
{
  GString *text;
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  char buffer[4096];
  ssize_t n;

  if (fd < 0)
    return NULL;
  text = g_string_new (NULL);
  do
    {
      n = read (fd, buffer, sizeof buffer);
      if (n > 0)
        g_string_append_len (text, buffer, n);
    }
  while (n > 0 || (n < 0 && errno == EINTR));
  close (fd);
  return text;
}

static void
free_string (GString *text)
{
  if (text != NULL)
    g_string_free (text, TRUE);
}

gint64
dvmd_proc_get_ticks (void)
{
  gint64 per_second = sysconf (_SC_CLK_TCK);
  struct timespec now;

  clock_gettime (CLOCK_BOOTTIME, &now);
  return now.tv_sec * per_second + now.tv_nsec * per_second / G_GINT64_CONSTANT (1000000000);
}

/* Field 22 of the line; state is the third. */
static gint64
find_start (const char *from_state)
{
  const char *at = from_state;

  for (guint i = 3; i < 22 && at != NULL; i++)
    {
      at = strchr (at, ' ');
      if (at != NULL)
        at++;
    }
  return at != NULL ? g_ascii_strtoll (at, NULL, 10) : 0;
}

gboolean
dvmd_proc_get_info (pid_t pid, DvmdProcInfo *info)
{
  char path[64];
  GString *text;
  const char *rest;
  char state = '?';
  gboolean ok;

  g_snprintf (path, sizeof path, "/proc/%d/stat", pid);
  text = read_file (path);
  /* The name of the program may contain anything, also parentheses. */
  rest = text != NULL ? strrchr (text->str, ')') : NULL;
  ok = rest != NULL && sscanf (rest + 1, " %c %d %d %d", &state, &info->parent, &info->group, &info->session) == 4;
  info->pid = pid;
  info->started = ok ? find_start (rest + 2) : 0;
  info->zombie = state == 'Z' || state == 'X';
  free_string (text);
  return ok;
}

GArray *
dvmd_proc_list_all (void)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (DvmdProcInfo));
  g_autoptr (GDir) dir = g_dir_open ("/proc", 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      DvmdProcInfo info;

      if (g_ascii_isdigit (name[0]) && dvmd_proc_get_info (atoi (name), &info))
        g_array_append_val (all, info);
    }
  return all;
}

static gboolean
append_children_of_thread (GArray *children, pid_t thread)
{
  char path[64];
  GString *text;
  char *next;

  g_snprintf (path, sizeof path, "/proc/self/task/%d/children", thread);
  text = read_file (path);
  if (text == NULL)
    return FALSE;
  next = text->str;
  while (*next != '\0')
    {
      char *end;
      pid_t pid = (pid_t)strtol (next, &end, 10);

      if (end == next)
        break;
      g_array_append_val (children, pid);
      next = end + strspn (end, " \n");
    }
  free_string (text);
  return TRUE;
}

static void
append_children_by_scan (GArray *children)
{
  g_autoptr (GArray) all = dvmd_proc_list_all ();
  pid_t self = getpid ();

  for (guint i = 0; i < all->len; i++)
    {
      DvmdProcInfo *info = &g_array_index (all, DvmdProcInfo, i);

      if (info->parent == self)
        g_array_append_val (children, info->pid);
    }
}

GArray *
dvmd_proc_list_children (void)
{
  GArray *children = g_array_new (FALSE, FALSE, sizeof (pid_t));
  pid_t main_thread = getpid ();
  pid_t thread = gettid ();

  /* Orphans become children of the main thread, ours are children of the thread that started them. */
  if (!append_children_of_thread (children, main_thread))
    append_children_by_scan (children);
  else if (thread != main_thread)
    append_children_of_thread (children, thread);
  return children;
}

char **
dvmd_proc_read_stat (const char *proc, pid_t pid, char **name)
{
  g_autofree char *path = g_strdup_printf ("%s/%d/stat", proc, pid);
  GString *text = read_file (path);
  const char *begin = text != NULL ? strchr (text->str, '(') : NULL;
  /* The name of the program may contain anything, also parentheses. */
  const char *end = begin != NULL ? strrchr (begin, ')') : NULL;
  char **fields = NULL;

  if (end != NULL && end[1] == ' ')
    {
      fields = g_strsplit (g_strchomp ((char *)end + 2), " ", -1);
      if (name != NULL)
        *name = g_strndup (begin + 1, end - begin - 1);
    }
  free_string (text);
  return fields != NULL ? fields : g_new0 (char *, 1);
}

/*
 * Fields 50 and 51: where the environment lies in the memory of the process. In the middle of an exec they are 0, or
 * the same, as those of an empty one: field 26, where its code begins, is 0 until they are right.
 */
static gboolean
get_environ_size (pid_t pid, gsize *size)
{
  g_auto (GStrv) fields = dvmd_proc_read_stat (DVMD_PROC, pid, NULL);
  guint64 start;
  guint64 end;

  if (g_strv_length (fields) < 50)
    return FALSE;
  start = g_ascii_strtoull (fields[50 - 3], NULL, 10);
  end = g_ascii_strtoull (fields[51 - 3], NULL, 10);
  *size = end - start;
  return end != 0 && g_strcmp0 (fields[26 - 3], "0") != 0;
}

/* TRUE: the process has no memory any more (field 23), and is no zombie yet. */
static gboolean
is_ending (pid_t pid)
{
  g_auto (GStrv) fields = dvmd_proc_read_stat (DVMD_PROC, pid, NULL);

  return g_strv_length (fields) > 23 - 3 && fields[0][0] != 'Z' && g_strcmp0 (fields[23 - 3], "0") == 0;
}

/* length: how many bytes of string count */
static DvmdProcEnviron
search_environ (pid_t pid, const char *string, gsize length)
{
  char path[64];
  GString *text;
  gsize read_bytes;
  gsize size;
  gboolean found = FALSE;

  g_snprintf (path, sizeof path, "/proc/%d/environ", pid);
  text = read_file (path);
  /* Without memory there is no environment to look into. */
  if (text == NULL)
    return is_ending (pid) ? DVMD_PROC_ENVIRON_UNCLEAR : DVMD_PROC_ENVIRON_LACKS;
  for (const char *at = text->str; !found && at + length <= text->str + text->len + 1; at += strlen (at) + 1)
    found = memcmp (at, string, length) == 0;
  read_bytes = text->len;
  free_string (text);
  if (found)
    return DVMD_PROC_ENVIRON_HAS;
  /* At exec the old environment goes away, also from under who reads it, before the new one is there. */
  return get_environ_size (pid, &size) && read_bytes >= size ? DVMD_PROC_ENVIRON_LACKS : DVMD_PROC_ENVIRON_UNCLEAR;
}

DvmdProcEnviron
dvmd_proc_search_environ (pid_t pid, const char *string)
{
  return search_environ (pid, string, strlen (string) + 1);
}

DvmdProcEnviron
dvmd_proc_search_environ_prefix (pid_t pid, const char *prefix)
{
  return search_environ (pid, prefix, strlen (prefix));
}

/* Deeper than this no shell script starts its program. */
#define MAX_GENERATIONS 8

static gboolean
has_mapped (pid_t pid, const char *word, guint generation)
{
  g_autofree char *maps_path = g_strdup_printf ("/proc/%d/maps", pid);
  g_autofree char *children_path = g_strdup_printf ("/proc/%d/task/%d/children", pid, pid);
  g_autofree char *maps = NULL;
  g_autofree char *text = NULL;
  g_auto (GStrv) children = NULL;

  if (g_file_get_contents (maps_path, &maps, NULL, NULL) && strstr (maps, word) != NULL)
    return TRUE;
  if (generation == MAX_GENERATIONS || !g_file_get_contents (children_path, &text, NULL, NULL))
    return FALSE;
  children = g_strsplit (text, " ", -1);
  for (gsize i = 0; children[i] != NULL; i++)
    {
      int child = atoi (children[i]);

      if (child > 0 && has_mapped (child, word, generation + 1))
        return TRUE;
    }
  return FALSE;
}

gboolean
dvmd_proc_has_mapped (pid_t pid, const char *word)
{
  return has_mapped (pid, word, 0);
}
