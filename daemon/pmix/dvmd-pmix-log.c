/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMIx_Log: what clients want written to their job's output or to syslog is captured and checked. The controller writes
 * it, but for what is to be in the syslog of this node.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-log.h"

#include "dvm.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-supported.h"
#include "dvmd-pmix-upcall.h"
#include "dvmd-syslog.h"

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

typedef struct
{
  const char *key;
  DvmdLogChannel channel; /* DVMD_N_LOG_CHANNELS: the syslog of this node alone */
  const char *tag;
  gboolean of_node; /* that will do, too, where the other one is not */
} Channel;

static const Channel channels[] = {
  { PMIX_LOG_STDOUT, DVMD_LOG_STDOUT, "stdout", FALSE },
  { PMIX_LOG_STDERR, DVMD_LOG_STDERR, "stderr", FALSE },
  { PMIX_LOG_SYSLOG, DVMD_LOG_SYSTEM, "syslog", TRUE },
  { PMIX_LOG_GLOBAL_SYSLOG, DVMD_LOG_SYSTEM, "syslog", FALSE },
  { PMIX_LOG_LOCAL_SYSLOG, DVMD_N_LOG_CHANNELS, "syslog", TRUE },
};

/* A request, by the one who is to write it. */
typedef struct
{
  GVariantBuilder texts; /* for the controller: channel, priority, text */
  GVariantBuilder own;   /* for the syslog of this node: priority, text */
  gsize n_texts;
  gsize n_own;
  gboolean one; /* the first one that somebody gets is all there is */
} Sorted;

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
  g_set_error (
      error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
      "%s cannot be done here: texts go to stdout and stderr of the job, and to syslog (also local and global)",
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
take_priority (guint32 *priority, const pmix_info_t *info, GError **error)
{
  if (!dvmd_pmix_read_number (info, priority, error))
    return FALSE;
  if (*priority <= LOG_DEBUG)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s %u is no priority of syslog: they are 0 to 7", info->key,
               *priority);
  return FALSE;
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
    return take_priority (&self->priority, info, error);
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

static const Channel *
find_channel (const pmix_info_t *info)
{
  for (gsize i = 0; i < G_N_ELEMENTS (channels); i++)
    if (PMIX_CHECK_KEY (info, channels[i].key))
      return &channels[i];
  return NULL;
}

static gboolean
take_text (Sorted *self, const Directives *directives, const pmix_info_t *info, const Channel *channel, GError **error)
{
  const char *text = dvmd_pmix_read_text (info, error);
  g_autofree char *marked = text != NULL ? mark_text (directives, channel->tag, text) : NULL;

  if (marked == NULL)
    return FALSE;
  if (channel->channel < DVMD_N_LOG_CHANNELS)
    {
      g_variant_builder_add (&self->texts, "(uus)", (guint32)channel->channel, directives->priority, marked);
      self->n_texts++;
    }
  if (channel->of_node && (self->one || channel->channel == DVMD_N_LOG_CHANNELS))
    {
      g_variant_builder_add (&self->own, "(us)", directives->priority, marked);
      self->n_own++;
    }
  return TRUE;
}

/* With PMIX_LOG_ONCE channels that are not here are passed over; one that is on this node ends the list. */
static gboolean
take_texts (Sorted *self, const Directives *directives, const DvmdPmixUpcall *upcall, GError **error)
{
  for (gsize i = 0; i < upcall->n_data; i++)
    {
      const Channel *channel = find_channel (&upcall->data[i]);

      if (channel == NULL && directives->once)
        continue;
      if (channel == NULL)
        return refuse_key (&upcall->data[i], error);
      if (!take_text (self, directives, &upcall->data[i], channel, error))
        return FALSE;
      if (directives->once && channel->channel == DVMD_N_LOG_CHANNELS && dvmd_syslog_is_there (NULL))
        break;
    }
  if (self->n_texts + self->n_own > 0)
    return TRUE;
  if (upcall->n_data > 0)
    return refuse_key (&upcall->data[0], error);
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "There is nothing to log");
  return FALSE;
}

/* Nothing is written unless all of it can be. FALSE with the error set */
static gboolean
read_log (const DvmdPmixUpcall *upcall, Sorted *sorted, GError **error)
{
  Directives directives = { .time = g_get_real_time () / G_USEC_PER_SEC, .priority = LOG_ERR };

  for (gsize i = 0; i < upcall->n_directives; i++)
    if (!take_directive (&directives, &upcall->directives[i], error))
      return FALSE;
  sorted->one = directives.once || upcall->n_data == 1;
  if (!take_texts (sorted, &directives, upcall, error))
    return FALSE;
  return sorted->one || sorted->n_own == 0 || dvmd_syslog_is_there (error);
}

/* All of them, or the first one that can be written. Returns a status. */
static int
write_own (GVariant *own)
{
  g_autoptr (GVariant) texts = g_variant_get_child_value (own, 2);
  g_autoptr (GError) error = NULL;
  DvmdLogSubject subject = { 0 };
  const char *text;
  guint32 priority;
  GVariantIter iter;
  guint32 rank;
  gboolean one;

  g_variant_get (own, "(&su@a(us)b)", &subject.job, &rank, NULL, &one);
  subject.rank = &rank;
  g_variant_iter_init (&iter, texts);
  while (error == NULL && g_variant_iter_next (&iter, "(u&s)", &priority, &text))
    if (dvmd_syslog_write (priority, &subject, text, &error) && one)
      break;
  if (error == NULL)
    return PMIX_SUCCESS;
  g_message ("%s.%u wants to log something: %s", subject.job, rank, error->message);
  return dvmd_pmix_status_from_error (error);
}

/* The texts for this node come after the rest, or in place of it. */
static void
answer_log (const DvmdPmixCall *call, int status, GVariant *answer)
{
  gboolean one = FALSE;

  if (call->own_log != NULL)
    g_variant_get_child (call->own_log, 3, "b", &one);
  if (call->own_log != NULL && (one ? status == PMIX_ERR_NOT_SUPPORTED : status == PMIX_SUCCESS))
    status = write_own (call->own_log);
  call->callback.done (status, call->callback_data);
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
  g_autoptr (GVariant) texts = NULL;
  g_autoptr (GVariant) own = NULL;
  DvmdPmixCall call = self->call;
  Sorted sorted = { 0 };
  gboolean read;

  if (g_str_equal (self->proc.nspace, dvmd_pmix_upcall_get_nspace ()))
    {
      tell_own (self);
      return;
    }
  if (dvmd_pmix_server_refuse_stranger (server, &self->proc, &call))
    return;
  g_variant_builder_init (&sorted.texts, G_VARIANT_TYPE ("a(uus)"));
  g_variant_builder_init (&sorted.own, G_VARIANT_TYPE ("a(us)"));
  read = read_log (self, &sorted, &error);
  texts = g_variant_ref_sink (g_variant_new ("(@a(uus)b)", g_variant_builder_end (&sorted.texts), sorted.one));
  own = g_variant_ref_sink (g_variant_new ("(su@a(us)b)", self->proc.nspace, self->proc.rank,
                                           g_variant_builder_end (&sorted.own), sorted.one));
  call.answer = answer_log;
  call.own_log = sorted.n_own > 0 ? own : NULL;
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank,
                 "log of %" G_GSIZE_FORMAT " texts", self->n_data);
  if (read && sorted.n_texts == 0)
    call.callback.done (write_own (own), call.callback_data);
  else
    dvmd_pmix_server_call (server, &call, DVMD_CALL_LOG, &self->proc, read ? texts : NULL, error);
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
