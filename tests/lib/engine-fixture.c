/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "engine-fixture.h"

#include <unistd.h>

#include "dvmd-remove-tree.h"
#include "dvmd-services.h"
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

static GObject *
embed (const DvmdEmbeddedAgent *description, gpointer data, GError **error)
{
  EngineFixture *self = data;
  GObject *agent = dvmd_embed_agent (description, &self->embedding, error);

  self->agents[description->rank - 1] = agent;
  return agent;
}

void
engine_fixture_start (EngineFixture *self, DvmdControllerSettings *settings)
{
  const char *nodes[] = { "one", "two", NULL };

  self->dir = g_dir_make_tmp ("dvm-engine-XXXXXX", NULL);
  for (guint i = 0; i < 2; i++)
    {
      self->fakes[i] = pmix_fake_new ();
      self->pmix[i] = DVMD_PMIX (self->fakes[i]);
    }
  settings->runtime_dir = self->dir;
  settings->shape.slots = 2;
  settings->history_limit = 10;
  settings->kill_grace = G_USEC_PER_SEC / 5;
  settings->shape.nodes = nodes;
  self->embedding = (DvmdEmbedding){ .pmix = self->pmix, .n_pmix = 2 };
  settings->embed = embed;
  settings->embed_data = self;
  self->controller = dvmd_controller_new (settings, NULL);
  g_signal_connect (self->controller, "ready", G_CALLBACK (on_ready), self);
  g_signal_connect (self->controller, "ended", G_CALLBACK (on_ended), self);
  dvmd_controller_start (self->controller);
  wait_until (self->ready);
}

DvmdJob *
engine_fixture_run_job (EngineFixture *self)
{
  const char *argv[] = { "/bin/sleep", "1000", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autoptr (GError) error = NULL;
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 2);
  dvm_job_spec_set_map_by (spec, "node");
  dvm_job_spec_set_recoverable (spec, TRUE);
  job = dvmd_controller_submit (self->controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  return job;
}

/* Whatever an agent has begun holds a reference, and may need the reaper that goes with the controller. The controller
 * does not wait for an agent that it takes for lost. */
static gboolean
is_at_rest (EngineFixture *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->agents); i++)
    if (self->agents[i] != NULL && self->agents[i]->ref_count > 1)
      return FALSE;
  return TRUE;
}

void
engine_fixture_end (EngineFixture *self, gboolean force)
{
  if (!self->ended)
    dvmd_controller_shutdown (self->controller, force, "the test is over");
  wait_until (self->ended);
  wait_until (is_at_rest (self));
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

void
engine_tell (DvmdController *controller, DvmdMessageKind kind, guint source, GVariant *body)
{
  g_autoptr (DvmdMessage) message = dvmd_message_new (kind, source, 0, body);

  g_assert_true (dvmd_services_handle (controller, message));
}

void
engine_call (DvmdController *controller, DvmdCallKind kind, guint agent, const char *nspace, guint32 rank,
             GVariant *request)
{
  g_autoptr (GVariant)
      body = g_variant_ref_sink (g_variant_new ("(tusuuv)", (guint64)99, kind, nspace, rank, 0, request));

  engine_tell (controller, DVMD_MSG_CALL, agent, body);
}

guint64
engine_count (DvmdController *controller, const char *name)
{
  g_autoptr (GVariant) statistics = g_variant_ref_sink (dvmd_controller_get_statistics (controller));
  guint64 value;

  g_assert_true (g_variant_lookup (statistics, name, "t", &value));
  return value;
}
