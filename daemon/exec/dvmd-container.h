/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"

#include "dvmd-reaper.h"
#include "dvmd-spawn.h"

G_BEGIN_DECLS

/*
 * Everything that a job runs on this node, what its processes left behind included. Where cgroup v2 may be used each
 * container is a cgroup; else it is the process groups of the ranks, and those adopted orphans that stand in one of
 * their sessions, carry the job's mark in their environment, or descend from such a process. An orphan that no
 * container claims is ended with the last container, unless it is older than all of them.
 *
 * DvmdContainers is the factory, one per agent; it keeps empty cgroups for the next job.
 */

typedef struct _DvmdContainers DvmdContainers;
typedef struct _DvmdContainer DvmdContainer;

typedef enum
{
  DVMD_CONTAINERS_AUTO,   /* cgroups where they may be used */
  DVMD_CONTAINERS_CGROUP, /* cgroups or an error */
  DVMD_CONTAINERS_GROUPS, /* process groups and orphans */
} DvmdContainersKind;

typedef void (*DvmdContainerFunc) (DvmdContainer *self, gpointer user_data);
typedef void (*DvmdContainerRankFunc) (DvmdContainer *self, pid_t pid, gpointer user_data);

/* spawner, reaper are borrowed and must live longer. */
DvmdContainers *dvmd_containers_new (GMainContext *context, DvmdClock *clock, DvmdSpawner *spawner, DvmdReaper *reaper,
                                     DvmdContainersKind kind, GError **error);
/* Every container must have been freed. Removes the cgroups. */
void dvmd_containers_free (DvmdContainers *self);
gboolean dvmd_containers_uses_cgroups (DvmdContainers *self);

/* mark: "NAME=value", a string that is in the environment of every process of this job and of no other. */
DvmdContainer *dvmd_container_new (DvmdContainers *set, const char *mark);
/* Whatever still runs goes on; use dvmd_container_finish() before. No callback comes any more. */
void dvmd_container_free (DvmdContainer *self);

/*
 * dvmd_spawner_spawn() inside the container, and func is called by the reaper with the exit status. request->cgroup_fd
 * is ignored. See dvmd_spawner_spawn() for the rest.
 */
pid_t dvmd_container_spawn (DvmdContainer *self, const DvmdSpawnRequest *request, DvmdReaperFunc func,
                            gpointer user_data, int *exit_code, GError **error);

/*
 * To be called when the reaper has told the end of a rank. TRUE: nothing of its process group is left, func is not
 * called. FALSE: the rest gets linger µs to end by itself, then SIGTERM (and SIGCONT), after grace µs more SIGKILL;
 * func (nullable) is called when the process group is empty. (Processes that left the group wait for finish.) May be
 * called again, with other times; the func of before is forgotten.
 */
gboolean dvmd_container_rank_ended (DvmdContainer *self, pid_t pid, gint64 linger, gint64 grace,
                                    DvmdContainerRankFunc func, gpointer user_data);

/* Sends to the process group of every rank that lives. FALSE: there was none. */
gboolean dvmd_container_signal (DvmdContainer *self, int signum);
/* Sends to the process group of one rank. FALSE: it has ended. */
gboolean dvmd_container_signal_rank (DvmdContainer *self, pid_t pid, int signum);

/* SIGTERM and SIGCONT to everything, and SIGKILL after grace µs (0: SIGKILL at once). May be called again to hurry. */
void dvmd_container_terminate (DvmdContainer *self, gint64 grace);

/*
 * To be called when every rank has ended (or to end them too): ends whatever is left, as dvmd_container_terminate().
 * TRUE: nothing is left, func is not called. FALSE: func is called when really nothing is left.
 */
gboolean dvmd_container_finish (DvmdContainer *self, gint64 grace, DvmdContainerFunc func, gpointer user_data);

/* Processes that live now, ranks included. */
guint dvmd_container_count (DvmdContainer *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdContainers, dvmd_containers_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdContainer, dvmd_container_free)

G_END_DECLS
