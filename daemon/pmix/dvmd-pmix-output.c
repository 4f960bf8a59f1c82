/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Output of jobs for clients and tools that pull it, or have spawned the job: the library hands it over, no faster than
 * they read.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-output.h"

#include "dvm.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-ends.h"
#include "dvmd-pmix-marks.h"
#include "dvmd-pmix-supported.h"
#include "dvmd-pmix-upcall.h"

#include <string.h>

/*
 * The library queues what a client does not read, and tells nobody. The kernel does: while one of the library's
 * connections has this much that its other end has not taken, no output is said to have been handed over, and the jobs
 * that write it have no more credit.
 */
#define MAX_QUEUE (32 * 1024)
/* The connections are looked at when so much has been handed to the library, or so long after the last time. */
#define LOOK_BYTES    (64 * 1024)
#define LOOK_INTERVAL (1 * G_TIME_SPAN_SECOND)
/* Between looks at one that is slow (ms). */
#define SLOW_PAUSE 10
/* One that is slow for so long is told of (µs). */
#define SLOW_LIMIT (5 * G_TIME_SPAN_SECOND)

/* The controller answers at once; the library's thread waits no longer for it (µs). */
#define ANSWER_LIMIT (5 * G_TIME_SPAN_SECOND)

/* Of one request. */
#define MOST_PROCS 65536

#define IOF_KEYS "pmix.iof."

struct _DvmdPmixOutputs
{
  guint port;
  pmix_proc_t own;
  guint n_pulls;   /* that were not refused and have not been deregistered; those of clients that have gone, too */
  guint n_library; /* pieces that the library has not come to */
  guint n_taken;   /* pieces that the host has not been told of */
  gsize n_bytes;   /* that the library has got since the last look */
  gint64 looked;   /* monotonic, µs */
  GSource *timer;  /* (nullable): a client is slow */
  gint64 slow;     /* since when (monotonic, µs); 0: it has been told of */
};

DvmdPmixOutputs *
dvmd_pmix_outputs_new (void)
{
  return g_new0 (DvmdPmixOutputs, 1);
}

void
dvmd_pmix_outputs_start (DvmdPmixOutputs *self, guint port, const char *nspace, guint32 rank)
{
  self->port = port;
  PMIX_LOAD_PROCID (&self->own, nspace, rank);
}

static void
stop_timer (DvmdPmixOutputs *self)
{
  if (self->timer == NULL)
    return;
  g_source_destroy (self->timer);
  g_clear_pointer (&self->timer, g_source_unref);
}

void
dvmd_pmix_outputs_stop (DvmdPmixOutputs *self)
{
  stop_timer (self);
}

void
dvmd_pmix_outputs_free (DvmdPmixOutputs *self)
{
  stop_timer (self);
  g_free (self);
}

/* ---- what has been handed over ---- */

static void
tell_unwanted (DvmdPmixServer *server)
{
  dvmd_pmix_server_get_outputs (server)->n_pulls = 0;
  dvmd_pmix_host_output_unwanted (dvmd_pmix_server_get_host (server), 0, FALSE);
}

/*
 * The library drops the pulls of a client that goes, and says nothing: when nobody is connected, nobody pulls. TRUE: a
 * client is slow.
 */
static gboolean
look (DvmdPmixServer *server)
{
  DvmdPmixOutputs *self = dvmd_pmix_server_get_outputs (server);
  g_autoptr (GArray) ends = dvmd_pmix_ends_list (self->port);
  gboolean connected = FALSE;
  guint queue = 0;

  for (guint i = 0; i < ends->len; i++)
    {
      const DvmdPmixEnd *end = &g_array_index (ends, DvmdPmixEnd, i);

      if (end->inode == 0)
        continue;
      connected = TRUE;
      queue = MAX (queue, end->queue);
    }
  self->n_bytes = 0;
  self->looked = g_get_monotonic_time ();
  if (!connected && self->n_pulls > 0)
    tell_unwanted (server);
  return queue > MAX_QUEUE;
}

static void
tell_taken (DvmdPmixServer *server)
{
  guint n = dvmd_pmix_server_get_outputs (server)->n_taken;

  dvmd_pmix_server_get_outputs (server)->n_taken = 0;
  if (n > 0)
    dvmd_pmix_host_output_taken (dvmd_pmix_server_get_host (server), 0, n);
}

