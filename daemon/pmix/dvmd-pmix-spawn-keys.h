/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The attributes of PMIx_Spawn(), and what becomes of each. docs/pmix.md lists the same. */

/* The way in which the value of a key is translated. */
typedef enum
{
  DVMD_PMIX_TAKE_TEXT,         /* the option's text */
  DVMD_PMIX_TAKE_PREFIXED,     /* the same, behind the option's extra word */
  DVMD_PMIX_TAKE_NUMBER,       /* the option's number */
  DVMD_PMIX_TAKE_FLAG,         /* the option is set, if it is true */
  DVMD_PMIX_TAKE_WORD,         /* a word more of the option "output", if it is true */
  DVMD_PMIX_TAKE_WORD_OF,      /* the same, with the text behind it */
  DVMD_PMIX_TAKE_FILE_ONLY,    /* what goes into files goes nowhere else */
  DVMD_PMIX_TAKE_LIST,         /* a text with commas, or several texts */
  DVMD_PMIX_TAKE_COMMAND,      /* a text whose words are the option's list */
  DVMD_PMIX_TAKE_TARGETS,      /* the same, where an empty one means something */
  DVMD_PMIX_TAKE_PLAIN,        /* a job without PMIx, if it is true */
  DVMD_PMIX_TAKE_PERSONALITY,  /* names of programming models */
  DVMD_PMIX_TAKE_TIME,         /* of the spawn itself */
  DVMD_PMIX_TAKE_CPUS,         /* a qualifier more of the option "map-by" */
  DVMD_PMIX_TAKE_QUALIFIER,    /* the same, if it is true */
  DVMD_PMIX_TAKE_WORDS,        /* words of the option "runtime-options" */
  DVMD_PMIX_TAKE_RUNTIME,      /* one word more of it, yes or no */
  DVMD_PMIX_TAKE_STOP,         /* the same, if it is true or means all ranks */
  DVMD_PMIX_TAKE_COLOCATE,     /* processes of the option "map-by" of the job */
  DVMD_PMIX_TAKE_COLOCATE_BY,  /* a qualifier of it, with the number behind it */
  DVMD_PMIX_TAKE_DAEMONS,      /* the job, or the application, is one of debuggers */
  DVMD_PMIX_TAKE_APART,        /* refused, unless it is false: that of an application has been taken out before */
  DVMD_PMIX_TAKE_DEBUG_TARGET, /* the process, or job, that these are beside, and are told of */
  DVMD_PMIX_TAKE_STDIN,        /* a process, or a rank */
  DVMD_PMIX_TAKE_ENVIRONMENT,  /* a variable is set */
  DVMD_PMIX_TAKE_UNSET,        /* a variable is taken away */
  DVMD_PMIX_TAKE_ADD,          /* a variable is set unless there is one, as are the next by DvmdEdit */
  DVMD_PMIX_TAKE_PREPEND,
  DVMD_PMIX_TAKE_APPEND,
  DVMD_PMIX_TAKE_FIRST,
  DVMD_PMIX_TAKE_FORWARD_OUT, /* the caller gets that stream, or does not */
  DVMD_PMIX_TAKE_FORWARD_ERR,
  DVMD_PMIX_TAKE_SHOW,     /* a table more is shown before the output of the job, if it is true */
  DVMD_PMIX_TAKE_SHOW_OF,  /* the same, of the nodes that the text names */
  DVMD_PMIX_TAKE_SHOW_HOW, /* a qualifier of all such tables, if it is true */
  DVMD_PMIX_TAKE_NOTHING,  /* it happens without the key, too, or is no concern of the host */
  DVMD_PMIX_TAKE_IF_ON,    /* refused if it is false: it is so in any case */
  DVMD_PMIX_TAKE_IF_OFF,   /* refused, unless it is false or 0 */
  DVMD_PMIX_TAKE_NEVER,    /* refused */
} DvmdPmixTake;

typedef struct
{
  const char *key;
  DvmdPmixTake take;
  const char *option; /* (nullable): in the words of SubmitApps */
  const char *extra;  /* (nullable) */
} DvmdPmixSpawnKey;

/* (nullable). of_job: whether it is the whole job's wherever it stands; else an application may have its own */
const DvmdPmixSpawnKey *dvmd_pmix_find_spawn_key (const char *key, gboolean *of_job);

/* Adds all attributes of spawned jobs and their applications that are heeded. */
void dvmd_pmix_list_spawn_keys (GPtrArray *keys);

G_END_DECLS
