/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Texts that processes want logged go to the output of their job, or to syslog and the log of the DVM.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-services.h"

#include <syslog.h>

#include "dvmd-controller-streams.h"
#include "dvmd-syslog.h"

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

/* The journal has it with its fields. Else the syslog gets it, which of the two there is. */
static gboolean
needs_syslog (guint32 priority)
{
  return !dvmd_log_is_in_journal (G_LOG_DOMAIN, find_level (priority));
}

static gboolean
write_system (DvmdController *controller, const DvmdCall *call, guint32 priority, const char *text, GError **error)
{
  const DvmdLogSubject subject = {
    .job = call->nspace,
    .rank = &call->rank,
    .node = dvmd_node_pool_get_name (dvmd_core_get_nodes (dvmd_controller_get_core (controller)), call->agent),
  };

  if (needs_syslog (priority) && !dvmd_syslog_write (priority, &subject, text, error))
    return FALSE;
  dvmd_log_about (G_LOG_DOMAIN, find_level (priority), &subject, "says: %s", text);
  return TRUE;
}

/* (nullable): NULL with an error */
static DvmdJobStreams *
require_streams (DvmdController *controller, const DvmdCall *call, guint32 channel, GError **error)
{
  DvmdJobStreams *streams = channel < DVMD_LOG_SYSTEM ? find_streams (controller, call) : NULL;

  if (streams == NULL)
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "it has no output that goes through the DVM");
  return streams;
}

/* Whether there is somebody who would get the text. */
static gboolean
check_text (DvmdController *controller, const DvmdCall *call, guint32 channel, guint32 priority, const char *text,
            GError **error)
{
  if (channel == DVMD_LOG_SYSTEM)
    return !needs_syslog (priority) || dvmd_syslog_is_there (error);
  return require_streams (controller, call, channel, error) != NULL;
}

static gboolean
write_text (DvmdController *controller, const DvmdCall *call, guint32 channel, guint32 priority, const char *text,
            GError **error)
{
  DvmdJobStreams *streams;

  if (channel == DVMD_LOG_SYSTEM)
    return write_system (controller, call, priority, text, error);
  streams = require_streams (controller, call, channel, error);
  if (streams == NULL)
    return FALSE;
  dvmd_job_streams_insert (streams, call->rank, channel == DVMD_LOG_STDOUT ? DVMD_STREAM_STDOUT : DVMD_STREAM_STDERR,
                           text);
  return TRUE;
}

typedef gboolean (*Act) (DvmdController *controller, const DvmdCall *call, guint32 channel, guint32 priority,
                         const char *text, GError **error);

/* FALSE: act failed with one of them, and the rest was left. */
static gboolean
act_on_all (DvmdController *controller, const DvmdCall *call, GVariant *texts, Act act, GError **error)
{
  GVariantIter iter;
  const char *text;
  guint32 priority;
  guint32 channel;

  g_variant_iter_init (&iter, texts);
  while (g_variant_iter_next (&iter, "(uu&s)", &channel, &priority, &text))
    if (!act (controller, call, channel, priority, text, error))
      return FALSE;
  return TRUE;
}

/* Nothing is written where a channel is missing. */
static gboolean
write_all (DvmdController *controller, const DvmdCall *call, GVariant *texts, GError **error)
{
  return act_on_all (controller, call, texts, check_text, error)
         && act_on_all (controller, call, texts, write_text, error);
}

/* The first one that somebody gets. error: of the last one */
static gboolean
write_first (DvmdController *controller, const DvmdCall *call, GVariant *texts, GError **error)
{
  GVariantIter iter;
  const char *text;
  guint32 priority;
  guint32 channel;

  g_variant_iter_init (&iter, texts);
  while (g_variant_iter_next (&iter, "(uu&s)", &channel, &priority, &text))
    {
      g_clear_error (error);
      if (write_text (controller, call, channel, priority, text, error))
        return TRUE;
    }
  return FALSE;
}

static void
handle_log (gpointer service, DvmdCall *call, GVariant *request)
{
  DvmdController *controller = service;
  g_autoptr (GVariant) texts = g_variant_get_child_value (request, 0);
  g_autoptr (GError) error = NULL;
  gboolean once;
  gboolean written;

  g_variant_get_child (request, 1, "b", &once);
  if (g_variant_n_children (texts) == 0)
    {
      dvmd_controller_answer (controller, call->id, DVMD_PMIX_ERR_BAD_PARAM, NULL);
      return;
    }
  written = once ? write_first (controller, call, texts, &error) : write_all (controller, call, texts, &error);
  if (!written)
    g_message ("%s.%u wants to log something: %s", call->nspace, call->rank, error->message);
  dvmd_controller_answer (controller, call->id, written ? DVMD_PMIX_SUCCESS : dvmd_pmix_status_from_error (error),
                          written ? g_variant_new ("()") : NULL);
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
