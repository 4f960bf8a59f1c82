/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A container holds everything that a job runs on this node, and ends all of it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-container"

#include "dvmd-container.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-cgroup.h"
#include "dvmd-leftovers.h"
#include "dvmd-proc-scan.h"

/* How often a clean-up that is under way is looked at, in µs: often first, then at twice the last interval. */
#define FIRST_LOOK 1000
#define LAST_LOOK  50000
/* So often in a row a process that cannot be told whose it is may keep a clean-up waiting. */
#define MAX_UNCLEAR_LOOKS 200

struct _DvmdContainers
{
  DvmdClock *clock;
  DvmdSpawner *spawner;
  DvmdReaper *reaper;
  DvmdContainersKind kind;
  DvmdCgroups *cgroups; /* (nullable) */
  char *why_not;
  GPtrArray *unfinished; /* DvmdContainer, borrowed */
  guint n_containers;
  gint64 busy_since; /* when the first of the unfinished ones was made, in ticks of /proc */
};

/* A process group; it is there until it is known to be empty. */
typedef struct
{
  DvmdContainer *container;
  pid_t pid;
  gboolean leader_ended;
  guint timer;
  gint64 look; /* µs to the next look */
  gint64 term_at;
  gint64 kill_at;
  gboolean termed;
  DvmdContainerRankFunc func;
  gpointer user_data;
} Group;

struct _DvmdContainer
{
  DvmdContainers *set;
  char *mark;
  DvmdCgroup *cgroup; /* (nullable) */
  GHashTable *groups; /* pid -> Group */
  GQueue emptied;     /* Group: empty, but func was not called yet */
  gboolean finished;
  gboolean finishing;
  guint timer;
  gint64 look;
  gint64 kill_at;     /* G_MAXINT64: nobody asked */
  gint64 term_ticks;  /* when SIGTERM was sent, as dvmd_proc_get_ticks(); 0: it was not */
  GHashTable *termed; /* set of pids of strays that got it */
  guint n_unclear_looks;
  DvmdContainerFunc func;
  gpointer user_data;
};

static void
group_free (gpointer data)
{
  Group *group = data;

  dvmd_clock_remove_timer (group->container->set->clock, group->timer);
  g_free (group);
}

DvmdContainers *
dvmd_containers_new (GMainContext *context, DvmdClock *clock, DvmdSpawner *spawner, DvmdReaper *reaper,
                     DvmdContainersKind kind, GError **error)
{
  g_autoptr (DvmdContainers) self = g_new0 (DvmdContainers, 1);
  g_autoptr (GError) local_error = NULL;

  self->clock = dvmd_clock_ref (clock);
  self->spawner = spawner;
  self->reaper = reaper;
  self->kind = kind;
  self->unfinished = g_ptr_array_new ();
  if (kind == DVMD_CONTAINERS_GROUPS)
    {
      self->why_not = g_strdup ("process groups were asked for");
      return g_steal_pointer (&self);
    }
  self->cgroups = dvmd_cgroups_new (clock, &local_error);
  if (self->cgroups == NULL)
    {
      if (kind == DVMD_CONTAINERS_CGROUP)
        {
          g_propagate_error (error, g_steal_pointer (&local_error));
          return NULL;
        }
      g_info ("jobs are contained by process groups, not cgroups: %s", local_error->message);
      self->why_not = g_strdup (local_error->message);
    }
  return g_steal_pointer (&self);
}

void
dvmd_containers_free (DvmdContainers *self)
{
  g_warn_if_fail (self->n_containers == 0);

  g_clear_pointer (&self->cgroups, dvmd_cgroups_free);
  g_ptr_array_unref (self->unfinished);
  dvmd_clock_unref (self->clock);
  g_free (self->why_not);
  g_free (self);
}

gboolean
dvmd_containers_uses_cgroups (DvmdContainers *self)
{
  return self->cgroups != NULL && self->why_not == NULL;
}

/* Containers that have a cgroup keep it; new ones do without. */
static void
stop_using_cgroups (DvmdContainers *self, const char *why)
{
  g_message ("jobs are contained by process groups from now on, not cgroups: %s", why);
  g_free (self->why_not);
  self->why_not = g_strdup (why);
}

