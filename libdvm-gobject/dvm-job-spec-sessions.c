/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sessions whose nodes a job may use, and whether it ends with its parent.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include "dvm-job-spec-fields-private.h"

/**
 * dvm_job_spec_get_target:
 * @self: a job description
 *
 * The allocations whose nodes the job may use, by their ids; an empty text is the default session.
 *
 * Returns: (transfer none) (array zero-terminated=1): the ids, empty if none was given
 * Since: 0.1
 */
const char *const *
dvm_job_spec_get_target (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return _dvm_record_get_strv (self->target);
}

/**
 * dvm_job_spec_set_target:
 * @self: a job description
 * @alloc_ids: (nullable) (array zero-terminated=1): ids of allocations, an empty text for the default session
 *
 * Sets the allocations whose nodes the job may use, all of them together and no others. The first one is the session of
 * the job. It is refused if one of them is not known, or is not for whoever submits it.
 *
 * A target goes before [method@JobSpec.set_session], that before [method@JobSpec.set_alloc_id], that before
 * [method@JobSpec.set_alloc_req_id]. Without any of them a job that another one spawns is in the session of that, and
 * every other job in the default one.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_target (DvmJobSpec *self, const char *const *alloc_ids)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_strv (self, &_dvm_job_spec_codec, &self->target, alloc_ids);
}

/**
 * dvm_job_spec_get_session:
 * @self: a job description
 *
 * The number of the session of the job.
 *
 * Returns: the number, 0 for the default session, %G_MAXUINT if none was given
 * Since: 0.1
 */
guint
dvm_job_spec_get_session (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), DVM_SESSION_NONE);

  return self->session;
}

/**
 * dvm_job_spec_set_session:
 * @self: a job description
 * @session: its number, 0 for the default session, %G_MAXUINT for none
 *
 * Sets the session of the job by its number.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_session (DvmJobSpec *self, guint session)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_uint (self, &_dvm_job_spec_codec, &self->session, session);
}

/**
 * dvm_job_spec_get_alloc_id:
 * @self: a job description
 *
 * The id of the allocation whose session is that of the job.
 *
 * Returns: (transfer none) (nullable): the id, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_alloc_id (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->alloc_id;
}

/**
 * dvm_job_spec_set_alloc_id:
 * @self: a job description
 * @alloc_id: (nullable): the id, %NULL for none
 *
 * Sets the session of the job by the id of its allocation.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_alloc_id (DvmJobSpec *self, const char *alloc_id)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->alloc_id, alloc_id);
}

/**
 * dvm_job_spec_get_alloc_req_id:
 * @self: a job description
 *
 * The id of the request that made the session of the job.
 *
 * Returns: (transfer none) (nullable): the id, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_job_spec_get_alloc_req_id (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->alloc_req_id;
}

/**
 * dvm_job_spec_set_alloc_req_id:
 * @self: a job description
 * @request_id: (nullable): the id, %NULL for none
 *
 * Sets the session of the job by the id of the request that made it.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_alloc_req_id (DvmJobSpec *self, const char *request_id)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->alloc_req_id, request_id);
}

/**
 * dvm_job_spec_get_child_separate:
 * @self: a job description
 *
 * Whether the job goes on when the job ends that has spawned it.
 *
 * Returns: whether it does
 * Since: 0.1
 */
gboolean
dvm_job_spec_get_child_separate (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), FALSE);

  return self->child_separate;
}

/**
 * dvm_job_spec_set_child_separate:
 * @self: a job description
 * @separate: whether it does
 *
 * Sets whether the job goes on when the job ends that has spawned it. Otherwise it ends with that. A job that no other
 * one has spawned depends on none.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_child_separate (DvmJobSpec *self, gboolean separate)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_boolean (self, &_dvm_job_spec_codec, &self->child_separate, separate);
}
