/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An agent, and the events between it and its launcher. For sim-world.c, which says when they happen.
 */

#pragma once

#include "sim-world.h"

G_BEGIN_DECLS

/* A campaign (0: the start of the DVM) waits for a broadcast. */
typedef struct
{
  guint campaign;
  guint64 number;
} SimWiring;

/* The agent runs, and comes to the controller. */
void sim_daemon_start (SimDaemon *self);
/* The agent cannot run, or not come to the controller. */
void sim_daemon_fail (SimDaemon *self, DvmdCause cause);
/* The agent's report is told to the core. */
void sim_daemon_report (SimDaemon *self);
/* Something happens on the agent. */
void sim_daemon_act (SimDaemon *self);
/* The departure of the agent, if it is to leave, is told what the agent's tree knows. */
void sim_daemon_look (SimDaemon *self);
/* The launcher has ended the agent. */
void sim_daemon_ended (SimDaemon *self);
void sim_daemon_free (gpointer data);

G_END_DECLS
