/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-bus-private.h"

G_BEGIN_DECLS

/* What a submission says about itself and not about its job. */
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
GVariant *dvmd_bus_split_options (DvmdBusCall *call, GVariant *dict, DvmdBusCallOptions *own, GError **error);
void dvmd_bus_call_options_close (DvmdBusCallOptions *own);
/* The job exists: it ends with its caller if it is to. */
void dvmd_bus_submitted (DvmdBusServer *server, DvmdBusCaller *caller, DvmdJob *job, const DvmdBusCallOptions *own);

G_END_DECLS
