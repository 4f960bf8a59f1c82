/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-call-kind.h"
#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* A client waits for an answer of the agent's. */
typedef struct _DvmdPmixCall DvmdPmixCall;

struct _DvmdPmixCall
{
  guint64 token;
  /* Hands the answer to the library; (nullable) answer: of the type of the kind, if status is success. */
  void (*answer) (const DvmdPmixCall *self, int status, GVariant *answer);
  union
  {
    pmix_info_cbfunc_t info;
    pmix_spawn_cbfunc_t spawn;
    pmix_lookup_cbfunc_t look_up;
    pmix_op_cbfunc_t done;
    pmix_credential_cbfunc_t credential;
    pmix_validation_cbfunc_t validation;
  } callback;
  void *callback_data;
  char *nspace;         /* (nullable): of the client; the call fails when that job's clients have gone */
  gint64 end;           /* monotonic, µs: from then on the library has answered by itself; 0: it does not */
  gboolean gets_output; /* of a spawn: the library hands over what the job says */
  GVariant *own_log;    /* (nullable): of a log: texts for the syslog of this node */
};

GHashTable *dvmd_pmix_calls_new (void);
/* Copies call, and its namespace; the token of the copy. */
guint64 dvmd_pmix_server_add_call (DvmdPmixServer *self, const DvmdPmixCall *call);
/*
 * The agent is asked. request (nullable, floating is sunk): of the type of the kind; NULL: the client is answered that
 * error, and the log tells it.
 */
void dvmd_pmix_server_call (DvmdPmixServer *self, const DvmdPmixCall *call, DvmdCallKind kind, const pmix_proc_t *proc,
                            GVariant *request, const GError *error);
/* TRUE: proc may be somebody who is not ours, and has been refused. */
gboolean dvmd_pmix_server_refuse_stranger (DvmdPmixServer *self, const pmix_proc_t *proc, const DvmdPmixCall *call);
/* The same for calls that come in great numbers: of those that come together one is looked at. */
gboolean dvmd_pmix_server_refuse_stranger_at_times (DvmdPmixServer *self, const pmix_proc_t *proc,
                                                    const DvmdPmixCall *call);
void dvmd_pmix_server_complete_call (DvmdPmix *pmix, guint64 token, int status, GVariant *answer);
void dvmd_pmix_server_complete_connect (DvmdPmix *pmix, guint64 token, int status);
/* nspace (nullable): the calls of that job, whose clients have gone; NULL: all, because the agent answers no more. */
void dvmd_pmix_server_fail_calls (DvmdPmixServer *self, const char *nspace);

G_END_DECLS
