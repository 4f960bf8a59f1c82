/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMIx_Notify_event: what clients and tools want others to be told is checked, and the agent asked for it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-events.h"

#include <string.h>

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-groups.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-upcall.h"

/*
 * The clients of one job, or a tool, may tell of so many events at once by way of this server, and from then on of so
 * many a second. An event counts as many as it has KiB. Each may go to every process of the DVM, and where one does not
 * take them they wait.
 */
#define BURST 1024
#define RATE  128
/* Bytes of an event: it may go to every process of the DVM, and each server keeps some hundreds. */
#define MAX_EVENT (256 * 1024)

/* Behind what comes from a client. */
#define OF_CLIENT "pmix.srvr.internal.notify"

typedef enum
{
  ONE_PROC = 1 << 0,
  PROCS = 1 << 1,
  TEXT = 1 << 2,
} Kinds;

/* The library takes what these stand for without a look at the type. */
static const struct
{
  const char *key;
  Kinds kinds;
  const char *words;
} checked[] = {
  { PMIX_EVENT_CUSTOM_RANGE, ONE_PROC | PROCS, "a process, or an array of them" },
  { PMIX_EVENT_AFFECTED_PROC, ONE_PROC, "a process" },
  { PMIX_EVENT_AFFECTED_PROCS, PROCS, "an array of processes" },
  { PMIX_GROUP_ID, TEXT, "a text" },
};

static Kinds
find_kind (const pmix_value_t *value)
{
  const pmix_data_array_t *array = value->type == PMIX_DATA_ARRAY ? value->data.darray : NULL;

  if (value->type == PMIX_PROC && value->data.proc != NULL)
    return ONE_PROC;
  if (array != NULL && array->type == PMIX_PROC && array->size > 0 && array->array != NULL)
    return PROCS;
  return value->type == PMIX_STRING && value->data.string != NULL ? TEXT : 0;
}

static gboolean
check_info (const pmix_info_t *info, GError **error)
{
  if (!g_utf8_validate (info->key, -1, NULL))
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "A key of the event is not a text in UTF-8");
      return FALSE;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (checked); i++)
    if (PMIX_CHECK_KEY (info, checked[i].key) && (find_kind (&info->value) & checked[i].kinds) == 0)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s of an event is not %s", info->key, checked[i].words);
        return FALSE;
      }
  return TRUE;
}

/* Processes tell of these, and the controller looks at what is true. */
static gboolean
is_of_invitation (pmix_status_t status)
{
  return status == PMIX_GROUP_INVITED || status == PMIX_GROUP_INVITE_ACCEPTED || status == PMIX_GROUP_INVITE_DECLINED
         || status == PMIX_GROUP_CONSTRUCT_COMPLETE;
}

/*
 * The library's server (4.2.2) believes the event that a group has been made, whoever tells it: the group is then one,
 * for collectives, too. Nothing of groups is told but what the controller itself knows.
 */
static gboolean
check_status (pmix_status_t status, GError **error)
{
  if (status > PMIX_GROUP_INVITED || status < PMIX_GROUP_MEMBER_FAILED
      || (is_of_invitation (status) && dvmd_pmix_groups_are_served ()))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
               "Event %d is one of groups, which the DVM alone tells of: use an event of your own", status);
  return FALSE;
}

/* As the controller reads it. */
static gboolean
add_group (GVariantBuilder *details, const pmix_info_t *info, GError **error)
{
  if (!dvmd_pmix_group_check_name (info->value.data.string, error))
    return FALSE;
  g_variant_builder_add (details, "{sv}", info->key, g_variant_new_string (info->value.data.string));
  return TRUE;
}

static gboolean
add_target (GVariantBuilder *targets, const pmix_proc_t *proc, GError **error)
{
  if (g_utf8_validate (proc->nspace, -1, NULL))
    {
      g_variant_builder_add (targets, "(su)", proc->nspace, proc->rank);
      return TRUE;
    }
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       "A namespace of a range of processes is not a text in UTF-8");
  return FALSE;
}

