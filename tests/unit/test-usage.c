/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The use of processes and nodes is read from a folder like /proc: what stands there, what is broken, and what is
 * missing.
 */

#include "config.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include "dvmd-memory.h"
#include "dvmd-proc-scan.h"
#include "dvmd-remove-tree.h"
#include "dvmd-usage.h"

#define STAT                                                                                                           \
  "77 (a) b (c)) R 1 77 77 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 1000 8192 5 18446744073709551615 1 1 0 0 0 0 "   \
  "0 0 0 0 0 0 17 6 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
#define STATUS "Name:\ta\nVmPeak:\t    4096 kB\nVmSize:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t3\n"
#define ROLLUP "559000-7ffc r--p 00000000 00:00 0 [rollup]\nRss:  1024 kB\nPss:   512 kB\nPss_Dirty:  1 kB\n"

typedef struct
{
  char *proc;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  g_autofree char *process = NULL;
  g_autofree char *net = NULL;

  self->proc = g_dir_make_tmp ("dvm-usage-XXXXXX", NULL);
  process = g_build_filename (self->proc, "77", NULL);
  net = g_build_filename (self->proc, "net", NULL);
  g_assert_cmpint (g_mkdir (process, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (net, 0700), ==, 0);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  dvmd_remove_tree (self->proc, &error);
  g_assert_no_error (error);
  g_free (self->proc);
}

static void
put (Fixture *self, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (self->proc, name, NULL);
  g_autoptr (GError) error = NULL;

  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
}

/* (transfer full) (nullable) */
static GVariant *
measure_in (const char *proc, pid_t pid)
{
  g_auto (GVariantBuilder) fields = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE_VARDICT);

  if (pid == 0)
    dvmd_usage_add_node (&fields, proc);
  else if (!dvmd_usage_add_process (&fields, proc, pid))
    return NULL;
  return g_variant_ref_sink (g_variant_builder_end (&fields));
}

/* All but the time of the sample, which is now. */
static char *
print (GVariant *usage)
{
  g_autoptr (GVariantDict) dict = g_variant_dict_new (usage);
  g_autoptr (GVariant) rest = NULL;
  gint64 now = g_get_real_time () / G_USEC_PER_SEC;
  gint64 time = 0;

  g_assert_true (g_variant_lookup (usage, "time", "x", &time));
  g_assert_cmpint (ABS (now - time), <=, 60);
  g_variant_dict_remove (dict, "time");
  rest = g_variant_ref_sink (g_variant_dict_end (dict));
  return g_variant_print (rest, FALSE);
}

/* expected: in the text form of GVariant, in any order */
static void
check (Fixture *self, pid_t pid, const char *expected)
{
  g_autoptr (GVariant) usage = measure_in (self->proc, pid);
  g_autoptr (GVariant) wanted = g_variant_parse (G_VARIANT_TYPE_VARDICT, expected, NULL, NULL, NULL);
  g_autoptr (GVariantDict) dict = NULL;
  g_autofree char *text = NULL;
  GVariantIter iter;
  const char *word;
  GVariant *value;

  g_assert_nonnull (usage);
  g_assert_nonnull (wanted);
  text = print (usage);
  g_variant_iter_init (&iter, wanted);
  while (g_variant_iter_loop (&iter, "{&sv}", &word, &value))
    {
      g_autoptr (GVariant) found = g_variant_lookup_value (usage, word, NULL);

      if (found == NULL || !g_variant_equal (found, value))
        g_error ("“%s” is not as in %s: %s", word, expected, text);
    }
  /* The time alone is not among them. */
  if (g_variant_n_children (usage) != g_variant_n_children (wanted) + 1)
    g_error ("Other values than %s: %s", expected, text);
}

static void
test_process (Fixture *self, gconstpointer data)
{
  g_autofree char *expected = NULL;
  /* It started 1000 ticks after the machine, and has used 300. */
  double second = (double)sysconf (_SC_CLK_TCK);
  g_autofree char *uptime = g_strdup_printf ("%.2f 99.00\n", 1600 / second);

  put (self, "77/stat", STAT);
  put (self, "77/status", STATUS);
  put (self, "77/smaps_rollup", ROLLUP);
  put (self, "uptime", uptime);
  expected = g_strdup_printf (
      "{'pid': <77>, 'command': <'a) b (c)'>, 'state': <'R'>, 'cpu-time': <int64 %.0f>, 'percent-cpu': <50.0>,"
      " 'priority': <19>, 'threads': <uint32 3>, 'processor': <uint32 6>, 'peak-vsize': <uint64 4194304>,"
      " 'vsize': <uint64 2097152>, 'rss': <uint64 1048576>, 'pss': <uint64 524288>}",
      300 / second * G_USEC_PER_SEC);
  check (self, 77, expected);
}

