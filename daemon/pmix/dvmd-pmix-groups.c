/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMIx_Group_construct and _destruct: what each client wants is checked and asked of the agent, and those who are in a
 * group are known here by its name.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-groups.h"

#include <stdlib.h>
#include <string.h>

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-supported.h"
#include "dvmd-pmix-upcall.h"

/* Bytes of a list of members. */
#define MAX_MEMBERS (16 * 1024 * 1024)
/* Bytes of what a member has for the others, each of whom gets it. */
#define MAX_INFO (64 * 1024)

/* ---- what the client wants ---- */

static void
info_clear (gpointer data)
{
  dvmd_pmix_info_clear (&((DvmdPmixGroupInfo *)data)->info);
}

void
dvmd_pmix_group_request_free (DvmdPmixGroupRequest *self)
{
  g_clear_pointer (&self->infos, g_array_unref);
  PMIX_INFO_FREE (self->info, self->n_info);
  free (self->procs);
  free (self->id);
  g_free (self);
}

static gboolean
read_flag (const pmix_info_t *info, guint32 flag, guint32 *flags, GError **error)
{
  if (info->value.type != PMIX_BOOL && info->value.type != PMIX_UNDEF)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is neither true nor false", info->key);
      return FALSE;
    }
  if (PMIX_INFO_TRUE (info))
    *flags |= flag;
  return TRUE;
}

/* The client gives this to the others. */
static gboolean
read_given (const pmix_info_t *info, GVariantBuilder *given, gsize *size, GError **error)
{
  const pmix_data_array_t *array = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray : NULL;

  if (array == NULL || array->type != PMIX_INFO || (array->size > 0 && array->array == NULL))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is not an array of information", info->key);
      return FALSE;
    }
  for (gsize i = 0; i < array->size; i++)
    {
      const pmix_info_t *one = &((const pmix_info_t *)array->array)[i];
      GVariant *packed = NULL;

      if (!g_utf8_validate (one->key, -1, NULL))
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "A key in %s is not a text in UTF-8", info->key);
      else
        packed = dvmd_pmix_pack_value (one, error);
      if (packed == NULL)
        return FALSE;
      *size += strlen (one->key) + g_variant_get_size (packed);
      g_variant_builder_add (given, "(s@ay)", one->key, packed);
      if (*size <= MAX_INFO)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "%s has more than %d KiB", info->key, MAX_INFO / 1024);
      return FALSE;
    }
  return TRUE;
}

typedef struct
{
  guint32 flags; /* DvmdGroupFlags */
  guint32 timeout;
  gsize size;
  GVariantBuilder *given;
} Directives;

static const struct
{
  const char *key;
  guint32 flag;
} flags[] = {
  { PMIX_GROUP_ASSIGN_CONTEXT_ID, DVMD_GROUP_ASSIGN_CONTEXT },
  { PMIX_GROUP_OPTIONAL, DVMD_GROUP_OPTIONAL },
  { PMIX_GROUP_FT_COLLECTIVE, DVMD_GROUP_OPTIONAL },
  { PMIX_GROUP_NOTIFY_TERMINATION, DVMD_GROUP_NOTIFY },
  { PMIX_GROUP_LOCAL_ONLY, DVMD_GROUP_LOCAL },
};

void
dvmd_pmix_list_group_keys (GPtrArray *keys)
{
  dvmd_pmix_add_keys (keys, flags, G_N_ELEMENTS (flags), sizeof flags[0]);
  g_ptr_array_add (keys, (char *)PMIX_GROUP_INFO);
  g_ptr_array_add (keys, (char *)PMIX_TIMEOUT);
}

/* A barrier it is with PMIX_EMBED_BARRIER or without. */
static gboolean
read_directive (const pmix_info_t *info, Directives *directives, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (flags); i++)
    if (PMIX_CHECK_KEY (info, flags[i].key))
      return read_flag (info, flags[i].flag, &directives->flags, error);
  if (PMIX_CHECK_KEY (info, PMIX_TIMEOUT))
    return dvmd_pmix_read_number (info, &directives->timeout, error);
  if (PMIX_CHECK_KEY (info, PMIX_GROUP_INFO))
    return read_given (info, directives->given, &directives->size, error);
  if (PMIX_CHECK_KEY (info, PMIX_GROUP_ADD_MEMBERS) || PMIX_CHECK_KEY (info, PMIX_GROUP_BOOTSTRAP)
      || (PMIX_INFO_IS_REQUIRED (info) && !PMIX_CHECK_KEY (info, PMIX_EMBED_BARRIER)))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s of a group is not served: its members are named",
                   info->key);
      return FALSE;
    }
  return TRUE;
}

