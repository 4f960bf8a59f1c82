/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pulls whose output is marked. The library's server (4.2) gives a piece to each pull of its process, whatever the pull
 * has asked for, and does not say which pull an upcall is about: its own notes of the pull do, and have room for the
 * marks.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-groups.h"
#include "dvmd-pmix-marks.h"

/* Of a piece on its way to the pulls of our server; no client gets it. */
#define MARKS_KEY "dvm.iof.marks"

void
dvmd_pmix_marks_load (pmix_info_t *info, guint marks)
{
  guint32 value = marks;

  PMIX_INFO_LOAD (info, MARKS_KEY, &value, PMIX_UINT32);
}

guint
dvmd_pmix_marks_read (const pmix_info_t *info, gsize n_info)
{
  return n_info == 1 && PMIX_CHECK_KEY (info, MARKS_KEY) ? info->value.data.uint32 : 0;
}

#ifdef HAVE_PMIX_PULLS

#include "src/include/pmix_globals.h"
#include "src/server/pmix_server_ops.h"

gboolean
dvmd_pmix_marks_are_served (void)
{
  return dvmd_pmix_groups_are_served ();
}

void
dvmd_pmix_marks_set (gpointer pull, guint marks)
{
  const pmix_setup_caddy_t *caddy = pull;
  pmix_iof_req_t *request = NULL;

  if (dvmd_pmix_marks_are_served ())
    request = pmix_pointer_array_get_item (&pmix_globals.iof_requests, (int)caddy->ncodes);
  if (request != NULL)
    request->cbdata = GUINT_TO_POINTER (marks);
}

void
dvmd_pmix_marks_answer_end (gpointer pull)
{
  if (dvmd_pmix_marks_are_served ())
    ((pmix_setup_caddy_t *)pull)->status = PMIX_SUCCESS;
}

#else

gboolean
dvmd_pmix_marks_are_served (void)
{
  return FALSE;
}

void
dvmd_pmix_marks_set (gpointer pull, guint marks)
{
}

void
dvmd_pmix_marks_answer_end (gpointer pull)
{
}

#endif
