/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

typedef struct
{
  const char *operation; /* as in DVMD_CALL_JOB_CONTROL */
  int signum;
  const char *pset; /* (nullable): one is defined, and there is no operation */
} DvmdPmixControl;

gboolean dvmd_pmix_read_control (const pmix_info_t *info, gsize n, DvmdPmixControl *control, GError **error);
void dvmd_pmix_server_control (DvmdPmixServer *self, const pmix_proc_t *proc, const DvmdPmixProc *targets,
                               guint n_targets, const pmix_info_t *info, gsize n_info, pmix_info_cbfunc_t callback,
                               void *callback_data);

/* Adds the directives of a job control. */
void dvmd_pmix_list_control_keys (GPtrArray *keys);

G_END_DECLS
