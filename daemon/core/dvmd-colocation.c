/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The processes of other jobs beside which a job is placed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-colocation.h"

#include <string.h>

#include "dvm-placement-private.h"
#include "dvmd-core-parts.h"
#include "dvmd-id-set.h"
#include "dvmd-job-parts.h"
#include "dvmd-job-sessions.h"

#define JOBS_PATH "/org/dvm/jobs/"

typedef struct
{
  gboolean is_read;
  char *named; /* (nullable) */
} Beside;

static void
beside_clear (gpointer part)
{
  g_free (((Beside *)part)->named);
}

/* (transfer full) (nullable): all applications of such a job have the same words */
static char *
read_spec (DvmJobSpec *spec)
{
  const DvmPlacementWords words = _dvm_job_spec_get_placement (spec, 0);
  g_autoptr (DvmPlacement) placement = NULL;

  if (words.map_by == NULL || g_ascii_strncasecmp (words.map_by, "col", 3) != 0)
    return NULL;
  placement = _dvm_placement_parse (words.map_by, NULL, NULL, "", NULL);
  return placement != NULL && g_strcmp0 (placement->word, "colocate") == 0 ? g_steal_pointer (&placement->value) : NULL;
}

const char *
dvmd_colocation_get (DvmdJob *job)
{
  Beside *self = dvmd_job_get_part (job, DVMD_JOB_PART_BESIDE, sizeof (Beside), beside_clear);

  if (!self->is_read)
    self->named = read_spec (dvmd_job_get_spec (job));
  self->is_read = TRUE;
  return self->named;
}

G_GNUC_PRINTF (3, 4)
static gboolean
refuse_beside (GError **error, DvmError code, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, DVM_ERROR, code, "map-by: colocate: %s", message);
  return FALSE;
}

/* ---- jobs ---- */

/* A number, a path, or a namespace. */
static DvmdJob *
find_job (DvmdCore *core, const char *name)
{
  const char *number = g_str_has_prefix (name, JOBS_PATH) ? name + strlen (JOBS_PATH) : name;
  guint64 id;

  if (g_ascii_string_to_unsigned (number, 10, 1, G_MAXUINT, &id, NULL))
    return dvmd_core_get_job (core, (guint)id);
  return dvmd_core_find_job (core, name);
}

static gboolean
check_runs (DvmdJob *job, GError **error)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));
  DvmJobState state = dvmd_job_get_state (job);
  const char *name = dvm_job_state_to_string (state);

  if (dvmd_job_get_ended (job))
    return refuse_beside (error, DVM_ERROR_NOT_FOUND, "job %s has ended (%s): nothing of it runs", nspace, name);
  if (!dvm_job_state_is_live (state))
    return refuse_beside (error, DVM_ERROR_NOT_FOUND, "job %s is ending (%s)", nspace, name);
  if (dvmd_job_is_launched (job) && dvmd_job_get_procs (job) != NULL)
    return TRUE;
  return refuse_beside (error, DVM_ERROR_NOT_READY, "job %s does not run yet (%s)", nspace, name);
}

static gboolean
has_ended (const DvmdProcRow *row)
{
  return (row->flags & DVMD_PROC_ENDED) != 0 || !dvm_proc_state_is_live (row->state);
}

static void
add_process (GArray *shares, guint node)
{
  DvmdMapShare share = { node, 1 };
  DvmdMapShare *last = shares->len > 0 ? &g_array_index (shares, DvmdMapShare, shares->len - 1) : NULL;

  if (last != NULL && last->node == node)
    last->count++;
  else
    g_array_append_val (shares, share);
}

/* ranks (nullable): all of them that run */
static gboolean
add_processes (GArray *shares, DvmdJob *job, DvmdIdSet *ranks, GError **error)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));
  DvmdProcTable *procs = dvmd_job_get_procs (job);
  gboolean some = FALSE;
  guint rank;

  if (ranks != NULL && dvmd_id_set_next (ranks, procs->n_rows, &rank))
    return refuse_beside (error, DVM_ERROR_NOT_FOUND, "job %s has the ranks 0 to %u, %u is none of them", nspace,
                          procs->n_rows - 1, rank);
  for (rank = 0; rank < procs->n_rows; rank++)
    {
      const DvmdProcRow *row = dvmd_proc_table_row (procs, rank);

      if (ranks != NULL && !dvmd_id_set_contains (ranks, rank))
        continue;
      some = some || !has_ended (row);
      if (!has_ended (row))
        add_process (shares, row->node);
      else if (ranks != NULL)
        return refuse_beside (error, DVM_ERROR_NOT_FOUND, "rank %u of job %s has ended", rank, nspace);
    }
  return some || refuse_beside (error, DVM_ERROR_NOT_FOUND, "no process of job %s runs any more", nspace);
}

