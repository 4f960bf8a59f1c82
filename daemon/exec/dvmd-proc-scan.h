/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <sys/types.h>

#include <glib.h>

G_BEGIN_DECLS

/* Reads the table of processes from /proc. */

#define DVMD_PROC "/proc"

typedef struct
{
  pid_t pid;
  pid_t parent;
  pid_t group;
  pid_t session;
  gboolean zombie;
  gint64 started; /* in ticks, as dvmd_proc_get_ticks() */
} DvmdProcInfo;

typedef enum
{
  DVMD_PROC_ENVIRON_LACKS, /* or we may not look */
  DVMD_PROC_ENVIRON_HAS,
  DVMD_PROC_ENVIRON_UNCLEAR, /* at this moment: it is going from one program to another, or to its end */
} DvmdProcEnviron;

/* Children of this process, dead ones included; elements are pid_t. */
GArray *dvmd_proc_list_children (void);
/* All processes; elements are DvmdProcInfo. */
GArray *dvmd_proc_list_all (void);
/* Time since the machine was started, in the coarse unit of /proc. */
gint64 dvmd_proc_get_ticks (void);
gboolean dvmd_proc_get_info (pid_t pid, DvmdProcInfo *info);
/*
 * The fields of its line "stat" in the folder proc, from the state on, which proc(5) counts as the third; empty: there
 * is no such process. name: (out) (optional) (transfer full): set unless it is empty, in any bytes
 */
char **dvmd_proc_read_stat (const char *proc, pid_t pid, char **name);
/* Whether the environment that the process was started with has this very string "NAME=value". */
DvmdProcEnviron dvmd_proc_search_environ (pid_t pid, const char *string);
/* Whether a string there begins so. */
DvmdProcEnviron dvmd_proc_search_environ_prefix (pid_t pid, const char *prefix);
/* Whether the process, or one that it has started, has a file mapped whose path has this word in it. */
gboolean dvmd_proc_has_mapped (pid_t pid, const char *word);

G_END_DECLS
