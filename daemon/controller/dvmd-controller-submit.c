/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that are submitted: prepared with their streams, accepted, or nothing comes of them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <unistd.h>

#include "dvm-job-spec-private.h"
#include "dvmd-requester.h"
#include "dvmd-services.h"
#include "dvmd-controller-streams.h"

static void
close_fds (int fds[3])
{
  for (guint i = 0; i < 3; i++)
    {
      if (fds[i] >= 0)
        close (fds[i]);
      fds[i] = -1;
    }
}

struct _DvmdSubmission
{
  DvmdCore *core; /* unowned; NULL when the job exists */
  guint id;
  DvmJobSpec *spec;
  DvmdJobStreams *streams; /* NULL when they are the job's */
};

void
dvmd_submission_free (DvmdSubmission *submission)
{
  g_clear_pointer (&submission->streams, dvmd_job_streams_free);
  if (submission->core != NULL)
    {
      dvmd_core_unreserve (submission->core, submission->id);
      dvmd_core_lose_job (submission->core, submission->spec);
    }
  g_object_unref (submission->spec);
  g_free (submission);
}

DvmdSubmission *
dvmd_controller_prepare_job (DvmdController *self, DvmJobSpec *spec, const DvmdRequester *requester, const int given[3],
                             GError **error)
{
  DvmdCore *core = dvmd_controller_get_core (self);
  int fds[3] = { given[0], given[1], given[2] };
  g_autofree char *nspace = NULL;
  DvmdJobStreams *streams = NULL;
  DvmdSubmission *submission;
  guint id;

  dvmd_controller_apply_defaults (self, spec, dvmd_core_find_requesting_job (core, requester) != NULL);
  id = dvmd_core_reserve (core, spec, requester, error);
  nspace = g_strdup_printf ("%s@%u", dvmd_controller_get_parts (self)->nspace, id);

  /* The streams first: whether the output can be written is known before the job exists. */
  if (id != 0 && (_dvm_job_spec_has_loaded_hosts (spec) || _dvm_job_spec_load_hosts (spec, "", error)))
    streams = dvmd_job_streams_new (self, spec, nspace, id, fds, error);
  close_fds (fds);
  if (streams == NULL)
    {
      dvmd_core_unreserve (core, id);
      return NULL;
    }
  submission = g_new0 (DvmdSubmission, 1);
  submission->core = core;
  submission->id = id;
  submission->spec = g_object_ref (spec);
  submission->streams = streams;
  return submission;
}

void
dvmd_submission_begin (DvmdSubmission *submission)
{
  dvmd_job_streams_begin (submission->streams);
}

DvmdJob *
dvmd_controller_accept_job (DvmdController *self, DvmdSubmission *submission, const DvmdRequester *requester,
                            GError **error)
{
  DvmdJob *job = dvmd_core_submit_reserved (dvmd_controller_get_core (self), submission->id, submission->spec,
                                            requester, error);

  if (job != NULL)
    {
      submission->core = NULL;
      dvmd_job_streams_accept (g_steal_pointer (&submission->streams), job);
    }
  dvmd_submission_free (submission);
  return job;
}
