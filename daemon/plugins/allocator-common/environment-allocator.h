/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "time-question.h"

G_BEGIN_DECLS

/*
 * The base of allocators that find the job of a scheduler in the environment of the DVM: that is the answer at the
 * start of a DVM for which nobody has named nodes. All other requests for nodes are declined.
 */

#define DVMD_TYPE_ENVIRONMENT_ALLOCATOR (dvmd_environment_allocator_get_type ())
G_DECLARE_DERIVABLE_TYPE (DvmdEnvironmentAllocator, dvmd_environment_allocator, DVMD, ENVIRONMENT_ALLOCATOR,
                          DvmdAllocator)

/*
 * @read: (transfer full) (nullable): the nodes of the job that the DVM is in; NULL without error: it is in none of this
 *   scheduler; NULL with an error: it is in one, and what is said of it is wrong
 * @time_question: (nullable): the command that says how long that job lasts, which becomes the limit of session 0,
 *   and whether it is there: with its end the DVM ends
 */
struct _DvmdEnvironmentAllocatorClass
{
  DvmdAllocatorClass parent_class;

  DvmdAllocation *(*read) (DvmdEnvironmentAllocator *self, const char *const *environ, GError **error);
  const DvmdTimeQuestion *time_question;
};

/* For allocators that do not derive from it. */
gboolean dvmd_environment_is_bare_start (const DvmdAllocationRequest *request);

G_END_DECLS
