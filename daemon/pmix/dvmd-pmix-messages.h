/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-frame.h"
#include "dvmd-packet.h"
#include "dvmd-pmix.h"

G_BEGIN_DECLS

/*
 * The messages between an agent and the process that has libpmix in it (dvm-pmix): the calls of DvmdPmix one way, those
 * of DvmdPmixHost the other. One table of kinds, each with the type of its body. A call number (t) comes back with the
 * answer; tokens are those of the server.
 */

typedef enum
{
  /* agent to server */
  DVMD_PMIX_MSG_START = 1,         /* see DVMD_PMIX_SETTINGS_TYPE: STARTED answers */
  DVMD_PMIX_MSG_REGISTER = 2,      /* (call, job): REGISTERED answers */
  DVMD_PMIX_MSG_DEREGISTER = 3,    /* (call, nspace): DONE answers */
  DVMD_PMIX_MSG_ABANDON = 4,       /* (nspace) */
  DVMD_PMIX_MSG_FETCH = 5,         /* (call, nspace, rank): FETCHED answers */
  DVMD_PMIX_MSG_FENCE_DONE = 6,    /* (token, status, data) */
  DVMD_PMIX_MSG_MODEX_DONE = 7,    /* (token, status, data) */
  DVMD_PMIX_MSG_ANSWER = 8,        /* (token, status, answer of the type of the kind, or nothing) */
  DVMD_PMIX_MSG_GONE = 9,          /* (nspace, rank) */
  DVMD_PMIX_MSG_OUTPUT = 11,       /* (nspace, rank, stream, bytes) */
  DVMD_PMIX_MSG_CONNECT_DONE = 13, /* (token, status) */
  DVMD_PMIX_MSG_EVENT = 14,        /* (status, source or nothing, targets, details or nothing) */
  DVMD_PMIX_MSG_CATCH_UP = 15,     /* (call): ANSWERED, after all that clients have told until then */
  DVMD_PMIX_MSG_PING = 16,         /* (call): ANSWERED, by the library's own thread */
  DVMD_PMIX_MSG_STOP = 17,         /* () */
  DVMD_PMIX_MSG_TAKE_BACK = 18,    /* (call, nspace, rank): DONE answers */

  /* server to agent */
  DVMD_PMIX_MSG_STARTED = 32,    /* (what went wrong or "") */
  DVMD_PMIX_MSG_REGISTERED = 33, /* (call, code and text of an error or "", environments of the ranks here) */
  DVMD_PMIX_MSG_DONE = 34,       /* (call, code and text of an error or "", bytes of memory) */
  DVMD_PMIX_MSG_FETCHED = 35,    /* (call, code and text of an error or "", data) */
  DVMD_PMIX_MSG_ANSWERED = 36,   /* (call) */
  DVMD_PMIX_MSG_CONNECTED = 40,  /* (nspace, rank), as all up to LOST */
  DVMD_PMIX_MSG_FINALIZED = 41,
  DVMD_PMIX_MSG_WAITS = 42,
  DVMD_PMIX_MSG_LOST = 43,
  DVMD_PMIX_MSG_TOOL = 44,     /* (nspace, rank): a tool is connected, and called so */
  DVMD_PMIX_MSG_ABORT = 45,    /* (nspace, rank, status, message, targets) */
  DVMD_PMIX_MSG_FENCE = 46,    /* (token, participants, data, collect, timeout) */
  DVMD_PMIX_MSG_MODEX = 47,    /* (token, nspace, rank, key or "", timeout) */
  DVMD_PMIX_MSG_CALL = 48,     /* (token, DvmdCallKind, nspace, rank, request of the type of the kind) */
  DVMD_PMIX_MSG_TAKEN = 49,    /* (pieces of output that have been handed over) */
  DVMD_PMIX_MSG_UNWANTED = 50, /* (): no client pulls output any more */
  DVMD_PMIX_MSG_CONNECT = 52,  /* (token, leave, participants, timeout) */
} DvmdPmixMessageKind;

/*
 * (runtime directory, PMIx's directory, shared memory, namespace, rank, node, prefix of tools, topology as XML, gds,
 * tools)
 */
#define DVMD_PMIX_SETTINGS_TYPE "(ayayaysussssb)"

/* The link has none of its own: the kernel tells of an end, and pings of a server that does not answer. */
#define DVMD_PMIX_HEARTBEAT (24 * 3600 * G_TIME_SPAN_SECOND)

/* A request or an answer of more is none of a message: what goes around it has room besides. More than
 * DVMD_FENCE_LIMIT, by which agents know a fence that is too large. */
#define DVMD_PMIX_DATA_LIMIT (DVMD_FRAME_DEFAULT_LIMIT - 512 * 1024)

/* Of one that has no such row: NULL. For DvmdWireOptions. */
const GVariantType *dvmd_pmix_message_type (DvmdPacketType type, guint16 kind);
const char *dvmd_pmix_message_name (guint16 kind);

/* The name of this table, with the types of calls in it; dvm-pmix is given it as its argument. */
char *dvmd_pmix_messages_dup_digest (void);
/* dvm-pmix ends with it when it is given another one: it was replaced while its agent ran. */
#define DVMD_PMIX_EXIT_OTHER 3

/* Floating. The topology is left out when it cannot be written. */
GVariant *dvmd_pmix_settings_to_variant (const DvmdPmixSettings *settings);
void dvmd_pmix_settings_from_variant (DvmdPmixSettings *settings, GVariant *variant);

/* A job as it is registered; floating. guest: without ranks of that server. */
GVariant *dvmd_pmix_job_to_variant (DvmdPmixJob *job, gboolean guest);
DvmdPmixJob *dvmd_pmix_job_new_from_variant (GVariant *variant);

/* ay, floating, and back: many strings are one value, each with its final zero. */
GVariant *dvmd_pmix_strings_to_variant (const char *const *strings);
char **dvmd_pmix_strings_from_variant (GVariant *variant);
/* ay, floating; bytes (nullable): none */
GVariant *dvmd_pmix_bytes_to_variant (GBytes *bytes);
/* a(su), floating */
GVariant *dvmd_pmix_procs_to_variant (const DvmdPmixProc *procs, guint n_procs);
/* (transfer container): the names are of variant, which is to live longer. */
DvmdPmixProc *dvmd_pmix_procs_from_variant (GVariant *variant, guint *n_procs);

G_END_DECLS
