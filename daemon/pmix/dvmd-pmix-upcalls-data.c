/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Publish, look up, unpublish, connect and disconnect: the library's calls are captured on its thread, read on the main
 * context, and answered there.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-upcalls-data.h"

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-upcall.h"

#include <string.h>
#include <unistd.h>

/* A key with this prefix is a directive, not a key of the client's own. */
#define DIRECTIVE_PREFIX "pmix."

typedef struct
{
  DvmdPmixItem item;
  gboolean connects;
  gboolean leaves;
  DvmdPmixDataOp op;
  pmix_proc_t proc;
  char **keys; /* the library's, as info, until it is called back */
  const pmix_info_t *info;
  gsize n_info;
  pmix_proc_t *procs;
  guint n_procs;
  guint timeout;        /* s; 0: none */
  gboolean has_a_timer; /* the library */
  gint64 time;          /* of the call */
  DvmdPmixCall call;
} Upcall;

/* ---- reading what the client wants ---- */

static gboolean
read_number (const pmix_info_t *info, gint64 *number)
{
  const pmix_value_t *value = &info->value;

  switch (value->type)
    {
    case PMIX_BOOL: /* Open MPI waits for "true" */
      *number = 0;
      return TRUE;
    case PMIX_INT:
      *number = value->data.integer;
      return TRUE;
    case PMIX_INT32:
      *number = value->data.int32;
      return TRUE;
    case PMIX_UINT:
      *number = value->data.uint;
      return TRUE;
    case PMIX_UINT8:
      *number = value->data.uint8;
      return TRUE;
    case PMIX_UINT16:
      *number = value->data.uint16;
      return TRUE;
    case PMIX_UINT32:
      *number = value->data.uint32;
      return TRUE;
    case PMIX_SIZE:
      *number = (gint64)MIN (value->data.size, G_MAXINT64);
      return TRUE;
    case PMIX_DATA_RANGE:
      *number = value->data.range;
      return TRUE;
    case PMIX_PERSIST:
      *number = value->data.persist;
      return TRUE;
    case PMIX_TIME:
      *number = value->data.time;
      return TRUE;
    default:
      return FALSE;
    }
}

static gboolean
bad_value (const pmix_info_t *info, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s has a value that makes no sense", info->key);
  return FALSE;
}

static gboolean
take_number (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  gint64 number;

  if (!read_number (info, &number) || number < 0 || number > G_MAXUINT32)
    return bad_value (info, error);
  g_variant_dict_insert (request, name, "u", (guint32)number);
  return TRUE;
}

/* Of nothing, or a bool: all of them. */
static gboolean
take_wait (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  gint64 number = 0;

  if (info->value.type == PMIX_BOOL && !info->value.data.flag)
    return TRUE;
  if (info->value.type != PMIX_UNDEF && !read_number (info, &number))
    return bad_value (info, error);
  g_variant_dict_insert (request, name, "i", (gint32)CLAMP (number, 0, G_MAXINT32));
  return TRUE;
}

static gboolean
take_ids (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  const pmix_data_array_t *array = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray : NULL;

  if (array == NULL || array->type != PMIX_UINT32)
    return bad_value (info, error);
  g_variant_dict_insert_value (
      request, name, g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, array->array, array->size, sizeof (guint32)));
  return TRUE;
}

static gboolean
take_accessors (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  const pmix_data_array_t *array = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray : NULL;
  GVariantBuilder procs;

  if (array == NULL || array->type != PMIX_PROC)
    return bad_value (info, error);
  g_variant_builder_init (&procs, G_VARIANT_TYPE ("a(su)"));
  for (gsize i = 0; i < array->size; i++)
    {
      const pmix_proc_t *proc = &((const pmix_proc_t *)array->array)[i];

      if (g_utf8_validate (proc->nspace, -1, NULL))
        g_variant_builder_add (&procs, "(su)", proc->nspace, proc->rank);
    }
  g_variant_dict_insert_value (request, name, g_variant_builder_end (&procs));
  return TRUE;
}

static gboolean take_permissions (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error);

/* Operations as bits. */
#define PUBLISHES   (1 << DVMD_PMIX_DATA_PUBLISH)
#define LOOKS_UP    (1 << DVMD_PMIX_DATA_LOOKUP)
#define UNPUBLISHES (1 << DVMD_PMIX_DATA_UNPUBLISH)

