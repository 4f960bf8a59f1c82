/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Submit and SubmitApps: a spec out of the arguments, descriptors out of the message, the job's path as answer.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-job-spec-private.h"
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
take_fd (DvmdBusCall *call, int index, GVariant *value, int fds[3], GError **error)
{
  GUnixFDList *list = g_dbus_message_get_unix_fd_list (g_dbus_method_invocation_get_message (call->invocation));
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
                   "The option “%s” is handle %d, but the message has %d descriptors", fd_options[index], handle,
                   length);
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
dvmd_bus_split_options (DvmdBusCall *call, GVariant *dict, DvmdBusCallOptions *own, GError **error)
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
        taken = take_fd (call, index, value, own->fds, error);
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
  g_autofree char *reason = NULL;

  if (!own->end_with_caller)
    return;
  if (caller->peer != NULL)
    {
      dvmd_bus_caller_keep_job (caller, job);
      return;
    }
  reason = g_strdup_printf ("%s, who ran it, has left", caller->requester.name);
  dvmd_controller_cancel_job (server->controller, job, reason, NULL);
}

static void
submit_spec (DvmdBusCall *call, DvmJobSpec *spec, DvmdBusCallOptions *own)
{
  g_autofree char *path = NULL;
  GError *error = NULL;
  DvmdJob *job;

  /* The connection wants to hear of this job only when it has subscribed. */
  call->peer->submits_quietly = !own->signals;
  job = dvmd_controller_submit (call->server->controller, spec, &call->caller->requester, own->fds, &error);
  if (job == NULL)
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  dvmd_bus_submitted (call->server, call->caller, job, own);
  path = dvmd_bus_job_path (dvmd_job_get_id (job));
  dvmd_bus_return_value (call->invocation, g_variant_new ("(o)", path));
}

typedef DvmJobSpec *(*MakeSpec) (GVariant *programs, GVariant *options, GError **error);

static void
submit (DvmdBusCall *call, MakeSpec make)
{
  g_autoptr (GVariant) programs = g_variant_get_child_value (call->parameters, 0);
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 1);
  g_autoptr (GVariant) options = NULL;
  g_autoptr (DvmJobSpec) spec = NULL;
  DvmdBusCallOptions own = DVMD_BUS_CALL_OPTIONS_INIT;
  GError *error = NULL;

  options = dvmd_bus_split_options (call, dict, &own, &error);
  if (options != NULL)
    spec = make (programs, options, &error);
  if (spec != NULL)
    submit_spec (call, spec, &own);
  else
    {
      dvmd_bus_call_options_close (&own);
      dvmd_bus_return_error (call->invocation, error);
    }
}

void
dvmd_bus_submit (DvmdBusCall *call)
{
  submit (call, _dvm_job_spec_new_from_submit);
}

void
dvmd_bus_submit_apps (DvmdBusCall *call)
{
  submit (call, dvm_job_spec_new_from_variant);
}
