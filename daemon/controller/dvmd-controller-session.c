/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Control of sessions: read, forwarded to whoever decides, and done by the core; for one that is instantiated with
 * applications until these run.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-session.h"

#include "dvmd-controller-elastic.h"
#include "dvmd-controller-forward.h"
#include "dvmd-services.h"
#include "dvmd-rights.h"
#include "dvmd-session-request.h"

typedef struct
{
  DvmdController *controller; /* unowned: the source of the task */
  guint id;
  guint wanted; /* number of a new session, 0: any */
  DvmdSessionRequest *request;
  GVariant *directives;
  DvmdRequester *requester; /* (nullable) */
  gboolean scheduler;
  GVariant *answer; /* (nullable): of the change of size */
  DvmdJob *job;     /* (nullable): that is waited for */
  gulong handler;
} Control;

static void
control_free (gpointer data)
{
  Control *self = data;

  if (self->handler != 0)
    g_signal_handler_disconnect (dvmd_job_get_record (self->job), self->handler);
  g_clear_object (&self->job);
  dvmd_session_request_free (self->request);
  g_variant_unref (self->directives);
  g_clear_pointer (&self->requester, dvmd_requester_free);
  g_clear_pointer (&self->answer, g_variant_unref);
  g_free (self);
}

/* ---- answers ---- */

/* Takes the task. */
static void
fail (GTask *task, GError *error)
{
  g_task_return_error (task, error);
  g_object_unref (task);
}

/* Takes the task and the answer. */
static void
answer (GTask *task, GVariant *value)
{
  g_task_return_pointer (task, value, (GDestroyNotify)g_variant_unref);
  g_object_unref (task);
}

static GVariant *
describe_session (DvmdSession *session)
{
  const char *req_id = dvm_session_get_request_id (dvmd_session_get_record (session));
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "session", g_variant_new_uint32 (dvmd_session_get_id (session)));
  g_variant_builder_add (&builder, "{sv}", "alloc-id", g_variant_new_string (dvmd_session_get_alloc_id (session)));
  if (req_id != NULL && req_id[0] != '\0')
    g_variant_builder_add (&builder, "{sv}", "req-id", g_variant_new_string (req_id));
  g_variant_builder_add (&builder, "{sv}", "campaign", g_variant_new_uint32 (0));
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static GVariant *
describe_sessions (GArray *ids)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "sessions",
                         g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, ids->data, ids->len, sizeof (guint32)));
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

/* ---- what is there already ---- */

static DvmdSession *
find_session (Control *self, guint id, GError **error)
{
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  DvmdSession *session = NULL;

  if (id == 0)
    return dvmd_core_get_session (core, 0);
  return dvmd_core_select_session (core, id, NULL, NULL, &session, error) ? session : NULL;
}

/* One that is ending, too: what may be done to it the core says. */
static DvmdSession *
find_controlled (Control *self, guint id, GError **error)
{
  DvmdSession *session = dvmd_core_get_session (dvmd_controller_get_core (self->controller), id);

  return session != NULL ? session : find_session (self, id, error);
}

/* The core judges by the asker: a scheduler is everybody's equal. */
static const DvmdRequester *
get_asker (const Control *self)
{
  return self->scheduler ? NULL : self->requester;
}

static gboolean
check_one (Control *self, guint id, GError **error)
{
  DvmdSession *session = find_controlled (self, id, error);

  return session != NULL
         && dvmd_core_check_session_control (dvmd_controller_get_core (self->controller), session,
                                             &self->request->control, get_asker (self), error);
}

/* (element-type guint) */
static GArray *
list_sessions (const Control *self)
{
  GArray *ids;

  if (self->id == G_MAXUINT32)
    return dvmd_core_list_controlled_sessions (dvmd_controller_get_core (self->controller), get_asker (self));
  ids = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_val (ids, self->id);
  return ids;
}

static gboolean
check_control (Control *self, GError **error)
{
  g_autoptr (GArray) ids = list_sessions (self);

  if (self->id == G_MAXUINT32 && self->request->control.nspace != NULL)
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                           "“nspace” is a job of one session: name that, and not all of them");
      return FALSE;
    }
  for (guint i = 0; i < ids->len; i++)
    if (!check_one (self, g_array_index (ids, guint, i), error))
      return FALSE;
  return TRUE;
}