static void
tell_slow (DvmdPmixOutputs *self)
{
  if (self->slow == 0 || self->looked - self->slow < SLOW_LIMIT)
    return;
  self->slow = 0;
  g_message ("A client or tool has not read for %d seconds: jobs whose output it gets wait for it",
             (int)(SLOW_LIMIT / G_TIME_SPAN_SECOND));
}

static gboolean
on_slow (gpointer user_data)
{
  DvmdPmixServer *server = user_data;

  if (look (server))
    {
      tell_slow (dvmd_pmix_server_get_outputs (server));
      return G_SOURCE_CONTINUE;
    }
  stop_timer (dvmd_pmix_server_get_outputs (server));
  tell_taken (server);
  return G_SOURCE_REMOVE;
}

static void
consider (DvmdPmixServer *server)
{
  DvmdPmixOutputs *self = dvmd_pmix_server_get_outputs (server);
  gboolean due = self->n_bytes >= LOOK_BYTES || g_get_monotonic_time () - self->looked >= LOOK_INTERVAL;

  /* More will come in a moment: one message for all. */
  if (self->timer != NULL || (!due && self->n_library > 0))
    return;
  if (!due || !look (server))
    {
      tell_taken (server);
      return;
    }
  self->slow = self->looked;
  self->timer = g_timeout_source_new (SLOW_PAUSE);
  g_source_set_callback (self->timer, on_slow, server, NULL);
  g_source_attach (self->timer, g_main_context_get_thread_default ());
}

/* ---- handing over ---- */

typedef struct
{
  DvmdPmixItem item;
  pmix_proc_t source;
  pmix_byte_object_t data;
  pmix_info_t info; /* the marks, if there are some */
  GBytes *bytes;
} Output;

static void
output_free (DvmdPmixItem *item)
{
  Output *self = (Output *)item;

  g_bytes_unref (self->bytes);
  g_free (self);
}

/* On the main context. */
static void
output_run (DvmdPmixItem *item, gpointer owner)
{
  DvmdPmixServer *server = owner;
  Output *self = (Output *)item;

  dvmd_pmix_server_get_outputs (server)->n_library--;
  dvmd_pmix_server_get_outputs (server)->n_taken++;
  dvmd_pmix_server_get_outputs (server)->n_bytes += self->data.size;
  output_free (item);
  if (dvmd_pmix_server_is_running (server))
    consider (server);
}

/* On PMIx's thread. */
static void
on_delivered (pmix_status_t status, void *data)
{
  dvmd_pmix_upcall_post_item (data);
}

static void
on_cache_emptied (pmix_status_t status, void *data)
{
  output_free (data);
}

static void
deliver (const pmix_proc_t *source, pmix_iof_channel_t channel, guint marks, GBytes *bytes, pmix_op_cbfunc_t callback)
{
  Output *self = g_new0 (Output, 1);

  self->item.run = output_run;
  self->item.free = output_free;
  self->source = *source;
  self->bytes = g_bytes_ref (bytes);
  self->data.bytes = (char *)g_bytes_get_data (bytes, &self->data.size);
  if (marks != 0)
    dvmd_pmix_marks_load (&self->info, marks);
  if (PMIx_server_IOF_deliver (&self->source, channel, &self->data, marks != 0 ? &self->info : NULL, marks != 0 ? 1 : 0,
                               callback, self)
      != PMIX_SUCCESS)
    callback (PMIX_SUCCESS, self);
}

void
dvmd_pmix_server_deliver_output (DvmdPmix *pmix, guint id, const DvmdPmixProc *source, guint stream, GBytes *bytes)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  pmix_proc_t proc;

  if (!dvmd_pmix_server_is_running (self))
    return;
  PMIX_LOAD_PROCID (&proc, source->nspace, source->rank);
  dvmd_pmix_server_get_outputs (self)->n_library++;
  deliver (&proc, (stream & DVMD_PMIX_STDERR) != 0 ? PMIX_FWD_STDERR_CHANNEL : PMIX_FWD_STDOUT_CHANNEL,
           stream & DVMD_PMIX_MARKS, bytes, on_delivered);
}

/* ---- requests ---- */

