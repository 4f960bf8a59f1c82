/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvm-cli-session.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"

/* For people; JSON has the whole records. */
static const DvmCliColumn columns[] = {
  { NULL, N_ ("ID"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("ALLOCATION"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("STATE"), DVM_CLI_KIND_STATE },
  { NULL, N_ ("SHARED"), DVM_CLI_KIND_TEXT, 2 },
  { NULL, N_ ("REQUEST"), DVM_CLI_KIND_TEXT, 3 },
  { NULL, N_ ("OWNER"), DVM_CLI_KIND_TEXT, 1 },
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
    g_variant_new_string (dvm_session_get_shared (session) ? _ ("yes") : _ ("no")),
    dvm_cli_text (dvm_session_get_request_id (session)),
    dvm_cli_text (dvm_session_get_owner (session)),
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
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  gboolean ok;

  if (sessions == NULL)
    return DVM_CLI_EXIT_FAILED;
  for (guint i = 0; i < sessions->len && !cli->json; i++)
    add_session (table, g_ptr_array_index (sessions, i));
  ok = cli->json ? print_json (sessions, error) : dvm_cli_print_table (cli, table, error);
  return ok ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}
