/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The short way to see whether a body is in normal form says what GLib says.
 */

#include "config.h"

#include <string.h>

#include "dvmd-normal-form.h"

static GVariant *
make_bytes (GRand *rand, gsize max)
{
  gsize size = g_rand_int_range (rand, 0, (gint32)max);
  g_autofree guint8 *bytes = g_malloc (size + 1);

  for (gsize i = 0; i < size; i++)
    bytes[i] = (guint8)g_rand_int (rand);
  return g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, bytes, size, 1);
}

static GVariant *
make_value (GRand *rand, guint which)
{
  const guint32 numbers[] = { 1, 2, 3, 4, 5 };
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(su)"));
  g_variant_builder_add (&rows, "(su)", "a job", 1);
  g_variant_builder_add (&rows, "(su)", "another job", 2);
  switch (which)
    {
    case 0:
      g_variant_builder_clear (&rows);
      return g_variant_new ("(uti@ay)", 1, G_GUINT64_CONSTANT (2), 3, make_bytes (rand, 3000));
    case 1:
      return g_variant_new ("(ta(su)b@ayui)", G_GUINT64_CONSTANT (1), &rows, TRUE, make_bytes (rand, 3000), 1, -1);
    case 2:
      g_variant_builder_clear (&rows);
      return g_variant_new ("(s@auv)", "7/1",
                            g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, numbers, 5, sizeof (guint32)),
                            g_variant_new ("(uui@ay)", 1, 2, 0, make_bytes (rand, 3000)));
    case 3:
      g_variant_builder_clear (&rows);
      return g_variant_new ("(ss@ay)", "first", "second", make_bytes (rand, 3000));
    default:
      g_variant_builder_clear (&rows);
      return g_variant_new ("(uu@ayu)", 1, 2, make_bytes (rand, 3000), 3);
    }
}

/* Says the same of these bytes. */
static gboolean
check (const GVariantType *type, const guint8 *data, gsize size)
{
  guint8 *one = g_memdup2 (data, size);
  guint8 *other = g_memdup2 (data, size);
  g_autoptr (GVariant) mine = g_variant_ref_sink (g_variant_new_from_data (type, one, size, FALSE, g_free, one));
  g_autoptr (GVariant) theirs = g_variant_ref_sink (g_variant_new_from_data (type, other, size, FALSE, g_free, other));
  gboolean expected = g_variant_is_normal_form (theirs);

  if (dvmd_variant_is_normal (mine) != expected)
    {
      g_autofree char *text = g_variant_print (mine, TRUE);

      g_error ("%zu bytes are%s in normal form: %s", size, expected ? "" : " not", text);
    }
  return expected;
}

static void
spoil (GRand *rand, guint8 *data, gsize *size)
{
  guint n = g_rand_int_range (rand, 0, 4);

  if (g_rand_int_range (rand, 0, 8) == 0)
    *size = g_rand_int_range (rand, 0, (gint32)*size + 1);
  /* The ends, where the framing is, more than the middle. */
  for (guint i = 0; i<n && * size> 0; i++)
    {
      gsize range = MIN (*size, 48);
      gsize at = g_rand_int_range (rand, 0, (gint32)range);

      if (g_rand_boolean (rand))
        at = *size - 1 - at;
      data[at] = g_rand_boolean (rand) ? (guint8)g_rand_int (rand) : (guint8)(data[at] ^ 1);
    }
}

static void
test_same (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  guint n_normal = 0;
  guint n_not = 0;

  for (guint i = 0; i < 20000; i++)
    {
      g_autoptr (GVariant) value = g_variant_ref_sink (make_value (rand, i % 5));
      gsize size = g_variant_get_size (value);
      g_autofree guint8 *data = g_memdup2 (g_variant_get_data (value), size);

      g_assert_true (check (g_variant_get_type (value), data, size));
      spoil (rand, data, &size);
      if (check (g_variant_get_type (value), data, size))
        n_normal++;
      else
        n_not++;
    }
  g_assert_cmpuint (n_normal, >, 1000);
  g_assert_cmpuint (n_not, >, 1000);
}

/* Variants in variants to any depth neither eat the stack nor much time. */
static void
test_deep (void)
{
  gsize size = 1 << 20;
  guint8 *data = g_malloc0 (size);
  g_autoptr (GVariant) value = NULL;

  for (gsize i = 1; i < size; i += 2)
    data[i] = 'v';
  value = g_variant_ref_sink (g_variant_new_from_data (G_VARIANT_TYPE ("(v)"), data, size, FALSE, g_free, data));
  g_assert_false (dvmd_variant_is_normal (value));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/normal-form/same", test_same);
  g_test_add_func ("/normal-form/deep", test_deep);
  return g_test_run ();
}
