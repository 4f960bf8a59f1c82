/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of a launch message have one table, for the controller that writes them and the agents that read them.
 */

#include "config.h"

#include "dvmd-launch-options.h"

#include "dvmd-call-kind.h"

#define FIELD(key, type, member) DVMD_FIELD (DvmdLaunchOptions, key, type, member)

const DvmdField dvmd_launch_fields[] = {
  FIELD ("personality", "s", personality),
  FIELD ("pty", "b", pty),
  FIELD ("pty-rows", "u", pty_rows),
  FIELD ("pty-columns", "u", pty_columns),
  FIELD ("stop", "u", stop),
  FIELD (DVMD_SPAWN_STOP_RANKS, "s", stop_ranks),
  FIELD ("max-restarts", "u", max_restarts),
  FIELD ("recoverable", "b", recoverable),
  FIELD ("moved", DVMD_LAUNCH_MOVED_TYPE, moved),
  FIELD ("status-is-no-failure", "b", status_is_no_failure),
  FIELD ("session-dir-apps", "au", session_dir_apps),
  FIELD ("preloaded-apps", "au", preloaded_apps),
  FIELD ("psets", "as", psets),
  FIELD ("kill-grace", "x", kill_grace),
  FIELD ("stdin", "u", stdin_target),
  FIELD ("stdin-ranks", "s", stdin_ranks),
  FIELD ("credit", "t", credit),
  FIELD ("parent", "s", parent),
  FIELD ("parent-rank", "u", parent_rank),
  FIELD ("offset", "u", offset),
  FIELD ("session", "u", session),
  FIELD ("alloc-id", "s", alloc_id),
  FIELD ("pmix-info", DVMD_SPAWN_INFO_TYPE, pmix_info),
  FIELD ("env-edits", DVMD_SPAWN_EDITS_TYPE, env_edits),
  FIELD ("exec-agent", "as", exec_agent),
  FIELD (DVMD_SPAWN_INDEX_ARGV, "b", index_argv),
  FIELD ("tree-fences", "b", tree_fences),
  FIELD ("array", "au", array),
  { NULL, NULL, 0 },
};
