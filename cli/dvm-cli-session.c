/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions are found by what people call them, and shown.
 */

#include "config.h"

#include "dvm-cli-session.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-await.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-screen.h"

/* ---- found ---- */

DvmSession *
dvm_cli_find_session_waiting (DvmClient *client, const char *reference, GCancellable *cancellable, GError **error)
{
  g_autofree char *shown = dvm_cli_escape (reference);
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) local_error = NULL;
  DvmSession *session = NULL;

  if (g_utf8_validate (reference, -1, NULL))
    {
      dvm_client_find_session_async (client, reference, cancellable, dvm_cli_ready, &result);
      session = dvm_client_find_session_finish (client, dvm_cli_await (&result), &local_error);
    }
  if (session == NULL && (local_error == NULL || g_error_matches (local_error, DVM_ERROR, DVM_ERROR_NOT_FOUND)))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                 _ ("there is no session '%s', or it has ended; 'dvm-cli sessions' lists them"), shown);
  else if (session == NULL)
    g_propagate_error (error, g_steal_pointer (&local_error));
  return session;
}

DvmSession *
dvm_cli_find_session (DvmClient *client, const char *reference, GError **error)
{
  return dvm_cli_find_session_waiting (client, reference, NULL, error);
}

/* ---- shown ---- */

static const char *
describe_use (DvmSession *session)
{
  return dvm_session_get_shared (session) ? _ ("shared") : _ ("reserved");
}

/* (transfer full): what is left of its time: "4m20s" */
static char *
describe_expiry (DvmSession *session)
{
  gint64 end = dvm_session_get_expires_at (session);
  gint64 left = (end - g_get_real_time ()) / G_USEC_PER_SEC;

  if (end == 0)
    return g_strdup ("");
  if (left < 0)
    return g_strdup (_ ("over"));
  if (left < 3600)
    return g_strdup_printf ("%dm%02ds", (int)(left / 60), (int)(left % 60));
  if (left < 100 * 3600)
    return g_strdup_printf ("%dh%02dm", (int)(left / 3600), (int)(left / 60 % 60));
  return g_strdup_printf ("%dd%02dh", (int)(left / 86400), (int)(left / 3600 % 24));
}

/* (transfer full): "/" is none */
static char *
describe_parent (DvmSession *session)
{
  const char *const parents[] = { dvm_session_get_parent (session), NULL };

  return dvm_cli_join_ids (parents);
}

/* For people; JSON has the whole records. */
static const DvmCliColumn list_columns[] = {
  { NULL, N_ ("ID"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("ALLOCATION"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("STATE"), DVM_CLI_KIND_STATE },
  { NULL, N_ ("USE"), DVM_CLI_KIND_TEXT, 5 },
  { NULL, N_ ("OWNER"), DVM_CLI_KIND_TEXT, 2 },
  { NULL, N_ ("REQUEST"), DVM_CLI_KIND_TEXT, 3 },
  { NULL, N_ ("PARENT"), DVM_CLI_KIND_TEXT, 1 },
  { NULL, N_ ("TIME LEFT"), DVM_CLI_KIND_TEXT, 4 },
  { NULL, N_ ("JOBS"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("NODES"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static void
add_session (DvmCliTable *table, DvmSession *session)
{
  GVariant *const values[] = {
    g_variant_new_uint32 (dvm_session_get_id (session)),
    dvm_cli_text (dvm_session_get_alloc_id (session)),
    dvm_cli_text (dvm_session_state_to_string (dvm_session_get_state (session))),
    dvm_cli_text (describe_use (session)),
    dvm_cli_text (dvm_session_get_owner (session)),
    dvm_cli_text (dvm_session_get_request_id (session)),
    dvm_cli_take_text (describe_parent (session)),
    dvm_cli_take_text (describe_expiry (session)),
    dvm_cli_take_text (dvm_cli_join_ids (dvm_session_get_jobs (session))),
    dvm_cli_take_text (g_strjoinv (",", (char **)dvm_session_get_nodes (session))),
  };

  dvm_cli_table_add (table, values);
}

static gboolean
print_json (GPtrArray *sessions, GError **error)
{
  g_autoptr (GString) json = g_string_new ("[");

  for (guint i = 0; i < sessions->len; i++)
    {
      g_autofree char *record = dvm_session_to_json (g_ptr_array_index (sessions, i));

      g_string_append_printf (json, "%s%s", i > 0 ? ",\n " : "", g_strchomp (record));
    }
  g_string_append (json, "]\n");
  return dvm_cli_print (json->str, error);
}

int
dvm_cli_list_sessions (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (GPtrArray) sessions = client != NULL ? dvm_client_list_sessions (client, NULL, error) : NULL;
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (list_columns);
  gboolean ok;

  if (sessions == NULL)
    return DVM_CLI_EXIT_FAILED;
  for (guint i = 0; i < sessions->len && !cli->json; i++)
    add_session (table, g_ptr_array_index (sessions, i));
  ok = cli->json ? print_json (sessions, error) : dvm_cli_print_table (cli, table, error);
  return ok ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

static const DvmCliColumn show_columns[] = {
  { NULL, N_ ("Session"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("Allocation"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Request"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("State"), DVM_CLI_KIND_STATE },
  { NULL, N_ ("Reason"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Nodes"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Use"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Jobs"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Owner"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Owners"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Inheritance"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Parent"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Children"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Separate"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("Expires"), DVM_CLI_KIND_TIME },
  { NULL, N_ ("Time left"), DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

gboolean
dvm_cli_show_session (DvmCli *cli, DvmSession *session, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (show_columns);
  g_autofree char *shown = NULL;
  GVariant *const values[] = {
    g_variant_new_uint32 (dvm_session_get_id (session)),
    dvm_cli_text (dvm_session_get_alloc_id (session)),
    dvm_cli_text (dvm_session_get_request_id (session)),
    dvm_cli_text (dvm_session_state_to_string (dvm_session_get_state (session))),
    dvm_cli_text (dvm_session_get_reason (session)),
    dvm_cli_take_text (g_strjoinv (",", (char **)dvm_session_get_nodes (session))),
    dvm_cli_text (describe_use (session)),
    dvm_cli_take_text (dvm_cli_join_ids (dvm_session_get_jobs (session))),
    dvm_cli_text (dvm_session_get_owner (session)),
    dvm_cli_take_text (g_strjoinv (",", (char **)dvm_session_get_owners (session))),
    dvm_cli_text (dvm_session_get_inheritance (session)),
    dvm_cli_take_text (describe_parent (session)),
    dvm_cli_take_text (dvm_cli_join_ids (dvm_session_get_children (session))),
    dvm_cli_text (dvm_session_get_separate (session) ? _ ("yes") : _ ("no")),
    g_variant_new_uint64 ((guint64)dvm_session_get_expires_at (session)),
    dvm_cli_take_text (describe_expiry (session)),
  };

  dvm_cli_table_add (table, values);
  if (cli->json)
    {
      shown = dvm_session_to_json (session);
      return dvm_cli_print (g_strchomp (shown), error) && dvm_cli_print ("\n", error);
    }
  shown = dvm_cli_table_to_list (table, dvm_cli_may_use_colour (cli));
  return dvm_cli_print (shown, error);
}
