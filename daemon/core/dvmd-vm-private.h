/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of the DVM's own progress, for its machine.
 */

#pragma once

#include "dvmd-vm.h"

G_BEGIN_DECLS

/* The progress of the DVM from its start to its end. */
struct _DvmdVm
{
  DvmdJob *job;
  gboolean ready;
  gboolean was_ready;     /* stays so */
  gboolean nodes_changed; /* the jobs that wait will be looked at for it */
  gboolean shutting_down;
  gboolean forced;
  char *end_reason; /* (nullable) */
};

G_END_DECLS
