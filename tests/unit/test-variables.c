/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Environments that are put together, one over the other.
 */

#include "config.h"

#include "dvmd-variables.h"

static void
assert_vector (DvmdVariables *variables, const char *expected)
{
  g_autofree char *text = g_strjoinv (" ", (char **)dvmd_variables_get_vector (variables));

  g_assert_cmpstr (text, ==, expected);
}

static void
test_order (void)
{
  g_autoptr (DvmdVariables) variables = dvmd_variables_new (NULL);
  const char *const entries[] = { "A=1", "B=2", "AB=3", NULL };

  assert_vector (variables, "");
  dvmd_variables_put_all (variables, entries);
  dvmd_variables_put_all (variables, NULL);
  dvmd_variables_printf (variables, "A=%d", 4);
  assert_vector (variables, "A=4 B=2 AB=3");
  dvmd_variables_remove (variables, "A");
  dvmd_variables_remove (variables, "C");
  assert_vector (variables, "B=2 AB=3");
  dvmd_variables_put (variables, "A=5=6");
  dvmd_variables_take_all (variables, g_strdupv ((char *[]){ "D=", NULL }));
  dvmd_variables_take_all (variables, NULL);
  assert_vector (variables, "B=2 AB=3 A=5=6 D=");
  g_assert_cmpstr (dvmd_variables_get (variables, "A"), ==, "5=6");
  g_assert_cmpstr (dvmd_variables_get (variables, "D=7"), ==, "");
  g_assert_null (dvmd_variables_get (variables, "C"));
}

static void
test_over (void)
{
  g_autoptr (DvmdVariables) below = dvmd_variables_new (NULL);
  const char *const entries[] = { "A=1", "B=2", "C=3", NULL };

  dvmd_variables_put_all (below, entries);
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (DvmdVariables) variables = dvmd_variables_new (below);

      assert_vector (variables, "A=1 B=2 C=3");
      dvmd_variables_printf (variables, "B=%d", 10 + i);
      dvmd_variables_remove (variables, "A");
      dvmd_variables_put (variables, "D=4");
      g_assert_null (dvmd_variables_get (variables, "A"));
      g_assert_cmpstr (dvmd_variables_get (variables, "C"), ==, "3");
      assert_vector (variables, i == 0 ? "B=10 C=3 D=4" : "B=11 C=3 D=4");
      dvmd_variables_put (variables, "A=5");
      assert_vector (variables, i == 0 ? "B=10 C=3 D=4 A=5" : "B=11 C=3 D=4 A=5");
      assert_vector (below, "A=1 B=2 C=3");
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/variables/order", test_order);
  g_test_add_func ("/variables/over", test_over);
  return g_test_run ();
}
