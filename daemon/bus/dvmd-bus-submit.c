/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Submit and SubmitApps: a spec out of the arguments, descriptors out of the message, the job's path as answer.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-job-spec-private.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-bus-submit.h"

#include <gio/gunixfdlist.h>
#include <string.h>
#include <unistd.h>

static const char *const fd_options[3] = { "stdin-fd", "stdout-fd", "stderr-fd" };

static int
find_fd_option (const char *key)
{
  for (int i = 0; i < 3; i++)
    if (strcmp (fd_options[i], key) == 0)
      return i;
  return -1;
}

void
dvmd_bus_call_options_close (DvmdBusCallOptions *own)
{
  for (int i = 0; i < 3; i++)
    {
      if (own->fds[i] >= 0)
        close (own->fds[i]);
      own->fds[i] = -1;
    }
}

static gboolean
take_fd (GDBusMethodInvocation *invocation, int index, GVariant *value, int fds[3], GError **error)
{
  GUnixFDList *list = g_dbus_message_get_unix_fd_list (g_dbus_method_invocation_get_message (invocation));
  int length = list != NULL ? g_unix_fd_list_get_length (list) : 0;
  g_autoptr (GError) own_error = NULL;
  int handle;

  if (!g_variant_is_of_type (value, G_VARIANT_TYPE_HANDLE))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The option “%s” is of type h, not %s", fd_options[index],
                   g_variant_get_type_string (value));
      return FALSE;
    }
  if (fds[index] >= 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The option “%s” is given twice", fd_options[index]);
      return FALSE;
    }
  handle = g_variant_get_handle (value);
  if (handle < 0 || handle >= length)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "The option “%s” is handle %d, but the message has %d descriptor%s", fd_options[index], handle,
                   length, length == 1 ? "" : "s");
      return FALSE;
    }
  fds[index] = g_unix_fd_list_get (list, handle, &own_error);
  if (fds[index] < 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "%s: %s", fd_options[index], own_error->message);
  return fds[index] >= 0;
}

static gboolean
take_boolean (const char *key, GVariant *value, gboolean *taken, GError **error)
{
  if (!g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The option “%s” is of type b, not %s", key,
                   g_variant_get_type_string (value));
      return FALSE;
    }
  *taken = g_variant_get_boolean (value);
  return TRUE;
}

GVariant *
dvmd_bus_split_options (GDBusMethodInvocation *invocation, GVariant *dict, DvmdBusCallOptions *own, GError **error)
{
  gsize n_entries = g_variant_n_children (dict);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (gsize i = 0; i < n_entries; i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (dict, i);
      g_autoptr (GVariant) value = NULL;
      const char *key;
      gboolean taken;
      int index;

      g_variant_get (entry, "{&sv}", &key, &value);
      index = find_fd_option (key);
      if (strcmp (key, "signals") == 0)
        taken = take_boolean (key, value, &own->signals, error);
      else if (strcmp (key, "end-with-caller") == 0)
        taken = take_boolean (key, value, &own->end_with_caller, error);
      else if (index >= 0)
        taken = take_fd (invocation, index, value, own->fds, error);
      else
        {
          g_variant_builder_add_value (&builder, entry);
          continue;
        }
      if (!taken)
        {
          g_variant_builder_clear (&builder);
          dvmd_bus_call_options_close (own);
          return NULL;
        }
    }
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

void
dvmd_bus_submitted (DvmdBusServer *server, DvmdBusCaller *caller, DvmdJob *job, const DvmdBusCallOptions *own)
{
  g_autofree char *who = NULL;
  g_autoptr (DvmReason) reason = NULL;

  if (!own->end_with_caller)
    return;
  if (caller->peer != NULL)
    {
      dvmd_bus_caller_keep_job (caller, job);
      return;
    }
  who = dvmd_bus_caller_describe (caller);
  reason = _dvm_reason_new (DVM_REASON_SUBMITTER_LEFT, who);
  dvmd_controller_cancel_job_for (server->controller, job, reason, NULL);
}

/* ---- one job ---- */

typedef struct
{
  DvmdBusCallOptions own;
  DvmJobSpec *spec;
} Submission;

static void
submission_free (gpointer data)
{
  Submission *self = data;

  dvmd_bus_call_options_close (&self->own);
  g_clear_object (&self->spec);
  g_free (self);
}

DvmJobSpec *
dvmd_bus_read_spec (GDBusMethodInvocation *invocation, DvmdBusMakeSpec make, GVariant *programs, GVariant *dict,
                    DvmdBusCallOptions *own, DvmHostsRead *read, GError **error)
{
  g_autoptr (GVariant) options = dvmd_bus_split_options (invocation, dict, own, error);
  g_autoptr (DvmJobSpec) spec = options != NULL ? make (programs, options, error) : NULL;

  if (spec != NULL && _dvm_job_spec_load_hosts_counted (spec, "", read, error))
    return g_steal_pointer (&spec);
  dvmd_bus_call_options_close (own);
  return NULL;
}

static gpointer
read_submission (GDBusMethodInvocation *invocation, DvmdBusMakeSpec make, GError **error)
{
  GVariant *parameters = g_dbus_method_invocation_get_parameters (invocation);
  g_autoptr (GVariant) programs = g_variant_get_child_value (parameters, 0);
  g_autoptr (GVariant) dict = g_variant_get_child_value (parameters, 1);
  Submission self = { .own = DVMD_BUS_CALL_OPTIONS_INIT };
  DvmHostsRead read = { 0 };

  self.spec = dvmd_bus_read_spec (invocation, make, programs, dict, &self.own, &read, error);
  return self.spec != NULL ? g_memdup2 (&self, sizeof self) : NULL;
}

static gpointer
read_submit (GDBusMethodInvocation *invocation, GError **error)
{
  return read_submission (invocation, _dvm_job_spec_new_from_submit, error);
}

static gpointer
read_submit_apps (GDBusMethodInvocation *invocation, GError **error)
{
  return read_submission (invocation, dvm_job_spec_new_from_variant, error);
}

const DvmdBusReader dvmd_bus_submit_reader = { read_submit, submission_free };
const DvmdBusReader dvmd_bus_submit_apps_reader = { read_submit_apps, submission_free };

void
dvmd_bus_submit (DvmdBusCall *call)
{
  Submission *submission = call->read;
  g_autofree char *path = NULL;
  int fds[3];
  GError *error = NULL;
  DvmdJob *job;

  /* The connection wants to hear of this job only when it has subscribed. */
  call->peer->submits_quietly = !submission->own.signals;
  /* The controller takes them. */
  for (int i = 0; i < 3; i++)
    {
      fds[i] = submission->own.fds[i];
      submission->own.fds[i] = -1;
    }
  job = dvmd_controller_submit (call->controller, submission->spec, &call->caller->requester, fds, &error);
  if (job == NULL)
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  dvmd_bus_submitted (call->server, call->caller, job, &submission->own);
  path = dvmd_bus_path (DVMD_BUS_JOB, dvmd_job_get_id (job));
  dvmd_bus_return_value (call->invocation, g_variant_new ("(o)", path));
}
