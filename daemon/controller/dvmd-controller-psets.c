/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Process sets: those that the specifications of jobs name, and those that processes and tools define by job control.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-psets.h"

#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvmd-controller-events.h"
#include "dvmd-controller-jobs.h"
#include "dvmd-id-set.h"
#include "dvmd-rights.h"
#include "dvmd-services.h"

/* Open MPI asks for all of them, and lists them in one string. */
#define MOST_DEFINED 4096
/* As many as an event lists of a set that a job has of its start. */
#define MOST_TOLD 1024

typedef struct
{
  DvmdController *controller; /* unowned */
  GPtrArray *defined;         /* Pset */
} Psets;

typedef struct
{
  char *name;
  guint definer;       /* the id of its job; 0: a tool */
  GHashTable *members; /* id of a job -> DvmdIdSet of its ranks */
} Pset;

static DvmdCore *
get_core (const Psets *self)
{
  return dvmd_controller_get_core (self->controller);
}

static void
pset_free (gpointer data)
{
  Pset *pset = data;

  g_free (pset->name);
  g_hash_table_unref (pset->members);
  g_free (pset);
}

static Pset *
pset_new (const char *name, DvmdJob *definer)
{
  Pset *pset = g_new0 (Pset, 1);

  pset->name = g_strdup (name);
  pset->definer = definer != NULL ? dvmd_job_get_id (definer) : 0;
  pset->members = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_id_set_free);
  return pset;
}

/* (transfer none) (nullable) */
static DvmdIdSet *
get_ranks (const Pset *pset, DvmdJob *job)
{
  return g_hash_table_lookup (pset->members, GUINT_TO_POINTER (dvmd_job_get_id (job)));
}

/* ---- what there is ---- */

/* Jobs that live and have been placed: the one that is asked for, or all. */
static GPtrArray *
list_jobs (Psets *self, DvmdJob *only)
{
  GPtrArray *jobs = dvmd_core_list_jobs (get_core (self), FALSE);

  for (guint i = jobs->len; i-- > 0;)
    if (dvmd_job_get_procs (jobs->pdata[i]) == NULL || (only != NULL && only != jobs->pdata[i]))
      g_ptr_array_remove_index (jobs, i);
  return jobs;
}

static void
add_name (GPtrArray *names, GHashTable *seen, const char *name)
{
  if (name != NULL && g_hash_table_add (seen, (gpointer)name))
    g_ptr_array_add (names, (gpointer)name);
}

GPtrArray *
dvmd_controller_list_psets (DvmdController *controller, DvmdJob *only)
{
  Psets *self = dvmd_services_get (controller, &dvmd_psets_service);
  g_autoptr (GPtrArray) jobs = list_jobs (self, only);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < jobs->len; i++)
    {
      DvmJobSpec *spec = dvmd_job_get_spec (jobs->pdata[i]);

      for (guint k = 0; k < dvm_job_spec_get_n_apps (spec); k++)
        add_name (names, seen, dvm_app_spec_get_pset (dvm_job_spec_get_app (spec, k)));
    }
  for (guint i = 0; i < self->defined->len; i++)
    {
      const Pset *pset = self->defined->pdata[i];

      if (only == NULL || get_ranks (pset, only) != NULL)
        add_name (names, seen, pset->name);
    }
  return names;
}

static gboolean
has_pset (DvmJobSpec *spec, const char *name)
{
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    if (g_strcmp0 (dvm_app_spec_get_pset (dvm_job_spec_get_app (spec, i)), name) == 0)
      return TRUE;
  return FALSE;
}

/* ranks (nullable): of the job in a set that was defined; else those whose applications are in it */
static guint64
add_members (DvmdJob *job, const char *name, DvmdIdSet *ranks, GVariantBuilder *members, guint64 n, guint64 limit)
{
  DvmJobSpec *spec = dvmd_job_get_spec (job);
  DvmdProcTable *procs = dvmd_job_get_procs (job);
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));

  for (guint rank = 0; rank < procs->n_rows && n <= limit; rank++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (spec, dvmd_proc_table_row (procs, rank)->app);

      if (ranks != NULL ? !dvmd_id_set_contains (ranks, rank) : g_strcmp0 (dvm_app_spec_get_pset (app), name) != 0)
        continue;
      if (++n <= limit)
        g_variant_builder_add (members, "(su)", nspace, rank);
    }
  return n;
}

