/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The request of a client or tool for a job, on the main context: it goes to the controller, and the answer back to the
 * library.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-spawn.h"

#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-inner.h"

/* The library counts its handlers from 0. */
#define NO_HANDLER (G_MAXSIZE - 1)

typedef struct
{
  pmix_spawn_cbfunc_t callback;
  void *callback_data;
  int status;
  pmix_nspace_t nspace;
} Answer;

static void
hand_over (pmix_status_t status, void *data)
{
  Answer *answer = data;

  answer->callback (answer->status, answer->nspace, answer->callback_data);
  g_free (answer);
}

/*
 * Where it is called back the library notes who gets output, in a table that its own thread reads: it is to be there.
 * The removal of a handler that there is not is what it does there and then tells.
 */
static void
answer_spawn (const DvmdPmixCall *call, int status, GVariant *words)
{
  Answer *answer = g_new0 (Answer, 1);
  const char *nspace = NULL;

  if (words != NULL)
    g_variant_get (words, "(&s)", &nspace);
  answer->callback = call->callback.spawn;
  answer->callback_data = call->callback_data;
  answer->status = status;
  PMIX_LOAD_NSPACE (answer->nspace, nspace);
  if (!call->gets_output || PMIx_Deregister_event_handler (NO_HANDLER, hand_over, answer) != PMIX_SUCCESS)
    hand_over (PMIX_SUCCESS, answer);
}

/* A tool wants what it does not refuse, a process what it asks for. */
static guint
find_streams (gboolean is_tool, const DvmdPmixAttributes *attributes)
{
  guint unasked = is_tool ? (DVMD_PMIX_STDOUT | DVMD_PMIX_STDERR) & ~attributes->withhold : 0;

  return attributes->forward | unasked;
}

/* Of a job of a tool the first rank reads what the tool writes, unless it says otherwise. (transfer full) */
static GVariant *
give_input (GVariant *options, const pmix_info_t *info, gsize n_info)
{
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (options);

  for (gsize i = 0; i < n_info; i++)
    if (PMIX_CHECK_KEY (&info[i], PMIX_FWD_STDIN))
      return g_variant_ref (options);
  if (!g_variant_dict_contains (&dict, "stdin"))
    g_variant_dict_insert (&dict, "stdin", "s", "0");
  return g_variant_ref_sink (g_variant_dict_end (&dict));
}

void
dvmd_pmix_server_spawn (DvmdPmixServer *self, const pmix_proc_t *proc, const pmix_info_t *info, gsize n_info,
                        const pmix_app_t *apps, gsize n_apps, pmix_spawn_cbfunc_t callback, void *callback_data)
{
  DvmdPmixCall call = { .answer = answer_spawn, .callback.spawn = callback, .callback_data = callback_data };
  gboolean is_tool = !dvmd_pmix_server_has_job (self, proc->nspace);
  g_autoptr (GVariant) job = NULL;
  g_autoptr (GError) error = NULL;
  DvmdPmixAttributes attributes;
  GVariant *request = NULL;

  if (dvmd_pmix_server_refuse_stranger (self, proc, &call))
    return;
  job = dvmd_pmix_read_spawn (info, n_info, apps, n_apps, &attributes, &error);
  call.gets_output = job == NULL || attributes.forward != 0 || is_tool;
  if (job != NULL)
    {
      g_autoptr (GVariant) rows = g_variant_get_child_value (job, 0);
      g_autoptr (GVariant) said = g_variant_get_child_value (job, 1);
      g_autoptr (GVariant) options = is_tool ? give_input (said, info, n_info) : g_variant_ref (said);

      request = g_variant_new ("(@aa{sv}@a{sv}uu)", rows, options, attributes.timeout,
                               find_streams (is_tool, &attributes));
    }
  dvmd_pmix_server_call (self, &call, DVMD_CALL_SPAWN, proc, request, error);
}
