/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions are told what to do: pause, resume, end.
 */

#include "config.h"

#include "dvm-cli-control.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-events.h"
#include "dvm-cli-interrupt.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-request.h"
#include "dvm-cli-signals.h"
#include "dvm-cli-spec.h"

/* ---- the end of sessions ---- */

typedef struct
{
  DvmClient *client;
  DvmCliEvents *events; /* followed from before the order on: nothing is missed */
  GHashTable *ended;    /* numbers */
} Ends;

static void
on_event (const DvmCliEvent *event, gpointer user_data)
{
  Ends *ends = user_data;

  if (strcmp (event->new_state, dvm_session_state_to_string (DVM_SESSION_STATE_ENDED)) == 0)
    g_hash_table_add (ends->ended, GUINT_TO_POINTER (event->id));
}

static gboolean
is_over (Ends *ends, DvmSession *session)
{
  return g_hash_table_contains (ends->ended, GUINT_TO_POINTER (dvm_session_get_id (session)))
         || !dvm_cli_events_knows (ends->events, dvm_session_get_object_path (session));
}

/* Those that were told to end are the ones that are ending. */
static gboolean
wait_for_ends (DvmCli *cli, Ends *ends, guint id, GError **error)
{
  g_autoptr (GPtrArray) sessions = dvm_client_list_sessions (ends->client, NULL, error);
  g_autoptr (DvmCliInterrupt) interrupt = NULL;

  interrupt = dvm_cli_interrupt_new (cli, g_strdup (_ ("the end goes on; 'dvm-cli sessions' lists what is left")));
  for (guint i = 0; sessions != NULL && i < sessions->len; i++)
    {
      DvmSession *session = g_ptr_array_index (sessions, i);
      gboolean is_meant = id == DVM_CLI_ALL_SESSIONS || id == dvm_session_get_id (session);

      if (!is_meant || dvm_session_get_state (session) != DVM_SESSION_STATE_TERMINATING)
        continue;
      while (dvm_client_get_connected (ends->client) && !is_over (ends, session))
        g_main_context_iteration (NULL, TRUE);
    }
  if (sessions == NULL || dvm_client_get_connected (ends->client))
    return sessions != NULL;
  g_set_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, _ ("the DVM has gone"));
  return FALSE;
}

/* ---- the order ---- */

static gboolean
add_job (GVariantDict *directives, DvmCliArgs *args, DvmClient *client, GError **error)
{
  g_autoptr (DvmJob) job = NULL;

  if (!dvm_cli_args_has (args, "job"))
    return TRUE;
  job = dvm_client_find_job (client, dvm_cli_args_get (args, "job"), NULL, error);
  if (job == NULL)
    return FALSE;
  g_variant_dict_insert (directives, "nspace", "s", dvm_job_get_nspace (job));
  return TRUE;
}

static GVariant *
make_directives (DvmCliArgs *args, DvmClient *client, const char *operation, GError **error)
{
  g_auto (GVariantDict) directives = G_VARIANT_DICT_INIT (NULL);

  if (strcmp (operation, "signal") == 0)
    g_variant_dict_insert (&directives, operation, "i", dvm_cli_signal_from_name (dvm_cli_args_get (args, "signal")));
  else
    g_variant_dict_insert (&directives, operation, "b", !dvm_cli_args_has (args, "undo"));
  if (!add_job (&directives, args, client, error))
    return NULL;
  return g_variant_ref_sink (g_variant_dict_end (&directives));
}

static gboolean
print_answer (GVariant *answer, GError **error)
{
  g_autoptr (GString) json = g_string_new (NULL);

  dvm_cli_json_append_value (json, answer);
  g_string_append_c (json, '\n');
  return dvm_cli_print (json->str, error);
}

