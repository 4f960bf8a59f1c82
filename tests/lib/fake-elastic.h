/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The fake controller's agents that come and go: at once, or when the test says so.
 */

#pragma once

#include "fake-controller.h"

G_BEGIN_DECLS

typedef struct _FakeElastic FakeElastic;

FakeElastic *fake_controller_get_elastic (DvmdController *self);

/* Agents that are to come or to go do so, but for those that are held. */
void fake_elastic_hold (FakeElastic *self, gboolean hold);
/* Requests are answered when this is called with FALSE. */
void fake_elastic_hold_answers (FakeElastic *self, gboolean hold);
/* The agent of this node does not come. */
void fake_elastic_fail (FakeElastic *self, const char *host, DvmdCause cause, const char *reason);
/* The text tells who asked last for something to be done to which session: "private:1 3 {'pause': <true>}" */
const char *fake_elastic_get_last_control (FakeElastic *self);

/* ---- for fake-controller.c ---- */

FakeElastic *fake_elastic_new (DvmdCore *core);
void fake_elastic_free (FakeElastic *self);
/* TRUE: it is kept for later */
gboolean fake_elastic_hold_agent (FakeElastic *self, guint rank);
void fake_elastic_wire_agents (gpointer world, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes);
void fake_elastic_order_away (gpointer world, DvmdSendOff *order);
void fake_elastic_warn_job (gpointer world, DvmdJob *job, DvmdNode *node, gint64 when);
void fake_elastic_offer_nodes (gpointer world, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n_nodes);
void fake_elastic_campaign_ended (gpointer world, DvmdCampaign *campaign);

G_END_DECLS
