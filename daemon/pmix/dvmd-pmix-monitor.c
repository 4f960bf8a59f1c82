/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMIx_Process_monitor of what processes and nodes use: the DVM is asked again and again, and who wants to know it is
 * told by events.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-monitor.h"

#include <string.h>

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-supported.h"
#include "dvmd-pmix-upcall.h"
#include "dvmd-pmix-usage.h"

/* Of all clients of a server: each costs a question to the controller and its agents every time. */
#define MAX_MONITORS 256

typedef struct
{
  const char *key;
  const char *word; /* of the controller, as for a query */
  const char *row;
} Kind;

static const Kind kinds[] = {
  { PMIX_MONITOR_PROC_RESOURCE_USAGE, "proc-usage", PMIX_PROC_RESOURCE_USAGE },
  { PMIX_MONITOR_NODE_RESOURCE_USAGE, "node-usage", PMIX_NODE_RESOURCE_USAGE },
};

void
dvmd_pmix_list_monitor_keys (GPtrArray *keys)
{
  static const char *const directives[] = {
    PMIX_MONITOR_TARGET_PROCS,  PMIX_MONITOR_TARGET_NODES, PMIX_MONITOR_TARGET_NODEIDS,
    PMIX_MONITOR_RESOURCE_RATE, PMIX_MONITOR_ID,           PMIX_MONITOR_CANCEL,
  };

  dvmd_pmix_add_keys (keys, kinds, G_N_ELEMENTS (kinds), sizeof kinds[0]);
  dvmd_pmix_add_keys (keys, directives, G_N_ELEMENTS (directives), sizeof directives[0]);
}

typedef struct
{
  DvmdPmixServer *server; /* unowned */
  guint64 number;
  const Kind *kind;
  pmix_proc_t proc; /* who is told */
  char *id;         /* (nullable) */
  int code;         /* of its events */
  guint32 rate;     /* seconds between two measurements; 0: there is one */
  GVariant *questions;
  GSource *timer; /* (nullable) */
} Monitor;

typedef struct
{
  GHashTable *monitors; /* guint64 -> Monitor */
  guint64 last;
} Monitors;

/* A question whose monitor may be over when the answer comes. */
typedef struct
{
  DvmdPmixServer *server; /* unowned */
  guint64 number;
  pmix_info_cbfunc_t callback; /* (nullable): who waits for the beginning */
  void *callback_data;
} Asked;

static void
monitor_free (gpointer data)
{
  Monitor *self = data;

  if (self->timer != NULL)
    {
      g_source_destroy (self->timer);
      g_source_unref (self->timer);
    }
  g_clear_pointer (&self->questions, g_variant_unref);
  g_free (self->id);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Monitor, monitor_free)

static void
monitors_free (gpointer data)
{
  Monitors *self = data;

  g_hash_table_unref (self->monitors);
  g_free (self);
}

static Monitors *
get_monitors (DvmdPmixServer *server)
{
  GQuark quark = g_quark_from_static_string ("dvmd-pmix-monitors");
  Monitors *self = g_object_get_qdata (G_OBJECT (server), quark);

  if (self == NULL)
    {
      self = g_new0 (Monitors, 1);
      self->monitors = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, monitor_free);
      g_object_set_qdata_full (G_OBJECT (server), quark, self, monitors_free);
    }
  return self;
}

static void
end_monitor (Monitor *self)
{
  g_hash_table_remove (get_monitors (self->server)->monitors, &self->number);
}

/* ---- what was measured ---- */

/* The status of the first question that has no answer; rows: of the others. */
static int
read_rows (const Monitor *self, GVariant *answer, DvmdPmixInfo *rows)
{
  g_autoptr (GVariant) items = g_variant_get_child_value (answer, 0);
  int status = PMIX_SUCCESS;
  GVariantIter iter;
  GVariant *value;
  int one;

  g_variant_iter_init (&iter, items);
  while (g_variant_iter_loop (&iter, "(iv)", &one, &value))
    {
      if (one == PMIX_SUCCESS && !dvmd_pmix_usage_add_rows (rows, self->kind->row, value))
        one = PMIX_ERR_NOT_SUPPORTED;
      if (status == PMIX_SUCCESS)
        status = one;
    }
  return status;
}

