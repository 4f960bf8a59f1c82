/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-calls.h"

G_BEGIN_DECLS

/*
 * PMIx calls the module's functions on its own thread and without a user pointer: here is where the calls go. queue
 * (nullable): none any more. nspace: of the DVM itself.
 */
void dvmd_pmix_upcall_set_queue (DvmdPmixQueue *queue, const char *nspace);
/* (nullable) */
DvmdPmixQueue *dvmd_pmix_upcall_get_queue (void);
/* The namespace of the DVM, with which those of its jobs begin. */
const char *dvmd_pmix_upcall_get_nspace (void);
/* From PMIx's thread: the agent sees it, whatever becomes of the main context. */
void dvmd_pmix_upcall_count_client (const pmix_proc_t *proc);
/* From PMIx's thread: to be run on the main context. */
void dvmd_pmix_upcall_post_item (DvmdPmixItem *item);

/* The library has called the function for events that stands before its own. */
void dvmd_pmix_upcall_note_intercepted (void);
gboolean dvmd_pmix_upcall_is_intercepted (void);

/* A request of a client, captured on PMIx's thread. All that it points to is the library's until it is answered. */
typedef struct _DvmdPmixUpcall DvmdPmixUpcall;

struct _DvmdPmixUpcall
{
  DvmdPmixItem item;
  /* On the main context. */
  void (*run) (DvmdPmixServer *server, const DvmdPmixUpcall *self);
  pmix_proc_t proc; /* who asks, or the server itself where the library does not say */
  const pmix_proc_t *procs;
  gsize n_procs;
  const pmix_info_t *data;
  gsize n_data;
  const pmix_info_t *directives;
  gsize n_directives;
  const pmix_byte_object_t *bytes; /* (nullable) */
  pmix_status_t status;            /* of an event, as its range */
  pmix_data_range_t range;
  guint32 session;   /* that is to be controlled */
  pmix_info_t *copy; /* (nullable): of the data, which are the library's no more; run frees it */
  DvmdPmixCall call; /* which is answered by its callback "done" unless it says otherwise */
};

/* Posts a copy. */
void dvmd_pmix_upcall_post (const DvmdPmixUpcall *captured);

G_END_DECLS