static GVariant *
refuse_pull (GError **error, int code, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list list;

  va_start (list, format);
  text = g_strdup_vprintf (format, list);
  va_end (list);
  g_set_error_literal (error, DVM_ERROR, code, text);
  return NULL;
}

/* By what is marked, with the older names of some. */
static const struct
{
  const char *key;
  guint mark;
} marks[] = {
  { PMIX_IOF_TAG_OUTPUT, DVMD_PMIX_MARK_TAG },
  { PMIX_TAG_OUTPUT, DVMD_PMIX_MARK_TAG },
  { PMIX_IOF_TAG_DETAILED_OUTPUT, DVMD_PMIX_MARK_DETAILED },
  { PMIX_IOF_TAG_FULLNAME_OUTPUT, DVMD_PMIX_MARK_FULLNAME },
  { PMIX_IOF_RANK_OUTPUT, DVMD_PMIX_MARK_RANK },
  { PMIX_IOF_TIMESTAMP_OUTPUT, DVMD_PMIX_MARK_TIMESTAMP },
  { PMIX_TIMESTAMP_OUTPUT, DVMD_PMIX_MARK_TIMESTAMP },
  { PMIX_IOF_XML_OUTPUT, DVMD_PMIX_MARK_XML },
  { PMIX_IOF_MERGE_STDERR_STDOUT, DVMD_PMIX_MARK_MERGE },
  { PMIX_MERGE_STDERR_STDOUT, DVMD_PMIX_MARK_MERGE },
  { PMIX_IOF_OUTPUT_RAW, DVMD_PMIX_MARK_RAW },
};

/* Names of processes in front of each line, of which there is one. */
#define TAGS (DVMD_PMIX_MARK_TAG | DVMD_PMIX_MARK_DETAILED | DVMD_PMIX_MARK_FULLNAME | DVMD_PMIX_MARK_RANK)

void
dvmd_pmix_list_pull_keys (GPtrArray *keys)
{
  if (dvmd_pmix_marks_are_served ())
    dvmd_pmix_add_keys (keys, marks, G_N_ELEMENTS (marks), sizeof marks[0]);
}

static guint
find_mark (const char *key)
{
  for (gsize i = 0; i < G_N_ELEMENTS (marks) && dvmd_pmix_marks_are_served (); i++)
    if (strcmp (marks[i].key, key) == 0)
      return marks[i].mark;
  return 0;
}

/* A flag without a value is true. */
static gboolean
read_directive (const pmix_info_t *info, guint *all, GError **error)
{
  gboolean is_off = info->value.type == PMIX_BOOL && !info->value.data.flag;
  guint mark = find_mark (info->key);
  gboolean is_strange = g_str_has_prefix (info->key, IOF_KEYS) || g_str_equal (info->key, PMIX_TAG_OUTPUT)
                        || g_str_equal (info->key, PMIX_TIMESTAMP_OUTPUT)
                        || g_str_equal (info->key, PMIX_MERGE_STDERR_STDOUT);

  if (mark != 0 && info->value.type != PMIX_BOOL && info->value.type != PMIX_UNDEF)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is true or false, not a value of type %d", info->key,
                   info->value.type);
      return FALSE;
    }
  if (mark == 0 && ((is_strange && !is_off) || (info->flags & PMIX_INFO_REQD) != 0))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s cannot be done for output that is pulled", info->key);
      return FALSE;
    }
  *all |= is_off ? 0 : mark;
  return TRUE;
}

static gboolean
read_directives (const pmix_info_t *directives, gsize n, guint *all, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (!read_directive (&directives[i], all, error))
      return FALSE;
  if ((*all & TAGS & ((*all & TAGS) - 1)) == 0)
    return TRUE;
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "A line is marked with one name of its process, not two");
  return FALSE;
}

/* Of the library a deregistration has neither processes nor channels. */
static gboolean
is_stop (const pmix_info_t *directives, gsize n, gsize n_procs, pmix_iof_channel_t channels)
{
  return n > 0 && n_procs == 0 && channels == PMIX_FWD_NO_CHANNELS
         && PMIX_CHECK_KEY (&directives[n - 1], PMIX_IOF_STOP);
}