/* (nullable) (transfer full): who ends a session that ends just now, and has been found, has what was wanted. */
static GVariant *
order_control (DvmClient *client, guint id, GVariant *directives, GError **error)
{
  GError *local_error = NULL;
  GVariant *answer = dvm_client_control_session (client, id, directives, NULL, &local_error);
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (NULL);
  g_autofree char *path = NULL;

  if (answer != NULL)
    return answer;
  if (!g_variant_lookup (directives, "terminate", "b", NULL)
      || !g_error_matches (local_error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    {
      g_propagate_error (error, local_error);
      return NULL;
    }
  g_error_free (local_error);
  path = g_strdup_printf ("/org/dvm/sessions/%u", id);
  g_variant_dict_insert (&dict, "session", "o", path);
  return g_variant_ref_sink (g_variant_dict_end (&dict));
}

static gboolean
control_session (DvmCli *cli, DvmClient *client, guint id, const char *operation, Ends *ends, GError **error)
{
  g_autoptr (GVariant) directives = make_directives (cli->args, client, operation, error);
  g_autoptr (GVariant) answer = NULL;

  if (directives == NULL || (ends != NULL && !dvm_cli_events_start (ends->events, error)))
    return FALSE;
  answer = order_control (client, id, directives, error);
  if (answer == NULL || (ends != NULL && !wait_for_ends (cli, ends, id, error)))
    return FALSE;
  return !cli->json || print_answer (answer, error);
}

gboolean
dvm_cli_control_session (DvmCli *cli, DvmClient *client, guint id, const char *operation, GError **error)
{
  g_autoptr (DvmCliEvents) events = NULL;
  g_autoptr (GHashTable) ended = g_hash_table_new (NULL, NULL);
  Ends ends = { .client = client, .ended = ended };

  if (!dvm_cli_args_has (cli->args, "wait"))
    return control_session (cli, client, id, operation, NULL, error);
  events = dvm_cli_events_new (client, DVM_CLI_EVENT_SESSION, on_event, &ends);
  ends.events = events;
  return control_session (cli, client, id, operation, &ends, error);
}

/* ---- a session for a job ---- */

/* There is no description of a job beside them: each has the placement of the first for its own. */
static void
give_placement (DvmJobSpec *spec)
{
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (spec, i);

      if (dvm_app_spec_get_map_by (app) == NULL)
        dvm_app_spec_set_map_by (app, dvm_job_spec_get_map_by (spec));
      if (dvm_app_spec_get_rank_by (app) == NULL)
        dvm_app_spec_set_rank_by (app, dvm_job_spec_get_rank_by (spec));
      if (dvm_app_spec_get_bind_to (app) == NULL)
        dvm_app_spec_set_bind_to (app, dvm_job_spec_get_bind_to (spec));
    }
}

/* (transfer full): aa{sv} */
static GVariant *
make_apps (DvmCli *cli, const char *const *words, GError **error)
{
  const DvmCliOption *const lists[] = { dvm_cli_app_options, NULL };
  g_autoptr (DvmCliArgs) args = dvm_cli_args_new ();
  g_autoptr (DvmJobSpec) spec = NULL;
  g_autoptr (GVariant) job = NULL;
  DvmCli program = *cli;

  if (!dvm_cli_args_parse (args, lists, words, DVM_CLI_PARSE_STOP_AT_WORD, error))
    return NULL;
  program.args = args;
  spec = dvm_cli_spec_new (&program, NULL, error);
  if (spec == NULL)
    return NULL;
  give_placement (spec);
  job = dvm_job_spec_to_variant (spec);
  return g_variant_get_child_value (job, 0);
}

static gboolean
print_started (GVariant *answer, GError **error)
{
  const char *alloc_id = "";
  const char *campaign = "/";
  const char *nspace = "";
  g_autofree char *line = NULL;

  g_variant_lookup (answer, "alloc-id", "&s", &alloc_id);
  g_variant_lookup (answer, "campaign", "&o", &campaign);
  g_variant_lookup (answer, "nspace", "&s", &nspace);
  campaign = strrchr (campaign, '/') + 1;
  line = g_strdup_printf ("%s %s %s\n", alloc_id, campaign[0] != '\0' ? campaign : "-", nspace);
  return dvm_cli_print (line, error);
}

gboolean
dvm_cli_instantiate_session (DvmCli *cli, DvmClient *client, const char *const *words, GError **error)
{
  g_auto (GVariantDict) directives = G_VARIANT_DICT_INIT (NULL);
  g_autoptr (GVariant) apps = make_apps (cli, words, error);
  g_autoptr (GVariant) answer = NULL;

  if (apps == NULL || !dvm_cli_request_fill (&directives, cli->args, client, error))
    return FALSE;
  g_variant_dict_insert (&directives, "instantiate", "b", TRUE);
  g_variant_dict_insert_value (&directives, "apps", apps);
  answer = dvm_client_control_session (client, 0, g_variant_dict_end (&directives), NULL, error);
  if (answer == NULL)
    return FALSE;
  return cli->json ? print_answer (answer, error) : print_started (answer, error);
}
