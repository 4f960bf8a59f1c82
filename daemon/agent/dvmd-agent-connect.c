/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks that connect to ranks of other jobs: the PMIx server of this node must know those jobs, too. They are its
 * guests.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-host.h"
#include "dvmd-agent-pmix.h"

#include "dvmd-log.h"

/* An answer about a job that the server is just being told of, or that job's end. */
typedef struct
{
  void (*give) (DvmdAgent *self, GVariant *body);
  GVariant *body;
} Answer;

typedef struct
{
  DvmdAgent *agent;  /* unowned */
  GHashTable *known; /* set of namespaces of jobs without ranks here that the PMIx server knows */
  guint n_coming;    /* of them, that are not registered yet */
  GQueue deferred;   /* Answer, that wait for them */
} Guests;

/* A guest is the namespace of a job without ranks here, while its registration is under way. */
typedef struct
{
  DvmdAgent *agent;
  char *nspace;
} Guest;

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  g_variant_unref (answer->body);
  g_free (answer);
}

static Guests *
get_guests (DvmdAgent *self)
{
  return dvmd_agent_services_get (self, &dvmd_agent_connect_service);
}

void
dvmd_agent_connect (DvmdPmixHost *host, guint64 token, gboolean leave, const DvmdPmixProc *participants,
                    guint n_participants, guint timeout)
{
  DvmdAgent *self = (DvmdAgent *)host;
  gint32 status = DVMD_PMIX_SUCCESS;
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(su)"));
  for (guint i = 0; i < n_participants; i++)
    {
      g_variant_builder_add (&rows, "(su)", participants[i].nspace, participants[i].rank);
      if (dvmd_agent_has_lost_participant (self, &participants[i]))
        status = DVMD_PMIX_ERR_LOST_CONNECTION;
    }
  dvmd_agent_send (self, DVMD_MSG_CONNECT, g_variant_new ("(tba(su)ui)", token, leave, &rows, timeout, status));
}

/* ---- answers wait for the jobs that they are about ---- */

/*
 * While a job is being registered the library asks again what it has asked about it; an answer to the first question
 * before that would leave the second one without a questioner.
 */
void
dvmd_agent_give_or_defer (DvmdAgent *self, void (*give) (DvmdAgent *self, GVariant *body), GVariant *body)
{
  Guests *guests = get_guests (self);
  Answer *answer;

  if (guests->n_coming == 0)
    {
      give (self, body);
      return;
    }
  answer = g_new0 (Answer, 1);
  answer->give = give;
  answer->body = g_variant_ref (body);
  g_queue_push_tail (&guests->deferred, answer);
}

static void
give_deferred (DvmdAgent *self)
{
  Guests *guests = get_guests (self);
  Answer *answer;

  while (guests->n_coming == 0 && (answer = g_queue_pop_head (&guests->deferred)) != NULL)
    {
      answer->give (self, answer->body);
      answer_free (answer);
    }
}

static void
give_connected (DvmdAgent *self, GVariant *body)
{
  guint64 token;
  gint32 status;

  g_variant_get (body, "(ti)", &token, &status);
  dvmd_pmix_complete_connect (dvmd_agent_get_pmix (self), token, status);
}

static void
handle_connected (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Guests *)service)->agent;
  dvmd_agent_give_or_defer (self, give_connected, body);
}

static void
give_modex (DvmdAgent *self, GVariant *body)
{
  g_autoptr (GVariant) data = NULL;
  g_autoptr (GBytes) bytes = NULL;
  guint64 token;
  gint32 status;

  g_variant_get (body, "(ti@ay)", &token, &status, &data);
  bytes = g_variant_get_data_as_bytes (data);
  dvmd_pmix_complete_direct_modex (dvmd_agent_get_pmix (self), token, status, bytes);
}

static void
handle_modex_answer (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Guests *)service)->agent;
  dvmd_agent_give_or_defer (self, give_modex, body);
}

/* ---- guests ---- */

static void
on_registered (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Guest *guest = user_data;
  g_autoptr (DvmdAgent) self = guest->agent;
  Guests *guests = get_guests (self);
  g_autoptr (GError) error = NULL;

  guests->n_coming--;
  if (!dvmd_pmix_register_job_finish (DVMD_PMIX (source), result, &error))
    {
      dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, guest->nspace,
                    "the ranks of node %s cannot be told of this job: %s", dvmd_agent_get_parts (self)->name,
                    error->message);
      g_hash_table_remove (guests->known, guest->nspace);
    }
  if (dvmd_agent_has_pmix (self))
    give_deferred (self);
  g_free (guest->nspace);
  g_free (guest);
}