static void
notify (const Monitor *self, GVariantBuilder *details)
{
  const DvmdPmixProc target = { self->proc.nspace, self->proc.rank };
  g_autoptr (GVariant) owned = NULL;

  if (self->id != NULL)
    g_variant_builder_add (details, "{sv}", PMIX_MONITOR_ID, g_variant_new_string (self->id));
  g_variant_builder_add (details, "{sv}", PMIX_EVENT_DO_NOT_CACHE, g_variant_new_boolean (TRUE));
  owned = g_variant_ref_sink (g_variant_builder_end (details));
  dvmd_pmix_notify_event (DVMD_PMIX (self->server), self->code, NULL, &target, 1, owned);
}

/* Takes the rows. */
static void
tell_rows (const Monitor *self, DvmdPmixInfo *rows)
{
  g_auto (DvmdPmixInfo) all = DVMD_PMIX_INFO_INIT;
  g_autoptr (GError) error = NULL;
  GVariantBuilder details;
  GVariant *packed;

  dvmd_pmix_info_add_array (&all, self->kind->key, rows);
  packed = dvmd_pmix_pack_value (&all.items[0], &error);
  if (packed == NULL)
    {
      g_message ("%s.%u is not told what it watches: %s", self->proc.nspace, self->proc.rank, error->message);
      return;
    }
  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", self->kind->key, packed);
  notify (self, &details);
}

static void
tell_end (const Monitor *self, int status)
{
  g_autofree char *text = g_strdup_printf ("There is nothing left to be watched: %s", PMIx_Error_string (status));
  GVariantBuilder details;

  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", PMIX_JOB_TERM_STATUS, g_variant_new ("(i)", status));
  g_variant_builder_add (&details, "{sv}", PMIX_EVENT_TEXT_MESSAGE, g_variant_new_string (text));
  notify (self, &details);
}

static void
release_rows (void *data)
{
  dvmd_pmix_info_clear (data);
  g_free (data);
}

/* rows (nullable): taken */
static void
answer_begun (const Asked *asked, int status, DvmdPmixInfo *rows)
{
  DvmdPmixInfo *kept;

  if (rows == NULL)
    {
      asked->callback (status, NULL, 0, asked->callback_data, NULL, NULL);
      return;
    }
  kept = g_memdup2 (rows, sizeof *rows);
  *rows = (DvmdPmixInfo)DVMD_PMIX_INFO_INIT;
  asked->callback (status, kept->items, kept->length, asked->callback_data, release_rows, kept);
}

/* ---- again and again ---- */

static void ask (Monitor *self, pmix_info_cbfunc_t callback, void *callback_data);

static gboolean
on_time (gpointer user_data)
{
  Monitor *self = user_data;

  g_clear_pointer (&self->timer, g_source_unref);
  ask (self, NULL, NULL);
  return G_SOURCE_REMOVE;
}

static void
wait_for_next (Monitor *self)
{
  self->timer = g_timeout_source_new_seconds (self->rate);
  g_source_set_callback (self->timer, on_time, self, NULL);
  g_source_attach (self->timer, g_main_context_get_thread_default ());
}

/* All that was named has to be there; what goes later is left out, until nothing is left. */
static void
take_first (Monitor *self, const Asked *asked, int status, DvmdPmixInfo *rows)
{
  answer_begun (asked, status, status == PMIX_SUCCESS ? rows : NULL);
  if (status == PMIX_SUCCESS && self->rate > 0)
    wait_for_next (self);
  else
    end_monitor (self);
}

static void
take_next (Monitor *self, int status, DvmdPmixInfo *rows)
{
  if (rows->length > 0)
    {
      tell_rows (self, rows);
      wait_for_next (self);
    }
  else
    {
      tell_end (self, status != PMIX_SUCCESS ? status : PMIX_ERR_NOT_FOUND);
      end_monitor (self);
    }
}

