/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-pmix-fake.h"

G_BEGIN_DECLS

/* A controller with two agents in this process, each with a PMIx server that the test plays the clients of. */
typedef struct
{
  char *dir;
  DvmdPmixFake *fakes[2];
  DvmdController *controller;
  gboolean ready;
  gboolean ended;
} EngineFixture;

/* settings: what differs from two nodes of two slots; it may be changed. Returns when the DVM is ready. */
void engine_fixture_start (EngineFixture *self, DvmdControllerSettings *settings);
void engine_fixture_end (EngineFixture *self, gboolean force);
/* It has ended. */
void engine_fixture_clear (EngineFixture *self);

G_END_DECLS
