/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "pmix-fake.h"

#include <unistd.h>

#include "dvmd-pmix-messages.h"

#include "dvm.h"

typedef struct
{
  gboolean answered;
  int status;
  GBytes *data;
  GVariant *words;
} Answer;

/* One event of one target. */
typedef struct
{
  char *nspace;
  guint32 rank;
  int status;
  GVariant *details; /* (nullable) */
} Event;

struct _PmixFake
{
  GObject parent_instance;
  DvmdPmixHost *host; /* not owned */
  GHashTable *jobs;   /* nspace -> DvmdPmixJob */
  GHashTable *data;   /* "nspace.rank" -> GBytes */
  GPtrArray *answers; /* Answer, by token - 1 */
  GArray *events;     /* int */
  GVariant *details;  /* (nullable): of the last one */
  GPtrArray *told;    /* Event */
  GError *error;
  GPtrArray *held; /* (nullable): GTask of registrations */
  guint fence_timeout;
  GString *output;
};

static void pmix_fake_pmix_init (DvmdPmixInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (PmixFake, pmix_fake, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (DVMD_TYPE_PMIX, pmix_fake_pmix_init))

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  g_clear_pointer (&answer->data, g_bytes_unref);
  g_clear_pointer (&answer->words, g_variant_unref);
  g_free (answer);
}

static void
event_free (gpointer data)
{
  Event *event = data;

  g_clear_pointer (&event->details, g_variant_unref);
  g_free (event->nspace);
  g_free (event);
}

static void
job_unref (gpointer data)
{
  dvmd_pmix_job_unref (data);
}

static gboolean
pmix_fake_start (DvmdPmix *pmix, const DvmdPmixSettings *settings, DvmdPmixHost *host, GError **error)
{
  TEST_PMIX_FAKE (pmix)->host = host;
  return TRUE;
}

static gboolean
pmix_fake_stop (DvmdPmix *pmix, DvmdPmixDone func, gpointer user_data)
{
  PmixFake *self = TEST_PMIX_FAKE (pmix);

  self->host = NULL;
  g_hash_table_remove_all (self->jobs);
  g_hash_table_remove_all (self->data);
  return TRUE;
}

static void
pmix_fake_ping_async (DvmdPmix *pmix, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (pmix, NULL, callback, user_data);

  g_task_return_boolean (task, TRUE);
}

/* GTask answers from the main context when a task returns in the call that made it, as the real server does. */
static void
pmix_fake_register_job_async (DvmdPmix *pmix, DvmdPmixJob *job, GAsyncReadyCallback callback, gpointer user_data)
{
  PmixFake *self = TEST_PMIX_FAKE (pmix);
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  g_autoptr (GError) error = g_steal_pointer (&self->error);

  if (error == NULL && dvmd_pmix_job_validate (job, &error) && g_hash_table_contains (self->jobs, job->nspace))
    g_set_error (&error, DVM_ERROR, DVM_ERROR_EXISTS, "The PMIx server has a job %s already", job->nspace);
  if (error != NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  g_hash_table_insert (self->jobs, job->nspace, dvmd_pmix_job_ref (job));
  if (self->held != NULL)
    g_ptr_array_add (self->held, g_object_ref (task));
  else
    g_task_return_boolean (task, TRUE);
}

void
pmix_fake_hold_registrations (PmixFake *self, gboolean hold)
{
  g_autoptr (GPtrArray) held = g_steal_pointer (&self->held);

  for (guint i = 0; held != NULL && i < held->len; i++)
    g_task_return_boolean (g_ptr_array_index (held, i), TRUE);
  if (hold)
    self->held = g_ptr_array_new_with_free_func (g_object_unref);
}

static gboolean
pmix_fake_job_finish (DvmdPmix *pmix, GAsyncResult *result, GError **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

static gboolean
check_job (PmixFake *self, const char *nspace, GError **error)
{
  if (g_hash_table_contains (self->jobs, nspace))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "The PMIx server knows no job %s", nspace);
  return FALSE;
}

static char **
pmix_fake_dup_environment (DvmdPmix *pmix, const char *nspace, guint32 rank, GError **error)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autofree char *name = g_strdup_printf ("PMIX_NAMESPACE=%s", nspace);
  g_autofree char *number = g_strdup_printf ("PMIX_RANK=%u", rank);

  if (!check_job (TEST_PMIX_FAKE (pmix), nspace, error))
    return NULL;
  g_strv_builder_add_many (builder, name, number, NULL);
  return g_strv_builder_end (builder);
}