/* (transfer none) (nullable) */
static Pset *
find_defined (Psets *self, const char *name)
{
  for (guint i = 0; i < self->defined->len; i++)
    if (g_str_equal (((Pset *)self->defined->pdata[i])->name, name))
      return self->defined->pdata[i];
  return NULL;
}

guint64
dvmd_controller_list_pset_members (DvmdController *controller, const char *name, DvmdJob *only,
                                   GVariantBuilder *members, guint64 limit)
{
  Psets *self = dvmd_services_get (controller, &dvmd_psets_service);
  g_autoptr (GPtrArray) jobs = list_jobs (self, only);
  Pset *pset = find_defined (self, name);
  guint64 n = 0;

  for (guint i = 0; i < jobs->len && n <= limit; i++)
    {
      DvmdIdSet *ranks = pset != NULL ? get_ranks (pset, jobs->pdata[i]) : NULL;

      if (ranks != NULL || has_pset (dvmd_job_get_spec (jobs->pdata[i]), name))
        n = add_members (jobs->pdata[i], name, ranks, members, n, limit);
    }
  return n;
}

/* ---- one is defined ---- */

static gboolean
check_name (Psets *self, const char *name, GError **error)
{
  if (!_dvm_app_spec_check_pset (name, "", error))
    return FALSE;
  if (self->defined->len >= MOST_DEFINED)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "There are %d process sets already, as many as can be",
                   MOST_DEFINED);
      return FALSE;
    }
  for (DvmdJob *job = dvmd_core_next_job (get_core (self), NULL, FALSE); job != NULL;
       job = dvmd_core_next_job (get_core (self), job, FALSE))
    if (has_pset (dvmd_job_get_spec (job), name))
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "Job %s has a process set “%s”",
                     dvm_job_get_nspace (dvmd_job_get_record (job)), name);
        return FALSE;
      }
  if (find_defined (self, name) == NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "There is a process set “%s” already", name);
  return FALSE;
}

/* (transfer none) (nullable): NULL with an error */
static DvmdJob *
find_job (Psets *self, const DvmdRequester *requester, const char *nspace, GError **error)
{
  DvmdJob *job = dvmd_core_find_job (get_core (self), nspace);

  if (job == NULL || dvmd_job_get_ended (job))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no job %s, or it has ended", nspace);
  else if (!dvmd_core_may (get_core (self), requester, DVMD_RIGHT_JOB, NULL, job, error))
    return NULL;
  else if (dvmd_job_get_procs (job) == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "Job %s has no processes yet", nspace);
  else
    return job;
  return NULL;
}

static gboolean
add_ranks (Psets *self, Pset *pset, const DvmdRequester *requester, const char *nspace, guint32 rank, GError **error)
{
  DvmdJob *job = find_job (self, requester, nspace, error);
  guint32 size = job != NULL ? dvmd_job_get_procs (job)->n_rows : 0;
  gboolean whole = rank == DVMD_PMIX_RANK_WILDCARD;
  DvmdIdSet *ranks;

  if (job == NULL)
    return FALSE;
  if (size == 0 || (!whole && rank >= size))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %s has no process %u", nspace, rank);
      return FALSE;
    }
  ranks = get_ranks (pset, job);
  if (ranks == NULL)
    {
      ranks = dvmd_id_set_new ();
      g_hash_table_insert (pset->members, GUINT_TO_POINTER (dvmd_job_get_id (job)), ranks);
    }
  dvmd_id_set_add_range (ranks, whole ? 0 : rank, whole ? size - 1 : rank);
  return TRUE;
}