static void
take_answer (const DvmdPmixCall *call, int status, GVariant *answer)
{
  g_autofree Asked *asked = call->callback_data;
  Monitor *self = g_hash_table_lookup (get_monitors (asked->server)->monitors, &asked->number);
  g_auto (DvmdPmixInfo) rows = DVMD_PMIX_INFO_INIT;

  if (self == NULL)
    {
      if (asked->callback != NULL)
        answer_begun (asked, status != PMIX_SUCCESS ? status : PMIX_ERR_JOB_CANCELED, NULL);
      return;
    }
  if (status == PMIX_SUCCESS && answer != NULL)
    status = read_rows (self, answer, &rows);
  if (asked->callback != NULL)
    take_first (self, asked, status, &rows);
  else
    take_next (self, status, &rows);
}

static void
ask (Monitor *self, pmix_info_cbfunc_t callback, void *callback_data)
{
  Asked *asked = g_new (Asked, 1);
  const DvmdPmixCall call = { .answer = take_answer, .callback_data = asked };

  *asked = (Asked){ self->server, self->number, callback, callback_data };
  dvmd_pmix_server_call (self->server, &call, DVMD_CALL_QUERY, &self->proc,
                         g_variant_new ("(@a(sa{sv}))", self->questions), NULL);
}

/* ---- a request ---- */

static gboolean
refuse_key (const pmix_info_t *info, DvmError code, const char *what, GError **error)
{
  g_set_error (error, DVM_ERROR, code, "%s of a monitor %s", info->key, what);
  return FALSE;
}

static gboolean
add_question (GVariantBuilder *questions, const Monitor *self, GVariantDict *qualifiers)
{
  g_variant_builder_add (questions, "(s@a{sv})", self->kind->word, g_variant_dict_end (qualifiers));
  return TRUE;
}

static gboolean
add_target (GVariantBuilder *questions, const Monitor *self, const pmix_info_t *info, gsize i, GError **error)
{
  const pmix_data_array_t *array = info->value.data.darray;
  g_auto (GVariantDict) dict;

  g_variant_dict_init (&dict, NULL);
  if (array->type == PMIX_PROC)
    {
      const pmix_proc_t *proc = (const pmix_proc_t *)array->array + i;

      if (proc->nspace[0] == '\0' || !g_utf8_validate (proc->nspace, -1, NULL))
        return refuse_key (info, DVM_ERROR_BAD_PARAM, "has a process without a namespace", error);
      g_variant_dict_insert (&dict, "nspace", "s", proc->nspace);
      if (proc->rank != PMIX_RANK_WILDCARD)
        g_variant_dict_insert (&dict, "rank", "u", proc->rank);
    }
  else if (array->type == PMIX_STRING)
    {
      const char *name = ((char *const *)array->array)[i];

      if (name == NULL || !g_utf8_validate (name, -1, NULL))
        return refuse_key (info, DVM_ERROR_BAD_PARAM, "has a name that is no text in UTF-8", error);
      g_variant_dict_insert (&dict, "node", "s", name);
    }
  else
    g_variant_dict_insert (&dict, "node-id", "u", ((const guint32 *)array->array)[i]);
  return add_question (questions, self, &dict);
}

/* A target of the other kind says nothing about this one. */
static gboolean
take_targets (GVariantBuilder *questions, guint *n, const Monitor *self, const pmix_info_t *info, pmix_data_type_t type,
              GError **error)
{
  const pmix_data_array_t *array = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray : NULL;

  if ((type == PMIX_PROC) != (self->kind == &kinds[0]))
    return refuse_key (info, DVM_ERROR_NOT_SUPPORTED, "does not go with that kind", error);
  if (array == NULL || array->type != type || array->size == 0 || array->array == NULL)
    return refuse_key (info, DVM_ERROR_BAD_PARAM, "is no array of what it names", error);
  if (array->size > DVMD_PMIX_MOST_QUESTIONS - *n)
    return refuse_key (info, DVM_ERROR_OUT_OF_RESOURCE, "names too many: 512 are watched at once", error);
  for (gsize i = 0; i < array->size; i++)
    if (!add_target (questions, self, info, i, error))
      return FALSE;
  *n += (guint)array->size;
  return TRUE;
}