DvmdContainer *
dvmd_container_new (DvmdContainers *set, const char *mark)
{
  DvmdContainer *self = g_new0 (DvmdContainer, 1);
  g_autoptr (GError) error = NULL;

  self->set = set;
  self->mark = g_strdup (mark);
  self->groups = g_hash_table_new_full (NULL, NULL, NULL, group_free);
  self->termed = g_hash_table_new (NULL, NULL);
  self->kill_at = G_MAXINT64;
  if (dvmd_containers_uses_cgroups (set))
    {
      self->cgroup = dvmd_cgroups_take (set->cgroups, &error);
      if (self->cgroup == NULL)
        stop_using_cgroups (set, error->message);
    }
  if (set->unfinished->len == 0)
    set->busy_since = dvmd_proc_get_ticks ();
  g_ptr_array_add (set->unfinished, self);
  set->n_containers++;
  return self;
}

static void
give_cgroup_back (DvmdContainer *self)
{
  if (self->cgroup != NULL)
    dvmd_cgroups_give_back (self->set->cgroups, g_steal_pointer (&self->cgroup));
}

void
dvmd_container_free (DvmdContainer *self)
{
  dvmd_clock_remove_timer (self->set->clock, self->timer);
  g_hash_table_unref (self->groups);
  g_hash_table_unref (self->termed);
  g_queue_clear_full (&self->emptied, group_free);
  give_cgroup_back (self);
  g_ptr_array_remove_fast (self->set->unfinished, self);
  self->set->n_containers--;
  g_free (self->mark);
  g_free (self);
}

pid_t
dvmd_container_spawn (DvmdContainer *self, const DvmdSpawnRequest *request, DvmdReaperFunc func, gpointer user_data,
                      int *exit_code, GError **error)
{
  DvmdContainers *set = self->set;
  DvmdSpawnRequest own = *request;
  g_autoptr (GError) local_error = NULL;
  gboolean adopts = dvmd_reaper_adopts_orphans (set->reaper);
  int pidfd = -1;
  Group *group;
  pid_t pid;

  own.cgroup_fd = self->cgroup != NULL ? dvmd_cgroup_get_fd (self->cgroup) : -1;
  pid = dvmd_spawner_spawn (set->spawner, &own, adopts ? NULL : &pidfd, exit_code, &local_error);
  if (pid < 0 && set->kind == DVMD_CONTAINERS_AUTO && own.cgroup_fd >= 0
      && g_error_matches (local_error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED))
    {
      stop_using_cgroups (set, local_error->message);
      g_clear_error (&local_error);
      if (g_hash_table_size (self->groups) == 0)
        give_cgroup_back (self);
      own.cgroup_fd = -1;
      pid = dvmd_spawner_spawn (set->spawner, &own, adopts ? NULL : &pidfd, exit_code, &local_error);
    }
  if (pid < 0)
    {
      g_propagate_error (error, g_steal_pointer (&local_error));
      return -1;
    }
  group = g_new0 (Group, 1);
  group->container = self;
  group->pid = pid;
  g_hash_table_insert (self->groups, GINT_TO_POINTER (pid), group);
  dvmd_reaper_watch (set->reaper, pid, pidfd, func, user_data);
  return pid;
}

/* G_MAXINT64 is a limit that is never reached. */
static gint64
add_time (gint64 time, gint64 delta)
{
  return delta > G_MAXINT64 - time ? G_MAXINT64 : time + MAX (delta, 0);
}

/* Once the leader has been reaped: its number belongs to the group as long as the group has members. */
static gboolean
group_is_empty (Group *group)
{
  g_autoptr (GArray) orphans = NULL;

  if (!group->leader_ended)
    return FALSE;
  if (g_queue_find (&group->container->emptied, group) != NULL)
    return TRUE;
  if (kill (-group->pid, 0) != 0 && errno == ESRCH)
    return TRUE;
  /* Takes the dead among the orphans away, which count as members. */
  orphans = dvmd_reaper_list_orphans (group->container->set->reaper);
  return kill (-group->pid, 0) != 0 && errno == ESRCH;
}

static void
signal_group (Group *group, int signum)
{
  if (kill (-group->pid, signum) != 0 && errno != ESRCH)
    g_info ("cannot send signal %d to process group %d: %s", signum, group->pid, g_strerror (errno));
}

/* From now on the number may be another process's: it is never signalled again. */
static void
set_emptied (Group *group)
{
  if (g_hash_table_steal (group->container->groups, GINT_TO_POINTER (group->pid)))
    g_queue_push_tail (&group->container->emptied, group);
}

static void
tell_emptied (Group *group)
{
  DvmdContainer *container = group->container;
  DvmdContainerRankFunc func = group->func;
  gpointer user_data = group->user_data;
  pid_t pid = group->pid;

  g_queue_remove (&container->emptied, group);
  group_free (group);
  if (func != NULL)
    func (container, pid, user_data);
}

