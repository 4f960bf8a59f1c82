/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

/*
 * The abilities of the library at hand. Keys and status codes are macros, asked for with #ifdef; functions and fields
 * of structs are found by the build (dvmd-pmix-config.h). No comparison of versions: distributions patch. What Debian
 * 12 and 13 have, and the testing one (7.0.0rc1), which a test compares with the build:
 *
 *                                              4.2.2  5.0.7  7.0.0
 *   DVMD_PMIX_HAS_REQUIRED_KEY                 yes    yes    yes    questions for data name the key that they want
 *   DVMD_PMIX_HAS_NODE_LIST                    yes    yes    yes
 *   DVMD_PMIX_HAS_NUMA_RANK                    no     no     no
 *   DVMD_PMIX_HAS_INHERITANCE_TYPE             no     no     yes    before, a way of inheritance is a number
 *   HAVE_PMIX_SERVER_MODULE_CLIENT_CONNECTED2  yes    yes    yes    the host is told more of a client that connects
 *   HAVE_PMIX_INSIDE                           yes    yes    no     its own headers, and groups and fences in them
 *   HAVE_PMIX_SERVER_GLOBALS_GROUPS            yes    no     no     the server has a list of its groups
 *   HAVE_PMIX_KEYS                             yes    no     no     numbers of keys are looked up without a table
 *   HAVE_PMIX_VALUES                           no     yes    no     and values with one
 *   HAVE_PMIX_PULLS                            yes    no     no     a pull does not say of whom its output is
 *   HAVE_PMIX_QUERY_CADDY                      no     yes    no     a function of it reads questions of clients
 *   HAVE_PMIX_SESSION_CONTROL                  no     no     yes    sessions are controlled; 5.0 has the field alone
 */

#include <pmix.h>
#include <pmix_server.h>

#include "dvmd-pmix-config.h"
#include "dvmd-pmix-host.h"

/* Clients that do not know them do not ask for them, so they are simply not given. */
#ifdef PMIX_REQUIRED_KEY
#define DVMD_PMIX_HAS_REQUIRED_KEY 1
#endif
#ifdef PMIX_NUMA_RANK
#define DVMD_PMIX_HAS_NUMA_RANK 1
#endif
#ifdef PMIX_NODE_LIST
#define DVMD_PMIX_HAS_NODE_LIST 1
#endif
#ifdef PMIX_ALLOC_INHERIT
#define DVMD_PMIX_HAS_INHERITANCE_TYPE 1
#endif

/*
 * Keys that later headers name, and ours may not. They are texts, which every library passes on, whether its headers
 * have them or not.
 */
