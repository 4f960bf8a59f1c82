/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMIx_Log: what clients want written to their job's output or to the log of the DVM is captured and checked.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-log.h"

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-supported.h"
#include "dvmd-pmix-upcall.h"

#include <syslog.h>

#define LOG_KEYS "pmix.log."

/* The options that all texts of a request have in common. */
typedef struct
{
  gboolean once;
  gboolean tagged;
  gboolean timed;
  gint64 time; /* s since 1970 */
  guint32 priority;
} Directives;

static const struct
{
  const char *key;
  DvmdLogChannel channel;
  const char *tag;
} channels[] = {
  { PMIX_LOG_STDOUT, DVMD_LOG_STDOUT, "stdout" },
  { PMIX_LOG_STDERR, DVMD_LOG_STDERR, "stderr" },
  { PMIX_LOG_SYSLOG, DVMD_LOG_SYSTEM, "syslog" },
  { PMIX_LOG_GLOBAL_SYSLOG, DVMD_LOG_SYSTEM, "syslog" },
};

void
dvmd_pmix_list_log_keys (GPtrArray *keys)
{
  static const char *const directives[] = { PMIX_LOG_ONCE, PMIX_LOG_TAG_OUTPUT, PMIX_LOG_TIMESTAMP_OUTPUT,
                                            PMIX_LOG_TIMESTAMP, PMIX_LOG_SYSLOG_PRI };

  dvmd_pmix_add_keys (keys, channels, G_N_ELEMENTS (channels), sizeof channels[0]);
  dvmd_pmix_add_keys (keys, directives, G_N_ELEMENTS (directives), sizeof directives[0]);
}

static gboolean
refuse_key (const pmix_info_t *info, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
               "%s cannot be done here: texts go to stdout and stderr of the job, and to the log of the DVM (syslog, "
               "global syslog)",
               info->key);
  return FALSE;
}

static gboolean
take_flag (gboolean *flag, const pmix_info_t *info, GError **error)
{
  *flag = PMIX_INFO_TRUE (info);
  return dvmd_pmix_check_flag (info, error);
}

static gboolean
take_time (gint64 *time, const pmix_info_t *info, GError **error)
{
  if (info->value.type != PMIX_TIME)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is not a time", info->key);
      return FALSE;
    }
  *time = info->value.data.time;
  return TRUE;
}

static gboolean
take_directive (Directives *self, const pmix_info_t *info, GError **error)
{
  if (PMIX_CHECK_KEY (info, PMIX_LOG_ONCE))
    return take_flag (&self->once, info, error);
  if (PMIX_CHECK_KEY (info, PMIX_LOG_TAG_OUTPUT))
    return take_flag (&self->tagged, info, error);
  if (PMIX_CHECK_KEY (info, PMIX_LOG_TIMESTAMP_OUTPUT))
    return take_flag (&self->timed, info, error);
  if (PMIX_CHECK_KEY (info, PMIX_LOG_TIMESTAMP))
    return take_time (&self->time, info, error);
  if (PMIX_CHECK_KEY (info, PMIX_LOG_SYSLOG_PRI))
    return dvmd_pmix_read_number (info, &self->priority, error);
  if ((PMIX_CHECK_KEY (info, PMIX_LOG_XML_OUTPUT) && PMIX_INFO_TRUE (info)) || (info->flags & PMIX_INFO_REQD) != 0)
    return refuse_key (info, error);
  return TRUE;
}

static char *
mark_text (const Directives *directives, const char *tag, const char *text)
{
  g_autoptr (GDateTime) time = directives->timed ? g_date_time_new_from_unix_local (directives->time) : NULL;
  g_autofree char *stamp = time != NULL ? g_date_time_format (time, "%Y-%m-%dT%H:%M:%S%:z ") : g_strdup ("");

  return directives->tagged ? g_strdup_printf ("%s[%s] %s", stamp, tag, text) : g_strconcat (stamp, text, NULL);
}

/* FALSE: there is no such channel here; so it is with the error set, if the text cannot be read. */
static gboolean
take_text (GVariantBuilder *texts, const Directives *directives, const pmix_info_t *info, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (channels); i++)
    if (PMIX_CHECK_KEY (info, channels[i].key))
      {
        const char *text = dvmd_pmix_read_text (info, error);
        g_autofree char *marked = text != NULL ? mark_text (directives, channels[i].tag, text) : NULL;

        if (marked != NULL)
          g_variant_builder_add (texts, "(uus)", (guint32)channels[i].channel, directives->priority, marked);
        return marked != NULL;
      }
  return FALSE;
}

/*
 * (nullable): floating, with the error set. Nothing is written unless all of it can be; with PMIX_LOG_ONCE the first
 * text that can be is all there is.
 */
static GVariant *
read_log (const DvmdPmixUpcall *upcall, GError **error)
{
  g_auto (GVariantBuilder) texts = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(uus)"));
  Directives directives = { .time = g_get_real_time () / G_USEC_PER_SEC, .priority = LOG_ERR };
  gboolean any = FALSE;

  for (gsize i = 0; i < upcall->n_directives; i++)
    if (!take_directive (&directives, &upcall->directives[i], error))
      return NULL;
  for (gsize i = 0; i < upcall->n_data && !(any && directives.once); i++)
    {
      GError *wrong = NULL;

      if (take_text (&texts, &directives, &upcall->data[i], &wrong))
        any = TRUE;
      else if (wrong != NULL)
        {
          g_propagate_error (error, wrong);
          return NULL;
        }
      else if (!directives.once && !refuse_key (&upcall->data[i], error))
        return NULL;
    }
  if (any)
    return g_variant_new ("(a(uus))", &texts);
  if (upcall->n_data > 0)
    refuse_key (&upcall->data[0], error);
  else
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "There is nothing to log");
  return NULL;
}

/* The library itself logs what it has to say to people. */
static void
tell_own (const DvmdPmixUpcall *upcall)
{
  for (gsize i = 0; i < upcall->n_data; i++)
    {
      const char *text = dvmd_pmix_read_text (&upcall->data[i], NULL);

      if (text != NULL)
        g_message ("libpmix says: %s", text);
    }
  upcall->call.answer (&upcall->call, PMIX_SUCCESS, NULL);
}

static void
run_log (DvmdPmixServer *server, const DvmdPmixUpcall *self)
{
  g_autoptr (GError) error = NULL;

  if (g_str_equal (self->proc.nspace, dvmd_pmix_upcall_get_nspace ()))
    tell_own (self);
  else
    {
      GVariant *request = read_log (self, &error);

      dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank,
                     "log of %" G_GSIZE_FORMAT " texts", self->n_data);
      dvmd_pmix_server_call (server, &self->call, DVMD_CALL_LOG, &self->proc, request, error);
    }
}

/* On PMIx's thread. */
void
dvmd_pmix_upcall_log (const pmix_proc_t *proc, const pmix_info_t data[], size_t n_data, const pmix_info_t directives[],
                      size_t n_directives, pmix_op_cbfunc_t callback, void *callback_data)
{
  dvmd_pmix_upcall_post (&(const DvmdPmixUpcall){
      .run = run_log,
      .proc = *proc,
      .data = data,
      .n_data = n_data,
      .directives = directives,
      .n_directives = n_directives,
      .call.callback.done = callback,
      .call.callback_data = callback_data,
  });
}
