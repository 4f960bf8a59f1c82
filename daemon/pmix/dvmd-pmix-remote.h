/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"
#include "dvmd-pmix-messages.h"

G_BEGIN_DECLS

/*
 * One PMIx server process as its agent sees it: calls and their answers, whether it still answers, and its end.
 */

typedef struct _DvmdPmixRemote DvmdPmixRemote;

/* How the process ended, "was ended by signal 11"; once, from the main context. */
typedef void (*DvmdPmixProcessEnded) (const char *how, gpointer user_data);

/* The functions that start and end processes; the agent has them. */
typedef struct
{
  /* fd (taken) is the process's end of the link. Returns its pid, or -1 with the error set. */
  int (*start) (gpointer starter_data, int fd, DvmdPmixProcessEnded ended, gpointer user_data, GError **error);
  /* SIGKILL; ended comes as ever. */
  void (*kill) (gpointer starter_data, int pid);
  /* ended does not come any more; the process is killed. */
  void (*forget) (gpointer starter_data, int pid);
} DvmdPmixStarter;

typedef struct
{
  /* The process is ready, or (error) cannot be started: then ended() follows. */
  void (*started) (DvmdPmixRemote *self, const char *error, gpointer user_data);
  /* The library asks the host for something. */
  void (*message) (DvmdPmixRemote *self, DvmdPmixMessageKind kind, GVariant *body, gpointer user_data);
  /* Nothing comes from it any more, once; reason NULL: as ordered. All calls have been answered with NULL before. */
  void (*ended) (DvmdPmixRemote *self, const char *reason, gpointer user_data);
} DvmdPmixRemoteFuncs;

/* body (nullable): the server has gone without an answer */
typedef void (*DvmdPmixAnswer) (GVariant *body, gpointer user_data);

/* starter, funcs: static; settings: read in the call. NULL with the error set: there is no such process. */
DvmdPmixRemote *dvmd_pmix_remote_new (const DvmdPmixStarter *starter, gpointer starter_data, DvmdClock *clock,
                                      const DvmdPmixSettings *settings, const DvmdPmixRemoteFuncs *funcs,
                                      gpointer user_data, GError **error);
/* Kills the process, should it live. */
void dvmd_pmix_remote_free (DvmdPmixRemote *self);

int dvmd_pmix_remote_get_pid (DvmdPmixRemote *self);
/* While its end is told: why; NULL before that, and when it ends as ordered. */
const char *dvmd_pmix_remote_get_reason (DvmdPmixRemote *self);
/* body: floating is sunk. Nothing is said to one that has ended. */
void dvmd_pmix_remote_say (DvmdPmixRemote *self, DvmdPmixMessageKind kind, GVariant *body);
/* The number of a call that is about to be said; answered once. */
guint64 dvmd_pmix_remote_expect (DvmdPmixRemote *self, DvmdPmixAnswer answer, gpointer user_data);
/* Whether its library is asked from time to time if it still lives: while it has something to do. */
void dvmd_pmix_remote_set_watched (DvmdPmixRemote *self, gboolean watched);
/* Ends the process after it has done what it was told before; by force after a grace. */
void dvmd_pmix_remote_stop (DvmdPmixRemote *self);

G_END_DECLS
