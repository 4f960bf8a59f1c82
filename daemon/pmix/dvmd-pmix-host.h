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
  DVMD_PMIX_ERR_PROC_REQUESTED_ABORT = -8,
  DVMD_PMIX_ERR_NO_PERMISSIONS = -23,
  DVMD_PMIX_ERR_TIMEOUT = -24,
  DVMD_PMIX_ERR_UNREACH = -25,
  DVMD_PMIX_ERR_BAD_PARAM = -27,
  DVMD_PMIX_ERR_OUT_OF_RESOURCE = -29,
  DVMD_PMIX_ERR_NOT_FOUND = -46,
  DVMD_PMIX_ERR_NOT_SUPPORTED = -47,
  DVMD_PMIX_ERR_DUPLICATE_KEY = -53,
  DVMD_PMIX_READY_FOR_DEBUG = -58,
  DVMD_PMIX_ERR_LOST_CONNECTION = -61,
  DVMD_PMIX_EVENT_JOB_END = -145,
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
  DVMD_PMIX_ERR_PROC_ABORTED_BY_SIG = -402,
  DVMD_PMIX_ERR_EXIT_NONZERO_TERM = -404,
} DvmdPmixStatus;

/* For whom something is published, or of whom it is looked for. */
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
#define DVMD_PMIX_KEY_TEXT           "pmix.evtext"          /* s */
#define DVMD_PMIX_KEY_STATUS         "pmix.job.term.status" /* (i) */
#define DVMD_PMIX_KEY_TERMINATE_NODE "pmix.evterm.node"     /* b */
#define DVMD_PMIX_KEY_ACTION_TIMEOUT "pmix.evtimeout"       /* i, s */
#define DVMD_PMIX_KEY_ALLOC_ID       "pmix.alloc.id"        /* s */
#define DVMD_PMIX_KEY_ALLOC_REQ_ID   "pmix.alloc.reqid"     /* s */
#define DVMD_PMIX_KEY_NSPACE         "pmix.nspace"          /* s */
#define DVMD_PMIX_KEY_EXIT_CODE      "pmix.exit.code"       /* i */
#define DVMD_PMIX_KEY_SESSION_ID     "pmix.session.id"      /* u */
#define DVMD_PMIX_KEY_TIME_REMAINING "pmix.time.remaining"  /* u, s */

/* Streams, as bits. */
#define DVMD_PMIX_STDOUT (1 << 0)
#define DVMD_PMIX_STDERR (1 << 1)

/* What a spawn is asked for besides the job. */
typedef struct
{
  guint timeout;  /* s until the job must run; 0: none */
  guint forward;  /* streams of the job that the caller is to get */
  guint withhold; /* those that it wants not; a tool gets the others unasked */
} DvmdPmixWishes;

typedef struct
{
  const char *nspace;
  guint32 rank; /* or DVMD_PMIX_RANK_WILDCARD */
} DvmdPmixProc;

/*
 * What a PMIx server asks of the agent that owns it. Implemented by the agent; called on the main context the server
 * was started on, never nested in a call of the agent's own. A method that is NULL is refused to the client as not
 * supported. A token is answered exactly once (also after stop(), where the answer is dropped).
 */

#define DVMD_TYPE_PMIX_HOST (dvmd_pmix_host_get_type ())
G_DECLARE_INTERFACE (DvmdPmixHost, dvmd_pmix_host, DVMD, PMIX_HOST, GObject)

struct _DvmdPmixHostInterface
{
  GTypeInterface parent;

