/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The answer of squeue about a job, as squeue(1) describes it.
 */

#include "config.h"

#include "slurm-view.h"

typedef struct
{
  const char *text;
  const char *state; /* NULL: it is no answer */
  gboolean is_over;
  gint64 left;
  const char *nodes;
} Row;

static const Row rows[] = {
  { "RUNNING|59:30|n[1-2]\n", "RUNNING", FALSE, 59 * 60 + 30, "n1 n2" },
  { "RUNNING|1:00:05|n1\n", "RUNNING", FALSE, 3605, "n1" },
  { "RUNNING|2-03:04:05|n1", "RUNNING", FALSE, 2 * 86400 + 3 * 3600 + 4 * 60 + 5, "n1" },
  { "RUNNING|0:00|n1", "RUNNING", FALSE, 0, "n1" },
  { "SUSPENDED|UNLIMITED|n1", "SUSPENDED", FALSE, -1, "n1" },
  { "RUNNING|NOT_SET|n1", "RUNNING", FALSE, -1, "n1" },
  { "RUNNING|INVALID|n1", "RUNNING", FALSE, -1, "n1" },
  { "RUNNING|1:2:3:4|n1", "RUNNING", FALSE, -1, "n1" },
  { "RUNNING|x-1:00|n1", "RUNNING", FALSE, -1, "n1" },
  { "RUNNING|99999:00|n1", "RUNNING", FALSE, -1, "n1" },
  { "COMPLETING|5:00|n1", "COMPLETING", TRUE, 300, "n1" },
  { "CANCELLED|5:00|", "CANCELLED", TRUE, 300, "" },
  { "TIMEOUT|0:00|n1", "TIMEOUT", TRUE, 0, "n1" },
  /* It waits for another run: this one is over. */
  { "PENDING|5:00|", "PENDING", TRUE, 300, "" },
  /* The components of a heterogeneous job. */
  { "RUNNING|9:00|n1\nRUNNING|5:00|n[2-3]\n", "RUNNING", FALSE, 300, "n1 n2 n3" },
  { "COMPLETED|9:00|n1\nRUNNING|UNLIMITED|n2\n", "RUNNING", FALSE, 540, "n1 n2" },
  /* A warning comes before the job, not among its components. */
  { "squeue: warning: the weather | is bad\nRUNNING|5:00|n1\n", "RUNNING", FALSE, 300, "n1" },
  { "RUNNING|5:00|n1\nsqueue: warning\n", NULL },
  { "squeue: warning: one\nsqueue: warning: two\n", NULL },
  { "", NULL },
  { "\n", NULL },
  { "slurm_load_jobs error", NULL },
  { "RUNNING|5:00|n[1", NULL },
  { "RUNNING|5:00", NULL },
};

static void
test_rows (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (SlurmView) view = slurm_view_parse (rows[i].text, &error);
      g_autofree char *nodes = view != NULL ? g_strjoinv (" ", view->nodes) : NULL;

      g_test_message ("%s", rows[i].text);
      if (rows[i].state == NULL)
        {
          g_assert_null (view);
          g_assert_true (error->domain == DVM_ERROR);
          continue;
        }
      g_assert_no_error (error);
      g_assert_cmpstr (view->state, ==, rows[i].state);
      g_assert_cmpint (view->is_over, ==, rows[i].is_over);
      g_assert_cmpint (view->left, ==, rows[i].left);
      g_assert_cmpstr (nodes, ==, rows[i].nodes);
    }
}

static void
test_wishes (void)
{
  static const struct
  {
    const char *text;
    const char *gres;
    const char *constraint;
  } answers[] = {
    { "N/A|(null)\n", NULL, NULL },
    { "gres:gpu:2|fast\n", "gpu:2", "fast" },
    { "squeue: warning: old\ngres/gpu:a100:2,gres/craft|(null)\n", "gpu:a100:2,craft", NULL },
    { "(null)|[a|b]&c\n", NULL, "[a|b]&c" },
    { "|\n", NULL, NULL },
    { "gres:none|fast\n", NULL, "fast" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autofree char *gres = NULL;
      g_autofree char *constraint = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_true (slurm_wishes_parse (answers[i].text, &gres, &constraint, &error));
      g_assert_no_error (error);
      g_assert_cmpstr (gres, ==, answers[i].gres);
      g_assert_cmpstr (constraint, ==, answers[i].constraint);
      g_clear_pointer (&gres, g_free);
      g_assert_false (slurm_wishes_parse ("slurm_load_jobs error\n", &gres, &constraint, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slurm-view/rows", test_rows);
  g_test_add_func ("/slurm-view/wishes", test_wishes);
  return g_test_run ();
}
