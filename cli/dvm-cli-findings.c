/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Findings are collected, and shown: like ones of several nodes in one row.
 */

#include "config.h"

#include "dvm-cli-findings.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-table.h"

/* Names of nodes that a row shows for people */
#define SHOWN_NODES 3
/* Clocks that are further apart make times of jobs and logs misleading. */
#define CLOCK_TOLERANCE G_USEC_PER_SEC

typedef struct
{
  char *node; /* "" for this machine */
  char *check;
  DvmCliVerdict verdict;
  char *text;
  char *mend;
} Finding;

struct _DvmCliFindings
{
  GPtrArray *rows; /* (element-type Finding) */
};

/* Words of ssh, of the shells and of launchers, and what helps: the first that is there counts */
static const struct
{
  const char *words;
  const char *mend;
} cures[] = {
  { "munge of the controller's machine",
    N_ ("start munged on the controller's machine (Debian: munge), or set bootstrap-munge-socket to its socket") },
  { "agent missing: it cannot be executed",
    N_ ("make dvm-agent executable on that host: chmod a+x, and a file system that is mounted without noexec") },
  { "is of another version", N_ ("install dvm on that host in the same version as here") },
  { "is of another build", N_ ("install dvm on that host in the same version as here") },
  { "port of port-range", N_ ("give port-range more ports, or end what listens at them (ss -ltnp shows that)") },
  { "its agent starts by itself", N_ ("start the agent on that host: systemctl enable --now dvm-agent") },
  { "Permission denied", N_ ("ssh-copy-id HOST: agents are started by ssh without a password") },
  { "Host key verification failed", N_ ("ssh HOST once by hand and accept its key, or put it into known_hosts") },
  { "Could not resolve", N_ ("the right name, or a line for it in /etc/hosts") },
  { "Connection refused", N_ ("start sshd on that host") },
  { "No route to host", N_ ("see whether the host is up, and whether a firewall lets ssh through") },
  { "timed out", N_ ("see whether the host is up, and whether a firewall lets ssh through") },
  { "ot found", N_ ("install dvm on that host under the same path, or give its place: --set "
                    "plugin-settings=launcher-ssh.prefix=DIR") },
  { "No such file", N_ ("install dvm on that host under the same path, or give its place: --set "
                        "plugin-settings=launcher-ssh.prefix=DIR") },
};

static const DvmCliColumn columns[] = {
  { "node", N_ ("NODE"), DVM_CLI_KIND_TEXT },
  { "check", N_ ("CHECK"), DVM_CLI_KIND_TEXT },
  { "verdict", N_ ("RESULT"), DVM_CLI_KIND_STATE },
  { "found", N_ ("FOUND"), DVM_CLI_KIND_TEXT },
  { "mend", NULL, DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static void
finding_free (gpointer data)
{
  Finding *self = data;

  g_free (self->node);
  g_free (self->check);
  g_free (self->text);
  g_free (self->mend);
  g_free (self);
}

DvmCliFindings *
dvm_cli_findings_new (void)
{
  DvmCliFindings *self = g_new0 (DvmCliFindings, 1);

  self->rows = g_ptr_array_new_with_free_func (finding_free);
  return self;
}

void
dvm_cli_findings_free (DvmCliFindings *self)
{
  g_ptr_array_unref (self->rows);
  g_free (self);
}

static const char *
find_cure (const char *text)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cures); i++)
    if (strstr (text, cures[i].words) != NULL)
      return _ (cures[i].mend);
  return "";
}

void
dvm_cli_findings_add (DvmCliFindings *self, const char *node, const char *check, DvmCliVerdict verdict,
                      const char *text, const char *mend)
{
  Finding *row = g_new0 (Finding, 1);

  row->node = g_strdup (node != NULL ? node : "");
  row->check = g_strdup (check);
  row->verdict = verdict;
  row->text = g_strdup (text);
  row->mend = g_strdup (mend != NULL ? mend : verdict == DVM_CLI_VERDICT_BAD ? find_cure (text) : "");
  g_ptr_array_add (self->rows, row);
}

static void
add_clock (DvmCliFindings *self, const char *node, const char *time, gint64 before, gint64 after)
{
  gint64 there = g_ascii_strtoll (time, NULL, 10);
  gint64 off = there < before ? there - before : there > after ? there - after : 0;
  g_autofree char *text = NULL;

  if (ABS (off) <= CLOCK_TOLERANCE)
    {
      dvm_cli_findings_add (self, node, "clock", DVM_CLI_VERDICT_OK, _ ("agrees with the one here"), NULL);
      return;
    }
  text = g_strdup_printf (off > 0 ? _ ("%.1f s ahead of the one here") : _ ("%.1f s behind the one here"),
                          (double)ABS (off) / G_USEC_PER_SEC);
  dvm_cli_findings_add (self, node, "clock", DVM_CLI_VERDICT_NOTE, text,
                        _ ("a time service on all nodes: chrony, or systemd-timesyncd"));
}

guint
dvm_cli_findings_add_lines (DvmCliFindings *self, const char *lines, gint64 before, gint64 after)
{
  static const char *const words[] = { "ok", "note", "bad" };
  g_auto (GStrv) all = g_strsplit (lines, "\n", -1);
  guint n_nodes = 0;

  for (gsize i = 0; all[i] != NULL; i++)
    {
      g_auto (GStrv) fields = g_strsplit (all[i], "\t", -1);

      if (g_strv_length (fields) != 5)
        continue;
      if (strcmp (fields[1], "clock") == 0)
        {
          add_clock (self, fields[0], fields[3], before, after);
          n_nodes++;
          continue;
        }
      for (gsize v = 0; v < G_N_ELEMENTS (words); v++)
        if (strcmp (fields[2], words[v]) == 0)
          dvm_cli_findings_add (self, fields[0], fields[1], (DvmCliVerdict)v, fields[3], fields[4]);
    }
  return n_nodes;
}

