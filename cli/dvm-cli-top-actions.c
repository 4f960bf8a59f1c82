/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each action is one call of the bus; its answer becomes a sentence.
 */

#include "config.h"

#include "dvm-cli-top-actions.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-table.h"

struct _DvmCliTopActions
{
  DvmClient *client;
  GCancellable *cancellable;
  DvmCliTopActionsFunc func;
  gpointer user_data;
};

static const struct
{
  DvmCliWatchPanel panel;
  const char *method;
  const char *done; /* marked for translation */
} actions[] = {
  [DVM_CLI_TOP_CANCEL_JOB] = { DVM_CLI_WATCH_JOBS, "Cancel", N_ ("job %u is being cancelled") },
  [DVM_CLI_TOP_HOLD_JOB] = { DVM_CLI_WATCH_JOBS, "Hold", N_ ("job %u waits until it is released") },
  [DVM_CLI_TOP_RELEASE_JOB] = { DVM_CLI_WATCH_JOBS, "Release", N_ ("job %u is not held any more") },
  [DVM_CLI_TOP_DRAIN_NODE] = { DVM_CLI_WATCH_NODES, "Drain", N_ ("node %u takes no new jobs") },
  [DVM_CLI_TOP_RESUME_NODE] = { DVM_CLI_WATCH_NODES, "Resume", N_ ("node %u takes jobs") },
  [DVM_CLI_TOP_CANCEL_CAMPAIGN] = { DVM_CLI_WATCH_CAMPAIGNS, "Cancel", N_ ("campaign %u is being taken back") },
};

static const struct
{
  const char *path;
  const char *interface;
} objects[] = {
  [DVM_CLI_WATCH_JOBS] = { "/org/dvm/jobs/%u", "org.dvm.Job" },
  [DVM_CLI_WATCH_NODES] = { "/org/dvm/nodes/%u", "org.dvm.Node" },
  [DVM_CLI_WATCH_CAMPAIGNS] = { "/org/dvm/campaigns/%u", "org.dvm.Campaign" },
};

/* An answer is about this; the actions have gone, if the call was cancelled. */
typedef struct
{
  DvmCliTopActions *actions;
  DvmCliTopAction action;
  guint id;
} Call;

DvmCliTopActions *
dvm_cli_top_actions_new (DvmClient *client, DvmCliTopActionsFunc func, gpointer user_data)
{
  DvmCliTopActions *self = g_new0 (DvmCliTopActions, 1);

  self->client = client;
  self->cancellable = g_cancellable_new ();
  self->func = func;
  self->user_data = user_data;
  return self;
}

void
dvm_cli_top_actions_free (DvmCliTopActions *self)
{
  g_cancellable_cancel (self->cancellable);
  g_object_unref (self->cancellable);
  g_free (self);
}

/* FALSE: nobody is there any more */
static gboolean
tell_error (DvmCliTopActions *self, GError *error)
{
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return FALSE;
  g_dbus_error_strip_remote_error (error);
  self->func (error->message, FALSE, self->user_data);
  return TRUE;
}

static void
tell_done (DvmCliTopActions *self, const char *sentence)
{
  self->func (sentence, FALSE, self->user_data);
}

/* FALSE: it has been told that there is no DVM */
static gboolean
has_dvm (DvmCliTopActions *self)
{
  if (dvm_client_get_connected (self->client))
    return TRUE;
  tell_done (self, _ ("the DVM has gone"));
  return FALSE;
}

static void
call_object (DvmCliTopActions *self, DvmCliWatchPanel panel, guint id, const char *interface, const char *method,
             GVariant *parameters, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autofree char *number = g_strdup_printf ("%u", id);
  g_auto (GStrv) parts = g_strsplit (objects[panel].path, "%u", 2);
  g_autofree char *path = g_strjoinv (number, parts);

  g_dbus_connection_call (dvm_client_get_dbus_connection (self->client), dvm_client_get_dbus_name_owner (self->client),
                          path, interface, method, parameters, NULL, G_DBUS_CALL_FLAGS_NO_AUTO_START, G_MAXINT,
                          self->cancellable, callback, user_data);
}

static void
on_done (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autofree Call *call = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);
  g_autofree char *number = g_strdup_printf ("%u", call->id);
  g_auto (GStrv) parts = g_strsplit (_ (actions[call->action].done), "%u", 2);
  g_autofree char *sentence = g_strjoinv (number, parts);

  if (reply == NULL)
    tell_error (call->actions, error);
  else
    tell_done (call->actions, sentence);
}

void
dvm_cli_top_actions_do (DvmCliTopActions *self, DvmCliTopAction action, guint id)
{
  GVariant *parameters;
  Call *call;

  if (!has_dvm (self))
    return;
  if (action == DVM_CLI_TOP_DRAIN_NODE)
    parameters = g_variant_new ("(s@a{sv})", "", g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0));
  else
    parameters = g_variant_new ("(@a{sv})", g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0));
  call = g_new (Call, 1);
  *call = (Call){ self, action, id };
  call_object (self, actions[action].panel, id, objects[actions[action].panel].interface, actions[action].method,
               parameters, on_done, call);
}