/* A zombie has no memory; and who may not read a file has not measured it. */
static void
test_process_without (Fixture *self, gconstpointer data)
{
  put (self, "77/stat", "77 (x) Z 1 77");
  check (self, 77, "{'pid': <77>, 'command': <'x'>, 'state': <'Z'>}");
  put (self, "77/stat", "77 (\xff) 12 a a a a a a a a a a a a a a a a a a a a\n");
  put (self, "77/status", "VmPeak: kB\nVmSize:\t-4 kB\nVmRSS: 4 MB\nVmRSS\nVmSize: 99999999999999999999 kB\n");
  put (self, "77/smaps_rollup", "Pss: 18446744073709551615 kB\nPss: 1 kB 2\nPss:\n");
  put (self, "uptime", "soon\n");
  check (self, 77, "{'pid': <77>, 'command': <'\xef\xbf\xbd'>}");
}

static void
test_no_process (Fixture *self, gconstpointer data)
{
  static const char *const broken[] = { "", "77", "77 (", "77 (x", "77 (x)", "77 (x)\n", "77 )x( R", "77 (x)R 1" };

  g_assert_null (measure_in (self->proc, 77));
  for (gsize i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      put (self, "77/stat", broken[i]);
      g_assert_null (measure_in (self->proc, 77));
    }
}

/* However short the line is: what it has is told, and nothing behind its end. */
static void
test_cut_process (Fixture *self, gconstpointer data)
{
  for (gsize length = strlen (STAT); length-- > 0;)
    {
      g_autofree char *line = g_strndup (STAT, length);
      g_autoptr (GVariant) usage = NULL;
      guint32 processor = 6;

      put (self, "77/stat", line);
      usage = measure_in (self->proc, 77);
      if (usage != NULL)
        g_variant_lookup (usage, "processor", "u", &processor);
      g_assert_cmpuint (processor, ==, 6);
    }
}

/* The youngest processes have not lived for a tick, and some seem to have started in the future. */
static void
test_new_process (Fixture *self, gconstpointer data)
{
  g_autoptr (GVariant) usage = NULL;

  put (self, "77/stat", STAT);
  put (self, "uptime", "1.00 1.00\n");
  usage = measure_in (self->proc, 77);
  g_assert_false (g_variant_lookup (usage, "percent-cpu", "d", NULL));
  g_assert_true (g_variant_lookup (usage, "cpu-time", "x", NULL));
}

#define MEMORY                                                                                                         \
  "MemTotal: 8 kB\nMemFree: 7 kB\nMemAvailable: 99 kB\nBuffers: 6 kB\nCached: 5 kB\nSwapCached: 4 kB\nMapped: 3 kB\n"  \
  "SwapTotal: 2 kB\nSwapFree: 1 kB\nHugePages_Total: 0\n"
#define DISKS                                                                                                          \
  "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11\n"                  \
  " 8 2 old 1 2 3 4\n 8 3 odd 1 2 3 4 5 6 7 8 9 10 x\n\n"
#define NETWORKS                                                                                                       \
  "Inter-|   Receive                                                |  Transmit\n"                                     \
  " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo\n"                \
  "    lo:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  a:b: 11 12 13 0 0 0 0 0 14 15 16\nx: 1 2 3\nno colon 1 2 3\n"

