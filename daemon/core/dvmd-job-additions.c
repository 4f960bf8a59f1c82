/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes that a job brings along: its own grow is asked for.
 */

#include "config.h"

#include "dvm-job-spec-private.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-news.h"
#include "dvmd-grow-job.h"
#include "dvmd-job-sessions.h"

static void
read_hosts (DvmHosts *hosts, GArray *into)
{
  for (guint i = 0; i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);
      DvmdGrowHost added = {
        .name = host->name,
        .slots = host->slots > 0                            ? host->slots
                 : host->n_mentions > 1 && !host->all_slots ? host->n_mentions
                                                            : 0,
        .slots_max = host->slots_max,
        .more = host->more,
        .address = g_strcmp0 (host->address, host->name) != 0 ? host->address : NULL,
      };

      g_array_append_val (into, added);
    }
}

gboolean
dvmd_grow_for_job (DvmdJob *job)
{
  DvmdCore *core = dvmd_job_get_core (job);
  DvmHosts *additions = _dvm_job_spec_get_additions (dvmd_job_get_spec (job));
  g_autoptr (GArray) hosts = g_array_new (FALSE, FALSE, sizeof (DvmdGrowHost));
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowRequest request = { .requester = dvmd_job_get_requester (job), .share = TRUE, .job = job };

  if (additions == NULL || !dvmd_grow_job_ask (job))
    return FALSE;
  read_hosts (additions, hosts);
  request.hosts = (const DvmdGrowHost *)hosts->data;
  request.n_hosts = hosts->len;
  if (!dvmd_core_grow (core, &request, &answer, &error))
    {
      dvmd_core_post_failure (job, DVM_JOB_STATE_ALLOC_FAILED, error->message);
      return TRUE;
    }
  dvmd_job_sessions_see (job, answer.session);
  return dvmd_grow_job_wait (job);
}