typedef struct
{
  const char *key;
  guint operations; /* that heed it */
  const char *name; /* of the request */
  gboolean (*take) (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error);
} Directive;

/* Users and groups are those of the node's server: what a client says of itself is not asked for. */
static const Directive directives[] = {
  { PMIX_RANGE, PUBLISHES | LOOKS_UP | UNPUBLISHES, "range", take_number },
  { PMIX_PERSISTENCE, PUBLISHES, "persistence", take_number },
  { PMIX_ACCESS_USERIDS, PUBLISHES, "uids", take_ids },
  { PMIX_ACCESS_GRPIDS, PUBLISHES, "gids", take_ids },
  { PMIX_EVENT_CUSTOM_RANGE, PUBLISHES, "accessors", take_accessors },
  { PMIX_ACCESS_PERMISSIONS, PUBLISHES, NULL, take_permissions },
  { PMIX_WAIT, LOOKS_UP, "wait", take_wait },
  { PMIX_TIMEOUT, LOOKS_UP, "timeout", take_number },
};

/* (nullable) */
static const Directive *
find_directive (DvmdPmixDataOp op, const char *key)
{
  for (gsize i = 0; i < G_N_ELEMENTS (directives); i++)
    if ((directives[i].operations & (1U << op)) != 0 && strcmp (directives[i].key, key) == 0)
      return &directives[i];
  return NULL;
}

static gboolean
take_directive (GVariantDict *request, DvmdPmixDataOp op, const pmix_info_t *info, GError **error)
{
  const Directive *directive = find_directive (op, info->key);

  if (directive != NULL)
    return directive->take (request, directive->name, info, error);
  if ((info->flags & PMIX_INFO_REQD) == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s is not heeded here", info->key);
  return FALSE;
}

static gboolean
take_permissions (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  const pmix_data_array_t *array = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray : NULL;

  if (array == NULL || array->type != PMIX_INFO)
    return bad_value (info, error);
  for (gsize i = 0; i < array->size; i++)
    {
      const pmix_info_t *one = &((const pmix_info_t *)array->array)[i];

      if (g_str_equal (one->key, PMIX_ACCESS_PERMISSIONS))
        return bad_value (info, error);
      if (!take_directive (request, DVMD_PMIX_DATA_PUBLISH, one, error))
        return FALSE;
    }
  return TRUE;
}

static void
list_directives (GPtrArray *keys, DvmdPmixDataOp op)
{
  for (gsize i = 0; i < G_N_ELEMENTS (directives); i++)
    if ((directives[i].operations & (1U << op)) != 0)
      g_ptr_array_add (keys, (char *)directives[i].key);
}

void
dvmd_pmix_list_publish_keys (GPtrArray *keys)
{
  list_directives (keys, DVMD_PMIX_DATA_PUBLISH);
}

void
dvmd_pmix_list_lookup_keys (GPtrArray *keys)
{
  list_directives (keys, DVMD_PMIX_DATA_LOOKUP);
}

void
dvmd_pmix_list_unpublish_keys (GPtrArray *keys)
{
  list_directives (keys, DVMD_PMIX_DATA_UNPUBLISH);
}

static gboolean
take_item (GVariantBuilder *items, const pmix_info_t *info, GError **error)
{
  GVariant *bytes;

  if (!g_utf8_validate (info->key, -1, NULL))
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "A key is no text in UTF-8");
      return FALSE;
    }
  bytes = dvmd_pmix_pack_value (info, error);
  if (bytes == NULL)
    return FALSE;
  g_variant_builder_add (items, "(s@ay)", info->key, bytes);
  return TRUE;
}

static gboolean
take_keys (GVariantDict *request, char **keys, GError **error)
{
  const char *none[] = { NULL };

  for (char **key = keys; key != NULL && *key != NULL; key++)
    if (!g_utf8_validate (*key, -1, NULL))
      {
        g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "A key is no text in UTF-8");
        return FALSE;
      }
  g_variant_dict_insert (request, "keys", "^as", keys != NULL ? (const char *const *)keys : none);
  return TRUE;
}

