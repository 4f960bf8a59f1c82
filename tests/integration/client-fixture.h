/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A DVM that changes its size, with one node of two slots, and a client of it.
 */

#pragma once

#include <dvm.h>

#include "wait-until.h"

G_BEGIN_DECLS

typedef struct
{
  char *dir;
  char *socket;
  GPid pid;
  DvmClient *client;
  GPtrArray *events; /* texts: the signals to the client, and those that a test adds */
} Fixture;

void fixture_set_up (Fixture *fixture, gconstpointer data);
void fixture_tear_down (Fixture *fixture, gconstpointer data);
/* Waits for the event of that number. */
const char *fixture_get_event (Fixture *fixture, guint index);
/* The events of another client come to the fixture too. */
void fixture_listen (Fixture *fixture, DvmClient *client);

G_END_DECLS
