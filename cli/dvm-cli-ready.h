/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a dvmd that starts tells over the pipe of --ready-fd: if it is asked for them lines "PROGRESS REPORTED EXPECTED"
 * and, when it goes on without some nodes, "MISSING NAME REASON"; and at last "READY", or "ERROR: " and a sentence.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define DVM_CLI_READY_ERROR "ERROR: "

typedef void (*DvmCliReadyProgress) (guint reported, guint expected, gpointer user_data);
typedef void (*DvmCliReadyMissing) (const char *name, const char *reason, gpointer user_data);

typedef struct
{
  int fd;        /* the end to read from */
  int signal_fd; /* of signalfd(): signals that end the waiting; -1: none */
  guint seconds; /* how long at most */
  DvmCliReadyProgress progress;
  DvmCliReadyMissing missing;
  gpointer user_data;
} DvmCliReady;

typedef enum
{
  DVM_CLI_READY_ANSWERED,
  DVM_CLI_READY_SILENT, /* dvmd has closed its end without an answer */
  DVM_CLI_READY_LATE,
  DVM_CLI_READY_SIGNALLED,
} DvmCliReadyResult;

/* answer: (out) (transfer full) (nullable): the last line, when there is one; signum: (out): the signal that came */
DvmCliReadyResult dvm_cli_ready_wait (const DvmCliReady *self, char **answer, int *signum);

G_END_DECLS
