/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From the words of `run` and `submit` to a job description.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* --file, of those who take a job */
extern const DvmCliOption dvm_cli_file_options[];
/* Options of each program, before it and behind ':'. Those of placement are before the first one those of the job. */
extern const DvmCliOption dvm_cli_app_options[];
/* Nodes that come with a job, for verbs that run it */
/* Of many jobs: submit alone has these. */
extern const DvmCliOption dvm_cli_array_options[];
extern const DvmCliOption dvm_cli_add_options[];
/* Options of the whole job */
extern const DvmCliOption dvm_cli_job_options[];

/* stdin_target: what --stdin is when it is not given, or NULL */
DvmJobSpec *dvm_cli_spec_new (DvmCli *cli, const char *stdin_target, GError **error);
/* As the former, or from the file that --file names */
DvmJobSpec *dvm_cli_spec_choose (DvmCli *cli, const char *stdin_target, GError **error);
/* A word that the DVM alone has found wrong is told with the job file and the place in it, as other mistakes are. */
void dvm_cli_spec_name_place (DvmCli *cli, DvmJobSpec *spec, GError **error);
/* A job file gets the environment and the directory that it does not have from us. */
DvmJobSpec *dvm_cli_spec_new_from_file (DvmCli *cli, const char *path, GError **error);

/* Part of the above: --target and --session as they were given; wrong usage is an error */
gboolean dvm_cli_spec_set_sessions (DvmJobSpec *spec, DvmCliArgs *args, GError **error);
/* People have several names for a session, the job one: what --target and --session name is looked up. Runs the main
 * context. */
gboolean dvm_cli_spec_find_sessions (DvmJobSpec *spec, DvmCliArgs *args, DvmClient *client, GCancellable *cancellable,
                                     GError **error);

G_END_DECLS