static gboolean
take_directive (Monitor *self, GVariantBuilder *questions, guint *n, const pmix_info_t *info, GError **error)
{
  if (PMIX_CHECK_KEY (info, PMIX_MONITOR_TARGET_PROCS))
    return take_targets (questions, n, self, info, PMIX_PROC, error);
  if (PMIX_CHECK_KEY (info, PMIX_MONITOR_TARGET_NODES))
    return take_targets (questions, n, self, info, PMIX_STRING, error);
  if (PMIX_CHECK_KEY (info, PMIX_MONITOR_TARGET_NODEIDS))
    return take_targets (questions, n, self, info, PMIX_UINT32, error);
  if (PMIX_CHECK_KEY (info, PMIX_MONITOR_RESOURCE_RATE))
    {
      if (!dvmd_pmix_read_number (info, &self->rate, error))
        return FALSE;
      return self->rate > 0 || refuse_key (info, DVM_ERROR_BAD_PARAM, "is 0 seconds: 1 is the least", error);
    }
  if (PMIX_CHECK_KEY (info, PMIX_MONITOR_ID))
    {
      g_free (self->id);
      self->id = g_strdup (dvmd_pmix_read_text (info, error));
      return self->id != NULL;
    }
  return refuse_key (info, DVM_ERROR_NOT_SUPPORTED, "is not heeded", error);
}

/* An empty array, or none, is for all values. */
static gboolean
check_all_values (const pmix_info_t *info, GError **error)
{
  const pmix_value_t *value = &info->value;
  const pmix_data_array_t *array = value->type == PMIX_DATA_ARRAY ? value->data.darray : NULL;

  if (array != NULL && array->size > 0)
    return refuse_key (info, DVM_ERROR_NOT_SUPPORTED, "chooses values: all are told", error);
  return TRUE;
}

/* The events of groups and debuggers are believed by libraries, also of those who have made them up. */
static gboolean
take_code (Monitor *self, pmix_status_t code, GError **error)
{
  self->code = code != PMIX_SUCCESS ? code : PMIX_MONITOR_RESUSAGE_UPDATE;
  if (self->code == PMIX_MONITOR_RESUSAGE_UPDATE || self->code <= PMIX_EXTERNAL_ERR_BASE)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "Event %d cannot tell of a monitor: use PMIX_MONITOR_RESUSAGE_UPDATE (%d), or one below %d", code,
               PMIX_MONITOR_RESUSAGE_UPDATE, PMIX_EXTERNAL_ERR_BASE);
  return FALSE;
}

static gboolean
read_monitor (Monitor *self, const DvmdPmixUpcall *upcall, GError **error)
{
  g_auto (GVariantBuilder) questions = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(sa{sv})"));
  guint n = 0;

  if (!check_all_values (upcall->data, error) || !take_code (self, upcall->status, error))
    return FALSE;
  for (gsize i = 0; i < upcall->n_directives; i++)
    if (!take_directive (self, &questions, &n, &upcall->directives[i], error))
      return FALSE;
  if (n == 0 && self->kind == &kinds[0])
    return refuse_key (upcall->data, DVM_ERROR_NOT_SUPPORTED, "needs PMIX_MONITOR_TARGET_PROCS", error);
  if (n == 0)
    g_variant_builder_add (&questions, "(sa{sv})", self->kind->word, NULL);
  self->questions = g_variant_ref_sink (g_variant_builder_end (&questions));
  return TRUE;
}

static const Kind *
find_kind (const pmix_info_t *monitor)
{
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (PMIX_CHECK_KEY (monitor, kinds[i].key))
      return &kinds[i];
  return NULL;
}

static void
answer_status (const DvmdPmixCall *call, int status, GVariant *unused)
{
  call->callback.info (status, NULL, 0, call->callback_data, NULL, NULL);
}