/* All or none: nothing changes between the two, for there is one thread. */
static void
control (GTask *task)
{
  Control *self = g_task_get_task_data (task);
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  g_autoptr (GArray) ids = list_sessions (self);
  GVariant *value = self->id == G_MAXUINT32 ? describe_sessions (ids) : NULL;
  GError *error = NULL;

  for (guint i = 0; i < ids->len && error == NULL; i++)
    {
      DvmdSession *session = find_controlled (self, g_array_index (ids, guint, i), NULL);

      /* It has ended with another one of them. */
      if (session == NULL)
        continue;
      if (value == NULL)
        value = describe_session (session);
      dvmd_core_control_session (core, session, &self->request->control, get_asker (self), &error);
    }
  if (error == NULL)
    answer (task, value);
  else
    {
      g_clear_pointer (&value, g_variant_unref);
      fail (task, error);
    }
}

/* ---- applications ---- */

static int
choose_code (DvmJobState state)
{
  switch (state)
    {
    case DVM_JOB_STATE_MAP_FAILED:
      return DVM_ERROR_MAP_FAILED;
    case DVM_JOB_STATE_NEVER_LAUNCHED:
      return DVM_ERROR_ALLOC_FAILED;
    default:
      return DVM_ERROR_LAUNCH_FAILED;
    }
}

/* A session that was made for the applications alone goes with them (R52). */
static void
take_back (Control *self)
{
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  DvmdSession *session;
  guint id = 0;
  guint campaign = 0;

  g_variant_lookup (self->answer, "session", "u", &id);
  g_variant_lookup (self->answer, "campaign", "u", &campaign);
  session = core != NULL && id != 0 ? dvmd_core_get_session (core, id) : NULL;
  if (session != NULL)
    dvmd_core_discard_session (core, session, campaign != 0 ? dvmd_core_get_campaign (core, campaign) : NULL);
}

static void
on_state_changed (DvmJob *record, DvmJobState old_state, DvmJobState new_state, const char *reason, gpointer user_data)
{
  GTask *task = user_data;
  Control *self = g_task_get_task_data (task);
  gboolean failed = dvm_job_state_is_error (new_state);
  GVariantDict dict;

  if (!failed && new_state != DVM_JOB_STATE_RUNNING && new_state != DVM_JOB_STATE_TERMINATED)
    return;
  g_signal_handler_disconnect (record, self->handler);
  self->handler = 0;
  if (failed)
    {
      take_back (self);
      fail (task, g_error_new (DVM_ERROR, choose_code (new_state), "The applications do not run: %s", reason));
      return;
    }
  g_variant_dict_init (&dict, self->answer);
  g_variant_dict_insert (&dict, "nspace", "s", dvm_job_get_nspace (record));
  answer (task, g_variant_ref_sink (g_variant_dict_end (&dict)));
}

static void
run_applications (GTask *task, DvmdSession *session)
{
  Control *self = g_task_get_task_data (task);
  const int fds[3] = { -1, -1, -1 };
  GError *error = NULL;
  DvmdJob *job;

  dvm_job_spec_set_session (self->request->spec, dvmd_session_get_id (session));
  job = dvmd_controller_submit (self->controller, self->request->spec, self->requester, fds, &error);
  if (job == NULL)
    {
      take_back (self);
      fail (task, error);
      return;
    }
  dvmd_session_set_ends_itself (session);
  self->job = g_object_ref (job);
  self->handler = g_signal_connect (dvmd_job_get_record (job), "state-changed", G_CALLBACK (on_state_changed), task);
}

/* ---- what changes the size ---- */

static void
on_sized (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  Control *self = g_task_get_task_data (task);
  GError *error = NULL;
  DvmdSession *session;
  guint id = 0;

  self->answer = dvmd_controller_change_size_finish (DVMD_CONTROLLER (source), result, &error);
  if (self->answer == NULL)
    {
      fail (task, error);
      return;
    }
  g_variant_lookup (self->answer, "session", "u", &id);
  session = dvmd_controller_get_core (self->controller) != NULL
                ? dvmd_core_get_session (dvmd_controller_get_core (self->controller), id)
                : NULL;
  if (self->request->spec != NULL && session == NULL)
    fail (task, g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "Session %u has ended before anything ran in it", id));
  else if (self->request->spec != NULL)
    run_applications (task, session);
  else
    answer (task, g_variant_ref (self->answer));
}

static void
change_size (GTask *task)
{
  Control *self = g_task_get_task_data (task);
  gboolean is_new = self->request->kind == DVMD_SESSION_INSTANTIATE;
  g_autoptr (GVariant) size = NULL;
  GVariantDict dict;

  g_variant_dict_init (&dict, self->request->size);
  if (!is_new)
    g_variant_dict_insert (&dict, "session", "u", self->id);
  size = g_variant_ref_sink (g_variant_dict_end (&dict));
  dvmd_controller_change_granted_async (
      self->controller, is_new ? "new" : "extend", size, g_steal_pointer (&self->request->hosts), self->wanted,
      is_new && !self->request->tied, self->requester, self->scheduler, g_task_get_cancellable (task), on_sized, task);
}