static char **
pmix_fake_dup_default_environment (DvmdPmix *pmix, const char *nspace, guint n_pus, GError **error)
{
  if (!check_job (TEST_PMIX_FAKE (pmix), nspace, error))
    return NULL;
  return g_new0 (char *, 1);
}

static void
pmix_fake_deregister_client (DvmdPmix *pmix, const char *nspace, guint32 rank)
{
}

static void
pmix_fake_take_back_async (DvmdPmix *pmix, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                           gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (pmix, NULL, callback, user_data);

  g_task_return_boolean (task, TRUE);
}

static void
pmix_fake_deregister_job_async (DvmdPmix *pmix, const char *nspace, GAsyncReadyCallback callback, gpointer user_data)
{
  PmixFake *self = TEST_PMIX_FAKE (pmix);
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  g_autoptr (GError) error = NULL;

  if (!check_job (self, nspace, &error))
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  g_hash_table_remove (self->jobs, nspace);
  g_task_return_boolean (task, TRUE);
}

static void
pmix_fake_abandon_job (DvmdPmix *pmix, const char *nspace)
{
  g_hash_table_remove (TEST_PMIX_FAKE (pmix)->jobs, nspace);
}

/* (nullable): it is no question, or has been answered. */
static Answer *
find_open (PmixFake *self, guint64 token)
{
  Answer *answer;

  if (token == 0 || token > self->answers->len)
    return NULL;
  answer = g_ptr_array_index (self->answers, token - 1);
  return answer->answered ? NULL : answer;
}

static void
pmix_fake_complete (DvmdPmix *pmix, guint64 token, int status, GBytes *data)
{
  Answer *answer = find_open (TEST_PMIX_FAKE (pmix), token);

  if (answer == NULL)
    return;
  answer->answered = TRUE;
  answer->status = status;
  answer->data = data != NULL ? g_bytes_ref (data) : NULL;
}

static void
pmix_fake_complete_call (DvmdPmix *pmix, guint64 token, int status, GVariant *words)
{
  Answer *answer = find_open (TEST_PMIX_FAKE (pmix), token);

  if (answer == NULL)
    return;
  answer->answered = TRUE;
  answer->status = status;
  answer->words = words != NULL ? g_variant_ref_sink (words) : NULL;
}

static void
pmix_fake_complete_connect (DvmdPmix *pmix, guint64 token, int status)
{
  pmix_fake_complete (pmix, token, status, NULL);
}

static void
pmix_fake_deliver_output (DvmdPmix *pmix, guint server, const DvmdPmixProc *source, guint stream, GBytes *bytes)
{
  GString *output = TEST_PMIX_FAKE (pmix)->output;

  g_string_append_printf (output, "%s.%u:%u:", source->nspace, source->rank, stream);
  g_string_append_len (output, g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes));
}

const char *
pmix_fake_get_output (PmixFake *self)
{
  return self->output->str;
}

static void
pmix_fake_fetch_modex_async (DvmdPmix *pmix, const char *nspace, guint32 rank, GAsyncReadyCallback callback,
                             gpointer user_data)
{
  PmixFake *self = TEST_PMIX_FAKE (pmix);
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  g_autofree char *key = g_strdup_printf ("%s.%u", nspace, rank);
  GBytes *data = g_hash_table_lookup (self->data, key);

  if (data != NULL)
    g_task_return_pointer (task, g_bytes_ref (data), (GDestroyNotify)g_bytes_unref);
  else
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Rank %u of job %s has put nothing", rank, nspace);
}