/* ranks (nullable): as they are written */
static gboolean
add_entry (GArray *shares, DvmdJob *job, const char *ranks, GError **error)
{
  g_autoptr (DvmdIdSet) set = NULL;
  g_autoptr (GError) local = NULL;

  if (!check_runs (job, error))
    return FALSE;
  if (ranks != NULL)
    {
      set = dvmd_id_set_parse (ranks, "ranks", &local);
      if (set == NULL)
        return refuse_beside (error, DVM_ERROR_BAD_PARAM, "%s", local->message);
    }
  return add_processes (shares, job, set, error);
}

/* entries: JOB or JOB:RANKS. (transfer container) (nullable): the job of each */
static GPtrArray *
list_jobs (DvmdCore *core, char **entries, GError **error)
{
  g_autoptr (GPtrArray) jobs = g_ptr_array_new ();

  for (gsize i = 0; entries[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (entries[i], ":", 2);
      DvmdJob *job = find_job (core, parts[0]);

      if (job == NULL || g_ptr_array_find (jobs, job, NULL))
        {
          if (job == NULL)
            refuse_beside (error, DVM_ERROR_NOT_FOUND, "there is no job “%s”", parts[0]);
          else
            refuse_beside (error, DVM_ERROR_BAD_PARAM, "job %s is named twice: its ranks are written 0-3,8",
                           dvm_job_get_nspace (dvmd_job_get_record (job)));
          return NULL;
        }
      g_ptr_array_add (jobs, job);
    }
  return g_steal_pointer (&jobs);
}

/* (transfer full) (nullable) */
static GArray *
list_shares (DvmdCore *core, const char *named, GError **error)
{
  g_autoptr (GArray) shares = g_array_new (FALSE, FALSE, sizeof (DvmdMapShare));
  g_auto (GStrv) entries = g_strsplit (named, "+", -1);
  g_autoptr (GPtrArray) jobs = list_jobs (core, entries, error);

  for (guint i = 0; jobs != NULL && i < jobs->len; i++)
    {
      const char *colon = strchr (entries[i], ':');

      if (!add_entry (shares, jobs->pdata[i], colon != NULL ? colon + 1 : NULL, error))
        return NULL;
    }
  return jobs != NULL ? g_steal_pointer (&shares) : NULL;
}

/* ---- nodes ---- */

/* A node takes processes of the job, as it would those of any other. */
static gboolean
check_node (DvmdJob *job, guint rank, GError **error)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (dvmd_job_get_core (job));
  DvmdNode *node = dvmd_node_pool_get (pool, rank);
  const char *name = dvmd_node_pool_get_name (pool, rank);

  if (node == NULL || node->barred)
    return refuse_beside (error, DVM_ERROR_MAP_FAILED, "node %s is leaving the DVM", name);
  if (dvmd_node_is_drained (node))
    return refuse_beside (error, DVM_ERROR_MAP_FAILED, "node %s is drained: it takes no more jobs", name);
  if (dvm_node_get_state (node->record) != DVM_NODE_STATE_UP)
    return refuse_beside (error, DVM_ERROR_MAP_FAILED, "node %s is not up", name);
  if (!dvmd_job_may_use (job, node))
    return refuse_beside (error, DVM_ERROR_MAP_FAILED, "node %s is not one of the sessions that the job is in%s", name,
                          dvmd_node_is_reserved (node) ? ": it is reserved" : "");
  return TRUE;
}

GArray *
dvmd_colocation_find (DvmdJob *job, GError **error)
{
  g_autoptr (GArray) shares = list_shares (dvmd_job_get_core (job), dvmd_colocation_get (job), error);

  for (guint i = 0; shares != NULL && i < shares->len; i++)
    if (!check_node (job, g_array_index (shares, DvmdMapShare, i).node, error))
      return NULL;
  return g_steal_pointer (&shares);
}

gboolean
dvmd_colocation_list_jobs (DvmdCore *core, DvmJobSpec *spec, GPtrArray **jobs, GError **error)
{
  g_autofree char *named = read_spec (spec);
  g_auto (GStrv) entries = named != NULL ? g_strsplit (named, "+", -1) : NULL;

  *jobs = named != NULL ? list_jobs (core, entries, error) : NULL;
  return named == NULL || *jobs != NULL;
}

gboolean
dvmd_colocation_check (DvmdCore *core, DvmJobSpec *spec, GError **error)
{
  g_autofree char *named = read_spec (spec);
  g_autoptr (GArray) shares = named != NULL ? list_shares (core, named, error) : NULL;

  return named == NULL || shares != NULL;
}

gboolean
dvmd_colocation_is_beside (DvmdJob *job, DvmdJob *other)
{
  const char *named = dvmd_colocation_get (job);
  g_auto (GStrv) entries = named != NULL ? g_strsplit (named, "+", -1) : NULL;

  for (gsize i = 0; entries != NULL && entries[i] != NULL; i++)
    {
      entries[i][strcspn (entries[i], ":")] = '\0';
      if (find_job (dvmd_job_get_core (job), entries[i]) == other)
        return TRUE;
    }
  return FALSE;
}
