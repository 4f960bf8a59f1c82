/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm.h"

G_BEGIN_DECLS

/*
 * Why a job has ended, as one of the sentences of a table. The daemon says it in English; its code and its arguments
 * travel beside that, so that a client can say it in the language of its user.
 */
typedef enum
{
  DVM_REASON_RANK_SIGNAL,
  DVM_REASON_RANK_WITHOUT_FINALIZE,
  DVM_REASON_RANK_WITHOUT_INIT,
  DVM_REASON_RANK_STATUS,
  DVM_REASON_RANK_ABORT,
  DVM_REASON_RANK_ABORT_MESSAGE,
  DVM_REASON_RANK_STATE,
  DVM_REASON_RANK_NOT_STARTED,
  DVM_REASON_ABORTED_BY,
  DVM_REASON_ABORTED_BY_MESSAGE,
  DVM_REASON_NODE_LOST,
  DVM_REASON_NODE_LOST_BEFORE_LAUNCH,
  DVM_REASON_NODE_LEFT,
  DVM_REASON_NODE_TAKEN,
  DVM_REASON_TIME_LIMIT,
  DVM_REASON_SPAWN_TIME_LIMIT,
  DVM_REASON_START_TIME_LIMIT,
  DVM_REASON_TOO_MANY_PROCESSES,
  DVM_REASON_TOO_MANY_FOR_SLOTS,
  DVM_REASON_DRAINED,
  DVM_REASON_NO_FREE_SLOTS,
  DVM_REASON_NO_FREE_NODES,
  DVM_REASON_OTHERS_WAIT,
  DVM_REASON_NODES_LEFT,
  DVM_REASON_NO_NODES,
  DVM_REASON_SESSION_WITHOUT_NODES,
  DVM_REASON_NODES_RESERVED,
  DVM_REASON_NO_NODE_UP,
  DVM_REASON_CHANGED_WHILE_IT_WAITED,
  DVM_REASON_SESSION_ENDED,
  DVM_REASON_SESSION_TERMINATED,
  DVM_REASON_GROW_FAILED,
  DVM_REASON_PARENT_ENDED,
  DVM_REASON_UNKNOWN_PARENT_ENDED,
  DVM_REASON_CANCELLED_BY,
  DVM_REASON_ENDED_BY,
  DVM_REASON_SUBMITTER_LEFT,
  DVM_REASON_MPI_WITHOUT_SERVER,
  DVM_REASON_DEPENDENCY_FAILED,
  DVM_REASON_MOST_RUN,
  DVM_REASON_N_CODES,
} DvmReasonCode;

typedef struct
{
  char *text; /* in English */
  DvmReasonCode code;
  char **arguments;
} DvmReason;

/* As many arguments as the sentence of the code has, of the types that its row says: s const char *, u guint, i int */
DvmReason *_dvm_reason_new (DvmReasonCode code, ...);
DvmReason *_dvm_reason_copy (const DvmReason *self);
void _dvm_reason_free (DvmReason *self);
/* "rank-status" */
const char *_dvm_reason_get_word (const DvmReason *self);
/* (transfer full) (nullable): in the language of the process; NULL: of a daemon that knows sentences that we do not */
char *_dvm_reason_translate (const char *word, const char *const *arguments, gboolean translated);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmReason, _dvm_reason_free)

G_END_DECLS
