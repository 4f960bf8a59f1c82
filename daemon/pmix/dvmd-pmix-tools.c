/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tools: programs that nobody of ours has started, and that connect to the server of a node.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-peers.h"
#include "dvmd-pmix-private.h"

#include <string.h>

#include "dvmd-log.h"

/* (nullable): it wants to be given a name. */
static const char *
read_claim (const pmix_info_t *info, gsize n_info, guint32 *rank)
{
  const char *nspace = NULL;

  for (gsize i = 0; i < n_info; i++)
    {
      const pmix_value_t *value = &info[i].value;

      if (g_str_equal (info[i].key, PMIX_NSPACE) && value->type == PMIX_STRING)
        nspace = value->data.string;
      else if (g_str_equal (info[i].key, PMIX_RANK) && value->type == PMIX_PROC_RANK)
        *rank = value->data.rank;
    }
  return nspace;
}

/* "NSPACE.RANK;tcp4://127.0.0.1:PORT" is the first line of what the library has written for tools. 0: it has not. */
static guint
find_port (DvmdPmixServer *self)
{
  g_autofree char *name = g_strdup_printf ("pmix.%s.tool", self->node_name);
  g_autofree char *path = g_build_filename (dvmd_pmix_dirs_get_pmix (self->dirs), name, NULL);
  g_autofree char *text = NULL;
  const char *colon;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return 0;
  text[strcspn (text, "\n")] = '\0';
  colon = strrchr (text, ':');
  return colon != NULL ? (guint)g_ascii_strtoull (colon + 1, NULL, 10) : 0;
}

/*
 * libpmix 4.2.2 cannot be told that a tool is refused: it frees what it never made, and falls over. So nobody is
 * refused; strangers find their connection closed, and get no answer.
 */
void
dvmd_pmix_server_connect_tool (DvmdPmixServer *self, const pmix_info_t *info, gsize n_info,
                               pmix_tool_connection_cbfunc_t callback, void *callback_data)
{
  guint32 rank = 0;
  const char *claim = read_claim (info, n_info, &rank);
  g_autofree char *nspace = NULL;
  pmix_proc_t proc;

  if (dvmd_pmix_peers_expel_strangers (find_port (self)) > 0)
    return;
  nspace = dvmd_pmix_host_tool_connected (self->host, claim, &rank);
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, nspace, rank, "a tool, which says it is %s",
                 claim != NULL ? claim : "nobody");
  PMIX_LOAD_PROCID (&proc, nspace, rank);
  callback (PMIX_SUCCESS, &proc, callback_data);
}
