/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Clients and tools that end, signal or stop jobs, or define process sets: which of PMIx's directives says so, and the
 * status taken back.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-control.h"

#include "dvm.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-messages.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-supported.h"

#include <string.h>

#define CONTROL_KEYS "pmix.jctrl."
#define DEFINE_PSET  "define-pset"

static const struct
{
  const char *key;
  const char *operation;
} operations[] = {
  { PMIX_JOB_CTRL_KILL, "kill" },
  { PMIX_JOB_CTRL_TERMINATE, "terminate" },
  { PMIX_JOB_CTRL_SIGNAL, "signal" },
  { PMIX_JOB_CTRL_PAUSE, "pause" },
  { PMIX_JOB_CTRL_RESUME, "resume" },
  { PMIX_JOB_CTRL_SEP, "separate" },
  { PMIX_JOB_CTRL_DEFINE_PSET, DEFINE_PSET },
};

void
dvmd_pmix_list_control_keys (GPtrArray *keys)
{
  dvmd_pmix_add_keys (keys, operations, G_N_ELEMENTS (operations), sizeof operations[0]);
}

static const char *
find_operation (const pmix_info_t *info)
{
  for (gsize i = 0; i < G_N_ELEMENTS (operations); i++)
    if (strcmp (operations[i].key, info->key) == 0)
      return operations[i].operation;
  return NULL;
}

/* An attribute that the host need not heed is passed over, as PMIx has it; another kind of control is refused. */
static gboolean
take_other (const pmix_info_t *info, GError **error)
{
  gboolean is_control = g_str_has_prefix (info->key, CONTROL_KEYS) && strcmp (info->key, PMIX_JOB_CTRL_ID) != 0;

  if (!is_control && (info->flags & PMIX_INFO_REQD) == 0)
    {
      g_debug ("%s of a job control is not heeded", info->key);
      return TRUE;
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "Jobs cannot be controlled by %s here", info->key);
  return FALSE;
}

static gboolean
take_operation (DvmdPmixControl *control, const pmix_info_t *info, const char *operation, GError **error)
{
  gboolean has_value = strcmp (operation, "signal") == 0 || strcmp (operation, DEFINE_PSET) == 0;
  guint32 number;

  if (!has_value && !PMIX_INFO_TRUE (info))
    return TRUE;
  if (control->operation != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” and “%s” cannot be asked for at once",
                   control->operation, operation);
      return FALSE;
    }
  control->operation = operation;
  if (!has_value)
    return TRUE;
  if (strcmp (operation, DEFINE_PSET) == 0)
    return (control->pset = dvmd_pmix_read_text (info, error)) != NULL;
  if (!dvmd_pmix_read_number (info, &number, error))
    return FALSE;
  control->signum = (int)MIN (number, G_MAXINT);
  return TRUE;
}

gboolean
dvmd_pmix_read_control (const pmix_info_t *info, gsize n, DvmdPmixControl *control, GError **error)
{
  *control = (DvmdPmixControl){ 0 };
  for (gsize i = 0; i < n; i++)
    {
      const char *operation = find_operation (&info[i]);

      if (operation != NULL ? !take_operation (control, &info[i], operation, error) : !take_other (&info[i], error))
        return FALSE;
    }
  if (control->operation != NULL)
    return TRUE;
  g_set_error (
      error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
      "Nothing is asked for: to kill, terminate, signal, pause, resume or separate, or to define a process set");
  return FALSE;
}

/* ---- on the main context ---- */

static void
answer_control (const DvmdPmixCall *call, int status, GVariant *answer)
{
  call->callback.info (status, NULL, 0, call->callback_data, NULL, NULL);
}

void
dvmd_pmix_server_control (DvmdPmixServer *self, const pmix_proc_t *proc, const DvmdPmixProc *targets, guint n_targets,
                          const pmix_info_t *info, gsize n_info, pmix_info_cbfunc_t callback, void *callback_data)
{
  const DvmdPmixCall call = { .answer = answer_control, .callback.info = callback, .callback_data = callback_data };
  g_autoptr (GError) error = NULL;
  GVariant *request = NULL;
  DvmdPmixControl control;
  gboolean good;

  if (dvmd_pmix_server_refuse_stranger (self, proc, &call))
    return;
  good = dvmd_pmix_read_control (info, n_info, &control, &error);
  if (good && control.pset != NULL)
    request = g_variant_new ("(@a(su)s)", dvmd_pmix_procs_to_variant (targets, n_targets), control.pset);
  else if (good)
    request = g_variant_new ("(@a(su)si)", dvmd_pmix_procs_to_variant (targets, n_targets), control.operation,
                             control.signum);
  dvmd_pmix_server_call (self, &call, control.pset != NULL ? DVMD_CALL_DEFINE_PSET : DVMD_CALL_JOB_CONTROL, proc,
                         request, error);
}
