/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMIx_Get_credential and PMIx_Validate_credential: munge of the client's node is asked, in a thread, because it may
 * let us wait.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-credentials.h"

#include <string.h>

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-info.h"
#include "dvmd-munge.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-upcall.h"

#define CREDENTIAL_TYPE "munge"

/* munge's own limit is 1 MiB, of data that these have none of. */
#define MAX_SIZE (64 * 1024)
/* That are under way at a time: each takes a thread for as long as munged lets it wait. */
#define MAX_OPEN 8

typedef struct
{
  DvmdPmixServer *server; /* unowned: the task has it */
  guint64 token;
  char *credential; /* (nullable): NULL: one is made */
  guint timer;      /* 0: none */
} Work;

static void
work_free (gpointer data)
{
  Work *self = data;

  g_free (self->credential);
  g_free (self);
}

/* How many questions are under way, after a change. */
static guint
count_open (DvmdPmixServer *server, int change)
{
  guint n = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (server), "open-credentials")) + (guint)change;

  g_object_set_data (G_OBJECT (server), "open-credentials", GUINT_TO_POINTER (n));
  return n;
}

/* ---- what is asked for ---- */

static gboolean
check_types (const pmix_info_t *info, GError **error)
{
  g_autoptr (GPtrArray) types = g_ptr_array_new_with_free_func (g_free);

  if (!dvmd_pmix_read_list (info, FALSE, types, error))
    return FALSE;
  if (g_ptr_array_find_with_equal_func (types, CREDENTIAL_TYPE, g_str_equal, NULL))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
               "%s: credentials are those of " CREDENTIAL_TYPE " alone, which is not among the types", info->key);
  return FALSE;
}

/* limit: in s, 0: none */
static gboolean
read_directives (const DvmdPmixUpcall *self, guint32 *limit, GError **error)
{
  for (gsize i = 0; i < self->n_directives; i++)
    {
      const pmix_info_t *info = &self->directives[i];

      if (PMIX_CHECK_KEY (info, PMIX_CRED_TYPE))
        {
          if (!check_types (info, error))
            return FALSE;
        }
      else if (PMIX_CHECK_KEY (info, PMIX_TIMEOUT))
        {
          if (!dvmd_pmix_read_number (info, limit, error))
            return FALSE;
        }
      else if ((info->flags & PMIX_INFO_REQD) != 0)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s is not known here", info->key);
          return FALSE;
        }
    }
  return TRUE;
}

/* (nullable) (transfer full) */
static char *
read_credential (const pmix_byte_object_t *bytes, GError **error)
{
  if (bytes->bytes == NULL || bytes->size == 0 || bytes->size > MAX_SIZE)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "A credential of %" G_GSIZE_FORMAT " bytes is none: it has 1 to %d", bytes->size, MAX_SIZE);
      return NULL;
    }
  return g_strndup (bytes->bytes, bytes->size);
}

/* ---- the answer, on PMIx's thread: the library guards nothing there ---- */

typedef struct
{
  DvmdPmixCall call;
  int status;
  char *credential; /* (nullable) */
  guint32 uid;
  guint32 gid;
} Answer;

static void
hand_over_credential (pmix_status_t unused, void *data)
{
  Answer *self = data;
  g_auto (DvmdPmixInfo) info = DVMD_PMIX_INFO_INIT;
  pmix_byte_object_t bytes = { 0 };

  if (self->credential != NULL)
    {
      bytes.bytes = self->credential;
      bytes.size = strlen (self->credential) + 1;
      dvmd_pmix_info_add_string (&info, PMIX_CRED_TYPE, CREDENTIAL_TYPE);
    }
  self->call.callback.credential (self->status, &bytes, info.items, info.length, self->call.callback_data);
  g_free (self->credential);
  g_free (self);
}

static void
hand_over_validation (pmix_status_t unused, void *data)
{
  Answer *self = data;
  g_auto (DvmdPmixInfo) info = DVMD_PMIX_INFO_INIT;

  if (self->status == PMIX_SUCCESS)
    {
      dvmd_pmix_info_add_uint32 (&info, PMIX_USERID, self->uid);
      dvmd_pmix_info_add_uint32 (&info, PMIX_GRPID, self->gid);
      dvmd_pmix_info_add_string (&info, PMIX_CRED_TYPE, CREDENTIAL_TYPE);
    }
  self->call.callback.validation (self->status, info.items, info.length, self->call.callback_data);
  g_free (self);
}

static Answer *
answer_new (const DvmdPmixCall *call, int status)
{
  Answer *self = g_new0 (Answer, 1);

  self->call = *call;
  self->status = status;
  return self;
}

static void
answer_credential (const DvmdPmixCall *call, int status, GVariant *answer)
{
  Answer *self = answer_new (call, status);

  if (answer != NULL)
    self->credential = g_variant_dup_string (answer, NULL);
  dvmd_pmix_server_run_on_thread (hand_over_credential, self);
}

