/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools that want jobs, and what they are told of those.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-environment.h"
#include "dvmd-agent-host.h"
#include "dvmd-call-kind.h"

/* (transfer full): the options, with the applications clean of the jobs that are spawned with the first one */
static GVariant *
clean_others (DvmdAgentJob *job, const DvmdLocalProc *proc, GVariant *options)
{
  g_autoptr (GVariant)
      others = g_variant_lookup_value (options, DVMD_SPAWN_WITH, G_VARIANT_TYPE (DVMD_SPAWN_WITH_TYPE));
  GVariantDict dict;
  GVariantBuilder rows;

  if (others == NULL)
    return g_variant_ref (options);
  g_variant_builder_init (&rows, G_VARIANT_TYPE (DVMD_SPAWN_WITH_TYPE));
  for (gsize i = 0; i < g_variant_n_children (others); i++)
    {
      g_autoptr (GVariant) apps = NULL;
      g_autoptr (GVariant) words = NULL;
      g_autoptr (GVariant) clean = NULL;

      g_variant_get_child (others, i, "(@aa{sv}@a{sv})", &apps, &words);
      clean = dvmd_agent_strip_defaults (job, proc, apps);
      g_variant_builder_add (&rows, "(@aa{sv}@a{sv})", clean, words);
    }
  g_variant_dict_init (&dict, options);
  g_variant_dict_insert_value (&dict, DVMD_SPAWN_WITH, g_variant_builder_end (&rows));
  return g_variant_ref_sink (g_variant_dict_end (&dict));
}

/* Open MPI hands on what it finds in its own environment: where its shared memory is, for one. */
GVariant *
dvmd_agent_clean_spawn (DvmdAgent *self, const char *nspace, const DvmdLocalProc *proc, GVariant *request)
{
  DvmdAgentJob *job = dvmd_agent_find_job_named (self, nspace);
  g_autoptr (GVariant) apps = g_variant_get_child_value (request, 0);
  g_autoptr (GVariant) given = g_variant_get_child_value (request, 1);
  g_autoptr (GVariant) options = clean_others (job, proc, given);
  g_autoptr (GVariant) own = NULL;
  guint32 timeout;
  guint32 streams;

  own = dvmd_agent_strip_defaults (job, proc, apps);
  g_variant_get_child (request, 2, "u", &timeout);
  g_variant_get_child (request, 3, "u", &streams);
  return g_variant_ref_sink (g_variant_new ("(@aa{sv}@a{sv}uu)", own, options, timeout, streams));
}

typedef struct
{
  gint32 event;
  const char *nspace;
  gint32 status;
  gint32 exit_code;
  const char *breakpoint; /* "": not known */
} JobEvent;

/* for_now: nobody who registers a handler later is told; floating */
static GVariant *
describe_job_event (const JobEvent *self, gboolean for_now)
{
  GVariantBuilder details;

  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  /* Debuggers of the reference await this one as something that is said of their server: the library filters by it. */
  if (self->event != DVMD_PMIX_READY_FOR_DEBUG)
    g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_AFFECTED_PROC,
                           g_variant_new ("(su)", self->nspace, DVMD_PMIX_RANK_WILDCARD));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_NSPACE, g_variant_new_string (self->nspace));
  if (self->event == DVMD_PMIX_EVENT_JOB_END)
    {
      g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_STATUS, g_variant_new ("(i)", self->status));
      g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_EXIT_CODE, g_variant_new_int32 (self->exit_code));
    }
  if (self->breakpoint[0] != '\0')
    g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_BREAKPOINT, g_variant_new_string (self->breakpoint));
  if (for_now)
    g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_DO_NOT_CACHE, g_variant_new_boolean (TRUE));
  return g_variant_builder_end (&details);
}

/* Tools that never ask for such events are not to fill what the library keeps for those who ask later. */
static void
tell_tools (DvmdAgent *self, const JobEvent *event, const DvmdPmixProc *spawner)
{
  g_autoptr (GArray) tools = g_array_new (FALSE, FALSE, sizeof (DvmdPmixProc));

  dvmd_agent_list_tools (self, tools);
  for (guint i = tools->len; i > 0; i--)
    if (g_str_equal (g_array_index (tools, DvmdPmixProc, i - 1).nspace, spawner->nspace))
      g_array_remove_index (tools, i - 1);
  if (tools->len > 0)
    dvmd_pmix_notify_event (dvmd_agent_get_pmix (self), event->event, NULL, (const DvmdPmixProc *)tools->data,
                            tools->len, describe_job_event (event, TRUE));
}

static void
handle_job_event (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  DvmdPmixProc spawner;
  JobEvent event;

  g_variant_get (body, "(&sui&sii&s)", &spawner.nspace, &spawner.rank, &event.event, &event.nspace, &event.status,
                 &event.exit_code, &event.breakpoint);
  if (!dvmd_agent_has_pmix (self))
    return;
  if (dvmd_agent_is_here (self, spawner.nspace, spawner.rank))
    dvmd_pmix_notify_event (dvmd_agent_get_pmix (self), event.event, NULL, &spawner, 1,
                            describe_job_event (&event, FALSE));
  tell_tools (self, &event, &spawner);
}

static GVariant *
describe_targets (const DvmdPmixProc *targets, guint n_targets)
{
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(su)"));
  for (guint i = 0; i < n_targets; i++)
    g_variant_builder_add (&rows, "(su)", targets[i].nspace, targets[i].rank);
  return g_variant_builder_end (&rows);
}

void
dvmd_agent_abort_procs (DvmdAgent *self, const char *nspace, guint32 rank, int status, const char *message,
                        const DvmdPmixProc *targets, guint n_targets)
{
  const DvmdLocalProc *proc = dvmd_agent_find_proc (self, nspace, rank);

  dvmd_agent_send (self, DVMD_MSG_ABORT_PROCS,
                   g_variant_new ("(suuis@a(su))", nspace, rank, proc != NULL ? (guint)proc->pid : 0, status,
                                  message != NULL ? message : "", describe_targets (targets, n_targets)));
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_JOB_EVENT, handle_job_event },
  { 0 },
};

const DvmdAgentService dvmd_agent_spawn_service = {
  .name = "spawn",
  .handlers = handlers,
};
