/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How objects are called: by their kind and a number.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define DVMD_BUS_MANAGER_PATH         "/org/dvm/Manager"
#define DVMD_BUS_JOBS_PATH            "/org/dvm/jobs"
#define DVMD_BUS_NODES_PATH           "/org/dvm/nodes"
#define DVMD_BUS_SESSIONS_PATH        "/org/dvm/sessions"
#define DVMD_BUS_CAMPAIGNS_PATH       "/org/dvm/campaigns"
#define DVMD_BUS_DEFAULT_SESSION_PATH "/org/dvm/sessions/0"
#define DVMD_BUS_PROPERTIES_INTERFACE "org.freedesktop.DBus.Properties"

typedef enum
{
  DVMD_BUS_MANAGER, /* its number is 0 */
  DVMD_BUS_JOB,
  DVMD_BUS_NODE,
  DVMD_BUS_SESSION,
  DVMD_BUS_CAMPAIGN,
} DvmdBusKind;

typedef struct
{
  DvmdBusKind kind;
  guint id;
} DvmdBusKey;

guint dvmd_bus_key_hash (gconstpointer key);
gboolean dvmd_bus_key_equal (gconstpointer a, gconstpointer b);
/* "/org/dvm/jobs/7"; "/" for campaign 0, which is none */
char *dvmd_bus_path (DvmdBusKind kind, guint id);
/* The number behind the path of a subtree: decimal, without leading zeros. */
gboolean dvmd_bus_parse_node (const char *node, guint *id);

G_END_DECLS
