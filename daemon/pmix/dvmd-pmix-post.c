/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way from PMIx's thread to the main context.
 */

#include "config.h"

#include "dvmd-pmix-post.h"

#include <string.h>

/* PMIx calls the functions of its host without a user pointer, so this file may hold a static: where the calls go. */
static DvmdPmixQueue *current_queue;
/* Our own namespace: those of its jobs begin with it. */
static pmix_nspace_t current_nspace;
static gboolean intercepted;

void
dvmd_pmix_post_set_queue (DvmdPmixQueue *queue, const char *nspace)
{
  PMIX_LOAD_NSPACE (current_nspace, nspace);
  g_clear_pointer (&current_queue, dvmd_pmix_queue_unref);
  if (queue != NULL)
    current_queue = dvmd_pmix_queue_ref (queue);
}

void
dvmd_pmix_post (DvmdPmixItem *item)
{
  dvmd_pmix_queue_post (current_queue, item);
}

gboolean
dvmd_pmix_post_about (DvmdPmixItem *item, const char *nspace)
{
  return dvmd_pmix_queue_post_about (current_queue, item, nspace);
}

gboolean
dvmd_pmix_post_is_own (const char *nspace)
{
  return g_str_equal (nspace, current_nspace);
}

gboolean
dvmd_pmix_post_is_job (const char *nspace)
{
  const gsize length = strlen (current_nspace);

  return strncmp (nspace, current_nspace, length) == 0 && nspace[length] == '@' && nspace[length + 1] != '\0'
         && strspn (nspace + length + 1, "0123456789") == strlen (nspace + length + 1);
}

void
dvmd_pmix_post_note_intercepted (void)
{
  intercepted = TRUE;
}

gboolean
dvmd_pmix_post_is_intercepted (void)
{
  return intercepted;
}