#ifndef PMIX_ALLOC_TARGET
#define PMIX_ALLOC_TARGET "pmix.alloc.tgt" /* char *: the namespace that is to own it */
#endif
#ifndef PMIX_ALLOC_SHARE
#define PMIX_ALLOC_SHARE "pmix.alloc.share" /* bool */
#endif
#ifndef PMIX_ALLOC_INHERITANCE
#define PMIX_ALLOC_INHERITANCE "pmix.alloc.inhrt" /* pmix_alloc_inheritance_t, an unsigned byte */
#endif
#ifndef PMIX_ALLOC_INHERIT_NONE
#define PMIX_ALLOC_INHERIT_NONE          1
#define PMIX_ALLOC_INHERIT_CHILD         2
#define PMIX_ALLOC_INHERIT_DEFAULT       3
#define PMIX_ALLOC_INHERIT_CHILD_DEFAULT 4
#endif
#ifndef PMIX_ALLOC_WARN_TIMEOUT
#define PMIX_ALLOC_WARN_TIMEOUT "pmix.alloc.wtmo" /* uint32_t, s */
#endif
#ifndef PMIX_ALLOC_CHILD_SEP
#define PMIX_ALLOC_CHILD_SEP "pmix.alloc.sep" /* bool */
#endif
#ifndef PMIX_ALLOC_REQ_CANCEL
#define PMIX_ALLOC_REQ_CANCEL 5
#endif
#ifndef PMIX_SESSION_CTRL_ID
#define PMIX_SESSION_CTRL_ID         "pmix.ssnctrl.id" /* char *: a name for the request */
#define PMIX_SESSION_APP             "pmix.ssn.app"    /* pmix_data_array_t */
#define PMIX_SESSION_PROVISION_NODES "pmix.ssn.pvnnds" /* char * */
#define PMIX_SESSION_PROVISION_IMAGE "pmix.ssn.pvnimg" /* char * */
#define PMIX_SESSION_PAUSE           "pmix.ssn.pause"  /* bool, as the next four */
#define PMIX_SESSION_RESUME          "pmix.ssn.resume"
#define PMIX_SESSION_TERMINATE       "pmix.ssn.terminate"
#define PMIX_SESSION_PREEMPT         "pmix.ssn.preempt"
#define PMIX_SESSION_RESTORE         "pmix.ssn.restore"
#define PMIX_SESSION_SIGNAL          "pmix.ssn.sig"      /* int */
#define PMIX_SESSION_COMPLETE        "pmix.ssn.complete" /* bool */
#endif
#ifndef PMIX_SESSION_INSTANTIATE
#define PMIX_SESSION_INSTANTIATE "pmix.ssn.inst" /* bool */
#endif
#ifndef PMIX_SESSION_RESOURCES
#define PMIX_SESSION_RESOURCES "pmix.ssn.res" /* pmix_data_array_t of pmix_info_t */
#endif
#ifndef PMIX_SESSION_JOB
#define PMIX_SESSION_JOB "pmix.ssn.job" /* pmix_data_array_t of pmix_info_t */
#endif
#ifndef PMIX_SESSION_SEP
#define PMIX_SESSION_SEP "pmix.ssn.sep" /* bool */
#endif
#ifndef PMIX_SESSION_EXTEND
#define PMIX_SESSION_EXTEND "pmix.ssn.xtend" /* bool */
#endif
#ifndef PMIX_SESSION_PROVISION
#define PMIX_SESSION_PROVISION "pmix.ssn.pvn" /* pmix_data_array_t */
#endif
#ifndef PMIX_NUM_SLOTS
#define PMIX_NUM_SLOTS "pmix.num.slots"
#endif
#ifndef PMIX_QUERY_AVAILABLE_SLOTS
#define PMIX_QUERY_AVAILABLE_SLOTS "pmix.qry.aslots"
#endif
#ifndef PMIX_QUERY_ALLOCATION
#define PMIX_QUERY_ALLOCATION "pmix.query.allc"
#endif
#ifndef PMIX_QUERY_ALLOC_IDS
#define PMIX_QUERY_ALLOC_IDS "pmix.query.alloc.ids"
#endif
#ifndef PMIX_QUERY_ALLOC_PROPERTIES
#define PMIX_QUERY_ALLOC_PROPERTIES "pmix.query.alloc.prop"
#define PMIX_ALLOC_PROPERTY         "pmix.alloc.property"
#endif
#ifndef PMIX_QUERY_RESOLVE_NODE
#define PMIX_QUERY_RESOLVE_NODE  "pmix.qry.node"
#define PMIX_QUERY_RESOLVE_PEERS "pmix.qry.peers"
#endif
#ifndef PMIX_JOB_CTRL_SEP
#define PMIX_JOB_CTRL_SEP "pmix.jctrl.sep"
#endif
#ifndef PMIX_JOB_CTRL_DEFINE_PSET
#define PMIX_JOB_CTRL_DEFINE_PSET "pmix.jctrl.defpset"
#endif
#ifndef PMIX_GROUP_BOOTSTRAP
#define PMIX_GROUP_BOOTSTRAP "pmix.grp.bstrp"
#endif
#ifndef PMIX_QUERY_PROC_RESOURCE_USAGE
#define PMIX_QUERY_PROC_RESOURCE_USAGE "pmix.qry.pres"
#define PMIX_QUERY_NODE_RESOURCE_USAGE "pmix.qry.nres"
#endif
#ifndef PMIX_MONITOR_RESUSAGE_UPDATE
#define PMIX_MONITOR_RESUSAGE_UPDATE -114
#endif
#ifndef PMIX_MONITOR_PROC_RESOURCE_USAGE
#define PMIX_MONITOR_PROC_RESOURCE_USAGE "pmix.monitor.presuse"
#define PMIX_MONITOR_NODE_RESOURCE_USAGE "pmix.monitor.ndresuse"
#define PMIX_MONITOR_RESOURCE_RATE       "pmix.monitor.resrate"
#define PMIX_MONITOR_TARGET_PROCS        "pmix.monitor.tgtproc"
#define PMIX_MONITOR_TARGET_NODES        "pmix.monitor.tgtnode"
#define PMIX_MONITOR_TARGET_NODEIDS      "pmix.monitor.tgtndids"
#endif
#ifndef PMIX_PROC_RESOURCE_USAGE
#define PMIX_PROC_RESOURCE_USAGE "pmix.proc.res"
#define PMIX_NODE_RESOURCE_USAGE "pmix.node.res"
#endif
#ifndef PMIX_PROC_OS_STATE
#define PMIX_PROC_OS_STATE          "pmix.proc.osstate"
#define PMIX_PROC_TIME              "pmix.proc.time"
#define PMIX_PROC_PERCENT_CPU       "pmix.proc.pcpu"
#define PMIX_PROC_PRIORITY          "pmix.proc.pri"
#define PMIX_PROC_NUM_THREADS       "pmix.proc.nthr"
#define PMIX_PROC_PSS               "pmix.proc.pss"
#define PMIX_PROC_VSIZE             "pmix.proc.vsize"
#define PMIX_PROC_RSS               "pmix.proc.rss"
#define PMIX_PROC_PEAK_VSIZE        "pmix.proc.pkvsize"
#define PMIX_PROC_CPU               "pmix.proc.cpu"
#define PMIX_PROC_SAMPLE_TIME       "pmix.proc.samptime"
#define PMIX_DISK_RESOURCE_USAGE    "pmix.disk.res"
#define PMIX_DISK_ID                "pmix.disk.id"
#define PMIX_DISK_READ_COMPLETED    "pmix.disk.rdscomp"
#define PMIX_DISK_READ_MERGED       "pmix.disk.rdsmrgd"
#define PMIX_DISK_READ_SECTORS      "pmix.disk.rdsct"
#define PMIX_DISK_READ_MILLISEC     "pmix.disk.rdms"
#define PMIX_DISK_WRITE_COMPLETED   "pmix.disk.wtscomp"
#define PMIX_DISK_WRITE_MERGED      "pmix.disk.wtsmrgd"
#define PMIX_DISK_WRITE_SECTORS     "pmix.disk.wtsct"
#define PMIX_DISK_WRITE_MILLISEC    "pmix.disk.wtms"
#define PMIX_DISK_IO_IN_PROGRESS    "pmix.disk.ios"
#define PMIX_DISK_IO_MILLISEC       "pmix.disk.ioms"
#define PMIX_DISK_IO_WEIGHTED       "pmix.disk.iowght"
#define PMIX_NETWORK_RESOURCE_USAGE "pmix.net.res"
#define PMIX_NETWORK_ID             "pmix.net.id"
#define PMIX_NET_RECVD_BYTES        "pmix.net.rcb"
#define PMIX_NET_RECVD_PCKTS        "pmix.net.rcp"
#define PMIX_NET_RECVD_ERRS         "pmix.net.rcerr"
#define PMIX_NET_SENT_BYTES         "pmix.net.sntb"
#define PMIX_NET_SENT_PCKTS         "pmix.net.sntp"
#define PMIX_NET_SENT_ERRS          "pmix.net.snterr"
#define PMIX_NODE_LOAD_AVG          "pmix.node.la"
#define PMIX_NODE_LOAD_AVG5         "pmix.node.la5"
#define PMIX_NODE_LOAD_AVG15        "pmix.node.la15"
#define PMIX_NODE_MEM_TOTAL         "pmix.node.mtot"
#define PMIX_NODE_MEM_FREE          "pmix.node.mfree"
#define PMIX_NODE_MEM_BUFFERS       "pmix.node.mbuf"
#define PMIX_NODE_MEM_CACHED        "pmix.node.mcache"
#define PMIX_NODE_MEM_SWAP_CACHED   "pmix.node.mswpc"
#define PMIX_NODE_SWAP_TOTAL        "pmix.node.mswpt"
#define PMIX_NODE_MEM_SWAP_FREE     "pmix.node.mswpfree"
#define PMIX_NODE_MEM_MAPPED        "pmix.node.mmap"
#define PMIX_NODE_SAMPLE_TIME       "pmix.node.samptime"
#endif
#ifndef PMIX_SPAWN_TARGET
#define PMIX_SPAWN_TARGET "pmix.spwn.tgt"
#endif
#ifndef PMIX_SPAWN_CHILD_SEP
#define PMIX_SPAWN_CHILD_SEP "pmix.spchildsep"
#endif
#ifndef PMIX_SPAWN_PTY
#define PMIX_SPAWN_PTY "pmix.spawn.pty"
#endif
#ifndef PMIX_NON_PMI
#define PMIX_NON_PMI "pmix.nonpmi"
#endif
#ifndef PMIX_MAPPER
#define PMIX_MAPPER "pmix.mapper"
#endif
#ifndef PMIX_COLOCATE_PROCS
#define PMIX_COLOCATE_PROCS "pmix.colproc"
#endif
#ifndef PMIX_COLOCATE_NPERPROC
#define PMIX_COLOCATE_NPERPROC "pmix.colnum.proc"
#endif
#ifndef PMIX_COLOCATE_NPERNODE
#define PMIX_COLOCATE_NPERNODE "pmix.colnum.node"
#endif
#ifndef PMIX_IOF_OUTPUT_RAW
#define PMIX_IOF_OUTPUT_RAW "pmix.iof.raw"
#endif
#ifndef PMIX_IOF_FILE_PATTERN
#define PMIX_IOF_FILE_PATTERN "pmix.iof.fpt"
#endif
#ifndef PMIX_IOF_FILE_ONLY
#define PMIX_IOF_FILE_ONLY "pmix.iof.fonly"
#endif
#ifndef PMIX_IOF_LOCAL_OUTPUT
#define PMIX_IOF_LOCAL_OUTPUT "pmix.iof.local"
#endif
#ifndef PMIX_REPORT_PHYSICAL_CPUS
#define PMIX_REPORT_PHYSICAL_CPUS "pmix.repphys.cpus"
#endif
#ifndef PMIX_DISPLAY_PROCESSORS
#define PMIX_DISPLAY_PROCESSORS "pmix.dispcpus"
#endif
#ifndef PMIX_DISPLAY_PARSEABLE_OUTPUT
#define PMIX_DISPLAY_PARSEABLE_OUTPUT "pmix.dispparse"
#endif
#ifndef PMIX_FWD_ENVIRONMENT
#define PMIX_FWD_ENVIRONMENT "pmix.fwdenv"
#endif
#ifndef PMIX_GPU_SUPPORT
#define PMIX_GPU_SUPPORT "pmix.gpu.support"
#endif
#ifndef PMIX_LOG_AGG
#define PMIX_LOG_AGG "pmix.log.agg"
#endif
#ifndef PMIX_MEM_ALLOC_KIND
#define PMIX_MEM_ALLOC_KIND "pmix.alloc.mkind"
#endif
#ifndef PMIX_FIRST_ENVAR
#define PMIX_FIRST_ENVAR "pmix.envar.first"
#endif
#ifndef PMIX_ABORT_NON_ZERO_TERM
#define PMIX_ABORT_NON_ZERO_TERM "pmix.abnz"
#endif
#ifndef PMIX_DO_NOT_LAUNCH
#define PMIX_DO_NOT_LAUNCH "pmix.dnl"
#endif
#ifndef PMIX_SHOW_LAUNCH_PROGRESS
#define PMIX_SHOW_LAUNCH_PROGRESS "pmix.showprog"
#endif
#ifndef PMIX_AGGREGATE_HELP
#define PMIX_AGGREGATE_HELP "pmix.agg.help"
#endif
#ifndef PMIX_REPORT_CHILD_SEP
#define PMIX_REPORT_CHILD_SEP "pmix.rptchildsep"
#endif
#ifndef PMIX_ENVARS_HARVESTED
#define PMIX_ENVARS_HARVESTED "pmix.evar.hvstd"
#endif
#ifndef PMIX_TIMEOUT_STACKTRACES
#define PMIX_TIMEOUT_STACKTRACES "pmix.tim.stack"
#endif
#ifndef PMIX_TIMEOUT_REPORT_STATE
#define PMIX_TIMEOUT_REPORT_STATE "pmix.tim.state"
#endif

