/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The messages of controller and agents. One table of kinds has the GVariant type of each body: the writer of a message
 * and its reader use the same row. Byte strings are "ay" without a final zero.
 */

/* Numbers from 16: what is below belongs to the tree, which carries them between processes. */
/* No signal: processes are not started again when they end. */
#define DVMD_SIGNAL_STAY_AWAY 0

typedef enum
{
  /* agent to controller */
  DVMD_MSG_REPORT =
      16, /* (rank, version, host, aliases, address, pid, hardware threads, topology signature, ALLOTMENT) */
  DVMD_MSG_LAUNCHED = 17,    /* (job, [(rank, pid)], [(rank, exit code, reason)]): every local process was tried */
  DVMD_MSG_PROC_STATES = 18, /* (job, [(rank, state, exit code, exit signal)]) */
  DVMD_MSG_RELAUNCHED = 33,  /* (job, rank, pid or 0, exit code, reason): a process that had failed was started again */
  DVMD_MSG_ABORT = 19,       /* (job, rank, status, message): all of the job */
  DVMD_MSG_JOB_GONE = 20,    /* (job): no process, output or file of it is left here */
  DVMD_MSG_OUTPUT = 21,      /* (job, rank, stream, bytes) */
  DVMD_MSG_OUTPUT_EOF = 22,  /* (job, rank, stream) */
  DVMD_MSG_INPUT_TAKEN = 23, /* (job, rank, bytes taken) */
  DVMD_MSG_FENCE = 24,       /* (token, [(nspace, rank)], collect, contribution, timeout s, status) */
  DVMD_MSG_MODEX = 25,       /* (token, nspace, rank, timeout s) */
  DVMD_MSG_MODEX_DATA = 26,  /* (agent that asked, its token, status, bytes) */
  DVMD_MSG_USAGE = 34,       /* (token, [what a process or the node uses]): see dvmd-usage.h */
  DVMD_MSG_STACKS = 35,      /* (token, [(rank, stacks of its threads, what went wrong or "")]): of some, or all */
  DVMD_MSG_RUN_LINE = 36,    /* (token, whether it is of standard error, line): a command of RUN has written it */
  DVMD_MSG_RUN_ENDED = 37,   /* (token, exit code or -1, signal, last lines, why it was not started or "") */
  DVMD_MSG_GONE = 27,        /* (): the agent has ended everything and leaves */
  DVMD_MSG_TOPOLOGY = 28,    /* (token, XML of hwloc; empty: why not) */
  DVMD_MSG_STAGE_TAKEN = 29, /* (job, pass, bytes written; DVMD_STAGE_FILE_COST for each file that was begun) */
  DVMD_MSG_STAGED = 30,      /* (job, pass, what went wrong or ""): answers STAGE_END, or comes before it */
  DVMD_MSG_ENVIRONMENT_ASK = 31,  /* (job, application): the environment that the launch message names is not here */
  DVMD_MSG_FENCE_GIVEN_UP = 32,   /* (job, sequence, status), of fences that go by the tree */
  DVMD_MSG_CALL = 48,             /* (token, DvmdCallKind, nspace, rank, pid or 0, request): ANSWER */
  DVMD_MSG_OUTPUT_TAKEN = 128,    /* (PMIx server, pieces that it has handed over) */
  DVMD_MSG_OUTPUT_UNWANTED = 129, /* (PMIx server, whether it has ended): none of its clients pulls output any more */
  DVMD_MSG_TOOL_CAME = 131,       /* (nspace): a tool has connected here */
  DVMD_MSG_TOOL_GONE = 100,       /* (nspace): and is not connected any more */
  DVMD_MSG_ABORT_PROCS = 114,     /* (nspace, rank, pid, status, message, [(nspace, rank)]): those alone */
  DVMD_MSG_CONNECT = 122,         /* (token, leave, [(nspace, rank)], timeout s, status): CONNECTED answers */
  DVMD_MSG_PMIX_LOST = 124,       /* (job, reason): the PMIx server of its ranks on this node has ended */
  DVMD_MSG_MPI_LIBRARY = 126,     /* (job, library): a rank that did not call PMIx_Init is linked with it */
  DVMD_MSG_LEAVING = 86,          /* (reason): the agent goes, without being told to; what runs on its node ends */
  DVMD_MSG_LEFT = 88,             /* (rank of its uplink): as ordered, all is done here and nobody is below */

  /* controller to agent */
  DVMD_MSG_MEMBERSHIP = 64,    /* (epoch, [(rank, name, address)]) */
  DVMD_MSG_LAUNCH = 65,        /* see DVMD_LAUNCH_TYPE */
  DVMD_MSG_SIGNAL = 66,        /* (job, signal or DVMD_SIGNAL_STAY_AWAY, ranks as an id set) */
  DVMD_MSG_KILL = 67,          /* (job, µs between SIGTERM and SIGKILL) */
  DVMD_MSG_OUTPUT_CREDIT = 68, /* (job, bytes) */
  DVMD_MSG_INPUT = 69,         /* (job, rank, bytes) */
  DVMD_MSG_INPUT_EOF = 70,     /* (job, rank) */
  DVMD_MSG_FENCE_DONE = 71,    /* (token, status, all contributions) */
  DVMD_MSG_MODEX_ASK = 72,     /* (agent that asked, its token, nspace, rank) */
  DVMD_MSG_MODEX_ANSWER = 73,  /* (token, status, bytes) */
  DVMD_MSG_USAGE_ASK = 89,     /* (token, nspace or "" for the node, rank or DVMD_ALL_RANKS): USAGE */
  DVMD_MSG_STACKS_ASK = 90,   /* (token, job, ranks as an id set, µs that it may take): STACKS, of those of the node */
  DVMD_MSG_CONTINUE = 74,     /* (job): its ranks wait for a debugger no longer */
  DVMD_MSG_TOPOLOGY_ASK = 75, /* (token) */
  DVMD_MSG_STOP = 76,         /* (µs between SIGTERM and SIGKILL): end everything and leave */
  DVMD_MSG_STAGE_FILE = 77,   /* (job, nspace, pass, path below the session directory, mode, bytes) */
  DVMD_MSG_STAGE_DATA = 78,   /* (job, pass, bytes of that file) */
  DVMD_MSG_STAGE_END = 79,    /* (job, nspace, pass): that was the last file, if there was any */
  DVMD_MSG_RESIZE = 80,       /* (job, rows, columns): its pseudo terminals, also of ranks that start later */
  DVMD_MSG_ENVIRONMENT = 81,  /* (digest, ["NAME=value"]): launch messages will name it */
  DVMD_MSG_ADDRESSES = 82,    /* [(rank, addresses)]: of those above a joiner */
  DVMD_MSG_RUN = 91,          /* (token, argv): a command of a plugin, which lives on; RUN_ENDED */
  DVMD_MSG_RUN_INPUT = 92,    /* (token, bytes, whether its standard input ends there) */
  DVMD_MSG_ALLOTMENT = 94,    /* (cpus that the agent keeps to, "": all; bytes of memory, 0: unsaid): REPORT again */
  DVMD_MSG_RUN_SIGNAL = 93,   /* (token, signal): to its process group */
  DVMD_MSG_EXIT = 83,         /* (): every agent has said GONE; nobody is needed to pass anything on any more */
  DVMD_MSG_NODE_LOST = 84,    /* (job, rank and name of a node, ranks of the job that it took along): the job goes on */
  DVMD_MSG_FENCE_RESULT = 85, /* (job, sequence, status, all contributions), of fences that go by the tree */
  DVMD_MSG_LEAVE = 87,        /* (): to one who has no place in the tree: the DVM goes on without it */
  DVMD_MSG_ANSWER = 96,       /* (token, DvmdCallKind, PMIx status, answer; () with an error) */
  DVMD_MSG_SIZE_EVENT = 97,   /* (nspace, rank, PMIx event, ids as above, status of the cause, reason): the end of it */
  DVMD_MSG_WARN = 98,         /* (job, µs): its ranks on this node are killed then */
  DVMD_MSG_ALLOC_WARNING = 101, /* (nspace, rank, ids as in SIZE_EVENT, s): its allocation is over soon */
  DVMD_MSG_JOB_EVENT =
      113, /* (nspace of its spawner, or "", rank, PMIx event, nspace, status, exit code, breakpoint): to all tools */
  DVMD_MSG_EVENT = 130, /* (PMIx event, nspace of its source or "", rank, [(nspace, rank)], to all tools, details) */
  DVMD_MSG_PULLED_OUTPUT =
      117,                  /* (PMIx server of the node, nspace, rank, stream and marks, bytes): OUTPUT_TAKEN follows */
  DVMD_MSG_CONNECTED = 123, /* (token, status) */
  DVMD_MSG_JOB_INFO = 125,  /* see DVMD_JOB_INFO_TYPE: of a job without ranks on that node; before it is spoken of */
  DVMD_MSG_JOB_FORGET = 127, /* (nspace): that one has ended */
} DvmdMessageKind;