GVariant *
dvmd_pmix_read_data (DvmdPmixDataOp op, char **keys, const pmix_info_t *info, gsize n, GError **error)
{
  g_auto (GVariantBuilder) items = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(say)"));
  g_auto (GVariantDict) request = G_VARIANT_DICT_INIT (NULL);

  if (op != DVMD_PMIX_DATA_PUBLISH && !take_keys (&request, keys, error))
    return NULL;
  for (gsize i = 0; i < n; i++)
    {
      gboolean is_item = op == DVMD_PMIX_DATA_PUBLISH && !g_str_has_prefix (info[i].key, DIRECTIVE_PREFIX);

      if (is_item ? !take_item (&items, &info[i], error) : !take_directive (&request, op, &info[i], error))
        return NULL;
    }
  if (op == DVMD_PMIX_DATA_PUBLISH)
    g_variant_dict_insert_value (&request, "items", g_variant_builder_end (&items));
  return g_variant_ref_sink (g_variant_dict_end (&request));
}

/* ---- on the main context ---- */

static pmix_pdata_t *
unpack_found (GVariant *found, gsize *n_found)
{
  GVariantIter iter;
  const char *nspace;
  const char *key;
  guint32 rank;
  GVariant *bytes;
  pmix_pdata_t *data;
  gsize n = g_variant_n_children (found);

  *n_found = 0;
  PMIX_PDATA_CREATE (data, MAX (n, 1));
  g_variant_iter_init (&iter, found);
  while (g_variant_iter_loop (&iter, "(&su&s@ay)", &nspace, &rank, &key, &bytes))
    {
      pmix_pdata_t *one = &data[*n_found];

      PMIX_LOAD_PROCID (&one->proc, nspace, rank);
      PMIX_LOAD_KEY (one->key, key);
      if (dvmd_pmix_unpack_value (bytes, &one->value))
        (*n_found)++;
      else
        g_message ("What %s.%u has published as “%s” cannot be read here", nspace, rank, key);
    }
  return data;
}

static void
answer_look_up (const DvmdPmixCall *call, int status, GVariant *answer)
{
  g_autoptr (GVariant) found = answer != NULL ? g_variant_get_child_value (answer, 0) : NULL;
  pmix_pdata_t *data = NULL;
  gsize n = 0;

  if (found != NULL)
    data = unpack_found (found, &n);
  call->callback.look_up (status, data, n, call->callback_data);
  if (data != NULL)
    PMIX_PDATA_FREE (data, MAX (g_variant_n_children (found), 1));
}

static void
answer_done (const DvmdPmixCall *call, int status, GVariant *answer)
{
  call->callback.done (status, call->callback_data);
}

static void
hand_over_data (DvmdPmixServer *self, Upcall *upcall)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) body = dvmd_pmix_read_data (upcall->op, upcall->keys, upcall->info, upcall->n_info, &error);
  GVariant *request = NULL;

  upcall->call.nspace = upcall->proc.nspace;
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, upcall->proc.nspace, upcall->proc.rank, "publish or look up (%u)",
                 (guint)upcall->op);
  /* Everybody whom the server lets in belongs to its own user. */
  if (body != NULL)
    request = g_variant_new ("(uuu@a{sv})", (guint)upcall->op, (guint)geteuid (), (guint)getegid (), body);
  dvmd_pmix_server_call (self, &upcall->call, DVMD_CALL_DATA, &upcall->proc, request, error);
}

static void
hand_over_connect (DvmdPmixServer *self, Upcall *upcall)
{
  g_autofree DvmdPmixProc *procs = g_new0 (DvmdPmixProc, upcall->n_procs);
  guint64 token;

  if (upcall->has_a_timer && !upcall->leaves)
    upcall->call.end = upcall->time + (gint64)upcall->timeout * G_USEC_PER_SEC;
  for (guint i = 0; i < upcall->n_procs; i++)
    procs[i] = (DvmdPmixProc){ upcall->procs[i].nspace, upcall->procs[i].rank };
  token = dvmd_pmix_server_add_call (self, &upcall->call);
  g_debug ("%s %" G_GUINT64_FORMAT " of %u participants", upcall->leaves ? "disconnect" : "connect", token,
           upcall->n_procs);
  if (!dvmd_pmix_host_connect (dvmd_pmix_server_get_host (self), token, upcall->leaves, procs, upcall->n_procs,
                               upcall->timeout))
    dvmd_pmix_server_complete_call (DVMD_PMIX (self), token, PMIX_ERR_NOT_SUPPORTED, NULL);
}

