/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The attributes that the DVM heeds, as the library tells them to those who ask.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-supported.h"

#include "dvmd-pmix-alloc.h"
#include "dvmd-pmix-control.h"
#include "dvmd-pmix-groups.h"
#include "dvmd-pmix-log.h"
#include "dvmd-pmix-monitor.h"
#include "dvmd-pmix-output.h"
#include "dvmd-pmix-query.h"
#include "dvmd-pmix-session.h"
#include "dvmd-pmix-spawn-keys.h"
#include "dvmd-pmix-upcalls-data.h"

typedef struct
{
  const char *function;
  void (*list) (GPtrArray *keys);
} Function;

void
dvmd_pmix_add_keys (GPtrArray *keys, gconstpointer rows, gsize n, gsize size)
{
  for (gsize i = 0; i < n; i++)
    g_ptr_array_add (keys, *(char *const *)((const char *)rows + i * size));
}

char *
dvmd_pmix_join_keys (GPtrArray *keys)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < keys->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? "," : "", (const char *)keys->pdata[i]);
  return g_string_free (text, FALSE);
}

/* ---- functions that have no table ---- */

static void
list_fence_keys (GPtrArray *keys)
{
  g_ptr_array_add (keys, (char *)PMIX_COLLECT_DATA);
  g_ptr_array_add (keys, (char *)PMIX_TIMEOUT);
}

static void
list_waiting_keys (GPtrArray *keys)
{
  g_ptr_array_add (keys, (char *)PMIX_TIMEOUT);
}

static void
list_input_keys (GPtrArray *keys)
{
  g_ptr_array_add (keys, (char *)PMIX_IOF_COMPLETE);
}

static void
list_event_keys (GPtrArray *keys)
{
  g_ptr_array_add (keys, (char *)PMIX_EVENT_CUSTOM_RANGE);
  g_ptr_array_add (keys, (char *)PMIX_EVENT_NON_DEFAULT);
  g_ptr_array_add (keys, (char *)PMIX_EVENT_DO_NOT_CACHE);
}

static void
list_credential_keys (GPtrArray *keys)
{
  g_ptr_array_add (keys, (char *)PMIX_CRED_TYPE);
  g_ptr_array_add (keys, (char *)PMIX_TIMEOUT);
}

/* Functions with few attributes come first: pattrs reads as many of each function as the first one has. */
static const Function functions[] = {
  { "PMIx_Connect", list_waiting_keys },
  { "PMIx_Disconnect", list_waiting_keys },
  { "PMIx_Group_destruct", list_waiting_keys },
  { "PMIx_Get", list_waiting_keys },
  { "PMIx_Unpublish", dvmd_pmix_list_unpublish_keys },
  { "PMIx_IOF_push", list_input_keys },
  { "PMIx_Fence", list_fence_keys },
  { "PMIx_Process_monitor", dvmd_pmix_list_monitor_keys },
  { "PMIx_Get_credential", list_credential_keys },
  { "PMIx_Validate_credential", list_credential_keys },
  { "PMIx_Notify_event", list_event_keys },
  { "PMIx_Lookup", dvmd_pmix_list_lookup_keys },
  { "PMIx_Job_control", dvmd_pmix_list_control_keys },
  { "PMIx_Group_construct", dvmd_pmix_list_group_keys },
  { "PMIx_Publish", dvmd_pmix_list_publish_keys },
  { "PMIx_Log", dvmd_pmix_list_log_keys },
  { "PMIx_IOF_pull", dvmd_pmix_list_pull_keys },
  { "PMIx_Allocation_request", dvmd_pmix_list_alloc_keys },
#ifdef HAVE_PMIX_SESSION_CONTROL
  { "PMIx_Session_control", dvmd_pmix_list_session_keys },
#endif
  { "PMIx_Query_info", dvmd_pmix_list_query_keys },
  { "PMIx_Spawn", dvmd_pmix_list_spawn_keys },
};

/*
 * The library tells names, and nothing of a function of whose attributes it does not know one. FALSE: it has those of
 * the function already.
 */
static gboolean
register_function (const Function *function)
{
  g_autoptr (GPtrArray) keys = g_ptr_array_new ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  pmix_status_t rc;

  function->list (keys);
  for (guint i = 0; i < keys->len; i++)
    {
      const char *name = PMIx_Get_attribute_name (keys->pdata[i]);

      if (g_strcmp0 (name, keys->pdata[i]) != 0 && !g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
        g_ptr_array_add (names, (char *)name);
    }
  g_ptr_array_add (names, NULL);
  rc = PMIx_Register_attributes ((char *)function->function, (char **)names->pdata);
  if (rc != PMIX_SUCCESS && rc != PMIX_ERR_REPEAT_ATTR_REGISTRATION)
    g_warning ("The library does not take the attributes of %s: %s", function->function, PMIx_Error_string (rc));
  return rc != PMIX_ERR_REPEAT_ATTR_REGISTRATION;
}

void
dvmd_pmix_register_supported (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (functions) && register_function (&functions[i]); i++)
    ;
}