/*
 * (job, nspace, processes, universe size, options a{sv}, applications, map)
 * of an application: (argv, directory, clear environment, unset, digest of the environment, environment); the
 * environment itself where the digest is empty
 */
#define DVMD_LAUNCH_APPS_TYPE "a(aayaybasayaay)"
#define DVMD_LAUNCH_MAP_TYPE  "(a(uuiuuuuiuuuu)a(uuuuuuuu)asa(uu))"
#define DVMD_LAUNCH_TYPE      "(usuua{sv}" DVMD_LAUNCH_APPS_TYPE DVMD_LAUNCH_MAP_TYPE ")"

/* (nspace, processes, universe size, session, applications, map); of one: (argv, directory, process set or "") */
#define DVMD_JOB_INFO_APPS_TYPE "a(aayays)"
#define DVMD_JOB_INFO_TYPE      "(suuu" DVMD_JOB_INFO_APPS_TYPE DVMD_LAUNCH_MAP_TYPE ")"

/* The rank that stands for every rank of a job. */
#define DVMD_ALL_RANKS G_MAXUINT32

/* How long the controller waits for USAGE: the kernel answers at once unless a process has hundreds of GiB (µs). */
/* Of staging: what a file counts beside its bytes, so that many small ones do not pile up on their way. */
#define DVMD_STAGE_FILE_COST 1024

#define DVMD_USAGE_TIMEOUT (10 * G_TIME_SPAN_SECOND)
/* The agent drops a USAGE_ASK that it has not begun with in this time (µs): the answer would come too late. */
#define DVMD_USAGE_WAIT (DVMD_USAGE_TIMEOUT - G_TIME_SPAN_SECOND)

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
/* Streams and files: links send what is not before it. */
gboolean dvmd_message_kind_is_bulk (DvmdMessageKind kind);

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