GVariant *
dvmd_pmix_read_pull (const pmix_proc_t *procs, gsize n_procs, const pmix_info_t *directives, gsize n_directives,
                     pmix_iof_channel_t channels, GError **error)
{
  g_auto (GVariantBuilder) rows = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(su)"));
  guint streams = ((channels & PMIX_FWD_STDOUT_CHANNEL) != 0 ? DVMD_PMIX_STDOUT : 0)
                  | ((channels & PMIX_FWD_STDERR_CHANNEL) != 0 ? DVMD_PMIX_STDERR : 0);

  guint how = 0;

  if (!read_directives (directives, n_directives, &how, error))
    return NULL;
  if (streams == 0)
    return refuse_pull (error, DVM_ERROR_NOT_SUPPORTED, "Channels 0x%x have no output: it is stdout, stderr, or both",
                        channels);
  if (n_procs == 0 || n_procs > MOST_PROCS)
    return refuse_pull (error, DVM_ERROR_BAD_PARAM, "1 to %d processes have to be named, not %" G_GSIZE_FORMAT,
                        MOST_PROCS, n_procs);
  for (gsize i = 0; i < n_procs; i++)
    {
      if (procs[i].nspace[0] == '\0' || !g_utf8_validate (procs[i].nspace, -1, NULL))
        return refuse_pull (error, DVM_ERROR_BAD_PARAM, "Process %" G_GSIZE_FORMAT " of those named has no job", i);
      if (procs[i].rank != PMIX_RANK_WILDCARD && procs[i].rank >= PMIX_RANK_VALID)
        return refuse_pull (error, DVM_ERROR_NOT_SUPPORTED,
                            "Rank %d of job %s: there are single ranks and PMIX_RANK_WILDCARD", (int)procs[i].rank,
                            procs[i].nspace);
      g_variant_builder_add (&rows, "(su)", procs[i].nspace,
                             procs[i].rank == PMIX_RANK_WILDCARD ? DVMD_PMIX_RANK_WILDCARD : procs[i].rank);
    }
  /* Merged output comes on the standard output. */
  if ((how & DVMD_PMIX_MARK_MERGE) != 0 && (streams & DVMD_PMIX_STDOUT) == 0)
    return refuse_pull (error, DVM_ERROR_BAD_PARAM,
                        "Standard error that is merged comes on stdout, which is not pulled");
  if ((how & DVMD_PMIX_MARK_MERGE) != 0)
    streams |= DVMD_PMIX_STDERR;
  return g_variant_new ("(a(su)u)", &rows, streams | how);
}

/*
 * Somebody who waits on PMIx's thread: libpmix (4.2.2 to 5.0.7) frees what it hands over as soon as a pull is not done
 * when the upcall returns.
 */
typedef struct
{
  gatomicrefcount ref_count;
  DvmdPmixServer *server; /* unowned: it answers all calls before its end */
  GMutex mutex;
  GCond changed;
  gboolean answered;
  gboolean given_up;
  int status;
} Pull;

typedef struct
{
  DvmdPmixItem item;
  Pull *pull;
  GVariant *request; /* (nullable) */
  GError *error;     /* why there is none */
} Request;

static Pull *
pull_new (void)
{
  Pull *self = g_new0 (Pull, 1);

  g_atomic_ref_count_init (&self->ref_count);
  g_mutex_init (&self->mutex);
  g_cond_init (&self->changed);
  return self;
}