static gboolean
add_targets (GVariantBuilder *targets, const pmix_info_t *info, gsize *size, GError **error)
{
  const pmix_data_array_t *array = info->value.data.darray;
  const pmix_proc_t *procs = info->value.type == PMIX_PROC ? info->value.data.proc : array->array;
  gsize n = info->value.type == PMIX_PROC ? 1 : array->size;

  for (gsize i = 0; i < n && *size <= MAX_EVENT; i++)
    {
      if (!add_target (targets, &procs[i], error))
        return FALSE;
      *size += strlen (procs[i].nspace) + sizeof procs[i].rank;
    }
  return TRUE;
}

static gboolean
add_detail (GVariantBuilder *details, const pmix_info_t *info, gsize *size, GError **error)
{
  GVariant *packed = dvmd_pmix_pack_value (info, error);

  if (packed == NULL)
    return FALSE;
  *size += strlen (info->key) + g_variant_get_size (packed);
  g_variant_builder_add (details, "{sv}", info->key, packed);
  return TRUE;
}

/* (nullable): floating, with the error set */
static GVariant *
read_event (const DvmdPmixUpcall *upcall, GError **error)
{
  g_auto (GVariantBuilder) targets = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(su)"));
  g_auto (GVariantBuilder) details = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE_VARDICT);
  gboolean has_group = FALSE;
  gsize size = 0;

  if (!check_status (upcall->status, error))
    return NULL;
  for (gsize i = 0; i < upcall->n_data; i++)
    {
      const pmix_info_t *info = &upcall->data[i];

      if (PMIX_CHECK_KEY (info, OF_CLIENT))
        continue;
      if (!check_info (info, error))
        return NULL;
      if (is_of_invitation (upcall->status) && PMIX_CHECK_KEY (info, PMIX_GROUP_ID))
        {
          if (has_group)
            g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is said twice", info->key);
          if (has_group || !add_group (&details, info, error))
            return NULL;
          has_group = TRUE;
          continue;
        }
      if (PMIX_CHECK_KEY (info, PMIX_EVENT_CUSTOM_RANGE) ? !add_targets (&targets, info, &size, error)
                                                         : !add_detail (&details, info, &size, error))
        return NULL;
      if (size <= MAX_EVENT)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "What comes with an event may take %d KiB",
                   MAX_EVENT / 1024);
      return NULL;
    }
  return g_variant_new ("(iua(su)a{sv})", upcall->status, (guint32)upcall->range, &targets, &details);
}

/* ---- not too many ---- */

typedef struct
{
  double left;
  gint64 since;    /* monotonic, µs */
  gboolean logged; /* that some were refused since there was no limit */
} Allowance;

static gboolean
refill (gpointer nspace, gpointer allowance, gpointer unused)
{
  Allowance *self = allowance;
  gint64 now = g_get_monotonic_time ();

  self->left = MIN (BURST, self->left + (double)(now - self->since) * RATE / G_USEC_PER_SEC);
  self->since = now;
  return self->left >= BURST;
}

/* An allowance of which nothing is used is not kept. */
static Allowance *
find_allowance (GHashTable *allowances, const char *nspace)
{
  Allowance *allowance;

  g_hash_table_foreach_remove (allowances, refill, NULL);
  allowance = g_hash_table_lookup (allowances, nspace);
  if (allowance == NULL)
    {
      allowance = g_new0 (Allowance, 1);
      allowance->left = BURST;
      allowance->since = g_get_monotonic_time ();
      g_hash_table_insert (allowances, g_strdup (nspace), allowance);
    }
  return allowance;
}

static gboolean
take (DvmdPmixServer *server, const DvmdPmixUpcall *upcall, double n)
{
  Allowance *allowance = find_allowance (dvmd_pmix_server_get_allowances (server), upcall->proc.nspace);

  if (allowance->left >= n)
    {
      allowance->left -= n;
      return TRUE;
    }
  if (!allowance->logged)
    g_message ("%s.%u tells of too many events: its processes on this node may tell of %d at once, and of %d a second "
               "then, each counted as many times as it has KiB; the others are refused",
               upcall->proc.nspace, upcall->proc.rank, BURST, RATE);
  allowance->logged = TRUE;
  return FALSE;
}

