/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The interface of a node's PMIx server, as its agent sees it.
 */

#include "config.h"

#include "dvmd-pmix.h"

G_DEFINE_INTERFACE (DvmdPmix, dvmd_pmix, G_TYPE_OBJECT)

static void
dvmd_pmix_default_init (DvmdPmixInterface *iface)
{
}

char *
dvmd_pmix_settings_build_tools_path (const DvmdPmixSettings *self)
{
  g_autofree char *name = g_strdup_printf ("pmix.%s.tool", self->node_name);

  if (self->pmix_dir != NULL)
    return g_build_filename (self->pmix_dir, "address", NULL);
  return g_build_filename (self->runtime_dir, "pmix", name, NULL);
}

void
dvmd_pmix_settings_clear (DvmdPmixSettings *self)
{
  g_clear_pointer (&self->runtime_dir, g_free);
  g_clear_pointer (&self->pmix_dir, g_free);
  g_clear_pointer (&self->shm_dir, g_free);
  g_clear_pointer (&self->tool_prefix, g_free);
  g_clear_pointer (&self->nspace, g_free);
  g_clear_pointer (&self->node_name, g_free);
  g_clear_pointer (&self->topology, dvmd_topology_unref);
  g_clear_pointer (&self->gds, g_free);
}

gboolean
dvmd_pmix_start (DvmdPmix *self, const DvmdPmixSettings *settings, DvmdPmixHost *host, GError **error)
{
  return DVMD_PMIX_GET_IFACE (self)->start (self, settings, host, error);
}

gboolean
dvmd_pmix_stop (DvmdPmix *self, DvmdPmixDone func, gpointer user_data)
{
  return DVMD_PMIX_GET_IFACE (self)->stop (self, func, user_data);
}

void
dvmd_pmix_register_job_async (DvmdPmix *self, DvmdPmixJob *job, GAsyncReadyCallback callback, gpointer user_data)
{
  DVMD_PMIX_GET_IFACE (self)->register_job_async (self, job, callback, user_data);
}

gboolean
dvmd_pmix_register_job_finish (DvmdPmix *self, GAsyncResult *result, GError **error)
{
  return DVMD_PMIX_GET_IFACE (self)->register_job_finish (self, result, error);
}

char **
dvmd_pmix_dup_environment (DvmdPmix *self, const char *nspace, guint32 rank, GError **error)
{
  return DVMD_PMIX_GET_IFACE (self)->dup_environment (self, nspace, rank, error);
}

char **
dvmd_pmix_dup_default_environment (DvmdPmix *self, const char *nspace, guint n_pus, GError **error)
{
  return DVMD_PMIX_GET_IFACE (self)->dup_default_environment (self, nspace, n_pus, error);
}

void
dvmd_pmix_deregister_client (DvmdPmix *self, const char *nspace, guint32 rank)
{
  DVMD_PMIX_GET_IFACE (self)->deregister_client (self, nspace, rank);
}

void
dvmd_pmix_take_back_async (DvmdPmix *self, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                           gpointer user_data)
{
  DVMD_PMIX_GET_IFACE (self)->take_back_async (self, nspace, rank, callback, user_data);
}

gboolean
dvmd_pmix_take_back_finish (DvmdPmix *self, GAsyncResult *result, GError **error)
{
  return DVMD_PMIX_GET_IFACE (self)->take_back_finish (self, result, error);
}

void
dvmd_pmix_deregister_job_async (DvmdPmix *self, const char *nspace, GAsyncReadyCallback callback, gpointer user_data)
{
  DVMD_PMIX_GET_IFACE (self)->deregister_job_async (self, nspace, callback, user_data);
}

gboolean
dvmd_pmix_deregister_job_finish (DvmdPmix *self, GAsyncResult *result, GError **error)
{
  return DVMD_PMIX_GET_IFACE (self)->deregister_job_finish (self, result, error);
}

void
dvmd_pmix_abandon_job (DvmdPmix *self, const char *nspace)
{
  DVMD_PMIX_GET_IFACE (self)->abandon_job (self, nspace);
}

gboolean
dvmd_pmix_catch_up (DvmdPmix *self, const char *nspace, DvmdPmixDone func, gpointer user_data)
{
  /* A server that calls the host at once has nothing to catch up with. */
  return DVMD_PMIX_GET_IFACE (self)->catch_up == NULL
         || DVMD_PMIX_GET_IFACE (self)->catch_up (self, nspace, func, user_data);
}

void
dvmd_pmix_ping_async (DvmdPmix *self, GAsyncReadyCallback callback, gpointer user_data)
{
  DVMD_PMIX_GET_IFACE (self)->ping_async (self, callback, user_data);
}

void
dvmd_pmix_complete_fence (DvmdPmix *self, guint64 token, int status, GBytes *data)
{
  DVMD_PMIX_GET_IFACE (self)->complete_fence (self, token, status, data);
}

void
dvmd_pmix_complete_direct_modex (DvmdPmix *self, guint64 token, int status, GBytes *data)
{
  DVMD_PMIX_GET_IFACE (self)->complete_direct_modex (self, token, status, data);
}

void
dvmd_pmix_fetch_modex_async (DvmdPmix *self, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                             gpointer user_data)
{
  DVMD_PMIX_GET_IFACE (self)->fetch_modex_async (self, nspace, rank, callback, user_data);
}

GBytes *
dvmd_pmix_fetch_modex_finish (DvmdPmix *self, GAsyncResult *result, GError **error)
{
  return DVMD_PMIX_GET_IFACE (self)->fetch_modex_finish (self, result, error);
}

void
dvmd_pmix_complete_call (DvmdPmix *self, guint64 token, int status, GVariant *answer)
{
  g_autoptr (GVariant) owned = answer != NULL ? g_variant_ref_sink (answer) : NULL;

  DVMD_PMIX_GET_IFACE (self)->complete_call (self, token, status, owned);
}

void
dvmd_pmix_complete_connect (DvmdPmix *self, guint64 token, int status)
{
  DVMD_PMIX_GET_IFACE (self)->complete_connect (self, token, status);
}

void
dvmd_pmix_deliver_output (DvmdPmix *self, guint server, const DvmdPmixProc *source, guint stream, GBytes *bytes)
{
  DVMD_PMIX_GET_IFACE (self)->deliver_output (self, server, source, stream, bytes);
}

void
dvmd_pmix_notify_event (DvmdPmix *self, int status, const DvmdPmixProc *source, const DvmdPmixProc *targets,
                        guint n_targets, GVariant *details)
{
  DVMD_PMIX_GET_IFACE (self)->notify_event (self, status, source, targets, n_targets, details);
}
