/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * The way from PMIx's thread to the main context: items are run on the context in the order in which they were posted;
 * a burst costs one wake-up. (g_main_context_invoke() would run them on PMIx's thread whenever nobody owns the
 * context.)
 */

typedef struct _DvmdPmixItem DvmdPmixItem;
typedef struct _DvmdPmixQueue DvmdPmixQueue;

struct _DvmdPmixItem
{
  GList link; /* of the queue */
  /* On the main context. Owns self. */
  void (*run) (DvmdPmixItem *self, gpointer owner);
  /* Instead of run, if the queue was closed before. */
  void (*free) (DvmdPmixItem *self);
};

/* owner: given to run; lives until dvmd_pmix_queue_close(). */
DvmdPmixQueue *dvmd_pmix_queue_new (GMainContext *context, gpointer owner);
DvmdPmixQueue *dvmd_pmix_queue_ref (DvmdPmixQueue *self);
void dvmd_pmix_queue_unref (DvmdPmixQueue *self);
/* From any thread. */
void dvmd_pmix_queue_post (DvmdPmixQueue *self, DvmdPmixItem *item);
/*
 * Likewise, but FALSE, and item is still the caller's, as long as word is barred: whoever bars it on the main context
 * gets what was posted about it before, and nothing after.
 */
gboolean dvmd_pmix_queue_post_about (DvmdPmixQueue *self, DvmdPmixItem *item, const char *word);
void dvmd_pmix_queue_bar (DvmdPmixQueue *self, const char *word);
void dvmd_pmix_queue_unbar (DvmdPmixQueue *self, const char *word);
/* On the main context: runs what has been posted until now. */
void dvmd_pmix_queue_run_pending (DvmdPmixQueue *self);
/* On the main context: nothing is run any more, what waits and what still comes is freed. */
void dvmd_pmix_queue_close (DvmdPmixQueue *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmixQueue, dvmd_pmix_queue_unref)

G_END_DECLS
