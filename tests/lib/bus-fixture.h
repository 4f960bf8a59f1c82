/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A DVM on the bus and its clients in one process: calls run the main context until they are answered.
 */

#pragma once

#include "dvm-client.h"
#include "dvmd-bus-server.h"
#include "wait-until.h"

G_BEGIN_DECLS

#define MANAGER      "org.dvm.Manager"
#define MANAGER_PATH "/org/dvm/Manager"
#define JOB          "org.dvm.Job"
#define PROPERTIES   "org.freedesktop.DBus.Properties"

typedef struct
{
  DvmdController *controller;
  DvmdBusServer *server;
  char *dir;
  char *socket;
} BusFixture;

/* Ready, with the private socket. */
void bus_fixture_set_up (BusFixture *fixture, DvmdController *controller, const char *name);
void bus_fixture_tear_down (BusFixture *fixture);
/* (transfer full): a client of the library, which has connected by the private socket */
DvmClient *bus_fixture_connect (BusFixture *fixture);

/* A client collects the signals that it gets, in order: "path interface.name parameters". */
typedef struct
{
  GDBusConnection *connection;
  const char *destination; /* (nullable) */
  GPtrArray *signals;
} BusClient;

BusClient *bus_client_new_private (BusFixture *fixture);
BusClient *bus_client_new_on_bus (const char *address, const char *destination);
BusClient *bus_client_new (GDBusConnection *connection, const char *destination);
void bus_client_free (BusClient *client);

/* parameters: floating or NULL. (transfer full) (nullable) */
GVariant *bus_client_call (BusClient *client, const char *path, const char *interface, const char *method,
                           GVariant *parameters, GError **error);
GVariant *bus_client_call_with_fds (BusClient *client, const char *path, const char *interface, const char *method,
                                    GVariant *parameters, GUnixFDList *fds, GUnixFDList **out_fds, GError **error);
/* Fails the test on an error. */
GVariant *bus_client_check (BusClient *client, const char *path, const char *interface, const char *method,
                            GVariant *parameters);
/* The call must fail with this name, and its message must speak of what. */
void bus_client_refused (BusClient *client, const char *path, const char *interface, const char *method,
                         GVariant *parameters, const char *error_name, const char *what);
GVariant *bus_client_get (BusClient *client, const char *path, const char *interface, const char *property);
/* (transfer full): path of the job; options in the text form of GVariant, such as {'np': <uint32 1>} */
char *bus_client_submit (BusClient *client, const char *program, const char *options);

/* How many of the signals fit the pattern of g_pattern_match_simple(). */
guint bus_client_count (BusClient *client, const char *pattern);
/* Index of the first from start on that does, -1 for none. */
int bus_client_find (BusClient *client, const char *pattern, guint start);
void bus_client_wait_for (BusClient *client, const char *pattern);
/* Everything that was sent before has arrived after this. */
void bus_client_sync (BusClient *client);

/* One turn of the main context, which blocks for 50 ms at most. */
void bus_iterate (void);

G_END_DECLS
