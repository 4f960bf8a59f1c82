/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmi-line.h"

G_BEGIN_DECLS

/* Bytes of a message, as MPICH's library has them. */
#define DVMD_PMI_TWO_LIMIT (64 * 1024)

/*
 * PMI-2 in words of PMI-1: messages "    42cmd=kvs-put;key=a;value=b;" of a rank become lines, and answers to these
 * messages. A message is answered before the next one is read.
 */
typedef struct _DvmdPmiTwo DvmdPmiTwo;

/* nspace: of the job, which messages need not say */
DvmdPmiTwo *dvmd_pmi_two_new (const char *nspace);
void dvmd_pmi_two_free (DvmdPmiTwo *self);
/* The bytes of the first message; 0: it is not whole yet, -1: it makes no sense. */
gssize dvmd_pmi_two_measure (const char *input, gsize length);
/*
 * (nullable): it makes no sense. message: as it was measured. A command that is not known is "cmd=unsupported". spawn
 * (out) (nullable): lines of a request for a job, where it is one
 */
DvmdPmiLine *dvmd_pmi_two_read (DvmdPmiTwo *self, const char *message, gsize length, GPtrArray **spawn);
/* (transfer full): a message. answer: a line of PMI-1, with its line feed or without */
char *dvmd_pmi_two_write (DvmdPmiTwo *self, const char *answer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmiTwo, dvmd_pmi_two_free)

G_END_DECLS