static GBytes *
pmix_fake_fetch_modex_finish (DvmdPmix *pmix, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
pmix_fake_notify_event (DvmdPmix *pmix, int status, const DvmdPmixProc *source, const DvmdPmixProc *targets,
                        guint n_targets, GVariant *details)
{
  PmixFake *self = TEST_PMIX_FAKE (pmix);

  g_array_append_val (self->events, status);
  g_clear_pointer (&self->details, g_variant_unref);
  if (details != NULL)
    self->details = g_variant_ref_sink (details);
  for (guint i = 0; i < n_targets; i++)
    {
      Event *event = g_new0 (Event, 1);

      event->nspace = g_strdup (targets[i].nspace);
      event->rank = targets[i].rank;
      event->status = status;
      event->details = self->details != NULL ? g_variant_ref (self->details) : NULL;
      g_ptr_array_add (self->told, event);
    }
}

static void
pmix_fake_pmix_init (DvmdPmixInterface *iface)
{
  iface->start = pmix_fake_start;
  iface->stop = pmix_fake_stop;
  iface->register_job_async = pmix_fake_register_job_async;
  iface->register_job_finish = pmix_fake_job_finish;
  iface->dup_environment = pmix_fake_dup_environment;
  iface->dup_default_environment = pmix_fake_dup_default_environment;
  iface->deregister_client = pmix_fake_deregister_client;
  iface->take_back_async = pmix_fake_take_back_async;
  iface->take_back_finish = pmix_fake_job_finish;
  iface->deregister_job_async = pmix_fake_deregister_job_async;
  iface->deregister_job_finish = pmix_fake_job_finish;
  iface->abandon_job = pmix_fake_abandon_job;
  iface->ping_async = pmix_fake_ping_async;
  iface->complete_fence = pmix_fake_complete;
  iface->complete_direct_modex = pmix_fake_complete;
  iface->fetch_modex_async = pmix_fake_fetch_modex_async;
  iface->fetch_modex_finish = pmix_fake_fetch_modex_finish;
  iface->complete_call = pmix_fake_complete_call;
  iface->deliver_output = pmix_fake_deliver_output;
  iface->complete_connect = pmix_fake_complete_connect;
  iface->notify_event = pmix_fake_notify_event;
}

static void
pmix_fake_finalize (GObject *object)
{
  PmixFake *self = TEST_PMIX_FAKE (object);

  pmix_fake_hold_registrations (self, FALSE);
  g_hash_table_unref (self->jobs);
  g_hash_table_unref (self->data);
  g_ptr_array_unref (self->answers);
  g_array_unref (self->events);
  g_ptr_array_unref (self->told);
  g_clear_pointer (&self->details, g_variant_unref);
  g_clear_error (&self->error);
  g_string_free (self->output, TRUE);
  G_OBJECT_CLASS (pmix_fake_parent_class)->finalize (object);
}

static void
pmix_fake_class_init (PmixFakeClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = pmix_fake_finalize;
}

static void
pmix_fake_init (PmixFake *self)
{
  self->jobs = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, job_unref);
  self->data = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
  self->answers = g_ptr_array_new_with_free_func (answer_free);
  self->events = g_array_new (FALSE, FALSE, sizeof (int));
  self->output = g_string_new (NULL);
  self->told = g_ptr_array_new_with_free_func (event_free);
}

PmixFake *
pmix_fake_new (void)
{
  return g_object_new (TEST_TYPE_PMIX_FAKE, NULL);
}

DvmdPmixHost *
pmix_fake_get_host (PmixFake *self)
{
  return self->host;
}

guint
pmix_fake_get_n_jobs (PmixFake *self)
{
  return g_hash_table_size (self->jobs);
}

DvmdPmixJob *
pmix_fake_find_job (PmixFake *self, const char *nspace)
{
  return g_hash_table_lookup (self->jobs, nspace);
}

void
pmix_fake_set_error (PmixFake *self, const GError *error)
{
  g_clear_error (&self->error);
  self->error = g_error_copy (error);
}

static guint64
add_answer (PmixFake *self)
{
  g_ptr_array_add (self->answers, g_new0 (Answer, 1));
  return self->answers->len;
}

void
pmix_fake_set_fence_timeout (PmixFake *self, guint timeout)
{
  self->fence_timeout = timeout;
}

