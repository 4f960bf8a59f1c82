/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * MPI programs that the PMIx server has not seen. Ranks whose MPI library does not use PMIx do not find each other:
 * each takes itself for the only one, ends well, and its numbers are wrong. So the controller hears what they are
 * linked with.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-ranks.h"

#include "dvmd-elf.h"
#include "dvmd-stage-source.h"

/* Of Open MPI (libmpi.so, libmpi_usempif08.so), MPICH and those that come from it (libmpich.so, libmpicxx.so), Intel.
 */
#define MPI_PREFIX "libmpi"

static char *
find_library (const DvmdAgentApp *app)
{
  g_autofree char *path = NULL;
  g_autofree char *search = NULL;
  const char *dirs = dvmd_variables_get (app->base, "PATH");
  char *library;
  guint64 size;
  guint mode;
  int fd;

  path = strchr (app->argv[0], '/') != NULL ? g_canonicalize_filename (app->argv[0], app->cwd)
                                            : g_strdup (app->argv[0]);
  search = g_strconcat (dirs != NULL ? dirs : "", dirs != NULL ? ":" : "", app->cwd, NULL);
  fd = dvmd_stage_source_open (path, search, &size, &mode, NULL);
  if (fd < 0)
    return NULL;
  library = dvmd_elf_find_library (fd, MPI_PREFIX);
  close (fd);
  return library;
}

void
dvmd_agent_look_for_mpi (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  DvmdAgentApp *app = g_ptr_array_index (job->apps, proc->app);
  g_autofree char *library = NULL;

  if (!job->registered || job->map->num_procs < 2 || job->killed || app->looked_at
      || (proc->flags & DVMD_PROC_REGISTERED))
    return;
  app->looked_at = TRUE;
  library = find_library (app);
  if (library != NULL)
    dvmd_agent_send (job->agent, DVMD_MSG_MPI_LIBRARY, g_variant_new ("(us)", job->local->id, library));
}
