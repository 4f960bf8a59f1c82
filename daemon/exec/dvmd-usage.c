/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The use of cpus, memory, disks and networks is read from /proc.
 */

#include "config.h"

#include "dvmd-usage.h"

#include <gio/gio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "dvmd-proc-scan.h"

/* A line "KEY:   12 kB" */
typedef struct
{
  const char *key;
  const char *word;
} Line;

/* (nullable) */
static char *
read_text (const char *proc, const char *name)
{
  g_autofree char *path = g_build_filename (proc, name, NULL);
  char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? text : NULL;
}

static gboolean
read_unsigned (const char *text, guint64 *number)
{
  return g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, number, NULL);
}

static gboolean
read_real (const char *text, double *number)
{
  char *end;

  *number = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && isfinite (*number) && *number >= 0;
}

/* (transfer full): the words of a line */
static char **
split_words (const char *line)
{
  char **words = g_strsplit_set (line, " \t", -1);
  gsize n = 0;

  for (gsize i = 0; words[i] != NULL; i++)
    if (words[i][0] != '\0')
      words[n++] = words[i];
    else
      g_free (words[i]);
  words[n] = NULL;
  return words;
}

/* The first line of a file. (transfer full) */
static char **
read_words (const char *proc, const char *name)
{
  g_autofree char *text = read_text (proc, name);

  if (text != NULL)
    g_strdelimit (text, "\n", ' ');
  return split_words (text != NULL ? text : "");
}

/* (transfer full): its lines */
static char **
read_lines (const char *proc, const char *name)
{
  g_autofree char *text = read_text (proc, name);

  return g_strsplit (text != NULL ? text : "", "\n", -1);
}

static void
add_sizes (GVariantBuilder *fields, const char *proc, const char *name, const Line *wanted, gsize n_wanted)
{
  g_auto (GStrv) lines = read_lines (proc, name);

  for (gsize i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) words = split_words (lines[i]);
      guint64 size;

      if (g_strv_length (words) != 3 || strcmp (words[2], "kB") != 0 || !read_unsigned (words[1], &size)
          || size > G_MAXUINT64 / 1024)
        continue;
      for (gsize j = 0; j < n_wanted; j++)
        if (strcmp (words[0], wanted[j].key) == 0)
          g_variant_builder_add (fields, "{sv}", wanted[j].word, g_variant_new_uint64 (size * 1024));
    }
}

static void
add_sample_time (GVariantBuilder *fields)
{
  g_variant_builder_add (fields, "{sv}", "time", g_variant_new_int64 (g_get_real_time () / G_USEC_PER_SEC));
}

/* ---- processes ---- */

/* Fields of the line "stat", as proc(5) counts them. */
enum
{
  FIELD_STATE = 3,
  FIELD_USER_TIME = 14,
  FIELD_SYSTEM_TIME = 15,
  FIELD_PRIORITY = 18,
  FIELD_THREADS = 20,
  FIELD_STARTED = 22,
  FIELD_PROCESSOR = 39,
};

static gboolean
get_field (char **stat, guint field, guint64 *number)
{
  return g_strv_length (stat) > field - FIELD_STATE && read_unsigned (stat[field - FIELD_STATE], number);
}

static void
add_number (GVariantBuilder *fields, const char *word, char **stat, guint field)
{
  guint64 number;

  if (get_field (stat, field, &number) && number <= G_MAXUINT32)
    g_variant_builder_add (fields, "{sv}", word, g_variant_new_uint32 ((guint32)number));
}

/* The kernel has lower numbers for higher priorities; turned around as ps does with "pri". */
static void
add_priority (GVariantBuilder *fields, char **stat)
{
  gint64 priority;

  if (g_strv_length (stat) > FIELD_PRIORITY - FIELD_STATE
      && g_ascii_string_to_signed (stat[FIELD_PRIORITY - FIELD_STATE], 10, -1000, 1000, &priority, NULL))
    g_variant_builder_add (fields, "{sv}", "priority", g_variant_new_int32 (39 - (gint32)priority));
}

static void
add_times (GVariantBuilder *fields, const char *proc, char **stat)
{
  g_auto (GStrv) uptime = read_words (proc, "uptime");
  const double per_second = (double)sysconf (_SC_CLK_TCK);
  guint64 user;
  guint64 system;
  guint64 started;
  double used;
  double age;

  if (!get_field (stat, FIELD_USER_TIME, &user) || !get_field (stat, FIELD_SYSTEM_TIME, &system))
    return;
  used = ((double)user + (double)system) / per_second;
  if (used > (double)G_MAXINT32)
    return;
  g_variant_builder_add (fields, "{sv}", "cpu-time", g_variant_new_int64 ((gint64)(used * G_USEC_PER_SEC)));
  if (uptime[0] == NULL || !read_real (uptime[0], &age) || !get_field (stat, FIELD_STARTED, &started))
    return;
  age -= (double)started / per_second;
  if (age > 0)
    g_variant_builder_add (fields, "{sv}", "percent-cpu", g_variant_new_double (100 * used / age));
}

