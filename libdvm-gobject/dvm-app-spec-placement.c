/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the processes of one application are placed, where that is not as for the whole job.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include "dvm-app-spec-private.h"

/**
 * dvm_app_spec_get_map_by:
 * @self: a program
 *
 * How the processes of the program are placed.
 *
 * Returns: (transfer none) (nullable): the text, %NULL for that of the job
 * Since: 0.1
 */
const char *
dvm_app_spec_get_map_by (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return self->map_by;
}

/**
 * dvm_app_spec_set_map_by:
 * @self: a program
 * @map_by: (nullable): the text, %NULL for that of the job
 *
 * Sets how the processes of the program are placed, in the words of dvm_job_spec_set_map_by().
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_map_by (DvmAppSpec *self, const char *map_by)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_string (self, &_dvm_app_spec_codec, &self->map_by, map_by);
}

/**
 * dvm_app_spec_get_rank_by:
 * @self: a program
 *
 * How the processes of the program get their ranks, which follow those of the programs before it.
 *
 * Returns: (transfer none) (nullable): the text, %NULL for that of the job
 * Since: 0.1
 */
const char *
dvm_app_spec_get_rank_by (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return self->rank_by;
}

/**
 * dvm_app_spec_set_rank_by:
 * @self: a program
 * @rank_by: (nullable): the text, %NULL for that of the job
 *
 * Sets how the processes of the program get their ranks, in the words of dvm_job_spec_set_rank_by().
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_rank_by (DvmAppSpec *self, const char *rank_by)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_string (self, &_dvm_app_spec_codec, &self->rank_by, rank_by);
}

/**
 * dvm_app_spec_get_bind_to:
 * @self: a program
 *
 * Gets the object that each process of the program is bound to.
 *
 * Returns: (transfer none) (nullable): the text, %NULL for that of the job
 * Since: 0.1
 */
const char *
dvm_app_spec_get_bind_to (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return self->bind_to;
}

/**
 * dvm_app_spec_set_bind_to:
 * @self: a program
 * @bind_to: (nullable): the text, %NULL for that of the job
 *
 * Sets what the processes of the program are bound to, in the words of dvm_job_spec_set_bind_to().
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_bind_to (DvmAppSpec *self, const char *bind_to)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_string (self, &_dvm_app_spec_codec, &self->bind_to, bind_to);
}