/* The jobs of its members, that which has defined it, and all tools. details: taken if floating */
static void
tell (Psets *self, const Pset *pset, int status, GVariant *details)
{
  g_autoptr (GPtrArray) jobs = g_ptr_array_new ();

  for (DvmdJob *job = dvmd_core_next_job (get_core (self), NULL, FALSE); job != NULL;
       job = dvmd_core_next_job (get_core (self), job, FALSE))
    if (get_ranks (pset, job) != NULL || dvmd_job_get_id (job) == pset->definer)
      g_ptr_array_add (jobs, job);
  dvmd_controller_tell_jobs (self->controller, jobs, status, details);
}

static void
tell_defined (Psets *self, const Pset *pset)
{
  g_auto (GVariantBuilder) members = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(su)"));
  GVariantBuilder details;

  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_PSET_NAME, g_variant_new_string (pset->name));
  if (dvmd_controller_list_pset_members (self->controller, pset->name, NULL, &members, MOST_TOLD) <= MOST_TOLD)
    g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_PSET_MEMBERS, g_variant_builder_end (&members));
  tell (self, pset, DVMD_PMIX_PROCESS_SET_DEFINE, g_variant_builder_end (&details));
}

static gboolean
define (Psets *self, const DvmdRequester *requester, const char *nspace, const char *name, GVariant *rows,
        GError **error)
{
  DvmdJob *definer = dvmd_core_find_job (get_core (self), nspace);
  Pset *pset = pset_new (name, definer);
  gboolean good = check_name (self, name, error);
  GVariantIter iter;
  const char *target;
  guint32 rank;

  if (good && g_variant_n_children (rows) == 0)
    good = add_ranks (self, pset, requester, nspace, DVMD_PMIX_RANK_WILDCARD, error);
  g_variant_iter_init (&iter, rows);
  while (good && g_variant_iter_next (&iter, "(&su)", &target, &rank))
    good = add_ranks (self, pset, requester, target, rank, error);
  if (!good)
    {
      pset_free (pset);
      return FALSE;
    }
  g_ptr_array_add (self->defined, pset);
  tell_defined (self, pset);
  return TRUE;
}

static void
handle_define (gpointer service, DvmdCall *call, GVariant *request)
{
  Psets *self = service;
  g_autoptr (DvmdRequester) requester = dvmd_call_new_requester (call);
  g_autoptr (GVariant) rows = NULL;
  g_autoptr (GError) error = NULL;
  int status = DVMD_PMIX_SUCCESS;
  const char *name;

  g_variant_get (request, "(@a(su)&s)", &rows, &name);
  if (!define (self, requester, call->nspace, name, rows, &error))
    {
      /* PMIx hands on a number alone. */
      g_message ("%s cannot define a process set: %s", requester->name, error->message);
      status = dvmd_pmix_status_from_error (error);
    }
  dvmd_controller_answer (self->controller, call->id, status, NULL);
}

/* ---- one ends ---- */

static void delete (Psets *self, guint i)
{
  Pset *pset = g_ptr_array_steal_index (self->defined, i);
  GVariantBuilder details;

  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_PSET_NAME, g_variant_new_string (pset->name));
  tell (self, pset, DVMD_PMIX_PROCESS_SET_DELETE, g_variant_builder_end (&details));
  pset_free (pset);
}

static void
job_ended (gpointer service, DvmdJob *job)
{
  Psets *self = service;

  for (guint i = self->defined->len; i-- > 0;)
    {
      Pset *pset = self->defined->pdata[i];

      if (g_hash_table_remove (pset->members, GUINT_TO_POINTER (dvmd_job_get_id (job)))
          && g_hash_table_size (pset->members) == 0)
        delete (self, i);
    }
}

/* ---- the service ---- */

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Psets *self = g_new0 (Psets, 1);

  self->controller = controller;
  self->defined = g_ptr_array_new_with_free_func (pset_free);
  return self;
}

static void
psets_free (gpointer service)
{
  Psets *self = service;

  g_ptr_array_unref (self->defined);
  g_free (self);
}

static const DvmdCallHandler calls[] = { { DVMD_CALL_DEFINE_PSET, handle_define }, { 0 } };

const DvmdService dvmd_psets_service = {
  .name = "psets",
  .create = create,
  .free = psets_free,
  .calls = calls,
  .job_ended = job_ended,
};
