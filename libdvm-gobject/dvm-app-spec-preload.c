/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files of an application that are copied to the nodes before it starts.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include "dvm-app-spec-private.h"

/**
 * dvm_app_spec_get_preload_files:
 * @self: a program
 *
 * The files that are copied to the nodes.
 *
 * Returns: (transfer none) (array zero-terminated=1) (element-type filename): their paths; empty for none
 * Since: 0.1
 */
const char *const *
dvm_app_spec_get_preload_files (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return _dvm_record_get_strv (self->preload_files);
}

/**
 * dvm_app_spec_set_preload_files:
 * @self: a program
 * @files: (nullable) (array zero-terminated=1) (element-type filename): paths of files on the machine of the controller
 *
 * Sets the files that are copied into the session directory of the job on each of its nodes. A relative path keeps its
 * directories there (without a leading `../`), an absolute one does not. The processes find the directory in the
 * variable `DVM_SESSION_DIR`.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_preload_files (DvmAppSpec *self, const char *const *files)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_strv (self, &_dvm_app_spec_codec, &self->preload_files, files);
}

/**
 * dvm_app_spec_get_preload_dir:
 * @self: a program
 *
 * The directory that relative paths of files to preload start from.
 *
 * Returns: (transfer none) (nullable) (type filename): the absolute path, %NULL for the directory of the processes
 * Since: 0.1
 */
const char *
dvm_app_spec_get_preload_dir (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return self->preload_dir;
}

/**
 * dvm_app_spec_set_preload_dir:
 * @self: a program
 * @directory: (nullable) (type filename): an absolute path, %NULL for the directory of the processes
 *
 * Sets the directory that relative paths of files to preload start from.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_preload_dir (DvmAppSpec *self, const char *directory)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_string (self, &_dvm_app_spec_codec, &self->preload_dir, directory);
}

/**
 * dvm_app_spec_get_preload_binary:
 * @self: a program
 *
 * Whether the program itself is copied to the nodes.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_app_spec_get_preload_binary (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), FALSE);

  return self->preload_binary;
}

/**
 * dvm_app_spec_set_preload_binary:
 * @self: a program
 * @preload: %TRUE to copy the program to the nodes and run it in the session directory of the job
 *
 * Sets whether the program itself is copied to the nodes. Its processes start in the session directory then.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_preload_binary (DvmAppSpec *self, gboolean preload)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_boolean (self, &_dvm_app_spec_codec, &self->preload_binary, !!preload);
}

/**
 * dvm_app_spec_get_session_cwd:
 * @self: a program
 *
 * Whether the processes start in the session directory of the job.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_app_spec_get_session_cwd (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), FALSE);

  return self->session_cwd;
}

/**
 * dvm_app_spec_set_session_cwd:
 * @self: a program
 * @session: %TRUE to start the processes in the session directory of the job
 *
 * Sets whether the processes start in the session directory of the job, where preloaded files are, and not in
 * #DvmAppSpec:cwd.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_session_cwd (DvmAppSpec *self, gboolean session)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_boolean (self, &_dvm_app_spec_codec, &self->session_cwd, !!session);
}
