/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files that a job brings along: where each comes from, and what it is called in the session directory of the job.
 */

#pragma once

#include "dvm.h"

G_BEGIN_DECLS

typedef struct
{
  guint app;        /* the first application that asks for it */
  gboolean program; /* of that application: a source without a slash is looked for in its PATH */
  gboolean archive; /* by its name: what is in it comes to where it would be itself */
  char *source;     /* absolute but for such a program */
  char *target;     /* relative to the session directory, without “.” and “..” */
} DvmPreload;

/* Without any check: whether there is something to do. */
gboolean _dvm_job_spec_has_preloads (DvmJobSpec *self);
/*
 * (element-type DvmPreload): each file once, whoever asks for it. DVM_ERROR_BAD_PARAM when two have one name or one has
 * none. place: as for _dvm_job_spec_validate_at().
 */
GPtrArray *_dvm_job_spec_list_preloads (DvmJobSpec *self, const char *place, GError **error);
/* Where its processes start, whatever its directory is. */
gboolean _dvm_app_spec_runs_in_session_dir (DvmAppSpec *self);

G_END_DECLS