static Pull *
pull_ref (Pull *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

static void
pull_unref (Pull *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_mutex_clear (&self->mutex);
  g_cond_clear (&self->changed);
  g_free (self);
}

/* FALSE: nobody waits any more. */
static gboolean
answer_waiting (Pull *self, int status)
{
  gboolean waits;

  g_mutex_lock (&self->mutex);
  waits = !self->given_up;
  self->answered = TRUE;
  self->status = status;
  g_cond_signal (&self->changed);
  g_mutex_unlock (&self->mutex);
  return waits;
}

/* On PMIx's thread. */
static int
wait_for_answer (Pull *self)
{
  gint64 end = g_get_monotonic_time () + ANSWER_LIMIT;
  int status;

  g_mutex_lock (&self->mutex);
  while (!self->answered && !self->given_up)
    self->given_up = !g_cond_wait_until (&self->changed, &self->mutex, end) && !self->answered;
  status = self->answered ? self->status : PMIX_ERR_TIMEOUT;
  g_mutex_unlock (&self->mutex);
  return status;
}

static void
end_pull (DvmdPmixServer *server)
{
  /* A client may also be rid of the output of what it has spawned, which it has not pulled. */
  if (dvmd_pmix_server_get_outputs (server)->n_pulls == 0)
    return;
  dvmd_pmix_server_get_outputs (server)->n_pulls--;
  if (dvmd_pmix_server_get_outputs (server)->n_pulls == 0 && dvmd_pmix_server_is_running (server))
    tell_unwanted (server);
}

/*
 * Output comes from now on: a piece that the library has kept, because whoever pulled it has gone, is replaced by an
 * empty one that nobody pulls.
 */
static void
empty_cache (DvmdPmixServer *server)
{
  g_autoptr (GBytes) nothing = g_bytes_new (NULL, 0);

  deliver (&dvmd_pmix_server_get_outputs (server)->own, PMIX_FWD_STDOUT_CHANNEL, 0, nothing, on_cache_emptied);
}

static void
answer_pull (const DvmdPmixCall *call, int status, GVariant *answer)
{
  Pull *self = call->callback_data;

  if (status == PMIX_SUCCESS && dvmd_pmix_server_is_running (self->server))
    empty_cache (self->server);
  if (!answer_waiting (self, status) || status != PMIX_SUCCESS)
    end_pull (self->server);
  pull_unref (self);
}

static void
request_free (DvmdPmixItem *item)
{
  Request *self = (Request *)item;

  g_clear_pointer (&self->request, g_variant_unref);
  g_clear_error (&self->error);
  pull_unref (self->pull);
  g_free (self);
}

/* The server has ended. */
static void
request_drop (DvmdPmixItem *item)
{
  answer_waiting (((Request *)item)->pull, PMIX_ERR_UNREACH);
  request_free (item);
}

static void
request_run (DvmdPmixItem *item, gpointer owner)
{
  Request *self = (Request *)item;
  g_autoptr (DvmdPmixServer) server = g_object_ref (owner);
  DvmdPmixCall call = { .answer = answer_pull, .callback_data = pull_ref (self->pull) };
  DvmdPmixOutputs *outputs = dvmd_pmix_server_get_outputs (server);

  self->pull->server = server;
  outputs->n_pulls++;
  if (!dvmd_pmix_server_refuse_stranger (server, &outputs->own, &call))
    dvmd_pmix_server_call (server, &call, DVMD_CALL_PULL, &outputs->own, self->request, self->error);
  request_free (item);
}

static void
run_stop (DvmdPmixItem *item, gpointer owner)
{
  end_pull (owner);
  g_free (item);
}

static void
free_stop (DvmdPmixItem *item)
{
  g_free (item);
}

/* The library has dropped the pull before, and does not say which. */
static void
stop_pull (void)
{
  DvmdPmixItem *item = g_new0 (DvmdPmixItem, 1);

  item->run = run_stop;
  item->free = free_stop;
  dvmd_pmix_upcall_post_item (item);
}

pmix_status_t
dvmd_pmix_upcall_pull (const pmix_proc_t procs[], size_t n_procs, const pmix_info_t directives[], size_t n_directives,
                       pmix_iof_channel_t channels, pmix_op_cbfunc_t callback, void *callback_data)
{
  Request *request;
  Pull *pull;
  int status;

  if (is_stop (directives, n_directives, n_procs, channels))
    {
      stop_pull ();
      dvmd_pmix_marks_answer_end (callback_data);
      return PMIX_OPERATION_SUCCEEDED;
    }
  pull = pull_new ();
  request = g_new0 (Request, 1);
  request->item.run = request_run;
  request->item.free = request_drop;
  request->pull = pull_ref (pull);
  request->request = dvmd_pmix_read_pull (procs, n_procs, directives, n_directives, channels, &request->error);
  if (request->request != NULL)
    {
      guint32 streams;

      g_variant_get (g_variant_ref_sink (request->request), "(a(su)u)", NULL, &streams);
      dvmd_pmix_marks_set (callback_data, streams & DVMD_PMIX_MARKS);
    }
  dvmd_pmix_upcall_post_item (&request->item);
  status = wait_for_answer (pull);
  pull_unref (pull);
  return status == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : status;
}
