/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The environment that goes with a job: ours, without what is meant for us and not for the job's processes.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _DvmCliEnvironment DvmCliEnvironment;

/* A copy of our own environment, without debugging switches of GLib and variables internal to the DVM */
DvmCliEnvironment *dvm_cli_environment_new (void);
void dvm_cli_environment_free (DvmCliEnvironment *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliEnvironment, dvm_cli_environment_free)

/* Those that are set from now on are chosen, and by that one those that are set already; pattern: as below */
void dvm_cli_environment_choose (DvmCliEnvironment *self, const char *pattern);
/* (transfer full): those that were chosen, without what else the caller has */
char **dvm_cli_environment_dup_chosen (DvmCliEnvironment *self);
void dvm_cli_environment_set (DvmCliEnvironment *self, const char *name, const char *value);
/* assignment: "NAME=value" */
void dvm_cli_environment_assign (DvmCliEnvironment *self, const char *assignment);
/* pattern: a name, or "PREFIX*" */
gboolean dvm_cli_environment_has (DvmCliEnvironment *self, const char *pattern);
/* (nullable): until the variable changes */
const char *dvm_cli_environment_lookup (DvmCliEnvironment *self, const char *name);
/* pattern: as above */
void dvm_cli_environment_unset (DvmCliEnvironment *self, const char *pattern);
const char *const *dvm_cli_environment_get (DvmCliEnvironment *self);

G_END_DECLS
