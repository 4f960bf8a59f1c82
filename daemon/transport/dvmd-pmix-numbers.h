/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* PMIx's numbers, for those who include no PMIx header (the server asserts that they are the library's). */
#define DVMD_PMIX_RANK_UNDEF    G_MAXUINT32
#define DVMD_PMIX_RANK_WILDCARD (G_MAXUINT32 - 1) /* every rank of the namespace */

typedef enum
{
  DVMD_PMIX_SUCCESS = 0,
  DVMD_PMIX_ERROR = -1,
  DVMD_PMIX_DEBUGGER_RELEASE = -3,
  DVMD_PMIX_ERR_PROC_RESTART = -4,
  DVMD_PMIX_ERR_PROC_ABORTED = -7,
  DVMD_PMIX_ERR_PROC_REQUESTED_ABORT = -8,
  DVMD_PMIX_ERR_EXISTS = -11,
  DVMD_PMIX_ERR_NO_PERMISSIONS = -23,
  DVMD_PMIX_ERR_TIMEOUT = -24,
  DVMD_PMIX_ERR_UNREACH = -25,
  DVMD_PMIX_ERR_BAD_PARAM = -27,
  DVMD_PMIX_ERR_RESOURCE_BUSY = -28,
  DVMD_PMIX_ERR_OUT_OF_RESOURCE = -29,
  DVMD_PMIX_ERR_NOT_FOUND = -46,
  DVMD_PMIX_ERR_NOT_SUPPORTED = -47,
  DVMD_PMIX_ERR_DUPLICATE_KEY = -53,
  DVMD_PMIX_PROCESS_SET_DEFINE = -55,
  DVMD_PMIX_PROCESS_SET_DELETE = -56,
  DVMD_PMIX_READY_FOR_DEBUG = -58,
  DVMD_PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED = -59,
  DVMD_PMIX_ERR_LOST_CONNECTION = -61,
  DVMD_PMIX_EVENT_JOB_END = -145,
  DVMD_PMIX_ERR_INVALID_OPERATION = -158,
  DVMD_PMIX_GROUP_INVITED = -159,
  DVMD_PMIX_GROUP_LEFT = -160,
  DVMD_PMIX_GROUP_INVITE_ACCEPTED = -161,
  DVMD_PMIX_GROUP_INVITE_DECLINED = -162,
  DVMD_PMIX_GROUP_CONSTRUCT_COMPLETE = -166,
  DVMD_PMIX_GROUP_MEMBER_FAILED = -170,
  DVMD_PMIX_ERR_IOF_COMPLETE = -173,
  DVMD_PMIX_ERR_JOB_APP_NOT_EXECUTABLE = -177,
  DVMD_PMIX_ERR_JOB_FAILED_TO_MAP = -179,
  DVMD_PMIX_ERR_JOB_CANCELED = -180,
  DVMD_PMIX_ERR_JOB_FAILED_TO_LAUNCH = -181,
  DVMD_PMIX_ERR_JOB_ABORTED = -182,
  DVMD_PMIX_ERR_JOB_KILLED_BY_CMD = -183,
  DVMD_PMIX_ERR_JOB_ABORTED_BY_SIG = -184,
  DVMD_PMIX_ERR_JOB_TERM_WO_SYNC = -185,
  DVMD_PMIX_ERR_JOB_NON_ZERO_TERM = -187,
  DVMD_PMIX_ERR_JOB_ALLOC_FAILED = -188,
  DVMD_PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT = -189,
  DVMD_PMIX_ERR_JOB_EXE_NOT_FOUND = -190,
  DVMD_PMIX_EVENT_JOB_START = -191,
  DVMD_PMIX_ALLOC_TIMEOUT_WARNING = -194,
  DVMD_PMIX_DVM_IS_READY = -195,
  DVMD_PMIX_ERR_DVM_MOD = -196,
  DVMD_PMIX_ERR_PROC_TERM_WO_SYNC = -200,
  DVMD_PMIX_EVENT_NODE_DOWN = -231,
  DVMD_PMIX_EVENT_NODE_OFFLINE = -232,
  DVMD_PMIX_ERR_PROC_KILLED_BY_CMD = -400,
  DVMD_PMIX_ERR_PROC_ABORTED_BY_SIG = -402,
  DVMD_PMIX_ERR_EXIT_NONZERO_TERM = -404,
} DvmdPmixStatus;

/* For whom something is published or told, or of whom it is looked for. */
typedef enum
{
  DVMD_PMIX_RANGE_UNDEF = 0,
  DVMD_PMIX_RANGE_RM = 1,
  DVMD_PMIX_RANGE_LOCAL = 2,
  DVMD_PMIX_RANGE_NAMESPACE = 3,
  DVMD_PMIX_RANGE_SESSION = 4,
  DVMD_PMIX_RANGE_GLOBAL = 5,
  DVMD_PMIX_RANGE_CUSTOM = 6,
  DVMD_PMIX_RANGE_PROC_LOCAL = 7,
} DvmdPmixRange;

/* How long it is there. */
typedef enum
{
  DVMD_PMIX_PERSIST_INDEF = 0,
  DVMD_PMIX_PERSIST_FIRST_READ = 1,
  DVMD_PMIX_PERSIST_PROC = 2,
  DVMD_PMIX_PERSIST_APP = 3,
  DVMD_PMIX_PERSIST_SESSION = 4,
} DvmdPmixPersistence;

typedef enum
{
  DVMD_PMIX_DATA_PUBLISH,
  DVMD_PMIX_DATA_LOOKUP,
  DVMD_PMIX_DATA_UNPUBLISH,
} DvmdPmixDataOp;