/* The numbers that dvmd-pmix-numbers.h shows without PMIx's headers. */
G_STATIC_ASSERT (DVMD_PMIX_RANK_UNDEF == PMIX_RANK_UNDEF);
G_STATIC_ASSERT (DVMD_PMIX_RANK_WILDCARD == (PMIX_RANK_WILDCARD));
G_STATIC_ASSERT ((int)DVMD_PMIX_SUCCESS == PMIX_SUCCESS);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERROR == PMIX_ERROR);
G_STATIC_ASSERT ((int)DVMD_PMIX_DEBUGGER_RELEASE == PMIX_DEBUGGER_RELEASE);
G_STATIC_ASSERT ((int)DVMD_PMIX_READY_FOR_DEBUG == PMIX_READY_FOR_DEBUG);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_PROC_RESTART == PMIX_ERR_PROC_RESTART);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_PROC_ABORTED == PMIX_ERR_PROC_ABORTED);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_PROC_REQUESTED_ABORT == PMIX_ERR_PROC_REQUESTED_ABORT);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_NO_PERMISSIONS == PMIX_ERR_NO_PERMISSIONS);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_TIMEOUT == PMIX_ERR_TIMEOUT);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_UNREACH == PMIX_ERR_UNREACH);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_BAD_PARAM == PMIX_ERR_BAD_PARAM);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_EXISTS == PMIX_ERR_EXISTS);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_RESOURCE_BUSY == PMIX_ERR_RESOURCE_BUSY);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED == PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_INVALID_OPERATION == PMIX_ERR_INVALID_OPERATION);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_OUT_OF_RESOURCE == PMIX_ERR_OUT_OF_RESOURCE);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_DUPLICATE_KEY == PMIX_ERR_DUPLICATE_KEY);
G_STATIC_ASSERT ((int)DVMD_PMIX_RANGE_RM == PMIX_RANGE_RM);
G_STATIC_ASSERT ((int)DVMD_PMIX_RANGE_LOCAL == PMIX_RANGE_LOCAL);
G_STATIC_ASSERT ((int)DVMD_PMIX_RANGE_NAMESPACE == PMIX_RANGE_NAMESPACE);
G_STATIC_ASSERT ((int)DVMD_PMIX_RANGE_SESSION == PMIX_RANGE_SESSION);
G_STATIC_ASSERT ((int)DVMD_PMIX_RANGE_GLOBAL == PMIX_RANGE_GLOBAL);
G_STATIC_ASSERT ((int)DVMD_PMIX_RANGE_CUSTOM == PMIX_RANGE_CUSTOM);
G_STATIC_ASSERT ((int)DVMD_PMIX_RANGE_PROC_LOCAL == PMIX_RANGE_PROC_LOCAL);
G_STATIC_ASSERT ((int)DVMD_PMIX_PERSIST_INDEF == PMIX_PERSIST_INDEF);
G_STATIC_ASSERT ((int)DVMD_PMIX_PERSIST_FIRST_READ == PMIX_PERSIST_FIRST_READ);
G_STATIC_ASSERT ((int)DVMD_PMIX_PERSIST_PROC == PMIX_PERSIST_PROC);
G_STATIC_ASSERT ((int)DVMD_PMIX_PERSIST_APP == PMIX_PERSIST_APP);
G_STATIC_ASSERT ((int)DVMD_PMIX_PERSIST_SESSION == PMIX_PERSIST_SESSION);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_NOT_FOUND == PMIX_ERR_NOT_FOUND);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_NOT_SUPPORTED == PMIX_ERR_NOT_SUPPORTED);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_LOST_CONNECTION == PMIX_ERR_LOST_CONNECTION);
G_STATIC_ASSERT ((int)DVMD_PMIX_EVENT_JOB_END == PMIX_EVENT_JOB_END);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_TERM_WO_SYNC == PMIX_ERR_JOB_TERM_WO_SYNC);
G_STATIC_ASSERT ((int)DVMD_PMIX_EVENT_JOB_START == PMIX_EVENT_JOB_START);
G_STATIC_ASSERT ((int)DVMD_PMIX_GROUP_INVITED == PMIX_GROUP_INVITED);
G_STATIC_ASSERT ((int)DVMD_PMIX_GROUP_LEFT == PMIX_GROUP_LEFT);
G_STATIC_ASSERT ((int)DVMD_PMIX_GROUP_INVITE_ACCEPTED == PMIX_GROUP_INVITE_ACCEPTED);
G_STATIC_ASSERT ((int)DVMD_PMIX_GROUP_INVITE_DECLINED == PMIX_GROUP_INVITE_DECLINED);
G_STATIC_ASSERT ((int)DVMD_PMIX_GROUP_CONSTRUCT_COMPLETE == PMIX_GROUP_CONSTRUCT_COMPLETE);
G_STATIC_ASSERT ((int)DVMD_PMIX_GROUP_MEMBER_FAILED == PMIX_GROUP_MEMBER_FAILED);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_IOF_COMPLETE == PMIX_ERR_IOF_COMPLETE);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_APP_NOT_EXECUTABLE == PMIX_ERR_JOB_APP_NOT_EXECUTABLE);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_FAILED_TO_MAP == PMIX_ERR_JOB_FAILED_TO_MAP);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_CANCELED == PMIX_ERR_JOB_CANCELED);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_FAILED_TO_LAUNCH == PMIX_ERR_JOB_FAILED_TO_LAUNCH);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_ABORTED == PMIX_ERR_JOB_ABORTED);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_KILLED_BY_CMD == PMIX_ERR_JOB_KILLED_BY_CMD);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_ABORTED_BY_SIG == PMIX_ERR_JOB_ABORTED_BY_SIG);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_NON_ZERO_TERM == PMIX_ERR_JOB_NON_ZERO_TERM);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_ALLOC_FAILED == PMIX_ERR_JOB_ALLOC_FAILED);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT == PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_JOB_EXE_NOT_FOUND == PMIX_ERR_JOB_EXE_NOT_FOUND);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_PROC_TERM_WO_SYNC == PMIX_ERR_PROC_TERM_WO_SYNC);
G_STATIC_ASSERT ((int)DVMD_PMIX_EVENT_NODE_DOWN == PMIX_EVENT_NODE_DOWN);
G_STATIC_ASSERT ((int)DVMD_PMIX_EVENT_NODE_OFFLINE == PMIX_EVENT_NODE_OFFLINE);
/* Older headers do not name them. */
#ifdef PMIX_DVM_IS_READY
G_STATIC_ASSERT ((int)DVMD_PMIX_DVM_IS_READY == PMIX_DVM_IS_READY);
#endif
#ifdef PMIX_ERR_DVM_MOD
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_DVM_MOD == PMIX_ERR_DVM_MOD);
#endif
#ifdef PMIX_ALLOC_TIMEOUT_WARNING
G_STATIC_ASSERT ((int)DVMD_PMIX_ALLOC_TIMEOUT_WARNING == PMIX_ALLOC_TIMEOUT_WARNING);
#endif
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_PROC_KILLED_BY_CMD == PMIX_ERR_PROC_KILLED_BY_CMD);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_PROC_ABORTED_BY_SIG == PMIX_ERR_PROC_ABORTED_BY_SIG);
G_STATIC_ASSERT ((int)DVMD_PMIX_ERR_EXIT_NONZERO_TERM == PMIX_ERR_EXIT_NONZERO_TERM);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_HOSTNAME, PMIX_HOSTNAME) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_GROUP_MEMBERS, PMIX_GROUP_MEMBERSHIP) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_GROUP_ID, PMIX_GROUP_ID) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_AFFECTED_PROC, PMIX_EVENT_AFFECTED_PROC) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_AFFECTED_PROCS, PMIX_EVENT_AFFECTED_PROCS) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_DO_NOT_CACHE, PMIX_EVENT_DO_NOT_CACHE) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_TEXT, PMIX_EVENT_TEXT_MESSAGE) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_STATUS, PMIX_JOB_TERM_STATUS) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_TERMINATE_NODE, PMIX_EVENT_TERMINATE_NODE) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_ACTION_TIMEOUT, PMIX_EVENT_ACTION_TIMEOUT) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_ALLOC_ID, PMIX_ALLOC_ID) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_ALLOC_REQ_ID, PMIX_ALLOC_REQ_ID) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_NSPACE, PMIX_NSPACE) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_DEBUG_TARGET, PMIX_DEBUG_TARGET) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_BREAKPOINT, PMIX_BREAKPOINT) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_EXIT_CODE, PMIX_EXIT_CODE) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_REINCARNATION, PMIX_REINCARNATION) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_TIME_REMAINING, PMIX_TIME_REMAINING) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_JOB_INFO, PMIX_JOB_INFO_ARRAY) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_NODE_INFO, PMIX_NODE_INFO_ARRAY) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_CMD_LINE, PMIX_CMD_LINE) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_JOB_SIZE, PMIX_JOB_SIZE) == 0);
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_NODEID, PMIX_NODEID) == 0);
#ifdef PMIX_NUM_SLOTS
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_NUM_SLOTS, PMIX_NUM_SLOTS) == 0);
#endif
G_STATIC_ASSERT (__builtin_strcmp (DVMD_PMIX_KEY_SESSION_ID, PMIX_SESSION_ID) == 0);
