/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What happens on an agent, and between it and its launcher. For sim-world.c, which says when.
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

/* It runs, and comes to the controller. */
void sim_daemon_start (SimDaemon *self);
/* It cannot. */
void sim_daemon_fail (SimDaemon *self, DvmdCause cause);
/* The core is told of it. */
void sim_daemon_report (SimDaemon *self);
/* Something happens on it. */
void sim_daemon_act (SimDaemon *self);
/* What its tree knows is told to whoever waits for it. */
void sim_daemon_look (SimDaemon *self);
/* The launcher has ended it. */
void sim_daemon_ended (SimDaemon *self);
void sim_daemon_free (gpointer data);

G_END_DECLS
