/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-call-kind.h"
#include "dvmd-embed.h"
#include "dvmd-message.h"
#include "pmix-fake.h"

G_BEGIN_DECLS

/* A controller with two agents in this process, each with a PMIx server that the test plays the clients of. */
typedef struct
{
  char *dir;
  PmixFake *fakes[2];
  DvmdPmix *pmix[2];
  DvmdEmbedding embedding;
  GObject *agents[2]; /* DvmdAgent, unowned */
  DvmdController *controller;
  gboolean ready;
  gboolean ended;
} EngineFixture;

/* settings: what differs from two nodes of two slots; it may be changed. Returns when the DVM is ready. */
void engine_fixture_start (EngineFixture *self, DvmdControllerSettings *settings);
/* A job that may lose ranks, one on each node: it sleeps, and runs when this returns. */
DvmdJob *engine_fixture_run_job (EngineFixture *self);
void engine_fixture_end (EngineFixture *self, gboolean force);
/* It has ended. */
void engine_fixture_clear (EngineFixture *self);

/* A message of the agent of this rank. */
void engine_tell (DvmdController *controller, DvmdMessageKind kind, guint source, GVariant *body);
/* As if the agent had sent a call of that process or tool. */
void engine_call (DvmdController *controller, DvmdCallKind kind, guint agent, const char *nspace, guint32 rank,
                  GVariant *request);
/* One of the numbers of Manager.Statistics. */
guint64 engine_count (DvmdController *controller, const char *name);

G_END_DECLS