static void
begin (DvmdPmixServer *server, const DvmdPmixUpcall *upcall)
{
  Monitors *monitors = get_monitors (server);
  g_autoptr (Monitor) self = g_new0 (Monitor, 1);
  g_autoptr (GError) error = NULL;
  Monitor *begun;

  self->server = server;
  self->proc = upcall->proc;
  self->kind = find_kind (upcall->data);
  if (self->kind == NULL)
    refuse_key (upcall->data, DVM_ERROR_NOT_SUPPORTED, "is nothing that is watched here", &error);
  else if (g_hash_table_size (monitors->monitors) >= MAX_MONITORS)
    refuse_key (upcall->data, DVM_ERROR_OUT_OF_RESOURCE, "is one too many: a server has 256", &error);
  if (error != NULL || !read_monitor (self, upcall, &error))
    {
      dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, self->proc.nspace, self->proc.rank, "%s", error->message);
      answer_status (&upcall->call, dvmd_pmix_status_from_error (error), NULL);
      return;
    }
  begun = g_steal_pointer (&self);
  begun->number = ++monitors->last;
  g_hash_table_insert (monitors->monitors, &begun->number, begun);
  ask (begun, upcall->call.callback.info, upcall->call.callback_data);
}

/* ---- the end ---- */

/* id (nullable): all of that process; proc (nullable): of all */
static guint
drop (DvmdPmixServer *server, const pmix_proc_t *proc, const char *id)
{
  GHashTableIter iter;
  gpointer value;
  guint n = 0;

  g_hash_table_iter_init (&iter, get_monitors (server)->monitors);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const Monitor *self = value;

      if ((proc != NULL && !PMIX_CHECK_PROCID (&self->proc, proc)) || (id != NULL && g_strcmp0 (self->id, id) != 0))
        continue;
      g_hash_table_iter_remove (&iter);
      n++;
    }
  return n;
}

void
dvmd_pmix_server_drop_monitors (DvmdPmixServer *self, const pmix_proc_t *proc)
{
  drop (self, proc, NULL);
}

/* The library has stopped what it watches itself by now, if all are meant; it knows no names of those. */
static void
cancel (DvmdPmixServer *server, const DvmdPmixUpcall *upcall)
{
  const pmix_value_t *value = &upcall->data->value;
  const char *id = value->type == PMIX_STRING ? value->data.string : NULL;
  guint n = drop (server, &upcall->proc, id);

  answer_status (&upcall->call, id == NULL || n > 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, NULL);
}

static void
run (DvmdPmixServer *server, const DvmdPmixUpcall *self)
{
  pmix_info_t *copy = self->copy;

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank, "monitor %s", self->data->key);
  if (!dvmd_pmix_server_refuse_stranger (server, &self->proc, &self->call))
    {
      if (PMIX_CHECK_KEY (self->data, PMIX_MONITOR_CANCEL))
        cancel (server, self);
      else
        begin (server, self);
    }
  PMIX_INFO_FREE (copy, 1);
}

/* On PMIx's thread. The library keeps the directives until the answer, and not what is to be watched. */
pmix_status_t
dvmd_pmix_upcall_monitor (const pmix_proc_t *proc, const pmix_info_t *monitor, pmix_status_t code,
                          const pmix_info_t directives[], size_t n_directives, pmix_info_cbfunc_t callback,
                          void *callback_data)
{
  DvmdPmixUpcall upcall = {
    .run = run,
    .proc = *proc,
    .status = code,
    .directives = directives,
    .n_directives = n_directives,
    .call.answer = answer_status,
    .call.callback.info = callback,
    .call.callback_data = callback_data,
  };

  PMIX_INFO_CREATE (upcall.copy, 1);
  PMIX_INFO_XFER (upcall.copy, monitor);
  upcall.data = upcall.copy;
  upcall.n_data = 1;
  dvmd_pmix_upcall_post (&upcall);
  return PMIX_SUCCESS;
}