/* Details of events, likewise. */
#define DVMD_PMIX_KEY_HOSTNAME       "pmix.hname"           /* s */
#define DVMD_PMIX_KEY_AFFECTED_PROC  "pmix.evproc"          /* (su) */
#define DVMD_PMIX_KEY_AFFECTED_PROCS "pmix.evaffected"      /* a(su) */
#define DVMD_PMIX_KEY_GROUP_ID       "pmix.grp.id"          /* s */
#define DVMD_PMIX_KEY_GROUP_MEMBERS  "pmix.grp.mbrs"        /* a(su) */
#define DVMD_PMIX_KEY_DO_NOT_CACHE   "pmix.evnocache"       /* b */
#define DVMD_PMIX_KEY_PSET_NAME      "pmix.pset.nm"         /* s */
#define DVMD_PMIX_KEY_PSET_MEMBERS   "pmix.pset.mems"       /* a(su) */
#define DVMD_PMIX_KEY_TEXT           "pmix.evtext"          /* s */
#define DVMD_PMIX_KEY_STATUS         "pmix.job.term.status" /* (i) */
#define DVMD_PMIX_KEY_TERMINATE_NODE "pmix.evterm.node"     /* b */
#define DVMD_PMIX_KEY_ACTION_TIMEOUT "pmix.evtimeout"       /* i, s */
#define DVMD_PMIX_KEY_ALLOC_ID       "pmix.alloc.id"        /* s */
#define DVMD_PMIX_KEY_ALLOC_REQ_ID   "pmix.alloc.reqid"     /* s */
#define DVMD_PMIX_KEY_NSPACE         "pmix.nspace"          /* s */
#define DVMD_PMIX_KEY_DEBUG_TARGET   "pmix.dbg.tgt"         /* s, for the library: a job */
#define DVMD_PMIX_KEY_BREAKPOINT     "pmix.brkpnt"          /* s */
#define DVMD_PMIX_KEY_EXIT_CODE      "pmix.exit.code"       /* i */
#define DVMD_PMIX_KEY_REINCARNATION  "pmix.reinc"           /* u */
#define DVMD_PMIX_KEY_SESSION_ID     "pmix.session.id"      /* u */
#define DVMD_PMIX_KEY_TIME_REMAINING "pmix.time.remaining"  /* u, s */

/* The most processes of a set that are listed, 260 bytes each in the library; of a larger one only the name is told. */
#define DVMD_PMIX_MOST_MEMBERS 65536

/* A query with more keys is not answered. */
#define DVMD_PMIX_MOST_QUESTIONS 512

/* Information of jobs and nodes, likewise. */
#define DVMD_PMIX_KEY_JOB_INFO  "pmix.job.arr"   /* a{sv} */
#define DVMD_PMIX_KEY_NODE_INFO "pmix.node.arr"  /* a{sv} */
#define DVMD_PMIX_KEY_CMD_LINE  "pmix.cmd.line"  /* s */
#define DVMD_PMIX_KEY_JOB_SIZE  "pmix.job.size"  /* u */
#define DVMD_PMIX_KEY_NODEID    "pmix.nodeid"    /* u */
#define DVMD_PMIX_KEY_NUM_SLOTS "pmix.num.slots" /* u */

/* Properties of allocations, likewise. */
#define DVMD_PMIX_KEY_ALLOC_RELEASABLE "pmix.alloc.releasable" /* b */
#define DVMD_PMIX_KEY_ALLOC_NODES      "pmix.alloc.nlist"      /* s */
#define DVMD_PMIX_KEY_ALLOC_NUM_NODES  "pmix.alloc.nnodes"     /* t */
#define DVMD_PMIX_KEY_ALLOC_SHARE      "pmix.alloc.share"      /* b */

/* Processes: namespace, rank, node, program, pid, exit code, PMIx's state */
#define DVMD_PMIX_PROC_TABLE "a(sussiii)"

/* Streams, as bits. */
#define DVMD_PMIX_STDOUT (1 << 0)
#define DVMD_PMIX_STDERR (1 << 1)

/* How output that is pulled is marked, as bits beside those of its streams. Without one it comes as the job marks it.
 */
#define DVMD_PMIX_MARK_TAG       (1 << 8)
#define DVMD_PMIX_MARK_DETAILED  (1 << 9)
#define DVMD_PMIX_MARK_FULLNAME  (1 << 10)
#define DVMD_PMIX_MARK_RANK      (1 << 11)
#define DVMD_PMIX_MARK_TIMESTAMP (1 << 12)
#define DVMD_PMIX_MARK_XML       (1 << 13)
#define DVMD_PMIX_MARK_MERGE     (1 << 14)
#define DVMD_PMIX_MARK_RAW       (1 << 15)
#define DVMD_PMIX_MARKS          (0xff << 8)

/* The attributes of a spawn that are not options of the job. */
typedef struct
{
  guint timeout;  /* s until the job must run; 0: none */
  guint forward;  /* streams of the job that the caller is to get */
  guint withhold; /* those that it wants not; a tool gets the others unasked */
} DvmdPmixAttributes;

typedef struct
{
  const char *nspace;
  guint32 rank; /* or DVMD_PMIX_RANK_WILDCARD */
} DvmdPmixProc;

/*
 * A text as a packed value, without libpmix: what libpmix packs does not begin as it does. floating
 */
GVariant *dvmd_pmix_text_new (const char *text);
/* (nullable): it is the value of another type, or bytes that nobody has packed */
const char *dvmd_pmix_text_get (GVariant *packed);

/* The status of PMIx for error, which is one of DVM_ERROR. */
int dvmd_pmix_status_from_error (const GError *error);

G_END_DECLS
