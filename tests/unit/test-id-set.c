/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <dvm.h>

#include "dvmd-id-set.h"

static void
test_round_trip (void)
{
  static const char *const texts[][2] = {
    { "7", "7" },
    { "0-99,200", "0-99,200" },
    { "5,4,3,1", "1,3-5" },
    { "10-20,15-30,31,33", "10-31,33" },
    { "3-3", "3" },
    { "0-4294967295", "0-4294967295" },
    { "4294967295,0", "0,4294967295" },
    { "4294967295,4294967294", "4294967294-4294967295" },
    { "", "0-4294967295" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdIdSet) set = dvmd_id_set_parse (texts[i][0], "ids", &error);
      g_autofree char *text = NULL;

      g_assert_no_error (error);
      text = dvmd_id_set_format (set);
      g_assert_cmpstr (text, ==, texts[i][1]);
    }
}

static void
test_bad_text (void)
{
  static const char *const texts[][2] = {
    { ",", "at character 1" },
    { "1,", "at character 3" },
    { "1,,2", "at character 3 (\",2\")" },
    { "-1", "at character 1" },
    { "1-", "at character 3" },
    { "9-3", "at character 1 (\"9-3\"): the range ends" },
    { "1 2", "at character 2" },
    { "x", "at character 1" },
    { "1-2-3", "at character 4" },
    { "+1", "at character 1" },
    { " 1", "at character 1" },
    { "4294967296", "no number that fits" },
    { "0x1", "at character 2" },
    { "1\xff", "at character 2" },
    { "99999999999999999999999999999999999", "at character 1" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdIdSet) set = dvmd_id_set_parse (texts[i][0], "ranks", &error);

      g_assert_null (set);
      g_assert_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED);
      g_test_message ("%s", error->message);
      g_assert_true (g_str_has_prefix (error->message, "ranks: "));
      g_assert_nonnull (strstr (error->message, texts[i][1]));
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
    }
}

static void
test_members (void)
{
  g_autoptr (DvmdIdSet) set = dvmd_id_set_parse ("3-5,9,4294967295", "ids", NULL);
  g_autoptr (DvmdIdSet) empty = dvmd_id_set_new ();
  g_autoptr (GString) seen = g_string_new (NULL);
  g_autofree char *nothing = dvmd_id_set_format (empty);
  guint id;

  g_assert_cmpuint (dvmd_id_set_count (set), ==, 5);
  g_assert_false (dvmd_id_set_contains (set, 2));
  g_assert_true (dvmd_id_set_contains (set, 3));
  g_assert_true (dvmd_id_set_contains (set, 5));
  g_assert_false (dvmd_id_set_contains (set, 6));
  g_assert_true (dvmd_id_set_contains (set, G_MAXUINT));
  for (id = 0; dvmd_id_set_next (set, id, &id) && id < 100; id++)
    g_string_append_printf (seen, "%u ", id);
  g_assert_cmpstr (seen->str, ==, "3 4 5 9 ");
  g_assert_true (dvmd_id_set_is_empty (empty));
  g_assert_false (dvmd_id_set_next (empty, 0, &id));
  g_assert_true (dvmd_id_set_last_start (set, &id));
  g_assert_cmpuint (id, ==, G_MAXUINT);
  dvmd_id_set_add_range (set, 6, G_MAXUINT - 1);
  g_assert_true (dvmd_id_set_last_start (set, &id));
  g_assert_cmpuint (id, ==, 3);
  g_assert_false (dvmd_id_set_last_start (empty, &id));
  g_assert_cmpstr (nothing, ==, "");
}

static void
test_part (void)
{
  static const struct
  {
    guint first;
    guint last;
    const char *part;
  } parts[] = {
    { 0, G_MAXUINT, "3-5,9,20-4294967295" }, { 4, 9, "4-5,9" },   { 6, 8, "" }, { 5, 5, "5" },
    { G_MAXUINT, G_MAXUINT, "4294967295" },  { 10, 21, "20-21" },
  };
  g_autoptr (DvmdIdSet) whole = dvmd_id_set_parse ("3-5,9,20-4294967295", "ids", NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      g_autoptr (DvmdIdSet) part = dvmd_id_set_new ();
      g_autofree char *text = NULL;

      dvmd_id_set_add_part (part, whole, parts[i].first, parts[i].last);
      text = dvmd_id_set_format (part);
      g_assert_cmpstr (text, ==, parts[i].part);
    }
}

/* Against a plain bitmap, with random ranges. */
static void
test_random (void)
{
  for (guint round = 0; round < 200; round++)
    {
      g_autoptr (DvmdIdSet) set = dvmd_id_set_new ();
      gboolean model[128] = { FALSE };
      guint n = 0;

      for (guint i = 0; i < 20; i++)
        {
          guint first = (guint)g_test_rand_int_range (0, 128);
          guint last = (guint)g_test_rand_int_range ((gint32)first, MIN (128, (gint32)first + 12));

          dvmd_id_set_add_range (set, first, last);
          for (guint id = first; id <= last; id++)
            model[id] = TRUE;
        }
      for (guint id = 0; id < 128; id++)
        {
          g_assert_true (dvmd_id_set_contains (set, id) == model[id]);
          n += model[id];
        }
      g_assert_cmpuint (dvmd_id_set_count (set), ==, n);
    }
}

/* A long list in the worst order costs neither quadratic time nor much memory. */
static void
test_hostile (void)
{
  g_autoptr (GString) text = g_string_new ("0-4294967295");
  g_autoptr (DvmdIdSet) all = NULL;
  g_autoptr (DvmdIdSet) many = NULL;
  g_autoptr (GString) descending = g_string_new ("0");

  for (guint i = 0; i < 100000; i++)
    g_string_append (text, ",0-4294967295");
  all = dvmd_id_set_parse (text->str, "ids", NULL);
  g_assert_cmpuint (dvmd_id_set_count (all), ==, G_GUINT64_CONSTANT (1) << 32);
  for (guint i = 100000; i > 0; i--)
    g_string_append_printf (descending, ",%u", i * 2);
  many = dvmd_id_set_parse (descending->str, "ids", NULL);
  g_assert_cmpuint (dvmd_id_set_count (many), ==, 100001);
}

static void
test_from_ranges (void)
{
  const DvmdIdRange rows[] = { { 9, 9 }, { 4, G_MAXUINT - 1 }, { 3, 5 }, { 0, 1 }, { 0, 0 } };
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (DvmdIdRange));
  g_autoptr (DvmdIdSet) empty = dvmd_id_set_new_from_ranges (ranges);
  g_autoptr (DvmdIdSet) set = NULL;
  g_autofree char *text = NULL;

  g_assert_true (dvmd_id_set_is_empty (empty));
  g_array_append_vals (ranges, rows, G_N_ELEMENTS (rows));
  set = dvmd_id_set_new_from_ranges (ranges);
  text = dvmd_id_set_format (set);
  g_assert_cmpstr (text, ==, "0-1,3-4294967294");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/id-set/round-trip", test_round_trip);
  g_test_add_func ("/id-set/bad-text", test_bad_text);
  g_test_add_func ("/id-set/members", test_members);
  g_test_add_func ("/id-set/part", test_part);
  g_test_add_func ("/id-set/from-ranges", test_from_ranges);
  g_test_add_func ("/id-set/random", test_random);
  g_test_add_func ("/id-set/hostile", test_hostile);
  return g_test_run ();
}
