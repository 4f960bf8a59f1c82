/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks that connect to ranks of other jobs: agents without ranks of a job are told of it when ranks there have to do
 * with it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-services.h"

#include "dvmd-core-sessions.h"
#include "dvmd-message.h"
#include "dvmd-controller-collectives.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *told;           /* job id -> set of ranks of agents that have no ranks of it, and know it */
  GHashTable *done_with;      /* job id -> set of ranks of agents where all ranks of a job that goes on have ended */
} Connect;

/* DVMD_JOB_INFO_TYPE, floating */
static GVariant *
describe_job (DvmdController *self, DvmdJob *job)
{
  DvmJobSpec *spec = dvmd_job_get_spec (job);
  DvmdMap *map = dvmd_job_get_map (job);
  GArray *sessions = dvmd_job_get_sessions (job);
  GVariantBuilder apps;

  g_variant_builder_init (&apps, G_VARIANT_TYPE (DVMD_JOB_INFO_APPS_TYPE));
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (spec, i);
      const char *cwd = dvm_app_spec_get_cwd (app);
      const char *pset = dvm_app_spec_get_pset (app);

      g_variant_builder_add (&apps, "(@aay@ays)", dvmd_variant_new_bytes_array (dvm_app_spec_get_argv (app)),
                             dvmd_variant_new_bytes (cwd != NULL ? cwd : g_get_home_dir ()), pset != NULL ? pset : "");
    }
  return g_variant_new ("(suuu@" DVMD_JOB_INFO_APPS_TYPE "@" DVMD_LAUNCH_MAP_TYPE ")",
                        dvm_job_get_nspace (dvmd_job_get_record (job)), map->num_procs,
                        dvmd_node_pool_count_slots (dvmd_core_get_nodes (dvmd_controller_get_core (self))),
                        sessions != NULL && sessions->len > 0 ? g_array_index (sessions, guint, 0) : 0,
                        g_variant_builder_end (&apps), dvmd_map_to_variant (map));
}

/* sets: job id -> set of ranks of agents. FALSE: it was there. */
static gboolean
add_agent (GHashTable *sets, DvmdJob *job, guint agent)
{
  gpointer id = GUINT_TO_POINTER (dvmd_job_get_id (job));
  GHashTable *agents = g_hash_table_lookup (sets, id);

  if (agents == NULL)
    {
      agents = g_hash_table_new (NULL, NULL);
      g_hash_table_insert (sets, id, agents);
    }
  return g_hash_table_add (agents, GUINT_TO_POINTER (agent));
}

/* An agent whose ranks of the job have all ended knows nothing of it any more. */
static gboolean
has_job (Connect *self, guint agent, DvmdJob *job)
{
  GHashTable *done = g_hash_table_lookup (self->done_with, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  return dvmd_map_count_on_node (dvmd_job_get_map (job), agent) > 0
         && (done == NULL || !g_hash_table_contains (done, GUINT_TO_POINTER (agent)));
}

void
dvmd_controller_tell_of_job (DvmdController *controller, guint agent, DvmdJob *job)
{
  Connect *self = dvmd_services_get (controller, &dvmd_connect_service);

  if (!has_job (self, agent, job) && add_agent (self->told, job, agent))
    dvmd_controller_send (controller, agent, DVMD_MSG_JOB_INFO, describe_job (controller, job));
}

void
dvmd_controller_agent_is_done (DvmdController *controller, guint agent, DvmdJob *job)
{
  Connect *self = dvmd_services_get (controller, &dvmd_connect_service);

  /* Of a job that has ended nobody asks any more. */
  if (dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED)
    add_agent (self->done_with, job, agent);
}

/* The agents that were told of the job may forget it. */
static void
job_ended (gpointer service, DvmdJob *job)
{
  Connect *self = service;
  gpointer id = GUINT_TO_POINTER (dvmd_job_get_id (job));
  GHashTable *agents = g_hash_table_lookup (self->told, id);
  GHashTableIter iter;
  gpointer agent;

  g_hash_table_remove (self->done_with, id);
  if (agents == NULL)
    return;
  g_hash_table_iter_init (&iter, agents);
  while (g_hash_table_iter_next (&iter, &agent, NULL))
    if (!dvmd_controller_is_lost (self->controller, GPOINTER_TO_UINT (agent)))
      dvmd_controller_send (self->controller, GPOINTER_TO_UINT (agent), DVMD_MSG_JOB_FORGET,
                            g_variant_new ("(s)", dvm_job_get_nspace (dvmd_job_get_record (job))));
  g_hash_table_remove (self->told, id);
}

static void
handle_connect (gpointer service, guint source, GVariant *body)
{
  g_autoptr (GVariant) participants = NULL;
  g_autoptr (GVariant) none = g_variant_ref_sink (g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, NULL, 0, 1));
  gboolean leave;
  guint64 token;
  guint32 timeout;
  gint32 status;

  g_variant_get (body, "(tb@a(su)ui)", &token, &leave, &participants, &timeout, &status);
  dvmd_controller_join_collective (((Connect *)service)->controller,
                                   leave ? DVMD_COLLECTIVE_DISCONNECT : DVMD_COLLECTIVE_CONNECT, source, token,
                                   participants, none, timeout, status);
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  Connect *self = service;

  dvmd_services_add_number (statistics, "jobs-known-elsewhere", g_hash_table_size (self->told));
  dvmd_services_add_number (statistics, "jobs-ended-in-part", g_hash_table_size (self->done_with));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Connect *self = g_new0 (Connect, 1);

  self->controller = controller;
  self->told = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
  self->done_with = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
  return self;
}

static void
connect_free (gpointer service)
{
  Connect *self = service;

  g_hash_table_unref (self->told);
  g_hash_table_unref (self->done_with);
  g_free (self);
}

static const DvmdHandler handlers[] = { { DVMD_MSG_CONNECT, handle_connect }, { 0 } };

const DvmdService dvmd_connect_service = {
  .name = "connect",
  .create = create,
  .free = connect_free,
  .handlers = handlers,
  .job_ended = job_ended,
  .add_statistics = add_statistics,
};
