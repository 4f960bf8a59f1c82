/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The XML of a machine that is not as hwloc writes it: each is refused with a sentence, or is a machine that hwloc
 * itself finds consistent. Nothing is printed, and nothing crashes. 600 of them, 20,000 with DVM_TEST_SOAK;
 * DVM_TEST_SEED: those of that seed.
 */

#include "config.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dvm.h"
#include "dvmd-binding.h"

#define ROUNDS 600
#define SOAK   20000

/* Exits of the child that loads. */
#define LOADED  0
#define REFUSED 1
#define SILENT  2

static const char *const machines[] = {
  "package:2 numa:1 core:4 pu:2",
  "package:2 numa:2 l3:2 core:2 pu:1",
  "numa:4 pu:1",
  "gpus.xml",
  "vendors.xml",
  "hybrid.xml",
  "offline.xml",
};

/* An attribute, or an element that has no others in it. */
typedef struct
{
  gsize start;
  gsize end;
  gsize value; /* of an attribute */
} Span;

static char *
load_machine (const char *name)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "machines", name, NULL);
  g_autoptr (DvmdTopology) topology = NULL;
  g_autoptr (GError) error = NULL;
  char *xml = NULL;

  if (g_str_has_suffix (name, ".xml"))
    g_file_get_contents (path, &xml, NULL, &error);
  else
    {
      topology = dvmd_topology_new_from_synthetic (name, &error);
      g_assert_no_error (error);
      xml = dvmd_topology_dup_xml (topology, &error);
    }
  g_assert_no_error (error);
  return xml;
}

