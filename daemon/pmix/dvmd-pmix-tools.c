/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tools: programs that nobody of ours has started, and that connect to the server of a node.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-tools.h"

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-peers.h"
#include "dvmd-pmix-private.h"

#include <string.h>
#include <unistd.h>

const char *
dvmd_pmix_read_claim (const pmix_info_t *info, gsize n_info, guint32 *rank)
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

gboolean
dvmd_pmix_is_tool (const char *nspace)
{
  return strstr (nspace, "@tool-") != NULL;
}

char *
dvmd_pmix_server_build_report_path (DvmdPmixServer *self)
{
  return g_build_filename (dvmd_pmix_dirs_get_pmix (self->dirs), "library", NULL);
}

/* "NSPACE.RANK;tcp4://127.0.0.1:PORT" and a line with the version. FALSE: it is something else. */
static gboolean
parse_report (char *text, const char **uri, guint *port, const char **version)
{
  char *end = strchr (text, '\n');
  char *colon;

  if (end == NULL)
    return FALSE;
  *end = '\0';
  colon = strrchr (text, ':');
  if (colon == NULL)
    return FALSE;
  *colon = '\0';
  *uri = text;
  *port = (guint)g_ascii_strtoull (colon + 1, NULL, 10);
  *version = g_strstrip (end + 1);
  if (**version == 'v')
    (*version)++;
  return *port > 0;
}

/* As the library writes it: who the server is and where, its version, its pid, its user, and when it began. */
static char *
build_address (const char *uri, guint port, const char *version)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  g_autofree char *began = g_date_time_format (now, "%a %b %e %H:%M:%S %Y");

  return g_strdup_printf ("%s:%u\n%s\n%d\n%u:%u\n%s\n", uri, port, version, (int)getpid (), (guint)geteuid (),
                          (guint)getegid (), began);
}

/*
 * The file that the library would write for tools names its own port, and is not written at once: a tool of 4.2.2 that
 * finds it empty waits for ever. So it is written here.
 */
gboolean
dvmd_pmix_server_let_tools_in (DvmdPmixServer *self, const char *path, GError **error)
{
  g_autofree char *report = dvmd_pmix_server_build_report_path (self);
  g_autofree char *text = NULL;
  g_autofree char *contents = NULL;
  const char *uri;
  const char *version;

  if (!g_file_get_contents (report, &text, NULL, error))
    return FALSE;
  if (!parse_report (text, &uri, &self->port, &version))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "%s does not say where the PMIx library listens", report);
      return FALSE;
    }
  self->relay = dvmd_pmix_relay_new (self->port, error);
  if (self->relay == NULL)
    return FALSE;
  contents = build_address (uri, dvmd_pmix_relay_get_port (self->relay), version);
  if (!g_file_set_contents_full (path, contents, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error))
    return FALSE;
  dvmd_pmix_host_tools_let_in (self->host, contents);
  return TRUE;
}

/* "NAME=NSPACE.RANK;tcp4://127.0.0.1:PORT"; 0: it is something else */
static guint
parse_variable (const char *variable)
{
  const char *colon = g_str_has_prefix (variable, "PMIX_SERVER_URI") ? strrchr (variable, ':') : NULL;

  return colon != NULL ? (guint)g_ascii_strtoull (colon + 1, NULL, 10) : 0;
}

/* Where it listens stands in what it hands to clients, of whatever job. */
void
dvmd_pmix_server_find_port (DvmdPmixServer *self, const DvmdPmixSettings *settings)
{
  char **variables = NULL;
  pmix_proc_t proc;

  PMIX_LOAD_PROCID (&proc, settings->nspace, settings->rank);
  if (PMIx_server_setup_fork (&proc, &variables) != PMIX_SUCCESS)
    return;
  for (gsize i = 0; self->port == 0 && variables[i] != NULL; i++)
    self->port = parse_variable (variables[i]);
  PMIX_ARGV_FREE (variables);
}

/*
 * A process of another user that has found the port may claim to be any of our ranks, and the library does not tell
 * which connection a call came by. So calls are refused while a process of another user is connected.
 */
gboolean
dvmd_pmix_server_is_among_strangers (DvmdPmixServer *self, const pmix_proc_t *client)
{
  guint uid;

  if (!dvmd_pmix_peers_find_stranger (self->port, &uid))
    return FALSE;
  g_message ("%s.%u is not heard while a process of user %u is connected to the PMIx server of user %u: it may be that",
             client->nspace, client->rank, uid, (guint)geteuid ());
  return TRUE;
}

void
dvmd_pmix_server_expel_strangers (DvmdPmixServer *self)
{
  dvmd_pmix_peers_expel_strangers (self->port);
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
  const char *claim = dvmd_pmix_read_claim (info, n_info, &rank);
  g_autofree char *nspace = NULL;
  pmix_proc_t proc;

  if (dvmd_pmix_peers_expel_strangers (self->port) > 0)
    return;
  nspace = dvmd_pmix_host_tool_connected (self->host, claim, &rank);
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, nspace, rank, "a tool, which says it is %s",
                 claim != NULL ? claim : "nobody");
  PMIX_LOAD_PROCID (&proc, nspace, rank);
  callback (PMIX_SUCCESS, &proc, callback_data);
}
