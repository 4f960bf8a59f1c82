/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "sim-seeds.h"

#define CHATTER (G_LOG_LEVEL_MESSAGE | G_LOG_LEVEL_INFO | G_LOG_LEVEL_DEBUG)

static GLogWriterOutput
drop_chatter (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer user_data)
{
  if (level & CHATTER)
    return G_LOG_WRITER_HANDLED;
  return g_log_writer_default (level, fields, n_fields, user_data);
}

static void
drop_old_chatter (const char *domain, GLogLevelFlags level, const char *message, gpointer user_data)
{
  if ((level & CHATTER) == 0)
    g_log_default_handler (domain, level, message, user_data);
}

gboolean
sim_seeds_is_traced (void)
{
  return g_getenv ("DVM_SIM_TRACE") != NULL;
}

void
sim_seeds_init (int *argc, char ***argv)
{
  g_test_init (argc, argv, NULL);
  if (sim_seeds_is_traced ())
    return;
  g_log_set_writer_func (drop_chatter, NULL, NULL);
  g_log_set_default_handler (drop_old_chatter, NULL);
}

gboolean
sim_seeds_get_one (guint *seed)
{
  const char *text = g_getenv ("DVM_SIM_SEED");

  if (text != NULL)
    *seed = (guint)g_ascii_strtoull (text, NULL, 10);
  return text != NULL;
}

guint
sim_seeds_get_n (void)
{
  const char *text = g_getenv ("DVM_SIM_HISTORIES");

  if (text != NULL)
    return (guint)g_ascii_strtoull (text, NULL, 10);
  return g_getenv ("DVM_TEST_SOAK") != NULL ? 100000 : 10000;
}

void
sim_seeds_run (void (*run) (guint seed))
{
  guint n = sim_seeds_get_n ();
  guint seed;

  if (sim_seeds_get_one (&seed))
    {
      run (seed);
      return;
    }
  for (guint i = 1; i <= n; i++)
    run (i);
  g_test_message ("%u histories", n);
}
