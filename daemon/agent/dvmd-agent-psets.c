/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Process sets: the processes and tools of this node are told of those of jobs that have processes here.
 *
 * PMIx_server_define_process_set() is not used: it waits for the library's thread, which may be waiting for us, and its
 * event reaches a client that registers a handler once more, or before it can have one.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-host.h"
#include "dvmd-agent-pmix.h"

#include <string.h>

/* The library keeps 260 bytes of each member of a set for each process that hears of the set later. */
#define MOST_TOLD 1024

/* The ids of the jobs whose sets have been told, and have not been deleted. */
static GHashTable *
get_defined (DvmdAgent *self)
{
  return dvmd_agent_services_get (self, &dvmd_agent_psets_service);
}

static gpointer
get_key (const DvmdAgentJob *job)
{
  return GUINT_TO_POINTER (job->local->id);
}

/* (nullable) (transfer container): the set of each application, "" for none */
static const char **
get_names (const DvmdAgentJob *job)
{
  return job->options.psets != NULL ? g_variant_get_strv (job->options.psets, NULL) : NULL;
}

/* Floating. In the order of the ranks; (nullable): they are too many to be told */
static GVariant *
list_members (const DvmdAgentJob *job, const char *const *names, const char *name)
{
  g_auto (GVariantBuilder) builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(su)"));
  guint64 n = 0;

  for (guint i = 0; i < job->apps->len && names[i] != NULL; i++)
    {
      const DvmdAgentApp *app = g_ptr_array_index (job->apps, i);

      if (strcmp (names[i], name) != 0)
        continue;
      n += app->size;
      for (guint32 k = 0; k < app->size && n <= MOST_TOLD; k++)
        g_variant_builder_add (&builder, "(su)", job->local->nspace, app->first_rank + k);
    }
  return n <= MOST_TOLD ? g_variant_builder_end (&builder) : NULL;
}

static void
define (DvmdAgentJob *job, const char *const *names, const char *name)
{
  GVariant *members = list_members (job, names, name);
  GVariantBuilder details;

  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_PSET_NAME, g_variant_new_string (name));
  if (members != NULL)
    g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_PSET_MEMBERS, members);
  dvmd_agent_tell_node (job, DVMD_PMIX_PROCESS_SET_DEFINE, g_variant_builder_end (&details));
}

/* Whether a job of this node, whose sets are not being deleted, has one of that name. */
static gboolean
is_shared (DvmdAgentJob *job, const char *name)
{
  g_autoptr (GList) jobs = dvmd_agent_list_jobs (job->agent);

  for (GList *l = jobs; l != NULL; l = l->next)
    {
      gboolean has_sets = g_hash_table_contains (get_defined (job->agent), get_key (l->data));
      g_autofree const char **names = has_sets ? get_names (l->data) : NULL;

      if (names != NULL && g_strv_contains (names, name))
        return TRUE;
    }
  return FALSE;
}

/* One that another job has does not go. */
static void delete (DvmdAgentJob *job, const char *const *names, const char *name)
{
  GVariantBuilder details;

  if (is_shared (job, name))
    return;
  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_PSET_NAME, g_variant_new_string (name));
  dvmd_agent_tell_node (job, DVMD_PMIX_PROCESS_SET_DELETE, g_variant_builder_end (&details));
}

/* Applications that name the same set are in it together. */
static void
for_each_set (DvmdAgentJob *job, void (*func) (DvmdAgentJob *job, const char *const *names, const char *name))
{
  g_autofree const char **names = get_names (job);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (names[i][0] != '\0' && g_hash_table_add (seen, (gpointer)names[i]))
      func (job, names, names[i]);
}

void
dvmd_agent_define_psets (DvmdAgentJob *job)
{
  if (job->options.psets != NULL && g_hash_table_add (get_defined (job->agent), get_key (job)))
    for_each_set (job, define);
}

void
dvmd_agent_delete_psets (DvmdAgentJob *job)
{
  if (g_hash_table_remove (get_defined (job->agent), get_key (job)))
    for_each_set (job, delete);
}

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  return g_hash_table_new (NULL, NULL);
}

static void
psets_free (gpointer service)
{
  g_hash_table_unref (service);
}

const DvmdAgentService dvmd_agent_psets_service = {
  .name = "psets",
  .create = create,
  .free = psets_free,
};
