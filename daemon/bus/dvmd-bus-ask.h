/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests to the controller that change the size or a session, and their answers.
 */

#pragma once

#include "dvmd-bus-call.h"

G_BEGIN_DECLS

/* The controller's answer. */
typedef struct
{
  char *alloc_id; /* (nullable) */
  char *req_id;   /* (nullable) */
  char *nspace;   /* (nullable) */
  gboolean has_session;
  guint session;
  GVariant *sessions; /* (nullable) au: of a request for all of them */
  guint campaign;     /* 0: nothing changes */
} DvmdBusAnswer;

/* (transfer floating) (nullable): the values of the method */
typedef GVariant *(*DvmdBusMakeReply) (const DvmdBusAnswer *answer);
GVariant *dvmd_bus_reply_nothing (const DvmdBusAnswer *answer);
GVariant *dvmd_bus_reply_campaign (const DvmdBusAnswer *answer);
GVariant *dvmd_bus_reply_alloc_id (const DvmdBusAnswer *answer);
GVariant *dvmd_bus_reply_dictionary (const DvmdBusAnswer *answer);

typedef GVariant *(*DvmdBusAskFinish) (DvmdController *controller, GAsyncResult *result, GError **error);

/* A call that waits for its answer. */
typedef struct _DvmdBusAsked DvmdBusAsked;

/* about: number of the session that it is about, 0 if that is not known. Takes the invocation of the call. */
DvmdBusAsked *dvmd_bus_asked_new (DvmdBusCall *call, DvmdBusAskFinish finish, DvmdBusMakeReply make_reply, guint about);
/* The callback; takes the DvmdBusAsked, which is its data, and replies. */
void dvmd_bus_on_asked (GObject *controller, GAsyncResult *result, gpointer asked);

/* ---- (dvmd-bus-size.c) ---- */

/* request: a{sv} of Manager.Allocate */
void dvmd_bus_change_size (DvmdBusCall *call, const char *directive, GVariant *request, DvmdBusMakeReply make_reply);

G_END_DECLS
