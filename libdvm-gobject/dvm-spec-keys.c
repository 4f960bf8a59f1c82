/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The keys of a job's description have one table.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvm-words-private.h"

static const DvmSpecKey job_keys[] = {
  { "name", "s", "name" },
  { "label", "s", "label" },
  { "personality", "s", "personality" },
  { "map-by", "s", "map-by" },
  { "rank-by", "s", "rank-by" },
  { "bind-to", "s", "bind-to" },
  { "when-full", "s", "when-full" },
  { "output", "s", "output" },
  { "stdin", "s", "stdin-target" },
  { "stdout-path", "s", "stdout-path" },
  { "stderr-path", "s", "stderr-path" },
  { "runtime-options", "s", "runtime-options" },
  { "add-hosts", "as", "add-hosts" },
  { "add-hostfile", "s", "add-hostfile" },
  { "target", "as", "target" },
  { "session", "u", "session" },
  { "alloc-id", "s", "alloc-id" },
  { "alloc-req-id", "s", "alloc-req-id" },
  { "child-separate", "b", "child-separate" },
  { "timeout", "u", "timeout" },
  { "spawn-timeout", "u", "spawn-timeout" },
  { "exec-agent", "as", "exec-agent" },
  { "recoverable", "b", "recoverable" },
  { "max-restarts", "u", "max-restarts" },
  { "priority", "i", "priority" },
  { "hold", "b", "hold" },
  { "after", "as", "after" },
  { "after-ok", "as", "after-ok" },
  { "after-any", "as", "after-any" },
  { "singleton", "b", "singleton" },
  { "wait-for-slots", "b", "wait-for-slots" },
  { "array", "s", "array" },
  { "pty", "b", "pty" },
  { "pty-rows", "u", "pty-rows" },
  { "pty-columns", "u", "pty-columns" },
};

static const DvmSpecKey app_keys[] = {
  { "argv", "as", NULL },       { "argv-bytes", "aay", NULL },   { "np", "u", NULL },
  { "cwd", "s", NULL },         { "cwd-bytes", "ay", NULL },     { "env", "a{ss}", NULL },
  { "env-bytes", "aay", NULL }, { "unset-env", "as", NULL },     { "env-clear", "b", NULL },
  { "hosts", "as", NULL },      { "hostfile", "s", NULL },       { "preload-files", "as", NULL },
  { "preload-dir", "s", NULL }, { "preload-binary", "b", NULL }, { "set-cwd-to-session-dir", "b", NULL },
  { "map-by", "s", NULL },      { "rank-by", "s", NULL },        { "bind-to", "s", NULL },
  { "pset", "s", NULL },
};

/* In the contract, but for a later version. */
static const char *const later_keys[] = {
  "activate",
  "append-env",
  "autorestart",
  "continuous",
  "display",
  "enable-recovery",
  "forward-signals",
  "get-stack-traces",
  "gpu-support",
  "host",
  "memory-alloc-kinds",
  "npernode",
  "path",
  "pmix-prefix",
  "prefix",
  "prepend-env",
  "rankfile",
  "report-state-on-timeout",
  "stop-in-app",
  "stop-in-init",
  "stop-on-exec",
  "xterm",
  NULL,
};

static const DvmSpecKey *
find_key (const DvmSpecKey *keys, gsize n_keys, const char *name)
{
  for (gsize i = 0; i < n_keys; i++)
    if (strcmp (keys[i].name, name) == 0)
      return &keys[i];
  return NULL;
}

const DvmSpecKey *
_dvm_spec_find_job_key (const char *name)
{
  return find_key (job_keys, G_N_ELEMENTS (job_keys), name);
}

const DvmSpecKey *
_dvm_spec_find_app_key (const char *name)
{
  return find_key (app_keys, G_N_ELEMENTS (app_keys), name);
}

const DvmSpecKey *
_dvm_spec_get_job_keys (gsize *n_keys)
{
  *n_keys = G_N_ELEMENTS (job_keys);
  return job_keys;
}

static const char *
find_nearest (const char *name, gboolean in_app)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (app_keys); i++)
    g_ptr_array_add (names, (gpointer)app_keys[i].name);
  for (gsize i = 0; !in_app && i < G_N_ELEMENTS (job_keys); i++)
    g_ptr_array_add (names, (gpointer)job_keys[i].name);
  for (gsize i = 0; !in_app && later_keys[i] != NULL; i++)
    g_ptr_array_add (names, (gpointer)later_keys[i]);
  g_ptr_array_add (names, NULL);
  return _dvm_words_nearest (name, (const char *const *)names->pdata);
}

void
_dvm_spec_set_key_error (const char *name, gboolean in_app, const char *place, GError **error)
{
  g_autofree char *shown = _dvm_words_show (name);
  const char *nearest;

  if (g_strv_contains (later_keys, name))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, _ ("%s%s: this option is not supported yet"), place,
                   shown);
      return;
    }
  if (in_app && _dvm_spec_find_job_key (name) != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%s%s: this is an option of the whole job, not of one application"), place, shown);
      return;
    }
  nearest = find_nearest (name, in_app);
  if (nearest != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: unknown option; did you mean “%s”?"), place, shown,
                 nearest);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: unknown option"), place, shown);
}
