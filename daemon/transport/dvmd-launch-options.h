/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-fields.h"
#include "dvmd-message.h"

G_BEGIN_DECLS

#define DVMD_LAUNCH_MOVED_TYPE "a(uu)"

#define DVMD_NO_STDIN   (DVMD_ALL_RANKS - 1)
#define DVMD_SOME_RANKS (DVMD_ALL_RANKS - 2)

/* The options of the job in a launch message, beside its programs and its map. */
typedef struct
{
  char *personality; /* (nullable): "pmix" */
  gboolean pty;
  guint32 pty_rows;
  guint32 pty_columns;
  guint32 stop;                  /* DvmStop: where ranks wait for a debugger */
  char *stop_ranks;              /* (nullable): "0,3-4", those of them; NULL: all */
  guint32 max_restarts;          /* of each process that fails */
  gboolean recoverable;          /* the others of the job go on without it */
  GVariant *moved;               /* (nullable): a(uu): these ranks alone are started, each so often before */
  gboolean status_is_no_failure; /* one that ends with a status other than zero has not failed */
  GVariant *session_dir_apps;    /* (nullable): au: the applications that run where the files of the job are */
  GVariant *preloaded_apps;      /* (nullable): au: those that come as files themselves */
  GVariant *psets;               /* (nullable): as: the process set of each application, "" for none */
  gint64 kill_grace;             /* µs */
  guint32 stdin_target;          /* rank, DVMD_ALL_RANKS, DVMD_SOME_RANKS, or DVMD_NO_STDIN */
  char *stdin_ranks;             /* (nullable): "0,2-4", of DVMD_SOME_RANKS */
  guint64 credit;                /* bytes of output that an agent may send unasked */
  char *parent;                  /* (nullable): namespace of the process or tool that has spawned it */
  guint32 parent_rank;
  guint32 offset;       /* processes of those that it descends from */
  guint32 session;      /* the first that it uses */
  char *alloc_id;       /* (nullable): of its allocation */
  GVariant *pmix_info;  /* (nullable): a(usay): application or G_MAXUINT32, key, packed value; of its spawn */
  GVariant *env_edits;  /* (nullable): see DVMD_SPAWN_EDITS */
  GVariant *exec_agent; /* (nullable): as: the words of the command that starts each program */
  gboolean index_argv;  /* programs are called by their name and their rank */
  gboolean tree_fences; /* fences of all ranks go by the tree */
  GVariant *array;      /* (nullable): au: DVM_ARRAY_ID and the next ones, of a job of an array */
} DvmdLaunchOptions;

/* For dvmd_fields_to_dict() and dvmd_fields_from_dict(). */
extern const DvmdField dvmd_launch_fields[];

G_END_DECLS
