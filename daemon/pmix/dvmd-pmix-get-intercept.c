/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Questions of clients for data that is to be fresh (PMIX_GET_REFRESH_CACHE): the function of libpmix's server, which
 * it finds here before its own.
 *
 * About a client of its own the library (4.2.2 to 6.1) answers that with nothing, as if all of them saw its data in
 * shared memory: with the store that is used here, and alone there is with 5.0, the one who asks goes on with what it
 * was told before. Without the word it gets what the server has, which is what has been put last.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>

#include "dvmd-pmix-groups.h"
#include "dvmd-pmix-inside.h"

#define EXPORTED __attribute__ ((visibility ("default")))

typedef pmix_status_t (*ServeGet) (pmix_buffer_t *buffer, pmix_modex_cbfunc_t modex, void *data);

typedef struct
{
  char *nspace;
  pmix_rank_t rank;
  pmix_info_t *info;
  gsize n_info;
} Question;

static void
question_clear (Question *self)
{
  free (self->nspace);
  for (gsize i = 0; i < self->n_info; i++)
    PMIX_INFO_DESTRUCT (&self->info[i]);
  free (self->info);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Question, question_clear)

static pmix_status_t
question_read (Question *self, pmix_peer_t *peer, pmix_buffer_t *buffer)
{
  pmix_status_t status;
  gpointer info = NULL;
  int32_t count = 1;

  PMIX_BFROPS_UNPACK (status, peer, buffer, &self->nspace, &count, PMIX_STRING);
  if (status == PMIX_SUCCESS)
    PMIX_BFROPS_UNPACK (status, peer, buffer, &self->rank, &count, PMIX_PROC_RANK);
  if (status == PMIX_SUCCESS)
    status = dvmd_pmix_inside_read_items (peer, buffer, &info, &self->n_info, sizeof (pmix_info_t), PMIX_INFO);
  self->info = info;
  return status;
}

static gboolean
is_fresh (const pmix_info_t *info)
{
  return PMIX_CHECK_KEY (info, PMIX_GET_REFRESH_CACHE) && PMIX_INFO_TRUE (info);
}

static gboolean
wants_fresh (const Question *self)
{
  for (gsize i = 0; i < self->n_info; i++)
    if (is_fresh (&self->info[i]))
      return TRUE;
  return FALSE;
}

static pmix_namespace_t *
find_job (const char *nspace)
{
  pmix_namespace_t *job;

  PMIX_LIST_FOREACH (job, &pmix_globals.nspaces, pmix_namespace_t)
  {
    if (g_strcmp0 (job->nspace, nspace) == 0)
      return job;
  }
  return NULL;
}

/* As the library sees it, which asks the host about all others. */
static gboolean
is_client (const Question *self)
{
  pmix_namespace_t *job = find_job (self->nspace);
  pmix_rank_info_t *info;

  if (job == NULL || !job->all_registered || job->nlocalprocs == 0)
    return FALSE;
  if (job->nprocs == job->nlocalprocs)
    return TRUE;
  PMIX_LIST_FOREACH (info, &job->ranks, pmix_rank_info_t)
  {
    if (info->pname.rank == self->rank)
      return info->peerid >= 0 && pmix_pointer_array_get_item (&pmix_server_globals.clients, info->peerid) != NULL;
  }
  return FALSE;
}

/* rest: of the buffer that was asked, the key */
static pmix_status_t
pack_plain (const Question *self, pmix_peer_t *peer, pmix_buffer_t *rest, pmix_buffer_t *buffer)
{
  pmix_status_t status;
  gsize n = 0;

  for (gsize i = 0; i < self->n_info; i++)
    n += is_fresh (&self->info[i]) ? 0 : 1;
  PMIX_BFROPS_PACK (status, peer, buffer, &self->nspace, 1, PMIX_STRING);
  if (status == PMIX_SUCCESS)
    PMIX_BFROPS_PACK (status, peer, buffer, &self->rank, 1, PMIX_PROC_RANK);
  if (status == PMIX_SUCCESS)
    PMIX_BFROPS_PACK (status, peer, buffer, &n, 1, PMIX_SIZE);
  for (gsize i = 0; status == PMIX_SUCCESS && i < self->n_info; i++)
    if (!is_fresh (&self->info[i]))
      PMIX_BFROPS_PACK (status, peer, buffer, &self->info[i], 1, PMIX_INFO);
  if (status == PMIX_SUCCESS)
    PMIX_BFROPS_COPY_PAYLOAD (status, peer, buffer, rest);
  return status;
}

EXPORTED pmix_status_t
pmix_server_get (pmix_buffer_t *buffer, pmix_modex_cbfunc_t modex, void *data)
{
  ServeGet next = (ServeGet)dlsym (RTLD_NEXT, "pmix_server_get");
  pmix_peer_t *peer = ((pmix_server_caddy_t *)data)->peer;
  char *start = buffer->unpack_ptr;
  g_auto (Question) question = { 0 };
  pmix_buffer_t plain;
  pmix_status_t status;

  if (!dvmd_pmix_groups_are_served ())
    return next (buffer, modex, data);
  status = question_read (&question, peer, buffer);
  if (status != PMIX_SUCCESS)
    return status;
  if (!wants_fresh (&question) || !is_client (&question))
    {
      buffer->unpack_ptr = start;
      return next (buffer, modex, data);
    }
  PMIX_CONSTRUCT (&plain, pmix_buffer_t);
  status = pack_plain (&question, peer, buffer, &plain);
  if (status == PMIX_SUCCESS)
    status = next (&plain, modex, data);
  PMIX_DESTRUCT (&plain);
  return status;
}