static void
on_group_timer (gpointer user_data)
{
  Group *group = user_data;
  DvmdClock *clock = group->container->set->clock;
  gint64 now = dvmd_clock_monotonic (clock);

  group->timer = 0;
  if (group_is_empty (group))
    {
      set_emptied (group);
      tell_emptied (group);
      return;
    }
  if (now >= group->kill_at)
    signal_group (group, SIGKILL);
  else if (now >= group->term_at && !group->termed)
    {
      group->termed = TRUE;
      signal_group (group, SIGTERM);
      signal_group (group, SIGCONT);
    }
  group->look = MIN (group->look * 2, LAST_LOOK);
  group->timer = dvmd_clock_add_timer (clock, group->look, on_group_timer, group);
}

gboolean
dvmd_container_rank_ended (DvmdContainer *self, pid_t pid, gint64 linger, gint64 grace, DvmdContainerRankFunc func,
                           gpointer user_data)
{
  Group *group = g_hash_table_lookup (self->groups, GINT_TO_POINTER (pid));

  if (group == NULL)
    return TRUE;
  group->leader_ended = TRUE;
  if (group_is_empty (group))
    {
      g_hash_table_remove (self->groups, GINT_TO_POINTER (pid));
      return TRUE;
    }
  dvmd_clock_remove_timer (self->set->clock, group->timer);
  group->func = func;
  group->user_data = user_data;
  group->term_at = add_time (dvmd_clock_monotonic (self->set->clock), linger);
  group->kill_at = add_time (group->term_at, grace);
  group->look = FIRST_LOOK;
  group->timer = dvmd_clock_add_timer (self->set->clock, group->look, on_group_timer, group);
  return FALSE;
}

static gboolean
signal_groups (DvmdContainer *self, int signum, gboolean with_rests)
{
  GHashTableIter iter;
  gpointer value;
  gboolean any = FALSE;

  g_hash_table_iter_init (&iter, self->groups);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Group *group = value;

      if (group->leader_ended && !with_rests)
        continue;
      signal_group (group, signum);
      any = TRUE;
    }
  return any;
}

gboolean
dvmd_container_signal (DvmdContainer *self, int signum)
{
  return signal_groups (self, signum, FALSE);
}

gboolean
dvmd_container_signal_rank (DvmdContainer *self, pid_t pid, int signum)
{
  Group *group = g_hash_table_lookup (self->groups, GINT_TO_POINTER (pid));

  if (group == NULL || group->leader_ended)
    return FALSE;
  signal_group (group, signum);
  return TRUE;
}

/*
 * Elements are pid_t: what the job runs outside of the process groups of its ranks. The last job has also what nobody
 * claims; what is older than the jobs is something of the daemon's own. n_unclear: that may be of the job as well.
 */
static GArray *
list_strays (DvmdContainer *self, guint *n_unclear)
{
  gboolean last = self->set->unfinished->len == 1 && self->set->unfinished->pdata[0] == self;

  return dvmd_leftovers_list (self->set->reaper, self->groups, self->mark, last ? self->set->busy_since : G_MAXINT64,
                              n_unclear);
}

static void
signal_everything (DvmdContainer *self, int signum)
{
  g_autoptr (GArray) pids = NULL;
  guint n_unclear;

  if (self->cgroup != NULL && signum == SIGKILL)
    {
      dvmd_cgroup_kill (self->cgroup);
      return;
    }
  if (self->cgroup != NULL)
    pids = dvmd_cgroup_list (self->cgroup);
  else
    {
      signal_groups (self, signum, TRUE);
      pids = list_strays (self, &n_unclear);
    }
  for (guint i = 0; i < pids->len; i++)
    kill (g_array_index (pids, pid_t, i), signum);
}

/*
 * SIGTERM and SIGCONT for strays that were there when the others got them, and could not be told then. What was started
 * later may be what cleans up, and is left alone.
 */
static void
terminate_strays (DvmdContainer *self)
{
  g_autoptr (GArray) pids = NULL;
  guint n_unclear;

  if (self->cgroup != NULL || self->term_ticks == 0)
    return;
  pids = list_strays (self, &n_unclear);
  for (guint i = 0; i < pids->len; i++)
    {
      pid_t pid = g_array_index (pids, pid_t, i);
      DvmdProcInfo info;

      if (g_hash_table_contains (self->termed, GINT_TO_POINTER (pid)) || !dvmd_proc_get_info (pid, &info)
          || info.started > self->term_ticks)
        continue;
      g_hash_table_add (self->termed, GINT_TO_POINTER (pid));
      kill (pid, SIGTERM);
      kill (pid, SIGCONT);
    }
}