static gboolean
check_instantiate (Control *self, GError **error)
{
  if (self->id == G_MAXUINT32)
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                         "“instantiate” makes one session: name its number, or 0 for the next one");
  else
    return self->id == 0
           || dvmd_core_check_session_number (dvmd_controller_get_core (self->controller), self->id, error);
  return FALSE;
}

static gboolean
check_extend (Control *self, GError **error)
{
  DvmdSession *session;

  if (self->id == 0 || self->id == G_MAXUINT32)
    {
      g_set_error (error, DVM_ERROR, self->id == 0 ? DVM_ERROR_NOT_SUPPORTED : DVM_ERROR_BAD_PARAM, "%s",
                   self->id == 0 ? "“extend”: session 0 is the default one, which is everybody's and stays as it is"
                                 : "“extend” is for one session: name its number");
      return FALSE;
    }
  session = find_session (self, self->id, error);
  return session != NULL
         && dvmd_core_may (dvmd_controller_get_core (self->controller), get_asker (self), DVMD_RIGHT_EXTEND, session,
                           NULL, error);
}

/* ---- all of it ---- */

static gboolean
check (Control *self, GError **error)
{
  switch (self->request->kind)
    {
    case DVMD_SESSION_INSTANTIATE:
      return check_instantiate (self, error);
    case DVMD_SESSION_EXTEND:
      return check_extend (self, error);
    case DVMD_SESSION_CONTROL:
    default:
      return check_control (self, error);
    }
}

static void
carry_out (GTask *task)
{
  Control *self = g_task_get_task_data (task);

  if (self->request->kind == DVMD_SESSION_CONTROL)
    control (task);
  else
    change_size (task);
}

static void
on_decided (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  Control *self = g_task_get_task_data (task);
  g_autoptr (GVariant) granted = NULL;
  g_autoptr (GObject) allocator = NULL;
  GError *error = NULL;

  if (!dvmd_controller_forward_finish (DVMD_CONTROLLER (source), result, &granted, (gpointer *)&allocator, &error))
    {
      fail (task, error);
      return;
    }
  if (dvmd_controller_get_core (self->controller) == NULL)
    {
      fail (task, g_error_new (DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is ending"));
      return;
    }
  if (granted != NULL)
    {
      dvmd_session_request_grant (self->request, granted);
      g_variant_lookup (granted, "session", "u", &self->wanted);
    }
  /* Much may have changed since. */
  if (check (self, &error))
    carry_out (task);
  else
    fail (task, error);
}

static gboolean
is_forwarded (const Control *self)
{
  return !self->scheduler && !(self->requester != NULL && dvmd_requester_is_scheduler (self->requester))
         && dvmd_controller_forwards (self->controller);
}

static Control *
control_new (DvmdController *controller, guint id, GVariant *directives, DvmdSessionRequest *read,
             const DvmdRequester *requester, gboolean scheduler, GError **error)
{
  g_autoptr (GVariant) kept = g_variant_ref_sink (directives);
  DvmdSessionRequest *request = read != NULL ? read : dvmd_session_request_new (kept, scheduler, error);
  Control *self;

  if (request == NULL)
    return NULL;
  self = g_new0 (Control, 1);
  self->controller = controller;
  self->id = self->wanted = id;
  self->request = request;
  self->directives = g_steal_pointer (&kept);
  self->requester = requester != NULL ? dvmd_requester_copy (requester) : NULL;
  self->scheduler = scheduler;
  return self;
}

void
dvmd_controller_control_session_async (DvmdController *self, guint id, GVariant *directives, DvmdSessionRequest *read,
                                       const DvmdRequester *requester, gboolean scheduler, GCancellable *cancellable,
                                       GAsyncReadyCallback callback, gpointer user_data)
{
  GError *error = NULL;
  Control *control;
  GTask *task;

  dvmd_controller_enter (self);
  task = g_task_new (self, cancellable, callback, user_data);
  control = control_new (self, id, directives, read, requester, scheduler, &error);
  if (control != NULL)
    g_task_set_task_data (task, control, control_free);
  if (control == NULL || !check (control, &error))
    fail (task, error);
  else if (is_forwarded (control))
    dvmd_controller_forward_async (self, "control-session", id, control->directives, requester, cancellable, on_decided,
                                   task);
  else
    carry_out (task);
  dvmd_controller_leave (self);
}

GVariant *
dvmd_controller_control_session_finish (DvmdController *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
