/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMIx_Session_control: the directives of clients and tools made those of Manager.ControlSession, which says what is
 * wrong with them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-session.h"

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-alloc.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-supported.h"
#include "dvmd-pmix-upcall.h"

#include <string.h>

#define SESSION_KEYS "pmix.ssn."

typedef struct
{
  GVariantDict dict;
  GPtrArray *hosts; /* of the nodes that are to be taken */
} Request;

typedef gboolean (*TakeDirective) (Request *request, const char *word, const pmix_info_t *info, GError **error);

/* One that is off says nothing. */
static gboolean
take_flag (Request *request, const char *word, const pmix_info_t *info, GError **error)
{
  if (!dvmd_pmix_check_flag (info, error))
    return FALSE;
  if (PMIX_INFO_TRUE (info))
    g_variant_dict_insert (&request->dict, word, "b", TRUE);
  return TRUE;
}

static gboolean
take_separate (Request *request, const char *word, const pmix_info_t *info, GError **error)
{
  if (!dvmd_pmix_check_flag (info, error))
    return FALSE;
  g_variant_dict_insert (&request->dict, word, "b", PMIX_INFO_TRUE (info));
  return TRUE;
}

/* On the bus it has the seconds, which PMIx gives by a key of allocations. */
static gboolean
take_extend (Request *request, const char *word, const pmix_info_t *info, GError **error)
{
  if (!dvmd_pmix_check_flag (info, error))
    return FALSE;
  if (PMIX_INFO_TRUE (info))
    g_variant_dict_insert (&request->dict, word, "u", 0);
  return TRUE;
}

static gboolean
take_signal (Request *request, const char *word, const pmix_info_t *info, GError **error)
{
  guint32 number;

  if (!dvmd_pmix_read_number (info, &number, error))
    return FALSE;
  g_variant_dict_insert (&request->dict, word, "i", (gint32)MIN (number, G_MAXINT32));
  return TRUE;
}

static gboolean
take_nspace (Request *request, const char *word, const pmix_info_t *info, GError **error)
{
  gboolean is_nspace = info->value.type == PMIX_PROC_NSPACE && info->value.data.nspace != NULL;
  const char *text = is_nspace ? *info->value.data.nspace : dvmd_pmix_read_text (info, error);

  if (text == NULL)
    return FALSE;
  if (!g_utf8_validate (text, -1, NULL) || text[0] == '\0')
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is not the name of a job", info->key);
      return FALSE;
    }
  g_variant_dict_insert (&request->dict, word, "s", text);
  return TRUE;
}

static gboolean
take_resources (Request *request, const char *word, const pmix_info_t *info, GError **error)
{
  const pmix_data_array_t *array = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray : NULL;
  const pmix_info_t *items = array != NULL && array->type == PMIX_INFO ? array->array : NULL;

  if (items == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is not an array of attributes of nodes", info->key);
      return FALSE;
    }
  for (gsize i = 0; i < array->size; i++)
    if (!dvmd_pmix_take_resource (&request->dict, request->hosts, &items[i], error))
      return FALSE;
  return TRUE;
}

static const struct
{
  const char *key;
  const char *word;
  TakeDirective take;
} rows[] = {
  { PMIX_SESSION_INSTANTIATE, "instantiate", take_flag },
  { PMIX_SESSION_RESOURCES, "resources", take_resources },
  { PMIX_SESSION_EXTEND, "extend", take_extend },
  { PMIX_SESSION_PAUSE, "pause", take_flag },
  { PMIX_SESSION_RESUME, "resume", take_flag },
  { PMIX_SESSION_PREEMPT, "preempt", take_flag },
  { PMIX_SESSION_RESTORE, "restore", take_flag },
  { PMIX_SESSION_TERMINATE, "terminate", take_flag },
  { PMIX_SESSION_SIGNAL, "signal", take_signal },
  { PMIX_SESSION_SEP, "separate", take_separate },
  { PMIX_NSPACE, "nspace", take_nspace },
};

