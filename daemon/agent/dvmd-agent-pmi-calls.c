/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks that speak PMI ask the controller for what clients of PMIx ask: names are in one store for both.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-pmi-calls.h"

#include <string.h>
#include <unistd.h>

#include "dvmd-agent-pmi.h"
#include "dvmd-agent-private.h"

/* The number of the question is behind the job's in the token. */
#define QUESTION_SHIFT 32

/* request: floating */
static void
call (DvmdAgentJob *job, guint32 rank, guint number, DvmdCallKind kind, GVariant *request)
{
  const DvmdLocalProc *proc = dvmd_local_job_find_proc (job->local, rank);
  guint64 token = (guint64)DVMD_CALL_SERVER_PMI << DVMD_CALL_SERVER_SHIFT | (guint64)number << QUESTION_SHIFT
                  | job->local->id;

  dvmd_agent_send (job->agent, DVMD_MSG_CALL,
                   g_variant_new ("(tusuuv)", token, (guint)kind, job->local->nspace, rank, (guint)proc->pid, request));
}

void
dvmd_agent_pmi_ask_names (guint32 rank, guint number, DvmdPmiNames what, const char *service, const char *port,
                          gpointer user_data)
{
  static const DvmdPmixDataOp operations[] = {
    [DVMD_PMI_PUBLISH] = DVMD_PMIX_DATA_PUBLISH,
    [DVMD_PMI_UNPUBLISH] = DVMD_PMIX_DATA_UNPUBLISH,
    [DVMD_PMI_LOOK_UP] = DVMD_PMIX_DATA_LOOKUP,
  };
  const char *keys[] = { service, NULL };
  g_auto (GVariantDict) request = G_VARIANT_DICT_INIT (NULL);

  if (what == DVMD_PMI_PUBLISH)
    {
      GVariant *item = g_variant_new ("(s@ay)", service, dvmd_pmix_text_new (port));

      g_variant_dict_insert_value (&request, "items", g_variant_new_array (NULL, &item, 1));
    }
  else
    g_variant_dict_insert (&request, "keys", "^as", keys);
  call (user_data, rank, number, DVMD_CALL_DATA,
        g_variant_new ("(uuu@a{sv})", (guint)operations[what], (guint)geteuid (), (guint)getegid (),
                       g_variant_dict_end (&request)));
}

/* ---- spawn ---- */

typedef struct
{
  GVariantBuilder apps;
  GVariantBuilder info;  /* of DVMD_SPAWN_INFO */
  const char *directory; /* (nullable): of the program of the application that is being described */
  const char *failure;   /* (nullable): behind "msg=" */
} SpawnRequest;

static void
add_info (SpawnRequest *self, guint32 app, const char *key, const char *value)
{
  if (g_utf8_validate (key, -1, NULL))
    g_variant_builder_add (&self->info, "(us@ay)", app, key, dvmd_pmix_text_new (value));
  else
    self->failure = "a_key_is_not_in_UTF-8";
}

/* These are the keys that MPI reserves and that mean something here, and two that MPICH has. */
static void
take_info (SpawnRequest *self, guint32 app, GVariantDict *dict, const char *key, const char *value)
{
  if (g_str_equal (key, "wdir"))
    g_variant_dict_insert_value (dict, "cwd-bytes", g_variant_new_bytestring (value));
  else if (g_str_equal (key, "path"))
    self->directory = value;
  else if (g_str_equal (key, "host") || g_str_equal (key, "hosts") || g_str_equal (key, "hostfile"))
    {
      g_auto (GStrv) hosts = g_strsplit (value, ",", -1);

      if (!g_utf8_validate (value, -1, NULL))
        self->failure = "a_host_is_not_in_UTF-8";
      else if (g_str_equal (key, "hostfile"))
        g_variant_dict_insert (dict, "hostfile", "s", value);
      else
        g_variant_dict_insert (dict, "hosts", "^as", hosts);
    }
  else
    add_info (self, app, key, value);
}

/* (transfer full): as PMI has it, the directory is for a name, and may be only one */
static char *
find_program (SpawnRequest *self, const char *program)
{
  if (self->directory == NULL || program[0] == '/')
    return g_strdup (program);
  if (strchr (self->directory, ':') != NULL)
    self->failure = "path_is_more_than_one_directory";
  return g_build_filename (self->directory, program, NULL);
}

static void
add_app (SpawnRequest *self, guint32 number, const DvmdPmiSpawnApp *app)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (NULL);
  g_autofree char *program = NULL;

  self->directory = NULL;
  for (guint i = 0; i < app->info->len; i += 2)
    take_info (self, number, &dict, app->info->pdata[i], app->info->pdata[i + 1]);
  program = find_program (self, app->program);
  g_ptr_array_add (argv, program);
  g_ptr_array_extend (argv, app->args, NULL, NULL);
  g_variant_dict_insert_value (&dict, "argv-bytes",
                               g_variant_new_bytestring_array ((const char *const *)argv->pdata, (gssize)argv->len));
  g_variant_dict_insert (&dict, "np", "u", app->n_procs);
  g_variant_builder_add_value (&self->apps, g_variant_dict_end (&dict));
}

