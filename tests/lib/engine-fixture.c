/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "engine-fixture.h"

#include "dvmd-remove-tree.h"
#include "wait-until.h"

static void
on_ready (DvmdController *controller, gpointer user_data)
{
  ((EngineFixture *)user_data)->ready = TRUE;
}

static void
on_ended (DvmdController *controller, guint state, const char *reason, gpointer user_data)
{
  ((EngineFixture *)user_data)->ended = TRUE;
}

void
engine_fixture_start (EngineFixture *self, DvmdControllerSettings *settings)
{
  const char *nodes[] = { "one", "two", NULL };
  DvmdPmix *pmix[2];

  self->dir = g_dir_make_tmp ("dvm-engine-XXXXXX", NULL);
  for (guint i = 0; i < 2; i++)
    {
      self->fakes[i] = dvmd_pmix_fake_new ();
      pmix[i] = DVMD_PMIX (self->fakes[i]);
    }
  settings->runtime_dir = self->dir;
  settings->slots = 2;
  settings->history_limit = 10;
  settings->kill_grace = G_USEC_PER_SEC / 5;
  settings->nodes = nodes;
  settings->pmix = pmix;
  self->controller = dvmd_controller_new (settings, NULL);
  g_signal_connect (self->controller, "ready", G_CALLBACK (on_ready), self);
  g_signal_connect (self->controller, "ended", G_CALLBACK (on_ended), self);
  dvmd_controller_start (self->controller);
  wait_until (self->ready);
}

void
engine_fixture_end (EngineFixture *self, gboolean force)
{
  if (!self->ended)
    dvmd_controller_shutdown (self->controller, force, "the test is over");
  wait_until (self->ended);
}

void
engine_fixture_clear (EngineFixture *self)
{
  g_object_unref (self->controller);
  for (guint i = 0; i < 2; i++)
    g_object_unref (self->fakes[i]);
  g_assert_true (dvmd_remove_tree (self->dir, NULL));
  g_free (self->dir);
}