/* Known, and not done: images are nobody's here, jobs are spawned, and it is the DVM that tells of an end. */
static const struct
{
  const char *key;
  const char *instead;
} not_done[] = {
  { PMIX_SESSION_APP, "spawn jobs with PMIX_SESSION_ID when there is the session" },
  { PMIX_SESSION_JOB, "spawn jobs with PMIX_SESSION_ID when there is the session" },
  { PMIX_SESSION_PROVISION, "nodes are named, and taken as they are" },
  { PMIX_SESSION_PROVISION_NODES, "nodes are named, and taken as they are" },
  { PMIX_SESSION_PROVISION_IMAGE, "nodes are named, and taken as they are" },
  { PMIX_SESSION_COMPLETE, "the DVM itself says when a session has ended" },
};

void
dvmd_pmix_list_session_keys (GPtrArray *keys)
{
  dvmd_pmix_add_keys (keys, rows, G_N_ELEMENTS (rows), sizeof rows[0]);
  dvmd_pmix_list_alloc_keys (keys);
}

static gboolean
check_done (const pmix_info_t *info, GError **error)
{
  const char *instead = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (not_done); i++)
    if (strcmp (not_done[i].key, info->key) == 0)
      instead = not_done[i].instead;
  if (instead == NULL && !g_str_has_prefix (info->key, SESSION_KEYS))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "Sessions cannot be controlled by %s here%s%s", info->key,
               instead != NULL ? ": " : "", instead != NULL ? instead : "");
  return FALSE;
}

static gboolean
take_directive (Request *request, const pmix_info_t *info, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      if (strcmp (rows[i].key, info->key) != 0)
        continue;
      if (!g_variant_dict_contains (&request->dict, rows[i].word))
        return rows[i].take (request, rows[i].word, info, error);
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is given twice", info->key);
      return FALSE;
    }
  return check_done (info, error) && dvmd_pmix_take_resource (&request->dict, request->hosts, info, error);
}

GVariant *
dvmd_pmix_read_session_control (const pmix_info_t *info, gsize n, GError **error)
{
  g_autoptr (GPtrArray) hosts = g_ptr_array_new_with_free_func (g_free);
  Request request = { .hosts = hosts };
  gboolean good = TRUE;

  g_variant_dict_init (&request.dict, NULL);
  for (gsize i = 0; good && i < n; i++)
    good = take_directive (&request, &info[i], error);
  if (good && hosts->len > 0)
    g_variant_dict_insert_value (&request.dict, "hosts",
                                 g_variant_new_strv ((const char *const *)hosts->pdata, hosts->len));
  if (good)
    return g_variant_ref_sink (g_variant_dict_end (&request.dict));
  g_variant_dict_clear (&request.dict);
  return NULL;
}

/* ---- on the main context ---- */

static void
run_control (DvmdPmixServer *server, const DvmdPmixUpcall *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) request = NULL;

  if (dvmd_pmix_server_refuse_stranger (server, &self->proc, &self->call))
    return;
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank, "control of session %u",
                 self->session);
  request = dvmd_pmix_read_session_control (self->directives, self->n_directives, &error);
  dvmd_pmix_server_call (server, &self->call, DVMD_CALL_CONTROL_SESSION, &self->proc,
                         request != NULL ? g_variant_new ("(u@a{sv})", self->session, request) : NULL, error);
}

/* On PMIx's thread. */
pmix_status_t
dvmd_pmix_upcall_session_control (const pmix_proc_t *proc, uint32_t session, const pmix_info_t directives[],
                                  size_t n_directives, pmix_info_cbfunc_t callback, void *callback_data)
{
  dvmd_pmix_upcall_post (&(const DvmdPmixUpcall){
      .run = run_control,
      .proc = *proc,
      .session = session,
      .directives = directives,
      .n_directives = n_directives,
      .call.answer = dvmd_pmix_answer_allocation,
      .call.callback.info = callback,
      .call.callback_data = callback_data,
  });
  return PMIX_SUCCESS;
}