  /* The rank has called PMIx_Init, PMIx_Finalize. The client does not wait for the agent. */
  void (*connected) (DvmdPmixHost *self, const char *nspace, guint32 rank);
  void (*finalized) (DvmdPmixHost *self, const char *nspace, guint32 rank);
  /* The rank waits for a debugger, in PMIx_Init or at a place of its own, until DVMD_PMIX_DEBUGGER_RELEASE is told. */
  void (*ready_for_debug) (DvmdPmixHost *self, const char *nspace, guint32 rank);
  /* The connection of a rank broke without PMIx_Finalize. Its process may have gone, or be about to. */
  void (*lost) (DvmdPmixHost *self, const char *nspace, guint32 rank);
  /*
   * PMIx_Abort by nspace.rank of the processes named; none named: of the whole namespace. The client goes on, usually
   * to exit with status.
   */
  void (*abort) (DvmdPmixHost *self, const char *nspace, guint32 rank, int status, const char *message,
                 const DvmdPmixProc *targets, guint n_targets);
  /*
   * All local participants have come to a fence that has participants elsewhere: answered by
   * dvmd_pmix_complete_fence(). data: what this node contributes, empty unless collect. timeout in s, 0: none.
   */
  void (*fence) (DvmdPmixHost *self, guint64 token, const DvmdPmixProc *participants, guint n_participants,
                 GBytes *data, gboolean collect, guint timeout);
  /*
   * A local client wants what nspace.rank, on another node, has put: answered by dvmd_pmix_complete_direct_modex().
   * required_key (nullable): wait until it has put this one.
   */
  void (*direct_modex) (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank, const char *required_key,
                        guint timeout);
  /*
   * A tool connects. nspace (nullable): what it calls itself, with rank; the answer (transfer full) is what it is
   * called here, with its rank in *rank. lost() tells when it has gone, also after PMIx_tool_finalize().
   */
  char *(*tool_connected) (DvmdPmixHost *self, const char *nspace, guint32 *rank);
  /*
   * A client or tool, as its connection proves, asks for nodes or gives some back: answered by
   * dvmd_pmix_complete_allocation(). directive and request (a{sv}) are those of Allocate on the bus.
   */
  void (*allocate) (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank, const char *directive,
                    GVariant *request);
  /*
   * A client or tool, as its connection proves, wants a job: answered by dvmd_pmix_complete_spawn() when it runs. job:
   * (aa{sv}a{sv}), the arguments of SubmitApps on the bus.
   */
  void (*spawn) (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank, GVariant *job,
                 const DvmdPmixWishes *wishes);
  /*
   * A client or tool wants something done to jobs, or to some of their processes: answered by
   * dvmd_pmix_complete_control(). operation: "kill", "terminate", "signal" (with signum), "pause", "resume",
   * "separate". No targets: its own job; of a tool: the DVM.
   */
  void (*control) (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank, const DvmdPmixProc *targets,
                   guint n_targets, const char *operation, int signum);
  /*
   * A client or tool publishes, looks up or unpublishes: answered by dvmd_pmix_complete_data(). request: a{sv} as in
   * dvmd_data_store_handle(), its values packed by the library.
   */
  void (*data) (DvmdPmixHost *self, guint64 token, DvmdPmixDataOp op, const char *nspace, guint32 rank,
                GVariant *request);
  /*
   * All local participants have come to PMIx_Connect, or (leave) to PMIx_Disconnect, with participants elsewhere:
   * answered by dvmd_pmix_complete_connect().
   */
  void (*connect) (DvmdPmixHost *self, guint64 token, gboolean leave, const DvmdPmixProc *participants,
                   guint n_participants, guint timeout);
};

void dvmd_pmix_host_connected (DvmdPmixHost *self, const char *nspace, guint32 rank);
void dvmd_pmix_host_finalized (DvmdPmixHost *self, const char *nspace, guint32 rank);
void dvmd_pmix_host_ready_for_debug (DvmdPmixHost *self, const char *nspace, guint32 rank);
void dvmd_pmix_host_lost (DvmdPmixHost *self, const char *nspace, guint32 rank);
void dvmd_pmix_host_abort (DvmdPmixHost *self, const char *nspace, guint32 rank, int status, const char *message,
                           const DvmdPmixProc *targets, guint n_targets);
gboolean dvmd_pmix_host_fence (DvmdPmixHost *self, guint64 token, const DvmdPmixProc *participants,
                               guint n_participants, GBytes *data, gboolean collect, guint timeout);
gboolean dvmd_pmix_host_direct_modex (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank,
                                      const char *required_key, guint timeout);
char *dvmd_pmix_host_tool_connected (DvmdPmixHost *self, const char *nspace, guint32 *rank);
gboolean dvmd_pmix_host_allocate (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank,
                                  const char *directive, GVariant *request);
gboolean dvmd_pmix_host_spawn (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank, GVariant *job,
                               const DvmdPmixWishes *wishes);
gboolean dvmd_pmix_host_control (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank,
                                 const DvmdPmixProc *targets, guint n_targets, const char *operation, int signum);

gboolean dvmd_pmix_host_data (DvmdPmixHost *self, guint64 token, DvmdPmixDataOp op, const char *nspace, guint32 rank,
                              GVariant *request);
gboolean dvmd_pmix_host_connect (DvmdPmixHost *self, guint64 token, gboolean leave, const DvmdPmixProc *participants,
                                 guint n_participants, guint timeout);

/* What a client is told in place of error, which is one of DVM_ERROR. */
int dvmd_pmix_status_from_error (const GError *error);

G_END_DECLS
