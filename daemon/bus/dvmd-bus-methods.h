/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Methods that have files of their own, and calls of them that are under way.
 */

#pragma once

#include "dvmd-bus-call.h"

G_BEGIN_DECLS

void dvmd_bus_find_node (DvmdBusCall *call);
void dvmd_bus_find_session (DvmdBusCall *call);

extern const DvmdBusReader dvmd_bus_submit_reader;
extern const DvmdBusReader dvmd_bus_submit_apps_reader;
extern const DvmdBusReader dvmd_bus_map_reader;
void dvmd_bus_submit (DvmdBusCall *call);
void dvmd_bus_submit_many (DvmdBusCall *call);
void dvmd_bus_list_jobs (DvmdBusCall *call);
void dvmd_bus_cancel_jobs (DvmdBusCall *call);
void dvmd_bus_list_nodes (DvmdBusCall *call);
void dvmd_bus_list_campaigns (DvmdBusCall *call);
void dvmd_bus_list_sessions (DvmdBusCall *call);
void dvmd_bus_list_devices (DvmdBusCall *call);
void dvmd_bus_list_procs (DvmdBusCall *call);
void dvmd_bus_collect_stacks (DvmdBusCall *call);
void dvmd_bus_query (DvmdBusCall *call);
/* Answers with values, (transfer floating), and under this name with a(udtt) of the nodes (element-type guint). */
void dvmd_bus_measure_loads (DvmdController *controller, GArray *nodes, const char *name, GVariant *values,
                             GDBusMethodInvocation *invocation);
void dvmd_bus_attach (DvmdBusCall *call);
void dvmd_bus_map (DvmdBusCall *call);
void dvmd_bus_map_job (DvmdBusCall *call);
/* The record of the node says which processes have its devices now. */
void dvmd_bus_publish_devices (DvmdController *controller, DvmdNode *node);
/* Also of one that has left; "" for DVMD_NO_NODE */
const char *dvmd_bus_get_node_name (DvmdNodePool *pool, guint rank);

/* The reader reads the hosts that the request, the last of the parameters, names. */
extern const DvmdBusReader dvmd_bus_hosts_reader;
void dvmd_bus_grow (DvmdBusCall *call);
void dvmd_bus_shrink (DvmdBusCall *call);
void dvmd_bus_allocate (DvmdBusCall *call);

/* ---- sessions are told what to do (dvmd-bus-session-control.c) ---- */

extern const DvmdBusReader dvmd_bus_control_session_reader;
void dvmd_bus_control_session (DvmdBusCall *call);
/* The methods of a session */
void dvmd_bus_session_extend (DvmdBusCall *call);
void dvmd_bus_session_pause (DvmdBusCall *call);
void dvmd_bus_session_release (DvmdBusCall *call);
void dvmd_bus_session_resume (DvmdBusCall *call);
void dvmd_bus_session_signal (DvmdBusCall *call);
void dvmd_bus_session_terminate (DvmdBusCall *call);

/* ---- SubmitMany (dvmd-bus-submit-many.c) ---- */

GPtrArray *dvmd_bus_batches_new (void);
/* The caller has left: what it has begun, and what does not exist yet, is forgotten. */
void dvmd_bus_batches_drop (DvmdBusServer *server, DvmdBusCaller *caller);
/* Everything that is under way gets this error. */
void dvmd_bus_batches_fail (DvmdBusServer *server, const GError *error);

/* ---- Map before the DVM is ready (dvmd-bus-map.c): as the batches ---- */

GPtrArray *dvmd_bus_maps_new (void);
void dvmd_bus_maps_ready (DvmdBusServer *server);
void dvmd_bus_maps_drop (DvmdBusServer *server, DvmdBusCaller *caller);
void dvmd_bus_maps_fail (DvmdBusServer *server, const GError *error);

G_END_DECLS
