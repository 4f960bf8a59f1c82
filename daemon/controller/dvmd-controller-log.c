/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Texts that processes want logged go to the output of their job or to the log of the DVM.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-services.h"

#include <syslog.h>

#include "dvmd-controller-streams.h"
#include "dvmd-log.h"

/* A process cannot make warnings of ours. */
static GLogLevelFlags
find_level (guint32 priority)
{
  if (priority >= LOG_DEBUG)
    return G_LOG_LEVEL_DEBUG;
  return priority == LOG_INFO ? G_LOG_LEVEL_INFO : G_LOG_LEVEL_MESSAGE;
}

/* (nullable): a tool, which has an output of its own, or a job whose output has ended */
static DvmdJobStreams *
find_streams (DvmdController *controller, const DvmdCall *call)
{
  DvmdJob *job = call->pid != 0 ? dvmd_core_find_job (dvmd_controller_get_core (controller), call->nspace) : NULL;

  return job != NULL ? dvmd_controller_get_streams (controller, dvmd_job_get_id (job)) : NULL;
}

static int
write_text (DvmdController *controller, const DvmdCall *call, guint32 channel, guint32 priority, const char *text)
{
  DvmdJobStreams *streams;

  if (channel == DVMD_LOG_SYSTEM)
    {
      const DvmdLogSubject subject = {
        .job = call->nspace,
        .rank = &call->rank,
        .node = dvmd_node_pool_get_name (dvmd_core_get_nodes (dvmd_controller_get_core (controller)), call->agent),
      };

      dvmd_log_about (G_LOG_DOMAIN, find_level (priority), &subject, "says: %s", text);
      return DVMD_PMIX_SUCCESS;
    }
  streams = channel < DVMD_LOG_SYSTEM ? find_streams (controller, call) : NULL;
  if (streams == NULL)
    return DVMD_PMIX_ERR_NOT_SUPPORTED;
  dvmd_job_streams_insert (streams, call->rank, channel == DVMD_LOG_STDOUT ? DVMD_STREAM_STDOUT : DVMD_STREAM_STDERR,
                           text);
  return DVMD_PMIX_SUCCESS;
}

static void
handle_log (gpointer service, DvmdCall *call, GVariant *request)
{
  DvmdController *controller = service;
  g_autoptr (GVariant) texts = g_variant_get_child_value (request, 0);
  int status = DVMD_PMIX_SUCCESS;
  GVariantIter iter;
  const char *text;
  guint32 priority;
  guint32 channel;

  g_variant_iter_init (&iter, texts);
  while (status == DVMD_PMIX_SUCCESS && g_variant_iter_next (&iter, "(uu&s)", &channel, &priority, &text))
    status = write_text (controller, call, channel, priority, text);
  dvmd_controller_answer (controller, call->id, status, status == DVMD_PMIX_SUCCESS ? g_variant_new ("()") : NULL);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  return controller;
}

static void
nothing_to_free (gpointer service)
{
}

static const DvmdCallHandler calls[] = { { DVMD_CALL_LOG, handle_log }, { 0 } };

const DvmdService dvmd_log_service = {
  .name = "log",
  .create = create,
  .free = nothing_to_free,
  .calls = calls,
};