/* ---- the answer ---- */

typedef struct
{
  pmix_op_cbfunc_t callback;
  void *callback_data;
  pmix_status_t status;
} Answer;

static void
hand_over (pmix_status_t status, void *data)
{
  Answer *answer = data;

  answer->callback (answer->status, answer->callback_data);
  g_free (answer);
}

/* The library writes this answer into the connection wherever it is called back, and guards nothing. */
static void
answer_event (const DvmdPmixCall *call, int status, GVariant *unused)
{
  Answer *answer;

  if (call->callback.done == NULL)
    return;
  answer = g_new (Answer, 1);
  *answer = (Answer){ call->callback.done, call->callback_data, status };
  dvmd_pmix_server_run_on_thread (hand_over, answer);
}

static void
tell (DvmdPmixServer *server, const DvmdPmixUpcall *upcall)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) request = NULL;

  if (!take (server, upcall, 1))
    {
      upcall->call.answer (&upcall->call, PMIX_ERR_OUT_OF_RESOURCE, NULL);
      return;
    }
  if (dvmd_pmix_server_refuse_stranger_at_times (server, &upcall->proc, &upcall->call))
    return;
  request = read_event (upcall, &error);
  if (request != NULL)
    g_variant_ref_sink (request);
  if (request == NULL || take (server, upcall, (double)g_variant_get_size (request) / 1024))
    dvmd_pmix_server_call (server, &upcall->call, DVMD_CALL_EVENT, &upcall->proc, request, error);
  else
    upcall->call.answer (&upcall->call, PMIX_ERR_OUT_OF_RESOURCE, NULL);
}

static void
run (DvmdPmixServer *server, const DvmdPmixUpcall *self)
{
  pmix_info_t *copy = self->copy;

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank, "event %d for range %u",
                 self->status, self->range);
  if (copy != NULL)
    dvmd_pmix_server_note_told (server, &self->proc);
  tell (server, self);
  PMIX_INFO_FREE (copy, self->n_data);
}

pmix_status_t
dvmd_pmix_upcall_event (pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range,
                        const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t callback, void *callback_data)
{
  DvmdPmixUpcall upcall = { .run = run, .proc = *source, .status = status, .range = range };

  dvmd_pmix_upcall_note_intercepted ();
  upcall.data = info;
  upcall.n_data = n_info;
  upcall.call.answer = answer_event;
  upcall.call.callback.done = callback;
  upcall.call.callback_data = callback_data;
  dvmd_pmix_upcall_post (&upcall);
  return PMIX_SUCCESS;
}

gboolean
dvmd_pmix_event_is_of_client (const pmix_info_t info[], size_t n_info)
{
  return n_info > 0 && PMIX_CHECK_KEY (&info[n_info - 1], OF_CLIENT);
}

/*
 * libpmix 4.2 waits for a host that says PMIX_OPERATION_IN_PROGRESS, later ones for one that says PMIX_SUCCESS, and
 * either calls back into memory that is freed with the other word. So it need not wait, and the log alone has what
 * comes of the event.
 */
pmix_status_t
dvmd_pmix_upcall_told_event (pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range,
                             pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t callback, void *callback_data)
{
  DvmdPmixUpcall upcall = { .run = run, .proc = *source, .status = status, .range = range };

  /* A handler of ours has had the latter. */
  if (dvmd_pmix_upcall_is_intercepted () || !dvmd_pmix_event_is_of_client (info, n_info)
      || status == PMIX_READY_FOR_DEBUG)
    return PMIX_OPERATION_SUCCEEDED;
  PMIX_INFO_CREATE (upcall.copy, n_info);
  for (gsize i = 0; i < n_info; i++)
    PMIX_INFO_XFER (&upcall.copy[i], &info[i]);
  upcall.data = upcall.copy;
  upcall.n_data = n_info;
  upcall.call.answer = answer_event;
  dvmd_pmix_upcall_post (&upcall);
  return PMIX_OPERATION_SUCCEEDED;
}
