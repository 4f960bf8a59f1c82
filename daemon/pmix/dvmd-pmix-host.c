/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The interface by which a PMIx server asks the agent that owns it.
 */

#include "config.h"

#include "dvmd-pmix-host.h"

G_DEFINE_INTERFACE (DvmdPmixHost, dvmd_pmix_host, G_TYPE_OBJECT)

static void
dvmd_pmix_host_default_init (DvmdPmixHostInterface *iface)
{
}

void
dvmd_pmix_host_connected (DvmdPmixHost *self, const char *nspace, guint32 rank)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->connected != NULL)
    iface->connected (self, nspace, rank);
}

void
dvmd_pmix_host_finalized (DvmdPmixHost *self, const char *nspace, guint32 rank)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->finalized != NULL)
    iface->finalized (self, nspace, rank);
}

void
dvmd_pmix_host_ready_for_debug (DvmdPmixHost *self, const char *nspace, guint32 rank)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->ready_for_debug != NULL)
    iface->ready_for_debug (self, nspace, rank);
}

void
dvmd_pmix_host_lost (DvmdPmixHost *self, const char *nspace, guint32 rank)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->lost != NULL)
    iface->lost (self, nspace, rank);
}

void
dvmd_pmix_host_abort (DvmdPmixHost *self, const char *nspace, guint32 rank, int status, const char *message,
                      const DvmdPmixProc *targets, guint n_targets)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->abort != NULL)
    iface->abort (self, nspace, rank, status, message, targets, n_targets);
}

gboolean
dvmd_pmix_host_fence (DvmdPmixHost *self, guint64 token, const DvmdPmixProc *participants, guint n_participants,
                      GBytes *data, gboolean collect, guint timeout)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->fence == NULL)
    return FALSE;
  iface->fence (self, token, participants, n_participants, data, collect, timeout);
  return TRUE;
}

gboolean
dvmd_pmix_host_direct_modex (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank,
                             const char *required_key, guint timeout)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->direct_modex == NULL)
    return FALSE;
  iface->direct_modex (self, token, nspace, rank, required_key, timeout);
  return TRUE;
}

char *
dvmd_pmix_host_tool_connected (DvmdPmixHost *self, const char *nspace, guint32 *rank)
{
  return DVMD_PMIX_HOST_GET_IFACE (self)->tool_connected (self, nspace, rank);
}

void
dvmd_pmix_host_tool_named (DvmdPmixHost *self, const char *nspace, guint32 rank)
{
  DVMD_PMIX_HOST_GET_IFACE (self)->tool_named (self, nspace, rank);
}

void
dvmd_pmix_host_tools_let_in (DvmdPmixHost *self, const char *address)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->tools_let_in != NULL)
    iface->tools_let_in (self, address);
}

void
dvmd_pmix_host_server_lost (DvmdPmixHost *self, const char *nspace, const char *reason, gboolean has_clients)
{
  DVMD_PMIX_HOST_GET_IFACE (self)->server_lost (self, nspace, reason, has_clients);
}

gboolean
dvmd_pmix_host_call (DvmdPmixHost *self, guint64 token, DvmdCallKind kind, const char *nspace, guint32 rank,
                     GVariant *request)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->call == NULL)
    return FALSE;
  iface->call (self, token, kind, nspace, rank, request);
  return TRUE;
}

void
dvmd_pmix_host_output_taken (DvmdPmixHost *self, guint server, guint n_pieces)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->output_taken != NULL)
    iface->output_taken (self, server, n_pieces);
}

void
dvmd_pmix_host_output_unwanted (DvmdPmixHost *self, guint server, gboolean ended)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->output_unwanted != NULL)
    iface->output_unwanted (self, server, ended);
}

gboolean
dvmd_pmix_host_connect (DvmdPmixHost *self, guint64 token, gboolean leave, const DvmdPmixProc *participants,
                        guint n_participants, guint timeout)
{
  DvmdPmixHostInterface *iface = DVMD_PMIX_HOST_GET_IFACE (self);

  if (iface->connect == NULL)
    return FALSE;
  iface->connect (self, token, leave, participants, n_participants, timeout);
  return TRUE;
}
