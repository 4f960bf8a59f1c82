/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What stays of a DVM when it has gone: its log, and how its dvmd ended if it did not end well. Both are in the state
 * directory, $XDG_STATE_HOME/dvm/NAME or ~/.local/state/dvm/NAME.
 */

#pragma once

#include <sys/types.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* (transfer full): of the DVM that the options choose */
char *dvm_cli_state_log_path (DvmCli *cli);

/* (transfer full): where its archive of ended jobs is, if no setting says it */
char *dvm_cli_state_archive_path (DvmCli *cli);

/* A descriptor of the state directory, which is made; or -1. */
int dvm_cli_state_open (DvmCli *cli, GError **error);
/* The log there, for appending, or -1. */
int dvm_cli_state_open_log (int dir_fd, GError **error);
/* The log is a file elsewhere: a link leads to it. */
void dvm_cli_state_link_log (int dir_fd, const char *path);

/* Until our process ends it is the one that watches the dvmd. FALSE: another does */
gboolean dvm_cli_state_watch (int dir_fd, pid_t pid);
void dvm_cli_state_forget_end (int dir_fd);
/* status: as of waitpid() */
void dvm_cli_state_record_end (int dir_fd, pid_t pid, int status);

/* (transfer full) (nullable): a sentence on how dvmd ended, and where to read on; NULL: well, or it is not known */
char *dvm_cli_state_describe_end (DvmCli *cli);
/* (transfer full): "signal SIGKILL", "exit status 1" */
char *dvm_cli_describe_status (int status);

G_END_DECLS
