/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A key of an agent that nobody starts goes to its controller in a credential of munge.
 */

#include "config.h"

#include "dvmd-munge-key.h"

#include <dvm.h>
#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

#include "dvmd-munge.h"
#include "dvmd-secret.h"
#include "dvmd-transport-error.h"

/* Each may wait for munged for some seconds, in a thread. */
#define MAX_ASKED 4
/* Other programs of the user put other data into credentials. */
#define LABEL      "dvm bootstrap 1\n"
#define LABEL_SIZE (sizeof LABEL - 1)
#define KEY_END    (LABEL_SIZE + DVMD_TOKEN_KEY_SIZE)

struct _DvmdMungeKeys
{
  guint n_refs;
  char *socket;
  char *place;
  guint n_asked;
  GQueue waiting;
};

struct _DvmdMungeReading
{
  DvmdMungeKeys *keys;
  char *credential;
  DvmdMungeReadFunc func; /* NULL: cancelled, while munged is asked */
  gpointer user_data;
  gboolean asked;
};

/* A thread has a copy, for all else is the main loop's. */
typedef struct
{
  char *socket;
  char *place;
  char *credential; /* (nullable) */
  DvmdToken secret;
} Question;

static void
question_free (gpointer data)
{
  Question *question = data;

  dvmd_token_clear (&question->secret);
  g_free (question->socket);
  g_free (question->place);
  g_free (question->credential);
  g_free (question);
}

static void
set_question (GTask *task, DvmdMungeKeys *keys, const char *credential)
{
  Question *question = g_new0 (Question, 1);

  question->socket = g_strdup (keys->socket);
  question->place = g_strdup (keys->place);
  question->credential = g_strdup (credential);
  g_task_set_task_data (task, question, question_free);
}

/* ---- the agent's side ---- */

static char *
seal_key (Question *question, GError **error)
{
  guint8 data[KEY_END + DVMD_MUNGE_MAX_PLACE];
  gsize length = strlen (question->place);
  char *credential;

  memcpy (data, LABEL, LABEL_SIZE);
  dvmd_secret_draw (data + LABEL_SIZE, DVMD_TOKEN_KEY_SIZE);
  memcpy (data + KEY_END, question->place, length);
  credential = dvmd_munge_seal (question->socket, data, KEY_END + length, error);
  if (credential != NULL)
    dvmd_token_set_standing (&question->secret, data + LABEL_SIZE);
  explicit_bzero (data, sizeof data);
  return credential;
}

static void
work_at_seal (GTask *task, gpointer source, gpointer task_data, GCancellable *cancellable)
{
  GError *error = NULL;
  char *credential = seal_key (task_data, &error);

  if (credential != NULL)
    g_task_return_pointer (task, credential, g_free);
  else
    g_task_return_error (task, error);
}

void
dvmd_munge_keys_seal_async (DvmdMungeKeys *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                            gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);

  g_task_set_source_tag (task, dvmd_munge_keys_seal_async);
  set_question (task, self, NULL);
  /* The thread may wait for munged longer than anybody wants to know. */
  g_task_set_return_on_cancel (task, TRUE);
  g_task_run_in_thread (task, work_at_seal);
}

char *
dvmd_munge_keys_seal_finish (GAsyncResult *result, DvmdToken *secret, GError **error)
{
  char *credential;

  g_return_val_if_fail (g_async_result_is_tagged (result, dvmd_munge_keys_seal_async), NULL);

  credential = g_task_propagate_pointer (G_TASK (result), error);
  if (credential != NULL)
    *secret = ((Question *)g_task_get_task_data (G_TASK (result)))->secret;
  return credential;
}

/* ---- a credential is read ---- */

static gboolean
refuse_credential (GError **error, const char *reason)
{
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "%s", reason);
  return FALSE;
}

/* A peer of another user learns no more than that. */
static gboolean
check_user (guint32 uid, GError **error)
{
  if (uid == geteuid ())
    return TRUE;
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
               "Its credential of munge is that of uid %u, and all daemons of this DVM run as uid %u", uid, geteuid ());
  return FALSE;
}