static void
test_node (Fixture *self, gconstpointer data)
{
  put (self, "loadavg", "0.50 1.25 2.00 1/200 4711\n");
  put (self, "meminfo", MEMORY);
  put (self, "diskstats", DISKS);
  put (self, "net/dev", NETWORKS);
  check (self, 0,
         "{'load-1': <0.5>, 'load-5': <1.25>, 'load-15': <2.0>, 'mem-total': <uint64 8192>, 'mem-free': <uint64 7168>,"
         " 'buffers': <uint64 6144>, 'cached': <uint64 5120>, 'swap-cached': <uint64 4096>, 'mapped': <uint64 3072>,"
         " 'swap-total': <uint64 2048>, 'swap-free': <uint64 1024>, 'disks': <["
         "{'name': <'sda'>, 'reads': <uint64 1>, 'reads-merged': <uint64 2>, 'sectors-read': <uint64 3>,"
         " 'reading-ms': <uint64 4>, 'writes': <uint64 5>, 'writes-merged': <uint64 6>, 'sectors-written': <uint64 7>,"
         " 'writing-ms': <uint64 8>, 'in-progress': <uint64 9>, 'io-ms': <uint64 10>, 'weighted-io-ms': <uint64 11>},"
         "{'name': <'sda1'>, 'reads': <uint64 1>, 'reads-merged': <uint64 2>, 'sectors-read': <uint64 3>,"
         " 'reading-ms': <uint64 4>, 'writes': <uint64 5>, 'writes-merged': <uint64 6>, 'sectors-written': <uint64 7>,"
         " 'writing-ms': <uint64 8>, 'in-progress': <uint64 9>, 'io-ms': <uint64 10>, 'weighted-io-ms': <uint64 11>}"
         "]>, 'networks': <["
         "{'name': <'lo'>, 'bytes-received': <uint64 1>, 'packets-received': <uint64 2>, 'receive-errors': <uint64 3>,"
         " 'bytes-sent': <uint64 9>, 'packets-sent': <uint64 10>, 'send-errors': <uint64 11>},"
         "{'name': <'a:b'>, 'bytes-received': <uint64 11>, 'packets-received': <uint64 12>,"
         " 'receive-errors': <uint64 13>, 'bytes-sent': <uint64 14>, 'packets-sent': <uint64 15>,"
         " 'send-errors': <uint64 16>}]>}");
}

static void
test_node_without (Fixture *self, gconstpointer data)
{
  check (self, 0, "{'disks': <@aa{sv} []>, 'networks': <@aa{sv} []>}");
  put (self, "loadavg", "nan -1 1e999");
  put (self, "meminfo", "MemTotal: 8\nMemFree 7 kB\n: 6 kB\n");
  put (self, "diskstats", "\n \n8\n8 0\n8 0 sda\n");
  put (self, "net/dev", ":\n::\nlo:\n:1 2 3 4 5 6 7 8 9 10\n");
  check (self, 0, "{'disks': <@aa{sv} []>, 'networks': <@aa{sv} []>}");
  put (self, "loadavg", "1.0 two 3.0");
  check (self, 0, "{'load-1': <1.0>, 'load-15': <3.0>, 'disks': <@aa{sv} []>, 'networks': <@aa{sv} []>}");
}

#define LIMIT(version, allotted, expected)                                                                             \
  put (self, "self/cgroup", version);                                                                                  \
  g_assert_cmpuint (dvmd_memory_find_limit (memory, allotted), ==, expected)

static void
make_folders (Fixture *self, const char *path)
{
  g_autofree char *whole = g_build_filename (self->proc, path, NULL);

  g_assert_cmpint (g_mkdir_with_parents (whole, 0700), ==, 0);
}