static void
terminate_everything (DvmdContainer *self)
{
  if (self->cgroup != NULL)
    {
      signal_everything (self, SIGTERM);
      signal_everything (self, SIGCONT);
      return;
    }
  self->term_ticks = dvmd_proc_get_ticks ();
  signal_groups (self, SIGTERM, TRUE);
  signal_groups (self, SIGCONT, TRUE);
  terminate_strays (self);
}

static gboolean
is_empty (DvmdContainer *self)
{
  g_autoptr (GList) groups = NULL;
  g_autoptr (GArray) strays = NULL;
  guint n_unclear;

  if (self->cgroup != NULL)
    return dvmd_cgroup_is_empty (self->cgroup);
  groups = g_hash_table_get_values (self->groups);
  for (GList *link = groups; link != NULL; link = link->next)
    if (group_is_empty (link->data))
      set_emptied (link->data);
  if (g_hash_table_size (self->groups) > 0)
    return FALSE;
  strays = list_strays (self, &n_unclear);
  if (strays->len == 0 && n_unclear > 0)
    return self->n_unclear_looks++ >= MAX_UNCLEAR_LOOKS;
  self->n_unclear_looks = 0;
  return strays->len == 0;
}

/* A rank whose end the reaper has not yet told is not gone. */
static gboolean
is_gone (DvmdContainer *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->groups);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (!((Group *)value)->leader_ended)
      return FALSE;
  return is_empty (self);
}

static void
finish_container (DvmdContainer *self)
{
  DvmdContainerFunc func = g_steal_pointer (&self->func);
  g_autoptr (GList) groups = g_hash_table_get_values (self->groups);

  /* Processes that had to be killed are our zombies by now: a container is gone when they are reaped too. */
  if (self->kill_at != G_MAXINT64)
    g_array_unref (dvmd_reaper_list_orphans (self->set->reaper));
  self->finished = TRUE;
  self->finishing = FALSE;
  g_ptr_array_remove_fast (self->set->unfinished, self);
  give_cgroup_back (self);
  /* Functions that wait for the rest of a rank are called before the one that waits for the container. */
  for (GList *link = groups; link != NULL; link = link->next)
    set_emptied (link->data);
  while (!g_queue_is_empty (&self->emptied))
    tell_emptied (g_queue_peek_head (&self->emptied));
  if (func != NULL)
    func (self, self->user_data);
}

static void
on_timer (gpointer user_data)
{
  DvmdContainer *self = user_data;
  DvmdClock *clock = self->set->clock;

  self->timer = 0;
  if (self->finishing && is_gone (self))
    {
      finish_container (self);
      return;
    }
  if (dvmd_clock_monotonic (clock) >= self->kill_at)
    {
      signal_everything (self, SIGKILL);
      if (!self->finishing)
        return;
    }
  else
    terminate_strays (self);
  self->look = MIN (self->look * 2, LAST_LOOK);
  self->timer = dvmd_clock_add_timer (clock, self->look, on_timer, self);
}

void
dvmd_container_terminate (DvmdContainer *self, gint64 grace)
{
  DvmdClock *clock = self->set->clock;
  gint64 now = dvmd_clock_monotonic (clock);

  if (self->finished)
    return;
  if (grace <= 0)
    signal_everything (self, SIGKILL);
  else if (self->kill_at == G_MAXINT64)
    terminate_everything (self);
  self->kill_at = MIN (self->kill_at, add_time (now, grace));
  dvmd_clock_remove_timer (clock, self->timer);
  self->look = FIRST_LOOK;
  self->timer = dvmd_clock_add_timer (clock, self->look, on_timer, self);
}

gboolean
dvmd_container_finish (DvmdContainer *self, gint64 grace, DvmdContainerFunc func, gpointer user_data)
{
  if (self->finished)
    return TRUE;
  if (!self->finishing && is_gone (self))
    {
      finish_container (self);
      return TRUE;
    }
  self->finishing = TRUE;
  self->func = func;
  self->user_data = user_data;
  dvmd_container_terminate (self, grace);
  return FALSE;
}

guint
dvmd_container_count (DvmdContainer *self)
{
  g_autoptr (GArray) pids = NULL;
  guint n_unclear;
  guint n;

  if (self->finished)
    return 0;
  if (self->cgroup != NULL)
    {
      pids = dvmd_cgroup_list (self->cgroup);
      return pids->len;
    }
  /* In this order: who leaves a group in between is a stray then. */
  n = dvmd_leftovers_count_groups (self->groups);
  pids = list_strays (self, &n_unclear);
  return n + pids->len + n_unclear;
}