static gboolean
check_data (const guint8 *data, gsize size, const char *place, GError **error)
{
  if (size < KEY_END || memcmp (data, LABEL, LABEL_SIZE) != 0)
    return refuse_credential (error, "Its credential of munge was made for another purpose");
  if (size - KEY_END == strlen (place) && memcmp (data + KEY_END, place, size - KEY_END) == 0)
    return TRUE;
  return refuse_credential (error,
                            "Its credential of munge is for another DVM: bootstrap-controller has to be the same "
                            "text on all nodes");
}

static void
set_munge_error (const GError *reason, GError **error)
{
  if (g_error_matches (reason, DVM_ERROR, DVM_ERROR_BAD_PARAM))
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                 "munge does not take its credential: %s", reason->message);
  else
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_REFUSED,
                 "munge of the controller's machine does not work: %s", reason->message);
}

static gboolean
read_key (Question *question, GError **error)
{
  g_autoptr (GError) reason = NULL;
  guint32 uid = 0;
  GBytes *bytes = dvmd_munge_unseal (question->socket, question->credential, &uid, &reason);
  gboolean right;
  const guint8 *data;
  gsize size;

  if (bytes == NULL)
    {
      set_munge_error (reason, error);
      return FALSE;
    }
  data = g_bytes_get_data (bytes, &size);
  right = check_user (uid, error) && check_data (data, size, question->place, error);
  if (right)
    dvmd_token_set_standing (&question->secret, data + LABEL_SIZE);
  if (size > 0)
    explicit_bzero ((gpointer)data, size);
  g_bytes_unref (bytes);
  return right;
}

static void
work_at_read (GTask *task, gpointer source, gpointer task_data, GCancellable *cancellable)
{
  GError *error = NULL;

  if (read_key (task_data, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

/* ---- the controller's side ---- */

static void ask_next (DvmdMungeKeys *self);

static void
reading_free (DvmdMungeReading *reading)
{
  dvmd_munge_keys_unref (reading->keys);
  g_free (reading->credential);
  g_free (reading);
}

static void
on_read (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdMungeReading *reading = user_data;
  g_autoptr (GError) error = NULL;
  const Question *question = g_task_get_task_data (G_TASK (result));
  gboolean right = g_task_propagate_boolean (G_TASK (result), &error);

  reading->keys->n_asked--;
  ask_next (reading->keys);
  if (reading->func != NULL)
    reading->func (right ? &question->secret : NULL, error, reading->user_data);
  reading_free (reading);
}

static void
ask_next (DvmdMungeKeys *self)
{
  while (self->n_asked < MAX_ASKED && !g_queue_is_empty (&self->waiting))
    {
      DvmdMungeReading *reading = g_queue_pop_head (&self->waiting);
      g_autoptr (GTask) task = g_task_new (NULL, NULL, on_read, reading);

      set_question (task, self, reading->credential);
      reading->asked = TRUE;
      self->n_asked++;
      g_task_run_in_thread (task, work_at_read);
    }
}

DvmdMungeKeys *
dvmd_munge_keys_new (const char *socket, const char *place)
{
  DvmdMungeKeys *self = g_new0 (DvmdMungeKeys, 1);

  self->n_refs = 1;
  self->socket = g_strdup (socket);
  self->place = g_strdup (place);
  g_queue_init (&self->waiting);
  return self;
}

void
dvmd_munge_keys_unref (DvmdMungeKeys *self)
{
  if (--self->n_refs > 0)
    return;
  g_free (self->socket);
  g_free (self->place);
  g_free (self);
}

DvmdMungeReading *
dvmd_munge_keys_read (DvmdMungeKeys *self, const char *credential, DvmdMungeReadFunc func, gpointer user_data)
{
  DvmdMungeReading *reading = g_new0 (DvmdMungeReading, 1);

  self->n_refs++;
  reading->keys = self;
  reading->credential = g_strdup (credential);
  reading->func = func;
  reading->user_data = user_data;
  g_queue_push_tail (&self->waiting, reading);
  ask_next (self);
  return reading;
}

void
dvmd_munge_reading_cancel (DvmdMungeReading *reading)
{
  reading->func = NULL;
  if (reading->asked)
    return;
  g_queue_remove (&reading->keys->waiting, reading);
  reading_free (reading);
}
