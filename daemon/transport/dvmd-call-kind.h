/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * What a process or tool of a node asks the controller for, by way of its agent, and gets one answer to. One table of
 * kinds has the types of request and answer; a failure has a status alone.
 */
typedef enum
{
  DVMD_CALL_ALLOCATE,    /* (directive, request): (id of the allocation, of the request or "", session) */
  DVMD_CALL_SPAWN,       /* (apps, options, timeout s, streams that are wanted): (namespace) */
  DVMD_CALL_JOB_CONTROL, /* ([(nspace, rank)], operation, signal): () */
  DVMD_CALL_DATA,        /* (DvmdPmixDataOp, uid, gid, request): ([(nspace, rank, key, packed value)]) */
  DVMD_N_CALLS
} DvmdCallKind;

typedef struct
{
  const char *name; /* for people: "rank 3 wants to ..." */
  const char *request;
  const char *answer;
} DvmdCallType;

/* (nullable): there is no such kind */
const DvmdCallType *dvmd_call_kind_get_type (guint kind);

G_END_DECLS