static void
answer_validation (const DvmdPmixCall *call, int status, GVariant *answer)
{
  Answer *self = answer_new (call, status);

  if (answer != NULL)
    g_variant_get (answer, "(uu)", &self->uid, &self->gid);
  dvmd_pmix_server_run_on_thread (hand_over_validation, self);
}

/* ---- munge ---- */

static GVariant *
ask_munge (const char *credential, GError **error)
{
  g_autofree char *made = NULL;
  guint32 uid;
  guint32 gid;

  if (credential != NULL)
    return dvmd_munge_decode (credential, &uid, &gid, error) ? g_variant_new ("(uu)", uid, gid) : NULL;
  made = dvmd_munge_encode (error);
  return made != NULL ? g_variant_new_string (made) : NULL;
}

static void
work (GTask *task, gpointer source, gpointer task_data, GCancellable *cancellable)
{
  const Work *self = task_data;
  g_autoptr (GError) error = NULL;
  GVariant *answer = ask_munge (self->credential, &error);

  if (answer != NULL)
    g_task_return_pointer (task, g_variant_ref_sink (answer), (GDestroyNotify)g_variant_unref);
  else
    g_task_return_error (task, g_steal_pointer (&error));
}

/* PMIx hands on a number alone. */
static int
tell_failure (const Work *work, const GError *error)
{
  g_message ("munge of %s %s: %s", g_get_host_name (),
             work->credential != NULL ? "does not take a credential" : "gives no credential", error->message);
  return g_error_matches (error, DVM_ERROR, DVM_ERROR_BAD_PARAM) ? PMIX_ERR_INVALID_CRED
                                                                 : dvmd_pmix_status_from_error (error);
}

static void
on_worked (GObject *source, GAsyncResult *result, gpointer unused)
{
  Work *self = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) answer = g_task_propagate_pointer (G_TASK (result), &error);

  g_clear_handle_id (&self->timer, g_source_remove);
  count_open (DVMD_PMIX_SERVER (source), -1);
  dvmd_pmix_server_complete_call (DVMD_PMIX (source), self->token,
                                  answer != NULL ? PMIX_SUCCESS : tell_failure (self, error), answer);
}

static gboolean
on_time (gpointer data)
{
  Work *self = data;

  self->timer = 0;
  dvmd_pmix_server_complete_call (DVMD_PMIX (self->server), self->token, PMIX_ERR_TIMEOUT, NULL);
  return G_SOURCE_REMOVE;
}

static void
begin (DvmdPmixServer *server, const DvmdPmixCall *call, char *credential, guint32 limit)
{
  g_autoptr (GTask) task = g_task_new (server, NULL, on_worked, NULL);
  Work *self = g_new0 (Work, 1);

  count_open (server, 1);
  self->server = server;
  self->token = dvmd_pmix_server_add_call (server, call);
  self->credential = credential;
  if (limit > 0)
    self->timer = g_timeout_add_seconds (limit, on_time, self);
  g_task_set_task_data (task, self, work_free);
  g_task_run_in_thread (task, work);
}

/* ---- upcalls ---- */

static void
run (DvmdPmixServer *server, const DvmdPmixUpcall *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *credential = NULL;
  guint32 limit = 0;

  if (dvmd_pmix_server_refuse_stranger (server, &self->proc, &self->call))
    return;
  if (read_directives (self, &limit, &error) && self->bytes != NULL)
    credential = read_credential (self->bytes, &error);
  if (error == NULL && count_open (server, 0) >= MAX_OPEN)
    g_set_error (&error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "munged has %d questions to answer", MAX_OPEN);
  if (error == NULL)
    {
      begin (server, &self->call, g_steal_pointer (&credential), limit);
      return;
    }
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, self->proc.nspace, self->proc.rank,
                 "asks for the work of munge: %s", error->message);
  self->call.answer (&self->call, dvmd_pmix_status_from_error (error), NULL);
}

pmix_status_t
dvmd_pmix_upcall_get_credential (const pmix_proc_t *proc, const pmix_info_t directives[], size_t n_directives,
                                 pmix_credential_cbfunc_t callback, void *callback_data)
{
  dvmd_pmix_upcall_post (&(const DvmdPmixUpcall){
      .run = run,
      .proc = *proc,
      .directives = directives,
      .n_directives = n_directives,
      .call.answer = answer_credential,
      .call.callback.credential = callback,
      .call.callback_data = callback_data,
  });
  return PMIX_SUCCESS;
}

pmix_status_t
dvmd_pmix_upcall_validate_credential (const pmix_proc_t *proc, const pmix_byte_object_t *credential,
                                      const pmix_info_t directives[], size_t n_directives,
                                      pmix_validation_cbfunc_t callback, void *callback_data)
{
  dvmd_pmix_upcall_post (&(const DvmdPmixUpcall){
      .run = run,
      .proc = *proc,
      .directives = directives,
      .n_directives = n_directives,
      .bytes = credential,
      .call.answer = answer_validation,
      .call.callback.validation = callback,
      .call.callback_data = callback_data,
  });
  return PMIX_SUCCESS;
}