/* The smallest of the machine, of what is allotted, and of the limits of the cgroup and all around it. */
static void
test_limits (Fixture *self, gconstpointer data)
{
  g_autofree char *mounts = g_strdup_printf (
      "25 1 0:22 / /sys rw - sysfs sysfs rw\n26 25 0:24 / %s/two rw,nosuid - cgroup2 cgroup2 rw\n"
      "27 25 0:25 /part %s/one rw - cgroup cgroup rw,cpu,memory\n28 25 0:26 / /nowhere rw - cgroup cgroup rw,pids\n",
      self->proc, self->proc);
  g_autoptr (DvmdMemory) memory = dvmd_memory_new (self->proc);

  g_assert_cmpuint (dvmd_memory_find_limit (memory, 0), ==, 0);
  g_assert_cmpuint (dvmd_memory_find_limit (memory, 5), ==, 5);
  put (self, "meminfo", "MemTotal:    8 kB\nMemFree: 7 kB\n");
  g_assert_cmpuint (dvmd_memory_find_limit (memory, 0), ==, 8192);
  g_assert_cmpuint (dvmd_memory_find_limit (memory, 9000), ==, 8192);
  g_assert_cmpuint (dvmd_memory_find_limit (memory, 4000), ==, 4000);
  make_folders (self, "two/job/step");
  make_folders (self, "one/job");
  make_folders (self, "self");
  put (self, "self/mountinfo", mounts);
  LIMIT ("0::/job/step\n", 0, 8192);
  put (self, "two/job/step/memory.max", "max\n");
  put (self, "two/job/memory.max", "6000\n");
  put (self, "two/memory.max", "7000\n");
  LIMIT ("0::/job/step\n", 0, 6000);
  LIMIT ("0::/job/step\n", 5000, 5000);
  LIMIT ("0::/other\n", 0, 7000);
  LIMIT ("0::/\n", 0, 7000);
  LIMIT ("0::/../job\n", 0, 8192);
  LIMIT ("nonsense\n", 0, 8192);
  put (self, "two/job/memory.max", "many\n");
  LIMIT ("0::/job/step\n", 0, 7000);
  /* A hierarchy of the older kind, of which a part is mounted. */
  put (self, "one/job/memory.limit_in_bytes", "3000\n");
  put (self, "one/memory.limit_in_bytes", "9223372036854771712\n");
  LIMIT ("7:pids:/part/job\n6:cpu,memory:/part/job\n", 0, 3000);
  LIMIT ("6:cpu,memory:/part\n", 0, 8192);
  LIMIT ("6:cpu,memory:/else/job\n", 0, 8192);
}

/* Limits are as they are now, where the files were found: those are looked for when the process has been moved. */
static void
test_limits_changed (Fixture *self, gconstpointer data)
{
  g_autofree char *mounts = g_strdup_printf ("26 25 0:24 / %s/two rw - cgroup2 cgroup2 rw\n", self->proc);
  g_autoptr (DvmdMemory) memory = dvmd_memory_new (self->proc);

  make_folders (self, "two/job");
  make_folders (self, "two/other");
  make_folders (self, "self");
  put (self, "self/mountinfo", mounts);
  put (self, "two/other/memory.max", "2000\n");
  LIMIT ("0::/job\n", 0, 0);
  put (self, "two/job/memory.max", "6000\n");
  LIMIT ("0::/job\n", 0, 6000);
  put (self, "self/mountinfo", "");
  put (self, "two/job/memory.max", "5000\n");
  LIMIT ("0::/job\n", 0, 5000);
  put (self, "self/mountinfo", mounts);
  LIMIT ("0::/other\n", 0, 2000);
  put (self, "two/memory.max", "1000\n");
  LIMIT ("0::/other\n", 0, 1000);
}

/* The kernel at hand, and this process, which has 64 MiB more than before. */
static void
test_kernel (void)
{
  const gsize size = 64 * 1024 * 1024;
  g_autoptr (GVariant) before = measure_in (DVMD_PROC, getpid ());
  void *held = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_autoptr (GVariant) after = NULL;
  g_autoptr (GVariant) node = measure_in (DVMD_PROC, 0);
  static const char *const words[] = { "vsize", "rss", "pss" };
  guint64 old;
  guint64 now;

  g_assert_true (held != MAP_FAILED);
  memset (held, 1, size);
  after = measure_in (DVMD_PROC, getpid ());
  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_assert_true (g_variant_lookup (before, words[i], "t", &old));
      g_assert_true (g_variant_lookup (after, words[i], "t", &now));
      /* Others may have taken a part of what they share, and the library may have given some back. */
      g_assert_cmpuint (now, >=, old + size / 2);
    }
  g_assert_true (g_variant_lookup (after, "peak-vsize", "t", &old));
  g_assert_cmpuint (old, >=, now);
  g_assert_true (g_variant_lookup (after, "cpu-time", "x", NULL));
  g_assert_true (g_variant_lookup (node, "mem-total", "t", &now));
  g_assert_cmpuint (now, >, size);
  munmap (held, size);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, function) g_test_add ("/usage/" path, Fixture, NULL, set_up, function, tear_down)
  ADD ("process", test_process);
  ADD ("process-without", test_process_without);
  ADD ("no-process", test_no_process);
  ADD ("cut-process", test_cut_process);
  ADD ("new-process", test_new_process);
  ADD ("node", test_node);
  ADD ("node-without", test_node_without);
  ADD ("limits", test_limits);
  ADD ("limits-changed", test_limits_changed);
#undef ADD
  g_test_add_func ("/usage/kernel", test_kernel);
  return g_test_run ();
}
