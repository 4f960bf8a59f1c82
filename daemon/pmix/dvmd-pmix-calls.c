/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calls of clients and tools are kept here until the agent has answered them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-calls.h"

#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-messages.h"
#include "dvmd-pmix-private.h"
#include "dvmd-pmix-tools.h"

#define LOOK_INTERVAL (100 * G_TIME_SPAN_MILLISECOND)

static void
call_free (gpointer data)
{
  DvmdPmixCall *self = data;

  g_free (self->nspace);
  g_clear_pointer (&self->own_log, g_variant_unref);
  g_free (self);
}

GHashTable *
dvmd_pmix_calls_new (void)
{
  return g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, call_free);
}

guint64
dvmd_pmix_server_add_call (DvmdPmixServer *self, const DvmdPmixCall *call)
{
  DvmdPmixCall *copy = g_memdup2 (call, sizeof *call);

  copy->nspace = g_strdup (call->nspace);
  copy->own_log = call->own_log != NULL ? g_variant_ref (call->own_log) : NULL;
  copy->token = ++self->last_token;
  g_hash_table_insert (self->calls, &copy->token, copy);
  return copy->token;
}

gboolean
dvmd_pmix_server_refuse_stranger (DvmdPmixServer *self, const pmix_proc_t *proc, const DvmdPmixCall *call)
{
  if (!dvmd_pmix_server_is_among_strangers (self, proc))
    return FALSE;
  call->answer (call, PMIX_ERR_NO_PERMISSIONS, NULL);
  dvmd_pmix_server_expel_strangers (self);
  return TRUE;
}

/* The kernel takes 10 µs for each client to say whose its connection is. */
gboolean
dvmd_pmix_server_refuse_stranger_at_times (DvmdPmixServer *self, const pmix_proc_t *proc, const DvmdPmixCall *call)
{
  if (self->no_strangers != 0 && g_get_monotonic_time () - self->no_strangers < LOOK_INTERVAL)
    return FALSE;
  if (dvmd_pmix_server_refuse_stranger (self, proc, call))
    return TRUE;
  self->no_strangers = g_get_monotonic_time ();
  return FALSE;
}

void
dvmd_pmix_server_call (DvmdPmixServer *self, const DvmdPmixCall *call, DvmdCallKind kind, const pmix_proc_t *proc,
                       GVariant *request, const GError *error)
{
  g_autoptr (GVariant) owned = request != NULL ? g_variant_ref_sink (request) : NULL;
  guint64 token = dvmd_pmix_server_add_call (self, call);

  if (owned == NULL)
    {
      g_message ("%s.%u wants to %s: %s", proc->nspace, proc->rank, dvmd_call_kind_get_type (kind)->name,
                 error->message);
      dvmd_pmix_server_complete_call (DVMD_PMIX (self), token, dvmd_pmix_status_from_error (error), NULL);
    }
  else if (g_variant_get_size (owned) > DVMD_PMIX_DATA_LIMIT)
    {
      g_message ("%s.%u wants to %s: %" G_GSIZE_FORMAT " bytes are more than a message has room for", proc->nspace,
                 proc->rank, dvmd_call_kind_get_type (kind)->name, g_variant_get_size (owned));
      dvmd_pmix_server_complete_call (DVMD_PMIX (self), token, PMIX_ERR_OUT_OF_RESOURCE, NULL);
    }
  else if (!dvmd_pmix_host_call (self->host, token, kind, proc->nspace, proc->rank, owned))
    dvmd_pmix_server_complete_call (DVMD_PMIX (self), token, PMIX_ERR_NOT_SUPPORTED, NULL);
}

void
dvmd_pmix_server_complete_call (DvmdPmix *pmix, guint64 token, int status, GVariant *answer)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  DvmdPmixCall *call = g_hash_table_lookup (self->calls, &token);

  if (call == NULL)
    {
      g_debug ("The answer to call %" G_GUINT64_FORMAT " comes too late", token);
      return;
    }
  call->answer (call, status, status == PMIX_SUCCESS ? answer : NULL);
  g_hash_table_remove (self->calls, &token);
}

/*
 * Of a connect with a time limit the library itself tells its clients that it is over, and then bears no answer any
 * more; it has seen the first of them come before the agent has heard of any.
 */
static gboolean
is_over (const DvmdPmixCall *call)
{
  return call->end > 0 && g_get_monotonic_time () >= call->end;
}

void
dvmd_pmix_server_complete_connect (DvmdPmix *pmix, guint64 token, int status)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  const DvmdPmixCall *call = g_hash_table_lookup (self->calls, &token);

  if (call != NULL && (is_over (call) || (call->end > 0 && status == PMIX_ERR_TIMEOUT)))
    g_hash_table_remove (self->calls, &token);
  else
    dvmd_pmix_server_complete_call (pmix, token, status, NULL);
}

void
dvmd_pmix_server_fail_calls (DvmdPmixServer *self, const char *nspace)
{
  g_autoptr (GList) calls = g_hash_table_get_values (self->calls);

  for (GList *link = calls; link != NULL; link = link->next)
    {
      const DvmdPmixCall *call = link->data;

      if (!is_over (call) && (nspace == NULL || g_strcmp0 (call->nspace, nspace) == 0))
        dvmd_pmix_server_complete_call (DVMD_PMIX (self), call->token, PMIX_ERR_UNREACH, NULL);
    }
}
