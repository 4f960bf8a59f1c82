/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * What controller and agents say to each other. One table of kinds, each with the GVariant type of its body: whoever
 * makes a message and whoever reads it use the same row. Byte strings are "ay" without a final zero.
 */

typedef enum
{
  /* agent to controller */
  DVMD_MSG_REPORT = 1,       /* (rank, version, host, aliases, address, pid, hardware threads, topology signature) */
  DVMD_MSG_WIRED = 2,        /* (membership epoch) */
  DVMD_MSG_LAUNCHED = 3,     /* (job, [(rank, pid)], [(rank, exit code, reason)]): every local process was tried */
  DVMD_MSG_PROC_STATES = 4,  /* (job, [(rank, state, exit code, exit signal)]) */
  DVMD_MSG_ABORT = 5,        /* (job, rank, status, message) */
  DVMD_MSG_JOB_GONE = 6,     /* (job): no process, output or file of it is left here */
  DVMD_MSG_OUTPUT = 7,       /* (job, rank, stream, bytes) */
  DVMD_MSG_OUTPUT_EOF = 8,   /* (job, rank, stream) */
  DVMD_MSG_INPUT_TAKEN = 9,  /* (job, rank, bytes taken) */
  DVMD_MSG_FENCE = 10,       /* (token, [(nspace, rank)], collect, contribution, timeout s) */
  DVMD_MSG_MODEX = 11,       /* (token, nspace, rank, timeout s) */
  DVMD_MSG_MODEX_DATA = 12,  /* (agent that asked, its token, status, bytes) */
  DVMD_MSG_GONE = 13,        /* (): the agent has ended everything and leaves */
  DVMD_MSG_TOPOLOGY = 14,    /* (token, XML of hwloc; empty: why not) */
  DVMD_MSG_STAGE_TAKEN = 15, /* (job, pass, bytes written) */
  DVMD_MSG_STAGED = 16,      /* (job, pass, what went wrong or ""): answers STAGE_END, or comes before it */
  DVMD_MSG_ENVIRONMENT_ASK = 17, /* (job, application): the environment that the launch message names is not here */

  /* controller to agent */
  DVMD_MSG_MEMBERSHIP = 32,    /* (epoch, [(rank, name, address)]) */
  DVMD_MSG_LAUNCH = 33,        /* see DVMD_LAUNCH_TYPE */
  DVMD_MSG_SIGNAL = 34,        /* (job, signal, ranks as an id set) */
  DVMD_MSG_KILL = 35,          /* (job, µs between SIGTERM and SIGKILL) */
  DVMD_MSG_OUTPUT_CREDIT = 36, /* (job, bytes) */
  DVMD_MSG_INPUT = 37,         /* (job, rank, bytes) */
  DVMD_MSG_INPUT_EOF = 38,     /* (job, rank) */
  DVMD_MSG_FENCE_DONE = 39,    /* (token, status, all contributions) */
  DVMD_MSG_MODEX_ASK = 40,     /* (agent that asked, its token, nspace, rank) */
  DVMD_MSG_MODEX_ANSWER = 41,  /* (token, status, bytes) */
  DVMD_MSG_CONTINUE = 42,      /* (job): its ranks wait for a debugger no longer */
  DVMD_MSG_TOPOLOGY_ASK = 44,  /* (token) */
  DVMD_MSG_STOP = 43,          /* (µs between SIGTERM and SIGKILL): end everything and leave */
  DVMD_MSG_STAGE_FILE = 45,    /* (job, nspace, pass, path below the session directory, permissions, bytes) */
  DVMD_MSG_STAGE_DATA = 46,    /* (job, pass, bytes of that file) */
  DVMD_MSG_STAGE_END = 47,     /* (job, pass): that was the last file */
  DVMD_MSG_RESIZE = 48,        /* (job, rows, columns): its pseudo terminals, also of ranks that start later */
  DVMD_MSG_ENVIRONMENT = 51,   /* (digest, ["NAME=value"]): launch messages will name it */
  DVMD_MSG_NODE_LOST = 52, /* (job, rank and name of a node, ranks of the job that it took along): the job goes on */
} DvmdMessageKind;

/*
 * (job, nspace, processes, universe size, options a{sv}, applications, map)
 * of an application: (argv, directory, clear environment, unset, digest of the environment, environment); the
 * environment itself where the digest is empty
 */
#define DVMD_LAUNCH_APPS_TYPE "a(aayaybasayaay)"
#define DVMD_LAUNCH_MAP_TYPE  "a(uuiuuuui)"
#define DVMD_LAUNCH_TYPE      "(usuua{sv}" DVMD_LAUNCH_APPS_TYPE DVMD_LAUNCH_MAP_TYPE ")"

/* The rank that stands for every rank of a job. */
#define DVMD_ALL_RANKS G_MAXUINT32

typedef struct
{
  gatomicrefcount ref_count;
  DvmdMessageKind kind;
  guint32 source;      /* rank */
  guint32 destination; /* rank */
  guint64 sequence;    /* given by the link, from 1 */
  GVariant *body;
} DvmdMessage;

const char *dvmd_message_kind_name (DvmdMessageKind kind);
/* NULL: there is no such kind. */
const GVariantType *dvmd_message_kind_type (DvmdMessageKind kind);

/* body: floating is sunk; a body of another type than the table's is a programming error. */
DvmdMessage *dvmd_message_new (DvmdMessageKind kind, guint32 source, guint32 destination, GVariant *body);
DvmdMessage *dvmd_message_ref (DvmdMessage *self);
void dvmd_message_unref (DvmdMessage *self);

/* Byte strings in bodies. */
GVariant *dvmd_variant_new_bytes (const char *text);
char *dvmd_variant_dup_bytes (GVariant *bytes);
GVariant *dvmd_variant_new_bytes_array (const char *const *texts);
char **dvmd_variant_dup_bytes_array (GVariant *array);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdMessage, dvmd_message_unref)

G_END_DECLS
