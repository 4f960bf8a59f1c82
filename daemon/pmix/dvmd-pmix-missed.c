/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks that have gone and had never connected. The library takes those alone out of its fences whose connection it has
 * seen break: for the others we do the same to its own notes, on its thread. Without the headers of its inside, or with
 * another version than theirs, that is left undone.
 *
 * Likewise ranks that have gone and are started again: the library lets them connect as often as they like, and counts
 * one that was lost no more.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-groups.h"
#include "dvmd-pmix-missed.h"

#include "dvm.h"

#ifdef HAVE_PMIX_INSIDE

#include "src/include/pmix_globals.h"
#include "src/server/pmix_server_ops.h"

static pmix_namespace_t *
find_job (const char *nspace)
{
  pmix_namespace_t *job;

  PMIX_LIST_FOREACH (job, &pmix_globals.nspaces, pmix_namespace_t)
  {
    if (g_str_equal (job->nspace, nspace))
      return job;
  }
  return NULL;
}

static pmix_rank_info_t *
find_rank (pmix_namespace_t *job, pmix_rank_t rank)
{
  pmix_rank_info_t *info;

  PMIX_LIST_FOREACH (info, &job->ranks, pmix_rank_info_t)
  {
    if (info->pname.rank == rank)
      return info;
  }
  return NULL;
}

/* (nullable): the last one that has connected as this rank, since it was expected again */
static pmix_peer_t *
find_peer (const pmix_rank_info_t *info)
{
  return pmix_pointer_array_get_item (&pmix_server_globals.clients, info->peerid);
}

/* (nullable): it has connected, or there is none */
static pmix_rank_info_t *
find_unconnected (pmix_namespace_t *job, pmix_rank_t rank)
{
  pmix_rank_info_t *info = find_rank (job, rank);

  return info != NULL && find_peer (info) == NULL ? info : NULL;
}

static bool
has_participant (const pmix_server_trkr_t *fence, const pmix_proc_t *proc)
{
  for (size_t i = 0; i < fence->npcs; i++)
    if (PMIX_CHECK_PROCID (&fence->pcs[i], proc))
      return true;
  return false;
}

/* As when the last of those who are left comes; what the host answers, which has all of it, is the end of the fence. */
static void
check_complete (pmix_server_trkr_t *fence)
{
  if (pmix_list_get_size (&fence->local_cbs) != fence->nlocal)
    return;
  fence->host_called = true;
  if (fence->local
      || pmix_host_server.fence_nb (fence->pcs, fence->npcs, fence->info, fence->ninfo, NULL, 0, fence->modexcbfunc,
                                    fence)
             != PMIX_SUCCESS)
    fence->modexcbfunc (PMIX_ERR_LOST_CONNECTION, NULL, 0, fence, NULL, NULL);
}

static void
take_out (pmix_server_trkr_t *fence)
{
  pmix_status_t status = PMIX_ERR_LOST_CONNECTION;

  fence->nlocal--;
  /* For those that come after this. */
  PMIX_INFO_LOAD (&fence->info[fence->ninfo - 1], PMIX_LOCAL_COLLECTIVE_STATUS, &status, PMIX_STATUS);
  if (!fence->host_called)
    check_complete (fence);
}

static void
miss (pmix_status_t status, void *data)
{
  g_autofree pmix_proc_t *proc = data;
  pmix_namespace_t *job = find_job (proc->nspace);
  pmix_rank_info_t *info = job != NULL ? find_unconnected (job, proc->rank) : NULL;
  pmix_server_trkr_t *fence;

  if (info == NULL || job->nlocalprocs == 0 || job->nlocalprocs == SIZE_MAX)
    return;
  PMIX_LIST_FOREACH (fence, &pmix_server_globals.collectives, pmix_server_trkr_t)
  {
    if (fence->type == PMIX_FENCENB_CMD && fence->def_complete && has_participant (fence, proc))
      take_out (fence);
  }
  /* Fences that begin later are not local any more: the host says what becomes of them. */
  job->nlocalprocs--;
  pmix_list_remove_item (&job->ranks, &info->super);
  PMIX_RELEASE (info);
}

void
dvmd_pmix_miss (const pmix_proc_t *proc)
{
  if (dvmd_pmix_groups_are_served ())
    dvmd_pmix_server_run_on_thread (miss, g_memdup2 (proc, sizeof *proc));
}

/* The others come to it again, together with the new process. */
static void
break_off (pmix_server_trkr_t *collective)
{
  collective->host_called = true;
  if (collective->modexcbfunc != NULL)
    collective->modexcbfunc (PMIX_ERR_LOST_CONNECTION, NULL, 0, collective, NULL, NULL);
  else if (collective->op_cbfunc != NULL)
    collective->op_cbfunc (PMIX_ERR_LOST_CONNECTION, collective);
}

static void
break_off_all (const pmix_proc_t *proc)
{
  pmix_server_trkr_t *collective;
  pmix_server_trkr_t *next;

  PMIX_LIST_FOREACH_SAFE (collective, next, &pmix_server_globals.collectives, pmix_server_trkr_t)
  {
    if (!collective->host_called && has_participant (collective, proc))
      break_off (collective);
  }
}

gboolean
dvmd_pmix_expect_again (const pmix_proc_t *proc, GError **error)
{
  pmix_namespace_t *job = dvmd_pmix_groups_are_served () ? find_job (proc->nspace) : NULL;
  pmix_rank_info_t *info = job != NULL ? find_rank (job, proc->rank) : NULL;
  pmix_peer_t *peer = info != NULL ? find_peer (info) : NULL;

  if (info == NULL || (peer != NULL && peer->recv_ev_active))
    {
      g_set_error_literal (
          error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
          peer == NULL ? "the library of PMIx does not know it any more, or is another one than that of the build"
                       : "the library of PMIx has not seen its connection break");
      return FALSE;
    }
  if (peer == NULL)
    return TRUE;
  break_off_all (proc);
  /* One that has finalized is counted still. */
  if (peer->finalized)
    job->nfinalized--;
  else
    job->nlocalprocs++;
  info->peerid = -1;
  return TRUE;
}

#else

void
dvmd_pmix_miss (const pmix_proc_t *proc)
{
}

gboolean
dvmd_pmix_expect_again (const pmix_proc_t *proc, GError **error)
{
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                       "dvmd was built without the headers of the inside of PMIx");
  return FALSE;
}

#endif
