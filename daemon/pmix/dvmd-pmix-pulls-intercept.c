/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The function by which libpmix's server gives a piece of output to one of the pulls of its clients, which it finds
 * before its own: a pull gets what is marked as it has asked for, and nothing else.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>

#include <pmix_server.h>

#include "src/common/pmix_iof.h"

#include "dvmd-pmix-marks.h"

typedef pmix_status_t (*Process) (pmix_iof_channel_t channels, const pmix_proc_t *source,
                                  const pmix_byte_object_t *bytes, const pmix_info_t *info, size_t n_info,
                                  const pmix_iof_req_t *request);

static Process
find_next (void)
{
  static gsize next_once;

  if (g_once_init_enter (&next_once))
    g_once_init_leave (&next_once, (gsize)dlsym (RTLD_NEXT, "pmix_iof_process_iof"));
  return (Process)next_once;
}

/* On PMIx's thread. */
__attribute__ ((visibility ("default"))) pmix_status_t
pmix_iof_process_iof (pmix_iof_channel_t channels, const pmix_proc_t *source, const pmix_byte_object_t *bytes,
                      const pmix_info_t *info, size_t n_info, const pmix_iof_req_t *request)
{
  guint marks = dvmd_pmix_marks_read (info, n_info);

  if (!dvmd_pmix_marks_are_served ())
    return find_next () (channels, source, bytes, info, n_info, request);
  if (GPOINTER_TO_UINT (request->cbdata) != marks)
    return PMIX_SUCCESS;
  return find_next () (channels, source, bytes, marks != 0 ? NULL : info, marks != 0 ? 0 : n_info, request);
}