gboolean
dvm_cli_findings_has_bad (DvmCliFindings *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    if (((Finding *)g_ptr_array_index (self->rows, i))->verdict == DVM_CLI_VERDICT_BAD)
      return TRUE;
  return FALSE;
}

static const char *
verdict_to_string (DvmCliVerdict verdict, gboolean for_people)
{
  switch (verdict)
    {
    case DVM_CLI_VERDICT_NOTE:
      return for_people ? _ ("note") : "note";
    case DVM_CLI_VERDICT_BAD:
      return for_people ? _ ("BAD") : "bad";
    case DVM_CLI_VERDICT_OK:
    default:
      return for_people ? _ ("ok") : "ok";
    }
}

static gboolean
is_like (const Finding *a, const Finding *b)
{
  return a->verdict == b->verdict && (a->node[0] == '\0') == (b->node[0] == '\0') && strcmp (a->check, b->check) == 0
         && strcmp (a->text, b->text) == 0 && strcmp (a->mend, b->mend) == 0;
}

/* The nodes with the same finding as row; NULL: an earlier row has named them. */
static char *
name_nodes (DvmCliFindings *self, guint row)
{
  const Finding *first = g_ptr_array_index (self->rows, row);
  g_autoptr (GString) names = g_string_new (NULL);
  guint n = 0;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const Finding *other = g_ptr_array_index (self->rows, i);

      if (!is_like (first, other))
        continue;
      if (i < row)
        return NULL;
      if (n < SHOWN_NODES)
        g_string_append_printf (names, "%s%s", n > 0 ? "," : "", other->node);
      n++;
    }
  if (n > SHOWN_NODES)
    g_string_append_printf (names, _ (" and %u more"), n - SHOWN_NODES);
  return g_string_free (g_steal_pointer (&names), FALSE);
}

static void
add_row (DvmCliTable *table, const char *node, const Finding *row, gboolean for_people)
{
  g_autofree char *text = for_people ? dvm_cli_findings_translate (row->text) : g_strdup (row->text);

  dvm_cli_table_add (table, (GVariant *[]){ g_variant_new_string (node), g_variant_new_string (row->check),
                                            g_variant_new_string (verdict_to_string (row->verdict, for_people)),
                                            g_variant_new_string (text), g_variant_new_string (row->mend) });
}

/* A remedy of several findings is said once, behind the names of all of them. */
static void
add_mend (DvmCliFindings *self, GString *mends, guint row)
{
  const char *mend = ((Finding *)self->rows->pdata[row])->mend;
  g_autofree char *translated = dvm_cli_findings_translate (mend);
  g_autofree char *shown = dvm_cli_escape (translated);
  gboolean is_first = TRUE;

  for (guint i = 0; i < row; i++)
    if (strcmp (((Finding *)self->rows->pdata[i])->mend, mend) == 0)
      return;
  for (guint i = row; i < self->rows->len; i++)
    {
      const Finding *other = g_ptr_array_index (self->rows, i);
      g_autofree char *nodes = strcmp (other->mend, mend) == 0 ? name_nodes (self, i) : NULL;
      g_autofree char *where = nodes != NULL ? dvm_cli_escape (nodes) : NULL;

      if (where == NULL)
        continue;
      g_string_append_printf (mends, "%s%s%s%s", is_first ? "  " : "; ", where, where[0] != '\0' ? " " : "",
                              other->check);
      is_first = FALSE;
    }
  g_string_append_printf (mends, ": %s\n", shown);
}

static gboolean
print_mends (GString *mends, GError **error)
{
  g_autofree char *text = NULL;

  if (mends->len == 0)
    return TRUE;
  text = g_strdup_printf ("\n%s\n%s", _ ("To mend:"), mends->str);
  return dvm_cli_print (text, error);
}

/* In the order in which one looks; others behind them */
static guint
get_check_order (const char *check)
{
  static const char *const order[] = { "dvmd",    "bus",       "ssh",      "dvm",    "ports", "node",
                                       "nodes",   "leftovers", "programs", "pmix",   "hwloc", "cgroup",
                                       "runtime", "shm",       "tmp",      "limits", "name",  "clock" };
  guint i = 0;

  while (i < G_N_ELEMENTS (order) && strcmp (order[i], check) != 0)
    i++;
  return i;
}

static int
compare_findings (gconstpointer a, gconstpointer b)
{
  const Finding *first = *(const Finding *const *)a;
  const Finding *second = *(const Finding *const *)b;
  guint order = get_check_order (first->check);
  guint other = get_check_order (second->check);

  return order != other ? (order < other ? -1 : 1) : strcmp (first->node, second->node);
}

gboolean
dvm_cli_findings_print (DvmCliFindings *self, DvmCli *cli, GError **error)
{
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  g_autoptr (GString) mends = g_string_new (NULL);

  g_ptr_array_sort (self->rows, compare_findings);
  for (guint i = 0; i < self->rows->len; i++)
    {
      const Finding *row = g_ptr_array_index (self->rows, i);
      g_autofree char *nodes = cli->json ? g_strdup (row->node) : name_nodes (self, i);

      if (nodes == NULL)
        continue;
      add_row (table, nodes, row, !cli->json);
      if (row->mend[0] != '\0' && !cli->json)
        add_mend (self, mends, i);
    }
  return dvm_cli_print_table (cli, table, error) && (cli->json || print_mends (mends, error));
}