void
dvmd_agent_pmi_spawn (guint32 rank, guint number, const DvmdPmiSpawn *spawn, gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  g_auto (GVariantDict) options = G_VARIANT_DICT_INIT (NULL);
  g_autoptr (GVariant) request = NULL;
  SpawnRequest self = { .failure = NULL };

  g_variant_builder_init (&self.apps, G_VARIANT_TYPE ("aa{sv}"));
  g_variant_builder_init (&self.info, G_VARIANT_TYPE (DVMD_SPAWN_INFO_TYPE));
  add_info (&self, G_MAXUINT32, DVMD_PMI_SPAWNED, job->local->nspace);
  for (guint i = 0; i < spawn->preput->len; i += 2)
    add_info (&self, G_MAXUINT32, spawn->preput->pdata[i], spawn->preput->pdata[i + 1]);
  for (guint i = 0; i < spawn->apps->len; i++)
    add_app (&self, i, spawn->apps->pdata[i]);
  g_variant_dict_insert_value (&options, DVMD_SPAWN_INFO, g_variant_builder_end (&self.info));
  /* PMI has no word for that. */
  g_variant_dict_insert (&options, DVMD_SPAWN_NOTIFY, "b", FALSE);
  request = g_variant_ref_sink (g_variant_new ("(aa{sv}@a{sv}uu)", &self.apps, g_variant_dict_end (&options), 0, 0));
  if (self.failure == NULL)
    call (job, rank, number, DVMD_CALL_SPAWN, request);
  else
    dvmd_pmi_server_answered (dvmd_agent_find_pmi (job->agent, job->local->id), number, self.failure, NULL);
}

/* ---- the job that was spawned ---- */

void
dvmd_agent_seed_pmi (DvmdAgentJob *job, DvmdPmiServer *server)
{
  GVariant *info = job->options.pmix_info;

  for (gsize i = 0; info != NULL && i < g_variant_n_children (info); i++)
    {
      g_autoptr (GVariant) packed = NULL;
      const char *key;
      guint32 app;

      g_variant_get_child (info, i, "(u&s@ay)", &app, &key, &packed);
      if (app == G_MAXUINT32 && dvmd_pmix_text_get (packed) != NULL)
        dvmd_pmi_server_seed (server, key, dvmd_pmix_text_get (packed));
    }
}

gboolean
dvmd_agent_was_spawned_by_pmi (DvmdAgentJob *job)
{
  GVariant *info = job->options.pmix_info;

  for (gsize i = 0; info != NULL && i < g_variant_n_children (info); i++)
    {
      const char *key;

      g_variant_get_child (info, i, "(u&s@ay)", NULL, &key, NULL);
      if (g_str_equal (key, DVMD_PMI_SPAWNED))
        return TRUE;
    }
  return FALSE;
}

/* ---- answers ---- */

/* Behind "msg=", which ends at a space. NULL: nothing has failed */
static const char *
describe_status (DvmdCallKind kind, int status)
{
  switch (status)
    {
    case DVMD_PMIX_SUCCESS:
      return NULL;
    case DVMD_PMIX_ERR_DUPLICATE_KEY:
      return "key_already_present";
    case DVMD_PMIX_ERR_NOT_FOUND:
      return kind == DVMD_CALL_DATA ? "service_not_found" : "not_found";
    case DVMD_PMIX_ERR_JOB_EXE_NOT_FOUND:
      return "program_not_found";
    case DVMD_PMIX_ERR_JOB_APP_NOT_EXECUTABLE:
      return "program_not_executable";
    case DVMD_PMIX_ERR_JOB_ALLOC_FAILED:
    case DVMD_PMIX_ERR_JOB_FAILED_TO_MAP:
      return "no_place_for_it";
    case DVMD_PMIX_ERR_NO_PERMISSIONS:
      return "not_permitted";
    case DVMD_PMIX_ERR_OUT_OF_RESOURCE:
      return "no_room";
    case DVMD_PMIX_ERR_NOT_SUPPORTED:
      return "not_supported";
    default:
      return "failed";
    }
}

/* (transfer full) (nullable): what a publisher has said, be it of PMI or PMIx; "": it is no text */
static char *
dup_port (GVariant *answer)
{
  g_autoptr (GVariant) found = g_variant_get_child_value (answer, 0);
  g_autoptr (GVariant) packed = NULL;
  const char *text;

  if (g_variant_n_children (found) == 0)
    return NULL;
  g_variant_get_child (found, 0, "(&su&s@ay)", NULL, NULL, NULL, &packed);
  text = dvmd_pmix_text_get (packed);
  return g_strdup (text != NULL ? text : "");
}

void
dvmd_agent_answer_pmi_call (DvmdAgent *self, guint64 token, DvmdCallKind kind, int status, GVariant *answer)
{
  DvmdPmiServer *server = dvmd_agent_find_pmi (self, (guint32)token);
  guint number = (guint)(token >> QUESTION_SHIFT) & DVMD_PMI_QUESTION_MAX;
  g_autofree char *text = NULL;

  if (server == NULL)
    return;
  if (kind == DVMD_CALL_DATA && status == DVMD_PMIX_SUCCESS)
    text = dup_port (answer);
  else if (status == DVMD_PMIX_SUCCESS)
    g_variant_get (answer, "(s)", &text);
  dvmd_pmi_server_answered (server, number, describe_status (kind, status), text);
}
