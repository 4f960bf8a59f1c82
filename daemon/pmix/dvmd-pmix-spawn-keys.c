/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The attributes of PMIx_Spawn() have one table.
 */

#include "config.h"

#include "dvmd-pmix-spawn-keys.h"

#include <pmix_common.h>
#include <string.h>

#include "dvmd-call-kind.h"

/* Upstream's names, of later than the library at hand. */
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

static const DvmdPmixSpawnKey job_keys[] = {
  { PMIX_PERSONALITY, DVMD_PMIX_TAKE_PERSONALITY, NULL, NULL },
  { PMIX_NON_PMI, DVMD_PMIX_TAKE_PLAIN, NULL, NULL },
  { PMIX_RUNTIME_OPTIONS, DVMD_PMIX_TAKE_WORDS, NULL, NULL },
  { PMIX_ADD_HOST, DVMD_PMIX_TAKE_LIST, "add-hosts", NULL },
  { PMIX_ADD_HOSTFILE, DVMD_PMIX_TAKE_TEXT, "add-hostfile", NULL },
  { PMIX_SPAWN_TARGET, DVMD_PMIX_TAKE_TARGETS, "target", NULL },
  { PMIX_SESSION_ID, DVMD_PMIX_TAKE_NUMBER, "session", NULL },
  { PMIX_ALLOC_ID, DVMD_PMIX_TAKE_TEXT, "alloc-id", NULL },
  { PMIX_ALLOC_REQ_ID, DVMD_PMIX_TAKE_TEXT, "alloc-req-id", NULL },
  { PMIX_SPAWN_CHILD_SEP, DVMD_PMIX_TAKE_FLAG, "child-separate", NULL },
  { PMIX_SPAWN_PTY, DVMD_PMIX_TAKE_FLAG, "pty", NULL },
  { PMIX_JOB_TIMEOUT, DVMD_PMIX_TAKE_NUMBER, "timeout", NULL },
  { PMIX_JOB_RECOVERABLE, DVMD_PMIX_TAKE_FLAG, "recoverable", NULL },
  { PMIX_ABORT_NON_ZERO_TERM, DVMD_PMIX_TAKE_RUNTIME, NULL, "error-nonzero-status" },
  { PMIX_TIMEOUT_STACKTRACES, DVMD_PMIX_TAKE_RUNTIME, NULL, "get-stack-traces" },
  { PMIX_TIMEOUT_REPORT_STATE, DVMD_PMIX_TAKE_RUNTIME, NULL, "report-state-on-timeout" },
  { PMIX_DEBUG_STOP_ON_EXEC, DVMD_PMIX_TAKE_STOP, NULL, "stop-on-exec" },
  { PMIX_DEBUG_STOP_IN_INIT, DVMD_PMIX_TAKE_STOP, NULL, "stop-in-init" },
  { PMIX_DEBUG_STOP_IN_APP, DVMD_PMIX_TAKE_STOP, NULL, "stop-in-app" },
  { PMIX_INDEX_ARGV, DVMD_PMIX_TAKE_FLAG, DVMD_SPAWN_INDEX_ARGV, NULL },
  { PMIX_STDIN_TGT, DVMD_PMIX_TAKE_STDIN, "stdin", NULL },
  { PMIX_COLOCATE_PROCS, DVMD_PMIX_TAKE_COLOCATE, NULL, NULL },
  { PMIX_COLOCATE_NPERPROC, DVMD_PMIX_TAKE_COLOCATE_BY, NULL, "nperproc" },
  { PMIX_COLOCATE_NPERNODE, DVMD_PMIX_TAKE_COLOCATE_BY, NULL, "npernode" },
  { PMIX_DEBUGGER_DAEMONS, DVMD_PMIX_TAKE_DAEMONS, NULL, NULL },
  { PMIX_COSPAWN_APP, DVMD_PMIX_TAKE_APART, NULL, NULL },
  { PMIX_DEBUG_TARGET, DVMD_PMIX_TAKE_DEBUG_TARGET, NULL, NULL },
  { PMIX_DEBUG_DAEMONS_PER_PROC, DVMD_PMIX_TAKE_COLOCATE_BY, NULL, "nperproc" },
  { PMIX_DEBUG_DAEMONS_PER_NODE, DVMD_PMIX_TAKE_COLOCATE_BY, NULL, "npernode" },
  { PMIX_IOF_TAG_OUTPUT, DVMD_PMIX_TAKE_WORD, NULL, "tag" },
  { PMIX_IOF_TAG_DETAILED_OUTPUT, DVMD_PMIX_TAKE_WORD, NULL, "tag-detailed" },
  { PMIX_IOF_TAG_FULLNAME_OUTPUT, DVMD_PMIX_TAKE_WORD, NULL, "tag-fullname" },
  { PMIX_IOF_RANK_OUTPUT, DVMD_PMIX_TAKE_WORD, NULL, "rank" },
  { PMIX_IOF_TIMESTAMP_OUTPUT, DVMD_PMIX_TAKE_WORD, NULL, "timestamp" },
  { PMIX_IOF_MERGE_STDERR_STDOUT, DVMD_PMIX_TAKE_WORD, NULL, "merge-stderr-to-stdout" },
  { PMIX_IOF_OUTPUT_RAW, DVMD_PMIX_TAKE_WORD, NULL, ":raw" },
  { PMIX_IOF_OUTPUT_TO_FILE, DVMD_PMIX_TAKE_WORD_OF, NULL, "file=" },
  { PMIX_IOF_OUTPUT_TO_DIRECTORY, DVMD_PMIX_TAKE_WORD_OF, NULL, "dir=" },
  { PMIX_IOF_FILE_PATTERN, DVMD_PMIX_TAKE_WORD, NULL, ":pattern" },
  { PMIX_IOF_FILE_ONLY, DVMD_PMIX_TAKE_FILE_ONLY, NULL, NULL },
  { PMIX_FWD_STDOUT, DVMD_PMIX_TAKE_FORWARD_OUT, NULL, NULL },
  { PMIX_FWD_STDERR, DVMD_PMIX_TAKE_FORWARD_ERR, NULL, NULL },
  { PMIX_TIMEOUT, DVMD_PMIX_TAKE_TIME, NULL, NULL },
  { PMIX_SPAWN_TIMEOUT, DVMD_PMIX_TAKE_TIME, NULL, NULL },
  { PMIX_NOTIFY_COMPLETION, DVMD_PMIX_TAKE_FLAG, DVMD_SPAWN_NOTIFY_END, NULL },
  { PMIX_NOTIFY_JOB_EVENTS, DVMD_PMIX_TAKE_FLAG, DVMD_SPAWN_NOTIFY, NULL },
  /* The library has done what there is to do. */
  { PMIX_SETUP_APP_ENVARS, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  { PMIX_ENVARS_HARVESTED, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  { PMIX_IOF_LOCAL_OUTPUT, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  /* The connection tells who asks. */
  { PMIX_PARENT_ID, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  { PMIX_REQUESTOR_IS_TOOL, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  { PMIX_REQUESTOR_IS_CLIENT, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  { PMIX_WDIR_USER_SPECIFIED, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  /* Jobs have no such stream, and nothing is said about their start that could be said once for all. */
  { PMIX_FWD_STDDIAG, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  { PMIX_AGGREGATE_HELP, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  { PMIX_LOG_AGG, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  /* Only how what is shown would look. */
  { PMIX_REPORT_PHYSICAL_CPUS, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  { PMIX_DISPLAY_PARSEABLE_OUTPUT, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  /* The status of a job is its own. */
  { PMIX_REPORT_CHILD_SEP, DVMD_PMIX_TAKE_NOTHING, NULL, NULL },
  /* Not done. */
  { PMIX_FWD_STDIN, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_IOF_XML_OUTPUT, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_MAPPER, DVMD_PMIX_TAKE_NEVER, NULL, NULL },
  { PMIX_DISPLAY_MAP, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_DISPLAY_MAP_DETAILED, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_DISPLAY_ALLOCATION, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_DISPLAY_TOPOLOGY, DVMD_PMIX_TAKE_NEVER, NULL, NULL },
  { PMIX_DISPLAY_PROCESSORS, DVMD_PMIX_TAKE_NEVER, NULL, NULL },
  { PMIX_REPORT_BINDINGS, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_DO_NOT_LAUNCH, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_SHOW_LAUNCH_PROGRESS, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_JOB_CONTINUOUS, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_MAX_RESTARTS, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_EXEC_AGENT, DVMD_PMIX_TAKE_NEVER, NULL, NULL },
  { PMIX_FORKEXEC_AGENT, DVMD_PMIX_TAKE_NEVER, NULL, NULL },
  { PMIX_SPAWN_TOOL, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_NOHUP, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_NOTIFY_PROC_TERMINATION, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, DVMD_PMIX_TAKE_IF_OFF, NULL, NULL },
  { PMIX_GPU_SUPPORT, DVMD_PMIX_TAKE_NEVER, NULL, NULL },
  { PMIX_FWD_ENVIRONMENT, DVMD_PMIX_TAKE_NEVER, NULL, NULL },
};

/* Of one application; among those of the job: of each. */
static const DvmdPmixSpawnKey app_keys[] = {
  { PMIX_HOST, DVMD_PMIX_TAKE_LIST, "hosts", NULL },
  { PMIX_HOSTFILE, DVMD_PMIX_TAKE_TEXT, "hostfile", NULL },
  { PMIX_WDIR, DVMD_PMIX_TAKE_TEXT, "cwd", NULL },
  { PMIX_SET_SESSION_CWD, DVMD_PMIX_TAKE_FLAG, "set-cwd-to-session-dir", NULL },
  { PMIX_PRELOAD_BIN, DVMD_PMIX_TAKE_FLAG, "preload-binary", NULL },
  { PMIX_PRELOAD_FILES, DVMD_PMIX_TAKE_LIST, "preload-files", NULL },
  { PMIX_SET_ENVAR, DVMD_PMIX_TAKE_ENVIRONMENT, NULL, NULL },
  { PMIX_UNSET_ENVAR, DVMD_PMIX_TAKE_UNSET, "unset-env", NULL },
  { PMIX_ADD_ENVAR, DVMD_PMIX_TAKE_ADD, NULL, NULL },
  { PMIX_PREPEND_ENVAR, DVMD_PMIX_TAKE_PREPEND, NULL, NULL },
  { PMIX_APPEND_ENVAR, DVMD_PMIX_TAKE_APPEND, NULL, NULL },
  { PMIX_FIRST_ENVAR, DVMD_PMIX_TAKE_FIRST, NULL, NULL },
  { PMIX_PSET_NAME, DVMD_PMIX_TAKE_TEXT, "pset", NULL },
  { PMIX_MAPBY, DVMD_PMIX_TAKE_TEXT, "map-by", NULL },
  { PMIX_PPR, DVMD_PMIX_TAKE_PREFIXED, "map-by", "ppr:" },
  { PMIX_CPU_LIST, DVMD_PMIX_TAKE_PREFIXED, "map-by", "pe-list=" },
  { PMIX_RANKBY, DVMD_PMIX_TAKE_TEXT, "rank-by", NULL },
  { PMIX_BINDTO, DVMD_PMIX_TAKE_TEXT, "bind-to", NULL },
  { PMIX_CPUS_PER_PROC, DVMD_PMIX_TAKE_CPUS, NULL, NULL },
  { PMIX_NO_OVERSUBSCRIBE, DVMD_PMIX_TAKE_QUALIFIER, NULL, "NOOVERSUBSCRIBE" },
  { PMIX_NO_PROCS_ON_HEAD, DVMD_PMIX_TAKE_QUALIFIER, NULL, "NOLOCAL" },
  /* Not done. */
  { PMIX_PREFIX, DVMD_PMIX_TAKE_NEVER, NULL, NULL },
};

static const DvmdPmixSpawnKey *
find_key (const DvmdPmixSpawnKey *keys, gsize n, const char *name)
{
  for (gsize i = 0; i < n; i++)
    if (strcmp (keys[i].key, name) == 0)
      return &keys[i];
  return NULL;
}

const DvmdPmixSpawnKey *
dvmd_pmix_find_spawn_key (const char *key, gboolean *of_job)
{
  const DvmdPmixSpawnKey *row = find_key (job_keys, G_N_ELEMENTS (job_keys), key);

  *of_job = row != NULL;
  return row != NULL ? row : find_key (app_keys, G_N_ELEMENTS (app_keys), key);
}

static void
add_keys (GPtrArray *list, const DvmdPmixSpawnKey *keys, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (keys[i].take != DVMD_PMIX_TAKE_NEVER && keys[i].take != DVMD_PMIX_TAKE_IF_OFF)
      g_ptr_array_add (list, (char *)keys[i].key);
}

void
dvmd_pmix_list_spawn_keys (GPtrArray *keys)
{
  add_keys (keys, job_keys, G_N_ELEMENTS (job_keys));
  add_keys (keys, app_keys, G_N_ELEMENTS (app_keys));
}
