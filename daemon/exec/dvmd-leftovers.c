/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes of a job that have left the process groups of its ranks are found.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-leftovers"

#include "dvmd-leftovers.h"

#include <unistd.h>

#include <dvm.h>

#include "dvmd-proc-scan.h"

typedef enum
{
  VERDICT_NONE,
  VERDICT_OURS,      /* of this job */
  VERDICT_UNCLAIMED, /* an orphan, or below one, that carries no sign of this job */
  VERDICT_UNCLEAR,   /* the same, and it cannot be told at this moment what it carries */
  VERDICT_OTHER,     /* not below us, or of another job */
} Verdict;

typedef struct
{
  DvmdReaper *reaper;
  GHashTable *groups;
  const char *mark;
  gint64 since;
  GArray *all;       /* DvmdProcInfo */
  GHashTable *index; /* pid -> index + 1 */
  Verdict *verdicts;
  guint n_unclear;
} Scan;

static gboolean
is_group (Scan *scan, pid_t pid)
{
  return g_hash_table_contains (scan->groups, GINT_TO_POINTER (pid));
}

static Verdict judge_process (Scan *scan, guint i);

static Verdict
judge_by_itself (Scan *scan, const DvmdProcInfo *info, Verdict above)
{
  if (info->started >= scan->since)
    return VERDICT_OURS;
  switch (dvmd_proc_search_environ (info->pid, scan->mark))
    {
    case DVMD_PROC_ENVIRON_HAS:
      return VERDICT_OURS;
    case DVMD_PROC_ENVIRON_UNCLEAR:
      return VERDICT_UNCLEAR;
    default:
      return above;
    }
}

static Verdict
judge_by_parent (Scan *scan, const DvmdProcInfo *info)
{
  guint parent;
  Verdict above;

  if (info->parent == getpid ())
    {
      if (dvmd_reaper_is_watched (scan->reaper, info->pid) || !dvmd_reaper_adopts_orphans (scan->reaper))
        return VERDICT_OTHER;
      above = VERDICT_UNCLAIMED;
    }
  else
    {
      parent = GPOINTER_TO_UINT (g_hash_table_lookup (scan->index, GINT_TO_POINTER (info->parent)));
      /* The parent went while the list was being read: whose its child is now the next look tells. */
      if (parent == 0 && info->parent > 1)
        return dvmd_proc_search_environ (info->pid, scan->mark) == DVMD_PROC_ENVIRON_HAS ? VERDICT_OURS
                                                                                         : VERDICT_UNCLEAR;
      above = parent == 0 ? VERDICT_OTHER : judge_process (scan, parent - 1);
    }
  return above == VERDICT_UNCLAIMED || above == VERDICT_UNCLEAR ? judge_by_itself (scan, info, above) : above;
}

static Verdict
judge_process (Scan *scan, guint i)
{
  const DvmdProcInfo *info = &g_array_index (scan->all, DvmdProcInfo, i);

  if (scan->verdicts[i] != VERDICT_NONE)
    return scan->verdicts[i];
  /* The list is not of one moment: a circle of parents is possible. */
  scan->verdicts[i] = VERDICT_OTHER;
  if (is_group (scan, info->group) || is_group (scan, info->session))
    scan->verdicts[i] = VERDICT_OURS;
  else if (info->pid != getpid ())
    scan->verdicts[i] = judge_by_parent (scan, info);
  return scan->verdicts[i];
}

static void
scan_all (Scan *scan, GArray *found)
{
  scan->all = dvmd_proc_list_all ();
  scan->index = g_hash_table_new (NULL, NULL);
  scan->verdicts = g_new0 (Verdict, scan->all->len);
  for (guint i = 0; i < scan->all->len; i++)
    g_hash_table_insert (scan->index, GINT_TO_POINTER (g_array_index (scan->all, DvmdProcInfo, i).pid),
                         GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < scan->all->len; i++)
    {
      const DvmdProcInfo *info = &g_array_index (scan->all, DvmdProcInfo, i);

      /* An orphan that has ended since may have left a child behind that this list does not have. */
      if (info->zombie && info->parent == getpid () && !dvmd_reaper_is_watched (scan->reaper, info->pid))
        scan->n_unclear++;
      if (info->zombie || is_group (scan, info->group))
        continue;
      if (judge_process (scan, i) == VERDICT_OURS)
        g_array_append_val (found, info->pid);
      else if (scan->verdicts[i] == VERDICT_UNCLEAR)
        scan->n_unclear++;
    }
  g_free (scan->verdicts);
  g_hash_table_unref (scan->index);
  g_array_unref (scan->all);
}

GArray *
dvmd_leftovers_list (DvmdReaper *reaper, GHashTable *groups, const char *mark, gint64 since, guint *n_unclear)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (pid_t));
  g_autoptr (GArray) orphans = dvmd_reaper_list_orphans (reaper);
  Scan scan = { .reaper = reaper, .groups = groups, .mark = mark, .since = since };

  if (orphans->len > 0 || g_hash_table_size (groups) > 0)
    scan_all (&scan, found);
  *n_unclear = scan.n_unclear;
  return found;
}

guint
dvmd_leftovers_count_groups (GHashTable *groups)
{
  g_autoptr (GArray) all = NULL;
  guint n = 0;

  if (g_hash_table_size (groups) == 0)
    return 0;
  all = dvmd_proc_list_all ();
  for (guint i = 0; i < all->len; i++)
    {
      const DvmdProcInfo *info = &g_array_index (all, DvmdProcInfo, i);

      if (!info->zombie && g_hash_table_contains (groups, GINT_TO_POINTER (info->group)))
        n++;
    }
  return n;
}