static guint32
count_ranks (DvmdMap *map, guint app)
{
  guint32 n = 0;

  for (guint i = 0; i < map->rows->len; i++)
    {
      const DvmdMapRow *row = &g_array_index (map->rows, DvmdMapRow, i);

      if (row->app == app)
        n += row->n_nodes * row->count;
    }
  return n;
}

static DvmdPmixJob *
describe_guest (DvmdAgent *self, GVariant *body, GError **error)
{
  g_autoptr (GVariant) apps = NULL;
  g_autoptr (GVariant) rows = NULL;
  g_autoptr (DvmdMap) map = NULL;
  DvmdPmixJob *job;
  const char *nspace;
  guint32 universe;
  guint32 session;

  g_variant_get (body, "(&suuu@" DVMD_JOB_INFO_APPS_TYPE "@" DVMD_LAUNCH_MAP_TYPE ")", &nspace, NULL, &universe,
                 &session, &apps, &rows);
  map = dvmd_map_new_from_variant (rows, error);
  if (map == NULL)
    return NULL;
  job = dvmd_agent_describe_nodes (self, nspace, map);
  job->universe_size = universe;
  job->session_id = session;
  for (gsize i = 0; i < g_variant_n_children (apps); i++)
    {
      g_autoptr (GVariant) app = g_variant_get_child_value (apps, i);
      g_autoptr (GVariant) arguments = g_variant_get_child_value (app, 0);
      g_autoptr (GVariant) directory = g_variant_get_child_value (app, 1);
      g_auto (GStrv) argv = dvmd_variant_dup_bytes_array (arguments);
      g_autofree char *cwd = dvmd_variant_dup_bytes (directory);
      const char *pset;

      g_variant_get_child (app, 2, "&s", &pset);
      dvmd_pmix_job_add_app (job, (const char *const *)argv, cwd, count_ranks (map, i));
      dvmd_pmix_job_set_pset (job, i, pset);
    }
  dvmd_agent_describe_ranks (job, map, NULL);
  return job;
}

static void
handle_job_info (gpointer service, guint source, GVariant *body)
{
  Guests *guests = service;
  DvmdAgent *self = guests->agent;
  g_autoptr (DvmdPmixJob) job = NULL;
  g_autoptr (GError) error = NULL;
  const char *nspace;
  Guest *guest;

  g_variant_get_child (body, 0, "&s", &nspace);
  if (!dvmd_agent_has_pmix (self) || dvmd_agent_find_job_named (self, nspace) != NULL
      || g_hash_table_contains (guests->known, nspace))
    return;
  job = describe_guest (self, body, &error);
  if (job == NULL)
    {
      /* A controller of the same build does not send such a message. */
      g_critical ("What is said of job %s cannot be used: %s", nspace, error->message);
      return;
    }
  guest = g_new0 (Guest, 1);
  guest->agent = g_object_ref (self);
  guest->nspace = g_strdup (nspace);
  g_hash_table_add (guests->known, g_strdup (nspace));
  guests->n_coming++;
  dvmd_pmix_register_job_async (dvmd_agent_get_pmix (self), job, on_registered, guest);
}

static void
forget_guest (DvmdAgent *self, GVariant *body)
{
  const char *nspace;

  g_variant_get (body, "(&s)", &nspace);
  if (g_hash_table_remove (get_guests (self)->known, nspace) && dvmd_agent_has_pmix (self))
    dvmd_pmix_deregister_job_async (dvmd_agent_get_pmix (self), nspace, NULL, NULL);
}

/* Not before the answers that came before it: the library has nowhere to put them when the job is gone. */
static void
handle_job_forget (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Guests *)service)->agent;
  dvmd_agent_give_or_defer (self, forget_guest, body);
}

/* ---- the service ---- */

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  Guests *self = g_new0 (Guests, 1);

  self->agent = agent;
  self->known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_queue_init (&self->deferred);
  return self;
}

/* The server is stopped: nobody is answered any more. */
static void
guests_free (gpointer service)
{
  Guests *self = service;

  g_queue_clear_full (&self->deferred, answer_free);
  g_hash_table_unref (self->known);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_CONNECTED, handle_connected },
  { DVMD_MSG_MODEX_ANSWER, handle_modex_answer },
  { DVMD_MSG_JOB_INFO, handle_job_info },
  { DVMD_MSG_JOB_FORGET, handle_job_forget },
  { 0 },
};

const DvmdAgentService dvmd_agent_connect_service = {
  .name = "connect",
  .create = create,
  .free = guests_free,
  .handlers = handlers,
};