/* (transfer full) (element-type Span): of all the places that pattern matches, of which the first group is a value */
static GArray *
find_spans (const char *xml, const char *pattern)
{
  GArray *spans = g_array_new (FALSE, FALSE, sizeof (Span));
  g_autoptr (GRegex) regex = g_regex_new (pattern, G_REGEX_RAW, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  for (g_regex_match (regex, xml, 0, &match); g_match_info_matches (match); g_match_info_next (match, NULL))
    {
      int start = 0;
      int end = 0;
      int value = 0;
      Span span;

      g_match_info_fetch_pos (match, 0, &start, &end);
      g_match_info_fetch_pos (match, 1, &value, NULL);
      span = (Span){ (gsize)start, (gsize)end, (gsize)MAX (value, 0) };
      g_array_append_val (spans, span);
    }
  g_assert_cmpuint (spans->len, >, 1);
  return spans;
}

static Span
draw (GRand *random, GArray *spans)
{
  return g_array_index (spans, Span, g_rand_int_range (random, 0, (gint32)spans->len));
}

static char *
replace (const char *xml, gsize start, gsize end, const char *text)
{
  return g_strdup_printf ("%.*s%s%s", (int)start, xml, text, xml + end);
}

static char *
mutate_attribute (GRand *random, const char *xml)
{
  static const char *const values[] = {
    "",
    "0",
    "1",
    "-1",
    "99999999999999999999",
    "0x0",
    "0xf...f",
    "0xffffffff,0xffffffff",
    "0x00000001",
    ",,,",
    "PU",
    "Core",
    "Package",
    "Group",
    "NUMANode",
    "L1iCache",
    "Machine",
    "Misc",
    "Bridge",
    "&#1;",
    "&amp;\xc3\xa4",
  };
  g_autoptr (GArray) spans = find_spans (xml, " [a-z_]+=\"([^\"]*)\"");
  Span span = draw (random, spans);
  Span other = draw (random, spans);
  g_autofree char *value = g_strndup (xml + other.value, other.end - 1 - other.value);
  g_autofree char *name = g_strndup (xml + span.start, span.value - span.start);

  switch (g_rand_int_range (random, 0, 4))
    {
    case 0:
      return replace (xml, span.start, span.end, "");
    case 1:
      return replace (xml, span.value, span.end - 1, values[g_rand_int_range (random, 0, G_N_ELEMENTS (values))]);
    case 2:
      return replace (xml, span.value, span.end - 1, value);
    default:
      /* The value of the same attribute elsewhere is of the right kind. */
      for (guint i = 0; i < 1000 && strncmp (xml + other.start, name, strlen (name)) != 0; i++)
        other = draw (random, spans);
      g_free (value);
      value = g_strndup (xml + other.value, other.end - 1 - other.value);
      return replace (xml, span.value, span.end - 1, value);
    }
}

static char *
mutate_element (GRand *random, const char *xml)
{
  g_autoptr (GArray) spans = find_spans (xml, "<(object|info)[^>]*(/>|></object>)");
  Span span = draw (random, spans);
  Span other = draw (random, spans);
  g_autofree char *text = g_strndup (xml + other.start, other.end - other.start);

  switch (g_rand_int_range (random, 0, 3))
    {
    case 0:
      return replace (xml, span.start, span.end, "");
    case 1:
      return replace (xml, span.start, span.end, text);
    default:
      return replace (xml, span.start, span.start, text);
    }
}

static char *
mutate_text (GRand *random, const char *xml)
{
  static const char *const words[] = { "<object type=\"Core\">",
                                       "</object>",
                                       "<!-- ",
                                       " -->",
                                       "<![CDATA[",
                                       "\"",
                                       "&",
                                       ">",
                                       "<userdata length=\"9999999\"/>",
                                       "<page_type/>",
                                       "<distances2 nbobjs=\"4096\"/>" };
  gsize at = (gsize)g_rand_int_range (random, 0, (gint32)strlen (xml));

  switch (g_rand_int_range (random, 0, 3))
    {
    case 0:
      return g_strndup (xml, at);
    case 1:
      return replace (xml, at, at, words[g_rand_int_range (random, 0, G_N_ELEMENTS (words))]);
    default:
      return replace (xml, at, at + 1, (char[]){ (char)g_rand_int_range (random, 1, 256), '\0' });
    }
}

static char *
mutate (GRand *random, const char *xml)
{
  static char *(*const mutations[]) (GRand * random, const char *xml) = { mutate_attribute, mutate_attribute,
                                                                          mutate_element, mutate_text };
  char *text = g_strdup (xml);

  for (gint32 n = g_rand_int_range (random, 1, 3); n > 0; n--)
    {
      char *next = NULL;

      /* After two of them there may be nothing left to change. */
      if (strlen (text) > strlen (xml) / 2)
        next = mutations[g_rand_int_range (random, 0, G_N_ELEMENTS (mutations))](random, text);
      if (next != NULL)
        g_free (text);
      text = next != NULL ? next : text;
    }
  return text;
}

/* ---- the child ---- */

static void
use (DvmdTopology *topology)
{
  const DvmdBindingPolicy policy = { .bind_to = 1 + DVMD_TOPOLOGY_CORE, .flags = DVMD_BINDING_OVERLOAD };
  const DvmdBindingPlace place = { 0 };
  const DvmdBindingRequest request = { .topology = topology, .policy = &policy, .places = &place, .n_places = 1 };
  g_autoptr (GPtrArray) lists = dvmd_binding_compute (&request, NULL, NULL);
  g_autofree char *xml = dvmd_topology_dup_xml (topology, NULL);

  g_assert_nonnull (lists);
  g_assert_nonnull (xml);
  /* This ends the child if something is not as it is in a machine. */
  hwloc_topology_check (dvmd_topology_get_hwloc (topology));
}

static void G_GNUC_NORETURN
load_and_exit (const char *xml, int printed)
{
  g_autoptr (GError) error = NULL;
  DvmdTopology *topology;

  dup2 (printed, STDOUT_FILENO);
  dup2 (printed, STDERR_FILENO);
  topology = dvmd_topology_new_from_xml (xml, strlen (xml), &error);
  if (topology == NULL)
    _exit (error != NULL && strlen (error->message) > 0 ? REFUSED : SILENT);
  use (topology);
  dvmd_topology_unref (topology);
  _exit (LOADED);
}

/* Returns: LOADED or REFUSED. The text of another end is kept. */
static int
try_to_load (const char *xml, guint round)
{
  g_autofree char *name = g_strdup_printf ("mutated-%u.xml", round);
  g_autofree char *path = g_test_build_filename (G_TEST_BUILT, name, NULL);
  int printed = memfd_create ("printed", MFD_CLOEXEC);
  char text[512] = "";
  int status = 0;
  gssize n;
  pid_t pid;

  g_assert_cmpint (printed, >=, 0);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    load_and_exit (xml, printed);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  n = pread (printed, text, sizeof text - 1, 0);
  close (printed);
  if (n == 0 && WIFEXITED (status) && WEXITSTATUS (status) <= REFUSED)
    return WEXITSTATUS (status);
  g_file_set_contents (path, xml, -1, NULL);
  g_error ("status %d of the child that loads %s, which prints “%s”", status, path, text);
}

static void
test_mutated (void)
{
  const char *seed_text = g_getenv ("DVM_TEST_SEED");
  guint32 seed = seed_text != NULL ? (guint32)g_ascii_strtoull (seed_text, NULL, 10) : 1;
  guint n = g_getenv ("DVM_TEST_SOAK") != NULL ? SOAK : ROUNDS;
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);
  guint n_loaded = 0;

  for (guint i = 0; i < G_N_ELEMENTS (machines); i++)
    g_ptr_array_add (texts, load_machine (machines[i]));
  g_test_message ("DVM_TEST_SEED=%u", seed);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *mutated = mutate (random, texts->pdata[i % texts->len]);

      n_loaded += try_to_load (mutated, i) == LOADED;
    }
  g_test_message ("%u of %u were machines", n_loaded, n);
  /* Names, sizes and devices are not what makes a machine inconsistent. */
  g_assert_cmpuint (n_loaded, >, n / 20);
  g_assert_cmpuint (n_loaded, <, n / 2);
}

static void
test_unchanged (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (machines); i++)
    {
      g_autofree char *xml = load_machine (machines[i]);

      g_assert_cmpint (try_to_load (xml, i), ==, LOADED);
    }
}

/* Numbers of caches and cores may be those of the firmware, of 32 bits. */
static void
test_large_numbers (void)
{
  static const char *const xml =
      "<topology version=\"2.0\">"
      "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
      "complete_nodeset=\"0x1\"><object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" "
      "nodeset=\"0x1\" complete_nodeset=\"0x1\"/>"
      "<object type=\"L3Cache\" os_index=\"4294967294\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
      "complete_nodeset=\"0x1\" cache_size=\"1048576\" depth=\"3\" cache_linesize=\"64\" cache_associativity=\"0\" "
      "cache_type=\"0\"><object type=\"Core\" os_index=\"1048577\" cpuset=\"0x1\" complete_cpuset=\"0x1\" "
      "nodeset=\"0x1\" complete_nodeset=\"0x1\"><object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" "
      "complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\"/></object></object>"
      "</object></topology>";

  g_assert_cmpint (try_to_load (xml, 0), ==, LOADED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  dvmd_topology_prepare_environment ();
  g_test_add_func ("/mutated/large-numbers", test_large_numbers);
  g_test_add_func ("/mutated/unchanged", test_unchanged);
  g_test_add_func ("/mutated/xml", test_mutated);
  return g_test_run ();
}