/* ---- the size of the DVM ---- */

static void
tell_change (DvmCliTopActions *self, DvmCampaign *campaign)
{
  g_autofree char *sentence = NULL;

  if (campaign == NULL)
    sentence = g_strdup (_ ("the DVM stays as it is"));
  else
    sentence = g_strdup_printf (_ ("campaign %u has begun"), dvm_campaign_get_id (campaign));
  tell_done (self, sentence);
}

static void
on_grow (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmCampaign) campaign = NULL;
  g_autofree char *alloc_id = NULL;
  g_autoptr (GError) error = NULL;

  if (dvm_client_grow_finish (DVM_CLIENT (source), result, &alloc_id, &campaign, &error))
    tell_change (user_data, campaign);
  else
    tell_error (user_data, error);
}

static void
on_shrink (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmCampaign) campaign = NULL;
  g_autofree char *alloc_id = NULL;
  g_autoptr (GError) error = NULL;

  if (dvm_client_shrink_finish (DVM_CLIENT (source), result, &alloc_id, &campaign, &error))
    tell_change (user_data, campaign);
  else
    tell_error (user_data, error);
}

/* (transfer floating) */
static GVariant *
make_request (const char *what, gboolean may_be_count)
{
  g_auto (GStrv) hosts = g_strsplit_set (what, ", ", -1);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  GVariantDict request;
  guint64 count;

  g_variant_dict_init (&request, NULL);
  if (may_be_count && g_ascii_string_to_unsigned (what, 10, 1, G_MAXUINT, &count, NULL))
    {
      g_variant_dict_insert (&request, "count", "u", (guint)count);
      return g_variant_dict_end (&request);
    }
  for (guint i = 0; hosts[i] != NULL; i++)
    if (hosts[i][0] != '\0')
      g_ptr_array_add (names, hosts[i]);
  g_variant_dict_insert_value (&request, "hosts", g_variant_new_strv ((const char *const *)names->pdata, names->len));
  return g_variant_dict_end (&request);
}

/* Hosts are not called by digits alone: a number that is none is told. */
static gboolean
check_count (DvmCliTopActions *self, const char *what)
{
  g_autoptr (GError) error = NULL;

  if (what[0] == '\0' || strspn (what, "0123456789") < strlen (what)
      || g_ascii_string_to_unsigned (what, 10, 1, G_MAXUINT, NULL, &error))
    return TRUE;
  tell_error (self, error);
  return FALSE;
}

void
dvm_cli_top_actions_grow (DvmCliTopActions *self, const char *what)
{
  if (has_dvm (self) && check_count (self, what))
    dvm_client_grow_async (self->client, make_request (what, TRUE), self->cancellable, on_grow, self);
}

void
dvm_cli_top_actions_shrink (DvmCliTopActions *self, const char *hosts)
{
  if (has_dvm (self))
    dvm_client_shrink_async (self->client, make_request (hosts, FALSE), self->cancellable, on_shrink, self);
}

/* ---- all about one object ---- */

/* (transfer full) */
static char *
describe_value (const char *name, GVariant *value)
{
  g_autofree char *text = NULL;

  if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING) || g_variant_is_of_type (value, G_VARIANT_TYPE_OBJECT_PATH))
    return dvm_cli_escape (g_variant_get_string (value, NULL));
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64) && g_variant_get_uint64 (value) > 0)
    return dvm_cli_format_time ((gint64)g_variant_get_uint64 (value));
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING_ARRAY)
      || g_variant_is_of_type (value, G_VARIANT_TYPE_OBJECT_PATH_ARRAY))
    {
      gboolean is_command = strcmp (name, "Command") == 0;
      g_autofree const char **items = g_variant_is_of_type (value, G_VARIANT_TYPE_STRING_ARRAY)
                                          ? g_variant_get_strv (value, NULL)
                                          : g_variant_get_objv (value, NULL);

      text = is_command ? g_strjoinv (" ", (char **)items) : dvm_cli_join_ids (items);
      return dvm_cli_escape (text);
    }
  text = g_variant_print (value, FALSE);
  return dvm_cli_escape (text);
}

static void
on_properties (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmCliTopActions *self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);
  g_autoptr (GVariant) properties = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  GVariantIter iter;
  const char *name;
  GVariant *value;

  if (reply == NULL)
    {
      tell_error (self, error);
      return;
    }
  properties = g_variant_get_child_value (reply, 0);
  g_variant_iter_init (&iter, properties);
  while (g_variant_iter_loop (&iter, "{&sv}", &name, &value))
    {
      g_autofree char *shown = describe_value (name, value);
      g_autofree char *key = dvm_cli_json_key (name);

      if (shown[0] != '\0')
        g_string_append_printf (text, "%-18s %s\n", key, shown);
    }
  self->func (text->str, TRUE, self->user_data);
}

void
dvm_cli_top_actions_show (DvmCliTopActions *self, DvmCliWatchPanel panel, guint id)
{
  if (has_dvm (self))
    call_object (self, panel, id, "org.freedesktop.DBus.Properties", "GetAll",
                 g_variant_new ("(s)", objects[panel].interface), on_properties, self);
}
