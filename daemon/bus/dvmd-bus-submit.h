/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-hosts-private.h"
#include "dvmd-bus-call.h"

G_BEGIN_DECLS

/* The options of a call concern the submission and not its job. */
typedef struct
{
  int fds[3];
  gboolean signals;
  gboolean end_with_caller;
} DvmdBusCallOptions;

#define DVMD_BUS_CALL_OPTIONS_INIT                                                                                     \
  {                                                                                                                    \
    .fds = { -1, -1, -1 }, .signals = TRUE                                                                             \
  }

/*
 * Takes what is about the call out of the options; what is left is for the spec. Descriptors in own are the caller's to
 * close; none is open after an error.
 */
GVariant *dvmd_bus_split_options (GDBusMethodInvocation *invocation, GVariant *dict, DvmdBusCallOptions *own,
                                  GError **error);
void dvmd_bus_call_options_close (DvmdBusCallOptions *own);
typedef DvmJobSpec *(*DvmdBusMakeSpec) (GVariant *programs, GVariant *options, GError **error);
/* All that a submission says, and the files that it names; in any thread. read: what the call has had read before. */
DvmJobSpec *dvmd_bus_read_spec (GDBusMethodInvocation *invocation, DvmdBusMakeSpec make, GVariant *programs,
                                GVariant *dict, DvmdBusCallOptions *own, DvmHostsRead *read, GError **error);
/* The job exists: it ends with its caller if it is to. */
void dvmd_bus_submitted (DvmdBusServer *server, DvmdBusCaller *caller, DvmdJob *job, const DvmdBusCallOptions *own);

G_END_DECLS
