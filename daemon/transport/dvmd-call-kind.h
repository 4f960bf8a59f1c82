/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * A call is a question of a process or tool to the controller, by way of its agent, which gets one answer. A failure
 * has a status alone. For each: the kind, what it is for people ("rank 3 wants to ..."), the types of request and
 * answer.
 *
 * ALLOCATE     (directive, request): (id of the allocation, of the request or "", session)
 * CONTROL_SESSION (session, 0 with "instantiate": any, or G_MAXUINT32: all, directives of Manager.ControlSession): as
 *              ALLOCATE; of all sessions: ("", "", 0)
 * SPAWN        (apps, options, timeout s, streams that are wanted): (namespace). Among the options is
 *              DVMD_SPAWN_INFO and the next ones, which no other way of submitting has
 * JOB_CONTROL  ([(nspace, rank)], operation, signal): (). Operations: "kill", "terminate", "signal", "pause",
 *              "resume", "separate". Without targets the job of the caller; of a tool: the DVM
 * DEFINE_PSET  ([(nspace, rank)], name): (). Without members the job of the caller
 * DATA         (DvmdPmixDataOp, uid, gid, request): ([(nspace, rank, key, packed value)])
 * LOG          ([(DvmdLogChannel, syslog priority, text)]): ()
 * QUERY        ([(word, qualifiers)]): ([(status, value)]). Qualifiers are nspace, rank, node, alloc-id,
 *              group, pset
 * INPUT        (processes and jobs that read, bytes, whether they are the last): (), when they have been taken
 * EVENT        (status, DvmdPmixRange, [(nspace, rank)] of a range of processes, details with packed values): ()
 * PULL         ([(nspace, rank)], streams and how they are marked): (); for all clients of a server that pull in that
 * way GROUP        (whether it is dissolved, name, key of name and members, DvmdGroupFlags, timeout s, [(nspace, rank)]
 * of the members, [(key, packed value)] for the others): (context id or 0, the jobs of the members where there are
 * several, [(nspace, rank, [(key, packed value)])]). The members are said by the first of a server that has none
 * waiting for that key, and the values are told to one for all of a server
 */
#define DVMD_CALLS(CALL)                                                                                               \
  CALL (ALLOCATE, "change the nodes of the DVM", "(sa{sv})", "(ssu)")                                                  \
  CALL (SPAWN, "start a job", "(aa{sv}a{sv}uu)", "(s)")                                                                \
  CALL (CONTROL_SESSION, "control a session", "(ua{sv})", "(ssu)")                                                     \
  CALL (JOB_CONTROL, "control jobs", "(a(su)si)", "()")                                                                \
  CALL (DEFINE_PSET, "define a process set", "(a(su)s)", "()")                                                         \
  CALL (DATA, "publish or look up", "(uuua{sv})", "(a(susay))")                                                        \
  CALL (LOG, "log something", "(a(uus)b)", "()")                                                                       \
  CALL (QUERY, "know something", "(a(sa{sv}))", "(a(iv))")                                                             \
  CALL (INPUT, "write to a job", "(a(su)ayb)", "()")                                                                   \
  CALL (EVENT, "tell of an event", "(iua(su)a{sv})", "()")                                                             \
  CALL (PULL, "get the output of jobs", "(a(su)u)", "()")                                                              \
  CALL (GROUP, "form or dissolve a group", "(bssuua(su)a(say))", "(tasa(sua(say)))")

/* The number that a token has, of the PMIx server of the one who asks, among those of its node. */
#define DVMD_CALL_SERVER_SHIFT  48
#define DVMD_CALL_SERVER(token) ((guint)((token) >> DVMD_CALL_SERVER_SHIFT))
/* Of a rank that speaks PMI-1; PMIx servers have lower ones, and their collectives the highest. */
#define DVMD_CALL_SERVER_PMI 0xfffe

/* Values that the job's processes are told besides: application or G_MAXUINT32, key, packed value. */
#define DVMD_SPAWN_INFO      "pmix-info"
#define DVMD_SPAWN_INFO_TYPE "a(usay)"

/* Changes of variables that depend on what the process would have: application, DvmdEdit, "NAME=value", separator. */
#define DVMD_SPAWN_EDITS      "env-edits"
#define DVMD_SPAWN_EDITS_TYPE "a(uuayy)"

/* Jobs that are spawned with the first one, each as the arguments of SubmitApps. */
#define DVMD_SPAWN_WITH      "spawn-with"
#define DVMD_SPAWN_WITH_TYPE "a(aa{sv}a{sv})"
/* The policy of such a job begins with it if that is beside the first one, of which there is no name yet. */
#define DVMD_SPAWN_BESIDE "colocate=@"

/* s: the ranks that wait for a debugger, "0,3-4"; "" for all. */
#define DVMD_SPAWN_STOP_RANKS "stop-ranks"

/* b: argv[0] of each process has its rank behind it, with a hyphen. */
#define DVMD_SPAWN_INDEX_ARGV "index-argv"

/* s: words of --display; what they show comes before the output of the job. */
#define DVMD_SPAWN_DISPLAY "display"

/* b: whether a child has the environment that was given to its parent, as it has without that. */
#define DVMD_SPAWN_FORWARD_ENV "forward-env"

/* b: the one who asks is told of the start and the end; of the end, if of both. */
#define DVMD_SPAWN_NOTIFY     "notify"
#define DVMD_SPAWN_NOTIFY_END "notify-end"

typedef enum
{
  DVMD_EDIT_ADD,     /* unless there is one of that name */
  DVMD_EDIT_PREPEND, /* before what is there, with the separator between */
  DVMD_EDIT_APPEND,
  DVMD_EDIT_FIRST, /* the same as PREPEND, and nowhere else in the list */
} DvmdEdit;

typedef enum
{
#define DVMD_CALL_KIND(name, words, request, answer) DVMD_CALL_##name,
  DVMD_CALLS (DVMD_CALL_KIND)
#undef DVMD_CALL_KIND
      DVMD_N_CALLS
} DvmdCallKind;

typedef enum
{
  DVMD_GROUP_ASSIGN_CONTEXT = 1 << 0, /* it gets a number that no other one has */
  DVMD_GROUP_OPTIONAL = 1 << 1,       /* members that end do not end it for the others */
  DVMD_GROUP_NOTIFY = 1 << 2,         /* the others are told of members that end */
  DVMD_GROUP_LOCAL = 1 << 3,          /* all members are on one node */
  DVMD_GROUP_LEAVE = 1 << 4,          /* the group is not dissolved: one leaves it */
} DvmdGroupFlags;

/* Where a process wants something logged. */
typedef enum
{
  DVMD_LOG_STDOUT, /* of its own job */
  DVMD_LOG_STDERR,
  DVMD_LOG_SYSTEM, /* syslog of the controller's machine, and the log of the DVM */
  DVMD_N_LOG_CHANNELS
} DvmdLogChannel;

typedef struct
{
  const char *name;
  const char *request;
  const char *answer;
} DvmdCallType;

/* The library does not say who asks: it is the agent that does. */
gboolean dvmd_call_kind_is_anonymous (DvmdCallKind kind);
/* (nullable): there is no such kind */
const DvmdCallType *dvmd_call_kind_get_type (guint kind);

G_END_DECLS
