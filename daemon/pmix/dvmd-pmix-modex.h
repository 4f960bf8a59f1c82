/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* A question of the library's to which the agent owes an answer. */
typedef struct
{
  guint64 token;
  char *nspace; /* (nullable): of the rank whose data is asked for */
  pmix_modex_cbfunc_t callback;
  void *callback_data;
} DvmdPmixRequest;

/* nspace (nullable): of the rank whose data is asked for */
guint64 dvmd_pmix_server_add_request (DvmdPmixServer *self, const char *nspace, pmix_modex_cbfunc_t callback,
                                      void *callback_data);
void dvmd_pmix_request_free (gpointer request);
/* Whether one with this is open. */
gboolean dvmd_pmix_server_has_request (DvmdPmixServer *self, const void *callback_data);
/* Answers self's request at once. */
void dvmd_pmix_server_answer (DvmdPmixServer *self, guint64 token, int status, GBytes *data);
/* Questions for data of ranks of that job are answered with a failure. */
void dvmd_pmix_server_fail_requests (DvmdPmixServer *self, const char *nspace);
void dvmd_pmix_server_fetch_modex_async (DvmdPmix *pmix, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                                         gpointer user_data);
/* The process of a rank of this node has ended: what is asked for and it has not put will not come. */
void dvmd_pmix_server_note_gone (DvmdPmixServer *self, const char *nspace, guint32 rank);
GBytes *dvmd_pmix_server_fetch_modex_finish (DvmdPmix *pmix, GAsyncResult *result, GError **error);
void dvmd_pmix_server_complete (DvmdPmix *pmix, guint64 token, int status, GBytes *data);

G_END_DECLS
