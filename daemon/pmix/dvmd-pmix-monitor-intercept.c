/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The function by which libpmix's server begins to watch a client, which it finds before its own: what that cannot
 * watch is the host's.
 *
 * That of libpmix (4.2 to 5.0) says that it has begun whatever it was asked for: it takes "let another component do it"
 * of all its components for a yes, and never asks the host. Nor does it look at the types of directives, and passes
 * over those that it does not know.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-read.h"

/* peer: the library's notes of the client */
typedef pmix_status_t (*Start) (void *peer, pmix_status_t code, const pmix_info_t *monitor,
                                const pmix_info_t directives[], size_t n_directives);

pmix_status_t pmix_psensor_base_start (void *peer, pmix_status_t code, const pmix_info_t *monitor,
                                       const pmix_info_t directives[], size_t n_directives);

typedef pmix_status_t (*Stop) (void *peer, char *id);

static Start
find_next (void)
{
  static gsize next_once;

  if (g_once_init_enter (&next_once))
    g_once_init_leave (&next_once, (gsize)dlsym (RTLD_NEXT, "pmix_psensor_base_start"));
  return (Start)next_once;
}

/* All that it watches for this client: it gives none a name, whatever PMIX_MONITOR_ID says. */
static void
stop_all (void *peer)
{
  ((Stop)dlsym (RTLD_NEXT, "pmix_psensor_base_stop")) (peer, NULL);
}

static gboolean
is_for_all (const pmix_info_t *monitor)
{
  return monitor->value.type != PMIX_STRING || monitor->value.data.string == NULL;
}

/* The name of some, or nothing. */
static gboolean
is_cancel (const pmix_info_t *monitor)
{
  const pmix_value_t *value = &monitor->value;

  return value->type == PMIX_STRING || value->type == PMIX_UNDEF || (value->type == PMIX_BOOL && value->data.flag)
         || (value->type == PMIX_POINTER && value->data.ptr == NULL);
}

/* How the library reads the values of these. */
static const struct
{
  const char *key;
  pmix_data_type_t type;
} directive_types[] = {
  { PMIX_MONITOR_HEARTBEAT_TIME, PMIX_UINT32 },  { PMIX_MONITOR_HEARTBEAT_DROPS, PMIX_UINT32 },
  { PMIX_MONITOR_FILE_CHECK_TIME, PMIX_UINT32 }, { PMIX_MONITOR_FILE_DROPS, PMIX_UINT32 },
  { PMIX_MONITOR_FILE_SIZE, PMIX_BOOL },         { PMIX_MONITOR_FILE_ACCESS, PMIX_BOOL },
  { PMIX_MONITOR_FILE_MODIFY, PMIX_BOOL },       { PMIX_RANGE, PMIX_DATA_RANGE },
};

static pmix_status_t
check_directive (const pmix_info_t *info)
{
  const pmix_value_t *value = &info->value;
  guint32 number;
  gboolean good = FALSE;

  for (gsize i = 0; i < G_N_ELEMENTS (directive_types); i++)
    {
      if (!PMIX_CHECK_KEY (info, directive_types[i].key))
        continue;
      if (directive_types[i].type == PMIX_BOOL)
        good = dvmd_pmix_check_flag (info, NULL);
      else if (directive_types[i].type == PMIX_UINT32)
        good = dvmd_pmix_read_number (info, &number, NULL);
      else
        good = value->type == directive_types[i].type;
      return good ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    }
  return (info->flags & PMIX_INFO_REQD) == 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

static pmix_status_t
check_directives (const pmix_info_t directives[], size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      pmix_status_t rc = check_directive (&directives[i]);

      if (rc == PMIX_SUCCESS)
        continue;
      g_message ("%s of a monitor %s", directives[i].key,
                 rc == PMIX_ERR_BAD_PARAM ? "has a value of another type" : "is not heeded");
      return rc;
    }
  return PMIX_SUCCESS;
}

/* On PMIx's thread. */
__attribute__ ((visibility ("default"))) pmix_status_t
pmix_psensor_base_start (void *peer, pmix_status_t code, const pmix_info_t *monitor, const pmix_info_t directives[],
                         size_t n_directives)
{
  pmix_status_t rc;

  if (PMIX_CHECK_KEY (monitor, PMIX_MONITOR_FILE) || PMIX_CHECK_KEY (monitor, PMIX_MONITOR_HEARTBEAT))
    {
      rc = check_directives (directives, n_directives);
      return rc == PMIX_SUCCESS ? find_next () (peer, code, monitor, directives, n_directives) : rc;
    }
  if (PMIX_CHECK_KEY (monitor, PMIX_MONITOR_CANCEL) && !is_cancel (monitor))
    return PMIX_ERR_BAD_PARAM;
  if (PMIX_CHECK_KEY (monitor, PMIX_MONITOR_CANCEL) && is_for_all (monitor))
    stop_all (peer);
  return PMIX_ERR_NOT_SUPPORTED;
}