gboolean
dvmd_usage_add_process (GVariantBuilder *fields, const char *proc, pid_t pid)
{
  static const Line status[] = { { "VmPeak:", "peak-vsize" }, { "VmSize:", "vsize" }, { "VmRSS:", "rss" } };
  static const Line rollup[] = { { "Pss:", "pss" } };
  g_autofree char *folder = g_strdup_printf ("%s/%d", proc, pid);
  g_autofree char *name = NULL;
  g_auto (GStrv) stat = dvmd_proc_read_stat (proc, pid, &name);

  if (stat[0] == NULL)
    return FALSE;
  g_variant_builder_add (fields, "{sv}", "pid", g_variant_new_int32 (pid));
  g_variant_builder_add (fields, "{sv}", "command", g_variant_new_take_string (g_utf8_make_valid (name, -1)));
  if (g_ascii_isalpha (stat[0][0]) && stat[0][1] == '\0')
    g_variant_builder_add (fields, "{sv}", "state", g_variant_new_string (stat[0]));
  add_times (fields, proc, stat);
  add_priority (fields, stat);
  add_number (fields, "threads", stat, FIELD_THREADS);
  add_number (fields, "processor", stat, FIELD_PROCESSOR);
  add_sizes (fields, folder, "status", status, G_N_ELEMENTS (status));
  add_sizes (fields, folder, "smaps_rollup", rollup, G_N_ELEMENTS (rollup));
  add_sample_time (fields);
  return TRUE;
}

/* ---- nodes ---- */

/* A counter of a disk or network: its column behind the name */
typedef struct
{
  const char *word;
  guint column;
} Counter;

static const Counter disk_counters[] = {
  { "reads", 0 },       { "reads-merged", 1 },  { "sectors-read", 2 },    { "reading-ms", 3 },
  { "writes", 4 },      { "writes-merged", 5 }, { "sectors-written", 6 }, { "writing-ms", 7 },
  { "in-progress", 8 }, { "io-ms", 9 },         { "weighted-io-ms", 10 },
};

static const Counter network_counters[] = {
  { "bytes-received", 0 }, { "packets-received", 1 }, { "receive-errors", 2 },
  { "bytes-sent", 8 },     { "packets-sent", 9 },     { "send-errors", 10 },
};

/* A line that is not whole is no disk, and no network. */
static void
add_counters (GVariantBuilder *rows, const char *name, char **columns, const Counter *counters, gsize n_counters)
{
  guint n_columns = g_strv_length (columns);
  guint64 numbers[G_N_ELEMENTS (disk_counters)];

  for (gsize i = 0; i < n_counters; i++)
    if (counters[i].column >= n_columns || !read_unsigned (columns[counters[i].column], &numbers[i]))
      return;
  g_variant_builder_open (rows, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (rows, "{sv}", "name", g_variant_new_take_string (g_utf8_make_valid (name, -1)));
  for (gsize i = 0; i < n_counters; i++)
    g_variant_builder_add (rows, "{sv}", counters[i].word, g_variant_new_uint64 (numbers[i]));
  g_variant_builder_close (rows);
}

/* (transfer floating): aa{sv} of the lines "8 0 sda 12 ..." */
static GVariant *
read_disks (char **lines)
{
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("aa{sv}"));
  for (gsize i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) words = split_words (lines[i]);

      if (g_strv_length (words) > 3)
        add_counters (&rows, words[2], words + 3, disk_counters, G_N_ELEMENTS (disk_counters));
    }
  return g_variant_builder_end (&rows);
}

/* (transfer floating): aa{sv} of the lines "  lo:12 ..." */
static GVariant *
read_networks (char **lines)
{
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("aa{sv}"));
  for (gsize i = 0; lines[i] != NULL; i++)
    {
      char *end = strrchr (lines[i], ':');
      g_auto (GStrv) words = split_words (end != NULL ? end + 1 : "");

      if (end != NULL)
        *end = '\0';
      add_counters (&rows, g_strstrip (lines[i]), words, network_counters, G_N_ELEMENTS (network_counters));
    }
  return g_variant_builder_end (&rows);
}

static void
add_loads (GVariantBuilder *fields, const char *proc)
{
  static const char *const loads[] = { "load-1", "load-5", "load-15" };
  g_auto (GStrv) words = read_words (proc, "loadavg");
  double load;

  for (gsize i = 0; i < G_N_ELEMENTS (loads) && words[i] != NULL; i++)
    if (read_real (words[i], &load))
      g_variant_builder_add (fields, "{sv}", loads[i], g_variant_new_double (load));
}

void
dvmd_usage_add_node (GVariantBuilder *fields, const char *proc)
{
  static const Line memory[] = {
    { "MemTotal:", "mem-total" }, { "MemFree:", "mem-free" },       { "Buffers:", "buffers" },
    { "Cached:", "cached" },      { "SwapCached:", "swap-cached" }, { "SwapTotal:", "swap-total" },
    { "SwapFree:", "swap-free" }, { "Mapped:", "mapped" },
  };
  g_auto (GStrv) disks = read_lines (proc, "diskstats");
  g_auto (GStrv) networks = read_lines (proc, "net/dev");

  add_loads (fields, proc);
  add_sizes (fields, proc, "meminfo", memory, G_N_ELEMENTS (memory));
  g_variant_builder_add (fields, "{sv}", "disks", read_disks (disks));
  g_variant_builder_add (fields, "{sv}", "networks", read_networks (networks));
  add_sample_time (fields);
}
