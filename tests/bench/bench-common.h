/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

#define MANAGER      "org.dvm.Manager"
#define MANAGER_PATH "/org/dvm/Manager"
#define JOB          "org.dvm.Job"
#define PROPERTIES   "org.freedesktop.DBus.Properties"

/* Ends the program with the error, if there is one. */
void bench_check (GError *error);
GDBusConnection *bench_connect (const char *socket);
GVariant *bench_call (GDBusConnection *connection, const char *path, const char *interface, const char *method,
                      GVariant *parameters);
/* Runs so many jobs of one plain process to their end, so many at a time; seconds. */
double bench_run_jobs (GDBusConnection *connection, const char *program, guint n_jobs, guint in_flight);

G_END_DECLS