guint64
pmix_fake_fence (PmixFake *self, const DvmdPmixProc *participants, guint n_participants, GBytes *data)
{
  guint64 token = add_answer (self);

  if (!dvmd_pmix_host_fence (self->host, token, participants, n_participants, data, g_bytes_get_size (data) > 0,
                             self->fence_timeout))
    pmix_fake_complete (DVMD_PMIX (self), token, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
  return token;
}

guint64
pmix_fake_direct_modex (PmixFake *self, const char *nspace, guint32 rank)
{
  guint64 token = add_answer (self);

  if (!dvmd_pmix_host_direct_modex (self->host, token, nspace, rank, NULL, 0))
    pmix_fake_complete (DVMD_PMIX (self), token, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
  return token;
}

guint64
pmix_fake_call (PmixFake *self, DvmdCallKind kind, const char *nspace, guint32 rank, GVariant *request)
{
  guint64 token = add_answer (self);
  g_autoptr (GVariant) owned = g_variant_ref_sink (request);

  g_assert_true (g_variant_is_of_type (owned, G_VARIANT_TYPE (dvmd_call_kind_get_type (kind)->request)));
  if (!dvmd_pmix_host_call (self->host, token, kind, nspace, rank, owned))
    pmix_fake_complete (DVMD_PMIX (self), token, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
  return token;
}

guint64
pmix_fake_allocate (PmixFake *self, const char *nspace, guint32 rank, const char *directive, GVariant *request)
{
  return pmix_fake_call (self, DVMD_CALL_ALLOCATE, nspace, rank, g_variant_new ("(s@a{sv})", directive, request));
}

guint64
pmix_fake_data (PmixFake *self, DvmdPmixDataOp op, const char *nspace, guint32 rank, GVariant *request)
{
  return pmix_fake_call (self, DVMD_CALL_DATA, nspace, rank,
                         g_variant_new ("(uuu@a{sv})", (guint)op, (guint)geteuid (), (guint)getegid (), request));
}

guint64
pmix_fake_connect (PmixFake *self, gboolean leave, const DvmdPmixProc *participants, guint n_participants,
                   guint timeout)
{
  guint64 token = add_answer (self);

  if (!dvmd_pmix_host_connect (self->host, token, leave, participants, n_participants, timeout))
    pmix_fake_complete (DVMD_PMIX (self), token, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
  return token;
}

gboolean
pmix_fake_get_allocation (PmixFake *self, guint64 token, int *status, GVariant **answer)
{
  if (!pmix_fake_get_answer (self, token, status, NULL))
    return FALSE;
  *answer = ((Answer *)g_ptr_array_index (self->answers, token - 1))->words;
  return TRUE;
}

guint64
pmix_fake_spawn (PmixFake *self, const char *nspace, guint32 rank, GVariant *job, guint timeout, guint streams)
{
  g_autoptr (GVariant) owned = g_variant_ref_sink (job);
  g_autoptr (GVariant) apps = g_variant_get_child_value (owned, 0);
  g_autoptr (GVariant) options = g_variant_get_child_value (owned, 1);

  return pmix_fake_call (self, DVMD_CALL_SPAWN, nspace, rank,
                         g_variant_new ("(@aa{sv}@a{sv}uu)", apps, options, timeout, streams));
}

guint64
pmix_fake_control (PmixFake *self, const char *nspace, guint32 rank, const DvmdPmixProc *targets, guint n_targets,
                   const char *operation, int signum)
{
  return pmix_fake_call (
      self, DVMD_CALL_JOB_CONTROL, nspace, rank,
      g_variant_new ("(@a(su)si)", dvmd_pmix_procs_to_variant (targets, n_targets), operation, signum));
}

gboolean
pmix_fake_get_spawn (PmixFake *self, guint64 token, int *status, const char **nspace)
{
  GVariant *words;

  if (!pmix_fake_get_allocation (self, token, status, &words))
    return FALSE;
  *nspace = NULL;
  if (words != NULL)
    g_variant_get (words, "(&s)", nspace);
  return TRUE;
}

guint
pmix_fake_count_events (PmixFake *self, const char *nspace, guint32 rank, int status, GVariant **details)
{
  guint n = 0;

  for (guint i = 0; i < self->told->len; i++)
    {
      const Event *event = g_ptr_array_index (self->told, i);

      if (event->rank != rank || event->status != status || !g_str_equal (event->nspace, nspace))
        continue;
      n++;
      if (details != NULL)
        *details = event->details;
    }
  return n;
}

gboolean
pmix_fake_get_answer (PmixFake *self, guint64 token, int *status, GBytes **data)
{
  const Answer *answer;

  g_return_val_if_fail (token > 0 && token <= self->answers->len, FALSE);
  answer = g_ptr_array_index (self->answers, token - 1);
  if (!answer->answered)
    return FALSE;
  if (status != NULL)
    *status = answer->status;
  if (data != NULL)
    *data = answer->data;
  return TRUE;
}

void
pmix_fake_put (PmixFake *self, const char *nspace, guint32 rank, GBytes *data)
{
  g_hash_table_insert (self->data, g_strdup_printf ("%s.%u", nspace, rank), g_bytes_ref (data));
}

GArray *
pmix_fake_get_events (PmixFake *self)
{
  return self->events;
}

GVariant *
pmix_fake_get_details (PmixFake *self)
{
  return self->details;
}