static gboolean
check_members (const DvmdPmixGroupRequest *request, GError **error)
{
  gsize size = 0;

  for (gsize i = 0; i < request->n_procs; i++)
    {
      const pmix_proc_t *proc = &request->procs[i];

      size += strlen (proc->nspace) + sizeof proc->rank;
      if (!g_utf8_validate (proc->nspace, -1, NULL))
        g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                             "A namespace of a group's members is not a text in UTF-8");
      else if (i > 0 && PMIX_CHECK_PROCID (&proc[-1], proc))
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s.%u is named twice as a member of a group", proc->nspace,
                     proc->rank);
      else if (size > MAX_MEMBERS)
        g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
                     "A list of members has more than %d MiB: name whole jobs", MAX_MEMBERS / 1024 / 1024);
      else
        continue;
      return FALSE;
    }
  return TRUE;
}

/* From now on it is to be answered. Only the first of this server says who the members are; the list is kept once. */
static const char *
ask (DvmdPmixGroupRequest *request, GVariantBuilder *members)
{
  const char *key;
  gboolean is_first;

  request->group = dvmd_pmix_groups_ask (request->id, request->procs, request->n_procs, &key, &is_first);
  for (gsize i = 0; is_first && i < request->n_procs; i++)
    g_variant_builder_add (members, "(su)", request->procs[i].nspace, request->procs[i].rank);
  free (g_steal_pointer (&request->procs));
  return key;
}

/* (nullable): floating, with the error set */
static GVariant *
read_request (DvmdPmixGroupRequest *request, GError **error)
{
  g_auto (GVariantBuilder) given = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(say)"));
  g_auto (GVariantBuilder) members = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(su)"));
  Directives directives = { .given = &given };

  if (!dvmd_pmix_group_check_name (request->id, error) || !check_members (request, error))
    return NULL;
  for (gsize i = 0; i < request->n_info; i++)
    if (!read_directive (&request->info[i], &directives, error))
      return NULL;
  return g_variant_new (
      "(bssuua(su)a(say))", request->dissolves, request->id, request->dissolves ? "" : ask (request, &members),
      directives.flags | (request->leaves ? DVMD_GROUP_LEAVE : 0), directives.timeout, &members, &given);
}

/* ---- the answer ---- */

static void
hand_over (pmix_status_t unused, void *data)
{
  DvmdPmixGroupRequest *request = data;

  request->answer (request);
  dvmd_pmix_group_request_free (request);
}

static void
note_infos (DvmdPmixGroupRequest *request, GVariant *rows)
{
  GVariantIter iter;
  const char *nspace;
  GVariantIter *given;
  guint32 rank;

  request->infos = g_array_new (FALSE, TRUE, sizeof (DvmdPmixGroupInfo));
  g_array_set_clear_func (request->infos, info_clear);
  g_variant_iter_init (&iter, rows);
  while (g_variant_iter_loop (&iter, "(&sua(say))", &nspace, &rank, &given))
    {
      DvmdPmixGroupInfo row = { 0 };
      const char *key;
      GVariant *packed;

      PMIX_LOAD_PROCID (&row.proc, nspace, rank);
      while (g_variant_iter_loop (given, "(&s@ay)", &key, &packed))
        dvmd_pmix_info_add_packed (&row.info, key, packed);
      g_array_append_val (request->infos, row);
    }
}

/* The library writes this answer into the connection wherever it is called back, and guards nothing. */
static void
answer_group (const DvmdPmixCall *call, int status, GVariant *answer)
{
  DvmdPmixGroupRequest *request = call->callback_data;

  request->status = status;
  if (answer != NULL)
    {
      g_autoptr (GVariant) rows = NULL;
      guint64 context;

      g_variant_get (answer, "(tasa(sua(say)))", &context, NULL, NULL);
      rows = g_variant_get_child_value (answer, 2);
      request->context = (gsize)context;
      request->has_context = context > 0;
      note_infos (request, rows);
    }
  /* Another refusal, or a time that is over, leaves a group as it was. */
  if (request->dissolves
      && (status == PMIX_SUCCESS || status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_NOT_FOUND))
    dvmd_pmix_groups_left (&request->proc, request->id);
  if (request->group != NULL)
    request->n_procs = dvmd_pmix_groups_answered (g_steal_pointer (&request->group), &request->proc,
                                                  status == PMIX_SUCCESS ? &request->procs : NULL);
  dvmd_pmix_server_run_on_thread (hand_over, request);
}

static void
run (DvmdPmixServer *server, const DvmdPmixUpcall *self)
{
  DvmdPmixGroupRequest *request = self->call.callback_data;
  g_autoptr (GError) error = NULL;
  GVariant *body;

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank, "%s a group",
                 request->leaves      ? "leaves"
                 : request->dissolves ? "dissolves"
                                      : "forms");
  if (dvmd_pmix_server_refuse_stranger_at_times (server, &self->proc, &self->call))
    return;
  body = read_request (request, &error);
  dvmd_pmix_server_call (server, &self->call, DVMD_CALL_GROUP, &self->proc, body, error);
}

void
dvmd_pmix_upcall_group (DvmdPmixGroupRequest *request)
{
  DvmdPmixUpcall upcall = { .run = run, .proc = request->proc };

  upcall.call.answer = answer_group;
  upcall.call.callback_data = request;
  dvmd_pmix_upcall_post (&upcall);
}