static void
upcall_free (DvmdPmixItem *item)
{
  Upcall *self = (Upcall *)item;

  g_free (self->procs);
  g_free (self);
}

static void
upcall_run (DvmdPmixItem *item, gpointer owner)
{
  Upcall *self = (Upcall *)item;
  g_autoptr (DvmdPmixServer) server = g_object_ref (owner);

  if (self->connects)
    hand_over_connect (server, self);
  else
    hand_over_data (server, self);
  upcall_free (item);
}

/* ---- on PMIx's thread ---- */

static Upcall *
upcall_new (void *callback_data)
{
  Upcall *self = g_new0 (Upcall, 1);

  self->item.run = upcall_run;
  self->item.free = upcall_free;
  self->call.callback_data = callback_data;
  return self;
}

static pmix_status_t
post_data (DvmdPmixDataOp op, const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t n_info,
           const DvmdPmixCall *call)
{
  Upcall *upcall = upcall_new (NULL);

  upcall->op = op;
  upcall->proc = *proc;
  upcall->keys = keys;
  upcall->info = info;
  upcall->n_info = n_info;
  upcall->call = *call;
  dvmd_pmix_upcall_post_item (&upcall->item);
  return PMIX_SUCCESS;
}

pmix_status_t
dvmd_pmix_upcall_publish (const pmix_proc_t *proc, const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t callback,
                          void *callback_data)
{
  return post_data (
      DVMD_PMIX_DATA_PUBLISH, proc, NULL, info, n_info,
      &(DvmdPmixCall){ .answer = answer_done, .callback.done = callback, .callback_data = callback_data });
}

pmix_status_t
dvmd_pmix_upcall_lookup (const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t n_info,
                         pmix_lookup_cbfunc_t callback, void *callback_data)
{
  return post_data (
      DVMD_PMIX_DATA_LOOKUP, proc, keys, info, n_info,
      &(DvmdPmixCall){ .answer = answer_look_up, .callback.look_up = callback, .callback_data = callback_data });
}

pmix_status_t
dvmd_pmix_upcall_unpublish (const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t n_info,
                            pmix_op_cbfunc_t callback, void *callback_data)
{
  return post_data (
      DVMD_PMIX_DATA_UNPUBLISH, proc, keys, info, n_info,
      &(DvmdPmixCall){ .answer = answer_done, .callback.done = callback, .callback_data = callback_data });
}

static pmix_status_t
post_connect (gboolean leaves, const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[], size_t n_info,
              pmix_op_cbfunc_t callback, void *callback_data)
{
  Upcall *upcall = upcall_new (callback_data);
  gint64 timeout = 0;

  for (size_t i = 0; i < n_info; i++)
    if (g_str_equal (info[i].key, PMIX_TIMEOUT) || g_str_equal (info[i].key, DVMD_PMIX_MEETING_LIMIT))
      {
        read_number (&info[i], &timeout);
        upcall->has_a_timer = timeout > 0 && g_str_equal (info[i].key, PMIX_TIMEOUT);
      }
  upcall->connects = TRUE;
  upcall->time = g_get_monotonic_time ();
  upcall->leaves = leaves;
  upcall->procs = g_memdup2 (procs, n_procs * sizeof *procs);
  upcall->n_procs = (guint)n_procs;
  upcall->timeout = (guint)CLAMP (timeout, 0, G_MAXUINT32);
  upcall->call.answer = answer_done;
  upcall->call.callback.done = callback;
  dvmd_pmix_upcall_post_item (&upcall->item);
  return PMIX_SUCCESS;
}

pmix_status_t
dvmd_pmix_upcall_connect (const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[], size_t n_info,
                          pmix_op_cbfunc_t callback, void *callback_data)
{
  return post_connect (FALSE, procs, n_procs, info, n_info, callback, callback_data);
}

pmix_status_t
dvmd_pmix_upcall_disconnect (const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[], size_t n_info,
                             pmix_op_cbfunc_t callback, void *callback_data)
{
  return post_connect (TRUE, procs, n_procs, info, n_info, callback, callback_data);
}
