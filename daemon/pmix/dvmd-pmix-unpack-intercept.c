/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The function by which libpmix reads attributes out of a message, which it finds before its own: values that its
 * server would fall over are refused.
 *
 * The server (4.2 to 6.1) takes the value of some attributes for an address, whatever its type is, before it asks the
 * host. With PMIX_CLEANUP_IGNORE it puts one object into two lists, and ends by that, whoever asked for it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>

#include "dvmd-pmix-gates.h"

/* types, buffer: the library's own */
typedef pmix_status_t (*Unpack) (void *types, void *buffer, pmix_info_t *info, int32_t *n, pmix_data_type_t type);

pmix_status_t pmix_bfrops_base_unpack_info (void *types, void *buffer, pmix_info_t *info, int32_t *n,
                                            pmix_data_type_t type);

static const struct
{
  const char *key;
  pmix_data_type_t type;
  const char *words;
} rules[] = {
  { PMIX_HOSTNAME, PMIX_STRING, "is not a name" },
  { PMIX_MONITOR_FILE, PMIX_STRING, "is not the path of a file" },
  { PMIX_IOF_OUTPUT_TO_FILE, PMIX_STRING, "is not the name of a file" },
  { PMIX_IOF_OUTPUT_TO_DIRECTORY, PMIX_STRING, "is not the name of a directory" },
  { PMIX_EVENT_AFFECTED_PROC, PMIX_PROC, "of an event is not a process" },
  { PMIX_EVENT_AFFECTED_PROCS, PMIX_DATA_ARRAY, "of an event are not processes" },
};

static Unpack
find_next (void)
{
  static gsize next_once;
  const gsize none = 1;

  if (g_once_init_enter (&next_once))
    {
      gsize next = (gsize)dlsym (RTLD_NEXT, "pmix_bfrops_base_unpack_info");

      g_once_init_leave (&next_once, next != 0 ? next : none);
    }
  return next_once != none ? (Unpack)next_once : NULL;
}

static gboolean
is_sound (const pmix_value_t *value, pmix_data_type_t type)
{
  if (value->type != type)
    return FALSE;
  if (type == PMIX_STRING)
    return value->data.string != NULL;
  if (type == PMIX_PROC)
    return value->data.proc != NULL;
  return value->data.darray != NULL && value->data.darray->type == PMIX_PROC;
}

static gboolean
read_number (const pmix_value_t *value, gint64 *number)
{
  switch (value->type)
    {
    case PMIX_INT:
      *number = value->data.integer;
      return TRUE;
    case PMIX_INT8:
      *number = value->data.int8;
      return TRUE;
    case PMIX_INT16:
      *number = value->data.int16;
      return TRUE;
    case PMIX_INT32:
      *number = value->data.int32;
      return TRUE;
    case PMIX_INT64:
      *number = value->data.int64;
      return TRUE;
    case PMIX_UINT:
      *number = value->data.uint;
      return TRUE;
    case PMIX_UINT8:
      *number = value->data.uint8;
      return TRUE;
    case PMIX_UINT16:
      *number = value->data.uint16;
      return TRUE;
    case PMIX_UINT32:
      *number = value->data.uint32;
      return TRUE;
    case PMIX_UINT64:
      *number = (gint64)MIN (value->data.uint64, G_MAXINT64);
      return TRUE;
    case PMIX_SIZE:
      *number = (gint64)MIN (value->data.size, G_MAXINT64);
      return TRUE;
    case PMIX_TIME:
      *number = value->data.time;
      return TRUE;
    default:
      return FALSE;
    }
}

/* Many functions of the library read it as one type, whatever it is, and make a negative time of a very long one. */
static pmix_status_t
take_limit (pmix_info_t *info)
{
  gint64 seconds;

  if (!read_number (&info->value, &seconds) || seconds < 0)
    {
      g_message ("%s is not a number of seconds", info->key);
      return PMIX_ERR_BAD_PARAM;
    }
  info->value = (pmix_value_t){ .type = PMIX_INT, .data.integer = (int)MIN (seconds, G_MAXINT32) };
  return PMIX_SUCCESS;
}

static pmix_status_t
check_info (pmix_info_t *info)
{
  if (PMIX_CHECK_KEY (info, PMIX_TIMEOUT))
    return take_limit (info);
  if (PMIX_CHECK_KEY (info, PMIX_CLEANUP_IGNORE))
    {
      g_message ("%s is not served: this library would end by it", info->key);
      return PMIX_ERR_NOT_SUPPORTED;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (rules); i++)
    if (PMIX_CHECK_KEY (info, rules[i].key) && !is_sound (&info->value, rules[i].type))
      {
        g_message ("%s %s", info->key, rules[i].words);
        return PMIX_ERR_BAD_PARAM;
      }
  return PMIX_SUCCESS;
}

/* On any thread. */
__attribute__ ((visibility ("default"))) pmix_status_t
pmix_bfrops_base_unpack_info (void *types, void *buffer, pmix_info_t *info, int32_t *n, pmix_data_type_t type)
{
  Unpack next = find_next ();
  pmix_status_t rc = next != NULL ? next (types, buffer, info, n, type) : PMIX_ERR_NOT_SUPPORTED;

  for (int32_t i = 0; rc == PMIX_SUCCESS && i < *n; i++)
    rc = check_info (&info[i]);
  return rc;
}
