/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The environment that MPI libraries want is made, where the user has not set it.
 */

#include "config.h"

#include "dvmd-pmix-environment.h"

#include <dvm.h>

#include "dvmd-munge.h"

/*
 * Each puts its shared memory into a directory of its choice, under names that only it knows; in ours they can be
 * removed when it could not do so itself. vader: Open MPI 4, sm: Open MPI 5.
 */
static const char *const shm_variables[] = {
  "OMPI_MCA_btl_vader_backing_directory",
  "OMPI_MCA_btl_sm_backing_directory",
  "OMPI_MCA_osc_sm_backing_directory",
  "OMPI_MCA_osc_rdma_backing_directory",
  "UCX_POSIX_DIR",
};

char **
dvmd_pmix_build_default_environment (guint n_local, guint n_pus, const char *shm)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  /* Open MPI 4 otherwise takes itself for a child of no mpirun at all, and each rank for a program of its own. */
  g_strv_builder_add (builder, "OMPI_MCA_schizo=^orte");
  /* Ranks that wait by spinning starve those they wait for. */
  if (n_local > n_pus)
    g_strv_builder_add (builder, "OMPI_MCA_mpi_yield_when_idle=1");
  for (gsize i = 0; shm != NULL && i < G_N_ELEMENTS (shm_variables); i++)
    {
      g_autofree char *text = g_strdup_printf ("%s=%s", shm_variables[i], shm);

      g_strv_builder_add (builder, text);
    }
  return g_strv_builder_end (builder);
}

/*
 * Variables of a PMIx server above us are removed, because they are not about ours; PMIX_MCA_* are the user's settings.
 */
void
dvmd_pmix_prepare_environment (const char *gds)
{
  g_auto (GStrv) names = g_listenv ();

  for (char **name = names; *name != NULL; name++)
    if (g_str_has_prefix (*name, "PMIX_") && !g_str_has_prefix (*name, "PMIX_MCA_"))
      g_unsetenv (*name);
  if (g_getenv ("PMIX_MCA_gds") == NULL)
    g_setenv ("PMIX_MCA_gds", gds != NULL ? gds : "hash", TRUE);
  /* Else a connection that breaks is told a second later, and the end of its process waits for that. */
  if (g_getenv ("PMIX_MCA_pmix_event_caching_window") == NULL)
    g_setenv ("PMIX_MCA_pmix_event_caching_window", "0", TRUE);
  /* Events for processes that have no handler yet are kept for each of them (dvmd-pmix-notify.c). */
  if (g_getenv ("PMIX_MCA_pmix_max_events") == NULL)
    g_setenv ("PMIX_MCA_pmix_max_events", "4096", TRUE);
  /* Else the library keeps output that nobody pulls, a million pieces of it, for somebody who may come. */
  if (g_getenv ("PMIX_MCA_pmix_max_iof_cache") == NULL)
    g_setenv ("PMIX_MCA_pmix_max_iof_cache", "1", TRUE);
  /* Else what clients log on an output goes to no job's: the library looks for somebody who has asked it for that. */
  g_setenv ("PMIX_MCA_plog", "default", TRUE);
}

gboolean
dvmd_pmix_prepare_security (const char *security, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autofree char *credential = NULL;

  if (g_strcmp0 (security, "munge") != 0)
    return TRUE;
  credential = dvmd_munge_encode (&local);
  if (credential == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                   "pmix-security=munge: %s: no munged answers on %s. Start one there, or say pmix-security=native",
                   local->message, g_get_host_name ());
      return FALSE;
    }
  g_setenv ("PMIX_MCA_psec", "munge", TRUE);
  return TRUE;
}
